# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The times of a control cycle: by how many seconds a torque may change, and how much of the
feedback acts, although cycles and states may be missed."""

from typing import NamedTuple

from ...core import IndependentCopies
from .valid_sides import Sample

LONGEST_PERIOD = 1.5  # times the last one: a single long step, after missed cycles, is no period
LATE, SHORT = 2.5, 0.006  # periods, and s, for which a torque may always act
SPARSE = 1.5  # periods between states, up to which laws act that can only give way as a whole
GIVEN_UP = 0.02  # s in which feedback is given up in a gap: what it acts on is only extrapolated
REGAINED = 0.05  # s in which it returns
FORGOTTEN = 0.5  # s, by which a gap in the states counts as shorter after each second
LONGEST_STEP = 2.0  # periods by which a torque may change after missed cycles


class CycleTimes(NamedTuple):
    """What is expected of the times of a cycle; in C, two of its settings.

    period : s, of the first cycle. max_step : s, the longest time by which a torque may change.
    """

    period: float
    max_step: float


def next_period(step, period):
    """The period, s, of a cycle `step` s after the last torque; `period` is that of the last cycle.
    Zero for what is not known."""
    if not step > 0.0:
        return period
    return min(step, LONGEST_PERIOD * period) if period > 0.0 else step


def torque_step(p, step, period):
    """The time, s, by which a torque may change that is sent `step` s after the last one, with the
    :class:`CycleTimes` p, and `period` as :func:`next_period` gives it."""
    known = period if period > 0.0 else p.period
    longest = min(step, LONGEST_STEP * known)
    return min(longest if longest > 0.0 else p.period, p.max_step)


def longest_interval(p):
    """The time, s, between two states or torques up to which the gains act in full."""
    return max(LATE * p.period, SHORT)


def recent_interval(p, interval, recent, dt):
    """The longest time, s, between two states of late: a gap, of up to max_step, counts until twice
    its time has passed, `dt` of it since the cycle before, because the next one would find the arm
    still on its way back."""
    return max(interval, min(recent, p.max_step) - FORGOTTEN * dt)


def feedback_share(p, in_time, late, interval, held_back, dt, share):
    """The share of the gains that acts in a cycle; `share` is that of the cycle before, `dt` ago.

    in_time : s, between two states, up to which they act in full. late : s, since the last torque
    or since the state was measured, whichever is longer. interval : s, of :func:`recent_interval`.
    held_back : s, until rate limits permit the last torque that was wanted.

    The gains are those for the period in p. A spring that holds an inertia by its sampled position
    is stable up to a stiffness that falls with the square of the time between samples: so does the
    share. A late cycle reduces it at once, a gap in the states, in which cycles go on, steadily. It
    returns steadily, too, because the arm has moved on by itself. Behind rate limits, it is what
    they permit in time: a larger feedback, of coarse encoders, would act long after its cause.
    """
    most = (in_time / interval) * (in_time / interval) if interval > in_time else 1.0
    near = min(max(share - dt / GIVEN_UP, most), share + dt / REGAINED)
    longest = longest_interval(p)
    if held_back > longest:
        near = min(near, share * longest / held_back)
    return min(near, (longest / late) * (longest / late)) if late > longest else near


class TorqueTimes(IndependentCopies):
    """When an arm got its samples and answered them with torques.

    expected : of its cycles. is_known : whether cycles have this period, or others at which the
    laws are believed to be good, too.

    Attributes, for reading: `answered`, ns, the stamp of the last sample with a torque, 0 if there
    is none; `period`, s, of the last cycle on time, 0 before the second one.
    """

    def __init__(self, expected: CycleTimes, *, is_known: bool = True) -> None:
        self.expected, self._is_known = expected, is_known
        self.period = self._interval = self._recent = 0.0
        self._share = 1.0
        self.restart()

    def restart(self) -> None:
        """Count from the next sample on, because time jumped."""
        self._origin = 0
        self.forget_torques()

    def forget_torques(self) -> None:
        """Forget when there were torques, and states."""
        self.answered = self._state_at = 0

    def seconds(self, stamp: int) -> float:
        """s from the first sample to `stamp` (ns); 0 before :meth:`begin`."""
        return 1e-9 * (stamp - self._origin) if self._origin else 0.0

    def begin(self, stamp: int) -> None:
        """Count from this sample on (ns), unless there were others."""
        self._origin = self._origin or stamp

    def since_torque(self, stamp: int) -> float:
        """s from the last answered sample to `stamp` (ns); 0 if there is none."""
        return 1e-9 * (stamp - self.answered) if self.answered else 0.0

    def is_late(self, passed: float) -> bool:
        """Whether states should have arrived, `passed` s after the last ones."""
        return passed > LATE * self.period

    def note_period(self, step: float) -> None:
        """Note a cycle `step` s after the last torque."""
        self.period = next_period(step, self.period)

    def torque_step(self, step: float) -> float:
        """s, by which a torque may change that is sent `step` s after the last one."""
        return torque_step(self.expected, step, self.period)

    def feedback_share(
        self, sample: Sample, step: float, dt: float, held_back: float, reduces_gains: bool
    ) -> float:
        """The share of the gains that acts in this cycle, `step` s after the last torque, in which
        the torque may change by `dt` s; see :func:`feedback_share`.

        reduces_gains : whether the law reduces its gains, or else gives way as a whole.
        """
        passed = 1e-9 * (sample.stamp - self._state_at) if self._state_at else 0.0
        if sample.is_late:
            self._interval = max(self._interval, passed)
        else:
            self._interval, self._state_at = sample.interval or passed, sample.stamp
        expected, late = self.expected, max(step, sample.age)
        self._recent = recent_interval(expected, self._interval, self._recent, dt)
        in_time = longest_interval(expected)
        if self._is_known and not reduces_gains:
            in_time = SPARSE * expected.period
        self._share = feedback_share(
            expected, in_time, late, self._recent, held_back, dt, self._share
        )
        return self._share

    def start_law(self) -> None:
        """Use all of the gains of a law that starts, whatever gaps there were before."""
        self._share, self._recent, self._state_at = 1.0, 0.0, 0
