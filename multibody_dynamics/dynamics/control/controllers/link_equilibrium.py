# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Equilibrium of the links if the motors do not move: q_bar(theta), with the springs in balance.

    Q(q_bar, theta) = l(q_bar)

l(q) are the joint torques that the links need at rest: gravity alone for a hold, gravity less the
torques of an impedance for laws that set one. Evaluated at q_bar, which depends on the motors
alone, l compensates gravity exactly at rest without feeding link states back:

A. De Luca, B. Siciliano, L. Zollo, Automatica 2005, (9): the biased motor position theta - K^-1 g.
C. Ott, A. Albu-Schaeffer, A. Kugi, G. Hirzinger, IEEE T-RO 2008, section IV: h(q) = q + K^-1 l(q)
and its inverse q_bar, by iteration.

q_bar exists and is unique where K + dl/dq is positive definite: the springs must be stiffer than
the stiffness that l subtracts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core import Array, DynamicsError
from ...elastic import Actuators, SpringSolver

Links = Callable[[Array], tuple[Array, Array | None]]
"""A function of q (n,) that returns l(q) (n,) in N m, and the symmetric positive semidefinite
matrix (n, n) of the stiffness in -dl/dq that the iteration must know, None if there is none."""

FEW = 5  # up to this number, all iterations are run
SETTLED = 1e-13  # relative error of the torque at which a longer iteration ends
LEAST_SHARE = 0.05  # of the springs' stiffness, which must remain


class LinkEquilibrium:
    """q_bar(theta), followed from one control cycle to the next.

    Parameters
    ----------
    theta : (m,) motor positions, shared with the caller, who writes them.
    links : l(q), see :data:`Links`.

    Attributes
    ----------
    q : (n,) q_bar; at rigid joints the position of the motor. The caller may set a first guess.
    load : (m,) N m, loads of the motors at q_bar; l(q_bar) at rigid joints.
    torque : (n,) N m, l(q_bar).
    springs : torques, stiffness and deflections at q_bar; the caller sets `springs.stiffness`.
    excess : (n,) N m, Q - l at the last step of the iteration, zero at rigid joints: its error.
    """

    def __init__(self, actuators: Actuators, theta: Array, links: Links) -> None:
        n, m = actuators.n, len(actuators.motors)
        self.actuators, self._theta, self._links = actuators, theta, links
        self.q: Array = np.zeros(n)
        self.load: Array = np.zeros(m)
        self.torque: Array = np.zeros(n)
        self.excess: Array = np.zeros(n)
        self.springs = SpringSolver(actuators, q=self.q, theta=theta)
        self._is_rigid = actuators.is_rigid
        self._elastic = np.flatnonzero(~actuators.is_rigid)
        self._step = np.zeros(n)

    def start(self) -> None:
        """Begin with the links at the motor positions, as if the springs were not deflected."""
        self.q[:] = self._theta @ self.actuators.link_of_motors

    def update(self, iterations: int) -> Array:
        """Improve `q` by Newton steps without the slope of gravity, each of which divides the error
        by about K / |dg/dq|; returns `load`.

        If `iterations` exceeds FEW, it ends early once only rounding errors are left. Raises
        DynamicsError where l subtracts more stiffness than the springs have.
        """
        springs, rigid = self.springs, self._is_rigid
        np.copyto(self.q, self._theta[self.actuators.first_motor], where=rigid)
        for _ in range(iterations):
            springs.update()
            torque, stiffness = self._links(self.q)
            np.subtract(springs.torque, torque, where=~rigid, out=self.excess)
            error = self.excess
            if iterations > FEW and abs(error).max() <= SETTLED * (1.0 + abs(torque).max()):
                break
            if stiffness is None:
                # a stiffness drive outside its range may give zero or negative stiffness
                has_spring = ~rigid & (springs.stiffness_felt > 0.0)
                step = self._step
                np.divide(self.excess, springs.stiffness_felt, where=has_spring, out=step)
                np.add(self.q, step, out=self.q, where=has_spring)
            elif self._elastic.size:
                left = self.left_over(stiffness)
                self.q[self._elastic] += np.linalg.solve(left, self.excess[self._elastic])
        self.torque[:] = torque
        joint = self.actuators.joint_of_motor
        self.load[:] = np.where(rigid[joint], torque[joint], springs.load)
        return self.load

    def left_over(self, stiffness: Array) -> Array:
        """K - K_i of the elastic joints, positive definite, with the springs' present K.

        Raises DynamicsError, naming the joint, if less than LEAST_SHARE of the springs' stiffness
        is left in any direction.
        """
        chosen = self._elastic
        own = self.springs.stiffness_felt[chosen]
        left = -stiffness[np.ix_(chosen, chosen)]
        diagonal = np.einsum("ii->i", left)
        diagonal += (1.0 - LEAST_SHARE) * own
        try:
            np.linalg.cholesky(left)
        except np.linalg.LinAlgError:
            raise DynamicsError(
                "the stiffness of the impedance exceeds that of the springs in this position, most "
                f"of all at joint '{self._softest(left, own)}'; links behind springs cannot be "
                "stiffer than their springs"
            ) from None
        diagonal += LEAST_SHARE * own
        return left

    def _softest(self, left: Array, own: Array) -> str:
        """The joint that moves most in the direction in which the least stiffness is left, relative
        to that of the springs."""
        scale = 1.0 / np.sqrt(np.maximum(own, np.finfo(float).tiny))
        _, directions = np.linalg.eigh(left * np.outer(scale, scale))
        j = self._elastic[np.argmax(np.abs(directions[:, 0]))]
        return self.actuators.joint_names[j]
