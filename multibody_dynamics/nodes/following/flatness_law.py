"""The controller behind flatness_controller_node, without ROS: from measured signals and a desired
motion to motor torques.

    signals -> StateEstimator -> q, q', theta, theta' -> SpringSolver, DisturbanceObserver
            -> one of the laws -> BumplessTransfer, which limits -> torque

The node decides what is followed and when; here is what is computed in every cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np

from ...dynamics.control import (
    MAX_INNOVATION,
    MAX_STEP,
    PERIOD,
    BumplessTransfer,
    Controller,
    ControllerSettings,
    DerivativeFilter,
    DisturbanceObserver,
    FeedbackLinearization,
    HoldController,
    LinkDampingController,
    StateEstimation,
    StateEstimator,
    delay_independent_gains,
    make_controller,
)
from ...dynamics.core import Array, DynamicsError, InputError
from ...dynamics.elastic import Actuators, MotorFeedforward, SpringSolver
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import JointCommandLimits
from ...dynamics.rigid import InverseDynamicsSolver
from .flatness_controller_parameters import LAWS, FlatnessControllerParameters

ON_LINKS = "link_damping"  # beside LAWS: the stop where motor states are missing
QUIET = 0.2  # s without a refusal, after which the observer is believed again


class FlatnessLaw:
    """`measure`, fill `desired`, `ahead` and `stiffness`, `update`, read `torque`.

    Attributes
    ----------
    desired, ahead : (5, n) q .. q'''' for feedback, and for the feedforward of the torque.
    stiffness : (3, v) second outputs of the variable joints.
    external_torque : (n,) what the world is known to do to the links; the caller's to write.
    estimator : its `state` has q, q', theta, theta'.
    springs : what they do at that state.
    observer : of external torques; None without one.
    reference : theta_d, theta_d', theta_d'' and tau_m of `desired`, by the flat map.
    on_links : the law for links whose motors are not seen; None where it cannot be: links that are
        not measured, stiffness drives.
    transfer : from law to law, with the limits of the motors; its `torque` (m,) is the motors'.
    name : of the law in force.
    lost : why the last sample left the observer of motor_encoders without a state to act on; empty
        where it did not.
    motors : (2, m) theta, theta', which laws act on: with motor_encoders not the observer's, but
        filtered from the positions alone.
    """

    def __init__(
        self, model: MultibodyModel, actuators: Actuators, p: FlatnessControllerParameters
    ) -> None:
        n = model.n
        self.model, self.actuators = model, actuators
        # A silence that ends in a damped stop must not make the filters start anew, at rest.
        gap = max(MAX_STEP, 2.0 * p.state_timeout)
        observes = p.state_source == "motor_encoders"
        bandwidth = p.observer_bandwidth if observes else p.filter_bandwidth
        settings = StateEstimation(p.state_source, bandwidth, p.filter_order, gap)
        self.estimator = StateEstimator(model, actuators, settings)
        self._motor_filter: DerivativeFilter | None = None
        self.motors: tuple[Array, Array] = self.estimator.state[2:]
        if observes:
            names = actuators.motor_names
            self._motor_filter = DerivativeFilter(
                names, p.filter_order, p.filter_bandwidth, max_step=gap
            )
            self.motors = self._motor_filter.state[0], self._motor_filter.state[1]
        self.lost = ""
        self._lost_at = -np.inf
        self._time = 0.0
        self._is_new, self._skipped = True, False
        self.springs = SpringSolver(actuators, *self.estimator.state)
        self.observer = (
            DisturbanceObserver.of_motors(model, actuators, p.observer_gain)
            if p.observer_gain
            else None
        )
        self._inverse = InverseDynamicsSolver(model, "body")
        self._weight = InverseDynamicsSolver(model, "body")
        self.desired: Array = self._inverse.state
        self.ahead: Array = np.zeros((5, n))
        self.reference = MotorFeedforward(actuators, self.desired, self._inverse.result)
        self.stiffness: Array = self.reference.stiffness
        self.reference.update()  # compiled now, not in the first cycle
        self.reference.advance(PERIOD)
        self.reference.settle()
        self.external_torque: Array = np.zeros(n)
        self.transfer = BumplessTransfer(actuators)
        self.on_links: LinkDampingController | None = None
        if self.estimator.signals == ("link_position", "motor_position"):
            with suppress(InputError):
                stop = LinkDampingController(model, actuators, stop_time=p.stop_time)
                self.on_links = stop
        self._leaves_gravity = p.gravity_compensated_by_robot
        self._laws: dict[str, Controller] = {}
        self.name = p.law

    def restart(self) -> None:
        """Forget everything that was tied to time."""
        self.estimator.reset()
        if self._motor_filter is not None:
            self._motor_filter.reset()
        self.lost, self._lost_at, self._time = "", -np.inf, 0.0
        self._is_new, self._skipped = True, False
        if self.observer is not None:
            self.observer.reset()
        self.reference.settle()

    def design(self, p: FlatnessControllerParameters, q: Array) -> None:
        """Make every law for rest at q (n,). Raises InputError where gains are not stable there."""
        self.estimator.design(q)
        self._laws = {
            name: make_controller(self.model, self.actuators, settings_of(name, p, q))
            for name in LAWS
        }
        if self.on_links is not None:
            self._laws[ON_LINKS] = self.on_links
        hold = self._laws["hold"]
        assert isinstance(hold, HoldController)
        patient = delay_independent_gains(self.model, self.actuators, q)
        self._hold, self._hold_gains = hold, (hold.gains, patient)
        self.limit(self.transfer.limits)

    def stand_delay(self, is_late: bool) -> None:
        """Give the law "hold" gains that no usual delay makes unstable, or its own again."""
        self._hold.gains = self._hold_gains[is_late]

    def limit(self, limits: JointCommandLimits) -> None:
        """What is sent from the next update on is within the limits of the motors."""
        self.transfer.limits = limits
        for law in self._laws.values():
            if isinstance(law, HoldController):
                law.torque_limit = limits.torque

    def start(self, name: str, duration: float) -> None:
        """Let a law take over within `duration` s from the torque that was sent last."""
        self.name, self.transfer.duration = name, duration
        self.transfer.activate(self._laws[name], self.transfer.torque.copy())

    def switch(self, name: str, duration: float) -> None:
        """Let a law take over within `duration` s from the one that runs."""
        if name != self.name:
            self.name, self.transfer.duration = name, duration
            self.transfer.switch(self._laws[name])

    def measure(self, t: float, signals: Mapping[str, Array]) -> None:
        """Take in what was measured at t in s. Raises InputError; the state is then as it was.

        With motor_encoders, motor positions must be right; for all else, `lost` is set.
        """
        springs, actuators = self.springs, self.actuators
        if self._motor_filter is None:
            self.estimator.update(t, stiffness=self.stiffness[:2], **signals)
        else:
            self._filter_motors(self._motor_filter, t, signals["motor_position"])
            self._observe(t, signals)
        state = self.estimator.state
        springs.stiffness[:] = self.stiffness[:2]
        springs.update()
        self._weight.state[0] = state.q
        self._weight.update()
        if self.observer is not None:
            Q = signals.get("joint_torque", springs.torque)
            pushed = self.transfer.torque[actuators.first_motor]
            self.observer.update(t, state.q, state.qd, np.where(actuators.is_rigid, pushed, Q))

    def _filter_motors(self, motor_filter: DerivativeFilter, t: float, theta: Array) -> None:
        """`motors`; a sample far from where they are expected counts if a second one follows."""
        step = t - self._time
        if not self._is_new and 0.0 < step <= motor_filter.max_step:
            position, velocity = self.motors
            expected = position + step * velocity
            is_far = bool(np.abs(theta - expected).max() > MAX_INNOVATION)
            self._skipped = is_far and not self._skipped
            if self._skipped:
                theta = expected
        motor_filter.update(t, theta)
        self._time = t

    def _observe(self, t: float, signals: Mapping[str, Array]) -> None:
        """The state of the observer, and `lost`."""
        estimator = self.estimator
        starts, refused = estimator.starts, estimator.refused
        self.lost = ""
        try:
            estimator.update(t, stiffness=self.stiffness[:2], **signals)
        except DynamicsError as error:
            self.lost = str(error)
        else:
            if estimator.refused != refused:
                self.lost = "a motor is far from where the observer of motor_encoders expects it"
            elif estimator.starts != starts and not self._is_new:
                self.lost = "the observer of motor_encoders started anew"
            self._is_new = False
        if self.lost:
            self._lost_at = t

    @property
    def is_settled(self) -> bool:
        """Whether the estimated state may be acted on."""
        return self.estimator.is_settled and self._time - self._lost_at >= QUIET

    def motors_at_rest(self, q: Array) -> Array:
        """(m,) where the motors are if the links rest at q (n,); of :attr:`on_links`."""
        stop = self.on_links
        assert stop is not None
        stop.stiffness[0] = self.stiffness[0]
        stop.rest_at(q)
        return stop.theta.copy()

    @property
    def gravity(self) -> Array:
        """(n,) at the measured position."""
        return self._weight.result[0]

    @property
    def joint_torque(self) -> Array:
        """(n,) of the springs now, of rigid joints that of gravity."""
        return np.where(self.actuators.is_rigid, self.gravity, self.springs.torque)

    def holding_torque(self) -> Array:
        """(m,) of the motors that balances springs and, of rigid joints, gravity, now."""
        load = self.springs.load
        return np.where(np.isnan(load), self.gravity[self.actuators.joint_of_motor], load)

    def rest(self, q: Array) -> Array:
        """(m,) torque of the motors for rest at q (n,); `desired` and `reference` are of it."""
        self.desired[0], self.desired[1:] = q, 0.0
        self.stiffness[1:] = 0.0
        self._weight.state[0] = q
        self._weight.update()
        self.reference.settle()
        self._inverse.update()
        return self.reference.update().torque

    def update(self, step: float, lead: float) -> None:
        """From everything else to `transfer.torque`, `step` s after the last one.

        lead: s, from `desired` to `ahead`. Raises DynamicsError where the law has no answer.
        """
        step = step or PERIOD  # the first
        self._inverse.update()
        self.reference.update()
        self.reference.advance(step)
        transfer = self.transfer
        law = transfer.law
        if isinstance(law, FeedbackLinearization) and abs(lead - law.lead) > 0.1 * lead:
            law.lead = lead
        if law is not None:
            law.external_torque[:] = self.external_torque
        transfer.update(
            step,
            self.desired,
            *self.estimator.state[:2],
            *self.motors,
            ahead=self.ahead,
            stiffness=self.stiffness if self.stiffness.size else None,
        )
        if self._motor_filter is not None and isinstance(law, HoldController):
            self._weight.state[0] = law.q
            self._weight.update()

    def is_finite(self) -> bool:
        """Whether every number that leaves is finite."""
        return isfinite(self.transfer.torque.sum() + self.reference.result.sum())

    def commanded(self) -> Array:
        """(m,) what is asked of the motors: the torque, less the gravity the robot adds itself."""
        if not self._leaves_gravity:
            return self.transfer.torque
        actuators = self.actuators
        weight = actuators.torque_share * self.gravity[actuators.joint_of_motor]
        return self.transfer.torque - weight


def settings_of(
    name: str, p: FlatnessControllerParameters, q: Array | None = None
) -> ControllerSettings:
    """Of one law, from the parameters; gains are designed at q (n,)."""
    given: dict[str, Any] = {"law": name, "position": q, "friction": p.friction_compensation}
    if name in ("motor_pd", "state_feedback"):
        given["integral"] = p.integral
        if p.state_source == "motor_encoders":
            given["integrates"] = "motor"
    match name:
        case "motor_pd" | "computed_torque":
            given["bandwidth"] = _one_or_all(p.motor_bandwidth)
        case "state_feedback":
            given |= _poles_or_bandwidth(p.feedback_poles, p.feedback_bandwidth)
            given["variant"] = p.variant
        case "feedback_linearization":
            given |= _poles_or_bandwidth(p.linearization_poles, p.linearization_bandwidth)
        case "hold":
            given["bandwidth"] = p.hold_bandwidth
            given["stop_time"] = p.stop_time
            del given["friction"]
    return ControllerSettings(**given)


def _poles_or_bandwidth(poles: tuple[float, ...], bandwidth: tuple[float, ...]) -> dict[str, Any]:
    return {"poles": poles} if poles else {"bandwidth": _one_or_all(bandwidth)}


def _one_or_all(values: tuple[float, ...]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)
