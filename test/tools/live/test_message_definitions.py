# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Definitions of message types come from the installed packages."""

import sys
import types

import pytest
from rosbags.typesys import Stores, get_typestore

from multibody_dynamics.dynamics import InputError
from multibody_dynamics.tools.live.message_definitions import MessageTypes


@pytest.mark.parametrize(
    ("name", "stamped"),
    [
        ("sensor_msgs/msg/JointState", True),
        ("trajectory_msgs/msg/JointTrajectory", True),
        ("std_msgs/msg/Float64MultiArray", False),
        ("std_msgs/msg/String", False),
        ("rcl_interfaces/msg/Log", False),
    ],
)
def test_installed_types(name, stamped):
    found = MessageTypes().find(name)
    assert found.message.__name__ == name.rpartition("/")[2]
    assert found.is_stamped is stamped
    # The hash of a definition does not depend on where it was read.
    assert found.hash == get_typestore(Stores.ROS2_JAZZY).hash_rihs01(name)


def test_type_of_an_own_package(tmp_path, monkeypatch):
    """Nested types are read as well; the class is what rosidl would have generated."""
    share = tmp_path / "share" / "gripper_msgs" / "msg"
    share.mkdir(parents=True)
    (share / "Finger.msg").write_text("float64 force  # N\n")
    (share / "Gripper.msg").write_text("std_msgs/Header header\nFinger[] fingers\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    messages = types.ModuleType("gripper_msgs.msg")
    messages.Gripper = type("Gripper", (), {})
    monkeypatch.setitem(sys.modules, "gripper_msgs", types.ModuleType("gripper_msgs"))
    monkeypatch.setitem(sys.modules, "gripper_msgs.msg", messages)
    found = MessageTypes().find("gripper_msgs/msg/Gripper")
    assert found.is_stamped
    assert "MSG: gripper_msgs/Finger\nfloat64 force" in found.definition
    assert "MSG: std_msgs/Header" in found.definition


def test_types_that_are_not_installed():
    with pytest.raises(InputError, match="the package gripper_msgs is not installed here"):
        MessageTypes().find("gripper_msgs/msg/Gripper")
