# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Link states from motor encoders: against the plant, the error equations, other actuators."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from elastic_arms import positions, shipped
from flat_motions import linear_springs
from multibody_dynamics.dynamics.control import MotorSideObserver, at_rest, closed_loop_poles
from multibody_dynamics.dynamics.control.observers.motor_side_observer import DISTURBANCE_TIME
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    LinearSpring,
    Motor,
    MotorFeedforward,
    SeriesElastic,
)
from multibody_dynamics.dynamics.plant import DriveEffects, ElasticRobot
from multibody_dynamics.dynamics.rigid import (
    InverseDynamicsSolver,
    gravity_forces,
    inverse_dynamics_derivatives,
    mass_matrix,
)
from multibody_dynamics.tools.study.drive_terms import with_drive_terms
from observed_arms import (
    KINDS,
    STEP,
    Arm,
    arm,
    command_of,
    elastic,
    gravity_hold,
    stiffness_of,
)
from robots import panda, random_tree, two_link_planar


def error_matrix(model, actuators, q, gains, steepness: float) -> np.ndarray:
    """d/dt of the observer's errors of q, q', theta, v and the torque on the links, near rest.

    steepness: share of the friction's slope at standstill; the slope of tanh vanishes in motion.
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
    """The links start with an error delta; the innovation follows the linear error equations. Apart
    from the torque on the links their poles are those of a closed loop with these gains."""
    model = random_tree(4, 1, kinds=("revolute",))
    joints = elastic(model)
    q = np.array([0.3, -0.2, 0.5, 0.1])
    observer = MotorSideObserver(model, joints, 6.0)
    theta = at_rest(model, joints, q).theta
    hold = gravity_forces(model, q)
    observer.update(0.0, theta, hold)
    A = error_matrix(model, joints, q, observer.gains, 1.0)
    found = np.linalg.eigvals(A[:16, :16])
    wanted = closed_loop_poles(model, joints, q, observer.gains)
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


@pytest.mark.parametrize(
    ("name", "bandwidth"),
    [("panda", 3.0), ("panda", 100.0), ("planar_two_link", 25.0), ("antagonistic_elbow", 100.0)],
)
def test_the_observer_of_a_shipped_arm_is_stable_in_its_whole_range(name, bandwidth):
    """With gains designed for one position, at any speed, with or without friction; also with the
    estimated torque on the links, even if that converged twice as fast."""
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


def test_motor_encoders_alone_give_the_links_of_a_moving_arm_with_friction():
    model = two_link_planar()
    joints = elastic(model, True)
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
    K = [3e3, 3e3, 2e3, 2e3, 500, 500, 300]
    joints = linear_springs(model.joint_names, K, [0.45] * 4 + [0.1] * 3)
    robot = ElasticRobot(model, joints)
    robot.reset([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])
    observer = MotorSideObserver(model, joints, 20.0)
    errors = run(observer, robot, 500, gravity_hold)
    late = np.abs(errors[200:]).max(axis=(0, 2))
    assert (late < [1e-4, 2e-2, 1e-4, 3e-2]).all(), late


def test_the_effect_of_a_wrong_model_at_rest():
    """An unknown torque d on the links has no effect; a motor torque error f shifts q by f / K."""
    model = two_link_planar()
    joints = elastic(model)
    q = np.array([0.3, 0.4])
    for d, f in ((np.array([0.1, -0.05]), np.zeros(2)), (np.zeros(2), np.array([0.2, 0.1]))):
        observer = MotorSideObserver(model, joints, 25.0)
        bent = q + (gravity_forces(model, q) - d) / stiffness_of(joints)
        hold = stiffness_of(joints) * (bent - q) - f  # the motor actually receives f more
        for step in range(1500):
            estimate = observer.update(4e-3 * step, bent, hold)
        np.testing.assert_allclose(estimate.q - q, f / stiffness_of(joints), rtol=0, atol=2e-6)
        found = gravity_forces(model, estimate.q) - hold
        np.testing.assert_allclose(observer.link_torque, found, rtol=0, atol=1e-3)
        np.testing.assert_allclose(estimate.qd, 0.0, atol=1e-5)


def test_encoder_errors_stay_below_the_resolution_at_any_bandwidth():
    model = two_link_planar()
    joints = elastic(model)
    resolution = 2 * np.pi / 2**16
    for bandwidth in (5.0, 100.0):
        robot = ElasticRobot(model, joints)
        robot.reset([0.3, 0.4])
        observer = MotorSideObserver(model, joints, bandwidth)
        errors = run(observer, robot, 1500, gravity_hold, resolution=resolution)
        assert np.sqrt((errors[800:, 2] ** 2).mean(axis=0)).max() < resolution


def at_rest_observed(bandwidth=20.0, **settings):
    """An observer of two links at rest at q; q, and positions and torques of the motors."""
    model = two_link_planar()
    joints, q = elastic(model), np.array([0.3, 0.4])
    hold = gravity_forces(model, q)
    observer = MotorSideObserver(model, joints, bandwidth, **settings)
    return observer, q, q + hold / stiffness_of(joints), hold


def test_starts_gaps_and_errors_of_the_observer():
    observer, q, theta, hold = at_rest_observed(max_step=0.02)
    model, joints = observer.model, observer.actuators
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
    rigid = linear_springs(model.joint_names, [900.0, np.inf], 0.1)
    with pytest.raises(InputError, match=r"'elbow' is rigid.*choose link_and_motor_encoders"):
        MotorSideObserver(model, rigid, 20.0)
    damped = SeriesElastic(Motor(0.1), LinearSpring(500.0), damping=1.0)
    joints = Actuators(model.joint_names, (damped, joints.actuators[1]))
    with pytest.raises(InputError, match=r"'shoulder' is damped.*torque_sensors"):
        MotorSideObserver(model, joints, 20.0)


@pytest.mark.parametrize("bandwidth", [5.0, 20.0])
def test_one_bad_sample_is_rejected_and_a_jump_of_one_turn_restarts(bandwidth):
    observer, q, theta, hold = at_rest_observed(bandwidth)
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


def test_a_diverging_estimate_restarts():
    observer, _, theta, hold = at_rest_observed()
    observer.update(0.0, theta, hold)
    before = np.array(observer.state)
    observer.link[1] = 1e200
    observer.update(STEP, theta, hold)
    np.testing.assert_allclose(observer.state, before, atol=1e-12)
    assert observer.starts == 2


@pytest.mark.parametrize(
    "kind", [name for name, each in KINDS.items() if not each.is_rigid and each.damping == 0.0]
)
def test_motor_encoders_alone_suffice_for_every_undamped_kind(kind):
    actuators = arm(kind)
    robot = Arm(actuators)
    stiffness = None if KINDS[kind].input_range is None else robot.k[:2]
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
    if stiffness is not None:
        with pytest.raises(InputError, match="'elbow': no motor sets its stiffness"):
            MotorSideObserver(robot.model, actuators, 25.0).update(0.0, start, robot.hold)


def followed_with_real_drives(knows: bool) -> tuple[np.ndarray, np.ndarray]:
    """Largest errors (n,) of q, and of the torque on the links, after a motion of an arm whose
    links have friction, and its springs hysteresis."""
    model = two_link_planar()
    plain = elastic(model)
    effects = DriveEffects(link_coulomb=1.5, hysteresis=1.0, hysteresis_deflection=4e-3)
    terms = with_drive_terms(plain, effects)
    robot = ElasticRobot(model, plain, effects=effects)
    inverse = InverseDynamicsSolver(model, "body")
    flat = MotorFeedforward(terms, inverse.state, inverse.result)
    observer = MotorSideObserver(model, terms, 12.0)
    w, amplitude, worst = 3.0, np.array([0.6, -0.8]), []
    for k in range(4000):
        orders = np.arange(5)
        phase = w * k * STEP + 0.5 * np.pi * orders
        inverse.state[:] = (w**orders * np.cos(phase))[:, None] * amplitude
        inverse.update()
        if k == 0:
            robot.reset(inverse.state[0])
        theta, thetad, _, torque = flat.update()
        torque = torque + 400.0 * (theta - robot.theta) + 15.0 * (thetad - robot.thetad)
        if knows:
            observer.link_friction[:] = terms.link_friction(inverse.state, inverse.result)[0]
            observer.spring_states[:] = flat.states
        robot.step(torque, STEP)
        flat.advance(STEP)
        observer.update((k + 1) * STEP, robot.theta, torque)
        if k > 1500:
            worst.append([observer.state.q - robot.q, observer.link_torque.copy()])
    return tuple(np.sqrt(np.mean(np.square(worst), axis=0)))


def test_friction_of_links_and_hysteresis_are_no_torque_on_the_links():
    """The plant has LuGre friction and sharp Maxwell elements, the observer the terms of the flat
    map."""
    q, push = followed_with_real_drives(knows=True)
    without, unexplained = followed_with_real_drives(knows=False)
    assert (q < 0.5 * without).all(), (q, without)
    assert (push < 0.3 * unexplained).all(), (push, unexplained)


def test_load_dependent_friction_of_a_motor_shortens_the_inner_steps():
    model = two_link_planar()
    joints = elastic(model)
    steep = {"load_friction": 0.3, "coulomb_velocity": 0.02, "torque_limit": 100.0}
    rows = [
        each.with_motors([replace(motor, **steep) for motor in each.motors])
        for each in joints.actuators
    ]
    loaded = replace(joints, actuators=tuple(rows))
    fastest = []
    for each in (joints, loaded):
        observer = MotorSideObserver(model, each, 12.0)
        observer.design([0.3, 0.4])
        fastest.append(observer._fastest)
    slope = 0.3 * 100.0 / 0.02 / joints.motor_inertia.min()
    assert fastest[1] == pytest.approx(slope, rel=0.3)
    assert fastest[1] > 5.0 * fastest[0]
