# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The resolution of encoders, from the positions that they show."""

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.signals.encoder_steps import (
    COARSEST,
    KNOWN,
    RESTLESS,
    ROUNDING,
    EncoderSteps,
    calm_motors,
    coarsest_encoder,
    interpolate_speeds,
    interpolated_position,
    note_encoder_steps,
)
from multibody_dynamics.dynamics.core import record_fields


def steps_of(motion: np.ndarray, resolution: float = 0.0, noise: float = 0.0) -> float:
    """The resolution that is found of a link encoder during a motion (k,), in rad."""
    found = record_fields.zeros(EncoderSteps, n=1, m=2)
    shown = motion + noise * np.random.default_rng(0).standard_normal(len(motion))
    if resolution:
        shown = np.round(shown / resolution) * resolution
    for k, q in enumerate(shown):
        note_encoder_steps(found, 1e-3 * k, np.array([q]), np.array([q, 0.5]))
    assert found.link_step[0] == found.motor_step[0]
    assert found.motor_step[1] == 0.0  # a motor at rest shows nothing
    return float(found.link_step[0])


def from_rest(speed: float, seconds: float = 1.0) -> np.ndarray:
    """Positions every ms, of a joint that gains its speed within 0.2 s."""
    t = np.arange(0.0, seconds, 1e-3)
    return 0.3 + speed * np.where(t < 0.2, 2.5 * t**2, t - 0.1)


@pytest.mark.parametrize("bits", [6, 8, 10, 14])
def test_the_resolution_is_found_in_motion(bits):
    resolution = 2.0 * np.pi / 2**bits
    found = steps_of(from_rest(1.0), resolution)
    assert found == pytest.approx(resolution, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-5])
@pytest.mark.parametrize("speed", [0.1, 3.0])
def test_positions_that_are_not_rounded_have_no_steps(speed, noise):
    assert steps_of(from_rest(speed), noise=noise) < 1e-4


def test_noise_shows_the_resolution_at_rest():
    assert steps_of(np.full(100, 0.3), 1e-3, noise=1e-3) == pytest.approx(1e-3, rel=1e-9)
    assert steps_of(np.full(100, 0.3), 1e-3) == 0.0


def test_it_is_not_known_before_some_changes_and_rounding_is_none():
    places = COARSEST * np.arange(KNOWN + 1.0)
    assert steps_of(places[:-1]) == 0.0
    assert steps_of(places) == COARSEST
    assert steps_of(0.1 * ROUNDING * places) == 0.0
    assert steps_of(np.concatenate(([np.nan], places))) == COARSEST
    assert steps_of(3.0 * places) == 0.0  # leaps


def test_a_wrong_position_and_the_return_from_it_are_no_steps():
    at_rest = np.full(9, 0.3)
    wrong, again = at_rest + 0.05 * (np.arange(9) == 4), at_rest + 0.05 * (np.arange(9) % 4 == 3)
    assert steps_of(wrong) == 0.0
    assert steps_of(again) == pytest.approx(0.05)  # an encoder at the edge of its step


def test_the_coarsest_encoder_exceeds_what_it_needs_most():
    needed = np.array([0.1, np.inf]), np.array([0.2, 0.1, 0.1])
    steps = np.array([0.25, 9.0]), np.array([0.2, 0.4, 0.0])
    assert coarsest_encoder(*steps, *needed, 1.0) == 3
    assert coarsest_encoder(steps[0], 0.5 * steps[1], *needed, 1.0) == 0
    assert coarsest_encoder(*steps, *needed, 4.0) == -1


def interpolated(motion: np.ndarray, resolution: float) -> np.ndarray:
    """(k, 2) position and velocity of a motor during a motion (k,), every ms, by its encoder."""
    needed = SimpleNamespace(link_resolution=[0.0], motor_resolution=[0.5 * resolution])
    found, rows = record_fields.zeros(EncoderSteps, n=1, m=1), []
    for k, x in enumerate(motion):
        shown, qd, thetad = (
            np.round(np.array([x]) / resolution) * resolution,
            np.ones(1),
            np.ones(1),
        )
        note_encoder_steps(found, 10.0 + 1e-3 * k, np.zeros(1), shown)
        interpolate_speeds(needed, found, qd, thetad)
        assert qd == 1.0  # its steps are not known
        if found.motor_step[0]:
            rows.append((interpolated_position(found, 1), thetad[0]))
    return np.array(rows)


def test_a_motor_is_not_faster_than_its_encoder_between_two_steps():
    """The filter answers the last step by a peak of 3 rad/s."""
    resolution = 0.01
    found, calm = record_fields.zeros(EncoderSteps, n=1, m=1), []
    for felt in (0.9 * RESTLESS, 1.1 * RESTLESS):
        needed = SimpleNamespace(motor_resolution=[resolution / felt])
        for k in range(100):
            shown = np.round(np.array([0.2e-3 * k]) / resolution) * resolution
            note_encoder_steps(found, 1e-3 * k, np.zeros(1), shown)
        for filtered in (3.0, 0.1, -0.1):
            thetad = np.array([filtered])
            calm_motors(needed, found, thetad)
            calm.append(thetad[0])
    assert calm[:3] == [3.0, 0.1, -0.1]
    np.testing.assert_allclose(calm[3:], [0.2, 0.1, 0.0], rtol=0.05)


@pytest.mark.parametrize("v", [0.3, -2.0])
def test_between_steps_a_steady_motion_goes_on(v):
    resolution = 2.0 * np.pi / 2**6
    motion = v * np.arange(0.0, 1.5, 1e-3)
    places, speeds = interpolated(motion, resolution)[-500:].T
    np.testing.assert_allclose(places, motion[-500:], atol=2e-3 * abs(v))
    np.testing.assert_allclose(speeds, v, rtol=2e-3 * abs(v) / resolution)


def test_a_motor_whose_next_step_is_late_has_slowed_down_and_one_that_turns_back_is_slow():
    resolution, v = 0.05, 1.0
    there = v * np.arange(0.0, 0.28, 1e-3)
    stays = interpolated(np.concatenate([there, np.full(500, there[-1])]), resolution)
    assert stays[-1, 1] == pytest.approx(resolution / 0.5, rel=0.02)
    assert abs(stays[-1, 0] - there[-1]) < resolution
    back = interpolated(np.concatenate([there, there[::-1][:8]]), resolution)
    assert 0.5 * v < back[-4, 1] < 1.1 * v
    assert abs(back[-1, 1]) < 1e-9  # over the edge that it had just passed, at any speed
