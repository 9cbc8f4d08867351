/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * The controller without ROS: an ideal arm in place of the hardware, one point to reach, and a cycle
 * of 1 ms. On a robot, read the encoders in place of `measure`, and write output.torque after
 * robot_update, which belongs in the thread that writes the torques.
 */
#include "robot_controller.h"

#include <stdio.h>

#define PERIOD 1e-3
#define CYCLES 3000

//TABLES//
static robot_controller controller; /* large: keep it off the stack */
static robot_input input;
static robot_output output;

/* An arm that follows its reference perfectly, in place of encoders. */
static void measure(double time)
{
    input.time = input.link_time = input.motor_time = time;
    for (int i = 0; i < ROBOT_JOINTS; ++i) {
        input.q[i] = output.state >= ROBOT_HOLDING ? output.desired[0][i] : START[i];
    }
    for (int j = 0; j < ROBOT_MOTORS; ++j) {
        const int is_moved = output.state >= ROBOT_HOLDING;
        input.theta[j] = is_moved ? output.desired_theta[j] : START_MOTORS[j];
    }
}

int main(void)
{
    robot_parameters parameters;
    const double no_torque[ROBOT_MOTORS] = {0.0};
    double goal[5][ROBOT_JOINTS] = {{0.0}};
    robot_state before = ROBOT_INACTIVE;
    robot_default_parameters(&parameters);
    parameters.disturbance_bandwidth = 0.0; /* an ideal arm does not show what disturbs it */
    if (robot_initialise(&controller, &parameters)) {
        printf("the parameter %s is out of range\n", robot_wrong_parameter(&parameters));
        return 1;
    }
    for (int k = 1; k <= CYCLES; ++k) {
        const double time = k * PERIOD;
        measure(time);
        if (k == 100 && robot_activate(&controller, no_torque)) {
            puts("no states of links and motors");
            return 1;
        }
        if (k == 1000) {
            for (int i = 0; i < ROBOT_JOINTS; ++i) {
                goal[0][i] = START[i];
            }
            goal[0][0] += 0.2;
            const robot_answer answer = robot_append(&controller, time + 1.0, goal);
            printf("the goal: %s\n", robot_answer_name(answer));
        }
        robot_update(&controller, &input, &output);
        if (output.state != before) {
            printf("%.3f s: %s (%s)\n", time, robot_state_name(output.state),
                   robot_fault_name(output.fault));
            before = output.state;
        }
    }
    for (int j = 0; j < ROBOT_MOTORS; ++j) {
        printf("%-24s %12.6f\n", robot_motor_names[j], output.torque[j]);
    }
    return 0;
}
