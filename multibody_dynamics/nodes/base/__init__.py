# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The building blocks that all nodes share.

runtime            managed lifecycle node, run loop, signals, clean shutdown
activation         subscriptions, timers and services that last until `deactivate`
robot_source       where a node gets its robot: parameters, or the topic robot_description
node_inputs        topics that a node listens to; counts and reports what is rejected
cycle_supervisor   one cycle per joint state: clock jumps, stamps, watchdogs, statistics
watchdog           detects missing input, on the steady clock
parameters         ROS parameters declared from a dataclass, and their Markdown table
parameter_files    sections of parameter files that do not reach the node they are meant for
robot              parameters of the robot; loads its model and actuators
messages           conversion between messages and arrays, matched by joint name
outputs            preallocated messages that are published together, with one stamp
external_wrench    a measured contact wrench with rates and expiry
diagnostics        cycle statistics, event counts, statuses on /diagnostics
scheduling         real-time priority, locked memory, chosen processors
nonblocking_output standard output and error that never hold up a cycle
qos                quality of service of publishers and subscriptions
"""
