# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Values of a robot that look wrong; test_inspection.py reads them from files."""

import pytest

from multibody_dynamics.dynamics.model.urdf import parse_urdf
from multibody_dynamics.dynamics.rigid.model_check import inspect_model
from robots import panda

ROBOT = """<robot name="arm"><link name="base"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="60" velocity="{velocity}"/>
  </joint>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="{mass}"/>
    <inertia ixx="{I}" iyy="{I}" izz="{I}" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""
GOOD = {"velocity": 2.0, "mass": 3.0, "I": 0.03}
WRONG = {
    "speed limit": {"velocity": 0.0},
    "masses in g": {"mass": 3000.0, "I": 30.0},
    "inertia": {"I": 0.03e6},
}


def findings(**changes):
    return inspect_model(parse_urdf(ROBOT.format(**GOOD | changes)))


def test_good_robots_have_no_findings():
    assert not findings()
    assert not inspect_model(panda())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("speed limit", "shoulder has the velocity limit 0"),
        ("masses in g", "its limit is 60 N m; are masses in g?"),
        ("inertia", "radius of gyration"),
    ],
)
def test_what_makes_every_torque_wrong_is_severe(name, text):
    (severe,) = (each for each in findings(**WRONG[name]) if each.severe)
    assert text in severe.text


def test_an_arm_that_is_a_bit_too_heavy_for_its_motor_is_only_suspicious():
    (finding,) = findings(mass=60.0, I=0.6)
    assert not finding.severe
    assert "shoulder needs 118 N m" in finding.text
