# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reactions to contacts, without ROS: new contacts, what is compensated, and the return."""

import numpy as np
import pytest

from collision_runs import PERIOD, robot
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import (
    KINDS,
    TERMS,
    CollisionDetector,
    CollisionThresholds,
)
from multibody_dynamics.dynamics.control.arm.collision_reaction import (
    LAWS_OF_REACTIONS,
    PEAK,
    SHORTEST,
    SPEED,
    CollisionReaction,
    Contact,
)
from multibody_dynamics.dynamics.control.arm.modes import STOPPING, YIELDING

REST = np.zeros(2)


def reaction(constant: float = 2.0) -> CollisionReaction:
    model, actuators = robot()
    rows = np.zeros((len(KINDS), len(TERMS), 2))
    rows[:, 0] = constant
    detector = CollisionDetector(model, actuators, CollisionThresholds(model.joint_names, rows))
    return CollisionReaction(detector, model.limits)


def feel(made: CollisionReaction, begin: float, end: float, torque: float) -> list[Contact]:
    """The contacts noticed while an external torque acts on the shoulder of the arm at rest."""
    model, found = made.detector.model, []
    weight = dyn.gravity_forces(model, REST)
    for t in np.arange(begin, end, PERIOD):
        made.detector.update(t, REST, REST, weight - [torque, 0.0])
        if (contact := made.notice(round(1e9 * t))) is not None:
            found.append(contact)
    return found


def test_a_hit_is_noticed_once_and_errors_of_the_model_before_it_stay_compensated():
    made = reaction()
    assert not feel(made, 0.0, 1.0, 1.0)
    (contact,) = feel(made, 1.0, 1.5, 9.0)
    assert contact.stamp < 1.02e9
    assert contact.torque[0] == pytest.approx(made.detector.threshold[0, 0], rel=0.6)
    assert "N m at 'shoulder', beyond its threshold of 2 N m" in contact.text
    np.testing.assert_allclose(made.offset, [1.0, 0.0], atol=0.01)
    assert made.contacts == 1
    assert made.largest > 1.0
    assert not feel(made, 1.5, 2.5, 1.0)
    assert len(feel(made, 2.5, 3.0, -9.0)) == 1


@pytest.mark.parametrize(
    ("reaction_to", "more", "mode"),
    [
        ("stop", {}, STOPPING),
        ("retract", {}, YIELDING),
        ("report", {}, 0),
        ("off", {}, None),
        ("stop", {"has_fault": True}, None),
        ("stop", {"is_measured": False}, None),
    ],
)
def test_a_contact_stops_an_arm_or_lets_it_yield_once_unless_it_is_off_or_unknown(
    reaction_to, more, mode
):
    made, weight = reaction(), dyn.gravity_forces(robot()[0], REST)
    answers = []
    for k in range(1000):
        torque = 9.0 if k > 500 else 0.0
        made.detector.update(k * PERIOD, REST, REST, weight - [torque, 0.0])
        given = {"is_measured": True, "has_fault": False} | more
        answers.append(made.answer(round(1e9 * k * PERIOD), reaction_to, **given))
    noticed = [answer for answer in answers if answer[0] is not None]
    assert [answer[1] for answer in noticed] == ([] if mode is None else [mode])


def test_a_slow_push_is_noticed_without_compensation():
    made, found = reaction(), []
    for k in range(400):
        found += feel(made, 0.01 * k, 0.01 * (k + 1) - 1e-9, 0.01 * k)
    (contact,) = found
    assert contact.text.startswith("push of 2")
    assert not made.offset.any()
    assert LAWS_OF_REACTIONS["stop"] == "hold"


@pytest.mark.parametrize("torque", [(5.0, -1.0), (-0.5, 4.0), (0.0, 3.0)])
def test_the_way_back_yields_to_the_contact_within_limits_of_position_and_speed(torque):
    made = reaction()
    feel(made, 0.0, 0.3, 0.0)
    contact = Contact(0, np.array(torque), "")
    goal, duration = made.retraction(contact, REST, 0.05)
    assert np.abs(goal).max() == pytest.approx(0.05)
    assert contact.torque @ goal > 0.0
    assert duration >= SHORTEST
    limits = made.detector.model.limits
    assert (PEAK * np.abs(goal) / duration <= SPEED * limits.velocity * (1 + 1e-12)).all()
    at_limit = limits.upper.copy()
    goal, _ = made.retraction(contact, at_limit, 0.05)
    assert (goal <= limits.upper).all()
