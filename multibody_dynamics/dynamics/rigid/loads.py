"""Loads on a body and what six-axis force-torque sensors read, with two time derivatives.

A load acts on the body that carries it; a load cell reads what everything beyond it exerts on it.
Hanging at rest, a load of mass m therefore is the force m g, and is read as that; pushing the tool
along an axis of the cell reads positive. A joint, seen from its body, transmits the opposite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, broadcast_shapes
from ..lie import convert_wrench
from ..model import MultibodyModel, inertia
from .gravity import gravity_wrench_rates
from .kinematics import BaseMotion, forward_kinematics
from .rigid_body import newton_euler_rates
from .rnea import interbody_wrenches
from .wrenches import Wrenches, frame_motion, with_rates


def load_wrench(
    model: MultibodyModel,
    body: str | int,
    load: Any,
    q: Any,
    qd: Any,
    qdd: Any,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    frame: Any | None = None,
    base: BaseMotion | None = None,
) -> Array:
    """The wrench that a rigid load exerts on the body that carries it, by weight and inertia.

    In inertial axes about the inertial origin with its time derivatives, (..., k, 6): k is 1, 2 or
    3, as far as `qddd` and `qdddd` are given; N m, N and per s^k. With all three it goes into
    `wrenches` of the dynamics as it is, and does there what `model.with_payload` does: a load may
    be picked up and put down while the same model runs.

    Parameters
    ----------
    body : the body that carries it, or a link merged into one.
    load : (6, 6) from :func:`.spatial_inertia`, about the origin of the frame of `body`; or of the
        frame that has the constant pose `frame` (..., 4, 4) there.
    q ... qdddd : (..., n).
    base : the motion of the base; at rest if None.

    Raises InputError for wrong shapes, NaN, an unknown body or the base, missing rows, ModelError
    for a load that no rigid body can be. [M18d] (38), [M21] (19), (22)-(25), corrected.
    """
    return _load(model, body, load, (q, qd, qdd, qddd, qdddd), frame, base)[-1]


def load_cell_reading(
    model: MultibodyModel,
    cell: str | int,
    load: Any,
    q: Any,
    qd: Any,
    qdd: Any,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    wrench: Any | None = None,
    frame: Any | None = None,
    base: BaseMotion | None = None,
) -> Array:
    """What a six-axis force-torque sensor reads, with rates (..., k, 6): moment, force.

    That is the wrench which all that is beyond the cell exerts on it, in the axes of the cell and
    about its origin: the weight and inertia of `load`, and `wrench`. k is 1, 2 or 3, as far as
    `qddd` and `qdddd` are given; the rates are those of the components that are read.

    Parameters
    ----------
    cell : the link that is the cell's frame; or a body in which its frame has the pose `frame`.
    load : (6, 6) what is fixed beyond the cell, tool and payload together, about the origin of the
        cell and in its axes; see :func:`.spatial_inertia` and `inertia.transform`.
    wrench : (..., 6) or (..., 3, 6) what else acts beyond the cell, in inertial axes about the
        inertial origin: the sum of the wrenches that the world applies there, minus the
        `interbody_wrenches` of joints that are mounted beyond it.

    Other arguments and errors as :func:`load_wrench`.
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
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> Array:
    """What each joint transmits to its body in the frame of that body, with rates (..., n, k, 6).

    :func:`interbody_wrenches` for load cells in the joints: in the axes of body i about its origin,
    W_i . X_i = Q_i less the rotor's share, X_i being the joint screw in the body frame. The joint
    acts on the body here; a `load_cell_reading` has the opposite sign. [M21] (40)-(42) corrected.

    Arguments and errors as :func:`inverse_dynamics`.
    """
    W = interbody_wrenches(model, q, qd, qdd, qddd, qdddd, wrenches=wrenches, base=base)
    motion = forward_kinematics(model, q, qd, qdd, base=base)
    rows = list(np.moveaxis(W, -2, 0))
    seen = convert_wrench(motion.pose, motion[1:3], rows, "spatial", "body")
    return np.stack(seen, axis=-2)


def _load(
    model: MultibodyModel,
    body: str | int,
    load: Any,
    rows: tuple[Any, ...],
    frame: Any | None,
    base: BaseMotion | None,
) -> tuple[Array, list[Array], Array]:
    """Pose and spatial twist, acceleration, ... of the load's frame, and the load's wrench."""
    M = as_array("load", load, (6, 6))
    inertia.check(M, "load")
    pose, rates = frame_motion(model, rows, body, frame, base)
    if len(rates) < 2:
        raise InputError("the wrench of a load needs qd and qdd")
    V, Vd, Vdd, Vddd = [*rates, np.zeros(6), np.zeros(6)][:4]
    weight = gravity_wrench_rates(inertia.transform(M, pose), V, Vd, model.gravity)
    needed = newton_euler_rates(pose, M, V, Vd, Vdd, Vddd, representation="spatial") + weight
    return pose, rates, -needed[..., : len(rates) - 1, :]
