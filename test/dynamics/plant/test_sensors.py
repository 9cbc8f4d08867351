# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Encoders, torque sensors and delays against their definitions, and their seeds."""

from math import exp, inf, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics.plant.sensors import DelayLine, Encoder, TorqueSensor
from rejections import assert_rejected

PERIOD = 1e-3


def readings(encoder: Encoder, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    encoder.restart(positions[0], np.zeros_like(positions[0]))
    rows = [(encoder.position.copy(), encoder.velocity.copy())]
    for position in positions[1:]:
        encoder.update(position, np.full_like(position, 7.0))
        rows.append((encoder.position.copy(), encoder.velocity.copy()))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def test_positions_are_rounded_to_the_nearest_multiple_without_bias():
    resolution = 2.0 * pi / 4096
    positions = np.random.default_rng(1).uniform(-1.0, 1.0, size=(2000, 2))
    read, _ = readings(Encoder(2, PERIOD, resolution=resolution), positions)
    steps = read / resolution
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    error = read - positions
    assert np.abs(error).max() <= 0.5 * resolution * (1.0 + 1e-9)
    # the standard deviation of a uniform error, and of its mean
    assert abs(error.std() / (resolution / np.sqrt(12.0)) - 1.0) < 0.05
    assert abs(error.mean()) < 4.0 * resolution / np.sqrt(12.0 * error.size)


def test_noise_is_white_seeded_and_independent():
    still = np.zeros((20000, 1))

    def read(seed: int) -> np.ndarray:
        return readings(Encoder(1, PERIOD, noise=0.01, seed=seed), still)[0][:, 0]

    noise = read(3)
    np.testing.assert_array_equal(noise, read(3))
    assert abs(noise.std() / 0.01 - 1.0) < 0.03
    for other in (noise[1:], read(4)[1:]):
        assert abs(np.corrcoef(noise[:-1], other)[0, 1]) < 0.03


def test_the_velocity_of_a_ramp_settles_with_the_bandwidth():
    bandwidth, speed = 40.0, 0.8
    times = PERIOD * np.arange(100)
    encoder = Encoder(1, PERIOD, velocity_bandwidth=bandwidth)
    _, velocity = readings(encoder, speed * times[:, None])
    wanted = speed * (1.0 - np.exp(-2.0 * pi * bandwidth * times))
    np.testing.assert_allclose(velocity[:, 0], wanted, atol=1e-12)
    _, plain = readings(Encoder(1, PERIOD, velocity_bandwidth=inf), speed * times[:, None])
    np.testing.assert_allclose(plain[1:], speed, atol=1e-12)


def test_a_torque_sensor_is_a_low_pass_with_noise():
    sensor = TorqueSensor(2, PERIOD, bandwidth=100.0)
    sensor.restart([1.0, -2.0])
    np.testing.assert_array_equal(sensor.torque, [1.0, -2.0])
    for _ in range(5):
        sensor.update([3.0, -2.0])
    left = exp(-2.0 * pi * 100.0 * 5 * PERIOD)
    np.testing.assert_allclose(sensor.torque, [3.0 - 2.0 * left, -2.0], atol=1e-12)

    noisy = [TorqueSensor(1, PERIOD, noise=0.2, seed=5) for _ in range(2)]
    rows = np.zeros((2, 5000))
    for row, sensor in zip(rows, noisy, strict=True):
        sensor.restart([1.0])
        for k in range(rows.shape[1]):
            sensor.update([1.0])
            row[k] = sensor.torque[0]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert abs(rows.mean() - 1.0) < 0.02
    assert abs(rows.std() / 0.2 - 1.0) < 0.05


@settings(max_examples=25, deadline=None)
@given(delay=st.floats(0.0, 5e-3), period=st.sampled_from([1e-3, 0.7e-3, 2e-3]))
def test_a_delay_shifts_commands_even_within_cycles(delay, period):
    """The command acting at t is the one given at the last start of a cycle before t - delay."""
    line = DelayLine(delay, period, -1)
    for cycle in range(10):
        parts = line.push(cycle)
        assert sum(duration for duration, _ in parts) == pytest.approx(period, abs=1e-15)
        begin = cycle * period
        for duration, command in parts:
            middle = begin + 0.5 * duration - delay
            assert duration > 0.0
            assert command == max(int(np.floor(middle / period)), -1)
            begin += duration


def test_values_out_of_range_are_rejected_by_name():
    assert_rejected(
        (lambda: Encoder(1, 0.0), "period"),
        (lambda: Encoder(1, PERIOD, resolution=-1e-3), "resolution"),
        (lambda: Encoder(1, PERIOD, noise=np.nan), "noise"),
        (lambda: Encoder(1, PERIOD, velocity_bandwidth=-1.0), "bandwidth"),
        (lambda: Encoder(1, PERIOD, velocity_bandwidth=0.0), "None for the true"),
        (lambda: TorqueSensor(1, PERIOD, bandwidth=0.0), "bandwidth"),
        (lambda: TorqueSensor(1, PERIOD, noise=-1.0), "noise"),
        (lambda: TorqueSensor(2, PERIOD).update([1.0]), "torque"),
        (lambda: Encoder(2, PERIOD).update([1.0, np.inf], [0.0, 0.0]), "position"),
        (lambda: DelayLine(-1e-3, PERIOD, None), "delay"),
        (lambda: DelayLine(np.inf, PERIOD, None), "delay"),
    )
