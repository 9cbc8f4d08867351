# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Intervals of friction are those of the likelihood profile, found here by repeated fits."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from drive_runs import motion, planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives import robot_identification
from multibody_dynamics.dynamics.identification.drives.drive_parameters import Coefficients
from multibody_dynamics.dynamics.identification.drives.friction_profiles import searched_friction
from multibody_dynamics.dynamics.identification.drives.prior_parameters import PriorParameters

idn = dyn.identification
V0, VS = 0.06, 0.15
SIZES = {"viscous": 0.6, "coulomb": 0.7, "offset": 0.1, "stribeck": 0.4}
TRUE = {**SIZES, "coulomb_velocity": V0, "stribeck_velocity": VS}


@cache
def recorded(duration=6.0):
    """Two rigid joints with Stribeck friction, without noise."""
    model, _ = planar()
    rows = motion(model, duration, seed=2)
    x = rows[1] / VS
    Q = dyn.inverse_dynamics(model, *rows[:3]).tau + SIZES["viscous"] * rows[1] + SIZES["offset"]
    Q += SIZES["coulomb"] * np.tanh(rows[1] / V0)
    return model, rows[0], Q + SIZES["stribeck"] * np.sqrt(2.0 * np.e) * x * np.exp(-(x**2))


def identified(monkeypatch, noise, seed=0, cutoff=10.0):
    """The result for torques with noise, what the widenings were computed from, and these."""
    model, q, Q = recorded()
    kept = []

    def spy(*given):
        kept.append((given, own := widen(*given)))
        return own

    widen = idn_widenings
    monkeypatch.setattr(robot_identification, "friction_widenings", spy)
    torque = Q + noise * np.random.default_rng(seed).standard_normal(Q.shape)
    run = idn.MeasuredRun("run", 500.0, q=q, sensor=torque)
    settings = idn.IdentificationSettings(cutoff=cutoff, links=False, delays=False, stribeck=True)
    found = idn.identify_robot(model, [run], settings=settings)
    return found, *kept[0]


idn_widenings = robot_identification.friction_widenings


def test_little_noise_makes_the_likelihood_quadratic(monkeypatch):
    found, _, widenings = identified(monkeypatch, 1e-3)
    assert len(widenings) == 2 * len(TRUE)
    for name, each in widenings.items():
        assert each.is_closed, name
        assert 1.0 <= each.factor < 1.03, (name, each)
    for joint in found.robot.model.joint_names:
        for name in TRUE:
            assert found.robot.joints[joint][name].determined


@pytest.mark.parametrize("kind", ["coulomb_velocity", "stribeck", "viscous"])
def test_values_beyond_the_ends_of_an_interval_have_a_probability_of_five_percent(
    monkeypatch, kind
):
    _, ((_, solver, fit),), widenings = identified(monkeypatch, 0.1, seed=1)
    parameters = solver.parameters
    weighted = solver._weighted(fit.density)
    least = solver._model(fit.theta, weighted).value
    name = f"link {recorded()[0].joint_names[1]}.{kind}"
    i = parameters.index[name]
    (own,) = np.flatnonzero(solver._free == i)
    row = np.eye(len(fit.theta))[[i]]
    (stated,) = solver.uncertainties(fit, row)
    variance = solver.profile(fit, 1, np.array([i]))[2][0]
    half = 1.96 * widenings[name].factor * stated.error
    is_log = kind.endswith("velocity")
    ends = [np.log1p(side * half) if is_log else side * half for side in (1.0, -1.0)
            if not is_log or side * half > -1.0]  # fmt: skip
    above = []
    for end in ends:
        theta = fit.theta.copy()
        theta[i] += end
        solver._free = np.delete(solver._free, own)  # all others follow
        above.append(solver._model(solver._solved(theta, fit.density), weighted).value - least)
        solver._free = np.insert(solver._free, own, i)
    assert widenings[name].factor >= (1.0 if kind == "viscous" else 1.02)
    z = np.sqrt(2.0 * variance * np.array(above)) / stated.error
    assert norm.sf(z).sum() == pytest.approx(0.05, rel=0.1)


def test_intervals_of_weakly_determined_friction_contain_the_true_values(monkeypatch):
    inside, narrow = [], []
    for seed in range(20):
        found, _, widenings = identified(monkeypatch, 0.15, seed, cutoff=5.0)
        for joint, figures in found.robot.joints.items():
            for name, true in TRUE.items():
                each = figures[name]
                if each.determined:
                    z = abs(each.value - true) / each.error
                    inside.append(z < 1.96)
                    narrow.append(z * widenings[f"link {joint}.{name}"].factor < 1.96)
    assert len(inside) > 100
    assert np.mean(inside) > 0.92
    assert sum(narrow) < sum(inside)  # the curvature alone does not suffice


def searched(noise):
    """An identification with Stribeck friction, and its sums."""
    model, q, Q = recorded(12.0)
    torque = Q + noise * np.random.default_rng(0).standard_normal(Q.shape)
    run = idn.MeasuredRun("run", 500.0, q=q, sensor=torque)
    settings = idn.IdentificationSettings(cutoff=20.0, links=False, delays=False, stribeck=True)
    whole = robot_identification._Identification(model, [run], None, None, [], settings)
    return whole, whole._sums(whole._filtered()[0])


def test_velocities_and_sizes_of_friction_are_found_from_a_wrong_minimum():
    whole, sums = searched(0.0)
    parameters = PriorParameters(
        whole.equations, whole.settings, whole.friction, whole.payloads, whole.gains, whole.cutoff
    ).of(sums)
    coefficients = Coefficients(whole.equations, parameters, whole.gains)
    at, theta, n = parameters.index, np.array(parameters.mean), whole.model.n
    for joint in whole.model.joint_names:
        theta[at[f"link {joint}.coulomb"]] = 1.2  # no Stribeck friction, and too much of the others
        theta[at[f"link {joint}.coulomb_velocity"]] = np.log(0.2)
    found = searched_friction(coefficients, sums, theta)
    assert found is not None
    for joint in whole.model.joint_names:
        for name, true in SIZES.items():
            assert found[at[f"link {joint}.{name}"]] == pytest.approx(true, abs=0.15), name
        for name, true in (("coulomb_velocity", V0), ("stribeck_velocity", VS)):
            assert abs(found[at[f"link {joint}.{name}"]] - np.log(true)) < 0.6, name  # nodes
    assert np.array_equal(found[: 10 * n], theta[: 10 * n])


def test_a_fit_in_the_right_minimum_is_left_alone():
    whole, sums = searched(0.1)
    whole.begin()
    result = whole.result()
    for joint in whole.model.joint_names:
        assert result.robot.joints[joint]["stribeck"].value == pytest.approx(0.4, abs=0.05)
    whole._fit(sums)
    assert searched_friction(whole.coefficients, sums, whole.fit.theta) is None
