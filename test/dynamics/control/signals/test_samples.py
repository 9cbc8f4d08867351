# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Samples in the control cycle: which are valid, and what the filters do without them."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.arm.cycle_settings import CycleSettings
from multibody_dynamics.dynamics.control.records.cycle_counts import CycleCounts
from multibody_dynamics.dynamics.control.signals import samples
from multibody_dynamics.dynamics.control.signals.derivative_filter import DerivativeFilter
from multibody_dynamics.dynamics.control.signals.encoder_steps import EncoderSteps
from multibody_dynamics.dynamics.control.signals.samples import Samples
from multibody_dynamics.dynamics.core import record_fields

N, M, DT = 2, 3, 1e-3


class Sampled:
    """A record of samples and what is counted, with a cycle every DT."""

    def __init__(self) -> None:
        unused = dict.fromkeys(CycleSettings._fields, 0.0)
        self.p = CycleSettings(**unused | {
            "max_step": 0.05, "link_speed": np.full(N, 10.0), "motor_speed": np.full(M, 10.0),
            "filter_order": 3, "filter_bandwidth": 60.0, "settling_time": 0.02,
            "link_timeout": 0.01, "motor_timeout": 0.01,
        })  # fmt: skip
        self.s = record_fields.zeros(Samples, n=N, m=M)
        self.steps = record_fields.zeros(EncoderSteps, n=N, m=M)
        self.counts = record_fields.zeros(CycleCounts)
        self.time, self.agrees = 0.0, -1
        samples.forget_samples(self.s)

    def reference(self):
        """Desired rows of links and motors that move as `moving` does."""
        rows = np.zeros((5, N)), np.zeros((4, M))
        rows[0][1], rows[1][1] = moving(1.0)
        return rows

    def cycle(self, q, theta, *, links=True, motors=True, ahead=0.0):
        self.time += DT
        new = self.time + ahead
        samples.compiled_take_samples(
            self.p, self.s, self.steps, self.counts, self.time,
            new if links else self.s.sampled[0], new if motors else self.s.sampled[1],
            q, theta, self.agrees, DT, *self.reference(),
        )  # fmt: skip
        return np.concatenate([self.s.q, self.s.theta])


def moving(t):
    return np.array([0.1, -0.3]) * t, np.array([0.2, 0.5, -0.1]) * t


def test_the_filters_are_those_of_the_class():
    sampled = Sampled()
    wanted = DerivativeFilter([*"abcde"], 3, 60.0, max_step=0.05)
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, theta = (row + 1e-4 * rng.normal(size=row.shape) for row in moving(sampled.time))
        sampled.cycle(q, theta)
        wanted.update(sampled.time, np.concatenate([q, theta]))
        np.testing.assert_array_equal(sampled.s.filter[:3], wanted.state)
    np.testing.assert_array_equal(np.r_[sampled.s.qd, sampled.s.thetad], wanted.state[1])
    assert samples.filters_are_settled(sampled.p, sampled.s)
    assert sampled.counts.coasted_cycles[0] == sampled.counts.refused_samples[0] == 0


def test_nothing_starts_before_both_sides_have_a_sample():
    sampled = Sampled()
    q, theta = np.ones(N), np.ones(M)
    sampled.cycle(q, theta, motors=False)
    sampled.cycle(q, theta, links=False)
    assert not sampled.s.is_started[0]
    assert not samples.filters_are_settled(sampled.p, sampled.s)
    sampled.cycle(q, theta)
    assert sampled.s.is_started[0]


@pytest.mark.parametrize("cycles", [5, 300])  # 300: its next sample was taken for a start at rest
def test_a_side_without_samples_follows_its_reference_until_its_timeout(cycles):
    sampled = Sampled()
    sampled.p = sampled.p._replace(link_timeout=0.5)
    for _ in range(100):
        sampled.cycle(*moving(sampled.time + DT))
    for _ in range(cycles):
        found = sampled.cycle(*moving(sampled.time + DT), links=False)
    np.testing.assert_allclose(found, np.concatenate(moving(sampled.time)), atol=1e-9)
    assert sampled.counts.coasted_cycles[0] == cycles
    assert sampled.counts.refused_samples[0] == 0
    found = sampled.cycle(*moving(sampled.time + DT))
    np.testing.assert_allclose(found, np.concatenate(moving(sampled.time)), atol=1e-9)
    np.testing.assert_allclose(sampled.s.qd, moving(1.0)[0], atol=1e-9)


def test_after_a_gap_the_filter_knows_how_long_it_was():
    """Motors that accelerate while they are carried at constant velocity: their velocity is found
    by one sample, where a filter that took their motion for that of one cycle would jump by
    0.75 a t^2 / dt = 1.2 rad/s."""
    sampled = Sampled()
    a, since = 40.0, 7  # rad/s^2, cycles
    for _ in range(100):
        sampled.cycle(*moving(sampled.time + DT))
    for k in range(1, since + 1):
        q, theta = moving(sampled.time + DT)
        sampled.cycle(q, theta + 0.5 * a * (k * DT) ** 2, motors=k == since)
    error = sampled.s.thetad - moving(1.0)[1] - a * since * DT
    assert np.abs(error).max() < 0.35 * a * since * DT


def test_a_side_that_has_timed_out_comes_to_rest_and_settles_anew():
    sampled = Sampled()
    for _ in range(100):
        sampled.cycle(*moving(sampled.time + DT))
    for _ in range(9):
        sampled.cycle(*moving(sampled.time + DT), links=False)
    assert not samples.lacks_links(sampled.p, sampled.s, sampled.time)
    assert samples.filters_are_settled(sampled.p, sampled.s)
    place = sampled.s.q.copy()
    assert samples.state_interval(sampled.p, sampled.s, sampled.time) == pytest.approx(9 * DT)
    for _ in range(2000):
        found = sampled.cycle(*moving(sampled.time + DT), links=False)
    assert samples.lacks_links(sampled.p, sampled.s, sampled.time)
    assert not samples.lacks_motors(sampled.p, sampled.s, sampled.time)
    assert samples.state_interval(sampled.p, sampled.s, sampled.time) == pytest.approx(DT)
    assert np.abs(sampled.s.qd).max() < 1e-9
    assert np.abs(found[:N] - place).max() < 0.3 * DT * 20  # not the 0.6 rad of its velocity
    np.testing.assert_allclose(found[N:], moving(sampled.time)[1], atol=1e-9)
    assert not samples.filters_are_settled(sampled.p, sampled.s)


@pytest.mark.parametrize("damage", ["nan", "infinite", "far", "future"])
def test_a_wrong_sample_is_refused_and_counted(damage):
    sampled = Sampled()
    for _ in range(100):
        sampled.cycle(*moving(sampled.time + DT))
    q, theta = moving(sampled.time + DT)
    theta[1] = {"nan": np.nan, "infinite": np.inf, "far": theta[1] + 0.1}.get(damage, theta[1])
    found = sampled.cycle(q, theta, ahead=0.06 if damage == "future" else 0.0)
    np.testing.assert_allclose(found, np.concatenate(moving(sampled.time)), atol=1e-9)
    assert sampled.counts.refused_samples[0] == (2 if damage == "future" else 1)


def run(sampled: Sampled, cycles: int, jump: float, agrees: int = -1) -> float:
    """How far the links seem to be from the motion after cycles with encoders off by `jump`."""
    sampled.agrees = agrees
    for _ in range(cycles):
        q, theta = moving(sampled.time + DT)
        sampled.cycle(q + jump, theta)
    return float(np.abs(sampled.s.q - moving(sampled.time)[0]).max())


@pytest.mark.parametrize("jump", [0.27, 1.5, 2.0 * np.pi])
def test_a_side_that_leaps_is_missing_for_ever_unless_it_returns_agrees_or_is_believed(jump):
    """0.27 rad were accepted after 27 ms, and 2 pi after 0.63 s."""
    sampled = Sampled()
    run(sampled, 100, 0.0)
    run(sampled, 5000, jump)
    assert samples.lacks_links(sampled.p, sampled.s, sampled.time)
    assert sampled.counts.refused_samples[0] == 5000
    assert np.abs(sampled.s.last_q - sampled.s.q).max() < 1e-9  # where it has been carried
    assert np.abs(sampled.s.last_q - moving(0.1)[0]).max() < 0.01 * np.abs(moving(1.0)[0]).max()
    run(sampled, 100, jump, agrees=0)
    assert samples.lacks_links(sampled.p, sampled.s, sampled.time)
    for how in ("agrees", "believed"):
        if how == "believed":
            samples.accept_next_samples(sampled.s)
        error = run(sampled, 100, jump, agrees=1 if how == "agrees" else -1)
        assert error == pytest.approx(jump)
        run(sampled, 200, 0.0)  # the encoder finds its zero again: that is a leap, too
        assert samples.lacks_links(sampled.p, sampled.s, sampled.time)
        assert run(sampled, 100, 0.0, agrees=1) < 1e-6
        run(sampled, 100, jump)


def test_a_side_that_has_leapt_does_not_come_within_reach_by_moving_on():
    """A joint that moves by its leap, the other way, came within reach of its last sample, and
    filters made a velocity of it."""
    sampled = Sampled()
    fast = np.array([0.5, -0.5]), np.zeros(M)
    sampled.p = sampled.p._replace(link_timeout=0.1, motor_timeout=0.1)
    sampled.reference = lambda: tuple(np.stack([0.0 * v, v, 0.0 * v]) for v in fast)

    def moves_on(cycles, jump):
        for _ in range(cycles):
            sampled.cycle(fast[0] * (sampled.time + DT) + jump * np.sign(fast[0]), fast[1])

    moves_on(200, 0.0)
    moves_on(90, -0.085)  # reaches 0.08 rad in a cycle
    assert sampled.counts.refused_samples[0] == 90
    np.testing.assert_allclose(sampled.s.qd, fast[0], rtol=1e-6)
    moves_on(5, 0.0)
    assert sampled.counts.refused_samples[0] == 90
    np.testing.assert_allclose(sampled.s.q, fast[0] * sampled.time, rtol=1e-6)
    np.testing.assert_allclose(sampled.s.qd, fast[0], rtol=1e-6)


def test_if_both_sides_leap_springs_that_agree_do_not_help():
    sampled = Sampled()
    run(sampled, 100, 0.0)
    sampled.agrees = 1
    for k in range(1000):
        q, theta = moving(sampled.time + DT)
        sampled.cycle(q + 1.5, theta + 1.5)
        assert k < 10 or samples.lacks_links(sampled.p, sampled.s, sampled.time)
        assert k < 10 or samples.lacks_motors(sampled.p, sampled.s, sampled.time)
    samples.accept_next_samples(sampled.s)
    run(sampled, 1, 1.5)  # and the motors are back
    assert sampled.s.last_q == pytest.approx(moving(sampled.time)[0] + 1.5)
    assert not samples.lacks_motors(sampled.p, sampled.s, sampled.time)


def test_a_single_outlier_does_not_make_a_side_leap():
    sampled = Sampled()
    run(sampled, 100, 0.0)
    run(sampled, 3, 1.0)
    run(sampled, 1, 0.0)
    assert sampled.counts.refused_samples[0] == 3
    assert sampled.s.span[0] == 0.0
    assert not samples.lacks_links(sampled.p, sampled.s, sampled.time)


@pytest.mark.parametrize("agrees", [-1, 0, 1])
def test_after_a_silence_a_side_returns_within_reach_if_the_springs_agree(agrees):
    """Within reach of 60 ms at 10 rad/s, or wherever the springs agree."""
    for step, known in ((0.5, agrees != 0), (0.7, agrees == 1)):
        sampled = Sampled()
        run(sampled, 100, 0.0)
        for _ in range(60):
            sampled.cycle(*moving(sampled.time + DT), links=False)
        assert samples.follow_silence(sampled.p, sampled.s, sampled.time, sampled.time)
        run(sampled, 5, step, agrees)
        assert (not samples.lacks_links(sampled.p, sampled.s, sampled.time)) == known


def test_overflow_ends_everything():
    sampled = Sampled()
    for row in sampled.p.link_speed, sampled.p.motor_speed:
        row[:] = np.inf
    sampled.cycle(np.zeros(N), np.zeros(M))
    for k in range(2000):
        sampled.cycle(np.full(N, 1e308 * (-1.0) ** k), np.zeros(M))
        if not sampled.s.is_started[0]:
            break
    assert not sampled.s.is_started[0]
    assert sampled.s.sampled[0] == -np.inf
    assert np.isfinite(np.r_[sampled.s.q, sampled.s.qd]).all()
