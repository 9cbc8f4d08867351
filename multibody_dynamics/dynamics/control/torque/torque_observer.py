# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Disturbance observer of motors against their springs, for torque control.

A motor in front of a spring of deflection phi = theta - q, with its link at rest, obeys

    M_m phi'' + load + friction(theta') = tau_m - d

where d contains everything that the model lacks: errors of M_m and of friction, and the motion of
the link, M_m q''. The observer is this model with a low-pass filter of order 2,

    d = F [ tau_m - friction - load - M_m phi'' ],    F = w^2 / (s + w)^2,

so phi'' is never computed explicitly. A torque source adds a share a of d to its motor torque: at
a = 1 the spring torque follows its reference without steady-state error for any motion of the link
(K. Kong, J. Bae, M. Tomizuka, IEEE/ASME T-MECH 2009; S. Oh, K. Kong, T-MECH 2017). Below w, the
apparent impedance at the link is multiplied by 1 - a; with a = 1, the joint is not passive; with a
smaller a, it may be (W. Rampeltshammer, A. Keemink, H. van der Kooij, T-MECH 2020;
:func:`passive_share`).

Stable by construction: the model has a locked link, the case with the lowest resonance. With the
torques -P phi - D phi' of the source and c = 1 + M_m / m for a link of inertia m, the closed
loop is

    (M_m s^2 + D s + P + c K) (s + w)^2 - a (c - 1) K w^2 = 0,

the stable loop without observer and two poles at -w, less a constant. By the Routh-Hurwitz
criterion it remains stable while the constant term is positive, as it is for every link, locked or
free, every bandwidth w, and 0 <= a <= 1. Delay and sampling narrow this: :mod:`torque_loop` checks
it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import Array, IndependentCopies, InputError


class TorqueObserver(IndependentCopies):
    """The disturbance d (m,) in N m for the control cycle; discretised anew if the period changes.

    >>> observer = TorqueObserver(inertia, bandwidth, period=1e-3)
    >>> d = observer.update(phi, load, acted)  # every cycle

    Parameters
    ----------
    inertia : M_m (m,), kg m^2.
    bandwidth : w (m,) in rad/s; d stays 0 for a motor with w = 0.
    period : s from one update to the next; :meth:`set_period` changes it.

    The filter is exact for a motor torque that was held and for deflections and loads that were
    linear in time since the last update. Attribute: `disturbance` (m,), which `update` overwrites.
    """

    def __init__(self, inertia: Any, bandwidth: Any, *, period: float = 1e-3) -> None:
        self.inertia = np.array(inertia, dtype=np.float64)
        self.bandwidth = np.array(bandwidth, dtype=np.float64)
        m = len(self.inertia)
        if self.bandwidth.shape != (m,) or not (self.bandwidth >= 0.0).all():
            raise InputError(f"bandwidth is {bandwidth}: must be {m} values, zero or greater")
        self.disturbance: Array = np.zeros(m)
        self._on = self.bandwidth > 0.0
        self._stiffness = self.inertia * self.bandwidth**2  # M_m w^2
        self._state, self._before, self._now = np.zeros((3, 2, m))
        self._is_new = True
        self._period = 0.0
        self.set_period(period)

    @property
    def memory(self) -> tuple[Array, ...]:
        """The arrays that every update after the first reads and overwrites."""
        return self._state, self._before

    def reset(self) -> None:
        """Start again from d = 0 at the next update."""
        self.disturbance[:] = 0.0
        self._is_new = True

    def set_period(self, period: float) -> None:
        """Discretise for another period in s; the state is kept."""
        if period == self._period:
            return
        self._period = float(period)
        self._matrices = discretised(self.bandwidth, self._period)

    def update(self, deflection: Array, load: Array, acted: Array) -> Array:
        """Advance `disturbance` by a period, from phi and load now, and the torque that acted.

        deflection : (m,) theta - q in rad. load : (m,) torques of springs and dampers on the motors
        in N m. acted : (m,) motor torques in N m that acted since the last update, less the
        modelled friction and, where the acceleration q'' of the link is known, M_m q''.

        The first update starts with d = 0. Entries of motors with w = 0 may be NaN.
        """
        now, before, on = self._now, self._before, self._on
        np.multiply(self._stiffness, deflection, out=now[0], where=on)
        np.copyto(now[1], load, where=on)
        if self._is_new:
            self._state[0], self._state[1] = -now[0], 0.0
            self._is_new = False
        else:
            self._state[:] = advanced(
                self._matrices, self.bandwidth, self._state, before, now, np.where(on, acted, 0.0)
            )
        before[:] = now
        # x_1 + M w^2 phi is F [M phi'' + load - tau]
        np.add(self._state[0], now[0], out=self.disturbance)
        np.negative(self.disturbance, out=self.disturbance)
        return self.disturbance


def advanced(
    matrices: Sequence[Array], bandwidth: Any, state: Any, before: Any, now: Any, acted: Any
) -> Array:
    """The state (2, ...) of the observer after a period: x' = A x + (-2 w, -w^2) p + (0, w^2) (load
    - acted), with p = M w^2 phi.

    before, now : p and load (2, ...), linear in between. acted : (...) N m, held.
    """
    transition, held, ramp = matrices
    w = bandwidth

    def source(rows: Any) -> Array:
        return np.array([-2.0 * w * rows[0], w**2 * (rows[1] - acted - rows[0])])

    last = source(now)
    rise = last - source(before)
    rows = "ij...,j...->i..."
    after = np.einsum(rows, transition, state) + np.einsum(rows, held, last)
    return np.asarray(after - np.einsum(rows, ramp, rise))


def discretised(bandwidth: Any, period: float) -> tuple[Array, Array, Array]:
    """exp(A h), the integral of exp(A s) ds and that of exp(A s) s / h ds over a period h, each
    (2, 2, ...), for A = [[-2 w, 1], [-w^2, 0]].

    A + w is nilpotent: exp(A s) = exp(-w s) (1 + (A + w) s).
    """
    w = np.asarray(bandwidth, dtype=np.float64)
    h, x = period, w * period
    nilpotent = np.array([[-w, np.ones_like(w)], [-(w**2), w]])
    one = np.multiply.outer(np.eye(2), np.ones_like(w))
    decay = np.exp(-x)
    safe = np.where(w > 0.0, w, 1.0)
    moments = [  # of exp(-w s) s^k; where w = 0, h^(k + 1) / (k + 1)
        np.where(w > 0.0, moment, h ** (k + 1) / (k + 1))
        for k, moment in enumerate(
            (
                -np.expm1(-x) / safe,
                (-np.expm1(-x) - x * decay) / safe**2,
                (-2.0 * np.expm1(-x) - x * (2.0 + x) * decay) / safe**3,
            )
        )
    ]
    transition = decay * (one + nilpotent * h)
    held = one * moments[0] + nilpotent * moments[1]
    ramp = (one * moments[1] + nilpotent * moments[2]) / h
    return transition, held, ramp


def passive_share(damping: Any, stiffness: Any, bandwidth: Any, lag: float = 0.0) -> Array:
    """The largest share a of the disturbance with which a joint remains passive at its link.

    damping : D, N m s/rad, that the torque source adds to the deflection. stiffness : P + K in
    N m/rad, of source and spring. bandwidth : w of the observer, rad/s. lag : s, by which the
    compensation acts late. Scalars or rows.

    Without lag, the impedance at the link is K M_m s (1 - a F) / (M_m s^2 + D s + P + K), and its
    real part at the frequency x^(1/2) has the sign of

        D x^2 + (2 a w^3 M_m + (2 + a) w^2 D) x + w^3 ((1 - a) D w - 2 a (P + K)),

    which is never negative where the constant term is not: a / (1 - a) <= D w / (2 (P + K)). With a
    lag, the same holds at low frequencies with 2 / w + lag in place of 2 / w; high frequencies are
    then not passive with any share.
    """
    slow = np.asarray(stiffness) * (2.0 + np.asarray(bandwidth) * lag)
    viscous = np.maximum(np.asarray(damping, dtype=np.float64) * bandwidth, 0.0)
    return np.asarray(viscous / (viscous + slow))
