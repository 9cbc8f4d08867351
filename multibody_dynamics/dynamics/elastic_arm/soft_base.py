# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot whose base is not rigid: a body on springs and dampers, in one to six directions.

The coordinates y of the base, at most three translations along and three rotations about the axes
of the inertial frame, come before those of the links:

    M(q) (y'', q'') + ... = (-K y - D y' + preload, Q).

The base is described as it is observed: its natural frequency in each direction with the arm on it,
locked at a position, and its own inertia relative to that of the arm. With the frequency f, the
damping ratio d and the inertia I of base and arm in a direction, K = (2 pi f)^2 I, and D =
2 d sqrt(K I).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..core import Array, InputError, locked
from ..model import JointLimits, MultibodyModel
from ..rigid import mass_matrix

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""Translations and rotations of a base, in the order of its coordinates."""
UNIT_INERTIA: Array = locked(np.eye(6))
"""kg and kg m^2, of a base: without one, loops may have no forward dynamics."""


class BaseMatrices(NamedTuple):
    """Of the b coordinates of a base: own inertia (b, b), stiffness (b,) and damping (b,), SI."""

    mass: Array
    stiffness: Array
    damping: Array


@dataclass(frozen=True)
class SoftBase:
    """A base on springs.

    frequency : Hz, natural frequency in each direction alone, with the arm on it.
    inertia : mass and rotational inertia of the base itself, relative to the mass of the arm and to
        the mean of its three moments of inertia about the axes.
    damping_ratio : of each direction.
    directions : those in which it moves, of DIRECTIONS.

    Raises InputError for values out of range.
    """

    frequency: float
    inertia: float = 0.5
    damping_ratio: float = 0.01
    directions: tuple[str, ...] = DIRECTIONS

    def __post_init__(self) -> None:
        for name, value, least in (
            ("frequency", self.frequency, "positive"),
            ("inertia", self.inertia, "positive"),
            ("damping_ratio", self.damping_ratio, "zero or greater"),
        ):
            if not (0.0 < value < np.inf or (value == 0.0 and least != "positive")):
                raise InputError(f"base: {name} is {value}: must be {least} and finite")
        chosen = self.directions
        if not chosen or set(chosen) - set(DIRECTIONS) or len(set(chosen)) < len(chosen):
            raise InputError(
                f"base: directions are {', '.join(chosen) or 'empty'}: must be some of "
                f"{', '.join(DIRECTIONS)}, each once"
            )
        object.__setattr__(self, "directions", tuple(d for d in DIRECTIONS if d in chosen))

    @property
    def rows(self) -> list[int]:
        """Indices of the directions in DIRECTIONS."""
        return [DIRECTIONS.index(name) for name in self.directions]

    def own_inertia(self, carried: Array) -> Array:
        """(6, 6) of the base body, in the order of DIRECTIONS; see :meth:`matrices`."""
        mean = np.trace(carried[3:, 3:]) / 3.0
        return np.asarray(self.inertia * np.diag(np.repeat((carried[0, 0], mean), 3)))

    def matrices(self, carried: Array) -> BaseMatrices:
        """The base under an arm with the inertia `carried` (6, 6), the block of DIRECTIONS in the
        mass matrix of a robot :func:`on_base`."""
        own = self.own_inertia(carried)
        total = np.diag(own + carried)[self.rows]
        omega = 2.0 * np.pi * self.frequency
        mass = own[np.ix_(self.rows, self.rows)]
        return BaseMatrices(mass, omega**2 * total, 2.0 * self.damping_ratio * omega * total)


def mass_matrix_without_base(mounted: MultibodyModel, position: Array) -> Array:
    """(6 + n, 6 + n) mass matrix of a robot :func:`on_base` with UNIT_INERTIA, without this one.
    Raises the errors of :func:`.mass_matrix`."""
    M = mass_matrix(mounted, position)
    M[:6, :6] -= UNIT_INERTIA
    return M


def on_base(
    model: MultibodyModel, directions: tuple[str, ...] = DIRECTIONS, inertia: Array | None = None
) -> MultibodyModel:
    """The robot with the coordinates of its base, in the order of `directions`, before its own.

    inertia : (6, 6) of the base body, in the order of DIRECTIONS; None: massless.
    """
    b = len(directions)
    if model.joint_names[0].startswith("base "):
        raise InputError(f"robot '{model.name}' already has the coordinates of a base")
    rows = np.eye(6)[[(DIRECTIONS.index(name) + 3) % 6 for name in directions]]  # angular first
    names = tuple(f"base {name}" for name in directions)
    bodies = tuple(f"base body {name}" for name in directions)
    kinds = tuple("revolute" if name.startswith("r") else "prismatic" for name in directions)
    inertias = np.zeros((b, 6, 6))
    if inertia is not None:
        inertias[-1] = np.roll(inertia, 3, axis=(0, 1))  # angular first
    free = JointLimits.unlimited(b)
    return replace(
        model,
        joint_names=names + model.joint_names,
        tree_joint_names=names + model.tree_joint_names,
        body_names=bodies + model.body_names,
        joint_types=kinds + model.joint_types,
        parents=np.concatenate((np.arange(-1, b - 1), model.parents + b)),
        screws=np.vstack((rows, model.screws)),
        poses=np.concatenate((np.broadcast_to(np.eye(4), (b, 4, 4)), model.poses)),
        link_inertias=np.concatenate((inertias, model.link_inertias)),
        reflected_inertia=np.concatenate((np.zeros(b), model.reflected_inertia)),
        limits=JointLimits(*map(np.concatenate, zip(free, model.limits, strict=True))),
        base_name="ground under the base",
        base_inertia=None,
        frames={name: each._replace(body=each.body + b) for name, each in model.frames.items()},
        payloads={name: each._replace(body=each.body + b) for name, each in model.payloads.items()},
        coordinates=np.concatenate((np.arange(b), model.coordinates + b)),
        **model.fields_behind(b),
    )
