/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Times of robot_update, from the state to the torque, while the arm follows a motion: hot, one
 * cycle after the other, also with stops, whose first cycles are the longest; and after sleeping,
 * one every millisecond. Arguments: cycles, and 0 for hot ones only. Status 0: the arm still moves.
 * Needs clock_gettime and nanosleep of POSIX. For the time of the controller alone, run it with
 * real-time priority: chrt -f 80 ./robot_timing
 */
#define _POSIX_C_SOURCE 199309L
#include "ideal_arm.h"

#include <stdlib.h>
#include <time.h>

#define LARGEST 100000

static double times[LARGEST];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Cycle k of a motion back and forth that never ends. With stops, in 400 cycles, one motion ends
 * without a further point, which needs a path to rest, and the links have no states once. */
static void prepare(int k, int stops, double time)
{
    const double link_time = input.link_time;
    measure(time);
    if (output.state == ROBOT_INACTIVE) {
        robot_activate(&controller, NULL);
    } else if (output.state == ROBOT_HOLDING) {
        move((output.desired[0][0] - START[0]) / TRAVEL > 0.25 ? 0.0 : 0.5, time + 1.0);
    }
    if (stops && k % 400 == 100) {
        robot_cut(&controller, time);
    } else if (stops && k % 400 >= 300 && k % 400 < 315) {
        input.link_time = link_time;
    }
}

static void run(const char *name, int cycles, int sleeps, int stops, double *time)
{
    const struct timespec pause = {0, 1000000};
    for (int k = 0; k < cycles; ++k) {
        if (sleeps) {
            nanosleep(&pause, NULL);
        }
        *time += 1e-3;
        prepare(k, stops && k + 400 < cycles, *time);
        const double start = now();
        robot_update(&controller, &input, &output);
        times[k] = 1e6 * (now() - start);
    }
    qsort(times, (size_t)cycles, sizeof(times[0]), compare);
    printf("%-16s p50 %7.2f us   p99 %7.2f us   p99.9 %7.2f us   largest %7.2f us   (%s)\n", name,
           times[cycles / 2], times[cycles - 1 - cycles / 100], times[cycles - 1 - cycles / 1000],
           times[cycles - 1], robot_state_name(output.state));
}

int main(int count, char **arguments)
{
    const int given = count > 1 ? atoi(arguments[1]) : 20000;
    const int cycles = given < 1000 ? 1000 : given > LARGEST ? LARGEST : given;
    double time = 0.0;
    if (!is_initialised(1)) {
        return 1;
    }
    run("first cycles", 1000, 0, 0, &time);
    run("hot", cycles, 0, 0, &time);
    run("hot, with stops", cycles, 0, 1, &time);
    if (count <= 2 || atoi(arguments[2])) {
        run("after sleeping", cycles, 1, 0, &time);
    }
    return output.state == ROBOT_FOLLOWING || output.state == ROBOT_HOLDING ? 0 : 1;
}
