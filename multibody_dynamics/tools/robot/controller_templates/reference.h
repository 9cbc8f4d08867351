/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ROBOT_REFERENCE_H
#define ROBOT_REFERENCE_H

#include "robot_dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Segments that a reference can hold at a time, one of them for the path to rest; a compiler option
 * may change it. */
#ifndef ROBOT_SEGMENTS
//TABLES//
#endif
#if ROBOT_SEGMENTS < 2
#error "ROBOT_SEGMENTS must be at least 2: one of them is kept for the path to rest"
#endif

/*
 * One polynomial of degree 9 for each joint, in Bernstein form on [0, 1], with its derivatives:
 * q..q'''' at the time t are the sum over i of B_i((t - start) rate) coefficients[i].
 */
typedef struct {
    double start; /* s */
    double end;   /* s */
    double rate;  /* 1/s, of the polynomial; its own end is start + 1 / rate */
    double coefficients[10][5][ROBOT_JOINTS];
} robot_segment;

/*
 * A motion in segments that join with q..q'''': each begins in the state in which the one before
 * ends. Before the first segment, the motion is at its start; from `end` on, at the state `last`.
 */
typedef struct {
    robot_segment segments[ROBOT_SEGMENTS]; /* a ring */
    int first;
    int count;
    double end;                     /* s, of the last segment */
    double last[5][ROBOT_JOINTS]; /* q..q'''' there */
} robot_reference;

/* Hold the position q; `time` is the end of the motion so far. */
void robot_reference_hold(robot_reference *reference, const double q[ROBOT_JOINTS], double time);

/*
 * Add a segment from the end of the motion to `state` at `time`, which must be later; returns the
 * segment, or NULL if the reference is full. The numbers are not checked.
 */
robot_segment *robot_reference_append(robot_reference *reference, double time,
                                      double state[5][ROBOT_JOINTS]);

/* Remove the segment that was added last; the state before it was `last` at `end`. */
void robot_reference_remove(robot_reference *reference, double last[5][ROBOT_JOINTS], double end);

/* q..q'''' at a time; segments that have ended before `done` are discarded. */
void robot_reference_evaluate(robot_reference *reference, double time, double done,
                              double state[5][ROBOT_JOINTS]);

/* Discard everything after `time`: the motion then ends there, in general not at rest. */
void robot_reference_cut(robot_reference *reference, double time);

/* Whether the motion is at rest at its end. */
int robot_reference_rests(const robot_reference *reference);

/*
 * Add the path from the end of the motion to rest, within the accelerations if possible; nothing if
 * it rests already. Returns 0 if the reference is full.
 */
int robot_reference_brake(robot_reference *reference, const double acceleration[ROBOT_JOINTS]);

/*
 * Whether a segment stays within lower <= q <= upper and |q'| <= velocity, by its Bernstein
 * coefficients, and by 65 samples where these are not decisive.
 */
int robot_segment_is_within(const robot_segment *segment, const double lower[ROBOT_JOINTS],
                            const double upper[ROBOT_JOINTS], const double velocity[ROBOT_JOINTS]);

#ifdef __cplusplus
}
#endif

#endif
