# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How fast gravity tips over links on torque sources, and how stiff their impedance must be.

A torque source does not feel where its link is, so nothing but the impedance around it holds the
link against gravity. With the feedforward g(q_d) and the stiffness D w^2, small errors of the links
obey

    M e'' + 2 w D e' + (D w^2 + G) e = 0,   G = dg/dq,

which is stable if and only if D w^2 + G is positive definite (P. Tomei, "A simple PD controller for
robots with elastic joints", IEEE TAC 36(10), 1991). G is negative where a link stands above its
joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import InputError, as_array
from ...model import MultibodyModel
from ...rigid import inverse_dynamics_derivatives


def tipping_rate(model: MultibodyModel, inertias: Any, positions: Any) -> float:
    """The smallest w in rad/s from which D w^2 + dg/dq is positive semidefinite at all positions.

    Parameters
    ----------
    inertias : (n,) diagonal of D, kg m^2 (kg), all positive. positions : (p, n) or (n,), rad or m.

    Zero if gravity tips no link over. Raises InputError for inertias that are not positive.
    """
    d = as_array("inertias", inertias, (model.n,), model.joint_names)
    if not (d > 0.0).all():
        name = model.joint_names[int(np.argmin(d))]
        raise InputError(f"inertias: that of joint '{name}' is {d.min():g}, must be positive")
    q = np.atleast_2d(np.asarray(positions, dtype=np.float64))
    rest = np.zeros(model.n)
    G = inverse_dynamics_derivatives(model, q, rest, rest).dtau_dq
    scaled = 0.5 * (G + np.swapaxes(G, -1, -2)) / np.sqrt(np.outer(d, d))
    return float(np.sqrt(max(-np.linalg.eigvalsh(scaled).min(), 0.0)))
