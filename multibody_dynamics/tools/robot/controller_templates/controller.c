/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* The torques, of the law and of the stops that take its place after a fault; the cycle; and the
 * functions that are called between cycles. */
#include "robot_controller.h"

#include <math.h>
#include <stddef.h>

#ifdef __FAST_MATH__
#error "compile without -ffast-math, which removes the checks for NaN"
#endif

#define JOINTS ROBOT_JOINTS
#define MOTORS ROBOT_MOTORS

static const double ZEROS[4 * JOINTS + 2 * MOTORS] = {0.0}; /* for rows of any numbers */
//TABLES//

static int is_finite_row(const double *row, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
        sum += 0.0 * row[i]; /* NaN for an infinite number, too */
    }
    return sum == 0.0;
}

static void copy_row(const double *from, double *to, int count)
{
    for (int i = 0; i < count; ++i) {
        to[i] = from[i];
    }
}

/* What Python and C share, and other files define. */
//PROTOTYPES//
/* Torques: feedforward of the flat map, linear feedback of links and motors, fades, limits. */

static void settle_springs(robot_feedforward *flat)
{
    for (int i = 0; i < ROBOT_STATES; ++i) {
        flat->filtered[i] = i < JOINTS && HAS_MEMORY[i] ? NAN : 0.0;
    }
}

/* Motors along one motion, now, or two; advances the filters of damped springs by dt. */
static void map_motions(robot_controller *c, int count, double dt)
{
    robot_feedforward *const motions[] = {&c->now, &c->later};
    double (*const states[])[JOINTS] = {c->now.state, c->later.state};
    double (*const torques[])[JOINTS] = {c->now.torque, c->later.torque};
    robot_torques_along(count, states, torques);
    for (int k = 0; k < count; ++k) {
        robot_feedforward *flat = motions[k];
        robot_subtract_known(flat->torque, c->external_torque, c->disturbances.link,
                             c->disturbances.link_rate);
        robot_motor_feedforward(flat->state, flat->torque, flat->carried, c->second, flat->filtered,
                                flat->deflection, flat->load, flat->result, flat->flags);
        robot_advance_states(flat->state, flat->carried, flat->filtered, dt);
    }
}

static void observe_disturbances(robot_controller *c, double elapsed)
{
    const robot_parameters *p = &c->parameters;
    const robot_samples *x = &c->samples;
    const robot_springs *s = &c->springs;
    const robot_feedforward *last = p->lead > 0.0 ? &c->later : &c->now;
    double momentum[JOINTS], bias[JOINTS], known[JOINTS];
    robot_momentum(x->q, x->qd, momentum, bias);
    robot_known_torques(c->external_torque, c->desired[1], last->torque[0], c->now.filtered,
                        known);
    robot_observe_disturbances(&c->disturbances, p->disturbance_bandwidth,
                               p->link_disturbance_bandwidth, p->lowered_link_bandwidth,
                               p->link_disturbance_limit, p->motor_disturbance_limit,
                               p->link_disturbance_band, elapsed, x->qd, x->thetad, momentum, bias,
                               s->torque, s->load, c->torque, known, c->desired[1],
                               last->torque[1]);
}

/* The chosen law along c->desired, `elapsed` after the last cycle, of which it uses at most `dt`. */
static void follow(robot_controller *c, double dt, double elapsed, double torque[MOTORS])
{
    robot_parameters *p = &c->parameters;
    const robot_samples *x = &c->samples;
    const robot_feedforward *ahead = p->lead > 0.0 ? &c->later : &c->now;
    c->unobserved += elapsed;
    if (p->disturbance_bandwidth > 0.0 && x->is_complete) {
        observe_disturbances(c, c->unobserved);
        c->unobserved = 0.0;
    }
    copy_row(&c->desired[0][0], &c->now.state[0][0], 5 * JOINTS);
    if (p->lead > 0.0) {
        robot_evaluate_motion(&c->motion, c->clock.time + p->lead, c->clock.time, c->later.state);
    }
    map_motions(c, p->lead > 0.0 ? 2 : 1, dt);
    robot_feed_back(c->desired, x->q, x->qd, c->now.result, x->theta, x->thetad, torque,
                    c->feedback_share, p->gains);
    for (int j = 0; j < MOTORS; ++j) {
        const double left = 1.0 - p->friction[j];
        double own = ahead->result[3][j];
        if (left > 0.0) {
            own -= left * robot_motor_friction(j, ahead->result[1][j], ahead->load[j]);
        }
        torque[j] += own;
        torque[j] -= c->disturbances.motor[j]; /* zero if they are not observed */
    }
}

/* Links in equilibrium on their springs, with the motors at theta; the loads of the motors. */
static void hang(robot_controller *c, const double theta[MOTORS], int iterations,
                 double load[MOTORS])
{
    double excess[JOINTS] = {0.0};
    robot_springs *s = &c->springs;
    robot_follow_rigid_motors(theta, c->hold_q);
    for (int k = 0; k < iterations; ++k) {
        robot_load_springs(s, c->hold_q, theta, c->second);
        for (int i = 0; i < JOINTS; ++i) {
            s->weight[i] -= c->external_torque[i];
            s->weight[i] += robot_link_friction(i, 0.0, s->weight[i]);
        }
        if (robot_follow_springs(s->torque, s->weight, s->K, iterations > FEW_ITERATIONS, excess,
                                 c->hold_q)) {
            break;
        }
    }
    robot_motor_loads(s->load, s->weight, load);
}

/* The damped stop, then a hold. */
static void stop_and_hold(robot_controller *c, double dt, double elapsed, double torque[MOTORS])
{
    robot_parameters *p = &c->parameters;
    const int is_late = c->modes.tolerates_delay;
    double theta[MOTORS], thetad[MOTORS], load[MOTORS];
    copy_row(c->samples.theta, theta, MOTORS);
    copy_row(c->samples.thetad, thetad, MOTORS);
    if (is_late) {
        robot_smooth_motors(p, &c->smoothed, &c->steps, elapsed, theta, thetad);
        robot_interpolate_motors(p, &c->steps, theta, thetad, c->hold_is_started, p->late_gains);
    } else {
        robot_calm_motors(p, &c->steps, thetad);
    }
    if (!c->hold_is_started) {
        copy_row(theta, c->hold_reference[0], MOTORS);
        copy_row(thetad, c->hold_reference[1], MOTORS);
        robot_links_at_motors(theta, c->hold_q);
    }
    hang(c, theta, c->hold_is_started ? ITERATIONS : 10 * ITERATIONS, load);
    c->hold_is_started = 1;
    robot_hold_step(c->hold_reference, c->hold_q, theta, thetad, load, p->hold_lower, p->hold_upper,
                    torque, c->feedback_share, is_late ? p->late_gains : p->hold_gains,
                    is_late ? p->late_time : p->stop_time, p->torque_limit, dt);
    copy_row(&c->hold_reference[0][0], &c->now.result[0][0], 2 * MOTORS);
}

/* c->now.result: the motors that hold the links at rest at q, pushed by `external`. */
static void hold_at(robot_controller *c, const double q[JOINTS], const double external[JOINTS])
{
    robot_feedforward *flat = &c->now;
    double still[3][ROBOT_SECOND] = {{0.0}};
    copy_row(c->second[0], still[0], ROBOT_VARIABLE);
    copy_row(q, flat->state[0], JOINTS);
    copy_row(ZEROS, flat->state[1], 4 * JOINTS);
    copy_row(ZEROS, flat->torque[1], 2 * JOINTS);
    robot_gravity_forces(q, flat->torque[0]);
    for (int i = 0; i < JOINTS; ++i) {
        flat->torque[0][i] -= external[i];
    }
    settle_springs(flat);
    robot_motor_feedforward(flat->state, flat->torque, flat->carried, still, flat->filtered,
                            flat->deflection, flat->load, flat->result, flat->flags);
}

/* A slow stop, without states of the motors. */
static void stop_on_links(robot_controller *c, double torque[MOTORS])
{
    double momentum[JOINTS], bias[JOINTS];
    hold_at(c, c->samples.q, c->external_torque);
    copy_row(c->now.result[3], torque, MOTORS);
    robot_momentum(c->samples.q, c->samples.qd, momentum, bias);
    robot_damp_links(momentum, c->parameters.link_damping, c->parameters.torque_limit, torque);
}

/* The next torque is that of another law, into which it fades over `duration`. */
static void start_law(robot_controller *c, double duration)
{
    const int keeps = !robot_is_following(c->modes.mode) && robot_keeps_torque(&c->modes);
    c->modes.is_new = 0;
    c->feedback_share = 1.0;
    c->interval = c->held_back = 0.0;
    c->duration = duration;
    robot_start_transfer(&c->transfer, c->torque, duration, keeps);
    copy_row(ZEROS, c->now.result[1], 2 * MOTORS);
    settle_springs(&c->now);
    settle_springs(&c->later);
    robot_reset_disturbances(&c->disturbances);
    c->unobserved = 0.0;
    c->hold_is_started = c->smoothed.is_smooth = 0;
}

/* Send the torque that a law wants, `dt` after the last one. */
static void send(robot_controller *c, double dt, double wanted[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    robot_transfer_torque(&c->transfer, c->modes.held, wanted, c->duration, dt);
    const int limited = robot_limit_torque(wanted, c->torque, p->torque_limit, p->torque_rate_limit,
                                           dt, c->torque);
    c->held_back = robot_held_back(wanted, p->torque_limit, p->torque_rate_limit, c->torque);
    c->torque_time = c->clock.time;
    c->has_torque = 1;
    c->counts.limited_torques += limited & TORQUE_LIMITED ? 1 : 0;
    c->counts.limited_rates += limited & RATE_LIMITED ? 1 : 0;
}

/* The cycle. */

/* End the motion: sides without samples are then carried along nothing. */
static void end_motion(robot_controller *c)
{
    c->has_motion = 0;
    copy_row(ZEROS, c->desired[1], 4 * JOINTS);
    copy_row(ZEROS, c->now.result[1], 2 * MOTORS);
}

/* Hold the measured position, after activation or after the clock jumped, if there are states to
 * begin with; at activation, velocities decide how it begins. */
static void begin(robot_controller *c)
{
    if (!c->samples.is_started || robot_is_final(&c->modes) ||
        !(c->has_begun || robot_filters_are_settled(&c->parameters, &c->samples))) {
        return;
    }
    robot_hold_motion(&c->motion, c->samples.q, c->clock.time);
    c->has_motion = 1;
    if (c->has_begun) {
        start_law(c, c->parameters.transfer_time);
        return;
    }
    robot_begin_modes(&c->parameters, &c->modes, c->clock.time, c->samples.qd, c->samples.thetad,
                      1);
    c->has_begun = 1;
}

/* Start the law that acts from now on, at the present position. */
static void start_new_law(robot_controller *c)
{
    start_law(c, c->modes.duration);
    if (c->has_motion) {
        robot_hold_motion(&c->motion, c->samples.q, c->clock.time);
    }
}

/* Apply the rules to what this cycle finds. */
static void supervise(robot_controller *c, double step)
{
    const robot_samples *s = &c->samples;
    robot_springs *springs = &c->springs;
    robot_situation x = {
        .lacks_links = robot_lacks_links(&c->parameters, s, c->clock.time),
        .lacks_motors = robot_lacks_motors(&c->parameters, s, c->clock.time),
        .elapsed = step,
        .is_settled = robot_filters_are_settled(&c->parameters, s),
        .knows_speed = robot_knows_speed(&c->parameters, s, c->clock.time),
    };
    copy_row(s->qd, x.qd, x.lacks_links ? 0 : JOINTS);
    copy_row(s->thetad, x.thetad, x.lacks_motors ? 0 : MOTORS);
    robot_interpolate_speeds(&c->parameters, &c->steps, x.qd, x.thetad);
    copy_row(c->torque, x.sent, MOTORS);
    copy_row(s->q, x.q, JOINTS);
    copy_row(s->theta, x.theta, MOTORS);
    robot_spring_torques(s->q, s->qd, s->theta, s->thetad, c->second, springs->torque,
                         springs->rate, springs->K, springs->load, springs->deflection);
    robot_add_slip(c->now.filtered, springs->torque, springs->load);
    copy_row(springs->torque, x.springs, JOINTS);
    copy_row(c->steps.link_step, x.link_step, JOINTS);
    copy_row(c->steps.motor_step, x.motor_step, MOTORS);
    for (int i = 0; i < JOINTS; ++i) {
        x.error[i] = c->desired[0][i] - s->q[i];
        x.has_wrench |= c->external_torque[i] < 0.0 || c->external_torque[i] > 0.0;
    }
    robot_supervise(&c->parameters, &c->modes, c->clock.time, &x);
    robot_note_motion(&c->modes, robot_phase_of_motion(&c->motion));
    if (c->modes.is_new) {
        start_new_law(c);
        robot_follow_motion(&c->parameters, &c->counts, &c->motion, c->clock.time, c->desired);
    }
}

/* At rest where the arm was last; repeats the last torque if there is none. After a stop that has
 * failed, with a share of damping that fades and uses positions of the motors alone. */
static void rest(robot_controller *c, double share, double step)
{
    robot_parameters *p = &c->parameters;
    const double dt = robot_torque_step(p, step, c->period);
    double *torque = c->now.result[3];
    if (c->modes.is_new) {
        start_new_law(c);
    }
    hold_at(c, c->samples.q, ZEROS);
    if (share > 0.0) {
        double theta[MOTORS], thetad[MOTORS] = {0.0};
        copy_row(c->samples.theta, theta, MOTORS);
        robot_smooth_motors(p, &c->smoothed, &c->steps, fmax(step, dt), theta, thetad);
        robot_damp_motors(p->late_gains, thetad, share, p->torque_limit, torque);
    }
    if (is_finite_row(torque, MOTORS)) {
        send(c, dt, torque);
    }
}

static void run(robot_controller *c)
{
    const robot_parameters *p = &c->parameters;
    const double step = c->has_torque ? c->clock.time - c->torque_time : 0.0;
    double wanted[MOTORS];
    if (!c->has_motion) {
        begin(c);
    }
    if (!c->has_motion) {
        if (c->has_begun) {
            rest(c, 0.0, step);
        }
        return;
    }
    robot_follow_motion(p, &c->counts, &c->motion, c->clock.time, c->desired);
    c->period = c->modes.mode == ROBOT_LOST ? c->period : robot_next_period(step, c->period);
    supervise(c, step);
    if (c->modes.mode == ROBOT_LOST || !c->samples.is_started) {
        const int is_blind = robot_lacks_motors(p, &c->samples, c->clock.time);
        rest(c, is_blind ? 0.0 : robot_damping_share(&c->modes, c->clock.time), step);
        return;
    }
    const double dt = robot_torque_step(p, step, c->period);
    c->interval = robot_recent_interval(p, robot_state_interval(p, &c->samples, c->clock.time),
                                        c->interval, dt);
    c->feedback_share = robot_feedback_share(p, robot_longest_interval(p), step, c->interval,
                                             c->held_back, dt, c->feedback_share);
    if (robot_is_following(c->modes.mode)) {
        follow(c, dt, fmax(step, dt), wanted);
    } else if (c->modes.on_links) {
        stop_on_links(c, wanted);
        hold_at(c, c->desired[0], ZEROS); /* for reports: the motion rests */
    } else {
        stop_and_hold(c, dt, fmax(step, dt), wanted);
    }
    if (is_finite_row(wanted, MOTORS)) {
        send(c, dt, wanted);
        return;
    }
    const int is_new = robot_raise_fault(p, &c->modes, c->clock.time, ROBOT_NOT_FINITE,
                                         ROBOT_STOPPING, c->samples.qd, c->samples.thetad);
    c->open_loop = is_new ? OPEN_LOOP : c->open_loop;
    rest(c, 0.0, step);
}

/* The clock was set back, or stands still: the age of earlier samples is no longer known. */
static void forget(robot_controller *c)
{
    robot_restart_modes(&c->parameters, &c->modes, c->clock.time);
    if (robot_is_following(c->modes.mode)) {
        robot_raise_fault(&c->parameters, &c->modes, c->clock.time, ROBOT_TIME, ROBOT_STOPPING,
                          c->samples.qd, c->samples.thetad);
    }
    c->has_torque = 0;
    end_motion(c);
    robot_forget_samples(&c->samples);
}

/* What a cycle answers, and requests between cycles. */
//REQUESTS//
int robot_initialise(robot_controller *c, const robot_parameters *parameters)
{
    *c = (robot_controller){.parameters = *parameters};
    c->motion.limits = robot_default_stream;
    robot_forget_samples(&c->samples);
    copy_row(SECOND_AT_REST, c->second[0], ROBOT_VARIABLE);
    copy_row(SOFTEST_SECOND, c->springs.softest[0], ROBOT_VARIABLE);
    copy_row(STIFFNESS_SETTINGS[0], c->springs.settings[0], 2 * ROBOT_JOINTS);
    return robot_wrong_parameter(parameters) ? 1 : 0;
}

/* Before activation: what balances the arm, and whether it can be where it is measured. */

int robot_balance(robot_controller *c, const double q[JOINTS], const double theta[MOTORS],
                  double torque[MOTORS])
{
    if (!is_finite_row(q, JOINTS) || !is_finite_row(theta, MOTORS)) {
        return 1;
    }
    robot_balance_springs(&c->springs, q, theta, c->second, c->parameters.torque_limit, torque);
    return 0;
}

int robot_judge(robot_controller *c, const double q[JOINTS], const double theta[MOTORS],
                robot_refusal *refusal)
{
    const robot_parameters *p = &c->parameters;
    const int moves = !robot_are_motors_slow(p, c->samples.thetad);
    return robot_judge_positions(&c->springs, q, theta, p->external_load, moves, refusal) ||
           robot_judge_encoders(&c->steps, p->link_resolution, p->motor_resolution, refusal);
}

int robot_activate(robot_controller *c, const double *torque)
{
    const robot_parameters *p = &c->parameters;
    robot_refusal refusal;
    if (c->is_active || !robot_filters_are_settled(p, &c->samples) || /* nor if a side is missing */
        (torque && !is_finite_row(torque, MOTORS)) || robot_wrong_parameter(p)) {
        return 1;
    }
    if (robot_judge(c, c->samples.q, c->samples.theta, &refusal)) {
        return 2;
    }
    if (torque) {
        copy_row(torque, c->torque, MOTORS);
    } else {
        robot_balance(c, c->samples.q, c->samples.theta, c->torque);
    }
    c->is_active = 1;
    c->has_begun = c->has_motion = c->has_torque = c->disturbances.is_lowered = 0;
    c->period = 0.0;
    return 0;
}

void robot_deactivate(robot_controller *c)
{
    robot_end_modes(&c->modes);
    c->is_active = c->has_begun = 0;
    end_motion(c);
    copy_row(ZEROS, c->torque, MOTORS);
}

robot_answer robot_follow(robot_controller *c, const double *start, int count,
                          const double *times, double (*positions)[JOINTS],
                          double (*velocities)[JOINTS])
{
    return (robot_answer)robot_follow_targets(&c->motion, c->modes.mode, c->clock.time, c->desired,
                                              start ? *start : 0.0, start != NULL, times,
                                              positions, velocities, count);
}

void robot_clear_fault(robot_controller *c)
{
    robot_accept_next_samples(&c->samples);
    robot_end_fault(&c->parameters, &c->modes, c->samples.qd, c->samples.thetad);
}

/* Copies a row if it is finite; returns 1 if it is not. */
static int set_row(const double *from, double *to, int count)
{
    const int is_wrong = !is_finite_row(from, count);
    copy_row(from, to, is_wrong ? 0 : count);
    return is_wrong;
}

int robot_set_external_torque(robot_controller *c, const double torque[JOINTS])
{
    return set_row(torque, c->external_torque, JOINTS);
}

int robot_set_second_outputs(robot_controller *c, double second[3][ROBOT_SECOND])
{
    return set_row(&second[0][0], &c->second[0][0], 3 * ROBOT_SECOND);
}

robot_state robot_update(robot_controller *c, const robot_input *in, robot_output *out)
{
    const int clock = robot_advance_clock(&c->parameters, &c->clock, &c->counts, in->time);
    double q[JOINTS], theta[MOTORS];
    if (clock == CLOCK_RUNS) {
        copy_row(in->q, q, JOINTS);
        copy_row(in->theta, theta, MOTORS);
        robot_take_input(&c->parameters, &c->counts, &c->samples, &c->frozen, &c->steps,
                         &c->springs, c->is_active, in->time, in->link_time, in->motor_time, q,
                         theta, c->clock.elapsed, c->desired, c->now.result);
        if (c->is_active) {
            run(c);
        }
    } else if (clock == CLOCK_SET_BACK || (clock == CLOCK_STOPPED && c->has_motion)) {
        forget(c);
    }
    if (clock == CLOCK_STOPPED && c->has_begun) {
        rest(c, 0.0, 0.0);
    }
    report(c, out);
    return out->state;
}

unsigned long robot_controller_size(void)
{
    return (unsigned long)sizeof(robot_controller);
}
