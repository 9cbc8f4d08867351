# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear feedback and computed torque: against their formulas, and in closed loop."""

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics.control import (
    Computed,
    ComputedTorque,
    Controller,
    DisturbanceObserver,
    FeedbackLinearization,
    JointPoles,
    LinearFeedback,
    StateFeedbackGains,
    at_rest,
    motor_bandwidth_gains,
    motor_side_gains,
    optimal_gains,
)
from multibody_dynamics.dynamics.core import DynamicsError, InputError
from multibody_dynamics.dynamics.elastic import Motor, Rigid, SpringSolver, motor_motion
from multibody_dynamics.dynamics.rigid import (
    InverseDynamicsSolver,
    gravity_forces,
    inverse_dynamics,
)
from rejections import assert_rejected
from robots import random_state

# Against their formulas


@pytest.mark.parametrize("arm", arms.EVERY_ARM)
def test_linear_feedback_by_hand(arm):
    """Feedforward at `ahead`, feedback now, half of the friction, external torques."""
    arm = arm()
    model, actuators, _ = arm
    rng = np.random.default_rng(5)
    n, m = model.n, len(actuators.motors)
    gains = StateFeedbackGains(actuators.motor_names, rng.uniform(-50, 50, (4, m)))
    law = LinearFeedback(model, actuators, gains, friction=0.5)
    reference, second = arms.exciting(arm, 0.4), at_rest(*arm).second
    now, ahead = reference(0.7), reference(0.701)
    measured = [rng.normal(size=k) for k in (n, n, m, m)]
    torque = law.update(now, *measured, stiffness=second, ahead=ahead)
    wanted, later = (arms.flat_motion(arm, each, second)[1] for each in (now, ahead))
    joint = actuators.joint_of_motor
    error = [
        (now[0] - measured[0])[joint],
        (now[1] - measured[1])[joint],
        wanted.position - measured[2],
        wanted.velocity - measured[3],
    ]
    expected = later.torque - 0.5 * actuators.friction(later.velocity)
    expected = expected + (gains.values * error).sum(axis=0)
    np.testing.assert_allclose(torque, expected, rtol=1e-9, atol=1e-8)
    world = rng.normal(size=n)
    law.external_torque[:] = world
    law.gains = motor_side_gains(actuators, 0.0, 0.0)
    law.reset()
    pushed = law.update(now, *measured, stiffness=second)
    alone = np.stack(inverse_dynamics(model, *now)) - [world, 0 * world, 0 * world]
    bent = actuators.settled_deflection(alone)
    other = motor_motion(actuators, now, alone, second, deflection=bent)
    half = 0.5 * actuators.friction(other.velocity)
    np.testing.assert_allclose(pushed, other.torque - half, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize(
    "arm", [arms.linear_arm, arms.nonlinear_arm, arms.damped_arm, arms.mixed_panda]
)
def test_computed_torque_by_hand(arm):
    model, actuators, _ = arm()
    desired, measured = random_state(model, 1), random_state(model, 2)[:4]
    rng = np.random.default_rng(5)
    for feedback, rows in (("link", measured[:2]), ("motor", measured[2:])):
        law = ComputedTorque(model, actuators, 30.0, rng.uniform(1, 9, model.n), feedback=feedback)
        q, qd = rows
        kp, kd = law.gains
        qdd = desired[2] + kd * (desired[1] - qd) + kp * (desired[0] - q)
        wanted = inverse_dynamics(model, q, qd, qdd).tau
        wanted = wanted + actuators.motor_inertia * qdd + actuators.friction(qd)
        np.testing.assert_allclose(law.update(desired, *measured), wanted, rtol=1e-10, atol=1e-9)


def test_on_a_rigid_arm_computed_torque_is_feedback_linearization():
    motor = Motor(0.3, viscous=0.5)
    model, actuators, _ = arms.two_links(Rigid(motor), Rigid(motor))
    law = ComputedTorque(model, actuators, 200.0, 30.0)
    poles = JointPoles.from_poles(actuators, (-10.0, -20.0))
    exact = FeedbackLinearization(model, actuators, poles)
    desired, state = random_state(model, 7), random_state(model, 8)[[0, 1, 0, 1]]
    torque = law.update(desired, *state)
    np.testing.assert_allclose(torque, exact.update(desired, *state), rtol=1e-12, atol=1e-11)


def test_computed_torque_takes_the_mean_of_two_motors_and_sets_their_pretension():
    arm = arms.antagonistic_arm()
    rest = at_rest(*arm)
    law = ComputedTorque(arm.model, arm.actuators, 0.0, 0.0)
    second = rest.second.copy()
    second[0] = 300.0
    desired = arms.still(arm)
    theta = arm.rest[[0, 1, 1]] + [0.0, 0.1, -0.1]
    torque = law.update(desired, arm.rest, np.zeros(2), theta, np.zeros(3), stiffness=second)
    Q = gravity_forces(arm.model, arm.rest)
    assert torque[0] == pytest.approx(Q[0])
    assert torque[1] + torque[2] == pytest.approx(Q[1])
    phi = max(np.roots([3 * 300.0, 2 * 400.0, 60.0 - 150.0]).real)  # both springs: half of 300
    tension = 60.0 * phi + 400.0 * phi**2 + 300.0 * phi**3
    assert torque[1] - torque[2] == pytest.approx(2.0 * tension)


# In closed loop


def laws(arm: arms.Arm, bandwidth: float) -> dict[str, Controller]:
    model, actuators, rest = arm
    pd = motor_bandwidth_gains(model, actuators, rest, 40.0)
    poles = JointPoles.from_bandwidth(actuators, bandwidth)
    return {
        "computed torque": ComputedTorque(model, actuators, 40.0**2, 2 * 40.0),
        "quasi-static PD": LinearFeedback(model, actuators, pd, variant="quasi_static"),
        "linearising": FeedbackLinearization(model, actuators, poles, lead=0.5e-3),
        "state feedback": LinearFeedback(
            model, actuators, optimal_gains(model, actuators, rest, 20.0)
        ),
    }


@pytest.mark.parametrize(
    ("arm", "bandwidth", "factor"),
    [
        (arms.linear_arm, 40.0, 100.0),
        (arms.nonlinear_arm, 40.0, 100.0),
        (arms.damped_arm, 40.0, 100.0),
        (arms.variable_arm, 40.0, 100.0),
        (arms.antagonistic_arm, 40.0, 20.0),
        (arms.elastic_panda, 60.0, 20.0),
    ],
)
def test_order_of_tracking_errors_on_a_fast_motion(arm, bandwidth, factor):
    """The flat laws, with feedforward half a cycle ahead, against those that are not flat."""
    arm = arm()
    reference = arms.exciting(arm, 0.5)
    peak = {
        name: arms.peak_error(arm, law, reference, 250, 0.5e-3)
        for name, law in laws(arm, bandwidth).items()
    }
    flattest = max(peak["linearising"], peak["state feedback"])
    assert factor * flattest < min(peak["quasi-static PD"], peak["computed torque"])


@pytest.mark.parametrize("arm", [arms.antagonistic_arm, arms.elastic_panda])
def test_a_lead_of_half_a_cycle_compensates_for_holding_the_torque(arm):
    arm = arms.without_coulomb(arm())
    gains = optimal_gains(*arm, 20.0)
    poles = JointPoles.from_bandwidth(arm.actuators, 60.0)

    def error(kind, design, ahead, **options):
        law = kind(*arm[:2], design, **options)
        return arms.peak_error(arm, law, arms.exciting(arm, 0.5), 250, ahead)

    held, ahead = (error(LinearFeedback, gains, each) for each in (0.0, 0.5e-3))
    assert 30.0 * ahead < held
    held = error(FeedbackLinearization, poles, 0.0)
    assert 10.0 * error(FeedbackLinearization, poles, 0.5e-3, lead=0.5e-3) < held


def weak_shoulder(limit: float) -> arms.Arm:
    return arms.two_links(
        arms.series(400.0, Motor(0.5, viscous=0.3, torque_limit=limit)), arms.series(200.0)
    )


@pytest.mark.parametrize("kind", ["integral", "integral without anti-windup", "observer"])
def test_a_saturated_motor_does_not_wind_up_an_integral(kind):
    """The shoulder saturates and, with an integral, is stuck for a second before it moves. The
    overshoot is that of the law without an integral, except without anti-windup."""
    arm = weak_shoulder(1.3 * abs(gravity_forces(*weak_shoulder(1.0)[::2])[0]))
    model, actuators, rest = arm
    limit = actuators.torque_limit
    gains = optimal_gains(model, actuators, rest, 12.0)

    def overshoot(integral: float, reports: bool, observes: bool) -> tuple[float, float]:
        law = LinearFeedback(model, actuators, gains, integral=integral)
        observer = DisturbanceObserver.of_motors(model, actuators, 20.0)
        plant = arms.plant_on(arm._replace(rest=rest - [0.4, 0.0]))
        desired, worst = arms.still(arm), 0.0
        for k in range(3000 if integral else 2000):
            q, qd, theta, thetad = plant.state
            if observes:
                Q = actuators.springs(q, qd, theta, thetad).torque
                law.external_torque[:] = observer.update(1e-3 * k, q, qd, Q)
            wanted = law.update(desired, q, qd, theta, thetad)
            sent = np.clip(wanted, -limit, limit)
            if reports:
                law.applied(sent)
            if not integral or k >= 1000:
                plant.step(sent, 1e-3)
            worst = max(worst, plant.state[0][0] - rest[0])
        return worst, float(np.abs(plant.state[0] - rest).max())

    without, _ = overshoot(0.0, False, False)
    if kind == "observer":
        found, left = overshoot(0.0, False, True)
    else:
        found, left = overshoot(50.0, kind == "integral", False)
    if kind == "integral without anti-windup":
        assert found > without + 0.1
    else:
        assert found < without + 0.05
        assert left < 0.02


@pytest.mark.parametrize("integrates", ["link", "motor"])
def test_the_integral_removes_the_error_of_an_unknown_payload(integrates):
    arm = arms.without_coulomb(arms.linear_arm())
    model, actuators, rest = arm
    loaded = model.with_payload(model.body_names[-1], 0.3, (0.2, 0, 0), np.eye(3) * 1e-3)
    gains = optimal_gains(model, actuators, rest, 15.0)
    final = []
    for integral in (0.0, 300.0):
        law = LinearFeedback(model, actuators, gains, integral=integral, integrates=integrates)
        plant = arms.HeldPlant(arms.Arm(loaded, actuators, rest))
        plant.reset(np.concatenate(arms.at_start(arm)[0]))
        for _ in range(2000):
            plant.step(law.update(arms.still(arm), *plant.state), 1e-3)
        wanted = rest if integrates == "link" else at_rest(*arm).theta
        final.append(np.abs(plant.state[0 if integrates == "link" else 2] - wanted).max())
    assert final[0] > 5e-3
    assert final[1] < 0.05 * final[0]


# Bad input


def test_inconsistent_settings_of_controllers_are_rejected():
    model, actuators, _ = arms.linear_arm()
    other = arms.elastic_panda().actuators
    gains, strange = (motor_side_gains(each, 100.0, 10.0) for each in (actuators, other))
    twice = model.with_reflected_inertia([0.1, 0])

    def feedback(gains=gains, model=model, **options):
        return lambda: LinearFeedback(model, actuators, gains, **options)

    assert_rejected(
        (lambda: ComputedTorque(model, other, 1.0, 1.0), "'two_link_planar' shoulder, elbow"),
        (lambda: ComputedTorque(model, actuators, 1.0, -1.0), "'shoulder' derivative -1"),
        (lambda: ComputedTorque(model, actuators, 1, 1, feedback="both"), "one of motor, link"),
        (feedback(strange), "gains"),
        (feedback(model=twice), "rotor"),
        (feedback(variant="fast"), "variant 'fast'"),
        (feedback(integrates="q"), "integrates 'q'"),
        (feedback(integral=[1, -1]), "'elbow' integral"),
        (feedback(friction=[1, 1.2]), "'elbow' friction"),
    )


@pytest.mark.parametrize("make", [arms.linear_arm, arms.antagonistic_arm])
def test_arrays_that_the_caller_writes_are_checked(make):
    """NaN in an external torque is reported by name and has no lasting effect."""
    arm = make()
    model, actuators, rest = arm
    desired = arms.still(arm)
    theta = at_rest(*arm).theta
    state = (desired, rest, np.zeros(2), theta, np.zeros_like(theta))
    integrating = LinearFeedback(
        model, actuators, optimal_gains(model, actuators, rest, 20.0), integral=9.0,
        integrates="motor",
    )  # fmt: skip
    for law in (integrating, *laws(arm, 20.0).values()):
        law.update(*state)
        before, integral = law.torque.copy(), integrating.integral_torque.copy()
        law.external_torque[1] = np.nan
        with pytest.raises(InputError, match=r"external_torque.*elbow"):
            law.update(*state)
        np.testing.assert_array_equal(law.torque, before)
        np.testing.assert_array_equal(integrating.integral_torque, integral)
        law.external_torque[1] = 0.0
        assert np.isfinite(law.update(*state)).all()
    with pytest.raises(DynamicsError, match=r"'shoulder': LinearFeedback yields -?(inf|nan)"):
        integrating.update(np.full((5, 2), 1e200), *state[1:])


def test_problems_of_the_feedforward_are_reported_by_the_law():
    arm = arms.antagonistic_arm()
    desired, rest = arms.still(arm), arm.rest
    theta = at_rest(*arm).theta
    state = (desired, rest, np.zeros(2), theta, np.zeros(3))
    for law in laws(arm, 20.0).values():
        law.update(*state)
        assert law.problems() == ()
        if isinstance(law, LinearFeedback):
            law.update(*state, stiffness=[[1e6], [0.0], [0.0]])
            assert (
                law.problems()[0]
                == "elbow_agonist: requested stiffness is infeasible; clipped to its range"
            )


def test_bad_measurements_are_rejected_by_name_and_leave_the_torque_unchanged():
    arm = arms.antagonistic_arm()
    model, actuators, rest = arm
    law = FeedbackLinearization(model, actuators, JointPoles.from_bandwidth(actuators, 10.0))
    desired, zero, theta = arms.still(arm), np.zeros(2), at_rest(*arm).theta
    good = {"desired": desired, "q": rest, "qd": zero, "theta": theta, "thetad": np.zeros(3)}
    before = law.update(**good).copy()
    assert law.update(**good) is law.torque

    def bad(**changes):
        return lambda: law.update(**(good | changes))

    assert_rejected(
        (bad(theta=[0.1, np.nan, 0.0]), "theta elbow_agonist"),
        (bad(thetad=[0.0]), "thetad: expected shape"),
        (bad(q=theta), "q: expected shape"),
        (bad(desired=desired[:4]), "desired q got 4"),
        (bad(desired=desired + np.inf), "desired q"),
        (bad(desired=None), "desired: expected a sequence of rows"),
        (bad(stiffness=[[np.nan], [0.0], [0.0]]), "stiffness elbow"),
        (bad(stiffness=np.zeros((2, 1))), "stiffness: expected shape"),
        (bad(ahead=desired[:2]), "desired q ahead got 2"),
    )
    np.testing.assert_array_equal(law.torque, before)


@pytest.mark.parametrize("make", [arms.elastic_panda, arms.mixed_panda, arms.antagonistic_arm])
def test_what_the_caller_has_computed_gives_the_same_torque(make):
    arm = make()
    laws = [arms.law_of(arm) for _ in range(2)]
    now, later = (InverseDynamicsSolver(arm.model, "body") for _ in range(2))
    springs = SpringSolver(arm.actuators)
    rng = np.random.default_rng(3)
    n, m = arm.actuators.n, len(arm.actuators.motors)
    for _ in range(5):
        external = rng.normal(size=n)
        desired, ahead = 0.1 * rng.normal(size=(2, 5, n))
        q, qd = 0.1 * rng.normal(size=(2, n))
        theta, thetad = 0.1 * rng.normal(size=(2, m))
        now.state[:], later.state[:] = desired, ahead
        now.update()
        later.update()
        springs.q[:], springs.qd[:], springs.theta[:], springs.thetad[:] = q, qd, theta, thetad
        springs.stiffness[:] = laws[0].stiffness[:2]
        springs.update()
        computed = Computed(now.result, later.result, springs)
        for law in laws:
            law.external_torque[:] = external
        wanted = laws[0].update(desired, q, qd, theta, thetad, ahead=ahead)
        found = laws[1].update(desired, q, qd, theta, thetad, ahead=ahead, computed=computed)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(now.state, desired)  # nothing is written
    changed = computed._replace(ahead=later.result + 1.0)  # is used, not computed again
    found = laws[1].update(desired, q, qd, theta, thetad, ahead=ahead, computed=changed).copy()
    wanted = laws[0].update(desired, q, qd, theta, thetad, ahead=ahead)
    assert np.abs(found - wanted).max() > 0.1
