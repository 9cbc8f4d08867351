# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report and its pictures."""

import csv
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import REFERENCE, STUDIED_LAWS
from multibody_dynamics.tools.study.study_page import (
    draw_delays,
    draw_errors,
    draw_parts,
    draw_rates,
    gain_of_rates,
    summary,
    write_report,
)
from multibody_dynamics.tools.study.study_plan import JUDGED_ERRORS, Judgement
from multibody_dynamics.tools.study.study_tables import Cell
from study_arms import given, made_up, panda

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    def error(key):
        if key.law == "linearization" and key.condition.startswith("all"):
            return None
        return 1e-3 * (1.0 + key.draw + len(key.law))  # different laws, different errors

    tables = made_up(error, laws=("main", "linearization"), plant="both", stiffnesses=(1.0, 5.0))
    return write_report(tables, tmp_path_factory.mktemp("report")).read_text()


def test_the_report_contains_every_table_and_is_self_contained(page):
    for heading in (
        "Equal noise",
        "Wrong models",
        "Which parameters matter",
        "What Q&#39; and Q&#39;&#39; contribute",
        "Delay, irregular periods and rate",
        "Payload, hit and encoders",
        "Stability at other poses",
        "The same on MuJoCo",
        "What was studied",
    ):
        assert f"<h2>{heading}</h2>" in page
    for condition in CONDITIONS.values():
        assert f">{condition.title}</th>" in page
    assert page.count("<img ") == 4
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_a_law_that_cannot_be_designed_has_no_share_of_unstable_poses(tmp_path):
    tables = made_up(groups=("exact",))
    key = given(tables), REFERENCE
    for error in JUDGED_ERRORS:
        tables.judgements[(*key, error)] = Judgement(*key, error, float("nan"), float("nan"))
    text = write_report(tables, tmp_path).read_text()
    section = text.partition("<h2>Stability at other poses</h2>")[2].partition("<h2>")[0]
    (cells,) = re.findall(f"<tr><td>{STUDIED_LAWS[REFERENCE].title}</td>(.*?)</tr>", section)
    assert re.findall(r">([^<>]+)</td>", cells) == ["no design"] * len(JUDGED_ERRORS)
    assert "nan" not in text.replace("data:", "").partition("<h2>Stability")[2].partition("<img")[0]


def test_sections_without_results_are_left_out(tmp_path):
    text = write_report(made_up(groups=("exact",), laws=("pd-full",)), tmp_path).read_text()
    for heading in ("Which parameters matter", "Payload, hit and encoders", "The same on MuJoCo"):
        assert heading not in text
    assert "<h2>Wrong models</h2>" in text


def test_the_summary_has_medians():
    lines = "\n".join(summary(made_up(lambda key: 0.3e-3)))
    assert re.search(r"motor PD, full, compensated +0\.3 +0\.3 / 0\.3", lines)


# The published tables


def published():
    """The tables of docs/control_study.md with results of the command, each as its title, the
    titles of its columns, and {row: cells}."""
    text = (DOCS / "control_study.md").read_text()
    for block in text.split("\n\n"):
        if block.startswith("| ") and "springs as given" in block:
            lines = [re.split(r"\s*\|\s*", line)[1:-1] for line in block.splitlines()]
            yield lines[0][0], lines[0][1:], {line[0]: line[1:] for line in lines[2:]}


def test_the_published_tables_are_those_of_the_published_results():
    with (DOCS / "study.csv").open() as file:
        results = {
            (row["robot"], row["stiffness"], row["law"], row["condition"]): row
            for row in csv.DictReader(file)
            if row["plant"] == "internal"
        }
    laws = {law.title: law.key for law in STUDIED_LAWS.values()}
    conditions = {each.title: each.key for each in CONDITIONS.values()}
    count = 0
    for title, columns, rows in published():
        robot = title.partition(",")[0]
        for condition, cells in rows.items():
            for law, cell in zip(columns, cells, strict=True):
                if condition == "bandwidth, rad/s":
                    where = robot, "1.0", laws[law], "exact"
                    assert float(cell) == pytest.approx(float(results[where]["number"]), rel=0.02)
                    continue
                found = results[robot, "1.0", laws[law], conditions[condition]]
                numbers = [
                    float("inf") if found[name] == "lost" else float(found[name])
                    for name in ("median rms [mrad]", "worst rms [mrad]", "worst peak [mrad]")
                ]
                assert cell == str(Cell(*numbers, int(found["lost"]), int(found["draws"])))
                count += 1
    assert count > 200


def test_the_published_results_can_be_repeated():
    arm = panda()
    with (DOCS / "study.csv").open() as file:
        rows = {
            row["condition"]: row
            for row in csv.DictReader(file)
            if (row["robot"], row["stiffness"], row["law"]) == ("panda", "1.0", REFERENCE)
            and row["plant"] == "internal"
        }
    for key in ("exact", "hit"):
        outcome = simulate(arm, STUDIED_LAWS[REFERENCE], CONDITIONS[key])
        assert 1e3 * outcome.rms == pytest.approx(float(rows[key]["median rms [mrad]"]), rel=0.02)


# Pictures


def test_the_gain_of_the_rates_is_a_ratio_of_medians():
    tables = made_up(lambda key: 4e-3 if "quasi" in key.law else 1e-3)
    for pair in ("", "-comp"):
        assert gain_of_rates(tables, given(tables), pair, "all-10") == pytest.approx(4.0)
    lost = made_up(lambda key: None if key.law == "pd-full" else 1e-3)
    assert np.isnan(gain_of_rates(lost, given(lost), "", "all-10"))
    assert gain_of_rates(lost, given(lost), "-comp", "all-10") == pytest.approx(1.0)


def test_lines_show_medians_and_lost_runs_as_crosses():
    tables = made_up(lambda key: None if key.condition == "all-30" else 2e-3)
    figure = draw_errors(tables, tables.given_arms())
    (axis,) = figure.axes
    points = {line.get_marker(): line.get_xydata() for line in axis.lines}
    assert np.allclose(points["o"][:3, 1], 2.0)
    assert np.isnan(points["o"][3, 1])
    assert points["x"][0, 0] == 30.0


PICTURES = [draw_errors, draw_delays, draw_parts, draw_rates]


@pytest.mark.parametrize("draw", PICTURES)
def test_every_picture_can_be_drawn(draw):
    tables = made_up(robots=("panda", "antagonistic"), stiffnesses=(1.0, 5.0))
    figure = draw(tables) if draw is draw_rates else draw(tables, tables.given_arms())
    figure.savefig(BytesIO(), format="png")
    assert all(axis.get_xlabel() or axis.get_ylabel() for axis in figure.axes)
