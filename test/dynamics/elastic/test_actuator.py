# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The laws that every kind of actuator obeys: relations, rates, energy, description, plants."""

from functools import reduce

import numpy as np
import pytest
import yaml

from kinds import EXAMPLES, Example
from multibody_dynamics.dynamics.control import ControllerSettings, make_controller
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import (
    KINDS,
    Actuator,
    Actuators,
    Identified,
    Positions,
    load_actuators,
)
from multibody_dynamics.dynamics.plant import ElasticRobot
from robots import two_link_planar

each_example = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
elastic = {name: each for name, each in EXAMPLES.items() if not each.actuator.is_rigid}
undamped = {name: each for name, each in elastic.items() if each.actuator.damping == 0.0}
each_elastic = pytest.mark.parametrize("example", elastic.values(), ids=elastic)
each_undamped = pytest.mark.parametrize("example", undamped.values(), ids=undamped)


def test_every_kind_has_an_example():
    assert {type(each.actuator) for each in EXAMPLES.values()} == set(KINDS.values())


def rows_at(actuator: Actuator, t: np.ndarray) -> tuple[list[np.ndarray], ...]:
    """q, Q and the second output with two derivatives at the times t."""

    def wave(mean: float, swing: float, w: float) -> list[np.ndarray]:
        return [
            (mean if k == 0 else 0.0) + swing * w**k * np.sin(w * t + k * np.pi / 2)
            for k in range(3)
        ]

    mean = 60.0 if actuator.second_output == "pretension" else 550.0
    return wave(0.2, 0.5, 2.0), wave(5.0, 20.0, 3.0), wave(mean, 0.2 * mean, 2.5)


def on_the_way(actuator: Actuator, t: np.ndarray, filtered=None):
    """Link and motor rows of a motion, and the second outputs where they are inputs."""
    q, Q, second = rows_at(actuator, t)
    motors = actuator.motor_rows(q, Q, second, filtered, "raise")
    theta, thetad = [row.position for row in motors], [row.velocity for row in motors]
    return q, Q, second, motors, theta, thetad


@each_undamped
def test_the_springs_return_the_torques_that_the_motors_were_computed_for(example):
    actuator = example.actuator
    q, Q, second, motors, theta, thetad = on_the_way(actuator, np.linspace(0.0, 3.0, 50))
    found = actuator.spring_rows(q[0], q[1], theta, thetad, second[:2], "raise")
    np.testing.assert_allclose(found.torque, Q[0], rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(found.torque_rate, Q[1], rtol=1e-12, atol=1e-10)
    for row, load, deflection in zip(motors, found.loads, found.deflections, strict=True):
        np.testing.assert_allclose(row.load, load, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(row.deflection, deflection, rtol=0, atol=1e-14)
    for k in range(0, 50, 10):
        measured = actuator.measured_second_output(
            q[0][k], q[1][k], [x[k] for x in theta], [x[k] for x in thetad]
        )
        if measured is not None:
            np.testing.assert_allclose(measured, (second[0][k], second[1][k]), rtol=1e-11)
    assert (measured is None) == (len(actuator.motors) < 2)


@each_elastic
def test_the_link_is_where_motors_and_torque_put_it(example):
    actuator, t = example.actuator, np.linspace(0.0, 3.0, 20)
    filtered = None if actuator.damping == 0.0 else 0.05 * np.sin(t)
    q, Q, second, _, theta, _ = on_the_way(actuator, t, filtered)
    found = actuator.link_position(theta, Q[0], second[0], filtered, "raise")
    np.testing.assert_allclose(found, q[0], rtol=0, atol=1e-12)


@each_undamped
def test_motor_velocities_and_accelerations_are_the_time_derivatives(example):
    t, h = np.linspace(0.0, 3.0, 12), 1e-4
    before, now, after = (
        example.actuator.motor_rows(*rows_at(example.actuator, t + k * h), None, "raise")
        for k in (-1, 0, 1)
    )
    for a, b, c in zip(before, now, after, strict=True):
        np.testing.assert_allclose((c.position - a.position) / (2 * h), b.velocity, atol=2e-6)
        np.testing.assert_allclose((c.velocity - a.velocity) / (2 * h), b.acceleration, atol=2e-5)


@each_elastic
def test_the_stiffness_is_the_slope_of_the_torque_over_the_link_position(example):
    actuator, t = example.actuator, np.linspace(0.0, 3.0, 7)
    q, _, second, _, theta, _ = on_the_way(actuator, t, 0.02 * np.ones_like(t))
    thetad, h = [0.0 * x + 0.3 for x in theta], 1e-5
    pushed, here, pulled = (
        actuator.spring_rows(q[0] + x, 0.0 * t, theta, thetad, second[:2], "raise")
        for x in (-h, 0, h)
    )
    slope = (pushed.torque - pulled.torque) / (2 * h)
    np.testing.assert_allclose(slope, here.stiffness, rtol=1e-7)


@each_elastic
def test_torque_and_loads_are_the_slopes_of_the_energy_and_the_hessian_is_theirs(example):
    """dU = -Q dq + load . dtheta, without the damper; second derivatives by differences."""
    actuator, t, h = example.actuator, np.array([0.3, 1.1, 2.3]), 1e-5
    q, _, second, _, theta, _ = on_the_way(actuator, t, 0.02 * np.ones_like(t))
    still = [0.0 * x for x in theta]
    found = actuator.spring_rows(q[0], 0.0 * t, theta, still, [second[0], 0.0 * t], "raise")

    def slopes(x, sigma):
        at = [np.asarray(each) for each in x]
        rows = actuator.spring_rows(at[0], 0.0 * at[0], at[1:], [0.0 * each for each in at[1:]],
                                    [np.asarray(sigma), 0.0 * at[0]], "raise")  # fmt: skip
        return np.array([-rows.torque, *rows.loads])

    for k in range(len(t)):
        x, sigma = np.array([q[0][k], *(row[k] for row in theta)]), second[0][k]
        gradient = slopes(x, sigma)
        for j, step in enumerate(h * np.eye(len(x))):
            above, below = x + step, x - step
            energies = [actuator.energy(each[0], each[1:], sigma) for each in (above, below)]
            assert (energies[0] - energies[1]) / (2 * h) == pytest.approx(gradient[j], abs=1e-6)
            hessian = actuator.energy_hessian(x[0], x[1:], sigma)
            np.testing.assert_allclose(
                (slopes(above, sigma) - slopes(below, sigma)) / (2 * h),
                hessian[j],
                rtol=1e-6,
                atol=1e-4,
            )
        assert hessian[0, 0] == pytest.approx(found.stiffness[k], rel=1e-12)


@each_example
def test_a_joint_is_read_from_yaml_and_has_a_place_for_every_motor(example: Example):
    text = yaml.safe_dump({"joints": {"elbow": example.entry}})
    (actuator,) = load_actuators(yaml.safe_load(text), ("elbow",)).actuators
    assert actuator == example.actuator
    m = len(actuator.motors)
    assert len(set(actuator.suffixes)) == len(actuator.torque_shares) == m
    assert sum(actuator.torque_shares) == 1.0
    assert actuator.directions.shape == (len(actuator.springs), 1 + m)
    assert len(actuator.limits_of_springs) == len(actuator.sides) == m
    assert len(actuator.offsets) == len(actuator.springs)
    assert actuator.damping == 0.0 or len(actuator.springs) == 1
    shares = zip(actuator.suffixes, actuator.sides, actuator.torque_shares, strict=True)
    for suffix, side, share in shares:
        path, own = actuator.motor_entries[suffix]
        assert own == (side if share else 0.0)
        assert "motor" in reduce(dict.__getitem__, path, example.entry)
    assert actuator.with_motors(actuator.motors) == actuator
    assert actuator.with_springs(lambda spring: spring) == actuator
    with pytest.raises(InputError, match="elbow"):
        load_actuators({"joints": {"elbow": example.entry | {"unknown": 1}}}, ("elbow",))


def arm_of(example: Example) -> tuple:
    """A textbook arm with a linear shoulder and this elbow, and a position."""
    model = two_link_planar(0.4, 0.3)
    shoulder = EXAMPLES["linear"].actuator
    return model, Actuators(model.joint_names, (shoulder, example.actuator)), np.array([0.3, -0.8])


@each_example
def test_motor_pd_and_state_feedback_bring_an_arm_to_rest(example):
    model, actuators, q = arm_of(example)
    robot = ElasticRobot(model, actuators)
    for law in ("motor_pd", "state_feedback"):
        controller = make_controller(model, actuators, ControllerSettings(law=law, position=q))
        robot.reset(q + 0.01, theta=None)
        desired = np.zeros((5, model.n))
        desired[0] = q
        for _ in range(700):
            torque = controller.update(desired, robot.q, robot.qd, robot.theta, robot.thetad)
            robot.step(torque, 1e-3)
        assert np.abs(robot.qd).max() < 0.05, law
        np.testing.assert_allclose(robot.q, q, rtol=0, atol=5e-3, err_msg=law)


@each_elastic
def test_springs_are_identified_from_columns_or_refused_by_name(example):
    actuator, t = example.actuator, np.linspace(0.0, 3.0, 20)
    if type(actuator).identification is Actuator.identification:
        name = type(actuator).__name__
        with pytest.raises(InputError, match=f"^joint 'elbow': {name} cannot be identified$"):
            actuator.identification("elbow")
        return
    springs = actuator.identification("elbow")
    q, _, second, _, theta, _ = on_the_way(actuator, t, 0.02 * np.ones_like(t))
    still = [0.0 * x for x in theta]
    found = actuator.spring_rows(q[0], 0.0 * t, theta, still, [second[0], 0.0 * t], "raise")
    at = Positions(q[0], np.stack(theta, axis=1), second[0])
    for part, wanted in zip((springs.torque, *springs.loads), (found.torque, *found.loads),
                            strict=True):  # fmt: skip
        coefficients, _ = part.coefficients(springs.values)
        np.testing.assert_allclose(part.columns(at) @ coefficients, wanted, rtol=1e-11, atol=1e-10)
    same = actuator.identified(Identified(actuator.motors, lambda _, spring: spring, {}))
    assert same == actuator


@each_example
def test_the_range_of_a_plain_number_is_that_of_an_array(example):
    """An integer joint torque, with and without the motors' limits."""
    for share in (np.inf, 0.8):
        found = example.actuator.second_output_range(10, share)
        np.testing.assert_array_equal(found, example.actuator.second_output_range(10.0, share))
        rows = example.actuator.second_output_range(np.array([10.0]), share)
        np.testing.assert_allclose(found, np.ravel(rows), rtol=1e-12)


@pytest.mark.parametrize("factor", [0.5, 5.0])
@each_elastic
def test_a_stiffer_joint_carries_the_same_torques_at_smaller_deflections(example, factor):
    actuator = example.actuator
    other = actuator.stiffened(factor)
    assert other.motors == actuator.motors or other.drive is not None
    least, greatest = actuator.factor_range
    scaled = (factor * least, factor * greatest) if actuator.drive or actuator.input_range else None
    assert other.factor_range == pytest.approx(scaled or (1.0, 1.0))
    middle, load = 0.5 * (least + greatest), 3.0
    k = factor if scaled else 1.0
    for spring, base in zip(other.springs, actuator.springs, strict=True):
        found = spring.deflection(load / (k * middle), beyond="continue")
        assert found == pytest.approx(base.deflection(load / middle, beyond="continue") / factor)
    assert other.damping == factor * actuator.damping
    if actuator.drive is not None:
        assert other.drive.gain == factor * actuator.drive.gain


def test_other_springs_leave_a_rigid_joint_alone():
    rigid = EXAMPLES["rigid"].actuator
    assert rigid.with_springs(lambda spring: spring.scaled(torque=2.0)) is rigid
