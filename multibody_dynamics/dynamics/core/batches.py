# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Products and transposes of batches of matrices and vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def times(matrix: NDArray[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """Products (..., m) of matrices (..., m, n) and vectors (..., n), broadcast."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def transposed(matrix: NDArray[Any]) -> NDArray[Any]:
    """Matrices (..., m, n) as a view (..., n, m)."""
    return np.swapaxes(matrix, -1, -2)
