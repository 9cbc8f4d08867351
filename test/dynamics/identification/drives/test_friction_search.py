# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A fit that ended in the wrong minimum of friction is corrected by the search over velocities."""

from __future__ import annotations

import numpy as np
import pytest

from drive_runs import motion, planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.drive_parameters import Coefficients
from multibody_dynamics.dynamics.identification.drives.filtered_rows import (
    Plan,
    filtered_blocks,
)
from multibody_dynamics.dynamics.identification.drives.friction_search import searched_friction
from multibody_dynamics.dynamics.identification.drives.prior_parameters import PriorParameters
from multibody_dynamics.dynamics.identification.drives.robot_identification import _Identification

idn = dyn.identification
V0, VS = 0.05, 0.12
SIZES = {"viscous": 0.6, "coulomb": 0.7, "offset": 0.1, "stribeck": 0.5}


def run_with_stribeck():
    """Two rigid joints with Stribeck friction, without noise."""
    model, _ = planar()
    rows = motion(model, 12.0, seed=2)
    x = rows[1] / VS
    Q = dyn.inverse_dynamics(model, *rows[:3]).tau + SIZES["viscous"] * rows[1] + SIZES["offset"]
    Q += SIZES["coulomb"] * np.tanh(rows[1] / V0)
    Q += SIZES["stribeck"] * np.sqrt(2.0 * np.e) * x * np.exp(-(x**2))
    return model, idn.MeasuredRun("run", 500.0, q=rows[0], sensor=Q)


def test_velocities_and_sizes_of_friction_are_found_from_a_wrong_minimum():
    model, run = run_with_stribeck()
    settings = idn.IdentificationSettings(cutoff=20.0, links=False, delays=False, stribeck=True)
    whole = _Identification(model, [run], None, None, [], settings)
    plan = Plan([run], 20.0)
    sums = whole._sums(filtered_blocks(whole.equations, plan, plan.pieces, (6.0, 12.0)))
    parameters = PriorParameters(
        whole.equations, settings, whole.friction, whole.payloads, whole.gains, whole.cutoff
    ).of(sums)
    coefficients = Coefficients(whole.equations, parameters, whole.gains)
    at, theta = parameters.index, np.array(parameters.mean)
    for joint in model.joint_names:
        theta[at[f"link {joint}.coulomb"]] = 1.2  # no Stribeck friction, and too much of the others
        theta[at[f"link {joint}.coulomb_velocity"]] = np.log(0.2)
    found = searched_friction(whole.equations, coefficients, parameters, sums, theta)
    assert found is not None
    for joint in model.joint_names:
        for name, true in SIZES.items():
            assert found[at[f"link {joint}.{name}"]] == pytest.approx(true, abs=0.15), name
        for name, true in (("coulomb_velocity", V0), ("stribeck_velocity", VS)):
            assert abs(found[at[f"link {joint}.{name}"]] - np.log(true)) < 0.6, name  # nodes
    assert np.array_equal(found[: 10 * model.n], theta[: 10 * model.n])


def test_a_fit_in_the_right_minimum_is_left_alone():
    model, run = run_with_stribeck()
    settings = idn.IdentificationSettings(cutoff=20.0, links=False, delays=False, stribeck=True)
    noisy = run.sensor + 0.1 * np.random.default_rng(0).standard_normal(run.sensor.shape)
    run = idn.MeasuredRun("run", 500.0, q=run.q, sensor=noisy)
    whole = _Identification(model, [run], None, None, [], settings)
    result = whole.result()
    for joint in model.joint_names:
        assert result.robot.joints[joint]["stribeck"].value == pytest.approx(0.5, abs=0.05)
    plan = Plan([run], 20.0)
    sums = whole._sums(filtered_blocks(whole.equations, plan, plan.pieces, (6.0, 12.0)))
    fit = whole._fitted(sums)
    again = searched_friction(
        whole.equations, whole.coefficients, whole.parameters, sums, fit.theta
    )
    assert again is None
