# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Comparison of a running robot with its model: statistics and recordings.

compared_robot       the robot of both nodes, and which of its joints are measured
reported_recordings  recordings, each with the report of `multibody_dynamics validate`
spring_samples       pairs of joint and motor states, from which springs are watched
"""
