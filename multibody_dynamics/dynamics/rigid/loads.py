# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Wrenches of gravity, of rigid loads, and in force-torque sensors, with two time derivatives.

A load exerts a wrench on the body that carries it. A load cell reads the wrench that everything
beyond it exerts on it. A load of mass m hanging at rest therefore exerts the force m g, which is
also the reading, and pushing the tool along an axis of the cell gives a positive reading. The
wrench that a joint transmits to its body has the opposite sign.
"""

from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, broadcast_shapes, transposed
from ..lie import convert_wrench
from ..lie.se3 import ad
from ..model import MultibodyModel, inertia
from .kinematics import BaseMotion, forward_kinematics
from .rigid_body import newton_euler_rates
from .rnea import interbody_wrenches
from .wrenches import Wrenches, frame_motion, with_rates


def load_wrench(
    model: MultibodyModel, body: str | int, load: Any, q: Any, qd: Any, qdd: Any,
    qddd: Any | None = None, qdddd: Any | None = None, *, frame: Any | None = None,
    base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """The wrench that a rigid load exerts on the body carrying it, through weight and inertia.

    [M18d] (38), [M21] (19), (22)-(25), corrected. With `qddd` and `qdddd`, the result (..., 3, 6)
    can be passed to the dynamics in `wrenches`, with the same effect as `model.with_payload`: a
    load can be picked up and put down without changing the model.

    Parameters
    ----------
    body : the body that carries the load, or a link merged into one.
    load : (6, 6) from :func:`.spatial_inertia`, about the origin of the frame of `body` in its
        axes.
    q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k; leading dimensions broadcast.
    frame : (..., 4, 4) constant pose in `body` of the frame of `load`, if it differs from the frame
        of `body`.
    base : motion of the base; at rest if None.

    Returns (..., k, 6), the wrench (moment, force) in N m and N in inertial axes about the inertial
    origin, with one time derivative for each of `qddd` and `qdddd`. Raises InputError for wrong
    shapes, NaN, an unknown body or the base, and missing derivatives of q; ModelError for a `load`
    that is not the inertia of a rigid body.
    """
    return _load(model, body, load, (q, qd, qdd, qddd, qdddd), frame, base)[-1]


def load_cell_reading(
    model: MultibodyModel, cell: str | int, load: Any, q: Any, qd: Any, qdd: Any,
    qddd: Any | None = None, qdddd: Any | None = None, *, wrench: Any | None = None,
    frame: Any | None = None, base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """The reading of a six-axis force-torque sensor, with rates: (..., k, 6), moment before force.

    The reading is the wrench that everything beyond the cell exerts on it, in the axes of the cell
    about its origin: the weight and inertia of `load`, plus `wrench`. The rates are the derivatives
    of these components, one for each of `qddd` and `qdddd`.

    Parameters
    ----------
    cell : the link whose frame is that of the cell, or a body in which the cell has the pose
        `frame`.
    load : (6, 6) inertia of everything fixed beyond the cell, tool and payload together, about the
        origin of the cell in its axes; see :func:`.spatial_inertia` and `inertia.transform`.
    wrench : (..., 6) or (..., 3, 6), everything else that acts beyond the cell, in inertial axes
        about the inertial origin: the sum of the wrenches that the world applies there, minus the
        `interbody_wrenches` of the joints mounted beyond it.

    Other arguments and errors are those of :func:`load_wrench`.
    """
    rows = (q, qd, qdd, qddd, qdddd)
    pose, rates, W = _load(model, cell, load, rows, frame, base)
    if wrench is not None:
        applied = with_rates("wrench", wrench)
        broadcast_shapes(("states", "wrench"), (pose.shape[:-2], applied.shape[:-2]))
        W = W + applied[..., : W.shape[-2], :]
    seen = convert_wrench(pose, rates, list(np.moveaxis(W, -2, 0)), "spatial", "body")
    return np.stack(seen, axis=-2)


def joint_wrenches(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, qddd: Any | None = None,
    qdddd: Any | None = None, *, wrenches: Wrenches | None = None, base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """:func:`interbody_wrenches` in body frames, as load cells in the joints would measure them.

    (..., n, k, 6), [M21] (40)-(42) corrected. W_i is in the axes of body i about its origin, N m
    and N, and W_i . X_i is Q_i without the torque of the rotor, X_i being the joint screw in the
    body frame. The joint acts on the body; a `load_cell_reading` has the opposite sign.

    Arguments and errors are those of :func:`.inverse_dynamics`.
    """
    W = interbody_wrenches(model, q, qd, qdd, qddd, qdddd, wrenches=wrenches, base=base)
    motion = forward_kinematics(model, q, qd, qdd, base=base)
    rows = list(np.moveaxis(W, -2, 0))
    seen = convert_wrench(motion.pose, motion[1:3], rows, "spatial", "body")
    return np.stack(seen, axis=-2)


def gravity_wrenches(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, *, base: BaseMotion | None = None
) -> Array:
    """The gravity wrenches W^grav_i = M^s_i G with two time derivatives, (..., n, 3, 6).

    [M21] (23), (24) and (25), the last with the sign of its M^s ad_V' term corrected. With
    G = (0, -g), W^grav adds to the momentum balance as in [M21] (15): it is the wrench that holds
    the body against gravity. N m, N and per s^k, in inertial axes about the inertial origin. q, q'
    and q'' are (..., n); `base` is the motion of the base, at rest if None.

    Raises InputError for wrong shapes, missing qd or qdd, NaN or infinity.
    """
    if qd is None or qdd is None:
        raise InputError("the rates of the gravity wrenches need qd and qdd")
    motion = forward_kinematics(model, q, qd, qdd, base=base)
    M = inertia.transform(model.inertias, motion.pose)
    return _gravity_wrench_rates(M, motion.twist, motion.acceleration, model.gravity)


def _gravity_wrench_rates(M: Array, twist: Any, acceleration: Any, gravity: Array) -> Array:
    """Gravity wrenches with rates, from inertias M^s (..., 6, 6) and spatial motions (..., 6)."""
    G = np.concatenate([np.zeros(3), -gravity])[:, None]
    adV, adVd = ad(twist), ad(acceleration)
    first = M @ adV
    second = first @ adV + transposed(adV) @ first - M @ adVd
    wrenches = (M @ G, -(first + transposed(first)) @ G, (second + transposed(second)) @ G)
    return np.stack([W[..., 0] for W in wrenches], axis=-2)


def _load(
    model: MultibodyModel,
    body: str | int,
    load: Any,
    rows: tuple[Any, ...],
    frame: Any | None,
    base: BaseMotion | None,
) -> tuple[Array, list[Array], Array]:
    """Pose, spatial twist and its derivatives of the load's frame, and the wrench of the load."""
    M = as_array("load", load, (6, 6))
    inertia.check(M, "load")
    pose, rates = frame_motion(model, rows, body, frame, base)
    if len(rates) < 2:
        raise InputError("the wrench of a load needs qd and qdd")
    V, Vd, Vdd, Vddd = [*rates, np.zeros(6), np.zeros(6)][:4]
    weight = _gravity_wrench_rates(inertia.transform(M, pose), V, Vd, model.gravity)
    needed = newton_euler_rates(pose, M, V, Vd, Vdd, Vddd, representation="spatial") + weight
    return pose, rates, -needed[..., : len(rates) - 1, :]
