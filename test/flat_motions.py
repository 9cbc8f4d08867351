# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions of elastic arms with all derivatives, and an arm with every kind of actuator."""

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import Array
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from robots import random_tree

MOTOR = Motor(0.3, 100.0, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2)
SMALL = Motor(0.1, 80.0, viscous=0.2, coulomb=0.3, coulomb_velocity=0.2)
QUADRATIC = PolynomialSpring((40.0, 900.0), travel=(0.0, 0.6))
STRONG = PolynomialSpring((60.0, 700.0, 500.0), travel=(0.0, 0.6))


def linear_springs(names, stiffness, inertia, sources=(), **columns) -> Actuators:
    """Linear springs in N m/rad, rigid joints where the stiffness is infinite; `columns` are other
    data of the motors, and scalars apply to every joint."""
    rows = np.broadcast_arrays(names, stiffness, inertia, *columns.values())
    actuators = []
    for _, K, own, *others in zip(*rows, strict=True):
        motor = Motor(own, **dict(zip(columns, others, strict=True)))
        actuators.append(SeriesElastic(motor, LinearSpring(K)) if np.isfinite(K) else Rigid(motor))
    return Actuators(tuple(names), actuators, sources)


def motion(n: int, t: float, seed: int = 4, amplitude: float = 0.3) -> Array:
    """(5, n): two sines per joint, with all derivatives."""
    rng = np.random.default_rng(seed)
    w, phase = rng.uniform(1.5, 4.0, (2, n)), rng.uniform(0, 6, (2, n))
    a = rng.uniform(0.3, 1, (2, n))
    orders = np.arange(5)[:, None, None]
    waves = amplitude * a * w**orders * np.sin(w * t + phase + orders * np.pi / 2)
    return waves.sum(axis=1)


def second_outputs(v: int, t: float, mean: float, swing: float) -> Array:
    """(3, v): mean + swing sin(...) with two derivatives."""
    w, k = 2.0 + 0.7 * np.arange(v), np.arange(3)[:, None]
    rows = swing * w**k * np.sin(w * t + k * np.pi / 2)
    rows[0] += mean
    return rows


def at(model: dyn.MultibodyModel, t: float) -> tuple[Array, Array]:
    """The motion and the joint torques with their rates at time t."""
    state = motion(model.n, t)
    return state, np.stack(dyn.inverse_dynamics(model, *state))


def mixed(*, without: tuple[type, ...] = ()) -> tuple[dyn.MultibodyModel, Actuators]:
    """A tree with every kind of actuator; linear springs replace the kinds in `without`."""
    kinds = [
        SeriesElastic(MOTOR, LinearSpring(900.0)),
        SeriesElastic(MOTOR, CubicSpring(400.0, 3e3)),
        SeriesElastic(MOTOR, LinearSpring(700.0), damping=2.0),
        VariableStiffness(MOTOR, (100.0, 1500.0), CubicSpring(1.0, 5.0)),
        VariableStiffness(MOTOR, (100.0, 1500.0), drive=StiffnessDrive(Motor(1e-3), 20.0, 300.0)),
        Antagonistic(MOTOR, SMALL, QUADRATIC, STRONG),
        Rigid(SMALL),
    ]
    chosen = [kinds[0] if isinstance(each, without) else each for each in kinds]
    model = random_tree(len(kinds), seed=2, kinds=("revolute",))
    return model, Actuators(model.joint_names, chosen)
