# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A stream of states gives the same results as the recording, for every common sample."""

import dataclasses

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from bag_files import BEGIN, messages_of, motion, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import RequestError
from multibody_dynamics.validation.comparison import validate
from multibody_dynamics.validation.settings import Settings
from multibody_dynamics.validation.state_stream import RunningResiduals, StateStream, warm_up
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(ARM)
RATE = 200.0
SETTINGS = Settings(ARM, cutoff=8.0)


def streamed(settings, t, rows, *, velocity=True, robot=None):
    """Times (k,), predicted and measured (k, n) from a stream; and the stream."""
    stream = StateStream(robot or settings.robot(), settings, velocity=velocity)
    stamps = BEGIN + np.round(1e9 * t).astype(np.int64)
    found = []
    for stamp, row in zip(stamps.tolist(), rows, strict=True):
        found += stream.push(stamp, row)
    times = np.concatenate([sample.times for sample in found])
    return times, *(np.concatenate([getattr(s, k)[0] for s in found]) for k in KINDS), stream


KINDS = ("predicted", "measured")


def recorded(folder, settings, t, rows):
    """The same from a bag with these states."""
    bag = write_bag(folder / "bag", messages_of(t, rows, MODEL.joint_names))
    parts = []
    validate(bag, settings, listener=lambda look, found: parts.append(found))
    times = np.concatenate([part.times for part in parts])
    return times, *(np.concatenate([getattr(p, k)[0] for p in parts]) for k in KINDS)


def differences(stream, bag):
    """Relative differences of predicted and measured at common samples."""
    times, where, there = np.intersect1d(stream[0], bag[0], return_indices=True)
    assert len(times) == len(stream[0])  # the recording has all samples
    inside = bag[0] <= times[-1]
    assert len(times) == inside.sum()  # and none is missing up to its last one
    pairs = zip(stream[1:3], bag[1:], strict=True)
    return [np.abs(a[where] - b[there]).max() / np.abs(b).max() for a, b in pairs]


@pytest.mark.parametrize("velocity", [True, False])
def test_a_stream_equals_the_recording(tmp_path, velocity):
    t, rows = motion(MODEL, 1500, RATE, noise=1e-3)
    keep = np.ones(len(t), dtype=bool)
    keep[700:720] = False  # a gap, after which both start anew
    settings = dataclasses.replace(SETTINGS, from_positions=not velocity)
    stream = streamed(settings, t[keep], rows[keep], velocity=velocity)
    assert max(differences(stream, recorded(tmp_path, settings, t[keep], rows[keep]))) < 1e-10


def test_uneven_stamps_are_interpolated(tmp_path):
    """The grid differs from the recording's: its rate is estimated from fewer states."""
    t = np.arange(1500) / RATE
    t += np.random.default_rng(1).uniform(-5e-4, 5e-4, len(t))
    w = np.array([1.0, 1.5])
    q, qd, qdd = (0.4 * w**k * np.sin(np.outer(t, w) + k * np.pi / 2) for k in range(3))
    rows = np.stack([q, qd, dyn.inverse_dynamics(MODEL, q, qd, qdd).tau], axis=1)
    times, *live, _ = streamed(SETTINGS, t, rows)
    at, *afterwards = recorded(tmp_path, SETTINGS, t, rows)
    inside = (times > at[0]) & (times < at[-1])
    assert inside.sum() > 400
    for mine, theirs in zip(live, afterwards, strict=True):
        there = CubicSpline(at, theirs)(times[inside])
        assert np.abs(mine[inside] - there).max() < 1e-8 * np.abs(theirs).max()


def test_joints_within_one_turn_and_joints_held(tmp_path):
    """A continuous joint recorded as an angle in (-pi, pi], and one that is not recorded."""
    urdf = tmp_path / "arm.urdf"
    turning = ARM.read_text().replace('name="elbow" type="revolute"', _CONTINUOUS)
    urdf.write_text(turning)
    model = dyn.load_urdf(urdf)
    t = np.arange(600) / RATE
    q = np.stack([np.full(len(t), 0.3), 2.0 * np.pi * t + 0.1 * np.sin(5.0 * t)], axis=1)
    qd = np.stack([0.0 * t, 2.0 * np.pi + 0.5 * np.cos(5.0 * t)], axis=1)
    qdd = np.stack([0.0 * t, -2.5 * np.sin(5.0 * t)], axis=1)
    effort = dyn.inverse_dynamics(model, q, qd, qdd).tau
    wrapped = np.pi - np.mod(np.pi - q[:, 1:], 2.0 * np.pi)
    rows = np.stack([wrapped, qd[:, 1:], effort[:, 1:]], axis=1)
    settings = Settings(urdf, cutoff=8.0, held={"shoulder": 0.3})
    _, predicted, measured, stream = streamed(settings, t, rows)
    assert stream.used.tolist() == [1]
    assert np.abs(predicted[:, 1] - measured[:, 1]).max() < 1e-3 * np.abs(measured[:, 1]).max()


_CONTINUOUS = 'name="elbow" type="continuous"'


def test_the_delay_is_at_most_the_stated_one():
    t, rows = motion(MODEL, 500, RATE)
    stream = StateStream(SETTINGS.robot(), SETTINGS, velocity=True)
    late = []
    for k, row in enumerate(rows):
        late += [t[k] - sample.times[0] for sample in stream.push(BEGIN + k * 5_000_000, row)]
        if late:
            assert late[-1] <= stream.delay + 1e-9
    assert stream.rate == pytest.approx(RATE)
    assert max(late[3:]) > 0.9 * stream.delay


def test_a_cutoff_too_high_for_the_rate_is_lowered():
    stream = StateStream(
        SETTINGS.robot(), dataclasses.replace(SETTINGS, cutoff=90.0), velocity=True
    )
    for k, row in enumerate(motion(MODEL, 66, RATE)[1]):
        stream.push(BEGIN + k * 5_000_000, row)
    assert stream.look.cutoff == pytest.approx(0.99 * 0.2 * RATE)


def test_inconsistent_settings_raise():
    with pytest.raises(dyn.InputError, match="set `cutoff`"):
        StateStream(SETTINGS.robot(), Settings(ARM), velocity=True)
    with pytest.raises(dyn.InputError, match="motor efforts"):
        warm_up(SETTINGS.robot(), dataclasses.replace(SETTINGS, effort="motor"))


def test_a_stream_with_stamps_in_a_wrong_unit_is_refused_until_they_are_right():
    stream = StateStream(SETTINGS.robot(), SETTINGS, velocity=True)
    refusals, found = [], []
    for k, row in enumerate(motion(MODEL, 600, RATE)[1]):
        step = 1000 if k < 200 else round(1e9 / RATE)
        try:
            found += stream.push(BEGIN + k * step, row)
        except RequestError as error:
            refusals.append(str(error))
    assert refusals
    assert all("which is 1e+06 Hz if the times are right" in text for text in refusals)
    assert found
    assert stream.rate == pytest.approx(RATE)


def test_running_residuals_forget():
    running = RunningResiduals(1)
    for t in range(10):
        running.add(float(t), np.array([float(t)]), np.zeros(1))
    assert running.of_last(3.0).rms == pytest.approx(np.sqrt((49 + 64 + 81) / 3))
    assert running.total.count == 10
    assert RunningResiduals(2).of_last(1.0).count == 0
