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

//MODES//
//PARAMETERS//
/* The measured state. Times are in s on one monotonic clock; keep them below 1e6 s. */
typedef struct {
    double time;                  /* of this cycle */
    double link_time;             /* of q; unchanged if there is no new sample */
    double motor_time;            /* of theta */
    double q[ROBOT_JOINTS];     /* rad or m */
    double theta[ROBOT_MOTORS]; /* rad or m, on the link side of the gear */
} robot_input;

//OUTPUT//
/* The feedforward of one motion: inputs, memory of the springs, results. */
typedef struct {
    double state[5][ROBOT_JOINTS];
    double torque[3][ROBOT_JOINTS], carried[3][ROBOT_JOINTS];
    double filtered[ROBOT_STATES];
    double deflection[ROBOT_MOTORS];
    double load[ROBOT_MOTORS];
    double result[4][ROBOT_MOTORS]; /* theta, theta', theta'', tau */
    int flags[ROBOT_MOTORS];
} robot_feedforward;

//RECORDS//
/* Everything that lasts from one cycle to the next. Allocate it once; its fields are private.
 * Nothing is locked: call all functions of one controller from one thread. */
typedef struct {
    robot_parameters parameters;
    robot_counts counts;
    robot_modes modes;
    robot_clock clock;
    double torque_time, period; /* s, of the last torque, of the last cycle */
    int is_active, has_begun, has_motion, has_torque, open_loop;
    robot_encoder_steps steps;
    robot_frozen frozen;
    robot_samples samples;
//LOOPS//
    robot_springs springs; /* at the last state that was judged, measured or held */

    /* reference */
    robot_motion motion;
    double desired[5][ROBOT_JOINTS];
    double external_torque[ROBOT_JOINTS];
    double second[3][ROBOT_SECOND];

    /* laws */
    robot_feedforward now, later;
    robot_disturbances disturbances;
    double unobserved; /* s since they were observed */
    robot_smoothed smoothed;
    int hold_is_started;
    double hold_reference[2][ROBOT_MOTORS];
    double hold_q[ROBOT_JOINTS]; /* links in equilibrium on their springs */

    /* transfer and limits */
    robot_transfer transfer;
    double torque[ROBOT_MOTORS];
    double duration, feedback_share;
    double interval;  /* s, the longest one between two states of late */
    double held_back; /* s, until rate limits permit the last torque that was wanted */
} robot_controller;

/* The limits of streams, and the settings, that were designed for this robot. */
extern const robot_stream_limits robot_default_stream;
void robot_default_parameters(robot_parameters *parameters);

/* The name of the first setting that is out of range, for messages; NULL if there is none. */
const char *robot_wrong_parameter(const robot_parameters *parameters);

/* Begin INACTIVE. Returns 0, or 1 if a setting is out of range: activation is then refused. */
int robot_initialise(robot_controller *controller, const robot_parameters *parameters);

/*
 * Whether the springs of the arm at rest, with links and motors there, can carry it and external
 * torques within the setting external_load, and its encoders are fine enough for the gains; an arm
 * whose motors move in the last cycle may need more torque. Returns 0, or 1 and why not.
 */
int robot_judge(robot_controller *controller, const double q[ROBOT_JOINTS],
                const double theta[ROBOT_MOTORS], robot_refusal *refusal);

/*
 * The motor torques that balance the springs with links and motors at rest there, within the torque
 * limits: an arm that brakes or drives have held does not fall with them. Returns 0, or 1 if the
 * positions are not finite.
 */
int robot_balance(robot_controller *controller, const double q[ROBOT_JOINTS],
                  const double theta[ROBOT_MOTORS], double torque[ROBOT_MOTORS]);

/*
 * Take over with the next cycle from `torque`, or from the one that balances the springs if it is
 * NULL: release brakes after that. Returns 0, or 1 if the controller is active, if a torque is not
 * finite, if there are no recent states of links and motors, or if their filters have not settled:
 * call robot_update before, too. Returns 2 if robot_judge refuses the states.
 */
int robot_activate(robot_controller *controller, const double *torque);

/* Request zero torque from the next cycle on. */
void robot_deactivate(robot_controller *controller);

/*
 * Continue the motion, at first from the position that is held, to the state q..q'''' at `time`, by
 * the polynomial of degree 9. A point that is refused changes nothing.
 */
robot_answer robot_append(robot_controller *controller, double time,
                          double state[5][ROBOT_JOINTS]);

/*
 * Follow the targets of a stream, from the present motion on, unless it brakes: `count` positions,
 * due at increasing `times` after *start; if `start` is NULL, after the message should have arrived.
 * NaN: a velocity that was not sent. They replace the targets from the first of them on. Meanwhile,
 * robot_append is refused until the stream has come to rest. Returns ROBOT_POINT_FULL if points did
 * not fit. See streams.md.
 */
robot_answer robot_follow(robot_controller *controller, const double *start, int count,
                          const double *times, double (*positions)[ROBOT_JOINTS],
                          double (*velocities)[ROBOT_JOINTS]);

/* Discard the motion after `time`, so that robot_append continues from there. */
void robot_cut(robot_controller *controller, double time);

/* Brake now. */
void robot_stop(robot_controller *controller);

/* End a fault: following resumes when the arm is slow and the states are valid. */
void robot_clear_fault(robot_controller *controller);

/*
 * For callers that send torques by messages: how late, in s after its sample, the last torque was
 * sent. If, for 0.1 s, all are later than latency_tolerance, the arm is stopped by a law for that.
 */
void robot_note_delay(robot_controller *controller, double delay);

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
const char *robot_mistake_name(robot_mistake mistake);
extern const char *const robot_joint_names[ROBOT_JOINTS];
extern const char *const robot_motor_names[ROBOT_MOTORS];
extern const char *const robot_loop_names[]; /* "", and then the equations of the loops */

#ifdef __cplusplus
}
#endif

#endif
