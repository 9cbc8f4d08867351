# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report: conditions, what is left out, the recommendation, and every parameter, joint and law
in the pictures."""

from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from identified_arms import JOINTS, planar_arm
from multibody_dynamics.tools.proof import proof_page
from multibody_dynamics.tools.proof.held_out import compare_held_out
from multibody_dynamics.tools.proof.known_robots import load_known
from multibody_dynamics.tools.proof.predicted_control import CASES, LawErrors
from multibody_dynamics.tools.robot.changes_table import Change
from multibody_dynamics.tools.robot.identified_results import Figure


def row(law, error=1e-3, number=60.0):
    return LawErrors("identified", law, number, np.full(3, error), ())


def test_what_is_left_out_is_stated():
    known = load_known(planar_arm().files)
    report = {
        "parameters": {"elbow.coulomb_velocity": {"value": None}, "forearm.mass": {"value": None}},
        "combinations": {"forearm.m +0.5 x.m": {"value": None}, "forearm.mx": {"value": 1.0}},
    }
    road_of = SimpleNamespace(known=known, artefacts=SimpleNamespace(report=report))
    text = " ".join(proof_page.limits_of(road_of))
    assert "elbow.coulomb_velocity; forearm.m +0.5 x.m." in text
    assert "forearm.mass" not in text  # torques never determine it alone


@pytest.mark.parametrize(
    ("law", "wanted"),
    [
        ("pd-full", {"law": "motor_pd", "motor_bandwidth": [61.2], "disturbance_bandwidth": 0.0}),
        ("sf-full-comp", {"law": "state_feedback", "feedback_bandwidth": [61.2]}),
        ("pd-integral", {"law": "motor_pd", "motor_bandwidth": [61.2], "integral": 5.0,
                         "disturbance_bandwidth": 0.0}),
        ("computed-torque", {"law": "computed_torque", "computed_torque_bandwidth": 61.2}),
    ],
)  # fmt: skip
def test_the_parameters_of_the_node(law, wanted):
    tree = yaml.safe_load(proof_page.node_parameters(row(law, number=61.234)))
    assert tree["flatness_controller_node"]["ros__parameters"] == wanted


# Pictures


def test_changes_are_drawn_with_their_intervals():
    changes = [
        Change("elbow", "spring stiffness", 100.0, Figure(120.0, 1.0)),
        Change("elbow", "motor inertia", 1.0, Figure(0.9, 0.1, determined=False)),
        Change("elbow", "motor offset", None, Figure(0.9, 0.1)),
    ]
    (axis,) = proof_page.draw_changes(changes).axes
    assert axis.get_title() == "spring stiffness"
    (point,) = axis.containers
    assert point[0].get_xdata()[0] == pytest.approx(20.0)
    assert np.ptp(point[2][0].get_segments()[0][:, 0]) == pytest.approx(2 * 1.96)
    assert proof_page.draw_changes(changes[1:]) is None


def test_torques_are_drawn_for_every_joint():
    known = load_known(planar_arm().files)
    (held,) = compare_held_out([planar_arm().held_out], planar_arm().files, known)
    axes = [axis for axis in proof_page.draw_torques(held).axes if axis.get_visible()]
    assert [axis.get_title() for axis in axes] == list(JOINTS)
    for axis in axes:
        before, after = (line.get_ydata() for line in axis.lines[1:])
        assert after.std() < 0.5 * before.std()


def test_errors_are_drawn_for_every_law_and_lost_robots_are_marked():
    rows = {
        (case, law): LawErrors(case, law, 1.0, np.array(errors), ("lost",) * np.isinf(errors).sum())
        for case in CASES
        for law, errors in (("pd-full", (1e-3, 2e-3)), ("sf-full", (np.inf, 4e-3)))
    }
    prediction = SimpleNamespace(
        numbers=dict.fromkeys(("pd-full", "sf-full")), row=lambda case, law: rows[case, law]
    )
    (axis,) = proof_page.draw_prediction(prediction).axes
    labels = [text.get_text() for text in axis.get_xticklabels()]
    assert labels == ["motor PD, full", "state feedback, full"]
    marks = [line.get_marker() for line in axis.lines]
    assert marks.count("x") == len(CASES)
