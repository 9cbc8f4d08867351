# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Following a desired motion: trajectories and goals in, one reference per cycle out.

following                       base class of nodes that follow trajectories
desired_motion                  holds and trajectories over time, spliced without jumps
large_trajectories              trajectories with many points, planned in another process
learned_motion                  a desired motion with the learned correction of its trajectory
trajectory_learner              evaluates runs and writes their file, outside the control cycle
stiffness_reference             desired stiffness of joints with variable stiffness
impedance_reference             stiffness and damping of a running impedance, from a message
collision_reaction              contacts: the fault that they raise, and the retraction
trajectory_goal                 tolerances and outcome of a motion
trajectory_action               the action follow_joint_trajectory
state_pairs                     pairs link and motor states of the same time
controller_design               design of the controller's laws, forecast of its stop
law_design                      stability of the designed laws: accepted, lowered or refused
live_laws                       laws chosen while the node runs, judged before they take effect
controller_outputs              messages that the controller publishes every cycle
controller_report               diagnostics of the controller
following_parameters            parameters of all nodes that follow trajectories
feedforward_parameters          parameters of the feedforward
flatness_controller_parameters  parameters of the controller
"""
