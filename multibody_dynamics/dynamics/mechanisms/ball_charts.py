# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passive balls in loops, free of singularities: three angles in one of two charts.

A ball between two bodies is a chain of three hinges in the tree, R = R_a(psi) R_b(theta) R_c(phi)
about orthogonal axes a, b, c, which is singular at theta = +-90 deg. A joint at rest before them
turns the first axis,

    R = R_b(h) R_a(psi) R_b(theta) R_c(phi),   h = 0 or h = 90 deg.

The c axis of the second body cannot be close to both first axes: where |theta| <= 90 deg exceeds
TURN in one chart, it is at most 33 deg in the other. Between two cycles, the ball therefore passes
to it (:func:`other_chart`). No pose changes, and the rates of the angles stay bounded.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import asin, atan2, copysign, cos, pi, sin
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core import Array, inlined
from ..model import JointLimits, MultibodyModel

Part = TypeVar("Part", bound=Any)

TURN = 1.0  # rad; a larger angle theta is one in the other chart
LARGEST_PITCH = 1.4  # rad; recorded code does not use a chart beyond, nor does MuJoCo
CONCENTRIC = 1e-9  # relative; how far axes may be from orthogonal and from a common point
CHART = "_chart"


def other_chart(h, psi, theta, phi, hand):
    """h, psi, theta and phi of the same pose in the other chart, rad.

    hand : -1 if the axes a, b and c are right-handed, otherwise 1. Written in the same subset as
    :func:`renew_charts`.
    """
    way = 1.0 if h < 0.25 * pi else -1.0
    sin_phi, cos_phi = sin(hand * phi), cos(phi)
    sin_theta, cos_theta = sin(theta), cos(theta)
    up = sin(psi) * cos_phi - cos(psi) * sin_theta * sin_phi
    out = sin(psi) * sin_phi + cos(psi) * sin_theta * cos_phi
    return (
        0.25 * pi * (1.0 + way),
        atan2(sin(psi) * cos_theta, way * sin_theta),
        -way * asin(cos(psi) * cos_theta),
        hand * atan2(-way * up, way * out),
    )


inlined(other_chart)


def renew_chart(q, i, hand):
    """Let the angles of one ball in q (N,) be those of a chart that suits its pose; i is the index
    of its joint h. Returns whether they have changed."""
    if not abs(q[i + 2]) > TURN:
        return False
    if cos(q[i + 2]) < 0.0:  # the same pose is closer than 90 deg
        q[i + 1] -= copysign(pi, q[i + 1])
        q[i + 3] -= copysign(pi, q[i + 3])
    q[i + 2] = asin(sin(q[i + 2]))
    if abs(q[i + 2]) > TURN:
        h, psi, theta, phi = other_chart(q[i], q[i + 1], q[i + 2], q[i + 3], hand)
        q[i], q[i + 1], q[i + 2], q[i + 3] = h, psi, theta, phi
    return True


inlined(renew_chart)


def renew_charts(q, balls):
    """Let q (N,), the positions of all joints, have every ball in a chart that suits its pose.

    balls : (k, 2) the index of the joint h, before those of psi, theta and phi; and the hand.
    Written in the subset that :mod:`.c_translation` prints as C.
    """
    for k in range(balls.shape[0]):
        renew_chart(q, balls[k, 0], balls[k, 1])


def in_charts(q: Array, rates: Array, balls: NDArray[np.int64], h: Array) -> tuple[Array, Array]:
    """The positions (..., N) in the charts h (k,), and any velocities (..., N, m) there. Where a
    chart is singular, the velocities are the smallest ones that lose least."""
    q, rates = q.copy(), rates.copy()
    for (i, hand), chart in zip(balls.tolist(), h, strict=True):
        own = slice(i + 1, i + 4)
        for k in np.ndindex(q.shape[:-1]):
            if abs(q[k][i] - chart) > 0.25 * pi:
                omega = _rotation_rates(q[k][own], hand) @ rates[k][own]
                h_k, psi, theta, phi = q[k][i : i + 4].tolist()
                q[k][i : i + 4] = other_chart(h_k, psi, theta, phi, hand)
                rates[k][own] = np.linalg.pinv(_rotation_rates(q[k][own], hand)) @ omega
    return q, rates


def _rotation_rates(angles: Array, hand: int) -> Array:
    """(3, 3) the angular velocity of the second body in its own axes, per psi', theta' and phi'."""
    _, theta, phi = angles
    s, c = sin(hand * phi), cos(phi)
    return np.array([
        [-sin(theta), 0.0, hand],
        [cos(theta) * s, c, 0.0],
        [cos(theta) * c, -s, 0.0],
    ])  # fmt: skip


def find_balls(tree: MultibodyModel, loose: Collection[str], carrying: set[int]) -> list[int]:
    """The first of three passive hinges without limits that are a ball: their axes are orthogonal
    and meet in a point, and the bodies between them have no mass and carry nothing else.

    loose : names of the joints without motors and springs.
    carrying : indices of the bodies to which loops are attached.
    """
    X, free = tree.screws, np.isinf(tree.limits.lower) & np.isinf(tree.limits.upper)
    is_free = [name in loose and free[i] for i, name in enumerate(tree.joint_names)]
    balls: list[int] = []
    for i in range(tree.n - 2):
        own = [i, i + 1, i + 2]
        inner = [j for j in (i, i + 1) if j in carrying or tree.inertias[j].any()]
        children = [np.flatnonzero(tree.parents == j).tolist() for j in (i, i + 1)]
        if not all(is_free[j] for j in own) or inner or children != [[i + 1], [i + 2]]:
            continue
        a, moments = X[own, :3], X[own, 3:]
        if np.abs(a @ a.T - np.eye(3)).max() > CONCENTRIC:
            continue
        point = 0.5 * np.cross(a, moments).sum(axis=0)  # v = cross(point, a), summed over the axes
        if np.abs(np.cross(point, a) - moments).max() < CONCENTRIC * (1 + np.abs(point).max()):
            balls.append(i)
    return balls


def with_charts(
    tree: MultibodyModel, balls: Sequence[int]
) -> tuple[MultibodyModel, tuple[str, ...]]:
    """The tree with the joint h before the hinges of each ball, named after their first one; and
    the names of these joints."""
    source = np.sort([*range(tree.n), *balls])
    is_chart = np.append(source[1:] == source[:-1], False)
    place = np.flatnonzero(~is_chart)  # of each joint of the tree
    parents = np.where(tree.parents < 0, -1, place[tree.parents])[source]
    parents[np.flatnonzero(is_chart) + 1] = np.flatnonzero(is_chart)
    screws = tree.screws[source]
    screws[is_chart] = tree.screws[np.add(balls, 1)]

    def named(names: Sequence[str]) -> tuple[str, ...]:
        endings = np.where(is_chart, CHART, "").tolist()
        return tuple(names[i] + ending for i, ending in zip(source, endings, strict=True))

    def moved(parts: Mapping[str, Part]) -> dict[str, Part]:
        return {
            name: part if part.body < 0 else part._replace(body=int(place[part.body]))
            for name, part in parts.items()
        }

    changed = {
        "joint_names": named(tree.joint_names),
        "tree_joint_names": (),
        "body_names": named(tree.body_names),
        "joint_types": tuple(tree.joint_types[i] for i in source),
        "parents": parents,
        "screws": screws,
        "poses": tree.poses[source],
        "link_inertias": tree.link_inertias[source],
        "reflected_inertia": tree.reflected_inertia[source],
        "coordinates": None,
        "limits": JointLimits(*(values[source] for values in tree.limits)),
        "frames": moved(tree.frames),
        "payloads": moved(tree.payloads),
    }
    charts = tuple(tree.joint_names[i] + CHART for i in balls)
    return replace(tree, **changed), charts


def chart_table(tree: MultibodyModel, charts: Sequence[str]) -> NDArray[np.int64]:
    """`balls` (k, 2) of :func:`renew_charts`, for the names of the joints h."""
    first = np.array([tree.joint_index(name) for name in charts], dtype=np.int64)
    a, b, c = (tree.screws[first + k, :3] for k in (1, 2, 3))
    hands = np.round(np.sum(np.cross(b, a) * c, axis=-1)).astype(np.int64)
    return np.stack([first, hands], axis=-1)
