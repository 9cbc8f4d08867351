# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle of an arm with elastic joints: from a sample to the torques of its motors.

    Sample -> ValidSides          without what cannot be
           -> MeasuredArm         q, q', theta, theta', torques of springs, contacts
           -> FeedbackState       the same when the torque takes effect, where delays are known
           -> ArmReference        the desired motion now and ahead, q .. q'''', with Q, Q', Q''
           -> Supervisor          mode and fault, by the table of `modes`
           -> one of DesignedLaws -> BumplessTransfer, which limits -> Command

The node, studies and simulations run this cycle.
"""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ...core import (
    SECOND,
    Array,
    BoundCall,
    DynamicsError,
    IndependentCopies,
    InputError,
    record_fields,
)
from ...elastic import Actuators
from ...model import MultibodyModel
from ...motion import (
    JointCommandLimits,
    LimitEvent,
    StreamLimits,
    joint_turns,
)
from ...motion.segments import MODES
from ..controllers.bumpless_transfer import BumplessTransfer
from ..controllers.controllers import (
    Computed,
    Controller,
    LinearFeedback,
    compiled_link_friction,
)
from ..controllers.hold_controller import HoldController
from ..controllers.stop_forecast import stop_distances
from ..impedance.live_impedance import LiveImpedance
from ..laws.designed_laws import DesignedLaws
from ..laws.feedforward_law import gravity_load
from ..laws.flatness_settings import ON_LINKS, FlatnessSettings
from ..observers.adaptive_feedforward import AdaptiveFeedforward
from ..observers.collision_thresholds import PUSH
from ..records.actuation import actuation
from ..signals.derivative_filter import MAX_STEP
from ..signals.encoder_steps import Resolutions, compiled_interpolate_speeds
from ..trajectories.stream_design import design_stream
from .arm_reference import ArmReference
from .arm_settings import ArmSettings
from .base_reference import BaseReference
from .collision_reaction import LAWS_OF_REACTIONS, RETRACT, CollisionReaction, Contact
from .desired_motion import DesiredMotion, TrajectoryRequest
from .feedback_state import FeedbackState
from .measured_arm import MeasuredArm
from .modes import CONTACT, IMPLAUSIBLE, NOT_FINITE, TIME, Mode, Rules, Situation, top_speeds
from .plausibility import RestingArm
from .stiffness_reference import StiffnessReference
from .supervisor import Event, Supervisor
from .torque_steps import CycleTimes, TorqueTimes
from .valid_sides import BOTH, LINKS, MOTORS, Sample, ValidSides

STOP_TRANSFER = 0.05  # s for a damped stop to take over the torque
SLOWED = (
    "the links oscillate, and the desired motion does not explain it: until the next activation,"
    " their disturbances are compensated as slowly as a soft base requires (base_frequency)"
)


class Command(NamedTuple):
    """The answer to a sample, in values that nobody changes.

    stamp : ns, of the sample. torque : (m,) to be sent, N m; None if there is nothing to send.
    reference : (4, m) theta, theta', theta'' and torque of the motors along the desired motion.
    desired : (5, n) q .. q'''' against which errors are judged; error : (2, n) of q and q'.
    q, qd : (n,) on which the law acts; estimated : q and q' (n,) as measured; joint_torque : (n,)
    of the springs; external : (n,) external torques, None without detection of contacts. second :
    (3, v) second outputs.
    ahead_by : s, from `stamp` to the time of `desired`. mode, events, cuts : what has changed, and
    what was limited. contact : one that has just been noticed. slowed : what has become slower
    because an oscillation was just noticed, or "".
    """

    stamp: int
    torque: Array | None
    reference: Array
    desired: Array
    error: Array
    q: Array
    qd: Array
    estimated: tuple[Array, Array]
    joint_torque: Array
    external: Array | None
    second: Array
    ahead_by: float
    mode: Mode
    events: tuple[Event, ...]
    cuts: tuple[LimitEvent, ...]
    contact: Contact | None
    slowed: str = ""


class Arm(IndependentCopies):
    """An arm under control: call :meth:`update` with every sample, and send what it answers.

    >>> arm = Arm(model, actuators)
    >>> arm.design(q)
    >>> arm.activate()
    >>> command = arm.update(Sample(stamp, {"link_position": q, "motor_position": theta}))

    Parameters
    ----------
    settings : of laws and estimation, fixed at the design. cycle : of the cycle, may be replaced by
        :meth:`change`. motion : what the arm follows; a new DesiredMotion if not given.

    Attributes, for reading: the parts named in the module, `measured`, `feedback`, `motion`,
    `reference`, `second`, `supervisor`, `laws`, `transfer`, `collisions` (None without detection);
    `base`, the motion of the base, None if it is fixed, which may be set between cycles; `times` of
    the cycle; `steps` of the encoders; `name`, of the law that acts, and `chosen`, of the one that
    acts while following.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        settings: FlatnessSettings | None = None,
        cycle: ArmSettings | None = None,
        *,
        motion: DesiredMotion | None = None,
        estimator: Any = None,
    ) -> None:
        settings = settings or FlatnessSettings()
        if settings.gravity_compensated_by_robot and model.has_passive_springs:
            raise InputError(
                f"gravity_compensated_by_robot is not available for robot '{model.name}', which "
                "has springs at joints without a motor; have the controller compensate gravity"
            )
        self.model, self.actuators = model, actuators
        self.cycle = cycle or ArmSettings()
        self.motion = motion or DesiredMotion(model.joint_names, model.limits, joint_turns(model))
        self.second = StiffnessReference(actuators)
        still = np.zeros(model.n)  # laws are judged with these outputs before anything is measured
        self.second.rows[0] = self.second.feasible(self.cycle.initial_stiffness, still)
        self.measured = MeasuredArm(model, actuators, settings, estimator)
        self.measured.without_links(
            {"motor_position": np.zeros(len(actuators.motors))}, self.second.rows
        )  # compile now, not in the first cycle
        self.resting = RestingArm(model, actuators)
        self.feedback = FeedbackState(model, actuators, settings, self.measured)
        signals = self.measured.estimator.signals
        self.laws = DesignedLaws(model, actuators, settings, signals, self.second.rows[0])
        self.transfer = BumplessTransfer(actuators)
        self.collisions: CollisionReaction | None = None
        if self.measured.detector is not None:
            self.collisions = CollisionReaction(self.measured.detector, self.motion.limits)
        self.base: BaseReference | None = None
        self.reference = ArmReference(model, actuators)
        self._actuation = actuation(actuators)
        self._links_have_friction = bool(actuators.has_link_friction.any())
        self.chosen = self.name = settings.law
        period = settings.controllers[settings.law].period
        self.times = TorqueTimes(CycleTimes(period, MAX_STEP))
        self._lead = 0.0  # s, of the torque before the reference
        self._stop_distances = np.full((2, model.n), np.inf)
        self._resolution = np.full(model.n + len(actuators.motors), np.inf)
        self._missed = ""  # what the last sample lacked
        self._valid = ValidSides(model, actuators, self.resting, self.cycle)
        self.steps = self._valid.steps
        self._resolutions = Resolutions(self._resolution[: model.n], self._resolution[model.n :])
        self._found = record_fields.zeros(Situation, n=model.n, m=len(actuators.motors))._replace(
            sent=self.transfer.torque,
            theta=self.measured.motors[0],
            springs=self.measured.measured_spring_torque,
            link_step=self.steps.link_step,
            motor_step=self.steps.motor_step,
        )
        self._interpolate_speeds = BoundCall(
            compiled_interpolate_speeds,
            self._resolutions,
            self.steps,
            self._found.qd,
            self._found.thetad,
        )
        self._interpolate_speeds()  # compiles
        self._stream_limits: StreamLimits | None = None
        self._events: list[Event] = []
        self._cuts: list[LimitEvent] = []
        self._slowed = ""
        self.supervisor = Supervisor(model.joint_names, self._rules(), self._found)
        self.restart()
        self.deactivate()

    @property
    def settings(self) -> FlatnessSettings:
        """Settings of the laws, see :meth:`.DesignedLaws.change`."""
        return self.laws.settings

    def _rules(self) -> Rules:
        p, actuators = self.cycle, self.actuators
        no_load = np.full(self.model.n, np.inf)
        return Rules(
            follows=1,
            stops_on_links=int(self.laws.on_links is not None),
            link_timeout=p.state_timeout,
            recovers=int(p.recover_automatically),
            recovery_speed=p.recovery_speed,
            recovery_limit=p.recovery_limit,
            recovery_window=p.recovery_window,
            tracking_tolerance=p.tracking_tolerance,
            latency_tolerance=p.latency_tolerance,
            stop_speed_limit=p.stop_speed_limit,
            stop_timeout=p.stop_timeout,
            transfer_time=p.transfer_time,
            stop_transfer_time=STOP_TRANSFER,
            velocity=self.model.limits.velocity,
            stop_distance=self._stop_distances[0],
            late_distance=self._stop_distances[1],
            external_load=p.load_tolerance * self.resting.allowed if p.load_tolerance else no_load,
            link_resolution=self._resolutions.link_resolution,
            motor_resolution=self._resolutions.motor_resolution,
            torque_limit=self.transfer.limits.torque,
            joint_of_motor=actuators.joint_of_motor,
            link_share=actuators.link_of_motors.sum(axis=1),
        )

    # Requests

    def design(self, q: Array) -> None:
        """Design the estimator and every law for rest at q (n,). Raises the errors of
        :meth:`.DesignedLaws.design`, and InputError where the springs cannot hold the arm."""
        self.measured.estimator.design(q)
        self.laws.design(q)
        speed = top_speeds(self.model.limits.velocity)
        assert self.laws.holds
        for row, stop in zip(self._stop_distances, self.laws.holds, strict=True):
            row[:] = stop_distances(stop, q, speed)
            stop.watch(self._resolutions, self.steps)
        self._resolution[:] = self.laws.needed_resolution(self.chosen)

    def change(self, cycle: ArmSettings) -> None:
        """Use other settings from the next cycle on."""
        self.cycle = cycle
        self.supervisor.rules = self._rules()
        self._valid.change(cycle)

    def limit(self, limits: JointCommandLimits) -> None:
        """Keep torques within these limits of the motors from the next cycle on."""
        self.transfer.limits = limits
        self._stream_limits = None
        self.supervisor.rules = self._rules()
        self.laws.limit(limits.torque)
        self._resolution[:] = self.laws.needed_resolution(self.chosen)

    def activate(self, torque: Array | None = None) -> None:
        """Take over with the next sample, from `torque` (m,) or, by default, from the one that
        balances the springs; the motion is then a hold. The filters run on, so an arm that moves
        is stopped first: at once, or when they have settled."""
        self._is_active, self._has_begun, self._first_torque = True, False, torque
        self.times.period = self._lead = 0.0
        self.laws.renew()
        self._forget_torques()

    def deactivate(self) -> None:
        """Answer no more samples with a torque; they are measured as before."""
        self._is_active = self._has_begun = False
        self._release()
        self.supervisor.deactivate()

    def restart(self, why: str = "") -> None:
        """Forget everything that depends on time, because time jumped; the arm, which may have
        moved on, stops."""
        self.supervisor.restart(0.0)
        if why and self.supervisor.mode.is_following:
            self.fail(TIME, why)
        self.measured.restart()
        self._valid.restart()
        self.times.restart()
        self._measured_at = np.inf
        self._forget_torques()

    def _forget_torques(self) -> None:
        """Forget what the torques were."""
        self.feedback.restart()
        self.reference.settle()
        self._release()
        self.second.release()
        self.times.forget_torques()
        self._valid.forget()

    def _release(self) -> None:
        """End the motion; sides without samples are then carried along nothing."""
        self.motion.release()
        self.reference.stop_motors()

    def choose_law(self, name: str) -> None:
        """Follow with another law from now on, changing over from the one that acts."""
        self.chosen = name
        self._resolution[:] = self.laws.needed_resolution(name)
        if self.supervisor.mode.is_following and name != self.name:
            self.name, self.transfer.duration = name, self.cycle.transfer_time
            self.transfer.switch(self.laws[name])

    def resume_from_balance(self, now: int) -> None:
        """Continue from the torque that balances the springs, as brakes may have held the arm; but
        not while, at `now` (ns), a torque still damps it after a failed stop."""
        if not self.supervisor.damping_share(self.times.seconds(now)):
            self.transfer.torque[:] = self.measured.holding_torque()

    def clear_fault(self) -> None:
        """End the present fault, and believe the next positions that only springs could refuse; the
        arm follows again once it is at rest."""
        self._valid.accept_next()
        self._note(self.supervisor.clear(*self.measured.velocities))

    def fail(self, fault: int, text: str) -> None:
        """Stop the arm for a reason that is outside of the rules."""
        now = self.times.seconds(self.times.answered)
        self._note(self.supervisor.fail(fault, now, *self.measured.velocities, text))

    def note_delay(self, now: int) -> None:
        """Note that the last command was sent at `now` (ns)."""
        times = self.times
        delay, then = 1e-9 * (now - times.answered), times.seconds(times.answered)
        self._note(self.supervisor.note_delay(then, delay, *self.measured.velocities))

    @property
    def stream_limits(self) -> StreamLimits:
        """What a stream may do, by the limits of the motors; designed when it is first used, which
        takes some tenths of a second."""
        if self._stream_limits is None:
            self._stream_limits = design_stream(
                self.model, self.actuators, self.motion.limits, self.transfer.limits,
                stiffness=self.second.rows[0],
            )  # fmt: skip
        return self._stream_limits

    def stream(
        self,
        positions: Array,
        times: Any = 0.0,
        velocities: Array | None = None,
        *,
        start: int | None = None,
        tolerance: float = 0.1,
    ) -> None:
        """Follow targets of a stream from the next cycle on, see :meth:`.DesiredMotion.stream`.

        positions, velocities : (n,) or (k, n). times : s, one for each point, after `start` (ns;
        None: when this message should have arrived). tolerance : rad or m, for the first message.
        Raises RequestError for targets that cannot begin or continue a stream, and before the first
        cycle.
        """
        rates = None if velocities is None else np.atleast_2d(velocities)
        request = TrajectoryRequest(
            start, np.atleast_1d(np.float64(times)), np.atleast_2d(positions), rates, None
        )
        q, limits = self.feedback.state.q, self.stream_limits
        self.motion.stream(request, q, limits, tolerance=tolerance)

    # For reports

    @property
    def answer(self) -> str:
        """What is done about the present fault, in words."""
        if self.supervisor.mode is Mode.YIELDING:
            return self._law_of_mode().replace("_", " ")
        return "no torque is sent" if self.supervisor.mode is Mode.INACTIVE else "stopping"

    @property
    def mode_of_motion(self) -> str:
        """'stopped', or what the motion does."""
        return "stopped" if self.supervisor.fault is not None else self.motion.mode

    # What is measured

    @property
    def joint_torque(self) -> Array:
        """(n,) current torques of the springs, N m; gravity torques at rigid joints."""
        return self.measured.joint_torque

    @property
    def adaptation(self) -> AdaptiveFeedforward | None:
        """The estimates that the acting law uses; None if it has none."""
        law = self.transfer.law
        return law.adaptive if isinstance(law, LinearFeedback) else None

    @property
    def impedance(self) -> LiveImpedance | None:
        """The acting law, if its stiffness or damping may change."""
        return self.laws.live_impedance(self.name)

    def coarse_encoder(self) -> str:
        """Why an encoder is too coarse for the gains; empty if none is known to be."""
        rules = self.supervisor.rules
        return self.resting.coarse_encoder(
            self.steps, rules.link_resolution, rules.motor_resolution
        )

    def measure(self, sample: Sample) -> None:
        """Update the measured and the acting state, as :meth:`update` does. Raises InputError for
        invalid signals, and then leaves the state unchanged."""
        sample = self._valid.unwrapped(sample)
        self._valid.note_steps(sample)
        self._measure(sample)

    @property
    def judges_returns(self) -> bool:
        """Whether states that return count only if links and motors agree."""
        load = self.supervisor.rules.external_load
        return not self.measured.observes_links and bool(np.isfinite(load).any())

    def motors_at_rest(self, q: Array) -> Array:
        """(m,) motor positions with the links at rest at q (n,); needs `laws.on_links`."""
        stop = self.laws.on_links
        assert stop is not None
        stop.stiffness[0] = self.second.rows[0]
        stop.rest_at(q)
        return stop.theta.copy()

    # The cycle

    def update(self, sample: Sample) -> Command:
        """Answer a sample. Without signals, only modes and faults change; in LOST there is no
        torque, except while the damping after a failed stop fades, and the caller sends that of
        :meth:`rest`, once or in every cycle. Nor is there one before :meth:`activate`."""
        sample = self._valid.unwrapped(sample)
        self._valid.note_steps(sample)
        if self._has_begun:
            observes = self.measured.observes_links
            sample = self._valid.of(
                sample,
                missed=self._missed,
                load=self.supervisor.rules.external_load,
                velocities=(self.motion.desired[1], self.reference.motors[1]),
                compares=not observes,
                can_stop_on_links=self.laws.on_links is not None and not observes,
            )
        return self.respond(sample)

    def respond(self, sample: Sample) -> Command:
        """The same for a sample of which the caller has judged what counts, as
        :func:`.take_samples` does."""
        now, step = sample.stamp, self.times.since_torque(sample.stamp)
        contact = torque = None
        try:
            if sample.signals is not None:
                self._measure(sample)
                self._begin(now)
            if self.motion.is_active:
                if sample.signals is not None:
                    self._refer(now, step)
                contact = self._supervise(sample, step)
                torque = self._act(sample, step)
        except DynamicsError as error:
            self.fail(NOT_FINITE, self.reference.problem() or str(error))
            if self.motion.is_active:
                torque = self._rest(now, self.times.torque_step(step))
        return self._command(now, torque, contact)

    def rest(self, now: int, step: float | None = None) -> Command:
        """The torque that holds the arm at rest at its last position; None if it is not finite.

        step : s after the last torque, by which this one may differ from it as far as limits allow,
            without a fade, because no further torque may follow; None: this is one of many cycles.
        """
        if step is None:
            step = self.times.torque_step(self.times.since_torque(now))
        else:
            self._start_law(now, is_last=True)
            self.transfer.share = 1.0
        command = self._command(now, self._rest(now, step), None)
        return command._replace(error=np.zeros_like(command.error), ahead_by=0.0)

    def command(self, now: int) -> Command:
        """What has changed since the last command, without a torque."""
        return self._command(now, None, None)

    def _measure(self, sample: Sample) -> None:
        """The state as measured, and the one to act on."""
        assert sample.signals is not None
        measured, signals, second = self.measured, sample.signals, self.second.rows
        self.times.begin(sample.stamp)
        t = self.times.seconds(sample.stamp)
        if self.base is not None:
            base = self.base.at(sample.stamp)
            for each in (measured, self.resting.gravity):
                each.move_base(*base)
        if sample.missing == LINKS:
            signals = measured.without_links(signals, second)
        elif sample.missing == MOTORS:
            signals = {**signals, "motor_position": self.motors_at_rest(signals["link_position"])}
        elif self._missed == MOTORS or (self._missed == LINKS and self._motors_rest()):
            measured.estimator.reset()  # they are not where the model had them at rest
        self._missed = sample.missing
        if self.laws.late is not None:
            self.laws.late.elapsed += max(t - self._measured_at, 0.0)
        self._measured_at = t
        acted = self.feedback.acted(t, self.transfer.torque)
        measured.announced[:] = 0.0 if sample.external is None else sample.external
        if sample.is_late:
            measured.coast(t, (self.motion.desired[1:3], self.reference.motors[1:3]), second)
        else:
            measured.update(t, signals, acted, second)
        self.feedback.update(t, second[:2])

    def _motors_rest(self) -> bool:
        speed = np.abs(self.measured.velocities[1]).max()
        return bool(speed < self.cycle.recovery_speed)

    def _begin(self, now: int) -> None:
        """Hold the measured position, unless there is a motion."""
        p, measured = self.cycle, self.measured
        if self.motion.is_active or not self._is_active or self.supervisor.is_final:
            return
        if not self._has_begun:
            if why := self._valid.implausible(measured):
                self.fail(IMPLAUSIBLE, f"{why}; correct it or accept it by load_tolerance (0: any)")
                return
            if why := self.coarse_encoder():
                self.fail(IMPLAUSIBLE, why)
                return
            first = self._first_torque
            self.transfer.torque[:] = measured.holding_torque() if first is None else first
        self.second.begin(
            p.initial_stiffness, measured.springs, self.joint_torque, now, p.transfer_time
        )
        self.motion.hold(measured.estimator.state.q, now)
        if not self._has_begun:
            knows_speed = measured.knows_speed
            self.supervisor.activate(self.times.seconds(now), *measured.velocities, knows_speed)
            self._has_begun = True
        else:  # after time jumped: the velocities are not known yet
            self._start_law(now)
            self.transfer.duration = p.transfer_time

    def _refer(self, now: int, step: float) -> None:
        """The desired motion and second outputs of this cycle, and the motion ahead of them."""
        if self.supervisor.mode is not Mode.LOST:  # without torques, a long step is no period
            self.times.note_period(step)
        time = now + int(SECOND * self._ahead_by)
        delay = self.settings.command_delay - self.feedback.lead  # 0 if the state is predicted
        self._lead = self.cycle.feedforward_lead * self.times.period + delay
        self.reference.evaluate(self.motion, self.base, time, self._lead)
        if self.second.rows.size:
            self._cuts += self.second.evaluate(time, self.joint_torque)

    @property
    def _ahead_by(self) -> float:
        """s, from a sample to the time at which the motion is evaluated for it."""
        return self.cycle.lookahead + self.feedback.lead

    def _supervise(self, sample: Sample, step: float) -> Contact | None:
        """Apply the rules; start the law that acts from now on, if it is another one."""
        now = sample.stamp
        contact, mode = self._answer_contact(sample)
        why = sample.why or self.measured.lost or (contact.text if contact else "")
        if step > self.cycle.state_timeout and not sample.missing:
            why = f"gap of {step:.3f} s between two stamps"
        self._note_situation(sample, step, mode)
        self._note(self.supervisor.update(self.times.seconds(now), why))
        self.supervisor.note_motion(MODES.index(self.motion.mode))
        if self._start_new_law(now):
            if contact is not None and self.cycle.collision_reaction == RETRACT:
                self._retract(contact)
            self._refer(now, 0.0)
        return contact

    def _note_situation(self, sample: Sample, step: float, contact: int) -> None:
        """Note what this cycle finds; contact : the mode that answers one, 0 for none."""
        found, measured, missing = self._found, self.measured, sample.missing
        found.lacks_links[0] = missing in (LINKS, BOTH)
        found.lacks_motors[0] = missing in (MOTORS, BOTH)
        found.elapsed[0] = step
        found.is_lost[0] = bool(measured.lost)
        found.is_settled[0] = measured.is_settled
        found.knows_speed[0] = measured.knows_speed
        found.contact[0] = contact
        found.is_carried[0] = sample.is_late
        found.has_wrench[0] = sample.external is not None and measured.announced.any()
        qd, thetad = measured.velocities
        found.qd[:] = 0.0 if found.lacks_links[0] else qd
        found.thetad[:] = 0.0 if found.lacks_motors[0] else thetad
        self._interpolate_speeds()
        np.subtract(self.motion.desired[0], self.feedback.state.q, out=found.error)
        found.q[:] = measured.place

    def _retract(self, contact: Contact) -> None:
        """Move back from a contact."""
        assert self.collisions is not None
        q, distance = self.feedback.state.q, self.cycle.retract_distance
        self.motion.go(*self.collisions.retraction(contact, q, distance))

    def _answer_contact(self, sample: Sample) -> tuple[Contact | None, int]:
        """A new contact, and the mode that answers it."""
        if self.collisions is None or sample.signals is None:
            return None, 0
        return self.collisions.answer(
            sample.stamp,
            self.cycle.collision_reaction,
            is_measured=not sample.missing,
            has_fault=self.supervisor.fault is not None,
        )

    def _start_new_law(self, now: int) -> bool:
        """Start the law of the present mode if that is a new one; whether it is."""
        is_new = self.supervisor.is_new
        if is_new:
            self._start_law(now)
        return is_new

    def _start_law(self, now: int, *, is_last: bool = False) -> None:
        """Start the law of the present mode at the present position, from the last torque;
        is_last: no other torque may follow that of rest."""
        supervisor = self.supervisor
        supervisor.is_new = False
        self.laws.tolerate_delay(supervisor.tolerates_delay)
        self.name = self._law_of_mode()
        self.transfer.duration = supervisor.duration
        keeps = is_last or not supervisor.mode.is_following
        kept = supervisor.kept_torque if keeps else None
        self.transfer.activate(self.laws[self.name], self.transfer.torque.copy(), kept)
        self.times.start_law()
        self.reference.stop_motors()
        if self.motion.is_active:
            self.motion.hold(self.feedback.state.q, now)

    def _law_of_mode(self) -> str:
        mode = self.supervisor.mode
        if mode.is_following:
            return self.chosen
        if mode is Mode.YIELDING:
            return LAWS_OF_REACTIONS[self.cycle.collision_reaction]
        return ON_LINKS if self.supervisor.on_links else "hold"

    def _act(self, sample: Sample, step: float) -> Array | None:
        """The torque (m,) of this cycle; None if nothing acts on the arm."""
        if sample.signals is None:
            return None
        if self.supervisor.mode is not Mode.LOST:
            return self._run_law(sample, step)
        return self._damp(sample, step) if sample.missing in ("", LINKS) else None

    def _run_law(self, sample: Sample, step: float) -> Array:
        """The torque of the acting law, within the limits. Raises DynamicsError if it has none."""
        feedback, reference, transfer = self.feedback, self.reference, self.transfer
        law, is_following = transfer.law, self.supervisor.mode.is_following
        assert law is not None
        if not is_following:
            feedback.use_measured_state()
        elif feedback.diverged:
            raise DynamicsError(feedback.diverged)
        dt = self.times.torque_step(step)
        if law.uses_motion or self._links_have_friction:
            reference.compute_torques()
        self._prepare(law)
        lowerings = law.lowerings
        transfer.update(
            dt,
            reference.now.state,
            *feedback.state,
            ahead=reference.ahead.state,
            stiffness=self.second.rows if self.second.rows.size else None,
            past=feedback.past,
            computed=Computed(reference.now.result, reference.ahead.result, self.measured.springs),
            elapsed=step,
            feedback_share=self.times.feedback_share(
                sample, step, dt, transfer.held_back, law.reduces_gains or not is_following
            ),
            observes=sample.is_complete and not sample.is_late,
            fallback=reference.motors[3] if is_following else None,
        )
        if law.lowerings and not lowerings:
            self._slowed = SLOWED
        if (motors := law.motor_reference) is None:
            reference.map_motors(self.second.rows, dt)
        else:
            reference.motors[:] = motors
        sent, motors = transfer.torque, reference.motors
        if not isfinite(sent.dot(sent) + np.vdot(motors, motors)):
            raise DynamicsError("the computed torque is not finite")
        feedback.send(sent)
        if law.spring_states is not None:
            self.measured.springs.states[:] = law.spring_states
        self._cuts += transfer.events
        if self.measured.observes_links and isinstance(law, HoldController):
            self.measured.set_gravity_position(law.q)
        return sent

    def _prepare(self, law: Controller) -> None:
        """Give the law what acts on the links besides its torques, and its lead."""
        measured, now = self.measured, self.reference.now
        if self._links_have_friction:
            along = now.state[1], now.result[0], measured.springs.states
            compiled_link_friction(self._actuation, *along, measured.link_friction)
        if abs(self._lead - law.lead) > 0.1 * self._lead:
            law.lead = self._lead
        law.external_torque[:] = self._external_torque()
        if self.base is not None:
            law.move_base(self.base.pose, self.base.rates)
            law.base_torque[:] = measured.base_torque

    def _external_torque(self) -> Array:
        """(n,) that the law takes into account."""
        fault, measured = self.supervisor.fault, self.measured
        if fault is not None and fault.code == CONTACT and self.collisions is not None:
            return self.collisions.offset  # do not push against the contact
        if self.cycle.observer_feedback and measured.observer is not None:
            return measured.observer.residual  # includes the announced torque
        return measured.announced

    def _damp(self, sample: Sample, step: float) -> Array | None:
        """After a stop that has failed, the torque at rest with damping that fades; None after
        that, and in all other cases."""
        share = self.supervisor.damping_share(self.times.seconds(sample.stamp))
        if not share:
            return None
        if self.supervisor.is_new and self.laws.late is not None:
            self.laws.late.reset()
        self.feedback.use_measured_state()
        return self._rest(sample.stamp, self.times.torque_step(step), damping=share)

    def _rest(self, now: int, step: float, *, damping: float = 0.0) -> Array | None:
        """The torque at rest at the last position, as far as limits allow, with a share of the
        damping after a failed stop; None if not finite."""
        self._start_new_law(now)
        q, second = self.feedback.state.q, self.second.rows
        second[1:] = 0.0
        self.measured.set_gravity_position(q)
        torque = self.reference.rest(q, second)
        if damping and self.laws.late is not None:
            elapsed = max(self.times.since_torque(now), step)
            self.laws.late.damp(torque, self.measured.motors[0], elapsed, damping)
        if not np.isfinite(torque).all():
            return None
        self.transfer.send(step, torque)
        self._cuts += self.transfer.events
        return self.transfer.torque

    def _command(self, now: int, torque: Array | None, contact: Contact | None) -> Command:
        """The answer to the sample of `now` (ns), in copies."""
        state, motion, detector = self.feedback.state, self.motion, self.measured.detector
        if torque is not None:
            self.times.answered = now
        q, qd = links = np.array(state[:2])
        estimated = q, qd
        if self.feedback.is_predicted or self.measured.observes_links:
            own = self.measured.estimator.state
            estimated = own.q.copy(), own.qd.copy()
        desired = motion.desired.copy() if motion.is_active else self.reference.now.state.copy()
        command = Command(
            stamp=now,
            torque=None if torque is None else self._commanded(torque),
            reference=self.reference.motors.copy(),
            desired=desired,
            error=desired[:2] - links,
            q=q,
            qd=qd,
            estimated=estimated,
            joint_torque=self.joint_torque,
            external=None if detector is None else detector.residual[PUSH].copy(),
            second=self.second.rows.copy(),
            ahead_by=self._ahead_by,
            mode=self.supervisor.mode,
            events=tuple(self._events),
            cuts=tuple(self._cuts),
            contact=contact,
            slowed=self._slowed,
        )
        self._events.clear()
        self._cuts.clear()
        self._slowed = ""
        return command

    def _commanded(self, torque: Array) -> Array:
        """(m,) without gravity if the robot compensates it itself."""
        if not self.settings.gravity_compensated_by_robot:
            return torque.copy()
        return torque - gravity_load(self.actuators, self.measured.gravity)

    def _note(self, event: Event | None) -> None:
        if event is not None:
            self._events.append(event)
