/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * The controller without ROS: an ideal arm in place of the hardware, one point to reach, and a cycle
 * of 1 ms. On a robot, read the encoders in place of `measure`, and write output.torque after
 * robot_update, which belongs in the thread that writes the torques.
 */
#include "ideal_arm.h"

#define PERIOD 1e-3
#define CYCLES 3000

int main(void)
{
    robot_state before = ROBOT_INACTIVE;
    if (!is_initialised(0)) {
        return 1;
    }
    for (int k = 1; k <= CYCLES; ++k) {
        const double time = k * PERIOD;
        measure(time);
        if (k == 100 && robot_activate(&controller, NULL)) {
            puts("no states of links and motors");
            return 1;
        }
        if (k == 1000) {
            printf("the goal: %s\n", robot_answer_name(move(1.0, time + 1.0)));
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
