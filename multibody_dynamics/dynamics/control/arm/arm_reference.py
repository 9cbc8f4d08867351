# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What an arm shall do in a cycle: the desired motion with its joint torques, at the time of the
sample and ahead of it, and the motors along it."""

from ...core import SECOND, Array, IndependentCopies
from ...elastic import Actuators, MotorFeedforward
from ...model import MultibodyModel
from ...rigid import inverse_solver
from ..controllers.controllers import PERIOD
from .base_reference import BaseReference
from .desired_motion import DesiredMotion


class ArmReference(IndependentCopies):
    """The reference of the links, now and ahead, and of the motors; overwritten in every cycle.

    Attributes: `now` and `ahead`, whose `state` (5, n) is q .. q'''' and whose `result` (3, n), by
    :meth:`compute_torques`, Q, Q', Q''; errors are judged now, the torque acts ahead. `motors` :
    (4, m) theta, theta', theta'' and torque, now.
    """

    def __init__(self, model: MultibodyModel, actuators: Actuators) -> None:
        self.now = inverse_solver(model)
        self.ahead = inverse_solver(model)
        self._flat_map = MotorFeedforward(actuators, self.now.state, self.now.result)
        self._flat_map.update()  # compiles
        self._flat_map.advance(PERIOD)
        self.motors: Array = self._flat_map.result.copy()

    def evaluate(
        self, motion: DesiredMotion, base: BaseReference | None, time: int, lead: float
    ) -> None:
        """Take the motion at `time` (ns), and `lead` (s) ahead, on a base that may move."""
        later = time + int(SECOND * lead)
        motion.evaluate(time, self.now.state)
        motion.look_ahead(later, self.ahead.state)
        if base is not None:
            self.ahead.move_base(*base.at(later))
            self.now.move_base(*base.at(time))

    def compute_torques(self) -> None:
        """Compute Q, Q', Q'' of both motions."""
        self.now.update()
        self.ahead.update()

    def problem(self) -> str:
        """Which loop cannot be closed along the motion, and where; empty if all can."""
        return self.now.problem() or self.ahead.problem()

    def map_motors(self, second: Array, dt: float) -> None:
        """Compute `motors`, with second outputs (3, v), and advance damped springs by `dt` s."""
        self._flat_map.stiffness[:] = second
        self._flat_map.update()
        self.motors[:] = self._flat_map.result
        self._flat_map.advance(dt)

    def rest(self, q: Array, second: Array) -> Array:
        """Rest at q (n,), with second outputs (3, v); returns the torques (m,) of the motors."""
        self.now.state[0], self.now.state[1:] = q, 0.0
        self.now.update()
        self.settle()
        self._flat_map.stiffness[:] = second
        self._flat_map.update()
        self.motors[:] = self._flat_map.result
        return self._flat_map.command.torque

    def settle(self) -> None:
        """Let damped springs settle, as at the start of a motion."""
        self._flat_map.settle()

    def stop_motors(self) -> None:
        """Let the motors rest where they are, until the next cycle."""
        self.motors[1:3] = 0.0
