/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* What the files of the controller share; callers need robot_controller.h alone. */
#ifndef ROBOT_CONTROLLER_PARTS_H
#define ROBOT_CONTROLLER_PARTS_H

#include "robot_controller.h"

#ifdef __FAST_MATH__
#error "compile without -ffast-math, which removes the checks for NaN"
#endif

#define JOINTS ROBOT_JOINTS
#define MOTORS ROBOT_MOTORS

//TABLES//

static inline int is_finite_row(const double *row, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
        sum += 0.0 * row[i]; /* NaN for an infinite number, too */
    }
    return sum == 0.0;
}

static inline void copy_row(const double *from, double *to, int count)
{
    for (int i = 0; i < count; ++i) {
        to[i] = from[i];
    }
}

/* The parts of the cycle that Python and C share: robot_samples.c, robot_modes.c,
 * robot_disturbances.c, robot_control.c. */
//PROTOTYPES//
/* The laws: that which is chosen, along c->desired, `elapsed` after the last cycle, of which it uses
 * at most `dt`; the damped stop and hold; the stop from links alone; rest where the arm was last. */
void robot_follow(robot_controller *c, double dt, double elapsed, double torque[MOTORS]);
void robot_stop_and_hold(robot_controller *c, double dt, double elapsed, double torque[MOTORS]);
void robot_stop_on_links(robot_controller *c, double torque[MOTORS]);
void robot_rest(robot_controller *c, double torque[MOTORS]);

/* Begin a law, fading from the last torque over `duration`; send the torque that a law wants. */
void robot_start_law(robot_controller *c, double duration);
void robot_send(robot_controller *c, double dt, double wanted[MOTORS]);

#endif
