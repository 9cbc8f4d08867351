# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The linear equations of an arm with elastic joints near rest, as plain matrices.

    M x'' + D x' + K x = tau,    x = (q, theta)

M contains the mass matrix of the links and the inertias of the motors; K contains the springs, the
gravity stiffness and end stops; D contains dampers and friction. Controllers and drives add their
feedback to K and D. This module computes no dynamics: the caller provides the mass matrix and the
gravity stiffness.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, IndependentCopies, InputError
from .actuators import Actuators

ComplexArray = NDArray[np.complex128]

SINGULAR = 1e-13  # smallest eigenvalue of M, scaled to ones on its diagonal


class Modes(NamedTuple):
    """`values` (2 k,): eigenvalues in 1/s of the k free coordinates. `shapes` (n + m, 2 k): columns
    of the deflections of n links, then of m motors, zero for the motors of rigid joints."""

    values: ComplexArray
    shapes: ComplexArray


class StateSpace(NamedTuple):
    """(y, y')' = A (y, y') + B tau of k free coordinates y, with A (2 k, 2 k), B (2 k, m) and
    (q, theta) = join y, join (n + m, k)."""

    A: Array
    B: Array
    join: Array


class LinearArm(IndependentCopies):
    """The linearised elastic-joint arm near rest: M x'' + D x' + K x = 0, where x = (q, theta) are
    n link and m motor coordinates.

    actuators : motors of each joint, with their inertias and the dampers in parallel with springs.
    mass : (n, n) mass matrix of the links, without the rotors of `actuators`, kg m^2; or (b + n, b
        + n) with b coordinates of a moving base first, which come last in x = (q, theta, base).

    Attributes: `mass`, `damping`, `stiffness`, each (n + m + b, n + m + b); the caller adds to
    them. Initially `damping` contains the dampers, and `stiffness` is zero. `links`, `motors` and
    `base` are the indices of q, theta and the base in x, `link_of_motor` (m,) is the index of each
    motor's link.

    At rigid joints theta = q: the motor's equation is added to that of the link.
    """

    def __init__(self, actuators: Actuators, mass: Array) -> None:
        n, joint = actuators.n, actuators.joint_of_motor
        m, b = len(joint), len(mass) - n
        size = n + m + b
        self.links, self.motors, self.link_of_motor = np.arange(n), n + np.arange(m), joint
        self.base = n + m + np.arange(b)
        self._joint_names, self._is_free = actuators.joint_names, ~actuators.is_rigid[joint]
        self.mass: Array = np.zeros((size, size))
        bodies = np.concatenate((self.base, self.links))
        self.mass[np.ix_(bodies, bodies)] = mass
        self.mass[self.motors, self.motors] = actuators.motor_inertia
        self.stiffness: Array = np.zeros((size, size))
        self.damping = self.between(actuators.damping[joint])

    def between(self, values: Array) -> Array:
        """(n + m, n + m) matrix of springs or dampers between each motor and its link, whose
        stiffness in N m/rad or damping in N m s/rad is `values` (m,)."""
        deflection = np.zeros((len(self.motors), len(self.mass)))
        rows = np.arange(len(self.motors))
        deflection[rows, self.motors] = 1.0
        deflection[rows, self.link_of_motor] = -1.0
        return np.asarray(deflection.T * values @ deflection)

    def add_link_forces(self, stiffness: Array | float, damping: Array | float) -> None:
        """Add forces on the links, such as of gravity and passive springs; both (n, n)."""
        links = np.ix_(self.links, self.links)
        self.stiffness[links] += stiffness
        self.damping[links] += damping

    def add_feedback(self, gains: Array) -> None:
        """Add motor torques -gains . (q, q', theta, theta'), with the state of each motor's own
        joint; gains: (4, m)."""
        motors, links = self.motors, self.link_of_motor
        for matrix, of_link, of_motor in (
            (self.stiffness, gains[0], gains[2]),
            (self.damping, gains[1], gains[3]),
        ):
            matrix[motors, links] += of_link
            matrix[motors, motors] += of_motor

    def poles(self) -> ComplexArray:
        """(2 k,) eigenvalues in 1/s of the k free coordinates; M must be positive definite."""
        return np.linalg.eigvals(self.state_space().A).astype(np.complex128)

    def modes(self) -> Modes:
        """Eigenvalues and modes; M must be positive definite."""
        values, vectors = np.linalg.eig(self.state_space().A)
        n, free = len(self.links), self.motors[self._is_free]
        shapes = np.zeros((n + len(self.motors), len(values)), dtype=np.complex128)
        shapes[:n], shapes[free] = vectors[:n], vectors[n : n + len(free)]
        return Modes(values.astype(np.complex128), shapes)

    def motor_system(self) -> tuple[Array, Array, Array]:
        """A (2 k, 2 k), B (2 k, m) and C (m, 2 k) of z' = A z + B tau, theta = C z, with motor
        torques tau and the state z = (y, y') of the k free coordinates."""
        A, B, join = self.state_space()
        seen = join[self.motors]
        return A, B, np.hstack([seen, np.zeros_like(seen)])

    def state_space(self) -> StateSpace:
        """The first-order system of the free coordinates y, driven by motor torques: the links,
        then the motors that do not move with their links, then the base. Raises InputError for a
        singular M, naming the joints."""
        n, free = len(self.links), self._is_free
        own = n + int(free.sum())
        k = own + len(self.base)
        join = np.zeros((len(self.mass), k))
        join[self.links, self.links] = 1.0
        join[self.motors[~free], self.link_of_motor[~free]] = 1.0
        join[self.motors[free], np.arange(n, own)] = 1.0
        join[self.base, np.arange(own, k)] = 1.0
        M, K, D = (join.T @ matrix @ join for matrix in (self.mass, self.stiffness, self.damping))
        self._require_inertia(M)
        rates = np.linalg.solve(M, np.hstack([-K, -D, join[self.motors].T]))
        transition = np.vstack([np.eye(2 * k)[k:], rates[:, : 2 * k]])
        forced = np.vstack([0.0 * rates[:, 2 * k :], rates[:, 2 * k :]])
        return StateSpace(transition, forced, join[: n + len(self.motors)])

    def _require_inertia(self, M: Array) -> None:
        """InputError unless M is positive definite; it names the joints that move no inertia."""
        size = np.sqrt(np.maximum(np.diag(M), 0.0))
        scale = np.outer(size, size)
        values, vectors = np.linalg.eigh(M / np.where(scale > 0.0, scale, 1.0))
        if values[0] > SINGULAR:
            return
        n = len(self.links)
        idle = [
            f"'{self._joint_names[i]}'" if i < n else "the base"
            for i in np.flatnonzero(np.abs(vectors[:, 0]) > 0.3)
            if not n <= i < n + self._is_free.sum()
        ]
        raise InputError(
            "the mass matrix of the arm with its motors is singular: "
            f"{' and '.join(dict.fromkeys(idle))} can move without inertia; lock a joint, or give "
            "the bodies that it moves mass and inertia"
        )


def rigid_rotors(actuators: Actuators) -> Array:
    """(n,) inertias of the rotors that move with their links; zero for rotors behind springs."""
    return np.where(actuators.is_rigid, actuators.motor_inertia[actuators.first_motor], 0.0)
