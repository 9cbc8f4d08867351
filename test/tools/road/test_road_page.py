# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The text of the report: conditions, what is left out, and the recommendation."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from multibody_dynamics.tools.road.known_robots import load_known
from multibody_dynamics.tools.road.predicted_control import LawErrors, Prediction, Proof
from multibody_dynamics.tools.road.road_page import (
    conditions,
    limits_of,
    node_parameters,
    recommendation,
)
from multibody_dynamics.tools.robot.identified_results import Figure
from multibody_dynamics.tools.study.studied_laws import REFERENCE
from road_arm import road


def row(law, error=1e-3, number=60.0):
    return LawErrors("identified", law, number, np.full(3, error), ())


def predicted(*rows):
    return Prediction(Proof(road().files, draws=3), rows, {}, 1.4)


def test_conditions_state_what_was_simulated():
    text = conditions(predicted(row(REFERENCE)))
    for each in ("3 simulated robots", "plant: internal", "1000 Hz", "18 bits", "20%", "1.40 s"):
        assert each in text


def test_what_is_left_out_is_stated():
    known = load_known(road().files)
    report = {
        "parameters": {"elbow.coulomb_velocity": {"value": None}, "forearm.mass": {"value": None}},
        "combinations": {"forearm.m +0.5 x.m": {"value": None}, "forearm.mx": {"value": 1.0}},
    }
    rough = {"elbow": {"coulomb": Figure(0.5, 0.01)}, "shoulder": {"coulomb": Figure(0.01, 0.1)}}
    rubbing = replace(known, results=replace(known.results, joints=rough))
    road_of = SimpleNamespace(known=rubbing, artefacts=SimpleNamespace(report=report))
    text = " ".join(limits_of(road_of))
    assert "elbow.coulomb_velocity; forearm.m +0.5 x.m." in text
    assert "forearm.mass" not in text  # torques never determine it alone
    assert "Coulomb friction on the link side was identified at elbow." in text


def test_the_recommendation_names_its_rule():
    text = recommendation(predicted(row(REFERENCE, 1e-3), row("pd-full", 0.5e-3, 66.0)))
    assert text.startswith("Recommended: motor PD, full, 66 rad/s (the smallest 90 % value")
    text = recommendation(predicted(row(REFERENCE, 1e-3), row("pd-full", 0.95e-3)))
    assert "motor PD, full, compensated, 60 rad/s (the default law;" in text
    assert recommendation(predicted(row(REFERENCE, np.inf))).startswith("No law is recommended")


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
    tree = yaml.safe_load(node_parameters(row(law, number=61.234)))
    assert tree["flatness_controller_node"]["ros__parameters"] == wanted
