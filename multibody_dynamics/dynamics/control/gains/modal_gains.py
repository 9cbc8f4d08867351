# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passive gains by double diagonalisation: motors that damp the modes of the arm on its springs.

At rest at q, one basis V diagonalises both the mass matrix M of the links behind springs and the
stiffness K of the springs: V^T M V = 1 and V^T K V = diag(lambda). Inertia and gains are designed
in this basis:

    B_d = V^-T diag(beta) V^-1    the inertia of the motors, changed by torque feedback
    u   = K_p e_theta + K_d e_theta',    K_p = V^-T diag(kappa) V^-1,  K_d = V^-T diag(delta) V^-1
    tau = B B_d^-1 u + (1 - B B_d^-1) K (theta - q)

so that mode i, of links y = V^-1 q and motors z = V^-1 theta, is a single joint with a link of
inertia 1, a spring lambda and a motor beta:

    y'' + lambda (y - z) = 0,    beta z'' + lambda (z - y) = kappa e_z + delta e_z'.

beta is the share `inertia_share` of the motors' own inertia in the mode, 1 / (V^-1 B^-1 V^-T)_ii.
kappa = beta w^2 and delta = 2 (lambda beta)^(1/2) with w = min(lambda^(1/2), bandwidth), as in
:func:`.damping_gains`: up to that bandwidth, both pole pairs of a mode are roots of s^2 +
beta^(-1/2) w s + w^2.

B_d, K_p and K_d are symmetric and positive definite, so the motors are a passive system as seen
from the springs, whatever the links are: as long as these gains do not change, links and payload
that differ from the model cannot make the continuous loop unstable. :func:`.judge_loop` shows how
much of that remains with sampling, filters and delay.

Sources: A. Albu-Schaeffer, C. Ott, U. Frese, G. Hirzinger, "Cartesian impedance control of
redundant robots", ICRA 2003 (double diagonalisation); C. Ott, A. Albu-Schaeffer, A. Kugi,
G. Hirzinger, IEEE T-RO 24, 2008 (torque feedback as a passive change of the motors' inertia);
F. Petit, A. Albu-Schaeffer, "State feedback damping control for a multi DOF variable stiffness
robot arm", ICRA 2011 (motor inertias with the modes of links and springs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from ...core import Array, InputError, as_array
from ...elastic import Actuators
from ...model import MultibodyModel
from .coupled_gains import CoupledArm, CoupledGains, per_joint
from .joint_gains import at_rest

INERTIA_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class ModalDesign:
    """The modes of an arm on its springs, and the motors designed for them; e elastic joints.

    Attributes
    ----------
    modes : (e, e) V.
    stiffness, inertia : (e,) lambda in 1/s^2 and beta.
    proportional, derivative : (e,) kappa in 1/s^2 and delta in 1/s.
    """

    modes: Array
    stiffness: Array
    inertia: Array
    proportional: Array
    derivative: Array

    @classmethod
    def of(cls, mass: Array, stiffness: Array, motor: Array, w: float, share: float) -> ModalDesign:
        """For a mass matrix (e, e), and the stiffness and motor inertia (e,) of the joints."""
        values, modes = eigh(np.diag(stiffness), mass)
        inverse = np.linalg.inv(modes)
        beta = share / np.einsum("ij,j,ij->i", inverse, 1.0 / motor, inverse)
        bandwidth = np.minimum(np.sqrt(values), w)
        damping = 2.0 * np.sqrt(values * beta)
        return cls(modes, values, beta, beta * bandwidth**2, damping)

    def in_joints(self, diagonal: Array) -> Array:
        """(e, e) V^-T diag(diagonal) V^-1."""
        inverse = np.linalg.inv(self.modes)
        return np.asarray(inverse.T * diagonal @ inverse)


def modal_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    bandwidth: Any,
    stiffness: Any = None,
    *,
    inertia_share: float = INERTIA_SHARE,
) -> CoupledGains:
    """Passive gains by double diagonalisation at rest at q (n,), see the module.

    bandwidth : bandwidth in 1/s of the springs between motors and their reference; the entries of
        an array (n,) must be equal. Rigid joints get two poles there, each with the inertia that
        it feels while the others are free; the modes are those of the links behind springs while
        rigid joints are free.
    stiffness : (v,) second outputs at rest; default: mid-range.
    inertia_share : share of the motors' inertia that remains, above 0 and at most 1.

    Dampers in parallel with the springs, and friction of the motors, are not part of the design;
    they only add damping. Raises InputError for other bandwidths or shares.
    """
    q = as_array("q", q, (model.n,), model.joint_names)
    w = per_joint(model, bandwidth)
    if np.ptp(w) > 0.0:
        raise InputError("bandwidth: modal gains take one bandwidth for all joints")
    if not 0.0 < inertia_share <= 1.0:
        raise InputError(f"inertia_share is {inertia_share}: must be above 0 and at most 1")
    arm, drives = CoupledArm.at(model, actuators, at_rest(model, actuators, q, stiffness), q, w)
    n, e = model.n, arm.elastic
    rigid = np.setdiff1d(np.arange(n), e)
    free = np.linalg.inv(arm.mass)
    full = np.zeros((4, n, n))  # of q, q', theta, theta'
    inertias = 1.0 / np.diag(free)[rigid]
    full[0][rigid, rigid], full[1][rigid, rigid] = inertias * w[0] ** 2, 2.0 * inertias * w[0]
    if e.size:
        block, motor, springs = np.ix_(e, e), arm.motor[e], arm.stiffness[e]
        links = np.linalg.inv(free[block])
        design = ModalDesign.of(links, springs, motor, float(w[0]), inertia_share)
        inverse = design.modes / design.inertia @ design.modes.T  # B_d^-1
        shaped = motor[:, None] * inverse  # B B_d^-1
        torque = (shaped - np.eye(len(e))) * springs
        full[0][block] = -torque
        full[2][block] = shaped @ design.in_joints(design.proportional) + torque
        full[3][block] = shaped @ design.in_joints(design.derivative)
    return CoupledGains(
        actuators.motor_names,
        arm.lift(full[:2], full[2:], drives),
        np.zeros((0, *[len(drives.T)] * 2)),
    )
