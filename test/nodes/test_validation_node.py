# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""validation_node over the real middleware: its outputs agree with the reports that it writes."""

import json
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from bag_files import BEGIN, motion
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import nanoseconds, set_stamp
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.base.qos import LATCHED
from multibody_dynamics.nodes.validation_node import ValidationParameters
from multibody_dynamics.validation.comparison import validate
from multibody_dynamics.validation.recordings import Recording
from multibody_dynamics.validation.settings import Settings
from robots import CONFIG
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

ARM = CONFIG / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(ARM)
RATE = 200.0
TOPICS = ("predicted_effort", "measured_effort", "residual")


def states(count: int) -> list[JointState]:
    """States of the arm with a payload unknown to the node, and of a joint of another robot."""
    t, rows = motion(MODEL, count, RATE)
    q = rows[:, 0]
    heavier = MODEL.with_payload(MODEL.body_names[-1], 3.0, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    rows[:, 2] += dyn.gravity_forces(heavier, q) - dyn.gravity_forces(MODEL, q)
    messages = []
    for at, row in zip(t, rows, strict=True):
        position, velocity, effort = ([0.0, *each[::-1].tolist()] for each in row)
        message = JointState(
            name=["finger", *reversed(MODEL.joint_names)],
            position=position,
            velocity=velocity,
            effort=effort,
        )
        set_stamp(message.header.stamp, BEGIN + round(1e9 * at))
        messages.append(message)
    return messages


def test_a_replay_in_a_loop(ros: RosHarness, tmp_path: Path):
    output = tmp_path / "out"
    parameters = {"autostart": True, "cutoff": 8.0, "output": str(output), "max_rms_share": 0.02}
    parameters |= {"silence": 60.0}  # s; writing a report may hold up the next states
    node = ros.start("validation_node", parameters)
    described = ros.peer.create_publisher(String, "robot_description", LATCHED)
    described.publish(String(data=ARM.read_text()))
    ros.until(
        lambda: "configured for" in node.output, "a robot", patience=60.0
    )  # the node compiles
    published = {topic: ros.record(JointState, f"validation_node/{topic}") for topic in TOPICS}
    publisher = ros.publisher(JointState, "joint_states")
    sent = states(1200)

    late = 0.48  # s: 90 samples for half the filter, 3 between outputs, 3 for interpolation

    def send(messages: list[JointState]) -> None:
        """No faster than the node reads, as far as its residuals show."""
        for k, message in enumerate(messages):
            publisher.publish(message)
            if k % 10 == 9:
                ros.spin(0.004 if published["residual"] else 0.04)  # its first look takes a while
                if published["residual"]:
                    stamp = nanoseconds(message.header.stamp)
                    ros.until(lambda stamp=stamp: behind(stamp) < late + 0.15, "earlier residuals")

    def behind(stamp: int) -> float:
        return 1e-9 * (stamp - nanoseconds(published["residual"][-1].header.stamp))

    bad = states(401)[-1]
    bad.position[1] = np.nan
    send([*sent[:400], bad, *sent[400:]])
    last = nanoseconds(sent[-1].header.stamp)
    ros.until(
        lambda: published["residual"] and behind(last) <= late + 1e-9, "residuals of all states"
    )
    key = "joint_states: not finite"
    ros.until(lambda: key in ros.diagnosis("inputs")[2], "the diagnosis")
    assert ros.diagnosis("inputs")[2][key] == "1"
    assert float(ros.diagnosis("comparison")[2]["delay [s]"]) == pytest.approx(late)
    level, text, values = ros.diagnosis("residual")
    assert level == 1
    assert "'shoulder': rms" in text
    assert "elbow" not in text  # the payload has no lever arm there
    assert float(values["shoulder rms"]) > 10.0

    send(sent[:30])  # from the beginning: the first recording is over
    first, second = output / "recording_1", output / "recording_2"
    ros.until((first / "report.html").exists, "the report of the first pass", patience=60.0)
    ros.until(second.exists, "a second recording")
    ros.set_parameters(node, silence=0.2)
    ros.until(lambda: not second.exists(), "the end of a recording of 30 states")
    ros.set_parameters(node, silence=60.0)
    count = len(published["residual"])
    send(sent[:300])
    ros.until(lambda: len(published["residual"]) > count, "residuals of another recording")
    assert ros.leave(node) == 0
    assert str(first / "report.html") in node.output
    assert str(second / "report.html") in node.output
    assert (second / "report.html").exists()

    # Nothing was lost, and the report contains every published sample, up to rounding.
    recorded = Recording(first / "states").overview
    assert recorded.topics == {"/test/joint_states": len(sent) + 1}
    compared = []
    settings = Settings(first / "robot.urdf", cutoff=8.0)
    found = validate(first / "states", settings, listener=lambda look, part: compared.append(part))
    figures = json.loads((first / "report.json").read_text())
    assert figures["residuals"]["Q"]["elbow"]["rms"] == found.residuals[0].rms[1]
    stamps = BEGIN + np.round(1e9 * np.concatenate([part.times for part in compared])).astype(int)
    predicted, measured = (
        np.concatenate([getattr(part, name)[0] for part in compared])
        for name in ("predicted", "measured")
    )
    for topic, rows in zip(TOPICS, (predicted, measured, predicted - measured), strict=True):
        messages = published[topic][:count]
        assert all(tuple(m.name) == MODEL.joint_names for m in messages)
        at = np.array([nanoseconds(m.header.stamp) for m in messages])
        assert np.array_equal(at, stamps[: len(at)])
        assert len(stamps) - len(at) <= 2  # the last ones, which await later states
        effort = np.array([m.effort for m in messages])
        assert np.abs(effort - rows[: len(at)]).max() < 1e-10 * np.abs(measured).max()


def test_long_recordings_are_split_and_failing_ones_do_not_stop_the_comparison(
    ros: RosHarness, tmp_path: Path
):
    output, moved = tmp_path / "out", tmp_path / "moved"
    parameters = {"autostart": True, "robot_file": str(ARM), "cutoff": 25.0}
    parameters |= {"output": str(output), "longest_recording": 1.0, "silence": 600.0}
    node = ros.start("validation_node", parameters)
    residuals = ros.record(JointState, "validation_node/residual")
    publisher = ros.publisher(JointState, "joint_states")
    coming = iter(states(4000))

    def publish() -> None:
        publisher.publish(next(coming))

    first, second = output / "recording_1", output / "recording_2"
    ros.until((second / "states" / "states.mcap").exists, "the next recording", publish)
    ros.set_parameters(node, longest_recording=3600.0)
    ros.until((first / "report.html").exists, "a report of the first second", patience=60.0)
    output.rename(moved)
    output.write_text("")  # prevents further recordings
    ros.set_parameters(node, longest_recording=1.0)
    ros.until(lambda: ros.diagnosis("recording")[0] == 2, "an ERROR", publish)
    assert "Not a directory" in ros.diagnosis("recording")[1]
    count = len(residuals)
    ros.until(lambda: len(residuals) > count + 5, "residuals without a recording", publish)
    assert ros.leave(node) == 0

    # The second recording continues where the first one ended.
    stamps = [
        np.concatenate([part.stamp for part in Recording(path).read()])
        for path in (
            moved / "recording_1" / "states",
            moved / "recording_2" / "states" / "states.mcap",
        )
    ]
    assert len(stamps[0]) > 64
    assert (np.diff(np.concatenate(stamps)) == round(1e9 / RATE)).all()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"gravity": (9.81,)}, "x, y, z"),
        ({"held_joints": ("finger",)}, "0 values for 1 held_joints"),
        ({"held_joints": ("a", "a"), "held_positions": (0.0, 0.0)}, "duplicate names: a, a"),
        ({"effort": "motor"}, "elastic_joints_file"),
    ],
)
def test_inconsistent_parameters_are_rejected(values, text):
    with pytest.raises(ParameterError, match=text):
        ValidationParameters(**values).check()
