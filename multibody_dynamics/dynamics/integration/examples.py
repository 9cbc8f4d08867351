# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The example systems of [MT13] section 5, with values for the data that the paper leaves open.

All bodies are aluminium boxes, 2700 kg/m^3, with frames at their centres of mass. The paper takes
steps of 1 ms, by a Runge-Kutta method that it does not name. `group` is the Lie group of the
bodies, "SE3" or "SO3xR3", or a mapping by body name.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import Array
from ..lie import se3
from ..model import joints
from ..model.inertia import spatial_inertia
from .absolute_systems import GROUND, AbsoluteSystem, BodyJoint, Group, RigidBody

DENSITY = 2700.0  # kg/m^3
LINK = (0.2, 0.1, 0.05)  # m, the boxes of 5.2 to 5.4
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2

Groups = Group | Mapping[str, Group]


def box(sides: tuple[float, float, float]) -> Array:
    """Inertia (6, 6) about its centre of an aluminium box with sides (a, b, c), m."""
    mass = DENSITY * float(np.prod(sides))
    squares = np.square(sides)
    return spatial_inertia(mass, np.zeros(3), mass / 12 * np.diag(squares.sum() - squares))


def heavy_top(group: Groups = "SE3") -> AbsoluteSystem:
    """5.1: a box on a pivot 0.5 m from its centre, without gravity; kinetic energy 13.97 kJ."""
    omega, arm = (0.0, 20 * np.pi, 10 * np.pi), (0.5, 0.0, 0.0)
    top = RigidBody("top", box((0.1, 0.2, 0.4)), _at(arm), omega, np.cross(omega, arm))
    pivot = BodyJoint("pivot", GROUND, "top", joints.spherical())
    return AbsoluteSystem([top], [pivot], gravity=np.zeros(3), group=group, name="heavy_top")


def spherical_double_pendulum(group: Groups = "SE3") -> AbsoluteSystem:
    """5.2: two boxes in a row along x, each on a spherical joint, under gravity."""
    a = LINK[0]
    omega_1, omega_2 = np.array([10.0, 0, 0]), np.pi * np.array([10.0, 10, 20])
    half = np.array([a / 2, 0, 0])
    links = _links(omega_1, np.cross(omega_1, half), omega_2)
    ground = BodyJoint("ground_joint", GROUND, "link_1", joints.spherical())
    system = [ground, _between(a)]
    return AbsoluteSystem(
        links, system, gravity=GRAVITY, group=group, name="spherical_double_pendulum"
    )


def floating_bodies(group: Groups = "SE3") -> AbsoluteSystem:
    """5.3: the boxes of the double pendulum floating freely, with the first centre at rest."""
    links = _links(np.array([0, 0, -10.0]), np.zeros(3), np.array([1, -1, 2 * np.pi]))
    return AbsoluteSystem(
        links, [_between(LINK[0])], gravity=np.zeros(3), group=group, name="floating_bodies"
    )


def three_bar_linkage(group: Groups = "SE3") -> AbsoluteSystem:
    """5.4: two bars from ground pivots 0.25 m apart to a common spherical joint, the apex.

    The x axis of a bar points from its pivot to the apex; the y axis is that of the inertial frame.
    The triangle turns about the line through the pivots while each bar spins about its own axis.
    """
    pivots = np.array([[0, 0, 0], [0.25, 0, 0]])
    apex = np.array([0.125, 0, np.sqrt(LINK[0] ** 2 - 0.125**2)])
    turn, bars = np.array([5.0, 0, 0]), []
    for name, pivot, spin in zip(("bar_1", "bar_2"), pivots, (20.0, -30.0), strict=True):
        x, y = (apex - pivot) / LINK[0], np.array([0, 1.0, 0])
        R, center = np.column_stack([x, y, np.cross(x, y)]), (pivot + apex) / 2
        omega = R.T @ (turn + spin * x)
        pose = se3.from_rotation_translation(R, center)
        bars.append(RigidBody(name, box(LINK), pose, omega, np.cross(turn, center)))
    system = [
        BodyJoint("base_1", GROUND, "bar_1", joints.spherical(pivots[0])),
        BodyJoint("apex", "bar_1", "bar_2", joints.spherical(apex)),
        BodyJoint("base_2", GROUND, "bar_2", joints.spherical(pivots[1])),
    ]
    return AbsoluteSystem(bars, system, gravity=GRAVITY, group=group, name="three_bar_linkage")


SYSTEMS = {
    system.__name__: system
    for system in (heavy_top, spherical_double_pendulum, floating_bodies, three_bar_linkage)
}


def _at(position: Any) -> Array:
    return se3.from_rotation_translation(np.eye(3), position)


def _links(omega_1: Array, velocity_1: Array, omega_2: Array) -> list[RigidBody]:
    a = LINK[0]
    half = np.array([a / 2, 0, 0])
    velocity_2 = velocity_1 + np.cross(omega_1, half) + np.cross(omega_2, half)
    return [
        RigidBody("link_1", box(LINK), _at(half), omega_1, velocity_1),
        RigidBody("link_2", box(LINK), _at(3 * half), omega_2, velocity_2),
    ]


def _between(a: float) -> BodyJoint:
    return BodyJoint("middle_joint", "link_1", "link_2", joints.spherical((a, 0, 0)))
