# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint screws, twists, inertias and momenta of all bodies, in spatial representation.

The closed forms are built from these quantities. In inertial axes about the inertial origin the
screw S_j of joint j is its column in the Jacobian of every body that it moves, [M18d] (104), and
the inertias and momenta of a subtree simply add up.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, times
from ..model import MultibodyModel, inertia
from ..model.records import BODY_ROW, SCREW, TWIST
from .kinematics import body_rows, joint_poses


class SpatialBodies(NamedTuple):
    """Quantities of the N joints of the tree and of all bodies, inertial axes about the origin.

    screws, screw_rates : (..., N, 6) S_j and S_j' = ad_{V_j} S_j.
    twists : (..., N, 6) V_l of the bodies.
    inertias : (..., N, 6, 6) M^s_l, [M18d] (34).
    momenta : (..., N, 6) Pi_l = M^s_l V_l, [M18d] (35).
    """

    screws: Array
    screw_rates: Array
    twists: Array
    inertias: Array
    momenta: Array


def spatial_bodies(model: MultibodyModel, q: Any, qd: Any) -> SpatialBodies:
    """:class:`SpatialBodies` at q and qd (..., n), which broadcast.

    Raises InputError for wrong shapes, NaN or infinity.
    """
    bodies, shape, given = body_rows(model, (q, qd))
    if given < 2:
        raise InputError("qd is required, got None")
    rows = bodies[:, 1:].reshape(*shape, model.body_count, BODY_ROW)
    M = inertia.transform(model.inertias, joint_poses(rows) @ model.body_in_joint)
    twists = rows[..., TWIST : TWIST + 6]
    return SpatialBodies(
        screws=rows[..., SCREW : SCREW + 6],
        screw_rates=rows[..., SCREW + 6 : SCREW + 12],
        twists=twists,
        inertias=M,
        momenta=times(M, twists),
    )


def subtree_sums(model: MultibodyModel, values: Array, axis: int) -> Array:
    """Sum the values of the bodies along `axis` over the subtree of each body."""
    sums = np.moveaxis(values.copy(), axis, 0)
    for i in reversed(range(model.body_count)):
        if model.parents[i] >= 0:
            sums[model.parents[i]] += sums[i]
    return np.moveaxis(sums, 0, axis)


def along_paths(model: MultibodyModel, j_first: Array, i_first: Array) -> Array:
    """Select entries (..., N, N) by the order of the joints i and j along the tree.

    Returns (..., n, n), with the entries of coupled joints added up. An entry is that of `j_first`
    if joint j is on the path from the base to body i, that of `i_first` if joint i is on the path
    to body j, and 0 for joints on different branches.
    """
    paths = model.tree.moved_by
    return model.collect(np.where(paths, j_first, np.where(paths.T, i_first, 0.0)), -2, -1)
