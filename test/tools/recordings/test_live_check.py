# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Replay through the real node: it answers every state, with the library's values."""

import json
import re

import pytest
from rosbags.rosbag2 import StoragePlugin

from bag_files import messages_of, motion, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.ros_settings import DOMAIN_VARIABLE
from multibody_dynamics.tools.recordings.live_check import _without_limits
from multibody_dynamics.validation.recordings import Bag
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(ARM)


def test_the_live_node_agrees_with_the_library(tmp_path, monkeypatch, capsys, ros_domain_id):
    monkeypatch.setenv(DOMAIN_VARIABLE, str(ros_domain_id))
    for name in ("ROS_DOMAIN_ID", "AMENT_PREFIX_PATH"):
        monkeypatch.setenv(name, "")  # restored after the test, even if the command changes it
    t, rows = motion(MODEL, 600, 200.0)
    messages = messages_of(t, rows, MODEL.joint_names)
    path = write_bag(tmp_path / "bag", messages, plugin=StoragePlugin.MCAP)
    out = tmp_path / "out"
    arguments = ["validate", str(path), "--urdf", str(ARM), "--cutoff", "15", "-o", str(out)]
    assert cli.main([*arguments, "--live", "--live-rate", "4"]) == 0
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
