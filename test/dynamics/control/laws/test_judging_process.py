# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws judged in a process of their own."""

from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import (
    Arm,
    FlatnessSettings,
    JudgingProcess,
    JudgingRequest,
)
from multibody_dynamics.dynamics.control.laws.judging_process import judge_law
from multibody_dynamics.dynamics.core import DynamicsError

PATIENCE = 600.0  # s; the process gives way to everything else on the computer


def request(**changes):
    arm = linear_arm()
    given = {"conditions": {"delay": 1e-3, "poses": 2}, "q": arm.rest, "second": np.zeros(0)}
    settings = FlatnessSettings()
    return JudgingRequest(
        arm.model, arm.actuators, settings, **{"name": "hold", **given, **changes}
    )


def test_a_process_gives_the_same_verdict():
    process = JudgingProcess()
    try:
        asked = request()
        wanted, found = judge_law(asked), process.submit(asked).result(timeout=PATIENCE)
        np.testing.assert_array_equal(found.judgement.growth, wanted.judgement.growth)
        assert str(found.judgement) == str(wanted.judgement)
        assert found.lowered == wanted.lowered == {}
        with pytest.raises(DynamicsError, match="position: expected shape"):
            process.submit(request(q=np.zeros(3))).result(timeout=PATIENCE)
        (worker,) = process._process._pool._processes.values()
        worker.kill()
        worker.join()
        with pytest.raises(BrokenProcessPool):  # at once, or from the future
            process._process._pool.submit(judge_law, asked).result(timeout=PATIENCE)
        assert process.submit(asked).result(timeout=PATIENCE).name == "hold"
    finally:
        process.close()
    process.close()
    with pytest.raises(RuntimeError, match="closed"):
        process.submit(asked)
    assert process._process._pool is None


def test_the_present_position_is_judged_alone_with_an_exact_model():
    arm = linear_arm()
    here = arm.rest + 0.4
    late = {"delay": 4e-3, "poses": 2, "model_error": 0.3}
    verdict = judge_law(request(name="motor_pd", conditions=late, here=here, lowers=False))
    law = Arm(arm.model, arm.actuators)
    wanted = law.laws.judge("motor_pd", arm.rest, at=here, delay=4e-3, poses=0)
    assert verdict.here.growth_at_design == wanted.growth_at_design
    assert len(verdict.here.poses) == 1
    np.testing.assert_array_equal(verdict.here.poses[0], here)
    assert verdict.here.model_error == 0.0
    assert judge_law(request()).here is None


def test_bandwidths_are_lowered_unless_that_is_not_wanted():
    late = {"conditions": {"delay": 1e-3, "poses": 2, "model_error": 0.6}, "name": "motor_pd"}
    verdict = judge_law(request(**late))
    assert verdict.lowered["disturbance_bandwidth"] < 120.0
    assert not verdict.judgement.is_unstable.any()
    before = judge_law(request(**late, lowers=False))
    assert before.lowered == {}
    assert before.judgement.is_unstable.any()
    again = judge_law(request(**late, lowers=False, lowered={"motor_pd": verdict.lowered}))
    np.testing.assert_array_equal(again.judgement.growth, verdict.judgement.growth)
