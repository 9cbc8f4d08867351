/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

#include "simulated_arm.h"

#include <math.h>

#define JOINTS ROBOT_JOINTS
#define MOTORS ROBOT_MOTORS
#define SIZE (2 * JOINTS + 2 * MOTORS) /* of a state: q, q', theta, theta' */

//TABLES//
/* The derivative of a state: M q'' + C q' + g = Q - friction, M_m theta'' = tau - load - friction.
 * At a rigid joint, link and motor are one body. */
static void slope(robot_arm *arm, const double x[SIZE], const double tau[MOTORS], double dx[SIZE])
{
    const double *qd = x + JOINTS, *theta = qd + JOINTS, *thetad = theta + MOTORS;
    double *qdd = dx + JOINTS, *thetadd = dx + 2 * JOINTS + MOTORS;
    double torque[JOINTS], rate[JOINTS], K[JOINTS];
    double load[MOTORS] = {0.0}, deflection[MOTORS];
    robot_spring_torques(x, qd, theta, thetad, arm->second, torque, rate, K, load, deflection);
    for (int i = 0; i < JOINTS; ++i) {
        const int j = FIRST_MOTOR[i];
        if (IS_RIGID[i]) {
            torque[i] = tau[j] - robot_motor_friction(j, thetad[j], tau[j]);
        }
        torque[i] -= robot_link_friction(i, qd[i], torque[i]);
        dx[i] = qd[i];
    }
    robot_forward_dynamics(x, qd, torque, qdd);
    for (int j = 0; j < MOTORS; ++j) {
        const double net = tau[j] - load[j] - robot_motor_friction(j, thetad[j], load[j]);
        thetadd[j] = INERTIA[j] > 0.0 ? net / INERTIA[j] : 0.0;
        dx[2 * JOINTS + j] = thetad[j];
    }
    for (int i = 0; i < JOINTS; ++i) {
        if (IS_RIGID[i]) {
            thetadd[FIRST_MOTOR[i]] = qdd[i];
        }
    }
}

static void runge_kutta(robot_arm *arm, double x[SIZE], const double tau[MOTORS], double h)
{
    static const double REACH[4] = {0.5, 0.5, 1.0, 0.0}, WEIGHT[4] = {1.0, 2.0, 2.0, 1.0};
    double at[SIZE], sum[SIZE] = {0.0}, dx[SIZE];
    for (int k = 0; k < SIZE; ++k) {
        at[k] = x[k];
    }
    for (int stage = 0; stage < 4; ++stage) {
        slope(arm, at, tau, dx);
        for (int k = 0; k < SIZE; ++k) {
            sum[k] += WEIGHT[stage] * dx[k];
            at[k] = x[k] + REACH[stage] * h * dx[k];
        }
    }
    for (int k = 0; k < SIZE; ++k) {
        x[k] += h / 6.0 * sum[k];
    }
}

static void exchange(robot_arm *arm, double x[SIZE], int loads)
{
    double *rows[4] = {arm->q, arm->qd, arm->theta, arm->thetad};
    static const int COUNT[4] = {JOINTS, JOINTS, MOTORS, MOTORS};
    for (int row = 0, k = 0; row < 4; ++row) {
        for (int i = 0; i < COUNT[row]; ++i, ++k) {
            if (loads) {
                x[k] = rows[row][i];
            } else {
                rows[row][i] = x[k];
            }
        }
    }
}

void robot_arm_reset(robot_arm *arm)
{
    *arm = (robot_arm){.brakes = 1};
    for (int i = 0; i < JOINTS; ++i) {
        arm->q[i] = START[i];
    }
    for (int j = 0; j < MOTORS; ++j) {
        arm->theta[j] = START_MOTORS[j];
    }
    for (int v = 0; v < ROBOT_SECOND; ++v) {
        arm->second[0][v] = SECOND_AT_REST[v];
    }
}

int robot_arm_step(robot_arm *arm, const double torque[MOTORS], double dt)
{
    const double count = fmax(1.0, ceil(dt / STEP - 1e-6));
    double x[SIZE], tau[MOTORS], sum = 0.0;
    for (int j = 0; j < MOTORS; ++j) {
        tau[j] = fmax(-TORQUE_LIMIT[j], fmin(torque[j], TORQUE_LIMIT[j]));
        arm->brakes = arm->brakes && tau[j] == 0.0;
    }
    exchange(arm, x, 1);
    for (int k = 0; k < (int)count && !arm->brakes; ++k) {
        runge_kutta(arm, x, tau, dt / count);
    }
    for (int k = 0; k < SIZE; ++k) {
        const int is_speed = (k >= JOINTS && k < 2 * JOINTS) || k >= 2 * JOINTS + MOTORS;
        x[k] = arm->brakes && is_speed ? 0.0 : x[k];
        sum += 0.0 * x[k]; /* NaN for an infinite number, too */
    }
    if (sum != 0.0) {
        return 1;
    }
    exchange(arm, x, 0);
    return 0;
}
