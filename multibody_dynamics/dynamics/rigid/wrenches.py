# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Wrenches that the world applies to bodies: collected by name, and transformed between frames."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import (
    Array,
    InputError,
    as_array,
    as_mapping,
    as_real,
    broadcast_shapes,
    compiled,
    spread,
)
from ..lie import se3
from ..lie.screws import add_screws, coad, load_screw, store_screw
from ..model import MultibodyModel, check_model
from ..recursions.body_fixed import push
from .kinematics import BaseMotion, forward_kinematics

Wrenches = Mapping[str, Any]


def with_rates(name: str, wrench: Any) -> Array:
    """A wrench with its rates, (..., 3, 6); the rates of a wrench given as (..., 6) are zero."""
    array = as_real(name, wrench)
    if array.shape[-2:] == (3, 6):
        return as_array(name, array, (3, 6))
    if array.shape[-1:] != (6,):
        raise InputError(
            f"{name}: expected (..., 6), or (..., 3, 6) with two time derivatives, got "
            f"{array.shape}"
        )
    value = as_array(name, array, (6,))
    return np.stack([value, np.zeros_like(value), np.zeros_like(value)], axis=-2)


def wrench_rows(model: MultibodyModel, wrenches: Wrenches | None) -> Array:
    """The applied wrenches with their rates, (..., N, 18); zero for bodies that are not named.

    Raises InputError for an unknown body, the base, wrong shapes, NaN or infinity.
    """
    given = as_mapping("wrenches", wrenches)
    given = {body: with_rates(f"wrenches['{body}']", W) for body, W in given.items()}
    shape = broadcast_shapes(list(given), [W.shape[:-2] for W in given.values()])
    rows = np.zeros((*shape, model.body_count, 18))
    for body, W in given.items():
        rows[..., model.body_index(body), :] += W.reshape(*W.shape[:-2], 18)
    return rows


def wrench_to_world(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    body: str | int,
    W: Any,
    *,
    frame: Any | None = None,
    base: BaseMotion | None = None,
) -> Array:
    """Transform a wrench with its rates from a body-fixed frame to the inertial frame.

    [M21] (35), corrected, and its derivative.

    Parameters
    ----------
    q, qd, qdd : (..., n), rad or m and per s^k; leading dimensions broadcast.
    body : a body, or a link merged into one.
    W : (..., 6), or (..., 3, 6) with the two time derivatives of its components; in the frame of
        `body`, about the origin of that frame. N m, N and per s^k.
    frame : (..., 4, 4) constant pose in `body` of the frame of W, such as a contact frame, if it
        differs from the frame of `body`.
    base : motion of the base; at rest if None. Pass the same base to the dynamics.

    Returns (..., 3, 6) in inertial axes about the inertial origin, the form that the dynamics
    functions accept as `wrenches`. Raises InputError for wrong shapes, NaN or infinity, an unknown
    body or the base, and missing qd or qdd.
    """
    pose, spatial = frame_motion(model, (q, qd, qdd), body, frame, base)
    if len(spatial) < 2:
        raise InputError("the rates of a wrench need qd and qdd")
    W = with_rates("W", W)
    shape = broadcast_shapes(("states", "W"), (pose.shape[:-2], W.shape[:-2]))
    wrenches = spread(W, shape, (3, 6))
    rates = np.stack([spread(rate, shape, (6,)) for rate in spatial], axis=-2)
    carry_wrenches(spread(pose, shape, (4, 4)), rates, wrenches)
    return wrenches.reshape(*shape, 3, 6)


def _carry_wrenches(poses, rates, wrenches):
    """W^s = coAd_C W^b with W^s' and W^s'' in place, by coAd_C' = coad_V coAd_C.

    poses (N, 4, 4) C; rates (N, 2, 6) spatial twist V and V'; wrenches (N, 3, 6).
    """
    for k in range(poses.shape[0]):
        C, V, W = poses[k], rates[k], wrenches[k]
        R = (C[0, 0], C[0, 1], C[0, 2], C[1, 0], C[1, 1], C[1, 2], C[2, 0], C[2, 1], C[2, 2])
        r = (C[0, 3], C[1, 3], C[2, 3])
        twist, change = load_screw(V, 0, 0), load_screw(V, 1, 0)
        value = push(R, r, load_screw(W, 0, 0))
        moved = push(R, r, load_screw(W, 1, 0))
        rate = add_screws(moved, coad(twist, value))
        turned = add_screws(coad(twist, add_screws(moved, rate)), coad(change, value))
        store_screw(W, 2, 0, add_screws(push(R, r, load_screw(W, 2, 0)), turned))
        store_screw(W, 1, 0, rate)
        store_screw(W, 0, 0, value)


carry_wrenches = compiled(_carry_wrenches)


def frame_motion(
    model: MultibodyModel,
    rows: Sequence[Any],
    body: str | int,
    frame: Any | None,
    base: BaseMotion | None,
) -> tuple[Array, list[Array]]:
    """The pose (..., 4, 4) of a frame on a body, and its spatial twist with derivatives (..., 6),
    which do not depend on `frame`.

    `rows` are q, q', ... The frame is that of `body`, or the one with the pose `frame` in `body`.
    """
    check_model(model)
    index, offset = model.frame(body)
    if index < 0:
        raise InputError(f"'{body}' belongs to the base; a wrench on the base moves no joint")
    if frame is not None:
        offset = offset @ se3.as_pose("frame", frame)
    motion = forward_kinematics(model, *rows, base=base)
    pose = motion.pose[..., index, :, :]
    broadcast_shapes(("states", "frame"), (pose.shape[:-2], offset.shape[:-2]))
    return pose @ offset, [rate[..., index, :] for rate in motion[1:] if rate is not None]
