# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `integrate`: figures of both groups, states, and rejected options."""

import csv
import re

import numpy as np
import pytest
import yaml
from matplotlib.image import imread

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.integration.butcher import METHODS
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.commands.integrate import METHODS as CHOICES
from multibody_dynamics.tools.motions.integration import draw, violation_unit

CRANK = str(share_directory() / "config" / "systems" / "slider_crank.yaml")


def integrate(capsys, *arguments):
    assert cli.main(["integrate", *arguments]) == 0
    return capsys.readouterr().out


def test_an_example_writes_figures_and_states_of_both_groups(tmp_path, capsys):
    out = tmp_path / "top"
    printed = integrate(capsys, "heavy_top", "--duration", "0.05", "-o", str(out))
    assert {file.name for file in out.iterdir()} == {
        "constraint_violation.png", "energy_drift.png", "states_SE3.npz", "states_SO3xR3.npz",
    }  # fmt: skip
    for group in ("SE3", "SO3xR3"):
        exact = dyn.integration.integrate(dyn.integration.examples.heavy_top(group), 0.05, 1e-3)
        with np.load(out / f"states_{group}.npz") as states:
            for key in ("time", "pose", "velocity", "constraint", "reaction", "energy", "momentum"):
                np.testing.assert_array_equal(states[key], getattr(exact, key))
            assert states["joint_names"].tolist() == ["pivot"]
            assert states["groups"].tolist() == [group]
        assert f"{exact.constraint.max():.1e}" in printed
    for name in ("constraint_violation.png", "energy_drift.png"):
        pixels = imread(out / name)[..., :3]
        assert 0.005 < (pixels.min(axis=-1) < 0.9).mean() < 0.5
        for colour in ((0, 0.447, 0.698), (0.835, 0.369, 0)):  # one line per group
            assert (np.abs(pixels - colour).max(axis=-1) < 0.02).sum() > 50


def test_a_yaml_file_as_csv(tmp_path, capsys):
    options = ("--duration", "0.01", "--group", "SO3xR3", "--format", "csv", "--every", "5")
    printed = integrate(capsys, CRANK, *options, "-o", str(tmp_path))
    assert "wrist_pin" in printed
    assert "energy change" in printed  # the damper works
    with open(tmp_path / "states_SO3xR3.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["t"]) for row in rows] == pytest.approx([0, 0.005, 0.01])
    result = dyn.integration.integrate(
        dyn.integration.load_system(CRANK).with_group("SO3xR3"), 0.01, 1e-3
    )
    assert float(rows[-1]["slider x"]) == result.pose[-1, 2, 0, 3]
    assert float(rows[-1]["crank w2"]) == result.velocity[-1, 0, 1]
    assert float(rows[-1]["guide f3"]) == result.reaction[-1, 3, 5]


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (
            ("--method", "dormand_prince", "--tolerance", "1e-8"),
            {"method": "dormand_prince", "tolerances": dyn.integration.Tolerances(1e-8, 1e-10)},
        ),
        (("--project",), {"project": True}),
        (("--baumgarte", "50"), {"baumgarte": dyn.core.Baumgarte(50.0, 50.0)}),
        (("--step", "2e-3", "--method", "rk3"), {"step": 2e-3, "method": "rk3"}),
    ],
)
def test_options_are_those_of_the_library(options, same, tmp_path, capsys):
    system = dyn.integration.examples.three_bar_linkage("SO3xR3")
    printed = integrate(capsys, system.name, "--duration", "0.01", *options, "-o", str(tmp_path))
    result = dyn.integration.integrate(system, 0.01, **{"step": 1e-3, **same})
    with np.load(tmp_path / "states_SO3xR3.npz") as states:
        np.testing.assert_array_equal(states["pose"], result.pose)
    violations = re.findall(r"(?:base_1|apex|base_2) +(\S+)", printed)
    assert violations[3:] == [f"{x:.1e}" for x in result.constraint.max(axis=0)]


def test_generalised_alpha_from_the_nearest_start(tmp_path, capsys):
    data = {
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": 1, "inertia": [1, 1, 1], "velocity": [1, 0, 0]}},
        "joints": {"j": {"type": "spherical", "first": "ground", "second": "a", "point": [0] * 3}},
    }
    file = tmp_path / "pulled.yaml"
    file.write_text(yaml.safe_dump(data))
    options = ("--duration", "0.002", "--method", "generalized_alpha", "-o", str(tmp_path))
    assert cli.main(["integrate", str(file), *options]) == 2
    assert "violates the velocity constraint of joint 'j'" in capsys.readouterr().err
    printed = integrate(capsys, str(file), *options, "--project-start")
    assert "energy drift" in printed
    with np.load(tmp_path / "states_SE3.npz") as states:
        np.testing.assert_allclose(states["velocity"], 0, atol=1e-15)


def test_axes_and_files_are_labelled(tmp_path):
    """Units of all joints; the crank has bearings, a slider and a damper, so its energy changes."""
    units = {
        "weld": (np.zeros((0, 6)), "m, rad"),
        "revolute": (dyn.revolute((0, 0, 1)), "m, rad"),
        "spherical": (dyn.spherical(), "m"),
        "helical": (dyn.helical((0, 0, 1), (0, 0, 0), 0.1), "m, rad"),
        "universal": (dyn.universal((0, 0, 0), (1, 0, 0), (0, 1, 0)), "m, rad"),
        "translations": (np.eye(6)[3:], "rad"),
    }
    body = dyn.integration.RigidBody("a", np.eye(6))
    for free, unit in units.values():
        system = dyn.integration.AbsoluteSystem(
            [body], [dyn.integration.BodyJoint("j", "ground", "a", free)]
        )
        assert violation_unit(system, 0) == unit
    result = dyn.integration.integrate(dyn.integration.load_system(CRANK), 2e-3, 1e-3)
    files = draw({"SE3": result}, tmp_path)
    assert [file.name for file in files] == ["constraint_violation.png", "energy_change.png"]


def test_the_choices_are_the_methods():
    assert (*METHODS, "generalized_alpha") == CHOICES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heavy_bottom"], "is neither a file nor one of the examples heavy_top, spherical"),
        (["heavy_top", "--tolerance", "1e-6"], "adaptive steps need 'dormand_prince'"),
        (["heavy_top", "--method", "generalized_alpha", "--project"], "not support tolerance"),
    ],
)
def test_rejected_options_are_reported_in_one_line(
    arguments, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["integrate", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert not list(tmp_path.iterdir())
