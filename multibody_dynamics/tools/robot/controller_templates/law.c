/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * The torques: of the law, feedforward of the flat map and linear feedback of links and motors; of
 * the stops that take its place after a fault; at rest. Fades and limits.
 */
#include "robot_controller_parts.h"

#include <math.h>

static void settle_springs(robot_feedforward *flat)
{
    for (int i = 0; i < JOINTS; ++i) {
        flat->filtered[i] = IS_DAMPED[i] ? NAN : 0.0;
    }
}

/* Motors along flat->state; advances the filters of damped springs by dt. Positions and velocities
 * of motors do not need Q'', but code of their own would cost more than it saves: after sleeping,
 * most of it comes from memory. */
static void map_motion(robot_controller *c, robot_feedforward *flat, double dt)
{
    robot_inverse_dynamics_2(flat->state[0], flat->state[1], flat->state[2], flat->state[3],
                             flat->state[4], flat->torque[0], flat->torque[1], flat->torque[2]);
    robot_subtract_known(flat->torque, c->external_torque, c->disturbances.link,
                         c->disturbances.link_rate);
    robot_motor_feedforward(flat->state, flat->torque, c->second, flat->filtered, flat->bent,
                            flat->load, flat->result, flat->flags);
    for (int j = 0; j < MOTORS; ++j) {
        const double left = 1.0 - c->parameters.friction[j];
        if (left > 0.0) {
            flat->result[3][j] -= left * robot_motor_friction(j, flat->result[1][j]);
        }
    }
    robot_advance_springs(flat->torque, flat->filtered, dt);
}

static void observe_disturbances(robot_controller *c, double elapsed)
{
    const robot_parameters *p = &c->parameters;
    const robot_samples *x = &c->samples;
    robot_springs *s = &c->springs;
    double momentum[JOINTS], bias[JOINTS];
    robot_momentum(x->q, x->qd, momentum, bias);
    robot_spring_torques(x->q, x->qd, x->theta, x->thetad, c->second, s->torque, s->rate, s->felt,
                         s->load, s->deflection);
    robot_observe_disturbances(&c->disturbances, p->disturbance_bandwidth,
                               p->link_disturbance_limit, p->motor_disturbance_limit, elapsed,
                               x->qd, x->thetad, momentum, bias, s->torque, s->load, c->torque,
                               c->external_torque);
}

void robot_follow(robot_controller *c, double dt, double elapsed, double torque[MOTORS])
{
    const double lead = c->parameters.lead;
    const int is_compensated = c->parameters.disturbance_bandwidth > 0.0;
    const robot_samples *x = &c->samples;
    robot_feedforward *flat = &c->now;
    if (is_compensated) {
        observe_disturbances(c, elapsed);
    }
    copy_row(&c->desired[0][0], &c->now.state[0][0], 5 * JOINTS);
    map_motion(c, flat, dt);
    robot_feed_back(c->feedback_share, c->parameters.gains, c->desired, x->q, x->qd, flat->result,
                    x->theta, x->thetad, torque);
    if (lead > 0.0) {
        flat = &c->later;
        robot_reference_evaluate(&c->reference, c->clock.time + lead, c->clock.time, flat->state);
        map_motion(c, flat, dt);
    }
    for (int j = 0; j < MOTORS; ++j) {
        torque[j] += flat->result[3][j];
        if (is_compensated) {
            torque[j] -= c->disturbances.motor[j];
        }
    }
}

/* Links in equilibrium on their springs, with the motors at theta; the loads of the motors. */
static void hang(robot_controller *c, const double theta[MOTORS], int iterations,
                 double load[MOTORS])
{
    const double still[JOINTS] = {0.0};
    const double motors_still[MOTORS] = {0.0};
    double weight[JOINTS] = {0.0};
    double excess[JOINTS] = {0.0};
    robot_springs *s = &c->springs;
    robot_follow_rigid_motors(theta, c->hold_q);
    for (int k = 0; k < iterations; ++k) {
        robot_spring_torques(c->hold_q, still, theta, motors_still, c->second, s->torque, s->rate,
                             s->felt, s->load, s->deflection);
        robot_gravity_forces(c->hold_q, weight);
        for (int i = 0; i < JOINTS; ++i) {
            weight[i] -= c->external_torque[i];
        }
        if (robot_follow_springs(s->torque, weight, s->felt, iterations > FEW_ITERATIONS, excess,
                                 c->hold_q)) {
            break;
        }
    }
    robot_motor_loads(s->load, weight, load);
}

void robot_stop_and_hold(robot_controller *c, double dt, double elapsed, double torque[MOTORS])
{
    robot_parameters *p = &c->parameters;
    const int is_late = c->modes.tolerates_delay;
    double theta[MOTORS], thetad[MOTORS], load[MOTORS];
    copy_row(c->samples.theta, theta, MOTORS);
    copy_row(c->samples.thetad, thetad, MOTORS);
    if (is_late) {
        robot_smooth_motors(&c->smoothed, p->late_bandwidth, p->late_lead, elapsed, theta, thetad);
    }
    if (!c->hold_is_started) {
        copy_row(theta, c->hold_reference[0], MOTORS);
        copy_row(thetad, c->hold_reference[1], MOTORS);
        robot_links_at_motors(theta, c->hold_q);
    }
    hang(c, theta, c->hold_is_started ? ITERATIONS : 10 * ITERATIONS, load);
    c->hold_is_started = 1;
    robot_hold_step(c->hold_reference, c->hold_q, theta, thetad, load, c->feedback_share,
                    is_late ? p->late_gains : p->hold_gains, p->hold_lower, p->hold_upper,
                    is_late ? p->late_time : p->stop_time, p->torque_limit, dt, torque);
    copy_row(&c->hold_reference[0][0], &c->now.result[0][0], 2 * MOTORS);
}

/* The torques that hold the links at rest at c->samples.q, pushed by `external`. */
static void stand(robot_controller *c, const double external[JOINTS], double torque[MOTORS])
{
    robot_feedforward *flat = &c->now;
    double still[3][ROBOT_SECOND] = {{0.0}};
    const double rest[4 * JOINTS] = {0.0};
    copy_row(c->second[0], still[0], ROBOT_VARIABLE);
    copy_row(c->samples.q, flat->state[0], JOINTS);
    copy_row(rest, flat->state[1], 4 * JOINTS);
    copy_row(rest, flat->torque[1], 2 * JOINTS);
    robot_gravity_forces(flat->state[0], flat->torque[0]);
    for (int i = 0; i < JOINTS; ++i) {
        flat->torque[0][i] -= external[i];
    }
    settle_springs(flat);
    robot_motor_feedforward(flat->state, flat->torque, still, flat->filtered, flat->bent,
                            flat->load, flat->result, flat->flags);
    copy_row(flat->result[3], torque, MOTORS);
}

void robot_rest(robot_controller *c, double torque[MOTORS])
{
    const double none[JOINTS] = {0.0};
    stand(c, none, torque);
}

void robot_stop_on_links(robot_controller *c, double torque[MOTORS])
{
    double momentum[JOINTS], bias[JOINTS];
    stand(c, c->external_torque, torque);
    robot_momentum(c->samples.q, c->samples.qd, momentum, bias);
    robot_damp_links(momentum, c->parameters.link_damping, c->parameters.torque_limit, torque);
}

void robot_start_law(robot_controller *c, double duration)
{
    c->modes.is_new = 0;
    c->elapsed = 0.0;
    c->feedback_share = 1.0;
    c->duration = duration;
    c->is_fading = duration > 0.0;
    copy_row(c->torque, c->held, MOTORS);
    const double rest[2 * MOTORS] = {0.0};
    copy_row(rest, c->now.result[1], 2 * MOTORS);
    settle_springs(&c->now);
    settle_springs(&c->later);
    robot_reset_disturbances(&c->disturbances);
    c->hold_is_started = c->smoothed.is_smooth = 0;
}

void robot_send(robot_controller *c, double dt, double wanted[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    if (c->is_fading) {
        c->elapsed += dt;
        const double share = robot_transfer_share(c->elapsed, c->duration);
        robot_faded(c->held, share, wanted);
        c->is_fading = share < 1.0;
    }
    const int limited = robot_limit_torque(wanted, c->torque, p->torque_limit, p->torque_rate_limit,
                                           dt, c->torque);
    c->torque_time = c->clock.time;
    c->has_torque = 1;
    c->counts.limited_torques += limited & TORQUE_LIMITED ? 1 : 0;
    c->counts.limited_rates += limited & RATE_LIMITED ? 1 : 0;
}
