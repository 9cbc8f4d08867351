# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A base that sways, and what an IMU on it measures."""

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3

SECOND = 10**9
PLACE = np.array([0.2, -0.1, 0.3])  # of the IMU


def swaying(t):
    """A smooth pose (4, 4)."""
    w, p = (
        0.3 * np.sin(t) * np.array([0.5, 0.2, 1.0]),
        np.array([np.sin(t), 0.2 * t, np.cos(2 * t)]),
    )
    return se3.from_rotation_translation(se3.exp(np.concatenate((w, np.zeros(3))))[:3, :3], p)


def rates(t, h=1e-3):
    """Spatial twist and acceleration of `swaying`."""

    def twist(s):
        C = [swaying(s + k * h) @ se3.inverse(swaying(s)) for k in (-2, -1, 1, 2)]
        x = [se3.log(each) for each in C]
        return (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)

    V = [twist(t + k * h) for k in (-2, -1, 1, 2)]
    return twist(t), (V[0] - 8 * V[1] + 8 * V[2] - V[3]) / (12 * h)


def points(times):
    poses = np.array([swaying(t) for t in times])
    both = [
        dyn.convert_twist(pose, list(rates(t)), "spatial", "hybrid")
        for t, pose in zip(times, poses, strict=True)
    ]
    V, A = np.array(both).swapaxes(0, 1)
    V[-1] = A[-1] = np.nan  # it comes to rest there
    return times, poses, np.where(np.isnan(V), 0.0, V), np.where(np.isnan(A), 0.0, A)


def imu(pose, rates, gravity):
    """Angular velocity and specific force of an IMU at PLACE, in the axes of the base."""
    R, (w, v), (w1, v1) = pose[:3, :3], rates[0].reshape(2, 3), rates[1].reshape(2, 3)
    p = R @ PLACE + pose[:3, 3]
    acceleration = v1 + np.cross(w1, p) + np.cross(w, v + np.cross(w, p))
    return R.T @ w, R.T @ (acceleration - gravity)
