# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Conversion of twists, wrenches and their time derivatives between the four representations.

With C = (R, r) the pose of a body frame, [M18k] table 3 and [M18d] (98)-(100); the last form of
(99), which prints V^b, must read V^s = Ad_r V^h:

    spatial: (omega, r' + r x omega)    the wrench about the inertial origin, inertial axes
    body:    (R^T omega, R^T r')        about the body origin, body axes
    hybrid:  (omega, r')                about the body origin, inertial axes
    mixed:   (R^T omega, r')            the moment in body axes, the force in inertial axes

Twist and wrench of one representation are dual: their product is the power. Derivatives are
componentwise in each representation. Every conversion goes through the hybrid representation.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array, broadcast_shapes, leibniz, times, transposed
from . import se3
from .conventions import Representation, check_representation


def convert_twist(
    pose: Any, rates: Sequence[Any], source: Representation, target: Representation
) -> list[Array]:
    """Convert the twist of a body and its time derivatives to another representation.

    `pose` (..., 4, 4) is the pose of the body. `rates` holds the twist (..., 6) in the
    representation `source`, then any number of its time derivatives, in rad/s, m/s and per s^k: a
    list `[twist]`, `[twist, acceleration]`, ..., or one array with the derivatives along its first
    axis. Returns the same quantities in the representation `target`, as a list; [M18k] table 3. The
    angular part of the second derivative of the mixed twist is R^T (omega'' - omega x omega'),
    unlike in [M18d] (33).

    Raises InputError for wrong shapes, NaN, infinity, an invalid pose and unknown representations.
    """
    check_representation(source)
    check_representation(target)
    C, (rates,) = _batch(pose, rates=rates)
    return rates if source == target else _twists(_motion(C, rates, source), target)


def change_body_frame(
    pose: Any, rates: Sequence[Any], S: Any, representation: Representation
) -> list[Array]:
    """The twist and its derivatives of another frame fixed to the same body, [M18k] remark 7.

    The body frame has the pose `pose` (..., 4, 4) and moves with `rates` as in
    :func:`convert_twist`; the other frame has the constant pose `S` (..., 4, 4) in it. The spatial
    twist is the same for both frames; the body-fixed one becomes Ad_S^-1 V^b, (21).
    """
    check_representation(representation)
    C, S = se3.as_pose("pose", pose), se3.as_pose("S", S)
    shape = broadcast_shapes(("pose", "S"), (C.shape[:-2], S.shape[:-2]))
    C, (rates,) = _batch(np.broadcast_to(C, (*shape, 4, 4)), rates=rates)
    return moved_to_frame(C, rates, S, representation)


def moved_to_frame(
    pose: Array, rates: list[Array], S: Array, representation: Representation
) -> list[Array]:
    """:func:`change_body_frame` without checking its arguments."""
    if representation == "spatial":
        return rates
    if representation == "body":
        to_frame = se3.Ad(se3.inverse(S))
        return [times(to_frame, rate) for rate in rates]
    R, omega, r = _motion(pose, rates, representation)
    lever = _carried((R @ S[..., :3, 3:])[..., 0], omega)
    moved = _Motion(R @ S[..., :3, :3], omega, [a + b for a, b in zip(r, lever, strict=True)])
    return _twists(moved, representation)


def convert_wrench(
    pose: Any,
    twists: Sequence[Any],
    wrenches: Sequence[Any],
    source: Representation,
    target: Representation,
) -> list[Array]:
    """Convert a wrench on a moving body and its derivatives, dual to :func:`convert_twist`.

    `wrenches` holds the wrench (..., 6) in the representation `source` of the frame at `pose`
    (..., 4, 4), then any number of time derivatives of its components, in N m, N and per s^k.
    `twists` holds the twist of that frame in the same representation, then its derivatives, at
    least one entry for each derivative of the wrench. Between spatial and body, W^s = Ad_C^-T W^b,
    [M18d] (35), and Ad_C^T W^s' = W^b' - ad_{V^b}^T W^b, [M21] (35) corrected, [M18d] (41).

    Raises InputError like :func:`convert_twist`, and if `twists` has too few entries.
    """
    check_representation(source)
    check_representation(target)
    count = len(wrenches)
    if len(twists) < count - 1:
        raise InputError(
            f"twists: {count - 1} derivatives of a wrench need {count - 1} entries, the twist and "
            f"its derivatives, got {len(twists)}"
        )
    C, (wrenches, twists) = _batch(pose, wrenches=wrenches, twists=twists)
    if source == target:
        return wrenches
    R, omega, r = _motion(C, twists, source)
    moment, force = _split(wrenches)
    if source == "spatial":
        moment = [m - leibniz(k, np.cross, r, force) for k, m in enumerate(moment)]
    elif source != "hybrid":
        spin = _split(twists)[0]
        moment = _turned(R, spin, moment)
        force = _turned(R, spin, force) if source == "body" else force
    if target == "spatial":
        moment = [m + leibniz(k, np.cross, r, force) for k, m in enumerate(moment)]
    elif target != "hybrid":
        back, spin = _reversed(R, omega)
        moment = _turned(back, spin, moment)
        force = _turned(back, spin, force) if target == "body" else force
    return _joined(moment, force)


class _Motion(NamedTuple):
    """A moving frame in inertial axes: R, [omega, omega', ...] and [r, r', r'', ...]."""

    R: Array
    omega: list[Array]
    r: list[Array]


def _motion(pose: Array, rates: Sequence[Array], representation: str) -> _Motion:
    R, r = pose[..., :3, :3], pose[..., :3, 3]
    omega, velocity = _split(rates)
    if representation == "spatial":
        return _Motion(R, omega, _carried(r, omega, velocity))
    if representation == "body":
        velocity = _turned(R, omega, velocity)
    if representation != "hybrid":
        omega = _turned(R, omega, omega)
    return _Motion(R, omega, [r, *velocity])


def _twists(motion: _Motion, representation: str) -> list[Array]:
    R, omega, r = motion
    angular, linear = omega, r[1:]
    if representation == "spatial":
        linear = [velocity - leibniz(k, np.cross, omega, r) for k, velocity in enumerate(linear)]
    elif representation != "hybrid":
        back, spin = _reversed(R, omega)
        angular = _turned(back, spin, omega)
        linear = _turned(back, spin, linear) if representation == "body" else linear
    return _joined(angular, linear)


def _carried(r: Array, omega: list[Array], v: list[Array] | None = None) -> list[Array]:
    """[r, r', r'', ...] of a point r with the velocity r' = v + omega x r; v = 0 if None."""
    points = [r]
    for k in range(len(omega)):
        turned = leibniz(k, np.cross, omega, points)
        points.append(turned if v is None else v[k] + turned)
    return points


def _turned(R: Array, spin: list[Array], vectors: list[Array]) -> list[Array]:
    """[R y, (R y)', (R y)'', ...] from `vectors` [y, y', y'', ...], where R' = R spin~.

    Since (R y)' = R (y' + spin x y), the k-th derivative is R (d/dt + spin x)^k y.
    """
    turned = []
    while vectors:
        turned.append(times(R, vectors[0]))
        vectors = [y + leibniz(k, np.cross, spin, vectors) for k, y in enumerate(vectors[1:])]
    return turned


def _reversed(R: Array, omega: list[Array]) -> tuple[Array, list[Array]]:
    """R^T and its spin: (R^T)' = -R^T omega~."""
    return transposed(R), [-x for x in omega]


def _split(screws: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    return [x[..., :3] for x in screws], [x[..., 3:] for x in screws]


def _joined(angular: list[Array], linear: list[Array]) -> list[Array]:
    return [np.concatenate(parts, axis=-1) for parts in zip(angular, linear, strict=True)]


def _batch(pose: Any, **screws: Sequence[Any]) -> tuple[Array, Iterator[list[Array]]]:
    """A pose and lists of screws, checked and broadcast to one batch; the screws are copies."""
    C = se3.as_pose("pose", pose)
    for name, given in screws.items():
        if (
            isinstance(given, np.ndarray) and given.ndim < C.ndim
        ):  # its first axis would be the batch
            raise InputError(
                f"{name}: expected a list of the quantity and its derivatives, each (..., 6); got "
                f"a single array of shape {given.shape} with poses of shape {C.shape}"
            )
    names = [f"{name}[{k}]" for name, given in screws.items() for k in range(len(given))]
    arrays = [as_array(*x, (6,)) for x in zip(names, chain(*screws.values()), strict=True)]
    shape = broadcast_shapes(("pose", *names), [C.shape[:-2], *(x.shape[:-1] for x in arrays)])
    full = (np.array(np.broadcast_to(x, (*shape, 6))) for x in arrays)
    lists = ([next(full) for _ in given] for given in screws.values())
    return np.broadcast_to(C, (*shape, 4, 4)), lists
