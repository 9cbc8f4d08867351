"""The four laws: placed poles, known static errors, and tracking on simulated arms with springs.

Where a law is exact the plant is the textbook's, integrated here with the torque recomputed at
every stage; elsewhere it is ElasticRobot with the torque held for 1 ms.
"""

from __future__ import annotations

from functools import cache
from math import comb, factorial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from multibody_dynamics.dynamics.controllers import (
    ComputedTorque,
    Controller,
    FeedbackLinearization,
    JointPoles,
    LinearFeedback,
    StateFeedbackGains,
    closed_loop_poles,
    inertias_felt,
    joint_resonances,
    motor_side_gains,
    optimal_gains,
    placed_gains,
)
from multibody_dynamics.dynamics.elastic_joints import SeriesElasticJoints, load_elastic_joints
from multibody_dynamics.dynamics.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.errors import InputError
from multibody_dynamics.dynamics.forward_dynamics import forward_dynamics
from multibody_dynamics.dynamics.inverse_dynamics import inverse_dynamics
from multibody_dynamics.dynamics.jacobians import jacobian
from multibody_dynamics.dynamics.mass_matrix import gravity_forces, mass_matrix
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.trajectories import Reference, hold, sum_of_sines
from robots import CONFIG, panda, random_state, two_link_planar

Robot = tuple[MultibodyModel, SeriesElasticJoints, np.ndarray]
FOUR_POLES = (-9.0, -16.0, -12.0 + 14.0j, -12.0 - 14.0j)
TWO_POLES = (-11.0, -18.0)
WRENCH = np.array([0.0, 0.0, 0.0, 2.0, 0.0, -3.0])


@cache
def elastic_panda() -> Robot:
    model = panda()
    joints = load_elastic_joints(CONFIG / "elastic_joints" / "panda.yaml", model.joint_names)
    return model, joints, np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])


@cache
def mixed_panda() -> Robot:
    """Joints 2, 4 and 7 without springs; friction everywhere, no limits."""
    model, joints, ready = elastic_panda()
    stiffness = joints.stiffness.copy()
    stiffness[[1, 3, 6]] = np.inf
    motors = {"viscous": joints.viscous, "coulomb": joints.coulomb, "coulomb_velocity": 0.2}
    joints = SeriesElasticJoints(model.joint_names, stiffness, joints.motor_inertia, **motors)
    return model, joints, ready


@cache
def planar() -> Robot:
    model = two_link_planar()
    joints = SeriesElasticJoints(
        model.joint_names, (400.0, 200.0), (0.5, 0.2), viscous=0.3, coulomb=0.3,
        coulomb_velocity=0.05,
    )  # fmt: skip
    return model, joints, np.array([0.3, -0.8])


@cache
def smooth_panda() -> Robot:
    """Without Coulomb friction, whose compensation a hold of 1 ms makes 2 % of a pole."""
    model, joints, ready = elastic_panda()
    springs = (joints.stiffness, joints.motor_inertia)
    return model, SeriesElasticJoints(model.joint_names, *springs, viscous=1.0), ready


ROBOTS = pytest.mark.parametrize("robot", [planar, elastic_panda, mixed_panda])


def exciting(robot: Robot, speed: float) -> Reference:
    model, _, offset = robot
    a, b = np.random.default_rng(4).uniform(-speed, speed, (2, model.n, 3))
    return sum_of_sines(model.joint_names, offset, a, b, 3.0, 2.0)


def slope(robot: Robot, state: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """d/dt of (q, q', theta, theta') (4, n) of the plant under motor torques."""
    model, joints, _ = robot
    q, qd, theta, thetad = state
    rigid = joints.is_rigid
    rotors = np.where(rigid, joints.motor_inertia, 0.0)
    coupled = model.with_reflected_inertia(rotors)
    spring = np.where(rigid, 0.0, joints.stiffness) * (theta - q) if not rigid.all() else 0.0
    Q = np.where(rigid, torque - joints.friction(thetad), np.nan_to_num(spring))
    qdd = forward_dynamics(coupled, q, qd, Q)
    with np.errstate(all="ignore"):
        thetadd = (torque - Q - joints.friction(thetad)) / joints.motor_inertia
    return np.array([qd, qdd, thetad, np.where(rigid, qdd, thetadd)])


def fitted_poles(error: np.ndarray, step: float, order: int) -> np.ndarray:
    """Prony: poles of the linear recurrence that samples `error` (k,) obey."""
    columns = np.lib.stride_tricks.sliding_window_view(error, order + 1)
    recurrence = np.linalg.lstsq(columns[:, :order], columns[:, order], rcond=None)[0]
    return np.sort_complex(np.log(np.roots([1.0, *-recurrence[::-1]]).astype(complex)) / step)


def all_poles(joints: SeriesElasticJoints) -> JointPoles:
    return JointPoles.from_poles(
        joints,
        {
            name: TWO_POLES if rigid else FOUR_POLES
            for name, rigid in zip(joints.joint_names, joints.is_rigid, strict=True)
        },
    )


def displaced(robot: Robot, reference: Reference) -> np.ndarray:
    """(4, n): off the reference in every state."""
    _, joints, _ = robot
    rng = np.random.default_rng(3)
    state = np.zeros((4, joints.n))
    hold_torque = gravity_forces(robot[0], reference(0.0)[0])
    state[0] = reference(0.0)[0] + rng.uniform(0.02, 0.05, joints.n)
    state[1] = rng.uniform(-0.3, 0.3, joints.n)
    state[2] = state[0] + joints.compliance * (hold_torque + rng.uniform(-1, 1, joints.n))
    state[3] = state[1] + np.where(joints.is_rigid, 0.0, rng.uniform(-0.05, 0.05, joints.n))
    return state


# Exact feedback linearisation


@ROBOTS
def test_feedback_linearization_places_the_poles_exactly(robot):
    """Along a moving reference, with the torque of every instant."""
    robot = robot()
    model, joints, _ = robot
    controller = FeedbackLinearization(model, joints, all_poles(joints))
    reference = exciting(robot, 0.5)

    def rates(t, x):
        state = x.reshape(4, -1)
        return slope(robot, state, controller.update(reference(t), *state)).ravel()

    times = np.linspace(0.0, 0.5, 26)
    start = displaced(robot, reference).ravel()
    run = solve_ivp(rates, (0, 0.5), start, "DOP853", times, rtol=1e-11, atol=1e-12)
    assert run.success
    error = reference.sample(times)[:, 0] - run.y.T.reshape(len(times), 4, -1)[:, 0]
    for i, rigid in enumerate(joints.is_rigid):
        poles = TWO_POLES if rigid else FOUR_POLES
        found = fitted_poles(error[:, i], times[1], len(poles))
        np.testing.assert_allclose(found, np.sort_complex(poles), rtol=1e-3)


@pytest.mark.parametrize(("robot", "bandwidth"), [(planar, 15.0), (smooth_panda, 50.0)])
def test_held_for_a_millisecond_the_error_still_decays_with_the_bandwidth(robot, bandwidth):
    """Of the bandwidths that could be, the one that fits the decay of each joint best."""
    robot = robot()
    model, joints, rest = robot
    poles = JointPoles.from_bandwidth(joints, bandwidth)
    controller = FeedbackLinearization(model, joints, poles)
    plant = ElasticRobot(model, joints)
    reference = hold(model.joint_names, rest)
    plant.reset(rest + 0.01)  # within the limits of the motors
    controller.update(reference(0.0), *plant.state)
    initial = (reference(0.0)[:4] - controller.motion[:4]).copy()
    duration = 8.0 / bandwidth
    errors = np.array([error for error, _ in drive(controller, plant, reference, duration)])
    times = 1e-3 * np.arange(len(errors))

    def decay(t, w, i):
        """Of (d/dt + w)^4 e = 0: exp(-w t) times a polynomial of the initial e .. e'''."""
        raised = [
            sum(comb(k, j) * w ** (k - j) * initial[j, i] for j in range(k + 1)) for k in range(4)
        ]
        return np.exp(-w * t) * sum(raised[k] * t**k / factorial(k) for k in range(4))

    for i in range(model.n):
        fit = minimize_scalar(
            lambda w, i=i: np.square(decay(times, w, i) - errors[:, i]).sum(),
            bounds=(0.7 * bandwidth, 1.4 * bandwidth),
            method="bounded",
        )
        assert fit.x == pytest.approx(bandwidth, rel=0.01)


@ROBOTS
def test_on_the_desired_motion_all_flat_laws_are_the_feedforward(robot):
    robot = robot()
    model, joints, _ = robot
    desired = exciting(robot, 1.0)(1.2)
    Q = inverse_dynamics(model, *desired)
    command = joints.feedforward(desired, Q)
    gains = StateFeedbackGains(joints.joint_names, np.full((4, model.n), 50.0))
    laws = (
        LinearFeedback(model, joints, gains),
        FeedbackLinearization(model, joints, all_poles(joints)),
    )
    for law in laws:
        torque = law.update(desired, *desired[:2], command.position, command.velocity)
        np.testing.assert_allclose(torque, command.torque, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(laws[1].motion[2:4], desired[2:4], atol=1e-7)


# The laws as they are written


def test_linear_feedback_and_computed_torque_by_hand():
    model, joints, rest = mixed_panda()
    desired, measured = random_state(model, 1), random_state(model, 2)[:4]
    desired[0] += rest
    measured[::2] += rest
    rng = np.random.default_rng(5)
    gains = StateFeedbackGains(joints.joint_names, rng.uniform(-50, 50, (4, model.n)))
    Q = inverse_dynamics(model, *desired)
    for variant in ("full", "quasi_static"):
        flat = joints.feedforward(desired, Q, variant=variant)
        error = np.array([*desired[:2], flat.position, flat.velocity]) - measured
        torque = LinearFeedback(model, joints, gains, variant=variant).update(desired, *measured)
        wanted = flat.torque + (gains.values * error).sum(axis=0)
        np.testing.assert_allclose(torque, wanted, rtol=1e-10, atol=1e-9)
    for feedback, rows in (("link", measured[:2]), ("motor", measured[2:])):
        law = ComputedTorque(model, joints, 30.0, rng.uniform(1, 9, 7), feedback=feedback)
        q, qd = rows
        kp, kd = law.gains
        qdd = desired[2] + kd * (desired[1] - qd) + kp * (desired[0] - q)
        wanted = inverse_dynamics(model, q, qd, qdd).tau
        wanted = wanted + joints.motor_inertia * qdd + joints.friction(qd)
        np.testing.assert_allclose(law.update(desired, *measured), wanted, rtol=1e-10, atol=1e-9)


def test_computed_torque_is_exact_on_a_rigid_arm():
    model, _, rest = planar()
    joints = SeriesElasticJoints(model.joint_names, np.inf, 0.3, viscous=0.5)
    law = ComputedTorque(model, joints, 200.0, 30.0)
    exact = FeedbackLinearization(model, joints, JointPoles.from_poles(joints, (-10.0, -20.0)))
    desired, state = random_state(model, 7), random_state(model, 8)[[0, 1, 0, 1]]
    torque = law.update(desired, *state)
    np.testing.assert_allclose(torque, exact.update(desired, *state), rtol=1e-12, atol=1e-11)
    qdd = slope((model, joints, rest), state, torque)[1]
    error = desired[:2] - state[:2]
    np.testing.assert_allclose(qdd, desired[2] + 30.0 * error[1] + 200.0 * error[0], rtol=1e-10)


# Design


@pytest.mark.parametrize("stiffness", [(400.0, 200.0), (400.0, np.inf), (np.inf, 200.0)])
def test_each_joint_by_itself_gets_its_poles(stiffness):
    model, _, rest = planar()
    joints = SeriesElasticJoints(model.joint_names, stiffness, (0.5, 0.2), viscous=0.3)
    poles = JointPoles.from_poles(
        joints,
        {
            name: (-30.0, -35.0) if rigid else (-25.0, -30.0, -40.0 + 10.0j, -40.0 - 10.0j)
            for name, rigid in zip(joints.joint_names, joints.is_rigid, strict=True)
        },
    )
    gains = placed_gains(model, joints, rest, poles)
    for found, wanted in zip(gains.joint_poles, poles.poles, strict=True):
        np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(wanted), rtol=1e-6)
    assert gains.poles.real.max() < 0.0


@ROBOTS
def test_closed_loop_poles_are_those_of_the_linearised_plant(robot):
    robot = robot()
    model, joints, rest = robot
    gains = optimal_gains(model, joints, rest, 15.0)
    joints_without_coulomb = SeriesElasticJoints(
        joints.joint_names, joints.stiffness, joints.motor_inertia, viscous=joints.viscous
    )
    smooth = (model, joints_without_coulomb, rest)
    controller = LinearFeedback(model, joints_without_coulomb, gains)
    desired = hold(model.joint_names, rest)(0.0)
    bent = rest + joints.compliance * gravity_forces(model, rest)
    equilibrium = np.array([rest, 0 * rest, bent, 0 * rest])
    rigid, free = joints.is_rigid, ~joints.is_rigid
    columns = []
    for k in range(4):
        for i in np.flatnonzero(free) if k >= 2 else range(model.n):
            change = np.zeros((4, model.n))
            change[k, i] = 1e-5
            if rigid[i]:
                change[k + 2, i] = 1e-5
            ends = [
                slope(smooth, x, controller.update(desired, *x))
                for x in (equilibrium + change, equilibrium - change)
            ]
            rate = (ends[0] - ends[1]) / 2e-5
            columns.append(np.concatenate([rate[0], rate[1], rate[2, free], rate[3, free]]))
    wanted = np.linalg.eigvals(np.array(columns).T)
    found = closed_loop_poles(model, joints, gains, rest)
    assert len(found) == len(wanted) == 4 * free.sum() + 2 * rigid.sum()
    for pole in found:
        assert np.abs(wanted - pole).min() < 1e-3 * np.abs(found).max() * 0.1
    np.testing.assert_allclose(wanted.sum(), found.sum(), rtol=1e-5)
    np.testing.assert_allclose(np.abs(wanted).prod(), np.abs(found).prod(), rtol=1e-3)
    np.testing.assert_array_equal(found, gains.poles)


@ROBOTS
def test_optimal_gains_keep_the_margins_of_linear_quadratic_design(robot):
    """Kalman: the return difference |1 + g (jw - A)^-1 b| is at least one at every frequency."""
    model, joints, rest = robot()
    values = optimal_gains(model, joints, rest, np.linspace(10.0, 20.0, model.n)).values
    felt = inertias_felt(model, joints, rest)
    s = 1j * np.geomspace(0.1, 1e4, 400)
    for i in range(model.n):
        m, b, d, K = felt[i], joints.motor_inertia[i], joints.viscous[i], joints.stiffness[i]
        if joints.is_rigid[i]:
            link = motor = 1 / (m * s**2 + d * s)
        else:
            motor = (m * s**2 + K) / ((m * s**2 + K) * (b * s**2 + d * s + K) - K**2)
            link = motor * K / (m * s**2 + K)
        g = values[:, i]
        loop = (g[0] + g[1] * s) * link + (g[2] + g[3] * s) * motor
        assert np.abs(1 + loop).min() > 1 - 1e-6


def test_the_inertia_felt_is_that_of_a_push_on_one_joint():
    model, joints, rest = mixed_panda()
    felt = inertias_felt(model, joints, rest)
    coupled = model.with_reflected_inertia(np.where(joints.is_rigid, joints.motor_inertia, 0.0))
    for i in range(7):
        push = np.eye(7)[i]
        qdd = forward_dynamics(coupled.with_gravity((0, 0, 0)), rest, np.zeros(7), push)
        assert felt[i] == pytest.approx(1 / qdd[i], rel=1e-10)
    with_motors = SeriesElasticJoints(model.joint_names, 500.0, 0.2)
    plant = ElasticRobot(model, with_motors)
    fastest = joint_resonances(model, with_motors, rest).max()
    assert fastest == pytest.approx(np.abs(plant.modes(rest)[0]).max(), rel=0.05)
    assert np.isinf(joint_resonances(model, joints, rest)[joints.is_rigid]).all()
    assert (felt <= np.diag(mass_matrix(coupled, rest)) + 1e-12).all()


# On simulated arms


def drive(controller: Controller, plant: ElasticRobot, reference: Reference, duration: float):
    """(error of the links, joint torque) at every millisecond, the torque held in between."""
    for k in range(round(duration * 1e3)):
        desired = reference(reference.start_time + 1e-3 * k)
        yield desired[0] - plant.q, plant.joint_torque.copy()
        plant.step(controller.update(desired, *plant.state), 1e-3)


def laws(robot: Robot, bandwidth: float) -> dict[str, Controller]:
    model, joints, rest = robot
    b = joints.motor_inertia + np.where(joints.is_rigid, inertias_felt(*robot), 0.0)
    pd = motor_side_gains(joints, 40.0**2 * b, 2 * 40.0 * b)
    return {
        "quasi-static PD": LinearFeedback(model, joints, pd, variant="quasi_static"),
        "flat PD": LinearFeedback(model, joints, pd),
        "state feedback": LinearFeedback(model, joints, optimal_gains(model, joints, rest, 20.0)),
        "linearising": FeedbackLinearization(
            model, joints, JointPoles.from_bandwidth(joints, bandwidth)
        ),
        "computed torque": ComputedTorque(model, joints, 40.0**2, 2 * 40.0),
    }


def rms_errors(robot: Robot, speed: float, bandwidth: float) -> dict[str, float]:
    reference = exciting(robot, speed)
    plant = ElasticRobot(*robot[:2])
    result = {}
    for name, law in laws(robot, bandwidth).items():
        plant.reset(reference(0.0)[0])
        errors = [error for error, _ in drive(law, plant, reference, reference.duration)]
        result[name] = float(np.sqrt(np.mean(np.square(errors))))
    return result


@pytest.mark.parametrize(
    ("robot", "speed", "bandwidth", "factor"),
    [(planar, 1.0, 40.0, 500.0), (elastic_panda, 0.7, 60.0, 10.0), (mixed_panda, 0.7, 60.0, 4.0)],
)
def test_order_of_tracking_errors_on_a_fast_motion(robot, speed, bandwidth, factor):
    rms = rms_errors(robot(), speed, bandwidth)
    flat = max(rms["flat PD"], rms["state feedback"], rms["linearising"])
    assert factor * max(rms["state feedback"], rms["linearising"]) < rms["quasi-static PD"]
    assert flat < 1e-3
    assert 2.0 * rms["quasi-static PD"] < rms["computed torque"]


def settled_error(law: Controller, plant: ElasticRobot, reference: Reference) -> np.ndarray:
    *_, (error, _) = drive(law, plant, reference, 3.0)
    return error


def test_a_step_disturbance_leaves_the_error_that_the_loop_is_stiff_for():
    """A constant wrench: the error goes where statics put it, and back when the wrench is gone.

    Under feedback linearisation the wrench d shows as an acceleration a = -M^-1 d that is none,
    and the motors rest where theta'' = a + K^-1 Q'' = 0 at (q, 0, a, 0, v), v = k_0 e - k_2 a.
    Told of the wrench, no law leaves an error.
    """
    model, joints, rest = planar()
    joints = SeriesElasticJoints(
        model.joint_names, joints.stiffness, joints.motor_inertia, viscous=1
    )
    plant = ElasticRobot(model, joints)
    reference = hold(model.joint_names, rest)
    poles = JointPoles.from_bandwidth(joints, 25.0)
    gains = optimal_gains(model, joints, rest, 20.0)
    for law in (FeedbackLinearization(model, joints, poles), LinearFeedback(model, joints, gains)):
        plant.reset(rest)
        plant.applied_wrenches[-1] = WRENCH
        error = settled_error(law, plant, reference)
        J = jacobian(model, plant.q, model.body_names[-1])
        push = J.T @ plant.applied_wrenches[-1]
        assert np.abs(error).min() > 1e-4
        if isinstance(law, FeedbackLinearization):
            zero = np.zeros(2)
            a = -np.linalg.solve(mass_matrix(model, plant.q), push)
            bias = inverse_dynamics(model, plant.q, zero, a, zero, zero).tau_ddot
            v = -np.linalg.solve(mass_matrix(model, plant.q), bias + joints.stiffness * a)
            wanted = (v + poles.coefficients[2] * a) / poles.coefficients[0]
            np.testing.assert_allclose(error, wanted, rtol=1e-5)
        else:
            balance = gravity_forces(model, plant.q) - push
            held = gravity_forces(model, rest)
            theta_error = error + joints.compliance * (held - balance)
            feedback = gains.values[0] * error + gains.values[2] * theta_error
            np.testing.assert_allclose(held + feedback, balance, rtol=1e-5)
        law.external_torque[:] = jacobian(model, rest, model.body_names[-1]).T @ WRENCH
        assert np.abs(settled_error(law, plant, reference)).max() < 1e-6
        plant.applied_wrenches[:] = law.external_torque[:] = 0.0
        assert np.abs(settled_error(law, plant, reference)).max() < 1e-6


def test_a_payload_is_held_where_it_should_be_if_known_and_held_if_not():
    model, joints, rest = elastic_panda()
    joints = SeriesElasticJoints(
        model.joint_names, joints.stiffness, joints.motor_inertia, viscous=1
    )
    loaded = model.with_payload(model.body_names[-1], 2.0, (0, 0, 0.1), np.eye(3) * 0.001)
    reference = hold(model.joint_names, rest)
    poles = JointPoles.from_bandwidth(joints, 60.0)
    gains = optimal_gains(model, joints, rest, 15.0)
    for law in (FeedbackLinearization(model, joints, poles), LinearFeedback(model, joints, gains)):
        plant = ElasticRobot(loaded, joints)
        plant.reset(rest)
        law.set_model(loaded)
        for error, _ in drive(law, plant, reference, 0.3):
            assert np.abs(error).max() < 1e-9
        law.set_model(model)
        assert 1e-3 < np.abs(settled_error(law, plant, reference)).max() < 0.2


# Bad input


def test_poles_that_cannot_be_are_refused_by_name():
    _, joints, _ = mixed_panda()
    good = {
        name: TWO_POLES if rigid else FOUR_POLES
        for name, rigid in zip(joints.joint_names, joints.is_rigid, strict=True)
    }
    for change, message in (
        ({"panda_joint1": (-1, -2, 3, -4)}, r"'panda_joint1': pole 3.*must be negative"),
        ({"panda_joint1": (-1, -2, 0, -4)}, r"'panda_joint1': pole .*must be negative"),
        ({"panda_joint1": (-1, -2, np.nan, -4)}, r"'panda_joint1': pole .*must be negative"),
        ({"panda_joint1": (-1, -2)}, "'panda_joint1': an elastic joint takes 4 poles"),
        ({"panda_joint2": FOUR_POLES}, "'panda_joint2': a rigid joint takes 2 poles"),
        ({"panda_joint3": (-1, -2, -3 + 1j, -3)}, "'panda_joint3'.*conjugate pairs"),
        ({"panda_joint3": "fast"}, "'panda_joint3': poles 'fast'"),
        ({"elbow": FOUR_POLES}, r"unknown \['elbow'\]"),
    ):
        with pytest.raises(InputError, match=message):
            JointPoles.from_poles(joints, good | change)
    del good["panda_joint5"]
    with pytest.raises(InputError, match=r"missing \['panda_joint5'\]"):
        JointPoles.from_poles(joints, good)
    with pytest.raises(InputError, match="'panda_joint2': bandwidth is -3"):
        JointPoles.from_bandwidth(joints, [1, -3, 1, 1, 1, 1, 1])
    with pytest.raises(InputError, match="bandwidth: expected"):
        JointPoles.from_bandwidth(joints, [1.0, 2.0])


def test_a_design_that_the_whole_arm_cannot_stand_is_refused():
    model, joints, rest = elastic_panda()
    with pytest.raises(InputError, match="the whole arm has a pole at"):
        placed_gains(model, joints, rest, JointPoles.from_bandwidth(joints, 30.0))


def test_controllers_refuse_what_does_not_fit():
    model, joints, _ = planar()
    _, others, _ = elastic_panda()
    poles = JointPoles.from_bandwidth(joints, 10.0)
    gains = motor_side_gains(joints, 100.0, 10.0)
    with pytest.raises(InputError, match="robot 'two_link_planar' has shoulder, elbow"):
        ComputedTorque(model, others, 1.0, 1.0)
    with pytest.raises(InputError, match="poles of panda_joint1"):
        FeedbackLinearization(model, joints, JointPoles.from_bandwidth(others, 10.0))
    with pytest.raises(InputError, match="gains of panda_joint1"):
        LinearFeedback(model, joints, motor_side_gains(others, 1.0, 1.0))
    with pytest.raises(InputError, match="rotor"):
        FeedbackLinearization(model.with_reflected_inertia([0.1, 0.0]), joints, poles)
    with pytest.raises(InputError, match="variant 'fast'"):
        LinearFeedback(model, joints, gains, variant="fast")
    with pytest.raises(InputError, match="feedback 'both': expected one of motor, link"):
        ComputedTorque(model, joints, 1.0, 1.0, feedback="both")
    with pytest.raises(InputError, match="'elbow': derivative is -1"):
        motor_side_gains(joints, 1.0, [1.0, -1.0])
    with pytest.raises(InputError, match=r"gains: expected shape \(\.\.\., 4, 2\)"):
        StateFeedbackGains(joints.joint_names, np.zeros((3, 2)))


def test_bad_measurements_are_refused_by_name_and_leave_the_torque():
    model, joints, rest = planar()
    law = FeedbackLinearization(model, joints, JointPoles.from_bandwidth(joints, 10.0))
    desired = hold(model.joint_names, rest)(0.0)
    zero = np.zeros(2)
    torque = law.update(desired, rest, zero, rest, zero)
    assert torque is law.torque
    before = torque.copy()
    for change, message in (
        ((desired, rest, zero, [0.1, np.nan], zero), "theta.*elbow"),
        ((desired, rest, zero, rest, [0.0]), "thetad: expected shape"),
        ((desired[:4], rest, zero, rest, zero), "expected desired q.*got 4 rows"),
        ((desired + np.inf, rest, zero, rest, zero), "desired q"),
        ((None, rest, zero, rest, zero), "desired: expected a sequence of rows"),
    ):
        with pytest.raises(InputError, match=message):
            law.update(*change)
        np.testing.assert_array_equal(law.torque, before)
