# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How the motion of all joints of a robot with loops changes with that of its motors.

The loops determine the N joints of the tree, q = f(s), by the n coordinates s, hence q' = G s' with
G = df/ds. Variation and differentiation commute, so that variations of s, s', s'' change the motion
of the tree by the Leibniz rule:

    dq   = G ds
    dq'  = G ds' + G' ds
    dq'' = G ds'' + 2 G' ds' + G'' ds
"""

from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, answers, times, transposed
from ..rigid import (
    InverseDynamicsDerivatives,
    inverse_dynamics,
    inverse_dynamics_derivatives,
)
from .closed_chain_model import ClosedChainModel


class LoopTangents(NamedTuple):
    """The motion q, q', q'' of the tree, 3 of (..., N); G, G', G'', 3 of (..., N, n); and H = dG/ds
    (..., N, n, n), which is symmetric in the last two."""

    motion: list[Array]
    G: list[Array]
    H: Array

    def pulled_back(self, bars: Array) -> Array:
        """The gradient (..., 3, n) with respect to s, s', s'' of a function of the tree's motion
        whose gradient with respect to q, q', q'' is `bars` (..., 3, N)."""
        back = [transposed(each) for each in self.G]
        rows = [
            sum(comb(k, i) * times(back[k - i], bars[..., k, :]) for k in range(i, 3))
            for i in range(3)
        ]
        return np.stack(rows, axis=-2)


def loop_tangents(model: ClosedChainModel, q: Any, qd: Any, qdd: Any) -> LoopTangents:
    """The derivatives at q, q', q'' (..., n) of the motors, rad or m and per s^k.

    Raises InputError for wrong shapes, NaN or infinity, and DynamicsError for a position that the
    loops do not allow.
    """
    at = np.asarray(q, dtype=np.float64)[..., None, :]
    _, each = model.reduction(at, np.eye(model.n))  # G' at the speed of one motor alone
    motion, G = model.tree_motion(q, qd, qdd), model.reduction(q, qd, qdd)
    return LoopTangents(motion, G, np.moveaxis(each, -3, -1))


@answers(inverse_dynamics_derivatives, ClosedChainModel)
def _derivatives(
    model: ClosedChainModel, q: Any, qd: Any, qdd: Any, *, wrenches: Any = None, base: Any = None
) -> InverseDynamicsDerivatives:
    """Q = G^T tau, with the torques tau of the tree; the rotors are those of the tree."""
    if wrenches is not None or base is not None:
        model.require_tree("the derivatives under wrenches or on a moving base")
    tangents = loop_tangents(model, q, qd, qdd)
    tau = inverse_dynamics(model.tree, *tangents.motion).tau
    by_q, by_qd, by_qdd = inverse_dynamics_derivatives(model.tree, *tangents.motion)
    G, G1, G2 = tangents.G
    turned = np.einsum("...aij,...a->...ij", tangents.H, tau)
    back = transposed(G)
    return InverseDynamicsDerivatives(
        turned + back @ (by_q @ G + by_qd @ G1 + by_qdd @ G2),
        back @ (by_qd @ G + 2.0 * by_qdd @ G1),
        back @ by_qdd @ G,
    )
