# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is special about the kind in `parallel_kind.py`, and the commands that meet it.

test_new_kind.py runs this file where that kind is registered.
"""

import subprocess
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import yaml

from kinds import EXAMPLES, MOTOR
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control.arm.plausibility import RestingArm
from multibody_dynamics.dynamics.control.observers.state_predictor import _fastest_mode
from multibody_dynamics.dynamics.elastic import (
    KINDS,
    Actuator,
    Actuators,
    CubicSpring,
    LinearSpring,
    Motor,
    load_actuators,
)
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.robot.spring_figures import spring_figures
from robots import CONFIG

ELASTIC = EXAMPLES["parallel"].actuator
K, K3, K_P, REST = 400.0, 4e4, 20.0, 0.3  # of this example
URDF = CONFIG / "robots" / "planar_two_link.urdf"
JOINTS = ("shoulder", "elbow")


@pytest.fixture
def springs(tmp_path):
    """A file in which both joints of the planar arm are of this kind."""
    file = tmp_path / "springs.yaml"
    entry = EXAMPLES["parallel"].entry
    joints = {joint: deepcopy(entry) for joint in JOINTS}  # or YAML refers to the first one
    file.write_text(yaml.safe_dump({"joints": joints}))
    return file


def rejected(capsys, *arguments) -> str:
    assert cli.main([str(each) for each in arguments]) == 2
    return capsys.readouterr().err


def test_loads_torques_and_energy_by_hand():
    q, phi = 0.7, 0.05
    s, p = K * phi + K3 * phi**3, K_P * (q - REST)
    found = ELASTIC.spring_rows(*map(np.asarray, (q, 0.2)), [np.asarray(q + phi)],
                                [np.asarray(0.5)], (), "raise")  # fmt: skip
    stiffness = K + 3.0 * K3 * phi**2
    np.testing.assert_allclose(found.torque, s - p)
    np.testing.assert_allclose(found.loads[0], s)
    np.testing.assert_allclose(found.torque_rate, stiffness * 0.3 - K_P * 0.2)
    np.testing.assert_allclose(found.stiffness, stiffness + K_P)
    wanted = K * phi**2 / 2.0 + K3 * phi**4 / 4.0 + K_P * (q - REST) ** 2 / 2.0
    at_zero = ELASTIC.energy(REST, [REST])
    np.testing.assert_allclose(ELASTIC.energy(q, [q + phi]) - at_zero, wanted)


def test_a_stiffer_joint_is_relaxed_at_the_same_position():
    stiffer = ELASTIC.stiffened(2.0)
    assert stiffer.deflections(REST, [REST]) == [0.0, 0.0]
    np.testing.assert_allclose(stiffer.energy_hessian(REST, [REST]), [[2 * (K + K_P), -2 * K],
                                                                      [-2 * K, 2 * K]])  # fmt: skip


def test_modes_tell_the_spring_to_the_base_from_the_one_to_the_motor():
    """With a soft spring to the motor and a stiff one to the base, for a single link."""
    stiff = KINDS["parallel elastic"](Motor(0.3), LinearSpring(100.0), LinearSpring(9000.0))
    model = dyn.parse_urdf(
        """<robot name="pendulum"><link name="stand"/><joint name="hinge" type="revolute">
        <parent link="stand"/><child link="rod"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" velocity="4" effort="50"/></joint><link name="rod"><inertial>
        <mass value="1"/><inertia ixx="0.2" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/>
        </inertial></link></robot>"""
    )
    actuators = Actuators(model.joint_names, (stiff,))
    squares = np.linalg.eigvals([[9100.0 / 0.2, -100.0 / 0.2], [-100.0 / 0.3, 100.0 / 0.3]])
    assert _fastest_mode(model, actuators) == pytest.approx(np.sqrt(squares.max()))
    found = spring_figures(model, actuators)
    np.testing.assert_allclose(found.stiffness, 9100.0)
    np.testing.assert_allclose(found.motor_frequency, np.sqrt(100.0 / 0.3))
    np.testing.assert_allclose(found.link_frequency, np.sqrt(9100.0 / 0.2) / (2.0 * np.pi))


def test_a_wrong_gear_is_named_although_the_spring_to_the_base_keeps_motor_and_link_apart():
    """By more than the torque limit explains: p(q - q_0) is 220 N m, the limit 60 N m."""
    model, q = load_urdf(URDF), np.array([-0.8, 1.0])
    stiff = KINDS["parallel elastic"](MOTOR, LinearSpring(400.0), LinearSpring(200.0), rest=REST)
    actuators = Actuators(JOINTS, (stiff, stiff))
    at_rest = np.array([q, 0.0 * q, 0.0 * q])
    Q = np.array([dyn.gravity_forces(model, q), 0.0 * q, 0.0 * q])
    theta = dyn.elastic.motor_motion(actuators, at_rest, Q).position
    arm = RestingArm(model, actuators)
    assert arm.judge(q, theta) is None
    for wrong, name in zip(7.0 ** np.eye(2), JOINTS, strict=True):
        found = arm.judge(q, wrong * theta)
        assert found is not None
        assert f"'{name}' in motor_states is" in found.cause
        assert "times the position of its link (gear, unit)" in found.cause


def test_a_generated_controller_passes_its_own_test(tmp_path, springs):
    folder = tmp_path / "arm"
    call = ["generate", URDF, "--elastic-joints", springs, "--law", "motor_pd", "-o", folder]
    assert cli.main([*map(str, call), "--name", "arm"]) == 0
    test = folder / "self_test"
    sources = (*sorted(folder.glob("arm_*.c")), folder / "self_test.c")
    subprocess.run(["cc", "-std=c99", "-O1", "-o", test, *sources, "-lm"], check=True, timeout=300)
    subprocess.run([test], check=True, timeout=60)


def test_a_kind_that_cannot_be_identified_is_named_before_the_robot_moves(
    tmp_path, springs, capsys, monkeypatch
):
    monkeypatch.setattr(type(ELASTIC), "identification", Actuator.identification)
    refused = "joint 'shoulder': ParallelElastic cannot be identified"
    plan, file = tmp_path / "plan", tmp_path / "motion.npz"
    recorded(file, load_actuators(springs, JOINTS))
    assert refused in rejected(capsys, "excite", URDF, "--elastic-joints", springs, "-o", plan)
    call = "identify", "--urdf", URDF, "--elastic-joints", springs, file
    assert refused in rejected(capsys, *call)


def recorded(file, actuators, seconds=6.0, noise=0.0):
    """A motion of both joints, as the flat map computes it, and without a torque sensor."""
    model, t = load_urdf(URDF), np.arange(0.0, seconds, 2e-3)
    states = np.zeros((5, len(t), 2))
    for w, sizes in ((2.0, (0.4, -0.3)), (5.0, (0.1, 0.15)), (9.0, (-0.02, 0.04))):
        for k, row in enumerate(states):
            row += np.cos(w * t + w + k * np.pi / 2)[:, None] * w**k * np.array(sizes)
    Q = np.stack([np.asarray(row) for row in dyn.inverse_dynamics(model, *states)], 1)
    motors = dyn.elastic.motor_motion(actuators, np.stack(states[:3], 1), Q)
    tau = motors.torque + noise * np.random.default_rng(1).normal(size=motors.torque.shape)
    names = np.array(JOINTS)
    np.savez(file, t=t, q=states[0], theta=motors.position, tau=tau, joint_names=names)


def test_it_is_identified_and_written_back(tmp_path, springs):
    """From a file with other numbers: also the stiffness that only this kind has."""
    file, new = tmp_path / "motion.npz", tmp_path / "new"
    recorded(file, load_actuators(springs, JOINTS), 16.0, 0.02)
    text = springs.read_text()
    assert text.count("value: 20.0") == 2
    springs.write_text(text.replace("value: 20.0", "value: 30.0").replace("400.0", "300.0"))
    found = tmp_path / "found"
    call = ["identify", "--urdf", URDF, "--elastic-joints", springs, file, "-o", found]
    assert cli.main([*map(str, call), "--no-links"]) == 0
    call = ["write-back", found, "--urdf", URDF, "--elastic-joints", springs, "-o", new]
    assert cli.main([str(each) for each in call]) == 0
    for joint in load_actuators(new / springs.name, JOINTS).actuators:
        wanted = (K, K_P, MOTOR.inertia)
        np.testing.assert_allclose((joint.spring.K, joint.parallel_spring.K, joint.motor.inertia),
                                   wanted, rtol=1e-2)  # fmt: skip
        assert joint.rest == REST


@pytest.mark.parametrize("torque", ["links", "motors"])
def test_only_motor_torques_identify_the_series_spring_alone(tmp_path, springs, capsys, torque):
    file, found, new = (tmp_path / each for each in ("motion.npz", "found", "new"))
    recorded(file, load_actuators(springs, JOINTS))
    call = ["identify-springs", file, "--urdf", URDF, "--elastic-joints", springs, "--torque",
            torque, "--law", "cubic", "-o", found]  # fmt: skip
    assert cli.main([str(each) for each in call]) == (0 if torque == "motors" else 1)
    told = capsys.readouterr().out
    if torque != "motors":
        assert "joint 'elbow': the joint torque contains that of a spring between link" in told
        return
    call = ["write-back", found, "--urdf", URDF, "--elastic-joints", springs, "-o", new]
    assert cli.main([str(each) for each in call]) == 0
    joint = load_actuators(new / springs.name, JOINTS).actuators[0]
    np.testing.assert_allclose((joint.spring.K, joint.spring.K3), (K, K3), rtol=1e-2)
    assert replace(joint, spring=CubicSpring(K, K3)) == ELASTIC
