# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The generalised-alpha method on Lie groups, for stiff systems with constraints; order 2.

O. Bruels, A. Cardona, M. Arnold: Lie group generalized-alpha time integration of constrained
flexible multibody systems, Mechanism and Machine Theory 48 (2012), cited in [M18d] section 7. It
solves the index-3 form, [MT13] (1): every step satisfies the position constraints.

    q_1 = q_0 exp(h Dq),   Dq = V_0 + h (1/2 - beta) a_0 + h beta a_1
    V_1 = V_0 + h (1 - gamma) a_0 + h gamma a_1
    (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) V'_1 + alpha_f V'_0
    M V'_1 + J^T lambda = Q,   g(q_1) = 0

The spectral radius at infinity determines all coefficients: 1 preserves oscillations that are too
fast for the step to resolve, 0 damps them out in one step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, DynamicsError, InputError, as_array
from ..lie import so3
from . import index_one as rows
from .absolute_systems import AbsoluteSystem
from .integrators import Integration, absolute_acceleration, consistent_start
from .munthe_kaas_method import output_times

ITERATIONS = 40
FARTHEST = 1e3  # m and rad, of one step: beyond it Newton's method has diverged
CONVERGED = 1e-12  # correction of h Dq, relative to its size


class _Coefficients(NamedTuple):
    alpha_m: float
    alpha_f: float
    gamma: float
    beta: float

    @classmethod
    def of(cls, rho: float) -> _Coefficients:
        """The coefficients for the spectral radius rho at infinity."""
        alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        gamma = 0.5 + alpha_f - alpha_m
        return cls(alpha_m, alpha_f, gamma, (gamma + 0.5) ** 2 / 4)


class _Motion(NamedTuple):
    """The state at one time, with a, which lags V', and the multipliers."""

    q: Array
    V: Array
    V_dot: Array
    a: Array
    multipliers: Array


def generalized_alpha(
    system: AbsoluteSystem,
    t_end: float,
    step: float,
    *,
    spectral_radius: float = 0.8,
    start: tuple[Any, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Integration:
    """Integrate the motion of `system` by the generalised-alpha method; implicit, plain Python.

    From t = 0 to `t_end` in steps of `step`, s; satisfies the position constraints in every step.
    Newton's matrix contains the stiffness and damping of springs; gyroscopic and constraint forces
    enter the residual only, so the iteration converges if h |omega| is well below 1.

    spectral_radius : of the method at infinite frequency, 0 to 1.
    start, progress : see :func:`.integrate`.

    Raises InputError as :func:`.integrate` does, DynamicsError if the iteration does not converge.
    """
    rho = as_array("spectral_radius", spectral_radius, ()).item()
    if not 0.0 <= rho <= 1.0:
        raise InputError(f"spectral_radius: expected a number from 0 to 1, got {rho:g}")
    coefficients, times = _Coefficients.of(rho), output_times(t_end, step)
    q, V = consistent_start(system, start)
    V_dot = absolute_acceleration(system, q, V)
    motion = _Motion(q, V, V_dot, V_dot, np.zeros(system.m))
    poses, velocities = [q], [V]
    for t, t_next in itertools.pairwise(times):
        found = _step(system, coefficients, motion, t_next - t)
        if found is None:
            raise DynamicsError(
                f"'{system.name}': generalised alpha does not converge at t = {t_next:g} s; take a "
                "smaller step"
            )
        motion = found
        poses.append(motion.q)
        velocities.append(motion.V)
        if progress is not None:
            progress(t_next / times[-1])
    return Integration(system, times, np.stack(poses), np.stack(velocities), len(times) - 1)


def _step(
    system: AbsoluteSystem, coefficients: _Coefficients, motion: _Motion, h: float
) -> _Motion | None:
    """The motion after h, in s, by Newton's method; None if it does not converge."""
    alpha_m, alpha_f, gamma, beta = coefficients
    q, V, V_dot, a, multipliers = motion
    to_acceleration = (1 - alpha_m) / (h**2 * beta * (1 - alpha_f))
    to_velocity = gamma / (h * beta)
    weight = h**2 * beta  # scales forces to the size of positions
    a_next = (alpha_f * V_dot - alpha_m * a) / (1 - alpha_m)
    V_next = V + h * (1 - gamma) * a + h * gamma * a_next
    x = h * V + h**2 * ((0.5 - beta) * a + beta * a_next)
    V_dot_next = np.zeros_like(V)
    for _ in range(ITERATIONS):
        q_next = _displaced(system, q, x)
        s = system.matrices(q_next, V_next)
        K, C = _spring_tangents(system, q_next)
        residual = s.M @ V_dot_next.ravel() + s.J.T @ multipliers - s.Q
        tangent = weight * (to_acceleration * s.M + to_velocity * C + K)
        matrix = np.block([[tangent, s.J.T], [s.J, np.zeros((system.m, system.m))]])
        right = -np.concatenate([weight * residual, s.g])
        solution = np.linalg.lstsq(matrix, right, rcond=rows.REDUNDANT)[0]
        dx = solution[: x.size].reshape(x.shape)
        x, multipliers = x + dx, multipliers + solution[x.size :] / weight
        V_next, V_dot_next = V_next + to_velocity * dx, V_dot_next + to_acceleration * dx
        if not np.isfinite(dx).all() or np.abs(x).max() > FARTHEST:
            return None
        if np.abs(dx).max() <= CONVERGED * (1.0 + np.abs(x).max()):
            a_next = a_next + (1 - alpha_f) / (1 - alpha_m) * V_dot_next
            return _Motion(_displaced(system, q, x), V_next, V_dot_next, a_next, multipliers)
    return None


def _displaced(system: AbsoluteSystem, q: Array, x: Array) -> Array:
    """The poses q exp(x) (n, 4, 4), body by body in its group, for x (n, 6)."""
    groups = system.state_space.factors[: system.n]
    parts = zip(groups, q, x, strict=True)
    return np.stack([group.product(pose, group.exp(step)) for group, pose, step in parts])


def _spring_tangents(system: AbsoluteSystem, pose: Array) -> tuple[Array, Array]:
    """Stiffness and damping matrices (6 n, 6 n) of all springs, for fixed lever arms."""
    K, C = np.zeros((6 * system.n, 6 * system.n)), np.zeros((6 * system.n, 6 * system.n))
    constants = system.constants
    for ends, row in zip(constants.spring_bodies, constants.springs, strict=True):
        J, points = np.zeros((3, 6 * system.n)), []
        for i, p, sign in zip(ends, np.split(row[: rows.STIFFNESS], 2), (-1, 1), strict=True):
            R = np.eye(3) if i < 0 else pose[i, :3, :3]
            points.append(p if i < 0 else R @ p + pose[i, :3, 3])
            if i >= 0:
                linear = np.eye(3) if system.is_direct[i] else R
                J[:, 6 * i : 6 * i + 6] = sign * np.hstack([-R @ so3.hat(p), linear])
        if row[rows.LENGTH] > 0.0:
            d = points[1] - points[0]
            length = np.linalg.norm(d)
            along = np.outer(d, d) / length**2
            tension = 1.0 - row[rows.LENGTH] / length  # the restoring force when the spring turns
            K += row[rows.STIFFNESS] * J.T @ (along + tension * (np.eye(3) - along)) @ J
            C += row[rows.DAMPING] * J.T @ along @ J
        else:
            K += row[rows.STIFFNESS] * J.T @ J
            C += row[rows.DAMPING] * J.T @ J
    return K, C
