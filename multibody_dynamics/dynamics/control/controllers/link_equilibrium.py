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

from collections.abc import Callable

import numpy as np

from ...core import (
    Array,
    BoundCall,
    DynamicsError,
    IndependentCopies,
    compiled_exactly,
    inlined_exactly,
)
from ...elastic import Actuators, SpringSolver
from ..records.actuation import actuation

Links = Callable[[Array], tuple[Array, Array | None]]
"""A function of q (n,) that returns l(q) (n,) in N m, and the symmetric positive semidefinite
matrix (n, n) of the stiffness in -dl/dq that the iteration must know, None if there is none."""

FEW = 5  # up to this number, all iterations are run
SETTLED = 1e-13  # relative error of the torque at which a longer iteration ends
LEAST_SHARE = 0.05  # of the springs' stiffness, which must remain


@inlined_exactly
def links_at_motors(joint_of_motor, torque_share, theta, q):
    """The positions q of links whose springs are not deflected."""
    for i in range(q.shape[0]):
        q[i] = 0.0
    for j in range(theta.shape[0]):
        q[joint_of_motor[j]] += torque_share[j] * theta[j]


@inlined_exactly
def follow_rigid_motors(is_rigid, first_motor, theta, q):
    """Links without springs are where their motors are."""
    for i in range(q.shape[0]):
        if is_rigid[i]:
            q[i] = theta[first_motor[i]]


@inlined_exactly
def spring_excess(is_rigid, springs, wanted, excess):
    """The excess of the springs' torques over the wanted ones, zero at rigid joints; whether only
    rounding errors are left of it."""
    worst = 0.0
    largest = 0.0
    for i in range(wanted.shape[0]):
        largest = max(largest, abs(wanted[i]))
        if not is_rigid[i]:
            excess[i] = springs[i] - wanted[i]
            worst = max(worst, abs(excess[i]))
    return worst <= SETTLED * (1.0 + largest)


@inlined_exactly
def follow_springs(is_rigid, springs, wanted, stiffness, may_end, excess, q):
    """A Newton step of the links q without the slope of gravity, to where the springs have the
    wanted torques; returns whether they had, if the iteration may end then.

    A stiffness drive outside its range may give zero or negative stiffness: no step then.
    """
    is_settled = spring_excess(is_rigid, springs, wanted, excess)
    if may_end and is_settled:
        return True
    for i in range(q.shape[0]):
        if not is_rigid[i] and stiffness[i] > 0.0:
            q[i] += excess[i] / stiffness[i]
    return False


@inlined_exactly
def motor_loads(is_rigid, joint_of_motor, load, wanted, loads):
    """The loads of the motors: those of their springs, or of the links at rigid joints."""
    for j in range(loads.shape[0]):
        i = joint_of_motor[j]
        loads[j] = wanted[i] if is_rigid[i] else load[j]


_AT_MOTORS = compiled_exactly(links_at_motors)
_FOLLOW_MOTORS = compiled_exactly(follow_rigid_motors)
_EXCESS = compiled_exactly(spring_excess)
_FOLLOW = compiled_exactly(follow_springs)
_LOADS = compiled_exactly(motor_loads)


class LinkEquilibrium(IndependentCopies):
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
        self._elastic = np.flatnonzero(~actuators.is_rigid)
        a, springs = actuation(actuators), self.springs
        self._start = BoundCall(_AT_MOTORS, a.joint_of_motor, a.torque_share, theta, self.q)
        self._follow_motors = BoundCall(_FOLLOW_MOTORS, a.is_rigid, a.first_motor, theta, self.q)
        self._excess = BoundCall(_EXCESS, a.is_rigid, springs.torque, self.torque, self.excess)
        own = (a.is_rigid, springs.torque, self.torque, springs.stiffness_felt)
        self._follow = {
            may_end: BoundCall(_FOLLOW, *own, may_end, self.excess, self.q)
            for may_end in (False, True)
        }
        self._loads = BoundCall(
            _LOADS, a.is_rigid, a.joint_of_motor, springs.load, self.torque, self.load
        )
        for function in (self._start, self._follow_motors, self._excess, self._loads):
            function()  # compiles
        for follow in self._follow.values():
            follow()
        for row in (self.q, self.excess, self.load):
            row[:] = 0.0

    def start(self) -> None:
        """Begin with the links at the motor positions, as if the springs were not deflected."""
        self._start()

    def update(self, iterations: int) -> Array:
        """Improve `q` by Newton steps without the slope of gravity, each of which divides the error
        by about K / |dg/dq|; returns `load`.

        If `iterations` exceeds FEW, it ends early once only rounding errors are left. Raises
        DynamicsError where l subtracts more stiffness than the springs have.
        """
        may_end = iterations > FEW
        self._follow_motors()
        for _ in range(iterations):
            self.springs.update()
            self.torque[:], stiffness = self._links(self.q)
            if stiffness is None:
                if self._follow[may_end]():
                    break
                continue
            if self._excess() and may_end:
                break
            if self._elastic.size:
                left = self.remaining_stiffness(stiffness)
                self.q[self._elastic] += np.linalg.solve(left, self.excess[self._elastic])
        self._loads()
        return self.load

    def remaining_stiffness(self, stiffness: Array) -> Array:
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
