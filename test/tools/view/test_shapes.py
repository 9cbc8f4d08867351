# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Shapes are where the URDF places them, and capsules stand in for what is missing."""

import numpy as np
import pytest
import trimesh

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.view.shapes import PLAIN, robot_shapes
from robots import panda

INERTIAL = """<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM = f"""<robot name="arm"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><geometry><box size="0.2 0.4 0.6"/></geometry></visual></link>
<link name="upper">{INERTIAL}<visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
<geometry><cylinder radius="0.1" length="2"/></geometry><material name="red"/></visual></link>
<link name="hand">{INERTIAL}<visual><origin rpy="1.5707963267948966 0 0"/>
<geometry><mesh filename="package://arm_description/meshes/hand.stl" scale="2 1 1"/></geometry>
</visual></link>
<link name="tool">{INERTIAL}<visual><geometry><sphere radius="0.3"/></geometry></visual></link>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="b" type="revolute"><parent link="upper"/><child link="hand"/>
<origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="c" type="fixed"><parent link="hand"/><child link="tool"/><origin xyz="0 0 4"/></joint>
</robot>"""


@pytest.fixture
def folder(tmp_path):
    """A package with a mesh: a box of 1 x 2 x 3 m."""
    meshes = tmp_path / "arm_description" / "meshes"
    meshes.mkdir(parents=True)
    trimesh.creation.box((1.0, 2.0, 3.0)).export(meshes / "hand.stl")
    return tmp_path


def box_of(shapes, body):
    """Middle and size of everything on a body."""
    points = np.concatenate([shape.vertices for shape in shapes if shape.body == body])
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), high - low


def test_visuals_are_where_the_description_places_them(folder):
    shapes, missing = robot_shapes(dyn.parse_urdf(ARM), ARM, None, [folder])
    assert missing == []
    assert np.allclose(box_of(shapes, -1), ([0, 0, 0], [0.2, 0.4, 0.6]))
    middle, size = box_of(shapes, 0)
    assert np.allclose(middle, [1, 2, 3], atol=1e-3)
    assert size == pytest.approx([0.2, 0.2, 2.0], rel=0.02)
    # The mesh, scaled along its x and turned about x; and the sphere of the link merged into it.
    hand, tool = (shape for shape in shapes if shape.body == 1)
    assert np.allclose(np.ptp(hand.vertices, axis=0), [2, 3, 2], atol=1e-6)
    assert np.allclose(tool.vertices.mean(axis=0), [0, 0, 4], atol=1e-6)
    assert [shape.colour for shape in shapes] == [PLAIN, (255, 0, 0), PLAIN, PLAIN]


def test_a_missing_mesh_is_named_and_replaced_by_capsules():
    text = ARM.replace('<visual><geometry><sphere radius="0.3"/></geometry></visual>', "")
    shapes, missing = robot_shapes(dyn.parse_urdf(text), text)
    assert missing == ["package://arm_description/meshes/hand.stl: not found"]
    assert any(shape.body == 1 for shape in shapes)


def test_capsules_reach_from_joint_to_joint():
    model = panda()
    shapes, _ = robot_shapes(model)
    assert {shape.body for shape in shapes} >= set(range(model.n))
    for child, parent in enumerate(model.parents.tolist()):
        if parent < 0:
            continue
        joint = (np.linalg.inv(model.poses[parent]) @ model.poses[child])[:3, 3]
        points = np.concatenate([shape.vertices for shape in shapes if shape.body == parent])
        assert (points.min(axis=0) - 0.1 < joint).all(), child
        assert (joint < points.max(axis=0) + 0.1).all(), child
