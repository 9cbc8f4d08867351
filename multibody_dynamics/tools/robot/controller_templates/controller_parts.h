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

static inline int is_following(const robot_controller *c)
{
    return c->state == ROBOT_HOLDING || c->state == ROBOT_FOLLOWING || c->state == ROBOT_BRAKING;
}

static inline int is_latched(robot_fault fault)
{
    return fault == ROBOT_TRACKING || fault == ROBOT_NOT_FINITE;
}

static inline int lacks_links(const robot_controller *c)
{
    return !(c->time - c->samples.link_time <= c->parameters.link_timeout);
}

static inline int lacks_motors(const robot_controller *c)
{
    return !(c->time - c->samples.motor_time <= c->parameters.motor_timeout);
}

/* The parts of the cycle that Python and C share: robot_samples.c, robot_disturbances.c,
 * robot_control.c. */
//PROTOTYPES//
/* The law, along c->desired, `elapsed` after the last cycle, of which it uses at most `dt`; damped
 * springs at rest. */
void robot_follow(robot_controller *c, double dt, double elapsed, double torque[MOTORS]);
void robot_settle_springs(robot_feedforward *flat);

/* In place of the law: the damped stop and hold; the torque that holds the arm where it was last. */
void robot_stop_and_hold(robot_controller *c, double dt, double torque[MOTORS]);
void robot_rest(robot_controller *c, double torque[MOTORS]);

/* The torque that is sent: fade from the last one over `duration`; limit the wanted one. */
void robot_fade(robot_controller *c, double duration);
void robot_send(robot_controller *c, double dt, double wanted[MOTORS]);

/* States and faults: change the state; stop for a fault; what may change the state in a cycle. */
void robot_enter(robot_controller *c, robot_state state, double duration);
void robot_fail(robot_controller *c, robot_fault fault);
void robot_watch(robot_controller *c, double elapsed);
void robot_check_tracking(robot_controller *c);
void robot_jump_back(robot_controller *c, double time);
void robot_stall(robot_controller *c);

#endif
