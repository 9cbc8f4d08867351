# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node: the part of it that the parameters name, and its couplings."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
from sensor_msgs.msg import JointState

import urdf_parts
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import JointStates
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.base.robot import (
    PHYSICS,
    DynamicRobotParameters,
    ElasticRobotParameters,
    find_file,
    load_model,
    start_position,
)
from page_scripts import reference
from rejections import assert_rejected

link = partial(
    urdf_parts.link, mass=1.0, com="0.1 0 0.05", inertia="0.02 0.03 0.025 0.001 0.002 -0.001"
)
joint = partial(
    urdf_parts.joint, xyz="0.1 0.2 0", axis="0 0.6 0.8", rpy="0.3 0 0.5", limit="-1 1 1 9"
)
GRIPPER_ARM = urdf_parts.robot(
    "arm",
    urdf_parts.link("base"),
    *map(link, ("upper", "hand", "left", "right")),
    joint("shoulder", "revolute", "base", "upper"),
    joint("wrist", "revolute", "upper", "hand"),
    joint("finger", "revolute", "hand", "left"),
    joint("other", "revolute", "hand", "right", more='<mimic joint="finger" multiplier="-1"/>'),
)


def loaded(**parameters):
    return load_model(DynamicRobotParameters(robot_description=GRIPPER_ARM, **parameters))


def test_parameters_that_change_the_dynamics_are_listed_with_all_nodes_that_have_them():
    tables = {
        node: getattr(import_module(f"multibody_dynamics.nodes.{node}"), table)
        for node, table in reference.NODES.items()
    }
    for name, (_, nodes) in PHYSICS.items():
        assert {*nodes} == {node for node, table in tables.items() if hasattr(table, name)}


def test_the_parameters_choose_a_part_of_the_robot():
    assert loaded().joint_names == ("shoulder", "wrist", "finger")
    assert loaded(tip_link="hand").joint_names == ("shoulder", "wrist")
    assert loaded(root_link="upper", tip_link="hand").joint_names == ("wrist",)
    held = loaded(locked_joints=("finger=0.25", "shoulder"))
    assert held.joint_names == ("wrist",)
    assert dict(held.locked) == {"finger": 0.25, "shoulder": 0.0, "other": -0.25}


def test_a_position_that_is_no_number_is_named():
    assert_rejected(
        (lambda: loaded(locked_joints=("finger=open",)), "'finger=open' neither", ParameterError),
        (lambda: loaded(locked_joints=("finger=nan",)), "'finger=nan' neither", ParameterError),
        (lambda: loaded(locked_joints=("thumb",)), "no joint 'thumb'", dyn.ModelError),
        (lambda: loaded(locked_joints=("finger=0.1", "finger")), "'finger' occurs", ParameterError),
    )


def test_a_locked_position_in_another_unit_is_noticed():
    with pytest.warns(
        dyn.ModelWarning, match=r"'shoulder' is locked at 90, far outside its limits"
    ):
        loaded(locked_joints=("shoulder=90",))


@pytest.mark.parametrize(("name", "where"), [("/no.urdf", r"$"), ("no.urdf", r" in /\S+")])
def test_a_file_that_does_not_exist_is_named_with_the_folders_searched(name, where):
    with pytest.raises(ParameterError, match=f"^file {name} not found{where}"):
        find_file(name)


def test_couplings_come_with_the_springs(tmp_path):
    file = tmp_path / "springs.yaml"
    file.write_text("couplings: {wrist: {terms: {shoulder: -0.5}}}\njoints: {}\n")
    p = ElasticRobotParameters(robot_description=GRIPPER_ARM, elastic_joints_file=str(file))
    assert load_model(p).joint_names == ("shoulder", "finger")


def test_the_loops_of_a_robot_are_closed():
    files = {"robot_file": "five_bar.urdf", "elastic_joints_file": "five_bar.yaml"}
    p = ElasticRobotParameters(**{k: f"config/mechanisms/{file}" for k, file in files.items()})
    model = load_model(p)
    assert model.joint_names == ("left_shoulder", "right_shoulder")
    np.testing.assert_allclose(start_position(model), [1.92, 1.22])


def test_states_of_dependent_joints_are_ignored():
    states = JointStates(loaded().joint_names)
    message = JointState(name=["other", "wrist", "finger", "shoulder"])
    message.position = [float("nan"), 0.2, 0.3, 0.1]
    message.header.stamp.sec = 1
    assert states.accept(message, now=10**9)
    np.testing.assert_array_equal(states.position, [0.1, 0.2, 0.3])
