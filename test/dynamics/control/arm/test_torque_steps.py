# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How far a torque may change after cycles of different lengths."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.dynamics.control.arm.torque_steps import (
    FORGOTTEN,
    GIVEN_UP,
    REGAINED,
    SHORT,
    SPARSE,
    CycleTimes,
    TorqueTimes,
    feedback_share,
    longest_interval,
    next_period,
    recent_interval,
    torque_step,
)
from multibody_dynamics.dynamics.control.arm.valid_sides import Sample

STEPS = st.floats(1e-5, 10.0)


EXPECTED = CycleTimes(period=1e-3, max_step=0.05)


def test_the_first_cycle_counts_as_one_of_the_expected_period():
    assert next_period(0.0, 0.0) == 0.0
    assert torque_step(EXPECTED, 0.0, 0.0) == 1e-3
    assert next_period(2e-3, 0.0) == 2e-3


@given(st.lists(STEPS, min_size=1, max_size=30))
def test_a_single_long_step_is_no_period_but_lasting_ones_are(steps):
    period = next_period(steps[0], 0.0)
    for step in steps[1:]:
        before, period = period, next_period(step, period)
        assert period == pytest.approx(min(step, 1.5 * before))
        assert torque_step(EXPECTED, step, period) <= min(2.0 * period, 0.05, step) * (1 + 1e-12)
    for _ in range(60):
        period = next_period(0.02, period)
    assert period == 0.02
    assert torque_step(EXPECTED, 0.02, period) == 0.02
    assert torque_step(EXPECTED, 1.0, period) == pytest.approx(0.04)


@given(st.lists(STEPS, min_size=1, max_size=30), st.sampled_from([1e-3, 4e-3]))
def test_feedback_falls_with_the_square_of_a_delay_and_returns(steps, period):
    expected = CycleTimes(period, max_step=0.05)
    share, longest = 1.0, longest_interval(expected)
    for step in steps:
        dt, before = min(step, period), share
        share = feedback_share(expected, longest, step, period, 0.0, dt, share)
        assert 0.0 < share <= 1.0
        assert share * step**2 <= longest**2 * (1.0 + 1e-12) or step <= longest
        assert share >= before or step > longest
    for _ in range(round(REGAINED / period) + 1):
        share = feedback_share(expected, longest, period, period, 0.0, period, share)
    assert share == pytest.approx(1.0)


@given(st.lists(STEPS, min_size=1, max_size=100), st.sampled_from([1e-3, 4e-3]))
def test_feedback_follows_the_interval_of_states_steadily(intervals, period):
    expected = CycleTimes(period, max_step=0.05)
    share, in_time = 1.0, 1.5 * period
    for interval in intervals:
        before = share
        share = feedback_share(expected, in_time, period, interval, 0.0, period, share)
        most = min((in_time / interval) ** 2, 1.0)
        step = period / (GIVEN_UP if most < before else REGAINED)
        assert 0.0 < share <= 1.0
        assert abs(share - before) <= step * (1.0 + 1e-12)
        assert abs(share - most) <= max(abs(before - most) - step, 0.0) + 1e-12
    for _ in range(round(REGAINED / period) + 1):
        share = feedback_share(expected, in_time, period, 0.05, 0.0, period, share)
    assert share == pytest.approx((in_time / 0.05) ** 2)


def sample_at(ms: float, **more) -> Sample:
    return Sample(round(1e6 * ms), {}, **more)


def test_times_count_from_the_first_sample_and_from_the_last_torque():
    times = TorqueTimes(EXPECTED)
    assert times.seconds(7) == 0.0
    assert times.since_torque(7) == 0.0
    times.begin(5_000_000)
    times.begin(9_000_000)
    assert times.seconds(12_000_000) == pytest.approx(7e-3)
    times.answered = 11_000_000
    assert times.since_torque(12_000_000) == pytest.approx(1e-3)
    times.restart()
    assert times.seconds(12_000_000) == times.since_torque(12_000_000) == 0.0


def test_feedback_is_reduced_by_the_age_of_a_state_and_by_gaps_between_states():
    times, dt = TorqueTimes(EXPECTED), 1e-3
    share_of = partial(times.feedback_share, step=1e-3, dt=dt, held_back=0.0, reduces_gains=True)
    for k in range(5):
        assert share_of(sample_at(k + 1)) == 1.0
    assert share_of(sample_at(6, age=2 * SHORT)) == pytest.approx(0.25)
    for k in range(7, 60):
        share = share_of(sample_at(k))
    assert share == 1.0
    for k in range(60, 60 + 80):  # no states: the last one was at 59 ms
        share = share_of(sample_at(k, is_late=True))
    assert share == pytest.approx((1e3 * SHORT / 80) ** 2)
    assert share_of(sample_at(140)) == pytest.approx((1e3 * SHORT / 81) ** 2)
    assert share_of(sample_at(141)) < 0.03  # the gap counts for some time
    times.start_law()
    assert share_of(sample_at(142)) == 1.0


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=100))
def test_behind_rate_limits_feedback_is_what_they_permit_in_time(wanted):
    """`wanted` : s until a rate limit permits the complete feedback, from cycle to cycle."""
    longest, share = longest_interval(EXPECTED), 1.0
    for held_back in wanted:
        share = feedback_share(EXPECTED, longest, 1e-3, 1e-3, share * held_back, 1e-3, share)
        assert 0.0 < share <= 1.0
        assert share * held_back <= longest + 1e-3 / REGAINED * held_back + 1e-12
    before = share
    share = feedback_share(EXPECTED, longest, 1e-3, 1e-3, longest, 1e-3, share)
    assert share == pytest.approx(min(before + 1e-3 / REGAINED, 1.0))


def test_a_gap_counts_until_twice_its_time_has_passed():
    gap, recent = 0.04, 0.0
    recent = recent_interval(EXPECTED, gap, recent, 1e-3)
    assert recent == gap
    for k in range(1, round(gap / FORGOTTEN / 1e-3)):
        recent = recent_interval(EXPECTED, 1e-3, recent, 1e-3)
        assert recent == pytest.approx(max(gap - FORGOTTEN * 1e-3 * k, 1e-3))
    assert recent == 1e-3
    assert recent_interval(EXPECTED, 0.03, 0.02, 1e-3) == 0.03
    after_silence = recent_interval(EXPECTED, 1e-3, 10.0, 1e-3)
    assert after_silence == pytest.approx(EXPECTED.max_step - FORGOTTEN * 1e-3)


@pytest.mark.parametrize(("is_known", "expected"), [(True, (SPARSE / 2) ** 2), (False, 1.0)])
def test_laws_that_can_only_give_way_do_so_early_if_the_rate_is_known(is_known, expected):
    times = TorqueTimes(EXPECTED, is_known=is_known)
    for k in range(1, 50):  # half as often as expected
        share = times.feedback_share(sample_at(2 * k), 2e-3, 2e-3, 0.0, reduces_gains=False)
    assert share == pytest.approx(expected)
