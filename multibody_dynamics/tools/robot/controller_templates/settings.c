/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* Settings: defaults and ranges. Names of joints, motors, states and faults. */
#include "robot_controller_parts.h"

#include <math.h>
#include <stddef.h>

//TABLES//

static int are_positive(const double *row, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(row[i] > 0.0)) {
            return 0;
        }
    }
    return 1;
}

static int are_from_zero(const double *row, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(row[i] >= 0.0)) {
            return 0;
        }
    }
    return 1;
}

static int are_shares(const double *row, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(row[i] >= 0.0 && row[i] <= 1.0)) {
            return 0;
        }
    }
    return 1;
}

static int is_positive(double value)
{
    return value > 0.0 && value < HUGE_VAL;
}

static int is_from_zero(double value)
{
    return value >= 0.0 && value < HUGE_VAL;
}

/* Whether no lower limit is above the upper one, and none is NaN. */
static int are_ordered(const double *lower, const double *upper, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(lower[i] <= upper[i])) {
            return 0;
        }
    }
    return 1;
}

static const char *wrong_time(const robot_parameters *p)
{
    if (!is_positive(p->period)) {
        return "period";
    }
    if (!(p->lead >= 0.0 && p->lead < LONGEST_LEAD)) {
        return "lead";
    }
    if (!is_positive(p->stop_time)) {
        return "stop_time";
    }
    if (!(p->settling_time > 0.0)) {
        return "settling_time";
    }
    if (!is_positive(p->max_step)) {
        return "max_step";
    }
    if (!(p->link_timeout > p->period)) { /* otherwise, every cycle would be late */
        return "link_timeout";
    }
    if (!(p->motor_timeout > 0.0)) {
        return "motor_timeout";
    }
    if (!is_from_zero(p->transfer_time)) {
        return "transfer_time";
    }
    return is_from_zero(p->stop_transfer_time) ? NULL : "stop_transfer_time";
}

static const char *wrong_gain(const robot_parameters *p)
{
    for (int k = 0; k < 4; ++k) {
        if (!is_finite_row(p->gains[k], MOTORS)) {
            return "gains";
        }
    }
    if (!are_shares(p->friction, MOTORS)) {
        return "friction";
    }
    if (!is_from_zero(p->disturbance_bandwidth)) {
        return "disturbance_bandwidth";
    }
    if (!is_finite_row(p->hold_gains[0], MOTORS) || !is_finite_row(p->hold_gains[1], MOTORS) ||
        !are_positive(p->hold_gains[0], MOTORS)) {
        return "hold_gains";
    }
    if (!are_from_zero(p->link_disturbance_limit, JOINTS)) {
        return "link_disturbance_limit";
    }
    if (!are_from_zero(p->motor_disturbance_limit, MOTORS)) {
        return "motor_disturbance_limit";
    }
    if (!are_ordered(p->hold_lower, p->hold_upper, MOTORS)) {
        return "hold_lower";
    }
    if (p->filter_order < 2 || p->filter_order > 4) {
        return "filter_order";
    }
    return is_positive(p->filter_bandwidth) ? NULL : "filter_bandwidth";
}

static const char *wrong_limit(const robot_parameters *p)
{
    if (!are_positive(p->stop_acceleration, JOINTS)) {
        return "stop_acceleration";
    }
    if (!are_positive(p->torque_limit, MOTORS)) {
        return "torque_limit";
    }
    if (!are_positive(p->torque_rate_limit, MOTORS)) {
        return "torque_rate_limit";
    }
    if (!are_ordered(p->lower, p->upper, JOINTS)) {
        return "lower";
    }
    if (!are_positive(p->velocity, JOINTS)) {
        return "velocity";
    }
    if (!are_positive(p->link_speed, JOINTS)) {
        return "link_speed";
    }
    if (!are_positive(p->motor_speed, MOTORS)) {
        return "motor_speed";
    }
    if (!(p->tracking_tolerance >= 0.0)) {
        return "tracking_tolerance";
    }
    return p->recovery_speed > 0.0 ? NULL : "recovery_speed";
}

const char *robot_wrong_parameter(const robot_parameters *parameters)
{
    const char *name = wrong_time(parameters);
    name = name ? name : wrong_gain(parameters);
    return name ? name : wrong_limit(parameters);
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
