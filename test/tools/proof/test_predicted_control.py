# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Predicted control errors: the identified model is better, and the truth lies within them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from identified_arms import motion_file, planar_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.tools.proof import predicted_control
from multibody_dynamics.tools.proof.known_robots import load_known
from multibody_dynamics.tools.proof.predicted_control import (
    CASES,
    LawErrors,
    Prediction,
    Proof,
    identified_arm,
    predict,
    true_robots,
)
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import REFERENCE, STUDIED_LAWS


@cache
def proof(**changes):
    given = {"laws": ("pd-full",), "draws": 2, "motion": motion_file(), "rate": 500.0}
    return Proof(planar_arm().files, **given | changes)


@cache
def prediction():
    return predict(proof())


def test_every_law_is_simulated_in_every_case():
    found = prediction()
    rows = [(each.case, each.law) for each in found.rows]
    assert rows == [(case, law) for case in CASES for law in (REFERENCE, "pd-full")]
    assert all(len(each.errors) == 2 for each in found.rows)
    assert found.numbers[REFERENCE].number == STUDIED_LAWS[REFERENCE].default
    assert found.duration == pytest.approx(identified_arm(proof()).motion.end_time)


@pytest.mark.parametrize("done", [0, 5])
def test_ctrl_c_keeps_the_laws_that_were_simulated_on_all_robots(monkeypatch, done):
    runs = iter(range(done))

    def interrupted(*given, **options):
        if next(runs, None) is None:
            raise KeyboardInterrupt
        return simulate(*given, **options)

    monkeypatch.setattr(predicted_control, "simulate", interrupted)
    found = predict(proof())
    assert not found.is_complete
    assert found.numbers == prediction().numbers
    for one, other in zip(found.rows, prediction().rows, strict=False):
        assert one[:3] == other[:3]
        np.testing.assert_array_equal(one.errors, other.errors)
    assert len(found.rows) == done // 2


def test_the_identified_model_is_better_than_the_data_sheet():
    found = prediction()
    for law in (REFERENCE, "pd-full"):
        identified = found.row("identified", law)
        assert identified.worst < 0.2 * found.row("sheet", law).median
        assert identified.worst < 0.2 * found.row("stated", law).worst


def test_the_error_on_the_hidden_robot_is_as_predicted():
    hidden = replace(
        identified_arm(proof()), model=planar_arm().model, actuators=planar_arm().actuators
    )
    plant = ElasticRobot(hidden.model, hidden.actuators)
    for case, assumed in (("identified", "after"), ("sheet", "before")):
        row = prediction().row(case, "pd-full")
        outcome = simulate(
            hidden, STUDIED_LAWS["pd-full"].at(row.number), proof().condition, plant=plant,
            assumed=getattr(load_known(planar_arm().files), assumed),
        )  # fmt: skip
        assert not outcome.lost
        assert 0.5 * row.errors.min() < outcome.rms < 2.0 * row.errors.max()


def test_robots_within_the_stated_errors_of_the_data_sheet():
    _, before = load_known(planar_arm().files).before
    for robot in true_robots(proof(stated=0.3), "stated"):
        for a, b in zip(robot.actuators.actuators, before.actuators, strict=True):
            assert abs(a.spring.K / b.spring.K - 1.0) == pytest.approx(0.3)
            assert abs(a.motor.inertia / b.motor.inertia - 1.0) == pytest.approx(0.3)


def test_quantiles_count_lost_robots():
    row = LawErrors("identified", "pd-full", 60.0, np.array([1.0, 2.0, 3.0, np.inf]), ("why",))
    assert (row.median, row.high, row.worst) == (2.5, np.inf, np.inf)
    ten = row._replace(errors=np.arange(1.0, 11.0))
    assert (ten.high, ten.worst) == (9.0, 10.0)


@pytest.mark.parametrize(
    ("default", "other", "wanted"),
    [
        (1.05, 1.0, REFERENCE),
        (1.2, 1.0, "pd-full"),
        (np.inf, 2.0, "pd-full"),
        (1.0, np.inf, REFERENCE),
        (np.inf, np.inf, None),
    ],
)  # fmt: skip
def test_the_recommendation_follows_from_the_table(default, other, wanted):
    rows = tuple(
        LawErrors("identified", law, 60.0, np.full(4, error), ())
        for law, error in ((REFERENCE, default), ("pd-full", other))
    )
    found = Prediction(proof(), rows, {}, 1.0).recommended
    assert (found and found.law) == wanted


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"draws": 0}, "--draws 0"),
        ({"stated": 1.0}, "--initial-error 1"),
        ({"bits": 4}, "--bits 4"),
        ({"seed": -1}, "--seed -1"),
        ({"laws": ("nothing",)}, "law 'nothing'"),
    ],
)
def test_values_out_of_range_are_refused(changes, says):
    with pytest.raises(dyn.InputError, match=says):
        replace(proof(), **changes)


def test_a_motion_that_starts_in_motion_is_refused(tmp_path):
    file = tmp_path / "moving.csv"
    file.write_text(
        "t,q shoulder,q elbow,qd shoulder,qd elbow\n0,0,0,1,0\n1,1,0,0,0\n", encoding="utf-8"
    )
    with pytest.raises(dyn.InputError, match="velocity 1 at the first point"):
        identified_arm(replace(proof(), motion=file))
