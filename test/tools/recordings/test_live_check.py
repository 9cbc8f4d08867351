# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Replay through the real node: it answers every state, with the library's values."""

import json
import re

import pytest
import rclpy
from rosbags.rosbag2 import StoragePlugin
from sensor_msgs.msg import JointState

from bag_files import messages_of, motion, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.ros_settings import DOMAIN_VARIABLE, ros_context, ros_settings
from multibody_dynamics.tools.recordings.live_check import _without_limits
from multibody_dynamics.validation.recordings import Bag
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(ARM)


@pytest.fixture
def replay(tmp_path, monkeypatch, ros_domain_id):
    """Replays a recording through the node, and writes into the folder out; the exit status."""
    monkeypatch.setenv(DOMAIN_VARIABLE, str(ros_domain_id))
    for name in ("ROS_DOMAIN_ID", "AMENT_PREFIX_PATH"):
        monkeypatch.setenv(name, "")  # restored after the test, even if the command changes it
    t, rows = motion(MODEL, 600, 200.0)
    messages = messages_of(t, rows, MODEL.joint_names)
    path = write_bag(tmp_path / "bag", messages, plugin=StoragePlugin.MCAP)
    arguments = ["validate", str(path), "--urdf", str(ARM), "--cutoff", "15"]
    return lambda: cli.main([*arguments, "-o", str(tmp_path / "out"), "--live", "--live-rate", "4"])


def test_the_live_node_agrees_with_the_library(replay, tmp_path, capsys):
    assert replay() == 0
    out = tmp_path / "out"
    printed = capsys.readouterr().out
    sent, answered = map(int, re.search(r"live: (\d+) of (\d+) states", printed).groups())
    assert sent == answered > 1000
    content = json.loads((out / "live.json").read_text())
    assert content["lost"] == 0
    assert max(content["difference"].values()) < 1e-12
    assert 0.0 < content["latency"]["p50"] <= content["latency"]["p100"]
    topics = Bag(out / "live").overview.topics
    assert len(topics) == 4
    assert min(topics.values()) >= sent


def test_states_of_another_robot_on_the_domain_end_it(replay, capsys, ros_domain_id, monkeypatch):
    for key, value in ros_settings(ros_domain_id).items():
        monkeypatch.setenv(key, value)
    with ros_context() as context:
        other = rclpy.create_node("other", context=context)
        other.create_publisher(JointState, "joint_states", 1)
        try:
            assert replay() == 1
        finally:
            other.destroy_node()
    says = f"2 nodes publish joint_states on ROS domain {ros_domain_id}: another run is in progress"
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("end", ["/>", "></limit>", " > <!-- rad --> </limit >"])
def test_limits_are_widened_however_they_are_written(end):
    urdf = ARM.read_bytes()
    assert urdf.count(b"<limit") == MODEL.n
    rewritten = b"\n " + re.sub(rb"(<limit[^>]*?)\s*/>", rb"\1" + end.encode(), urdf)
    limits = dyn.parse_urdf(_without_limits(rewritten)).limits
    assert (limits.upper == 1e4).all()
    assert (limits.lower == -1e4).all()
    assert (limits.velocity == 1e6).all()
    assert (limits.effort == 1e9).all()
