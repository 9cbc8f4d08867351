# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Comparison of a running robot with its model: parameters, statistics and recordings.

compared_robot         the robot of both nodes, and which of its joints are measured
reported_recordings    recordings, each with the report of `multibody_dynamics validate`
validation_parameters  parameters of the validation node
drift_parameters       parameters of the drift node
spring_samples         pairs of joint and motor states, from which springs are watched
"""
