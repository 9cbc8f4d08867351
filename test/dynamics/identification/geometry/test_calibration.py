# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Calibration against robots whose errors are known."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from rejections import assert_rejected
from robots import panda, random_pose, random_tree

idn = dyn.identification

FLANGE = "panda_link8"


def chain():
    """A chain of six revolute, prismatic and helical joints with a tool."""
    model = random_tree(6, 5, branching=0)
    tool = {"tool": dyn.model.Frame(5, random_pose(np.random.default_rng(2)))}
    return dyn.model_from_screws(
        model.parents, model.screws, model.poses, model.inertias, frames=tool
    )


def wrong(model, errors, size=0.02, seed=1):
    """Values for the errors and the robot that has them, and a few configurations."""
    rng = np.random.default_rng(seed)
    values = rng.normal(scale=size, size=len(errors))
    return (values, idn.perturbed_model(model, errors, values), rng.uniform(-2, 2, (25, model.n)))


@pytest.mark.parametrize(("model", "frame"), [(panda(), FLANGE), (chain(), "tool")])
def test_known_errors_are_found_from_poses(model, frame):
    errors = idn.joint_errors(model) + idn.frame_errors(model, frame)
    values, real, q = wrong(model, errors)
    found = idn.calibrate(model, errors, q, dyn.frame_pose(real, q, frame), frame)
    assert found.converged
    assert found.rank == len(errors)
    assert found.unidentifiable == ()
    np.testing.assert_allclose(found.values, values, atol=1e-10)
    np.testing.assert_allclose(found.model.screws, real.screws, atol=1e-10)
    assert found.residuals.shape == (len(q), 6)
    assert np.abs(found.residuals).max() < 1e-11


def test_known_errors_are_found_from_positions():
    """Only the orientation of the tool remains unknown."""
    model = chain()
    errors = idn.joint_errors(model) + idn.frame_errors(model, "tool")[3:]
    values, real, q = wrong(model, errors)
    points = dyn.frame_pose(real, q, "tool")[:, :3, 3]
    found = idn.calibrate(model, errors, q, points, "tool")
    assert found.rank == len(errors)
    np.testing.assert_allclose(found.values, values, atol=1e-9)
    assert found.residuals.shape == (len(q), 3)
    with_turns = idn.joint_errors(model) + idn.frame_errors(model, "tool")
    again = idn.calibrate(model, with_turns, q, points, "tool")
    assert again.rank == found.rank
    assert again.unidentifiable == ("tool.rx", "tool.ry", "tool.rz")
    np.testing.assert_allclose(np.delete(again.values, [-6, -5, -4]), values, atol=1e-9)
    assert np.abs(again.values[-6:-3]).max() < 1e-15
    *lines, last = again.describe().splitlines()
    assert [line.split()[0] for line in lines] == [error.name for error in with_turns]
    assert [float(line.split()[1]) for line in lines] == pytest.approx(again.values, rel=1e-6)
    assert [line.endswith("(not determined)") for line in lines] == [
        error.name in again.unidentifiable for error in with_turns
    ]
    assert last.startswith(f"converged; rank {again.rank} of {len(with_turns)}; rms")


def test_redundant_errors_are_named_and_cause_no_error():
    model = panda()
    errors = idn.joint_errors(model, independent=False) + idn.frame_errors(model, FLANGE)
    _, real, q = wrong(model, errors)
    found = idn.calibrate(model, errors, q, dyn.frame_pose(real, q, FLANGE), FLANGE)
    assert found.rank == 34 < len(errors)
    assert np.abs(found.residuals).max() < 1e-11
    for k in range(1, 8):
        assert f"panda_joint{k}.rz" in found.unidentifiable
        assert f"panda_joint{k}.z" in found.unidentifiable
    assert "panda_joint1.rx" not in found.unidentifiable
    elsewhere = np.random.default_rng(3).uniform(-2, 2, (50, 7))
    expected = dyn.frame_pose(real, elsewhere, FLANGE)
    np.testing.assert_allclose(dyn.frame_pose(found.model, elsewhere, FLANGE), expected, atol=1e-10)


def test_errors_off_the_measured_path_stay_zero():
    model = panda()
    errors = idn.joint_errors(model)
    values, real, q = wrong(model, errors)
    values[-8:] = 0
    real = idn.perturbed_model(model, errors, values)
    found = idn.calibrate(model, errors, q, dyn.frame_pose(real, q, 4), 4)
    assert all(name.startswith(("panda_joint6", "panda_joint7")) for name in found.unidentifiable)
    assert len(found.unidentifiable) == 8
    np.testing.assert_allclose(found.values, values, atol=1e-10)


def test_noise_is_weighted_and_averaged():
    model = panda()
    errors = idn.joint_errors(model) + idn.frame_errors(model, FLANGE)
    _, real, _ = wrong(model, errors)
    rng = np.random.default_rng(6)
    q, sigma = rng.uniform(-2, 2, (200, 7)), (1e-3, 1e-4)
    noise = rng.normal(size=(200, 6)) * np.repeat(sigma, 3)
    measured = dyn.frame_pose(real, q, FLANGE) @ dyn.se3.exp(noise)
    elsewhere = rng.uniform(-2, 2, (100, 7))
    truth = dyn.frame_pose(real, elsewhere, FLANGE)[:, :3, 3]

    def miss(**options):
        found = idn.calibrate(model, errors, q, measured, FLANGE, **options)
        away = dyn.frame_pose(found.model, elsewhere, FLANGE)[:, :3, 3] - truth
        return found, float(np.sqrt((away**2).mean()))

    found, weighed = miss(noise=sigma)
    spread = found.residuals.reshape(-1, 2, 3).std(axis=(0, 2))
    np.testing.assert_allclose(spread, sigma, rtol=0.1)
    assert weighed < 0.5 * sigma[1]
    assert weighed < miss()[1]


def test_bad_arguments_are_named():
    model = panda()
    errors = idn.frame_errors(model, FLANGE)
    q, poses = np.zeros((4, 7)), np.stack([np.eye(4)] * 4)

    def calibrated(errors=errors, q=q, poses=poses, frame=FLANGE, **options):
        return lambda: idn.calibrate(model, errors, q, poses, frame, **options)

    assert_rejected(
        (calibrated(q=q[:3]), "q (k, 7) and measured"),
        (calibrated(poses=np.eye(4)), "measured: shape (..., 3)"),
        (calibrated(()), "errors is empty"),
        (calibrated(noise=(0.0, 1.0)), "two positive standard deviations"),
        (calibrated(frame="panda_link3"), "no error has an effect on 'panda_link3'"),
        (calibrated(frame="hand"), "no body or frame 'hand'"),
    )
