/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* For the programs: a controller, and an ideal arm, on its reference, in place of encoders. */
#include "robot_controller.h"

#include <stdio.h>

//TABLES//
static robot_controller controller; /* large: keep it off the stack */
static robot_input input;
static robot_output output;

/* The controller with the settings that were designed, but for its observer of disturbances, to
 * which an ideal arm does not show what disturbs it. Returns whether the settings are in range. */
static int is_initialised(int observes)
{
    robot_parameters parameters;
    robot_default_parameters(&parameters);
    parameters.disturbance_bandwidth *= observes ? 1.0 : 0.0;
    parameters.recovery_limit = 0; /* the programs interrupt the arm often */
    if (robot_initialise(&controller, &parameters)) {
        printf("the parameter %s is out of range\n", robot_wrong_parameter(&parameters));
        return 0;
    }
    return 1;
}

/* A cycle of the controller takes this input. */
static inline void measure(double time)
{
    const int is_moved = output.state >= ROBOT_HOLDING;
    input.time = input.link_time = input.motor_time = time;
    for (int i = 0; i < ROBOT_JOINTS; ++i) {
        input.q[i] = is_moved ? output.desired[0][i] : START[i];
    }
    for (int j = 0; j < ROBOT_MOTORS; ++j) {
        input.theta[j] = is_moved ? output.desired_theta[j] : START_MOTORS[j];
    }
}

/* Move to rest at START, but for the first joint, by this share of TRAVEL from there. */
static inline robot_answer move(double share, double time)
{
    double goal[5][ROBOT_JOINTS] = {{0.0}};
    for (int i = 0; i < ROBOT_JOINTS; ++i) {
        goal[0][i] = START[i] + (i == 0 ? share * TRAVEL : 0.0);
    }
    return robot_append(&controller, time, goal);
}
