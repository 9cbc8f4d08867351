# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The container of actuators: names, columns, and the springs of all joints together."""

import numpy as np
import pytest

from flat_motions import linear_springs
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import (
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring, PolynomialSpring
from rejections import assert_rejected

NAMES = ("hip", "knee", "ankle", "toe")
LAW = PolynomialSpring((40.0, 900.0), travel=(0.0, 0.6))


def make_actuators() -> Actuators:
    return Actuators(
        NAMES,
        (
            Rigid(Motor(0.1, viscous=0.2)),
            VariableStiffness(
                Motor(0.2, coulomb=0.3, coulomb_velocity=0.1),
                (50.0, 500.0),
                drive=StiffnessDrive(Motor(1e-3), 10.0, 200.0),
            ),
            Antagonistic(Motor(0.3, viscous=0.5), Motor(0.4), LAW, LAW),
            SeriesElastic(Motor(0.5, torque_limit=20.0, speed_limit=3.0), CubicSpring(90.0, 1e3)),
        ),
    )


def linear_joints() -> tuple[Actuators, np.ndarray]:
    """Linear springs with friction everywhere, the second joint rigid; and their stiffness."""
    K = np.array([900.0, np.inf, 150.0, 80.0])
    columns = {
        "gear_ratio": (100.0, 80.0, 50.0, 1.0),
        "viscous": (1.1, 0.7, 0.2, 0.0),
        "coulomb": (0.9, 0.6, 0.1, 0.0),
        "coulomb_velocity": (0.05, 0.04, 0.03, 1.0),
    }
    return linear_springs(NAMES, K, (0.4, 0.3, 0.05, 0.1), **columns), K


def test_motors_are_named_after_their_joints():
    actuators = make_actuators()
    assert actuators.motor_names == (
        "hip", "knee", "knee_stiffness", "ankle_agonist", "ankle_antagonist", "toe",
    )  # fmt: skip
    assert actuators.variable_joints == ("knee", "ankle")
    assert actuators.joint_of_motor.tolist() == [0, 1, 1, 2, 2, 3]
    assert actuators.torque_share.tolist() == [1.0, 1.0, 0.0, 0.5, 0.5, 1.0]
    assert actuators.is_rigid.tolist() == [True, False, False, False]
    assert not actuators.is_damped.any()
    assert actuators.motor_inertia.tolist() == [0.1, 0.2, 1e-3, 0.3, 0.4, 0.5]
    assert actuators.torque_limit[[0, 5]].tolist() == [np.inf, 20.0]
    assert actuators.speed_limit[5] == 3.0
    assert linear_joints()[0].gear_ratio.tolist() == [100.0, 80.0, 50.0, 1.0]


def test_motor_torque_and_acceleration_are_inverse_and_friction_has_its_slope():
    actuators = make_actuators()
    rng = np.random.default_rng(1)
    v, a, load = rng.normal(size=(3, 5, 6))
    tau = actuators.motor_torque(v, a, load)
    found = actuators.motor_acceleration(v, load, tau)
    assert np.isnan(found[:, 0]).all()
    np.testing.assert_allclose(found[:, 1:], a[:, 1:], rtol=1e-11, atol=1e-12)
    h = 1e-6
    slope = (actuators.friction(v + h) - actuators.friction(v - h)) / (2 * h)
    np.testing.assert_allclose(actuators.friction_slope(v), slope, rtol=1e-7, atol=1e-9)


def test_springs_of_all_kinds_in_closed_form():
    actuators = make_actuators()
    q, qd = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0, 4.0])
    theta = np.array([0.1, 0.25, 0.9, 0.5, 0.2, 0.6])
    thetad = np.array([1.0, 2.5, 0.3, 3.5, 2.0, 4.5])
    found = actuators.springs(q, qd, theta, thetad)
    k, phi = 10.0 + 200.0 * 0.9, 0.05
    np.testing.assert_allclose(found.torque[1], k * phi)
    np.testing.assert_allclose(found.torque_rate[1], 200.0 * 0.3 * phi + k * 0.5)
    np.testing.assert_allclose(found.load[1:3], [k * phi, 200.0 * phi**2 / 2])
    pull, back = 40 * 0.2 + 900 * 0.2**2, 40 * 0.1 + 900 * 0.1**2
    np.testing.assert_allclose(found.load[3:5], [pull, -back])
    np.testing.assert_allclose(found.torque[2], pull - back)
    np.testing.assert_allclose(found.stiffness[1:3], [k, 400.0 + 220.0])
    np.testing.assert_allclose(found.torque_rate[2], 400.0 * 0.5 - 220.0 * 1.0)
    np.testing.assert_allclose(found.torque[3], 90 * 0.2 + 1e3 * 0.2**3)
    np.testing.assert_allclose(found.deflection, [0.0, 0.05, 0.0, 0.2, 0.1, 0.2])
    assert np.isnan(found.torque[0])
    assert found.stiffness[0] == np.inf


def test_a_stiffness_that_no_motor_sets_must_be_given():
    joints = Actuators(("a",), [VariableStiffness(Motor(0.2), (50.0, 500.0))])
    zero = np.zeros(1)
    with pytest.raises(InputError, match="joint 'a': no motor sets its stiffness"):
        joints.springs(zero, zero, zero, zero)
    found = joints.springs(zero, zero, zero + 0.1, zero, stiffness=[[200.0], [30.0]])
    assert found.torque[0] == pytest.approx(20.0)
    assert found.torque_rate[0] == pytest.approx(3.0)


def test_filters_of_damped_springs_do_not_affect_other_joints():
    damped = SeriesElastic(Motor(0.2), LinearSpring(100.0), 4.0)
    actuators = Actuators(("a", "b"), [damped, SeriesElastic(Motor(0.2), LinearSpring(50.0))])
    torque = np.array([[20.0, 30.0], [5.0, 5.0], [0.0, 0.0]])
    rows = [torque[k, 0] for k in range(3)]
    found = actuators.deflection_after([0.1, 0.7], torque, 0.01)
    assert found.tolist() == [damped.deflection_after(np.array(0.1), rows, 0.01), 0.0]
    settled = actuators.settled_deflection(torque)
    np.testing.assert_allclose(settled, [0.2 - 4.0 * 5.0 / 100.0**2, 0.0])
    several = actuators.deflection_after(np.array([[0.1, 0.7], [0.2, 0.0]]), torque, 0.01)
    np.testing.assert_array_equal(several[0], found)
    three, two = np.zeros((3, 3, 2)), np.zeros((2, 2))
    shapes = "torque (3,) deflection (2,)"
    assert_rejected((lambda: actuators.deflection_after(two, three, 0.01), shapes))


def test_bad_input_is_named():
    actuators = make_actuators()
    q, theta, bent = np.zeros(4), np.zeros(6), [0.0, 0.0, 0.1, 0.9, 0.0, 0.0]
    nan = [0, 0, 0, 0, 0, np.nan]
    rigid = Rigid(Motor(0.1))
    driven = VariableStiffness(Motor(0.1), (1.0, 2.0), drive=StiffnessDrive(Motor(0.1)))
    damped = Actuators(("a",), (SeriesElastic(Motor(0.1), LinearSpring(9.0), damping=1.0),))

    def after(joints, dt, *shape):
        return lambda: joints.deflection_after(np.zeros(shape), np.zeros((3, *shape)), dt)

    assert_rejected(
        (lambda: actuators.springs(q, q, bent, theta), "'ankle' deflection 0.9 beyond travel"),
        (lambda: actuators.springs(q, q, q, theta), "theta (..., 6) ankle_antagonist"),
        (lambda: actuators.springs(q, q, theta, nan), "thetad 'toe' finite"),
        (lambda: Actuators(("a", "a"), (rigid, rigid)), "unique"),
        (lambda: Actuators(("a", "b"), (rigid,)), "2 actuators, one per joint, got 1"),
        (lambda: Actuators(("a", "b"), (rigid, 3.0)), "'b' 3.0 actuator"),
        (lambda: Actuators("a", (rigid,)), "joint_names string 'a'"),
        (lambda: Actuators(("a",), rigid), "actuators: expected sequence"),
        (lambda: Actuators(("a", "a_stiffness"), (driven, rigid)), "two motors 'a_stiffness'"),
        (after(damped, -0.1, 1), "dt zero or greater -0.1 s"),
        (after(damped, np.nan, 1), "dt nan"),
        (lambda: damped.deflection_after(np.zeros((2, 2)), np.zeros((3, 3, 1)), 0.1), "deflection"),
    )


def test_a_rotor_counted_twice_is_rejected():
    actuators = make_actuators()
    actuators.refuse_counting_twice(np.zeros(4))
    for i, name in enumerate(NAMES):
        with pytest.raises(InputError, match=f"joint '{name}': the rotor would be counted twice"):
            actuators.refuse_counting_twice(0.3 * np.eye(4)[i])
    Actuators(("a",), (Rigid(Motor(0.0)),)).refuse_counting_twice(np.ones(1))


def test_actuators_are_immutable():
    actuators = make_actuators()
    with pytest.raises(AttributeError):
        actuators.joint_names = ("a",)
    with pytest.raises(AttributeError):
        actuators.motors[0].inertia = 3.0


def test_link_positions_follow_from_motors_and_torques_in_batches_and_beyond_the_travel():
    actuators = make_actuators()
    rng = np.random.default_rng(5)
    theta = np.array([0.0, 0.0, 1.0, 0.4, -0.3, 0.0]) + rng.normal(0.0, 0.05, (4, 6))
    q = rng.normal(0.0, 0.05, (4, 4))
    theta[2] += [0.0, 0.0, 0.0, 1.5, -2.0, 0.0]  # both springs of the ankle beyond their travel
    q[:, 0] = theta[:, 0]
    found = actuators.springs(q, 0 * q, theta, 0 * theta, beyond="continue")
    torque = np.where(actuators.is_rigid, 0.0, found.torque)
    back = actuators.link_position(theta, torque, beyond="continue")
    np.testing.assert_allclose(back, q, rtol=0, atol=1e-12)
    with pytest.raises(InputError, match=r"'ankle': deflection .* beyond the travel"):
        actuators.link_position(theta, torque)
    only = actuators.link_position(theta[0], torque[0], where=np.arange(4) == 3)
    np.testing.assert_array_equal(np.isnan(only), [True, True, True, False])


def test_link_positions_require_free_stiffnesses_and_filtered_deflections():
    free = VariableStiffness(Motor(0.1), (100.0, 600.0))
    damped = SeriesElastic(Motor(0.1), LinearSpring(100.0), damping=2.0)
    actuators = Actuators(("a", "b"), (free, damped))
    theta, torque = np.array([0.3, 0.5]), np.array([20.0, 5.0])
    assert actuators.needs_stiffness.tolist() == [True, False]
    with pytest.raises(InputError, match="joint 'a': no motor sets its stiffness"):
        actuators.link_position(theta, torque, deflection=[0.0, 0.1])
    with pytest.raises(InputError, match="joint 'b': Q of a damped spring depends on the past"):
        actuators.link_position(theta, torque, stiffness=[[200.0], [0.0]])
    found = actuators.link_position(
        theta, torque, stiffness=[[200.0], [0.0]], deflection=[0.0, 0.1]
    )
    np.testing.assert_allclose(found, [0.2, 0.4])


def test_torque_sources_are_the_default_or_a_sensor():
    kinds = make_actuators().actuators
    usual = ("motor_torque", *["spring_deflection"] * 3)
    assert Actuators(NAMES, kinds).torque_sources == usual
    sensed = Actuators(NAMES, kinds, ("torque_sensor", *usual[1:]))
    assert sensed.has_torque_sensor.tolist() == [True, False, False, False]
    with pytest.raises(InputError, match=r"'knee': torque_source must be spring_defl.*'guess'"):
        Actuators(NAMES, kinds, ("motor_torque", "guess", *usual[2:]))
    with pytest.raises(InputError, match="expected 4 torque_sources, one per joint, got 2"):
        Actuators(NAMES, kinds, usual[:2])


def test_the_columns_of_actuators_are_read_only():
    actuators = make_actuators()
    for name in (
        "is_rigid", "has_torque_sensor", "damping", "is_damped", "needs_stiffness", "first_motor",
        "joint_of_motor", "torque_share", "link_of_motors", "spring_travel", "motor_inertia",
        "gear_ratio", "torque_limit", "speed_limit",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            getattr(actuators, name)[...] = 0
