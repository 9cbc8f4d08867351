"""The control law of an elastic-joint arm: from measured signals and a desired motion to motor
torques, once per cycle.

    signals -> StateEstimator -> q, q', theta, theta' -> SpringSolver, DisturbanceObserver
            -> one of the laws -> BumplessTransfer, which limits -> torque

The caller (flatness_controller_node) decides what to follow and when; this module computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from ..core import Array, DynamicsError, InputError
from ..elastic import Actuators, MotorFeedforward, SpringSolver
from ..model import MultibodyModel
from ..motion import JointCommandLimits
from ..rigid import InverseDynamicsSolver
from .bumpless_transfer import BumplessTransfer
from .controllers import PERIOD, Controller
from .derivative_filter import DerivativeFilter
from .disturbance_observer import DisturbanceObserver
from .feedforward_law import gravity_load
from .gains import delay_independent_gains
from .hold_controller import HoldController
from .impedance import CartesianImpedance, ImpedanceController, JointImpedance
from .laws import LAWS, ControllerSettings, make_controller
from .link_damping import LinkDampingController
from .motor_side_observer import MAX_INNOVATION
from .state_estimation import StateEstimation, StateEstimator

ON_LINKS = "link_damping"  # besides LAWS: the stop law for missing motor states
QUIET = 0.2  # s without a rejected sample until the observer's state is considered valid again


def _every_law() -> dict[str, ControllerSettings]:
    return {name: ControllerSettings(law=name) for name in LAWS}


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatnessSettings:
    """Settings of :class:`FlatnessLaw`.

    Attributes
    ----------
    law : the initial law, a key of `controllers`.
    controllers : settings of every law that may be chosen, by name. "hold" must be among them; its
        `stop_time` also applies to the stop from link states alone. `position` is replaced at each
        design.
    estimation : how link and motor states are estimated.
    motor_bandwidth : Hz, of the filter that gives the motor velocities where the source is
        motor_encoders.
    observer_gain : 1/s, of the observer of external torques; 0 for none.
    gravity_compensated_by_robot : leave gravity out of the commanded torques.

    Raises InputError for a law without settings, and for settings filed under another law's name.
    """

    law: str = "motor_pd"
    controllers: Mapping[str, ControllerSettings] = field(default_factory=_every_law)
    estimation: StateEstimation = field(
        default_factory=lambda: StateEstimation("link_and_motor_encoders", bandwidth=100.0)
    )
    motor_bandwidth: float = 100.0
    observer_gain: float = 0.0
    gravity_compensated_by_robot: bool = False

    def __post_init__(self) -> None:
        for name in (self.law, "hold"):
            if name not in self.controllers:
                raise InputError(
                    f"law '{name}' has no settings; there are settings for "
                    f"{', '.join(self.controllers)}"
                )
        for name, settings in self.controllers.items():
            if settings.law != name:
                raise InputError(
                    f"the settings given for law '{name}' are for law '{settings.law}'"
                )


class FlatnessLaw:
    """A complete control cycle: call `measure`; fill `desired`, `ahead` and `stiffness`; call
    `update`; read `transfer.torque`, or `commanded()`.

    Arrays are shared, not copied. The caller writes `desired` (the `state` of the inverse dynamics
    solver, from which `reference` reads it too), `ahead`, `stiffness` (of `reference`, handed to
    estimator, springs and laws) and `external_torque`. `measure` overwrites `estimator.state`, from
    which `springs` reads, and `motors`; `update` overwrites `reference.result` and
    `transfer.torque`. `motors` are rows of `estimator.state`, except with motor_encoders.

    Attributes
    ----------
    settings : of the next design; may be replaced.
    desired, ahead : (5, n) q .. q'''' for feedback, and for the feedforward torque.
    stiffness : (3, v) second outputs of the variable joints.
    external_torque : (n,) known external joint torques, N m.
    estimator : its `state` has q, q', theta, theta'.
    springs : torques, loads and deflections at that state.
    observer : of external torques; None without one.
    reference : theta_d, theta_d', theta_d'' and tau_m of `desired`, by the flat map.
    on_links : the law that stops the arm without motor states; None where that is impossible: the
        links are not measured, or a motor sets a stiffness.
    transfer : changes over between laws and applies the limits of the motors; `transfer.torque`
        (m,) is the result.
    name : of the active law.
    lost : why the observer of motor_encoders has no valid state after the last sample; empty
        otherwise.
    motors : theta and theta', (m,) each, on which the laws act: with motor_encoders filtered from
        the motor positions alone, not taken from the observer.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings | None = None,
    ) -> None:
        settings = settings or FlatnessSettings()
        self.model, self.actuators, self.settings = model, actuators, settings
        estimation, n = settings.estimation, model.n
        self.estimator = StateEstimator(model, actuators, estimation)
        self._motor_filter: DerivativeFilter | None = None
        self.motors: tuple[Array, Array] = self.estimator.state[2:]
        if estimation.source == "motor_encoders":
            self._motor_filter = DerivativeFilter(
                actuators.motor_names,
                estimation.order,
                settings.motor_bandwidth,
                max_step=estimation.max_step,
            )
            self.motors = self._motor_filter.state[0], self._motor_filter.state[1]
        self.springs = SpringSolver(actuators, *self.estimator.state)
        self.observer = (
            DisturbanceObserver.of_motors(model, actuators, settings.observer_gain)
            if settings.observer_gain
            else None
        )
        self._inverse = InverseDynamicsSolver(model, "body")
        self._weight = InverseDynamicsSolver(model, "body")
        self.desired: Array = self._inverse.state
        self.ahead: Array = np.zeros((5, n))
        self.reference = MotorFeedforward(actuators, self.desired, self._inverse.result)
        self.stiffness: Array = self.reference.stiffness
        self.reference.update()  # compile now, not in the first cycle
        self.reference.advance(PERIOD)
        self.without_links({"motor_position": np.zeros(len(actuators.motors))})
        self.external_torque: Array = np.zeros(n)
        self.transfer = BumplessTransfer(actuators)
        self.on_links: LinkDampingController | None = None
        if self.estimator.signals == ("link_position", "motor_position"):
            stop_time = settings.controllers["hold"].stop_time
            with suppress(InputError):
                self.on_links = LinkDampingController(model, actuators, stop_time=stop_time)
        self._laws: dict[str, Controller] = {}
        self.name = settings.law
        self.restart()

    def restart(self) -> None:
        """Reset everything that depends on time: filters, observers, damped springs."""
        self.estimator.reset()
        if self._motor_filter is not None:
            self._motor_filter.reset()
        self.lost, self._lost_at, self._time = "", -np.inf, 0.0
        self._is_new, self._skipped = True, False
        if self.observer is not None:
            self.observer.reset()
        self.reference.settle()

    def design(self, q: Array) -> None:
        """Design every law of `settings` for rest at q (n,). Raises InputError where gains are not
        stable there."""
        self.estimator.design(q)
        self._laws = {
            name: make_controller(self.model, self.actuators, replace(settings, position=q))
            for name, settings in self.settings.controllers.items()
        }
        if self.on_links is not None:
            self._laws[ON_LINKS] = self.on_links
        hold = self._laws["hold"]
        assert isinstance(hold, HoldController)
        patient = delay_independent_gains(self.model, self.actuators, q)
        self._hold, self._hold_gains = hold, (hold.gains, patient)
        self.limit(self.transfer.limits)

    def tolerate_delay(self, is_late: bool) -> None:
        """Give the law "hold" gains that stay stable under any realistic delay, or its own."""
        self._hold.gains = self._hold_gains[is_late]

    def change(self, settings: FlatnessSettings) -> str:
        """Use other settings from the next design on. The laws that are already designed change
        only the stiffness and damping of impedances, gradually; None leaves a stiffness as it is.

        Returns why a stiffness was refused, if the springs cannot carry it; otherwise "".
        """
        self.settings = settings
        problem = ""
        for name, law in self._laws.items():
            if not isinstance(law, ImpedanceController):
                continue
            own = settings.controllers[name]
            law.damping_ratio = own.damping_ratio
            try:
                if isinstance(law, JointImpedance) and own.link_stiffness is not None:
                    law.set_stiffness(own.link_stiffness)
                elif isinstance(law, CartesianImpedance) and own.tool_stiffness is not None:
                    law.set_stiffness(own.tool_stiffness, own.posture_stiffness)
            except InputError as error:
                problem = f"{name}: the stiffness stays as it is: {error}"
        return problem

    def limit(self, limits: JointCommandLimits) -> None:
        """Keep torques within these limits of the motors from the next update on."""
        self.transfer.limits = limits
        for law in self._laws.values():
            law.limit(limits.torque)

    def start(self, name: str, duration: float) -> None:
        """Change over to a law within `duration` s, starting from the torque that was sent last."""
        self.name, self.transfer.duration = name, duration
        self.transfer.activate(self._laws[name], self.transfer.torque.copy())

    def switch(self, name: str, duration: float) -> None:
        """Change over to a law within `duration` s, blending with the law that is running."""
        if name != self.name:
            self.name, self.transfer.duration = name, duration
            self.transfer.switch(self._laws[name])

    def measure(self, t: float, signals: Mapping[str, Array]) -> None:
        """Update the estimated state from signals measured at t in s.

        Raises InputError for invalid signals, and then leaves the state unchanged. With
        motor_encoders only invalid motor positions raise; any other failure sets `lost`.
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

    def without_links(self, signals: Mapping[str, Array]) -> dict[str, Array]:
        """The signals, with the link signals replaced by those of links at rest on their motors, by
        the model."""
        theta, Q = signals["motor_position"], self.gravity
        k = self.stiffness[:2]
        constant = np.stack([Q, 0.0 * Q, 0.0 * Q])  # at rest, damped springs have settled
        settled = self.actuators.settled_deflection(constant, beyond="continue")
        q = self.actuators.link_position(
            theta, Q, stiffness=k, deflection=settled, beyond="continue"
        )
        return {**signals, "link_position": q, "joint_torque": Q}

    def without_motors(self, signals: Mapping[str, Array]) -> dict[str, Array]:
        """The signals, with the motor positions replaced by those that hold the links at rest, by
        the model."""
        return {**signals, "motor_position": self.motors_at_rest(signals["link_position"])}

    def coast(self, t: float, signals: Mapping[str, Array], side: str, step: float) -> None:
        """Keep the filters running at t in s on states of one `side` alone, "links" or "motors",
        while those of the other side are late. The other side is assumed to continue at its
        velocity for `step` s, and a stop then starts from the right velocity. Motors coast only if
        there is a law :attr:`on_links`.
        """
        state = self.estimator.state
        if side == "motors":
            self.measure(t, {**signals, "link_position": state.q + step * state.qd})
        elif self.on_links is not None:
            self.measure(t, {**signals, "motor_position": state.theta + step * state.thetad})

    def _filter_motors(self, motor_filter: DerivativeFilter, t: float, theta: Array) -> None:
        """Update `motors`; a sample far from the expected position is used only if the previous one
        was far from it, too."""
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
        """Update the observer's state and `lost`."""
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
                self.lost = "the observer of motor_encoders restarted"
            self._is_new = False
        if self.lost:
            self._lost_at = t

    @property
    def is_settled(self) -> bool:
        """Whether the estimated state is valid for feedback."""
        return self.estimator.is_settled and self._time - self._lost_at >= QUIET

    def motors_at_rest(self, q: Array) -> Array:
        """(m,) motor positions with the links at rest at q (n,); needs :attr:`on_links`."""
        stop = self.on_links
        assert stop is not None
        stop.stiffness[0] = self.stiffness[0]
        stop.rest_at(q)
        return stop.theta.copy()

    @property
    def gravity(self) -> Array:
        """(n,) gravity torques at the measured position."""
        return self._weight.result[0]

    @property
    def joint_torque(self) -> Array:
        """(n,) current torques of the springs; gravity torques at rigid joints."""
        return np.where(self.actuators.is_rigid, self.gravity, self.springs.torque)

    def holding_torque(self) -> Array:
        """(m,) motor torques that balance the current spring loads and gravity at rigid joints."""
        load = self.springs.load
        return np.where(np.isnan(load), self.gravity[self.actuators.joint_of_motor], load)

    def rest(self, q: Array) -> Array:
        """(m,) motor torques for rest at q (n,); sets `desired` and `reference` to that rest."""
        self.desired[0], self.desired[1:] = q, 0.0
        self.stiffness[1:] = 0.0
        self._weight.state[0] = q
        self._weight.update()
        self.reference.settle()
        self._inverse.update()
        return self.reference.update().torque

    def update(self, step: float, lead: float) -> None:
        """Compute `transfer.torque`, `step` s after the last update.

        lead: s, from `desired` to `ahead`. Raises DynamicsError where the law has no solution.
        """
        step = step or PERIOD  # at the first update
        self._inverse.update()
        self.reference.update()
        self.reference.advance(step)
        transfer = self.transfer
        law = transfer.law
        if law is not None and abs(lead - law.lead) > 0.1 * lead:
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
        """Whether all outputs are finite."""
        return isfinite(self.transfer.torque.sum() + self.reference.result.sum())

    def commanded(self) -> Array:
        """(m,) torques to command: `transfer.torque`, without gravity if the robot compensates it
        itself."""
        if not self.settings.gravity_compensated_by_robot:
            return self.transfer.torque
        return self.transfer.torque - gravity_load(self.actuators, self.gravity)
