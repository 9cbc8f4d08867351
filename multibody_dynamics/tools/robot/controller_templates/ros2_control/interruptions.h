/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * What interrupts a piece of a program on Linux, for measurements of its time: interrupts of the
 * processor, other programs, and time that the thread was not charged for. Waiting and page faults
 * are its own. C99 and C++, in the one file that includes it, which must be compiled with
 * _GNU_SOURCE.
 */
#ifndef INTERRUPTIONS_H
#define INTERRUPTIONS_H

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INTERRUPTIONS_TAKEN 5000 /* ns without charge; below, the clocks' own calls matter */

static const char *const interruptions_kinds[] = {
    "irq_vectors/local_timer_entry",   "irq_vectors/reschedule_entry",
    "irq_vectors/call_function_entry", "irq_vectors/call_function_single_entry",
    "irq_vectors/irq_work_entry",      "irq_vectors/x86_platform_ipi_entry",
    "irq/irq_handler_entry",           "ipi/ipi_entry", /* the last one not on x86 */
};
#define INTERRUPTIONS_KINDS (sizeof(interruptions_kinds) / sizeof(interruptions_kinds[0]))

/* From interruptions_begin to interruptions_end: total and charged time in ns, and counts. */
typedef struct {
    int64_t total, charged;
    int32_t waits, faults, switches, interrupts; /* switches: to another program, not by waiting */
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
    char path[128];
    char text[32] = "";
    snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
    const int file = open(path, O_RDONLY);
    const ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0) {
        close(file);
    }
    return size > 0 ? strtoull(text, NULL, 10) : 0;
}

/*
 * Count the interrupts of a processor, on which the program has to stay; once. Returns how many
 * kinds are counted: none without permission for perf events, or without tracefs at its usual place.
 */
static inline int interruptions_count_on(int processor)
{
    for (size_t i = 0; i < INTERRUPTIONS_KINDS; ++i) {
        struct perf_event_attr attributes;
        memset(&attributes, 0, sizeof(attributes));
        attributes.type = PERF_TYPE_TRACEPOINT;
        attributes.size = sizeof(attributes);
        attributes.config = interruptions_tracepoint(interruptions_kinds[i]);
        attributes.read_format = PERF_FORMAT_GROUP;
        if (attributes.config == 0) {
            continue;
        }
        const int counter = (int)syscall(
            SYS_perf_event_open, &attributes, -1, processor, interruptions_leader, 0UL);
        if (counter >= 0) {
            interruptions_leader = interruptions_leader < 0 ? counter : interruptions_leader;
            interruptions_counters += 1;
        }
    }
    return interruptions_counters;
}

static inline int32_t interruptions_interrupts(void)
{
    uint64_t values[1 + INTERRUPTIONS_KINDS];
    uint64_t sum = 0;
    if (interruptions_leader < 0 || read(interruptions_leader, values, sizeof(values)) < 0) {
        return 0;
    }
    for (int i = 0; i < interruptions_counters; ++i) {
        sum += values[1 + i];
    }
    return (int32_t)sum;
}

static inline void interruptions_begin(interruptions *found)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    found->waits = (int32_t)usage.ru_nvcsw;
    found->switches = (int32_t)usage.ru_nivcsw;
    found->faults = (int32_t)(usage.ru_minflt + usage.ru_majflt);
    found->interrupts = interruptions_interrupts();
    found->charged = interruptions_clock(CLOCK_THREAD_CPUTIME_ID);
    found->total = interruptions_clock(CLOCK_MONOTONIC);
}

/* In the opposite order, so that only the clocks are in the times. */
static inline void interruptions_end(interruptions *found)
{
    struct rusage usage;
    found->total = interruptions_clock(CLOCK_MONOTONIC) - found->total;
    found->charged = interruptions_clock(CLOCK_THREAD_CPUTIME_ID) - found->charged;
    found->interrupts = interruptions_interrupts() - found->interrupts;
    getrusage(RUSAGE_THREAD, &usage);
    found->faults = (int32_t)(usage.ru_minflt + usage.ru_majflt) - found->faults;
    found->switches = (int32_t)usage.ru_nivcsw - found->switches;
    found->waits = (int32_t)usage.ru_nvcsw - found->waits;
}

/* Whether others interrupted it; if it waited or had a page fault, its time is its own. */
static inline int interruptions_any(const interruptions *found)
{
    return found->waits + found->faults == 0 &&
           (found->switches + found->interrupts > 0 ||
            found->total - found->charged > INTERRUPTIONS_TAKEN);
}

#endif
