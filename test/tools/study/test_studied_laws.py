# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The laws of the study."""

import pytest

from multibody_dynamics.dynamics.control import LAWS, ControllerSettings, make_controller
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.studied_laws import (
    NOT_STUDIED,
    REFERENCE,
    STUDIED_LAWS,
    chosen_laws,
)
from rejections import assert_rejected
from study_arms import two_links


def test_every_law_of_the_package_is_studied_or_has_a_reason():
    studied = {law.law for law in STUDIED_LAWS.values()}
    assert studied | set(NOT_STUDIED) == set(LAWS)
    assert not studied & set(NOT_STUDIED)


def test_the_reference_is_the_default_of_the_node():
    law, default = STUDIED_LAWS[REFERENCE], ControllerSettings()
    assert law.law == default.law
    assert not law.settings  # nothing besides the defaults
    assert law.default == LAWS[law.law].bandwidth


@pytest.mark.parametrize("key", STUDIED_LAWS)
def test_every_law_can_be_designed_at_its_default(key):
    law, arm = STUDIED_LAWS[key], two_links()
    settings = law.flatness_settings(arm, CONDITIONS["exact"])
    assert settings.law == law.law
    assert set(settings.controllers) == {law.law, "hold"}
    make_controller(arm.model, arm.actuators, settings.controllers[law.law])


def test_the_number_of_other_laws_is_their_default_setting():
    arm, exact = two_links(), CONDITIONS["exact"]
    impedance = STUDIED_LAWS["impedance"]
    given = impedance.flatness_settings(arm, exact).controllers["joint_impedance"]
    plain = make_controller(arm.model, arm.actuators, ControllerSettings(law="joint_impedance"))
    scaled = make_controller(arm.model, arm.actuators, given)
    assert scaled.target.tolist() == pytest.approx(plain.target.tolist())


def test_names_choose_laws_and_the_reference_is_always_there():
    assert [law.key for law in chosen_laws(["computed-torque"])] == [REFERENCE, "computed-torque"]
    assert all(law.is_main for law in chosen_laws(["main"]))
    assert len(chosen_laws(["all"])) == len(STUDIED_LAWS)
    torque = {law.key for law in chosen_laws(["torque_control"])} - {REFERENCE}
    assert torque == {"torque-observer", "torque-inertia-shaping", "torque-lqr"}
    assert chosen_laws(["esp_impedance"]) == chosen_laws(["esp-impedance"])
    assert_rejected(
        (lambda: chosen_laws(["hold"]), "law 'hold' is not studied: it stops and holds the arm"),
        (lambda: chosen_laws(["pid"]), "law 'pid': expected main, all or some of pd-full-comp"),
    )
