# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The passive recursion against its equations with 6x6 matrices."""

import numpy as np
import pytest

from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.model import records
from multibody_dynamics.dynamics.recursions import body_fixed, passive
from multibody_dynamics.dynamics.rigid.rnea import dynamic_base_rows
from recursions import run
from reference import error
from robots import random_tree


def rotating(seed):
    """A tree, its chain of joint frames, and rows of body and reference twists."""
    model = random_tree(6, seed)
    rng = np.random.default_rng(seed)
    state, reference = rng.normal(size=(2, 5, model.n))
    chain = run(body_fixed, "body", model, state, np.zeros((model.n, 18)))
    rows = model.joint_rows
    angle = rows[:, records.ANGULAR] * state[0]
    bodies = np.zeros((model.n + 1, records.BODY_ROW))
    bodies[0, : records.WRENCH] = dynamic_base_rows(model, None, "body")
    trig = np.stack([np.sin(angle), np.cos(angle)])
    body_fixed.forward_recursion(model.parents, rows, trig, state, 1, bodies)
    references = np.zeros((model.n + 1, passive.REFERENCE_ROW))
    references[0] = bodies[0, records.TWIST : records.SCREW]
    passive.reference_recursion(model.parents, rows, state, reference, 2, bodies, references)
    result = np.zeros((3, model.n))
    passive.backward_recursion(model.parents, rows, state, reference, 2, bodies, references, result)
    return model, state, reference, chain, references.reshape(-1, 4, 6), bodies, result


@pytest.mark.parametrize("seed", range(2))
def test_reference_twists_follow_the_product_rule(seed):
    """V_r = A V_r,parent + Z q_r' with A' = -q' ad_Z A, differentiated three times."""
    model, state, reference, chain, references, _, _ = rotating(seed)
    q1, q2, q3 = state[1:4]
    for i in range(model.n):
        A, Z = se3.Ad(se3.inverse(chain.relative[i])), chain.Z[i]
        ad, P = se3.ad(Z), references[model.parents[i] + 1]
        A1 = -q1[i] * ad @ A
        A2 = -q2[i] * ad @ A - q1[i] * ad @ A1
        A3 = -q3[i] * ad @ A - 2 * q2[i] * ad @ A1 - q1[i] * ad @ A2
        expected = [
            A @ P[0],
            A @ P[1] + A1 @ P[0],
            A @ P[2] + 2 * A1 @ P[1] + A2 @ P[0],
            A @ P[3] + 3 * A1 @ P[2] + 3 * A2 @ P[1] + A3 @ P[0],
        ]
        for k in range(4):
            assert error(references[i + 1, k], expected[k] + Z * reference[k, i]) < 1e-13


@pytest.mark.parametrize("seed", range(2))
def test_body_wrenches_are_the_symmetric_bilinear_form(seed):
    """W = M (V_r' + [V, V_r]/2) - (ad_V^T M V_r + ad_Vr^T M V)/2, summed over the children."""
    model, _, _, chain, references, bodies, result = rotating(seed)
    for i in range(model.n):
        M, V, (R0, R1) = chain.M[i], chain.V[i, 0], references[i + 1, :2]
        ad, ad_r = se3.ad(V), se3.ad(R0)
        W = M @ (R1 + ad @ R0 / 2) - (ad.T @ M @ R0 + ad_r.T @ M @ V) / 2
        K = (M @ ad - ad.T @ M) / 2
        P = np.column_stack([se3.ad(x).T @ M @ V for x in np.eye(6)]) / 2
        assert error(W, M @ R1 + (K - P) @ R0) < 1e-13
        assert np.abs(K - P + (K - P).T).max() < 1e-14 * np.abs(M).max() * 10
        for j in chain.children(i):
            child = bodies[j + 1, records.WRENCH : records.WRENCH + 6]
            W = W + se3.Ad(se3.inverse(chain.relative[j])).T @ child
        assert error(bodies[i + 1, records.WRENCH : records.WRENCH + 6], W) < 1e-12
        assert abs(chain.Z[i] @ W - result[0, i]) < 1e-12 * np.abs(W).max()


@pytest.mark.parametrize("seed", range(2))
def test_twists_of_joint_rates(seed):
    model, _, _, chain, _, bodies, _ = rotating(seed)
    x, twists = np.random.default_rng(seed).normal(size=model.n), np.ones((model.n + 1, 6))
    passive.twist_recursion(model.parents, model.joint_rows, x, bodies, twists)
    for i in range(model.n):
        A = se3.Ad(se3.inverse(chain.relative[i]))
        expected = A @ twists[model.parents[i] + 1] + chain.Z[i] * x[i]
        assert error(twists[i + 1], expected) < 1e-14
    assert not twists[0].any()
