# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""External torques between two samples, from the momentum on either side of the springs.

With the generalised momentum p = M q' and M' = C + C^T (C from the Christoffel symbols), the links
obey

    p' = Q - beta - friction(q') + tau_ext,    beta = g - C^T q',

which needs no q''. Between two samples, h apart, the mean external torque follows without
differentiating q':

    mean tau_ext = (p_k - p_(k-1)) / h - mean (Q - beta - friction),

with the second mean by the trapezoidal rule; the motion itself contributes only the error of that
rule, which falls with h^2. Q acts on the links: torques of springs or sensors at elastic joints,
motor torques at rigid ones.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, IndependentCopies, as_array
from ...elastic import Actuators
from ...model import MultibodyModel
from ...rigid import momentum_solver


class DrivenLinks(NamedTuple):
    """The links on which the known torques Q act: arguments of :class:`MomentumBalance`."""

    model: MultibodyModel
    friction: Callable[[Array], Array]
    is_held: NDArray[np.bool_]


def driven_links(
    model: MultibodyModel,
    actuators: Actuators,
    link_viscous: Any = 0.0,
    *,
    has_sensors: bool = True,
) -> DrivenLinks:
    """The links for the Q that the `torque_sources` of the actuators provide.

    At elastic joints, Q is the torque of the springs (:meth:`.Actuators.springs`) or of a sensor,
    sampled. At rigid joints without a sensor (without `has_sensors`, at all rigid joints), it is
    the motor torque, held, and rotor and friction are taken into account here. `link_viscous` is
    friction at the links, (n,) or a scalar, in N m s/rad.

    Raises InputError for joints that are not those of the model.
    """
    actuators.refuse_other_joints(model)
    actuators.refuse_counting_twice(model.reflected_inertia)
    n = model.n
    by_motor = actuators.is_rigid & ~(actuators.has_torque_sensor & has_sensors)
    viscous = as_array("link_viscous", np.full(n, link_viscous), (n,), model.joint_names)
    rotors = np.where(by_motor, actuators.motor_inertia[actuators.first_motor], 0.0)
    coupled = model.with_reflected_inertia(model.reflected_inertia + rotors)
    return DrivenLinks(coupled, partial(_friction, actuators, by_motor, viscous), by_motor)


def _friction(actuators: Actuators, by_motor: Any, viscous: Array, qd: Array) -> Array:
    at_motors = actuators.friction(qd[actuators.joint_of_motor])[actuators.first_motor]
    return np.where(by_motor, at_motors, 0.0) + viscous * qd


class MomentumBalance(IndependentCopies):
    """Mean external joint torques (n,) between the samples of two successive updates.

    Parameters
    ----------
    model : the links; a rotor counts (as reflected inertia) where Q is its motor's torque.
    friction : maps q' (n,) to the friction torques (n,) in N m, on the side of q' and Q.
    is_held : (n,) or one for all: whether Q was held since the last update, like a commanded motor
        torque, and not sampled with q and q', like a measured torque.
    """

    def __init__(
        self,
        model: MultibodyModel,
        *,
        friction: Callable[[Array], Array] | None = None,
        is_held: Any = False,
    ) -> None:
        n = model.n
        self.model, self.friction = model, friction
        # weight of Q at the start of a step in its mean: 0.5 if sampled, 0 if held
        self._share = np.where(np.broadcast_to(is_held, (n,)), 0.0, 0.5)
        self._solver = momentum_solver(model)
        self._is_started = False
        self._momentum, self._torque = np.zeros((2, n))
        self._bias = np.zeros(n)  # beta + friction

    def reset(self) -> None:
        """Forget the last sample."""
        self._is_started = False

    @property
    def gravity(self) -> Array:
        """(n,) gravity torques of the links at the last sample."""
        return self._solver.result[2]

    def update(self, step: float, q: Array, qd: Array, torque: Array) -> Array | None:
        """The mean external torque (n,) since the last sample, `step` s ago; None for the first."""
        solver = self._solver
        solver.state[0], solver.state[1] = q, qd
        solver.update()
        momentum, bias, _ = solver.result
        if self.friction is not None:
            bias = bias + self.friction(qd)
        external = None
        if self._is_started:
            driving = self._share * self._torque + (1.0 - self._share) * torque
            driving -= 0.5 * (self._bias + bias)
            external = (momentum - self._momentum) / step - driving
        self._momentum[:], self._bias[:], self._torque[:] = momentum, bias, torque
        self._is_started = True
        return external
