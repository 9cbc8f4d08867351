# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The demo of the task space node, with real processes over DDS: the arm reaches the poses."""

import json

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from multibody_dynamics.tools.base.processes import RunError
from multibody_dynamics.tools.base.recording import Recorder
from multibody_dynamics.tools.base.ros_settings import ros_settings
from multibody_dynamics.tools.demo.task_demo import POSES, _record, run_task_demo
from robots import panda


def test_an_elastic_arm_follows_the_path_of_its_hand(tmp_path, ros_domain_id, monkeypatch):
    for key, value in ros_settings(ros_domain_id).items():
        monkeypatch.setenv(key, value)
    figures = run_task_demo(tmp_path, poses=0.5 * np.array(POSES[:2]), domain_id=ros_domain_id)
    assert json.loads((tmp_path / "task_space.json").read_text()) == figures
    assert (tmp_path / "task_space.png").stat().st_size > 10_000
    assert figures["distances from the poses on the way [um]"] < 1.0
    assert figures["largest error of the hand [um]"] < 10.0
    assert figures["largest orientation error of the hand [urad]"] < 20.0
    assert figures["final distance from the goal [um]"] < 10.0


def wait(recorder):
    """Poll once."""
    conditions = iter((False, True))
    recorder.until(lambda: next(conditions), str, 1.0, lambda: None)


def test_another_run_on_the_same_domain_is_an_error(ros_domain_id, monkeypatch):
    for key, value in ros_settings(ros_domain_id).items():
        monkeypatch.setenv(key, value)
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    recorder = Recorder(context)
    others = [rclpy.create_node(name, context=context) for name in ("own", "foreign")]
    try:
        others[0].create_publisher(JointState, "joint_states", 1)
        wait(recorder)
        others[1].create_publisher(JointState, "joint_states", 1)
        says = rf"2 nodes publish joint_states on ROS domain {ros_domain_id}\b.* with --domain-id"
        with pytest.raises(RunError, match=says):
            _record(panda(), np.eye(4)[None], context, lambda: None)
        with pytest.raises(RunError, match=says):
            wait(recorder)
    finally:
        recorder.close()
        for node in others:
            node.destroy_node()
        rclpy.try_shutdown(context=context)
