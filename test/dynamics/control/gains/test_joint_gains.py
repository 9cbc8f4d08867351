# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Designs of gains: the poles they place, the margins they keep, and the input they reject."""

from dataclasses import replace

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.gains.joint_gains import lowest_resonance
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Antagonistic,
    CubicSpring,
    Motor,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
)
from multibody_dynamics.dynamics.motion import hold
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.dynamics.rigid import forward_dynamics, gravity_forces, mass_matrix
from rejections import assert_rejected

ARMS = pytest.mark.parametrize("arm", arms.EVERY_ARM)
FOUR = (-25.0, -30.0, -40.0 + 10.0j, -40.0 - 10.0j)
THREE, TWO = (-25.0, -40.0 + 10.0j, -40.0 - 10.0j), (-30.0, -35.0)


def close(found, wanted, rtol: float) -> None:
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(wanted), rtol=rtol)


# At rest


def test_resonances_are_those_of_the_tangent_under_gravity():
    """By hand: a cubic spring is stiffer under more load, tendons under more tension."""
    model, actuators, q = arms.nonlinear_arm()
    K, load = np.array([150.0, 200.0]), gravity_forces(model, q)
    phi = next(x.real for x in np.roots([4e3, 0.0, K[0], -load[0]]) if abs(x.imag) < 1e-9)
    K[0] += 3 * 4e3 * phi**2
    felt = control.inertias_felt(model, actuators, q)
    wanted = np.sqrt(K / felt + K / actuators.motor_inertia)
    np.testing.assert_allclose(control.joint_resonances(model, actuators, q), wanted, rtol=1e-9)
    assert K[0] > 1.3 * 150.0

    model, actuators, q = arms.antagonistic_arm()
    for sigma in (250.0, 400.0):
        wanted = np.sqrt(sigma / control.inertias_felt(model, actuators, q)[1] + sigma / 0.4)
        found = control.joint_resonances(model, actuators, q, [sigma])
        assert found[1] == pytest.approx(wanted, rel=1e-9)
    assert np.isinf(control.joint_resonances(*arms.mixed_panda())[[1, 3, 6]]).all()


@pytest.mark.parametrize("make", [arms.linear_arm, arms.nonlinear_arm, arms.antagonistic_arm])
def test_the_lowest_resonance_is_that_of_the_plant_with_heavy_motors(make):
    arm = arms.without_coulomb(make())
    locked = tuple(
        each.with_motors([replace(own, inertia=1e6, viscous=0.0) for own in each.motors])
        for each in arm.actuators.actuators
    )
    robot = ElasticRobot(arm.model, replace(arm.actuators, actuators=locked))
    values, _ = robot.modes(arm.model.limits.middle)
    lowest = min(abs(value) for value in values if abs(value) > 1.0)
    assert lowest_resonance(arm.model, arm.actuators, arm.model.limits.middle) == pytest.approx(
        lowest, rel=1e-3
    )


def test_a_last_link_without_mass_has_no_resonance():
    arm = arms.linear_arm()
    shares = np.array([1.0, 0.0])[:, None, None]
    light = replace(arm.model, link_inertias=shares * arm.model.link_inertias)
    inertia = mass_matrix(light, light.limits.middle)[0, 0]
    assert lowest_resonance(light, arm.actuators, light.limits.middle) == pytest.approx(
        np.sqrt(400.0 / inertia)
    )
    assert arms.law_of(arm._replace(model=light), law="motor_pd").compensation is not None
    none = replace(light, link_inertias=0.0 * light.link_inertias)
    assert lowest_resonance(none, arm.actuators, none.limits.middle) == np.inf


def test_rigid_joints_have_no_resonance():
    arm = arms.linear_arm()
    rigid = Actuators(arm.model.joint_names, [Rigid(Motor(0.1))] * 2)
    assert lowest_resonance(arm.model, rigid, arm.model.limits.middle) == np.inf


def test_the_inertia_felt_is_that_of_a_push_on_one_joint():
    model, actuators, rest = arms.mixed_panda()
    felt = control.inertias_felt(model, actuators, rest)
    rotors = np.where(actuators.is_rigid, actuators.motor_inertia, 0.0)
    coupled = model.with_reflected_inertia(rotors)
    for i in range(7):
        push = np.eye(7)[i]
        qdd = forward_dynamics(coupled.with_gravity((0, 0, 0)), rest, np.zeros(7), push)
        assert felt[i] == pytest.approx(1 / qdd[i], rel=1e-10)
    assert (felt <= np.diag(mass_matrix(coupled, rest)) + 1e-12).all()


def test_the_smallest_inertia_is_that_of_a_folded_arm():
    """Two equal rods, from above: folded, the shoulder carries the least."""
    (model, actuators, _), rigid = arms.linear_arm(), Rigid(Motor(0.02))
    actuators = Actuators(model.joint_names, [rigid, rigid])
    stretched, folded = np.zeros(2), np.array([0.0, np.pi])
    least = control.smallest_inertias(model, actuators, stretched)
    assert (least <= control.inertias_felt(model, actuators, stretched)).all()
    np.testing.assert_allclose(
        least[0], control.inertias_felt(model, actuators, folded)[0], rtol=0.05
    )


def test_no_direction_of_an_arm_is_lighter_than_the_design_of_its_rigid_joints():
    """diag(d) <= M(q): no eigenvalue of the feedback, over the inertia that it moves, is larger
    than that of a single joint."""
    model = arms.elastic_panda().model
    actuators = Actuators(model.joint_names, [Rigid(Motor(0.0))] * model.n)
    q = control.middle_of_range(model)
    root = np.sqrt(control.motor_bandwidth_gains(model, actuators, q, 1.0).values[2])
    lower, upper = model.limits.lower, model.limits.upper
    others = np.random.default_rng(0).uniform(lower, upper, (50, model.n))
    for each in (q, *others):
        shares = root * np.linalg.inv(mass_matrix(model, each)) * root[:, None]
        assert np.linalg.eigvalsh(shares).max() <= 1.0 + 1e-9
    felt = control.smallest_inertias(model, actuators, q)
    assert (root**2 <= felt).all()
    assert (root**2 > felt / model.n).all()


@pytest.mark.parametrize("law", ["motor_pd", "hold"])
def test_rigid_joints_without_rotors_are_stable_in_every_posture(law):
    """The Panda, whose inertias vary most without its rotors."""
    model = arms.elastic_panda().model
    actuators = Actuators(model.joint_names, [Rigid(Motor(0.0))] * model.n)
    q = control.middle_of_range(model)
    if law == "hold":
        controller = control.HoldController(
            model, actuators, control.damping_gains(model, actuators, q)
        )
    else:
        gains = control.motor_bandwidth_gains(model, actuators, q, 60.0)
        controller = control.LinearFeedback(model, actuators, gains)
    filters = control.StateEstimation("link_and_motor_encoders", bandwidth=100.0)
    judged = control.judge_loop(controller, q, delay=1e-3, estimation=filters, model_error=0.1)
    assert judged.unstable_share == 0.0, str(judged)


@ARMS
def test_the_computed_rest_is_an_equilibrium(arm):
    arm = arm()
    model, actuators, q = arm
    rest = control.at_rest(*arm)
    zero, still = np.zeros(model.n), np.zeros(len(actuators.motors))
    x = np.concatenate((q, zero, rest.theta, still))
    found = actuators.springs(q, zero, rest.theta, still, stiffness=rest.second[:2])
    torque = np.where(
        np.isnan(found.load), gravity_forces(model, q)[actuators.joint_of_motor], found.load
    )
    np.testing.assert_allclose(arms.slope(arm, x, torque, rest.second[:2]), 0.0, atol=1e-7)


@ARMS
def test_closed_loop_poles_are_those_of_the_linearised_plant(arm):
    """The plant under the law itself is linearised by differences."""
    arm = arms.without_coulomb(arm())
    model, actuators, q = arm
    n, m = model.n, len(actuators.motors)
    gains = control.optimal_gains(model, actuators, q, 15.0)
    rest = control.at_rest(*arm)
    law = control.LinearFeedback(model, actuators, gains)
    desired = hold(model.joint_names, q)(0.0)
    start = np.concatenate((q, np.zeros(n), rest.theta, np.zeros(m)))
    joint = actuators.joint_of_motor
    rigid = actuators.is_rigid
    free = np.concatenate((np.full(2 * n, True), np.tile(~rigid[joint], 2)))

    def rates(x):
        state = np.split(x, [n, 2 * n, 2 * n + m])
        torque = law.update(desired, *state, stiffness=rest.second)
        return arms.slope(arm, x, torque, rest.second[:2])[free]

    columns = []
    for k in np.flatnonzero(free):
        change = np.zeros(len(start))
        change[k] = 1e-5
        if k < 2 * n and rigid[k % n]:
            change[2 * n + (k // n) * m + actuators.first_motor[k % n]] = 1e-5
        columns.append((rates(start + change) - rates(start - change)) / 2e-5)
    wanted = np.linalg.eigvals(np.array(columns).T)
    found = control.closed_loop_poles(model, actuators, q, gains)
    assert len(found) == len(wanted) == free.sum()
    for pole in found:
        assert np.abs(wanted - pole).min() < 1e-4 * np.abs(found).max()
    np.testing.assert_allclose(wanted.sum(), found.sum(), rtol=1e-5)
    np.testing.assert_allclose(np.abs(wanted).prod(), np.abs(found).prod(), rtol=1e-3)
    np.testing.assert_array_equal(found, gains.poles)


# Designs


@pytest.mark.parametrize(
    "actuators",
    [
        (arms.series(400.0), arms.series(200.0)),
        (arms.series(400.0), Rigid(arms.MOTOR)),
        (Rigid(arms.MOTOR), arms.series(200.0)),
    ],
)
def test_each_single_joint_gets_its_poles(actuators):
    arm = arms.two_links(*actuators)
    names = arm.actuators.joint_names
    wanted = {
        name: TWO if rigid else FOUR
        for name, rigid in zip(names, arm.actuators.is_rigid, strict=True)
    }
    poles = control.JointPoles.from_poles(arm.actuators, wanted)
    gains = control.placed_gains(*arm, poles)
    for name, found in zip(names, gains.joint_poles, strict=True):
        close(found, wanted[name], 1e-6)
    assert gains.poles.real.max() < 0.0


def test_a_damped_joint_gets_three_poles_and_keeps_its_zero():
    arm = arms.damped_arm()
    poles = control.JointPoles.from_poles(arm.actuators, {"shoulder": THREE, "elbow": FOUR})
    gains = control.placed_gains(*arm, poles)
    close(gains.joint_poles[0], (*THREE, -400.0 / 6.0), 1e-6)
    close(gains.joint_poles[1], FOUR, 1e-6)


def test_two_motors_of_a_joint_share_its_gains():
    """The mean of equal motors moves as designed; a drive has two poles of its own."""
    model, actuators, q = arms.antagonistic_arm()
    poles = control.JointPoles.from_poles(actuators, FOUR)
    gains = control.placed_gains(model, actuators, q, poles, [260.0])
    np.testing.assert_array_equal(gains.values[:, 1], gains.values[:, 2])
    close(gains.joint_poles[1], FOUR, 1e-6)
    drive = control.placed_gains(
        *arms.variable_arm(), control.JointPoles.from_bandwidth(arms.variable_arm().actuators, 30.0)
    )
    np.testing.assert_allclose(drive.values[:, 1], [0.0, 0.0, 0.05 * 900, 0.05 * 60 - 0.1])


@pytest.mark.parametrize(
    "arm", [arms.linear_arm, arms.damped_arm, arms.elastic_panda, arms.mixed_panda]
)
def test_optimal_gains_keep_the_margins_of_linear_quadratic_design(arm):
    """Kalman: the return difference |1 + g (jw - A)^-1 b| is at least one at every frequency."""
    arm = arm()
    model, actuators, rest = arm
    values = control.optimal_gains(model, actuators, rest, np.linspace(10.0, 20.0, model.n)).values
    felt, K = control.inertias_felt(model, actuators, rest), control.at_rest(*arm).stiffness
    s = 1j * np.geomspace(0.1, 1e4, 400)
    for i, actuator in enumerate(actuators.actuators):
        m, b, d = felt[i], actuator.motor.inertia, actuator.motor.viscous
        if isinstance(actuator, Rigid):
            link = motor = 1 / (m * s**2 + d * s)
        else:
            spring = K[i] + actuator.damping * s
            motor = (m * s**2 + spring) / (
                (m * s**2 + spring) * (b * s**2 + d * s + spring) - spring**2
            )
            link = motor * spring / (m * s**2 + spring)
        g = values[:, i]
        loop = (g[0] + g[1] * s) * link + (g[2] + g[3] * s) * motor
        assert np.abs(1 + loop).min() > 1 - 1e-6


@ARMS
def test_damping_gains_damp_every_single_joint(arm):
    """Both pole pairs solve s^2 + (m / M_m)^(1/2) w s + w^2 unless the bandwidth limits them."""
    model, actuators, q = arm()
    gains = control.damping_gains(model, actuators, q, bandwidth=1e4)
    held, rest = np.diag(mass_matrix(model, q)), control.at_rest(model, actuators, q)
    K = rest.stiffness
    for i, actuator, motors, _ in actuators.each():
        if actuators.is_rigid[i]:
            continue
        pulling = motors if isinstance(actuator, Antagonistic) else motors[:1]
        b = sum(actuators.motors[j].inertia for j in pulling)
        if actuators.is_damped[i]:
            continue
        w = np.sqrt(K[i] / held[i])
        share = -rest.hessian[i, model.n + np.array(pulling)].sum() / K[i]  # less a base spring
        pair = np.roots([1.0, share * np.sqrt(held[i] / b) * w, w**2])
        found = np.poly(gains.joint_poles[i]).real  # double poles are found to half the digits
        np.testing.assert_allclose(found, np.poly([*pair, *pair]).real, rtol=1e-9)
    assert (gains.values[:2] == 0.0).all()
    assert control.damping_gains(model, actuators, q).poles.real.max() < -1.0


def test_motor_bandwidth_gains_by_hand():
    model, actuators, q = arms.antagonistic_arm()
    gains = control.motor_bandwidth_gains(model, actuators, q, [10.0, 20.0, 30.0])
    np.testing.assert_allclose(gains.values[2], [0.5 * 100, 0.2 * 400, 0.2 * 900])
    np.testing.assert_allclose(gains.values[3], [2 * 0.5 * 10, 2 * 0.2 * 20, 2 * 0.2 * 30])


# Bad input


def test_invalid_poles_are_rejected_by_name():
    model, actuators, _ = arms.mixed_panda()
    good = {
        name: TWO if rigid else FOUR
        for name, rigid in zip(model.joint_names, actuators.is_rigid, strict=True)
    }
    lacking = {name: poles for name, poles in good.items() if name != "panda_joint5"}
    damped, variable = arms.damped_arm().actuators, arms.variable_arm().actuators
    of, bandwidth = control.JointPoles.from_poles, control.JointPoles.from_bandwidth

    def changed(joint, poles):
        return lambda: of(actuators, good | {joint: poles})

    assert_rejected(
        (changed("panda_joint1", (-1, -2, 3, -4)), "'panda_joint1' pole 3 negative"),
        (changed("panda_joint1", (-1, -2, 0, -4)), "'panda_joint1' pole negative"),
        (changed("panda_joint1", (-1, -2, np.nan, -4)), "'panda_joint1' pole negative"),
        (changed("panda_joint1", (-1, -2)), "'panda_joint1' elastic takes 4 poles"),
        (changed("panda_joint2", FOUR), "'panda_joint2' rigid takes 2 poles"),
        (changed("panda_joint3", (-1, -2, -3 + 1j, -3)), "'panda_joint3' conjugate pairs"),
        (changed("panda_joint3", "fast"), "'panda_joint3' poles 'fast'"),
        (changed("elbow", FOUR), "unknown ['elbow']"),
        (lambda: of(actuators, lacking), "missing ['panda_joint5']"),
        (lambda: bandwidth(actuators, [1, -3, 1, 1, 1, 1, 1]), "'panda_joint2' bandwidth -3"),
        (lambda: bandwidth(actuators, [1.0, 2.0]), "bandwidth: expected"),
        (lambda: of(damped, FOUR), "'shoulder' damped takes 3 poles"),
        (lambda: of(variable, FOUR, {"wrist": TWO}), "second poles unknown ['wrist']"),
        (lambda: of(variable, FOUR, (-1.0, 1.0)), "'shoulder' pole 1"),
    )


def test_inconsistent_arguments_of_designs_are_rejected():
    arm, springs = arms.linear_arm(), arms.elastic_panda().actuators
    joints = arm.actuators
    fast = control.JointPoles.from_bandwidth(springs, 30.0)
    strange = control.motor_side_gains(springs, 1.0, 1.0)
    short = SeriesElastic(arms.MOTOR, CubicSpring(150.0, 0.0, travel=(-0.001, 0.001)))
    weak = arms.two_links(short, arms.series(200.0))
    slack = PolynomialSpring((1.0, 10.0), travel=(0.0, 0.1))
    hanging = arms.two_links(arms.series(400.0), Antagonistic(arms.MOTOR, arms.MOTOR, slack, slack))
    three, design = np.zeros((3, 2)), control.optimal_gains
    assert_rejected(
        (lambda: design(arm.model, springs, arm.rest, 10.0), "two_link_planar elbow"),
        (lambda: control.closed_loop_poles(*arm, strange), "gains panda_joint1"),
        (lambda: control.motor_side_gains(joints, 1.0, [1.0, -1.0]), "'elbow' derivative -1"),
        (lambda: control.StateFeedbackGains(joints.joint_names, three), "gains (..., 4, 2)"),
        (lambda: design(*arms.antagonistic_arm(), 10.0, [4e3]), "'elbow' stiffness 4000"),
        (lambda: design(*weak, 10.0), "'shoulder' beyond travel"),
        (lambda: control.at_rest(*hanging), "'elbow'"),
        (lambda: control.placed_gains(*arms.elastic_panda(), fast), "whole arm pole"),
    )
    rest = control.at_rest(*hanging, beyond="continue")
    assert np.isfinite(rest.theta).all()
    assert (np.linalg.eigvalsh(rest.hessian) > -1e-9).all()


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12])
def test_optimal_gains_of_light_joints_are_those_of_heavy_ones_scaled(size):
    """Of a rigid joint, m w^2 and sqrt(3) m w; the last one of a UR10e has 1e-5 kg m^2."""
    model, _, q = arms.linear_arm()
    model = model.with_scaled_links(np.full(model.n, size))
    actuators = Actuators(model.joint_names, [Rigid(Motor(0.02 * size))] * model.n)
    m, w = control.inertias_felt(model, actuators, q), 40.0
    values = control.optimal_gains(model, actuators, q, w).values
    np.testing.assert_allclose(values[:2], [m * w**2, np.sqrt(3.0) * m * w], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "bandwidth"),
    [("panda", 10.0), ("panda", 40.0), ("planar_two_link", 20.0), ("antagonistic_elbow", 40.0)],
)
def test_optimal_gains_of_one_position_are_stable_in_the_whole_range(name, bandwidth):
    """Without Coulomb friction, which only helps. With the unmodified optimal gains, a third of the
    Panda's range is unstable."""
    arm = arms.shipped(name)
    gains = control.optimal_gains(*arm, bandwidth)
    assert (gains.values[:2] <= 0.0).all()
    for q in arms.positions(arm, 20):
        assert control.closed_loop_poles(arm.model, arm.actuators, q, gains).real.max() < -0.5
