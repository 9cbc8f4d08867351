# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits of streams: motors follow what they allow, and what they refuse is named."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import StreamSettings, design_stream
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import motor_motion
from multibody_dynamics.dynamics.motion import JointCommandLimits, StreamedMotion
from multibody_dynamics.resources import share_directory

CONFIG = share_directory() / "config"
PANDA = dyn.load_urdf(CONFIG / "robots" / "panda.urdf")
SPRINGS = dyn.load_actuators(CONFIG / "elastic_joints" / "panda.yaml", PANDA.joint_names)
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])


def limits(rate=None):
    return JointCommandLimits(
        SPRINGS.motor_names,
        torque=SPRINGS.torque_limit_within(PANDA.limits.effort),
        torque_rate=None if rate is None else np.full(7, rate),
    )


def designed(rate=None, **settings):
    return design_stream(PANDA, SPRINGS, PANDA.limits, limits(rate), StreamSettings(**settings))


def test_torques_along_random_chunks_stay_within_their_limits_and_rates():
    """An independent route: the inverse dynamics along the streamed motion, differentiated."""
    rate = 1000.0
    motion = StreamedMotion(PANDA.joint_names, designed(rate), 0.0, at(START))
    rng = np.random.default_rng(2)
    states, due = [], 0.0
    anchor = START.copy()
    for t in np.arange(0.0, 20.0, 1e-3):
        while due <= t:
            anchor = np.clip(anchor + rng.uniform(-0.3, 0.3, 7), START - 0.7, START + 0.7)
            times = 0.1 * np.arange(1.0, 9.0)
            chunk = anchor + 0.4 * np.cumsum(rng.uniform(-0.3, 0.3, (8, 7)), axis=0)
            motion.add(due, times, chunk)
            due += rng.uniform(0.1, 0.5)
        out = np.empty((5, 7))
        motion.evaluate(t, out)
        states.append(out)
    states = np.array(states)
    rows = np.stack(dyn.inverse_dynamics(PANDA, *np.moveaxis(states, 1, 0)), axis=1)
    torque = motor_motion(SPRINGS, states, rows).torque
    assert (np.abs(torque) <= limits().torque).all()
    found = np.abs(np.diff(torque, axis=0)).max() / 1e-3
    assert 0.1 * rate < found <= rate
    assert np.abs(states[:, 1]).max() > 0.8  # it moved in earnest


def at(q):
    state = np.zeros((5, 7))
    state[0] = q
    return state


def test_rates_cost_smoothness_and_a_given_smoothing_costs_acceleration():
    free, tight = designed(), designed(500.0)
    assert free.smoothing == 0.08
    assert tight.smoothing > free.smoothing
    np.testing.assert_allclose(tight.acceleration, free.acceleration)
    short = designed(500.0, stream_smoothing=0.08)
    assert (short.acceleration < 0.8 * free.acceleration).all()
    given = designed(stream_acceleration=(3.0,), stream_smoothing=0.2, stream_delay=2.0)
    np.testing.assert_array_equal(given.acceleration, np.full(7, 3.0))
    assert (given.smoothing, given.delay) == (0.2, 2.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stream_acceleration": (1.0, 2.0)}, "stream_acceleration is .*for each of the 7 joints"),
        ({"stream_acceleration": (-1.0,)}, "stream_acceleration is .* expected one positive"),
        (
            {"stream_delay": -1.0},
            "stream_delay is -1.0 intervals of the stream: must be from 0 to 10",
        ),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(InputError, match=words):
        designed(**settings)


def test_rates_that_no_stream_keeps_are_named():
    with pytest.raises(InputError, match="torque_rate_limits: even streams"):
        designed(1e-3)
