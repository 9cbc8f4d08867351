# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node: the part of it that the parameters name, and its couplings."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import JointStates
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.base.robot import (
    DynamicRobotParameters,
    ElasticRobotParameters,
    find_file,
    load_model,
)

LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0.05"/><mass value="1"/><inertia ixx="0.02"
iyy="0.03" izz="0.025" ixy="0.001" ixz="0.002" iyz="-0.001"/></inertial></link>"""
JOINT = """<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/>
<origin xyz="0.1 0.2 0" rpy="0.3 0 0.5"/><axis xyz="0 0.6 0.8"/>
<limit lower="-1" upper="1" velocity="1" effort="9"/>{}</joint>"""
GRIPPER_ARM = (
    '<robot name="arm"><link name="base"/>'
    + "".join(map(LINK.format, ("upper", "hand", "left", "right")))
    + JOINT.format("shoulder", "base", "upper", "")
    + JOINT.format("wrist", "upper", "hand", "")
    + JOINT.format("finger", "hand", "left", "")
    + JOINT.format("other", "hand", "right", '<mimic joint="finger" multiplier="-1"/>')
    + "</robot>"
)


def loaded(**parameters):
    return load_model(DynamicRobotParameters(robot_description=GRIPPER_ARM, **parameters))


def test_the_parameters_choose_a_part_of_the_robot():
    assert loaded().joint_names == ("shoulder", "wrist", "finger")
    assert loaded(tip_link="hand").joint_names == ("shoulder", "wrist")
    assert loaded(root_link="upper", tip_link="hand").joint_names == ("wrist",)
    held = loaded(locked_joints=("finger=0.25", "shoulder"))
    assert held.joint_names == ("wrist",)
    assert dict(held.locked) == {"finger": 0.25, "shoulder": 0.0, "other": -0.25}


def test_a_position_that_is_no_number_is_named():
    with pytest.raises(ParameterError, match=r"'finger=open' is neither 'name' nor"):
        loaded(locked_joints=("finger=open",))
    with pytest.raises(dyn.ModelError, match="no joint 'thumb'"):
        loaded(locked_joints=("thumb",))


@pytest.mark.parametrize(("name", "where"), [("/no.urdf", r"$"), ("no.urdf", r" in /\S+")])
def test_a_file_that_does_not_exist_is_named_with_the_folders_searched(name, where):
    with pytest.raises(ParameterError, match=f"^file {name} not found{where}"):
        find_file(name)


def test_couplings_come_with_the_springs(tmp_path):
    file = tmp_path / "springs.yaml"
    file.write_text("couplings: {wrist: {terms: {shoulder: -0.5}}}\njoints: {}\n")
    p = ElasticRobotParameters(robot_description=GRIPPER_ARM, elastic_joints_file=str(file))
    assert load_model(p).joint_names == ("shoulder", "finger")


def test_states_of_dependent_joints_are_ignored():
    states = JointStates(loaded().joint_names)
    message = JointState(name=["other", "wrist", "finger", "shoulder"])
    message.position = [float("nan"), 0.2, 0.3, 0.1]
    message.header.stamp.sec = 1
    assert states.accept(message, now=10**9)
    np.testing.assert_array_equal(states.position, [0.1, 0.2, 0.3])
