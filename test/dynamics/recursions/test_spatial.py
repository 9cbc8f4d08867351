# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The spatial recursion against [M21] Algorithms 1 and 3, written with 6x6 matrices."""

from functools import partial

import numpy as np
import pytest

from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.recursions import spatial
from recursions import run_random
from reference import error

SEEDS = range(2)


moved = partial(run_random, spatial, "spatial")


def screws(chain):
    """S (9), S', S'', S''' of the joints, (n, 4, 6), with the twist of the body."""
    found = []
    for C, Z, (V, V1, V2, _) in zip(chain.C, chain.Z, chain.V, strict=True):
        S, (ad, ad1, ad2) = se3.Ad(C) @ Z, (se3.ad(x) for x in (V, V1, V2))
        S3 = ad2 + 2 * ad1 @ ad + ad @ ad1 + ad @ ad @ ad
        found.append([S, ad @ S, (ad1 + ad @ ad) @ S, S3 @ S])
    return np.array(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_motion_follows_algorithm_1(seed):
    """[M21] (6), (7), (9); [M18d] (69) and (70d). The jounce ends with S''' q', factor 1."""
    model, state, _, chain = moved(seed)
    S = screws(chain)
    q1, q2, q3, q4 = state[1:]
    for i in range(model.n):
        V = [chain.parent(i, k) for k in range(4)]
        S0, S1, S2, S3 = S[i]
        assert error(chain.V[i, 0], V[0] + S0 * q1[i]) < 1e-14
        assert error(chain.V[i, 1], V[1] + S0 * q2[i] + S1 * q1[i]) < 1e-13
        by_twists = V[1] + S0 * q2[i] + se3.ad(V[0]) @ chain.V[i, 0]
        assert error(chain.V[i, 1], by_twists) < 1e-13
        assert error(chain.V[i, 2], V[2] + S0 * q3[i] + 2 * S1 * q2[i] + S2 * q1[i]) < 1e-13
        jounce = V[3] + S0 * q4[i] + 3 * S1 * q3[i] + 3 * S2 * q2[i] + S3 * q1[i]
        assert error(chain.V[i, 3], jounce) < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_follow_algorithm_3(seed):
    """[M21] (14) to (31) corrected, with gravity by (23) to (25): M' = -M ad_V - ad_V^T M, ..."""
    model, _, applied, chain = moved(seed)
    coAd = se3.coAd(chain.C)
    M = coAd @ chain.M @ np.swapaxes(coAd, -1, -2)
    G = np.r_[0, 0, 0, -model.gravity]
    for i in range(model.n):
        V, V1, V2, V3 = chain.V[i]
        ad, ad1, ad2 = se3.ad(V), se3.ad(V1), se3.ad(V2)
        M0 = M[i]
        half = M0 @ ad
        M1 = -half - half.T
        half = M1 @ ad + M0 @ ad1
        M2 = -half - half.T
        half = M2 @ ad + 2 * M1 @ ad1 + M0 @ ad2
        M3 = -half - half.T
        W = M0 @ V1 + M1 @ V + M0 @ G
        W1 = M0 @ V2 + 2 * M1 @ V1 + M2 @ V + M1 @ G
        W2 = M0 @ V3 + 3 * M1 @ V2 + 3 * M2 @ V1 + M3 @ V + M2 @ G
        below = chain.W[chain.children(i)].sum(axis=0) - applied[i].reshape(3, 6)
        assert error(chain.W[i], np.stack([W, W1, W2]) + below) < 1e-13
    S = screws(chain)
    pairs = np.einsum("ijk,ilk->ijl", S[:, :3], chain.W)
    torques = [
        pairs[:, 0, 0],
        pairs[:, 0, 1] + pairs[:, 1, 0],
        pairs[:, 0, 2] + 2 * pairs[:, 1, 1] + pairs[:, 2, 0],
    ]
    assert error(chain.torques, np.array(torques)) < 1e-13
