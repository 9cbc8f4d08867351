# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""series_joints_node over the real middleware: its outputs, their stamp, and rejected input."""

import math

import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.series_joints_node import SeriesJointsParameters
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

NAMES = ["x", "b_spring", "a_motor", "b_motor", "a_spring"]


def test_one_message_is_split_into_two(ros: RosHarness):
    node = ros.start("series_joints_node", {"joints": ["a", "b"], "autostart": True})
    links = ros.record(JointState, "joint_states")
    motors = ros.record(JointState, "motor_states")
    publisher = ros.publisher(JointState, "series_joint_states")

    def send(sec: int, position: list[float], names: list[str] = NAMES) -> None:
        message = JointState(name=names, position=position, velocity=[10.0 * x for x in position])
        message.header.stamp.sec = sec
        publisher.publish(message)

    def answered() -> bool:
        send(1, [9.0, 0.25, 1.0, 2.0, 0.5])
        return bool(links and motors)

    ros.until(answered, "the first answer")
    link, motor = links[0], motors[0]
    assert list(link.name) == list(motor.name) == ["a", "b"]
    assert list(motor.position) == [1.0, 2.0]
    assert list(link.position) == [1.5, 2.25]
    assert list(link.velocity) == [15.0, 22.5]
    assert link.header.stamp == motor.header.stamp
    assert link.header.stamp.sec == 1

    twice = [*NAMES, "a_motor"]
    for says, rejected in {
        "position of 'a_motor' is nan": (2, [9.0, 0.25, math.nan, 2.0, 0.5]),
        "position of 'a_motor' is 1e+308": (2, [9.0, 0.25, 1e308, 2.0, 1e308]),
        "missing joint 'b_motor', 'a_spring', 'b_spring'": (2, [1.0], ["a_motor"]),
        "duplicate joint 'a_motor'": (2, [9.0, 0.25, 1.0, 2.0, 0.5, 8.0], twice),
        "the stamp is zero": (0, [9.0, 0.25, 1.0, 2.0, 0.5]),
    }.items():
        ros.until(
            lambda says=says: f"rejected series_joint_states: {says}" in node.output,
            f"'{says}'",
            each=lambda rejected=rejected: send(*rejected),
            every=0.1,
        )
    send(4, [0.5, 0.0, 0.0, 4.0], ["a_spring", "b_spring", "a_motor", "b_motor"])
    ros.until(lambda: links[-1].header.stamp.sec == 4, "the answer to another order of names")
    assert {m.header.stamp.sec for m in links} == {1, 4}
    assert list(links[-1].position) == [0.5, 4.0]
    assert "active; joints: a, b" in node.output
    assert ros.leave(node) == 0


def test_invalid_parameters_are_rejected():
    with pytest.raises(ParameterError, match="duplicate names: a, a"):
        SeriesJointsParameters(joints=("a", "a")).check()
    with pytest.raises(ParameterError, match="must differ"):
        SeriesJointsParameters(motor_suffix="x", spring_suffix="x").check()
