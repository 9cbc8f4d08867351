# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A fitted model reads values, errors and columns by name and number."""

import numpy as np

from linear_equation import fitted


def test_values_errors_and_columns_are_those_of_ordinary_least_squares():
    rng = np.random.default_rng(0)
    A, used = rng.normal(size=(4000, 3)), np.arange(4000)[:, None] >= 100
    y = A @ [3.0, -2.0, 1.0] + 0.1 * rng.normal(size=4000)
    y[~used[:, 0]] += 100.0  # must not be read
    found, kept = fitted(np.arange(4000), A, y, used), used[:, 0]
    np.testing.assert_array_equal(found.columns(0), np.column_stack([A, y])[kept])
    x = np.linalg.lstsq(A[kept], y[kept])[0]
    error = 0.1 * np.sqrt(np.diag(np.linalg.inv(A[kept].T @ A[kept])))
    names = ["x2", "x0"]
    np.testing.assert_allclose(found.values(names), x[[2, 0]], atol=0.05 * error.max())
    each = found.uncertainties(names)
    np.testing.assert_allclose([one.error for one in each], error[[2, 0]], rtol=0.2)
    assert all(one.determined for one in each)
