/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * What interrupts a piece of a program on Linux, for measurements of its time: interrupts of the
 * processor, page faults, changes to other programs, and time that the thread was not charged for.
 * C99 and C++, in the one file that includes it, which must be compiled with _GNU_SOURCE.
 */
#ifndef INTERRUPTIONS_H
#define INTERRUPTIONS_H

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INTERRUPTIONS_MOST_COUNTERS 16
#define INTERRUPTIONS_TAKEN 5000 /* ns without charge; below, the clocks' own calls matter */

/* From interruptions_begin to interruptions_end: total and charged time in ns, and counts. */
typedef struct {
    int64_t total, charged;
    int32_t switches, faults, interrupts;
} interruptions;

static int interruptions_leader = -1; /* of the group of counters */
static int interruptions_counters;    /* in the group */

static inline int64_t interruptions_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The number of a tracepoint, 0 if it cannot be read. */
static inline uint64_t interruptions_tracepoint(const char *name)
{
    char path[128] = "/sys/kernel/tracing/events/";
    char text[32] = "";
    strncat(path, name, sizeof(path) - strlen(path) - 1);
    strncat(path, "/id", sizeof(path) - strlen(path) - 1);
    const int file = open(path, O_RDONLY);
    const ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0) {
        close(file);
    }
    return size > 0 ? strtoull(text, NULL, 10) : 0;
}

/*
 * Count the interrupts of a processor, on which the program has to stay. Returns how many kinds are
 * counted: none without permission for perf events, or without tracefs at its usual place.
 */
static inline int interruptions_count_on(int processor)
{
    static const char *const names[] = {
        "irq_vectors/local_timer_entry",   "irq_vectors/reschedule_entry",
        "irq_vectors/call_function_entry", "irq_vectors/call_function_single_entry",
        "irq_vectors/irq_work_entry",      "irq_vectors/x86_platform_ipi_entry",
        "irq/irq_handler_entry",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        struct perf_event_attr attributes;
        memset(&attributes, 0, sizeof(attributes));
        attributes.type = PERF_TYPE_TRACEPOINT;
        attributes.size = sizeof(attributes);
        attributes.config = interruptions_tracepoint(names[i]);
        attributes.read_format = PERF_FORMAT_GROUP;
        if (attributes.config == 0) {
            continue;
        }
        const int counter = (int)syscall(
            SYS_perf_event_open, &attributes, -1, processor, interruptions_leader, 0);
        if (counter >= 0) {
            interruptions_leader = interruptions_leader < 0 ? counter : interruptions_leader;
            interruptions_counters += 1;
        }
    }
    return interruptions_counters;
}

static inline int32_t interruptions_interrupts(void)
{
    uint64_t values[1 + INTERRUPTIONS_MOST_COUNTERS];
    uint64_t sum = 0;
    if (interruptions_leader < 0 || read(interruptions_leader, values, sizeof(values)) < 0) {
        return 0;
    }
    for (int i = 0; i < interruptions_counters; ++i) {
        sum += values[1 + i];
    }
    return (int32_t)sum;
}

static inline void interruptions_begin(interruptions *x)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    x->switches = (int32_t)(usage.ru_nvcsw + usage.ru_nivcsw);
    x->faults = (int32_t)(usage.ru_minflt + usage.ru_majflt);
    x->interrupts = interruptions_interrupts();
    x->charged = interruptions_clock(CLOCK_THREAD_CPUTIME_ID);
    x->total = interruptions_clock(CLOCK_MONOTONIC);
}

/* In the opposite order, so that only the clocks are in the times. */
static inline void interruptions_end(interruptions *x)
{
    struct rusage usage;
    x->total = interruptions_clock(CLOCK_MONOTONIC) - x->total;
    x->charged = interruptions_clock(CLOCK_THREAD_CPUTIME_ID) - x->charged;
    x->interrupts = interruptions_interrupts() - x->interrupts;
    getrusage(RUSAGE_THREAD, &usage);
    x->faults = (int32_t)(usage.ru_minflt + usage.ru_majflt) - x->faults;
    x->switches = (int32_t)(usage.ru_nvcsw + usage.ru_nivcsw) - x->switches;
}

static inline int interruptions_are_there(const interruptions *x)
{
    return x->switches + x->faults + x->interrupts > 0 ||
           x->total - x->charged > INTERRUPTIONS_TAKEN;
}

#endif
