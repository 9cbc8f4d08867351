# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Results in files."""

import csv
import json

import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.study.studied_laws import REFERENCE
from multibody_dynamics.tools.study.studied_robots import own_robot
from multibody_dynamics.tools.study.study_files import as_dict, read_tables, write_tables
from rejections import assert_rejected
from robots import CONFIG
from study_arms import given, made_up


def error(key):
    return None if key.law == "sf-full" else 1e-3 * (key.draw + len(key.condition))


def test_json_contains_every_run_and_can_be_read_again(tmp_path):
    tables = made_up(error)
    write_tables(tables, tmp_path)
    again = read_tables([tmp_path / "study.json"])
    assert as_dict(again) == as_dict(tables)
    assert again.cells == tables.cells
    content = json.loads((tmp_path / "study.json").read_text())
    assert len(content["runs"]) == len(tables.results.runs)
    assert content["study"]["seed"] == 0
    assert all(run["rms [rad]"] is None for run in content["runs"] if run["lost"])


def test_csv_has_a_row_per_cell_and_says_lost(tmp_path):
    tables = made_up(error)
    write_tables(tables, tmp_path)
    with (tmp_path / "study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(tables.cells)
    for row in rows:
        assert (row["median rms [mrad]"] == "lost") == (row["law"] == "sf-full")


def test_results_of_several_studies_are_merged(tmp_path):
    parts = {
        "a": made_up(error, groups=("exact",), laws=(REFERENCE,)),
        "b": made_up(error, groups=("error",), laws=("main",), robots=("six_joint_arm",)),
        "c": made_up(error, groups=("exact",), laws=(REFERENCE,), plant="mujoco"),
    }
    for name, tables in parts.items():
        write_tables(tables, tmp_path / name)
    merged = read_tables([tmp_path / name / "study.json" for name in parts])
    assert [robot.name for robot in merged.study.robots] == ["panda", "six_joint_arm"]
    assert merged.study.groups == ("exact", "error")
    assert merged.study.plant == "both"
    assert merged.on_both(given(merged), REFERENCE, "exact") is not None
    assert len(merged.results.runs) == sum(len(each.results.runs) for each in parts.values())
    assert merged.origin["minutes"] == "3.0"


def test_ones_own_robot_is_found_again(tmp_path):
    springs = CONFIG / "elastic_joints" / "planar_two_link.yaml"
    source = own_robot(CONFIG / "robots" / "planar_two_link.urdf", springs)
    tables = made_up(groups=("exact",))
    content = json.loads(json.dumps(as_dict(tables)))
    robot = {"name": source.name, "urdf": str(source.urdf), "springs": str(source.springs)}
    content["robots"] = [{"built in": False} | robot]
    for name in ("runs", "equal noise", "stability"):
        for each in content[name]:
            each["robot"] = source.name
    file = tmp_path / "study.json"
    file.write_text(json.dumps(content))
    assert read_tables([file]).study.robots == (source,)


def test_wrong_files_are_refused(tmp_path):
    file = tmp_path / "study.json"
    file.write_text('{"format": 1}')
    assert_rejected((lambda: read_tables([file]), "study.json: not the results of a study"))
    file.write_text('{"format": 99}')
    assert_rejected((lambda: read_tables([file]), "format 99, expected 1"))
    for seed in (0, 1):
        write_tables(made_up(groups=("exact",), seed=seed), tmp_path / str(seed))
    with pytest.raises(InputError, match="seed 1 differs from 0"):
        read_tables([tmp_path / str(seed) / "study.json" for seed in (0, 1)])
