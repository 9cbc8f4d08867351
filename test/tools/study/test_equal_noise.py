# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws at equal noise."""

from math import inf

import pytest

from multibody_dynamics.tools.study import equal_noise
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.equal_noise import (
    TOLERANCE,
    EqualNoise,
    at_equal_noise,
    reference_noise,
)
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import STUDIED_LAWS, StudiedLaw
from study_arms import two_links


@pytest.mark.parametrize("key", ["sf-full", "torque-inertia-shaping"])
def test_the_noise_is_equal_after_the_calibration(key):
    arm, law = two_links(), STUDIED_LAWS[key]
    wanted = reference_noise(arm)
    found = at_equal_noise(arm, law, wanted)
    assert found.is_equal
    half = 0.5 * arm.motion.end_time
    again = simulate(arm, law.at(found.number), CONDITIONS["exact"], until=half)
    assert again.step == pytest.approx(wanted, rel=TOLERANCE)


def searched(monkeypatch, law_of_noise, wanted, default=10.0):
    calls = []

    def made_up(arm, law, seed=0, condition=None):
        calls.append(law.number)
        return law_of_noise(law.number)

    law = StudiedLaw("made-up", "", "motor_pd", number=default)
    monkeypatch.setattr(equal_noise, "noise", made_up)
    return at_equal_noise(None, law, wanted), calls


@pytest.mark.parametrize("wanted", [0.4, 1.0, 9.0])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_any_power_law_is_found_in_a_few_steps(monkeypatch, wanted, power):
    found, calls = searched(monkeypatch, lambda w: (w / 10.0) ** power, wanted)
    if 1.6**-5 < wanted ** (1 / power) < 1.6**5:
        assert found.is_equal
        assert found.number == pytest.approx(10.0 * wanted ** (1 / power), rel=0.05)
    else:
        assert not found.is_equal
    assert len(calls) <= 11
    assert len(set(calls)) == len(calls)


def test_a_law_that_becomes_unstable_first_gets_its_noisiest_stable_number(monkeypatch):
    found, _ = searched(monkeypatch, lambda w: inf if w > 15.0 else 0.1 * w, 3.0)
    assert 10.0 <= found.number <= 15.0
    assert "0.4" in found.note or "0.5" in found.note or "0.3" in found.note
    assert "a faster law is refused, unstable, or no noisier" in found.note


def test_a_law_that_is_always_noisier_gets_its_quietest_number(monkeypatch):
    found, _ = searched(monkeypatch, lambda w: 2.0 + w, 1.0)
    assert found.noise == pytest.approx(2.0 + 10.0 / 1.6**5)
    assert "3 times the noise of the reference: a slower law" in found.note


def test_a_law_that_never_runs_has_infinite_noise(monkeypatch):
    found, _ = searched(monkeypatch, lambda w: inf, 1.0)
    assert found == EqualNoise(10.0, inf, 1.0)
    assert not found.is_equal
