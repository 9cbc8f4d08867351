{# Copyright 2026 multibody_dynamics developers
   SPDX-License-Identifier: Apache-2.0 #}
{{ tables | join("\n") }}
static int test_motor_feedforward(void)
{
    double error = 0.0;
    int k;
    for (k = 0; k < STATES; ++k) {
        double state[5][ROBOT_JOINTS];
        double torque[3][ROBOT_JOINTS];
        double carried[3][ROBOT_JOINTS];
        double filtered[ROBOT_STATES];
        double deflection[ROBOT_MOTORS];
        double load[ROBOT_MOTORS];
        double result[4][ROBOT_MOTORS];
        int flags[ROBOT_MOTORS];
        memcpy(state, MOTION[k], sizeof(state));
        memcpy(torque, &MOTION[k][5 * ROBOT_JOINTS], sizeof(torque));
        memcpy(filtered, SETTLED, sizeof(filtered));
        robot_motor_feedforward(state, torque, carried, SECOND, filtered, deflection, load, result,
                                flags);
        error = fmax(error, difference(result[0], MOTORS[k], ROBOT_MOTORS));
        error = fmax(error, difference(result[1], &MOTORS[k][ROBOT_MOTORS], ROBOT_MOTORS));
        error = fmax(error, difference(result[2], &MOTORS[k][2 * ROBOT_MOTORS], ROBOT_MOTORS));
        error = fmax(error, difference(result[3], &MOTORS[k][3 * ROBOT_MOTORS], ROBOT_MOTORS));
    }
    return report("robot_motor_feedforward", error, 1e-12);
}
