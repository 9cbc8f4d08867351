"""Filters: exact on polynomials, phase and noise as stated; the observer's poles and limits."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from elastic_arms import SHIPPED, positions, shipped
from multibody_dynamics.dynamics.actuator_kinds import (
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.actuators import Actuators
from multibody_dynamics.dynamics.derivatives import inverse_dynamics_derivatives
from multibody_dynamics.dynamics.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.errors import InputError
from multibody_dynamics.dynamics.flatness import motor_motion
from multibody_dynamics.dynamics.forward_dynamics import forward_dynamics
from multibody_dynamics.dynamics.gains import at_rest, closed_loop_poles
from multibody_dynamics.dynamics.mass_matrix import gravity_forces, mass_matrix
from multibody_dynamics.dynamics.springs import CubicSpring, LinearSpring, PolynomialSpring
from multibody_dynamics.dynamics.state_estimation import (
    DISTURBANCE_TIME,
    ORDERS,
    SOURCES,
    DerivativeFilter,
    MotorSideObserver,
    StateEstimation,
    StateEstimator,
    _discretised,
)
from robots import panda, random_tree, two_link_planar

STEP = 1e-3


def make_filter(order: int, bandwidth: float = 20.0, n: int = 1, **options) -> DerivativeFilter:
    return DerivativeFilter([f"joint{j}" for j in range(n)], order, bandwidth, **options)


def polynomial(coefficients: np.ndarray, t: float, count: int) -> np.ndarray:
    """(count, n): derivatives 0, 1, ... of sum_k c_k t^k / k!, for coefficients (k, n)."""
    degree = len(coefficients)
    return np.array(
        [
            sum(coefficients[k] * t ** (k - i) / factorial(k - i) for k in range(i, degree))
            for i in range(count)
        ]
    )


# the filter


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("step", [1e-4, 1e-3, 1e-2])
def test_the_poles_are_where_they_were_placed(order, step):
    w = 2 * np.pi * 20.0
    transition, gain = _discretised(order, w, step)
    chain = np.diag(np.ones(order - 1), 1)
    np.testing.assert_allclose(transition, expm(chain * step), rtol=1e-14)
    units = step ** np.arange(order)
    F = (transition - np.outer(gain, transition[0])) * units[:, None] / units
    poles = np.poly([np.exp(-w * step)] * order)
    np.testing.assert_allclose(np.poly(F), poles, rtol=0, atol=1e-13)


@pytest.mark.parametrize("order", ORDERS)
def test_the_gains_become_those_of_the_continuous_design(order):
    step, w = 1e-6, 2 * np.pi * 20.0
    gain = _discretised(order, w, step)[1]
    np.testing.assert_allclose(gain / step, np.poly([-w] * order)[1:], rtol=1e-3)


@given(st.integers(0, 2**32 - 1), st.sampled_from(ORDERS))
@settings(max_examples=15, deadline=None)
def test_exact_on_polynomials_below_its_order_at_any_steps(seed, order):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(order, 3)) * 2.0 ** np.arange(order)[:, None]
    estimator = make_filter(order, n=3)
    t = rng.uniform(-1.0, 1.0)
    end = t + 0.6
    while t < end:
        state = estimator.update(t, polynomial(coefficients, t, 1)[0])
        before, t = t, t + rng.uniform(1e-4, 8e-3)
    true = polynomial(coefficients, before, order)
    scale = 1e-9 * (2 * np.pi * 20.0) ** np.arange(order)[:, None]
    np.testing.assert_array_less(np.abs(state - true), np.broadcast_to(scale, true.shape))


@pytest.mark.parametrize("order", ORDERS)
def test_one_degree_more_shows_the_stated_delay_and_no_other(order):
    """On t^m / m! the highest derivative, t, lags by the delay; the next lower by no more than the
    second-order term that a delay has not."""
    estimator = make_filter(order)
    coefficients = np.eye(order + 1)[-1:].T
    for k in range(1001):
        state = estimator.update(k * STEP, polynomial(coefficients, k * STEP, 1)[0])
    true = polynomial(coefficients, k * STEP, order)
    delay = estimator.delay(STEP)
    assert (true - state)[-1, 0] == pytest.approx(delay[-1], rel=1e-6)
    assert not delay[:-1].any()
    assert delay[-1] == pytest.approx(order / (2 * np.pi * 20.0) - STEP / 2, rel=2e-2)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("frequency", [0.5, 4.0, 20.0])
def test_measured_phase_and_amplitude_are_the_stated_response(order, frequency):
    estimator = make_filter(order)
    omega = 2 * np.pi * frequency
    times = np.arange(0.0, 1.0 + 4.0 / frequency, STEP)
    states = np.array([estimator.update(t, [np.sin(omega * t)])[:, 0].copy() for t in times])
    late = times > times[-1] - 2.0 / frequency
    waves = np.stack([np.sin(omega * times[late]), np.cos(omega * times[late])], axis=1)
    fit = np.linalg.lstsq(waves, states[late], rcond=None)[0]
    phasor = (fit[0] + 1j * fit[1]) / (1j * omega) ** np.arange(order)
    stated = estimator.response(frequency, STEP)
    np.testing.assert_allclose(phasor, stated, rtol=0, atol=1e-6)
    slow = estimator.response(np.array([0.01]), STEP)
    np.testing.assert_allclose(
        -np.angle(slow[0]) / (2 * np.pi * 0.01), estimator.delay(STEP), rtol=1e-3, atol=2e-7
    )


@pytest.mark.parametrize("order", ORDERS)
def test_response_tends_to_that_of_the_continuous_design(order):
    frequency = np.array([1.0, 10.0, 30.0])
    s, w = 2j * np.pi * frequency, 2 * np.pi * 20.0
    found = make_filter(order).response(frequency, 1e-6)
    binomial = np.poly([-w] * order)
    for k in range(order):
        numerator = sum(binomial[i] * s ** (order - i) for i in range(k + 1, order + 1))
        np.testing.assert_allclose(found[:, k], numerator / (s + w) ** order, rtol=0, atol=1e-3)


@pytest.mark.parametrize("order", ORDERS)
def test_measured_noise_is_the_stated_gain(order):
    noise = np.random.default_rng(0).normal(size=(4000, 40))
    estimator = make_filter(order, bandwidth=50.0, n=40)
    states = np.array([estimator.update(k * STEP, y).copy() for k, y in enumerate(noise)])
    measured = states[500:].std(axis=(0, 2))
    np.testing.assert_allclose(measured, estimator.noise_gain(STEP), rtol=0.03)
    rough = {2: (1.12, 0.50), 3: (1.44, 1.32, 0.43), 4: (1.70, 2.40, 1.59, 0.40)}[order]
    slow = make_filter(order, bandwidth=0.1)
    w = 2 * np.pi * 0.1
    stated = np.array(rough) * w ** np.arange(order) * np.sqrt(w * STEP)
    np.testing.assert_allclose(slow.noise_gain(STEP), stated, rtol=0.015)


@pytest.mark.parametrize("order", ORDERS)
def test_a_quantised_encoder_is_white_noise_while_it_moves(order):
    resolution = 2 * np.pi / 2**14
    estimator = make_filter(order, bandwidth=30.0)
    errors = []
    for k in range(6000):
        t = k * STEP
        q = np.sin(2.0 * t) + 0.4 * t
        true = np.array([q, 2 * np.cos(2 * t) + 0.4, -4 * np.sin(2 * t), -8 * np.cos(2 * t)])[
            :order
        ]
        measured = np.round(q / resolution) * resolution
        ideal = estimator.response(2.0 / (2 * np.pi), STEP)
        errors.append(estimator.update(t, [measured])[:, 0] - true)
    errors = np.array(errors)[1000:]
    stated = estimator.noise_gain(STEP) * resolution / np.sqrt(12)
    lag = np.abs(ideal - 1.0) * np.array([1.0, 2.0, 4.0, 8.0])[:order]
    rms = np.sqrt((errors**2).mean(axis=0))
    assert (rms < 1.3 * np.hypot(stated, lag / np.sqrt(2)) + 1e-12).all()
    assert rms[1] > 0.5 * stated[1]


@pytest.mark.parametrize("order", ORDERS)
def test_a_start_in_motion_has_settled_after_the_settling_time(order):
    """It begins at rest; of the highest derivative, 3, which is not zero, 1 % is then missing."""
    estimator = make_filter(order)
    coefficients = 3.0 * np.eye(order)[-1:].T
    k = 0
    estimator.update(0.0, coefficients[0])
    while not estimator.is_settled:
        k += 1
        state = estimator.update(k * STEP, polynomial(coefficients, k * STEP, 1)[0])
    assert k * STEP == pytest.approx(estimator.settling_time, abs=1.01 * STEP)
    assert 3.0 - state[-1, 0] == pytest.approx(0.03, rel=0.12)
    wt = estimator.settling_time * 2 * np.pi * 20.0
    left = np.exp(-wt) * sum(wt**i / factorial(i) for i in range(order))
    assert left == pytest.approx(0.01, rel=1e-9)


def test_time_jumps_gaps_and_repeats_of_the_filter():
    estimator = make_filter(3, max_step=0.02)
    for t in (0.0, 0.01, 0.02):
        estimator.update(t, [t])
    before = estimator.state.copy()
    np.testing.assert_array_equal(estimator.update(0.02, [9.0]), before)
    assert estimator.starts == 1
    np.testing.assert_array_equal(estimator.update(0.02 - 1e-6, [9.0]), before)
    bridged = estimator.update(0.05, [2.0])  # at the mean velocity during the gap
    np.testing.assert_allclose(bridged, [[2.0], [(2.0 - before[0, 0]) / 0.03], [0.0]], rtol=1e-12)
    np.testing.assert_array_equal(estimator.update(0.14, [2.5]), [[2.5], [0.0], [0.0]])
    estimator.update(0.15, [2.1])
    np.testing.assert_array_equal(estimator.update(0.01, [3.0]), [[3.0], [0.0], [0.0]])
    assert estimator.starts == 4
    estimator.reset()
    assert not estimator.state.any()
    assert not estimator.is_settled
    np.testing.assert_array_equal(estimator.update(0.011, [4.0]), [[4.0], [0.0], [0.0]])


def test_bad_inputs_of_the_filter():
    for arguments, says in (
        ((5, 20.0), "order of the filter is 5"),
        ((3, 0.0), "bandwidth is 0.0 Hz"),
        ((3, np.nan), "bandwidth"),
    ):
        with pytest.raises(InputError, match=says):
            make_filter(*arguments)
    with pytest.raises(InputError, match="max_step"):
        make_filter(3, max_step=-1.0)
    estimator = make_filter(3, n=2)
    estimator.update(0.0, [1.0, 2.0])
    before = estimator.state.copy()
    with pytest.raises(InputError, match="joint1"):
        estimator.update(0.1, [1.0, np.nan])
    with pytest.raises(InputError, match="t is inf"):
        estimator.update(np.inf, [1.0, 2.0])
    with pytest.raises(InputError, match="expected shape"):
        estimator.update(0.1, [1.0])
    np.testing.assert_array_equal(estimator.state, before)


# the observer


def series_elastic(model, stiffness, inertia, **friction: float) -> Actuators:
    pairs = np.broadcast_arrays(stiffness, inertia, np.zeros(model.n))
    return Actuators(
        model.joint_names,
        tuple(
            SeriesElastic(Motor(M, **friction), LinearSpring(K)) if np.isfinite(K) else
            Rigid(Motor(M, **friction))
            for K, M, _ in zip(*pairs, strict=True)
        ),
    )  # fmt: skip


def elastic(model, friction: bool = False) -> Actuators:
    n = model.n
    some = {"viscous": 0.5, "coulomb": 0.3, "coulomb_velocity": 0.2} if friction else {}
    return series_elastic(model, np.linspace(900.0, 400.0, n), np.linspace(0.3, 0.1, n), **some)


def stiffness_of(joints: Actuators) -> np.ndarray:
    return np.array([getattr(each, "spring", LinearSpring(1e12)).K for each in joints.actuators])


def error_matrix(model, actuators, q, gains, steepness: float) -> np.ndarray:
    """d/dt of the observer's errors of q, q', theta, v and the torque on the links, near rest.

    steepness: share of the friction's slope at standstill, as tanh has none where motors run.
    """
    n, m = model.n, len(actuators.motors)
    hessian, B = at_rest(model, actuators, q).hessian, actuators.motor_inertia
    stiffness = hessian.copy()
    stiffness[:n, :n] += inverse_dynamics_derivatives(model, q, 0 * q, 0 * q).dtau_dq
    slopes = [
        steepness * each.coulomb / (each.coulomb_velocity or 1.0) for each in actuators.motors
    ]
    slopes += np.array([each.viscous for each in actuators.motors])
    G, D = gains.values[2:]
    pulls = (np.arange(n) == actuators.joint_of_motor[:, None]).astype(float)
    M_inv = np.linalg.inv(mass_matrix(model, q))
    Z = np.zeros
    return np.block(
        [
            [Z((n, n)), np.eye(n), Z((n, 2 * m + n))],
            [-M_inv @ stiffness[:n, :n], Z((n, n)), -M_inv @ hessian[:n, n:], Z((n, m)), M_inv],
            [Z((m, 2 * n)), -np.diag(D / B), np.eye(m), Z((m, n))],
            [-hessian[n:, :n] / B[:, None], Z((m, n)), -(hessian[n:, n:] + np.diag(G)) / B[:, None],
             -np.diag(slopes / B), Z((m, n))],
            [Z((n, 2 * n)), -(pulls * G[:, None]).T / DISTURBANCE_TIME, Z((n, m + n))],
        ]
    )  # fmt: skip


def test_errors_are_those_of_the_arm_with_its_motors_on_springs_and_dampers():
    """The links are let off by delta; the innovation is that of the linear error equations. But
    for the torque on the links their poles are those of a closed loop with these gains."""
    model = random_tree(4, 1, kinds=("revolute",))
    joints = elastic(model)
    q = np.array([0.3, -0.2, 0.5, 0.1])
    observer = MotorSideObserver(model, joints, 6.0)
    theta = at_rest(model, joints, q).theta
    hold = gravity_forces(model, q)
    observer.update(0.0, theta, hold)
    A = error_matrix(model, joints, q, observer.gains, 1.0)
    found = np.linalg.eigvals(A[:16, :16])
    wanted = closed_loop_poles(model, joints, observer.gains, q)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(wanted), rtol=1e-6)
    assert observer.settling_time == pytest.approx(np.log(0.01) / wanted.real.max())
    x = np.zeros(20)
    x[:4] = delta = np.array([1e-6, 0.0, -2e-6, 0.0])
    observer.state.q[:] -= delta
    h = 5e-4
    transition = expm(A * h)
    for k in range(1, 300):
        observer.update(k * h, theta, hold)
        x = transition @ x
        np.testing.assert_allclose(observer.innovation, x[8:12], rtol=0, atol=1e-9)
    assert np.abs(x[8:12]).max() > 1e-8


@pytest.mark.parametrize("bandwidth", [3.0, 25.0, 100.0])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_observer_of_a_shipped_arm_is_stable_in_all_of_its_range(name, bandwidth):
    """However fast, with friction or none, with gains of one position; with the torque on the
    links, too, and even if that were found in half of its time."""
    arm = shipped(name)
    observer = MotorSideObserver(arm.model, arm.actuators, bandwidth)
    observer.design(arm.rest)
    size = 2 * (arm.model.n + len(arm.actuators.motors))
    for q in positions(arm, 12):
        for steepness in (0.0, 0.3, 1.0):
            A = error_matrix(arm.model, arm.actuators, q, observer.gains, steepness)
            assert np.linalg.eigvals(A[:size, :size]).real.max() < -0.3
            A[size:] *= 2.0
            assert np.linalg.eigvals(A).real.max() < -0.05


def run(observer, robot, count, held, step=STEP, resolution=0.0):
    """Errors (count, 4, n) of theta, theta', q, q' while the arm is moved by a motor-side PD."""
    errors = []
    start = robot.theta.copy()
    for k in range(count):
        wish = start + 0.3 * (1 - np.cos(3.0 * k * step)) * np.cos(np.arange(robot.n))
        command = held(robot) + 40.0 * (wish - robot.theta) - 8.0 * robot.thetad
        robot.step(command, step)
        theta = robot.theta
        if resolution:
            theta = np.round(theta / resolution) * resolution
        estimate = observer.update((k + 1) * step, theta, command)
        true = (robot.q, robot.qd, robot.theta, robot.thetad)
        errors.append((np.array(estimate) - true)[[2, 3, 0, 1]])
    return np.array(errors)


def gravity_hold(robot):
    return gravity_forces(robot.model, robot.q)


@pytest.mark.parametrize("friction", [False, True])
def test_motor_encoders_alone_find_the_links_of_a_moving_arm(friction):
    model = two_link_planar()
    joints = elastic(model, friction)
    robot = ElasticRobot(model, joints)
    robot.reset([0.3, 0.4])
    observer = MotorSideObserver(model, joints, 25.0)
    errors = run(observer, robot, 1200, gravity_hold)
    assert np.ptp(gravity_forces(model, robot.q) / stiffness_of(joints)) > 1e-3
    late = np.abs(errors[300:]).max(axis=(0, 2))
    assert (late < [2e-5, 2e-3, 2e-5, 3e-3]).all(), late
    assert observer.is_settled
    assert observer.starts == 1


def test_motor_encoders_alone_on_the_panda_with_stiff_wrist_modes():
    model = panda()
    joints = series_elastic(model, [3e3, 3e3, 2e3, 2e3, 500, 500, 300], [0.45] * 4 + [0.1] * 3)
    robot = ElasticRobot(model, joints)
    robot.reset([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])
    observer = MotorSideObserver(model, joints, 20.0)
    errors = run(observer, robot, 500, gravity_hold)
    late = np.abs(errors[200:]).max(axis=(0, 2))
    assert (late < [1e-4, 2e-2, 1e-4, 3e-2]).all(), late


def test_what_a_wrong_model_shifts_at_rest():
    """A torque d on the links that nobody told of: nothing; a motor torque f: by f / K."""
    model = two_link_planar()
    joints = elastic(model)
    q = np.array([0.3, 0.4])
    for d, f in ((np.array([0.1, -0.05]), np.zeros(2)), (np.zeros(2), np.array([0.2, 0.1]))):
        observer = MotorSideObserver(model, joints, 25.0)
        bent = q + (gravity_forces(model, q) - d) / stiffness_of(joints)
        hold = stiffness_of(joints) * (bent - q) - f  # the motor truly gets f more
        for step in range(1500):
            estimate = observer.update(4e-3 * step, bent, hold)
        np.testing.assert_allclose(estimate.q - q, f / stiffness_of(joints), rtol=0, atol=2e-6)
        found = gravity_forces(model, estimate.q) - hold
        np.testing.assert_allclose(observer.link_torque, found, rtol=0, atol=1e-3)
        np.testing.assert_allclose(estimate.qd, 0.0, atol=1e-5)


def test_an_encoder_costs_less_than_its_resolution_whatever_the_bandwidth():
    model = two_link_planar()
    joints = elastic(model)
    resolution = 2 * np.pi / 2**16
    for bandwidth in (5.0, 100.0):
        robot = ElasticRobot(model, joints)
        robot.reset([0.3, 0.4])
        observer = MotorSideObserver(model, joints, bandwidth)
        errors = run(observer, robot, 1500, gravity_hold, resolution=resolution)
        assert np.sqrt((errors[800:, 2] ** 2).mean(axis=0)).max() < resolution


def test_resonances_are_the_modes_with_motors_that_do_not_move():
    model = two_link_planar()
    q = np.array([0.3, 0.4])
    joints = series_elastic(model, [900.0, 400.0], 1e6)
    found = MotorSideObserver(model, joints, 10.0).resonances(q)
    modes = np.abs(ElasticRobot(model, joints).modes(q)[0]) / (2 * np.pi)
    np.testing.assert_allclose(found, np.unique(modes.round(9))[-2:], rtol=1e-5)


def test_starts_gaps_and_errors_of_the_observer():
    model = two_link_planar()
    joints = elastic(model)
    observer = MotorSideObserver(model, joints, 20.0, max_step=0.02)
    q = np.array([0.3, 0.4])
    hold = gravity_forces(model, q)
    theta = q + hold / stiffness_of(joints)
    start = np.array([q, [0, 0], theta, [0, 0]])
    np.testing.assert_allclose(observer.update(1.0, theta, hold), start, atol=1e-12)
    for t in (1.001, 1.01, 1.025):
        np.testing.assert_allclose(observer.update(t, theta, hold), start, atol=1e-10)
    observer.update(1.03, theta + 0.01, hold)
    before = np.array(observer.state)
    for t in (1.03, 1.03 - 1e-6):
        np.testing.assert_array_equal(observer.update(t, theta, hold), before)
    np.testing.assert_allclose(observer.update(1.06, theta, hold), start, atol=1e-12)
    np.testing.assert_allclose(observer.update(0.5, theta, hold), start, atol=1e-12)
    assert observer.starts == 3
    with pytest.raises(InputError, match=r"motor_torque.*elbow"):
        observer.update(0.51, theta, [1.0, np.nan])
    observer.reset()
    assert not np.any(observer.state)
    rigid = series_elastic(model, [900.0, np.inf], 0.1)
    with pytest.raises(InputError, match=r"'elbow' is rigid.*choose link_and_motor_encoders"):
        MotorSideObserver(model, rigid, 20.0)
    damped = SeriesElastic(Motor(0.1), LinearSpring(500.0), damping=1.0)
    joints = Actuators(model.joint_names, (damped, joints.actuators[1]))
    with pytest.raises(InputError, match=r"'shoulder' is damped.*torque_sensors"):
        MotorSideObserver(model, joints, 20.0)


@pytest.mark.parametrize("bandwidth", [5.0, 20.0])
def test_one_bad_sample_is_not_believed_and_a_turn_of_the_encoder_starts_anew(bandwidth):
    model = two_link_planar()
    joints = elastic(model)
    observer = MotorSideObserver(model, joints, bandwidth)
    q = np.array([0.3, 0.4])
    hold = gravity_forces(model, q)
    theta = q + hold / stiffness_of(joints)
    observer.update(0.0, theta, hold)
    before = np.array(observer.state)
    np.testing.assert_array_equal(observer.update(STEP, theta + np.array([1.0, 0.0]), hold), before)
    for k in range(2, 100):
        observer.update(k * STEP, theta, hold)
    np.testing.assert_allclose(observer.state, before, atol=1e-9)
    assert (observer.starts, observer.refused) == (1, 1)
    turn = np.array([2 * np.pi, 0.0])
    for k in range(100, 200):
        observer.update(k * STEP, theta + turn, hold)
    np.testing.assert_allclose(observer.state.q, q + turn, atol=1e-9)
    np.testing.assert_allclose(observer.state.qd, 0.0, atol=1e-9)
    assert observer.starts == 2


def test_an_estimate_that_diverges_starts_anew():
    model = two_link_planar()
    joints = elastic(model)
    observer = MotorSideObserver(model, joints, 20.0)
    observer.update(0.0, [0.3, 0.4], [0.0, 0.0])
    before = np.array(observer.state)
    observer.link[1] = 1e200
    observer.update(STEP, [0.3, 0.4], [0.0, 0.0])
    np.testing.assert_allclose(observer.state, before, atol=1e-12)
    assert observer.starts == 2


# sources


def signals_of(robot: ElasticRobot, command: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "link_position": robot.q,
        "motor_position": robot.theta,
        "joint_torque": robot.joint_torque,
        "motor_torque": command,
    }


@pytest.mark.parametrize("source", list(SOURCES)[:3])
def test_every_source_gives_the_state_from_its_own_signals_only(source):
    model = two_link_planar()
    joints = elastic(model)
    robot = ElasticRobot(model, joints)
    robot.reset([0.3, 0.4])
    estimator = StateEstimator(model, joints, StateEstimation(source, 25.0, order=4))
    for k in range(2000):
        command = gravity_hold(robot) + 3.0 * np.sin(2.0 * k * STEP) - 8.0 * robot.thetad
        robot.step(command, STEP)
        signals = signals_of(robot, command)
        own = {name: signals[name] for name in estimator.signals}
        q, qd, theta, thetad = estimator.update((k + 1) * STEP, **own)
    assert estimator.is_settled
    np.testing.assert_allclose(q, robot.q, atol=1e-4)
    np.testing.assert_allclose(theta, robot.theta, atol=1e-4)
    np.testing.assert_allclose(qd, robot.qd, atol=5e-3)
    np.testing.assert_allclose(thetad, robot.thetad, atol=5e-3)
    np.testing.assert_array_equal(estimator.state, [q, qd, theta, thetad])
    np.testing.assert_array_equal(estimator.link[:2], [q, qd])
    if source != "motor_encoders":
        np.testing.assert_allclose(estimator.link[2], robot.qdd, atol=0.3)
    for missing in own:
        with pytest.raises(InputError, match=f"{missing} is missing: the source {source} needs"):
            estimator.update(3.0, **{**signals, missing: None})
    estimator.reset()
    assert estimator.starts == 1
    assert not np.any(estimator.state)


def test_a_torque_sensor_gives_what_link_encoders_give_and_rigid_joints_theta():
    model = two_link_planar()
    joints = series_elastic(model, [500.0, np.inf], 0.1)
    a, b = (
        StateEstimator(model, joints, StateEstimation(source, 30.0))
        for source in ("link_and_motor_encoders", "motor_encoders_and_torque_sensors")
    )
    rng = np.random.default_rng(0)
    for k in range(50):
        q, Q = rng.normal(size=(2, 2))
        theta = q + Q / [500.0, np.inf]
        one = a.update(k * STEP, link_position=q, motor_position=theta)
        other = b.update(k * STEP, motor_position=theta, joint_torque=Q)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(other.q[1], other.theta[1])


def test_settings_are_immutable_and_checked():
    settings = StateEstimation("motor_encoders", 30.0)
    with pytest.raises(AttributeError):
        settings.bandwidth = 3.0
    with pytest.raises(InputError, match="'encoders': expected one of link_and_motor_encoders"):
        StateEstimation("encoders", 30.0)
    with pytest.raises(InputError, match="bandwidth is -1"):
        StateEstimation("motor_encoders", -1.0)
    with pytest.raises(InputError, match="order of the filter is 1"):
        StateEstimation("motor_encoders", 1.0, order=1)
    model = two_link_planar()
    other = Actuators(("a", "b"), elastic(model).actuators)
    with pytest.raises(InputError, match="actuators of a, b"):
        StateEstimator(model, other, StateEstimation("link_and_motor_encoders", 30.0))


# every kind

TENDON = PolynomialSpring((40.0, 300.0), travel=(0.0, 0.6))
KINDS = {
    "cubic": SeriesElastic(Motor(0.15, viscous=0.3), CubicSpring(250.0, 4e3)),
    "variable": VariableStiffness(Motor(0.15), (100.0, 600.0), CubicSpring(1.0, 3.0)),
    "driven": VariableStiffness(
        Motor(0.15), (100.0, 600.0), drive=StiffnessDrive(Motor(0.05), offset=50.0, gain=100.0)
    ),
    "antagonistic": Antagonistic(Motor(0.12), Motor(0.05, viscous=0.2), TENDON, TENDON),
    "damped": SeriesElastic(Motor(0.15), CubicSpring(250.0, 4e3), damping=3.0),
    "rigid": Rigid(Motor(0.15)),
}
SHOULDER = SeriesElastic(Motor(0.3), CubicSpring(600.0, 1e4))


def arm(kind: str, sources: tuple[str, ...] = ()) -> Actuators:
    return Actuators(("shoulder", "elbow"), (SHOULDER, KINDS[kind]), sources)


class Arm:
    """The textbook arm on springs of any kind, by RK4 and with nothing compiled but the links."""

    def __init__(self, actuators: Actuators) -> None:
        self.model, self.actuators = two_link_planar(), actuators
        m, state, torque = len(actuators.motors), *np.zeros((2, 3, 2))
        state[0] = 0.3, 0.4
        torque[0] = gravity_forces(self.model, state[0])
        self.k = np.zeros((3, len(actuators.variable_joints)))
        self.k[0] = 280.0
        at_rest = motor_motion(
            actuators, state, torque, self.k, deflection=[0.0, torque[0, 1] / 250]
        )
        self.hold = at_rest.torque
        self.x = np.concatenate((state[0], state[1], at_rest.position, np.zeros(m)))

    def rows(self, x: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        x = self.x if x is None else x
        return x[:2], x[2:4], *x[4:].reshape(2, -1)

    def springs(self, x: np.ndarray | None = None):
        k = self.k[:2] if self.k.size else None
        return self.actuators.springs(*self.rows(x), stiffness=k, beyond="continue")

    def slope(self, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        q, qd, _, thetad = self.rows(x)
        found = self.springs(x)
        motors = self.actuators.motor_acceleration(thetad, found.load, tau)
        links = forward_dynamics(self.model, q, qd, found.torque)
        return np.concatenate((qd, links, thetad, motors))

    def step(self, tau: np.ndarray, h: float) -> None:
        a = self.slope(self.x, tau)
        b = self.slope(self.x + 0.5 * h * a, tau)
        c = self.slope(self.x + 0.5 * h * b, tau)
        d = self.slope(self.x + h * c, tau)
        self.x = self.x + h / 6.0 * (a + 2.0 * (b + c) + d)


def command_of(robot: Arm, start: np.ndarray, t: float) -> np.ndarray:
    theta, thetad = robot.rows()[2:]
    wave = 0.1 * (1 - np.cos(4.0 * t)) * np.cos(np.arange(len(start)))
    return robot.hold + 60.0 * (start + wave - theta) - 6.0 * thetad


@pytest.mark.parametrize("kind", ["cubic", "variable", "driven", "antagonistic"])
def test_motor_encoders_alone_do_for_every_undamped_kind(kind):
    actuators = arm(kind)
    robot = Arm(actuators)
    stiffness = robot.k[:2] if kind == "variable" else None
    observer = MotorSideObserver(robot.model, actuators, 25.0)
    start = robot.rows()[2].copy()
    observer.update(0.0, start, robot.hold, stiffness=stiffness)
    np.testing.assert_allclose(observer.state.q, [0.3, 0.4], atol=1e-9)
    for k in range(300):
        tau = command_of(robot, start, k * STEP)
        robot.step(tau, STEP)
        found = observer.update((k + 1) * STEP, robot.rows()[2], tau, stiffness=stiffness)
        if k > 150:
            for row, true, far in zip(found, robot.rows(), (5e-5, 8e-3, 5e-5, 8e-3), strict=True):
                np.testing.assert_allclose(row, true, rtol=0, atol=far)
    assert np.abs(robot.rows()[0] - [0.3, 0.4]).max() > 1e-3
    if kind == "variable":
        with pytest.raises(InputError, match="'elbow': no motor tells its stiffness"):
            MotorSideObserver(robot.model, actuators, 25.0).update(0.0, start, robot.hold)


@pytest.mark.parametrize("kind", KINDS)
def test_a_torque_sensor_does_for_every_kind(kind):
    """Exact for all but the damped spring, which is the filter of a torque linear in between."""
    actuators = arm(kind)
    source = StateEstimation("motor_encoders_and_torque_sensors", 40.0)
    estimator, other = (
        StateEstimator(two_link_planar(), actuators, each)
        for each in (source, StateEstimation("link_and_motor_encoders", 40.0))
    )
    m = len(actuators.motors)
    for i in range(400):
        t = i * STEP
        q = np.array([0.3, 0.4]) + 0.1 * np.sin([3 * t, 5 * t])
        qd = 0.1 * np.array([3, 5]) * np.cos([3 * t, 5 * t])
        first = actuators.joint_of_motor
        bent = np.array([0.02, 0.3, 0.3 * (m > 2)])[:m] * np.array([1, 1, -1])[:m]
        bent = np.where(actuators.is_rigid[first], 0.0, bent * (1 + 0.3 * np.sin(4 * t)))
        theta = q[first] + bent
        rate = np.where(actuators.is_rigid[first], 0.0, bent * 0 + 1.2 * np.cos(4 * t))
        rate *= np.array([0.02, 0.3, -0.3])[:m]
        if kind == "driven":
            theta[2], rate[2] = 2.0 + np.sin(t), np.cos(t)
        k = np.array([[280.0 + 50 * t], [50.0]]) if actuators.variable_joints else None
        Q = actuators.springs(q, qd, theta, qd[first] + rate, stiffness=k).torque
        Q = np.where(actuators.is_rigid, np.nan, Q)
        given = {"motor_position": theta, "stiffness": k}
        if kind == "rigid":
            Q[1] = 0.0
        a = estimator.update(t, joint_torque=Q, **given)
        b = other.update(t, link_position=np.where(actuators.is_rigid, theta[:2], q), **given)
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=1e-5 if kind == "damped" else 1e-10)
    np.testing.assert_allclose(a.qd, b.qd, rtol=0, atol=1e-3 if kind == "damped" else 1e-8)
    np.testing.assert_array_equal(a.theta, b.theta)


def test_as_described_follows_the_torque_sources_joint_by_joint():
    actuators = arm("cubic", ("spring_deflection", "torque_sensor"))
    assert StateEstimation().source == "as_described"
    estimator = StateEstimator(two_link_planar(), actuators, StateEstimation())
    assert estimator.signals == ("link_position", "motor_position", "joint_torque")
    theta = np.array([0.5, 0.7])
    Q = KINDS["cubic"].spring.torque(0.2)
    state = estimator.update(
        0.0, link_position=[0.3, np.nan], motor_position=theta, joint_torque=[np.nan, Q]
    )
    np.testing.assert_allclose(state.q, [0.3, 0.5], atol=1e-12)
    with pytest.raises(InputError, match=r"link_position.*shoulder"):
        estimator.update(
            STEP, link_position=[np.nan, 0.1], motor_position=theta, joint_torque=[0.0, Q]
        )
    rigid = StateEstimator(two_link_planar(), arm("rigid"), StateEstimation())
    assert rigid.signals == ("link_position", "motor_position")
    state = rigid.update(0.0, link_position=[0.3, np.nan], motor_position=theta)
    np.testing.assert_array_equal(state.q, [0.3, 0.7])


def test_a_time_that_is_not_later_leaves_the_springs_too():
    """Of damped springs, whose deflection is filtered from Q."""
    settings = StateEstimation("motor_encoders_and_torque_sensors", 40.0)
    disturbed, other = (StateEstimator(two_link_planar(), arm("damped"), settings) for _ in "ab")
    theta = np.array([0.3, 0.4])
    for k in range(5):
        Q = np.array([0.0, 10.0 * k])
        disturbed.update(k * STEP, motor_position=theta, joint_torque=Q)
        other.update(k * STEP, motor_position=theta, joint_torque=Q)
        disturbed.update(k * STEP, motor_position=theta, joint_torque=Q + 50.0)
        disturbed.update(k * STEP - 1e-6, motor_position=theta, joint_torque=Q + 50.0)
    np.testing.assert_array_equal(disturbed.state, other.state)


def test_resonances_of_a_joint_with_stiffness():
    model = two_link_planar()
    found = MotorSideObserver(model, arm("variable"), 10.0).resonances([0.3, 0.4], [500.0])
    soft = MotorSideObserver(model, arm("variable"), 10.0).resonances([0.3, 0.4], [200.0])
    assert (found > soft).all()
    driven = MotorSideObserver(model, arm("driven"), 10.0).resonances([0.3, 0.4], [500.0])
    assert (driven < found).all()  # without the hardening of the other
