# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of the dynamics with respect to any scalar parameter p, [K12] 4.2, Tables 5 to 7.

Body-fixed, with T_i the pose of body i in its parent, S_i the joint screw, I_i the inertia and F_i
the wrench that joint i transmits. The dependence on p enters as dq/dp, dq'/dp, dS/dp, dI/dp,
dF_ext/dp and dh_i/dp = T_i^-1 dT_i/dp (89), which appears where a twist x of the parent and a
wrench y of body i are transformed across the joint:

    d(Ad_{T^-1} x) = Ad_{T^-1} dx - ad_dh Ad_{T^-1} x                 (87)
    d(Ad_{T^-1}^T y) = Ad_{T^-1}^T (dy - ad_dh^T y)                   (88), corrected

Everything else follows from the product rule: the recursions below are those of Tables 2 to 4 over
values that carry their derivatives (:class:`Dual`), and each line yields a line of Tables 5 to 7.
Joints have one degree of freedom and a screw that is constant in the body, dS/dt = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import (
    Array,
    InputError,
    as_array,
    as_partial,
    as_real,
    broadcast_shapes,
    check_sequence,
    read_only,
    times,
    transposed,
)
from ...lie import se3, so3
from ...model import MultibodyModel, inertia, joint_chains
from ...rigid import (
    Wrenches,
    articulated_bodies,
    forward_kinematics,
    hybrid_dynamics,
    mass_matrix,
    prescribed_joints,
    wrench_rows,
)
from ..bodies.regressor import INERTIAL, UPPER
from ..geometry.geometric_sensitivity import Errors

Quantity = Literal["q", "qd", "qdd", "tau"]
AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False, kw_only=True)
class ParameterDependence:
    """How the dynamics depend on p parameters: the derivatives of all quantities that enter them.

    None means zero. Leading dimensions (...) are those of the states.

    Attributes
    ----------
    names : of the p parameters.
    q, qd, qdd, tau : (..., p, n) of the motion and of the joint torques.
    placement : (..., p, N, 6) U_i with T_i = B_i exp(U_i dp) exp(X_i q_i): how the placement of
        joint i on its parent moves, in the frame of body i at q_i = 0.
    screw : (..., p, N, 6) of X_i = S_i, the joint screw in the frame of its body.
    inertia : (..., p, N, 6, 6) of the spatial inertia about the origin of the body frame.
    rotor : (..., p, n) of the reflected inertia.
    wrench : (..., p, N, 6) of the external wrenches, in inertial axes about the inertial origin.
    gravity : (..., p, 3) of the acceleration of gravity.
    """

    names: tuple[str, ...]
    q: Array | None = None
    qd: Array | None = None
    qdd: Array | None = None
    tau: Array | None = None
    placement: Array | None = None
    screw: Array | None = None
    inertia: Array | None = None
    rotor: Array | None = None
    wrench: Array | None = None
    gravity: Array | None = None

    def __post_init__(self) -> None:
        for name in _TAILS:
            if getattr(self, name) is not None:
                value = as_real(f"derivatives of {name}", getattr(self, name))
                object.__setattr__(self, name, read_only(value))

    @classmethod
    def on_joints(
        cls, model: MultibodyModel, quantity: Quantity, joints: Sequence[str] | None = None
    ) -> ParameterDependence:
        """Dependence on q, q', q'' or tau of some joints (default: all): "joint3.qd".

        Raises InputError for an unknown quantity or joint.
        """
        if quantity not in ("q", "qd", "qdd", "tau"):
            raise InputError(f"quantity: expected q, qd, qdd or tau, got {quantity!r}")
        chosen = model.joint_names if joints is None else joints
        check_sequence("joints", chosen, "joints")
        unit = np.eye(model.n)[[model.joint_index(joint) for joint in chosen]]
        names = tuple(f"{joint}.{quantity}" for joint in chosen)
        return cls(names=names, **{quantity: unit.reshape(len(names), model.n)})

    @classmethod
    def on_mass(cls, model: MultibodyModel, body: str) -> ParameterDependence:
        """Dependence on the mass of a body or payload, with COM and inertia about it fixed."""
        com = _rigid_body(model, body)[1]
        by_mass = inertia.spatial_inertia(1.0, com, np.zeros((3, 3)))
        return cls._on_inertia(model, body, (f"{body}.mass",), by_mass[None])

    @classmethod
    def on_com(cls, model: MultibodyModel, body: str) -> ParameterDependence:
        """Dependence on the centre of mass of a body or payload, in body axes: "hand.com_x"."""
        mass, com, _ = _rigid_body(model, body)
        c, e = so3.hat(com), so3.hat(np.eye(3))
        rows = np.zeros((3, 6, 6))
        rows[:, :3, :3] = -mass * (e @ c + c @ e)
        rows[:, :3, 3:], rows[:, 3:, :3] = mass * e, -mass * e
        return cls._on_inertia(model, body, [f"{body}.com_{axis}" for axis in AXES], rows)

    @classmethod
    def on_inertia(cls, model: MultibodyModel, body: str) -> ParameterDependence:
        """Dependence on the inertia of a body or payload about its COM: "hand.inertia_xy".

        The entries xx, xy, xz, yy, yz, zz in the axes of the body; each off-diagonal one changes
        together with its transpose.
        """
        names = [f"{body}.inertia_{AXES[i]}{AXES[j]}" for i, j in UPPER]
        return cls._on_inertia(model, body, names, _inertial_basis()[4:])

    @classmethod
    def on_inertial_parameters(cls, model: MultibodyModel, body: str) -> ParameterDependence:
        """Dependence on the ten parameters of a body in which the torques are linear (`regressor`).

        m, m c (3) and the inertia about the origin of the body frame (6).
        """
        names = [f"{body}.{name}" for name in INERTIAL]
        return cls._on_inertia(model, body, names, _inertial_basis())

    @classmethod
    def _on_inertia(
        cls, model: MultibodyModel, body: str, names: Sequence[str], rows: Array
    ) -> ParameterDependence:
        """`rows` (p, 6, 6) in the frame of `body`, which may be merged into a moving body."""
        index, pose = model.body_index(body), model.frame(body).pose
        total = np.zeros((len(rows), model.body_count, 6, 6))
        total[:, index] = inertia.transform(rows, pose)
        return cls(names=tuple(names), inertia=total)

    @classmethod
    def on_rotors(cls, model: MultibodyModel) -> ParameterDependence:
        """Dependence on the reflected inertia of every joint: "joint3.rotor"."""
        names = tuple(f"{joint}.rotor" for joint in model.joint_names)
        return cls(names=names, rotor=np.eye(model.n))

    @classmethod
    def on_placement(cls, model: MultibodyModel, errors: Errors) -> ParameterDependence:
        """Dependence on :class:`ErrorScrew` parameters at zero; those of frames move no body."""
        chains, rows = joint_chains(model), np.zeros((len(errors), model.body_count, 6))
        for k, error in enumerate(errors):
            if error.joint is not None:
                mounted = chains[error.joint][0]
                rows[k, mounted] = as_array(error.name, error.screw, (6,))
        return cls(names=tuple(error.name for error in errors), placement=rows)

    @classmethod
    def on_wrench(cls, model: MultibodyModel, body: str) -> ParameterDependence:
        """Dependence on the wrench on a body, inertial axes and origin: "hand.mx" ... "fz"."""
        rows = np.zeros((6, model.body_count, 6))
        rows[:, model.body_index(body)] = np.eye(6)
        return cls(names=tuple(f"{body}.{c}{a}" for c in "mf" for a in AXES), wrench=rows)

    @classmethod
    def on_gravity(cls) -> ParameterDependence:
        """Dependence on the three components of the acceleration of gravity: "gravity.x"."""
        return cls(names=tuple(f"gravity.{axis}" for axis in AXES), gravity=np.eye(3))

    @classmethod
    def together(cls, *parts: ParameterDependence) -> ParameterDependence:
        """The parameters of several dependences, one after the other."""
        joined: dict[str, Any] = {}
        for name, axes in _TAILS.items():
            given = [getattr(part, name) for part in parts]
            shapes = [np.shape(x) for x in given if x is not None]
            if not shapes:
                continue
            tail = len(axes)
            lead = broadcast_shapes([name] * len(shapes), [s[: -tail - 1] for s in shapes])
            rows = [
                np.zeros((*lead, len(part.names), *shapes[0][-tail:]))
                if x is None
                else np.broadcast_to(x, (*lead, *np.shape(x)[-tail - 1 :]))
                for part, x in zip(parts, given, strict=True)
            ]
            joined[name] = np.concatenate(rows, axis=-tail - 1)
        return cls(names=tuple(name for part in parts for name in part.names), **joined)


_TAILS: dict[str, tuple[int, ...]] = {
    # the axes after the axis of the parameters; 0 denotes n for rows of joints, N for bodies
    "q": (0,), "qd": (0,), "qdd": (0,), "tau": (0,), "placement": (0, 6), "screw": (0, 6),
    "inertia": (0, 6, 6), "rotor": (0,), "wrench": (0, 6), "gravity": (3,),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Dual:
    """A quantity of one body: its value x (..., 1, *) and its derivatives dx (..., p, *)."""

    x: Array
    dx: Array

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.x + other.x, self.dx + other.dx)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.x - other.x, self.dx - other.dx)


def _product(f: Callable[[Array, Array], Array]) -> Callable[[Dual, Dual], Dual]:
    """The product rule for a bilinear f."""
    return lambda a, b: Dual(f(a.x, b.x), f(a.dx, b.x) + f(a.x, b.dx))


NOTHING = Dual(np.zeros(()), np.zeros(()))
_times = _product(times)
_dot = _product(lambda S, F: np.sum(S * F, axis=-1))
_outer = _product(lambda U, W: U[..., :, None] * W[..., None, :])
_scaled = _product(lambda S, x: S * x[..., None])
_multiplied = _product(np.multiply)
_ad = _product(lambda V, X: times(se3.ad(V), X))
_coad = _product(lambda V, P: times(se3.coad(V), P))  # -ad_V^T P


class HybridDynamicsSensitivity(NamedTuple):
    """dq''/dp and dtau/dp of all joints, including the given ones, each (..., n, p)."""

    dqdd: Array
    dtau: Array


def inverse_dynamics_sensitivity(
    model: MultibodyModel, by: ParameterDependence, q: Any, qd: Any, qdd: Any, *,
    wrenches: Wrenches | None = None,
) -> Array:  # fmt: skip
    """dtau/dp (..., n, p) of the inverse dynamics, [K12] Table 5.

    N m or N per unit of the parameter. q, qd, qdd (..., n) and the dependence `by` broadcast;
    `wrenches` as in :func:`.inverse_dynamics`. Raises InputError for wrong shapes or names, NaN or
    infinity.
    """
    if model.is_coupled:  # Q = G^T Q_tree at q_tree = G q
        rows = (model.spread(row) for row in _checked(model, q=q, qd=qd, qdd=qdd))
        of_tree = inverse_dynamics_sensitivity(
            model.tree, _on_tree(model, by), *rows, wrenches=wrenches
        )
        return model.collect(of_tree, -2)
    at = _Point(model, by, {"q": q, "qd": qd, "qdd": qdd}, wrenches)
    qdd, rotors, tau = at.joints("qdd"), at.joints("rotor"), at.joints("tau")
    Vd = at.at_the_base(at.up)
    for i, p in enumerate(at.parents):
        Vd[i] = at.inward(i, Vd[p]) + at.eta[i] + _scaled(at.S[i], qdd[i])
    F = [*at.bias, NOTHING]
    for i, p in reversed(list(enumerate(at.parents))):
        F[i] = F[i] + _times(at.I[i], Vd[i])
        tau[i] = _dot(at.S[i], F[i]) + _multiplied(rotors[i], qdd[i])
        F[p] = F[p] + at.outward(i, F[i])
    return at.derivatives(tau)


def forward_dynamics_sensitivity(
    model: MultibodyModel, by: ParameterDependence, q: Any, qd: Any, tau: Any, *,
    wrenches: Wrenches | None = None,
) -> Array:  # fmt: skip
    """dq''/dp (..., n, p) of the forward dynamics, [K12] Table 6 with its erratum.

    This is Table 7 without prescribed joints. Arguments and errors are those of
    :func:`inverse_dynamics_sensitivity`; DynamicsError where the mass matrix is singular.
    """
    zero = np.zeros(model.n)
    return hybrid_dynamics_sensitivity(
        model, by, q, qd, prescribed=(), qdd=zero, tau=tau, wrenches=wrenches
    ).dqdd


def hybrid_dynamics_sensitivity(
    model: MultibodyModel, by: ParameterDependence, q: Any, qd: Any, *,
    prescribed: Sequence[str | int], qdd: Any, tau: Any, wrenches: Wrenches | None = None,
) -> HybridDynamicsSensitivity:  # fmt: skip
    """dq''/dp and dtau/dp (..., n, p) of the hybrid dynamics, [K12] Table 7.

    As in :func:`.hybrid_dynamics`, only the entries of `qdd` and `by.qdd` for `prescribed` joints
    are used, and only the entries of `tau` and `by.tau` for free joints. The other arguments and
    the errors are those of :func:`forward_dynamics_sensitivity`.
    """
    held = prescribed_joints(model, prescribed)
    given = {
        "qdd": as_partial("qdd", qdd, held, model.joint_names),
        "tau": as_partial("tau", tau, ~held, model.joint_names),
    }
    articulated_bodies(model, q, prescribed=prescribed)  # raises if free joints move no inertia
    if model.is_coupled:
        return _coupled_sensitivity(model, by, held, q, qd, given, wrenches)
    at = _Point(model, by, {"q": q, "qd": qd, **given}, wrenches)
    qdd, tau, rotors = at.joints("qdd"), at.joints("tau"), at.joints("rotor")
    S, J, B = at.S, [*at.I, NOTHING], [*at.bias, NOTHING]  # articulated bodies: F = J V' + B
    Psi: dict[int, Dual] = {}
    for i, p in reversed(list(enumerate(at.parents))):
        if held[i]:
            Pi = J[i]
            a = at.eta[i] + _scaled(S[i], qdd[i])
        else:
            U = _times(J[i], S[i])
            D = _dot(S[i], U) + rotors[i]
            Psi[i] = Dual(1 / D.x, -D.dx / D.x**2)
            Pi = J[i] - _outer(_scaled(U, Psi[i]), U)
            rest = tau[i] - _dot(S[i], _times(J[i], at.eta[i]) + B[i])
            a = at.eta[i] + _scaled(S[i], _multiplied(Psi[i], rest))
        beta = B[i] + _times(J[i], a)
        J[p] = J[p] + at.outward_inertia(i, Pi)
        B[p] = B[p] + at.outward(i, beta)
    Vd = at.at_the_base(at.up)
    for i, p in enumerate(at.parents):
        a = at.inward(i, Vd[p]) + at.eta[i]
        if not held[i]:
            rest = tau[i] - _dot(S[i], _times(J[i], a) + B[i])
            qdd[i] = _multiplied(Psi[i], rest)
        Vd[i] = a + _scaled(S[i], qdd[i])
        if held[i]:
            F = _times(J[i], Vd[i]) + B[i]
            tau[i] = _dot(S[i], F) + _multiplied(rotors[i], qdd[i])
    return HybridDynamicsSensitivity(at.derivatives(qdd), at.derivatives(tau))


def _coupled_sensitivity(
    model: MultibodyModel, by: ParameterDependence, held: NDArray[np.bool_], q: Any, qd: Any,
    given: Mapping[str, Array], wrenches: Wrenches | None,
) -> HybridDynamicsSensitivity:  # fmt: skip
    """The derivatives of M q'' + h = tau, solved for those of the free joints."""
    prescribed = np.flatnonzero(held).tolist()
    qdd = hybrid_dynamics(
        model, q, qd, prescribed=prescribed, qdd=given["qdd"], tau=given["tau"], wrenches=wrenches
    ).qdd
    accelerated = None if by.qdd is None else by.qdd * held
    rate = inverse_dynamics_sensitivity(
        model, replace(by, qdd=accelerated, tau=None), q, qd, qdd, wrenches=wrenches
    )
    M, moved = mass_matrix(model, q), np.zeros_like(rate)
    if by.tau is not None:
        moved = moved + transposed(by.tau)
    torque = moved[..., ~held, :] - rate[..., ~held, :]
    dqdd = np.zeros_like(torque, shape=(*torque.shape[:-2], *rate.shape[-2:]))
    if accelerated is not None:
        dqdd = dqdd + transposed(accelerated)
    dqdd[..., ~held, :] = np.linalg.solve(M[..., ~held, :][..., ~held], torque)
    load = rate + M[..., :, ~held] @ dqdd[..., ~held, :]
    return HybridDynamicsSensitivity(dqdd, np.where(held[:, None], load, moved))


def _checked(model: MultibodyModel, **rows: Any) -> list[Array]:
    return [as_array(name, row, (model.n,), model.joint_names) for name, row in rows.items()]


def _on_tree(model: MultibodyModel, by: ParameterDependence) -> ParameterDependence:
    """The dependence of the joints of the tree, each with a coordinate of its own."""
    n = len(by.names), model.n
    given = {name: getattr(by, name) for name in ("q", "qd", "qdd", "tau", "rotor")}
    rows = {
        name: as_array(f"derivatives of {name}", value, n)
        for name, value in given.items()
        if value is not None
    }
    spread: dict[str, Any] = {name: model.spread(value) for name, value in rows.items()}
    if (rotor := rows.get("rotor")) is not None:
        spread["rotor"] = np.zeros((*rotor.shape[:-1], model.body_count))
        spread["rotor"][..., model.first_bodies] = rotor
    return replace(by, **spread)


class _Point:
    """The robot in one state, or a batch of them, and how it depends on the parameters.

    Lists of Duals over the bodies, in their frames: joint screws S, inertias I, twists V,
    eta = ad_V S q', and the bias -ad_V^T I V - F_ext.
    """

    def __init__(
        self,
        model: MultibodyModel,
        by: ParameterDependence,
        rows: Mapping[str, Any],
        wrenches: Wrenches | None,
    ) -> None:
        n, self._names = model.n, by.names
        self._model, self.parents = model, model.parents.tolist()
        self._values = {k: as_array(k, row, (n,), model.joint_names) for k, row in rows.items()}
        self._values["rotor"] = model.reflected_inertia
        self._values.setdefault("tau", np.zeros(n))
        self._rates = {name: self._given(by, name) for name in _TAILS}
        applied = wrench_rows(model, wrenches)[..., :6]
        shapes = {name: x.shape[:-1] for name, x in self._values.items()}
        shapes["wrenches"] = applied.shape[:-2]
        for name, tail in _TAILS.items():
            x = self._rates[name]
            shapes[f"derivatives of {name}"] = x.shape[: x.ndim - 1 - len(tail)]
        self._shape = broadcast_shapes(tuple(shapes), tuple(shapes.values()))

        # T_i = B_i exp(X_i q_i), and dh_i
        q, rates = self._values["q"][..., None, :, None], self._rates
        X = times(se3.Ad(se3.inverse(model.poses)), model.screws)
        before = [np.eye(4) if k < 0 else model.poses[k] for k in self.parents]
        turned = se3.exp(X * q)
        T = se3.inverse(np.stack(before)) @ model.poses @ turned
        self._Ad = se3.Ad(se3.inverse(T))
        self._dh = X * rates["q"][..., None] + times(se3.dexp(-X * q), rates["screw"]) * q
        self._dh = self._dh + times(se3.Ad(se3.inverse(turned)), rates["placement"])

        self.S = [Dual(X[i], rates["screw"][..., i, :]) for i in range(n)]
        self.I = [Dual(model.inertias[i], rates["inertia"][..., i, :, :]) for i in range(n)]
        self.V = self.at_the_base(Dual(np.zeros(6), np.zeros(6)))
        self.eta, self.bias = [], []
        pose, displaced = forward_kinematics(model, self._values["q"]).pose, [np.zeros(6)] * (n + 1)
        for i, qd in enumerate(self.joints("qd")):
            p = self.parents[i]
            moving = _scaled(self.S[i], qd)
            self.V[i] = self.inward(i, self.V[p]) + moving
            self.eta.append(_ad(self.V[i], moving))
            # F_ext = Ad_C^T W; displaced[i] = C_i^-1 dC_i/dp
            displaced[i] = times(self._Ad[..., i, :, :], displaced[p]) + self._dh[..., i, :]
            to_body = transposed(se3.Ad(pose[..., None, i, :, :]))
            F = times(to_body, applied[..., None, i, :])
            dF = times(to_body, rates["wrench"][..., i, :]) - times(se3.coad(displaced[i]), F)
            momentum = _times(self.I[i], self.V[i])
            self.bias.append(_coad(self.V[i], momentum) - Dual(F, dF))

    def _given(self, by: ParameterDependence, name: str) -> Array:
        """The derivatives of a quantity, checked; zeros for None."""
        tail = (len(self._names), *(size or self._model.n for size in _TAILS[name]))
        value = getattr(by, name)
        return as_array(f"derivatives of {name}", np.zeros(tail) if value is None else value, tail)

    def joints(self, name: str) -> list[Dual]:
        """A quantity of the joints, such as q'."""
        x, dx = self._values[name][..., None, :], self._rates[name]
        return [Dual(x[..., i], dx[..., i]) for i in range(self._model.n)]

    def at_the_base(self, X: Dual) -> list[Dual]:
        """A list with X of the base at -1, the parent of bodies on the base; the rest is unset."""
        return [X] * (self._model.n + 1)

    @property
    def up(self) -> Dual:
        """V'_0 = (0, -g): the base accelerates against gravity, footnote 6, corrected."""
        rates = -self._rates["gravity"]
        return Dual(
            np.concatenate([np.zeros(3), -self._model.gravity]),
            np.concatenate([np.zeros_like(rates), rates], axis=-1),
        )

    def inward(self, i: int, X: Dual) -> Dual:
        """Ad_{T^-1} X: a twist of the parent in the frame of body i, (87)."""
        Ad = self._Ad[..., i, :, :]
        x = times(Ad, X.x)
        return Dual(x, times(Ad, X.dx) - times(se3.ad(self._dh[..., i, :]), x))

    def outward(self, i: int, F: Dual) -> Dual:
        """Ad_{T^-1}^T F: a wrench of body i in the frame of the parent, (88) corrected."""
        coAd = transposed(self._Ad[..., i, :, :])
        turned = times(se3.coad(self._dh[..., i, :]), F.x)
        return Dual(times(coAd, F.x), times(coAd, F.dx + turned))

    def outward_inertia(self, i: int, Pi: Dual) -> Dual:
        """Ad_{T^-1}^T Pi Ad_{T^-1}."""
        Ad = self._Ad[..., i, :, :]
        turned = Pi.x @ se3.ad(self._dh[..., i, :])
        rate = Pi.dx - turned - transposed(turned)
        return Dual(transposed(Ad) @ Pi.x @ Ad, transposed(Ad) @ rate @ Ad)

    def derivatives(self, values: Sequence[Dual]) -> Array:
        """dx of the joints as (..., n, p)."""
        shape = (*self._shape, len(self._names))
        return np.stack([np.broadcast_to(value.dx, shape) for value in values], axis=-2)


def _rigid_body(model: MultibodyModel, body: str) -> tuple[float, Array, Array]:
    """Mass, centre of mass and inertia about it of a body without payloads, or of a payload."""
    load = model.payloads.get(body)
    M = load.inertia if load else model.link_inertias[model.body_index(body)]
    return inertia.decompose(inertia.transform(M, se3.inverse(model.frame(body).pose)))


def _inertial_basis() -> Array:
    """dI/dp (10, 6, 6) for p = m, m c and the six entries of the inertia about the origin."""
    rows = np.zeros((10, 6, 6))
    rows[0, 3:, 3:] = np.eye(3)
    rows[1:4, :3, 3:] = so3.hat(np.eye(3))
    rows[1:4, 3:, :3] = -so3.hat(np.eye(3))
    for k, (i, j) in enumerate(UPPER):
        rows[4 + k, i, j] = rows[4 + k, j, i] = 1
    return rows
