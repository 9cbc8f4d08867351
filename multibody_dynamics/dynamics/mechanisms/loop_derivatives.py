# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How the motion of all joints of a robot with loops changes with that of its motors.

The loops determine the N joints of the tree, q = f(s), by the n coordinates s. With the Jacobian G,
the symmetric second derivative H and the third one K of f,

    q' = G s',   q'' = G s'' + H(s', s'),   q''' = G s''' + 3 H(s', s'') + K(s', s', s'),

so that variations of s, s', s'' change the motion of the tree by

    dq   = G ds
    dq'  = G ds' + H(s', ds)
    dq'' = G ds'' + 2 H(s', ds') + (H(s'', .) + K(s', s', .)) ds.

The solver of the loops computes q' ... q''' of any s' ... s''', hence G, H and K along motions of
one coordinate, and, by polarisation, for all arguments: exactly, without differences in s.
"""

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
    """The motion q, q', q'' of the tree, 3 of (..., N), its derivatives G (..., N, n) and H
    (..., N, n, n) with respect to the coordinates, and those of q' and q'' at constant s' and s'',
    each (..., N, n)."""

    motion: list[Array]
    G: Array
    H: Array
    by_q: tuple[Array, Array]
    by_qd: Array

    def pulled_back(self, bars: Array) -> Array:
        """The gradient (..., 3, n) with respect to s, s', s'' of a function of the tree's motion
        whose gradient with respect to q, q', q'' is `bars` (..., 3, N)."""
        b, bd, bdd = (bars[..., k, :, None] for k in range(3))
        A, B = self.by_q
        rows = (
            times(transposed(self.G), b[..., 0])
            + times(transposed(A), bd[..., 0])
            + times(transposed(B), bdd[..., 0]),
            times(transposed(self.G), bd[..., 0]) + times(transposed(self.by_qd), bdd[..., 0]),
            times(transposed(self.G), bdd[..., 0]),
        )
        return np.stack(rows, axis=-2)


def loop_tangents(model: ClosedChainModel, q: Any, qd: Any, qdd: Any) -> LoopTangents:
    """The derivatives at q, q', q'' (..., n) of the motors, rad or m and per s^k.

    Raises InputError for wrong shapes, NaN or infinity, and DynamicsError for a position that the
    loops do not allow.
    """
    n = model.n
    q, qd, qdd = np.broadcast_arrays(*(np.asarray(row, dtype=np.float64) for row in (q, qd, qdd)))
    unit, still = np.eye(n), np.zeros(n)
    first, second = np.triu_indices(n, 1)
    at = q[..., None, :]
    alone = np.broadcast_to(unit, (*q.shape[:-1], n, n))
    pairs = np.broadcast_to(unit[first] + unit[second], (*q.shape[:-1], len(first), n))
    speeds = np.concatenate(
        [alone, pairs, qd[..., None, :] + unit, qd[..., None, :] - unit], axis=-2
    )
    _, rate, change, third = model.tree_motion(at, speeds, still, still)
    G = np.swapaxes(rate[..., :n, :], -1, -2)
    H = np.empty((*q.shape[:-1], model.body_count, n, n))
    own = np.swapaxes(change[..., :n, :], -1, -2)
    H[..., range(n), range(n)] = own
    mixed = np.swapaxes(change[..., n : n + len(first), :], -1, -2)
    H[..., first, second] = H[..., second, first] = (
        mixed - own[..., first] - own[..., second]
    ) / 2.0
    K = np.swapaxes(third, -1, -2)
    ahead, behind = np.split(K[..., n + len(first) :], 2, axis=-1)
    cubic = (ahead - behind - 2.0 * K[..., :n]) / 6.0  # K(s', s', .)
    by_speed = times(H, qd[..., None, :])
    by_q = (by_speed, times(H, qdd[..., None, :]) + cubic)
    return LoopTangents(model.tree_motion(q, qd, qdd), G, H, by_q, 2.0 * by_speed)


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
    G, (A, B) = tangents.G, tangents.by_q
    turned = np.einsum("...aij,...a->...ij", tangents.H, tau)
    back = transposed(G)
    return InverseDynamicsDerivatives(
        turned + back @ (by_q @ G + by_qd @ A + by_qdd @ B),
        back @ (by_qd @ G + by_qdd @ tangents.by_qd),
        back @ by_qdd @ G,
    )
