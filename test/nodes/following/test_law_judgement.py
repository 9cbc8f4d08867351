# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Which laws are accepted: at configuration, and at the first measured position."""

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import Arm, LoopJudgement
from multibody_dynamics.dynamics.core import IS_COMPILED, InputError, compilation
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.following.law_judgement import check_at, is_refused, prepare_laws
from rejections import assert_rejected


def judgement(at_design: float, elsewhere: float) -> LoopJudgement:
    growth = np.array([at_design, elsewhere])
    pole = complex(growth.max())
    return LoopJudgement(np.zeros((2, 1)), growth, at_design, 0.001, 0.0, pole, "joint")


@pytest.mark.parametrize(
    ("choice", "elsewhere", "at_design", "at_given_design"),
    [
        ("lower", True, True, True),
        ("reject", True, True, True),
        ("report", False, False, True),
        ("accept", False, False, False),
    ],
)
@pytest.mark.parametrize("name", ["motor_pd", "feedback_linearization", "computed_torque"])
def test_what_is_refused_is_the_same_for_every_law(
    name, choice, elsewhere, at_design, at_given_design
):
    free = FlatnessControllerParameters(unstable_poses=choice)
    given = FlatnessControllerParameters(unstable_poses=choice, design_position=(0.0,))
    assert is_refused(free, name, judgement(-1.0, 1.0)) is elsewhere
    assert is_refused(free, name, judgement(1.0, -1.0)) is at_design
    assert is_refused(given, name, judgement(1.0, -1.0)) is at_given_design
    for p in (free, given):
        assert not is_refused(p, name, judgement(-1.0, -1.0))


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.info = self.warning = self.error = self.lines.append


def prepared(**changes):
    """The laws of two links with these parameters, and what was logged."""
    arm, log = linear_arm(), Log()
    p = FlatnessControllerParameters(**{"judged_poses": 4} | changes)
    found = prepare_laws(lambda p: Arm(arm.model, arm.actuators, p.settings()), p, log)
    return found, log.lines


def test_computed_torque_is_lowered_and_linearisation_refused_with_the_worst_pose():
    """Rigid computed torque excites the springs; feedback linearisation needs a good model."""
    fast = {"law": "computed_torque", "computed_torque_bandwidth": 150.0}
    found, lines = prepared(**fast)
    assert found.law.laws.judgements["computed_torque"].unstable_share == 0.0
    assert found.law.laws.lowered["computed_torque"]["bandwidth"] < 150.0
    assert any("'computed_torque' is lowered to bandwidth" in line for line in lines)
    wrong = {"law": "feedback_linearization", "judged_model_error": 0.5}
    refusal = r"refused: unstable at \d of 5 poses.* at \[.*lower judged_model_error if the model"
    with pytest.raises(ParameterError, match=refusal):
        prepared(**wrong)
    found, lines = prepared(**wrong, unstable_poses="accept")
    assert found.law.laws.judgements["feedback_linearization"].unstable_share > 0.0
    assert any("'feedback_linearization': unstable at" in line for line in lines)


def test_what_was_judged_in_an_earlier_start_is_not_judged_again(tmp_path, monkeypatch):
    """A line says when judging begins; verdicts and lowered settings are those of the first time.
    Any setting that matters is judged anew."""
    if not IS_COMPILED:
        pytest.skip("nothing is kept without Numba")
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    changes = {"law": "computed_torque", "computed_torque_bandwidth": 150.0}
    first, lines = prepared(**changes)
    for name in ("computed_torque", "hold"):
        assert f"judging law '{name}' at 5 poses ..." in lines
    again, lines = prepared(**changes)
    assert not any("judging" in line or "trying" in line for line in lines)
    assert any("law 'computed_torque'" in line and "stable at 5 poses" in line for line in lines)
    for name, judgement in first.law.laws.judgements.items():
        np.testing.assert_array_equal(again.law.laws.judgements[name].growth, judgement.growth)
        assert str(again.law.laws.judgements[name]) == str(judgement)
    assert again.law.laws.lowered == first.law.laws.lowered
    for other in ({"judged_delay": 0.0011}, {"judged_poses": 3}, {"judged_model_error": 0.11}):
        _, lines = prepared(**changes | other)
        assert any("judging" in line for line in lines), other


def test_the_first_measured_position_is_judged_unless_everything_is_accepted():
    arm = linear_arm()
    fast = {"law": "computed_torque", "computed_torque_bandwidth": 300.0}
    for choice in ("lower", "reject", "report"):
        p = FlatnessControllerParameters(unstable_poses=choice, **fast)
        law = Arm(arm.model, arm.actuators, p.settings())
        with pytest.raises(InputError, match="law 'computed_torque' is refused: unstable at 1 of"):
            check_at(law.laws, p, "computed_torque", arm.rest, np.array([0.3, -0.2]))
    p = FlatnessControllerParameters(unstable_poses="accept", **fast)
    check_at(law.laws, p, "computed_torque", arm.rest, np.array([0.3, -0.2]))


def test_a_law_that_cannot_be_designed_does_not_keep_others_from_it():
    arm = linear_arm()
    fast = {"torque_link_bandwidth": (500.0,), "design_position": tuple(arm.rest)}
    found, _ = prepared(**fast)
    assert "use a lower bandwidth" in found.law.laws.undesigned["torque_control"]
    assert found.law.laws["motor_pd"] is not None
    assert_rejected((lambda: prepared(law="torque_control", **fast), "use a lower bandwidth"))
