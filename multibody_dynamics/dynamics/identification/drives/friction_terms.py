# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Friction as a function of the velocity v and the torque Q that the joint transmits:

    f = viscous v + offset + (coulomb + load |Q|) tanh(v / v0) + stribeck S(v / vs),
    S(x) = sqrt(2 e) x exp(-x^2)

(S has the maximum 1 at x = 1 / sqrt(2); the sum of the smooth Coulomb and Stribeck terms is that of
P. Armstrong-Helouvry, P. Dupont, C. Canudas de Wit, "A survey of models, analysis tools and
compensation methods for the control of machines with friction", Automatica 30(7), 1994, made
smooth at v = 0 as in A. Specker, M. Buchholz, K. Dietmayer, ECC 2014.)

The velocities v0 and vs enter nonlinearly. A recording is nevertheless read only once: tanh(v / v0)
and S(v / vs) are tabulated for NODES values of v0 and vs, and for all values between them they are
cubic splines in log v0 and log vs, with coefficients that do not depend on v. The largest error is
3e-4 of the Coulomb term and 6e-3 of the Stribeck term (a test measures them).

With presliding, bristles y take the place of tanh(v / v0), and their distance d that of v0: after a
way s in one direction, y = sign(s) + (y_0 - sign(s)) exp(-|s| / d), see :mod:`.friction_law`.
"""

import numpy as np
from scipy.interpolate import CubicSpline

from ...core import Array, compiled
from ...elastic import moved_bristles

NODES = 24
SLOWEST, FASTEST = 0.01, 2.0  # nodes, relative to the rms velocity or to FAR
FAR = 2e-3  # rad or m, half the longest presliding distance


class VelocityNodes:
    """Values of v0 or vs at which a friction term is tabulated; with `has_bristles`, of d.

    speed : rms velocity of the joint, rad/s.
    """

    def __init__(self, speed: float, *, has_bristles: bool = False) -> None:
        self.speed, self.has_bristles = max(speed, 1e-6), has_bristles
        self.values = np.geomspace(SLOWEST, FASTEST, NODES) * (FAR if has_bristles else self.speed)
        self._spline = CubicSpline(np.log(self.values), np.eye(NODES))
        self._slope = self._spline.derivative()

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of log v0 or log vs: the first and the last node."""
        return float(np.log(self.values[0])), float(np.log(self.values[-1]))

    def weights(self, log_velocity: float | Array) -> tuple[Array, Array]:
        """Weights (..., NODES) of the tabulated terms for velocities (...), and their
        derivatives."""
        at = np.clip(log_velocity, *self.bounds)
        return np.asarray(self._spline(at)), np.asarray(self._slope(at))

    def coulomb(self, v: Array) -> Array:
        """tanh(v / v0) (k, NODES) for velocities (k,)."""
        return np.tanh(v[:, None] / self.values)

    def bristles(self, position: Array) -> Array:
        """y (k, NODES) along a motion (k,) without gaps, which begins with relaxed bristles."""
        found = np.zeros((len(position), NODES))
        _BEND(np.ascontiguousarray(position), self.values, found)
        return found

    def stribeck(self, v: Array) -> Array:
        """S(v / vs) (k, NODES) for velocities (k,)."""
        return stribeck_shape(v[:, None] / self.values)


def bend(position, distances, y):
    """Write the bristles with presliding `distances` (m,) along `position` (k,) to `y` (k, m)."""
    for j in range(distances.shape[0]):
        for k in range(1, position.shape[0]):
            y[k, j] = moved_bristles(y[k - 1, j], position[k] - position[k - 1], distances[j])


_BEND = compiled(bend)


def stribeck_shape(x: Array) -> Array:
    """S(x), with the maximum 1."""
    return np.asarray(np.sqrt(2.0 * np.e) * x * np.exp(-(x**2)))
