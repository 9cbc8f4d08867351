/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * States and faults: transitions between laws, missing samples, tracking errors, clocks that jump or
 * stop.
 */
#include "robot_controller_parts.h"

#include <math.h>

void robot_enter(robot_controller *c, robot_state state, double duration)
{
    c->state = state;
    robot_fade(c, duration);
    robot_settle_springs(&c->now);
    robot_settle_springs(&c->later);
    robot_reset_disturbances(&c->disturbances);
    c->hold_is_started = 0;
}

void robot_fail(robot_controller *c, robot_fault fault)
{
    if (!is_latched(c->fault) || is_latched(fault)) {
        c->fault = fault;
    }
    if (is_following(c)) {
        robot_enter(c, ROBOT_STOPPING, c->parameters.stop_transfer_time);
    }
}

static double fastest_motor(const robot_controller *c)
{
    double speed = 0.0;
    for (int j = 0; j < MOTORS; ++j) {
        speed = fmax(speed, fabs(c->samples.thetad[j]));
    }
    return speed;
}

/* Missing states, late cycles, and the end of a stop. */
void robot_watch(robot_controller *c, double elapsed)
{
    const robot_parameters *p = &c->parameters;
    const int is_late = elapsed > p->link_timeout; /* the last torque has acted without feedback */
    c->counts.late_cycles += is_late ? 1 : 0;
    if (is_late || lacks_motors(c) || lacks_links(c)) { /* the filters settle again after that */
        c->samples.started = c->samples.time;
    }
    if (lacks_motors(c)) {
        if (c->state != ROBOT_LOST) {
            robot_fail(c, ROBOT_NO_MOTORS);
            robot_enter(c, ROBOT_LOST, c->parameters.stop_transfer_time);
        }
        return;
    }
    if (c->state == ROBOT_LOST && !c->stop_failed) {
        robot_enter(c, ROBOT_STOPPING, p->stop_transfer_time);
    }
    if (lacks_links(c)) {
        if (c->fault != ROBOT_NO_LINKS) {
            robot_fail(c, ROBOT_NO_LINKS);
        }
        return;
    }
    if (is_late) {
        robot_fail(c, ROBOT_TIME);
        return;
    }
    const int may_resume = c->fault == ROBOT_SETTLING || (p->recovers && !is_latched(c->fault));
    if (c->state == ROBOT_STOPPING && p->follows && may_resume && robot_filters_are_settled(p, &c->samples) &&
        fastest_motor(c) <= p->recovery_speed) {
        c->fault = ROBOT_NO_FAULT;
        robot_reference_hold(&c->reference, c->samples.q, c->time);
        robot_enter(c, ROBOT_HOLDING, p->transfer_time);
    }
}

void robot_check_tracking(robot_controller *c)
{
    const double tolerance = c->parameters.tracking_tolerance;
    for (int i = 0; i < JOINTS; ++i) {
        if (tolerance > 0.0 && fabs(c->desired[0][i] - c->samples.q[i]) > tolerance) {
            robot_fail(c, ROBOT_TRACKING);
            return;
        }
    }
}

/* The clock was set back: the age of earlier samples is no longer known. */
void robot_jump_back(robot_controller *c, double time)
{
    c->counts.time_jumps += 1;
    c->time = time;
    c->stalled = 0;
    robot_forget_samples(&c->samples);
    if (c->state != ROBOT_INACTIVE) {
        robot_fail(c, ROBOT_TIME);
        robot_enter(c, ROBOT_LOST, c->parameters.stop_transfer_time);
    }
}

/* The clock has stopped, or its time is not a number: at first, repeat the last torque. */
void robot_stall(robot_controller *c)
{
    double wanted[MOTORS];
    c->counts.stalled_cycles += 1;
    c->stalled += c->stalled <= MOST_STALLED ? 1 : 0;
    if (c->stalled <= MOST_STALLED || c->state == ROBOT_INACTIVE) {
        return;
    }
    if (c->state != ROBOT_LOST) {
        robot_fail(c, ROBOT_TIME);
        robot_enter(c, ROBOT_LOST, c->parameters.stop_transfer_time);
    }
    robot_rest(c, wanted);
    if (is_finite_row(wanted, MOTORS)) {
        robot_send(c, c->parameters.period, wanted);
    }
}
