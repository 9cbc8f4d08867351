# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Every law of the registry, with its row of the table: its design, an arm at rest and in motion,
and its judgement."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import elastic_arms as arms
from law_table import LAW_TABLE
from multibody_dynamics.dynamics.control import LAWS, ControllerSettings, LiveImpedance
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.motion import hold, splice

PERIOD = 1e-3


def test_every_law_has_a_row():
    assert sorted(LAW_TABLE) == sorted(LAWS)


@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_the_name_of_its_file(law):
    assert LAWS[law].__module__.rpartition(".")[2] == law


@pytest.mark.parametrize("law", LAWS)
def test_settings_are_declared_compared_by_value_and_sent_to_other_processes(law):
    settings = ControllerSettings(law=law, position=np.array([0.1, 0.2]))
    assert type(settings) is LAWS[law]
    assert settings.__doc__
    for each in fields(settings):
        assert each.name == "law" or each.metadata["description"], each.name
    same = pickle.loads(pickle.dumps(settings))
    assert same == settings
    assert hash(same) == hash(settings)
    assert replace(settings, position=[0.1, 0.2]) == settings
    assert replace(settings, position=[0.1, 0.3]) != settings


NEED_MOTORS = ("torque_control", "joint_impedance", "cartesian_impedance")
"""Laws that do not support springs between link and base."""


@pytest.mark.parametrize(  # for arms of two links see test_arm.py
    "arm", [arms.elastic_panda, arms.mixed_panda, arms.differential_wrist, *arms.OTHER_ARMS]
)
@pytest.mark.parametrize("law", LAWS)
def test_every_law_holds_an_arm_at_rest_or_names_the_joint_that_it_does_not_support(arm, law):
    arm = arm()
    unsupported = [
        type(each).__name__
        for each in arm.actuators.actuators
        if (each.has_base_springs and law in NEED_MOTORS)
        or (each.virtual_spring is None and not each.is_rigid and law.startswith("esp"))
    ]
    if unsupported:
        with pytest.raises(InputError, match=rf"^joint '.*': .*{unsupported[0]}"):
            arms.law_of(arm, law)
        return
    made = arms.law_of(arm, law)
    assert type(made) is LAW_TABLE[law].controller
    desired = arms.still(arm)
    x, second, load = arms.at_start(arm)
    torque = made.update(desired, *x, stiffness=second)
    if not LAW_TABLE[law].sags:
        np.testing.assert_allclose(torque, load, atol=1e-7)


@pytest.mark.parametrize("law", [law for law, row in LAW_TABLE.items() if row.error is not None])
def test_laws_follow_a_motion(law):
    arm = arms.linear_arm()
    motion = splice(
        hold(arm.model.joint_names, arm.rest), 0.1, [0.5], [arm.rest + np.array([0.3, -0.4])]
    )
    assert (
        arms.peak_error(arm, arms.law_of(arm, law), motion, 600, lead=0.5e-3) < LAW_TABLE[law].error
    )


@pytest.mark.parametrize("law", LAWS)
def test_every_law_is_stable_at_all_poses_once_it_has_been_lowered(law):
    arm = arms.linear_arm()
    judgement = arms.at_rest_under(arm).laws.stabilise(law, arm.rest, period=PERIOD, poses=5)
    assert judgement.unstable_share == 0.0, str(judgement)


def changed(arm, law, **settings):
    """The settings of this arm, with other ones of a law."""
    own = replace(arm.settings.controllers[law], **settings)
    return replace(arm.settings, controllers={**arm.settings.controllers, law: own})


def live_numbers(law):
    """The live settings of a law that are numbers by default."""
    return [
        each for each in fields(LAWS[law]) if each.metadata.get("live") and each.default is not None
    ]


@pytest.mark.parametrize("law", LAWS)
def test_what_may_change_while_a_law_runs_is_an_attribute_of_its_controller(law):
    arm = arms.at_rest_under(arms.linear_arm(), law=law)
    running = arm.laws[law]
    for name in LAWS[law].tunable:
        assert hasattr(running, name), name
    values = {each.name: 0.9 * each.default for each in live_numbers(law)}
    for name, value in values.items():
        assert getattr(running, name) != value, name
    assert arm.laws.change(changed(arm, law, **values)) == ""
    assert arm.laws[law] is running
    for name, value in values.items():
        assert getattr(running, name) == value, name


def test_live_settings_that_are_not_judged_leave_the_loop_as_it_is():
    """Stiffness and damping of a LiveImpedance are judged; all others take effect at once."""
    for law in LAWS:
        arm = arms.at_rest_under(arms.linear_arm(), law=law)
        if isinstance(arm.laws[law], LiveImpedance):
            continue
        rest = arms.linear_arm().rest
        for each in live_numbers(law):
            before = arm.laws.judge(law, rest, poses=3)
            for value in each.metadata["bounds"]:
                arm.laws.change(changed(arm, law, **{each.name: value}))
                after = arm.laws.judge(law, rest, poses=3)
                np.testing.assert_allclose(after.growth, before.growth, rtol=1e-3)
