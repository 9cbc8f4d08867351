/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Cycles of a generated controller in real time, for realtime_core.py, which puts the name of the
 * robot in place of the prefix robot_ and evaluates what this program writes.
 *
 *     realtime FILE MODE CYCLES PROCESSOR PRIORITY
 *
 * MODE sleeping: one cycle at every millisecond of the monotonic clock. MODE hot: one cycle after
 * the other, with a pause after every 500, as a processor that never rests is taken away by the
 * kernel. MODE rehearsed: as sleeping, but another controller repeats the cycle before as soon as
 * the program wakes up, which brings the code into the caches while the states are read. MODE cold:
 * 40 MB are written before each cycle, so that no cache contains anything of the core. FILE receives
 * a record for each cycle.
 *
 * The program stays on one processor, with SCHED_FIFO and all memory locked. Beside the core, each
 * cycle times a control: a loop of the same duration that uses registers alone. It needs no caches,
 * so whatever it lasts longer than usual was taken by interrupts and by the host.
 */
#define _GNU_SOURCE
#include "interruptions.h"
#include "robot_controller.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

//TABLES//
#define PERIOD 1000000  /* ns */
#define SETTLING 2000   /* cycles before the first record */
#define BLOCK 500       /* hot cycles between two pauses */
#define PAUSE 5000000   /* ns */
#define WARMING 10      /* cycles after a pause, of which the last one counts */
#define OTHERS 41943040 /* bytes that fill the caches before a cold cycle */
#define LINE 64         /* bytes, of a cache */
#define STACK 65536     /* bytes that are touched in advance */

/* One cycle; times in ns. The interrupts are those of the processor. */
typedef struct {
    int64_t scheduled, late, core, control;
    int32_t is_interrupted, waits, switches, faults, interrupts, skipped;
} record;

static robot_controller controller, other;
static robot_input input, last_input;
static robot_output output, unused_output;

static int64_t now(void)
{
    return interruptions_clock(CLOCK_MONOTONIC);
}

static void sleep_until(int64_t time)
{
    const struct timespec t = {time / 1000000000, time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* The control */

static uint64_t spin(long count)
{
    uint64_t x = 1;
    for (long i = 0; i < count; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* How often the loop has to run in order to last that long. */
static long spins_of(int64_t duration)
{
    const long count = 1000;
    int64_t least = INT64_MAX;
    for (int k = 0; k < 1000; ++k) {
        const int64_t start = now();
        spin(count);
        const int64_t spent = now() - start;
        least = spent < least ? spent : least;
    }
    return (long)((double)duration / (double)least * (double)count);
}

/* A motion back and forth that never ends, and encoders that follow it. */
static void prepare(int64_t nanoseconds)
{
    const double time = 1e-9 * (double)nanoseconds;
    const int is_there = output.desired[0][0] > START[0] + 0.05;
    input.time = input.link_time = input.motor_time = time;
    for (int i = 0; i < ROBOT_JOINTS; ++i) {
        input.q[i] = output.state >= ROBOT_HOLDING ? output.desired[0][i] : START[i];
    }
    for (int j = 0; j < ROBOT_MOTORS; ++j) {
        input.theta[j] = output.state >= ROBOT_HOLDING ? output.desired_theta[j] : START_MOTORS[j];
    }
    if (output.state == ROBOT_HOLDING) {
        double goal[5][ROBOT_JOINTS] = {{0.0}};
        for (int i = 0; i < ROBOT_JOINTS; ++i) {
            goal[0][i] = START[i] + (is_there ? 0.0 : 0.1);
        }
        robot_append(&controller, time + 1.0, goal);
    }
}

/* Start the controller; returns the hot duration of a cycle in ns, 0 if it does not follow. */
static int64_t settle(void)
{
    int64_t least = INT64_MAX;
    robot_parameters parameters;
    robot_default_parameters(&parameters);
    robot_initialise(&controller, &parameters);
    const int64_t begin = now() - (int64_t)SETTLING * PERIOD; /* in time that has passed */
    for (int k = 1; k < SETTLING; ++k) {
        prepare(begin + (int64_t)k * PERIOD);
        const int64_t start = now();
        robot_update(&controller, &input, &output);
        const int64_t spent = now() - start;
        least = output.state == ROBOT_FOLLOWING && spent < least ? spent : least;
        if (k == 100 && robot_activate(&controller, NULL)) {
            return 0;
        }
    }
    return output.state == ROBOT_FOLLOWING ? least : 0;
}

static void measure(record *r, long spins)
{
    interruptions found;
    interruptions_begin(&found);
    const int64_t start = now();
    robot_update(&controller, &input, &output);
    const int64_t end = now();
    interruptions_end(&found);
    const int64_t spinning = now();
    spin(spins);
    r->control = now() - spinning;
    r->core = end - start;
    r->is_interrupted = interruptions_any(&found);
    r->interrupts = found.interrupts;
    r->waits = found.waits;
    r->switches = found.switches;
    r->faults = found.faults;
}

static void run_sleeping(record *records, long cycles, long spins, int rehearses)
{
    int64_t next = now() + PERIOD;
    memcpy(&other, &controller, sizeof(other));
    for (long k = 0; k < cycles; ++k) {
        record *r = &records[k];
        last_input = input;
        prepare(next);
        sleep_until(next);
        const int64_t woken = now();
        if (rehearses) {
            robot_update(&other, &last_input, &unused_output);
        }
        r->scheduled = next;
        r->late = woken - next;
        measure(r, spins);
        for (next += PERIOD; next <= now(); next += PERIOD) { /* cycles that cannot begin in time */
            r->skipped += 1;
        }
    }
}

static void run_hot(record *records, long cycles, long spins)
{
    int64_t time = now();
    record unused;
    for (long k = 0; k < cycles; ++k) {
        for (int i = k % BLOCK == 0 ? WARMING : 1; i > 0; --i) {
            time += PERIOD;
            prepare(time);
            measure(i > 1 ? &unused : &records[k], spins);
        }
        records[k].scheduled = time;
        if (k % BLOCK == BLOCK - 1) {
            sleep_until(now() + PAUSE);
        }
    }
}

static void run_cold(record *records, long cycles, long spins)
{
    int64_t time = now();
    volatile char *others = calloc(OTHERS, 1);
    for (long k = 0; others != NULL && k < cycles; ++k) {
        time += PERIOD;
        prepare(time);
        for (long i = 0; i < OTHERS; i += LINE) {
            others[i] = (char)k;
        }
        records[k].scheduled = time;
        measure(&records[k], spins);
    }
    free((void *)others);
}

static int is_real_time(int processor, int priority)
{
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET((size_t)processor, &processors);
    const struct sched_param parameter = {.sched_priority = priority};
    int is_good = 1;
    if (sched_setaffinity(0, sizeof(processors), &processors)) {
        perror("processor");
        is_good = 0;
    }
    if (sched_setscheduler(0, SCHED_FIFO, &parameter)) {
        perror("SCHED_FIFO");
        is_good = 0;
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        perror("mlockall");
        is_good = 0;
    }
    volatile char stack[STACK];
    for (size_t i = 0; i < sizeof(stack); i += 1024) {
        stack[i] = 1;
    }
    return is_good;
}

int main(int count, char **arguments)
{
    if (count != 6) {
        fputs("arguments: FILE, sleeping, rehearsed, hot or cold, cycles, processor, priority\n", stderr);
        return EXIT_FAILURE;
    }
    const long cycles = atol(arguments[3]);
    const int processor = atoi(arguments[4]);
    record *records = calloc((size_t)cycles, sizeof(*records));
    FILE *file = fopen(arguments[1], "wb");
    if (records == NULL || file == NULL) {
        perror(arguments[1]);
        return EXIT_FAILURE;
    }
    memset(records, 0xff, (size_t)cycles * sizeof(*records)); /* every page is there */
    memset(records, 0, (size_t)cycles * sizeof(*records));
    const int is_real = is_real_time(processor, atoi(arguments[5]));
    const int counters = interruptions_count_on(processor);
    const long spins = spins_of(settle());
    if (settle() == 0) { /* again, up to the present time */
        fputs("the controller does not follow\n", stderr);
        return EXIT_FAILURE;
    }
    if (strcmp(arguments[2], "hot") == 0) {
        run_hot(records, cycles, spins);
    } else if (strcmp(arguments[2], "cold") == 0) {
        run_cold(records, cycles, spins);
    } else {
        run_sleeping(records, cycles, spins, strcmp(arguments[2], "rehearsed") == 0);
    }
    printf("%d %d %lu %lu\n", is_real, counters, output.counts.late_cycles,
           output.counts.refused_samples);
    const int is_written = fwrite(records, sizeof(*records), (size_t)cycles, file) == (size_t)cycles;
    return fclose(file) == 0 && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
