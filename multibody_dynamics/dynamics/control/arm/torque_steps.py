# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The time by which a torque may change in a cycle, although cycles may be missed."""

from typing import NamedTuple

from ...core import IndependentCopies
from .valid_sides import Sample

LONGEST_PERIOD = 1.5  # times the last one: a single long step, after missed cycles, is no period
LATE, SHORT = 2.5, 0.006  # periods, and s, for which a torque may always act
REGAINED = 0.02  # s in which feedback returns after a late cycle, or is given up
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


def feedback_share(p, late, interval, dt, share):
    """The share of the gains that acts in a cycle; `share` is that of the cycle before, `dt` ago.

    late : s, since the last torque or since the state was measured, whichever is longer.
    interval : s, between the last two states, or since the last one if that is longer.

    The gains are those for the period in p. A spring that holds an inertia by its sampled position
    is stable up to a stiffness that falls with the square of the time between samples: so does the
    share, from LATE periods on. A late cycle reduces it at once, a gap in the states, in which
    cycles go on, steadily. It returns steadily, too, because the arm has moved on by itself.
    """
    in_time = max(LATE * p.period, SHORT)
    most = (in_time / interval) * (in_time / interval) if interval > in_time else 1.0
    near = min(max(share - dt / REGAINED, most), share + dt / REGAINED)
    return min(near, (in_time / late) * (in_time / late)) if late > in_time else near


class TorqueTimes(IndependentCopies):
    """When an arm got its samples and answered them with torques.

    expected : of its cycles; may be replaced.

    Attributes, for reading: `answered`, ns, the stamp of the last sample with a torque, 0 if there
    is none; `period`, s, of the last cycle on time, 0 before the second one.
    """

    def __init__(self, expected: CycleTimes) -> None:
        self.expected = expected
        self.period, self._share, self._interval = 0.0, 1.0, 0.0
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

    def note_period(self, step: float) -> None:
        """Note a cycle `step` s after the last torque."""
        self.period = next_period(step, self.period)

    def torque_step(self, step: float) -> float:
        """s, by which a torque may change that is sent `step` s after the last one."""
        return torque_step(self.expected, step, self.period)

    def feedback_share(self, sample: Sample, step: float, dt: float) -> float:
        """The share of the gains that acts in this cycle, `step` s after the last torque, in which
        the torque may change by `dt` s."""
        passed = 1e-9 * (sample.stamp - self._state_at) if self._state_at else 0.0
        if sample.is_late:
            self._interval = max(self._interval, passed)
        else:
            self._interval, self._state_at = sample.interval or passed, sample.stamp
        late = max(step, sample.age)
        self._share = feedback_share(self.expected, late, self._interval, dt, self._share)
        return self._share

    def start_law(self) -> None:
        """Use all of the gains of a law that starts."""
        self._share = 1.0
