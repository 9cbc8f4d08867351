# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The criteria of the information: their definition, their gradient, and their invariance."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from rejections import assert_rejected
from robots import panda, random_tree, with_rotors

DURATION, RATE = 4.0, 50.0


def problem(kind="log_det", **options):
    model = with_rotors(random_tree(5, 3))
    columns = idn.TorqueColumns(model, **options)
    noise = np.linspace(0.5, 2.0, model.n)
    motion = np.random.default_rng(3).normal(size=(60, 3, model.n))
    return model, columns, idn.InformationCriterion(columns, noise, kind=kind, rate=RATE), motion


def test_the_columns_times_the_parameters_are_the_torques():
    """A robot with off-axis, prismatic and branching joints, rotors and friction."""
    model, columns, _, motion = problem()
    rng = np.random.default_rng(1)
    viscous, coulomb, offset = rng.uniform(0.1, 1.0, (3, model.n))
    rows = motion.swapaxes(0, 1)
    parameters = np.concatenate([idn.inertial_parameters(model), model.reflected_inertia])
    offset[~np.isin(range(model.n), columns.friction["offset"])] = 0.0
    friction = idn.JointFriction.smooth_coulomb(viscous, coulomb, offset)
    expected = dyn.inverse_dynamics(model, *rows).tau + friction.torque(rows[1])
    kept = offset[columns.friction["offset"]]
    beta = np.concatenate([columns.base.values(parameters), viscous, coulomb, kept])
    found = columns.evaluate(motion) @ beta
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert len(columns.names) == len(beta)


def test_the_values_are_those_of_the_stacked_matrix():
    for kind in ("log_det", "condition"):
        _, columns, criterion, motion = problem(kind)
        W = columns.evaluate(motion) / criterion.noise[:, None]
        W = W.reshape(-1, W.shape[-1]) * np.sqrt(RATE * DURATION / len(motion))
        values = np.linalg.svd(W, compute_uv=False)
        expected = (
            -2.0 * np.log(values).sum() if kind == "log_det" else np.log(values[0] / values[-1])
        )
        assert criterion(motion, DURATION)[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("log_det", {}), ("condition", {"rotors": False, "friction": ("viscous",)})],
)
def test_the_gradient_is_that_of_central_differences(kind, options):
    _, _, criterion, motion = problem(kind, **options)
    _, slope = criterion(motion, DURATION)
    rng = np.random.default_rng(4)
    for _ in range(3):
        direction = rng.normal(size=motion.shape)
        step = 1e-5
        ends = [criterion(motion + s * step * direction, DURATION)[0] for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2.0 * step)
        found = (slope * direction).sum()
        assert abs(found - expected) < 1e-5 * max(1.0, abs(expected))


def test_more_noise_and_less_time_leave_less_information():
    _, columns, criterion, motion = problem()
    value, _ = criterion(motion, DURATION)
    r = len(columns.names)
    twice = idn.InformationCriterion(columns, 2.0 * criterion.noise, rate=RATE)
    assert twice(motion, DURATION)[0] == pytest.approx(value + 2.0 * r * np.log(2.0))
    assert criterion(motion, 2.0 * DURATION)[0] == pytest.approx(value - r * np.log(2.0))


def test_a_motion_that_excites_too_little_is_infinitely_bad():
    _, _, criterion, motion = problem()
    value, slope = criterion(motion[:2], DURATION)
    assert value == np.inf
    assert not slope.any()


def test_wrong_arguments_are_refused():
    columns, one = idn.TorqueColumns(panda()), np.ones(7)
    assert_rejected(
        (lambda: idn.InformationCriterion(columns, one, kind="size"), "criterion 'size'"),
        (lambda: idn.InformationCriterion(columns, 0.0 * one), "noise: expected positive"),
        (lambda: idn.TorqueColumns(panda(), friction=("stribeck",)), "'stribeck'"),
    )
