# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sensitivity to geometric errors: derivatives with respect to error screws, [M18d] section 6.2.

Joint i is mounted on its parent at B_i = C_parent(i),i (q_i = 0), [M18d] (92). Errors of this
placement are parameters pi of screws U, given in the frame of body i at q_i = 0:

    C_parent(i),i = B_i(pi_i) exp(X_i q_i),   B_i(pi_i) = B_i0 exp(U_i1 pi_i1) ... exp(U_il pi_il).

They displace body i and everything that it carries: its inertia, its frames, the joints mounted on
it. A frame fixed to a body, such as the tool's, has separate errors, which displace that frame
alone.

A parameter then acts like the coordinate of a joint at rest between the parent and joint i, and the
derivatives have the closed forms of those with respect to q: with its screw
T = Ad_{C_i exp(-X_i q_i)} U in inertial axes at q, and k any body or joint that it displaces,

    dC_k/dpi = T^ C_k,   dS_k/dpi = [T, S_k],   dM_k/dpi = -(ad_T^T M_k + M_k ad_T).

Joints that depend on others have errors of their own, under their names in the description.

All derivatives here are at pi = 0. For those at other values, see :func:`errors_at`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import (
    Array,
    InputError,
    as_array,
    broadcast_shapes,
    check_sequence,
    read_only,
    times,
    transposed,
)
from ...lie import Representation, check_representation, convert_twist, se3
from ...model import Frame, MultibodyModel, inertia, joint_chains
from ...rigid import Wrenches, forward_kinematics, interbody_wrenches, jacobian, subtree_sums

Unit = Literal["rad", "m"]
AXES: tuple[tuple[str, Unit], ...] = (
    ("rx", "rad"), ("ry", "rad"), ("rz", "rad"), ("x", "m"), ("y", "m"), ("z", "m"),
)  # fmt: skip
# Errors that do not commute with the motion of a joint that turns about, or only slides along, z.
ACROSS_TURNING = ("rx", "ry", "x", "y")
ACROSS_SLIDING = ("rx", "ry")


class ErrorScrew(NamedTuple):
    """One geometric parameter: an error in the placement of a joint or of a frame.

    screw : (6,) U, in the frame of the body that `joint` moves, at q = 0; or in `frame` itself.
    unit : of the parameter; rad where U is a rotation of unit rate, m where it is a translation.
    joint, frame : the name of the joint or of the frame; the other is None.
    """

    name: str
    unit: Unit
    screw: Array
    joint: str | None = None
    frame: str | None = None


Errors = Sequence[ErrorScrew]
Place = tuple[str | None, str | None]  # joint, frame


def joint_errors(
    model: MultibodyModel, joints: Sequence[str] | None = None, *, independent: bool = True
) -> tuple[ErrorScrew, ...]:
    """Errors in the placement of `joints` (default: all), named like "joint3.rx" and "joint3.y".

    Rotations rx, ry, rz and translations x, y, z are along the axes of a frame whose z is the joint
    axis, at the point of that axis nearest to the origin of the body frame.

    Errors that commute with the joint's motion, such as an offset of its angle or a shift along its
    axis, cannot be distinguished from errors further along the chain. `independent` leaves them
    out: rx, ry, x and y remain for a joint that turns, rx and ry for one that only slides. Together
    with the six :func:`frame_errors` of the measured frame this is the smallest set of parameters
    that can describe every error of a chain, 4 r + 2 p + 6. In :func:`torque_sensitivity`, which
    depends on the intermediate bodies too, all six have distinct effects.

    Raises InputError for an unknown joint.
    """
    if joints is not None:
        check_sequence("joints", joints, "joints")
    found = []
    for joint in joint_chains(model) if joints is None else joints:
        i = _bodies_of(model, joint)[-1]
        axes = ACROSS_TURNING if np.any(model.screws[i, :3]) else ACROSS_SLIDING
        screws = se3.Ad(se3.inverse(model.body_in_joint[i])).T
        found += [
            ErrorScrew(f"{joint}.{axis}", unit, read_only(U), joint=joint)
            for (axis, unit), U in zip(AXES, screws, strict=True)
            if axis in axes or not independent
        ]
    return tuple(found)


def frame_errors(model: MultibodyModel, frame: str) -> tuple[ErrorScrew, ...]:
    """The six errors of a frame fixed to a body, along the frame's own axes, such as "tool.rx".

    Raises InputError for an unknown frame, and for the body's own frame, which cannot be misplaced
    by definition.
    """
    _check_frame(model, frame)
    return tuple(
        ErrorScrew(f"{frame}.{axis}", unit, read_only(U), frame=frame)
        for (axis, unit), U in zip(AXES, np.eye(6), strict=True)
    )


def perturbed_model(model: MultibodyModel, errors: Errors, values: Any) -> MultibodyModel:
    """The robot with the errors at finite `values` (p,), [M18d] section 6.2.

    Each error displaces the body that its joint moves and everything that this body carries;
    inertias, payloads and frames keep their places in their bodies and on the base.
    Errors of one joint or frame multiply in the order in which they are listed.

    Raises InputError for an unknown joint or frame, wrong shapes, NaN or infinity.
    """
    _check(model, errors)
    motion: dict[Place, Array] = {}
    for error, value in zip(errors, _as_values(errors, values), strict=True):
        before = motion.get(_place(error), np.eye(4))
        motion[_place(error)] = before @ se3.exp(error.screw * value)
    shift = {-1: np.eye(4)}  # left factor on the pose of each body at q = 0
    mounted = {chain[0]: joint for joint, chain in joint_chains(model).items()}
    for i, A in enumerate(model.poses):
        shift[i] = shift[int(model.parents[i])]
        if (place := (mounted.get(i), None)) in motion:
            shift[i] = shift[i] @ A @ motion[place] @ se3.inverse(A)
    shifts = np.stack([shift[i] for i in range(model.body_count)])
    frames = {
        name: Frame(body, pose @ motion.get((None, name), np.eye(4)))
        for name, (body, pose) in model.frames.items()
    }
    screws = times(se3.Ad(shifts), model.screws)
    return replace(model, poses=shifts @ model.poses, screws=screws, frames=frames)


def errors_at(errors: Errors, values: Any) -> tuple[ErrorScrew, ...]:
    """The same parameters, linearised where they have `values` (p,).

    The derivatives of `perturbed_model(model, errors, values)` with respect to the result, at zero,
    equal those with respect to `errors` at `values`: the factors that follow in the placement
    transform U_l to Ad^-1_{exp(U_l+1 pi_l+1) ... exp(U_lambda pi_lambda)} U_l.

    Raises InputError for wrong shapes, NaN or infinity.
    """
    values = _as_values(errors, values)
    moved, after = [], dict[Place, Array]()
    for error, value in zip(errors[::-1], values[::-1], strict=True):
        behind = after.setdefault(_place(error), np.eye(4))
        moved.append(error._replace(screw=read_only(se3.Ad(se3.inverse(behind)) @ error.screw)))
        after[_place(error)] = se3.exp(error.screw * value) @ behind
    return tuple(moved[::-1])


def pose_sensitivity(
    model: MultibodyModel,
    errors: Errors,
    q: Any,
    body: str | int,
    *,
    representation: Representation = "spatial",
) -> Array:
    """The identification Jacobian (..., 6, p) of a body or frame; [M18d] section 6.2.

    Column k is the displacement that parameter k causes, per rad or m, as a twist in
    `representation`: spatial (dC/dpi C^-1), body (C^-1 dC/dpi), hybrid or mixed. Zero where the
    error displaces something else.

    Raises InputError for wrong shapes, NaN, an unknown body, joint, frame or representation.
    """
    check_representation(representation)
    poses = forward_kinematics(model, q).pose
    T = _error_twists(model, errors, q, poses) * _reaches(model, errors, body)[:, None]
    pose = _frame_at(poses, model.frame(body))[..., None, :, :]
    return transposed(convert_twist(pose, [T], "spatial", representation)[0])


def jacobian_sensitivity(
    model: MultibodyModel,
    errors: Errors,
    q: Any,
    body: str | int,
    *,
    representation: Representation = "spatial",
) -> Array:
    """dJ/dpi (..., p, 6, n) of the geometric Jacobian of a body or frame; [M18d] section 6.2.

    The derivatives of the columns J_j, first of joints that the error displaces and then of the
    others, are like those with respect to q; w and v are the angular and linear parts as screws:

        spatial: [T, J_j] and 0                        [M18d] (15)
        body:    0 and [J_j, T]                        (5)
        hybrid:  [w(T), J_j] and [J_j, v(T)]           (25), corrected

    The mixed Jacobian has the angular rows of the body-fixed and the linear rows of the hybrid one.
    Raises InputError as :func:`pose_sensitivity` does.
    """
    if check_representation(representation) == "mixed":
        angular = jacobian_sensitivity(model, errors, q, body, representation="body")
        linear = jacobian_sensitivity(model, errors, q, body, representation="hybrid")
        return np.concatenate([angular[..., :3, :], linear[..., 3:, :]], axis=-2)
    of_tree = jacobian(model.tree, model.spread(q), body, representation=representation)
    J = of_tree[..., None, :, :]
    T = transposed(pose_sensitivity(model, errors, q, body, representation=representation))
    displaced = _displaced(model, errors)[:, None, :]
    if representation == "spatial":
        return model.collect(se3.ad(T) @ J * displaced, -1)
    if representation == "body":
        return model.collect(-se3.ad(T) @ J * ~displaced, -1)
    turning, sliding = T * (1, 1, 1, 0, 0, 0), T * (0, 0, 0, 1, 1, 1)
    return model.collect(se3.ad(turning) @ J * displaced - se3.ad(sliding) @ J * ~displaced, -1)


def twist_sensitivity(
    model: MultibodyModel, errors: Errors, q: Any, qd: Any, body: str | int, *,
    representation: Representation = "spatial",
) -> Array:  # fmt: skip
    """dV/dpi (..., 6, p) of the twist of a body or frame at given q and q'; [M18d] section 6.2.

    rad/s and m/s per rad or m. Raises InputError as :func:`pose_sensitivity` does.
    """
    dJ = jacobian_sensitivity(model, errors, q, body, representation=representation)
    qd = as_array("qd", qd, (model.n,), model.joint_names)
    broadcast_shapes(("q", "qd"), (dJ.shape[:-3], qd.shape[:-1]))
    return transposed(times(dJ, qd[..., None, :]))


def torque_sensitivity(
    model: MultibodyModel, errors: Errors, q: Any, qd: Any, qdd: Any, *,
    wrenches: Wrenches | None = None,
) -> Array:  # fmt: skip
    """dQ/dpi (..., n, p) of the inverse dynamics, N m or N per rad or m; [M18d] section 6.2.

    Q_i = S_i . W_i, where W_i sums the balances W = M (V' + G) - ad_V^T M V, (38), of the bodies
    that joint i carries, less the applied wrenches, which are not displaced. M, V, V' and W are
    displaced with their body, except that the motion of the joint's parent p and the direction of
    gravity stay the same. This leaves the terms v = dV/dpi - [T, V], and similarly a and g:

        dW/dpi = -ad_T^T W + M (a + g) - ad_v^T M V - ad_V^T M v,
        v = -[T, V_p],   a = [T', V - V_p] - [T, V'_p],   g = -[T, G],   T' = [V_p, T].

    `wrenches` as in :func:`.inverse_dynamics`. Errors of frames have no effect. Raises InputError
    for wrong shapes, NaN, an unknown body, joint or frame.
    """
    transmitted = interbody_wrenches(model, q, qd, qdd, wrenches=wrenches)[..., None, :, 0, :]
    pose, *given = forward_kinematics(model, q, qd, qdd)
    rates = [rate for rate in given if rate is not None]
    T = _error_twists(model, errors, q, pose)[..., None, :]
    mounted = [_bodies_of(model, e.joint)[0] if e.joint else -1 for e in errors]
    parents = [int(model.parents[i]) if i >= 0 else -1 for i in mounted]
    # From here on the axes are (..., p, N, 6): derivatives with respect to each parameter, by body.
    V, Vd = (rate[..., None, :, :] for rate in rates)
    Vp, Vdp = (_with_base(rate)[..., parents, None, :] for rate in rates)
    M = inertia.transform(model.inertias, pose)[..., None, :, :, :]
    S = times(se3.Ad(pose), model.body_screws)[..., None, :, :]
    G = np.concatenate([np.zeros(3), -model.gravity])
    coadV, MV = se3.coad(V), times(M, V)

    v, g = -_bracket(T, Vp), -_bracket(T, G)
    a = _bracket(_bracket(Vp, T), V - Vp) - _bracket(T, Vdp)
    W = times(M, Vd + G) + times(coadV, MV)
    dW = times(se3.coad(T), W) + times(M, a + g)
    dW += times(se3.coad(v), MV) + times(coadV, times(M, v))

    displaced = _displaced(model, errors)[..., None]
    dQ = S * subtree_sums(model, dW * displaced, -2) + _bracket(T, S) * displaced * transmitted
    return transposed(model.collect(dQ.sum(axis=-1), -1))


def _place(error: ErrorScrew) -> Place:
    return error.joint, error.frame


def _check(model: MultibodyModel, errors: Errors) -> None:
    for error in errors:
        if (error.joint is None) == (error.frame is None):
            raise InputError(f"error '{error.name}': give either a joint or a frame")
        if error.joint is not None:
            _bodies_of(model, error.joint)
        else:
            _check_frame(model, str(error.frame))
        if as_array(f"error '{error.name}': its screw", error.screw, (6,)).shape != (6,):
            raise InputError(f"error '{error.name}': its screw must be of shape (6,)")


def _bodies_of(model: MultibodyModel, joint: str) -> range:
    chains = joint_chains(model)
    if joint not in chains:
        raise InputError(f"no joint '{joint}' in robot '{model.name}'; it has {', '.join(chains)}")
    return chains[joint]


def _check_frame(model: MultibodyModel, frame: str) -> None:
    body, _ = model.frame(frame)
    if frame == model.base_name or (body >= 0 and frame == model.body_names[body]):
        raise InputError(
            f"'{frame}' is the reference frame of its body, which cannot be misplaced; give "
            "errors to the joint, or to another frame fixed to the body: a link merged into it, or "
            "one passed to the model as `frames`"
        )


def _as_values(errors: Errors, values: Any) -> Array:
    values = as_array("values", values, (len(errors),))
    if values.ndim != 1:
        raise InputError(f"values: expected shape ({len(errors)},), got {values.shape}")
    return values


def _displaced(model: MultibodyModel, errors: Errors) -> NDArray[np.bool_]:
    """(p, N) mask: whether each error displaces each body, and with it the joint that moves it."""
    moved = model.tree.moved_by
    rows = [moved[:, _bodies_of(model, e.joint)[0]] if e.joint else 0 * moved[0] for e in errors]
    return np.array(rows, dtype=bool).reshape(len(errors), model.body_count)


def _reaches(model: MultibodyModel, errors: Errors, body: str | int) -> NDArray[np.bool_]:
    """(p,) mask: whether each error displaces `body`, a body or a frame."""
    index = model.frame(body).body
    own = np.array([e.frame is not None and e.frame == body for e in errors], dtype=bool)
    return own if index < 0 else own | _displaced(model, errors)[:, index]


def _error_twists(model: MultibodyModel, errors: Errors, q: Any, pose: Array) -> Array:
    """T (..., p, 6): the screws of the errors in inertial axes, for bodies at `pose`."""
    _check(model, errors)
    q = model.spread(as_array("q", q, (model.n,), model.joint_names))
    T = np.empty((*pose.shape[:-3], len(errors), 6))
    for k, error in enumerate(errors):
        if error.joint is not None:
            i = _bodies_of(model, error.joint)[0]
            before = pose[..., i, :, :] @ se3.exp(-model.body_screws[i] * q[..., i, None])
        else:
            before = _frame_at(pose, model.frame(str(error.frame)))
        T[..., k, :] = se3.Ad(before) @ error.screw
    return T


def _frame_at(pose: Array, frame: Frame) -> Array:
    """The pose (..., 4, 4) of a frame with the bodies at `pose` (..., N, 4, 4)."""
    if frame.body < 0:
        return np.broadcast_to(frame.pose, (*pose.shape[:-3], 4, 4))
    return pose[..., frame.body, :, :] @ frame.pose


def _with_base(rate: Array) -> Array:
    """The rates (..., N + 1, 6) of the bodies and, at index -1, of the base, which is at rest."""
    return np.concatenate([rate, np.zeros_like(rate[..., :1, :])], axis=-2)


def _bracket(X: Array, Y: Array) -> Array:
    """[X, Y] = ad_X Y."""
    return times(se3.ad(X), Y)
