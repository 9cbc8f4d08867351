/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * The measured positions: validity of samples, and filters of them, each a chain of integrators that
 * the samples correct. Velocities are states of the filters.
 */
#include "robot_controller_parts.h"

#include <math.h>

#define POSITIONS (JOINTS + MOTORS)
#define TWO_PI 6.283185307179586
#define BRIDGED 4.0 /* times max_step: up to this, gaps have the mean velocity */

static void start_filter(robot_controller *c, double time, const double y[POSITIONS], double step)
{
    const int is_bridged = c->is_started && step <= BRIDGED * c->parameters.max_step;
    for (int i = 0; i < POSITIONS; ++i) {
        const double moved = y[i] - c->filter[0][i];
        c->filter[0][i] = y[i];
        c->filter[1][i] = is_bridged ? moved / step : 0.0;
        c->filter[2][i] = 0.0;
        c->filter[3][i] = 0.0;
    }
    c->filter_started = time;
    c->is_started = 1;
}

static void filter_gains(const robot_parameters *p, double h, double gain[4])
{
    const double pole = TWO_PI * p->filter_bandwidth;
    const double b = exp(-pole * h);
    const double d = -expm1(-pole * h);
    gain[0] = -expm1(-p->filter_order * pole * h);
    if (p->filter_order == 2) {
        gain[1] = d * d / h;
        gain[2] = 0.0;
        gain[3] = 0.0;
    } else if (p->filter_order == 3) {
        gain[1] = 1.5 * d * d * (1.0 + b) / h;
        gain[2] = d * d * d / (h * h);
        gain[3] = 0.0;
    } else {
        gain[1] = d * d * (11.0 + 14.0 * b + 11.0 * b * b) / 6.0 / h;
        gain[2] = 2.0 * d * d * d * (1.0 + b) / (h * h);
        gain[3] = d * d * d * d / (h * h * h);
    }
}

static void advance_filter(robot_controller *c, double h, const double y[POSITIONS])
{
    double gain[4];
    filter_gains(&c->parameters, h, gain);
    for (int i = 0; i < POSITIONS; ++i) {
        const double x1 = c->filter[1][i];
        const double x2 = c->filter[2][i];
        const double x3 = c->filter[3][i];
        const double p0 = c->filter[0][i] + h * x1 + h * h / 2.0 * x2 + h * h * h / 6.0 * x3;
        const double innovation = y[i] - p0;
        c->filter[0][i] = p0 + gain[0] * innovation;
        c->filter[1][i] = x1 + h * x2 + h * h / 2.0 * x3 + gain[1] * innovation;
        c->filter[2][i] = x2 + h * x3 + gain[2] * innovation;
        c->filter[3][i] = x3 + gain[3] * innovation;
    }
}

int robot_filters_are_settled(const robot_controller *c)
{
    return c->is_started && c->filter_time - c->filter_started >= c->parameters.settling_time;
}

/* Whether a sample is new, finite, and not farther from the last one than the speed allows. */
static int is_valid(robot_controller *c, double now, double time, double last_time,
                    const double *row, const double *last, const double *speed, int count)
{
    if (!(time > last_time)) {
        return 0;
    }
    int is_good = time <= now + c->parameters.max_step && is_finite_row(row, count);
    for (int i = 0; i < count && is_good && c->is_started; ++i) {
        is_good = fabs(row[i] - last[i]) <= speed[i] * (time - last_time);
    }
    c->counts.refused_samples += is_good ? 0 : 1;
    return is_good;
}

void robot_forget_samples(robot_controller *c)
{
    c->is_started = 0;
    c->link_time = c->motor_time = -HUGE_VAL;
}

/* A side without a new sample continues at its velocity. A new sample counts even if the filter has
 * coasted beyond its time: samples may have become later, and would all be missed otherwise. */
void robot_take_samples(robot_controller *c, const robot_input *in, double dt)
{
    const robot_parameters *p = &c->parameters;
    const int has_links = is_valid(c, in->time, in->link_time, c->link_time, in->q, c->last_q,
                                   p->link_speed, JOINTS);
    const int has_motors = is_valid(c, in->time, in->motor_time, c->motor_time, in->theta,
                                    c->last_theta, p->motor_speed, MOTORS);
    if (!c->is_started && !(has_links && has_motors)) {
        return;
    }
    double newest = -HUGE_VAL;
    if (has_links) {
        newest = c->link_time = in->link_time;
        for (int i = 0; i < JOINTS; ++i) {
            c->last_q[i] = in->q[i];
        }
    }
    if (has_motors) {
        newest = fmax(newest, in->motor_time);
        c->motor_time = in->motor_time;
        for (int j = 0; j < MOTORS; ++j) {
            c->last_theta[j] = in->theta[j];
        }
    }
    c->counts.coasted_cycles += has_links && has_motors ? 0 : 1;
    const int is_newer = !c->is_started || newest > c->filter_time;
    const double time = is_newer ? newest : c->filter_time + dt;
    const double step = time - c->filter_time;
    const int restarts = !c->is_started || step > p->max_step;
    const double coasting = restarts ? 0.0 : step;
    double y[POSITIONS];
    for (int i = 0; i < POSITIONS; ++i) {
        y[i] = c->filter[0][i] + coasting * c->filter[1][i];
    }
    for (int i = 0; i < JOINTS && has_links; ++i) {
        y[i] = in->q[i];
    }
    for (int j = 0; j < MOTORS && has_motors; ++j) {
        y[JOINTS + j] = in->theta[j];
    }
    if (restarts) {
        start_filter(c, time, y, step);
    } else {
        advance_filter(c, step, y);
    }
    c->filter_time = time;
    int is_finite = 1;
    for (int k = 0; k < 4; ++k) {
        is_finite = is_finite && is_finite_row(c->filter[k], POSITIONS);
    }
    if (!is_finite) { /* overflow: forget all samples */
        robot_forget_samples(c);
        return;
    }
    for (int i = 0; i < JOINTS; ++i) {
        c->q[i] = c->filter[0][i];
        c->qd[i] = c->filter[1][i];
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->theta[j] = c->filter[0][JOINTS + j];
        c->thetad[j] = c->filter[1][JOINTS + j];
    }
}
