# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains of elastic structure preserving control, designed joint by joint.

With the link inertia m felt at the design position, a joint under (1) and (2) of
`elastic_structure` is

    m e'' + D e' + K_i e = K (eta - e),    M_m eta'' + D_m eta' + K_m eta = K (e - eta).

The bandwidth w and one damping ratio zeta set everything else:

    esp             K_m = M_m w^2,  D_m = 2 M_m w,       K_i = 0,
                    D = 2 zeta sqrt(m K_s), with K_s = K K_m / (K + K_m) of both springs in series
    esp_impedance   K_m = 0,  D_m = 2 zeta sqrt(M_m K),  K_i given,
                    D = 2 zeta sqrt(m K_i)

A motor at a rigid joint has the inertia m in place of M_m, and no second spring. For an exact
model, any gains that are not negative are stable (`elastic_structure`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import Array, IndependentCopies, as_array, read_only
from ...elastic import Actuators
from ...model import MultibodyModel
from ..gains.joint_gains import at_rest, inertias_felt
from ..gains.joint_values import bandwidths, per_name
from .impedance_design import DEFAULT, carrying_stiffness

DAMPING_RATIO = 0.3
"""Default damping ratio of the links. More damping feeds back more of the acceleration and the jerk
of the links, and tolerates less delay."""


@dataclass(frozen=True, eq=False)
class ElasticStructureGains(IndependentCopies):
    """Springs and dampers (n,) on links (K_i, D) and motors (K_m, D_m), N m/rad and N m s/rad.

    Raises InputError, naming the joint, for negative values.
    """

    joint_names: tuple[str, ...]
    link_stiffness: Array
    link_damping: Array
    motor_stiffness: Array
    motor_damping: Array

    def __post_init__(self) -> None:
        for name in ("link_stiffness", "link_damping", "motor_stiffness", "motor_damping"):
            row = per_name(name, getattr(self, name), self.joint_names)
            object.__setattr__(self, name, read_only(row))


def esp_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    bandwidth: Any,
    stiffness: Any = None,
    *,
    damping_ratio: float = DAMPING_RATIO,
) -> ElasticStructureGains:
    """ESP: motors held by springs of `bandwidth` in rad/s, (n,) or a scalar, and dampers on links.

    q : (n,) design position. stiffness : (v,) second outputs there, by default mid-range.
    damping_ratio : zeta.
    """
    w = bandwidths(bandwidth, actuators.joint_names)
    m, B, K = _joints(model, actuators, q, stiffness)
    rigid = actuators.is_rigid
    own = B * w**2
    series = np.where(rigid, 0.0, own / (1.0 + own / K))
    return ElasticStructureGains(
        actuators.joint_names,
        np.zeros_like(w),
        2.0 * damping_ratio * np.sqrt(m * series),
        own,
        2.0 * B * w,
    )


def esp_impedance_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    link_stiffness: Any = None,
    stiffness: Any = None,
    *,
    damping_ratio: float = DAMPING_RATIO,
) -> ElasticStructureGains:
    """ESPi: springs and dampers on the links; no springs hold the motors.

    link_stiffness : K_i (n,) or a scalar, N m/rad; None for a quarter of the springs'. It is not
        limited by the springs. Other parameters: see :func:`esp_gains`.
    """
    if link_stiffness is None:
        q = as_array("q", q, (actuators.n,), actuators.joint_names)
        link_stiffness = DEFAULT * carrying_stiffness(model, actuators, q, 40.0)
    K_i = per_name("link_stiffness", link_stiffness, actuators.joint_names)
    m, B, K = _joints(model, actuators, q, stiffness)
    free = np.where(actuators.is_rigid, 0.0, np.sqrt(B * np.where(actuators.is_rigid, 0.0, K)))
    return ElasticStructureGains(
        actuators.joint_names,
        K_i,
        2.0 * damping_ratio * np.sqrt(m * K_i),
        np.zeros_like(m),
        2.0 * damping_ratio * free,
    )


def _joints(
    model: MultibodyModel, actuators: Actuators, q: Any, stiffness: Any
) -> tuple[Array, Array, Array]:
    """(n,) inertia m of each link, M_m of its motors (m at a rigid joint), and K of its spring."""
    m, rest = inertias_felt(model, actuators, q), at_rest(model, actuators, q, stiffness)
    drives = np.where(actuators.torque_share > 0.0, actuators.motor_inertia, 0.0)
    B = np.bincount(actuators.joint_of_motor, drives, actuators.n)
    return m, np.where(actuators.is_rigid, m, B), rest.stiffness
