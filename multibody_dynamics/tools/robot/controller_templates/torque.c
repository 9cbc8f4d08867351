/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

/* The torque that is sent: fades from the torque before, limits of torques and of their rates. */
#include "robot_controller_parts.h"

#include <math.h>

void robot_fade(robot_controller *c, double duration)
{
    c->elapsed = 0.0;
    c->duration = duration;
    c->is_fading = duration > 0.0;
    for (int j = 0; j < MOTORS; ++j) {
        c->held[j] = c->torque[j];
    }
}

/* Fade into the wanted torque, then limit it and its rate. */
void robot_send(robot_controller *c, double dt, const double wanted[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    double share = 1.0;
    int is_limited = 0;
    int is_slowed = 0;
    if (c->is_fading) {
        c->elapsed += dt;
        const double x = fmin(c->elapsed / c->duration, 1.0);
        share = x * x * (3.0 - 2.0 * x);
    }
    for (int j = 0; j < MOTORS; ++j) {
        const double faded =
            c->is_fading ? c->held[j] + share * (wanted[j] - c->held[j]) : wanted[j];
        const double bounded = clipped(faded, -p->torque_limit[j], p->torque_limit[j]);
        const double step = p->torque_rate_limit[j] * dt;
        const double limited = clipped(bounded, c->torque[j] - step, c->torque[j] + step);
        is_limited |= bounded != faded;
        is_slowed |= limited != bounded;
        c->torque[j] = limited;
    }
    c->is_fading = c->is_fading && share < 1.0;
    c->counts.limited_torques += is_limited ? 1 : 0;
    c->counts.limited_rates += is_slowed ? 1 : 0;
}
