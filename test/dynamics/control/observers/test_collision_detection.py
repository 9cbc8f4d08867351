# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Collision detection against known contacts, and its filters."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from collision_runs import PERIOD, Run, learned, robot, wrong
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.observers.collision_detection import (
    MEMORY,
    RELEASE,
    REVERSAL,
    SETTLING,
)
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Actuators, Motor, Rigid, SpringSolver
from robots import panda

NAMES = robot()[0].joint_names


def thresholds(constant: float = 1.0, **terms: float) -> control.CollisionThresholds:
    rows = np.zeros((len(control.KINDS), len(control.TERMS), 2))
    rows[:, 0] = constant
    for name, value in terms.items():
        rows[:, control.TERMS.index(name)] = value
    return control.CollisionThresholds(NAMES, rows)


def at_rest(detector: control.CollisionDetector, seconds: float, external=0.0, start: float = 0.0):
    """Residuals (k, 2, 2) of the arm at rest at q = 0, with an external torque on the shoulder that
    the torque Q balances."""
    model = detector.model
    q, tau = np.zeros(2), np.array([1.0, 0.0])
    weight = dyn.gravity_forces(model, q)
    rows = []
    for k in range(round(seconds / PERIOD)):
        detector.update(start + k * PERIOD, q, 0.0 * q, weight - external * tau)
        rows.append(detector.residual.copy())
    return np.array(rows)


def test_a_sudden_torque_passes_both_filters_as_their_equations_say():
    detector = control.CollisionDetector(*robot(), thresholds(1e6))
    at_rest(detector, 0.5)
    found = at_rest(detector, 0.3, external=4.0, start=0.5)[:, :, 0]
    W, w = detector.settings.bandwidth, detector.settings.high_pass

    def rates(t, x):
        before = np.append(4.0, x[:3])
        return np.append(W * (before - x[:4]), w * (x[3] - x[4]))

    t = PERIOD * np.arange(1, 301)
    wanted = solve_ivp(rates, (0.0, 0.3), np.zeros(5), t_eval=t, rtol=1e-10, atol=1e-12).y
    # In the first step, the trapezoidal rule sees half of a torque that jumps between two samples.
    np.testing.assert_allclose(found[5:, control.PUSH], wanted[3, 5:], atol=4.0 * W * PERIOD / 8)
    np.testing.assert_allclose(found[80:, control.PUSH], 4.0, atol=1e-4)
    np.testing.assert_allclose(found[5:, control.HIT], wanted[3, 5:] - wanted[4, 5:], atol=0.13)


def cycle_of(detector: control.CollisionDetector):
    """A function that runs one cycle of the moving arm, seen with the wrong model, under an
    announced and an unexpected force at the hand in N; it returns whether there is a contact."""
    model, actuators = detector.model, wrong()[1]
    estimator = control.StateEstimator(
        model, actuators, control.StateEstimation("link_and_motor_encoders", 100.0)
    )
    springs, run = SpringSolver(actuators, *estimator.state), Run(3.0, seed=5)

    def cycle(announced: float = 0.0, unexpected: float = 0.0, is_told: bool = True) -> bool:
        t, q, theta = run.step(announced + unexpected)
        estimator.update(t, link_position=q, motor_position=theta)
        springs.update()
        state = estimator.state
        known = dyn.jacobian(model, state.q, 1, representation="spatial").T @ (
            run.plant.applied_wrenches[1] * announced / (announced + unexpected or 1.0)
        )
        told = known if is_told else None
        return detector.update(t, state.q, state.qd, springs.torque, told)

    return cycle


def test_errors_of_the_model_stay_below_thresholds_learned_from_another_motion():
    """At twice the speed of the recording, with a model that is 10 % off."""
    found = learned()
    assert found.held_out.max() < 1.0
    detector = control.CollisionDetector(*wrong(), found.thresholds)
    cycle, times = cycle_of(detector), []
    for _ in range(4000):
        assert not cycle()
    assert detector.is_settled
    assert np.abs(detector.residual[control.PUSH]).max() > 0.0
    # and hits of 40 N are found within 20 ms, each
    for _ in range(4):
        for k in range(21):
            if cycle(unexpected=40.0):
                times.append(k)
                break
        for _ in range(700):
            cycle()
        assert not detector.is_contact
    assert len(times) == 4


def test_a_contact_ends_below_the_release_and_restarts_settle_first():
    detector = control.CollisionDetector(*robot(), thresholds(1.0))
    at_rest(detector, 0.1, external=5.0)
    assert not detector.is_settled
    assert not detector.is_contact
    at_rest(detector, 0.2, external=5.0, start=0.1)  # an offset from the start is a push
    assert detector.is_settled
    assert detector.is_contact
    assert detector.worst == (control.PUSH, 0)
    assert detector.joint == "shoulder"
    assert detector.torque == pytest.approx(5.0, rel=1e-6)
    at_rest(detector, 0.3, external=0.8, start=0.3)
    assert detector.is_contact  # between release and threshold
    at_rest(detector, 0.5, external=0.9 * RELEASE, start=0.6)
    assert not detector.is_contact
    starts = detector.starts
    at_rest(detector, 0.5 * SETTLING, external=5.0, start=9.0)  # a gap
    assert detector.starts == starts + 1
    assert not detector.is_contact
    detector.update(9.09, np.zeros(2), np.zeros(2), np.zeros(2))  # an old sample changes nothing
    assert detector.starts == starts + 1


def test_thresholds_follow_the_filtered_terms_of_the_motion():
    model, actuators = robot()
    q, qd, Q = np.array([0.3, -0.2]), np.array([0.4, 0.01]), np.array([20.0, 5.0])
    g = dyn.gravity_forces(model, q)
    wanted = {
        "motion": np.abs(Q - g),
        "gravity": np.abs(g),
        "speed": np.abs(qd),
        "reversal": np.tanh(qd / REVERSAL),
        "other_motion": np.full(2, np.abs(Q - g).sum()),
        "other_gravity": np.full(2, np.abs(g).sum()),
    }
    for name, value in wanted.items():
        detector = control.CollisionDetector(model, actuators, thresholds(0.5, **{name: 2.0}))
        detector.scale = 3.0
        for k in range(1000):
            detector.update(k * PERIOD, q, qd, Q)
        np.testing.assert_allclose(
            detector.threshold[control.PUSH], 3.0 * (0.5 + 2.0 * value), rtol=1e-6
        )
        np.testing.assert_allclose(
            detector.threshold[control.HIT], 1.5, rtol=0.01
        )  # nothing changes


def test_before_is_the_slow_part_of_before_a_contact():
    detector = control.CollisionDetector(*robot(), thresholds(1e6))
    at_rest(detector, 2.0, external=1.5)
    at_rest(detector, 0.9 * MEMORY, external=30.0, start=2.0)
    assert detector.before[0] == pytest.approx(1.5, rel=1e-3)
    detector.reset()
    assert not detector.before.any()


def test_the_torque_on_the_links_comes_from_sensor_spring_or_rigid_motor():
    motor = Motor(0.1)
    joint = robot()[1].actuators[0]
    actuators = Actuators(
        ("a", "b", "c"),
        (joint, Rigid(motor), joint),
        ("torque_sensor", "motor_torque", "spring_deflection"),
    )
    springs, motors = np.array([1.0, np.nan, 3.0]), np.array([10.0, 20.0, 30.0])
    signals = {"joint_torque": np.array([7.0, np.nan, np.nan])}
    both = "link_position", "motor_position", "joint_torque"
    driving = control.DrivingTorque(actuators, both)
    np.testing.assert_array_equal(driving.of(springs, signals, motors), [7.0, 20.0, 3.0])
    driving = control.DrivingTorque(actuators, both[:2])
    np.testing.assert_array_equal(driving.of(springs, {}, motors), [1.0, 20.0, 3.0])
    signals = {"joint_torque": np.array([7.0, 8.0, 9.0])}
    driving = control.DrivingTorque(actuators, both[1:])
    np.testing.assert_array_equal(driving.of(springs, signals, motors), [7.0, 20.0, 9.0])


def test_a_robot_with_other_joints_and_bad_states_are_refused():
    model = panda()
    actuators = Actuators(model.joint_names, [Rigid(Motor(0.0))] * 7)
    with pytest.raises(InputError, match="the thresholds are for the joints shoulder, elbow"):
        control.CollisionDetector(model, actuators, thresholds())
    detector = control.CollisionDetector(*robot(), None, control.DetectionSettings(bandwidth=100.0))
    assert detector.settings.bandwidth == 100.0
    with pytest.raises(InputError, match=r"'elbow'.*nan"):
        detector.update(0.0, [0.0, np.nan], np.zeros(2), np.zeros(2))
    at_rest(detector, 1.0, external=100.0)
    assert not detector.is_contact  # without thresholds


def test_announced_torques_are_no_contact_and_do_not_hide_one():
    """A force of 60 N that comes, stays and goes; then an unexpected one of 40 N on top of it."""
    detector = control.CollisionDetector(*wrong(), learned().thresholds)
    cycle = cycle_of(detector)
    forces = 60.0 * np.sin(np.linspace(0.0, np.pi, 600)) ** 2
    for force in (*np.zeros(400), *forces, *np.zeros(200)):
        assert not cycle(force)
    assert any(cycle(force, is_told=False) for force in forces)
    for force in np.zeros(700):
        cycle(force)
    assert not detector.is_contact
    for k in range(200):
        assert not cycle(min(k, 100) * 0.4)
    assert any(cycle(40.0, 40.0) for _ in range(21))


def announced_late(detector: control.CollisionDetector, load: float, late: int):
    """Residuals (700,) at the shoulder, and whether there was a contact, of an arm at rest under a
    load in N m that comes after 0.4 s and is announced `late` ms later."""
    q, weight = np.zeros(2), dyn.gravity_forces(robot()[0], np.zeros(2))
    torque, residuals, found = np.array([load, 0.0]), [], False
    for k in range(700):
        acts, told = (k >= 400) * torque, (k >= 400 + late) * torque
        found |= detector.update(k * PERIOD, q, 0.0 * q, weight - acts, told)
        residuals.append(float(detector.residual[control.PUSH, 0]))
    return np.array(residuals), found


def test_a_wrench_that_is_announced_late_shows_as_the_filter_says():
    """A step that is announced d s late is a pulse of that length for the filter: its residual is
    at most d times the peak of the impulse response, 27 W e^-3 / 6."""
    late, detector = 4, control.CollisionDetector(*robot(), thresholds(1e6))
    residuals, _ = announced_late(detector, 5.0, late)
    peak = 27.0 / 6.0 * np.exp(-3.0) * detector.settings.bandwidth
    assert residuals.max() == pytest.approx(5.0 * peak * late * PERIOD, rel=0.1)
    np.testing.assert_allclose(detector.residual[control.PUSH], 0.0, atol=1e-6)


@pytest.mark.parametrize(("late", "least"), [(2, 2.0), (3, 3.6)])
def test_how_late_a_load_of_30_N_m_may_be_announced(late, least):
    """docs/collisions.md: below the threshold `least`, which rises by a fifth of what is announced,
    a load that is announced `late` ms late is a contact."""
    for threshold in (0.95 * least, 1.05 * least):
        detector = control.CollisionDetector(*robot(), thresholds(threshold))
        assert announced_late(detector, 30.0, late)[1] == (threshold < least)
