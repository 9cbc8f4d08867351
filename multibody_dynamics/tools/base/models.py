# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loads robots when nodes have already reported the loader's warnings; units of their limits."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

from ...dynamics import MultibodyModel, load_urdf
from ...dynamics.core import ModelWarning

# Ranges beyond the first number are hardly those of an arm; beyond the second, there is no limit.
TURNING = (25.0, 1e4)  # rad
SLIDING = (30.0, 1e4)  # m


def load_quietly(file: str | Path) -> MultibodyModel:
    """Load a robot without printing the loader's warnings: the logs of the nodes contain them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(file)


def doubtful_range(model: MultibodyModel, j: int) -> str:
    """What is doubtful about the unit of the limits of joint j; "" if nothing."""
    joint, travel = model.joint_names[j], model.limits.upper[j] - model.limits.lower[j]
    if model.joint_types[j] == "revolute" and TURNING[0] < travel < TURNING[1]:
        turns = travel / (2.0 * math.pi)
        text = f"{joint} has a range of {travel:.4g} rad, {turns:.3g} turns"
        return f"{text}; are its limits in degrees?"
    if model.joint_types[j] == "prismatic" and SLIDING[0] < travel < SLIDING[1]:
        return f"{joint} has a range of {travel:.4g} m; are its limits in mm?"
    return ""
