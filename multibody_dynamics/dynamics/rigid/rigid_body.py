# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Newton-Euler equations of one rigid body in any representation, [M18d] section 3.

The equations of section 3 are all one equation in different moving frames. F is the twist of the
frame and V that of the body, both measured at the origin of the frame and resolved in its axes.
With o the pose of the frame and M^s the inertia in the inertial frame,

    M  = Ad_o^T M^s Ad_o                              (34), (40), (51), (61), (64)
    M' = -ad_{V-F}^T M - M ad_{V-F}                   (37)
    Pi = M V                                          (35)
    W  = Pi' - ad_F^T Pi                              (36), (41), (52), (59), (62)
       = M (V' + ad_F V) - ad_V^T M V                 (38), (41), (53), (60), (63)

where a prime is the derivative of the components. The representations belong to the frames

    spatial   the inertial frame                      F = 0
    body      the body frame                          F = V
    hybrid    origin of the body, inertial axes       F = (0, r')

and mixed is hybrid with the angular components in body axes, (56) and (57). A wrench W is conjugate
to its twist: W . V is the power in every representation.

Errata of the paper: (52) is right only at the centre of mass; the hybrid W is Pi' + (r' x P, 0)
with the linear momentum P. In (53) the second V is (omega, 0). In (60) the last ad lacks its
transpose. (59), (62) and (64) transform with C_j and R_{j,k}. In (63) omega is that of frame k
relative to frame j, and ad_{V_j} + ad_{omega_k - omega_j} is the ad_F above.

All arguments broadcast over leading dimensions. Every function raises InputError for wrong shapes,
NaN or infinity, a pose that is not a rigid transformation, an unknown representation, and missing
rates.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import TWIST_ROWS, Array, InputError, as_array, broadcast_shapes, leibniz, transposed
from ..lie import Representation, check_representation, convert_twist, convert_wrench
from ..lie.se3 import Ad, ad, as_pose, from_rotation_translation, inverse
from ..model import inertia


class MovingFrame(NamedTuple):
    """An arbitrarily moving frame, at which twists are measured and in which they are resolved.

    pose : (..., 4, 4), to the inertial frame.
    twist : (..., 6) F = (R^T omega, R^T r'), rad/s and m/s.
    acceleration, jerk : (..., 6) componentwise derivatives of F, per s and s^2. W' requires the
        acceleration, W'' the jerk as well.

    :func:`moving_frame` combines two frames into one.
    """

    pose: Any
    twist: Any
    acceleration: Any = None
    jerk: Any = None


def moving_frame(
    origin: Any, origin_rates: Sequence[Any], axes: Any = None, axes_rates: Sequence[Any] = ()
) -> MovingFrame:
    """The frame with the origin of frame j and the axes of frame k, [M18d] (62)-(64).

    Parameters
    ----------
    origin, axes : poses (..., 4, 4) of j and k. Without `axes`, k = j as in (60).
    origin_rates, axes_rates : twists of j and k with up to two derivatives, the same number for
        both frames, each (..., 6) in spatial representation.
    """
    if axes is None:
        axes, axes_rates = origin, origin_rates
    count = len(origin_rates)
    if not 1 <= count == len(axes_rates) <= 3:
        raise InputError(
            "origin_rates and axes_rates: expected a twist with up to two derivatives, and the "
            f"same number of both; got {count} and {len(axes_rates)} rows"
        )
    C_j, C_k = as_pose("origin", origin), as_pose("axes", axes)
    V_j, V_k = _screws("origin ", origin_rates), _screws("axes ", axes_rates)
    names = ("origin", "axes", *_names("origin ", count), *_names("axes ", count))
    shape = _common(names, (C_j, 2), (C_k, 2), *((V, 1) for V in (*V_j, *V_k)))
    pose = from_rotation_translation(C_k[..., :3, :3], C_j[..., :3, 3])
    rates = np.empty((count, *shape, 6))
    for rate, at_j, V in zip(rates, convert_twist(C_j, V_j, "spatial", "hybrid"), V_k, strict=True):
        rate[..., :3], rate[..., 3:] = V[..., :3], at_j[..., 3:]
    return MovingFrame(pose, *convert_twist(pose, list(rates), "hybrid", "body"))


def twists_in_frame(frame: MovingFrame, *rates: Any) -> tuple[Array, ...]:
    """A twist and its derivatives, measured and resolved in a moving frame; each (..., 6).

    `rates` are (twist, acceleration, ...) in spatial representation. They follow from
    V^s' = Ad_o V' + ad_{V_o} V^s, before [M18d] (60), corrected, with V_o the spatial twist of the
    frame, and from its time derivatives.
    """
    pose, F = _frame(frame, len(rates) - 1)
    V = _screws("", rates)
    _common(("frame", *_names("", len(V))), (pose, 2), *((x, 1) for x in V))
    to_frame = Ad(inverse(pose))
    # seen[k] is the k-th derivative of V^s, resolved in the frame. The derivatives of its
    # components follow from (Ad_o x)' = Ad_o (x' + ad_F x) and are appended.
    seen = [[to_frame @ x[..., None]] for x in V]
    for order in range(len(V) - 1):
        for k in range(len(V) - 1 - order):
            seen[k].append(seen[k + 1][order] - leibniz(order, lambda X, Y: _ad(X) @ Y, F, seen[k]))
    return tuple(x[..., 0] for x in seen[0])


def rigid_body_inertia(
    pose: Any, M_b: Any, *, representation: Representation | MovingFrame = "body"
) -> Array:
    """The inertia matrix M (..., 6, 6) of a body, in any representation; kg m^2, kg m and kg.

    `pose` is (..., 4, 4), `M_b` (..., 6, 6) about the origin of the body frame in its axes. [M18d]
    (34) spatial, (40) body, (47) and (51) hybrid, (61) and (64) in a moving frame.
    """
    M, _, _, U, _ = _view(pose, M_b, [], representation)
    return np.asarray(transposed(U) @ M @ U)


def rigid_body_inertia_dot(
    pose: Any, M_b: Any, twist: Any, *, representation: Representation | MovingFrame = "body"
) -> Array:
    """The time derivative M' (..., 6, 6) of :func:`rigid_body_inertia` for a `twist` (..., 6).

    [M18d] (37), the equation before (48), and the same in other frames; zero in body
    representation.
    """
    M, V, F, U, Ud = _view(pose, M_b, [twist], representation)
    half = transposed(U) @ M @ Ud
    return np.asarray(transposed(U) @ _inertia_rates(M, V, F)[1] @ U + half + transposed(half))


def rigid_body_momentum(
    pose: Any, M_b: Any, twist: Any, *, representation: Representation | MovingFrame = "body"
) -> Array:
    """The momentum Pi = M V (..., 6), angular part first: kg m^2/s and kg m/s; [M18d] (35)."""
    M, V, _, U, _ = _view(pose, M_b, [twist], representation)
    return np.asarray((transposed(U) @ M @ V[0])[..., 0])


def rigid_body_coriolis_matrix(
    pose: Any, M_b: Any, twist: Any, *, representation: Representation | MovingFrame = "body"
) -> Array:
    """The Coriolis matrix C (..., 6, 6) of one body; M' - 2C is skew symmetric. [M18d] remark 2.

    C = M ad_F - ad_V^T M, so W = M V' + C V. In spatial representation this is -ad_V^T M. In body
    representation the shorter -ad_V^T M of (41) gives the same C V, but M' - 2C is then not skew
    symmetric.
    """
    M, V, F, U, Ud = _view(pose, M_b, [twist], representation)
    C = M @ _ad(F[0]) - transposed(_ad(V[0])) @ M
    return np.asarray(transposed(U) @ (C @ U + M @ Ud))


def newton_euler(
    pose: Any,
    M_b: Any,
    twist: Any,
    acceleration: Any,
    *,
    representation: Representation | MovingFrame = "body",
) -> Array:
    """Newton-Euler equations: the wrench W (..., 6) for the motion of a body, without gravity.

    N m and N. [M18d] (38) spatial, (41) body, (53) hybrid, (56) and (57) mixed, (60) and (63) in a
    moving frame.

    Parameters
    ----------
    pose : (..., 4, 4) C, body frame to inertial frame.
    M_b : (..., 6, 6) about the origin of the body frame, in its axes; see :func:`.spatial_inertia`.
    twist, acceleration : (..., 6) V and the derivative of its components, in `representation`.
    representation : one of the four, or a :class:`MovingFrame`; of the twists and of W.
    """
    return _wrenches(pose, M_b, [twist, acceleration], representation)[..., 0, :]


def newton_euler_rates(
    pose: Any,
    M_b: Any,
    twist: Any,
    acceleration: Any,
    jerk: Any,
    jounce: Any,
    *,
    representation: Representation | MovingFrame = "body",
) -> Array:
    """W of :func:`newton_euler` with two componentwise time derivatives, (..., 3, 6).

    N m, N, and per s^k. The momentum balance differentiated by the product rule, as in [M21] (19),
    (22) corrected and (39). In spatial representation the result can be passed to the dynamics in
    `wrenches`.
    """
    return _wrenches(pose, M_b, [twist, acceleration, jerk, jounce], representation)


def _wrenches(pose: Any, M_b: Any, rates: list[Any], representation: Any) -> Array:
    """W and its derivatives (..., len(rates) - 1, 6): W^(k) = Pi^(k+1) - (ad_F^T Pi)^(k)."""
    M, V, F, _, _ = _view(pose, M_b, rates, representation)
    inertias = _inertia_rates(M, V, F)
    Pi = [leibniz(k, np.matmul, inertias, V) for k in range(len(V))]
    coad = [transposed(_ad(x)) for x in F]
    W = [Pi[k + 1] - leibniz(k, np.matmul, coad, Pi) for k in range(len(V) - 1)]
    wrenches = [x[..., 0] for x in W]
    if representation == "mixed":
        twists = [x[..., 0] for x in V]
        wrenches = convert_wrench(pose, twists, wrenches, "hybrid", "mixed")
    return np.stack(wrenches, axis=-2)


class _View(NamedTuple):
    """A body in a frame: M, the twists V and F as columns (..., 6, 1), and U, U'.

    For the mixed representation M, V and F are hybrid, and V^h = U V^m. Otherwise U = 1.
    """

    M: Array
    V: list[Array]
    F: list[Array]
    U: Array
    Ud: Array


def _view(pose: Any, M_b: Any, rates: list[Any], representation: Any) -> _View:
    C, M = as_pose("pose", pose), as_array("M_b", M_b, (6, 6))
    given = _screws("", rates)
    names = ("pose", "M_b", *_names("", len(given)))
    arrays = [(C, 2), (M, 2), *((x, 1) for x in given)]
    V = [x[..., None] for x in given]
    U, Ud = np.eye(6), np.zeros((6, 6))
    if isinstance(representation, MovingFrame):
        o, F = _frame(representation, len(V) - 1)
        _common((*names, "frame"), *arrays, (o, 2))
        return _View(inertia.transform(M, inverse(o) @ C), V, F, U, Ud)
    check_representation(representation)
    shape = _common(names, *arrays)
    if representation == "spatial":
        return _View(inertia.transform(M, C), V, [0 * x for x in V], U, Ud)
    if representation == "body":
        return _View(np.broadcast_to(M, (*shape, 6, 6)), V, V, U, Ud)
    turn = from_rotation_translation(C[..., :3, :3], np.zeros(3))
    if representation == "mixed":
        V = [x[..., None] for x in convert_twist(C, given, "mixed", "hybrid")]
    F = [x * (np.arange(6) >= 3)[:, None] for x in V]
    if representation == "mixed":
        turning = Ad(turn) * (np.arange(6) < 3)  # diag(R, 0)
        U = turning + np.diag((0, 0, 0, 1, 1, 1))
        Ud = _ad(V[0] - F[0]) @ turning if V else Ud
    return _View(inertia.transform(M, turn), V, F, U, Ud)


def _frame(frame: MovingFrame, count: int) -> tuple[Array, list[Array]]:
    """The pose of a frame, and its twist with derivatives: `count` columns, at least one."""
    pose = as_pose("frame.pose", frame.pose)
    rates = _screws("frame.", frame[1 : max(count, 1) + 1])
    names = ("frame.pose", *_names("frame.", len(rates)))
    _common(names, (pose, 2), *((x, 1) for x in rates))
    return pose, [x[..., None] for x in rates]


def _names(prefix: str, count: int) -> list[str]:
    return [prefix + name for name in TWIST_ROWS[:count]]


def _screws(prefix: str, rates: Sequence[Any]) -> list[Array]:
    """A twist and its derivatives as arrays (..., 6); InputError names a missing one."""
    names = _names(prefix, len(rates))
    for name, rate in zip(names, rates, strict=True):
        if rate is None:
            raise InputError(f"{name} is required, got None")
    return [as_array(name, rate, (6,)) for name, rate in zip(names, rates, strict=True)]


def _common(names: Sequence[str], *arrays: tuple[Array, int]) -> tuple[int, ...]:
    """The batch shape of arrays, each given with the number of its own trailing dimensions."""
    return broadcast_shapes(names, [x.shape[: x.ndim - own] for x, own in arrays])


def _inertia_rates(M: Array, V: list[Array], F: list[Array]) -> list[Array]:
    """M and one derivative for each known twist: M' = -ad_K^T M - M ad_K with K = V - F."""
    relative = [_ad(v - f) for v, f in zip(V, F, strict=False)]
    derivatives = [M]
    for k in range(len(relative)):
        product = leibniz(k, np.matmul, derivatives, relative)
        derivatives.append(-product - transposed(product))
    return derivatives


def _ad(X: Array) -> Array:
    """ad_X (..., 6, 6) of a column (..., 6, 1)."""
    return ad(X[..., 0])
