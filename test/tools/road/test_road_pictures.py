# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures show every parameter, joint and law."""

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.tools.road.held_out import RecordingOptions, compare_held_out
from multibody_dynamics.tools.road.known_robots import load_known
from multibody_dynamics.tools.road.predicted_control import CASES, LawErrors
from multibody_dynamics.tools.road.road_pictures import (
    draw_changes,
    draw_prediction,
    draw_torques,
)
from multibody_dynamics.tools.robot.changes_table import Change
from multibody_dynamics.tools.robot.identified_results import Figure
from road_arm import JOINTS, road


def test_changes_are_drawn_with_their_intervals():
    changes = [
        Change("elbow", "spring stiffness", 100.0, Figure(120.0, 1.0)),
        Change("elbow", "motor inertia", 1.0, Figure(0.9, 0.1, determined=False)),
        Change("elbow", "motor offset", None, Figure(0.9, 0.1)),
    ]
    (axis,) = draw_changes(changes).axes
    assert axis.get_title() == "spring stiffness"
    (point,) = axis.containers
    assert point[0].get_xdata()[0] == pytest.approx(20.0)
    assert np.ptp(point[2][0].get_segments()[0][:, 0]) == pytest.approx(2 * 1.96)
    assert draw_changes(changes[1:]) is None


def test_torques_are_drawn_for_every_joint():
    known = load_known(road().files)
    (held,) = compare_held_out([road().held_out], road().files, known, RecordingOptions())
    axes = [axis for axis in draw_torques(held).axes if axis.get_visible()]
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
    (axis,) = draw_prediction(prediction).axes
    labels = [text.get_text() for text in axis.get_xticklabels()]
    assert labels == ["motor PD, full", "state feedback, full"]
    marks = [line.get_marker() for line in axis.lines]
    assert marks.count("x") == len(CASES)
