# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Learned thresholds: the lowest envelope, and what a recording must contain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_runs import Run, learned, robot, wrong
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.observers.collision_learning import ASSUMED, fit_envelope
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.plant import DriveEffects, ElasticRobot
from multibody_dynamics.tools.study.drive_terms import with_drive_terms


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_no_residual_exceeds_the_envelope_and_at_least_one_touches_it(seed):
    rng = np.random.default_rng(seed)
    terms = np.abs(rng.standard_normal((400, len(control.KINDS), len(control.TERMS), 3)))
    terms[:, :, 0] = 1.0
    residuals = np.abs(rng.standard_normal((400, len(control.KINDS), 3)))
    found = fit_envelope(residuals, terms, np.full(3, 1e-3))
    share = residuals / (found * terms).sum(axis=2)
    assert share.max() <= 1.0
    assert (share.max(axis=0) > 0.99).all()
    assert (found >= np.array(ASSUMED)[None, :, None]).all()


def test_a_residual_that_is_a_sum_of_terms_gives_their_coefficients():
    rng = np.random.default_rng(1)
    terms = np.abs(rng.standard_normal((2000, len(control.KINDS), len(control.TERMS), 1)))
    terms[:, :, 0] = 1.0
    wanted = np.array([0.3, 0.1, 0.2, 0.5, 0.4, 0.05, 0.02])
    residuals = (wanted[None, None, :, None] * terms).sum(axis=2)
    found = fit_envelope(residuals, terms, np.array([1e-3]))
    np.testing.assert_allclose(found[:, :, 0], [wanted] * len(control.KINDS), rtol=0.01)


def test_the_margin_scales_thresholds_and_the_report_is_consistent():
    one = learned()
    recording = Run(2.0).record(6.0)
    both = [
        control.learn_thresholds(*wrong(), recording, control.DetectionSettings(margin=margin))
        for margin in (1, 3)
    ]
    rows = [each.thresholds.coefficients for each in both]
    np.testing.assert_allclose(rows[1], 3.0 * rows[0])
    np.testing.assert_allclose(both[0].held_out, 3.0 * both[1].held_out)
    assert one.duration == pytest.approx(8.0, abs=0.5)
    assert one.period == pytest.approx(1e-3)
    assert (one.at_rest <= one.median).all()
    assert (one.median <= one.high).all()
    np.testing.assert_allclose(
        one.smallest_hit,
        one.median[control.HIT] / control.step_response(one.thresholds.settings, 0.02),
    )


def test_a_step_response_rises_to_one_only_with_slow_parts():
    choice = control.DetectionSettings()
    assert control.step_response(choice, 0.5, control.PUSH) == pytest.approx(1.0)
    assert control.step_response(choice, 1.0, control.HIT) < 1e-3
    a = choice.bandwidth * 0.02
    closed = 1.0 - np.exp(-a) * (1.0 + a + a**2 / 2.0 + a**3 / 6.0)
    assert control.step_response(choice, 0.02, control.PUSH) == pytest.approx(closed)


def test_recordings_that_lack_something_are_refused():
    t = 1e-3 * np.arange(3000)
    q = np.zeros((3000, 2))
    with pytest.raises(InputError, match="s of samples without gaps: thresholds need 5 s"):
        control.learn_thresholds(*robot(), control.RecordedMotion(t, q, q))
    with pytest.raises(InputError, match="q: was not recorded, but the source of the state needs"):
        control.learn_thresholds(*robot(), control.RecordedMotion(t, None, q))
    with pytest.raises(InputError, match=r"theta: expected shape \(3000, 2\), got \(3000, 3\)"):
        control.learn_thresholds(*robot(), control.RecordedMotion(t, q, np.zeros((3000, 3))))
    sensors = control.DetectionSettings(source="motor_encoders_and_torque_sensors")
    with pytest.raises(InputError, match="Q: was not recorded"):
        control.learn_thresholds(*robot(), control.RecordedMotion(t, q, q), sensors)


def test_thresholds_are_lower_with_the_terms_of_real_drives():
    """Friction of links and hysteresis, LuGre and Maxwell, that the actuators have as terms."""
    model, actuators = robot()
    effects = DriveEffects(link_coulomb=2.0, hysteresis=1.5, hysteresis_deflection=4e-3)
    run = Run(2.0)
    run.plant = ElasticRobot(model, actuators, step=1e-3, effects=effects)
    run.plant.reset(np.zeros(2))
    recording = run.record(6.0)
    knows, without = (
        control.learn_thresholds(model, each, recording, control.DetectionSettings())
        for each in (with_drive_terms(actuators, effects), actuators)
    )
    assert (knows.median[control.PUSH] < 0.8 * without.median[control.PUSH]).all()
