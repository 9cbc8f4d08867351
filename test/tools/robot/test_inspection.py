# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `inspect`: kinematic tree, findings, torques, timing."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid.model_check import inspect_model, postures
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.robot import inspection as look
from robots import PANDA, panda, random_tree

LINK = """<link name="{0}"><inertial><mass value="{1}"/>
<inertia ixx="{2}" iyy="{3}" izz="{4}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="{3}" velocity="{4}"/>
</joint>"""


def arm(tmp_path: Path, *parts: str) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(f"<robot name='arm'><link name='base'/>{''.join(parts)}</robot>")
    return file


def test_a_published_robot_is_plausible():
    assert not inspect_model(panda())


def test_every_joint_is_listed_below_the_one_that_carries_it():
    for seed in range(4):
        model = random_tree(7, seed)
        torques, why = look.typical_torques(model)
        assert not why
        lines = look.joint_table(model, torques, is_full=True)
        assert len(lines) == 1 + model.n
        depth = [len(label) - len(label.lstrip("├└│─ ")) for label in look.tree(model)]
        for i, (joint, body) in enumerate(zip(model.joint_names, model.body_names, strict=True)):
            assert joint in lines[1 + i]
            assert body in lines[1 + i]
            siblings = np.flatnonzero(model.parents == model.parents[i])
            above = 0 if model.parents[i] < 0 else depth[model.parents[i]]
            assert depth[i] == above + 3 * (len(siblings) > 1)


def test_the_report_on_an_arm_fits_on_a_screen_and_says_everything_on_request(capsys):
    """An arm with a gripper; every joint has tags of other programs."""
    file = str(Path(PANDA))
    assert cli.main(["inspect", file, "--no-timing"]) == 0
    short = capsys.readouterr().out
    assert "arm with 7 joints" in short
    assert short.count("\n") <= 45
    assert max(map(len, short.splitlines())) <= look.WIDTH
    assert cli.main(["inspect", file, "--no-timing", "--full"]) == 0
    full = capsys.readouterr().out
    assert panda().describe() in full
    for note in panda().notes:
        assert note in full


def test_the_table_of_a_robot_with_many_joints_keeps_those_that_use_most_of_their_limits():
    model = random_tree(70, 1)
    effort = np.full(70, 1e6)
    effort[::7] = 1.0
    model = replace(model, limits=model.limits._replace(effort=effort))
    torques = look.Torques(*np.ones((4, 70)))
    lines = look.joint_table(model, torques)
    assert len(lines) == 1 + look.MOST_JOINTS
    assert lines[-1] == "... and 11 joints that use less of their limits (--full)"
    strained = [name for name, limit in zip(model.joint_names, effort, strict=True) if limit == 1.0]
    shown = "\n".join(lines).split()
    assert set(strained) <= set(shown)
    assert len(look.joint_table(model, torques, is_full=True)) == 71


def test_a_robot_whose_joints_cannot_move_is_inspected_all_the_same(tmp_path, capsys):
    parts = [LINK.format("a", 1, 1e-2, 1e-2, 1e-2), JOINT.format("j", "base", "a", 9, 0)]
    assert cli.main(["inspect", str(arm(tmp_path, *parts)), "--no-timing"]) == 1
    printed = capsys.readouterr().out
    assert "no torques in motion: joint 'j' cannot move" in printed
    assert "WRONG: j has the velocity limit 0" in printed


def test_a_robot_with_loops_is_inspected_in_the_coordinates_of_its_motors(capsys):
    folder = share_directory() / "config" / "mechanisms"
    words = [str(folder / "five_bar.urdf"), "--elastic-joints", str(folder / "five_bar.yaml")]
    assert cli.main(["inspect", *words]) == 0
    text = capsys.readouterr().out
    assert "five_bar: mechanism with loops: tip\n2 independent joints (2 revolute)" in text
    assert re.search(r"left_elbow +passive", text)
    for heading in ("resonances in the middle", "fast enough", "plausible"):
        assert heading in text


def test_findings_of_many_joints_share_a_line(tmp_path):
    names = [f"x{k}" for k in range(6)]
    parts = [LINK.format(name, 1, 1e-2, 1e-2, 1e-2) for name in names]
    parts += [
        JOINT.format(f"j{k}", "base" if k == 0 else names[k - 1], name, 0, 1)
        for k, name in enumerate(names)
    ]
    model, _ = look.load(arm(tmp_path, *parts))
    (line,) = look.finding_lines(inspect_model(model))
    text = "j0 has the effort limit 0: every torque becomes zero (also j1, j2, j3 and 2 more)"
    assert line == f"WRONG: {text}"


def test_rounding_is_no_principal_moment(tmp_path):
    """A point mass far from the origin, and 8 % too much for the motor: neither is an error of
    units."""
    point = LINK.format("a", 3, 0, 0, 0).replace("<mass", '<origin xyz="0.3 0.2 0.7"/><mass')
    model, _ = look.load(arm(tmp_path, point, JOINT.format("j", "base", "a", 20.7, 1)))
    texts = [finding.text for finding in inspect_model(model)]
    assert texts[0] == "a is a point mass: no inertia about its COM"
    assert texts[1].endswith("but its limit is 20.7 N m")
    assert not any("e-" in text or "masses in g" in text for text in texts)


def test_an_impossible_inertia_is_found(tmp_path):
    file = arm(
        tmp_path, LINK.format("a", 1, 1e-3, 1e-3, 9e-3), JOINT.format("j", "base", "a", 9, 1)
    )
    model, warned = look.load(file)
    assert warned
    (finding,) = inspect_model(model)
    assert finding.severe
    assert finding.text.startswith("a: no rigid body can have the principal moments")
    assert cli.main(["inspect", str(file), "--no-timing"]) == 1


def test_mixed_up_units_are_found(tmp_path):
    """An inertia exported in kg mm^2."""
    file = arm(tmp_path, LINK.format("a", 1, 900, 900, 900), JOINT.format("j", "base", "a", 9, 1))
    (finding,) = inspect_model(look.load(file)[0])
    assert finding.severe
    assert "radius of gyration" in finding.text


def test_masses_in_grams_are_found(tmp_path):
    link = LINK.format("a", 300, 1e-3, 1e-3, 1e-3).replace("<mass", '<origin xyz="0.1 0 0"/><mass')
    file = arm(tmp_path, link, JOINT.format("j", "base", "a", 9, 1))
    (finding,) = inspect_model(look.load(file)[0])
    need = "j needs 294 N m to hold its links, but its limit is 9 N m"
    assert finding.text == f"{need}; are masses in g?"


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "says"),
    [
        ("revolute", -120.0, 120.0, "j has a range of 240 rad, 38.2 turns; are its limits in deg"),
        ("prismatic", -100.0, 600.0, "j has a range of 700 m; are its limits in mm?"),
        ("revolute", -6.2832, 6.2832, ""),
        ("revolute", -1e9, 1e9, ""),  # no limit
        ("prismatic", 0.0, 12.0, ""),  # a gantry
        ("continuous", -180.0, 180.0, ""),
    ],
)
def test_limits_in_degrees_and_millimetres_are_found(tmp_path, kind, lower, upper, says):
    joint = JOINT.format("j", "base", "a", 50, 1).replace("revolute", kind)
    joint = joint.replace('lower="-1" upper="1"', f'lower="{lower}" upper="{upper}"')
    file = arm(tmp_path, LINK.format("a", 1, 1, 1, 1), joint)
    texts = [finding.text for finding in inspect_model(look.load(file)[0])]
    assert "; ".join(texts).startswith(says)
    assert bool(texts) == bool(says)


def test_limits_of_zero_are_found(tmp_path):
    file = arm(tmp_path, LINK.format("a", 1, 1, 1, 1), JOINT.format("j", "base", "a", 0, 0))
    texts = [finding.text for finding in inspect_model(look.load(file)[0]) if finding.severe]
    assert any("effort limit 0" in text for text in texts)
    assert any("velocity limit 0" in text for text in texts)


def test_a_last_link_with_almost_no_inertia_is_found(tmp_path):
    file = arm(
        tmp_path,
        *(LINK.format("a", 1, 0.1, 0.1, 0.1), JOINT.format("j", "base", "a", 9, 1)),
        *(LINK.format("b", 0, 1e-13, 1e-13, 1e-13), JOINT.format("k", "a", "b", 9, 1)),
    )
    texts = [finding.text for finding in inspect_model(look.load(file)[0])]
    assert "b has no mass" in texts
    assert any("the mass matrix is singular" in text and "behind k;" in text for text in texts)


def test_a_horizontal_link_needs_its_weight(tmp_path):
    """m g l cos q, over a range that includes q = 0."""
    link = LINK.format("a", 2, 0.1, 0.1, 0.1).replace(
        "<inertial>", '<inertial><origin xyz="0.3 0 0"/>'
    )
    model, _ = look.load(arm(tmp_path, link, JOINT.format("j", "base", "a", 9, 1)))
    torques, _ = look.typical_torques(model)
    assert torques.at_rest_peak[0] == pytest.approx(2 * 9.81 * 0.3, rel=1e-3)
    assert torques.at_rest[0] < torques.at_rest_peak[0]
    used = max(torques.at_rest_peak[0], torques.moving_peak[0]) / 9.0
    assert f"{used:.0%}" in look.joint_table(model, torques)[1]


def test_postures_are_within_the_limits():
    model = panda()
    q = postures(model)
    assert (q >= model.limits.lower).all()
    assert (q <= model.limits.upper).all()
    np.testing.assert_array_equal(q, postures(model))


def test_times_are_compared_with_the_period():
    springs = Path(PANDA).parents[1] / "elastic_joints" / "panda.yaml"
    model = panda()
    actuators = dyn.load_actuators(springs, model.joint_names)
    timings = look.measure(model, actuators, seconds=0.02)
    assert len(timings) == 2
    assert all(0.0 < t.p50 <= t.p99 <= t.worst for t in timings)
    assert look.timing_lines([look.Timing("x", 10.0, 20.0, 30.0)], 1000.0)[1]
    assert not look.timing_lines([look.Timing("x", 10.0, 800.0, 900.0)], 1000.0)[1]
