# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Capsules around the links of a robot: their clearances and their box, with gradients.

A capsule is a line segment with a radius. The clearance of two capsules is the distance of their
segments less both radii (C. Ericson, "Real-Time Collision Detection", 2005, section 5.1.9); with n
the unit vector between the closest points p and p*, it changes by n . (dp - dp*), where the points
are taken as fixed to their links.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, InputError, answers, as_array, by_robot, read_only
from ...lie import se3
from ...mechanisms import ClosedChainModel
from ...model import MultibodyModel, finite_range, inertia
from ...rigid import forward_kinematics

RADIUS = 0.06  # m, of capsules without geometry
SHORT = 1e-12
SAMPLES = 400  # random configurations, from which pairs are chosen
STILL = 1e-3  # m; ends that move less count as fixed to the pedestal


@dataclass(frozen=True, eq=False)
class Capsules:
    """Capsules fixed to the bodies of a robot, and the pairs that may not touch.

    bodies (m,) : indices of bodies; -1 is the base.
    ends (m, 2, 3) : of the segments, m, in the frame of the body (of the world for the base).
    radii (m,) : m.
    pairs (p, 2) : indices of capsules.
    boxed (m, 2) : whether an end of a capsule is to stay in the box.
    """

    bodies: NDArray[np.int64]
    ends: Array
    radii: Array
    pairs: NDArray[np.int64]
    boxed: NDArray[np.bool_]

    def __post_init__(self) -> None:
        m = len(self.bodies)
        object.__setattr__(self, "ends", read_only(as_array("ends", self.ends, (m, 2, 3))))
        object.__setattr__(self, "radii", read_only(as_array("radii", self.radii, (m,))))
        if not (self.radii > 0.0).all():
            raise InputError(f"radii of capsules: expected positive numbers, got {self.radii}")


class Clearances(NamedTuple):
    """Distances (k, p) in m, negative in a collision, and their derivatives (k, p, n) with respect
    to q."""

    distance: Array
    slope: Array


def link_skeleton(model: MultibodyModel, radius: float = RADIUS) -> Capsules:
    """A capsule from each joint to the next, also those that close loops, and to the tips of the
    last bodies.

    For robots without geometry. The tip of a last body is the frame fixed to it that is farthest
    from its joint, or else its centre of mass.
    """
    bodies, ends = [], []
    home = [np.eye(4), *model.poses]
    for b, pose in enumerate(home):
        here = se3.inverse(pose)
        tips = [(here @ model.poses[i])[:3, 3] for i in np.flatnonzero(model.parents == b - 1)]
        tips += [place for body, place in _pins(model) if body == b - 1]
        if not tips:
            frames = [f.pose[:3, 3] for f in model.frames.values() if f.body == b - 1]
            com = inertia.decompose(model.link_inertias[b - 1])[1]
            tips = [max([*frames, com], key=np.linalg.norm)]
        for tip in tips:
            bodies.append(b - 1)
            ends.append([np.zeros(3), tip])
    return capsules_with_pairs(model, bodies, ends, np.full(len(bodies), radius))


def capsules_with_pairs(model: MultibodyModel, bodies: Any, ends: Any, radii: Any) -> Capsules:
    """Capsules with the pairs that can meet, and the ends that move.

    A pair counts unless both capsules are on the same body or on neighbouring ones, which a joint
    or a loop connects, or are closer than half the sum of their radii in most configurations, as in
    a wrist whose joint axes intersect.
    """
    owner = np.asarray(bodies, dtype=np.int64)
    neighbours = {(i, p) for i, p in enumerate(model.parents.tolist())}
    pins = [body for body, _ in _pins(model)]
    neighbours |= set(zip(pins[::2], pins[1::2], strict=True))
    found = [
        (a, b)
        for a in range(len(owner))
        for b in range(a + 1, len(owner))
        if owner[a] != owner[b]
        and (owner[a], owner[b]) not in neighbours
        and (owner[b], owner[a]) not in neighbours
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    every = Capsules(
        owner, np.asarray(ends), np.asarray(radii), pairs, np.ones((len(owner), 2), dtype=bool)
    )
    rng = np.random.default_rng(0)
    lower, upper = finite_range(model)
    q = rng.uniform(lower, upper, (SAMPLES, model.n))
    q = np.vstack([model.home, q[model.reaches(q)]])
    points = end_points(model, every, q)
    moving = np.ptp(points, axis=0).max(axis=-1) > STILL
    near = 0.5 * every.radii[pairs].sum(axis=1)
    apart = np.median(clearances(model, every, q).distance, axis=0) > near
    return Capsules(owner, every.ends, every.radii, pairs[apart], moving)


def end_points(model: MultibodyModel, capsules: Capsules, q: Array) -> Array:
    """Ends (k, m, 2, 3) of the segments in inertial axes, m, at configurations (k, n)."""
    return _placed(capsules, forward_kinematics(model, q).pose)


def distances(model: MultibodyModel, capsules: Capsules, q: Array) -> Array:
    """The clearances (k, p) of all pairs at configurations (k, n), m; negative in a collision."""
    return _apart(capsules, end_points(model, capsules, q))[0]


def box_distances(model: MultibodyModel, capsules: Capsules, q: Array, box: Array) -> Array:
    """How far inside a box (2, 3) the moving ends are, (k, 6 e), m; negative outside."""
    points = end_points(model, capsules, q)[:, capsules.boxed]
    return np.concatenate([inside for inside, _ in _inside(capsules, points, box)], axis=1)


def clearances(model: MultibodyModel, capsules: Capsules, q: Array) -> Clearances:
    """The clearances of all pairs at configurations (k, n), and their derivatives."""
    pose = forward_kinematics(model, q).pose
    distance, near, far = _apart(capsules, _placed(capsules, pose))
    normal = near - far
    normal /= np.maximum(np.linalg.norm(normal, axis=-1), SHORT)[..., None]
    screws = _screws(model, pose)
    slope = np.zeros((*distance.shape, model.body_count))
    for side, sign, where in zip(capsules.pairs.T, (1.0, -1.0), (near, far), strict=True):
        slope += sign * _slope(model, screws, capsules.bodies[side], where, normal)
    return Clearances(distance, _of_coordinates(model, q, slope))


def box_excess(model: MultibodyModel, capsules: Capsules, q: Array, box: Array) -> Clearances:
    """How far inside a box the moving ends are, (k, 6 e), and the derivatives with respect to q.

    box : (2, 3) lower and upper corner in inertial axes, m. `distance` is negative outside.
    """
    pose = forward_kinematics(model, q).pose
    points = _placed(capsules, pose)[:, capsules.boxed]
    screws, bodies = _screws(model, pose), capsules.bodies[np.nonzero(capsules.boxed)[0]]
    found = [
        (inside, _slope(model, screws, bodies, points, np.broadcast_to(normal, points.shape)))
        for inside, normal in _inside(capsules, points, box)
    ]
    distance, slope = (np.concatenate(rows, axis=1) for rows in zip(*found, strict=True))
    return Clearances(distance, _of_coordinates(model, q, slope))


def _apart(capsules: Capsules, points: Array) -> tuple[Array, Array, Array]:
    """Distances (k, p) of all pairs, and the closest points (k, p, 3) of their segments."""
    first, second = capsules.pairs.T
    near, far = closest_points(points[:, first], points[:, second])
    length = np.linalg.norm(near - far, axis=-1)
    return length - capsules.radii[first] - capsules.radii[second], near, far


def _inside(capsules: Capsules, points: Array, box: Array) -> Iterator[tuple[Array, Array]]:
    """For each side of a box, how far inside of it points (k, e, 3) are, (k, e), and its normal."""
    radii = capsules.radii[np.nonzero(capsules.boxed)[0]]
    for axis in range(3):
        for side, sign in ((0, 1.0), (1, -1.0)):
            yield sign * (points[..., axis] - box[side, axis]) - radii, sign * np.eye(3)[axis]


def _placed(capsules: Capsules, pose: Array) -> Array:
    points = np.empty((len(pose), *capsules.ends.shape))
    for c, body in enumerate(capsules.bodies.tolist()):
        ends = capsules.ends[c]
        if body < 0:
            points[:, c] = ends
        else:
            R, d = pose[:, body, :3, :3], pose[:, body, :3, 3]
            points[:, c] = ends @ R.swapaxes(-1, -2) + d[:, None]
    return points


def _screws(model: MultibodyModel, pose: Array) -> Array:
    """Joint screws (k, N, 6) in inertial axes about the inertial origin."""
    return np.asarray((se3.Ad(pose) @ model.body_screws[..., None])[..., 0])


def _slope(
    model: MultibodyModel, screws: Array, bodies: NDArray[np.int64], points: Array, normal: Array
) -> Array:
    """normal . dp/dq (k, p, N) of points (k, p, 3) fixed to the bodies (p,), for all joints."""
    carries = np.where(bodies[:, None] >= 0, model.tree.moved_by[bodies], False)
    moment = np.cross(points, normal)
    wrench = np.concatenate([moment, normal], axis=-1)
    return np.asarray(carries * (wrench @ screws.swapaxes(-1, -2)))


@by_robot
def _of_coordinates(model: MultibodyModel, q: Array, slope: Array) -> Array:
    """Derivatives (k, p, n) at q (k, n) of functions whose derivatives with respect to all joints
    of the tree are `slope` (k, p, N)."""
    return model.collect(slope, -1)


@answers(_of_coordinates, ClosedChainModel)
def _behind_loops(model: ClosedChainModel, q: Array, slope: Array) -> Array:
    return np.asarray(slope @ model.reduction(q)[0])


def _pins(model: MultibodyModel) -> list[tuple[int, Array]]:
    """Body and place in its frame, m, of both sides of each joint that closes a loop."""
    pins = []
    for loop in getattr(model, "loops", ()):
        for name, pose in ((loop.first, loop.first_pose), (loop.second, loop.second_pose)):
            frame = model.frame(name)
            pins.append((frame.body, (frame.pose @ pose)[:3, 3]))
    return pins


def closest_points(one: Array, other: Array) -> tuple[Array, Array]:
    """The closest points (..., 3) of pairs of segments (..., 2, 3)."""
    start, along = one[..., 0, :], one[..., 1, :] - one[..., 0, :]
    origin, across = other[..., 0, :], other[..., 1, :] - other[..., 0, :]
    offset = start - origin
    a, e, b = _dot(along, along), _dot(across, across), _dot(along, across)
    c, f = _dot(along, offset), _dot(across, offset)
    a, e = np.maximum(a, SHORT), np.maximum(e, SHORT)
    spread = a * e - b * b
    crossing = spread > 1e-9 * a * e
    s = np.where(crossing, np.clip((b * f - c * e) / np.where(crossing, spread, 1.0), 0, 1), 0.0)
    t = (b * s + f) / e
    s = np.where(t < 0.0, np.clip(-c / a, 0, 1), np.where(t > 1.0, np.clip((b - c) / a, 0, 1), s))
    t = np.clip(t, 0.0, 1.0)
    return start + s[..., None] * along, origin + t[..., None] * across


def _dot(x: Array, y: Array) -> Array:
    return np.asarray((x * y).sum(axis=-1))
