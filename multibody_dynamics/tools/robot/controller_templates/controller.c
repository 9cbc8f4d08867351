/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* The cycle of the controller, and the functions that are called between cycles. */
#include "robot_controller_parts.h"

#include <math.h>

static void raise_fault(robot_controller *c, robot_fault fault, robot_state state)
{
    robot_raise_fault(&c->parameters, &c->modes, c->time, (int)fault, (int)state, c->samples.qd,
                      c->samples.thetad);
}

static void hold(robot_controller *c)
{
    robot_reference_hold(&c->reference, c->samples.q, c->time);
    c->has_motion = 1;
}

/* Hold the measured position, after activation or after the clock jumped. */
static void begin(robot_controller *c)
{
    hold(c);
    if (c->has_begun) {
        robot_start_law(c, c->parameters.transfer_time);
        return;
    }
    robot_begin_modes(&c->parameters, &c->modes, c->time, c->samples.qd, c->samples.thetad);
    c->has_begun = 1;
}

/* The desired state of this cycle; brakes where the motion would end without a further point. */
static void look_up(robot_controller *c)
{
    const robot_parameters *p = &c->parameters;
    c->counts.late_references += robot_reference_follow(&c->reference, c->time, p->lead,
                                                        p->stop_acceleration, c->desired) ? 1 : 0;
}

/* Apply the rules to what this cycle finds; start the law that acts from now on, if it is another
 * one. */
static void supervise(robot_controller *c, double step)
{
    const robot_samples *s = &c->samples;
    robot_situation x = {
        .lacks_links = robot_lacks_links(&c->parameters, s, c->time),
        .lacks_motors = robot_lacks_motors(&c->parameters, s, c->time),
        .elapsed = step,
        .is_settled = robot_filters_are_settled(&c->parameters, s),
    };
    for (int i = 0; i < JOINTS; ++i) {
        x.qd[i] = x.lacks_links ? 0.0 : s->qd[i];
        x.error[i] = c->desired[0][i] - s->q[i];
    }
    for (int j = 0; j < MOTORS; ++j) {
        x.thetad[j] = x.lacks_motors ? 0.0 : s->thetad[j];
    }
    robot_supervise(&c->parameters, &c->modes, c->time, &x);
    robot_note_motion(&c->modes, robot_reference_motion(&c->reference));
    if (c->modes.is_new) {
        robot_start_law(c, c->modes.duration);
        hold(c);
        look_up(c);
    }
}

/* The time by which a torque may change, `step` after the last one. */
static double torque_step(const robot_controller *c, double step)
{
    const double period = c->period > 0.0 ? c->period : c->parameters.period;
    const double longest = fmin(step, LONGEST_STEP * period);
    return fmin(longest > 0.0 ? longest : c->parameters.period, c->parameters.max_step);
}

/* At rest where the arm was last; repeats the last torque if there is none. */
static void rest(robot_controller *c, double step)
{
    double wanted[MOTORS];
    if (c->modes.is_new) {
        robot_start_law(c, c->modes.duration);
        if (c->has_motion) {
            hold(c);
        }
    }
    robot_rest(c, wanted);
    if (is_finite_row(wanted, MOTORS)) {
        robot_send(c, torque_step(c, step), wanted);
    }
}

static void run(robot_controller *c)
{
    const double step = c->has_torque ? c->time - c->torque_time : 0.0;
    double wanted[MOTORS];
    if (!c->has_motion && c->samples.is_started) {
        begin(c);
    }
    if (!c->has_motion) {
        rest(c, step);
        return;
    }
    look_up(c);
    if (step > 0.0) {
        c->period = c->period > 0.0 ? fmin(step, LONGEST_PERIOD * c->period) : step;
    }
    supervise(c, step);
    if (c->modes.mode == ROBOT_LOST || !c->samples.is_started) {
        rest(c, step);
        return;
    }
    const double dt = torque_step(c, step);
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

/* The clock was set back: the age of earlier samples is no longer known. */
static void jump_back(robot_controller *c, double time)
{
    c->counts.time_jumps += 1;
    if (robot_is_following(c->modes.mode)) {
        raise_fault(c, ROBOT_TIME, ROBOT_STOPPING);
    }
    c->time = time;
    c->stalled = c->has_motion = c->has_torque = 0;
    robot_forget_samples(&c->samples);
    robot_restart_modes(&c->modes, time);
}

/* The clock has stopped, or its time is not a number: at first, repeat the last torque. */
static void stall(robot_controller *c)
{
    c->counts.stalled_cycles += 1;
    c->stalled += c->stalled <= MOST_STALLED ? 1 : 0;
    if (c->is_active && c->stalled > MOST_STALLED) {
        raise_fault(c, ROBOT_TIME, ROBOT_STOPPING);
        rest(c, c->parameters.period);
    }
}

static void report(const robot_controller *c, robot_output *out)
{
    out->state = (robot_state)c->modes.mode;
    out->fault = (robot_fault)c->modes.fault;
    out->counts = c->counts;
    for (int i = 0; i < JOINTS; ++i) {
        for (int k = 0; k < 5; ++k) {
            out->desired[k][i] = c->desired[k][i];
        }
        out->q[i] = c->samples.q[i];
        out->qd[i] = c->samples.qd[i];
    }
    for (int j = 0; j < MOTORS; ++j) {
        out->torque[j] = c->torque[j];
        out->desired_theta[j] = c->now.result[0][j];
        out->theta[j] = c->samples.theta[j];
        out->thetad[j] = c->samples.thetad[j];
        out->flags[j] = c->now.flags[j];
    }
}

int robot_initialise(robot_controller *c, const robot_parameters *parameters)
{
    *c = (robot_controller){.parameters = *parameters};
    robot_forget_samples(&c->samples);
    for (int i = 0; i < ROBOT_VARIABLE; ++i) {
        c->second[0][i] = SECOND_AT_REST[i];
    }
    return robot_wrong_parameter(parameters) ? 1 : 0;
}

int robot_activate(robot_controller *c, const double applied_torque[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    if (c->is_active || !robot_filters_are_settled(p, &c->samples) ||
        robot_lacks_links(p, &c->samples, c->time) || robot_lacks_motors(p, &c->samples, c->time) ||
        !is_finite_row(applied_torque, MOTORS) || robot_wrong_parameter(p)) {
        return 1;
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->torque[j] = applied_torque[j];
    }
    c->is_active = 1;
    c->has_begun = c->has_motion = c->has_torque = 0;
    c->period = 0.0;
    return 0;
}

void robot_deactivate(robot_controller *c)
{
    robot_end_modes(&c->modes);
    c->is_active = c->has_motion = c->is_fading = 0;
    for (int j = 0; j < MOTORS; ++j) {
        c->torque[j] = 0.0;
    }
}

robot_answer robot_append(robot_controller *c, double time, double state[5][JOINTS])
{
    const robot_parameters *p = &c->parameters;
    const robot_answer answer =
        !robot_is_following(c->modes.mode) ? ROBOT_POINT_NOT_READY
        : (robot_answer)robot_reference_accept(&c->reference, c->time, p->lead, time, state,
                                               p->lower, p->upper, p->velocity);
    c->counts.refused_points += answer == ROBOT_ACCEPTED ? 0 : 1;
    return answer;
}

void robot_cut(robot_controller *c, double time)
{
    if (robot_is_following(c->modes.mode) && !c->reference.brakes) {
        robot_reference_cut(&c->reference, fmax(time, c->time));
    }
}

void robot_stop(robot_controller *c)
{
    if (robot_is_following(c->modes.mode)) {
        robot_reference_stop(&c->reference, c->time, c->parameters.stop_acceleration);
    }
}

void robot_clear_fault(robot_controller *c)
{
    robot_end_fault(&c->parameters, &c->modes, c->samples.qd, c->samples.thetad);
}

void robot_note_delay(robot_controller *c, double delay)
{
    if (c->has_begun) {
        robot_judge_delay(&c->parameters, &c->modes, c->time, delay, c->samples.qd,
                          c->samples.thetad);
    }
}

int robot_set_external_torque(robot_controller *c, const double torque[JOINTS])
{
    if (!is_finite_row(torque, JOINTS)) {
        return 1;
    }
    for (int i = 0; i < JOINTS; ++i) {
        c->external_torque[i] = torque[i];
    }
    return 0;
}

int robot_set_second_outputs(robot_controller *c, double second[3][ROBOT_SECOND])
{
    for (int k = 0; k < 3; ++k) {
        if (!is_finite_row(second[k], ROBOT_SECOND)) {
            return 1;
        }
    }
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < ROBOT_VARIABLE; ++i) {
            c->second[k][i] = second[k][i];
        }
    }
    return 0;
}

robot_state robot_update(robot_controller *c, const robot_input *in, robot_output *out)
{
    const double elapsed = c->has_time ? in->time - c->time : c->parameters.period;
    c->counts.cycles += 1;
    if (elapsed > 0.0 && is_finite_row(&in->time, 1)) {
        c->time = in->time;
        c->has_time = 1;
        c->stalled = 0;
        robot_take_samples(&c->parameters, &c->samples, &c->counts, in->time, in->link_time,
                           in->motor_time, in->q, in->theta, elapsed);
        if (c->is_active) {
            run(c);
        }
    } else if (elapsed < -c->parameters.max_step && elapsed > -HUGE_VAL) {
        jump_back(c, in->time);
    } else {
        stall(c);
    }
    report(c, out);
    return out->state;
}

unsigned long robot_controller_size(void)
{
    return (unsigned long)sizeof(robot_controller);
}
