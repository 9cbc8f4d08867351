# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs of a simulated arm from its recording: from encoders to YAML and picture."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from bag_files import BEGIN, messages_of, write_bag
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import Antagonistic, Motor
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.springs import CubicSpring
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.recordings.spring_fits import identify, smoothed, to_yaml
from multibody_dynamics.tools.recordings.spring_recordings import Motion, read_motion
from multibody_dynamics.validation.recordings import JointSelection
from rejections import assert_rejected
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
    """4 s at 1 kHz: 18-bit encoders at the links, 14-bit encoders at the shafts of the motors, a
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
        held = 0.5 * (before + tau)  # the torque jumps here: a current sensor sees the mean
        rows.append((np.full(2, t), q, theta, sensor, held))
        robot.step(tau, 1e-3)
        before = tau
    t, q, theta, Q, tau = np.moveaxis(np.array(rows), 1, 0)
    return Motion(MODEL.joint_names, t[:, 0], q, theta, Q, tau)


@pytest.mark.parametrize("torque", ["sensor", "links", "motors"])
def test_every_source_of_torque_identifies_the_springs_within_their_errors(torque):
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


def test_recordings_of_the_demo_can_be_read(tmp_path):
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


def sides(motion: Motion):
    """Rows (k, 3, n) of link and motor states, as their nodes publish them."""
    none = np.full_like(motion.q, np.nan)
    return (
        np.stack([motion.q, none, motion.Q], axis=1),
        np.stack([motion.theta, none, motion.tau], axis=1),
    )


@pytest.mark.parametrize("torque", ["sensor", "motors"])  # those that a bag contains
def test_a_bag_gives_the_same_result_as_a_table(tmp_path, torque):
    """A compressed bag with prefixed names, reordered motors, and a gripper among the links."""
    motion = recorded()
    links, motors = sides(motion)
    gripper = np.zeros((len(links), 3, 1))
    backwards = np.ascontiguousarray(motors[:, :, ::-1])
    messages = [
        *messages_of(
            motion.t,
            np.concatenate((gripper, links), axis=2),
            ["gripper", "my_shoulder", "my_elbow"],
            "/arm/joint_states",
        ),
        *messages_of(motion.t, backwards, ["my_elbow", "my_shoulder"], "/encoders"),
    ]
    bag = write_bag(
        tmp_path / "bag",
        sorted(messages, key=lambda each: each[1]),
        plugin=StoragePlugin.MCAP,
        mode=CompressionMode.MESSAGE,
    )
    again = read_motion(bag, MODEL, JointSelection(motor_topic="/encoders", prefix="my_"))
    np.testing.assert_allclose(again.t, motion.t, rtol=0.0, atol=1e-12)
    assert not again.problem
    of_bag, of_table = (
        identify(each, torque=torque, model=MODEL, actuators=springs(), law="linear")[0]
        for each in (again, motion)
    )
    for joint in TRUE:
        for found, wanted in zip(of_bag[joint].parameters, of_table[joint].parameters, strict=True):
            assert found.value == pytest.approx(wanted.value, rel=1e-9)
            assert found.error == pytest.approx(wanted.error, rel=1e-6)


def test_unsynchronised_topics_are_paired_by_their_stamps(tmp_path, capsys):
    """Motor states at half the rate, between the stamps of the links, with 0.3 s missing."""
    motion = recorded()
    links, motors = sides(motion)
    middle = motion.t[:-1] + 5e-4
    between = 0.5 * (motors[1:] + motors[:-1])
    kept = (np.arange(len(middle)) % 2 == 0) & ((middle < 1.0) | (middle > 1.3))
    messages = messages_of(motion.t, links, MODEL.joint_names)
    messages += messages_of(middle[kept], between[kept], MODEL.joint_names, "/motor_states")
    bag = write_bag(tmp_path / "bag", sorted(messages, key=lambda each: each[1]))
    assert cli.main(["identify-springs", str(bag), "-o", str(tmp_path), "--law", "linear"]) == 0
    printed = capsys.readouterr().out
    interpolated = "1000 Hz, 100% between the common times: interpolated"
    assert f"/joint_states: 4000 messages, {interpolated}" in printed
    assert "/motor_states: 1850 messages, 500 Hz, all at the common times" in printed
    assert "/motor_states: 1 gaps, the longest 0.302 s" in printed
    assert "paired by their stamps: 1850 samples at 500 Hz" in printed

    fits, _, samples = identify(read_motion(bag), law="linear", window=0.028)
    for joint, K in TRUE.items():
        found = fits[joint].parameters[0]
        assert abs(found.value - K) < 3.0 * found.error, fits[joint].describe()
        assert found.error < 1e-3 * K
        assert len(samples[joint][0]) == 1850 - 4 * 7  # without the ends of two stretches
    fits, _, samples = identify(read_motion(bag), law="linear", window=0.028, rate=100.0)
    assert len(samples["elbow"][0]) == -(-(1850 - 4 * 7) // 5)
    assert abs(fits["elbow"].parameters[0].value - 250.0) < 0.25


def test_two_motors_of_a_joint_have_a_spring_each(tmp_path):
    pull, back = (
        CubicSpring(40.0, 5e4, travel=(0.0, 0.2)),
        CubicSpring(60.0, 3e4, travel=(0.0, 0.2)),
    )
    motor = Motor(0.05, viscous=0.3)
    elbow = Actuators(("elbow",), (Antagonistic(motor, motor, pull, back),))
    t = 1e-3 * np.arange(3000)

    def wave(offset, size, rate):
        """A motion with its first two derivatives."""
        return (
            offset + size * np.sin(rate * t),
            size * rate * np.cos(rate * t),
            -size * rate**2 * np.sin(rate * t),
        )

    q, agonist, antagonist = wave(0.2, 0.01, 3.0), wave(0.28, 0.03, 7.0), wave(0.1, 0.03, 5.0)
    forces = pull.torque(agonist[0] - q[0]), -back.torque(q[0] - antagonist[0])
    tau = [
        0.05 * acceleration + 0.3 * velocity + force
        for (_, velocity, acceleration), force in zip((agonist, antagonist), forces, strict=True)
    ]
    file = tmp_path / "elbow.csv"
    names = "t,q elbow,theta elbow_agonist,theta elbow_antagonist,tau elbow_agonist"
    table = np.column_stack([t, q[0], agonist[0], antagonist[0], *tau])
    head = f"{names},tau elbow_antagonist"
    np.savetxt(file, table, "%.17g", ",", header=head, comments="")
    motion = read_motion(file)
    assert motion.motor_names == elbow.motor_names
    fits, reasons, _ = identify(motion, torque="motors", actuators=elbow, law="cubic")
    assert not reasons
    for name, spring in (("elbow_agonist", pull), ("elbow_antagonist", back)):
        K, K3 = (fits[name].parameters[k].value for k in range(2))
        assert pytest.approx(spring.K, rel=1e-3) == K
        assert pytest.approx(spring.K3, rel=1e-3) == K3
    text = to_yaml(motion, fits, reasons)
    for line in ("  elbow:", "    agonist:", "      spring:", "    antagonist:"):
        assert line in text.splitlines()
    _, reasons, _ = identify(replace(motion, Q=motion.q))
    assert "only motor torques distinguish the springs of its 2 motors" in reasons["elbow_agonist"]


@pytest.mark.parametrize("command", [["identify-springs"], ["identify", "--only", "springs"]])
def test_the_command_writes_a_file_of_springs_and_a_picture(tmp_path, capsys, command):
    motion = recorded()
    theta = motion.theta.copy()
    theta[:, 1] = motion.q[:, 1]  # an elbow without a spring
    write(Motion(motion.joint_names, motion.t, motion.q, theta, motion.Q), tmp_path / "motion.npz")
    output = tmp_path / "out"
    arguments = [*command, str(tmp_path / "motion.npz"), "-o", str(output), "--robust"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "shoulder: linear" in printed
    assert "joint 'elbow': the deflection hardly changed" in printed
    text = (output / "springs.yaml").read_text()
    K = float(re.search(r"stiffness: {value: (\S+), unit: N m/rad, side: link}", text)[1])
    assert abs(K - 500.0) < 1.0
    assert "# joint 'elbow': the deflection hardly changed" in text
    assert imread(output / "springs.png").std() > 0.02


def test_missing_data_in_a_recording_is_reported(tmp_path, capsys):
    motion = recorded()
    bare = Motion(motion.joint_names, motion.t, motion.q, motion.theta)
    for options, says in (
        ({"torque": "sensor"}, "no sensor torques; use --torque"),
        ({"torque": "motors"}, "no motor torques; use --torque"),
        ({}, "require a robot with the joints shoulder, elbow; set --urdf"),
    ):
        with pytest.raises(InputError, match=says):
            identify(bare, **options)
    with pytest.raises(InputError, match="require motor data; set --elastic-joints"):
        identify(motion, torque="motors")
    gap = motion.t + np.where(motion.t > 1.0, 0.5, 0.0)
    assert_rejected(
        (lambda: smoothed(gap, motion.q, 0.03), "no samples were recorded from 1 to 1.5"),
        (lambda: smoothed(motion.t, motion.q, 0.002), "3 of 4000 samples"),
    )
    for name, text, says in (
        ("a.txt", "", "ending in .csv, .npz"),
        ("b.csv", "t,q a\n1,2,3\n", "line 2: 3 cells in 2 columns"),
        ("c.csv", "t,q a\n1,2\n2,3\n", "theta is missing"),
        ("d.csv", "t,q a,theta a\n1,2,1\n1,3,1\n", "t must increase"),
        ("e.csv", "t,q a,theta a\n1,x,1\n", "not a table of numbers"),
        ("f.csv", "t,q a,q b,theta a\n1,1,1,1\n2,1,1,1\n", "'theta b' is missing"),
    ):
        (tmp_path / name).write_text(text)
        assert cli.main(["identify-springs", str(tmp_path / name)]) == 2
        assert says in capsys.readouterr().err
    np.savez(tmp_path / "demo.npz", facts=json.dumps({"joint_names": ["a"]}))
    assert cli.main(["identify-springs", str(tmp_path / "demo.npz")]) == 2
    assert "not a recording of the demo: 'joint_states.stamp' is missing" in capsys.readouterr().err


def test_missing_data_in_a_bag_is_reported(tmp_path, capsys):
    t = 5e-3 * np.arange(40)
    rows = np.ones((40, 3, 2))
    links = messages_of(t, rows, MODEL.joint_names)
    motors = messages_of(t, rows, MODEL.joint_names, "/motor_states")
    others = messages_of(t, rows, ("m1", "m2"), "/motor_states")
    late = messages_of(t, rows, MODEL.joint_names, "/motor_states", BEGIN + 10**12)
    again = messages_of(t, rows, MODEL.joint_names, "/b/joint_states")
    blind = rows.copy()
    blind[:, 0, 1] = np.nan
    no_elbow = messages_of(t, blind, MODEL.joint_names, "/motor_states")
    robot = ("--urdf", str(ARM))
    for k, (messages, options, says) in enumerate(
        (
            (links, (), "no topic is named motor_states; topics with joint states: /joint_states"),
            (links + motors + again, (), "several topics are named joint_states"),
            (links + others, (), "/motor_states has no motors for the joints shoulder, elbow; it"),
            (
                links + late,
                (),
                "the topics do not overlap in time: /joint_states has 1700000000.000000 to",
            ),
            (links + no_elbow, (), "/motor_states: no position was recorded for elbow"),
            (links + motors, ("--motor-topic", "/x"), "no joint states on /x"),
            (links + motors, ("--motor-topic", "/joint_states"), "must be on different topics"),
            (
                links + motors,
                (*robot, "--prefix", "my_"),
                "the joints shoulder, elbow of the robot are not on /joint_states",
            ),
            (links + motors, ("--hold", "elbow=1"), "requires --urdf"),
            (
                links + motors + again,
                ("--topic", "/joint_states", "--topic", "/b/joint_states"),
                "joint 'shoulder' is on the topics /b/joint_states, /joint_states",
            ),
        )
    ):
        bag = write_bag(tmp_path / f"bag_{k}", messages)
        assert cli.main(["identify-springs", str(bag), *options]) == 2
        assert says in capsys.readouterr().err


def test_a_malformed_message_in_a_bag_is_skipped_and_reported(tmp_path, capsys):
    motion = recorded()
    links, motors = sides(motion)
    messages = messages_of(motion.t, links, MODEL.joint_names)
    messages += messages_of(motion.t, motors, MODEL.joint_names, "/motor_states")
    messages.sort(key=lambda each: each[1])
    messages[6000] = ("/joint_states", messages[6000][1], b"\0\1\0\0 no message")
    bag = write_bag(tmp_path / "bag", messages)
    arguments = ["identify-springs", str(bag), "-o", str(tmp_path / "out"), "--law", "linear"]
    assert cli.main(arguments) == 1
    printed = capsys.readouterr()
    assert "/joint_states: 1 messages were skipped" in printed.err
    assert "shoulder: linear" in printed.out
    assert (tmp_path / "out" / "springs.yaml").is_file()
