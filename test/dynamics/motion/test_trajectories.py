# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C4 references against 40-digit minimisation, SciPy's splines, closed forms and invariances."""

from array import array

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from multibody_dynamics.dynamics.core.errors import TrajectoryError
from multibody_dynamics.dynamics.motion.trajectories import (
    Reference,
    Trajectory,
    hermite_basis,
    hold,
    interpolate,
    match_joints,
    splice,
    stop,
    sum_of_sines,
)
from rejections import assert_rejected

JOINTS = ("shoulder", "elbow", "wrist")
N = len(JOINTS)
properties = settings(max_examples=25, deadline=None, derandomize=True)


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_times(rng: np.random.Generator, m: int, spread: float = 0.5) -> np.ndarray:
    """m times from a random start; steps between 10^-spread and 10^spread seconds."""
    return rng.uniform(0, 2) + np.concatenate(
        ([0], np.cumsum(10 ** rng.uniform(-spread, spread, m - 1)))
    )


def random_points(rng: np.random.Generator, m: int) -> tuple[np.ndarray, list, list]:
    """Positions, with velocities and accelerations partly None, and zero at both ends."""
    positions = rng.uniform(-2, 2, (m, N))
    rates = rng.normal(size=(2, m, N))
    rates[:, [0, -1]] = 0.0
    sparse = np.where(rng.uniform(size=rates.shape) < 0.5, None, rates)
    return positions, sparse[0].tolist(), sparse[1].tolist()


def random_trajectory(seed: int, m: int = 7) -> Trajectory:
    rng = generator(seed)
    return interpolate(JOINTS, random_times(rng, m), *random_points(rng, m))


def cost(motion: Trajectory) -> float:
    """Integral of the squared jerk of all joints, by Gauss quadrature of samples."""
    node, weight = np.polynomial.legendre.leggauss(8)
    step = np.diff(motion.knots)
    times = motion.knots[:-1, None] + 0.5 * (node + 1) * step[:, None]
    jerk = motion.sample(times.ravel())[:, 3].reshape(*times.shape, -1)
    return float(np.einsum("sgj,g,s->", jerk**2, weight, 0.5 * step))


def assert_close(actual: np.ndarray, expected: np.ndarray, scale: np.ndarray, bound: float) -> None:
    """Compare states (..., 5, n), each row relative to its scale (5, n) or (5, 1)."""
    assert (np.abs(actual - expected) / np.maximum(scale, 1e-300)).max() < bound


def assert_continuous(motion: Reference, times: np.ndarray, bound: float = 1e-9) -> None:
    scale = motion.peak_values().max(axis=1, keepdims=True)
    for t in times:
        left, right = motion(np.nextafter(t, -np.inf)), motion(np.nextafter(t, np.inf))
        assert_close(left, right, scale, bound)


# --- evaluation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_continuous_through_the_fourth_derivative_at_every_knot(seed: int) -> None:
    motion = random_trajectory(seed)
    assert_continuous(motion, motion.knots)
    for t, state in zip(motion.knots, motion.states, strict=True):
        np.testing.assert_array_equal(motion(t), state)


@pytest.mark.parametrize("seed", range(2))
def test_between_knots_it_is_the_hermite_polynomial_of_degree_9(seed: int) -> None:
    motion = random_trajectory(seed)
    scipys = BPoly.from_derivatives(motion.knots, motion.states)
    times = np.linspace(motion.start_time, motion.end_time, 101)[1:-1]
    for k in range(5):
        expected = scipys.derivative(k)(times) if k else scipys(times)
        actual = motion.sample(times)[:, k]
        np.testing.assert_allclose(actual, expected, atol=1e-10 * np.abs(expected).max())


def test_call_evaluate_and_sample_agree() -> None:
    motion = random_trajectory(5)
    times = np.linspace(motion.start_time - 1, motion.end_time + 1, 3000)
    times[1500] = motion.knots[1]
    out = np.empty((5, N))
    for t, state in zip(times, motion.sample(times), strict=True):
        motion.evaluate(t, out)
        np.testing.assert_array_equal(out, state)
        np.testing.assert_array_equal(motion(t), state)
    assert motion.sample([]).shape == (0, 5, N)


# --- free values minimise the jerk ----------------------------------------------------------------


def minimise_to_40_digits(times, data) -> np.ndarray:
    """Least-jerk states (m, 5) for data (m, 5), NaN where free; polynomials in powers of t."""
    with mp.workdps(80):
        m = len(times)
        times = [mp.mpf(float(t)) for t in times]
        powers = range(10)
        rows = [[mp.ff(j, k) if j >= k else mp.mpf(0) for j in powers] for k in range(5)]
        hermite = mp.matrix(
            [[r if j == k else 0 for j, r in enumerate(row)] for k, row in enumerate(rows)] + rows
        )
        inverse = hermite**-1
        gram = mp.matrix(10, 10)
        for i in range(3, 10):
            for j in range(3, 10):
                gram[i, j] = mp.ff(i, 3) * mp.ff(j, 3) / (i + j - 5)
        energy = inverse.T * gram * inverse
        total = mp.matrix(5 * m, 5 * m)
        for s in range(m - 1):
            h = times[s + 1] - times[s]
            for i in powers:
                for j in powers:
                    total[5 * s + i, 5 * s + j] += energy[i, j] * h ** (i % 5 + j % 5 - 5)
        values = [mp.mpf(float(v)) for v in np.ravel(data)]
        free = [i for i, v in enumerate(values) if mp.isnan(v)]
        known = [i for i in range(5 * m) if i not in free]
        block = mp.matrix([[total[i, j] for j in free] for i in free])
        right = mp.matrix([-mp.fsum(total[i, j] * values[j] for j in known) for i in free])
        for i, x in zip(free, mp.lu_solve(block, right), strict=True):
            values[i] = x
        return np.array([float(v) for v in values]).reshape(m, 5)


STEPS = {
    "even": [1, 1, 1, 1],
    "milliseconds": [1e-3] * 4,
    "short between long": [100, 1e-3, 100],
    "short at the ends": [1e-3, 100, 1e-3],
    "two short": [100, 1e-3, 1e-3, 100],
    "mixed": [0.02, 60, 1e-3, 1.5, 1e-3],
    "microsecond": [1, 1e-6, 1],
    "microsecond between hundreds": [100, 1e-6, 100],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())
def test_least_jerk_against_40_digits_for_steps_of_every_size(steps: list[float]) -> None:
    times = np.concatenate(([0], np.cumsum(steps)))
    m = len(times)
    positions = 1 + np.concatenate(
        ([0], np.cumsum(generator(3).uniform(-1, 1, m - 1) * np.minimum(steps, 1)))
    )
    data = np.full((m, 5), np.nan)
    data[:, 0] = positions
    data[[0, -1], 1:] = 0.0
    expected = minimise_to_40_digits(times, data)
    actual = interpolate(["axis"], times, positions[:, None]).states[:, :, 0]
    np.testing.assert_allclose(actual, expected, atol=1e-300, rtol=1e-9)


def test_least_jerk_with_missing_positions_against_40_digits() -> None:
    times = [0, 0.7, 1.0, 3.0, 3.2]
    positions = [[0.2], None, None, [1.1], [0.4]]
    velocities = [[0], [0.5], None, [], [0]]
    accelerations = [None, None, [-0.3], None, None]
    data = np.full((5, 5), np.nan)
    data[0], data[4] = [0.2, 0, 0, 0, 0], [0.4, 0, 0, 0, 0]
    data[3, 0], data[1, 1], data[2, 2] = 1.1, 0.5, -0.3
    motion = interpolate(["axis"], times, positions, velocities, accelerations)
    expected = minimise_to_40_digits(times, data)
    np.testing.assert_allclose(motion.states[:, :, 0], expected, rtol=1e-10, atol=1e-300)


# --- laws -----------------------------------------------------------------------------------------


def test_rows_as_in_messages_as_arrays_and_as_lists() -> None:
    times = [0, 1, 2]
    positions = np.array([[0, 0, 0], [1, 2, 3], [0, 1, 0]])
    velocities = np.array([[np.nan] * N, [0.5, 0.25, 0], [np.nan] * N])
    of_arrays = interpolate(JOINTS, times, positions, velocities)
    rows = [array("d", row) for row in positions]
    of_messages = interpolate(
        JOINTS, times, rows, [array("d"), array("d", velocities[1]), array("d")]
    )
    of_lists = interpolate(JOINTS, times, positions.tolist(), [None, velocities[1].tolist(), None])
    np.testing.assert_array_equal(of_arrays.states, of_messages.states)
    np.testing.assert_array_equal(of_arrays.states, of_lists.states)


def test_accelerations_at_the_ends_are_replaced_by_rest() -> None:
    points = [[0, 0, 0], [1, 2, 3], [0, 1, 0]]
    bang = [[5, 5, 5], [0, 0, 0], [-5, -5, -5]]
    motion = interpolate(JOINTS, [0, 1, 2], points, accelerations=bang)
    np.testing.assert_array_equal(motion.states[[0, -1], 1:], 0.0)


# --- before, after, hold, splice, stop ------------------------------------------------------------


def test_holds_the_first_and_last_position_at_rest() -> None:
    motion = interpolate(JOINTS, [1, 2, 3], [[0, 1, 2], [3, 1, 0], [1, 1, 1]])
    for t, q in ((-5, [0, 1, 2]), (1, [0, 1, 2]), (3, [1, 1, 1]), (1e6, [1, 1, 1])):
        np.testing.assert_array_equal(motion(t), [q, *[[0] * N] * 4])
    assert motion.is_at_rest_at_end
    assert motion.duration == 2


def test_hold_rests_at_all_times() -> None:
    motion = hold(JOINTS, [1, 2, 3], time=4.0)
    assert (motion.start_time, motion.end_time, motion.duration) == (4, 4, 0)
    for t in (-1, 4, 9):
        np.testing.assert_array_equal(motion(t), [[1, 2, 3], *[[0] * N] * 4])
    np.testing.assert_array_equal(motion.peak_values(), motion(0))
    np.testing.assert_array_equal(interpolate(JOINTS, [4], [[1, 2, 3]])(0), motion(0))


def test_times_beyond_an_end_in_motion_are_rejected() -> None:
    state = np.zeros((5, N))
    state[1] = 0.2
    motion = interpolate(JOINTS, [1, 2], [None, [1, 2, 3]], start=state)
    np.testing.assert_array_equal(motion(1), state)
    with pytest.raises(TrajectoryError, match=r"0\.9 s.*in motion at its start, t = 1 s"):
        motion(0.9)
    motion = interpolate(JOINTS, [1, 2], [[1, 2, 3], None], end=state)
    assert not motion.is_at_rest_at_end
    with pytest.raises(TrajectoryError, match="in motion at its end, t = 2 s"):
        motion.evaluate(2.1, np.empty((5, N)))


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
@properties
def test_splice_is_continuous_and_reaches_the_new_points(seed: int, part: float) -> None:
    running = random_trajectory(seed)
    t = running.start_time + part * running.duration
    rng = generator(seed)
    times = t + np.array([-0.3, 0.4, 1.0, 1.8])
    times[0] = max(times[0], 0.0)
    positions, velocities, accelerations = random_points(rng, 4)
    new = splice(running, t, times, positions, velocities, accelerations)
    np.testing.assert_array_equal(new(t), running(t))
    scale = np.maximum(new.peak_values(), running.peak_values())
    assert_close(new(np.nextafter(t, np.inf)), running(np.nextafter(t, -np.inf)), scale, 1e-9)
    np.testing.assert_array_equal([new(x)[0] for x in times[1:]], positions[1:])
    np.testing.assert_array_equal(new.knots, [t, *times[1:]])
    assert new.is_at_rest_at_end


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
@properties
def test_the_remainder_of_a_trajectory_is_optimal(seed: int, part: float) -> None:
    rng = generator(seed)
    times, points = random_times(rng, 7), random_points(rng, 7)
    running = interpolate(JOINTS, times, *points)
    again = splice(running, times[2], times, *points)
    at = np.linspace(times[2], times[-1], 40)
    assert_close(again.sample(at), running.sample(at), running.peak_values(), 1e-7)
    t = times[0] + part * (times[-1] - times[0])
    later = running.knots > t + 1e-3
    rest = np.concatenate((running(t)[None], running.states[later]))
    remaining = Trajectory(JOINTS, np.concatenate(([t], times[later])), rest)
    assert cost(splice(running, t, times, *points)) < cost(remaining) * (1 + 1e-9)


def test_splice_drops_points_that_are_past_or_immediate() -> None:
    running = hold(JOINTS, [0, 0, 0])
    times, points = [0, 1, 1.0005, 3], np.outer(np.arange(1, 5), np.ones(N))
    new = splice(running, 1.0, times, points)
    np.testing.assert_array_equal(new.knots, [1.0, 3.0])
    assert new.peak_values()[0].max() == 4  # straight there
    assert splice(running, 1.0, times, points, lead=0.0).knots.tolist() == [1.0, 1.0005, 3.0]
    with pytest.raises(TrajectoryError, match=r"all 4 points are in the past.*3 s.*it is now 3 s"):
        splice(running, 3.0, times, points)


def test_splice_from_the_end_and_from_before_the_start() -> None:
    running = interpolate(JOINTS, [1, 2], [[0, 0, 0], [1, 1, 1]])
    for t, q in ((0.5, 0.0), (7.0, 1.0)):
        new = splice(running, t, [t + 1], [[2, 2, 2]])
        np.testing.assert_array_equal(new(t), [[q] * N, *[[0] * N] * 4])
        np.testing.assert_array_equal(new(t + 1)[0], 2)


@pytest.mark.parametrize("seed", range(2))
def test_stop_in_a_given_time(seed: int) -> None:
    running = random_trajectory(seed)
    t = running.start_time + 0.4 * running.duration
    motion = stop(running, t, duration=0.8)
    np.testing.assert_array_equal(motion(t), running(t))
    assert motion.is_at_rest_at_end
    assert motion.end_time == t + 0.8
    data = np.zeros((2, 5))
    data[0], data[1, 0] = running(t)[:, 0], np.nan
    expected = minimise_to_40_digits([t, t + 0.8], data)
    np.testing.assert_allclose(motion.states[:, :, 0], expected, rtol=1e-9, atol=1e-300)


def test_stop_brakes_in_the_least_time_that_keeps_the_limits() -> None:
    cruise = np.zeros((5, N))
    cruise[1] = [1.0, -0.5, 0.0]
    running = interpolate(JOINTS, [0, 1], [[0, 0, 0], None], start=cruise, end=cruise + 0.0)
    limits = np.array([4.0, 4.0, 4.0])
    motion = stop(running, 1.0, acceleration=limits)
    assert (motion.peak_values()[2] <= limits * (1 + 1e-6)).all()
    quicker = stop(running, 1.0, duration=motion.duration / 1.06)
    assert (quicker.peak_values()[2] > limits).any()
    assert 0 < motion(motion.end_time)[0, 0] < 1.0 * motion.duration  # forward, never back
    assert motion.extremes()[0][1, 0] > -1e-9


def test_stop_lets_one_joint_finish_braking_and_keeps_the_limits_of_the_others() -> None:
    state = np.zeros((5, N))
    state[1], state[2] = [2.0, 1.0, 0.0], [-10.0, 0.0, 0.0]
    running = interpolate(JOINTS, [0, 1], [[0, 0, 0], [1, 1, 0]], start=state)
    peak = stop(running, 0.0, acceleration=np.full(N, 5.0)).peak_values()[2]
    assert peak[0] == 10.0
    assert 4.0 < peak[1] <= 5.0


def test_stop_accepts_every_state() -> None:
    state = np.array([[0.1] * N, [1, -1, 0], [30, 0, -5], [400, 0, 0], [0, 1e4, 0]])
    running = interpolate(JOINTS, [0, 1], [None, [0, 0, 0]], start=state)
    motion = stop(running, 0.0, acceleration=np.full(N, 5.0))
    np.testing.assert_array_equal(motion(0), state)
    assert motion.is_at_rest_at_end
    peak = motion.peak_values()[2, 0]
    for duration in (0.3 * motion.duration, 3 * motion.duration):
        assert stop(running, 0.0, duration=duration).peak_values()[2, 0] > peak


def test_stop_at_rest_is_a_hold() -> None:
    motion = stop(hold(JOINTS, [1, 2, 3]), 5.0, acceleration=[1, 1, 1])
    assert motion.start_time == motion.end_time == 5
    np.testing.assert_array_equal(motion(9)[0], [1, 2, 3])


# --- extremes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_extremes_are_those_of_dense_samples(seed: int) -> None:
    motion = random_trajectory(seed)
    least, greatest = motion.extremes()
    times = [np.linspace(*ends, 1025) for ends in zip(motion.knots, motion.knots[1:], strict=False)]
    states = motion.sample(np.concatenate(times))
    size = np.ptp(states, axis=0) * [[1e-3], [2e-3], [5e-3], [1e-2], [2e-2]]
    for sampled, found in ((-states.min(axis=0), -least), (states.max(axis=0), greatest)):
        assert (found <= sampled + 1e-9 * size).all()
        assert (found >= sampled - size).all()
    np.testing.assert_array_equal(motion.peak_values(), np.maximum(-least, greatest))


# --- sum of sines ---------------------------------------------------------------------------------

OFFSET = np.array([0.1, -0.2, 0.3])
A = np.array([[0.2, -0.5, 0.1], [0.0, 0.3, 0.4], [1.0, -0.2, 0.3]])
B = np.array([[-0.1, 0.6, 0.2], [0.7, 0.0, -0.3], [0.2, 0.2, 0.2]])
FREQUENCY, LENGTH, RAMP, START = np.array([0.5, 0.9, 1.3]), 6.0, 0.7, 2.0


def sines() -> Reference:
    return sum_of_sines(JOINTS, OFFSET, A, B, FREQUENCY, LENGTH, ramp=RAMP, start_time=START)


def exact_sines(t: float, j: int) -> list[float]:
    """q..q'''' of joint j by Taylor series of the definition, 30 digits."""

    def ramp(u):  # integral from 1 of the lowest polynomial that is a C3 step from 0 to 1
        return 140 * sum(c * (u**k - 1) for k, c in zip((5, 6, 7, 8), coefficients, strict=True))

    coefficients = [mp.mpf(1) / 20, -mp.mpf(1) / 10, mp.mpf(1) / 14, -mp.mpf(1) / 56]

    def own_time(x):
        x -= mp.mpf(START)
        if t < START + RAMP:
            return RAMP * ramp(x / RAMP)
        if t > START + RAMP + LENGTH:
            left = (2 * mp.mpf(RAMP) + LENGTH - x) / RAMP
            return LENGTH - RAMP * ramp(left)
        return x - RAMP

    def position(x):
        s, q = own_time(x), mp.mpf(OFFSET[j])
        for k in range(3):
            w = (k + 1) * mp.mpf(FREQUENCY[j])
            q += A[j, k] / w * mp.sin(w * s) - B[j, k] / w * mp.cos(w * s)
        return q

    with mp.workdps(30):
        return [float(mp.factorial(k) * c) for k, c in enumerate(mp.taylor(position, mp.mpf(t), 4))]


@pytest.mark.parametrize("t", [START + 0.2, START + 0.6, START + 3.0, START + 6.9, START + 7.2])
def test_sum_of_sines_against_the_series_of_its_definition(t: float) -> None:
    state = sines()(t)
    expected = np.array([exact_sines(t, j) for j in range(N)]).T
    np.testing.assert_allclose(state, expected, rtol=1e-9, atol=1e-9)


def test_sum_of_sines_starts_and_ends_at_rest_and_is_continuous() -> None:
    motion = sines()
    assert motion.duration == pytest.approx(LENGTH + 2 * RAMP)
    assert motion.is_at_rest_at_end
    np.testing.assert_array_equal(motion(START)[1:], 0)
    np.testing.assert_array_equal(motion(motion.end_time + 1), motion(motion.end_time))
    joints = [START, START + RAMP, motion.end_time - RAMP, motion.end_time]
    assert_continuous(motion, np.array(joints), 1e-12)
    least, greatest = motion.extremes()
    states = motion.sample(np.linspace(START, motion.end_time, 8001))
    np.testing.assert_allclose(states.min(axis=0), least, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(states.max(axis=0), greatest, rtol=1e-2, atol=1e-3)


def test_sum_of_sines_can_be_spliced_and_stopped() -> None:
    motion = sines()
    new = splice(motion, START + 3, [START + 5], [[0, 0, 0]])
    np.testing.assert_array_equal(new(START + 3), motion(START + 3))
    assert stop(motion, START + 3, acceleration=[3, 3, 3]).is_at_rest_at_end


# --- invalid input --------------------------------------------------------------------------------

POINTS = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]


def changed(value: object, point: int, joint: int) -> list:
    rows = [list(row) for row in POINTS]
    rows[point][joint] = value
    return rows


def test_bad_input_is_rejected_by_name() -> None:
    running, still = random_trajectory(0), np.zeros((5, N))
    sum_of = {"offset": OFFSET, "a": A, "b": B, "frequency": 1.0, "duration": 5.0}

    def points(positions: object = POINTS, times: object = (0, 1, 2), names=JOINTS, **more):
        return lambda: interpolate(names, times, positions, **more)

    def stopped(**how):
        return lambda: stop(running, running.start_time + 1.0, **how)

    def sines(**change):
        return lambda: sum_of_sines(JOINTS, **(sum_of | change))

    def match(*names: str):
        return lambda: match_joints(JOINTS, names)

    assert_rejected(
        (lambda: running(np.nan), "state at t ="),
        (lambda: running(np.inf), "state at t ="),
        (lambda: running(-np.inf), "state at t ="),
        (lambda: hold(JOINTS, [1, 2, 3], np.nan), "time is"),
        (lambda: hold(JOINTS, [1, 2, 3], np.inf), "time is"),
        (lambda: hold(JOINTS, [1, 2, 3], -np.inf), "time is"),
        (lambda: running.sample(0.5), "times: (k,), ()"),
        (lambda: running([0.1, 0.2]), "t: expected one time sample()"),
        (lambda: running("0.1"), "t: expected real numbers"),
        (lambda: interpolate(["a"], [0.0, 1e308], [[0.0], [1.0]]), "times: 1e+308 is too large"),
        (stopped(), "either duration or acceleration"),
        (stopped(duration=1.0, acceleration=[1, 1, 1]), "either duration or acceleration"),
        (stopped(duration=-1.0), "must be positive"),
        (stopped(duration=np.nan), "must be positive"),
        (stopped(duration="1"), "duration: real numbers"),
        (stopped(acceleration=[1, 0, 1]), "must be positive"),
        (stopped(acceleration=[1, np.nan, 1]), "elbow"),
        (stopped(acceleration=[1, 1]), "acceleration"),
        (sines(offset=[0, 0]), "offset"),
        (sines(a=A[:2]), "a: expected"),
        (sines(b=B[:, :2]), "b: expected"),
        (sines(a=1.0), "a: expected"),
        (sines(frequency=0.0), "frequency must be positive"),
        (sines(frequency=[1.0, 2.0]), "frequency: expected"),
        (sines(frequency=[1.0, np.nan, 1.0]), "elbow"),
        (sines(duration=-1.0), "duration must be positive"),
        (sines(ramp=0.0), "ramp must be positive"),
        (points([], []), "no points"),
        (points(times=[0, 2, 1]), "times[2] = 1 s follows times[1] = 2 s"),
        (points(times=[0, 1, 1]), "times[2] = 1 s follows times[1] = 1 s"),
        (points(times=[-0.5, 1, 2]), "times[0] = -0.5 s is negative"),
        (points(times=[0, np.nan, 2]), "times[1] is nan"),
        (points(times=[0, 1, np.inf]), "times[2] is inf"),
        (points(times=[[0, 1, 2]]), "one per point"),
        (points(times=1.0), "one per point"),
        (points(times=["a", "b", "c"]), "real numbers"),
        (points(times=[0, 1]), "expected 2 rows, one per point, got 3"),
        (points(times=[0, 1e-200, 1]), "too close to connect"),
        (points(changed(np.nan, 1, 2)), "positions[1] 'wrist' is nan"),
        (points(changed(np.inf, 2, 0)), "positions[2] 'shoulder' is inf"),
        (points(changed("1", 2, 0)), "not a finite real number"),
        (points(changed(1j, 2, 0)), "not a finite real number"),
        (points([[0, 0], *POINTS[1:]]), "positions[0] 2 values 3 joints (shoulder"),
        (points([0, 1, 2]), "positions[0]: expected a row"),
        (points(3.0), "positions: expected a row"),
        (points(None), "'shoulder' has no position at the first point"),
        (points([*POINTS[:2], None]), "no position at the last point not integrated"),
        (points(changed(None, 2, 1)), "'elbow' has no position at the last point"),
        (points([POINTS[0], [np.nan] * N, POINTS[2]]), "point at 1 s has no position"),
        (points(velocities=changed(np.nan, 1, 1)), "velocities[1] 'elbow' is nan"),
        (points(velocities=POINTS[:2]), "velocities: 3 rows, one per point, got 2"),
        (points(velocities=POINTS), "'shoulder' velocity 2 at the last point ends at rest"),
        (points(velocities=POINTS[::-1]), "velocity 2 at the first point starts at rest"),
        (points(accelerations=changed(-np.inf, 0, 1)), "accelerations[0] 'elbow' is -inf"),
        (points(start=still[:4]), "start: expected shape"),
        (points(start=np.full((5, N), np.nan)), "start"),
        (points(end=still), "'shoulder' position 0 in `end`, but 2 at the last"),
        (points(names=["a", "b", "a"]), "joint names"),
        (points(names="abc"), "joint_names: the string 'abc'"),
        (points(names=None), "joint_names: sequence of names, got None"),
        (points([[], [], []], names=[]), "no"),
        (points(shape="round"), "'round': one of least_jerk, held, monotone"),
        (match("shoulder", "elbow"), "missing: wrist"),
        (match("shoulder", "elbow", "wrist", "gripper"), "unknown: gripper"),
        (match("shoulder", "elbow", "elbow", "wrist"), "duplicate: elbow"),
        (match("a", "elbow", "elbow"), "duplicate: elbow; unknown: a; missing: shoulder, wrist"),
        error=TrajectoryError,
    )


def test_arguments_are_not_written_to_and_results_are_read_only() -> None:
    times, points, start = np.array([0.0, 1.0, 2.0]), np.array(POINTS), np.zeros((5, N))
    copies = times.copy(), points.copy(), start.copy()
    motion = interpolate(JOINTS, times, points, start=start)
    for given_in, copy in zip((times, points, start), copies, strict=True):
        np.testing.assert_array_equal(given_in, copy)
    motion(-1)[:] = 7.0
    motion.extremes()[0][:] = 7.0
    np.testing.assert_array_equal(motion(-1), 0.0)
    with pytest.raises(ValueError, match="read-only"):
        motion.states[0, 0, 0] = 1.0


# --- joint names ----------------------------------------------------------------------------------


def test_match_joints_reorders_names() -> None:
    given_names = ("wrist", "shoulder", "elbow")
    order = match_joints(JOINTS, given_names)
    assert [given_names[i] for i in order] == list(JOINTS)


def test_the_hermite_basis_equals_that_of_scipy():
    data = np.eye(10)
    reference = BPoly.from_derivatives([0.0, 1.0], [data[:5], data[5:]])
    x = np.linspace(0.0, 1.0, 11)
    for k in range(5):
        expected = reference.derivative(k)(x) if k else reference(x)
        np.testing.assert_allclose(
            hermite_basis(k, x), expected, atol=1e-13 * np.abs(expected).max()
        )


def range_left(motion, positions):
    """How far each segment (m - 1, n) leaves the range of its two points."""
    found = []
    for k in range(len(positions) - 1):
        q = motion.sample(np.linspace(*motion.knots[k : k + 2], 301))[:, 0]
        low, high = np.sort(positions[k : k + 2], axis=0)
        found.append(np.maximum(low - q, q - high).max(axis=0))
    return np.array(found)


def test_held_points_are_not_overshot():
    points = np.array([[0.5], [1.5], [1.5], [1.5]])
    times = [0.0, 0.5, 1.0, 1.5]
    loose = interpolate(["a"], times, points, shape="least_jerk")
    assert range_left(loose, points).max() > 0.25
    for shape in ("held", "monotone"):
        motion = interpolate(["a"], times, points, shape=shape)
        assert range_left(motion, points).max() < 1e-12
        assert not motion(0.8)[1:].any()
    spliced = splice(hold(["a"], [0.5]), 0.0, times[1:], points[1:])
    np.testing.assert_allclose(spliced(0.3), interpolate(["a"], times, points)(0.3))


@pytest.mark.parametrize("shape", ["held", "monotone"])
def test_the_shape_is_kept_for_any_points(shape):
    rng = np.random.default_rng(5)
    judged = 0
    for _ in range(60):
        count = int(rng.integers(3, 12))
        times = np.cumsum(rng.uniform(0.05, 1.0, count))
        points = rng.choice(rng.uniform(-1.0, 1.0, 4), (count, 2))
        beyond = range_left(interpolate(["a", "b"], times, points, shape=shape), points)
        rests = points[1:] == points[:-1]
        rests[0] &= shape == "monotone"
        beside = rests.copy()
        beside[1:] |= rests[:-1]
        beside[:-1] |= rests[1:]
        if shape == "monotone":
            beside[:] = True
        assert beyond[beside].max(initial=0.0) < 1e-7
        judged += int(beside.sum())
    assert judged > 200


def test_without_repeated_points_nothing_changes():
    rng = np.random.default_rng(6)
    times, points = np.arange(6.0), rng.uniform(-1.0, 1.0, (6, 2))
    one, other = (interpolate(["a", "b"], times, points, shape=s) for s in ("held", "least_jerk"))
    np.testing.assert_array_equal(one.states, other.states)


def test_velocities_that_are_given_count_even_at_repeated_points():
    velocities = [[0.0], [0.7], None, [0.0]]
    motion = interpolate(["a"], [0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [1.0], [0.0]], velocities)
    np.testing.assert_allclose(motion(1.0)[1], [0.7])
