# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The state on which a law acts: as measured or, where delays are known, predicted to the time at
which the torque of this cycle takes effect."""

from collections.abc import Iterable

import numpy as np

from ...core import Array, DynamicsError, IndependentCopies
from ...elastic import Actuators
from ...model import MultibodyModel
from ..controllers.controllers import Past
from ..laws.flatness_settings import FlatnessSettings
from ..observers.motor_side_observer import JointState
from ..observers.state_predictor import StatePredictor
from ..signals.sent_torques import SentTorques
from .measured_arm import MeasuredArm

LONG_AGO = 1.0  # s, for which the initial torque is assumed to have acted already


class FeedbackState(IndependentCopies):
    """q, q', theta, theta' of an arm whose torques may be on their way.

    measured : the arm as measured, updated by the caller.

    Attributes
    ----------
    state : (n,), (n,), (m,), (m,), overwritten by :meth:`update`; without predictions, the measured
    one itself. past : the measured state and the torque that acted up to it, for observers of
    disturbances; None without known delays.
    is_predicted : whether `state` is a prediction. diverged : why there is no prediction.
    predictor : of `state`. sent : the torques that may still be on their way.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings,
        measured: MeasuredArm,
    ) -> None:
        m = len(actuators.motors)
        self.settings, self._measured = settings, measured
        self.sent = SentTorques(m)
        self.predictor = StatePredictor(model, actuators, self.sent)
        self._may_predict = settings.delay > 0.0 and settings.predicts_state
        rows = measured.state
        self.state = JointState(*(row.copy() for row in rows) if self._may_predict else rows)
        self._acted: Array = np.zeros(m)
        self._past = Past(measured.estimator.state[:2], measured.motors, self._acted)
        self.restart()

    def restart(self) -> None:
        """Forget all samples and torques."""
        self.sent.reset()
        self.predictor.reset()
        self.diverged, self.is_predicted = "", False
        self._sample: float | None = None
        self._sent_at: float | None = None

    @property
    def lead(self) -> float:
        """s, from the time of the sample to that of `state`."""
        settings = self.settings
        return settings.command_delay if settings.predicts_state else 0.0

    @property
    def past(self) -> Past | None:
        return self._past if self.settings.delay else None

    def acted(self, t: float, torque: Array) -> Array:
        """(m,) mean torque between the last sample and the one at t (s), of which `torque` was sent
        last."""
        sent, settings = self.sent, self.settings
        self._acted[:] = torque
        if not settings.delay:
            return self._acted
        if self._sent_at is not None:
            sent.push(self._sent_at, torque)
            self._sent_at = None
        if sent.count and self._sample is not None and t > self._sample:
            span = self._sample - settings.sensor_delay, t - settings.sensor_delay
            self._acted[:] = sent.mean(*span, settings.command_delay)
        self._sample = t
        return self._acted

    def update(self, t: float, stiffness: Array) -> None:
        """Predict `state` from the sample at t (s), with second outputs (2, v)."""
        settings, self.diverged = self.settings, ""
        self.is_predicted = self._may_predict
        if not self.is_predicted:
            return
        self.predictor.stiffness[:] = stiffness
        delays = settings.sensor_delay, settings.command_delay
        try:
            self._set(self.predictor.update(t, self._measured.state, *delays))
        except DynamicsError as error:
            self.diverged = str(error)

    def use_measured_state(self) -> None:
        """Use the measured state in this cycle: a stop must not depend on a prediction."""
        if self.is_predicted:
            self._set(self._measured.state)
        self.is_predicted, self.diverged = False, ""

    def send(self, torque: Array) -> None:
        """Note that a torque (m,) answers the last sample; :meth:`acted` is then told its value."""
        if not self.sent.count and self._sample is not None:  # it acts already
            self.sent.push(self._sample - LONG_AGO, torque)
        self._sent_at = self._sample

    def _set(self, rows: Iterable[Array]) -> None:
        for row, value in zip(self.state, rows, strict=True):
            row[:] = value
