# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Targets of laws whose stiffness and damping may change while they run."""

from dataclasses import replace

import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import ControllerSettings, ImpedanceTarget, make_controller
from rejections import assert_rejected

LAWS = ("joint_impedance", "cartesian_impedance", "esp", "esp_impedance")
TUNED = {"link_stiffness": 20.0, "tool_stiffness": 5.0, "posture_stiffness": 2.0}


def made(name, **changes):
    arm = linear_arm()
    settings = ControllerSettings(law=name, position=arm.rest, **changes)
    return make_controller(arm.model, arm.actuators, settings), settings, arm


@pytest.mark.parametrize("name", LAWS)
def test_a_target_gives_the_same_law_by_settings_and_by_aiming_at_it(name):
    """This is how another process judges what the running law will become."""
    law, settings, arm = made(name)
    fields = set(law.settings_of(law.aimed))
    changes = {key: value for key, value in TUNED.items() if key in fields}
    target = law.with_settings(changes | {"damping_ratio": 0.45})
    assert law.aimed != target
    assert set(target.stiffness) <= set(TUNED.values())
    law.aim(target)
    assert law.aimed == target
    other = make_controller(arm.model, arm.actuators, replace(settings, **law.settings_of(target)))
    assert other.aimed == target
    law.reset()  # a law that is not running jumps to its target
    assert law.present_stiffness.tolist() == list(target.stiffness)
    default = made(name)[0].aimed
    empty = dict.fromkeys(changes) | {"damping_ratio": default.damping_ratio}
    assert law.with_settings(empty) == default


@pytest.mark.parametrize("name", LAWS)
def test_requests_by_name_build_on_a_target_and_wrong_ones_change_nothing(name):
    law = made(name)[0]
    before, names = law.aimed, law.stiffness_names
    first = law.requested({"damping_ratio": 0.4})
    second = law.requested({each: 1.0 for each in names[-1:]}, first)
    assert second.damping_ratio == 0.4
    assert second == ImpedanceTarget((*before.stiffness[:-1], *(1.0 for _ in names[-1:])), 0.4)
    assert_rejected(
        (lambda: law.requested({"knee": 1.0}), "unknown 'knee' any of damping_ratio"),
        (lambda: law.requested({"damping_ratio": -1.0}), "damping_ratio -1.0 zero or greater"),
        (lambda: law.requested({"damping_ratio": float("nan")}), "damping_ratio nan"),
    )
    assert law.aimed == before
