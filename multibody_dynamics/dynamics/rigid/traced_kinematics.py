# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematics of one robot, recorded as straight-line code from the general recursions.

Body frames, and frames of links merged into bodies, are joints that do not move: the recursion of
any representation then gives their motion without a further formula. A Jacobian and its rates come
from the same recursion over power series in time: its column j is the twist for q' = e_j, and its
rates are those of this twist while q moves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codegen import Program
from ..core import TWIST_ROWS, InputError, Series, turning
from ..lie import Representation, check_representation
from ..model import MultibodyModel
from ..model.records import (
    ANGULAR,
    BODY_ROW,
    COORDINATE,
    JOINT_ROW,
    PLACEMENT,
    POSE,
    POSITION,
    TWIST,
)
from ..recursions import RECURSIONS
from .tracing import Objects, TracedRobot, state_names, traced_robot

HIGHEST = 4  # derivative of q, for the jounce


def trace_forward_kinematics(
    model: MultibodyModel,
    order: int = 4,
    representation: Representation = "spatial",
    frames: Sequence[str | int] | None = None,
) -> Program:
    """Poses of frames and their twists up to the jounce as straight-line code, base at rest.

    order : how many derivatives of q are given: 0 (poses alone) to 4 (up to the jounce).
    frames : names of bodies, of links merged into them, or indices of bodies; all bodies if None.

    Inputs: "q", "qd", ... (n,). Results: "pose" (frames 16,) and, as far as known, "twist",
    "acceleration", "jerk" and "jounce" (frames 6,), frame by frame and row by row. Raises
    InputError for another order, an unknown frame or representation.
    """
    check_representation(representation)
    if order not in range(HIGHEST + 1) or isinstance(order, bool):
        raise InputError(f"order: expected 0 to {HIGHEST}, got {order!r}")
    names = range(model.body_count) if frames is None else frames
    robot = traced_robot(model, state_names(order + 1))
    pose, rates = traced_motion(model, robot, order, representation, names)
    return robot.program({"pose": pose, **dict(zip(TWIST_ROWS, rates, strict=False))})


def traced_motion(
    model: MultibodyModel,
    robot: TracedRobot,
    order: int,
    representation: Representation,
    frames: Sequence[str | int],
) -> tuple[Objects, list[Objects]]:
    """Poses (frames, 4, 4) and twists with derivatives, `order` arrays (frames, 6)."""
    tree = _with_frames(model, robot.joints, frames)
    count = len(frames)
    still = np.zeros((len(robot.state), count))
    state = np.concatenate([robot.state, still], axis=1)
    trig = np.concatenate([robot.trig, np.repeat([[0.0], [1.0]], count, axis=1)], axis=1)
    bodies = _rest(len(trig[0]))
    recursion = RECURSIONS[representation].kinematics_recursion
    recursion(*tree, trig, state, max(order - 2, 0), bodies)
    own = bodies[model.body_count + 1 :]
    pose = np.zeros((count, 4, 4), dtype=object)
    pose[:, :3, :3] = own[:, POSE : POSE + 9].reshape(count, 3, 3)
    pose[:, :3, 3] = own[:, POSITION : POSITION + 3]
    pose[:, 3, 3] = 1.0
    return pose, [own[:, TWIST + 6 * k : TWIST + 6 * k + 6] for k in range(order)]


def trace_jacobian(
    model: MultibodyModel,
    frame: str | int,
    order: int = 1,
    representation: Representation = "spatial",
) -> Program:
    """Jacobian of a frame, twist = J q', with `order` time derivatives, for a base at rest.

    Inputs: "q", and for each order one more derivative, each (n,). Results: "J", "J_dot",
    "J_ddot", ..., each (6 n,), row by row. Raises InputError for a negative order, an unknown frame
    or representation.
    """
    check_representation(representation)
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise InputError(f"order: expected 0, 1, 2, ..., got {order!r}")
    n, robot = model.n, traced_robot(model, state_names(order + 1))
    tree = _with_frames(model, robot.joints, (frame,))
    N = model.body_count
    state = np.zeros((5, n + 1), dtype=object)
    trig = np.zeros((2, N + 1), dtype=object)
    trig[1, N] = 1.0
    for j in range(n):
        state[0, j] = Series.of(list(robot.state[: order + 1, j]))
    for i in range(N):
        q = state[0, model.coordinates[i]]
        s, c = turning(robot.joints[i, ANGULAR] * q.rate())
        now = robot.trig[:, i]
        trig[:, i] = now[0] * c + now[1] * s, now[1] * c - now[0] * s
    J = np.zeros((order + 1, 6, n), dtype=object)
    index, _ = model.frame(frame)
    for j in np.flatnonzero(model.moved_by[index]).tolist() if index >= 0 else ():
        state[1] = 0.0
        state[1, j] = 1.0
        bodies = _rest(N + 1)
        RECURSIONS[representation].kinematics_recursion(*tree, trig, state, 0, bodies)
        for row, entry in enumerate(bodies[N + 1, TWIST : TWIST + 6]):
            known = entry.derivatives() if isinstance(entry, Series) else [entry]
            J[: len(known), row, j] = known
    names = ("J", *(f"J_{'d' * k}ot" for k in range(1, order + 1)))
    return robot.program(dict(zip(names, J, strict=True)))


def _rest(n: int) -> Objects:
    """Rows of n bodies and of a base at rest, without gravity."""
    bodies = np.zeros((n + 1, BODY_ROW), dtype=object)
    bodies[0, POSE : POSE + 9 : 4] = 1.0
    return bodies


def _with_frames(
    model: MultibodyModel, joints: Any, frames: Sequence[str | int]
) -> tuple[NDArray[Any], Objects]:
    """Parents and joint rows of the robot with a further joint and coordinate for each frame."""
    parents = np.concatenate([model.parents, np.zeros(len(frames), dtype=model.parents.dtype)])
    rows = np.zeros((len(parents), JOINT_ROW), dtype=object)
    rows[: model.body_count] = joints
    for k, frame in enumerate(frames):
        i = model.body_count + k
        rows[i, COORDINATE] = model.n + k
        parents[i], offset = model.frame(frame)
        pose = model.body_in_joint[parents[i]] @ offset if parents[i] >= 0 else offset
        rows[i, PLACEMENT : PLACEMENT + 9] = pose[:3, :3].ravel()
        rows[i, PLACEMENT + 9 : PLACEMENT + 12] = pose[:3, 3]
    return parents, rows
