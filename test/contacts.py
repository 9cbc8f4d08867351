# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Arms and random contacts for tests of passivity."""

from functools import cache

import numpy as np

import elastic_arms as arms
from multibody_dynamics.dynamics.core.inputs import Array
from multibody_dynamics.dynamics.elastic import (
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
)
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.springs import CubicSpring
from robots import random_tree
from studies.passivity_claims import PASSIVITY_CLAIMS
from studies.stored_energy import ArmStates

CLAIMS = ("motor_pd", "joint_impedance", "cartesian_impedance", "esp", "esp_impedance", "hold")
"""Keys of the claims for springs of any kind."""
LINEAR_ONLY = ("state_feedback, modal", "torque_source")
"""Keys of the claims for linear springs without dampers; the latter for motors without friction."""


@cache
def branched_arm() -> arms.Arm:
    """A tree with off-axis revolute and prismatic joints, and actuators of many kinds."""
    model = random_tree(5, 7, kinds=("revolute", "prismatic"), branching=0.6)
    actuators = Actuators(
        model.joint_names,
        (
            arms.series(4000.0, damping=30.0),
            SeriesElastic(arms.MOTOR, CubicSpring(1500.0, 4e4)),
            Antagonistic(arms.SMALL, arms.SMALL, arms.TENDON, arms.TENDON, regulates="pretension"),
            arms.series(2000.0, arms.SMALL),
            Rigid(arms.MOTOR),
        ),
    )
    return arms.Arm(model, actuators, np.full(5, 0.1))


@cache
def frictionless_arm() -> arms.Arm:
    """Two linear springs, and motors without friction."""
    return arms.two_links(arms.series(400.0, Motor(0.5)), arms.series(200.0, Motor(0.2)))


ARMS = (
    arms.linear_arm, arms.nonlinear_arm, arms.damped_arm, arms.antagonistic_arm,
    arms.pretensioned_arm, arms.mixed_panda, branched_arm,
)  # fmt: skip


def claimed(arm: arms.Arm, claim: str):
    """The law with the settings for which it claims a storage function."""
    return PASSIVITY_CLAIMS[claim].controller(arm.model, arm.actuators, arm.rest)


def random_states(arm: arms.Arm, count: int, rng: np.random.Generator) -> ArmStates:
    """States near the arm's rest, with all velocities of about 1/s and springs bent either way."""
    actuators, (n, m) = arm.actuators, (arm.model.n, len(arm.actuators.motors))
    (rest, _, theta, _), _, _ = arms.at_start(arm)
    q, qd = rest + rng.uniform(-0.3, 0.3, (count, n)), rng.normal(size=(count, n))
    bent = rng.uniform(-0.25, 0.25, (count, n))[:, actuators.joint_of_motor]
    theta = theta + (q - rest)[:, actuators.joint_of_motor] + bent
    theta += rng.uniform(-0.02, 0.02, (count, m))
    thetad = rng.normal(size=(count, m))
    first = actuators.first_motor[actuators.is_rigid]
    theta[:, first], thetad[:, first] = q[:, actuators.is_rigid], qd[:, actuators.is_rigid]
    return ArmStates(q, qd, theta, thetad)


def random_contacts(arm: arms.Arm, count: int, rng: np.random.Generator) -> Array:
    """(count, n) external joint torques in N m."""
    return rng.normal(0.0, 30.0, (count, arm.model.n))


def away_from_ends(arm: arms.Arm, states: ArmStates) -> np.ndarray:
    """(k,) mask of the states in which no spring is at an end of its travel, where the law of the
    spring has a kink that central differences cannot cross."""
    found = arm.actuators.springs(*states, beyond="continue")
    apart = np.abs(found.deflection[..., None] - arm.actuators.spring_travel)
    return np.asarray((apart > 1e-3).all(axis=(-2, -1)))
