# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The hybrid recursion against [M18d] section 4.3, written with 6x6 matrices."""

from functools import partial

import numpy as np
import pytest

from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.recursions import hybrid
from recursions import run_random
from reference import error

SEEDS = range(2)


def shift(d):
    """Ad_d of a translation, [M18d] (96)."""
    return se3.Ad(se3.from_rotation_translation(np.eye(3), d))


def angular(V):
    """ad_omega of the angular half of a twist, (119)."""
    return se3.ad(np.r_[V[:3], 0, 0, 0])


def linear(d):
    """ad_d of a translational twist, (119)."""
    return se3.ad(np.r_[0, 0, 0, d])


moved = partial(run_random, hybrid, "hybrid")


def ways(chain):
    """The joint screw 0X_i^i (75b), the shift to the parent's origin r_{i,i-1}, and its rate."""
    for i, p in enumerate(chain.parents):
        C = chain.C[i]
        r0 = np.zeros(3) if p < 0 else chain.C[p][:3, 3]
        X = np.r_[C[:3, :3] @ chain.Z[i, :3], C[:3, :3] @ chain.Z[i, 3:]]
        yield i, X, r0 - C[:3, 3], chain.parent(i, 0)[3:] - chain.V[i, 0, 3:]


@pytest.mark.parametrize("seed", SEEDS)
def test_twists_and_accelerations_follow_equation_75(seed):
    """(75c), (75d), and the equal forms (73) and (74)."""
    _, state, _, chain = moved(seed)
    for i, X, r, r1 in ways(chain):
        q1, q2 = state[1:3, i]
        V0, V1 = chain.parent(i, 0), chain.parent(i, 1)
        V = shift(r) @ V0 + X * q1
        assert error(chain.V[i, 0], V) < 1e-14
        start = shift(r) @ V1 + X * q2
        assert error(chain.V[i, 1], start + linear(r1) @ V0 + angular(V) @ X * q1) < 1e-13
        of_parent, own = linear(V0[3:]), linear(V[3:])
        by_73 = start + of_parent @ V0 - own @ V + se3.ad(V) @ X * q1
        assert error(chain.V[i, 1], by_73) < 1e-13
        by_74 = start + linear(r1) @ V + (se3.ad(V) - of_parent) @ X * q1
        assert error(chain.V[i, 1], by_74) < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_follow_equation_76(seed):
    """(76b) with Ad^T of r_{i+1,i} and the angular half of the twist only, (53); Q by (76c)."""
    model, _, applied, chain = moved(seed)
    screws = {i: (X, r) for i, X, r, _ in ways(chain)}
    for i in range(model.n):
        R, r = chain.C[i][:3, :3], chain.C[i][:3, 3]
        turn = se3.Ad(se3.from_rotation_translation(R, np.zeros(3)))
        M = turn @ chain.M[i] @ turn.T  # (76a)
        V, V1 = chain.V[i, :2]
        W = M @ V1 + angular(V) @ M @ np.r_[V[:3], 0, 0, 0] - shift(r).T @ applied[i, :6]
        for j in chain.children(i):
            W = W + shift(screws[j][1]).T @ chain.W[j, 0]
        assert error(chain.W[i, 0], W) < 1e-13
        assert abs(chain.torques[0, i] - screws[i][0] @ W) < 1e-13 * np.abs(W).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_momentum_about_a_moving_point(seed):
    """(52) corrected: Pi' + (r' x P, 0) = W about any point of the body, here r."""
    model, _, _, chain = moved(seed)
    for i in range(model.n):
        R = chain.C[i][:3, :3]
        turn = se3.Ad(se3.from_rotation_translation(R, np.zeros(3)))
        M = turn @ chain.M[i] @ turn.T
        V, V1 = chain.V[i, :2]
        M1 = angular(V) @ M - M @ angular(V)
        P = (M @ V)[3:]
        balance = M @ V1 + M1 @ V + np.r_[so3.hat(V[3:]) @ P, 0, 0, 0]
        needed = M @ V1 + angular(V) @ M @ np.r_[V[:3], 0, 0, 0]
        assert error(balance, needed) < 1e-13
