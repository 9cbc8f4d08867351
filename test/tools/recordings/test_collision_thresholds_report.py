# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Thresholds from a recording file: the file, the report, and what is missing."""

import numpy as np
import pytest

from collision_runs import Run, robot
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import DetectionSettings, load_collision_thresholds
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.recordings.collision_thresholds_report import (
    learn_from,
    smallest_force,
)
from multibody_dynamics.tools.recordings.spring_recordings import Motion


def test_the_command_writes_thresholds_and_says_what_they_find(tmp_path, capsys):
    recording = Run(2.0).record(6.5)
    path, output = tmp_path / "motion.npz", tmp_path / "thresholds.yaml"
    names = robot()[0].joint_names
    arrays = {name: getattr(recording, name) for name in ("t", "q", "theta")}
    np.savez(path, joint_names=names, **arrays)
    share = share_directory() / "config"
    files = (
        *("--urdf", str(share / "robots" / "planar_two_link.urdf")),
        *("--elastic-joints", str(share / "elastic_joints" / "planar_two_link.yaml")),
    )
    status = cli.main(["collision-thresholds", str(path), *files, "-o", str(output)])
    printed = capsys.readouterr().out
    found = load_collision_thresholds(output, names, robot()[0].joint_types)
    assert found.settings == DetectionSettings()
    assert found.learned_from["recording"] == "motion.npz"
    assert "smallest sudden force on forearm found within 20 ms:" in printed
    assert ("warning" in printed) >= (status == 1)
    assert "at 1000 Hz" in printed

    learned = learn_from(path, Motion(names, *arrays.values()), *robot(), DetectionSettings())
    np.testing.assert_allclose(learned.thresholds.coefficients, found.coefficients, rtol=1e-4)
    # The force that just reaches the weakest joint, by hand: vertical, at the elbow's axis.
    model = robot()[0]
    median, most = smallest_force(learned, model, np.zeros((3, 2)))
    J = dyn.jacobian(model, np.zeros(2), 1, representation="spatial")
    up = np.array([0.0, -0.5, 0.0, 0.0, 0.0, 1.0])  # (r x f, f) of a unit force at x = 0.5 m
    assert median <= most
    assert (learned.smallest_hit / np.maximum(np.abs(J.T @ up), 1e-9)).min() <= median


def test_motors_that_were_not_recorded_are_named(tmp_path):
    t = 1e-3 * np.arange(10)
    rows = np.zeros((10, 1))
    motion = Motion(("shoulder",), t, rows, rows)
    with pytest.raises(InputError, match="motor 'elbow' was not recorded; there are"):
        learn_from(tmp_path, motion, *robot(), DetectionSettings())
