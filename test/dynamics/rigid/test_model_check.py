# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Values of a robot that look wrong; test_inspection.py reads them from files."""

import pytest

from multibody_dynamics.dynamics.model.urdf import parse_urdf
from multibody_dynamics.dynamics.rigid.model_check import inspect_model
from robots import panda
from urdf_parts import joint, link, robot

WRONG = {
    "speed limit": {"velocity": 0.0},
    "masses in g": {"mass": 3000.0, "moment": 30.0},
    "inertia": {"moment": 0.03e6},
    "gravity": {"gravity": 98.1},
}


def findings(velocity=2.0, mass=3.0, moment=0.03, gravity=9.81):
    limit = f"-2 2 {velocity} 60"
    shoulder = joint("shoulder", "revolute", "base", "upper", axis="0 1 0", limit=limit)
    upper = link("upper", mass, "0.2 0 0", f"{moment} {moment} {moment}")
    text = robot("arm", link("base"), shoulder, upper)
    return inspect_model(parse_urdf(text, (0.0, 0.0, -gravity)))


def test_good_robots_have_no_findings():
    assert not findings()
    assert not inspect_model(panda())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("speed limit", "shoulder has the velocity limit 0"),
        ("masses in g", "its limit is 60 N m; are masses in g?"),
        ("inertia", "radius of gyration"),
        ("gravity", "gravity is 98.1 m/s^2; is it in cm/s^2"),
    ],
)
def test_what_makes_every_torque_wrong_is_severe(name, text):
    (severe,) = (each for each in findings(**WRONG[name]) if each.severe)
    assert text in severe.text


def test_an_arm_that_is_a_bit_too_heavy_for_its_motor_is_only_suspicious():
    (finding,) = findings(mass=60.0, moment=0.6)
    assert not finding.severe
    assert "shoulder needs 118 N m" in finding.text
