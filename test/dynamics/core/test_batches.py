# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Batches of products against single products."""

import numpy as np

from multibody_dynamics.dynamics.core.batches import times, transposed


def test_matrices_and_vectors_broadcast():
    rng = np.random.default_rng(1)
    A, x = rng.normal(size=(4, 1, 3, 5)), rng.normal(size=(2, 5))
    products = times(A, x)
    assert products.shape == (4, 2, 3)
    np.testing.assert_allclose(products[3, 1], A[3, 0] @ x[1], rtol=1e-14)
    assert times(A[:0], x[:1]).shape == (0, 1, 3)


def test_transposed_swaps_the_last_two_axes():
    A = np.random.default_rng(2).normal(size=(4, 3, 5))
    np.testing.assert_array_equal(transposed(A)[2], A[2].T)
    assert np.shares_memory(transposed(A), A)
