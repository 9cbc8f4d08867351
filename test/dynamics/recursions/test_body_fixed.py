# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The body-fixed recursion against the paper's, written with 6x6 matrices."""

from functools import partial

import numpy as np
import pytest

from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.recursions import body_fixed
from recursions import run_random
from reference import error

SEEDS = range(2)


moved = partial(run_random, body_fixed, "body")


@pytest.mark.parametrize("seed", SEEDS)
def test_twists_and_accelerations_follow_equation_66(seed):
    """[M18d] (66b), (66c) and its equal forms (65a), (65b)."""
    model, state, _, chain = moved(seed)
    for i in range(model.n):
        A, Z, V = se3.Ad(se3.inverse(chain.relative[i])), chain.Z[i], chain.V[i]
        from_parent = A @ chain.parent(i, 0)
        assert error(V[0], from_parent + Z * state[1, i]) < 1e-14
        rest = A @ chain.parent(i, 1) + Z * state[2, i]
        assert error(V[1], rest - state[1, i] * se3.ad(Z) @ V[0]) < 1e-14
        assert error(V[1], rest + se3.ad(from_parent) @ Z * state[1, i]) < 1e-14
        assert error(V[1], rest + se3.ad(from_parent) @ V[0]) < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_jerk_and_jounce_are_derivatives_of_equation_66c(seed):
    """V'' and V''' by the product rule, with (A x)' = A x' - q' ad_Z A x in 6x6 matrices."""
    model, state, _, chain = moved(seed)
    for i in range(model.n):
        A, Z, ad = se3.Ad(se3.inverse(chain.relative[i])), chain.Z[i], se3.ad(chain.Z[i])
        V, (q1, q2, q3, q4) = chain.V[i], state[1:, i]
        T1, T2, T3 = (A @ chain.parent(i, k) for k in (1, 2, 3))
        T1d, T2d = T2 - q1 * ad @ T1, T3 - q1 * ad @ T2
        T1dd = T2d - q2 * ad @ T1 - q1 * ad @ T1d
        jerk = T1d + Z * q3 - ad @ (q2 * V[0] + q1 * V[1])
        jounce = T1dd + Z * q4 - ad @ (q3 * V[0] + 2 * q2 * V[1] + q1 * V[2])
        assert error(V[2], jerk) < 1e-13
        assert error(V[3], jounce) < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_and_their_rates_follow_equations_40_to_42(seed):
    """[M21] (40) to (42) with their missing transposes, [M18d] (67): Q = X^T W and so on."""
    model, state, applied, chain = moved(seed)
    for i in range(model.n):
        M, (V, V1, V2, V3) = chain.M[i], chain.V[i]
        adT, ad1T, ad2T = (se3.ad(x).T for x in (V, V1, V2))
        W = M @ V1 - adT @ M @ V
        W1 = M @ V2 - adT @ M @ V1 - ad1T @ M @ V
        W2 = M @ V3 - adT @ M @ V2 - ad2T @ M @ V - 2 * ad1T @ M @ V1
        for j in chain.children(i):
            A = se3.Ad(se3.inverse(chain.relative[j])).T
            ad, (q1, q2), (w, w1, w2) = se3.ad(chain.Z[j]).T, state[1:3, j], chain.W[j]
            W = W + A @ w
            W1 = W1 + A @ (w1 - q1 * ad @ w)
            W2 = W2 + A @ (w2 - 2 * q1 * ad @ w1 + (q1**2 * ad @ ad - q2 * ad) @ w)
        # what the world applies, W^b = Ad_C^T W: differentiated with the true acceleration
        weight = se3.Ad(se3.inverse(chain.C[i])) @ np.r_[0, 0, 0, model.gravity]
        true1T = ad1T + se3.ad(weight).T
        F, F1, F2 = se3.Ad(chain.C[i]).T @ applied[i].reshape(3, 6)[..., None]
        F1d = F1[:, 0] + adT @ F[:, 0]
        F2d = F2[:, 0] + adT @ F1[:, 0] + true1T @ F[:, 0] + adT @ F1d
        assert error(chain.W[i, 0], W - F[:, 0]) < 1e-13
        assert error(chain.W[i, 1], W1 - F1d) < 1e-13
        assert error(chain.W[i, 2], W2 - F2d) < 1e-13
    assert error(chain.torques, np.einsum("ij,ikj->ki", chain.Z, chain.W)) < 1e-14


def test_the_sparse_joint_screw_is_a_joint_screw():
    rng = np.random.default_rng(1)
    for a, h in ((1.0, 0.0), (0.0, 1.0), (1.0, 0.3)):
        Z, X = np.array([0, 0, a, 0, 0, h]), rng.normal(size=6)
        halves = (tuple(X[:3]), tuple(X[3:]))
        assert error(np.ravel(body_fixed.ad_joint(a, h, halves)), se3.ad(Z) @ X) < 1e-15
        assert error(np.ravel(body_fixed.coad_joint(a, h, halves)), -se3.ad(Z).T @ X) < 1e-15
        assert error(np.ravel(body_fixed.advance(a, h, 0.7, halves)), X + 0.7 * Z) < 1e-15


def test_screws_and_wrenches_change_frames_correctly():
    rng = np.random.default_rng(2)
    C, X = se3.exp(rng.normal(size=6)), rng.normal(size=6)
    halves = (tuple(X[:3]), tuple(X[3:]))
    place = tuple(C[:3, :3].ravel()), tuple(C[:3, 3])
    to_child, to_parent = se3.Ad(se3.inverse(C)), se3.coAd(C)
    assert error(np.ravel(body_fixed.pull(*place, halves)), to_child @ X) < 1e-15
    assert error(np.ravel(body_fixed.push(*place, halves)), to_parent @ X) < 1e-15
    assert error(np.ravel(body_fixed.pull_wrench(*place, halves)), se3.Ad(C).T @ X) < 1e-15
