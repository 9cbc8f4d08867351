/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Runs the controller through recorded cycles of the Python package, from activation to a motion
 * and a stop, and compares every torque. The exit status is 0 if all agree.
 */
#include "ideal_arm.h"

#include <math.h>

//TABLES//
int main(void)
{
    double error = 0.0, size = 0.0;
    if (!is_initialised(1)) {
        return 1;
    }
    for (int k = 0; k < CYCLES; ++k) {
        if (k == ACTIVATED) {
            robot_activate(&controller, NULL);
        }
        if (k == APPENDED) {
            robot_append(&controller, GOAL_TIME, GOAL);
        }
        robot_update(&controller, &INPUT[k], &output);
        if ((int)output.state != (int)STATE[k]) {
            printf("cycle %d: state %s: WRONG\n", k, robot_state_name(output.state));
            return 1;
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
    return is_wrong;
}
