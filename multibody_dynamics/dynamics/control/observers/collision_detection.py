# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Collision detection on the momentum of the links, with thresholds that follow the motion.

The mean external torques of each cycle (:mod:`momentum_balance`) need no acceleration and, at
joints with springs, no motor friction: the torque of the springs is measured behind motor and gear.
They pass

    push    P = (W / (s + W))^4                 everything that the model does not explain
    hit     H = P s / (s + w)                   only what changes fast

    contact:  |H tau_ext| > threshold_hit  or  |P tau_ext| > threshold_push,  at any joint.

Errors of the model change as slowly as the motion, contacts do not: "hit" finds small impacts in
spite of a wrong model; "push" also finds a hand that slowly leans on the arm. The fourth order
matters: the noise of encoders, differentiated in the momentum, would pass the first-order residual
of :class:`.DisturbanceObserver` at four times the size for the same delay.

The thresholds are sums of terms of the inverse dynamics that pass the same filters, see
:mod:`collision_thresholds`. They are learned by :func:`.learn_thresholds`. A survey of the method:
S. Haddadin, A. De Luca, A. Albu-Schaeffer, "Robot collisions: a survey on detection, isolation, and
identification", IEEE T-RO 33 (2017), sections V and VII.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core import Array, IndependentCopies, InputError, as_array
from ...elastic import Actuators
from ...model import MultibodyModel
from ..signals.derivative_filter import MAX_STEP, time_step
from ..signals.low_pass import LowPass
from .collision_thresholds import HIT, KINDS, PUSH, TERMS, CollisionThresholds, DetectionSettings
from .momentum_balance import MomentumBalance, driven_links

REVERSAL = 0.05  # rad/s or m/s, speed below which friction changes its direction
SETTLING = 0.2  # s after a start, during which nothing is detected
RELEASE = 0.5  # share of the threshold below which a contact has ended
MEMORY = 0.25  # s; `before` is one to two times as old
FILTERED = 6  # external torque, Q - g, g, q', reversal, known torque
KNOWN = 5  # row of the known torque, the only one that is no term of the thresholds
KNOWN_ERROR = 0.2  # share of a known torque by which thresholds rise


class DrivingTorque(IndependentCopies):
    """Q, the joint torques that act on the links: from sensors where the source of the state reads
    them, from the springs at the other elastic joints, and from the motors at rigid joints.

    signals : the signals of the :class:`.StateEstimator`.
    """

    def __init__(self, actuators: Actuators, signals: tuple[str, ...]) -> None:
        self._rigid, self._motor = actuators.is_rigid, actuators.first_motor
        self._sensors = np.zeros(actuators.n, dtype=bool)
        if "joint_torque" in signals:
            has_sensor = actuators.has_torque_sensor | ("link_position" not in signals)
            self._sensors = has_sensor & ~self._rigid
        self._has_sensors, self._has_rigid = bool(self._sensors.any()), bool(self._rigid.any())
        self._torque = np.zeros(actuators.n)

    def of(self, springs: Array, signals: Mapping[str, Any], motors: Array) -> Array:
        """Q (n,) from the torques of the springs (n,), a sample of the signals, and the torques of
        the motors (m,) that acted since the last sample; overwritten by the next call."""
        out = self._torque
        out[:] = springs
        if self._has_sensors:
            np.copyto(out, signals["joint_torque"], where=self._sensors)
        if self._has_rigid:
            np.copyto(out, motors[self._motor], where=self._rigid)
        return out


class CollisionDetector(IndependentCopies):
    """Detects contacts from q, q' and the torques Q that act on the links.

    >>> detector = CollisionDetector(model, actuators, thresholds)
    >>> if detector.update(t, q, qd, Q):  # every cycle
    ...     print(detector.joint, detector.torque)

    Parameters
    ----------
    thresholds : see :func:`.load_collision_thresholds`; None: nothing is detected, which
        :func:`.learn_thresholds` uses.
    settings : settings of the filters; default: those of the thresholds.
    max_step : s; a longer gap between two updates restarts the detector.

    Attributes: `scale`, a factor of all thresholds, may be set. Overwritten in place:
    `residual` (2, n), N m, with the rows `residual[HIT]` and `residual[PUSH]`; `threshold` (2, n);
    `share` (2, n), the ratio of each residual to its threshold, zero until the detector has
    settled; `terms` (2, 7, n); `before` (n,), the slow part of the external torques a quarter to
    half a second ago, which errors of the model explain; `is_contact`, true from the first share of
    1 until all shares are below RELEASE; `is_settled`. Not thread-safe.

    Raises InputError for a robot whose joints are not those of the thresholds.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        thresholds: CollisionThresholds | None,
        settings: DetectionSettings | None = None,
        *,
        max_step: float = MAX_STEP,
    ) -> None:
        n = model.n
        links, friction, is_held = driven_links(model, actuators, has_sensors=False)
        self.model, self.thresholds, self.max_step = model, thresholds, max_step
        self._balance = MomentumBalance(links, friction=friction, is_held=is_held)
        self._coefficients = np.zeros((len(KINDS), len(TERMS), n))
        if thresholds is not None:
            if thresholds.joint_names != model.joint_names:
                raise InputError(
                    f"the thresholds are for the joints {', '.join(thresholds.joint_names)}; robot "
                    f"'{model.name}' has {', '.join(model.joint_names)}"
                )
            self._coefficients[:] = thresholds.coefficients
            settings = settings or thresholds.settings
        self.settings = settings = settings or DetectionSettings()
        self.scale = 1.0
        self._low_pass = LowPass(FILTERED * n, settings.bandwidth)
        self._input = np.zeros((FILTERED, n))
        self._smooth = self._low_pass.value.reshape(FILTERED, n)
        self._slow = np.zeros((FILTERED, n))
        self._parts = np.zeros((len(KINDS), FILTERED, n))
        self.residual: Array = self._parts[:, 0]
        self.terms: Array = np.zeros((len(KINDS), len(TERMS), n))
        self._products = np.zeros_like(self.terms)
        self.threshold, self.share = np.zeros((2, len(KINDS), n))
        self.before: Array = np.zeros(n)
        self._nothing = np.zeros(n)
        self._next_before = np.zeros(n)
        self._settles_slowly = 12.0 / settings.bandwidth  # s until the low-pass has settled
        self.starts = 0
        self._time: float | None = None
        self.reset()

    def reset(self) -> None:
        """Clear the state: nothing is detected for SETTLING after the next update."""
        self._balance.reset()
        self._low_pass.reset()
        self._time = None
        for row in (self._slow, self._parts, self.terms, self.threshold, self.share):
            row[:] = 0.0
        self.before[:] = self._next_before[:] = 0.0
        self._elapsed = self._remembered = 0.0
        self.is_contact = False

    @property
    def is_settled(self) -> bool:
        """Whether the filters have settled, so that contacts can be detected."""
        return self._elapsed >= SETTLING

    @property
    def worst(self) -> tuple[int, int]:
        """Kind (HIT or PUSH) and joint index of the largest share."""
        kind, joint = divmod(int(self.share.argmax()), self.share.shape[1])
        return kind, joint

    @property
    def joint(self) -> str:
        """The name of the joint with the largest share."""
        return self.model.joint_names[self.worst[1]]

    @property
    def torque(self) -> float:
        """External torque at that joint, N m, of the kind that has the largest share."""
        return float(self.residual[self.worst])

    def update(self, t: float, q: Any, qd: Any, torque: Any, known: Any = None) -> bool:
        """Update to the time t in s, from q, q' and Q (n,) at that time; returns `is_contact`.

        Q: see :class:`DrivingTorque`. known : (n,) external torques at that time that are known,
        such as those of a force sensor, and are no contact: they are subtracted before the filters,
        which delay them like the torques that they explain, and raise the thresholds by
        KNOWN_ERROR of their filtered magnitude, because the torques of springs under this load are
        no more exact than their stiffness.

        Gaps and jumps backwards restart the detector, as they do a :class:`.DisturbanceObserver`.
        Raises InputError for wrong shapes, NaN or infinity, and then changes nothing.
        """
        n, names = self.model.n, self.model.joint_names
        q = as_array("q", q, (n,), names)
        qd = as_array("qd", qd, (n,), names)
        torque = as_array("torque", torque, (n,), names)
        known = self._nothing if known is None else as_array("known", known, (n,), names)
        step = time_step(t, self._time)
        if -self.max_step <= step <= 0.0:
            return self.is_contact
        if not 0.0 < step <= self.max_step:
            self.reset()
            self.starts += 1
        external = self._balance.update(step, q, qd, torque + known)
        self._time = float(t)
        if external is not None:
            self._filter(round(step, 9), external, qd, torque, known)  # ns: equal steps stay equal
            self._judge()
        return self.is_contact

    def _filter(self, step: float, external: Array, qd: Array, torque: Array, known: Array) -> None:
        """Update `_parts`, and `before`."""
        given, slow, parts = self._input, self._slow, self._parts
        given[0], given[2], given[3] = external, self._balance.gravity, qd
        np.subtract(torque, given[2], out=given[1])
        np.divide(qd, REVERSAL, out=given[4])
        np.tanh(given[4], out=given[4])
        given[KNOWN] = known
        self._low_pass.update(step, given.reshape(-1))
        self._elapsed += step
        if self._elapsed < self._settles_slowly:
            slow[:] = self._smooth
        else:
            slow -= np.expm1(-self.settings.high_pass * step) * (self._smooth - slow)
        parts[PUSH] = self._smooth
        np.subtract(self._smooth, slow, out=parts[HIT])
        self._remembered += step
        if self._remembered >= MEMORY:
            self._remembered = 0.0
            self.before[:] = self._next_before
            self._next_before[:] = slow[0]

    def _judge(self) -> None:
        """Update `terms`, `threshold`, `share` and `is_contact`."""
        terms, share = self.terms, self.share
        terms[:, 0] = 1.0
        np.abs(self._parts[:, 1:KNOWN], out=terms[:, 1:KNOWN])
        terms[:, KNOWN:] = terms[:, 1:3].sum(axis=2, keepdims=True)
        np.multiply(self._coefficients, terms, out=self._products)
        self._products.sum(axis=1, out=self.threshold)
        self.threshold *= self.scale
        self.threshold += KNOWN_ERROR * np.abs(self._parts[:, KNOWN])
        if self.thresholds is None or not self.is_settled:
            return
        np.abs(self.residual, out=share)
        share /= self.threshold
        largest = share.max()
        if largest >= 1.0:
            self.is_contact = True
        elif largest < RELEASE:
            self.is_contact = False
