# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Conversion between messages and arrays: inputs are matched by joint name and checked; outputs are
written into preallocated messages.

Any defect in a message raises `MessageError`, whose `reason` comes from a small fixed vocabulary
(for counting) and whose text names the joint and the value. The node adds the topic.
"""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...dynamics.control import PositionCheck, TrajectoryRequest
from ...dynamics.core import SECOND, Array, RequestError
from ...dynamics.model import MotorColumns, Transmission, motor_columns
from ...dynamics.motion import Points, in_nearest_turn

LARGEST = 1e9  # in SI units; products of far larger numbers overflow
SHORT_LIST = 10  # longest list of names in an error message


MessageError = RequestError  # an input message that is rejected


def unusable(numbers: Array) -> NDArray[np.intp]:
    """Flat indices of numbers that are not finite, or larger than any quantity of a robot."""
    return np.flatnonzero(~(np.abs(numbers) <= LARGEST))


def nanoseconds(stamp: Time) -> int:
    """A stamp as one integer; as float64, seconds since the epoch have a resolution of only 0.2
    us."""
    return stamp.sec * SECOND + stamp.nanosec


def set_stamp(stamp: Time, time: int) -> None:
    """Write `time` (ns) into a stamp."""
    stamp.sec, stamp.nanosec = divmod(time, SECOND)


@dataclass(frozen=True, eq=False)
class Match:
    """Positions of our joints in a sender's list of names: ours[target] = theirs[source], in our
    order, where `columns` turns values of joints behind a transmission into those of its motors."""

    source: NDArray[np.intp]
    target: NDArray[np.intp]
    complete: bool
    columns: MotorColumns

    def __post_init__(self) -> None:
        every = np.arange(len(self.columns.names))
        chosen = slice(None) if np.array_equal(self.source, every) else self.source
        object.__setattr__(self, "_chosen", chosen)  # a view, if nothing is left out or reordered

    def take(self, field: str, numbers: Array) -> Array:
        """Ours (..., k), in the order of `target`, of theirs (..., all names): a view if that is
        their order, too."""
        return self.columns.convert(field, numbers)[..., self._chosen]  # type: ignore[attr-defined]


class JointMatcher:
    """Matches senders' lists of joint names with ours; caches the results.

    transmissions : of which a sender may name the joints instead of the motors. prefix : of all
    names, but not of those in the transmissions.
    """

    MEMORY = 16  # lists; bounds the cache if a sender keeps changing its names

    def __init__(
        self,
        joint_names: Sequence[str],
        transmissions: Sequence[Transmission] = (),
        prefix: str = "",
    ) -> None:
        self.joint_names = tuple(joint_names)
        self._transmissions, self._prefix = tuple(transmissions), prefix
        self._index = {name: k for k, name in enumerate(self.joint_names)}
        self._known: dict[tuple[str, ...], Match] = {}
        self._last_names: list[str] | None = None
        self._last_match = self._matched(())

    def match(self, names: list[str]) -> Match:
        """Match our joints, ignoring other names. Rejects empty lists and duplicate names."""
        if names == self._last_names:
            return self._last_match
        key = tuple(names)
        found = self._known.get(key)
        if found is None:
            found = self._find(key)
            if len(self._known) >= self.MEMORY:
                self._known.clear()
            self._known[key] = found
        self._last_names, self._last_match = list(names), found
        return found

    def _find(self, names: tuple[str, ...]) -> Match:
        if not names:
            raise MessageError("unnamed", "no joint names, so the values cannot be assigned")
        repeated = {name for name, count in Counter(names).items() if count > 1}
        if repeated:
            raise MessageError("repeated joint", f"duplicate joint {_listed(sorted(repeated))}")
        return self._matched(names)

    def _matched(self, names: tuple[str, ...]) -> Match:
        columns = motor_columns(names, self._transmissions, self._prefix)
        known = enumerate(columns.names)
        pairs = sorted((self._index[name], k) for k, name in known if name in self._index)
        target, source = np.array(pairs, dtype=np.intp).reshape(-1, 2).T.copy()
        return Match(source, target, len(pairs) == len(self.joint_names), columns)

    def match_all(self, names: list[str]) -> Match:
        """Like `match`, but none of our joints may be missing."""
        found = self.match(names)
        if not found.complete:
            missing = [name for name in self.joint_names if name not in found.columns.names]
            raise MessageError("missing joint", f"missing joint {_listed(missing)}")
        return found

    def require_all(self, names: list[str]) -> Match:
        """Like `match_all`, but no other joints are allowed either."""
        found = self.match(names)
        if len(names) > len(found.source):
            unknown = [name for name in found.columns.names if name not in self._index]
            instead = "".join(
                f", or {_listed(each.joints)} instead of {_listed(each.motors)}"
                for each in self._transmissions
            )
            raise MessageError(
                "unknown joint",
                f"unknown joint {_listed(unknown)}; expected {joints_listed(self.joint_names)}"
                f"{instead}",
            )
        return self.match_all(names)


class JointStates:
    """The newest state of our joints, merged by name from any number of JointState messages.

    A message may contain other joints besides ours, and ours may be spread over several messages,
    which may overlap: of two values of a joint with one stamp, the first is used.
    `fields` (of position, velocity, effort) are those that the node requires: they must be present
    and finite, and each is an attribute, (n,), which messages replace but never overwrite: one with
    just our joints is not copied. Drivers may leave the others empty or NaN; `also` names
    optional ones that are stored unchecked, as NaN if a message lacks them. `check` rejects
    positions that cannot follow the previous ones, and takes those of continuous joints in the
    nearest turn. `transmissions` may be named by their joints.
    stamp: newest stamp of the last complete state, ns. foreign: number of messages that contained
    none of our joints.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        fields: Sequence[str] = ("position",),
        also: Sequence[str] = (),
        check: PositionCheck | None = None,
        transmissions: Sequence[Transmission] = (),
        prefix: str = "",
    ) -> None:
        n = len(joint_names)
        self.stamp = 0
        self.foreign = 0
        self.position: Array = np.full(n, np.nan)
        self.velocity: Array = np.full(n, np.nan)
        self.effort: Array = np.full(n, np.nan)
        self._fields, self._also = tuple(fields), tuple(also)
        self._matcher = JointMatcher(joint_names, transmissions, prefix)
        self._check = check
        self._stamps = np.zeros(n, dtype=np.int64)
        self._newest = 0  # of them
        self._is_new = np.zeros(n, dtype=bool)
        self._before: Array = np.full(n, np.nan)  # positions that `check` compares with new ones

    def restart(self) -> None:
        """Forget all stamps, because time jumped and older ones are valid again."""
        self.stamp = self._newest = 0
        self._stamps[:] = 0
        self._is_new[:] = False
        self._before[:] = np.nan

    @property
    def missing(self) -> list[str]:
        """Joints that the next state is waiting for; none after a complete state."""
        names = self._matcher.joint_names
        if self.stamp and not self._is_new.any():
            return []
        return [name for name, new in zip(names, self._is_new, strict=True) if not new]

    def has_jumped_back(self, message: JointState, now: int, tolerance: int) -> bool:
        """Whether time itself jumped back: the clock is behind stamps that have already been used.

        After `restart`, older stamps are valid again. If any stamp is allowed (tolerance 0), a
        stamp that is more than a second older counts as well, as when a bag is played in a loop.
        """
        if tolerance:
            return self.stamp - now > tolerance
        stamp = nanoseconds(message.header.stamp)
        ours = self._stamps[
            self._matcher.match(message.name).target
        ]  # other senders' clocks may differ
        return bool(stamp) and int(ours.max(initial=0)) - stamp > SECOND

    def accept(self, message: JointState, now: int, tolerance: int = 0) -> bool:
        """Accept one message; True if it completes a state in which every joint is new.

        Stamps that differ from `now` (ns) by more than `tolerance` (ns; 0: no limit) are rejected.
        """
        match = self._matcher.match(message.name)
        stamp = nanoseconds(message.header.stamp)
        count = len(message.name)
        values = {
            "position": message.position, "velocity": message.velocity, "effort": message.effort
        }  # fmt: skip
        for field, given in values.items():
            if len(given) not in (0, count):
                raise MessageError(
                    "wrong length", f"{count} names but {len(given)} values in {field}"
                )
        if match.source.size == 0:
            self.foreign += 1
            return False
        self._check_stamp(stamp, now, tolerance)
        is_new = self._not_yet_given(match, stamp)
        targets = match.target[is_new]
        is_whole = len(targets) == len(self._stamps)
        ours = slice(None) if is_whole else targets
        rows = {}
        for field in self._fields:
            if not values[field]:
                raise MessageError("wrong length", f"{field} is empty but required")
            numbers = match.take(field, np.frombuffer(values[field]))[is_new]
            # The sum, false for NaN, is fast and clears almost all messages.
            if not sum(map(abs, numbers.tolist())) <= LARGEST and (wrong := unusable(numbers)).size:
                k = wrong[0]
                joint = self._matcher.joint_names[targets[k]]
                raise MessageError("not finite", f"{field} of '{joint}' is {numbers[k]}")
            if field == "position" and self._check is not None:
                if self._check.has_turns:
                    turn = self._check.turn[ours]
                    numbers = in_nearest_turn(turn, self._before[ours], numbers)
                elapsed = 1e-9 * (stamp - self._stamps[ours])
                if fault := self._check.fault(targets, self._before[ours], numbers, elapsed):
                    raise MessageError("jump", fault)
            rows[field] = numbers
        for field in self._also:
            numbers = np.frombuffer(values[field] or np.full(count, np.nan))
            rows[field] = match.take(field, numbers)[is_new]
        for field, row in rows.items():
            if not is_whole:
                part, row = row, getattr(self, field).copy()
                row[targets] = part
            setattr(self, field, row)
        self._before[ours] = rows.get("position", np.nan)
        self._stamps[ours] = stamp
        self._newest = max(self._newest, stamp)
        if not is_whole:
            self._is_new[targets] = True
            if not self._is_new.all():
                return False
        self._is_new[:] = False
        self.stamp = stamp if is_whole else int(self._stamps.max())
        return True

    def _not_yet_given(self, match: Match, stamp: int) -> NDArray[np.bool_] | slice:
        """Which of the matched joints have not had a state with this stamp: messages may
        overlap."""
        if stamp > self._newest:
            return slice(None)
        stamps = self._stamps[match.target]
        newest = int(stamps.max())
        if stamp > newest:
            return slice(None)
        if stamp < newest:
            raise MessageError(
                "out of order",
                f"the stamp is {1e-9 * (newest - stamp):.6f} s older than one already used",
            )
        older = stamps < stamp
        if not older.any():
            raise MessageError("out of order", "a state with the same stamp was already used")
        return np.asarray(older)

    def _check_stamp(self, stamp: int, now: int, tolerance: int) -> None:
        if stamp == 0:
            raise MessageError("no stamp", "the stamp is zero, so the time of the state is unknown")
        if tolerance and now - stamp > tolerance:
            raise MessageError("stale", f"the stamp is {1e-9 * (now - stamp):.3f} s old")
        if tolerance and stamp - now > tolerance:
            raise MessageError(
                "from the future", f"the stamp is {1e-9 * (stamp - now):.3f} s ahead of the clock"
            )


def read_trajectory(message: JointTrajectory, matcher: JointMatcher) -> TrajectoryRequest:
    """Match, check and convert. Whether times increase is checked with the trajectory itself."""
    start = nanoseconds(message.header.stamp) or None
    if not message.points:
        return TrajectoryRequest(start, np.empty(0), None, None, None)
    match = matcher.require_all(message.joint_names)
    times = np.array(
        [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points]
    )
    columns = (
        _column(message, field, match, matcher)
        for field in ("positions", "velocities", "accelerations")
    )
    return TrajectoryRequest(start, times, *columns)


def _column(
    message: JointTrajectory, field: str, match: Match, matcher: JointMatcher
) -> Array | None:
    """(k, n), NaN rows for points without this field; None if no point has it."""
    n = len(matcher.joint_names)
    rows = [getattr(point, field) for point in message.points]
    given = [k for k, row in enumerate(rows) if len(row)]
    for k in given:
        if len(rows[k]) != n:
            raise MessageError(
                "wrong length", f"point {k} has {len(rows[k])} {field} for {n} joints"
            )
    if not given:
        return None
    # Joining the points first takes a tenth of the time needed to convert 500 points one by one.
    numbers = np.frombuffer(b"".join(rows)).reshape(-1, n)
    table = np.full((len(rows), n), np.nan)
    table[np.ix_(given, match.target)] = match.take(field, numbers)
    for place in unusable(table[given]):
        k, j = divmod(int(place), n)
        raise MessageError(
            "not finite",
            f"{field} of '{matcher.joint_names[j]}' in point {given[k]} is {table[given[k], j]}",
        )
    return table


@dataclass(frozen=True, eq=False)
class MotorReference:
    """A motor_command as arrays (n,) in our joint order; fields that are not given are None."""

    stamp: int
    position: Array
    velocity: Array | None
    acceleration: Array | None
    effort: Array | None


def read_motor_command(message: JointTrajectory, matcher: JointMatcher) -> MotorReference:
    """The one point of a motor_command: theta, theta', theta'' and motor torque."""
    if len(message.points) != 1:
        raise MessageError("wrong length", f"{len(message.points)} points; expected one")
    match = matcher.require_all(message.joint_names)
    position, velocity, acceleration, effort = (
        _column(message, field, match, matcher)
        for field in ("positions", "velocities", "accelerations", "effort")
    )
    if position is None:
        raise MessageError("wrong length", "the point has no positions")
    return MotorReference(
        nanoseconds(message.header.stamp),
        position[0],
        *(None if rows is None else rows[0] for rows in (velocity, acceleration, effort)),
    )


def read_command_array(message: Float64MultiArray, joint_names: Sequence[str]) -> Array:
    """(n,) in the order of `joint_names`; labels, if present, must equal these names."""
    labels = [dim.label for dim in message.layout.dim if dim.label]
    if labels and labels != list(joint_names):
        raise MessageError(
            "unknown joint", f"labels {_listed(labels)}; expected {_listed(joint_names)}"
        )
    if len(message.data) != len(joint_names):
        raise MessageError(
            "wrong length", f"{len(message.data)} values for {len(joint_names)} joints"
        )
    numbers = np.array(message.data)
    for k in unusable(numbers):
        raise MessageError("not finite", f"the value for '{joint_names[k]}' is {numbers[k]}")
    return numbers


def read_wrench(message: WrenchStamped) -> Array:
    """(6,) wrench (m, f): moment first here, whereas the message has the force first."""
    force, torque = message.wrench.force, message.wrench.torque
    wrench = np.array([torque.x, torque.y, torque.z, force.x, force.y, force.z])
    if not np.isfinite(wrench).all():
        raise MessageError("not finite", f"the wrench (m, f) is {wrench}")
    return wrench


def view(field: array.array[float]) -> Array:
    """A message field as an array; writing to it is seven times faster than assigning the field."""
    return np.frombuffer(field)


def joint_state_message(joint_names: Sequence[str], *fields: str) -> JointState:
    """A JointState with preallocated `fields` (position, velocity, effort), filled using `view`."""
    zeros = bytes(8 * len(joint_names))
    message = JointState(name=list(joint_names))
    for field in fields:
        setattr(message, field, array.array("d", zeros))
    return message


def motor_command_message(joint_names: Sequence[str]) -> JointTrajectory:
    """A JointTrajectory of one point with all four fields preallocated, filled using `view`."""
    point = JointTrajectoryPoint()
    for field in ("positions", "velocities", "accelerations", "effort"):
        setattr(point, field, array.array("d", bytes(8 * len(joint_names))))
    return JointTrajectory(joint_names=list(joint_names), points=[point])


def command_array_message(joint_names: Sequence[str]) -> Float64MultiArray:
    """A Float64MultiArray of shape (n, 1, ..., 1): one dimension per joint, labelled by name."""
    n = len(joint_names)
    message = Float64MultiArray(data=array.array("d", bytes(8 * n)))
    message.layout.dim = [MultiArrayDimension(label=name, size=1, stride=1) for name in joint_names]
    message.layout.dim[0].size = message.layout.dim[0].stride = n
    return message


def trajectory_message(joint_names: Sequence[str], start: int, points: Points) -> JointTrajectory:
    """The points as a JointTrajectory whose time_from_start counts from `start` (ns)."""
    message = JointTrajectory(joint_names=list(joint_names))
    set_stamp(message.header.stamp, start)

    def field(rows: Array | None, k: int) -> array.array[float]:
        return array.array("d", () if rows is None else rows[k].tolist())

    for k, t in enumerate(points.times):
        point = JointTrajectoryPoint(
            positions=field(points.positions, k),
            velocities=field(points.velocities, k),
            accelerations=field(points.accelerations, k),
        )
        set_stamp(point.time_from_start, round(SECOND * t))  # Duration has the same fields
        message.points.append(point)
    return message


def joints_listed(names: Sequence[str]) -> str:
    """Our joints for an error message, listed by name if they are few."""
    return f"the joints {_listed(names)}" if len(names) <= SHORT_LIST else "the joints"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
