# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The controller of version 1.0, deprecated: :class:`.Arm` has replaced it."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from ...core import Array, DynamicsError
from ...elastic import Actuators, MotorFeedforward
from ...model import MultibodyModel
from ...rigid import inverse_solver
from ..controllers.controllers import PERIOD
from ..controllers.hold_controller import HoldController
from ..laws.feedforward_law import gravity_load
from ..laws.flatness_settings import ON_LINKS, FlatnessSettings
from .arm import Arm
from .feedback_state import LONG_AGO
from .valid_sides import MOTORS

STOPS = ("hold", ON_LINKS)  # act on the measured state: a stop must not depend on a prediction


class FlatnessLaw:
    """The parts of an :class:`.Arm` without modes, faults and a motion of its own.

    Call `measure`; fill `desired`, `ahead` and `stiffness`; call `update`; read `transfer.torque`,
    or `commanded()`. Arrays are shared. `model`, `actuators`, `settings`, `laws`, `transfer`,
    `name`, `design`, `limit`, `joint_torque`, `adaptation`, `impedance` and `motors_at_rest` are
    those of the arm.
    """

    def __init__(
        self, model: MultibodyModel, actuators: Actuators, settings: FlatnessSettings | None = None
    ) -> None:
        self._whole = whole = Arm(model, actuators, settings)
        self._inverse = inverse_solver(model)
        self.desired, self.ahead = self._inverse.state, np.zeros((5, model.n))
        self.reference = MotorFeedforward(actuators, self.desired, self._inverse.result)
        self.arm, self.stiffness = whole.measured, whole.second.rows
        self.state, self.sent = whole.feedback.state, whole.feedback.sent
        self.predictor, self.reference_lead = whole.feedback.predictor, whole.feedback.lead
        self.external_torque: Array = np.zeros(model.n)
        self.restart()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_whole"], name)

    @property
    def is_predicted(self) -> bool:
        return self._whole.feedback.is_predicted

    def restart(self) -> None:
        self.arm.restart()
        self._whole.feedback.restart()
        self.reference.settle()
        self._measured_at = np.inf

    def renew(self) -> None:
        self.restart()
        self.laws.renew()

    def start(self, name: str, duration: float) -> None:
        self._whole.name, self.transfer.duration = name, duration
        self.transfer.activate(self.laws[name], self.transfer.torque.copy())

    def switch(self, name: str, duration: float) -> None:
        if name != self.name:
            self._whole.name, self.transfer.duration = name, duration
            self.transfer.switch(self.laws[name])

    def measure(self, t: float, signals: Mapping[str, Array]) -> None:
        acting = self._whole.feedback
        if self.laws.late is not None:
            self.laws.late.elapsed += max(t - self._measured_at, 0.0)
        self._measured_at = t
        self.arm.update(t, signals, acting.acted(t, self.transfer.torque), self.stiffness)
        acting.update(t, self.stiffness[:2])
        if self.name in STOPS:
            acting.use_measured_state()

    def coast(self, t: float, signals: Mapping[str, Array], side: str, step: float) -> None:
        state = self.arm.estimator.state
        if side == MOTORS:
            self.measure(t, {**signals, "link_position": state.q + step * state.qd})
        elif self.laws.on_links is not None:
            self.measure(t, {**signals, "motor_position": state.theta + step * state.thetad})

    def without_motors(self, signals: Mapping[str, Array]) -> dict[str, Array]:
        return {**signals, "motor_position": self.motors_at_rest(signals["link_position"])}

    def rest(self, q: Array) -> Array:
        self.desired[0], self.desired[1:] = q, 0.0
        self.stiffness[1:] = 0.0
        self.arm.set_gravity_position(q)
        self.reference.settle()
        return self._map()

    def _map(self) -> Array:
        self.reference.stiffness[:] = self.stiffness
        self._inverse.update()
        return self.reference.update().torque

    def update(self, step: float, lead: float, elapsed: float = 0.0) -> None:
        acting, transfer, law = self._whole.feedback, self.transfer, self.transfer.law
        if acting.diverged and self.name not in STOPS:
            raise DynamicsError(acting.diverged)
        if self.name in STOPS or not acting.is_predicted:
            acting.is_predicted, acting.diverged = False, ""
            for row, value in zip(self.state, self.arm.state, strict=True):
                row[:] = value
        step = step or PERIOD  # at the first update
        self._map()
        self.reference.advance(step)
        if not self.sent.count and np.isfinite(self._measured_at):  # it acts already
            self.sent.push(self._measured_at - LONG_AGO, transfer.torque)
        if law is not None:
            law.lead = lead if abs(lead - law.lead) > 0.1 * lead else law.lead
            law.external_torque[:] = self.external_torque
        transfer.update(
            step,
            self.desired,
            *self.state,
            ahead=self.ahead,
            stiffness=self.stiffness if self.stiffness.size else None,
            past=acting.past,
            elapsed=elapsed,
        )
        acting.send(transfer.torque)
        if self.arm.observes_links and isinstance(law, HoldController):
            self.arm.set_gravity_position(law.q)

    def is_finite(self) -> bool:
        return isfinite(self.transfer.torque.sum() + self.reference.result.sum())

    def commanded(self) -> Array:
        torque: Array = self.transfer.torque
        if self.settings.gravity_compensated_by_robot:
            return torque - gravity_load(self.actuators, self.arm.gravity)
        return torque
