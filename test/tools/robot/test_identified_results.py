# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Results of the commands that identify parameters, and files that are not results."""

import json
import math

import pytest

from multibody_dynamics.dynamics import InputError
from multibody_dynamics.tools.robot.identified_results import read_results
from rejections import assert_rejected


def written(folder, content, name="identified.json"):
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def number(value, error=0.1):
    return {"value": value, "standard error": error, "determined": True}


def one_link(values):
    return {"links": {"a": values}, "joints": {}}


def test_numbers_with_and_without_an_error(tmp_path):
    known = {"value": 2, "standard error": None, "determined": False}
    joints = {"a": {"viscous": {"value": 0.5, "standard error": 0.1, "determined": True},
                    "coulomb": known}}  # fmt: skip
    found = read_results(written(tmp_path, {"links": {}, "joints": joints}))
    assert found.joints["a"]["viscous"] == (0.5, 0.1, True)
    value, error, determined = found.joints["a"]["coulomb"]
    assert (value, determined) == (2.0, False)
    assert math.isnan(error)


def test_springs_of_an_antagonistic_joint(tmp_path):
    spring = "{spring: {law: linear, stiffness: {value: 5, unit: N m/rad, side: link}}}"
    text = f"joints:\n  a:\n    agonist: {spring}\n    antagonist: {spring}\n"
    found = read_results(written(tmp_path, text, "springs.yaml"))
    assert set(found.laws) == {"a_agonist", "a_antagonist"}


def test_gains_and_delays_are_listed(tmp_path):
    """Those that the recordings determine, and no others: 0 +- nan would say nothing."""
    known = {"value": 0.0, "standard error": None, "determined": False}
    found = {"gains": {"a": {"gain": number(11.13)}}, "delays": {"a": {"sensor": known}}}
    content = one_link({}) | {"links": {}} | found
    found = read_results(written(tmp_path, content))
    assert found.notes == ("identified.json: gains.a.gain = 11.13 +- 0.1 is not part of a URDF",)


def test_payloads_stay_outside_of_the_urdf(tmp_path):
    written(tmp_path, one_link({}) | {"links": {}, "payloads": {"hand": {"mass": number(1.0)}}})
    assert "payloads.hand.mass = 1 +- 0.1 is not part of" in read_results(tmp_path).notes[0]
    for name in ("identified.yaml", "report.json"):  # the same numbers in other forms
        file = written(tmp_path, "{}", name)
        assert read_results(file).notes == read_results(tmp_path).notes
    assert_rejected((lambda: read_results(tmp_path / "elsewhere"), "none of the files"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a JSON file"),
        ([], "expected a mapping with links"),
        (one_link({"mass": 3.0}), r"links.a.mass: expected a mapping, got 3.0"),
        (one_link({"mass": number("x")}), r"links.a.mass: expected a number `value`"),
        (one_link({"mass": number(1.0)}), r"link 'a': com.x, .* is missing"),
        (one_link({"mass": number(float("inf"))}), r"a: mass is inf, not finite"),
    ],
)
def test_files_that_are_not_results(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_results(written(tmp_path, content))
