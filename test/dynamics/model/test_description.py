# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The tables of a robot: every number is read back."""

import re
from xml.etree.ElementTree import parse

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, so3
from robots import PANDA, panda, random_tree, with_multidof

LOAD = (1.25, (0.1, -0.2, 0.3), np.diag((0.02, 0.03, 0.04)))


def line(text, *words, after):
    """The one line below the heading `after` that holds all of `words`."""
    section = text[text.index(after) :].split("\n\n")[0]
    found = [row for row in section.splitlines() if all(word in row for word in words)]
    assert len(found) == 1, (words, found)
    return found[0]


def test_the_panda_as_published():
    text = panda().describe()
    assert text.startswith("panda: 7 joints; base 'panda_link0'\ngravity (0, 0, -9.81) m/s^2")
    row = line(text, "panda_joint4", after="Joints")
    assert row.split()[1:5] == ["panda_joint4", "revolute", "panda_link3", "panda_link4"]
    assert "(0, 0, 1)" in row
    row = line(text, "panda_joint4", after="Limits").split()
    assert row[1:] == ["-3.0718", "-0.0698", "2.175", "87", "inf", "inf", "0"]
    row = line(text, "panda_link6", after="Bodies")
    assert "1.666555" in row
    assert "(0.060149, -0.014117, -0.01924)" in row
    assert "(0, 0, 1.033)" in row
    row = line(text, "panda_link6", after="Inertia")
    assert row.split()[1:7] == [
        "0.001964", "0.000109", "-0.001158", "0.004354", "0.000341", "0.005433",
    ]  # fmt: skip
    assert row.endswith("0.001598, 0.00431, 0.005843")
    assert line(text, "total", after="Bodies").split()[1] == "16.06213"
    assert "(0, 0, 0.107)" in line(text, "panda_link8", "panda_link7", after="Frames")


def rows(text, heading):
    """The cells of a table, without the line of column titles below its heading."""
    section = text[text.index(heading) :].split("\n\n")[0]
    return [re.split("  +", row) for row in section.splitlines()[2:]]


def numbers(cell):
    return [float(x) for x in cell.strip("()").split(", ")]


def test_placements_equal_the_origins_of_the_urdf():
    joints = {joint.find("child").get("link"): joint for joint in parse(PANDA).iter("joint")}
    for body, parent, *cells in rows(panda().describe(), "Placement"):
        assert parent == joints[body].find("parent").get("link")
        for cell, key in zip(cells, ("xyz", "rpy"), strict=True):
            expected = [float(x) for x in joints[body].find("origin").get(key).split()]
            np.testing.assert_allclose(numbers(cell), expected, atol=1e-6)


@pytest.mark.parametrize("model", [panda(), random_tree(6, 2), with_multidof()], ids=repr)
def test_screws_and_placements_determine_the_model(model):
    text = model.describe()
    for Y, cells in zip(model.screws, rows(text, "Screws"), strict=True):
        np.testing.assert_allclose([*map(numbers, cells[1:])], Y.reshape(2, 3), 1e-6, 1e-12)
    poses = {model.base_name: np.eye(4)}
    for A, (body, parent, *cells) in zip(model.poses, rows(text, "Placement"), strict=True):
        p, (roll, pitch, yaw) = map(numbers, cells)
        R = so3.exp((0, 0, yaw)) @ so3.exp((0, pitch, 0)) @ so3.exp((roll, 0, 0))
        poses[body] = poses[parent] @ se3.from_rotation_translation(R, p)
        np.testing.assert_allclose(poses[body], A, atol=1e-5)


def test_an_axis_off_the_frame_is_given_by_direction_and_point():
    model = dyn.model_from_screws(
        [-1, 0, 1],
        [
            dyn.revolute((0, 1, 0), (0.5, 0, 0.25)),
            dyn.prismatic((0, 0.6, 0.8)),
            dyn.helical((0, 0, 1), (0.125, 0, 0), 0.05),
        ],
        [np.eye(4)] * 3,
        [dyn.spatial_inertia(1, (0, 0, 0), np.eye(3))] * 3,
    )
    text = model.describe()
    row = line(text, "joint1", "revolute", after="Joints")
    assert "(0, 1, 0)" in row
    assert "(0.5, 0, 0.25)" in row
    assert "(0, 0.6, 0.8)" in line(text, "joint2", "prismatic", after="Joints")
    row = line(text, "joint3", "helical 0.05 m/rad", after="Joints")
    assert "(0.125, 0, 0)" in row
    assert "Frames" not in text
    assert "Payloads" not in text


def test_payloads_rotors_and_notes():
    model = panda().with_payload("panda_link8", *LOAD, name="cup")
    model = model.with_reflected_inertia({"panda_joint2": 0.625})
    text = model.describe()
    row = line(text, "cup", "panda_link7", after="Payloads")
    assert "1.25" in row
    assert "(0.1, -0.2, 0.407)" in row
    assert line(text, "panda_joint2", after="Limits").split()[-1] == "0.625"
    assert line(text, "total", after="Bodies").split()[1] == "17.31213"
    arm = dyn.model_from_screws(
        [-1], [dyn.revolute((0, 0, 1))], [np.eye(4)],
        [dyn.spatial_inertia(1, (0, 0, 0), np.eye(3))], notes=["something was ignored"],
    )  # fmt: skip
    assert "Notes\n- something was ignored" in arm.describe()
