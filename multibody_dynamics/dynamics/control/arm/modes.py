# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Modes of an arm, and the faults that change them: one table, and the functions that apply it.

FAULTS is the only list of faults. :class:`.Arm`, generated controllers, docs/safety.md and the
tests that inject faults are all made from it:

    mode         what acts on the arm                              left when
    INACTIVE     nothing                                           activated
    HOLDING      the chosen law, at rest                           a motion begins, or a fault
    FOLLOWING    the chosen law, along a motion                    the motion ends, or a fault
    BRAKING      the same, on the path to rest of a motion         it ends, or a fault
                 that was not continued in time
    STOPPING     a damped stop, then a hold, on the states         the fault is over
                 that still arrive
    YIELDING     the law with which the arm yields to a contact    the fault is cleared
    LOST         the torque that holds the arm at rest at its      states are back; after a final
                 last position; nothing that needs feedback        fault, only the fault is cleared

The functions are written over records of plain numbers, in the subset that :mod:`c_translation`
prints as C. Times are in s since any origin; speeds in rad/s or m/s.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ...core import Array, Integers

INACTIVE, STOPPING, HOLDING, FOLLOWING, BRAKING, LOST, YIELDING = range(7)
NONE, SETTLING, NO_LINKS, NO_MOTORS, TRACKING, NOT_FINITE, TIME = range(7)
LATE, ESTIMATE, CONTACT, NO_DESIGN, STOP_FAILED, REPEATED = range(7, 13)
PASSING, LATCHED, FINAL = range(3)  # how a fault ends

LATE_FOR = 0.1  # s during which every torque is late before the arm is stopped
FASTER = 1.5  # times the speed at the fault that a stop may have
SHARE = 0.25  # of the velocity limit, in addition: braking one joint moves the others
UNLIMITED_SPEED = 2.0  # rad/s or m/s, velocity limit of joints that have none
LASTING = 0.05  # s; shorter peaks of a speed may be caused by the velocity filters
AT_REST = 0.2  # s below the speed of rest; an oscillation exceeds this speed again sooner
SLOWEST = 0.01  # rad/s or m/s; the speed of rest is never taken below this
NEVER = -1e30  # s


class Mode(IntEnum):
    """What acts on the arm, see the module."""

    INACTIVE = INACTIVE
    STOPPING = STOPPING
    HOLDING = HOLDING
    FOLLOWING = FOLLOWING
    BRAKING = BRAKING
    LOST = LOST
    YIELDING = YIELDING

    @property
    def is_following(self) -> bool:
        """Whether the chosen law acts."""
        return self in (Mode.HOLDING, Mode.FOLLOWING, Mode.BRAKING)


class Fault(NamedTuple):
    """A row of FAULTS.

    code : index of the row. text : for messages. mode : the one that it leads to. ends : PASSING,
    the arm follows again by itself once the cause is over and the arm at rest (`recovers`);
    LATCHED, only once the fault is cleared (``~/enable``); FINAL, feedback cannot stop the arm:
    it stays LOST until the fault is cleared, and the stop is left to the brakes and to the
    watchdogs of the drives. within : longest time from the cause to the mode.
    """

    code: int
    text: str
    mode: Mode
    ends: int
    within: str

    @property
    def end(self) -> str:
        """What ends it, in words; the arm must be at rest besides."""
        return ("the end of its cause", "`~/enable`", "`~/enable`, after brakes or drives")[
            self.ends
        ]


FAULTS = (
    Fault(NONE, "none", Mode.HOLDING, PASSING, ""),
    Fault(SETTLING, "settling", Mode.STOPPING, PASSING, "at once"),
    Fault(NO_LINKS, "link states missing", Mode.STOPPING, PASSING, "state_timeout and one cycle"),
    Fault(NO_MOTORS, "motor states missing", Mode.STOPPING, PASSING, "state_timeout and one cycle"),
    Fault(TRACKING, "tracking error", Mode.STOPPING, LATCHED, "the same cycle"),
    Fault(NOT_FINITE, "torque not finite", Mode.STOPPING, LATCHED, "the same cycle"),
    Fault(TIME, "jump in time", Mode.STOPPING, PASSING, "the first cycle after the jump"),
    Fault(LATE, "torques too late", Mode.STOPPING, LATCHED, "0.1 s"),
    Fault(ESTIMATE, "state estimate lost", Mode.STOPPING, PASSING, "the same cycle"),
    Fault(CONTACT, "collision", Mode.YIELDING, LATCHED, "the cycle in which it is detected"),
    Fault(NO_DESIGN, "no stable gains", Mode.LOST, FINAL, "the first cycle"),
    Fault(STOP_FAILED, "stop failed", Mode.LOST, FINAL, "50 ms (too fast), stop_timeout (moving)"),
    Fault(REPEATED, "interrupted repeatedly", Mode.STOPPING, LATCHED, "the same cycle"),
)
"""All faults by code: the table of which every other one is made."""

RULES = np.array([(fault.mode, fault.ends) for fault in FAULTS])  # columns MODE and ENDS
MODE, ENDS = range(2)


class Rules(NamedTuple):
    """What decides on modes: constants of an arm.

    follows : 0 if the arm only ever stops and holds. stops_on_links : 1 if link states alone
    suffice to stop it. recovers : 1 if it follows again by itself after a passing fault.
    recovery_speed : below which every motor counts as at rest. recovery_limit : recoveries within
    recovery_window (s) after which the arm stays stopped; 0 for no limit. tracking_tolerance : rad
    or m, 0 for none. latency_tolerance : s from a sample to its torque, 0 for none.
    stop_speed_limit : of a stop, for all joints; 0: FASTER and SHARE apply. stop_timeout : s until
    a stopped arm must be at rest. transfer_time, stop_transfer_time : s, of the fade to the chosen
    law, and to any other. velocity : (n,) limits of the joints. joint_of_motor : (m,), and
    link_share : (m,) of each motor in the position of its joint.
    """

    follows: int
    stops_on_links: int
    recovers: int
    recovery_speed: float
    recovery_limit: int
    recovery_window: float
    tracking_tolerance: float
    latency_tolerance: float
    stop_speed_limit: float
    stop_timeout: float
    transfer_time: float
    stop_transfer_time: float
    velocity: Array
    joint_of_motor: Integers
    link_share: Array


class Situation(NamedTuple):
    """What a cycle finds.

    lacks_links, lacks_motors : 1 if the states of that side have timed out. is_gap : 1 if the last
    torque has acted without feedback for too long. is_lost : 1 if the estimate must not be used for
    feedback. is_settled : 1 if the estimated velocities are valid. contact : the mode that answers
    an unexpected contact, 0 for none. qd : (n,) velocities of the links, zero if they are not
    measured. thetad : (m,) of the motors. error : (n,) desired less measured position.
    """

    lacks_links: int
    lacks_motors: int
    is_gap: int
    is_lost: int
    is_settled: int
    contact: int
    qd: Array
    thetad: Array
    error: Array


class Memory(NamedTuple):
    """What is remembered between cycles; a number is an array of length one.

    mode, fault : the present ones. on_links : 1 while the stop runs on link states alone.
    tolerates_delay : 1 if the stop is the one for late torques. is_new : 1 from a change of the
    acting law until the caller has started it, fading over `duration` (s). joint, value, allowed :
    which joint, and the numbers, that the last fault is about. top_speed : (n,) that the present
    stop may have. fast_since, moving_since, slow_since : s, of the present stop. on_time, late_at :
    s, samples of the last torque on time and of the last late one. recoveries : (k,) s, the latest
    ones, in a ring; recovered : how many there were.
    """

    mode: Array
    fault: Array
    on_links: Array
    tolerates_delay: Array
    is_new: Array
    joint: Array
    recovered: Array
    duration: Array
    value: Array
    allowed: Array
    fast_since: Array
    moving_since: Array
    slow_since: Array
    on_time: Array
    late_at: Array
    speed: Array
    top_speed: Array
    recoveries: Array


def memory(n: int, recoveries: int) -> Memory:
    """The memory of an inactive arm with n joints, for up to this many counted recoveries."""
    integers = [np.zeros(1, dtype=np.int64) for _ in range(7)]
    numbers = [np.zeros(1) for _ in range(8)]
    rows = [np.zeros(n), np.zeros(n), np.zeros(max(recoveries, 1))]
    return Memory._make([*integers, *numbers, *rows])


def is_following(mode):
    """Whether the chosen law acts."""
    return mode >= HOLDING and mode <= BRAKING


def enter(s, mode, duration):
    """Change the mode; the law that acts in it starts anew, fading in over `duration` s."""
    s.mode[0] = mode
    s.is_new[0] = 1
    s.duration[0] = duration


def measure_speed(p, s, qd, thetad):
    """The speed of each joint, from velocities of links (n,) and motors (m,)."""
    for i in range(qd.shape[0]):
        s.speed[i] = 0.0
    for j in range(thetad.shape[0]):
        s.speed[p.joint_of_motor[j]] += p.link_share[j] * thetad[j]
    for i in range(qd.shape[0]):
        s.speed[i] = max(abs(s.speed[i]), abs(qd[i]))


def are_motors_slow(p, thetad):
    """Whether every motor is at rest."""
    for j in range(thetad.shape[0]):  # noqa: SIM110 (C has no all())
        if abs(thetad[j]) > p.recovery_speed:
            return False
    return True


def begin_stop(p, s, qd, thetad):
    """The speeds at which a stop begins decide how fast it may ever be."""
    measure_speed(p, s, qd, thetad)
    s.fast_since[0] = NEVER
    s.moving_since[0] = NEVER
    s.slow_since[0] = NEVER
    for i in range(qd.shape[0]):
        limit = p.velocity[i] if p.velocity[i] < -NEVER else UNLIMITED_SPEED
        s.top_speed[i] = FASTER * s.speed[i] + SHARE * limit


def was_late(s, now):
    """Whether a torque was late a moment ago."""
    return now - s.late_at[0] <= LATE_FOR


def fail(p, s, now, fault, mode, qd, thetad):
    """Make a fault active, which leads to `mode`, unless the present one is as bad.

    The present fault remains if it is the same, if it is final, or if it is latched and the new one
    is passing. Returns whether the fault is active now.
    """
    before = s.fault[0]
    ends = RULES[before, ENDS]
    if before == fault or ends == FINAL or ends > RULES[fault, ENDS]:
        return False
    s.fault[0] = fault
    if s.mode[0] != INACTIVE:
        if fault == LATE or (is_following(s.mode[0]) and was_late(s, now)):
            s.tolerates_delay[0] = 1
        if is_following(s.mode[0]):
            begin_stop(p, s, qd, thetad)
        if is_following(s.mode[0]) or mode == LOST:
            enter(s, mode, p.stop_transfer_time)
    return True


def activate(p, s, now, qd, thetad):
    """Start: hold, or stop first if the arm moves."""
    s.fault[0] = NONE
    s.on_links[0] = 0
    s.tolerates_delay[0] = 0
    s.recovered[0] = 0
    s.on_time[0] = now
    s.late_at[0] = NEVER
    begin_stop(p, s, qd, thetad)
    if p.follows and are_motors_slow(p, thetad):
        enter(s, HOLDING, p.transfer_time)
    else:
        s.fault[0] = SETTLING
        enter(s, STOPPING, p.transfer_time)


def clear_fault(p, s, qd, thetad):
    """End a fault on request: the arm stops, if it does not yet, and follows again at rest."""
    if s.fault[0] != NONE:
        s.fault[0] = SETTLING
        s.recovered[0] = 0
        if s.mode[0] == YIELDING:
            begin_stop(p, s, qd, thetad)
            enter(s, STOPPING, p.stop_transfer_time)


def supervise(p, s, now, x):
    """Apply the rules to what this cycle finds.

    Missing states come first, then causes of faults while following, then the end of a stop. A
    final fault stays.
    """
    if s.mode[0] == INACTIVE or RULES[s.fault[0], ENDS] == FINAL:
        return
    on_links = 1 if x.lacks_motors and p.stops_on_links and not x.lacks_links else 0
    if x.lacks_motors and not on_links:
        if s.mode[0] != LOST:
            fail(p, s, now, NO_MOTORS, LOST, x.qd, x.thetad)
            enter(s, LOST, p.stop_transfer_time)
            if s.moving_since[0] == NEVER:
                s.moving_since[0] = now
        return
    if s.mode[0] == LOST:  # states are back; `stop_timeout` has kept running
        since = s.moving_since[0]
        begin_stop(p, s, x.qd, x.thetad)
        s.moving_since[0] = since
        enter(s, STOPPING, p.stop_transfer_time)
    if on_links:
        fail(p, s, now, NO_MOTORS, STOPPING, x.qd, x.thetad)
    elif x.lacks_links:
        fail(p, s, now, NO_LINKS, STOPPING, x.qd, x.thetad)
    elif is_following(s.mode[0]):
        _watch(p, s, now, x)
    if on_links != s.on_links[0]:
        s.on_links[0] = on_links
        enter(s, STOPPING, p.stop_transfer_time)
    if s.mode[0] == STOPPING or s.mode[0] == YIELDING:
        _judge_stop(p, s, now, x)


def _watch(p, s, now, x):
    """What stops an arm that follows, with all states there."""
    if x.is_gap:
        fail(p, s, now, TIME, STOPPING, x.qd, x.thetad)
    elif x.contact:
        fail(p, s, now, CONTACT, x.contact, x.qd, x.thetad)
    elif x.is_lost:
        fail(p, s, now, ESTIMATE, STOPPING, x.qd, x.thetad)
    elif p.tracking_tolerance > 0.0:
        worst = 0
        for i in range(x.error.shape[0]):
            if abs(x.error[i]) > abs(x.error[worst]):
                worst = i
        if abs(x.error[worst]) > p.tracking_tolerance:
            s.joint[0] = worst
            s.value[0] = abs(x.error[worst])
            s.allowed[0] = p.tracking_tolerance
            fail(p, s, now, TRACKING, STOPPING, x.qd, x.thetad)


def _judge_stop(p, s, now, x):
    """Check that the stop succeeds; end its fault if it no longer applies."""
    if s.mode[0] == YIELDING and was_late(s, now):
        begin_stop(p, s, x.qd, x.thetad)
        enter(s, STOPPING, p.stop_transfer_time)
    measure_speed(p, s, x.qd, x.thetad)
    if _is_too_fast(p, s, now) or _is_not_at_rest(p, s, now):
        if s.mode[0] == STOPPING:
            fail(p, s, now, STOP_FAILED, LOST, x.qd, x.thetad)
            return
        begin_stop(p, s, x.qd, x.thetad)
        enter(s, STOPPING, p.stop_transfer_time)
    if was_late(s, now) and not s.tolerates_delay[0]:
        s.tolerates_delay[0] = 1
        enter(s, STOPPING, p.stop_transfer_time)
    is_there = not (x.lacks_links or x.lacks_motors or x.is_gap or x.is_lost)
    if p.follows and is_there and x.is_settled and are_motors_slow(p, x.thetad):
        _recover(p, s, now, x.qd, x.thetad)


def _is_too_fast(p, s, now):
    """Whether a joint is faster than the stop may be, for longer than the filters explain."""
    worst = 0
    excess = 0.0
    for i in range(s.speed.shape[0]):
        top = p.stop_speed_limit if p.stop_speed_limit > 0.0 else s.top_speed[i]
        if s.speed[i] / top > excess:
            excess = s.speed[i] / top
            worst = i
    if not excess > 1.0:
        s.fast_since[0] = NEVER
        return False
    if s.fast_since[0] == NEVER:
        s.fast_since[0] = now
    if now - s.fast_since[0] < LASTING:
        return False
    s.joint[0] = worst
    s.value[0] = s.speed[worst]
    s.allowed[0] = p.stop_speed_limit if p.stop_speed_limit > 0.0 else s.top_speed[worst]
    return True


def _is_not_at_rest(p, s, now):
    """Whether a joint still moves after `stop_timeout`; an arm that yields may."""
    worst = 0
    for i in range(s.speed.shape[0]):
        if s.speed[i] > s.speed[worst]:
            worst = i
    if s.moving_since[0] == NEVER:
        s.moving_since[0] = now
    if s.speed[worst] <= max(p.recovery_speed, SLOWEST):
        if s.slow_since[0] == NEVER:
            s.slow_since[0] = now
        if now - s.slow_since[0] >= AT_REST:
            s.moving_since[0] = now
        return False
    s.slow_since[0] = NEVER
    if s.mode[0] == YIELDING or now - s.moving_since[0] <= p.stop_timeout:
        return False
    s.joint[0] = worst
    s.value[0] = s.speed[worst]
    s.allowed[0] = 0.0  # not a speed: the time is over
    return True


def _recover(p, s, now, qd, thetad):
    """Follow again if the fault is over, unless this has happened too often."""
    fault = s.fault[0]
    if fault != SETTLING:
        if RULES[fault, ENDS] != PASSING or not p.recovers:
            return
        count = s.recoveries.shape[0]
        limit = min(p.recovery_limit, count)
        if limit > 0:
            oldest = (s.recovered[0] - limit) % count
            is_recent = now - s.recoveries[oldest] <= p.recovery_window
            if s.recovered[0] >= limit and is_recent:
                fail(p, s, now, REPEATED, STOPPING, qd, thetad)
                return
            s.recoveries[s.recovered[0] % count] = now
            s.recovered[0] += 1
    s.fault[0] = NONE
    s.tolerates_delay[0] = 0
    s.on_time[0] = now
    enter(s, HOLDING, p.transfer_time)


def note_delay(p, s, now, delay, qd, thetad):
    """Judge how late, in s after its sample at `now`, a torque was sent.

    The arm is stopped once every torque has been late for LATE_FOR s.
    """
    if not p.latency_tolerance > 0.0 or delay <= p.latency_tolerance:
        s.on_time[0] = now
        return
    s.late_at[0] = now
    if now - s.on_time[0] > LATE_FOR:
        s.on_time[0] = now
        s.value[0] = delay
        s.allowed[0] = p.latency_tolerance
        if fail(p, s, now, LATE, STOPPING, qd, thetad) and s.mode[0] == YIELDING:
            enter(s, STOPPING, p.stop_transfer_time)


def note_motion(s, is_moving):
    """Note whether the motion that is followed moves now."""
    if s.mode[0] == HOLDING and is_moving:
        s.mode[0] = FOLLOWING
    elif is_following(s.mode[0]) and not is_moving:
        s.mode[0] = HOLDING
