"""Fourth-order forward kinematics of a tree, [M21] Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np

from . import se3
from .compilation import IS_COMPILED, compiled, inlined
from .conventions import Representation, check_representation
from .errors import InputError
from .inputs import Array, as_array, as_state, broadcast_shapes, spread
from .model import MultibodyModel
from .records import (
    ANGULAR,
    BODY_ROW,
    LINEAR,
    PLACEMENT,
    POSE,
    POSITION,
    SCREW,
    TWIST,
    WRENCH,
)
from .representations import from_spatial
from .screws import (
    ad,
    add,
    add_screws,
    cross,
    load_rotation,
    load_screw,
    load_vector,
    matmul,
    muladd,
    muladd_screw,
    rotate,
    rotate_about_z,
    scale,
    store_rotation,
    store_screw,
    store_vector,
)
from .so3 import as_rotation


@inlined
def forward_kinematics_recursion(parents, joints, trig, state, order, bodies):
    """[M21] Algorithm 1 for a tree: poses, joint screws, twists and derivatives of all bodies.

    The derivatives of S_i are formed with the twist of the parent: ad_S S = 0 makes that equal to
    the paper's form with the twist of body i, and it needs no second visit.

    Parameters
    ----------
    parents : (n,) int, -1 for the base.
    joints : (n, JOINT_ROW) constants.
    trig : (2, n) sine and cosine of the joint angles a_i q_i.
    state : (5, n) q, q', q'', q''', q''''.
    order : how many derivatives of the acceleration are wanted: 0, 1 (jerk) or 2 (jounce).
    bodies : (n + 1, BODY_ROW), row 0 holds the motion of the base; written: POSE, TWIST, SCREW.
    """
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1

        # C_i = C_parent B_i exp(Z_i q_i)
        R0 = load_rotation(bodies, p, POSE)
        r0 = load_vector(bodies, p, POSITION)
        R = matmul(R0, load_rotation(joints, i, PLACEMENT))
        r = add(r0, rotate(R0, load_vector(joints, i, PLACEMENT + 9)))
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        z = (R[2], R[5], R[8])
        r = muladd(h * state[0, i], z, r)
        store_rotation(bodies, b, POSE, rotate_about_z(R, trig[0, i], trig[1, i]))
        store_vector(bodies, b, POSITION, r)

        # S_i = Ad_{C_i} Z_i, and the twist
        e = scale(a, z)
        S0 = (e, muladd(h, z, cross(r, e)))
        V0 = load_screw(bodies, p, TWIST)
        q1 = state[1, i]
        store_screw(bodies, b, SCREW, S0)
        store_screw(bodies, b, TWIST, muladd_screw(q1, S0, V0))

        # S', and the acceleration
        S1 = ad(V0, S0)
        V1 = load_screw(bodies, p, TWIST + 6)
        q2 = state[2, i]
        store_screw(bodies, b, SCREW + 6, S1)
        store_screw(bodies, b, TWIST + 6, muladd_screw(q2, S0, muladd_screw(q1, S1, V1)))

        if order > 0:  # S'' = ad_V' S + ad_V S', and the jerk
            S2 = add_screws(ad(V1, S0), ad(V0, S1))
            V2 = load_screw(bodies, p, TWIST + 12)
            q3 = state[3, i]
            store_screw(bodies, b, SCREW + 12, S2)
            V2i = muladd_screw(q1, S2, V2)
            V2i = muladd_screw(2 * q2, S1, V2i)
            V2i = muladd_screw(q3, S0, V2i)
            store_screw(bodies, b, TWIST + 12, V2i)

            if order > 1:  # S''' = ad_V'' S + 2 ad_V' S' + ad_V S'', and the jounce
                S3 = add_screws(muladd_screw(2, ad(V1, S1), ad(V2, S0)), ad(V0, S2))
                V3i = muladd_screw(q1, S3, load_screw(bodies, p, TWIST + 18))
                V3i = muladd_screw(3 * q2, S2, V3i)
                V3i = muladd_screw(3 * q3, S1, V3i)
                V3i = muladd_screw(state[4, i], S0, V3i)
                store_screw(bodies, b, SCREW + 18, S3)
                store_screw(bodies, b, TWIST + 18, V3i)


@inlined
def store_trig(joints, state, trig):
    """Sine and cosine of the joint angles a_i q_i of one state (5, n), into trig (2, n)."""
    for i in range(state.shape[1]):
        angle = joints[i, ANGULAR] * state[0, i]
        trig[0, i] = sin(angle)
        trig[1, i] = cos(angle)


def batch_trig(joints: Array, state: Array) -> Array:
    """The same for a batch: state (5, n, N), returns (2, n, N)."""
    angle = joints[:, ANGULAR, None] * state[0]
    return np.stack([np.sin(angle), np.cos(angle)])


def _pass(parents, joints, order, bases, states, trig, bodies):
    for k in range(states.shape[0]):
        bodies[k, 0, :WRENCH] = bases[k]
        store_trig(joints, states[k], trig)
        forward_kinematics_recursion(parents, joints, trig, states[k], order, bodies[k])


_compiled_pass = compiled(_pass)


class BodyMotion(NamedTuple):
    """Poses (..., n, 4, 4) of the body frames and their motion, each (..., n, 6), in body order.

    acceleration, jerk and jounce are the componentwise derivatives of the twist in its
    representation: rad/s, m/s and per s^k; None for what the input does not determine. No gravity.
    """

    pose: Array
    twist: Array | None
    acceleration: Array | None
    jerk: Array | None
    jounce: Array | None


@dataclass(frozen=True)
class BaseMotion:
    """The motion of the base in the inertial frame: pose (..., 4, 4), and twist, acceleration, jerk
    and jounce (..., 6) in spatial representation (None: zero)."""

    pose: Any = None
    twist: Any = None
    acceleration: Any = None
    jerk: Any = None
    jounce: Any = None


def base_rows(base: BaseMotion | None) -> Array:
    """The head of the base's row, (..., WRENCH): its pose, twist and derivatives; see `records`.

    Raises InputError for wrong shapes, NaN or infinity, and a pose that is not rigid.
    """
    base = base or BaseMotion()
    pose = as_array("base.pose", np.eye(4) if base.pose is None else base.pose, (4, 4))
    as_rotation("base.pose: its rotation", pose[..., :3, :3])
    if np.any(pose[..., 3, :] != (0, 0, 0, 1)):
        raise InputError("base.pose: the last row of a pose must be (0, 0, 0, 1)")
    names = ("twist", "acceleration", "jerk", "jounce")
    rates = [
        as_array(f"base.{name}", np.zeros(6) if value is None else value, (6,))
        for name, value in ((name, getattr(base, name)) for name in names)
    ]
    shape = broadcast_shapes(
        ("base.pose", *names), [pose.shape[:-2], *(rate.shape[:-1] for rate in rates)]
    )
    rows = np.zeros((*shape, WRENCH))
    rows[..., POSE : POSE + 9] = pose[..., :3, :3].reshape(*pose.shape[:-2], 9)
    rows[..., POSITION : POSITION + 3] = pose[..., :3, 3]
    for k, rate in enumerate(rates):
        rows[..., TWIST + 6 * k : TWIST + 6 * k + 6] = rate
    return rows


def body_rows(
    model: MultibodyModel, rows: Sequence[Any], base: BaseMotion | None = None
) -> tuple[Array, tuple[int, ...], int]:
    """[M21] Algorithm 1 for a batch: (N, n + 1, BODY_ROW), the batch shape, and how many rows of
    q ... q'''' were given. See :mod:`.records` for the columns."""
    n = model.n
    states, shape, given = as_state(model.joint_names, *rows)
    if given == 0:
        raise InputError("kinematics need q")
    bases = base_rows(base)
    full = broadcast_shapes(("states", "base"), (shape, bases.shape[:-1]))
    states = spread(states.reshape(*shape, 5, n), full, (5, n))
    bases = spread(bases, full, (WRENCH,))
    count = len(states)
    order = max(given - 3, 0)
    if IS_COMPILED:
        bodies = np.zeros((count, n + 1, BODY_ROW))
        trig = np.empty((2, n))
        _compiled_pass(model.parents, model.joint_rows, order, bases, states, trig, bodies)
        return bodies, full, given
    stacked = np.zeros((n + 1, BODY_ROW, count))
    stacked[0, :WRENCH] = bases.T
    state = states.transpose(1, 2, 0)
    trig = batch_trig(model.joint_rows, state)
    forward_kinematics_recursion(model.parents, model.joint_rows, trig, state, order, stacked)
    return stacked.transpose(2, 0, 1), full, given


def forward_kinematics(
    model: MultibodyModel,
    q: Any,
    qd: Any | None = None,
    qdd: Any | None = None,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> BodyMotion:
    """Poses of all bodies, and their twists up to the jounce as far as q, q', ... are given.

    [M21] Algorithm 1; q ... q'''' are (..., n), leading dimensions broadcast. Computed in the
    spatial representation and converted to the others ([M18d] table 3 and its derivatives).

    Raises InputError for wrong shapes, gaps (`qdd` without `qd`), NaN or infinity, and an unknown
    representation.
    """
    check_representation(representation)
    bodies, shape, given = body_rows(model, (q, qd, qdd, qddd, qdddd), base)
    pose = joint_poses(bodies[:, 1:]) @ model.body_in_joint
    count = given - 1
    spatial = [bodies[:, 1:, TWIST + 6 * k : TWIST + 6 * k + 6] for k in range(count)]
    rates = from_spatial(pose, spatial, representation)
    reshaped = [np.ascontiguousarray(rate).reshape(*shape, model.n, 6) for rate in rates]
    return BodyMotion(pose.reshape(*shape, model.n, 4, 4), *reshaped, *[None] * (4 - count))


def joint_poses(rows: Array) -> Array:
    """The poses (..., 4, 4) of the joint frames that body rows (..., BODY_ROW) hold."""
    rotation = rows[..., POSE : POSE + 9].reshape(*rows.shape[:-1], 3, 3)
    return se3.from_rotation_translation(rotation, rows[..., POSITION : POSITION + 3])


def frame_pose(model: MultibodyModel, q: Any, body: str | int) -> Array:
    """The pose (..., 4, 4) of a body, of a link merged into one, or of the base."""
    index, offset = model.frame(body)
    motion = forward_kinematics(model, q)
    if index < 0:
        return np.broadcast_to(offset, (*motion.pose.shape[:-3], 4, 4)).copy()
    return motion.pose[..., index, :, :] @ offset
