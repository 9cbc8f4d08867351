# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Wrong models."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.elastic import load_actuators
from multibody_dynamics.tools.study.model_errors import PARTS, with_model_errors
from robots import CONFIG
from study_arms import EVERY_KIND, panda


def ratios(parts=PARTS, share=0.1, draw=0):
    """Of every group of parameters, all ratios of wrong to right."""
    model, actuators = panda().model, panda().actuators
    wrong, others = with_model_errors(model, actuators, share, np.random.default_rng(draw), parts)
    motors = list(zip(others.motors, actuators.motors, strict=True))
    springs = zip(others.actuators, actuators.actuators, strict=True)
    return {
        "links": (wrong.link_inertias / np.where(model.link_inertias, model.link_inertias, np.nan)),
        "springs": np.array([a.spring.K / b.spring.K for a, b in springs]),
        "motors": np.array([a.inertia / b.inertia for a, b in motors]),
        "friction": np.array([[a.viscous / b.viscous, a.coulomb / b.coulomb] for a, b in motors]),
    }


def test_every_parameter_is_off_by_the_given_share_with_both_signs():
    for part, found in ratios().items():
        values = np.unique(found[np.isfinite(found)].round(9))
        assert values.tolist() == [0.9, 1.1], part
    links = ratios()["links"]
    for link in links:  # a body keeps its centre of mass
        assert len(np.unique(link[np.isfinite(link)].round(9))) == 1


@pytest.mark.parametrize("part", PARTS)
def test_one_part_has_the_signs_of_all_parts_and_leaves_the_others_alone(part):
    together, alone = ratios(), ratios((part,))
    for name, found in alone.items():
        finite = np.isfinite(found)
        expected = together[name][finite] if name == part else 1.0
        assert np.allclose(found[finite], expected, rtol=1e-12)


def test_draws_differ_and_can_be_repeated():
    assert np.array_equal(ratios(draw=3)["springs"], ratios(draw=3)["springs"])
    assert not np.array_equal(ratios(draw=3)["springs"], ratios(draw=4)["springs"])


def test_every_kind_of_actuator_has_wrong_motors_and_springs():
    names = EVERY_KIND
    actuators = load_actuators(CONFIG / "elastic_joints" / "every_kind.yaml", names)
    _, wrong = with_model_errors(panda().model, actuators, 0.2, np.random.default_rng(0))
    for name, a, b in zip(names, wrong.actuators, actuators.actuators, strict=True):
        for motor, right in zip(a.motors, b.motors, strict=True):
            if right.inertia:
                assert abs(motor.inertia / right.inertia - 1.0) == pytest.approx(0.2), name
        for spring, right in zip(a.springs, b.springs, strict=True):
            phi = 0.02
            assert abs(spring.torque(phi) / right.torque(phi) - 1.0) == pytest.approx(0.2), name
