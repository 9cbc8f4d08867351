# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plant: conservation laws, order of the integrator, closed forms, and flat feedforward."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from flat_motions import linear_springs
from kinds import EXAMPLES, HARDENING
from multibody_dynamics.dynamics.core import DynamicsError, InputError
from multibody_dynamics.dynamics.elastic import (
    VARIANTS,
    Actuators,
    LinearSpring,
    Motor,
    MotorCommand,
    MotorFeedforward,
    SeriesElastic,
)
from multibody_dynamics.dynamics.model import (
    JointLimits,
    MultibodyModel,
    model_from_screws,
    spatial_inertia,
)
from multibody_dynamics.dynamics.plant import ElasticRobot, EndStops, MotorDrive
from multibody_dynamics.dynamics.rigid import (
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    mass_matrix,
)
from rejections import assert_rejected

GRAVITY = (0.4, -0.3, -9.81)


def wheel(inertia: float) -> MultibodyModel:
    """A balanced wheel about a vertical axis: a link that is only an inertia."""
    body = spatial_inertia(1.0, np.zeros(3), inertia * np.eye(3))
    return model_from_screws([-1], [[0, 0, 1, 0, 0, 0]], [np.eye(4)], [body])


def arm(gravity: tuple[float, float, float] = GRAVITY) -> MultibodyModel:
    """A vertical revolute joint, then two oblique revolute joints and a prismatic one."""
    rng = np.random.default_rng(11)
    points = np.array([[0, 0, 0], [0.1, 0, 0.3], [0.5, 0.1, 0.3], [0.2, -0.1, 0.4]])
    axes = [[0, 0, 1], [0, 1, 0.2], [0.3, 1, 0], [1, 0, 0.5]]
    screws, poses, bodies = [], [], []
    for k, (p, e) in enumerate(zip(points, axes, strict=True)):
        e = np.array(e) / np.linalg.norm(e)
        screws.append(np.r_[np.zeros(3), e] if k == 3 else np.r_[e, np.cross(p, e)])
        pose = np.eye(4)
        pose[:3, 3] = p
        poses.append(pose)
        G = rng.normal(size=(3, 3))
        Theta = 0.02 * (np.trace(G @ G.T) * np.eye(3) - G @ G.T) + 0.01 * np.eye(3)
        bodies.append(spatial_inertia(2.0 + k, [0.15, 0.03, -0.02], Theta))
    return model_from_screws([-1, 0, 1, 0], screws, poses, bodies, gravity=gravity)


NAMES = ("joint1", "joint2", "joint3", "joint4")
LOSSLESS = {"stiffness": [800.0, 600.0, np.inf, 3000.0], "inertia": [0.5, 0.3, 0.2, 1.5]}
LOSSY = {
    "viscous": [0.8, 0.4, 0.3, 2.0],
    "coulomb": [0.5, 0.3, 0.2, 1.0],
    "coulomb_velocity": [0.2, 0.3, 0.2, 0.25],
}
COMPLIANCE = 1.0 / np.array(LOSSLESS["stiffness"])
TORQUE = np.array([5.0, -60.0, -20.0, 12.0])


def make(friction: bool = False, gravity=GRAVITY, changes=None, **options) -> ElasticRobot:
    data = LOSSLESS | (LOSSY if friction else {}) | (changes or {})
    return ElasticRobot(arm(gravity), linear_springs(NAMES, **data), **options)


def shake(robot: ElasticRobot, seed: int = 5) -> None:
    """A state far from equilibrium in every coordinate."""
    rng = np.random.default_rng(seed)
    state = rng.uniform(-1.0, 1.0, size=(4, robot.n)) * [[0.5], [1.0], [0.05], [1.0]]
    state[2] += state[0]
    rigid = robot.actuators.is_rigid
    state[2:, rigid] = state[:2, rigid]
    robot.reset(state[0], state[1], theta=state[2], thetad=state[3])


def rows(robot: ElasticRobot) -> tuple[np.ndarray, ...]:
    return robot.q, robot.qd, robot.theta, robot.thetad


def total(robot: ElasticRobot) -> float:
    return sum(robot.energy())


def balance(robot: ElasticRobot, torque, dt: float, extra=lambda: 0.0) -> tuple[float, ...]:
    """Energy gained, supplied and lost over a thousand steps; powers by Simpson's rule."""
    before, powers = total(robot), []
    for _ in range(1001):
        powers.append((torque @ robot.thetad + extra(), robot.dissipation()))
        after = total(robot)
        robot.step(torque, dt)
    weights = np.full(1001, 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    assert min(power for _, power in powers) >= 0.0
    return after - before, *(weights @ np.array(powers) * dt / 3.0)


# Laws
def test_without_friction_the_motors_work_is_the_energy():
    robot = make()
    shake(robot)
    before, start = total(robot), robot.theta.copy()
    scale = sum(map(abs, robot.energy()))
    for _ in range(500):
        robot.step(TORQUE, 1e-3)
    work = TORQUE @ (robot.theta - start)
    assert abs(work) > 1.0
    assert abs(total(robot) - before - work) < 1e-8 * scale


def test_friction_dissipates_the_missing_energy():
    robot = make(friction=True, link_viscous=[0.3, 0.2, 0.4, 1.0])
    shake(robot)
    gained, supplied, lost = balance(robot, TORQUE, 0.5e-3)
    assert lost > 1.0
    assert abs(gained - supplied + lost) < 1e-7 * (abs(supplied) + lost)


def test_momentum_about_a_free_vertical_axis_is_conserved():
    """Motor 1 floats without torque: a common shift of q1 and theta1 changes nothing."""
    robot = make(gravity=(0, 0, -9.81))
    shake(robot)

    def momentum() -> float:
        link = mass_matrix(robot.model, robot.q)[0] @ robot.qd
        return float(link + robot.actuators.motor_inertia[0] * robot.thetad[0])

    before = momentum()
    for _ in range(400):
        robot.step([0.0, *TORQUE[1:]], 1e-3)
    assert abs(before) > 0.1
    assert momentum() == pytest.approx(before, rel=1e-9)


def test_equations_of_motion_hold():
    """The outputs against forward dynamics and the motor equation, term by term."""
    damping = np.array([0.3, 0.2, 0.4, 1.0])
    robot = make(friction=True, link_viscous=damping)
    shake(robot)
    robot.step(TORQUE, 1e-3)
    actuators, elastic = robot.actuators, ~robot.actuators.is_rigid
    q, qd, theta, thetad = rows(robot)
    np.testing.assert_array_equal(robot.motor_torque, TORQUE)
    spring = actuators.springs(q, qd, theta, thetad).torque
    np.testing.assert_allclose(robot.joint_torque[elastic], spring[elastic], rtol=1e-12)
    qdd = forward_dynamics(robot.model, q, qd, robot.joint_torque - damping * qd)
    np.testing.assert_allclose(robot.qdd, qdd, rtol=1e-10)
    behind = TORQUE - actuators.motor_inertia * qdd - actuators.friction(thetad)
    np.testing.assert_allclose(robot.joint_torque[~elastic], behind[~elastic], rtol=1e-10)


def test_wrenches_on_bodies_act_until_they_are_changed():
    robot = make(friction=True)
    q = np.array([0.3, -0.7, 1.1, 0.2])
    robot.reset(q)
    W = np.array([1.0, -2.0, 0.5, 3.0, 4.0, -5.0])
    robot.applied_wrenches[2] = W
    robot.reset(q)
    wanted = forward_dynamics(
        arm().with_reflected_inertia([0, 0, 0.2, 0]), q, np.zeros(4),
        gravity_forces(robot.model, q), wrenches={"body3": W},
    )  # fmt: skip
    np.testing.assert_allclose(robot.qdd, wanted, rtol=1e-10)
    hold = robot.motor_torque.copy()
    robot.step(hold, 1e-3)
    assert np.abs(robot.qd).max() > 1e-4


# Closed forms


@given(
    J=st.floats(0.02, 2.0), Mm=st.floats(0.02, 2.0), K=st.floats(20.0, 2e4), q=st.floats(-0.5, 0.5)
)
@settings(max_examples=15)
def test_one_elastic_joint_swings_at_its_eigenfrequency(J, Mm, K, q):
    """Link and rotor oscillate in opposition, omega^2 = K (1/J + 1/M_m), about a fixed centre."""
    robot = ElasticRobot(wheel(J), linear_springs(("joint1",), K, Mm))
    omega = np.sqrt(K * (1 / J + 1 / Mm))
    imaginary = np.abs(robot.modes([0.0])[0]).max()
    assert imaginary == pytest.approx(omega, rel=1e-12)
    robot.reset([q], theta=[-q * J / Mm])
    dt, amplitude = 2 * np.pi / omega / 16, abs(q) * (1 + J / Mm)
    for k in range(1, 33):
        robot.step([0.0], dt)
        wanted = np.cos(2 * np.pi * k / 16) * np.array([q, -q * J / Mm])
        np.testing.assert_allclose([robot.q[0], robot.theta[0]], wanted, atol=1e-2 * amplitude)
    assert robot.energy().potential == 0.0


def test_viscous_friction_gives_the_decay_of_the_eigenvalues():
    joints = linear_springs(("joint1",), 300.0, 0.2, viscous=0.5)
    robot = ElasticRobot(wheel(0.1), joints, link_viscous=0.3, step=0.1e-3)
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-3000, 3000, -3, 0], [1500, -1500, 0, -2.5]])
    values, vectors = np.linalg.eig(A)
    found = np.sort_complex(robot.modes([0.0])[0])
    np.testing.assert_allclose(found, np.sort_complex(values), atol=1e-6)
    x = np.array([0.1, -0.2, 1.0, 2.0])
    robot.reset(x[:1], x[2:3], theta=x[1:2], thetad=x[3:])
    robot.step([0.0], 0.3)
    wanted = (vectors @ (np.exp(0.3 * values) * np.linalg.solve(vectors, x.astype(complex)))).real
    np.testing.assert_allclose(
        np.concatenate((robot.q, robot.theta, robot.qd, robot.thetad)), wanted, atol=1e-9
    )


def test_a_rigid_joint_is_forward_dynamics_with_the_rotor():
    data = {"stiffness": [np.inf] * 4}
    robot = make(changes=data)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 4))
    robot.reset(q, qd)
    robot.step(TORQUE, 1e-4)
    model = robot.model.with_reflected_inertia(robot.actuators.motor_inertia)
    np.testing.assert_allclose(
        robot.qdd, forward_dynamics(model, robot.q, robot.qd, TORQUE), rtol=1e-12
    )
    np.testing.assert_array_equal(robot.theta, robot.q)
    np.testing.assert_array_equal(robot.thetad, robot.qd)


def test_a_stiff_spring_approaches_the_rigid_joint():
    """Once friction has damped the ringing, the gap shrinks as 1 / K."""
    ends = []
    for stiffness in (np.inf, 4e4, 16e4):
        robot = make(changes={"stiffness": [stiffness] * 4, "viscous": [60.0, 60.0, 60.0, 300.0]})
        robot.reset(np.array([0.3, -0.7, 1.1, 0.2]))
        robot.step(TORQUE, 0.2)
        ends.append(robot.state.copy())
    gaps = [np.abs(end[:8] - ends[0][:8]).max() for end in ends[1:]]
    assert gaps[1] == pytest.approx(gaps[0] / 4, rel=0.1)
    assert gaps[1] < 1e-3


def test_a_rotor_inertia_of_the_model_acts_the_same_at_a_rigid_joint():
    moved = make(changes={"inertia": [0.5, 0.3, 0.0, 1.5]})
    model = moved.model.with_reflected_inertia({"joint3": 0.2})
    mine, theirs = make(), ElasticRobot(model, moved.actuators)
    for robot in (mine, theirs):
        shake(robot)
        robot.step(TORQUE, 0.05)
    np.testing.assert_allclose(mine.state, theirs.state, rtol=1e-11)


# The integrator


def test_halving_the_step_divides_the_error_by_sixteen():
    ends = []
    for step in (1e-3, 0.5e-3, 0.25e-3, 0.0625e-3):
        robot = make(friction=True, step=step)
        shake(robot)
        robot.step(TORQUE, 0.1)
        ends.append(robot.state.copy())
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    for coarse, fine in pairwise(errors):
        assert 13.0 < coarse / fine < 19.0


def test_one_long_step_is_many_short_ones():
    """The torque is held, so the end of the control period makes no difference."""
    once, often = make(friction=True, step=0.25e-3), make(friction=True, step=0.25e-3)
    for robot in (once, often):
        shake(robot)
    once.step(TORQUE, 0.1)
    for _ in range(100):
        often.step(TORQUE, 1e-3)
    np.testing.assert_allclose(once.state, often.state, rtol=0, atol=1e-12)


def test_the_step_follows_from_the_fastest_mode_and_an_unstable_one_is_rejected():
    fast = {"stiffness": [800.0, 600.0, 1e6, 3000.0], "inertia": [0.5, 0.3, 1e-3, 1.5]}
    robot = make(changes=fast)
    fastest = np.abs(robot.modes(np.zeros(4))[0]).max()
    assert make().step_size == 0.25e-3
    assert 0.1 < robot.step_size * fastest <= 0.5
    too_fast = {"stiffness": [800.0, 600.0, 1e13, 3000.0]}
    assert_rejected(
        (lambda: make(changes=fast, step=2.7 / fastest), "joint3 unstable up to stable"),
        (lambda: make(changes=too_fast), "joint3 too fast rigid"),
        (lambda: make(step=-1.0), "step -1"),
    )


def test_the_accepted_steps_are_stable():
    """At |lambda| h = 2.5, just below the limit 2.6, an undamped oscillation does not grow."""
    omega = np.sqrt(500.0 * 2)
    joints = linear_springs(("joint1",), 500.0, 1.0)
    robot = ElasticRobot(wheel(1.0), joints, step=2.5 / omega)
    robot.reset([0.1], theta=[-0.1])
    for _ in range(200):
        robot.step([0.0], 2.5 / omega)
    assert abs(robot.q[0]) < 0.1


def test_drive_gains_count_for_the_step():
    slow = make(drive=MotorDrive(1e3, 50.0))
    fast = make(drive=MotorDrive(1e6, 2e3))
    assert fast.step_size < slow.step_size


# Feedforward and drive


def motion(t: np.ndarray) -> np.ndarray:
    """(k, 5, 4): sums of sines and their derivatives, all joints at once."""
    amplitude = np.array([[0.4, 0.3, 0.5, 0.1], [0.1, -0.2, 0.1, 0.05]])
    omega = np.array([[3.0, 4.0, 5.0, 4.5], [9.0, 7.0, 8.0, 10.0]])
    phase = np.array([[0.1, 0.5, 1.0, 2.0], [0.3, 0.9, 2.0, 0.2]])
    angle = omega * t[:, None, None] + phase
    rows = [amplitude * omega**k * np.sin(angle + k * np.pi / 2) for k in range(5)]
    return np.stack([row.sum(axis=1) for row in rows], axis=1)


def reference(robot: ElasticRobot, t: np.ndarray, variant: str = "full"):
    state = motion(t)
    Q = inverse_dynamics(robot.model, *np.moveaxis(state, 1, 0))
    cycle = MotorFeedforward(robot.actuators, variant=variant)
    command = np.empty((len(t), *cycle.result.shape))
    for k, rows_of_Q in enumerate(zip(Q.tau, Q.tau_dot, Q.tau_ddot, strict=True)):
        cycle.state[:], cycle.torque[:] = state[k], rows_of_Q
        cycle.update()
        command[k] = cycle.result
    return state, MotorCommand(*np.moveaxis(command, 1, 0))


def follow(variant: str) -> float:
    """Root mean square link error with the motor reference of a 1 kHz controller and a drive."""
    model, joints = arm(), linear_springs(NAMES, **(LOSSLESS | LOSSY))
    drive = MotorDrive.from_bandwidth(model, joints, np.zeros(4), bandwidth=10.0)
    robot = ElasticRobot(model, joints, drive=drive)
    t = np.arange(1001) * 1e-3
    state, exact = reference(robot, t)
    _, command = reference(robot, t, variant)
    robot.reset(state[0, 0], state[0, 1], theta=exact.position[0], thetad=exact.velocity[0])
    errors = []
    for k in range(1000):
        robot.follow(command.position[k], command.velocity[k], command.torque[k], 1e-3)
        errors.append(robot.q - state[k + 1, 0])
    return float(np.sqrt(np.mean(np.square(errors))))


def test_torque_rates_reduce_the_tracking_error():
    """Same robot, same drive: each further derivative of Q in the reference cuts the error."""
    errors = {variant: follow(variant) for variant in VARIANTS}
    assert errors["full"] < 0.05 * errors["quasi_static"] < 0.05 * errors["rigid"]


def test_the_drive_holds_its_reference_under_load():
    joints = linear_springs(NAMES, **LOSSLESS, torque_limit=[90.0, 90.0, 90.0, 200.0])
    drive = MotorDrive.from_bandwidth(arm(), joints, np.zeros(4), bandwidth=8.0)
    robot = ElasticRobot(arm(), joints, drive=drive, link_viscous=3.0)
    goal = np.array([0.2, -0.5, 0.4, 0.1])
    hold = gravity_forces(robot.model, goal)
    for _ in range(4000):
        robot.follow(goal + COMPLIANCE * hold, np.zeros(4), hold, 1e-3)
    np.testing.assert_allclose(robot.q, goal, atol=1e-3)


@pytest.mark.parametrize("mode", ["step", "follow"])
def test_motor_torques_stop_at_their_limits(mode):
    limit = np.array([3.0, 40.0, 10.0, 8.0])
    joints = linear_springs(NAMES, **LOSSLESS, torque_limit=limit)
    robots = [ElasticRobot(arm(), joints, drive=MotorDrive(500.0, 5.0)) for _ in range(2)]
    for robot, factor in zip(robots, (1.0, 5.0), strict=True):
        wanted = factor * limit * [1, -1, -1, 1]
        if mode == "step":
            robot.step(wanted, 1e-3)
        else:
            robot.follow(np.zeros(4), np.zeros(4), 1e3 * wanted, 1e-3)
        np.testing.assert_array_equal(robot.motor_torque, limit * [1, -1, -1, 1])
    np.testing.assert_array_equal(robots[0].state, robots[1].state)


# Invalid input


def test_inconsistent_data_are_rejected():
    twice = arm().with_reflected_inertia({"joint2": 0.1})
    others = linear_springs(("other",), 1.0, 1.0)
    assert_rejected(
        (lambda: ElasticRobot(wheel(1.0), others), "actuators other joint1"),
        (lambda: ElasticRobot(twice, linear_springs(NAMES, **LOSSLESS)), "joint2 twice"),
        (lambda: make(link_viscous=-1.0), "'joint1' link_viscous -1"),
        (lambda: make(link_viscous=[0.0, -2.0, 0.0, 0.0]), "'joint2' link_viscous -2"),
        (lambda: make(drive=MotorDrive([1.0, 2.0, 3.0], 1.0)), "gains (3,) (4,)"),
        (lambda: stopped(end_stops=EndStops([1.0, 2.0, 3.0])), "stiffness (3,) (1,)"),
    )


def test_bad_inputs_are_rejected_and_leave_the_state_unchanged():
    robot = make()
    shake(robot)
    before, zero = robot.state.copy(), np.zeros(4)
    assert_rejected(
        (lambda: robot.step([1.0, np.nan, 0.0, 0.0], 1e-3), "motor_torque joint2"),
        (lambda: robot.step([1.0, 2.0], 1e-3), "motor_torque (2,)"),
        (lambda: robot.step(np.zeros((4, 4)), 1e-3), "motor_torque (9, 4) 4 inner steps"),
        *[(lambda dt=dt: robot.step(TORQUE, dt), "dt") for dt in (0.0, -1e-3, np.nan, np.inf)],
        (lambda: robot.follow(zero, zero, zero, 1e-3), "no drive"),
        (lambda: robot.reset(zero, theta=np.ones(4)), "joint3 rigid"),
        (lambda: robot.set_model(wheel(1.0)), "differ"),
    )
    np.testing.assert_array_equal(robot.state, before)


def test_a_motion_that_diverges_is_an_error_and_leaves_the_state_unchanged():
    robot = make()
    shake(robot)
    before, torque = robot.state.copy(), robot.motor_torque.copy()
    with pytest.raises(DynamicsError, match="diverges"):
        robot.step(1e200 * TORQUE, 1e-3)
    np.testing.assert_array_equal(robot.state, before)
    np.testing.assert_array_equal(robot.motor_torque, torque)


# Every kind of actuator

KINDS = {name: example.actuator for name, example in EXAMPLES.items()}
kinds = pytest.mark.parametrize("kind", KINDS)


def two_links(kind: str, **options) -> ElasticRobot:
    """A hanging planar arm; the shoulder is linear, the elbow is of the given kind."""
    screws, poses, bodies = [], [], []
    for k in range(2):
        pose = np.eye(4)
        pose[0, 3] = 0.3 * k
        screws.append([0, 0, 1, 0, -0.3 * k, 0])
        poses.append(pose)
        bodies.append(spatial_inertia(2.0 - k, [0.15, 0.02, 0], 0.02 * np.eye(3)))
    links = model_from_screws([-1, 0], screws, poses, bodies, gravity=(9.81, 0, 0))
    shoulder = SeriesElastic(Motor(0.4, viscous=0.5), LinearSpring(900.0))
    return ElasticRobot(links, Actuators(links.joint_names, (shoulder, KINDS[kind])), **options)


def track(robot: ElasticRobot, step: float) -> float:
    """Largest link error over 1 s under the exact command at every stage of the integrator, for
    motion and stiffness."""
    t = np.arange(2 * round(1.0 / step) + 1) * step / 2
    state = motion(t)[..., : robot.n]
    Q = np.stack(inverse_dynamics(robot.model, *np.moveaxis(state, 1, 0)), axis=1)
    feedforward = MotorFeedforward(robot.actuators)
    middle, v = feedforward.stiffness[0].copy(), len(robot.actuators.variable_joints)
    swing = [0.2 * 7.0**k * np.sin(7.0 * t + k * np.pi / 2) for k in range(3)]
    second = np.stack(swing, axis=1)[..., None] * middle
    second[:, 0] += middle
    command, filtered = np.empty((len(t), *feedforward.result.shape)), np.zeros(robot.n)
    for k in range(len(t)):
        feedforward.state[:], feedforward.torque[:] = state[k], Q[k]
        feedforward.stiffness[:] = second[k]
        if k and robot.actuators.is_damped.any():
            filtered = relax(robot, filtered, Q[k - 1 : k + 1], step / 2)
            feedforward.deflection[:] = filtered
        feedforward.update()
        filtered = feedforward.deflection.copy()
        command[k] = feedforward.result
        assert not feedforward.flags.any()
    robot.reset(state[0, 0], state[0, 1], theta=command[0, 0], thetad=command[0, 1])
    error = 0.0
    for k in range(0, len(t) - 1, 2):
        profile = second[k : k + 3, 0] if v else None
        robot.step(command[k : k + 3, 3], step, stiffness=profile)
        error = max(error, float(np.abs(robot.q - state[k + 2, 0]).max()))
        if v:
            robot.stiffness[0] = second[k + 2, 0]
    return error


def relax(robot: ElasticRobot, phi: np.ndarray, Q: np.ndarray, dt: float) -> np.ndarray:
    """phi' = (Q - s(phi)) / d of the elbow over dt, by RK4; Q, Q', Q'' given at both ends."""
    elbow = robot.actuators.actuators[1]
    assert isinstance(elbow, SeriesElastic)
    (q0, d0, a0), (q1, d1, a1) = Q[:, :, 1]
    c3 = 10 * (q1 - q0) - (6 * d0 + 4 * d1) * dt - (1.5 * a0 - 0.5 * a1) * dt**2
    c4 = -15 * (q1 - q0) + (8 * d0 + 7 * d1) * dt + (1.5 * a0 - a1) * dt**2
    c5 = 6 * (q1 - q0) - 3 * (d0 + d1) * dt - 0.5 * (a0 - a1) * dt**2
    torque = Polynomial([q0, d0 * dt, 0.5 * a0 * dt**2, c3, c4, c5])

    def rate(x: float, phi: float) -> float:
        s = 400.0 * phi + 4e4 * phi**3
        return float(torque(x) - s) / elbow.damping

    x, h = phi[1], 0.5 * dt
    for start in (0.0, 0.5):
        k1 = rate(start, x)
        k2 = rate(start + 0.25, x + 0.5 * h * k1)
        k3 = rate(start + 0.25, x + 0.5 * h * k2)
        k4 = rate(start + 0.5, x + h * k3)
        x += h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.array([0.0, x])


@kinds
def test_every_kind_tracks_to_the_accuracy_of_the_integrator(kind):
    coarse, fine = (track(two_links(kind, step=h), h) for h in (1e-3, 0.5e-3))
    assert fine < 1e-8
    assert 11.0 < coarse / fine < 21.0


@kinds
def test_every_kind_balances_its_energy(kind):
    """Work of motors and of the stiffness input against energy and losses."""
    robot = two_links(kind, link_viscous=0.2)
    robot.reset([0.4, -0.6], [1.0, -2.0])
    torque = robot.motor_torque + np.linspace(2.0, -1.0, len(robot.theta))

    def stiffening() -> float:
        return float(robot.stiffness[1, 0] * HARDENING.energy(robot.theta[1] - robot.q[1]))

    if kind == "input":
        robot.stiffness[1] = 600.0
        gained, supplied, lost = balance(robot, torque, 0.25e-3, stiffening)
    else:
        gained, supplied, lost = balance(robot, torque, 0.25e-3)
    assert lost > 0.1
    assert abs(gained - supplied + lost) < 1e-6 * (abs(supplied) + lost)


@kinds
def test_every_kind_rests_where_its_springs_hold_it(kind):
    robot = two_links(kind)
    if robot.stiffness.size:
        robot.stiffness[0] *= 1.1
    robot.reset([0.4, -0.6])
    before = robot.state.copy()
    for _ in range(100):
        robot.step(robot.motor_torque.copy(), 1e-3)
    np.testing.assert_allclose(robot.state, before, rtol=0, atol=1e-10)
    if kind in ("input", "driven", "antagonistic"):
        felt = robot.actuators.springs(
            robot.q, robot.qd, robot.theta, robot.thetad, stiffness=robot.stiffness
        ).stiffness[1]
        bent = robot.theta[1] - robot.q[1]
        shape = 1.0 if kind == "antagonistic" else HARDENING.stiffness(bent)
        np.testing.assert_allclose(felt, robot.stiffness[0, 0] * shape, rtol=1e-9)


def test_a_stiffness_input_moves_on_at_its_rate_within_its_range():
    robot = two_links("input")
    robot.stiffness[:, 0] = 600.0, 500.0
    robot.step(np.zeros(2), 0.1)
    assert robot.stiffness[0, 0] == pytest.approx(650.0)
    robot.step(np.zeros(2), 1.0)
    assert robot.stiffness[0, 0] == 900.0
    assert_rejected(*(
        (lambda wrong=wrong: robot.step(np.zeros(2), 1e-3, stiffness=wrong), "stiffness")
        for wrong in (np.zeros((3, 2)), np.zeros(1))
    ))  # fmt: skip


# End stops and payloads


def stopped(**options) -> ElasticRobot:
    links = replace(wheel(0.5), limits=JointLimits([-0.3], [0.2], [np.inf], [np.inf]))
    return ElasticRobot(links, linear_springs(("joint1",), np.inf, 0.0), **options)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_end_stop_stops_the_link_and_dissipates_energy(side):
    """Against the restitution of Hunt and Crossley for slow impacts."""
    speed, damping = 0.5, 0.2
    robot = stopped(end_stops=EndStops(2e4, damping))
    robot.reset([0.0], [side * speed])
    before, deepest, lost, dt = total(robot), 0.0, 0.0, 0.1e-3
    while side * robot.qd[0] > 0.0 or robot.q[0] > 0.19 or robot.q[0] < -0.29:
        lost += robot.dissipation() * dt
        robot.step([0.0], dt)
        deepest = max(deepest, side * robot.q[0] - (0.2 if side > 0 else 0.3))
    assert deepest == pytest.approx(speed * np.sqrt(0.5 / 2e4), rel=0.1)
    left = -side * robot.qd[0]
    assert left == pytest.approx((1 - 2 / 3 * damping * speed) * speed, rel=0.01)
    assert before - total(robot) == pytest.approx(lost, rel=1e-2)
    free = stopped()
    free.reset([0.0], [side * speed])
    free.step([0.0], 1.0)
    assert abs(free.q[0]) > 0.4


def test_a_payload_is_added_without_losing_the_state():
    robot = make(friction=True)
    shake(robot)
    robot.step(TORQUE, 0.05)
    before = robot.state.copy()
    loaded = robot.model.with_payload("body3", 1.5, (0.1, 0, 0.1), 0.01 * np.eye(3))
    robot.set_model(loaded)
    np.testing.assert_array_equal(robot.state, before)
    fresh = ElasticRobot(loaded, robot.actuators)
    fresh.reset(robot.q, robot.qd, theta=robot.theta, thetad=robot.thetad)
    for each in (robot, fresh):
        each.step(TORQUE, 0.05)
    np.testing.assert_array_equal(robot.state, fresh.state)


def test_a_rejected_model_changes_nothing():
    robot, other = make(friction=True), make(friction=True)
    for each in (robot, other):
        shake(each)
    kept, step = robot.model, robot.step_size
    light = model_from_screws(kept.parents, kept.screws, kept.poses, 1e-12 * kept.inertias)
    counted_twice = robot.model.with_reflected_inertia(np.ones(robot.n))
    for model in (light, counted_twice):
        with pytest.raises(InputError):
            robot.set_model(model)
        assert robot.model is kept
        assert robot.step_size == step
        np.testing.assert_array_equal(robot.qdd, other.qdd)
    for each in (robot, other):
        each.step(TORQUE, 0.05)
    np.testing.assert_array_equal(robot.state, other.state)
