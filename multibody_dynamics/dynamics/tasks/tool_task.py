# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tasks: the prescribed components of the motion of a tool, and tool motions up to the jounce."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import (
    TWIST_ROWS,
    Array,
    IndependentCopies,
    InputError,
    as_array,
    broadcast_shapes,
    cached_array,
    check_sequence,
    exactly,
    read_only,
    times,
    transposed,
)
from ..lie import Representation, check_representation, convert_twist, moved_to_frame, se3, so3
from ..model import MultibodyModel
from ..model.records import POSE, POSITION, SCREW, TWIST
from ..rigid import BaseMotion, forward_kinematics, frame_pose, jacobian

COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")
GROUPS = {
    "pose": COMPONENTS,
    "orientation": COMPONENTS[:3],
    "position": COMPONENTS[3:],
    "direction": COMPONENTS[:2],
}
TARGET_ROW = SCREW  # the head of a body's row: pose, twist ... jounce; here hybrid


@dataclass(frozen=True, eq=False)
class Task(IndependentCopies):
    """Components of the motion of one tool that follow a target.

    Attributes
    ----------
    body : the body that carries the tool, or a link merged into one; a name or an index.
    components : "pose", "position", "orientation", "direction", or any of rx ry rz x y z: three
        rotations and three translations, along `axes`. "direction" is rx ry: the z axis of the tool
        points along that of the target, and the rotation about it is free. A single rotation is for
        robots that turn their tool about this axis only, such as a SCARA.
    offset : (4, 4) pose of the tool frame in the frame of `body`.
    axes : "inertial"; "tool" for those of the target frame, which turn with it; or a rotation
        (3, 3) with the axes as its columns. None is "tool" for two rotations, otherwise "inertial".
    softness : 0 for a task of first priority, met exactly. Above 0 for one of second priority, met
        as far as the others allow: |q' - z|^2 + |e'|^2 / softness^2 is minimised, with the
        secondary motion z and the unmet task rate e'; 0.01 leaves about 1e-4 of it unmet.

    Raises InputError for unknown or repeated components, an invalid pose or rotation, and two
    rotations about axes that do not turn with the target, which define no orientation.
    """

    body: str | int
    components: str | Sequence[str] = "pose"
    offset: Any = None
    axes: Any = None
    softness: float = 0.0

    def __post_init__(self) -> None:
        chosen = self.components
        if isinstance(chosen, str):
            chosen = GROUPS.get(chosen, tuple(chosen.split()))
        check_sequence("components", chosen, "names")
        chosen = tuple(chosen)
        unknown = [name for name in chosen if name not in COMPONENTS]
        if unknown or not chosen or len(set(chosen)) < len(chosen):
            raise InputError(
                f"components of the task of '{self.body}': expected {', '.join(GROUPS)}, or some "
                f"of {' '.join(COMPONENTS)}, each once; got {self.components!r}"
            )
        object.__setattr__(self, "components", tuple(x for x in COMPONENTS if x in chosen))
        offset = se3.as_pose("offset", np.eye(4) if self.offset is None else self.offset)
        if offset.ndim != 2:
            raise InputError(f"offset: expected one pose (4, 4), got {offset.shape}")
        object.__setattr__(self, "offset", read_only(offset))
        rotations = len(self.rotations)
        axes = self.axes
        if axes is None:
            axes = "tool" if rotations == 2 else "inertial"
        if isinstance(axes, str):
            if axes not in ("inertial", "tool"):
                raise InputError(f"axes: expected 'inertial', 'tool' or (3, 3), got '{axes}'")
        else:
            axes = read_only(so3.as_rotation("axes", axes))
            if axes.ndim != 2:
                raise InputError(f"axes: expected one rotation (3, 3), got {axes.shape}")
        object.__setattr__(self, "axes", axes)
        if rotations == 2 and not self.is_turning:
            raise InputError(
                f"the task of '{self.body}' prescribes {' '.join(self.components)}: two rotations "
                "need axes='tool'; the third rotation, about an axis of the tool, is then free"
            )
        if exactly("softness", self.softness, ()) < 0:
            raise InputError(f"softness: must be zero or greater, got {self.softness!r}")

    @property
    def size(self) -> int:
        """Number of prescribed components."""
        return len(self.components)

    @property
    def rotations(self) -> tuple[int, ...]:
        """Indices of the prescribed rotations."""
        return tuple(i for i, name in enumerate(COMPONENTS[:3]) if name in self.components)

    @property
    def is_turning(self) -> bool:
        """Whether the axes turn with the target frame."""
        return isinstance(self.axes, str) and self.axes == "tool"

    @cached_array
    def axis_rows(self) -> Array:
        """(3, 3), the constant axes row by row; the identity if they are those of the target."""
        return np.eye(3) if isinstance(self.axes, str) else self.axes.T

    def tool_in(self, model: MultibodyModel) -> tuple[int, Array]:
        """The moving body that carries the tool, and the pose (4, 4) of the tool in its frame."""
        index = model.body_index(self.body)
        return index, model.frame(self.body).pose @ self.offset


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """The motion of a tool frame: pose (..., 4, 4) and twist, acceleration, jerk, jounce (..., 6).

    The rates are those of the tool frame, componentwise in `representation`; None means zero.
    Raises InputError for wrong shapes, NaN, infinity, an invalid pose or representation.
    """

    pose: Any
    twist: Any = None
    acceleration: Any = None
    jerk: Any = None
    jounce: Any = None
    representation: Representation = "hybrid"

    def __post_init__(self) -> None:
        check_representation(self.representation)
        pose = se3.as_pose("pose", self.pose)
        rates = [
            np.zeros(6) if value is None else as_array(name, value, (6,))
            for name, value in ((name, getattr(self, name)) for name in TWIST_ROWS)
        ]
        shape = broadcast_shapes(
            ("pose", *TWIST_ROWS), [pose.shape[:-2], *(rate.shape[:-1] for rate in rates)]
        )
        object.__setattr__(self, "pose", np.broadcast_to(read_only(pose), (*shape, 4, 4)))
        for name, rate in zip(TWIST_ROWS, rates, strict=True):
            object.__setattr__(self, name, np.broadcast_to(read_only(rate), (*shape, 6)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch dimensions."""
        return tuple(np.shape(self.pose)[:-2])

    @cached_array
    def rows(self) -> Array:
        """(..., TARGET_ROW): rotation, position, and the hybrid twist with its derivatives."""
        seen = self.seen_as("hybrid")
        rows = np.empty((*self.shape, TARGET_ROW))
        rows[..., POSE : POSE + 9] = seen.pose[..., :3, :3].reshape(*self.shape, 9)
        rows[..., POSITION : POSITION + 3] = seen.pose[..., :3, 3]
        rows[..., TWIST:] = np.concatenate(seen.rates, axis=-1)
        return rows

    @property
    def rates(self) -> list[Array]:
        """Twist, acceleration, jerk and jounce."""
        return [self.twist, self.acceleration, self.jerk, self.jounce]

    def seen_as(self, representation: Representation) -> TaskMotion:
        """The same motion in another representation."""
        if representation == self.representation:
            return self
        rates = convert_twist(self.pose, self.rates, self.representation, representation)
        twist, acceleration, jerk, jounce = rates
        return TaskMotion(self.pose, twist, acceleration, jerk, jounce, representation)


def task_motion(
    model: MultibodyModel, task: Task, q: Any, qd: Any | None = None, qdd: Any | None = None,
    qddd: Any | None = None, qdddd: Any | None = None, *, base: BaseMotion | None = None,
    representation: Representation = "hybrid",
) -> TaskMotion:  # fmt: skip
    """Motion of the tool of a task by forward kinematics, [M21] Algorithm 1.

    q ... q'''' are (..., n). Where one is None, the rates of the tool that depend on it are zero in
    the result. Raises InputError as `forward_kinematics` does.
    """
    if not isinstance(task, Task):
        raise InputError(f"task: expected a Task, such as Task('tool'), got {task!r}")
    index, offset = task.tool_in(model)
    motion = forward_kinematics(
        model, q, qd, qdd, qddd, qdddd, base=base, representation=representation
    )
    pose = motion.pose[..., index, :, :]
    rates = [rate[..., index, :] for rate in motion[1:] if rate is not None]
    moved: list[Any] = [*moved_to_frame(pose, rates, offset, representation), *[None] * 4]
    return TaskMotion(pose @ offset, moved[0], moved[1], moved[2], moved[3], representation)


def task_jacobian(
    model: MultibodyModel, tasks: Task | Sequence[Task], q: Any, *, length: float = 1.0
) -> Array:
    """Jacobian (..., m, n) of the prescribed components of all tasks, along their axes.

    Rotations are in rad, translations in units of `length` (m). The axes "tool" are those of the
    tool at q (..., n). Raises InputError as `jacobian` does, and unless `length` is positive.
    """
    if exactly("length", length, ()) <= 0.0:
        raise InputError(f"length: must be positive, got {length!r}")
    blocks = []
    for task in as_tasks(tasks):
        index, offset = task.tool_in(model)
        J = jacobian(model, q, index, representation="hybrid")
        pose = frame_pose(model, q, index)
        lever = so3.hat(times(pose[..., :3, :3], offset[:3, 3]))
        linear = (J[..., 3:, :] - lever @ J[..., :3, :]) / length
        tool = transposed(pose[..., :3, :3] @ offset[:3, :3])
        axes = tool if task.is_turning else task.axis_rows
        seen = np.concatenate([axes @ J[..., :3, :], axes @ linear], axis=-2)
        blocks.append(seen[..., [COMPONENTS.index(name) for name in task.components], :])
    return np.concatenate(blocks, axis=-2)


def as_tasks(tasks: Task | Sequence[Task]) -> tuple[Task, ...]:
    """One task, or a sequence of tasks, as a tuple; InputError for anything else."""
    chosen = (tasks,) if isinstance(tasks, Task) or not isinstance(tasks, Iterable) else (*tasks,)
    if not chosen or not all(isinstance(task, Task) for task in chosen):
        raise InputError(f"tasks: expected a Task or a sequence of Tasks, got {tasks!r}")
    return chosen
