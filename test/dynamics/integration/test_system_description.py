# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Systems in YAML: the same as in Python; errors name file and key."""

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.integration import system_description
from multibody_dynamics.dynamics.model.joints import FREE_SCREWS

ROOT = Path(__file__).parents[3]
PAGE = yaml.safe_load(
    "\n".join(
        line[4:] for line in system_description.__doc__.splitlines()[2:] if line.startswith("    ")
    ).split("\nweld")[0]
)
TOP = {
    "name": "heavy_top",
    "gravity": [0, 0, 0],
    "bodies": {
        "top": {
            "mass": 21.6,
            "inertia": [0.36, 0.306, 0.09],
            "position": [0.5, 0, 0],
            "omega": [0, 62.83185307179586, 31.41592653589793],
            "velocity": [0, 15.707963267948966, -31.41592653589793],
        }
    },
    "joints": {
        "pivot": {"type": "spherical", "first": "ground", "second": "top", "point": [0, 0, 0]}
    },
}


def test_a_description_gives_the_system_of_the_library(tmp_path):
    file = tmp_path / "top.yaml"
    file.write_text(yaml.safe_dump(TOP))
    from_file, from_library = (
        dyn.integration.load_system(file),
        dyn.integration.examples.heavy_top(),
    )
    assert from_file.describe() == from_library.describe()
    a, b = (dyn.integration.integrate(s, 0.01, 1e-3) for s in (from_file, from_library))
    np.testing.assert_allclose(a.pose, b.pose, atol=1e-14)


def test_all_documented_keys_are_read():
    system = dyn.integration.load_system(PAGE)
    assert system.name == "slider_crank"
    spring = system.springs[0]
    assert (spring.stiffness, spring.damping, spring.length) == (1e3, 2, 0.9)
    assert system.applied_wrenches[0] == pytest.approx([0, 0, 0, 1, 0, 0])
    assert system.bodies[0].velocity == pytest.approx([0, 0, -0.5])


def test_all_types_of_joints():
    entry = {"axis": [0, 0, 1], "second_axis": [1, 0, 0], "point": [0, 1, 0], "pitch": 0.1,
             "screws": [[0, 0, 1, 0, 0, 0]]}  # fmt: skip
    free = {}
    for kind, (needed, _) in FREE_SCREWS.items():
        data = copy.deepcopy(TOP)
        ends = {"type": kind, "first": "top", "second": "ground"}
        data["joints"]["pivot"] = {**ends, **{key: entry[key] for key in needed}}
        free[kind] = 6 - dyn.integration.load_system(data).m
    assert free == {
        "weld": 0, "revolute": 1, "prismatic": 1, "helical": 1, "cylindrical": 2, "spherical": 3,
        "planar": 3, "universal": 2, "screws": 1,
    }  # fmt: skip


def test_the_slider_crank_has_redundant_constraints_and_one_degree_of_freedom():
    system = dyn.integration.load_system(ROOT / "config" / "systems" / "slider_crank.yaml")
    J = system.matrices(system.initial_pose, system.initial_velocity).J
    assert (system.m, np.linalg.matrix_rank(J, tol=1e-9)) == (20, 17)
    result = dyn.integration.integrate(system, 0.5, 1e-4, every=10)
    assert result.constraint.max() < 1e-6
    assert result.energy[-1] < result.energy[0]  # the damper
    # the slider follows from the geometry
    pin = (result.pose[:, 0] @ [0.05, 0, 0, 1])[:, :3]
    x = pin[:, 0] + np.sqrt(0.3**2 - pin[:, 2] ** 2)
    np.testing.assert_allclose(result.pose[:, 2, 0, 3], x, atol=1e-6)


def test_body_names_may_look_like_numbers():
    data = {"bodies": {1: TOP["bodies"]["top"]}, "group": {1: "SO3xR3"}, "wrenches": {1: [1] * 6}}
    system = dyn.integration.load_system(data)
    assert system.body_names == ("1",)
    assert system.groups == ("SO3xR3",)
    assert system.applied_wrenches.all()


def test_sections_may_be_empty_and_numbers_follow_yaml_1_2(tmp_path):
    file = tmp_path / "ball.yaml"
    file.write_text(
        "name:\njoints:\nwrenches:\n"
        "bodies: {ball: {mass: 1e1, inertia: [1e-4, 1.e-4, 1E-4], com: [-1e-1, 0, +.2e1]}}\n"
    )
    system = dyn.integration.load_system(file)
    assert (system.name, system.m) == ("ball", 0)
    np.testing.assert_allclose(system.constants[0][0, :5], [10, -0.1, 0, 2, 1e-4])


SPRING = {"first": "ground", "second": "top", "first_point": [0, 0, 1], "second_point": [0, 0, 0],
          "stiffness": 1}  # fmt: skip


def change(*path, value):
    data = copy.deepcopy(TOP)
    at = data
    for key in path[:-1]:
        at = at.setdefault(key, {})
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (change("bodies", value=None), "key 'bodies' is missing"),
        (change("mass", value=1), "unknown key 'mass'; allowed: bodies, name, gravity"),
        (change("bodies", "top", "mass", value=None), "bodies.top: key 'mass' is missing"),
        (change("bodies", "top", "mass", value=-1), "bodies.top: body 'top': the mass is -1 kg"),
        (change("bodies", "top", "mass", value="ten"), "bodies.top.mass: expected real numbers"),
        (change("bodies", "top", "com", value=[1, 2]), r"bodies.top.com: expected shape \(..., 3"),
        (change("bodies", "top", "inertia", value=[[1]]), r"bodies.top.inertia: expected shape"),
        (change("bodies", "top", "omega", value=[[1, 2, 3]] * 2), r"omega: expected shape \(3,\)"),
        (change("bodies", "top", "mass", value=[1, 2]), r"top.mass: expected shape \(\), got"),
        (change("joints", "pivot", "type", value="ball"), "joints.pivot.type: unknown type 'ball'"),
        (change("joints", "pivot", "point", value=None), "joints.pivot: key 'point' is missing"),
        (change("joints", "pivot", "axis", value=[1, 0, 0]), "joints.pivot: unknown key 'axis'"),
        (change("joints", "pivot", "point", value=[1, 0]), r"joints.pivot.point"),
        (change("joints", "pivot", "second", value="to"), r"'pivot': second: .*body 'to'"),
        (change("springs", "s", value={}), "springs.s: key 'first' is missing"),
        (change("wrenches", "top", value=[1]), r"wrench on 'top': expected shape \(..., 6\)"),
        (change("joints", "pivot", "type", value=["a"]), r"pivot.type: unknown type \['a'\]"),
        (change("wrenches", value=[1]), r"wrenches: expected a mapping, got \[1\]$"),
        (change("springs", "s", value={**SPRING, "first": "Ground"}), r"'s': first: .*'Ground'"),
        (change("group", value="SE2"), "unknown group 'SE2'"),
    ],
)
def test_errors_name_file_and_key(data, message, tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(data))
    with pytest.raises(dyn.InputError, match=message) as caught:
        dyn.integration.load_system(file)
    assert str(caught.value).startswith(str(file))


def test_anything_but_a_path_or_mapping_raises():
    with pytest.raises(dyn.InputError, match="expected the path of a file, got None"):
        dyn.integration.load_system(None)
