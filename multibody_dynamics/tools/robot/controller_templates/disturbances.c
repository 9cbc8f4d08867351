/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* What the model does not explain, on both sides of the springs, from the balance of momentum. */
#include "robot_controller_parts.h"

#include <math.h>

#define LINEAR 0.8 /* share of its limit up to which a disturbance is used as it is */

void robot_reset_disturbances(robot_disturbances *d)
{
    d->is_started = 0;
    for (int i = 0; i < JOINTS; ++i) {
        d->link[i] = d->link_rate[i] = 0.0;
        for (int k = 0; k < 4; ++k) {
            d->link_lags[i][k] = 0.0;
        }
    }
    for (int j = 0; j < MOTORS; ++j) {
        d->motor[j] = 0.0;
        for (int k = 0; k < 4; ++k) {
            d->motor_lags[j][k] = 0.0;
        }
    }
}

static double smooth_limit(double value, double limit, double *rate)
{
    const double size = fabs(value);
    if (size <= LINEAR * limit) {
        return value;
    }
    const double share = limit > 0.0 ? size / limit : HUGE_VAL;
    const double slope = clipped(0.5 * (2.0 - LINEAR - share) / (1.0 - LINEAR), 0.0, 1.0);
    *rate *= slope;
    return copysign(limit * (1.0 - (1.0 - LINEAR) * slope * slope), value);
}

/* Four lags in series over a step: weights of the lags before each, and of the input on each. */
typedef struct {
    double lag[4];
    double input[4];
} low_pass_weights;

static low_pass_weights weights_of(double bandwidth, double step)
{
    const double a = bandwidth * step;
    low_pass_weights w;
    double total = 0.0;
    w.lag[0] = exp(-a);
    w.lag[1] = w.lag[0] * a;
    w.lag[2] = w.lag[0] * a * a / 2.0;
    w.lag[3] = w.lag[0] * a * a * a / 6.0;
    for (int i = 0; i < 4; ++i) {
        total += w.lag[i];
        w.input[i] = 1.0 - total;
    }
    return w;
}

/* Advance the lags of one signal. */
static void low_pass(double lags[4], const low_pass_weights *w, double value)
{
    for (int i = 3; i >= 0; --i) {
        double sum = w->input[i] * value;
        for (int j = 0; j <= i; ++j) {
            sum += w->lag[j] * lags[i - j];
        }
        lags[i] = sum;
    }
}

static void observe_links(robot_controller *c, double elapsed, const low_pass_weights *weight)
{
    const robot_parameters *p = &c->parameters;
    robot_disturbances *d = &c->disturbances;
    double momentum[JOINTS], bias[JOINTS];
    robot_momentum(c->q, c->qd, momentum, bias);
    for (int i = 0; i < JOINTS; ++i) {
        const int j = FIRST_MOTOR[i];
        const double internal = IS_RIGID[i] ? c->torque[j] : c->springs.torque[i];
        const double driving = internal + c->external_torque[i];
        if (IS_RIGID[i]) {
            bias[i] += robot_motor_friction(j, c->qd[i]);
        }
        if (d->is_started && elapsed <= LONGEST_STEP) {
            const double held = IS_RIGID[i] ? 0.0 : 0.5;
            const double mean =
                held * d->driving[i] + (1.0 - held) * driving - 0.5 * (d->bias[i] + bias[i]);
            const double unexplained = (momentum[i] - d->momentum[i]) / elapsed - mean;
            low_pass(d->link_lags[i], weight, unexplained);
            d->link_rate[i] =
                p->disturbance_bandwidth * (d->link_lags[i][2] - d->link_lags[i][3]);
            d->link[i] = smooth_limit(d->link_lags[i][3], p->link_disturbance_limit[i],
                                      &d->link_rate[i]);
        }
        d->momentum[i] = momentum[i];
        d->bias[i] = bias[i];
        d->driving[i] = driving;
    }
}

static void observe_motors(robot_controller *c, double elapsed, const low_pass_weights *weight)
{
    robot_disturbances *d = &c->disturbances;
    for (int j = 0; j < MOTORS; ++j) {
        const int is_rigid = IS_RIGID[JOINT_OF_MOTOR[j]];
        const double momentum = MOTOR_INERTIA[j] * c->thetad[j];
        const double load = is_rigid ? 0.0 : c->springs.load[j];
        const double bias = robot_motor_friction(j, c->thetad[j]) + load;
        if (d->is_started && elapsed <= LONGEST_STEP) {
            const double unexplained = (momentum - d->motor_momentum[j]) / elapsed - c->torque[j] +
                                       0.5 * (bias + d->motor_bias[j]);
            double unused = 0.0;
            low_pass(d->motor_lags[j], weight, is_rigid ? 0.0 : unexplained);
            d->motor[j] = smooth_limit(d->motor_lags[j][3],
                                       c->parameters.motor_disturbance_limit[j], &unused);
        }
        d->motor_momentum[j] = momentum;
        d->motor_bias[j] = bias;
    }
}

/* What the model does not explain, from the momentum on both sides of the springs. */
void robot_observe_disturbances(robot_controller *c, double elapsed)
{
    const low_pass_weights weight = weights_of(c->parameters.disturbance_bandwidth, elapsed);
    robot_spring_torques(c->q, c->qd, c->theta, c->thetad, c->second, c->springs.torque,
                         c->springs.rate, c->springs.felt, c->springs.load, c->springs.deflection);
    observe_links(c, elapsed, &weight);
    observe_motors(c, elapsed, &weight);
    c->disturbances.is_started = 1;
}
