/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

#include "robot_reference.h"

#include <math.h>
#include <stddef.h>

//TABLES//

/* The ten Bernstein polynomials of degree 9 at u. */
static void bernstein(double u, double basis[10])
{
    static const double binomial[10] = {1.0, 9.0, 36.0, 84.0, 126.0, 126.0, 84.0, 36.0, 9.0, 1.0};
    const double v = 1.0 - u;
    double power = 1.0;
    for (int i = 0; i < 10; ++i) {
        basis[i] = binomial[i] * power;
        power *= u;
    }
    power = 1.0;
    for (int i = 9; i >= 0; --i) {
        basis[i] *= power;
        power *= v;
    }
}

static robot_segment *segment_at(robot_reference *reference, int k)
{
    return &reference->segments[(reference->first + k) % ROBOT_SEGMENTS];
}

static void copy_state(double from[5][ROBOT_JOINTS], double to[5][ROBOT_JOINTS])
{
    for (int k = 0; k < 5; ++k) {
        for (int j = 0; j < ROBOT_JOINTS; ++j) {
            to[k][j] = from[k][j];
        }
    }
}

void robot_reference_hold(robot_reference *reference, const double q[ROBOT_JOINTS], double time)
{
    reference->first = 0;
    reference->count = 0;
    reference->end = time;
    for (int j = 0; j < ROBOT_JOINTS; ++j) {
        reference->last[0][j] = q[j];
        for (int k = 1; k < 5; ++k) {
            reference->last[k][j] = 0.0;
        }
    }
}

/* The coefficients of one joint between two states in units of the segment's length. */
static void fill_joint(robot_segment *segment, int joint, const double data[10], double start,
                       const double units[5])
{
    for (int k = 0; k < 5; ++k) {
        for (int i = 0; i < 10; ++i) {
            double sum = 0.0;
            for (int l = 0; l < 10; ++l) {
                sum += SEGMENT_TABLES[k][i][l] * data[l];
            }
            segment->coefficients[i][k][joint] = sum / units[k];
        }
    }
    for (int i = 0; i < 10; ++i) {
        segment->coefficients[i][0][joint] += start;
    }
}

robot_segment *robot_reference_append(robot_reference *reference, double time,
                                      double state[5][ROBOT_JOINTS])
{
    if (reference->count == ROBOT_SEGMENTS) {
        return NULL;
    }
    robot_segment *segment = segment_at(reference, reference->count);
    const double length = time - reference->end;
    const double units[5] = {1.0, length, length * length, length * length * length,
                             length * length * length * length};
    for (int j = 0; j < ROBOT_JOINTS; ++j) {
        double data[10];
        data[0] = 0.0;
        data[5] = state[0][j] - reference->last[0][j];
        for (int k = 1; k < 5; ++k) {
            data[k] = reference->last[k][j] * units[k];
            data[5 + k] = state[k][j] * units[k];
        }
        fill_joint(segment, j, data, reference->last[0][j], units);
        for (int k = 0; k < 5; ++k) { /* no rounding at the ends */
            segment->coefficients[0][k][j] = reference->last[k][j];
            segment->coefficients[9][k][j] = state[k][j];
        }
    }
    segment->start = reference->end;
    segment->end = time;
    segment->rate = 1.0 / length;
    reference->count += 1;
    reference->end = time;
    copy_state(state, reference->last);
    return segment;
}

void robot_reference_remove(robot_reference *reference, double last[5][ROBOT_JOINTS], double end)
{
    reference->count -= 1;
    reference->end = end;
    copy_state(last, reference->last);
}

static void evaluate_segment(const robot_segment *segment, double time,
                             double state[5][ROBOT_JOINTS])
{
    double basis[10];
    bernstein((time - segment->start) * segment->rate, basis);
    for (int k = 0; k < 5; ++k) {
        for (int j = 0; j < ROBOT_JOINTS; ++j) {
            state[k][j] = 0.0;
        }
    }
    for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < 5; ++k) {
            for (int j = 0; j < ROBOT_JOINTS; ++j) {
                state[k][j] += basis[i] * segment->coefficients[i][k][j];
            }
        }
    }
}

void robot_reference_evaluate(robot_reference *reference, double time, double done,
                              double state[5][ROBOT_JOINTS])
{
    while (reference->count > 0 && segment_at(reference, 0)->end <= done) {
        reference->first = (reference->first + 1) % ROBOT_SEGMENTS;
        reference->count -= 1;
    }
    for (int k = 0; k < reference->count; ++k) {
        const robot_segment *segment = segment_at(reference, k);
        if (time < segment->end) {
            evaluate_segment(segment, fmax(time, segment->start), state);
            return;
        }
    }
    copy_state(reference->last, state);
}

void robot_reference_cut(robot_reference *reference, double time)
{
    if (reference->count == 0 || time >= reference->end) {
        return;
    }
    time = fmax(time, segment_at(reference, 0)->start);
    while (reference->count > 1 && segment_at(reference, reference->count - 1)->start >= time) {
        reference->count -= 1;
    }
    robot_segment *segment = segment_at(reference, reference->count - 1);
    evaluate_segment(segment, time, reference->last);
    segment->end = time;
    reference->end = time;
}

int robot_reference_rests(const robot_reference *reference)
{
    for (int k = 1; k < 5; ++k) {
        for (int j = 0; j < ROBOT_JOINTS; ++j) {
            if (reference->last[k][j] != 0.0) {
                return 0;
            }
        }
    }
    return 1;
}

/* The largest acceleration on a path to rest of this duration, relative to the allowed one. */
static double braking_excess(double state[5][ROBOT_JOINTS], double duration,
                             const double allowed[ROBOT_JOINTS])
{
    const double units[4] = {1.0 / duration, 1.0, duration, duration * duration};
    double excess = 0.0;
    for (int j = 0; j < ROBOT_JOINTS; ++j) {
        for (int p = 0; p < BRAKING_POINTS; ++p) {
            double acceleration = 0.0;
            for (int k = 0; k < 4; ++k) {
                acceleration += BRAKING_RESPONSE[p][k] * (state[k + 1][j] * units[k]);
            }
            excess = fmax(excess, fabs(acceleration) / allowed[j]);
        }
    }
    return excess;
}

/* Duration in s of the path to rest; at most BRAKING_TRIALS are tried, the shorter ones last. */
static double braking_duration(double state[5][ROBOT_JOINTS],
                               const double acceleration[ROBOT_JOINTS])
{
    double allowed[ROBOT_JOINTS];
    double first = SHORTEST_BRAKING;
    for (int j = 0; j < ROBOT_JOINTS; ++j) {
        allowed[j] = fmax(acceleration[j], fabs(state[2][j]));
        first = fmax(first, BRAKING_PEAK * fabs(state[1][j]) / allowed[j]);
    }
    double best = first;
    double least = HUGE_VAL;
    double factor = 1.0;
    for (int k = 0; k < BRAKING_TRIALS && least > 1.0 + 1e-9; ++k) {
        if (k == BRAKING_LONGER) {
            factor = BRAKING_GROWTH;
        }
        const double duration = k < BRAKING_LONGER ? first * factor : first / factor;
        if (duration < SHORTEST_BRAKING) {
            break;
        }
        const double excess = braking_excess(state, duration, allowed);
        if (excess < least) {
            best = duration;
            least = excess;
        }
        factor *= BRAKING_GROWTH;
    }
    return best;
}

int robot_reference_brake(robot_reference *reference, const double acceleration[ROBOT_JOINTS])
{
    if (robot_reference_rests(reference)) {
        return 1;
    }
    const double duration = braking_duration(reference->last, acceleration);
    double rest[5][ROBOT_JOINTS] = {{0.0}};
    for (int j = 0; j < ROBOT_JOINTS; ++j) {
        double power = duration;
        double travel = 0.0;
        for (int k = 0; k < 4; ++k) {
            travel += BRAKING_TRAVEL[k] * (reference->last[k + 1][j] * power);
            power *= duration;
        }
        rest[0][j] = reference->last[0][j] + travel;
    }
    return robot_reference_append(reference, reference->end + duration, rest) != NULL;
}

/* Whether the samples of one joint and derivative lie within [low, high]. */
static int samples_are_within(const robot_segment *segment, int k, int joint, double low,
                              double high)
{
    for (int p = 0; p <= 64; ++p) {
        double basis[10];
        double value = 0.0;
        bernstein(p / 64.0, basis);
        for (int i = 0; i < 10; ++i) {
            value += basis[i] * segment->coefficients[i][k][joint];
        }
        if (!(low <= value && value <= high)) {
            return 0;
        }
    }
    return 1;
}

static int row_is_within(const robot_segment *segment, int k, int joint, double low, double high)
{
    for (int i = 0; i < 10; ++i) {
        const double value = segment->coefficients[i][k][joint];
        if (!(low <= value && value <= high)) {
            return samples_are_within(segment, k, joint, low, high);
        }
    }
    return 1;
}

int robot_segment_is_within(const robot_segment *segment, const double lower[ROBOT_JOINTS],
                            const double upper[ROBOT_JOINTS], const double velocity[ROBOT_JOINTS])
{
    const double slack = 1e-6; /* a motion may end on a limit, and begin beyond it */
    for (int j = 0; j < ROBOT_JOINTS; ++j) {
        const double start = segment->coefficients[0][0][j];
        const double speed = fmax(velocity[j], fabs(segment->coefficients[0][1][j])) + slack;
        if (!row_is_within(segment, 0, j, fmin(lower[j], start) - slack,
                           fmax(upper[j], start) + slack) ||
            !row_is_within(segment, 1, j, -speed, speed)) {
            return 0;
        }
    }
    return 1;
}
