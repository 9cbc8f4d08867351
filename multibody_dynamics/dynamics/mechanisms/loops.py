# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Closed mechanisms: a tree of bodies and the constraints that close it; [K12] section 3.

A closed mechanism is described by the tree that remains when each loop is cut at one joint, and by
the cut joints: two frames, and the screws that remain free between them. Other constraints
(rolling, transmissions, a known closed form) are given by a matrix A(q) with A q' = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    Array,
    IndependentCopies,
    ModelError,
    as_array,
    as_mapping,
    as_real,
    check_sequence,
    exactly,
    read_only,
    rebuilt,
    refused_as,
)
from ..lie import se3
from ..model import MultibodyModel
from ..rigid import frame_pose
from .ball_charts import chart_table

INDEPENDENT = 1e-9  # relative size below which singular values of free screws count as zero


@dataclass(frozen=True, eq=False)
class LoopClosure(IndependentCopies):
    """A cut joint: a frame on `first`, a frame on `second`, and the free motion between them.

    The relative pose D = C_first^-1 C_second of the two frames is restricted to
    D = exp(X_1 x_1) ... exp(X_k x_k) for some x. The frames coincide where all x are zero.

    Attributes
    ----------
    first, second : name of a body, of a link merged into one, or of the base; or index of a body.
    free : X (k, 6) or (6,), k < 6 independent screws in the first frame, for instance from
        :mod:`.joints`; default none, a weld.
    first_pose, second_pose : (4, 4) poses of the frames in their bodies; default: the body frames.

    Raises ModelError for wrong shapes, six or more screws, and dependent screws.
    """

    name: str
    first: str | int
    second: str | int
    free: Any = ()
    first_pose: Any = None
    second_pose: Any = None

    def __post_init__(self) -> None:
        what = f"loop '{self.name}'"
        with refused_as(ModelError, what):
            free = as_real("free", self.free)
            screws = as_array("free", free if free.size else np.zeros((0, 6)), (6,))
            poses = [
                se3.as_pose(name, np.eye(4) if pose is None else pose)
                for name, pose in zip(
                    ("first_pose", "second_pose"), (self.first_pose, self.second_pose), strict=True
                )
            ]
        screws = np.atleast_2d(screws)
        if screws.ndim != 2 or any(pose.shape != (4, 4) for pose in poses):
            raise ModelError(
                f"{what}: expected free (k, 6) and one pose (4, 4) per frame, without a batch"
            )
        if len(screws) > 5:
            raise ModelError(f"{what}: expected at most five free screws, got {len(screws)}")
        if _rank(screws) < len(screws):
            raise ModelError(
                f"{what}: its {len(screws)} free screws are dependent; give only {_rank(screws)}"
            )
        for key, value in zip(("free", "first_pose", "second_pose"), (screws, *poses), strict=True):
            object.__setattr__(self, key, read_only(value))

    @classmethod
    def at(
        cls,
        model: MultibodyModel,
        name: str,
        first: str | int,
        second: str | int,
        free: Any = (),
        *,
        point: Any,
        q: Any | None = None,
    ) -> LoopClosure:
        """A loop that is closed at q (n,), default zero.

        In that configuration both frames are at `point` (3,), m, of the inertial frame, with
        inertial axes; `free` are screws in these axes about that point.
        """
        q = np.zeros(model.n) if q is None else q
        point = as_array("point", point, (3,))
        here = se3.from_rotation_translation(np.eye(3), point)
        poses = (se3.inverse(frame_pose(model, q, body)) @ here for body in (first, second))
        return cls(name, first, second, free, *poses)

    @property
    def size(self) -> int:
        """The number of constraints, 6 - k."""
        return 6 - len(self.free)

    @cached_property
    def is_lower_pair(self) -> bool:
        """Whether the free motions form a group: all [X_i, X_j] are in the span of the free screws.

        True for weld, revolute, prismatic, helical, cylindrical, spherical and planar joints, false
        for a universal joint.
        """
        X = self.free
        brackets = [se3.ad(x) @ y for x in X for y in X]
        return _rank(np.vstack([X, *brackets])) == len(X) if len(X) else True


@dataclass(frozen=True, eq=False)
class ConstraintMatrix:
    """Constraints A(q) q' = 0 given by user-supplied functions, one state at a time.

    Attributes
    ----------
    size : the number m of rows.
    A : q (n,) -> (m, n).
    A_dot : q, q' -> (m, n), its time derivative.
    A_ddot, A_dddot : q, q', q'' (, q''') -> (m, n). The second rates of torques require A_ddot;
        without A_dddot, q'''' is not checked.
    f : q -> (m,) with f(q) = 0 and A = df/dq; None for velocity constraints, which positions cannot
        violate.
    row_names : names of the rows for messages.
    """

    name: str
    size: int
    A: Callable[[Array], Any]
    A_dot: Callable[[Array, Array], Any]
    A_ddot: Callable[[Array, Array, Array], Any] | None = None
    A_dddot: Callable[[Array, Array, Array, Array], Any] | None = None
    f: Callable[[Array], Any] | None = None
    row_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ModelError(f"constraint '{self.name}': size must be 1 or more, got {self.size}")
        for part in ("A", "A_dot", "A_ddot", "A_dddot", "f"):
            function = getattr(self, part)
            if not (callable(function) or (function is None and part not in ("A", "A_dot"))):
                raise ModelError(
                    f"constraint '{self.name}': {part} must be a function of q (and its "
                    f"derivatives), got {function!r}"
                )
        names = tuple(self.row_names or (f"row {k + 1}" for k in range(self.size)))
        if len(names) != self.size:
            raise ModelError(
                f"constraint '{self.name}': expected {self.size} row_names, got {len(names)}"
            )
        object.__setattr__(self, "row_names", names)


class PassiveSpring(NamedTuple):
    """A linear spring with a damper at a joint without a motor: its torque is -K (q - q0) - D q'.

    stiffness : K, N m/rad or N/m. rest : q0, rad or m. damping : D, N m s/rad or N s/m.
    """

    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class ConstrainedModel:
    """A tree with constraints, and the list of its actuated joints.

    Attributes
    ----------
    tree : the robot with its loops cut.
    constraints : loops and matrices; A stacks their rows in this order, m in all.
    actuated : names of the joints with a motor (default: all). The others are passive.
    rank_tolerance : a row of A counts as dependent if no more than this share remains after
        projecting out the other rows, relative to the row size possible for its constraint.
    consistency_tolerance : largest accepted violation of the constraints by a motion, relative to
        the terms of the violated equation; for positions in rad and m.
    charts : names of joints that neither move nor have a motor, see :mod:`.ball_charts`.
    springs : {passive joint: its :class:`PassiveSpring`}.

    Raises ModelError for unknown bodies and joints, a loop within one body, duplicate names, and
    springs at actuated joints, with negative values, NaN or infinity.
    """

    tree: MultibodyModel
    constraints: Sequence[LoopClosure | ConstraintMatrix]
    actuated: Sequence[str] | None = None
    rank_tolerance: float = 1e-8
    consistency_tolerance: float = 1e-6
    charts: Sequence[str] = ()
    springs: Mapping[str, PassiveSpring] = field(default_factory=dict)

    def __post_init__(self) -> None:
        joints = self.tree.joint_names
        chosen = joints if self.actuated is None else self.actuated
        with refused_as(ModelError):
            check_sequence("constraints", self.constraints, "loops and matrices")
            check_sequence("actuated", chosen, "joints")
        with refused_as(ModelError, "actuated"):
            chosen = tuple(joints[self.tree.joint_index(joint)] for joint in chosen)
        object.__setattr__(self, "constraints", tuple(self.constraints))
        object.__setattr__(self, "actuated", tuple(j for j in joints if j in chosen))
        for constraint in self.constraints:
            if not isinstance(constraint, LoopClosure | ConstraintMatrix):
                raise ModelError(
                    f"constraints: expected LoopClosure or ConstraintMatrix, got {constraint!r}"
                )
        if not self.constraints:
            raise ModelError(f"robot '{self.tree.name}': no constraints given; use the tree itself")
        for kind, names in (("constraint", [c.name for c in self.constraints]), ("joint", chosen)):
            twice = {name for name in names if list(names).count(name) > 1}
            if twice:
                raise ModelError(f"duplicate {kind} '{min(twice)}'")
        for loop in self.constraints:
            if isinstance(loop, LoopClosure):
                self._check_loop(loop)
        with refused_as(ModelError):
            given = as_mapping("springs", self.springs)
        springs = {joint: self._checked_spring(joint, spring) for joint, spring in given.items()}
        object.__setattr__(self, "springs", MappingProxyType(springs))

    def _checked_spring(self, joint: str, spring: PassiveSpring) -> PassiveSpring:
        what = f"spring of joint '{joint}'"
        if joint not in self.passive:
            raise ModelError(
                f"{what}: not a passive joint; these are {', '.join(self.passive) or 'none'}"
            )
        with refused_as(ModelError, what):
            values = exactly("stiffness, rest, damping", spring, (3,)).tolist()
        checked = PassiveSpring(*values)
        if min(checked.stiffness, checked.damping) < 0.0:
            raise ModelError(f"{what}: stiffness and damping cannot be negative, got {checked}")
        return checked

    def _check_loop(self, loop: LoopClosure) -> None:
        with refused_as(ModelError, f"loop '{loop.name}'"):
            bodies = [self.tree.frame(body).body for body in (loop.first, loop.second)]
        if bodies[0] == bodies[1]:
            raise ModelError(
                f"loop '{loop.name}': '{loop.first}' and '{loop.second}' are the same rigid body"
            )

    __reduce__ = rebuilt

    @property
    def n(self) -> int:
        """The number of joints of the tree."""
        return self.tree.n

    @property
    def m(self) -> int:
        """The number of constraints, redundant ones included."""
        return sum(constraint.size for constraint in self.constraints)

    @cached_property
    def passive(self) -> tuple[str, ...]:
        """The joints that move without a motor."""
        others = {*(self.actuated or ()), *self.charts}
        return tuple(j for j in self.tree.joint_names if j not in others)

    @cached_property
    def balls(self) -> NDArray[np.int64]:
        """(k, 2) of :func:`.renew_charts`."""
        return chart_table(self.tree, self.charts)

    @cached_property
    def actuated_indices(self) -> NDArray[np.int64]:
        return self.indices(self.actuated or ())

    @cached_property
    def passive_indices(self) -> NDArray[np.int64]:
        return self.indices(self.passive)

    def indices(self, joints: Sequence[str | int], name: str = "joints") -> NDArray[np.int64]:
        """The indices of joints, ascending; InputError for an unknown one."""
        check_sequence(name, joints, "joints")
        return np.array(sorted({self.tree.joint_index(joint) for joint in joints}), dtype=np.int64)

    @cached_property
    def spring_rows(self) -> Array:
        """(3, n) stiffness, rest and damping of the joints, zero where there is no spring."""
        rows = np.zeros((3, self.n))
        for joint, spring in self.springs.items():
            rows[:, self.tree.joint_index(joint)] = spring
        return read_only(rows)

    def spring_torques(self, *rows: Array) -> list[Array]:
        """K (q - q0) + D q' and its rates, which hold the springs along q, q', ... (..., n): as
        many rows as rates are given."""
        K, rest, D = self.spring_rows
        return [K * q + D * qd for q, qd in pairwise((rows[0] - rest, *rows[1:]))]

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The rows of each constraint in A."""
        ends = np.cumsum([0, *(constraint.size for constraint in self.constraints)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def describe(self) -> str:
        """A summary of motors, constraints and the tree, as text."""
        lines = [
            f"{self.tree.name}: {self.n} joints, {self.m} constraints, "
            f"{len(self.actuated or ())} motors",
            f"actuated: {', '.join(self.actuated or ()) or 'none'}",
            f"passive: {', '.join(self.passive) or 'none'}",
        ]
        for c in self.constraints:
            if isinstance(c, LoopClosure):
                kind = "lower pair" if c.is_lower_pair else "chain"
                lines.append(
                    f"loop '{c.name}': '{c.first}' to '{c.second}', free screws: {len(c.free)} "
                    f"({kind}), {c.size} constraints"
                )
            else:
                lines.append(f"constraint '{c.name}': {', '.join(c.row_names or ())}")
        for joint, (stiffness, rest, damping) in self.springs.items():
            lines.append(
                f"spring at '{joint}': stiffness {stiffness:g}, rest {rest:g}, damping {damping:g}"
            )
        return "\n".join([*lines, "", self.tree.describe()])


def _rank(screws: Array) -> int:
    """The number of independent rows after scaling each one to unit length."""
    length = np.linalg.norm(screws, axis=1, keepdims=True)
    rows = screws / np.where(length > INDEPENDENT, length, np.inf)
    return int(np.linalg.matrix_rank(rows, tol=INDEPENDENT)) if len(rows) else 0
