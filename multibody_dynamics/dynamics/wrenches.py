"""Wrenches that the world applies to bodies: collected by name, and moved between frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import se3
from .errors import InputError
from .inputs import Array, as_array, as_real, broadcast_shapes
from .kinematics import BaseMotion, forward_kinematics
from .model import MultibodyModel
from .representations import from_spatial

Wrenches = Mapping[str, Any]


def with_rates(name: str, wrench: Any) -> Array:
    """A wrench (..., 6) with zero rates, or (..., 3, 6) as it is, as (..., 3, 6)."""
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
    """The applied wrenches with their rates as (..., n, 18), zero where none is given.

    Raises InputError for an unknown body, the base, wrong shapes, NaN or infinity.
    """
    given = {body: with_rates(f"wrenches['{body}']", W) for body, W in (wrenches or {}).items()}
    shape = broadcast_shapes(list(given), [W.shape[:-2] for W in given.values()])
    rows = np.zeros((*shape, model.n, 18))
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
    base: BaseMotion | None = None,
) -> Array:
    """A wrench given in a body's own frame, with rates, in inertial axes about the inertial origin.

    W is (..., 6), or (..., 3, 6) with two time derivatives of its components in the frame of `body`
    (a body, or a link merged into one), about the origin of that frame. Returns (..., 3, 6), as
    `wrenches` of the dynamics take it: [M21] (35), corrected, and its derivative. `base` is the
    motion of the base, at rest if None; where it moves, the dynamics need the same.
    """
    index, offset = model.frame(body)
    if index < 0:
        raise InputError(f"'{body}' belongs to the base; a wrench on it moves no joint")
    W = with_rates("W", W)[..., None]
    motion = forward_kinematics(model, q, qd, qdd, base=base)
    broadcast_shapes(("states", "W"), (motion.pose.shape[:-3], W.shape[:-3]))
    pose = motion.pose[..., index, :, :] @ offset
    if motion.twist is None or motion.acceleration is None:
        raise InputError("the rates of a wrench need qd and qdd")
    spatial = [motion.twist[..., index, :], motion.acceleration[..., index, :]]
    V, Vd = from_spatial(pose, spatial, "body")
    adT, addT = np.swapaxes(se3.ad(V), -1, -2), np.swapaxes(se3.ad(Vd), -1, -2)
    W0, W1, W2 = W[..., 0, :, :], W[..., 1, :, :], W[..., 2, :, :]
    first = W1 - adT @ W0
    second = W2 - addT @ W0 - adT @ W1 - adT @ first
    coAd = se3.coAd(pose)
    return np.concatenate([np.swapaxes(coAd @ x, -1, -2) for x in (W0, first, second)], axis=-2)
