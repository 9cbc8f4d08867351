/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* In place of the law after a fault: a damped stop of the motors and a hold; the torque at rest. */
#include "robot_controller_parts.h"

#include <math.h>

#define ITERATIONS 3     /* to the equilibrium of the links; at first, ten times that */
#define FEW_ITERATIONS 5 /* up to which all of them are run */
#define SETTLED 1e-13    /* relative error at which a longer iteration ends */

/* Links in equilibrium on their springs, with the motors where they are: Newton steps without the
 * slope of gravity; then the loads of the motors. */
static void hang(robot_controller *c, int iterations, double load[MOTORS])
{
    robot_springs *s = &c->springs;
    double weight[JOINTS] = {0.0};
    double still[JOINTS] = {0.0};
    double motors_still[MOTORS] = {0.0};
    for (int i = 0; i < JOINTS; ++i) {
        if (IS_RIGID[i]) {
            c->hold_q[i] = c->theta[FIRST_MOTOR[i]];
        }
    }
    for (int k = 0; k < iterations; ++k) {
        double excess = 0.0;
        double largest = 0.0;
        robot_spring_torques(c->hold_q, still, c->theta, motors_still, c->second, s->torque,
                             s->rate, s->felt, s->load, s->deflection);
        robot_gravity_forces(c->hold_q, weight);
        for (int i = 0; i < JOINTS; ++i) {
            weight[i] -= c->external_torque[i];
            largest = fmax(largest, fabs(weight[i]));
            if (!IS_RIGID[i]) {
                excess = fmax(excess, fabs(s->torque[i] - weight[i]));
            }
        }
        if (iterations > FEW_ITERATIONS && excess <= SETTLED * (1.0 + largest)) {
            break;
        }
        for (int i = 0; i < JOINTS; ++i) {
            if (!IS_RIGID[i] && s->felt[i] > 0.0) {
                c->hold_q[i] += (s->torque[i] - weight[i]) / s->felt[i];
            }
        }
    }
    for (int j = 0; j < MOTORS; ++j) {
        const int i = JOINT_OF_MOTOR[j];
        load[j] = IS_RIGID[i] ? weight[i] : s->load[j];
    }
}

static void start_hold(robot_controller *c)
{
    for (int i = 0; i < JOINTS; ++i) {
        c->hold_q[i] = 0.0;
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->hold_reference[0][j] = c->theta[j];
        c->hold_reference[1][j] = c->thetad[j];
        c->hold_q[JOINT_OF_MOTOR[j]] += TORQUE_SHARE[j] * c->theta[j];
    }
}

/* A damped stop of the motors, then a hold with gravity compensated, from motor states alone. */
void robot_stop_and_hold(robot_controller *c, double dt, double torque[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    const double decay = exp(-dt / p->stop_time);
    double load[MOTORS];
    if (!c->hold_is_started) {
        start_hold(c);
    }
    hang(c, c->hold_is_started ? ITERATIONS : 10 * ITERATIONS, load);
    c->hold_is_started = 1;
    for (int j = 0; j < MOTORS; ++j) {
        double *position = &c->hold_reference[0][j];
        double *velocity = &c->hold_reference[1][j];
        const double link = c->hold_q[JOINT_OF_MOTOR[j]] + *position - c->theta[j];
        const double slowest = fmin((p->hold_lower[j] - link) / p->stop_time, 0.0);
        const double fastest = fmax((p->hold_upper[j] - link) / p->stop_time, 0.0);
        *velocity = clipped(*velocity, slowest, fastest);
        const double wanted = load[j] + p->hold_gains[0][j] * (*position - c->theta[j]) +
                              p->hold_gains[1][j] * (*velocity - c->thetad[j]);
        torque[j] = clipped(wanted, -p->torque_limit[j], p->torque_limit[j]);
        *position += (torque[j] - wanted) / p->hold_gains[0][j];
        *position += (1.0 - decay) * p->stop_time * *velocity;
        *velocity *= decay;
    }
}

/* The torque that holds the arm at rest at its last known position. */
void robot_rest(robot_controller *c, double torque[MOTORS])
{
    robot_feedforward *flat = &c->now;
    for (int i = 0; i < JOINTS; ++i) {
        flat->state[0][i] = c->q[i];
        for (int k = 1; k < 5; ++k) {
            flat->state[k][i] = 0.0;
        }
        flat->torque[1][i] = flat->torque[2][i] = 0.0;
    }
    robot_gravity_forces(flat->state[0], flat->torque[0]);
    robot_settle_springs(flat);
    robot_motor_feedforward(flat->state, flat->torque, c->second, flat->filtered, flat->bent,
                            flat->load, flat->result, flat->flags);
    for (int j = 0; j < MOTORS; ++j) {
        torque[j] = flat->result[3][j];
    }
}
