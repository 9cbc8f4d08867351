/*
 * Copyright 2026 multibody_dynamics developers
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ROBOT_CONTROLLER_H
#define ROBOT_CONTROLLER_H

#include "robot_actuators.h"
#include "robot_reference.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the controller does:
 *
 *     INACTIVE   nothing: the torque is zero. Filters run, so that activation finds a valid state.
 *     STOPPING   stops the arm with a damped reference of the motors and holds it there ("hold").
 *     HOLDING    follows the law, with the reference at rest.
 *     FOLLOWING  follows the law, along the accepted points.
 *     BRAKING    follows the law, along a path to rest that continues the motion with q..q''''.
 *     LOST       no feedback is possible: fades, in stop_transfer_time, into the torque that holds
 *                the arm at rest at its last position. Brakes have to stop it.
 *
 *     INACTIVE --activate--> STOPPING --settled, slow--> HOLDING --append--> FOLLOWING
 *     FOLLOWING --no further point, or stop--> BRAKING --at rest--> HOLDING
 *     any --motor states missing--> LOST --motor states are back--> STOPPING
 *     HOLDING, FOLLOWING, BRAKING --fault--> STOPPING    (a late cycle is one, too)
 *     any --clock set back or stopped--> LOST --samples with later times--> STOPPING
 *     STOPPING --torque not finite--> LOST --clear_fault--> STOPPING
 *     any --deactivate--> INACTIVE
 */
typedef enum {
    ROBOT_INACTIVE = 0,
    ROBOT_STOPPING = 1,
    ROBOT_HOLDING = 2,
    ROBOT_FOLLOWING = 3,
    ROBOT_BRAKING = 4,
    ROBOT_LOST = 5
} robot_state;

/* Why the arm is stopped. Tracking errors and torques that are not finite are latched: only
 * robot_clear_fault ends them. */
typedef enum {
    ROBOT_NO_FAULT = 0,
    ROBOT_SETTLING = 1,   /* after activation: filters settle, and the arm comes to rest */
    ROBOT_NO_LINKS = 2,   /* no valid link states for link_timeout */
    ROBOT_NO_MOTORS = 3,  /* no valid motor states for motor_timeout */
    ROBOT_TRACKING = 4,   /* a link is farther than tracking_tolerance from its reference */
    ROBOT_NOT_FINITE = 5, /* the law has no finite torque */
    ROBOT_TIME = 6        /* the cycle is late, or the clock was set back or has stopped */
} robot_fault;

/* Answers to robot_append. */
typedef enum {
    ROBOT_ACCEPTED = 0,
    ROBOT_POINT_NOT_FINITE = 1, /* a number is infinite or NaN */
    ROBOT_POINT_LATE = 2,       /* due within `lead` or in the past, or not after the last point */
    ROBOT_POINT_BEYOND = 3,     /* the segment exceeds a limit of position or velocity */
    ROBOT_POINT_FULL = 4,       /* ROBOT_SEGMENTS - 1 segments are waiting */
    ROBOT_POINT_NOT_READY = 5   /* the controller is not HOLDING or FOLLOWING */
} robot_answer;

/*
 * All settings; robot_default_parameters writes those that were designed when this file was
 * generated. Rows are for joints (links) or motors, on the link side of the gear.
 */
typedef struct {
    double period; /* s, of the first cycle */
    int follows;   /* 0: the controller only stops the arm and holds it, whatever is appended */

    /* The law: torque = feedforward(q_d..q_d'''') + gains . (x_d - x), with the measured and
     * estimated state x = (q, q', theta, theta'). */
    double gains[4][ROBOT_MOTORS];
    double friction[ROBOT_MOTORS]; /* share of the motor friction that is compensated, 0 to 1 */
    double lead; /* s, by which the feedforward leads: half a cycle and the delay of the drive */

    /* Compensation of disturbances; a bandwidth of 0 turns it off. */
    double disturbance_bandwidth;                   /* rad/s */
    double link_disturbance_limit[ROBOT_JOINTS];  /* N m or N */
    double motor_disturbance_limit[ROBOT_MOTORS]; /* N m or N */

    /* The stop. */
    double hold_gains[2][ROBOT_MOTORS]; /* on theta and theta' */
    double hold_lower[ROBOT_MOTORS];    /* range of the links that the motors drive */
    double hold_upper[ROBOT_MOTORS];
    double stop_time;                         /* s, in which the motors slow down by a factor of e */
    double stop_acceleration[ROBOT_JOINTS]; /* rad/s^2 or m/s^2, of the path to rest */

    /* Filters of the measured positions, each with `filter_order` equal poles: 2, 3 or 4. */
    int filter_order;
    double filter_bandwidth; /* Hz */
    double settling_time;    /* s */
    double max_step;         /* s; after a longer gap, the filters start again */

    /* Limits of the torques that are sent, and of references. */
    double torque_limit[ROBOT_MOTORS];      /* N m or N */
    double torque_rate_limit[ROBOT_MOTORS]; /* N m/s or N/s */
    double lower[ROBOT_JOINTS];
    double upper[ROBOT_JOINTS];
    double velocity[ROBOT_JOINTS];

    /* Watchdogs. */
    double link_timeout;  /* s without a valid state of the links, or without a cycle */
    double motor_timeout; /* s without a valid state of the motors */
    double link_speed[ROBOT_JOINTS];   /* fastest motion between two samples that is accepted */
    double motor_speed[ROBOT_MOTORS];
    double tracking_tolerance; /* rad or m; 0: no limit */
    double recovery_speed;     /* rad/s or m/s, of the motors, below which following may resume */
    int recovers;              /* whether it resumes on its own after missing states */

    /* Changes of the torque when a law takes over. */
    double transfer_time;      /* s, into HOLDING, and after activation */
    double stop_transfer_time; /* s, into STOPPING and LOST */
} robot_parameters;

/* The measured state. Times are in s on one monotonic clock; keep them below 1e6 s. */
typedef struct {
    double time;                  /* of this cycle */
    double link_time;             /* of q; unchanged if there is no new sample */
    double motor_time;            /* of theta */
    double q[ROBOT_JOINTS];     /* rad or m */
    double theta[ROBOT_MOTORS]; /* rad or m, on the link side of the gear */
} robot_input;

/* Counts of what was missing, refused or limited since initialisation. */
typedef struct {
    unsigned long cycles;
    unsigned long stalled_cycles;   /* with a time that is not later: the last torque is repeated */
    unsigned long time_jumps;       /* with a time that is earlier by more than max_step */
    unsigned long late_cycles;      /* more than link_timeout after the one before: a fault */
    unsigned long coasted_cycles;   /* with a missing sample of links or motors */
    unsigned long refused_samples;  /* not finite, too fast, or later than max_step from now */
    unsigned long refused_points;   /* answers of robot_append other than ROBOT_ACCEPTED */
    unsigned long late_references;  /* the motion ended before a further point arrived */
    unsigned long limited_torques;  /* cycles in which a torque was limited */
    unsigned long limited_rates;    /* cycles in which the rate of a torque was limited */
} robot_counts;

typedef struct {
    double torque[ROBOT_MOTORS]; /* N m or N, to be sent */
    robot_state state;
    robot_fault fault;
    double desired[5][ROBOT_JOINTS];
    double desired_theta[ROBOT_MOTORS]; /* of the motors along `desired`, by the flat map */
    double q[ROBOT_JOINTS], qd[ROBOT_JOINTS];
    double theta[ROBOT_MOTORS], thetad[ROBOT_MOTORS];
    int flags[ROBOT_MOTORS]; /* 1: spring beyond its travel, 2: second output clipped */
    robot_counts counts;
} robot_output;

/* The feedforward of one motion: inputs, memory of the springs, results. */
typedef struct {
    double state[5][ROBOT_JOINTS];
    double torque[3][ROBOT_JOINTS];
    double filtered[ROBOT_JOINTS];
    double bent[ROBOT_MOTORS];
    double load[ROBOT_MOTORS];
    double result[4][ROBOT_MOTORS]; /* theta, theta', theta'', tau */
    int flags[ROBOT_MOTORS];
} robot_feedforward;

/* Torques and loads of the springs at a measured state. */
typedef struct {
    double torque[ROBOT_JOINTS], rate[ROBOT_JOINTS], felt[ROBOT_JOINTS];
    double load[ROBOT_MOTORS], deflection[ROBOT_MOTORS];
} robot_springs;

/* The observer of disturbances on both sides of the springs. */
typedef struct {
    int is_started;
    double momentum[ROBOT_JOINTS], bias[ROBOT_JOINTS], driving[ROBOT_JOINTS];
    double motor_momentum[ROBOT_MOTORS], motor_bias[ROBOT_MOTORS];
    double link_lags[ROBOT_JOINTS][4], motor_lags[ROBOT_MOTORS][4];
    double link[ROBOT_JOINTS], link_rate[ROBOT_JOINTS], motor[ROBOT_MOTORS];
} robot_disturbances;

/* Everything that lasts from one cycle to the next. Allocate it once; its fields are private.
 * Nothing is locked: call all functions of one controller from one thread. */
typedef struct {
    robot_parameters parameters;
    robot_state state;
    robot_fault fault;
    robot_counts counts;
    double time;
    int has_time, stalled;
    int stop_failed; /* the torque of the stop was not finite, either */

    /* filters: positions and derivatives of the joints, then of the motors */
    int is_started;
    double filter_time, filter_started, link_time, motor_time;
    double last_q[ROBOT_JOINTS], last_theta[ROBOT_MOTORS];
    double filter[4][ROBOT_JOINTS + ROBOT_MOTORS];
    double q[ROBOT_JOINTS], qd[ROBOT_JOINTS];
    double theta[ROBOT_MOTORS], thetad[ROBOT_MOTORS];

    /* reference */
    robot_reference reference;
    double desired[5][ROBOT_JOINTS];
    double external_torque[ROBOT_JOINTS];
    double second[3][ROBOT_SECOND];

    /* laws */
    robot_feedforward now, later;
    robot_springs springs;
    robot_disturbances disturbances;
    int hold_is_started;
    double hold_reference[2][ROBOT_MOTORS];
    double hold_q[ROBOT_JOINTS];

    /* transfer and limits */
    double torque[ROBOT_MOTORS], held[ROBOT_MOTORS];
    double elapsed, duration;
    int is_fading;
} robot_controller;

/* The settings that were designed for this robot. */
void robot_default_parameters(robot_parameters *parameters);

/* The name of the first setting that is out of range, for messages; NULL if there is none. */
const char *robot_wrong_parameter(const robot_parameters *parameters);

/* Begin INACTIVE. Returns 0, or 1 if a setting is out of range: activation is then refused. */
int robot_initialise(robot_controller *controller, const robot_parameters *parameters);

/*
 * Take over from the torque that acts now, zero if brakes hold the arm. Returns 0, or 1 if the
 * controller is not INACTIVE, if a torque is not finite, or if there are no recent states of links
 * and motors: call robot_update before activation, too.
 */
int robot_activate(robot_controller *controller, const double applied_torque[ROBOT_MOTORS]);

/* Request zero torque from the next cycle on. */
void robot_deactivate(robot_controller *controller);

/*
 * Continue the motion, at first from the position that is held, to the state q..q'''' at `time`, by
 * the polynomial of degree 9. A point that is refused changes nothing.
 */
robot_answer robot_append(robot_controller *controller, double time,
                          double state[5][ROBOT_JOINTS]);

/* Discard the motion after `time`, so that robot_append continues from there. */
void robot_cut(robot_controller *controller, double time);

/* Brake now. */
void robot_stop(robot_controller *controller);

/* End a latched fault: following resumes when the arm is slow and the states are valid. */
void robot_clear_fault(robot_controller *controller);

/* Known external joint torques, constant until the next call. Returns 1 if one is not finite. */
int robot_set_external_torque(robot_controller *controller, const double torque[ROBOT_JOINTS]);

/* Stiffness or pretension of the variable joints, with two rates; returns 1 if one is not finite. */
int robot_set_second_outputs(robot_controller *controller, double second[3][ROBOT_SECOND]);

/* One cycle, from the measured state to the torque. */
robot_state robot_update(robot_controller *controller, const robot_input *input,
                         robot_output *output);

/* For other languages: bytes of a controller; numbers of joints, motors and second outputs. */
unsigned long robot_controller_size(void);
extern const int robot_sizes[3];

/* Names for messages and logs. */
const char *robot_state_name(robot_state state);
const char *robot_fault_name(robot_fault fault);
const char *robot_answer_name(robot_answer answer);
extern const char *const robot_joint_names[ROBOT_JOINTS];
extern const char *const robot_motor_names[ROBOT_MOTORS];

#ifdef __cplusplus
}
#endif

#endif
