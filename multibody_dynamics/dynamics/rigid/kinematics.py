# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics of a tree up to the jounce, by one recursion for each representation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    IS_COMPILED,
    STATE_ROWS,
    TWIST_ROWS,
    Array,
    InputError,
    as_array,
    as_real,
    broadcast_shapes,
    by_robot,
    compiled,
    copy_row,
    read_only,
    spread,
)
from ..lie import Representation, check_representation, convert_twist, moved_to_frame, se3
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, POSE, POSITION, TWIST, WRENCH
from ..recursions import RECURSIONS, batch_trig, store_trig
from .traced_kinematics import trace_forward_kinematics
from .vector_batches import vector_batch


def _compiled_pass(recursion: Callable[..., None]) -> Callable[..., None]:
    def forward_pass(parents, joints, order, bases, states, trig, bodies):
        for k in range(states.shape[0]):
            copy_row(bodies[k, 0], bases[k])
            store_trig(joints, states[k], trig)
            recursion(parents, joints, trig, states[k], order, bodies[k])

    return compiled(forward_pass)


_PASSES = {name: _compiled_pass(module.kinematics_recursion) for name, module in RECURSIONS.items()}


class BodyMotion(NamedTuple):
    """Poses (..., N, 4, 4) of the body frames, and their twists with derivatives (..., N, 6).

    acceleration, jerk and jounce are the componentwise derivatives of the twist in the chosen
    representation; rad/s, m/s and per s^k, in body order, without gravity. A rate is None if the
    corresponding derivative of q was not given.
    """

    pose: Array
    twist: Array | None
    acceleration: Array | None
    jerk: Array | None
    jounce: Array | None


@dataclass(frozen=True)
class BaseMotion:
    """The motion of the base in the inertial frame.

    pose : (..., 4, 4); None for the identity.
    twist, acceleration, jerk, jounce : (..., 6) in spatial representation, rad/s, m/s and per s^k;
        None for zero.
    """

    pose: Any = None
    twist: Any = None
    acceleration: Any = None
    jerk: Any = None
    jounce: Any = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                object.__setattr__(self, name, read_only(as_real(f"base.{name}", value)))


def base_rows(
    base: BaseMotion | None,
    representation: Representation = "spatial",
    gravity: Array | None = None,
) -> Array:
    """The first columns (..., WRENCH) of the base's row: pose, twist and derivatives.

    See `records` for the columns. With `gravity` (3,), -g is added to the acceleration of the base
    in place of gravity acting on the bodies; the higher derivatives in the given representation
    include it too.

    Raises InputError for anything but a BaseMotion or None, wrong shapes, NaN or infinity, and a
    pose that is not a rigid transformation.
    """
    if not isinstance(base, BaseMotion | None):
        raise InputError(f"base: expected a BaseMotion, got {base!r}")
    if base is None:  # at rest, where (0, -g) is the same in every representation
        rows = np.zeros(WRENCH)
        rows[POSE : POSE + 9 : 4] = 1
        if gravity is not None:
            rows[TWIST + 9 : TWIST + 12] = -gravity
        return rows
    pose = se3.as_pose("base.pose", np.eye(4) if base.pose is None else base.pose)
    given = ((name, getattr(base, name)) for name in TWIST_ROWS)
    rates = [
        as_array(f"base.{name}", np.zeros(6) if value is None else value, (6,))
        for name, value in given
    ]
    shape = broadcast_shapes(
        ("base.pose", *TWIST_ROWS), [pose.shape[:-2], *(rate.shape[:-1] for rate in rates)]
    )
    rates = convert_twist(pose, rates, "spatial", "hybrid")
    if gravity is not None:
        rates[1] = rates[1] - np.concatenate([np.zeros(3), gravity])
    rates = convert_twist(pose, rates, "hybrid", representation)
    rows = np.zeros((*shape, WRENCH))
    rows[..., POSE : POSE + 9] = pose[..., :3, :3].reshape(*pose.shape[:-2], 9)
    rows[..., POSITION : POSITION + 3] = pose[..., :3, 3]
    for k, rate in enumerate(rates):
        rows[..., TWIST + 6 * k : TWIST + 6 * k + 6] = rate
    return rows


def body_rows(
    model: MultibodyModel,
    rows: Sequence[Any],
    base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> tuple[Array, tuple[int, ...], int]:
    """Run the forward recursion for a batch of states.

    Returns the rows (count, N + 1, BODY_ROW) of base and bodies (see :mod:`.records` for the
    columns), the batch shape, and the number of rows q ... q'''' given.
    """
    states, shape, given = model_state(model, *rows)
    n, N = model.n, model.body_count
    if given == 0:
        raise InputError("kinematics requires q")
    bases = base_rows(base, representation)
    full = broadcast_shapes(("states", "base"), (shape, bases.shape[:-1]))
    states = spread(states.reshape(*shape, 5, n), full, (5, n))
    bases = spread(bases, full, (WRENCH,))
    count = len(states)
    order = max(given - 3, 0)
    constants = (model.parents, model.joint_rows)
    if IS_COMPILED:
        bodies = np.zeros((count, N + 1, BODY_ROW))
        trig = np.empty((2, N))
        _PASSES[representation](*constants, order, bases, states, trig, bodies)
        return bodies, full, given
    stacked = np.zeros((N + 1, BODY_ROW, count))
    stacked[0, :WRENCH] = bases.T
    state = states.transpose(1, 2, 0)
    trig = batch_trig(model.joint_rows, state)
    recursion = RECURSIONS[representation]
    recursion.kinematics_recursion(*constants, trig, state, order, stacked)
    return stacked.transpose(2, 0, 1), full, given


@by_robot
def forward_kinematics(
    model: MultibodyModel, q: Any, qd: Any | None = None, qdd: Any | None = None,
    qddd: Any | None = None, qdddd: Any | None = None, *, base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> BodyMotion:  # fmt: skip
    """Forward kinematics: poses of all bodies, and their twists up to the jounce.

    Spatial [M21] Algorithm 1, body-fixed [M18d] (66), hybrid (75), mixed [M18k] (68), each
    differentiated up to the jounce.

    Parameters
    ----------
    q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k; leading dimensions broadcast. Each
        one adds the next derivative to the result.
    base : motion of the base; at rest if None.
    representation : representation of the twists and their derivatives.

    Returns :class:`BodyMotion`: poses (..., N, 4, 4), body frame to inertial frame, and rates
    (..., N, 6), in body order. Raises InputError for wrong shapes, gaps (`qdd` without `qd`), NaN
    or infinity, and an unknown representation.
    """
    check_representation(representation)
    state = (q, qd, qdd, qddd, qdddd)
    if base is None:
        order = sum(row is not None for row in state) - 1
        name, rows = (
            f"forward_kinematics-{order}-{representation}",
            dict(zip(STATE_ROWS, state, strict=True)),
        )
        trace = partial(trace_forward_kinematics, model, order, representation)
        shapes = [("N", 4, 4), *[("N", 6)] * order]
        found = vector_batch(model, name, trace, rows, shapes, kinematic=True)
        if found is not None:
            return BodyMotion(*found, *[None] * (4 - order))
    bodies, shape, given = body_rows(model, state, base, representation)
    joint = joint_poses(bodies[:, 1:])
    count = given - 1
    rates = [bodies[:, 1:, TWIST + 6 * k : TWIST + 6 * k + 6] for k in range(count)]
    rates = moved_to_frame(joint, rates, model.body_in_joint, representation)
    reshaped = [np.ascontiguousarray(rate).reshape(*shape, model.body_count, 6) for rate in rates]
    pose = (joint @ model.body_in_joint).reshape(*shape, model.body_count, 4, 4)
    return BodyMotion(pose, *reshaped, *[None] * (4 - count))


def joint_poses(rows: Array) -> Array:
    """The poses (..., 4, 4) of the joint frames in body rows (..., BODY_ROW)."""
    rotation = rows[..., POSE : POSE + 9].reshape(*rows.shape[:-1], 3, 3)
    return se3.from_rotation_translation(rotation, rows[..., POSITION : POSITION + 3])


@by_robot
def frame_pose(
    model: MultibodyModel, q: Any, body: str | int, *, base: BaseMotion | None = None
) -> Array:
    """The pose (..., 4, 4) of a body, of a link merged into one, or of the base.

    q is (..., n), rad or m; only the pose of `base` is used. The result maps from that frame to the
    inertial frame. Raises InputError for wrong shapes, NaN or infinity, and an unknown body.
    """
    index, offset = model.frame(body)
    bodies, shape, _ = body_rows(model, (q,), base)
    pose = joint_poses(bodies[:, index + 1])  # row 0 is the base
    if index >= 0:
        pose = pose @ model.body_in_joint[index]
    return (pose @ offset).reshape(*shape, 4, 4)
