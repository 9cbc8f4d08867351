# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""identified.json is written and read without loss, and errors name the invalid entry."""

from __future__ import annotations

import json
import math

import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.identified_robot import (
    FILE,
    IdentifiedRobot,
    IdentifiedValue,
    read_identified,
)
from robots import two_link_planar


def robot():
    model = two_link_planar(0.4, 0.3)
    known = IdentifiedValue(1.25, 0.01, True)
    unknown = IdentifiedValue(0.3, math.nan, False)
    return IdentifiedRobot(
        model,
        dyn.identification.JointFriction.none(model.n),
        links={model.body_names[0]: {"mass": known, "com": {"x": unknown}}},
        joints={model.joint_names[0]: {"viscous": known}},
        motors={model.joint_names[0]: {"viscous": unknown}},
    )


def test_a_written_file_is_read_back(tmp_path):
    given = robot()
    file = given.write(tmp_path / "new")
    assert file.name == FILE
    found = read_identified(tmp_path / "new")
    body, joint = given.model.body_names[0], given.model.joint_names[0]
    assert found["links"][body]["mass"] == (1.25, 0.01, True)
    value, error, determined = found["links"][body]["com"]["x"]
    assert (value, determined) == (0.3, False)
    assert math.isnan(error)
    assert found["springs"] == found["gains"] == {}
    assert set(given.estimates()) == {
        f"{body}.mass", f"{body}.com.x", f"{joint}.viscous", f"motor {joint}.viscous"
    }  # fmt: skip


def test_numbers_that_are_not_determined_are_null_in_the_file(tmp_path):
    content = json.loads(robot().write(tmp_path).read_text())
    (motor,) = content["motors"].values()
    assert motor["viscous"] == {"value": 0.3, "standard error": None, "determined": False}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2]", "expected a mapping with links, joints"),
        ("{", "not a JSON file"),
        ('{"links": {"a": {"mass": 3}}, "joints": {}}', "links.a.mass: expected a mapping"),
        ('{"links": {"a": {"value": "x"}}, "joints": {}}', "links.a: expected a number"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, text, says):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(dyn.InputError, match=says):
        read_identified(tmp_path)
