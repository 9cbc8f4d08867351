# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An independent reference for [MT13], matrix by matrix as in the paper."""

import numpy as np
from scipy.linalg import block_diag, expm
from scipy.special import bernoulli, factorial

from multibody_dynamics.dynamics import se3, so3

hat = so3.hat
O3, I3 = np.zeros((3, 3)), np.eye(3)
COEFFICIENTS = bernoulli(14) / factorial(np.arange(15))


def dexp_inv(ad):
    """sum_k B_k ad^k / k!."""
    total = np.zeros_like(ad)
    for c in COEFFICIENTS[::-1]:
        total = ad @ total + c * np.eye(len(ad))
    return total


def flow(group, C, Phi):
    """C exp(Phi) for one body."""
    if group == "SE3":
        return C @ expm(se3.hat(Phi))
    return se3.from_rotation_translation(C[:3, :3] @ expm(hat(Phi[:3])), C[:3, 3] + Phi[3:])


def inverse_differential(group, Phi):
    """dexp_Phi^-1 of the group as a matrix (6, 6)."""
    ad = se3.ad(Phi) if group == "SE3" else block_diag(hat(Phi[:3]), O3)
    return dexp_inv(ad)


def spherical_joints(group, joints, R, V):
    """J and eta of spherical joints: (43), (50), (53) on SE(3) and (61), (64) on SO(3) x R^3.

    joints: pairs of (body, p) with p constant in the body; body None is the ground.
    """
    rows, eta = [], []
    for ends in joints:
        row, right = np.zeros((3, 6 * len(R))), np.zeros(3)
        for sign, (i, p) in zip((1, -1), ends, strict=True):
            if i is None:
                continue
            omega, v = V[6 * i : 6 * i + 3], V[6 * i + 3 : 6 * i + 6]
            linear = R[i] if group == "SE3" else I3
            row[:, 6 * i : 6 * i + 6] = sign * np.hstack([R[i] @ hat(p), -linear])
            right += sign * R[i] @ hat(omega) @ hat(omega) @ p
            if group == "SE3":
                right += sign * R[i] @ hat(omega) @ v
        rows.append(row)
        eta.append(right)
    return np.vstack(rows), np.concatenate(eta)


def acceleration(group, bodies, joints, gravity, C, V):
    """V' by (42), (64), for bodies (m, Theta) with frames at their centres of mass."""
    R = [pose[:3, :3] for pose in C]
    J, eta = spherical_joints(group, joints, R, V)
    M, Q = np.zeros((len(V), len(V))), np.zeros(len(V))
    for i, (mass, Theta) in enumerate(bodies):
        at = slice(6 * i, 6 * i + 6)
        omega, v = V[at][:3], V[at][3:]
        force = mass * np.asarray(gravity)
        if group == "SE3":
            force = R[i].T @ force - mass * np.cross(omega, v)
        M[at, at] = block_diag(Theta, mass * I3)
        Q[at] = np.concatenate([-np.cross(omega, Theta @ omega), force])
    K = np.block([[M, J.T], [J, np.zeros((len(eta), len(eta)))]])
    return np.linalg.solve(K, np.concatenate([Q, eta]))[: len(V)]


def rk4(group, slope, C, V, h, steps):
    """Poses and velocities by (37) with the classical tableau."""
    poses, velocities = [C], [V]
    n = len(C)
    for _ in range(steps):
        k = []
        for reach in (0.0, h / 2, h / 2, h):
            Psi = reach * k[-1] if k else np.zeros(12 * n)
            X = [flow(group, C[i], Psi[6 * i : 6 * i + 6]) for i in range(n)]
            W = V + Psi[6 * n :]
            turned = [
                inverse_differential(group, -Psi[6 * i : 6 * i + 6]) @ W[6 * i : 6 * i + 6]
                for i in range(n)
            ]
            k.append(np.concatenate([*turned, slope(X, W)]))
        Phi = h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
        C = [flow(group, C[i], Phi[6 * i : 6 * i + 6]) for i in range(n)]
        V = V + Phi[6 * n :]
        poses.append(C)
        velocities.append(V)
    return np.array(poses), np.array(velocities).reshape(steps + 1, n, 6)
