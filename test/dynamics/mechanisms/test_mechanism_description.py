# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loops from a YAML file, and the errors in it."""

from dataclasses import replace

import numpy as np
import pytest

from mechanisms import FOUR_BAR, four_bar, move
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import so3
from multibody_dynamics.resources import share_directory

_, COUPLER, ROCKER, _ = FOUR_BAR
LOOPS = f"""
loops:
  pin: {{type: revolute, axis: [0, 0, 2],
        first: coupler_bar, first_frame: {{xyz: [{COUPLER}, 0, 0]}},
        second: rocker_bar, second_frame: {{xyz: [{ROCKER}, 0, 0]}}}}
actuated: [crank]
"""
FIVE_BAR = share_directory() / "config" / "mechanisms" / "five_bar.urdf"
SPRING = """
joints:
  crank:
    spring: {law: linear, stiffness: {value: 300, unit: N m/rad, side: link}}
    motor: {gear_ratio: 100, inertia: {value: 0.4, unit: kg cm^2, side: motor}}
"""


def load(tmp_path, text):
    file = tmp_path / "loops.yaml"
    file.write_text(text)
    return dyn.mechanisms.load_mechanism(file, four_bar().system.tree)


def test_the_mechanism_is_that_from_python(tmp_path):
    expected, found = four_bar().system, load(tmp_path, LOOPS)
    q = four_bar().q
    np.testing.assert_array_equal(
        dyn.mechanisms.constraint_matrices(found, q),
        dyn.mechanisms.constraint_matrices(expected, q),
    )
    assert found.describe() == expected.describe()


def test_a_joint_called_0_is_not_the_first_one(tmp_path):
    tree = replace(four_bar().system.tree, joint_names=("2", "1", "0"))
    (tmp_path / "loops.yaml").write_text(LOOPS.replace("[crank]", "[0]"))
    system = dyn.mechanisms.load_mechanism(tmp_path / "loops.yaml", tree)
    assert system.actuated == ("0",)


@pytest.mark.parametrize(
    ("joint", "free"),
    [
        ("type: weld", np.zeros((0, 6))),
        ("type: spherical, point: [0.1, 0, 0]", dyn.spherical((0.1, 0, 0))),
        ("type: prismatic, axis: [0, 1, 0]", [dyn.prismatic((0, 1, 0))]),
        ("type: helical, axis: [0, 1, 0], pitch: 0.01", [dyn.helical((0, 1, 0), (0, 0, 0), 0.01)]),
        (
            "type: universal, axis: [1, 0, 0], second_axis: [0, 1, 0]",
            dyn.universal((0, 0, 0), (1, 0, 0), (0, 1, 0)),
        ),
        ("type: screws, screws: [[0, 0, 1, 0, 0, 0]]", [dyn.revolute((0, 0, 1))]),
    ],
)
def test_types_of_joints(tmp_path, joint, free):
    system = load(tmp_path, f"loops: {{a: {{first: crank_bar, second: rocker_bar, {joint}}}}}")
    np.testing.assert_array_equal(system.constraints[0].free, free)
    assert system.actuated == system.tree.joint_names


def test_frames_are_those_of_urdf(tmp_path):
    text = LOOPS.replace("0, 0]}}", "0, 0], rpy: [0.1, 0.2, 0.3]}}", 1)
    frame = load(tmp_path, text).constraints[0].second_pose
    R = so3.exp((0, 0, 0.3)) @ so3.exp((0, 0.2, 0)) @ so3.exp((0.1, 0, 0))
    np.testing.assert_allclose(frame[:3, :3], R, atol=1e-15)
    np.testing.assert_array_equal(frame[:, 3], move((ROCKER, 0, 0))[:, 3])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loops:", "loop:", "key 'loops' is missing"),
        ("revolute", "hinge", "loop 'pin': unknown type 'hinge'; known: weld, revolute"),
        ("axis", "axes", "loop 'pin': unknown key 'axes'"),
        ("axis: [0, 0, 2],", "", "loop 'pin': key 'axis' is missing"),
        ("[0, 0, 2]", "[0, 0, 0]", "loop 'pin': axis"),
        ("xyz", "position", "loop 'pin': first_frame: unknown key 'position'"),
        ("coupler_bar", "copler_bar", "loop 'pin': no body or frame 'copler_bar'"),
        ("[crank]", "[motor]", "actuated: .*'motor'"),
        ("first: coupler_bar", "first: rocker_bar", "loop 'pin': .*same rigid body"),
    ],
)
def test_errors_name_file_loop_and_key(tmp_path, old, new, message):
    with pytest.raises(dyn.DynamicsError, match=rf"loops.yaml: .*{message}"):
        load(tmp_path, LOOPS.replace(old, new, 1))


PASSIVE = "passive_springs: {coupler: {stiffness: 20, rest: 0.3, damping: 0.1}, rocker: {}}"


def test_passive_springs(tmp_path):
    system = load(tmp_path, LOOPS + PASSIVE)
    assert system.springs == {"coupler": (20.0, 0.3, 0.1), "rocker": (0.0, 0.0, 0.0)}
    assert "spring at 'coupler': stiffness 20, rest 0.3, damping 0.1" in system.describe()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("coupler", "crank", "spring of joint 'crank': not a passive joint; these are coupler"),
        ("coupler", "elbow", "spring of joint 'elbow': not a passive joint"),
        ("rest", "offset", "passive_springs: 'coupler': unknown key 'offset'; allowed: stiffness"),
        ("20", "soft", "passive_springs: 'coupler': stiffness: expected"),
        ("20", "-20", "spring of joint 'coupler': stiffness and damping cannot be negative"),
        ("0.3", ".nan", "passive_springs: 'coupler': rest"),
        ("{coupler", "[coupler", "passive_springs: expected a mapping"),
    ],
)
def test_errors_name_file_joint_and_key_of_a_spring(tmp_path, old, new, message):
    text = PASSIVE.replace(old, new, 1)
    text = text[:-1] + "]" if "[" in text else text
    with pytest.raises(dyn.DynamicsError, match=rf"loops.yaml: .*{message}"):
        load(tmp_path, LOOPS + text)


def test_passive_springs_need_loops(tmp_path):
    file = tmp_path / "springs.yaml"
    file.write_text(SPRING + PASSIVE)
    with pytest.raises(dyn.InputError, match=r"springs.yaml: passive_springs: .* no `loops`"):
        dyn.mechanisms.close_loops(file, four_bar().system.tree)


def test_springs_of_the_motors_in_the_same_file(tmp_path):
    file = tmp_path / "loops.yaml"
    file.write_text(LOOPS + SPRING)
    system = dyn.mechanisms.load_mechanism(file, four_bar().system.tree)
    actuators = dyn.load_actuators(file, system.actuated)
    assert actuators.joint_names == ("crank",)


def test_a_robot_with_loops_is_not_taken_for_a_tree():
    springs = FIVE_BAR.with_suffix(".yaml")
    with pytest.raises(dyn.ModelError, match=r"five_bar.yaml: loops tip: load_urdf and Gazebo"):
        dyn.load_urdf(FIVE_BAR, couplings=springs)
    assert dyn.mechanisms.load_robot(FIVE_BAR, springs).n == 2
    assert dyn.mechanisms.load_robot(FIVE_BAR).n == 4
