# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""identified.json and covariance.npz are written and read without loss; the covariance agrees with
standard errors and with drawn values."""

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from drive_runs import elastic_run, planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.identified_robot import (
    FILE,
    IdentifiedRobot,
    IdentifiedValue,
    read_identified,
)
from robots import two_link_planar

idn = dyn.identification
Covariance = idn.IdentifiedCovariance


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


@cache
def found():
    model, actuators = planar()
    return idn.identify_robot(model, [replace(elastic_run(6.0), sensor=None)], actuators)


def test_its_diagonal_holds_the_squares_of_the_standard_errors():
    known = found().covariance
    estimates = {**found().robot.estimates(), **found().combinations}
    checked = 0
    for name, value, error in zip(known.names, known.values, known.errors, strict=True):
        assert value == pytest.approx(estimates[name].value, rel=1e-12)
        if estimates[name].determined:
            assert error == pytest.approx(estimates[name].error, rel=1e-9)
            checked += 1
    assert checked > 15
    assert known.names[: known.links] == tuple(found().combinations)
    moments = np.linalg.eigvalsh(known.covariance / np.outer(known.errors, known.errors))
    assert moments.min() > -1e-9


def test_a_stiffness_and_the_links_that_it_carries_are_correlated():
    # Q = K phi = Y pi: all of them may grow together without a change of positions.
    known = found().covariance
    k = known.names.index("elbow.stiffness")
    inertia = next(i for i, name in enumerate(known.names) if name.startswith("forearm.Iyy"))
    correlation = known.covariance[k, inertia] / (known.errors[k] * known.errors[inertia])
    assert correlation > 0.1


def test_draws_have_the_mean_and_the_covariance():
    C = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, 0.0], [0.0, 0.0, 0.0]])
    known = Covariance(("a", "b", "c"), np.array([1.0, -2.0, 5.0]), C, 0)
    rows = known.draws(20000, seed=3)
    np.testing.assert_allclose(rows.mean(axis=0), known.values, atol=0.06)
    np.testing.assert_allclose(np.cov(rows.T), C, atol=0.12)
    assert (rows[:, 2] == 5.0).all()
    np.testing.assert_array_equal(rows, known.draws(20000, seed=3))
    assert not np.array_equal(rows, known.draws(20000, seed=4))


def test_a_written_covariance_is_read_back(tmp_path):
    known = Covariance(("x.y", "z"), np.array([1.0, 2.0]), np.diag([0.1, 0.2]), 1)
    file = known.write(tmp_path / "new")
    for path in (file, tmp_path / "new"):
        again = Covariance.read(path)
        assert (again.names, again.links) == (known.names, 1)
        np.testing.assert_array_equal(again.covariance, known.covariance)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"values": np.zeros(3)}, "do not belong together"),
        ({"links": 5}, "do not belong together"),
        ({"covariance": np.full((2, 2), np.nan)}, "not finite"),
        ({"names": None}, "not a covariance: .* is missing"),
    ],
)
def test_other_archives_are_refused_by_name(tmp_path, change, says):
    content = {"names": np.array(["a", "b"]), "values": np.zeros(2), "covariance": np.eye(2),
               "links": 0} | change  # fmt: skip
    np.savez(tmp_path / "covariance.npz", **{k: v for k, v in content.items() if v is not None})
    with pytest.raises(dyn.InputError, match=f"covariance.npz.*{says}"):
        Covariance.read(tmp_path)


def test_a_missing_or_other_file_is_refused_by_name(tmp_path):
    with pytest.raises(dyn.InputError, match=r"covariance.npz: cannot be read"):
        Covariance.read(tmp_path)
    (tmp_path / "covariance.npz").write_text("text")
    with pytest.raises(dyn.InputError, match=r"covariance.npz: not a NumPy archive of numbers"):
        Covariance.read(tmp_path)
