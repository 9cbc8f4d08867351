/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* What is measured of the arm before it is activated: what balances it, and whether it can be. */
#include "robot_controller_parts.h"

#include <math.h>

/* Springs and weight of the arm at rest. */
static void load_springs(robot_springs *s, const double q[JOINTS], const double theta[MOTORS],
                         double second[3][ROBOT_SECOND], double weight[JOINTS])
{
    const double still[JOINTS] = {0.0};
    const double motors_still[MOTORS] = {0.0};
    robot_spring_torques(q, still, theta, motors_still, second, s->torque, s->rate, s->felt,
                         s->load, s->deflection);
    robot_gravity_forces(q, weight);
}

int robot_balance(robot_controller *c, const double q[JOINTS], const double theta[MOTORS],
                  double torque[MOTORS])
{
    double weight[JOINTS];
    if (!is_finite_row(q, JOINTS) || !is_finite_row(theta, MOTORS)) {
        return 1;
    }
    load_springs(&c->springs, q, theta, c->second, weight);
    robot_motor_loads(c->springs.load, weight, torque);
    for (int j = 0; j < MOTORS; ++j) {
        torque[j] = fmax(-c->parameters.torque_limit[j],
                         fmin(torque[j], c->parameters.torque_limit[j]));
    }
    return 0;
}

/* Second outputs that no motor sets cannot be judged: the softest ones. */
static void judged_springs(robot_springs *s, const double q[JOINTS], const double theta[MOTORS],
                           double weight[JOINTS])
{
    double second[3][ROBOT_SECOND] = {{0.0}};
    copy_row(SOFTEST_SECOND, second[0], ROBOT_VARIABLE);
    load_springs(s, q, theta, second, weight);
}

/* The exchange that explains the springs clearly better than the states as they are. */
static int has_exchange(robot_springs *s, const double q[JOINTS], const double theta[MOTORS],
                        robot_refusal *refusal)
{
    double weight[JOINTS], scale[JOINTS], best;
    int is_found = 0;
    judged_springs(s, q, theta, weight);
    if (!robot_misfit_scale(s->torque, weight, s->felt, scale)) {
        return 0;
    }
    best = robot_weighed_misfit(s->torque, weight, scale) / CLEARLY;
#if ROBOT_JOINTS == ROBOT_MOTORS
    judged_springs(s, theta, q, weight);
    const double exchanged = robot_weighed_misfit(s->torque, weight, scale);
    if (exchanged < best) {
        best = exchanged;
        is_found = 1;
        refusal->mistake = ROBOT_EXCHANGED_SIDES;
    }
#endif
    for (int i = 0; i < JOINTS; ++i) {
        for (int j = i + 1; j < JOINTS && HAS_ONE_MOTOR[i]; ++j) {
            double links[JOINTS], motors[MOTORS];
            if (!HAS_ONE_MOTOR[j]) {
                continue;
            }
            copy_row(q, links, JOINTS);
            copy_row(theta, motors, MOTORS);
            links[i] = q[j];
            links[j] = q[i];
            motors[FIRST_MOTOR[i]] = theta[FIRST_MOTOR[j]];
            motors[FIRST_MOTOR[j]] = theta[FIRST_MOTOR[i]];
            judged_springs(s, links, motors, weight);
            const double total = robot_weighed_misfit(s->torque, weight, scale);
            if (total < best && robot_explains_springs(s->torque, weight, s->felt)) {
                best = total;
                is_found = 1;
                refusal->mistake = ROBOT_EXCHANGED_JOINTS;
                refusal->joint = i;
                refusal->other = j;
            }
        }
    }
    return is_found;
}

int robot_judge(robot_controller *c, const double q[JOINTS], const double theta[MOTORS],
                int moves, robot_refusal *refusal)
{
    const double *allowed = c->parameters.external_load;
    robot_springs *s = &c->springs;
    double weight[JOINTS], misfit[JOINTS];
    int worst, is_judged = 0;
    for (int i = 0; i < JOINTS; ++i) {
        is_judged = is_judged || allowed[i] < HUGE_VAL;
    }
    *refusal = (robot_refusal){.mistake = ROBOT_UNEXPLAINED_LOAD};
    if (!is_judged) {
        return 0;
    }
    judged_springs(s, q, theta, weight);
    robot_spring_misfit(q, theta, s->torque, weight, s->felt, allowed, misfit);
    worst = robot_largest_misfit(misfit);
    if (fabs(misfit[worst]) <= (moves ? MOVING : 1.0) &&
        (moves || !has_exchange(s, q, theta, refusal))) {
        return 0;
    }
    if (refusal->mistake != ROBOT_EXCHANGED_JOINTS) {
        refusal->joint = worst;
    }
    judged_springs(s, q, theta, weight);
    refusal->allowed = IS_RIGID[refusal->joint]
                           ? RIGID
                           : allowed[refusal->joint] + CALIBRATION * fabs(s->felt[refusal->joint]);
    refusal->misfit = misfit[refusal->joint] * refusal->allowed;
    return 1;
}
