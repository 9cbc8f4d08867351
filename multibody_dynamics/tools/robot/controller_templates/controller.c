#include "robot_controller.h"

#include <math.h>

#ifdef __FAST_MATH__
#error "compile without -ffast-math, which removes the checks for NaN"
#endif

#define JOINTS ROBOT_JOINTS
#define MOTORS ROBOT_MOTORS
#define POSITIONS (JOINTS + MOTORS)

#define TWO_PI 6.283185307179586
#define BRIDGED 4.0           /* times max_step: up to this, gaps have the mean velocity */
#define LINEAR 0.8            /* share of its limit up to which a disturbance is used as it is */
#define LONGEST_STEP 0.05     /* s; after longer ones, disturbances are not updated */
#define ITERATIONS 3          /* to the equilibrium of the links; at first, ten times that */
#define FEW_ITERATIONS 5      /* up to which all of them are run */
#define SETTLED 1e-13         /* relative error at which a longer iteration ends */
#define SHORTEST_SEGMENT 1e-9 /* s */
#define MOST_STALLED 10       /* cycles that repeat the torque while the clock has stopped */

//TABLES//

/* Small helpers */

static int is_finite_row(const double *row, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
        sum += 0.0 * row[i]; /* NaN for an infinite number, too */
    }
    return sum == 0.0;
}

/* NaN stays NaN: it must not become a torque. */
static double clipped(double value, double low, double high)
{
    if (value < low) {
        return low;
    }
    return value > high ? high : value;
}

static int is_following(const robot_controller *c)
{
    return c->state == ROBOT_HOLDING || c->state == ROBOT_FOLLOWING || c->state == ROBOT_BRAKING;
}

static int is_latched(robot_fault fault)
{
    return fault == ROBOT_TRACKING || fault == ROBOT_NOT_FINITE;
}

/* Filters of the measured positions: a chain of integrators, corrected by the samples */

static void start_filter(robot_controller *c, double time, const double y[POSITIONS], double step)
{
    const int is_bridged = c->is_started && step <= BRIDGED * c->parameters.max_step;
    for (int i = 0; i < POSITIONS; ++i) {
        const double moved = y[i] - c->filter[0][i];
        c->filter[0][i] = y[i];
        c->filter[1][i] = is_bridged ? moved / step : 0.0;
        c->filter[2][i] = 0.0;
        c->filter[3][i] = 0.0;
    }
    c->filter_started = time;
    c->is_started = 1;
}

static void filter_gains(const robot_parameters *p, double h, double gain[4])
{
    const double a = TWO_PI * p->filter_bandwidth * h;
    const double b = exp(-a);
    const double d = -expm1(-a);
    gain[0] = -expm1(-p->filter_order * a);
    if (p->filter_order == 2) {
        gain[1] = d * d / h;
        gain[2] = 0.0;
        gain[3] = 0.0;
    } else if (p->filter_order == 3) {
        gain[1] = 1.5 * d * d * (1.0 + b) / h;
        gain[2] = d * d * d / (h * h);
        gain[3] = 0.0;
    } else {
        gain[1] = d * d * (11.0 + 14.0 * b + 11.0 * b * b) / 6.0 / h;
        gain[2] = 2.0 * d * d * d * (1.0 + b) / (h * h);
        gain[3] = d * d * d * d / (h * h * h);
    }
}

static void advance_filter(robot_controller *c, double h, const double y[POSITIONS])
{
    double gain[4];
    filter_gains(&c->parameters, h, gain);
    for (int i = 0; i < POSITIONS; ++i) {
        const double x1 = c->filter[1][i];
        const double x2 = c->filter[2][i];
        const double x3 = c->filter[3][i];
        const double p0 = c->filter[0][i] + h * x1 + h * h / 2.0 * x2 + h * h * h / 6.0 * x3;
        const double innovation = y[i] - p0;
        c->filter[0][i] = p0 + gain[0] * innovation;
        c->filter[1][i] = x1 + h * x2 + h * h / 2.0 * x3 + gain[1] * innovation;
        c->filter[2][i] = x2 + h * x3 + gain[2] * innovation;
        c->filter[3][i] = x3 + gain[3] * innovation;
    }
}

static int is_settled(const robot_controller *c)
{
    return c->is_started && c->filter_time - c->filter_started >= c->parameters.settling_time;
}

/* Whether a sample is new, finite, and not farther from the last one than the speed allows. */
static int is_valid(robot_controller *c, double now, double time, double last_time,
                    const double *row, const double *last, const double *speed, int count)
{
    if (!(time > last_time)) {
        return 0;
    }
    int is_good = time <= now + c->parameters.max_step && is_finite_row(row, count);
    for (int i = 0; i < count && is_good && c->is_started; ++i) {
        is_good = fabs(row[i] - last[i]) <= speed[i] * (time - last_time);
    }
    c->counts.refused_samples += is_good ? 0 : 1;
    return is_good;
}

static void forget_samples(robot_controller *c)
{
    c->is_started = 0;
    c->link_time = c->motor_time = -HUGE_VAL;
}

/* A side without a new sample continues at its velocity. A new sample counts even if the filter has
 * coasted beyond its time: samples may have become later, and would all be missed otherwise. */
static void take_samples(robot_controller *c, const robot_input *in, double dt)
{
    const robot_parameters *p = &c->parameters;
    const int has_links = is_valid(c, in->time, in->link_time, c->link_time, in->q, c->last_q,
                                   p->link_speed, JOINTS);
    const int has_motors = is_valid(c, in->time, in->motor_time, c->motor_time, in->theta,
                                    c->last_theta, p->motor_speed, MOTORS);
    if (!c->is_started && !(has_links && has_motors)) {
        return;
    }
    double newest = -HUGE_VAL;
    if (has_links) {
        newest = c->link_time = in->link_time;
        for (int i = 0; i < JOINTS; ++i) {
            c->last_q[i] = in->q[i];
        }
    }
    if (has_motors) {
        newest = fmax(newest, in->motor_time);
        c->motor_time = in->motor_time;
        for (int j = 0; j < MOTORS; ++j) {
            c->last_theta[j] = in->theta[j];
        }
    }
    c->counts.coasted_cycles += has_links && has_motors ? 0 : 1;
    const int is_newer = !c->is_started || newest > c->filter_time;
    const double time = is_newer ? newest : c->filter_time + dt;
    const double step = time - c->filter_time;
    const int restarts = !c->is_started || step > p->max_step;
    const double coasting = restarts ? 0.0 : step;
    double y[POSITIONS];
    for (int i = 0; i < POSITIONS; ++i) {
        y[i] = c->filter[0][i] + coasting * c->filter[1][i];
    }
    for (int i = 0; i < JOINTS && has_links; ++i) {
        y[i] = in->q[i];
    }
    for (int j = 0; j < MOTORS && has_motors; ++j) {
        y[JOINTS + j] = in->theta[j];
    }
    if (restarts) {
        start_filter(c, time, y, step);
    } else {
        advance_filter(c, step, y);
    }
    c->filter_time = time;
    if (!is_finite_row(c->filter[0], 4 * POSITIONS)) { /* overflow: forget all samples */
        forget_samples(c);
        return;
    }
    for (int i = 0; i < JOINTS; ++i) {
        c->q[i] = c->filter[0][i];
        c->qd[i] = c->filter[1][i];
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->theta[j] = c->filter[0][JOINTS + j];
        c->thetad[j] = c->filter[1][JOINTS + j];
    }
}

/* Transfer: a law takes over from the torque that was sent last */

static void settle(robot_feedforward *flat)
{
    for (int i = 0; i < JOINTS; ++i) {
        flat->filtered[i] = IS_DAMPED[i] ? NAN : 0.0;
    }
}

static void reset_disturbances(robot_disturbances *d)
{
    d->is_started = 0;
    for (int i = 0; i < JOINTS; ++i) {
        d->link[i] = d->link_rate[i] = 0.0;
        for (int k = 0; k < 4; ++k) {
            d->link_lags[k][i] = 0.0;
        }
    }
    for (int j = 0; j < MOTORS; ++j) {
        d->motor[j] = 0.0;
        for (int k = 0; k < 4; ++k) {
            d->motor_lags[k][j] = 0.0;
        }
    }
}

static void enter(robot_controller *c, robot_state state, double duration)
{
    c->state = state;
    c->elapsed = 0.0;
    c->duration = duration;
    c->is_fading = duration > 0.0;
    for (int j = 0; j < MOTORS; ++j) {
        c->held[j] = c->torque[j];
    }
    settle(&c->now);
    settle(&c->later);
    reset_disturbances(&c->disturbances);
    c->hold_is_started = 0;
}

static void fail(robot_controller *c, robot_fault fault)
{
    if (!is_latched(c->fault) || is_latched(fault)) {
        c->fault = fault;
    }
    if (is_following(c)) {
        enter(c, ROBOT_STOPPING, c->parameters.stop_transfer_time);
    }
}

/* Feedforward */

/* Q, Q' and Q'', which the positions and velocities of motors do not need. */
static void inverse_dynamics(const robot_controller *c, robot_feedforward *flat, int needs_torque)
{
    if (needs_torque) {
        robot_inverse_dynamics_2(flat->state[0], flat->state[1], flat->state[2], flat->state[3],
                                 flat->state[4], flat->torque[0], flat->torque[1],
                                 flat->torque[2]);
    } else {
        robot_inverse_dynamics_1(flat->state[0], flat->state[1], flat->state[2], flat->state[3],
                                 flat->torque[0], flat->torque[1]);
    }
    for (int i = 0; i < JOINTS; ++i) {
        flat->torque[0][i] -= c->external_torque[i];
    }
    if (c->parameters.disturbance_bandwidth > 0.0) {
        for (int i = 0; i < JOINTS; ++i) {
            flat->torque[0][i] -= c->disturbances.link[i];
            flat->torque[1][i] -= c->disturbances.link_rate[i];
        }
    }
}

/* Motors along flat->state; advances the filters of damped springs by dt. */
static void map_motion(robot_controller *c, robot_feedforward *flat, double dt, int needs_torque)
{
    inverse_dynamics(c, flat, needs_torque);
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

/* Disturbances of links and motors */

static double smooth_limit(double value, double limit, double *rate)
{
    const double size = fabs(value);
    if (size <= LINEAR * limit) {
        return value;
    }
    const double share = limit > 0.0 ? size / limit : HUGE_VAL;
    const double slope = clipped(0.5 * (2.0 - LINEAR - share) / (1.0 - LINEAR), 0.0, 1.0);
    *rate *= slope;
    return copysign(limit * (1.0 - (1.0 - LINEAR) * slope * slope), value);
}

/* Four lags in series over a step: weights of the lags before each, and of the input on each. */
typedef struct {
    double lag[4];
    double input[4];
} low_pass_weights;

static low_pass_weights weights_of(double bandwidth, double step)
{
    const double a = bandwidth * step;
    low_pass_weights w;
    double total = 0.0;
    w.lag[0] = exp(-a);
    w.lag[1] = w.lag[0] * a;
    w.lag[2] = w.lag[0] * a * a / 2.0;
    w.lag[3] = w.lag[0] * a * a * a / 6.0;
    for (int i = 0; i < 4; ++i) {
        total += w.lag[i];
        w.input[i] = 1.0 - total;
    }
    return w;
}

/* Advance the lags of one signal, which are `stride` numbers apart. */
static void low_pass(double *lags, int stride, const low_pass_weights *w, double value)
{
    for (int i = 3; i >= 0; --i) {
        double sum = w->input[i] * value;
        for (int j = 0; j <= i; ++j) {
            sum += w->lag[j] * lags[(i - j) * stride];
        }
        lags[i * stride] = sum;
    }
}

static void observe_links(robot_controller *c, double dt, const low_pass_weights *weight)
{
    const robot_parameters *p = &c->parameters;
    robot_disturbances *d = &c->disturbances;
    double momentum[JOINTS], bias[JOINTS];
    robot_momentum(c->q, c->qd, momentum, bias);
    for (int i = 0; i < JOINTS; ++i) {
        const int j = FIRST_MOTOR[i];
        const double internal = IS_RIGID[i] ? c->torque[j] : c->springs.torque[i];
        const double driving = internal + c->external_torque[i];
        if (IS_RIGID[i]) {
            bias[i] += robot_motor_friction(j, c->qd[i]);
        }
        if (d->is_started && dt <= LONGEST_STEP) {
            const double held = IS_RIGID[i] ? 0.0 : 0.5;
            const double mean =
                held * d->driving[i] + (1.0 - held) * driving - 0.5 * (d->bias[i] + bias[i]);
            const double unexplained = (momentum[i] - d->momentum[i]) / dt - mean;
            low_pass(&d->link_lags[0][i], JOINTS, weight, unexplained);
            d->link_rate[i] =
                p->disturbance_bandwidth * (d->link_lags[2][i] - d->link_lags[3][i]);
            d->link[i] = smooth_limit(d->link_lags[3][i], p->link_disturbance_limit[i],
                                      &d->link_rate[i]);
        }
        d->momentum[i] = momentum[i];
        d->bias[i] = bias[i];
        d->driving[i] = driving;
    }
}

static void observe_motors(robot_controller *c, double dt, const low_pass_weights *weight)
{
    robot_disturbances *d = &c->disturbances;
    for (int j = 0; j < MOTORS; ++j) {
        const int is_rigid = IS_RIGID[JOINT_OF_MOTOR[j]];
        const double momentum = MOTOR_INERTIA[j] * c->thetad[j];
        const double load = is_rigid ? 0.0 : c->springs.load[j];
        const double bias = robot_motor_friction(j, c->thetad[j]) + load;
        if (d->is_started && dt <= LONGEST_STEP) {
            const double unexplained = (momentum - d->motor_momentum[j]) / dt - c->torque[j] +
                                       0.5 * (bias + d->motor_bias[j]);
            double unused = 0.0;
            low_pass(&d->motor_lags[0][j], MOTORS, weight, is_rigid ? 0.0 : unexplained);
            d->motor[j] = smooth_limit(d->motor_lags[3][j],
                                       c->parameters.motor_disturbance_limit[j], &unused);
        }
        d->motor_momentum[j] = momentum;
        d->motor_bias[j] = bias;
    }
}

/* What the model does not explain, from the momentum on both sides of the springs. */
static void observe_disturbances(robot_controller *c, double dt)
{
    const low_pass_weights weight = weights_of(c->parameters.disturbance_bandwidth, dt);
    robot_spring_torques(c->q, c->qd, c->theta, c->thetad, c->second, c->springs.torque,
                         c->springs.rate, c->springs.felt, c->springs.load, c->springs.deflection);
    observe_links(c, dt, &weight);
    observe_motors(c, dt, &weight);
    c->disturbances.is_started = 1;
}

/* The laws */

/* Feedforward of the flat map and linear feedback of links and motors. */
static void follow(robot_controller *c, double dt, double torque[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    const int is_compensated = p->disturbance_bandwidth > 0.0;
    if (is_compensated) {
        observe_disturbances(c, dt);
    }
    for (int k = 0; k < 5; ++k) {
        for (int i = 0; i < JOINTS; ++i) {
            c->now.state[k][i] = c->desired[k][i];
        }
    }
    map_motion(c, &c->now, dt, HAS_DAMPED || !(p->lead > 0.0));
    for (int j = 0; j < MOTORS; ++j) {
        const int i = JOINT_OF_MOTOR[j];
        torque[j] = p->gains[0][j] * (c->desired[0][i] - c->q[i]) +
                    p->gains[1][j] * (c->desired[1][i] - c->qd[i]) +
                    p->gains[2][j] * (c->now.result[0][j] - c->theta[j]) +
                    p->gains[3][j] * (c->now.result[1][j] - c->thetad[j]);
    }
    robot_feedforward *flat = &c->now;
    if (p->lead > 0.0) {
        flat = &c->later;
        robot_reference_evaluate(&c->reference, c->time + p->lead, c->time, flat->state);
        map_motion(c, flat, dt, 1);
    }
    for (int j = 0; j < MOTORS; ++j) {
        torque[j] += flat->result[3][j];
        if (is_compensated) {
            torque[j] -= c->disturbances.motor[j];
        }
    }
}

/* Links in equilibrium on their springs, with the motors where they are: Newton steps without the
 * slope of gravity; then the loads of the motors. */
static void hang(robot_controller *c, int iterations, double load[MOTORS])
{
    robot_springs *s = &c->springs;
    double weight[JOINTS] = {0.0};
    double still[JOINTS] = {0.0};
    double motors_still[MOTORS] = {0.0};
    for (int i = 0; i < JOINTS; ++i) {
        if (IS_RIGID[i]) {
            c->hold_q[i] = c->theta[FIRST_MOTOR[i]];
        }
    }
    for (int k = 0; k < iterations; ++k) {
        double excess = 0.0;
        double largest = 0.0;
        robot_spring_torques(c->hold_q, still, c->theta, motors_still, c->second, s->torque,
                             s->rate, s->felt, s->load, s->deflection);
        robot_gravity_forces(c->hold_q, weight);
        for (int i = 0; i < JOINTS; ++i) {
            weight[i] -= c->external_torque[i];
            largest = fmax(largest, fabs(weight[i]));
            if (!IS_RIGID[i]) {
                excess = fmax(excess, fabs(s->torque[i] - weight[i]));
            }
        }
        if (iterations > FEW_ITERATIONS && excess <= SETTLED * (1.0 + largest)) {
            break;
        }
        for (int i = 0; i < JOINTS; ++i) {
            if (!IS_RIGID[i] && s->felt[i] > 0.0) {
                c->hold_q[i] += (s->torque[i] - weight[i]) / s->felt[i];
            }
        }
    }
    for (int j = 0; j < MOTORS; ++j) {
        const int i = JOINT_OF_MOTOR[j];
        load[j] = IS_RIGID[i] ? weight[i] : s->load[j];
    }
}

static void start_hold(robot_controller *c)
{
    for (int i = 0; i < JOINTS; ++i) {
        c->hold_q[i] = 0.0;
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->hold_reference[0][j] = c->theta[j];
        c->hold_reference[1][j] = c->thetad[j];
        c->hold_q[JOINT_OF_MOTOR[j]] += TORQUE_SHARE[j] * c->theta[j];
    }
}

/* A damped stop of the motors, then a hold with gravity compensated, from motor states alone. */
static void stop_and_hold(robot_controller *c, double dt, double torque[MOTORS])
{
    const robot_parameters *p = &c->parameters;
    const double decay = exp(-dt / p->stop_time);
    double load[MOTORS];
    if (!c->hold_is_started) {
        start_hold(c);
    }
    hang(c, c->hold_is_started ? ITERATIONS : 10 * ITERATIONS, load);
    c->hold_is_started = 1;
    for (int j = 0; j < MOTORS; ++j) {
        double *position = &c->hold_reference[0][j];
        double *velocity = &c->hold_reference[1][j];
        const double link = c->hold_q[JOINT_OF_MOTOR[j]] + *position - c->theta[j];
        const double slowest = fmin((p->hold_lower[j] - link) / p->stop_time, 0.0);
        const double fastest = fmax((p->hold_upper[j] - link) / p->stop_time, 0.0);
        *velocity = clipped(*velocity, slowest, fastest);
        const double wanted = load[j] + p->hold_gains[0][j] * (*position - c->theta[j]) +
                              p->hold_gains[1][j] * (*velocity - c->thetad[j]);
        torque[j] = clipped(wanted, -p->torque_limit[j], p->torque_limit[j]);
        *position += (torque[j] - wanted) / p->hold_gains[0][j];
        *position += (1.0 - decay) * p->stop_time * *velocity;
        *velocity *= decay;
    }
}

/* The torque that holds the arm at rest at its last known position. */
static void rest(robot_controller *c, double torque[MOTORS])
{
    robot_feedforward *flat = &c->now;
    for (int i = 0; i < JOINTS; ++i) {
        flat->state[0][i] = c->q[i];
        for (int k = 1; k < 5; ++k) {
            flat->state[k][i] = 0.0;
        }
        flat->torque[1][i] = flat->torque[2][i] = 0.0;
    }
    robot_gravity_forces(flat->state[0], flat->torque[0]);
    settle(flat);
    robot_motor_feedforward(flat->state, flat->torque, c->second, flat->filtered, flat->bent,
                            flat->load, flat->result, flat->flags);
    for (int j = 0; j < MOTORS; ++j) {
        torque[j] = flat->result[3][j];
    }
}

/* Limits */

/* Fade into the wanted torque, then limit it and its rate. */
static void send(robot_controller *c, double dt, const double wanted[MOTORS])
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

/* The state machine */

static int lacks_links(const robot_controller *c)
{
    return !(c->time - c->link_time <= c->parameters.link_timeout);
}

static int lacks_motors(const robot_controller *c)
{
    return !(c->time - c->motor_time <= c->parameters.motor_timeout);
}

static double fastest_motor(const robot_controller *c)
{
    double speed = 0.0;
    for (int j = 0; j < MOTORS; ++j) {
        speed = fmax(speed, fabs(c->thetad[j]));
    }
    return speed;
}

/* Missing states, and the end of a stop. */
static void watch(robot_controller *c)
{
    const robot_parameters *p = &c->parameters;
    if (lacks_motors(c) || lacks_links(c)) { /* the filters settle again after that */
        c->filter_started = c->filter_time;
    }
    if (lacks_motors(c)) {
        if (c->state != ROBOT_LOST) {
            fail(c, ROBOT_NO_MOTORS);
            enter(c, ROBOT_LOST, 0.0);
        }
        return;
    }
    if (c->state == ROBOT_LOST && !c->stop_failed) {
        enter(c, ROBOT_STOPPING, p->stop_transfer_time);
    }
    if (lacks_links(c)) {
        if (c->fault != ROBOT_NO_LINKS) {
            fail(c, ROBOT_NO_LINKS);
        }
        return;
    }
    const int may_resume = c->fault == ROBOT_SETTLING || (p->recovers && !is_latched(c->fault));
    if (c->state == ROBOT_STOPPING && p->follows && may_resume && is_settled(c) &&
        fastest_motor(c) <= p->recovery_speed) {
        c->fault = ROBOT_NO_FAULT;
        robot_reference_hold(&c->reference, c->q, c->time);
        enter(c, ROBOT_HOLDING, p->transfer_time);
    }
}

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
    if (c->reference.count == 0) {
        c->state = ROBOT_HOLDING;
    } else if (c->state == ROBOT_HOLDING) {
        c->state = ROBOT_FOLLOWING;
    }
}

static void check_tracking(robot_controller *c)
{
    const double tolerance = c->parameters.tracking_tolerance;
    for (int i = 0; i < JOINTS; ++i) {
        if (tolerance > 0.0 && fabs(c->desired[0][i] - c->q[i]) > tolerance) {
            fail(c, ROBOT_TRACKING);
            return;
        }
    }
}

static void run(robot_controller *c, double dt)
{
    double wanted[MOTORS];
    watch(c);
    if (is_following(c)) {
        look_up(c);
        check_tracking(c);
    }
    if (is_following(c)) {
        follow(c, dt, wanted);
    } else if (c->state == ROBOT_STOPPING) {
        stop_and_hold(c, dt, wanted);
    } else {
        rest(c, wanted);
    }
    if (is_finite_row(wanted, MOTORS)) {
        send(c, dt, wanted);
        return;
    }
    /* The last torque is repeated in this cycle. */
    if (c->state == ROBOT_STOPPING) {
        c->stop_failed = 1;
        enter(c, ROBOT_LOST, 0.0);
    }
    fail(c, ROBOT_NOT_FINITE);
}

/* The clock was set back: the age of earlier samples is no longer known. */
static void jump_back(robot_controller *c, double time)
{
    c->counts.time_jumps += 1;
    c->time = time;
    c->stalled = 0;
    forget_samples(c);
    if (c->state != ROBOT_INACTIVE) {
        fail(c, ROBOT_TIME);
        enter(c, ROBOT_LOST, 0.0);
    }
}

/* The clock has stopped, or its time is not a number: at first, repeat the last torque. */
static void stall(robot_controller *c)
{
    double wanted[MOTORS];
    c->counts.stalled_cycles += 1;
    c->stalled += c->stalled <= MOST_STALLED ? 1 : 0;
    if (c->stalled <= MOST_STALLED || c->state == ROBOT_INACTIVE) {
        return;
    }
    if (c->state != ROBOT_LOST) {
        fail(c, ROBOT_TIME);
        enter(c, ROBOT_LOST, 0.0);
    }
    rest(c, wanted);
    if (is_finite_row(wanted, MOTORS)) {
        send(c, c->parameters.period, wanted);
    }
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
        out->q[i] = c->q[i];
        out->qd[i] = c->qd[i];
    }
    for (int j = 0; j < MOTORS; ++j) {
        out->torque[j] = c->torque[j];
        out->desired_theta[j] = c->now.result[0][j];
        out->theta[j] = c->theta[j];
        out->thetad[j] = c->thetad[j];
        out->flags[j] = c->now.flags[j];
    }
}

/* The interface */

static int are_positive(const double *row, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(row[i] > 0.0)) {
            return 0;
        }
    }
    return 1;
}

static int are_valid(const robot_parameters *p)
{
    const double times[8] = {p->period,       p->stop_time,     p->filter_bandwidth,
                             p->max_step,     p->link_timeout,  p->motor_timeout,
                             p->recovery_speed, p->settling_time};
    return are_positive(times, 8) && is_finite_row(times, 4) && p->lead >= 0.0 && p->lead < 1.0 &&
           p->disturbance_bandwidth >= 0.0 && p->tracking_tolerance >= 0.0 &&
           p->transfer_time >= 0.0 && is_finite_row(&p->transfer_time, 1) &&
           p->stop_transfer_time >= 0.0 && is_finite_row(&p->stop_transfer_time, 1) &&
           p->filter_order >= 2 &&
           p->filter_order <= 4 && is_finite_row(p->gains[0], 4 * MOTORS) &&
           is_finite_row(p->hold_gains[0], 2 * MOTORS) && are_positive(p->hold_gains[0], MOTORS) &&
           is_finite_row(p->friction, MOTORS) &&
           are_positive(p->stop_acceleration, JOINTS) && are_positive(p->torque_limit, MOTORS) &&
           are_positive(p->torque_rate_limit, MOTORS) && are_positive(p->velocity, JOINTS) &&
           are_positive(p->link_speed, JOINTS) && are_positive(p->motor_speed, MOTORS);
}

int robot_initialise(robot_controller *c, const robot_parameters *parameters)
{
    *c = (robot_controller){.parameters = *parameters};
    c->link_time = c->motor_time = -HUGE_VAL;
    for (int i = 0; i < ROBOT_VARIABLE; ++i) {
        c->second[0][i] = SECOND_AT_REST[i];
    }
    return are_valid(parameters) ? 0 : 1;
}

int robot_activate(robot_controller *c, const double applied_torque[MOTORS])
{
    if (c->state != ROBOT_INACTIVE || !c->is_started || lacks_links(c) || lacks_motors(c) ||
        !is_finite_row(applied_torque, MOTORS) || !are_valid(&c->parameters)) {
        return 1;
    }
    for (int j = 0; j < MOTORS; ++j) {
        c->torque[j] = applied_torque[j];
    }
    robot_reference_hold(&c->reference, c->q, c->time);
    robot_reference_evaluate(&c->reference, c->time, c->time, c->desired);
    c->stop_failed = 0;
    c->fault = ROBOT_SETTLING;
    enter(c, ROBOT_STOPPING, c->parameters.transfer_time);
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
    double before[5][JOINTS];
    if (c->state != ROBOT_HOLDING && c->state != ROBOT_FOLLOWING) {
        return ROBOT_POINT_NOT_READY;
    }
    if (!is_finite_row(state[0], 5 * JOINTS) || !is_finite_row(&time, 1)) {
        return ROBOT_POINT_NOT_FINITE;
    }
    if (reference->end < c->time) { /* at rest */
        reference->end = c->time;
    }
    if (!(time > c->time + c->parameters.lead) || !(time > reference->end + SHORTEST_SEGMENT)) {
        return ROBOT_POINT_LATE;
    }
    if (reference->count >= ROBOT_SEGMENTS - 1) { /* the last one is kept for the path to rest */
        return ROBOT_POINT_FULL;
    }
    const double end = reference->end;
    for (int k = 0; k < 5; ++k) {
        for (int i = 0; i < JOINTS; ++i) {
            before[k][i] = reference->last[k][i];
        }
    }
    const robot_segment *segment = robot_reference_append(reference, time, state);
    const robot_parameters *p = &c->parameters;
    if (!robot_segment_is_within(segment, p->lower, p->upper, p->velocity)) {
        robot_reference_remove(reference, before, end);
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
    if (!is_finite_row(second[0], 3 * ROBOT_SECOND)) {
        return 1;
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
        take_samples(c, in, elapsed);
        if (c->state != ROBOT_INACTIVE) {
            run(c, fmin(elapsed, c->parameters.max_step));
        }
    } else if (elapsed < -c->parameters.max_step && elapsed > -HUGE_VAL) {
        jump_back(c, in->time);
    } else {
        stall(c);
    }
    report(c, out);
    return c->state;
}

const char *robot_state_name(robot_state state)
{
    static const char *const names[6] = {"inactive", "stopping", "holding",
                                         "following", "braking", "lost"};
    return (int)state >= 0 && (int)state < 6 ? names[state] : "unknown";
}

const char *robot_fault_name(robot_fault fault)
{
    static const char *const names[7] = {"none", "settling", "link states missing",
                                         "motor states missing", "tracking error",
                                         "torque not finite", "clock set back or stopped"};
    return (int)fault >= 0 && (int)fault < 7 ? names[fault] : "unknown";
}

unsigned long robot_controller_size(void)
{
    return (unsigned long)sizeof(robot_controller);
}
