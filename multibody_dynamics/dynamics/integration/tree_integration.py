# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Time integration in joint coordinates: kinematic trees, and any q'' = f(t, q, q')."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, IndependentCopies, InputError, as_array, as_mapping, exactly, read_only
from ..lie.lie_groups import Element, ProductGroup, R
from ..model import MultibodyModel
from ..rigid import ForwardDynamicsDerivativesSolver, ForwardDynamicsSolver
from .butcher import ButcherTableau
from .munthe_kaas_method import Tolerances, munthe_kaas
from .rosenbrock_method import rosenbrock

Law = Callable[[float, Array, Array], Any]
Progress = Callable[[float], None]

DIFFERENCE = 1e-6  # rad, m and per s: steps of the finite differences of a torque law


@dataclass(frozen=True, eq=False)
class JointMotion:
    """q and q', each (k, ..., n), rad or m and per s, at the times `time` (k,), s."""

    time: Array
    q: Array
    qd: Array


@dataclass(frozen=True, eq=False)
class JointSprings(IndependentCopies):
    """Springs and dampers at the joints: torques stiffness (rest - q) - damping q'.

    Each (n,) or one number for all joints; N m/rad or N/m, N m s/rad or N s/m, rad or m.

    Raises InputError for negative stiffness or damping.
    """

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
    acceleration: Law, q: Any, qd: Any, t_end: float, step: float, *,
    method: str | ButcherTableau = "rk4", tolerances: Tolerances | None = None,
    project: Callable[[Array, Array], tuple[Any, Any]] | None = None,
    progress: Progress | None = None,
) -> JointMotion:  # fmt: skip
    """Integrate q'' = acceleration(t, q, q') by an explicit Runge-Kutta method.

    q, qd : (..., n) at t = 0, of one motion or of a batch that shares its steps.
    project : (q, q') -> (q, q'), applied after each step, for example to close loops again.
    Other arguments and errors: see :func:`.munthe_kaas`.
    """
    q = as_array("q", q, np.shape(q)[-1:])
    x = np.stack([q, as_array("qd", qd, q.shape)])
    exactly("acceleration at t = 0", acceleration(0.0, *x), q.shape)

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
    model: MultibodyModel, q: Any, qd: Any, t_end: float, step: float, *,
    torque: Law | Any | None = None, springs: JointSprings | None = None,
    wrenches: Any | None = None, method: str | ButcherTableau = "rk4",
    tolerances: Tolerances | None = None, progress: Progress | None = None,
) -> JointMotion:  # fmt: skip
    """Integrate the motion of a robot from q, q' (n,) under joint torques, in steps of `step`, s.

    Parameters
    ----------
    torque : (n,) constant, or a law (t, q, q') -> (n,); default: none.
    springs : springs and dampers at the joints, in addition to `torque`.
    wrenches : {body: (6,)} constant wrenches that the world applies, in inertial axes about the
        inertial origin.
    method, tolerances, progress : see :func:`.munthe_kaas`; or the method "rosenbrock", implicit,
        A-stable, of order 4, with fixed steps, for springs so stiff that an explicit one would need
        small steps. Its Jacobian is exact, except for finite differences of a torque law.

    Raises InputError for inconsistent arguments, DynamicsError for a singular mass matrix or a
    solution that diverges.
    """
    n = model.n
    q, qd = (as_array(name, row, (n,), model.joint_names) for name, row in (("q", q), ("qd", qd)))
    held = np.zeros(n) if torque is None or callable(torque) else as_array("torque", torque, (n,))
    solver = ForwardDynamicsSolver(model)
    for body, wrench in as_mapping("wrenches", wrenches).items():
        row = as_array(f"wrench on '{body}'", wrench, (6,))
        solver.applied_wrenches[model.body_index(body), 0] += row  # two frames of one body
    torques = _Torques(held, torque if callable(torque) else None, springs)

    def acceleration(t: float, q: Array, qd: Array) -> Array:
        return solver(q, qd, torques(t, q, qd))[0].copy()

    if method != "rosenbrock":
        return integrate_joints(
            acceleration, q, qd, t_end, step, method=method, tolerances=tolerances,
            progress=progress,
        )  # fmt: skip
    if tolerances is not None:
        raise InputError("method 'rosenbrock' has a fixed step and takes no tolerances")
    derivatives = ForwardDynamicsDerivativesSolver(model)
    derivatives.applied_wrenches[:] = solver.applied_wrenches

    def slope(t: float, x: Array) -> Array:
        return np.concatenate([x[n:], acceleration(t, x[:n], x[n:])])

    def jacobian(t: float, x: Array) -> tuple[Array, Array]:
        return torques.jacobian(derivatives, t, x[:n], x[n:])

    x = np.concatenate([q, qd])
    time, states = rosenbrock(slope, jacobian, x, t_end, step, progress=progress)
    return JointMotion(time, states[:, :n], states[:, n:])


class _Torques(NamedTuple):
    """Joint torques as a function of (t, q, q'): constant ones, a law, and springs."""

    held: Array
    law: Law | None
    springs: JointSprings | None

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        total = self.held + (0.0 if self.law is None else np.asarray(self.law(t, q, qd), float))
        if self.springs is not None:
            spring = self.springs
            total = total + spring.stiffness * (spring.rest - q) - spring.damping * qd
        return total

    def derivatives(self, t: float, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Derivatives with respect to q and q' (n, n), and t (n,); the law's by central
        differences."""
        n = len(q)
        by_q, by_qd, by_t = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
        if self.springs is not None:
            by_q -= self.springs.stiffness * np.eye(n)
            by_qd -= self.springs.damping * np.eye(n)
        if self.law is not None:
            for j, d in enumerate(DIFFERENCE * np.eye(n)):
                by_q[:, j] += _slope(self.law, (t, q - d, qd), (t, q + d, qd))
                by_qd[:, j] += _slope(self.law, (t, q, qd - d), (t, q, qd + d))
            by_t = _slope(self.law, (t - DIFFERENCE, q, qd), (t + DIFFERENCE, q, qd))
        return by_q, by_qd, by_t

    def jacobian(
        self, dynamics: ForwardDynamicsDerivativesSolver, t: float, q: Array, qd: Array
    ) -> tuple[Array, Array]:
        """Derivatives of (q', q'') under these torques with respect to (q, q') (2 n, 2 n), and t
        (2 n,)."""
        n = len(q)
        by_q, by_qd, by_tau = dynamics(q, qd, self(t, q, qd))
        tau_q, tau_qd, tau_t = self.derivatives(t, q, qd)
        below = np.hstack([by_q + by_tau @ tau_q, by_qd + by_tau @ tau_qd])
        J = np.vstack([np.eye(n, 2 * n, n), below])
        return J, np.concatenate([np.zeros(n), by_tau @ tau_t])


def _slope(law: Law, before: tuple[Any, ...], after: tuple[Any, ...]) -> Array:
    difference = np.asarray(law(*after), float) - np.asarray(law(*before), float)
    return np.asarray(difference / (2 * DIFFERENCE))
