# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The compiled controller in closed loop, and what its class refuses."""

import ctypes

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, shipped
from generated_controllers import PERIOD, designed, generated, library, needs_compiler
from multibody_dynamics.dynamics.core.errors import DynamicsError
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from multibody_dynamics.tools.robot.sampled_arm import SampledArm
from rejections import assert_rejected
from robots import CONFIG


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The library of the controller of an antagonistic arm, compiled once."""
    return library(generated(designed(antagonistic_arm()), tmp_path_factory.mktemp("pair")))


def holding_torque(arm):
    from multibody_dynamics.dynamics.rigid.crba import gravity_forces

    return gravity_forces(arm.model, arm.rest)


@needs_compiler
def test_the_compiled_controller_follows_in_mujoco_as_python_does_on_the_own_plant(tmp_path):
    """Measured there and back: 0.07 % between the largest errors, 0.06 % between their rms."""
    pytest.importorskip("mujoco")
    arm = shipped("panda")
    design = designed(arm, transfer_time=0.02)
    c, python = CompiledController(generated(design, tmp_path)), SampledArm(design)
    urdf = (CONFIG / "robots" / "panda.urdf").read_bytes()
    goal = np.zeros((5, 7))
    goal[0] = arm.rest + np.array([0.3, -0.2, 0.2, 0.3, -0.3, 0.2, 0.4])

    def in_python(t, q, theta):
        python.update(t, t, t, q, theta)
        return python.torque

    found = []
    for robot, controller, update in (
        (MujocoRobot(arm.model, arm.actuators, urdf), c, c.update),
        (ElasticRobot(arm.model, arm.actuators), python, in_python),
    ):
        robot.reset(arm.rest)
        errors, hold = [], holding_torque(arm)
        for k in range(1, 1401):
            torque = np.array(update(k * PERIOD, robot.q, robot.theta))
            if k == 40:
                controller.activate(hold)
            if k == 100:
                assert not controller.append(1.05, goal)
            if k > 100:
                errors.append(robot.q - controller.desired[0])
            robot.step(torque if k >= 40 else hold, PERIOD)
        errors = np.array(errors)
        found.append((np.abs(errors).max(), np.sqrt((errors**2).mean())))
    assert c.state == "holding"
    assert 1e-4 < found[1][0] < 1e-3
    assert found[0] == pytest.approx(found[1], rel=0.01)


@needs_compiler
@pytest.mark.parametrize(("name", "braked"), [("panda", 540), ("antagonistic_elbow", 40)])
def test_an_arm_that_brakes_carry_does_not_fall_when_it_is_activated(tmp_path, name, braked):
    """The order of docs/safety.md: activate, then release the brakes, at once or half a second
    later. Before, the torque rose from zero in 0.5 s, and joint 4 of the Panda fell by 221 mrad."""
    arm = shipped(name)
    c = CompiledController(library(generated(designed(arm, transfer_time=0.5), tmp_path)))
    robot = ElasticRobot(arm.model, arm.actuators)
    robot.reset(arm.rest)
    moved = 0.0
    for k in range(1, 2001):
        torque = np.array(c.update(k * PERIOD, robot.q, robot.theta))
        if k == 40:
            c.activate()
        if k <= braked:
            robot.reset(arm.rest)
        else:
            robot.step(torque, PERIOD)
        moved = max(moved, float(np.abs(robot.q - arm.rest).max()))
    assert c.state == "holding"
    assert moved < 1e-3


@needs_compiler
@pytest.mark.parametrize("side", ["link_time", "motor_time", "both"])
def test_sides_that_come_in_one_of_ten_cycles_do_not_shake_the_torque(tmp_path, side):
    """At 250 Hz, the disturbances that seemed to be there with sparse motors drove the arm."""
    arm, period = shipped("planar_two_link"), 4e-3
    limit, late = arm.actuators.torque_limit, ("link_time", "motor_time")
    design = designed(arm, period=period, link_timeout=0.2, motor_timeout=0.2)
    path, found = library(generated(design, tmp_path)), []
    for every in (1, 10):
        c = CompiledController(path)
        plant = ElasticRobot(arm.model, arm.actuators)
        plant.reset(arm.rest)
        rows = []
        for k in range(400):
            times = dict.fromkeys(late, k * period)
            if k > 100:
                for name in late if side == "both" else (side,):
                    times[name] = k // every * every * period
            if k == 80:
                goal = np.zeros((5, 2))
                goal[0] = c.desired[0]
                assert not c.append(k * period, goal)
                goal[0] += 1.0
                assert not c.append(k * period + 1.2, goal)
            torque = c.update(k * period, plant.q, plant.theta, **times)
            if k == 60:
                c.activate(plant.motor_torque.copy())
            plant.step(torque if k > 60 else plant.motor_torque, period)
            rows.append(torque.copy())
        assert not c.fault
        found.append(np.abs(np.diff(rows[101:], axis=0)).max(axis=0))
    assert (found[1] < found[0] + 0.05 * limit).all()


def test_names_parameters_and_second_outputs(pair):
    arm = antagonistic_arm()
    c = CompiledController(pair, {"lead": 0.0, "lower": -1.0})
    assert (c.name, c.n, c.m, c.v) == ("arm", 2, 3, 1)
    assert c.joint_names == arm.model.joint_names
    assert c.motor_names == arm.actuators.motor_names
    assert c.parameters["lead"] == 0.0
    assert (c.parameters["lower"] == -1.0).all()
    assert (c.state, c.fault) == ("inactive", "")
    c.set_second_outputs(np.array([[100.0], [0.0], [0.0]]))
    c.set_external_torque([0.1, 0.2])

    def given(**parameters):
        return lambda: CompiledController(pair, parameters)

    assert_rejected(
        (lambda: c.set_external_torque([np.nan, 0.0]), "torque"),
        (lambda: c.activate(), "received states of all links", DynamicsError),
        (given(gain=1.0), "'gain': expected one of period, follows, gains"),
        (given(gains=[1.0]), "'gains': expected shape (4, 3)"),
        (given(stop_time=-1.0), "'stop_time' is -1.0: out of range"),
        (given(disturbance_bandwidth=np.inf), "'disturbance_bandwidth' is inf: out of range"),
        (given(friction=1.01), "'friction' out of range"),
        (given(friction=-0.01), "'friction' out of range"),
    )


OUT_OF_RANGE = {
    "period": np.inf, "lead": 1.0, "recovery_limit": -1, "filter_order": 5, "lower": 1.0,
    "hold_lower": 1.0,
    "disturbance_bandwidth": -1.0, "friction": np.inf, "gains": np.inf, "hold_gains": np.inf,
}  # fmt: skip


@needs_compiler
def test_every_parameter_that_is_out_of_range_is_named(pair):
    """NaN is refused everywhere, and so are numbers beyond the range of a setting."""
    c = CompiledController(pair)
    wrong = c._function("wrong_parameter", ctypes.c_char_p)
    parameters = type(c._parameters)
    limits = {"upper": "lower", "hold_upper": "hold_lower"}  # ranges go by their lower limits
    for name, kind in parameters._fields_:
        if name in ("follows", "recovers", "stops_on_links"):  # any integer
            continue
        values = [OUT_OF_RANGE.get(name, -1.0)] if name not in limits else []
        for value in [*values, *([] if kind is ctypes.c_int else [np.nan])]:
            given = parameters.from_buffer_copy(c._parameters)
            given.upper[0] = given.hold_upper[0] = 0.5
            if hasattr(kind, "_length_"):
                np.ctypeslib.as_array(getattr(given, name))[...] = value
            else:
                setattr(given, name, value)
            assert wrong(ctypes.byref(given)) == limits.get(name, name).encode(), (name, value)
    assert wrong(ctypes.byref(c._parameters)) is None


@needs_compiler
def test_missing_files_missing_compilers_and_their_errors_are_named(tmp_path):
    assert_rejected((lambda: CompiledController(tmp_path), "multibody_dynamics generate"))
    (tmp_path / "arm_controller.h").touch()
    (tmp_path / "arm_broken.c").write_text("int broken(void) { return x; }\n")
    assert_rejected(
        (
            lambda: CompiledController(tmp_path, compiler="no_such_compiler"),
            "no_such_compiler was not found",
        ),
        (lambda: CompiledController(tmp_path), "cc failed:"),
        error=DynamicsError,
    )
