/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * The arm with its springs and motors, for trials without hardware: the equations of motion of
 * multibody_dynamics.dynamics.plant.ElasticRobot and its integrator, the classical Runge-Kutta
 * method. Not part of the controller.
 */
#ifndef ROBOT_SIMULATED_ARM_H
#define ROBOT_SIMULATED_ARM_H

#include "robot_actuators.h"
#include "robot_dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double q[ROBOT_JOINTS], qd[ROBOT_JOINTS];         /* links */
    double theta[ROBOT_MOTORS], thetad[ROBOT_MOTORS]; /* motors, on the link side of the gears */
    double second[3][ROBOT_SECOND]; /* stiffness, with two rates, of joints where no motor sets it */
    int brakes;                     /* whether brakes hold links and motors */
//LOOPS//
} robot_arm;

/* At rest on its springs, at the position for which the gains were designed; brakes hold it. */
void robot_arm_reset(robot_arm *arm);

/*
 * Advance by dt in s under motor torques, which their limits clip; the first torque that is not zero
 * releases the brakes. Returns 0, or 1 if the motion diverges; the arm then stays where it is.
 */
int robot_arm_step(robot_arm *arm, const double torque[ROBOT_MOTORS], double dt);

//DYNAMICS//
#ifdef __cplusplus
}
#endif

#endif
