# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The mixed recursion against [M18k] section 3.4 and [M18d] (56), (57)."""

from functools import partial

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model import inertia
from multibody_dynamics.dynamics.recursions import body_fixed, mixed
from recursions import run, run_random
from reference import error

SEEDS = range(2)


moved = partial(run_random, mixed, "mixed", order=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_twists_follow_equation_68(seed):
    """Each half in its own axes, from the twist of the parent in its."""
    _, state, _, chain = moved(seed)
    for i, p in enumerate(chain.parents):
        V0, R0 = chain.parent(i, 0), np.eye(3) if p < 0 else chain.C[p][:3, :3]
        R, d = chain.relative[i][:3, :3], chain.relative[i][:3, 3]
        omega = R.T @ V0[:3] + chain.Z[i, :3] * state[1, i]
        along = R @ chain.Z[i, 3:] * state[1, i]
        velocity = V0[3:] + R0 @ (np.cross(V0[:3], d) + along)
        assert error(chain.V[i, 0], np.r_[omega, velocity]) < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_follow_equations_56_and_57(seed):
    model, _, applied, chain = moved(seed)
    for i in range(model.n):
        R, r = chain.C[i][:3, :3], chain.C[i][:3, 3]
        mass, d, _ = inertia.decompose(chain.M[i])
        Theta = chain.M[i, :3, :3]  # about the origin of the frame
        (w, _), (w1, r2) = (V.reshape(2, 3) for V in chain.V[i, :2])
        moment = Theta @ w1 + np.cross(w, Theta @ w) + mass * np.cross(d, R.T @ r2)
        force = mass * (r2 + R @ (np.cross(w1, d) + np.cross(w, np.cross(w, d))))
        m, f = applied[i, :6].reshape(2, 3)
        moment = moment - R.T @ (m - np.cross(r, f))
        force = force - f
        for j in chain.children(i):
            t, way = chain.W[j, 0], chain.relative[j][:3, 3]
            moment = moment + chain.relative[j][:3, :3] @ t[:3] + np.cross(way, R.T @ t[3:])
            force = force + t[3:]
        assert error(chain.W[i, 0], np.r_[moment, force]) < 1e-13
        tau = chain.Z[i, :3] @ moment + chain.Z[i, 3:] @ R.T @ force
        assert abs(chain.torques[0, i] - tau) < 1e-13 * np.abs(moment).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_to_body_fixed_gives_the_rows_of_the_body_fixed_recursion(seed):
    """`to_body_fixed` leaves the rows that the body-fixed recursion itself would have written."""
    model, state, applied, chain = moved(seed, order=2)
    expected = run(body_fixed, "body", model, state, applied)
    assert error(chain.V, expected.V) < 1e-13
    assert error(chain.W, expected.W) < 1e-12
    assert error(chain.torques, expected.torques) < 1e-12
    own = run(mixed, "mixed", model, state, applied, order=0)
    assert error(chain.torques[0], own.torques[0]) < 1e-13
    assert error(own.torques[0], dyn.inverse_dynamics(model, *state[:3]).tau) > 1e-3  # loaded
