"""The control law of an elastic-joint arm: from measured signals and a desired motion to motor
torques, once per cycle.

    signals -> StateEstimator -> q, q', theta, theta' -> SpringSolver, DisturbanceObserver
            -> StatePredictor, where delays are known
            -> one of the laws -> BumplessTransfer, which limits -> torque

The caller (flatness_controller_node) decides what to follow and when; this module computes the
torques.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from ...core import Array, DynamicsError, InputError
from ...elastic import Actuators, MotorFeedforward, SpringSolver
from ...model import MultibodyModel
from ...motion import JointCommandLimits
from ...rigid import InverseDynamicsSolver
from ..controllers.bumpless_transfer import BumplessTransfer
from ..controllers.controllers import PERIOD, Controller, LinearFeedback, Past
from ..controllers.hold_controller import HoldController
from ..controllers.late_hold import LateHoldController
from ..controllers.link_damping import LinkDampingController
from ..controllers.scheduled_feedback import ScheduledFeedback
from ..impedance.impedance import JointImpedance
from ..impedance.live_impedance import ImpedanceTarget, LiveImpedance
from ..observers.adaptive_feedforward import AdaptiveFeedforward
from ..observers.collision_detection import CollisionDetector, DrivingTorque
from ..observers.disturbance_observer import DisturbanceObserver
from ..observers.motor_side_observer import MAX_INNOVATION, JointState
from ..observers.state_estimation import StateEstimator
from ..observers.state_predictor import StatePredictor
from ..signals.derivative_filter import DerivativeFilter
from ..signals.sent_torques import SentTorques
from ..stability.loop_judgement import LoopJudge, LoopJudgement
from .faster_filter import faster_filter
from .feedforward_law import gravity_load
from .flatness_settings import ON_LINKS, FlatnessSettings
from .law_table import LAWS, ControllerSettings, make_controller
from .lowered_bandwidths import lowered_bandwidths
from .lowered_impedance import lowered_impedance

STOPS = ("hold", ON_LINKS)  # act on the measured state: a stop must not depend on a prediction
LONG_AGO = 1.0  # s, for which the initial torque is assumed to have acted already
FEEDFORWARD_LEAD = 0.5  # cycles, assumed in the judgement of laws that depend on the lead
IMPEDANCES = ("joint_impedance", "cartesian_impedance")
NOT_LOWERED = ("feedback_linearization", "torque_control")
"""Laws for which no lower bandwidth is sought, because a lower one is often less stable."""
LIVE = ("damping_ratio", "link_stiffness", "tool_stiffness", "posture_stiffness")
"""Settings that laws with live stiffness or damping take while they run."""
QUIET = 0.2  # s without a rejected sample until the observer's state is considered valid again


class FlatnessLaw:
    """A complete control cycle: call `measure`; fill `desired`, `ahead` and `stiffness`; call
    `update`; read `transfer.torque`, or `commanded()`.

    Arrays are shared, not copied. The caller writes `desired` (the `state` of the inverse dynamics
    solver, from which `reference` reads it too), `ahead`, `stiffness` (of `reference`, handed to
    estimator, springs and laws), `external_torque` and `announced`. `measure` overwrites
    `estimator.state`, from which `springs` reads, and `motors`; `update` overwrites
    `reference.result` and `transfer.torque`. `motors` are rows of `estimator.state`, except with
    motor_encoders.

    Attributes
    ----------
    settings : of the next design; may be replaced.
    desired, ahead : (5, n) q .. q'''' for feedback, and for the feedforward torque.
    stiffness : (3, v) second outputs of the variable joints.
    external_torque : (n,) known external joint torques, N m, which the law takes into account.
    announced : (n,) external joint torques that are known at the next sample, N m, and that
        `detector` does not take for a contact.
    estimator : its `state` has q, q', theta, theta'.
    springs : torques, loads and deflections at that state.
    observer : of external torques; None without one.
    detector : of collisions, updated by `measure`; None without thresholds.
    reference : theta_d, theta_d', theta_d'' and tau_m of `desired`, by the flat map.
    on_links : the law that stops the arm without motor states; None where that is impossible
        because the links are not measured, or because a motor sets a stiffness.
    transfer : changes over between laws and applies the limits of the motors; `transfer.torque`
        (m,) is the result.
    name : of the active law.
    judgements : stability of the laws that were judged, by name; the caller stores the results of
        :meth:`judge` or :meth:`stabilise` here.
    lowered : by law, the settings that :meth:`stabilise` had to change.
    undesigned : by law, why the last :meth:`design` failed; such a law cannot be started.
    adapts : whether the laws with an adaptation change their estimates, see :meth:`adapt`.
    tolerates_delay : whether "hold" is a :class:`.LateHoldController`.
    lost : why the observer of motor_encoders has no valid state after the last sample; empty
        otherwise.
    motors : measured theta and theta', (m,) each: with motor_encoders filtered from the motor
        positions alone, not taken from the observer.
    state : q, q', theta, theta' on which the laws act: as measured or, where delays are known,
        predicted to the time at which the torque of this cycle takes effect, `reference_lead` s
        after the time of the sample. The caller evaluates `desired` at that time.
    is_predicted : whether `state` is a prediction now; the laws that stop the arm act on the
        measured state.
    predictor : of `state`; sent : the torques that may still be on their way.
    """

    # long: creates every part of the cycle
    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings | None = None,
    ) -> None:
        settings = settings or FlatnessSettings()
        self.model, self.actuators, self.settings = model, actuators, settings
        estimation, n, m = settings.estimation, model.n, len(actuators.motors)
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
        self.detector: CollisionDetector | None = None
        if settings.collisions is not None:
            gap = estimation.max_step
            self.detector = CollisionDetector(model, actuators, settings.collisions, max_step=gap)
        self._driving = DrivingTorque(actuators, self.estimator.signals)
        self._inverse = InverseDynamicsSolver(model, "body")
        self._weight = InverseDynamicsSolver(model, "body")
        self.desired: Array = self._inverse.state
        self.ahead: Array = np.zeros((5, n))
        self.reference = MotorFeedforward(actuators, self.desired, self._inverse.result)
        self.stiffness: Array = self.reference.stiffness
        self.reference.update()  # compile now, not in the first cycle
        self.reference.advance(PERIOD)
        self.without_links({"motor_position": np.zeros(len(actuators.motors))})
        self.external_torque, self.announced = np.zeros((2, n))
        self.transfer = BumplessTransfer(actuators)
        self.sent = SentTorques(m)
        self.predictor = StatePredictor(model, actuators, self.sent)
        self.state = JointState(*np.zeros((2, n)), *np.zeros((2, m)))
        self._diverged, self.is_predicted = "", False
        self._acted: Array = np.zeros(m)  # mean torque between the last two samples
        self._measured = (*self.estimator.state[:2], *self.motors)
        self._past = Past(self.estimator.state[:2], self.motors, self._acted)
        self._sample: float | None = None
        self._sent_at: float | None = None
        self.on_links: LinkDampingController | None = None
        if self.estimator.signals == ("link_position", "motor_position"):
            stop_time = settings.controllers["hold"].stop_time
            with suppress(InputError):
                self.on_links = LinkDampingController(model, actuators, stop_time=stop_time)
        self._laws: dict[str, Controller] = {}
        self.adapts = True
        self.judgements: dict[str, LoopJudgement] = {}
        self.lowered: dict[str, dict[str, Any]] = {}
        self.undesigned: dict[str, str] = {}
        self._own: dict[str, ImpedanceTarget] = {}  # of laws with live stiffness, by settings
        self._holds: tuple[Controller, ...] = ()  # for torques on time, and for late ones
        self._late: LateHoldController | None = None
        self.tolerates_delay = False
        self.name = settings.law
        self.restart()

    def restart(self) -> None:
        """Reset everything that depends on time: filters, observers, damped springs."""
        self.estimator.reset()
        if self._motor_filter is not None:
            self._motor_filter.reset()
        self.lost, self._lost_at, self._time = "", -np.inf, 0.0
        self._measured_at = np.inf  # s
        self._is_new, self._skipped = True, False
        if self.observer is not None:
            self.observer.reset()
        if self.detector is not None:
            self.detector.reset()
        self.reference.settle()
        self.sent.reset()
        self.predictor.reset()
        self._sample = self._sent_at = None

    def renew(self) -> None:
        """Restart, and forget what earlier runs have shown: estimates of adaptations, stiffness and
        damping that were not set by `settings`, and that torques were late."""
        self.restart()
        self.forget_adaptation()
        for name in self._own:
            self.renew_impedance(name)
        if self._holds:
            self.tolerate_delay(False)

    def design(self, q: Array) -> None:
        """Design every law of `settings` for rest at q (n,).

        Raises InputError where the gains of `settings.law` or of "hold" are not stable there; other
        laws that cannot be designed are listed in `undesigned`.
        """
        self.estimator.design(q)
        self._laws, self.undesigned = {}, {}
        for name in self.settings.controllers:
            try:
                settings = self._settings_of(name, q)
                self._laws[name] = make_controller(self.model, self.actuators, settings)
            except InputError as error:
                if name in (self.settings.law, "hold"):
                    raise
                self.undesigned[name] = str(error)
        self._own = {name: law.aimed for name, law in self._live()}
        for law in self._laws.values():
            if isinstance(law, ScheduledFeedback):
                law.prepare()
        for name, share in self.settings.reactions.items():
            self._laws[name] = self._reaction(share, q)
        if self.on_links is not None:
            self._laws[ON_LINKS] = self.on_links
        self.adapt(self.adapts)
        self._late = LateHoldController(self.model, self.actuators, q)
        self._holds = self._laws["hold"], self._late
        self.tolerates_delay = False
        self.limit(self.transfer.limits)

    def _reaction(self, share: float, q: Array) -> Controller:
        """The joint impedance with a share of its stiffness."""
        law = make_controller(self.model, self.actuators, self._settings_of("joint_impedance", q))
        assert isinstance(law, JointImpedance)
        law.set_stiffness(share * law.target)
        law.ramp.settle()
        return law

    def _settings_of(self, name: str, q: Array) -> ControllerSettings:
        """Settings of a law for rest at q (n,). Without link encoders they leave out observers of
        disturbances and contacts, which would compare the model with link states that come from
        the model."""
        settings = replace(self.settings.controllers[name], position=q)
        if "link_position" not in self.estimator.signals:
            observers = LAWS[name].own & {"disturbance_bandwidth", "contact_bandwidth"}
            without: dict[str, Any] = dict.fromkeys(observers, 0.0)
            settings = replace(settings, **without)
        return replace(settings, **self.lowered.get(name, {}))

    def judge(
        self,
        name: str,
        q: Array,
        *,
        at: Array | None = None,
        period: float = PERIOD,
        **conditions: Any,
    ) -> LoopJudgement | None:
        """Stability of the law `name`, designed for rest at q (n,), throughout the joint range.

        at : (n,) position that is judged first, in place of q. period : s of a cycle. conditions :
        `delay`, `model_error` and `poses` of :func:`.judge_loop`. Returns None for laws that use
        link states estimated by the observer of motor_encoders.
        """
        law = self._made(replace(self._settings_of(name, q), period=period))
        if (judge := self._judge_of(law, q if at is None else at, conditions)) is None:
            return None
        return judge.judge(law)

    def stabilise(
        self, name: str, q: Array, *, period: float = PERIOD, **conditions: Any
    ) -> LoopJudgement | None:
        """Lower the bandwidths of the law `name` until its loop is stable at all poses, and return
        its judgement; arguments and None as for :meth:`judge`.

        The values that were found (:mod:`lowered_bandwidths`, :mod:`lowered_impedance`) are in
        `lowered` and apply to all designs from now on. If there are none, and for the laws of
        NOT_LOWERED, nothing is lowered, and the judgement is that of the given bandwidths.
        """
        self.lowered.pop(name, None)
        settings = replace(self._settings_of(name, q), period=period)
        law = self._made(settings)
        if (judge := self._judge_of(law, q, conditions)) is None:
            return None
        judgement = judge.judge(law)
        if not judgement.is_unstable.any() or name in NOT_LOWERED:
            return judgement
        search = lowered_impedance if name in IMPEDANCES else lowered_bandwidths
        found = search(settings, self._made, judge)
        if found is None:
            return judgement
        self.lowered[name] = found
        return judge.judge(self._made(replace(settings, **found)))

    def faster_filter(
        self, names: Iterable[str], q: Array, *, period: float = PERIOD, **conditions: Any
    ) -> float | None:
        """The bandwidth in Hz of the filter of the state with which none of these laws excites
        oscillations because its torque comes late (:meth:`.LoopJudgement.is_late`), up to
        FASTEST_FILTER times the given one; None if there is none. Arguments as for :meth:`judge`.
        """
        laws = [self._made(replace(self._settings_of(name, q), period=period)) for name in names]
        judges = [self._judge_of(law, q, conditions) for law in laws]
        pairs = [(law, each) for law, each in zip(laws, judges, strict=True) if each is not None]
        return faster_filter(pairs)

    def _made(self, settings: ControllerSettings) -> Controller:
        """A controller for :meth:`judge`, with the present second outputs."""
        law = make_controller(self.model, self.actuators.without_coulomb_friction(), settings)
        law.stiffness[0] = self.stiffness[0]
        law.lead = FEEDFORWARD_LEAD * settings.period
        return law

    def _judge_of(
        self, law: Controller, q: Array, conditions: Mapping[str, Any]
    ) -> LoopJudge | None:
        """The poses and errors with which laws like this one are judged; None if they are not."""
        estimation = self.settings.estimation
        if estimation.source == "motor_encoders":
            on_motors = isinstance(law, LinearFeedback) and not law.uses_links
            if not on_motors and not isinstance(law, HoldController):
                return None
            estimation = replace(
                estimation,
                source="link_and_motor_encoders",
                bandwidth=self.settings.motor_bandwidth,
            )
        return LoopJudge(law, q, estimation=estimation, **conditions)

    def redesign(self, name: str, q: Array, lowered: Mapping[str, Any]) -> Controller:
        """A controller of the law `name` for rest at q (n,), with `lowered` settings; for
        :meth:`install`. Takes too long for a cycle, but may run beside it."""
        settings = replace(self._settings_of(name, q), **lowered)
        return make_controller(self.model, self.actuators, settings)

    def install(self, name: str, law: Controller) -> None:
        """Use `law` under this name from its next start on."""
        self._laws[name] = law
        self.undesigned.pop(name, None)
        if isinstance(law, LiveImpedance):
            self._own[name] = law.aimed
        if name == "hold":
            self._holds = law, *self._holds[1:]
            self.tolerate_delay(self.tolerates_delay)
        law.limit(self.transfer.limits.torque)
        self.adapt(self.adapts)

    def tolerate_delay(self, is_late: bool) -> None:
        """Choose the controller that "hold" uses from its next start on: the
        :class:`.LateHoldController` if torques are late, otherwise the law of `settings`."""
        self.tolerates_delay = is_late
        self._laws["hold"] = self._holds[is_late]

    def change(self, settings: FlatnessSettings, keep: str = "") -> str:
        """Use other settings from the next design on. Of the laws already designed, only those with
        live stiffness or damping change, gradually, and only where these settings differ from the
        previous ones; the law `keep` does not.

        Returns why a stiffness was refused, if the law cannot take it; otherwise "".
        """
        problem = ""
        for name, law in self._live():
            differing = self._differing(name, settings)
            if not differing:
                continue
            try:
                own = law.with_settings(differing, self._own[name])
                target = law.with_settings(differing)
                if name != keep:
                    law.aim(target)
                self._own[name] = own
            except InputError as error:
                problem = f"{name}: the stiffness was not changed: {error}"
        self.settings = settings
        return problem

    def requested(
        self, name: str, settings: FlatnessSettings, base: ImpedanceTarget | None = None
    ) -> ImpedanceTarget | None:
        """What the law `name` would approach after :meth:`change`, with `base` as its present
        target; None if it has no live stiffness or damping. Raises InputError if it cannot take
        the stiffness."""
        law = self.live_impedance(name)
        if law is None:
            return None
        return law.with_settings(self._differing(name, settings), base)

    def _differing(self, name: str, settings: FlatnessSettings) -> dict[str, Any]:
        """The live settings of a law that differ from the present ones."""
        if name not in settings.controllers:
            return {}
        own, old = settings.controllers[name], self.settings.controllers[name]
        rows = {each: (getattr(own, each), getattr(old, each)) for each in LIVE}
        return {each: new for each, (new, before) in rows.items() if _is_new(new, before)}

    def _live(self) -> Iterator[tuple[str, LiveImpedance]]:
        for name, law in self._laws.items():
            if isinstance(law, LiveImpedance) and name in self.settings.controllers:
                yield name, law

    def live_impedance(self, name: str) -> LiveImpedance | None:
        """The law of this name, if its stiffness or damping may change while it runs."""
        law = self._laws.get(name)
        return law if isinstance(law, LiveImpedance) else None

    def own_impedance(self, name: str) -> ImpedanceTarget | None:
        """The stiffness and damping of a law by `settings`; None if they cannot change."""
        return self._own.get(name)

    def renew_impedance(self, name: str) -> None:
        """Return the stiffness and damping of a law to those of `settings`; they are in effect from
        its next start on."""
        law = self.live_impedance(name)
        if law is not None and name in self._own:
            law.aim(self._own[name])

    def adapt(self, is_active: bool) -> None:
        """Let the laws with an adaptation change their estimates from now on, or keep them."""
        self.adapts = is_active
        for law in self._adaptations():
            law.is_active = is_active

    def forget_adaptation(self) -> None:
        """Return the estimates of all laws to the model."""
        for law in self._adaptations():
            law.clear()

    def _adaptations(self) -> Iterator[AdaptiveFeedforward]:
        for law in self._laws.values():
            if isinstance(law, LinearFeedback) and law.adaptive is not None:
                yield law.adaptive

    @property
    def adaptation(self) -> AdaptiveFeedforward | None:
        """The estimates that the active law uses; None if it has none."""
        law = self.transfer.law
        return law.adaptive if isinstance(law, LinearFeedback) else None

    def change_impedance(
        self, name: str, values: Mapping[str, float], duration: float = 0.0
    ) -> None:
        """Change stiffnesses and the damping ratio of the law `name`, see
        :meth:`.LiveImpedance.change`. Raises InputError for a law without live stiffness."""
        law = self.live_impedance(name)
        if law is None:
            raise InputError(
                f"law '{name}': its stiffness does not change while it runs; choose "
                f"joint_impedance, cartesian_impedance or esp_impedance"
            )
        law.change(values, duration)

    @property
    def impedance(self) -> LiveImpedance | None:
        """The law that is running, if its stiffness or damping may change."""
        return self.live_impedance(self.name)

    def limit(self, limits: JointCommandLimits) -> None:
        """Keep torques within these limits of the motors from the next update on."""
        self.transfer.limits = limits
        for law in (*self._laws.values(), *self._holds):
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
        if self._late is not None:
            self._late.elapsed += max(t - self._measured_at, 0.0)
        self._measured_at = t
        self._note_sent(t)
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
            pushed = self._acted[actuators.first_motor]
            self.observer.update(t, state.q, state.qd, np.where(actuators.is_rigid, pushed, Q))
        if self.detector is not None:
            driving = self._driving.of(springs.torque, signals, self._acted)
            self.detector.update(t, state.q, state.qd, driving, self.announced)
        self._predict(t)

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
            self._set_state(self._measured)
            return
        self.predictor.stiffness[:] = self.stiffness[:2]
        delays = settings.sensor_delay, settings.command_delay
        try:
            self._set_state(self.predictor.update(t, self._measured, *delays))
        except DynamicsError as error:
            self._diverged = str(error)

    def _set_state(self, rows: Iterable[Array]) -> None:
        for row, value in zip(self.state, rows, strict=True):
            row[:] = value

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
                self.lost = "a motor is far from where the observer of motor_encoders predicts it"
            elif estimator.starts != starts and not self._is_new:
                self.lost = "the observer of motor_encoders restarted"
            self._is_new = False
        if self.lost:
            self._lost_at = t

    @property
    def is_settled(self) -> bool:
        """Whether the estimated state is valid for feedback."""
        return self.estimator.is_settled and self._time - self._lost_at >= QUIET

    @property
    def speed(self) -> Array:
        """(n,) of each joint, rad/s or m/s: that of its link or of its motors, whichever is
        greater; with motor_encoders that of the motors, since the observer may have lost track."""
        of_motors = np.abs(self.motors[1] @ self.actuators.link_of_motors)
        if self._motor_filter is not None:
            return of_motors
        return np.maximum(of_motors, np.abs(self.estimator.state.qd))

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

        lead: s, from `desired` to `ahead`. Raises DynamicsError where the law has no solution or
        the predicted state diverges.
        """
        if self._diverged:
            raise DynamicsError(self._diverged)
        if not self.is_predicted:
            self._set_state(self._measured)
        step = step or PERIOD  # at the first update
        self._inverse.update()
        self.reference.update()
        self.reference.advance(step)
        transfer, sent = self.transfer, self.sent
        if not sent.count and self._sample is not None:  # acts already, and did before
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
        )
        self._sent_at = self._sample
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


def _is_new(value: Any, old: Any) -> bool:
    """Whether a number, a row of numbers, or None differs from the old one."""
    if value is None or old is None:
        return value is not old
    return not np.array_equal(value, old)
