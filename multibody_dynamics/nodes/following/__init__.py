# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Following a desired motion: trajectories and goals in, one reference per cycle out.

controlled_robot                the robot, as the parameters of such a node describe it
followed_motion                 begins, stops and judges motions; the service ~/enable
trajectory_input                trajectories from a topic and an action
large_trajectories              trajectories with many points, planned in another process
trajectory_action               the action follow_joint_trajectory
trajectory_goal                 tolerances and outcome of a motion
stiffness_input                 desired stiffness of joints with variable stiffness, from a topic
wrench_input                    a wrench on a link, from a topic
motor_limits                    limits of torques and speeds, and how often they cut
arm_faults                      faults of an arm, reported and cleared; its last torques
torque_ramp                     from the last torques to those of a law
feedforward_setup               what the feedforward creates when it is configured, and publishes
trajectory_learner              evaluates runs and writes their file, outside the control cycle
impedance_input                 stiffness and damping of a running impedance, from a topic
state_pairs                     pairs link and motor states of the same time; missing sides
controller_setup                what the controller creates when it is configured
controlled_arm                  design of the controller's laws, forecast of its stop
law_judgement                   stability of the designed laws: accepted, lowered or refused
live_laws                       laws chosen while the node runs, judged before they take effect
controller_outputs              messages that the controller publishes every cycle
controller_report               diagnostics of the controller
following_parameters            parameters of nodes that follow trajectories, and of the feedforward
flatness_controller_parameters  parameters of the controller
"""
