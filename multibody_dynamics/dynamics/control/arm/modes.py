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
    LOST         the torque that holds the arm at rest at its      states are back and velocities
                 last position; nothing that needs feedback,       known; after a final fault, only
                 but after a stop that has failed, at first,       the fault is cleared
                 damping of the motors, which fades

An arm at rest stays there although its model is wrong: the law of STOPPING or LOST is biased to
start with the mean torque that has held it, if the fault is a passing one.

The functions are written over records of plain numbers, in the subset that :mod:`c_translation`
prints as C. Times are in s since any origin; speeds in rad/s or m/s.
"""

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly, record_fields
from ...motion.segments import MOVING, RESTING
from ..signals.encoder_steps import COARSEST, RELAY, coarsest_encoder, of_encoder

PASSING, LATCHED, FINAL = range(3)  # how a fault ends

LATE_FOR = 0.1  # s during which every torque is late before the arm is stopped
FASTER = 1.5  # times the speed at the fault that a stop may have
SHARE = 0.25  # of the velocity limit, in addition: braking one joint moves the others
UNLIMITED_SPEED = 2.0  # rad/s or m/s, velocity limit of joints that have none
OVERSPEED_FACTOR = 1.2  # times the velocity limit that a joint which follows may reach
CHATTER_FOR = 0.1  # s during which a torque jumps back and forth by its limit
LASTING = 0.05  # s; shorter peaks of a speed may be caused by the velocity filters
FARTHER = 2.0  # times its forecast, for loads and other joints, that a stop may go
WINDOW = 0.05  # s, in which positions alone tell how fast a joint is
DAMPED_FOR = 1.0  # s, in which the damping after a failed stop fades
EXPLAINED = 2.0  # times the external load: the motors and gravity, either of which it exceeds
OVERLOADED_FOR = 0.1  # s; an oscillation of the springs changes its sign sooner
AT_REST = 0.2  # s below the speed of rest; an oscillation exceeds this speed again sooner
SLOWEST = 0.01  # rad/s or m/s; the speed of rest is never taken below this
NEVER = -1e30  # s
RECOVERIES = 1000  # that an arm in Python can count


class Mode(IntEnum):
    """What acts on the arm, see the module."""

    INACTIVE = 0
    STOPPING = 1
    HOLDING = 2
    FOLLOWING = 3
    BRAKING = 4
    LOST = 5
    YIELDING = 6

    @property
    def is_following(self) -> bool:
        """Whether the chosen law acts."""
        return self in (Mode.HOLDING, Mode.FOLLOWING, Mode.BRAKING)


INACTIVE, STOPPING, HOLDING, FOLLOWING, BRAKING, LOST, YIELDING = map(int, Mode)


class Cause(IntEnum):
    """Why an arm does not follow: the rows of FAULTS."""

    NONE = 0
    SETTLING = 1
    NO_LINKS = 2
    NO_MOTORS = 3
    TRACKING = 4
    NOT_FINITE = 5
    TIME = 6
    LATE = 7
    ESTIMATE = 8
    CONTACT = 9
    NO_DESIGN = 10
    STOP_FAILED = 11
    REPEATED = 12
    OVERSPEED = 13
    CHATTER = 14
    IMPLAUSIBLE = 15
    OVERLOAD = 16
    COARSE = 17


NONE, SETTLING, NO_LINKS, NO_MOTORS, TRACKING, NOT_FINITE, TIME, *_others = map(int, Cause)
LATE, ESTIMATE, CONTACT, NO_DESIGN, STOP_FAILED, REPEATED, OVERSPEED, *_others = _others
CHATTER, IMPLAUSIBLE, OVERLOAD, COARSE = _others


class Fault(NamedTuple):
    """A row of FAULTS.

    code : index of the row. text : for messages. mode : the one that it leads to. ends : PASSING,
    the arm follows again by itself once the cause is over and the arm at rest (`recovers`);
    LATCHED, only once the fault is cleared (``~/enable``); FINAL, feedback cannot stop the arm:
    it stays LOST until the fault is cleared, and the stop is left to the brakes and to the
    watchdogs of the drives. within : longest time from the cause to the mode. of_joint : whether
    the rules find it at a joint.
    """

    code: int
    text: str
    mode: Mode
    ends: int
    within: str
    of_joint: bool = False

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
    Fault(TRACKING, "tracking error", Mode.STOPPING, LATCHED, "the same cycle", True),
    Fault(NOT_FINITE, "torque not finite", Mode.STOPPING, LATCHED, "the same cycle"),
    Fault(TIME, "jump in time", Mode.STOPPING, PASSING, "the first cycle after the jump"),
    Fault(LATE, "torques too late", Mode.STOPPING, LATCHED, "0.1 s"),
    Fault(ESTIMATE, "state estimate lost", Mode.STOPPING, PASSING, "the same cycle"),
    Fault(CONTACT, "collision", Mode.YIELDING, LATCHED, "the cycle in which it is detected"),
    Fault(NO_DESIGN, "no stable gains", Mode.LOST, FINAL, "the first cycle"),
    Fault(
        STOP_FAILED,
        "stop failed",
        Mode.LOST,
        FINAL,
        "50 ms (too fast), 0.1 s (speeds up, too far), stop_timeout (moving)",
        True,
    ),
    Fault(REPEATED, "interrupted repeatedly", Mode.STOPPING, LATCHED, "the same cycle"),
    Fault(OVERSPEED, "too fast", Mode.STOPPING, LATCHED, "50 ms", True),
    Fault(CHATTER, "torque chatters", Mode.STOPPING, LATCHED, "0.1 s", True),
    Fault(IMPLAUSIBLE, "implausible states", Mode.LOST, FINAL, "the first cycle"),
    Fault(OVERLOAD, "spring overloaded", Mode.STOPPING, LATCHED, "0.1 s", True),
    Fault(COARSE, "encoder too coarse", Mode.STOPPING, LATCHED, "its third step", True),
)
"""All faults by code: the table of which every other one is made."""

RULES = np.array([(fault.mode, fault.ends, fault.of_joint) for fault in FAULTS])
MODE, ENDS, OF_JOINT = range(3)  # its columns
TOO_FAST, MOVES, SPEEDS_UP, TOO_FAR = range(4)  # how a stop has failed


class Rules(NamedTuple):
    """What decides on modes: constants of an arm. In generated C they are settings, and tables.

    follows : 0 if the arm only ever stops and holds. stops_on_links : 1 if link states alone
    suffice to stop it. link_timeout : s that a torque may act without feedback. recovers : 1 if it
    follows again by itself after a passing fault. recovery_speed : below which every motor counts
    as at rest. recovery_limit : recoveries within recovery_window (s) after which the arm stays
    stopped; 0 for no limit. tracking_tolerance : rad or m, 0 for none. latency_tolerance : s from a
    sample to its torque, 0 for none. stop_speed_limit : of a stop, for all joints; 0: FASTER and
    SHARE apply. stop_timeout : s until a stopped arm must be at rest. transfer_time,
    stop_transfer_time : s, of the fade to the chosen law, and to any other. velocity : (n,) limits
    of the joints. stop_distance, late_distance : (n,) rad or m, to which the stop, and that for
    late torques, brings each joint from its velocity limit. external_load : (n,) N m or N, that is
    believed at rest. link_resolution : (n,) and motor_resolution : (m,) rad or m, steps of encoders
    that change a torque by its limit. torque_limit : (m,). joint_of_motor : (m,), and link_share :
    (m,) of each motor in the position of its joint.
    """

    follows: int
    stops_on_links: int
    link_timeout: float
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
    stop_distance: Array
    late_distance: Array
    external_load: Array
    link_resolution: Array
    motor_resolution: Array
    torque_limit: Array
    joint_of_motor: Integers
    link_share: Array


class Situation(NamedTuple):
    """What a cycle finds."""

    # fmt: off
    lacks_links: Annotated[Integers, Field("1 if the states of the links have timed out")]
    lacks_motors: Annotated[Integers, Field("1 if those of the motors have")]
    elapsed: Annotated[Array, Field("s since the last torque; 0 if there was none")]
    is_lost: Annotated[Integers, Field("1 if the estimate must not be used for feedback")]
    is_settled: Annotated[Integers, Field("1 if the estimated state is valid for following")]
    knows_speed: Annotated[Integers, Field("1 if the velocities that a stop uses are valid")]
    contact: Annotated[Integers, Field("the mode that answers an unexpected contact, 0 for none")]
    is_carried: Annotated[Integers, Field("1 if no state arrived: the positions are extrapolated")]
    has_wrench: Annotated[Integers, Field("1 if an external wrench is declared")]
    qd: Annotated[Array, Field("velocities of the links, zero if they are not measured", ("n",))]
    thetad: Annotated[Array, Field("of the motors, zero if they are not measured", ("m",))]
    error: Annotated[Array, Field("desired less measured positions of the links", ("n",))]
    sent: Annotated[Array, Field("N m or N, the last torques", ("m",))]
    q: Annotated[Array, Field("positions of the links, or where they were last", ("n",))]
    theta: Annotated[Array, Field("of the motors, or where they were last", ("m",))]
    springs: Annotated[Array, Field("N m or N, torques of the springs, 0: not known", ("n",))]
    link_step: Annotated[Array, Field("rad or m, of the encoders of links, 0: not known", ("n",))]
    motor_step: Annotated[Array, Field("rad or m, of those of motors", ("m",))]
    # fmt: on


class Memory(NamedTuple):
    """Modes and faults: what is remembered between cycles."""

    # fmt: off
    mode: Annotated[Integers, Field("the present one")]
    fault: Annotated[Integers, Field("the present one")]
    on_links: Annotated[Integers, Field("1 while the stop runs on link states alone")]
    tolerates_delay: Annotated[Integers, Field("1 if the stop is the one for late torques")]
    is_unsure: Annotated[Integers, Field("1 until it is known whether the arm moved at first")]
    is_new: Annotated[Integers, Field(
        "1 from a change of the acting law until the caller has started it"
    )]
    joint: Annotated[Integers, Field("that the last fault is about")]
    recovered: Annotated[Integers, Field("how many recoveries there were")]
    duration: Annotated[Array, Field("s, in which the new law fades in")]
    how: Annotated[Integers, Field("the last stop has failed")]
    slows_down: Annotated[Integers, Field("1 until the stop has brought the arm to rest")]
    value: Annotated[Array, Field("found at the last fault")]
    allowed: Annotated[Array, Field("in place of it")]
    fast_since: Annotated[Array, Field("s, of the present stop")]
    moving_since: Annotated[Array, Field("s, of the present stop")]
    slow_since: Annotated[Array, Field("s, of the present stop")]
    window_since: Annotated[Array, Field("s, in which the pace of a stop is measured")]
    between_since: Annotated[Array, Field("s, in which the next pace is measured")]
    damped_until: Annotated[Array, Field("s, after a stop that has failed")]
    overloaded_since: Annotated[Array, Field("s, since when a spring carries too much")]
    over_since: Annotated[Array, Field("s, since when a joint is faster than it may be")]
    rested: Annotated[Array, Field("s, for which the arm has been at rest on its own")]
    held: Annotated[Array, Field("N m or N, mean torques that hold it at rest", ("m",))]
    chatter: Annotated[Array, Field("s, for which each torque has jumped back and forth", ("m",))]
    last_sent: Annotated[Array, Field("N m or N, torques before the last ones", ("m",))]
    last_jump: Annotated[Array, Field("N m or N, of each torque, by its limit or more", ("m",))]
    on_time: Annotated[Array, Field("s, sample of the last torque on time")]
    late_at: Annotated[Array, Field("s, sample of the last late one")]
    speed: Annotated[Array, Field("rad/s or m/s, in this cycle", ("n",))]
    top_speed: Annotated[Array, Field("that the present stop may have", ("n",))]
    pace_limit: Annotated[Array, Field("the same, of positions alone", ("n",))]
    place: Annotated[Array, Field("rad or m, of each joint, by its motors if possible", ("n",))]
    grain: Annotated[Array, Field("rad or m, steps of its encoder, or those it may have", ("n",))]
    place_then: Annotated[Array, Field("when the window began", ("n",))]
    place_between: Annotated[Array, Field("when the next one began", ("n",))]
    stop_place: Annotated[Array, Field("when the stop began", ("n",))]
    reach: Annotated[Array, Field("rad or m, how far from there it may bring it", ("n",))]
    recoveries: Annotated[Array, Field("s, the latest ones, in a ring", ("recoveries",))]
    # fmt: on


def top_speeds(velocity: Array) -> Array:
    """(n,) rad/s or m/s, from which the distances of stops in Rules are forecast."""
    return np.where(np.isfinite(velocity), velocity, UNLIMITED_SPEED)


def memory(n: int, m: int) -> Memory:
    """The memory of an inactive arm with n joints and m motors."""
    return record_fields.zeros(Memory, n=n, m=m, recoveries=RECOVERIES)


@inlined_exactly
def is_following(mode):
    """Whether the chosen law acts."""
    return mode >= HOLDING and mode <= BRAKING


@inlined_exactly
def enter(s, mode, duration):
    """Change the mode; the law that acts in it starts anew, fading in over `duration` s."""
    s.mode[0] = mode
    s.is_new[0] = 1
    s.duration[0] = duration


@inlined_exactly
def joint_speeds(joint_of_motor, link_share, qd, thetad, speed):
    """The `speed` of each joint: that of its link or of its motors, whichever is greater."""
    for i in range(qd.shape[0]):
        speed[i] = 0.0
    for j in range(thetad.shape[0]):
        speed[joint_of_motor[j]] += link_share[j] * thetad[j]
    for i in range(qd.shape[0]):
        speed[i] = max(abs(speed[i]), abs(qd[i]))


@inlined_exactly
def farthest_above_limit(value, limit, factor):
    """The index of the amount that is farthest above `factor` times its limit; -1 if none is."""
    worst = -1
    excess = 0.0
    for i in range(value.shape[0]):
        if abs(value[i]) - factor * limit[i] > excess:
            excess = abs(value[i]) - factor * limit[i]
            worst = i
    return worst


@inlined_exactly
def largest(value):
    """The index of the largest amount."""
    worst = 0
    for i in range(value.shape[0]):
        if abs(value[i]) > abs(value[worst]):
            worst = i
    return worst


@inlined_exactly
def count_jumps(sent, limit, elapsed, last_sent, last_jump, chatter):
    """Count for how long, s, each torque has jumped by its limit, back and forth; `elapsed` since
    the last ones. Cycles without a jump count against it, by a quarter. Returns the index of a
    torque that has done so for CHATTER_FOR, or -1; then the counts start anew."""
    chattering = -1
    for j in range(sent.shape[0]):
        jump = sent[j] - last_sent[j]
        last_sent[j] = sent[j]
        is_wide = abs(jump) >= limit[j]
        if is_wide and jump * last_jump[j] < 0.0:
            chatter[j] += elapsed
        else:
            chatter[j] = max(chatter[j] - 0.25 * elapsed, 0.0)
        if is_wide:
            last_jump[j] = jump
        if chatter[j] >= CHATTER_FOR:
            chattering = j
    if chattering >= 0:
        for j in range(sent.shape[0]):
            chatter[j] = 0.0
    return chattering


@inlined_exactly
def find_joint_positions(joint_of_motor, link_share, q, theta, lacks_motors, place):
    """The `place` of each joint: where its motors are or, if these are missing, its link."""
    for i in range(q.shape[0]):
        place[i] = q[i] if lacks_motors else 0.0
    for j in range(theta.shape[0]):
        if not lacks_motors:
            place[joint_of_motor[j]] += link_share[j] * theta[j]


@inlined_exactly
def limit_reach(speed, velocity, distance, reach):
    """How far a stop from these speeds may bring each joint, `reach`: FARTHER than its forecast. If
    it brings a joint to `distance` from its velocity limit, this is in proportion below that, where
    friction and torque limits only help, and as the energy above."""
    for i in range(speed.shape[0]):
        limit = velocity[i] if velocity[i] < -NEVER else UNLIMITED_SPEED
        ratio = speed[i] / max(limit, SLOWEST)
        reach[i] = FARTHER * distance[i] * ratio * max(ratio, 1.0)


@inlined_exactly
def limit_pace(place, then, grain, step, velocity, least, pace_limit, pace):
    """The `pace` of each joint in the `step` since it was at `then`, but for the `grain` of its
    positions, and the limit of the next one, which never rises and is at least `least`. Returns the
    joint farthest above its limit, or -1.
    """
    worst = -1
    excess = 0.0
    for i in range(place.shape[0]):
        limit = velocity[i] if velocity[i] < -NEVER else UNLIMITED_SPEED
        change = abs(place[i] - then[i])
        pace[i] = max(change - grain[i], 0.0) / step
        if pace[i] - pace_limit[i] > excess:
            excess = pace[i] - pace_limit[i]
            worst = i
        elif not pace[i] > pace_limit[i]:
            pace_limit[i] = min(
                pace_limit[i], max(FASTER * (change + grain[i]) / step + SHARE * limit, least)
            )
    return worst


@inlined_exactly
def farthest_beyond_reach(place, start, grain, reach):
    """The joint that is farthest beyond its `reach` from `start`, or -1."""
    worst = -1
    excess = 0.0
    for i in range(place.shape[0]):
        distance = abs(place[i] - start[i]) - grain[i]
        if distance - reach[i] > excess:
            excess = distance - reach[i]
            worst = i
    return worst


@inlined_exactly
def measure_speed(p, s, qd, thetad):
    """The speed of each joint, from velocities of links (n,) and motors (m,)."""
    joint_speeds(p.joint_of_motor, p.link_share, qd, thetad, s.speed)


@inlined_exactly
def are_motors_slow(p, thetad):
    """Whether every motor is at rest."""
    for j in range(thetad.shape[0]):  # noqa: SIM110 (C has no all())
        if abs(thetad[j]) > p.recovery_speed:
            return False
    return True


@inlined_exactly
def _moves(p, s, qd, thetad):
    """Whether a joint moves; motors that only change a stiffness do not count."""
    measure_speed(p, s, qd, thetad)
    for i in range(qd.shape[0]):  # noqa: SIM110 (C has no any())
        if s.speed[i] > p.recovery_speed:
            return True
    return False


@inlined_exactly
def begin_stop(p, s, qd, thetad):
    """The speeds at which a stop begins decide how fast it may ever be."""
    measure_speed(p, s, qd, thetad)
    s.fast_since[0] = NEVER
    s.moving_since[0] = NEVER
    s.slow_since[0] = NEVER
    s.window_since[0] = NEVER
    for i in range(qd.shape[0]):
        limit = p.velocity[i] if p.velocity[i] < -NEVER else UNLIMITED_SPEED
        s.top_speed[i] = FASTER * s.speed[i] + SHARE * limit


@inlined_exactly
def was_late(s, now):
    """Whether a torque was late a moment ago."""
    return now - s.late_at[0] <= LATE_FOR


@inlined_exactly
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
        stops_anew = fault == NOT_FINITE and s.mode[0] == STOPPING
        if is_following(s.mode[0]) or mode == LOST or stops_anew:
            enter(s, mode, p.stop_transfer_time)
    return True


@inlined_exactly
def activate(p, s, now, qd, thetad, knows_speed):
    """Start: hold, or stop first if the arm moves, as soon as that is known."""
    s.fault[0] = NONE
    s.on_links[0] = 0
    s.tolerates_delay[0] = 0
    s.recovered[0] = 0
    s.on_time[0] = now
    s.late_at[0] = NEVER
    s.overloaded_since[0] = NEVER
    s.rested[0] = 0.0
    s.is_unsure[0] = 0 if knows_speed else 1
    begin_stop(p, s, qd, thetad)
    if p.follows and are_motors_slow(p, thetad):
        enter(s, HOLDING, p.transfer_time)
    else:
        s.fault[0] = SETTLING
        enter(s, STOPPING, p.transfer_time)


@inlined_exactly
def deactivate(s):
    """Nothing acts on the arm, and there is no fault."""
    s.mode[0] = INACTIVE
    s.fault[0] = NONE


@inlined_exactly
def joint_of_fault(s):
    """The joint at which the present fault was found; -1 if it is not about one."""
    return s.joint[0] if RULES[s.fault[0], OF_JOINT] != 0 else -1


@inlined_exactly
def is_final(s):
    """Whether only a cleared fault ends LOST."""
    return RULES[s.fault[0], ENDS] == FINAL


@inlined_exactly
def restart(p, s, now):
    """Forget all times, because the clock jumped; `now` is the new time. The acting law starts
    anew."""
    if s.mode[0] != INACTIVE:
        enter(s, s.mode[0], p.stop_transfer_time)
    s.fast_since[0] = NEVER
    s.moving_since[0] = NEVER
    s.slow_since[0] = NEVER
    s.window_since[0] = NEVER
    s.damped_until[0] = NEVER
    s.overloaded_since[0] = NEVER
    s.late_at[0] = NEVER
    s.on_time[0] = now
    s.recovered[0] = 0


@inlined_exactly
def _note_rest(p, s, x):
    """Note for how long the arm is at rest without a declared wrench, and the mean torques that
    hold it: an oscillation exceeds the speed of rest again before AT_REST."""
    if x.has_wrench[0] or s.speed[largest(s.speed)] > max(p.recovery_speed, SLOWEST):
        s.rested[0] = 0.0
        return
    step = min(x.elapsed[0], LASTING)
    share = step / AT_REST if s.rested[0] > 0.0 else 1.0
    s.rested[0] += step
    for j in range(x.sent.shape[0]):
        s.held[j] += share * (x.sent[j] - s.held[j])


@inlined_exactly
def keeps_torque(s):
    """Whether a law that does not follow keeps the torques that hold the arm at rest, `held`: those
    of a wrong model would move it. Not after a latched fault, of which they may be the reason."""
    return s.rested[0] >= AT_REST and RULES[s.fault[0], ENDS] == PASSING


@inlined_exactly
def damping_share(s, now):
    """The share of the damping with which the motors slow down after a stop has failed."""
    if s.mode[0] != LOST or s.fault[0] != STOP_FAILED or now >= s.damped_until[0]:
        return 0.0
    x = (s.damped_until[0] - now) / DAMPED_FOR
    return x * x * (3.0 - 2.0 * x)


@inlined_exactly
def clear_fault(p, s, qd, thetad):
    """End a fault on request: the arm stops, if it does not yet, and follows again at rest."""
    if s.fault[0] != NONE:
        s.fault[0] = SETTLING
        s.recovered[0] = 0
        s.moving_since[0] = NEVER  # the stop gets its time anew
        if s.mode[0] == YIELDING:
            begin_stop(p, s, qd, thetad)
            enter(s, STOPPING, p.stop_transfer_time)


@inlined_exactly
def _judge(p, s, now, x):
    """Change mode and fault by what this cycle finds.

    Missing states come first, then causes of faults while following, then the end of a stop. A
    final fault stays. A coarse encoder replaces passing faults: between its steps, it looks frozen.
    """
    on_links = 1 if x.lacks_motors[0] and p.stops_on_links and not x.lacks_links[0] else 0
    if s.on_links[0] and not x.lacks_motors[0] and not x.lacks_links[0] and not x.knows_speed[0]:
        on_links = 1  # the velocities of motors that have just come back would drive the arm
    if x.lacks_motors[0] and not on_links:
        if s.mode[0] != LOST:
            fail(p, s, now, NO_MOTORS, LOST, x.qd, x.thetad)
            enter(s, LOST, p.stop_transfer_time)
            if s.moving_since[0] == NEVER:
                s.moving_since[0] = now
        return
    if s.mode[0] == LOST:  # states are back; `stop_timeout` has kept running
        if not x.knows_speed[0]:  # feedback of velocities that are not known would drive the arm
            return
        since = s.moving_since[0]
        begin_stop(p, s, x.qd, x.thetad)
        s.moving_since[0] = since
        s.on_time[0] = now
        enter(s, STOPPING, p.stop_transfer_time)
    measure_speed(p, s, x.qd, x.thetad)
    if x.knows_speed[0] and not (x.lacks_links[0] and x.lacks_motors[0]):
        _note_rest(p, s, x)
    if RULES[s.fault[0], ENDS] == PASSING and _is_coarse(p, s, x):
        fail(p, s, now, COARSE, STOPPING, x.qd, x.thetad)
    elif on_links:
        fail(p, s, now, NO_MOTORS, STOPPING, x.qd, x.thetad)
    elif x.lacks_links[0]:
        fail(p, s, now, NO_LINKS, STOPPING, x.qd, x.thetad)
    elif is_following(s.mode[0]):
        _watch(p, s, now, x)
    if on_links != s.on_links[0]:
        s.on_links[0] = on_links
        s.window_since[0] = NEVER
        enter(s, STOPPING, p.stop_transfer_time)
    if s.mode[0] == STOPPING or s.mode[0] == YIELDING:
        _judge_stop(p, s, now, x)


@inlined_exactly
def supervise(p, s, now, x):
    """Apply the rules to what this cycle finds. Where each step of an encoder changes a torque by a
    share of its limit, so much of the last one is arbitrary and would drive the arm: what stops it
    fades in faster, and from the limit on at once."""
    if s.mode[0] == INACTIVE or RULES[s.fault[0], ENDS] == FINAL:
        return
    _judge(p, s, now, x)
    if s.is_new[0] and not is_following(s.mode[0]):
        k = coarsest_encoder(x.link_step, x.motor_step, p.link_resolution, p.motor_resolution, 0.0)
        if k >= 0:
            needed = of_encoder(k, p.link_resolution, p.motor_resolution)
            share = of_encoder(k, x.link_step, x.motor_step) / needed
            s.duration[0] *= max(1.0 - share, 0.0)


@inlined_exactly
def _watch(p, s, now, x):
    """What stops an arm that follows, with all states there."""
    was_unsure = s.is_unsure[0]
    s.is_unsure[0] = 0 if x.knows_speed[0] else was_unsure
    if x.elapsed[0] > p.link_timeout:
        fail(p, s, now, TIME, STOPPING, x.qd, x.thetad)
    elif was_unsure and x.knows_speed[0] and _moves(p, s, x.qd, x.thetad):
        fail(p, s, now, SETTLING, STOPPING, x.qd, x.thetad)
    elif x.contact[0]:
        fail(p, s, now, CONTACT, x.contact[0], x.qd, x.thetad)
    elif x.is_lost[0]:
        fail(p, s, now, ESTIMATE, STOPPING, x.qd, x.thetad)
    elif _exceeds_speed(p, s, now, x):
        fail(p, s, now, OVERSPEED, STOPPING, x.qd, x.thetad)
    elif _chatters(p, s, x):
        fail(p, s, now, CHATTER, STOPPING, x.qd, x.thetad)
    elif _overloads(p, s, now, x):
        fail(p, s, now, OVERLOAD, STOPPING, x.qd, x.thetad)
    elif p.tracking_tolerance > 0.0:
        worst = largest(x.error)
        if abs(x.error[worst]) > p.tracking_tolerance:
            s.joint[0] = worst
            s.value[0] = abs(x.error[worst])
            s.allowed[0] = p.tracking_tolerance
            fail(p, s, now, TRACKING, STOPPING, x.qd, x.thetad)


@inlined_exactly
def _exceeds_speed(p, s, now, x):
    """Whether a joint is faster than it may be, for longer than the filters explain."""
    worst = farthest_above_limit(s.speed, p.velocity, OVERSPEED_FACTOR)
    if worst < 0:
        s.over_since[0] = NEVER
        return False
    if s.over_since[0] == NEVER:
        s.over_since[0] = now
    s.joint[0] = worst
    s.value[0] = s.speed[worst]
    s.allowed[0] = OVERSPEED_FACTOR * p.velocity[worst]
    return now - s.over_since[0] >= LASTING


@inlined_exactly
def _is_coarse(p, s, x):
    """Whether a step of an encoder changes a torque by more than RELAY times its limit."""
    k = coarsest_encoder(x.link_step, x.motor_step, p.link_resolution, p.motor_resolution, RELAY)
    if k < 0:
        return False
    n = x.link_step.shape[0]
    s.joint[0] = k if k < n else p.joint_of_motor[k - n]
    s.value[0] = of_encoder(k, x.link_step, x.motor_step)
    s.allowed[0] = of_encoder(k, p.link_resolution, p.motor_resolution)
    return True


@inlined_exactly
def _chatters(p, s, x):
    """Whether a torque has jumped by its limit, back and forth, for CHATTER_FOR s."""
    j = count_jumps(x.sent, p.torque_limit, x.elapsed[0], s.last_sent, s.last_jump, s.chatter)
    if j < 0:
        return False
    s.joint[0] = p.joint_of_motor[j]
    s.value[0] = abs(s.last_jump[j])
    s.allowed[0] = p.torque_limit[j]
    return True


@inlined_exactly
def _overloads(p, s, now, x):
    """Whether a spring carries more than gravity and the motors explain, for OVERLOADED_FOR s."""
    worst = farthest_above_limit(x.springs, p.external_load, EXPLAINED)
    if worst < 0:
        s.overloaded_since[0] = NEVER
        return False
    if s.overloaded_since[0] == NEVER:
        s.overloaded_since[0] = now
    s.joint[0] = worst
    s.value[0] = abs(x.springs[worst])
    s.allowed[0] = EXPLAINED * p.external_load[worst]
    return now - s.overloaded_since[0] >= OVERLOADED_FOR


@inlined_exactly
def _needs_smoothing(p, x):
    """Whether steps of an encoder change torques so much that the stop uses smoothed positions, as
    it does for late torques. It needs those of the motors alone."""
    return farthest_above_limit(x.motor_step, p.motor_resolution, 1.0) >= 0


@inlined_exactly
def _judge_stop(p, s, now, x):
    """Check that the stop succeeds; end its fault if it no longer applies."""
    if s.mode[0] == YIELDING and was_late(s, now):
        begin_stop(p, s, x.qd, x.thetad)
        enter(s, STOPPING, p.stop_transfer_time)
    if _is_too_fast(p, s, now) or _is_not_at_rest(p, s, now) or _runs_away(p, s, now, x):
        if s.mode[0] == STOPPING:
            fail(p, s, now, STOP_FAILED, LOST, x.qd, x.thetad)
            s.damped_until[0] = now + DAMPED_FOR
            return
        begin_stop(p, s, x.qd, x.thetad)
        enter(s, STOPPING, p.stop_transfer_time)
    smooths = was_late(s, now) or (s.mode[0] == STOPPING and _needs_smoothing(p, x))
    if smooths and not s.tolerates_delay[0]:
        s.tolerates_delay[0] = 1
        s.window_since[0] = NEVER
        enter(s, STOPPING, p.stop_transfer_time)
    lacks_states = (
        x.lacks_links[0] or x.lacks_motors[0] or x.elapsed[0] > p.link_timeout or x.is_lost[0]
    )
    if p.follows and not lacks_states and x.is_settled[0] and are_motors_slow(p, x.thetad):
        _recover(p, s, now, x.qd, x.thetad)


@inlined_exactly
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
    s.how[0] = TOO_FAST
    s.joint[0] = worst
    s.value[0] = s.speed[worst]
    s.allowed[0] = p.stop_speed_limit if p.stop_speed_limit > 0.0 else s.top_speed[worst]
    return True


@inlined_exactly
def _is_not_at_rest(p, s, now):
    """Whether a joint still moves after `stop_timeout`; an arm that yields may."""
    worst = largest(s.speed)
    if s.moving_since[0] == NEVER:
        s.moving_since[0] = now
    if s.speed[worst] <= max(p.recovery_speed, SLOWEST):
        if s.slow_since[0] == NEVER:
            s.slow_since[0] = now
        if now - s.slow_since[0] >= AT_REST:
            s.moving_since[0] = now
            s.slows_down[0] = 0
        return False
    s.slow_since[0] = NEVER
    if s.mode[0] == YIELDING or now - s.moving_since[0] <= p.stop_timeout:
        return False
    s.how[0] = MOVES
    s.joint[0] = worst
    s.value[0] = s.speed[worst]
    s.allowed[0] = p.stop_timeout
    return True


@inlined_exactly
def _runs_away(p, s, now, x):
    """Whether a stop speeds up, or goes on beyond its forecast. This is seen by the positions
    alone: the velocities of filters may be wrong, and the reason for it. An arm that yields may;
    the forecast is that of stops on the motors."""
    if s.mode[0] == YIELDING or x.is_carried[0]:
        return False
    side = s.on_links[0]
    find_joint_positions(p.joint_of_motor, p.link_share, x.q, x.theta, side, s.place)
    find_joint_positions(p.joint_of_motor, p.link_share, x.link_step, x.motor_step, side, s.grain)
    for i in range(x.q.shape[0]):
        if s.grain[i] == 0.0:  # a joint that has just begun to move may show the coarsest steps
            s.grain[i] = COARSEST
    if s.window_since[0] == NEVER:
        for i in range(x.q.shape[0]):
            s.stop_place[i] = s.place[i]
            s.place_then[i] = s.place[i]
            s.place_between[i] = s.place[i]
            s.pace_limit[i] = s.top_speed[i] + FASTER * s.grain[i] / WINDOW  # which steps hide
            if p.stop_speed_limit > 0.0:
                s.pace_limit[i] = p.stop_speed_limit
            s.reach[i] = -NEVER
        s.slows_down[0] = 1
        s.window_since[0] = now
        s.between_since[0] = now
    step, slack = now - s.window_since[0], 0.5 * min(x.elapsed[0], LASTING)  # times are rounded
    if step + slack >= WINDOW:
        worst = limit_pace(
            s.place, s.place_then, s.grain, step, p.velocity, p.stop_speed_limit, s.pace_limit,
            s.speed,
        )  # fmt: skip
        if worst >= 0:
            s.how[0] = SPEEDS_UP
            s.joint[0] = worst
            s.value[0] = s.speed[worst]
            s.allowed[0] = s.pace_limit[worst]
            return True
        is_first = s.reach[0] >= -NEVER  # it shows how fast the stop begins
        if is_first and s.tolerates_delay[0]:
            limit_reach(s.pace_limit, p.velocity, p.late_distance, s.reach)
        elif is_first and not s.on_links[0]:
            limit_reach(s.pace_limit, p.velocity, p.stop_distance, s.reach)
    if now - s.between_since[0] + slack >= 0.5 * WINDOW:  # windows overlap by half
        s.window_since[0] = s.between_since[0]
        s.between_since[0] = now
        for i in range(x.q.shape[0]):
            s.place_then[i] = s.place_between[i]
            s.place_between[i] = s.place[i]
    worst = farthest_beyond_reach(s.place, s.stop_place, s.grain, s.reach)
    if worst < 0 or not s.slows_down[0]:
        return False
    s.how[0] = TOO_FAR
    s.joint[0] = worst
    s.value[0] = abs(s.place[worst] - s.stop_place[worst])
    s.allowed[0] = s.reach[worst]
    return True


@inlined_exactly
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


@inlined_exactly
def note_delay(p, s, now, delay, qd, thetad):
    """Judge how late, in s after its sample at `now`, a torque was sent.

    The arm is stopped once every torque has been late for LATE_FOR s.
    """
    if s.mode[0] == INACTIVE:
        return
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


@inlined_exactly
def note_motion(s, motion):
    """Note what the motion that is followed does now."""
    if is_following(s.mode[0]):
        s.mode[0] = HOLDING if motion == RESTING else FOLLOWING if motion == MOVING else BRAKING


compiled_supervise = compiled_exactly(supervise)
