# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What benchmark/streams.py compares streams with, and how it measures delays."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.dynamics import load_actuators, load_urdf
from multibody_dynamics.dynamics.control import design_stream
from multibody_dynamics.dynamics.motion import JointCommandLimits, StreamedMotion
from multibody_dynamics.tools.streams.stream_files import policy_stream
from robots import CONFIG

ROOT = Path(__file__).parents[1]


@pytest.fixture
def streams(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmark")
    return importlib.import_module("streams")


def test_points_that_repeat_are_overshot_as_the_page_says(streams):
    found = streams.held()
    for name in ("held", "monotone"):
        assert found[name] == pytest.approx(1.5, abs=1e-12)
    s = np.linspace(0.0, 1.0, 1001)  # between the second and the third point, speeds 0.8 and -0.2
    overshoot = 0.8 * s * (1.0 - s) ** 2 + 0.2 * s**2 * (1.0 - s)
    assert found["C2"] == pytest.approx(1.5 + overshoot.max(), abs=1e-4)
    page = (ROOT / "docs" / "streams.md").read_text(encoding="utf-8")
    for name in ("least_jerk", "C2"):
        assert f"reaches {found[name]:.2f}" in page


@pytest.mark.parametrize("delay", [0.0, 0.037])
def test_the_delay_is_the_one_with_the_least_difference(streams, delay):
    stream = policy_stream(("a", "b"), np.zeros(2), rate=20.0, duration=6.0, anchor=0.0, lost=0.0)
    due = np.concatenate([each.times for each in stream.messages])
    points = np.concatenate([each.positions for each in stream.messages])
    due, first = np.unique(due.round(6), return_index=True)
    times = np.arange(-1.0, 7.0, 1e-3)
    q = np.column_stack([np.interp(times - delay, due, row) for row in points[first].T])
    run = SimpleNamespace(times=times, q=q, desired=q[:, None])
    assert streams.delay(run, stream) == pytest.approx(delay)


def test_only_jumps_of_the_targets_delay_a_motion_whose_chunks_overlap(streams):
    """Half of a jump takes the time in which the acceleration allows it, at any rate."""
    panda = load_urdf(CONFIG / "robots" / "panda.urdf")
    springs = load_actuators(CONFIG / "elastic_joints" / "panda.yaml", panda.joint_names)
    torques, rates = springs.torque_limit_within(panda.limits.effort), np.full(7, 1000.0)
    motors = JointCommandLimits(springs.motor_names, torque=torques, torque_rate=rates)
    limits = design_stream(panda, springs, panda.limits, motors)
    times, jump = np.arange(0.0, 10.0, 1e-3), 0.05
    rest = np.zeros((5, 7))
    rest[0] = streams.START

    def followed(messages):
        motion, rows, coming = StreamedMotion(panda.joint_names, limits, 0.0, rest), [], messages
        for t in times:
            while coming and coming[0].arrival <= t:
                motion.add(t, coming[0].times, coming[0].positions, start=0.0)
                coming = coming[1:]
            rows.append(np.empty((5, 7)))
            motion.evaluate(t, rows[-1])
        return SimpleNamespace(times=times, q=np.array(rows)[:, 0], desired=np.array(rows))

    for rate in streams.RATES:
        stream = policy_stream(
            panda.joint_names, streams.START, rate=rate, duration=9.0, anchor=0.0
        )
        assert streams.delay(followed(stream.messages), stream) <= 2e-3
    at_rest = policy_stream(panda.joint_names, streams.START, rate=50.0, duration=5.0, reach=0.0,
                            anchor=0.0, lost=0.0).messages  # fmt: skip
    beside = [m._replace(positions=m.positions + jump * (m.arrival > 2.0)) for m in at_rest]
    known = next(m.arrival for m in beside if m.arrival > 2.0)
    passed = times[np.argmax(followed(beside).q[:, 0] > streams.START[0] + 0.5 * jump, axis=0)]
    acceleration = limits.acceleration[0]
    law = (jump / acceleration) ** 0.5
    assert law < passed - known
    page = (ROOT / "docs" / "streams.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"{1e3 * law:.0f} ms for 50 mrad at the {acceleration:.1f} rad/s²" in page
    assert f"passes it after {10 * round(100.0 * (passed - known))} ms" in page
    assert f"50 Hz would need {jump * 50.0**2:.0f} rad/s²" in page
