# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of robots with loops, against central differences of what the loops determine."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from robots import CONFIG

STEP = 1e-5


@pytest.fixture(scope="module", params=["five_bar", "delta", "leg"])
def model(request):
    files = CONFIG / "mechanisms" / request.param
    return dyn.mechanisms.load_robot(files.with_suffix(".urdf"), files.with_suffix(".yaml"))


def states(model, count=3):
    """(count, 3, n) near the assembled pose."""
    rows = np.random.default_rng(0).normal(size=(count, 3, model.n))
    rows[:, 0] = model.home + 0.1 * rows[:, 0]
    return rows


def differences(function, rows):
    """df/ds, df/ds', df/ds'' (..., n) of a function of (count, 3, n), each direction behind."""
    n = rows.shape[-1]
    result = []
    for order in range(3):
        step = np.zeros((n, 1, 3, n))
        step[range(n), :, order, range(n)] = STEP
        ends = [np.stack([function(rows + sign * each) for each in step]) for sign in (1, -1)]
        result.append(np.moveaxis((ends[0] - ends[1]) / (2.0 * STEP), 0, -1))
    return result


def close(found, expected):
    size = max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * size)


def test_the_motion_of_all_joints_changes_as_its_derivatives_say(model):
    rows = states(model)
    tangents = dyn.mechanisms.loop_tangents(model, *rows.swapaxes(0, 1))
    bars = np.random.default_rng(1).normal(size=(3, 3, model.body_count))

    def weighed(rows):
        motion = np.stack(model.tree_motion(*rows.swapaxes(0, 1)), axis=1)
        return (bars * motion).sum(axis=(1, 2))

    close(tangents.pulled_back(bars), np.stack(differences(weighed, rows), axis=1))
    close(tangents.G[0], differences(lambda x: model.configuration(x[:, 0]), rows)[0])


def test_the_torques_of_the_motors_have_exact_derivatives(model):
    rows = states(model)
    found = dyn.inverse_dynamics_derivatives(model, *rows.swapaxes(0, 1))
    expected = differences(lambda x: dyn.inverse_dynamics(model, *x.swapaxes(0, 1)).tau, rows)
    for one, other in zip(found, expected, strict=True):
        close(one, other)
    np.testing.assert_allclose(found.dtau_dqdd, dyn.mass_matrix(model, rows[:, 0]), atol=1e-12)


def test_a_motion_of_q_alone_changes_the_torques_at_their_rate(model):
    """Q' = dQ/dq q' + dQ/dq' q'' + dQ/dq'' q''', an identity without differences."""
    rows = np.random.default_rng(2).normal(size=(4, 5, model.n))
    rows[0] = model.home + 0.1 * rows[0]
    found = dyn.inverse_dynamics_derivatives(model, *rows[:3])
    rate = sum((by @ row[..., None])[..., 0] for by, row in zip(found, rows[1:], strict=True))
    expected = dyn.inverse_dynamics(model, *rows).tau_dot
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
