/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* The cycle of the controller, and the functions that are called between cycles. */
#include "robot_controller_parts.h"

#include <math.h>

static void brake(robot_controller *c)
{
    c->state = ROBOT_BRAKING;
    robot_reference_brake(&c->reference, c->parameters.stop_acceleration);
}

/* The desired state of this cycle; brakes where the motion would end without a further point. */
static void look_up(robot_controller *c)
{
    const double horizon = c->time + c->parameters.lead;
    if (!robot_reference_rests(&c->reference) && horizon >= c->reference.end) {
        c->counts.late_references += 1;
        brake(c);
    }
    robot_reference_evaluate(&c->reference, c->time, c->time, c->desired);
    if (c->reference.used == 0) {
        c->state = ROBOT_HOLDING;
    } else if (c->state == ROBOT_HOLDING) {
        c->state = ROBOT_FOLLOWING;
    }
}

static void run(robot_controller *c, double elapsed)
{
    const double dt = fmin(elapsed, c->parameters.max_step);
    double wanted[MOTORS];
    robot_watch(c, elapsed);
    if (is_following(c)) {
        look_up(c);
        robot_check_tracking(c);
    }
    if (is_following(c)) {
        robot_follow(c, dt, elapsed, wanted);
    } else if (c->state == ROBOT_STOPPING) {
        robot_stop_and_hold(c, dt, wanted);
    } else {
        robot_rest(c, wanted);
    }
    if (is_finite_row(wanted, MOTORS)) {
        robot_send(c, dt, wanted);
        return;
    }
    /* The last torque is repeated in this cycle. */
    if (c->state == ROBOT_STOPPING) {
        c->stop_failed = 1;
        robot_enter(c, ROBOT_LOST, c->parameters.stop_transfer_time);
    }
    robot_fail(c, ROBOT_NOT_FINITE);
}

static void report(const robot_controller *c, robot_output *out)
{
    out->state = c->state;
    out->fault = c->fault;
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
    if (c->state != ROBOT_INACTIVE || !c->samples.is_started || lacks_links(c) || lacks_motors(c) ||
        !is_finite_row(applied_torque, MOTORS) || robot_wrong_parameter(&c->parameters)) {
        return 1;
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->torque[j] = applied_torque[j];
    }
    robot_reference_hold(&c->reference, c->samples.q, c->time);
    robot_reference_evaluate(&c->reference, c->time, c->time, c->desired);
    c->stop_failed = 0;
    c->fault = ROBOT_SETTLING;
    robot_enter(c, ROBOT_STOPPING, c->parameters.transfer_time);
    return 0;
}

void robot_deactivate(robot_controller *c)
{
    c->state = ROBOT_INACTIVE;
    c->fault = ROBOT_NO_FAULT;
    c->is_fading = 0;
    for (int j = 0; j < MOTORS; ++j) {
        c->torque[j] = 0.0;
    }
}

static robot_answer appended(robot_controller *c, double time, double state[5][JOINTS])
{
    robot_reference *reference = &c->reference;
    const robot_parameters *p = &c->parameters;
    if (c->state != ROBOT_HOLDING && c->state != ROBOT_FOLLOWING) {
        return ROBOT_POINT_NOT_READY;
    }
    if (!is_finite_row(&time, 1) || !is_finite_row(&state[0][0], 5 * JOINTS)) {
        return ROBOT_POINT_NOT_FINITE;
    }
    if (reference->end < c->time) { /* at rest */
        reference->end = c->time;
    }
    if (!(time > c->time + p->lead) || !(time > reference->end + SHORTEST_SEGMENT)) {
        return ROBOT_POINT_LATE;
    }
    if (reference->used >= ROBOT_SEGMENTS - 1) { /* the last one is kept for the path to rest */
        return ROBOT_POINT_FULL;
    }
    const int row = robot_reference_append(reference, time, state);
    if (!robot_segment_is_within(reference, row, p->lower, p->upper, p->velocity)) {
        robot_reference_remove(reference, row);
        return ROBOT_POINT_BEYOND;
    }
    return ROBOT_ACCEPTED;
}

robot_answer robot_append(robot_controller *c, double time, double state[5][JOINTS])
{
    const robot_answer answer = appended(c, time, state);
    c->counts.refused_points += answer == ROBOT_ACCEPTED ? 0 : 1;
    return answer;
}

void robot_cut(robot_controller *c, double time)
{
    if (c->state == ROBOT_HOLDING || c->state == ROBOT_FOLLOWING) {
        robot_reference_cut(&c->reference, fmax(time, c->time));
    }
}

void robot_stop(robot_controller *c)
{
    robot_cut(c, c->time); /* HOLDING: points that were appended since the last cycle */
    if (c->state == ROBOT_FOLLOWING) {
        brake(c);
    }
}

void robot_clear_fault(robot_controller *c)
{
    if (c->state == ROBOT_STOPPING || c->state == ROBOT_LOST) {
        c->stop_failed = 0;
        c->fault = ROBOT_SETTLING;
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
        if (c->state != ROBOT_INACTIVE) {
            run(c, elapsed);
        }
    } else if (elapsed < -c->parameters.max_step && elapsed > -HUGE_VAL) {
        robot_jump_back(c, in->time);
    } else {
        robot_stall(c);
    }
    report(c, out);
    return c->state;
}

unsigned long robot_controller_size(void)
{
    return (unsigned long)sizeof(robot_controller);
}

const char *robot_state_name(robot_state state)
{
    static const char *const names[6] = {"inactive", "stopping", "holding",
                                         "following", "braking", "lost"};
    return (int)state >= 0 && (int)state < 6 ? names[state] : "unknown";
}

const char *robot_fault_name(robot_fault fault)
{
    static const char *const names[7] = {
        "none", "settling", "link states missing", "motor states missing", "tracking error",
        "torque not finite", "cycle late, or clock set back or stopped"};
    return (int)fault >= 0 && (int)fault < 7 ? names[fault] : "unknown";
}

const char *robot_answer_name(robot_answer answer)
{
    static const char *const names[6] = {
        "accepted", "a number is not finite",
        "due now or in the past, or before the last accepted point",
        "beyond a limit of position or velocity", "too many points are waiting",
        "the controller is not holding or following"};
    return (int)answer >= 0 && (int)answer < 6 ? names[answer] : "unknown";
}
