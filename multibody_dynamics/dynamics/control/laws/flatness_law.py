# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control law of an elastic-joint arm: from measured signals and a desired motion to motor
torques, once per cycle.

    signals -> MeasuredArm: StateEstimator -> q, q', theta, theta' -> springs, observer, detector
            -> StatePredictor, where delays are known
            -> one of the DesignedLaws -> BumplessTransfer, which limits -> torque

The caller (flatness_controller_node) decides what to follow and when; this module computes the
torques.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

import numpy as np

from ...core import Array, DynamicsError
from ...elastic import Actuators, MotorFeedforward
from ...model import MultibodyModel
from ...motion import JointCommandLimits
from ...rigid import InverseDynamicsSolver
from ..controllers.bumpless_transfer import BumplessTransfer
from ..controllers.controllers import PERIOD, LinearFeedback, Past
from ..controllers.hold_controller import HoldController
from ..impedance.live_impedance import LiveImpedance
from ..observers.adaptive_feedforward import AdaptiveFeedforward
from ..observers.motor_side_observer import JointState
from ..observers.state_predictor import StatePredictor
from ..signals.sent_torques import SentTorques
from .designed_laws import DesignedLaws
from .feedforward_law import gravity_load
from .flatness_settings import ON_LINKS, FlatnessSettings
from .measured_arm import MeasuredArm

STOPS = ("hold", ON_LINKS)  # act on the measured state: a stop must not depend on a prediction
LONG_AGO = 1.0  # s, for which the initial torque is assumed to have acted already


class FlatnessLaw:
    """A complete control cycle: call `measure`; fill `desired`, `ahead` and `stiffness`; call
    `update`; read `transfer.torque`, or `commanded()`.

    Arrays are shared, not copied. The caller writes `desired` (the `state` of the inverse dynamics
    solver, from which `reference` reads it too), `ahead`, `stiffness` (of `reference`, handed to
    `arm` and `laws`) and `external_torque`. `measure` updates `arm` and `state`; `update`
    overwrites `reference.result` and `transfer.torque`.

    Attributes
    ----------
    laws : every law by name, with its judgement.
    arm : the arm as measured: its estimated state, the torques of its springs, contacts.
    desired, ahead : (5, n) q .. q'''' for feedback, and for the feedforward torque.
    stiffness : (3, v) second outputs of the variable joints.
    external_torque : (n,) known external joint torques, N m, which the law takes into account.
    reference : theta_d, theta_d', theta_d'' and tau_m of `desired`, by the flat map.
    transfer : changes over between laws and applies the limits of the motors; `transfer.torque`
        (m,) is the result.
    name : of the active law.
    state : q, q', theta, theta' on which the laws act: as measured or, where delays are known,
        predicted to the time at which the torque of this cycle takes effect, `reference_lead` s
        after the time of the sample. The caller evaluates `desired` at that time.
    is_predicted : whether `state` is a prediction now; the laws that stop the arm act on the
        measured state.
    predictor : of `state`; sent : the torques that may still be on their way.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings | None = None,
    ) -> None:
        settings = settings or FlatnessSettings()
        self.model, self.actuators = model, actuators
        n, m = model.n, len(actuators.motors)
        self._inverse = InverseDynamicsSolver(model, "body")
        self.desired: Array = self._inverse.state
        self.ahead: Array = np.zeros((5, n))
        self.reference = MotorFeedforward(actuators, self.desired, self._inverse.result)
        self.stiffness: Array = self.reference.stiffness
        self.reference.update()  # compile now, not in the first cycle
        self.reference.advance(PERIOD)
        self.arm = MeasuredArm(model, actuators, settings, self.stiffness)
        self.arm.without_links({"motor_position": np.zeros(m)})
        signals = self.arm.estimator.signals
        self.laws = DesignedLaws(model, actuators, settings, signals, self.stiffness[0])
        self.external_torque: Array = np.zeros(n)
        self.transfer = BumplessTransfer(actuators)
        self.sent = SentTorques(m)
        self.predictor = StatePredictor(model, actuators, self.sent)
        self.state = JointState(*np.zeros((2, n)), *np.zeros((2, m)))
        self._diverged, self.is_predicted = "", False
        self._acted: Array = np.zeros(m)  # mean torque between the last two samples
        self._past = Past(self.arm.estimator.state[:2], self.arm.motors, self._acted)
        self.name = settings.law
        self.restart()

    @property
    def settings(self) -> FlatnessSettings:
        """Settings of the cycle and of the next design, see :meth:`.DesignedLaws.change`."""
        return self.laws.settings

    def restart(self) -> None:
        """Reset everything that depends on time: filters, observers, damped springs."""
        self.arm.restart()
        self.reference.settle()
        self.sent.reset()
        self.predictor.reset()
        self._measured_at = np.inf  # s
        self._sample: float | None = None
        self._sent_at: float | None = None

    def renew(self) -> None:
        """Restart, and forget what earlier runs have shown, see :meth:`.DesignedLaws.renew`."""
        self.restart()
        self.laws.renew()

    def design(self, q: Array) -> None:
        """Design the estimator and every law for rest at q (n,). Raises the errors of
        :meth:`.DesignedLaws.design`, and InputError where the springs cannot hold the arm."""
        self.arm.estimator.design(q)
        self.laws.design(q)

    def limit(self, limits: JointCommandLimits) -> None:
        """Keep torques within these limits of the motors from the next update on."""
        self.transfer.limits = limits
        self.laws.limit(limits.torque)

    # Laws

    def start(self, name: str, duration: float) -> None:
        """Change over to a law within `duration` s, starting from the torque that was sent last."""
        self.name, self.transfer.duration = name, duration
        self.transfer.activate(self.laws[name], self.transfer.torque.copy())

    def switch(self, name: str, duration: float) -> None:
        """Change over to a law within `duration` s, blending with the law that is running."""
        if name != self.name:
            self.name, self.transfer.duration = name, duration
            self.transfer.switch(self.laws[name])

    @property
    def adaptation(self) -> AdaptiveFeedforward | None:
        """The estimates that the active law uses; None if it has none."""
        law = self.transfer.law
        return law.adaptive if isinstance(law, LinearFeedback) else None

    @property
    def impedance(self) -> LiveImpedance | None:
        """The law that is running, if its stiffness or damping may change."""
        return self.laws.live_impedance(self.name)

    # What is measured

    @property
    def joint_torque(self) -> Array:
        """(n,) current torques of the springs, N m; gravity torques at rigid joints."""
        return self.arm.joint_torque

    def measure(self, t: float, signals: Mapping[str, Array]) -> None:
        """Update `arm` and `state` from signals measured at t in s.

        Raises InputError for invalid signals, and then leaves the state unchanged; see
        :meth:`.MeasuredArm.update`.
        """
        if self.laws.late is not None:
            self.laws.late.elapsed += max(t - self._measured_at, 0.0)
        self._measured_at = t
        self._note_sent(t)
        self.arm.update(t, signals, self._acted)
        self._predict(t)

    def coast(self, t: float, signals: Mapping[str, Array], side: str, step: float) -> None:
        """Keep the filters running at t in s on states of one `side` alone, "links" or "motors",
        while those of the other side are late. The other side is assumed to continue at its
        velocity for `step` s, and a stop then starts from the right velocity. Motors coast only if
        there is a law `laws.on_links`.
        """
        state = self.arm.estimator.state
        if side == "motors":
            self.measure(t, {**signals, "link_position": state.q + step * state.qd})
        elif self.laws.on_links is not None:
            self.measure(t, {**signals, "motor_position": state.theta + step * state.thetad})

    def _note_sent(self, t: float) -> None:
        """Record the torque that was sent after the last sample, and the mean torque that acted
        between that sample and the one at t."""
        sent, settings = self.sent, self.settings
        if self._sent_at is not None:
            sent.push(self._sent_at, self.transfer.torque)
            self._sent_at = None
        self._acted[:] = self.transfer.torque
        if settings.delay and sent.count and self._sample is not None and t > self._sample:
            span = self._sample - settings.sensor_delay, t - settings.sensor_delay
            self._acted[:] = sent.mean(*span, settings.command_delay)
        self._sample = t

    @property
    def reference_lead(self) -> float:
        """s, from the time of the sample to that of `state`."""
        settings = self.settings
        return settings.command_delay if settings.predicts_state else 0.0

    def _predict(self, t: float) -> None:
        """Update `state` from the sample at t."""
        settings, self._diverged = self.settings, ""
        is_on = settings.delay > 0.0 and settings.predicts_state
        self.is_predicted = is_on and self.name not in STOPS
        if not self.is_predicted:
            self._set_state(self.arm.state)
            return
        self.predictor.stiffness[:] = self.stiffness[:2]
        delays = settings.sensor_delay, settings.command_delay
        try:
            self._set_state(self.predictor.update(t, self.arm.state, *delays))
        except DynamicsError as error:
            self._diverged = str(error)

    def _set_state(self, rows: Iterable[Array]) -> None:
        for row, value in zip(self.state, rows, strict=True):
            row[:] = value

    def without_motors(self, signals: Mapping[str, Array]) -> dict[str, Array]:
        """The signals, with the motor positions replaced by those that hold the links at rest, by
        the model."""
        return {**signals, "motor_position": self.motors_at_rest(signals["link_position"])}

    def motors_at_rest(self, q: Array) -> Array:
        """(m,) motor positions with the links at rest at q (n,); needs `laws.on_links`."""
        stop = self.laws.on_links
        assert stop is not None
        stop.stiffness[0] = self.stiffness[0]
        stop.rest_at(q)
        return stop.theta.copy()

    # Torques

    def rest(self, q: Array) -> Array:
        """(m,) motor torques for rest at q (n,); sets `desired` and `reference` to that rest."""
        self.desired[0], self.desired[1:] = q, 0.0
        self.stiffness[1:] = 0.0
        self.arm.weigh(q)
        self.reference.settle()
        self._inverse.update()
        return self.reference.update().torque

    def update(self, step: float, lead: float, elapsed: float = 0.0) -> None:
        """Compute `transfer.torque`, `step` s after the last update.

        lead: s, from `desired` to `ahead`. elapsed: s that have actually passed, if more than
        `step`; see :meth:`.BumplessTransfer.update`. Raises DynamicsError where the law has no
        solution or the predicted state diverges.
        """
        self.is_predicted &= self.name not in STOPS  # a stop may have begun since `measure`
        if not self.is_predicted:
            self._set_state(self.arm.state)
        elif self._diverged:
            raise DynamicsError(self._diverged)
        step = step or PERIOD  # at the first update
        self._inverse.update()
        self.reference.update()
        self.reference.advance(step)
        transfer, sent = self.transfer, self.sent
        if not sent.count and self._sample is not None:  # it acts already
            sent.push(self._sample - LONG_AGO, transfer.torque)
        law = transfer.law
        if law is not None and abs(lead - law.lead) > 0.1 * lead:
            law.lead = lead
        if law is not None:
            law.external_torque[:] = self.external_torque
        transfer.update(
            step,
            self.desired,
            *self.state,
            ahead=self.ahead,
            stiffness=self.stiffness if self.stiffness.size else None,
            past=self._past if self.settings.delay else None,
            elapsed=elapsed,
        )
        self._sent_at = self._sample
        if self.arm.observes_links and isinstance(law, HoldController):
            self.arm.weigh(law.q)

    def is_finite(self) -> bool:
        """Whether all outputs are finite."""
        return isfinite(self.transfer.torque.sum() + self.reference.result.sum())

    def commanded(self) -> Array:
        """(m,) torques to command: `transfer.torque`, without gravity if the robot compensates it
        itself."""
        if not self.settings.gravity_compensated_by_robot:
            return self.transfer.torque
        return self.transfer.torque - gravity_load(self.actuators, self.arm.gravity)
