"""Motions in joint coordinates: of trees, and of anything with q'' = f(t, q, q')."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, as_mapping, read_only
from ..lie.lie_groups import Element, ProductGroup, R
from ..model import MultibodyModel
from ..rigid import ForwardDynamicsDerivativesSolver, ForwardDynamicsSolver
from .butcher import ButcherTableau
from .munthe_kaas_method import Tolerances, munthe_kaas
from .rosenbrock_method import rosenbrock

Law = Callable[[float, Array, Array], Any]
Progress = Callable[[float], None]

DIFFERENCE = 1e-6  # rad, m and per s: for the derivatives of a torque law


@dataclass(frozen=True, eq=False)
class JointMotion:
    """q and q' (k, ..., n) each at the times `time` (k,), s."""

    time: Array
    q: Array
    qd: Array


@dataclass(frozen=True, eq=False)
class JointSprings:
    """Torques stiffness (rest - q) - damping q', (n,) or a number for all joints, in the model's
    units: N m/rad and N/m. Raises InputError for negative ones."""

    stiffness: Any
    damping: Any = 0.0
    rest: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "rest"):
            given = getattr(self, name)
            value = as_array(f"springs: {name}", given, np.shape(given))
            if name != "rest" and (value < 0.0).any():
                raise InputError(f"springs: {name} is {value}; it cannot be negative")
            object.__setattr__(self, name, read_only(value))


def integrate_joints(
    acceleration: Law,
    q: Any,
    qd: Any,
    t_end: float,
    step: float,
    *,
    method: str | ButcherTableau = "rk4",
    tolerances: Tolerances | None = None,
    project: Callable[[Array, Array], tuple[Any, Any]] | None = None,
    progress: Progress | None = None,
) -> JointMotion:
    """The motion of q'' = acceleration(t, q, q') by an explicit Runge-Kutta method.

    q, qd : (..., n) at t = 0, of one motion or of a batch with one common step.
    project : (q, q') -> (q, q'), applied after every step: to close loops again.
    Other arguments and errors: as of :func:`.munthe_kaas`.
    """
    q = as_array("q", q, np.shape(q)[-1:])
    x = np.stack([q, as_array("qd", qd, q.shape)])

    def slope(t: float, X: Element) -> Array:
        q, qd = X[0].reshape(x.shape)
        return np.stack([qd, np.asarray(acceleration(t, q, qd), dtype=np.float64)]).ravel()

    def projected(X: Element) -> Element:
        assert project is not None
        return (np.stack(project(*X[0].reshape(x.shape))).ravel(),)

    time, states = munthe_kaas(
        ProductGroup([R(x.size)]), slope, (x.ravel(),), t_end, step, method=method,
        tolerances=tolerances, project=projected if project else None, progress=progress,
    )  # fmt: skip
    q, qd = np.stack([X[0].reshape(x.shape) for X in states], axis=1)
    return JointMotion(time, q, qd)


def integrate_tree(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    t_end: float,
    step: float,
    *,
    torque: Law | Any | None = None,
    springs: JointSprings | None = None,
    wrenches: Any | None = None,
    method: str | ButcherTableau = "rk4",
    tolerances: Tolerances | None = None,
    progress: Progress | None = None,
) -> JointMotion:
    """The motion of a robot from q, q' (n,) under joint torques, in steps of `step`, s.

    Parameters
    ----------
    torque : (n,) held, or a law (t, q, q') -> (n,); default none.
    springs : at the joints, beside `torque`.
    wrenches : {body: (6,)} that the world applies, held, inertial axes and origin.
    method : as of :func:`.munthe_kaas`; or "rosenbrock", implicit, of order 4 and A-stable with the
        exact Jacobian: for springs that would force an explicit method to small steps. A torque
        law is differentiated by differences there.

    Raises InputError for what does not fit together, DynamicsError for a singular mass matrix or a
    solution that grows beyond bounds.
    """
    n = model.n
    q, qd = (as_array(name, row, (n,), model.joint_names) for name, row in (("q", q), ("qd", qd)))
    held = np.zeros(n) if torque is None or callable(torque) else as_array("torque", torque, (n,))
    solver = ForwardDynamicsSolver(model)
    for body, wrench in as_mapping("wrenches", wrenches).items():
        row = as_array(f"wrench on '{body}'", wrench, (6,))
        solver.applied_wrenches[model.body_index(body), 0] = row

    def tau(t: float, q: Array, qd: Array) -> Array:
        total = held + (np.asarray(torque(t, q, qd), float) if callable(torque) else 0.0)
        if springs is not None:
            total = total + springs.stiffness * (springs.rest - q) - springs.damping * qd
        return total

    def acceleration(t: float, q: Array, qd: Array) -> Array:
        return solver(q, qd, tau(t, q, qd))[0].copy()

    if method != "rosenbrock":
        return integrate_joints(
            acceleration, q, qd, t_end, step, method=method, tolerances=tolerances,
            progress=progress,
        )  # fmt: skip
    if tolerances is not None:
        raise InputError("method 'rosenbrock' has a fixed step: no tolerances")
    derivatives = ForwardDynamicsDerivativesSolver(model)
    derivatives.applied_wrenches[:] = solver.applied_wrenches

    def slope(t: float, x: Array) -> Array:
        return np.concatenate([x[n:], acceleration(t, x[:n], x[n:])])

    def jacobian(t: float, x: Array) -> tuple[Array, Array]:
        q, qd = x[:n], x[n:]
        by_q, by_qd, by_tau = derivatives(q, qd, tau(t, q, qd))
        tau_q, tau_qd, tau_t = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
        if springs is not None:
            tau_q -= springs.stiffness * np.eye(n)
            tau_qd -= springs.damping * np.eye(n)
        if callable(torque):
            for j, d in enumerate(DIFFERENCE * np.eye(n)):
                tau_q[:, j] += _slope(torque, (t, q - d, qd), (t, q + d, qd))
                tau_qd[:, j] += _slope(torque, (t, q, qd - d), (t, q, qd + d))
            tau_t = _slope(torque, (t - DIFFERENCE, q, qd), (t + DIFFERENCE, q, qd))
        below = np.hstack([by_q + by_tau @ tau_q, by_qd + by_tau @ tau_qd])
        J = np.vstack([np.eye(n, 2 * n, n), below])
        return J, np.concatenate([np.zeros(n), by_tau @ tau_t])

    x = np.concatenate([q, qd])
    time, states = rosenbrock(slope, jacobian, x, t_end, step, progress=progress)
    return JointMotion(time, states[:, :n], states[:, n:])


def _slope(law: Law, before: tuple[Any, ...], after: tuple[Any, ...]) -> Array:
    difference = np.asarray(law(*after), float) - np.asarray(law(*before), float)
    return np.asarray(difference / (2 * DIFFERENCE))
