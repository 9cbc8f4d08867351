/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* The law: feedforward of the flat map, and linear feedback of links and motors. */
#include "robot_controller_parts.h"

#include <math.h>

void robot_settle_springs(robot_feedforward *flat)
{
    for (int i = 0; i < JOINTS; ++i) {
        flat->filtered[i] = IS_DAMPED[i] ? NAN : 0.0;
    }
}

/* Q, Q' and Q''. The positions and velocities of motors do not need Q'', but code of their own would
 * cost more than it saves: after sleeping, most of it comes from memory. */
static void inverse_dynamics(const robot_controller *c, robot_feedforward *flat)
{
    robot_inverse_dynamics_2(flat->state[0], flat->state[1], flat->state[2], flat->state[3],
                             flat->state[4], flat->torque[0], flat->torque[1], flat->torque[2]);
    for (int i = 0; i < JOINTS; ++i) {
        flat->torque[0][i] -= c->external_torque[i];
    }
    if (c->parameters.disturbance_bandwidth > 0.0) {
        for (int i = 0; i < JOINTS; ++i) {
            flat->torque[0][i] -= c->disturbances.link[i];
            flat->torque[1][i] -= c->disturbances.link_rate[i];
        }
    }
}

/* Motors along flat->state; advances the filters of damped springs by dt. */
static void map_motion(robot_controller *c, robot_feedforward *flat, double dt)
{
    inverse_dynamics(c, flat);
    robot_motor_feedforward(flat->state, flat->torque, c->second, flat->filtered, flat->bent,
                            flat->load, flat->result, flat->flags);
    for (int j = 0; j < MOTORS; ++j) {
        const double left = 1.0 - c->parameters.friction[j];
        if (left > 0.0) {
            flat->result[3][j] -= left * robot_motor_friction(j, flat->result[1][j]);
        }
    }
    robot_advance_springs(flat->torque, flat->filtered, dt);
}

/* Feedforward of the flat map and linear feedback of links and motors. */
void robot_follow(robot_controller *c, double dt, double elapsed, double torque[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    const int is_compensated = p->disturbance_bandwidth > 0.0;
    if (is_compensated) {
        robot_observe_disturbances(c, elapsed);
    }
    for (int k = 0; k < 5; ++k) {
        for (int i = 0; i < JOINTS; ++i) {
            c->now.state[k][i] = c->desired[k][i];
        }
    }
    map_motion(c, &c->now, dt);
    for (int j = 0; j < MOTORS; ++j) {
        const int i = JOINT_OF_MOTOR[j];
        torque[j] = p->gains[0][j] * (c->desired[0][i] - c->q[i]) +
                    p->gains[1][j] * (c->desired[1][i] - c->qd[i]) +
                    p->gains[2][j] * (c->now.result[0][j] - c->theta[j]) +
                    p->gains[3][j] * (c->now.result[1][j] - c->thetad[j]);
    }
    robot_feedforward *flat = &c->now;
    if (p->lead > 0.0) {
        flat = &c->later;
        robot_reference_evaluate(&c->reference, c->time + p->lead, c->time, flat->state);
        map_motion(c, flat, dt);
    }
    for (int j = 0; j < MOTORS; ++j) {
        torque[j] += flat->result[3][j];
        if (is_compensated) {
            torque[j] -= c->disturbances.motor[j];
        }
    }
}
