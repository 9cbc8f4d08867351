# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The cycle of a generated controller in Python, composed of the classes of `dyn.control`.

:class:`ControllerCycle` is the definition of what the generated C does: the same filters, laws,
transfer, limits and state machine, cycle by cycle. The self-test of a generated package is recorded
with it, and the tests of this package compare both over motions with faults.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.control import BumplessTransfer, DerivativeFilter, LinearFeedback
from ...dynamics.core import Array, DynamicsError, InputError
from ...dynamics.elastic import MotorFeedforward, resting_second_outputs
from ...dynamics.motion import JointCommandLimits, Trajectory, brake, interpolate, segments
from ...dynamics.rigid import gravity_forces
from .generated_design import ControllerDesign, motors_at_rest

MOST_STALLED = 10  # cycles
SHORTEST_SEGMENT = 1e-9  # s
SEGMENTS = segments.SEGMENTS  # the last one is for the path to rest
LONGEST_GAP = 2000.0  # cycles without link states that are recorded for the self-test


class State(IntEnum):
    """What the controller does; see the header of a generated controller."""

    INACTIVE = 0
    STOPPING = 1
    HOLDING = 2
    FOLLOWING = 3
    BRAKING = 4
    LOST = 5


class Fault(IntEnum):
    """Why the arm is stopped."""

    NONE = 0
    SETTLING = 1
    NO_LINKS = 2
    NO_MOTORS = 3
    TRACKING = 4
    NOT_FINITE = 5
    TIME = 6


class Answer(IntEnum):
    """Answers to a point."""

    ACCEPTED = 0
    NOT_FINITE = 1
    LATE = 2
    BEYOND = 3
    FULL = 4
    NOT_READY = 5


FOLLOWING = (State.HOLDING, State.FOLLOWING, State.BRAKING)
LATCHED = (Fault.TRACKING, Fault.NOT_FINITE)


class Motion:
    """Segments that join continuously in q..q'''', and the state at the end of the last one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.segments: list[tuple[Trajectory, float]] = []  # each with the time at which it ends
        self.end = 0.0
        self.last: Array = np.zeros((5, len(names)))

    def hold(self, q: Array, time: float) -> None:
        self.segments, self.end = [], time
        self.last = np.zeros((5, len(self.names)))
        self.last[0] = q

    def append(self, time: float, state: Array) -> Trajectory:
        segment = Trajectory(self.names, np.array([self.end, time]), np.stack([self.last, state]))
        self.segments.append((segment, time))
        self.end, self.last = time, state.copy()
        return segment

    def drop(self, done: float) -> None:
        while self.segments and self.segments[0][1] <= done:
            del self.segments[0]

    def evaluate(self, time: float) -> Array:
        for segment, end in self.segments:
            if time < end:
                return segment(max(time, segment.start_time))
        return self.last.copy()

    def cut(self, time: float) -> None:
        if not self.segments or time >= self.end:
            return
        time = max(time, self.segments[0][0].start_time)
        while len(self.segments) > 1 and self.segments[-1][0].start_time >= time:
            del self.segments[-1]
        segment = self.segments[-1][0]
        self.last, self.end = segment(time), time
        self.segments[-1] = segment, time

    @property
    def rests(self) -> bool:
        return not self.last[1:].any()

    def brake(self, acceleration: Array) -> None:
        path = brake(self.names, self.last, self.end, acceleration)
        if len(path.knots) > 1:
            self.append(float(path.knots[1]), path.states[1])


class ControllerCycle:
    """A controller in Python with the interface of the generated one.

    Attributes: `state`, `fault`, `torque` (m,), `desired` (5, n), and the estimates `q`, `qd` (n,),
    `theta`, `thetad` (m,).
    """

    # long: creates every part of the cycle
    def __init__(self, design: ControllerDesign) -> None:
        assert isinstance(design.law, LinearFeedback)
        model, actuators = design.model, design.actuators
        self.design, self.parameters = design, design.parameters
        p, n, m = design.parameters, model.n, len(actuators.motors)
        self.law, self.hold = design.law, design.hold
        names = (*model.joint_names, *(f"{name} (motor)" for name in actuators.motor_names))
        self.filter = DerivativeFilter(
            names, p["filter_order"], p["filter_bandwidth"], max_step=p["max_step"]
        )
        limits = JointCommandLimits(
            actuators.motor_names, torque=p["torque_limit"], torque_rate=p["torque_rate_limit"]
        )
        self.transfer = BumplessTransfer(actuators, limits, max_step=p["max_step"])
        self.hold.torque_limit = p["torque_limit"]
        self.motion = Motion(model.joint_names)
        self._rest = MotorFeedforward(actuators)
        self.second = np.zeros((3, len(actuators.variable_joints)))
        self.second[0] = resting_second_outputs(actuators)
        self.external = np.zeros(n)
        self.state, self.fault = State.INACTIVE, Fault.NONE
        self.torque: Array = self.transfer.torque
        self.desired = np.zeros((5, n))
        self.q, self.qd = np.zeros((2, n))
        self.theta, self.thetad = np.zeros((2, m))
        self.time: float | None = None
        self.stalled = 0
        self.stop_failed = False
        self.filter_time: float | None = None
        self.filter_started = 0.0
        self.link_time = self.motor_time = -np.inf
        self.last_q, self.last_theta = np.zeros(n), np.zeros(m)

    # Requests

    def activate(self, applied: Any = 0.0) -> bool:
        is_ready = self.filter_time is not None and not (self.lacks_links or self.lacks_motors)
        if self.state is not State.INACTIVE or not is_ready:
            return False
        self.torque[:] = applied
        assert self.time is not None
        self.motion.hold(self.q, self.time)
        self.desired = self.motion.evaluate(self.time)
        self.stop_failed, self.fault = False, Fault.SETTLING
        self._enter(State.STOPPING, self.parameters["transfer_time"])
        return True

    def deactivate(self) -> None:
        self.state, self.fault = State.INACTIVE, Fault.NONE
        self.torque[:] = 0.0

    def append(self, time: float, state: Array) -> Answer:
        p, motion, limits = self.parameters, self.motion, self.design.model.limits
        if self.state not in (State.HOLDING, State.FOLLOWING):
            return Answer.NOT_READY
        if not (np.isfinite(state).all() and np.isfinite(time)):
            return Answer.NOT_FINITE
        assert self.time is not None
        motion.end = max(motion.end, self.time)
        if not (time > self.time + p["lead"] and time > motion.end + SHORTEST_SEGMENT):
            return Answer.LATE
        if len(motion.segments) >= SEGMENTS - 1:  # the last one is kept for the path to rest
            return Answer.FULL
        before = motion.last, motion.end
        segment = motion.append(time, state)
        least, greatest = segment.extremes()
        q, speed = before[0][0], np.maximum(limits.velocity, np.abs(before[0][1])) + 1e-6
        lower, upper = np.minimum(limits.lower, q) - 1e-6, np.maximum(limits.upper, q) + 1e-6
        if not (
            (least[0] >= lower).all()
            and (greatest[0] <= upper).all()
            and (least[1] >= -speed).all()
            and (greatest[1] <= speed).all()
        ):
            del motion.segments[-1]
            motion.last, motion.end = before
            return Answer.BEYOND
        return Answer.ACCEPTED

    def cut(self, time: float) -> None:
        if self.state in (State.HOLDING, State.FOLLOWING):
            assert self.time is not None
            self.motion.cut(max(time, self.time))

    def stop(self) -> None:
        if self.state not in (State.HOLDING, State.FOLLOWING):
            return
        assert self.time is not None
        self.cut(self.time)  # HOLDING: points that were appended since the last cycle
        if self.state is State.FOLLOWING:
            self._brake()

    def clear_fault(self) -> None:
        if self.state in (State.STOPPING, State.LOST):
            self.stop_failed, self.fault = False, Fault.SETTLING

    # The cycle

    def update(
        self, time: float, link_time: float, motor_time: float, q: Array, theta: Array
    ) -> State:
        """One cycle; times in s, of the cycle and of both samples."""
        p = self.parameters
        elapsed = p["period"] if self.time is None else time - self.time
        if elapsed > 0.0 and np.isfinite(time):
            self.time, self.stalled = time, 0
            self._sample(elapsed, (link_time, motor_time), (q, theta))
            if self.state is not State.INACTIVE:
                self._run(elapsed)
        elif -np.inf < elapsed < -p["max_step"]:
            self._jump_back(time)
        else:
            self._stall()
        return self.state

    def _jump_back(self, time: float) -> None:
        self.time, self.stalled = time, 0
        self.filter.reset()
        self.filter_time = None
        self.link_time = self.motor_time = -np.inf
        if self.state is not State.INACTIVE:
            self._fail(Fault.TIME)
            self._enter(State.LOST, self.parameters["stop_transfer_time"])

    def _stall(self) -> None:
        self.stalled += 1
        if self.stalled <= MOST_STALLED or self.state is State.INACTIVE:
            return
        if self.state is not State.LOST:
            self._fail(Fault.TIME)
            self._enter(State.LOST, self.parameters["stop_transfer_time"])
        self._send_rest(self.parameters["period"])

    # Samples

    def _sample(self, dt: float, times: tuple[float, float], rows: tuple[Array, Array]) -> None:
        p = self.parameters
        assert self.time is not None
        has_links = self._is_valid(times[0], self.link_time, rows[0], self.last_q, p["link_speed"])
        has_motors = self._is_valid(
            times[1], self.motor_time, rows[1], self.last_theta, p["motor_speed"]
        )
        if self.filter_time is None and not (has_links and has_motors):
            return
        newest = -np.inf
        if has_links:
            newest = self.link_time = times[0]
            self.last_q = rows[0].copy()
        if has_motors:
            newest = max(newest, times[1])
            self.motor_time, self.last_theta = times[1], rows[1].copy()
        before, n = self.filter_time, self.design.model.n
        is_newer = before is None or newest > before
        time = newest if is_newer else before + dt  # type: ignore[operator]
        restarts = before is None or time - before > p["max_step"]
        coasting = 0.0 if restarts else time - before  # type: ignore[operator]
        y = self.filter.state[0] + coasting * self.filter.state[1]
        if has_links:  # even if the filter has coasted beyond its time
            y[:n] = rows[0]
        if has_motors:
            y[n:] = rows[1]
        self.filter.update(time, y)
        self.filter_time = time
        if restarts:
            self.filter_started = time
        self.q, self.theta = self.filter.state[0, :n].copy(), self.filter.state[0, n:].copy()
        self.qd, self.thetad = self.filter.state[1, :n].copy(), self.filter.state[1, n:].copy()

    def _is_valid(self, time: float, before: float, row: Array, last: Array, speed: Array) -> bool:
        assert self.time is not None
        if not (before < time <= self.time + self.parameters["max_step"]):
            return False
        if not np.isfinite(row).all():
            return False
        with np.errstate(invalid="ignore"):
            far = np.abs(row - last) > speed * (time - before)
        return self.filter_time is None or not far.any()

    @property
    def lacks_links(self) -> bool:
        assert self.time is not None
        return not self.time - self.link_time <= self.parameters["link_timeout"]

    @property
    def lacks_motors(self) -> bool:
        assert self.time is not None
        return not self.time - self.motor_time <= self.parameters["motor_timeout"]

    @property
    def is_settled(self) -> bool:
        return (
            self.filter_time is not None
            and self.filter_time - self.filter_started >= self.parameters["settling_time"]
        )

    # States

    def _enter(self, state: State, duration: float) -> None:
        self.state = state
        self.transfer.duration = duration
        law = self.law if state in FOLLOWING else self.hold
        law.external_torque[:], law.stiffness[:] = self.external, self.second
        self.transfer.activate(law, self.torque.copy())

    def _fail(self, fault: Fault) -> None:
        if self.fault not in LATCHED or fault in LATCHED:
            self.fault = fault
        if self.state in FOLLOWING:
            self._enter(State.STOPPING, self.parameters["stop_transfer_time"])

    def _watch(self, elapsed: float) -> None:
        p = self.parameters
        is_late = elapsed > p["link_timeout"]
        if (is_late or self.lacks_motors or self.lacks_links) and self.filter_time is not None:
            self.filter_started = self.filter_time
        if self.lacks_motors:
            if self.state is not State.LOST:
                self._fail(Fault.NO_MOTORS)
                self._enter(State.LOST, self.parameters["stop_transfer_time"])
            return
        if self.state is State.LOST and not self.stop_failed:
            self._enter(State.STOPPING, p["stop_transfer_time"])
        if self.lacks_links:
            if self.fault is not Fault.NO_LINKS:
                self._fail(Fault.NO_LINKS)
            return
        if is_late:
            self._fail(Fault.TIME)
            return
        may_resume = self.fault is Fault.SETTLING or (p["recovers"] and self.fault not in LATCHED)
        is_slow = float(np.abs(self.thetad).max()) <= p["recovery_speed"]
        if (
            self.state is State.STOPPING
            and p["follows"]
            and may_resume
            and self.is_settled
            and is_slow
        ):
            self.fault = Fault.NONE
            assert self.time is not None
            self.motion.hold(self.q, self.time)
            self._enter(State.HOLDING, p["transfer_time"])

    def _brake(self) -> None:
        self.state = State.BRAKING
        self.motion.brake(self.parameters["stop_acceleration"])

    def _look_up(self) -> None:
        time = self.time
        assert time is not None
        if not self.motion.rests and time + self.parameters["lead"] >= self.motion.end:
            self._brake()
        self.motion.drop(time)
        self.desired = self.motion.evaluate(time)
        if not self.motion.segments:
            self.state = State.HOLDING
        elif self.state is State.HOLDING:
            self.state = State.FOLLOWING

    def _run(self, elapsed: float) -> None:
        p = self.parameters
        self._watch(elapsed)
        if self.state in FOLLOWING:
            self._look_up()
            tolerance = p["tracking_tolerance"]
            if tolerance and (np.abs(self.desired[0] - self.q) > tolerance).any():
                self._fail(Fault.TRACKING)
        if self.state not in (*FOLLOWING, State.STOPPING):
            self._send_rest(elapsed)
            return
        assert self.time is not None
        law = self.transfer.law
        assert law is not None
        law.external_torque[:] = self.external
        ahead = self.motion.evaluate(self.time + p["lead"]) if p["lead"] else None
        try:
            self.transfer.update(
                elapsed, self.desired, self.q, self.qd, self.theta, self.thetad,
                ahead=ahead, stiffness=self.second if self.second.size else None,
            )  # fmt: skip
        except DynamicsError:
            if self.state is State.STOPPING:
                self.stop_failed = True
                self._enter(State.LOST, self.parameters["stop_transfer_time"])
            self._fail(Fault.NOT_FINITE)

    def _send_rest(self, dt: float) -> None:
        model, flat = self.design.model, self._rest
        flat.state[:] = flat.torque[:] = 0.0
        flat.state[0], flat.torque[0] = self.q, gravity_forces(model, self.q)
        if self.second.size:
            flat.stiffness[:] = self.second
        flat.settle()
        self.transfer.send(dt, flat.update().torque)


class RecordedRun(NamedTuple):
    """Cycles of a controller: (k,) times of the cycles and of the samples of the links, and states;
    (k, n) and (k, m) positions, (k, m) torques; the cycles before which it was activated and a goal
    appended; the torque `applied` at activation, and the goal with its time."""

    time: Array
    link_time: Array
    q: Array
    theta: Array
    state: Array
    torque: Array
    activated: int
    appended: int
    applied: Array
    goal: Array
    goal_time: float


def record_cycles(design: ControllerDesign, q: Array) -> RecordedRun:
    """A run from rest at q (n,): activation, a motion, its end by missing link states, and the hold
    after that, with samples that deviate from the ideal ones by up to half a milliradian.

    Raises InputError for settings with which the controller neither follows nor stops in this run.
    """
    model, actuators, p = design.model, design.actuators, design.parameters
    n, m, period = model.n, len(actuators.motors), p["period"]
    theta = motors_at_rest(design, q)
    cycle = ControllerCycle(design)
    settled = max(40, round(1.5 * p["settling_time"] / period))
    timeout = round(min(p["link_timeout"] / period, LONGEST_GAP))
    activated, appended = settled, settled + 40
    lost, found = appended + 40, appended + 55 + timeout
    cycles = found + settled + 15
    duration = (50 + timeout) * period  # the links are missed before the motion ends
    time = period * np.arange(1.0, cycles + 1.0)
    link_time = time.copy()
    link_time[lost:found] = time[lost - 1]
    phase = np.arange(1.0, n + m + 1.0)
    waves = 5e-4 * np.sin(12.0 * time[:, None] + phase)
    moves = interpolate(("share",), [0.0, duration], [[0.0], [1.0]])
    share = np.array([moves(max(t - time[appended], 0.0))[0, 0] for t in time])[:, None]
    limits = model.limits
    inner = np.where(np.isfinite(limits.upper), limits.upper - q, 1.0)
    travel = np.minimum(0.01, 0.1 * np.where(inner > 0.0, inner, 0.1))
    travel = np.minimum(travel, 0.2 * limits.velocity * duration)
    links = q + share * travel + waves[:, :n]
    motors = theta + share * travel[actuators.joint_of_motor] + waves[:, n:]
    goal = np.zeros((5, n))
    goal[0] = q + travel
    goal_time = float(time[appended] + duration)
    states, torques = np.zeros(cycles), np.zeros((cycles, m))
    applied = 0.5 * np.asarray(cycle.torque)
    for k in range(cycles):
        if k == activated:
            cycle.activate(applied)
        if k == appended:
            cycle.append(goal_time, goal)
        states[k] = cycle.update(time[k], link_time[k], time[k], links[k], motors[k])
        torques[k] = cycle.torque
    needed = {State.FOLLOWING} if p["follows"] else set()
    needed |= {State.STOPPING} if timeout < LONGEST_GAP else set()
    for state in sorted(needed - {State(int(x)) for x in states}):
        raise InputError(
            f"with these settings, the controller is never {state.name.lower()} in the"
            f" {cycles * period:g} s that are recorded for its self-test"
        )
    return RecordedRun(
        time, link_time, links, motors, states, torques, activated, appended, applied, goal,
        goal_time,
    )  # fmt: skip
