# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rigid bodies in absolute coordinates with joints as constraints; [MT13] sections 1 to 3.

The state is the pose and velocity of every body, without coordinates that could become singular;
all joints, in trees and closed loops alike, are constraints. Each body moves in one of two Lie
groups, which differ in the finite motion that a constant velocity generates:

    "SE3"      screw motions; velocity (R^T omega, R^T r'), the body-fixed twist
    "SO3xR3"   rotation and straight translation; velocity (R^T omega, r'), the mixed twist

Both describe the same motion, but its numerical integration differs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    Array,
    InputError,
    ModelError,
    as_array,
    as_mapping,
    as_real,
    cached_array,
    check_sequence,
    exactly,
    locked,
    read_only,
    refused_as,
    times,
    writable,
)
from ..lie import se3, so3
from ..lie.lie_groups import SE3, ProductGroup, R, SO3xR3
from ..model import inertia as inertias
from . import index_one as rows
from .free_screws import ForbiddenMotions, forbidden_motions, frames_in_bodies

Group = Literal["SE3", "SO3xR3"]
GROUPS: tuple[Group, ...] = ("SE3", "SO3xR3")
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A rigid body and its initial motion.

    Attributes
    ----------
    inertia : (6, 6) about the origin of its frame and in its axes, see :func:`.spatial_inertia`.
    pose : (4, 4) pose of its frame at t = 0; default: the identity.
    omega : (3,) angular velocity at t = 0 in the axes of the body, rad/s.
    velocity : (3,) velocity of the frame's origin at t = 0 in inertial axes, m/s.

    Raises ModelError for an invalid name or pose, wrong shapes, NaN or infinity, and an inertia
    about the centre of mass that is not positive definite. Issues a ModelWarning if its moments
    violate the triangle inequality.
    """

    name: str
    inertia: Array
    pose: Any = None
    omega: Any = (0.0, 0.0, 0.0)
    velocity: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"body '{self.name}'"
        with refused_as(ModelError, what):
            fixed = {
                "inertia": exactly("inertia", self.inertia, (6, 6)),
                "pose": exactly("pose", np.eye(4) if self.pose is None else self.pose, (4, 4)),
                "omega": exactly("omega", self.omega, (3,)),
                "velocity": exactly("velocity", self.velocity, (3,)),
            }
            se3.as_pose("pose", fixed["pose"])
        if not isinstance(self.name, str) or self.name in ("", GROUND):
            raise ModelError(
                f"a body's name must be non-empty text other than '{GROUND}', not {self.name!r}"
            )
        inertias.check(fixed["inertia"], what)
        mass, _, about_com = inertias.decompose(fixed["inertia"])
        if not (mass > 0.0 and inertias.principal_moments(about_com)[0] > 0.0):
            raise ModelError(f"{what}: in absolute coordinates mass and all moments of inertia "
                             "must be positive")  # fmt: skip
        inertias.check_triangle(fixed["inertia"], what)
        for key, value in fixed.items():
            object.__setattr__(self, key, read_only(value))


@dataclass(frozen=True, eq=False)
class BodyJoint:
    """A joint between two bodies, or a body and the ground, defined by its free motions.

    Attributes
    ----------
    first, second : names of bodies, or "ground".
    free : (k, 6) or (6,) joint screws of the second body relative to the first, in inertial axes
        about the inertial origin at t = 0, as returned by :func:`.revolute` and the other functions
        of :mod:`.joints`; default: none, a weld.
    point : (3,) in the inertial frame at t = 0, the reference point of the reaction if the free
        screws define none; default: the origin of the second body, or of the first one if the
        second is the ground.

    Raises ModelError for anything but arrays of numbers; :class:`AbsoluteSystem` checks the rest.
    """

    name: str
    first: str
    second: str
    free: Any = ()
    point: Any = None

    def __post_init__(self) -> None:
        with refused_as(ModelError, f"joint '{self.name}'"):
            for key in ("free", "point"):
                if (value := getattr(self, key)) is not None:
                    object.__setattr__(self, key, read_only(as_real(key, value)))


@dataclass(frozen=True, eq=False)
class SpringDamper:
    """A spring and a damper in parallel between points of two bodies, or a body and the ground.

    Attributes
    ----------
    first, second : names of bodies, or "ground".
    first_point, second_point : (3,) end points in the inertial frame at t = 0.
    stiffness, damping : N/m, N s/m.
    length : rest length, m. If zero, the force is stiffness times the distance vector, and damping
        acts on the whole relative velocity instead of its part along the spring.

    Raises ModelError for wrong shapes, NaN or infinity, negative constants, and a spring with a
    rest length whose points coincide at t = 0.
    """

    name: str
    first: str
    second: str
    first_point: Any
    second_point: Any
    stiffness: float
    damping: float = 0.0
    length: float = 0.0

    def __post_init__(self) -> None:
        what = f"spring '{self.name}'"
        with refused_as(ModelError, what):
            points = {
                key: exactly(key, getattr(self, key), (3,))
                for key in ("first_point", "second_point")
            }
            numbers = {
                key: exactly(key, getattr(self, key), ()).item()
                for key in ("stiffness", "damping", "length")
            }
        for key, value in numbers.items():
            if value < 0.0:
                raise ModelError(f"{what}: {key} is {value:g}; it cannot be negative")
        if numbers["length"] > 0.0 and not (points["second_point"] - points["first_point"]).any():
            raise ModelError(
                f"{what}: its points coincide at t = 0, but its rest length requires a direction"
            )
        for key, point in points.items():
            object.__setattr__(self, key, read_only(point))


class SystemMatrices(NamedTuple):
    """M V' + J^T lambda = Q, J V' = eta, J V = 0, g = 0 at one state; [MT13] (1), (3).

    V stacks the velocities of the bodies, each in its group.
    """

    M: Array  # (6 n, 6 n)
    Q: Array  # (6 n,)
    J: Array  # (m, 6 n)
    eta: Array  # (m,)
    g: Array  # (m,) m and rad


@dataclass(frozen=True, eq=False)
class AbsoluteSystem:
    """Rigid bodies in absolute coordinates with joints and springs; immutable.

    Attributes
    ----------
    gravity : (3,) m/s^2.
    group : "SE3" or "SO3xR3" for all bodies, or a mapping from body names to groups.
    wrenches : {body: (6,)} constant wrenches that the world applies, in inertial axes about the
        inertial origin.

    States are `pose` (..., n, 4, 4) and `velocity` (..., n, 6): (R^T omega, R^T r') for bodies in
    SE3, (R^T omega, r') for bodies in SO3xR3.

    Raises ModelError for unknown or duplicate names, and for joints that
    :func:`.forbidden_motions` does not support.
    """

    bodies: Sequence[RigidBody]
    joints: Sequence[BodyJoint] = ()
    springs: Sequence[SpringDamper] = ()
    gravity: Any = (0.0, 0.0, -9.81)
    group: Group | Mapping[str, Group] = "SE3"
    wrenches: Mapping[str, Any] = field(default_factory=dict)
    name: str = "system"

    def __post_init__(self) -> None:
        what = f"system '{self.name}'"
        for key, kind, of in (
            ("bodies", "body", RigidBody),
            ("joints", "joint", BodyJoint),
            ("springs", "spring", SpringDamper),
        ):
            with refused_as(ModelError, what):
                check_sequence(key, getattr(self, key), of.__name__)
            parts = tuple(getattr(self, key))
            object.__setattr__(self, key, parts)
            for part in parts:
                if not isinstance(part, of):
                    raise ModelError(f"{what}: {part!r} in {key} is not a {of.__name__}")
            names = [part.name for part in parts]
            for name in names:
                if not isinstance(name, str) or not name:
                    raise ModelError(f"a {kind}'s name must be non-empty text, not {name!r}")
                if names.count(name) > 1:
                    raise ModelError(f"duplicate {kind} name '{name}'")
        if not self.bodies:
            raise ModelError(f"{what} has no bodies")
        wrenches, applied = {}, np.zeros((self.n, 6))
        with refused_as(ModelError, what):
            gravity = exactly("gravity", self.gravity, (3,))
            for name, wrench in as_mapping("wrenches", self.wrenches).items():
                if name == GROUND:
                    raise InputError(f"wrenches: '{GROUND}' does not move; name a body")
                wrenches[name] = read_only(exactly(f"wrench on '{name}'", wrench, (6,)))
                applied[self.index(name, "wrenches")] = wrenches[name]
        object.__setattr__(self, "gravity", read_only(gravity))
        object.__setattr__(self, "wrenches", wrenches)
        object.__setattr__(self, "applied_wrenches", read_only(applied))
        object.__setattr__(self, "groups", self._groups())
        object.__setattr__(self, "forbidden", tuple(self._forbidden(j) for j in self.joints))
        for spring in self.springs:
            self._ends(spring)

    # set by __post_init__
    applied_wrenches: Array = field(init=False, repr=False)  # (n, 6), of `wrenches`
    groups: tuple[Group, ...] = field(init=False, repr=False)  # of every body
    forbidden: tuple[ForbiddenMotions, ...] = field(init=False, repr=False)

    @property
    def n(self) -> int:
        """The number of bodies."""
        return len(self.bodies)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        return tuple(body.name for body in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The rows of each joint among all constraints."""
        ends = np.cumsum([0, *(len(f.kinds) for f in self.forbidden)])
        return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))

    @cached_property
    def m(self) -> int:
        """The number of constraints, redundant ones included."""
        return sum(len(f.kinds) for f in self.forbidden)

    @cached_array
    def is_direct(self) -> NDArray[np.bool_]:
        """(n,) whether a body moves in SO(3) x R^3."""
        return np.array([group == "SO3xR3" for group in self.groups])

    @property
    def initial_pose(self) -> Array:
        """(n, 4, 4) poses at t = 0."""
        return np.stack([body.pose for body in self.bodies])

    @property
    def initial_velocity(self) -> Array:
        """(n, 6) velocities at t = 0, in the groups."""
        mixed = [np.concatenate([body.omega, body.velocity]) for body in self.bodies]
        return self.from_mixed(self.initial_pose, np.stack(mixed))

    @property
    def state_space(self) -> ProductGroup:
        """Poses, each in the group of its body, then velocities; [MT13] (26), (31)."""
        groups = [SO3xR3() if direct else SE3() for direct in self.is_direct]
        return ProductGroup([*groups, R(6 * self.n)])

    def index(self, body: str, what: str = "body") -> int:
        """The index of a body by its name, -1 for the ground; InputError if unknown."""
        if body == GROUND:
            return -1
        if body not in self.body_names:
            known = ", ".join(self.body_names)
            raise InputError(f"{what}: unknown body {body!r}; known: {known} and {GROUND}")
        return self.body_names.index(body)

    def with_group(self, group: Group | Mapping[str, Group]) -> AbsoluteSystem:
        """The same system in another group."""
        return replace(self, group=group)

    def to_mixed(self, pose: Any, velocity: Any) -> Array:
        """(R^T omega, r') (..., n, 6) from the velocities of the groups."""
        return self._linear_turned(pose, velocity, ~self.is_direct, forward=True)

    def from_mixed(self, pose: Any, mixed: Any) -> Array:
        """The velocities (..., n, 6) of the groups from (R^T omega, r')."""
        return self._linear_turned(pose, mixed, ~self.is_direct, forward=False)

    def body_twists(self, pose: Any, velocity: Any) -> Array:
        """The body-fixed twists (..., n, 6) from the velocities of the groups."""
        return self._linear_turned(pose, velocity, self.is_direct, forward=False)

    def from_body_twists(self, pose: Any, twists: Any) -> Array:
        """The velocities (..., n, 6) of the groups from body-fixed twists."""
        return self._linear_turned(pose, twists, self.is_direct, forward=True)

    def _linear_turned(self, pose: Any, V: Any, which: Any, forward: bool) -> Array:
        """V with the linear parts of the bodies `which` (n,) in inertial axes if `forward` is true,
        otherwise in body axes."""
        R = as_array("pose", pose, (self.n, 4, 4))[..., :3, :3]
        V = np.array(as_array("velocity", V, (self.n, 6)))
        turned = times(R if forward else np.swapaxes(R, -1, -2), V[..., 3:])
        V[..., 3:] = np.where(which[:, None], turned, V[..., 3:])
        return V

    def kinetic_energy(self, pose: Any, velocity: Any) -> Array:
        """(...) kinetic energy, J."""
        V = self.body_twists(pose, velocity)
        return np.asarray(np.einsum("...ij,ijk,...ik->...", V, self._inertias, V) / 2)

    def potential_energy(self, pose: Any) -> Array:
        """(...) potential energy of springs and gravity, J; the latter is zero at the origin."""
        pose = as_array("pose", pose, (self.n, 4, 4))
        mass = self._inertias[:, 5, 5]
        com = pose[..., :3, 3] + times(pose[..., :3, :3], self.centers)
        energy = -np.einsum("...ij,i,j->...", com, mass, self.gravity)
        for (i, j), row in zip(self.constants.spring_bodies, self.constants.springs, strict=True):
            first, second = (
                p if k < 0 else pose[..., k, :3, :3] @ p + pose[..., k, :3, 3]
                for k, p in zip((i, j), np.split(row[: rows.STIFFNESS], 2), strict=True)
            )
            stretch = np.linalg.norm(second - first, axis=-1) - row[rows.LENGTH]
            energy = energy + row[rows.STIFFNESS] * stretch**2 / 2
        return np.asarray(energy)

    def energy(self, pose: Any, velocity: Any) -> Array:
        """(...) kinetic plus potential energy, J; constant without dampers and applied wrenches."""
        return self.kinetic_energy(pose, velocity) + self.potential_energy(pose)

    def momentum(self, pose: Any, velocity: Any) -> Array:
        """Momentum Pi^s (..., 6) = (angular, linear) about the inertial origin; [M18d] (35)."""
        Pi = times(self._inertias, self.body_twists(pose, velocity))
        return np.asarray(times(se3.coAd(as_array("pose", pose, (self.n, 4, 4))), Pi).sum(axis=-2))

    @property
    def centers(self) -> Array:
        """(n, 3) centres of mass in the body frames, m."""
        return self.constants.bodies[:, rows.COM : rows.COM + 3]

    @cached_array
    def _inertias(self) -> Array:
        return np.stack([body.inertia for body in self.bodies])

    @cached_property
    def constants(self) -> rows.SystemConstants:
        """The system as arrays for compiled code, see :func:`.index_one`."""
        bodies = np.zeros((self.n, rows.BODY_ROW))
        upper = np.triu_indices(3)
        for row, body in zip(bodies, self.bodies, strict=True):
            mass, com, about_com = inertias.decompose(body.inertia)
            row[rows.MASS] = mass
            row[rows.COM : rows.COM + 3] = com
            row[rows.INERTIA : rows.INERTIA + 6] = about_com[upper]
            row[rows.INVERSE :] = np.linalg.inv(about_com)[upper]
        joints = np.zeros((len(self.joints), rows.JOINT_ROW))
        spring_bodies, joint_bodies = (
            np.array([self._ends(part) for part in parts], dtype=np.int64).reshape(-1, 2)
            for parts in (self.springs, self.joints)
        )
        for row, (a, b), forbidden in zip(joints, joint_bodies, self.forbidden, strict=True):
            frames = frames_in_bodies(forbidden.frame, self._pose(a), self._pose(b))
            row[:] = np.concatenate([np.append(C[:3, :3], C[:3, 3]) for C in frames])
        springs = np.zeros((len(self.springs), rows.SPRING_ROW))
        for row, (a, b), spring in zip(springs, spring_bodies, self.springs, strict=True):
            for first, body, point in (
                (rows.SPRING_FIRST, a, spring.first_point),
                (rows.SPRING_SECOND, b, spring.second_point),
            ):
                row[first : first + 3] = (se3.inverse(self._pose(body)) @ [*point, 1.0])[:3]
            row[rows.STIFFNESS :] = spring.stiffness, spring.damping, spring.length
        forbidden_rows = [np.column_stack([f.m, f.f, f.periods, f.offsets]) for f in self.forbidden]
        kinds = [f.kinds for f in self.forbidden]
        owners = [np.full(len(kind), j) for j, kind in enumerate(kinds)]
        constants = (
            bodies, np.array(self.gravity), spring_bodies, springs, joint_bodies, joints,
            np.concatenate([np.zeros(0, np.int64), *owners]).astype(np.int64),
            np.concatenate([np.zeros(0, np.int64), *kinds]).astype(np.int64),
            np.concatenate([np.zeros((0, rows.ROW_ROW)), *forbidden_rows]),
        )  # fmt: skip
        return rows.SystemConstants(*map(locked, constants))

    def scratch(self) -> rows.IndexOneScratch:
        """Scratch memory for :func:`.index_one`."""
        m = self.m
        return rows.IndexOneScratch(
            np.zeros((self.n, rows.MOTION_ROW)),
            np.zeros((m, rows.WORK_ROW)),
            np.zeros((m, rows.VALUES)),
            np.zeros((m, m)),
            np.zeros(m, dtype=np.int64),
            np.zeros((3, m)),
        )

    def matrices(self, pose: Any, velocity: Any) -> SystemMatrices:
        """M, Q, J, eta, g at one state, in the velocities of the groups; [MT13] (42), (50), (61).

        The rows of J are grouped by joint, see `blocks`.
        """
        n = self.n
        pose = as_array("pose", pose, (n, 4, 4))
        mixed = self.to_mixed(pose, velocity)
        scratch = motion, work, values, *_ = self.scratch()
        hybrid = mixed.copy()
        hybrid[:, :3] = times(pose[:, :3, :3], mixed[:, :3])
        applied = writable(self.applied_wrenches)
        rows.index_one_cycle(
            self.constants, np.zeros(2), applied, flat_poses(pose), hybrid, scratch
        )
        # accelerations of the centre of mass are a = T V' + b
        T, b = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        M, J = np.zeros((6 * n, 6 * n)), np.zeros((self.m, 6 * n))
        for i in range(n):
            Q, at = pose[i, :3, :3], slice(6 * i, 6 * i + 6)
            omega, lever = motion[i, :3], motion[i, rows.LEVER : rows.LEVER + 3]
            T[at, at] = np.block([[Q, np.zeros((3, 3))], [-so3.hat(lever) @ Q, np.eye(3)]])
            b[6 * i + 3 : 6 * i + 6] = np.cross(omega, np.cross(omega, lever))
            if not self.is_direct[i]:
                T[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = Q
                b[6 * i + 3 : 6 * i + 6] += np.cross(omega, mixed[i, 3:])
            _, _, about_com = inertias.decompose(self.bodies[i].inertia)
            M[at, at] = inertias.spatial_inertia(
                self._inertias[i, 5, 5], np.zeros(3), Q @ about_com @ Q.T
            )
        for k, j in enumerate(self.constants.row_joints):
            for side, i in enumerate(self.constants.joint_bodies[j]):
                if i >= 0:
                    J[k, 6 * i : 6 * i + 6] += work[k, 6 * side : 6 * side + 6]
        force = motion[:, rows.FORCE : rows.FORCE + 6].ravel()
        return SystemMatrices(
            T.T @ M @ T, T.T @ (force - M @ b), J @ T, values[:, rows.ETA] - J @ b,
            values[:, rows.VIOLATION].copy(),
        )  # fmt: skip

    def describe(self) -> str:
        """A summary of bodies, joints and springs, one line each."""
        lines = [
            f"{self.name}: {self.n} bodies, {len(self.joints)} joints with {self.m} constraints, "
            f"gravity ({', '.join(f'{g:g}' for g in self.gravity)}) m/s^2"
        ]
        for body, group, row in zip(self.bodies, self.groups, self.constants.bodies, strict=True):
            lines.append(f"body '{body.name}': {row[rows.MASS]:g} kg, in {group}")
        for joint, forbidden in zip(self.joints, self.forbidden, strict=True):
            lines.append(
                f"joint '{joint.name}': '{joint.first}' to '{joint.second}', "
                f"degrees of freedom: {6 - len(forbidden.kinds)}"
            )
        for spring in self.springs:
            lines.append(
                f"spring '{spring.name}': '{spring.first}' to '{spring.second}', "
                f"{spring.stiffness:g} N/m, {spring.damping:g} N s/m"
            )
        return "\n".join(lines)

    def _groups(self) -> tuple[Group, ...]:
        if isinstance(self.group, Mapping):
            for body in self.group:
                if body not in self.body_names:
                    known = ", ".join(self.body_names)
                    raise ModelError(f"group: unknown body {body!r}; known: {known}")
            chosen = [self.group.get(name, "SE3") for name in self.body_names]
        else:
            chosen = [self.group] * self.n
        for group in chosen:
            if group not in GROUPS:
                raise ModelError(f"unknown group {group!r}; known: {' and '.join(GROUPS)}")
        return tuple(chosen)

    def _ends(self, part: BodyJoint | SpringDamper) -> tuple[int, int]:
        what = f"{'joint' if isinstance(part, BodyJoint) else 'spring'} '{part.name}'"
        with refused_as(ModelError):
            first = self.index(part.first, f"{what}: first")
            second = self.index(part.second, f"{what}: second")
        if first == second:
            raise ModelError(f"{what}: connects '{part.first}' to itself")
        return first, second

    def _pose(self, i: int) -> Array:
        return np.eye(4) if i < 0 else np.asarray(self.bodies[i].pose)

    def _forbidden(self, joint: BodyJoint) -> ForbiddenMotions:
        first, second = self._ends(joint)
        point = joint.point
        if point is None:
            point = self._pose(second if second >= 0 else first)[:3, 3]
        try:
            return forbidden_motions(joint.free, point)
        except ModelError as error:
            raise ModelError(f"joint '{joint.name}': {error}") from None


def flat_poses(pose: Array) -> Array:
    """(..., 12) R row by row, then r, from (..., 4, 4)."""
    R = pose[..., :3, :3].reshape(*pose.shape[:-2], 9)
    return np.concatenate([R, pose[..., :3, 3]], axis=-1)


def full_poses(rows_: Array) -> Array:
    """(..., 4, 4) from (..., 12)."""
    R = rows_[..., :9].reshape(*rows_.shape[:-1], 3, 3)
    return se3.from_rotation_translation(R, rows_[..., 9:])
