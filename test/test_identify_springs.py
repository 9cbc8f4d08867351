"""Springs of a simulated arm from its recording: from encoders to YAML and picture."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from multibody_dynamics.dynamics.actuator_description import load_actuators
from multibody_dynamics.dynamics.actuators import Actuators
from multibody_dynamics.dynamics.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.errors import InputError
from multibody_dynamics.dynamics.urdf import load_urdf
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.identify_springs import Motion, identify, read_motion, smoothed
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
MODEL = load_urdf(ARM)
TRUE = {"shoulder": 500.0, "elbow": 250.0}
TURN = 2.0 * np.pi


def springs() -> Actuators:
    return load_actuators(SPRINGS, MODEL.joint_names, MODEL.joint_types)


@cache
def recorded() -> Motion:
    """4 s at 1 kHz: encoders of 18 bits at the links and of 14 bits at the shafts of the motors, a
    torque sensor with noise of 0.05 N m and a bias of 0.3 N m."""
    robot = ElasticRobot(MODEL, springs())
    start = np.array([0.2, 0.5])
    robot.reset(start)
    hold, first = robot.motor_torque.copy(), robot.theta.copy()
    before = hold
    rng = np.random.default_rng(0)
    rows = []
    for k in range(4000):
        t = 1e-3 * k
        wave = np.array([0.5, 0.7]) * (1 - np.cos([3.1 * t, 4.7 * t]))
        tau = hold + [90.0, 40.0] * (first + wave - robot.theta) - [12.0, 5.0] * robot.thetad
        sensor = robot.joint_torque + 0.3 + 0.05 * rng.normal(size=2)
        q, theta = (
            np.round(row / unit) * unit
            for row, unit in ((robot.q, TURN / 2**18), (robot.theta, TURN / 2**14 / 100))
        )
        held = 0.5 * (before + tau)  # it jumps here: what a sensor of its current sees
        rows.append((np.full(2, t), q, theta, sensor, held))
        robot.step(tau, 1e-3)
        before = tau
    t, q, theta, Q, tau = np.moveaxis(np.array(rows), 1, 0)
    return Motion(MODEL.joint_names, t[:, 0], q, theta, Q, tau)


@pytest.mark.parametrize("torque", ["sensor", "links", "motors"])
def test_every_source_of_torque_finds_the_springs_within_their_errors(torque):
    fits, reasons, _ = identify(recorded(), torque=torque, model=MODEL, actuators=springs())
    assert not reasons
    for joint, K in TRUE.items():
        found = fits[joint].parameters[0]
        assert fits[joint].law.startswith("linear"), fits[joint].describe()
        assert abs(found.value - K) < 3.0 * found.error, fits[joint].describe()
        assert found.error < 3e-4 * K
        wanted = 0.3 if torque == "sensor" else 0.0
        assert fits[joint].bias == pytest.approx(wanted, abs=0.06)


def write(motion: Motion, file: Path) -> None:
    signals = {"q": motion.q, "theta": motion.theta, "Q": motion.Q, "tau": motion.tau}
    kept = {name: rows for name, rows in signals.items() if rows is not None}
    if file.suffix == ".npz":
        np.savez(file, t=motion.t, joint_names=motion.joint_names, **kept)
        return
    names = ["t", *(f"{name} {joint}" for name in kept for joint in motion.joint_names)]
    table = np.column_stack([motion.t, *kept.values()])
    np.savetxt(file, table, "%.15g", ",", header=",".join(names), comments="")


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_a_recording_is_read_as_it_was_written(tmp_path, kind):
    motion = recorded()
    write(motion, tmp_path / f"motion.{kind}")
    again = read_motion(tmp_path / f"motion.{kind}")
    assert again.joint_names == motion.joint_names
    for name in ("t", "q", "theta", "Q", "tau"):
        np.testing.assert_allclose(getattr(again, name), getattr(motion, name), rtol=1e-14)


def test_recordings_of_the_demo_are_read(tmp_path):
    motion = recorded()
    stamp = (1e9 * motion.t).round().astype(np.int64) + 7 * 10**18
    file = tmp_path / "full.npz"
    none = np.zeros_like(motion.q)
    np.savez(
        file,
        facts=np.array(json.dumps({"joint_names": motion.joint_names})),
        **{
            "joint_states.stamp": stamp[5:],
            "joint_states.values": np.stack([motion.q, none, motion.Q], axis=1)[5:],
            "motor_states.stamp": stamp[:-9],
            "motor_states.values": np.stack([motion.theta, none, none * np.nan], axis=1)[:-9],
        },
    )
    again = read_motion(file)
    np.testing.assert_allclose(again.t, motion.t[:-14], atol=1e-9)
    np.testing.assert_array_equal(again.theta, motion.theta[5:-9])
    np.testing.assert_array_equal(again.Q, motion.Q[5:-9])
    assert again.tau is None


def test_the_command_writes_a_file_of_springs_and_a_picture(tmp_path, capsys):
    motion = recorded()
    theta = motion.theta.copy()
    theta[:, 1] = motion.q[:, 1]  # an elbow without a spring
    write(Motion(motion.joint_names, motion.t, motion.q, theta, motion.Q), tmp_path / "motion.npz")
    output = tmp_path / "out"
    arguments = ["identify-springs", str(tmp_path / "motion.npz"), "-o", str(output), "--robust"]
    assert cli.main(arguments) == 0
    said = capsys.readouterr().out
    assert "shoulder: linear" in said
    assert "joint 'elbow': the deflection hardly moved" in said
    text = (output / "springs.yaml").read_text()
    K = float(re.search(r"stiffness: {value: (\S+), unit: N m/rad, side: link}", text)[1])
    assert abs(K - 500.0) < 1.0
    assert "# joint 'elbow': the deflection hardly moved" in text
    assert imread(output / "springs.png").std() > 0.02


def test_what_a_recording_lacks_is_said(tmp_path, capsys):
    motion = recorded()
    bare = Motion(motion.joint_names, motion.t, motion.q, motion.theta)
    for options, says in (
        ({"torque": "sensor"}, "no torques of sensors"),
        ({"torque": "motors"}, "no torques of motors"),
        ({}, "need the robot of shoulder, elbow: none is given"),
    ):
        with pytest.raises(InputError, match=says):
            identify(bare, **options)
    with pytest.raises(InputError, match="their data: --elastic-joints"):
        identify(motion, torque="motors")
    gap = motion.t + np.where(motion.t > 1.0, 0.5, 0.0)
    with pytest.raises(InputError, match=r"nothing was recorded from 1 to 1\.5"):
        smoothed(gap, motion.q, 0.03)
    with pytest.raises(InputError, match="3 of 4000 samples"):
        smoothed(motion.t, motion.q, 0.002)
    for name, text, says in (
        ("a.txt", "", "ends in .csv or .npz"),
        ("b.csv", "t,q a\n1,2,3\n", "must name 3 columns"),
        ("c.csv", "t,q a\n1,2\n2,3\n", "theta is missing"),
        ("d.csv", "t,q a,theta a\n1,2,1\n1,3,1\n", "t must increase"),
        ("e.csv", "t,q a,theta a\n1,x,1\n", "not a table of numbers"),
        ("f.csv", "t,q a,q b,theta a\n1,1,1,1\n2,1,1,1\n", "'theta b' is missing"),
    ):
        (tmp_path / name).write_text(text)
        assert cli.main(["identify-springs", str(tmp_path / name)]) == 2
        assert says in capsys.readouterr().err
