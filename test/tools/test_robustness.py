"""The tables of docs/elastic_joints.md on the robustness of the control laws."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.tools.robustness import (
    CASES,
    LAWS,
    cases_on,
    demo_arm,
    follow,
    main,
    mistaken,
    rows,
)

PAGE = Path(__file__).parents[2] / "docs" / "elastic_joints.md"
CASE = {case.title: case for case in CASES}
RIGID, PD, LINEAR, STATE, FULL, COMPENSATED_STATE, COMPENSATED = LAWS


@cache
def arm():
    return demo_arm()


@cache
def plant():
    return arm().plant("internal")


def error(law, title, **changes):
    """rms in mrad."""
    return 1e3 * follow(arm(), plant(), law, replace(CASE[title], **changes)).rms


def table(name):
    """Columns and {row: [cells]} of a table in docs/elastic_joints.md."""
    text = PAGE.read_text()
    lines = text[text.index(f"| {name} | {RIGID.title} |") :].split("\n\n")[0].splitlines()
    cells = [re.split(r"\s*\|\s*", line)[1:-1] for line in lines]
    return cells[0][1:], {row[0]: row[1:] for row in cells[2:]}


@pytest.mark.parametrize("name", ["internal", "mujoco"])
def test_the_page_has_the_rows_and_columns_of_the_tool(name):
    columns, found = table(name)
    assert columns == [law.title for law in LAWS]
    titles = []
    for case in cases_on(name):
        kinds = [""]
        if case.draws > 1:
            kinds = [f": {kind} of {case.draws}" for kind in ("median", "worst")]
        elif case.encoder:
            kinds = ["", ": step of the torque"]
        titles += [case.title + kind for kind in kinds]
    assert list(found) == titles


def test_the_page_has_the_values_of_the_tool():
    _, found = table("internal")
    for case in (CASES[0], CASE["payload of 2 kg appears"]):
        (row,) = rows(arm(), plant(), case, (PD, STATE, COMPENSATED))
        published = (found[case.title][k] for k in (1, 3, 6))
        for cell, wanted in zip(row[1:], published, strict=True):
            for x, y in zip(cell.split(" / "), wanted.split(" / "), strict=True):
                assert float(x) == pytest.approx(float(y), rel=0.06)


def test_with_the_exact_model_laws_that_know_the_springs_are_far_better():
    exact = CASES[0].title
    best = max(error(law, exact) for law in (STATE, LINEAR))
    assert 30.0 * best < error(PD, exact) < 0.5 * error(RIGID, exact)


def test_compensation_wins_with_a_wrong_model_and_costs_little_with_an_exact_one():
    wrong = "parameters 10 % off"
    alone, compensated = error(FULL, wrong), error(COMPENSATED, wrong)
    assert alone < 0.7 * error(STATE, wrong) < 0.7 * error(PD, wrong)
    assert compensated < 0.4 * alone
    assert error(COMPENSATED_STATE, wrong) < 0.3 * error(STATE, wrong)
    exact = CASES[0].title
    assert error(COMPENSATED, exact) < 1.25 * error(FULL, exact)
    late = "delay of 3 ms, not known"
    assert error(COMPENSATED, late) < 0.15 < 1.0 < error(STATE, late)


def test_feedback_linearisation_is_the_most_sensitive_to_its_model():
    wrong = "parameters 10 % off"
    assert error(STATE, wrong) < error(PD, wrong) < 0.5 * error(LINEAR, wrong)
    noisy = "encoders with steps and noise"
    assert error(STATE, noisy) < 0.8 * error(LINEAR, noisy)


def test_an_observer_compensates_most_of_a_payload():
    alone, observed = (f"payload of 2 kg appears{text}" for text in ("", ", with observer"))
    assert error(STATE, observed) < 0.5 * error(STATE, alone)


def test_a_known_delay_has_almost_no_effect():
    exact, known, unknown = (
        error(STATE, title)
        for title in (CASES[0].title, "delay of 1 ms, known", "delay of 1 ms, not known")
    )
    assert known < 1.1 * exact < 0.8 * unknown


def test_every_parameter_is_off_by_the_given_share():
    model, actuators = arm().model, arm().actuators
    wrong, others = mistaken(model, actuators, 0.1, np.random.default_rng(0))
    ratios = wrong.inertias[:, 3, 3] / model.inertias[:, 3, 3]
    assert np.unique(ratios.round(6)).tolist() == [0.9, 1.1]
    for name in ("inertia", "viscous", "coulomb"):
        pairs = zip(others.motors, actuators.motors, strict=True)
        ratios = [getattr(a, name) / getattr(b, name) for a, b in pairs]
        assert set(np.round(ratios, 6)) <= {0.9, 1.1}
    springs = zip(others.actuators, actuators.actuators, strict=True)
    assert {round(a.spring.K / b.spring.K, 6) for a, b in springs} == {0.9, 1.1}


def test_help(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "--plant" in capsys.readouterr().out
