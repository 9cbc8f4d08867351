/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Runs the controller through recorded cycles of the Python package, from activation to a motion
 * and a stop, and compares every torque. The exit status is 0 if all agree.
 */
#include "robot_controller.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

//TABLES//
static robot_controller controller;

int main(void)
{
    robot_parameters parameters;
    double error = 0.0;
    double size = 0.0;
    robot_default_parameters(&parameters);
    if (robot_initialise(&controller, &parameters)) {
        printf("the parameter %s is out of range: WRONG\n", robot_wrong_parameter(&parameters));
        return EXIT_FAILURE;
    }
    for (int k = 0; k < CYCLES; ++k) {
        robot_input input;
        robot_output output;
        input.time = input.motor_time = TIME[k];
        input.link_time = LINK_TIME[k];
        for (int i = 0; i < ROBOT_JOINTS; ++i) {
            input.q[i] = Q[k][i];
        }
        for (int j = 0; j < ROBOT_MOTORS; ++j) {
            input.theta[j] = THETA[k][j];
        }
        if (k == ACTIVATED) {
            robot_activate(&controller, APPLIED);
        }
        if (k == APPENDED) {
            double goal[5][ROBOT_JOINTS];
            for (int i = 0; i < 5 * ROBOT_JOINTS; ++i) {
                goal[i / ROBOT_JOINTS][i % ROBOT_JOINTS] = GOAL[i / ROBOT_JOINTS][i % ROBOT_JOINTS];
            }
            robot_append(&controller, GOAL_TIME, goal);
        }
        robot_update(&controller, &input, &output);
        if ((int)output.state != (int)STATE[k]) {
            printf("cycle %d: state %s: WRONG\n", k, robot_state_name(output.state));
            return EXIT_FAILURE;
        }
        for (int j = 0; j < ROBOT_MOTORS; ++j) {
            const double difference = fabs(output.torque[j] - TORQUE[k][j]);
            error = difference < HUGE_VAL ? fmax(error, difference) : HUGE_VAL;
            size = fmax(size, fabs(TORQUE[k][j]));
        }
    }
    const int is_wrong = !(error <= 1e-12 * size);
    printf("%d cycles: largest error %.1e of the largest torque%s\n", CYCLES, error / size,
           is_wrong ? ": WRONG" : "");
    return is_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
