# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Adaptive feedforward: masses and inertias estimated while the arm moves, within stated bounds.

The joint torques are linear in the inertial parameters pi, u = Y(q, q', q_r', q_r'') pi. With the
sliding error s = q' - q_r', q_r' = q_d' + slope (q_d - q), and with d, the torques demanded by the
model in use less those that act (:mod:`disturbance_compensation`), the composite law of J.-J. E.
Slotine and W. Li ("Composite adaptive control of robot manipulators", Automatica 25(4), 1989)
changes pi along

    -Y^T x,    x = d + D s.

Y is never formed: the passive recursion gives Y^T x in O(n), for each body as a matrix L with
x . u = sum_i tr(L_i P_i) (:class:`.PassiveInverseDynamicsSolver`), where P_i is its pseudo-inertia
(4, 4), the second moments of its mass at the points (p, 1). A body is physically possible where P
is positive semidefinite (P. M. Wensing, S. Kim, J.-J. E. Slotine, IEEE RA-L 3(1), 2018). Bodies are
therefore written as

    P_i = known_i + T_i N_i T_i^T,    low 1 <= N_i <= high 1 (eigenvalues),

    links    known = 0, T T^T the pseudo-inertia of the model, low = 1 - bound, high = 1 / low
    payload  known that of the model, T T^T = diag(r^2, r^2, r^2, 1) m_max about the origin of the
             frame of its body, low = 0, high = 1

and a step is N <- clip(N - step rate / (g + floor^2) T^T L T), where clip limits the eigenvalues:
the orthogonal projection onto a convex set, which never moves N away from any value within the
bounds. g = |T^T L T|^2 / |x|^2 is the squared torque per unit of N in the direction of x, so a
torque error that the parameters can explain completely decays at `rate` in 1/s.

Only the feedforward changes, u along the desired motion with both rates; no feedback loop and no
observer contains the estimates, so they cannot make the arm unstable. Where disturbances are
compensated as well, their observer keeps the design model, and the share explained by the estimates
is subtracted after passing the same low-pass: at rest, every torque is compensated exactly once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np

from ...core import Array, IndependentCopies, InputError, as_array, check_setting, setting
from ...model import MultibodyModel
from ...rigid import (
    InverseDynamicsSolver,
    PassiveInverseDynamicsSolver,
    mass_matrix,
    pseudo_inertias,
)
from ..signals.derivative_filter import MAX_STEP
from ..signals.low_pass import LowPass

ADAPTS = ("links", "payload")


@dataclass(frozen=True, kw_only=True)
class AdaptationSettings:
    """Settings of :class:`AdaptiveFeedforward`.

    Raises InputError for values out of range.
    """

    # fmt: off
    adapts: str = setting("links", choices=ADAPTS, parameter="adaptation",
        meaning="links: all bodies; payload: a single body with an unknown load")
    rate: float = setting(2.0, unit="1/s", bounds=(0.0, 100.0), parameter="adaptation_rate",
        meaning="decay rate of torque errors that the estimated parameters can explain")
    bound: float = setting(0.4, bounds=(0.0, 0.95), parameter="adaptation_bound",
        meaning="masses and second moments of links stay between 1 - bound and 1 / (1 - bound)"
        " times those of the model")
    payload_body: str | int | None = setting(None, parameter="payload_link",
        meaning="link that carries the payload; empty: the last one")
    payload_mass: float = setting(3.0, unit="kg", bounds=(0.0, 1e4),
        meaning="largest mass of a payload with its centre of mass at the origin of its link")
    payload_radius: float = setting(0.2, unit="m", bounds=(1e-3, 100.0),
        meaning="distance of the centre of mass of a payload from the origin of its link at which"
        " its largest mass is half of payload_mass")
    slope: float = setting(20.0, unit="1/s", bounds=(0.0, 1e4), parameter="",
        meaning="slope of the sliding error")
    sliding: float = setting(1.0, bounds=(0.0, 1e4), parameter="",
        meaning="factor of D = sliding slope diag(M) in the composite law; with 0, only the"
        " disturbances drive the adaptation")
    dead_zone: Any = setting(0.0, unit="N m or N", parameter="",
        meaning="(n,) or a scalar; disturbances smaller than this cause no adaptation")
    floor: float = setting(1.0, unit="N m", bounds=(1e-6, inf), parameter="",
        meaning="the adaptation slows down where the parameters affect the torques by less than"
        " this")
    # fmt: on

    def __post_init__(self) -> None:
        for each in fields(self):
            check_setting(each, getattr(self, each.name), is_bounded=True)
        zone = np.asarray(self.dead_zone, dtype=np.float64)
        if not (np.isfinite(zone).all() and (zone >= 0.0).all()):
            raise InputError(f"dead_zone is {self.dead_zone}: must be zero or greater")


class AdaptiveFeedforward(IndependentCopies):
    """Estimates masses and inertias, and corrects the feedforward with them.

    >>> settings = AdaptationSettings(adapts="payload")
    >>> adaptive = AdaptiveFeedforward(model, settings, lag_bandwidth=180.0)
    >>> adaptive.update(1e-3, (q, qd), desired, compensation.link)  # every cycle
    >>> adaptive.apply(desired, torques)  # Q, Q', Q'' (3, n), in place

    Parameters
    ----------
    lag_bandwidth : bandwidth in rad/s of the :class:`.LowPass` through which the disturbances have
        passed; 0 if they are not compensated.

    Attributes
    ----------
    is_active : whether `update` changes the estimates; may be switched at any time. In either
        case, the estimates stay in effect until :meth:`clear`.
    estimate : (k, 4, 4) N of the bodies that adapt, see the docstring of the module.
    pseudo_inertias : (N, 4, 4) pseudo-inertias of all bodies in the joint frames.
    explained, explained_rate : (n,) N m, N m/s: the torques that the estimates add, through the
        low-pass.

    Not thread-safe. Raises InputError for an unknown body, and for links without mass or without
    extent in some direction (a point, a rod or a plate), whose second moments cannot be scaled.
    """

    def __init__(
        self,
        model: MultibodyModel,
        settings: AdaptationSettings | None = None,
        *,
        lag_bandwidth: float = 0.0,
    ) -> None:
        self.settings = settings = settings or AdaptationSettings()
        n = model.n
        zone = as_array("dead_zone", np.full(n, settings.dead_zone), (n,), model.joint_names)
        self._dead_zone = zone
        self.is_active = True
        self._lag = LowPass(5 * n, lag_bandwidth) if lag_bandwidth else None
        self._share = LowPass(n, lag_bandwidth) if lag_bandwidth else None
        self.explained: Array = self._share.value if self._share else np.zeros(n)
        self.explained_rate: Array = self._share.rate if self._share else np.zeros(n)
        self._signals, self._origin = np.zeros((2, 5, n))
        self._is_started = False
        self._error = np.zeros(n)
        self._set_bodies(model)
        self.clear()

    def _set_bodies(self, model: MultibodyModel) -> None:
        settings = self.settings
        self.model = model
        model.require_tree("adaptive feedforward")
        self._passive = PassiveInverseDynamicsSolver(model)
        self._nominal = InverseDynamicsSolver(model, "body")
        self._adapted = InverseDynamicsSolver(model, "body")
        self._gain = (
            settings.sliding * settings.slope * np.diag(mass_matrix(model, np.zeros(model.n)))
        )
        P = pseudo_inertias(model)
        if settings.adapts == "links":
            self._bodies = np.arange(model.body_count)
            self._known, self._factor = np.zeros_like(P), self._factors(model, P)
            self._initial = np.tile(np.eye(4), (model.body_count, 1, 1))
            self._range = 1.0 - settings.bound, 1.0 / (1.0 - settings.bound)
        else:
            index = model.body_count - 1
            if settings.payload_body is not None:
                index = model.body_index(settings.payload_body)
            self._bodies, self._known = np.array([index]), P[[index]]
            r, m = settings.payload_radius, settings.payload_mass
            self._factor = (model.body_in_joint[index] * np.sqrt(m) * [r, r, r, 1.0])[None]
            self._initial, self._range = np.zeros((1, 4, 4)), (0.0, 1.0)
        self._factor_transposed = np.swapaxes(self._factor, -1, -2).copy()
        self.pseudo_inertias: Array = P

    @staticmethod
    def _factors(model: MultibodyModel, P: Array) -> Array:
        for body, each in zip(model.body_names, P, strict=True):
            if np.linalg.eigvalsh(each)[0] <= 0.0:
                raise InputError(
                    f"body '{body}' has no mass or no extent, or its inertia violates the triangle "
                    f"inequality: the links cannot adapt; correct it, or adapt a payload"
                )
        return np.asarray(np.linalg.cholesky(P), dtype=np.float64)

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model of the robot; the estimates N continue, relative to it."""
        if model.joint_names != self.model.joint_names:
            raise InputError(
                f"the joints of robot '{model.name}' differ from those of the estimate"
            )
        self._set_bodies(model)
        self._use()

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base from the next update on, see
        :meth:`.ModelSolver.move_base`."""
        for each in (self._passive, self._nominal, self._adapted):
            each.move_base(pose, rates)

    def reset(self) -> None:
        """Discard the filtered motion after an interruption; the estimates are kept."""
        self._is_started = False
        if self._lag is not None and self._share is not None:
            self._lag.reset()
            self._share.reset()

    def clear(self) -> None:
        """Return to the parameters of the model."""
        self.estimate: Array = self._initial.copy()
        self._use()
        self.reset()

    def masses(self) -> Iterator[tuple[str, float, float]]:
        """Name, estimated mass in kg, and mass in the model of each body that adapts."""
        model = pseudo_inertias(self.model)
        for k in self._bodies:
            name = self.model.body_names[k]
            yield name, float(self.pseudo_inertias[k, 3, 3]), float(model[k, 3, 3])

    def update(self, step: float, links: Any, desired: Array, disturbance: Array) -> None:
        """Update the estimates, `step` s after the last update.

        links : q, q' (n,). desired : (5, n) q_d .. q_d''''.
        disturbance : (n,) N m that acts on the links and is not part of the design model, for
        example that of a :class:`.DisturbanceCompensation`; zeros if it is not known. After a step
        longer than MAX_STEP, the motion counts as interrupted.
        """
        self._take(step, links, desired)
        x, slack = self._error, self._passive.direction
        np.add(disturbance, self.explained, out=x)
        np.clip(x, -self._dead_zone, self._dead_zone, out=slack)
        np.subtract(x, slack, out=x)
        x += self._gain * self._sliding
        if self.is_active and self.settings.rate and step <= MAX_STEP:
            self._adapt(step, x)
        if self._share is not None:
            nominal, adapted = self._nominal, self._adapted
            nominal.state[:] = adapted.state[:] = desired
            nominal.update()
            adapted.update()
            self._share.update(step, adapted.result[0] - nominal.result[0])

    def apply(self, motion: Array, torques: Array) -> None:
        """Add the effect of the estimates to Q, Q', Q'' (3, n), which the model gives for a motion
        (5, n), less the share that the compensation of disturbances already contains."""
        adapted, nominal = self._adapted, self._nominal
        adapted.state[:] = nominal.state[:] = motion
        adapted.update()
        nominal.update()
        torques += adapted.result
        torques -= nominal.result
        torques[0] -= self.explained
        torques[1] -= self.explained_rate

    def _take(self, step: float, links: Any, desired: Array) -> None:
        """Set the passive solver and the sliding error to the motion during which d acted."""
        if step > MAX_STEP:
            self.reset()
        signals, slope = self._signals, self.settings.slope
        signals[:2] = links
        signals[2] = desired[1] + slope * (desired[0] - signals[0])
        signals[3] = desired[2] + slope * (desired[1] - signals[1])
        signals[4] = signals[1] - signals[2]
        if not self._is_started:
            self._origin[:] = signals
            self._is_started = True
        if self._lag is not None:
            lagged = self._lag.update(step, (signals - self._origin).ravel())
            signals[:] = lagged.reshape(signals.shape)
            signals += self._origin
        self._passive.state[:2] = signals[:2]
        self._passive.reference[:2] = signals[2:4]
        self._sliding = signals[4]

    def _adapt(self, step: float, x: Array) -> None:
        """One step of the gradient along -Y^T x, projected."""
        size = x @ x
        if size == 0.0:
            return
        solver, settings = self._passive, self.settings
        solver.direction[:] = x
        solver.update()
        solver.update_moments()
        G = self._factor_transposed @ solver.moments[self._bodies] @ self._factor
        g = float((G * G).sum() / size)
        N = self.estimate - step * settings.rate / (g + settings.floor**2) * G
        values, axes = np.linalg.eigh(N)
        np.clip(values, *self._range, out=values)
        np.matmul(axes * values[:, None, :], np.swapaxes(axes, -1, -2), out=self.estimate)
        self._use()

    def _use(self) -> None:
        P = self._known + self._factor @ self.estimate @ self._factor_transposed
        self.pseudo_inertias[self._bodies] = P
        self._adapted.set_pseudo_inertias(self.pseudo_inertias)
