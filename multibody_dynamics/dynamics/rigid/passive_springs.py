# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What springs and dampers at joints without a motor ask of the motors: nothing in a tree.

They are part of every inverse and forward dynamics; here they stand alone, for what distinguishes
them from weight and inertia.
"""

from typing import Any

import numpy as np

from ..core import Array, by_robot
from ..model import MultibodyModel


@by_robot
def passive_torques(model: MultibodyModel, *rows: Any) -> Array:
    """(2, k, ..., n) the shares of passive springs and of passive dampers in Q, Q', Q'', N m or N.

    rows : q, q', ... (..., n), at least two, rad or m and per s; one more than the k <= 3 results.
    Raises InputError for wrong shapes, NaN or infinity; DynamicsError for a position that the loops
    do not allow.
    """
    return np.zeros((2, min(len(rows) - 1, 3), *np.shape(rows[0])))


@by_robot
def passive_slopes(model: MultibodyModel, q: Any) -> Array:
    """(2, n, n) derivatives of their torques by q and q' at rest at q (n,): a stiffness and a
    damping matrix. Raises the errors of :func:`passive_torques`."""
    return np.zeros((2, model.n, model.n))
