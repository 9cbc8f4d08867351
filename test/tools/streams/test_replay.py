# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Streams against simulated robots: what the links do, what the motors must do, and the report."""

import numpy as np
import pytest

from multibody_dynamics.dynamics import load_actuators, load_urdf
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.streams.replay import replay, viewed
from multibody_dynamics.tools.streams.stream_files import pilot_stream, policy_stream, write_stream
from multibody_dynamics.tools.view.viewed_motion import motors_along

CONFIG = share_directory() / "config"
PANDA = load_urdf(CONFIG / "robots" / "panda.urdf")
SPRINGS = load_actuators(CONFIG / "elastic_joints" / "panda.yaml", PANDA.joint_names)
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])


STREAMS = {
    kind: kind(PANDA.joint_names, START, duration=3.0) for kind in (policy_stream, pilot_stream)
}


@pytest.fixture(scope="module")
def runs():
    """The stream of a policy by its stamps, that of a pilot by its arrival."""
    return {
        kind: replay(PANDA, SPRINGS, stream, is_stamped=kind is policy_stream)
        for kind, stream in STREAMS.items()
    }


@pytest.mark.parametrize("kind", STREAMS)
def test_links_follow_and_motors_keep_their_rates(runs, kind):
    stream, run = STREAMS[kind], runs[kind]
    assert not run.stops
    assert not run.refused
    assert run.error_rms < 1e-4
    assert (run.torque_rate <= 1000.0 * (1.0 + 1e-9)).all()
    assert np.ptp(run.desired[:, 0], axis=0).max() > 0.2
    assert np.abs(run.desired[-1, 1:]).max() < 1e-9  # the end of a stream is a stop
    np.testing.assert_allclose(run.desired[-1, 0], stream.messages[-1].positions[-1], atol=1e-9)


def test_the_command_writes_a_report(tmp_path, capsys):
    file = tmp_path / "pilot.csv"
    write_stream(STREAMS[pilot_stream], file)
    assert cli.main(["stream", str(file), "--view", "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "mrad rms; delay" in printed
    assert "0 stops" in printed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "panda_joint4" in page
    assert "share of its bound" in page
    assert (tmp_path / "out" / "motion.html").stat().st_size > 500_000


def test_a_replay_is_viewed_with_its_motors_and_errors(runs):
    run = runs[pilot_stream]
    motion = viewed(run, PANDA, SPRINGS, "pilot")
    assert motion.duration == pytest.approx(run.times[-1] - run.times[0], abs=0.01)
    k = len(motion.t) // 2
    np.testing.assert_array_equal(motion.q[k], run.q[10 * k])
    np.testing.assert_array_equal(motion.error[k], run.desired[10 * k, 0] - run.q[10 * k])
    needed = motors_along(SPRINGS, run.desired[::10], motion.torque)
    np.testing.assert_allclose(motion.motor, needed, atol=5e-4)
    assert np.abs(motion.motor - motion.q).max() > 5e-3
