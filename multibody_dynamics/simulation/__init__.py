# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Robots and controllers that are computed by other software.

`mujoco_robot` contains the arm in MuJoCo, with the interface of :class:`.Plant`;
`compiled_controller` a generated controller as machine code, to be run with either plant.
"""

PLANTS = ("internal", "mujoco")
"""The plants by their names for users: :class:`.ElasticRobot` and :class:`.MujocoRobot`."""
