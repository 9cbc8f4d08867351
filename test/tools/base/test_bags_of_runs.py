# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The bag of a run opens with the robot in other programs: Rerun's loader reads it here."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState

from multibody_dynamics.dynamics.model import parse_urdf
from multibody_dynamics.tools.base.recording import TOPICS, Recorder
from multibody_dynamics.validation.recordings import Bag
from multibody_dynamics.validation.recordings.bag_library import message_types
from recorded_arm import ARM, NAMES

RERUN = Path(sys.executable).with_name("rerun")
COUNT = 20


@pytest.fixture
def bag(ros_domain_id, tmp_path):
    """A bag of joint_states and of the torque rates, written by the recorder of the demos."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain_id)
    node = rclpy.create_node("robot", context=context)
    recorder = Recorder(context)
    topics = ("joint_states", TOPICS["torque_rate"].name)
    made = [node.create_publisher(JointState, topic, 10) for topic in topics]
    end = time.monotonic() + 10.0
    while not all(each.get_subscription_count() for each in made):
        assert time.monotonic() < end
        time.sleep(0.02)
    for k in range(COUNT):
        message = JointState(name=list(NAMES), position=[0.1 * k, 0.2], effort=[1.0, 2.0 * k])
        message.header.stamp.nanosec = 1000 * (k + 1)
        for each in made:
            each.publish(message)
    while any(recorder.count(key) < COUNT for key in ("joint_states", "torque_rate")):
        assert time.monotonic() < end
        recorder.poll()
    recorder.write_bag(tmp_path / "bag", ARM.read_text())
    recorder.close()
    context.shutdown()
    return tmp_path / "bag"


def test_it_has_the_robot_and_all_messages(bag):
    opened = Bag(bag)
    rates = f"/{TOPICS['torque_rate'].name}"
    assert opened.overview.topics == {"/joint_states": COUNT, rates: COUNT}
    ((at, raw),) = opened.messages("/robot_description")
    text = message_types().deserialize_cdr(bytes(raw), "std_msgs/msg/String").data
    assert parse_urdf(text).joint_names == NAMES
    (states,) = opened.read(["/joint_states"])
    assert at == opened.overview.begin <= states.received[0]
    assert states.rows[:, 0, 0] == pytest.approx(0.1 * np.arange(COUNT))
    (torques,) = opened.read([rates])
    assert torques.rows[:, 2, 1].tolist() == (2.0 * np.arange(COUNT)).tolist()


def test_rerun_loads_the_robot_and_its_joint_states(bag):
    (file,) = bag.glob("*.mcap")
    rrd = bag.parent / "run.rrd"
    run = [RERUN, "mcap", "convert", file, "-o", rrd]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [RERUN, "rrd", "print", "-vv", rrd], capture_output=True, text=True, timeout=120
    )
    assert shown.returncode == 0, shown.stderr
    for name in ("/joint_states", "/robot_description"):
        assert name in shown.stdout, json.dumps(shown.stdout[:3000])
