/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* The cycle of the controller, and the functions that are called between cycles. */
#include "robot_controller_parts.h"

#include <math.h>

static void raise_fault(robot_controller *c, robot_fault fault, robot_state state)
{
    robot_raise_fault(&c->parameters, &c->modes, c->clock.time, (int)fault, (int)state, c->samples.qd,
                      c->samples.thetad);
}

static void hold(robot_controller *c)
{
    robot_reference_hold(&c->reference, c->samples.q, c->clock.time);
    c->has_motion = 1;
}

/* End the motion: sides without samples are then carried along nothing. */
static void end_motion(robot_controller *c)
{
    const double rest[4 * JOINTS + 2 * MOTORS] = {0.0};
    c->has_motion = 0;
    copy_row(rest, c->desired[1], 4 * JOINTS);
    copy_row(rest, c->now.result[1], 2 * MOTORS);
}

/* Hold the measured position, after activation or after the clock jumped. */
static void begin(robot_controller *c)
{
    hold(c);
    if (c->has_begun) {
        robot_start_law(c, c->parameters.transfer_time);
        return;
    }
    robot_begin_modes(&c->parameters, &c->modes, c->clock.time, c->samples.qd, c->samples.thetad,
                      1);
    c->has_begun = 1;
}

/* Whether there are states to begin with; at activation, velocities decide how it begins. */
static int may_begin(const robot_controller *c)
{
    const int is_settled = robot_filters_are_settled(&c->parameters, &c->samples);
    return c->samples.is_started && !robot_is_final(&c->modes) && (c->has_begun || is_settled);
}

/* The desired state of this cycle; brakes where the motion would end without a further point. */
static void look_up(robot_controller *c)
{
    const robot_parameters *p = &c->parameters;
    c->counts.late_references += robot_reference_follow(&c->reference, c->clock.time, p->lead,
                                                        p->stop_acceleration, c->desired) ? 1 : 0;
}

/* Start the law that acts from now on, at the present position. */
static void start_new_law(robot_controller *c)
{
    robot_start_law(c, c->modes.duration);
    if (c->has_motion) {
        hold(c);
    }
}

/* Apply the rules to what this cycle finds. */
static void supervise(robot_controller *c, double step)
{
    const robot_samples *s = &c->samples;
    robot_situation x = {
        .lacks_links = robot_lacks_links(&c->parameters, s, c->clock.time),
        .lacks_motors = robot_lacks_motors(&c->parameters, s, c->clock.time),
        .elapsed = step,
        .is_settled = robot_filters_are_settled(&c->parameters, s),
        .knows_speed = robot_knows_speed(&c->parameters, s, c->clock.time),
    };
    copy_row(s->qd, x.qd, x.lacks_links ? 0 : JOINTS);
    copy_row(s->thetad, x.thetad, x.lacks_motors ? 0 : MOTORS);
    copy_row(c->torque, x.sent, MOTORS);
    for (int i = 0; i < JOINTS; ++i) {
        x.error[i] = c->desired[0][i] - s->q[i];
    }
    robot_supervise(&c->parameters, &c->modes, c->clock.time, &x);
    robot_note_motion(&c->modes, robot_reference_motion(&c->reference));
    if (c->modes.is_new) {
        start_new_law(c);
        look_up(c);
    }
}

/* At rest where the arm was last; repeats the last torque if there is none. */
static void rest(robot_controller *c, double step)
{
    double wanted[MOTORS];
    if (c->modes.is_new) {
        start_new_law(c);
    }
    robot_rest(c, wanted);
    if (is_finite_row(wanted, MOTORS)) {
        robot_send(c, robot_torque_step(&c->parameters, step, c->period), wanted);
    }
}

static void run(robot_controller *c)
{
    const double step = c->has_torque ? c->clock.time - c->torque_time : 0.0;
    double wanted[MOTORS];
    if (!c->has_motion && may_begin(c)) {
        begin(c);
    }
    if (!c->has_motion) {
        if (c->has_begun) {
            rest(c, step);
        }
        return;
    }
    look_up(c);
    c->period = c->modes.mode == ROBOT_LOST ? c->period : robot_next_period(step, c->period);
    supervise(c, step);
    if (c->modes.mode == ROBOT_LOST || !c->samples.is_started) {
        rest(c, step);
        return;
    }
    const double dt = robot_torque_step(&c->parameters, step, c->period);
    c->feedback_share = robot_feedback_share(&c->parameters, step, dt, c->feedback_share);
    if (robot_is_following(c->modes.mode)) {
        robot_follow(c, dt, fmax(step, dt), wanted);
    } else if (c->modes.on_links) {
        robot_stop_on_links(c, wanted);
    } else {
        robot_stop_and_hold(c, dt, fmax(step, dt), wanted);
    }
    if (is_finite_row(wanted, MOTORS)) {
        robot_send(c, dt, wanted);
        return;
    }
    raise_fault(c, ROBOT_NOT_FINITE, ROBOT_STOPPING);
    rest(c, step);
}

/* The clock was set back, or stands still: the age of earlier samples is no longer known. */
static void forget(robot_controller *c)
{
    robot_restart_modes(&c->parameters, &c->modes, c->clock.time);
    if (robot_is_following(c->modes.mode)) {
        raise_fault(c, ROBOT_TIME, ROBOT_STOPPING);
    }
    c->has_torque = 0;
    end_motion(c);
    robot_forget_samples(&c->samples);
}

static void report(const robot_controller *c, robot_output *out)
{
    out->state = (robot_state)c->modes.mode;
    out->fault = (robot_fault)c->modes.fault;
    out->counts = c->counts;
    copy_row(&c->desired[0][0], &out->desired[0][0], 5 * JOINTS);
    copy_row(c->samples.q, out->q, JOINTS);
    copy_row(c->samples.qd, out->qd, JOINTS);
    copy_row(c->torque, out->torque, MOTORS);
    copy_row(c->now.result[0], out->desired_theta, MOTORS);
    copy_row(c->samples.theta, out->theta, MOTORS);
    copy_row(c->samples.thetad, out->thetad, MOTORS);
    for (int j = 0; j < MOTORS; ++j) {
        out->flags[j] = c->now.flags[j];
    }
}

int robot_initialise(robot_controller *c, const robot_parameters *parameters)
{
    *c = (robot_controller){.parameters = *parameters};
    robot_forget_samples(&c->samples);
    copy_row(SECOND_AT_REST, c->second[0], ROBOT_VARIABLE);
    return robot_wrong_parameter(parameters) ? 1 : 0;
}

int robot_activate(robot_controller *c, const double applied_torque[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    if (c->is_active || !robot_filters_are_settled(p, &c->samples) || /* nor if a side is missing */
        !is_finite_row(applied_torque, MOTORS) || robot_wrong_parameter(p)) {
        return 1;
    }
    copy_row(applied_torque, c->torque, MOTORS);
    c->is_active = 1;
    c->has_begun = c->has_motion = c->has_torque = 0;
    c->period = 0.0;
    return 0;
}

void robot_deactivate(robot_controller *c)
{
    robot_end_modes(&c->modes);
    c->is_active = c->has_begun = c->is_fading = 0;
    end_motion(c);
    for (int j = 0; j < MOTORS; ++j) {
        c->torque[j] = 0.0;
    }
}

robot_answer robot_append(robot_controller *c, double time, double state[5][JOINTS])
{
    const robot_parameters *p = &c->parameters;
    robot_answer answer = ROBOT_POINT_NOT_READY;
    if (robot_is_following(c->modes.mode)) {
        answer = (robot_answer)robot_reference_accept(&c->reference, c->clock.time, p->lead, time,
                                                      state, p->lower, p->upper, p->velocity);
    }
    c->counts.refused_points += answer == ROBOT_ACCEPTED ? 0 : 1;
    return answer;
}

void robot_cut(robot_controller *c, double time)
{
    if (robot_is_following(c->modes.mode) && !c->reference.brakes) {
        robot_reference_cut(&c->reference, fmax(time, c->clock.time));
    }
}

void robot_stop(robot_controller *c)
{
    if (robot_is_following(c->modes.mode)) {
        robot_reference_stop(&c->reference, c->clock.time, c->parameters.stop_acceleration);
    }
}

void robot_clear_fault(robot_controller *c)
{
    robot_end_fault(&c->parameters, &c->modes, c->samples.qd, c->samples.thetad);
}

void robot_note_delay(robot_controller *c, double delay)
{
    robot_judge_delay(&c->parameters, &c->modes, c->clock.time, delay, c->samples.qd,
                      c->samples.thetad);
}

int robot_set_external_torque(robot_controller *c, const double torque[JOINTS])
{
    if (!is_finite_row(torque, JOINTS)) {
        return 1;
    }
    copy_row(torque, c->external_torque, JOINTS);
    return 0;
}

int robot_set_second_outputs(robot_controller *c, double second[3][ROBOT_SECOND])
{
    if (!is_finite_row(&second[0][0], 3 * ROBOT_SECOND)) {
        return 1;
    }
    copy_row(&second[0][0], &c->second[0][0], 3 * ROBOT_SECOND);
    return 0;
}

robot_state robot_update(robot_controller *c, const robot_input *in, robot_output *out)
{
    const int clock = robot_advance_clock(&c->parameters, &c->clock, &c->counts, in->time);
    if (clock == CLOCK_RUNS) {
        robot_take_samples(&c->parameters, &c->samples, &c->counts, in->time, in->link_time,
                           in->motor_time, in->q, in->theta, c->clock.elapsed, c->desired,
                           c->now.result);
        if (c->is_active) {
            run(c);
        }
    } else if (clock == CLOCK_SET_BACK) {
        forget(c);
    } else if (clock == CLOCK_STOPPED && c->has_begun) {
        if (c->has_motion) {
            forget(c);
        }
        rest(c, 0.0);
    }
    report(c, out);
    return out->state;
}

unsigned long robot_controller_size(void)
{
    return (unsigned long)sizeof(robot_controller);
}
