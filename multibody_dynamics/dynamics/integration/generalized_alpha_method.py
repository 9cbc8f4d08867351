"""The generalised-alpha method on Lie groups, for stiff systems with constraints; order 2.

O. Bruels, A. Cardona, M. Arnold: Lie group generalized-alpha time integration of constrained
flexible multibody systems, Mechanism and Machine Theory 48 (2012), cited in [M18d] section 7.
It solves the index-3 form, [MT13] (1): the constraints of positions hold at every step.

    q_1 = q_0 exp(h Dq),   Dq = V_0 + h (1/2 - beta) a_0 + h beta a_1
    V_1 = V_0 + h (1 - gamma) a_0 + h gamma a_1
    (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) V'_1 + alpha_f V'_0
    M V'_1 + J^T lambda = Q,   g(q_1) = 0

One number, the spectral radius at infinity, chooses all coefficients: 1 keeps what oscillates
faster than the step resolves, 0 damps it out in one step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Array, DynamicsError, InputError, as_array
from ..lie import so3
from . import index_one as rows
from .absolute_systems import AbsoluteSystem
from .integrators import Integration, absolute_acceleration, consistent_start
from .munthe_kaas_method import output_times

ITERATIONS = 40
FARTHEST = 1e3  # m and rad, of one step: beyond it Newton's method is lost
CONVERGED = 1e-12  # of the correction of h Dq, beside its size


def generalized_alpha(
    system: AbsoluteSystem,
    t_end: float,
    step: float,
    *,
    spectral_radius: float = 0.8,
    start: tuple[Any, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Integration:
    """The motion of `system` up to `t_end` in steps of `step`, s; plain Python, implicit.

    The stiffness and damping of springs enter Newton's matrix, gyroscopic and constraint forces
    only the residual: the iteration converges where h |omega| is well below 1.

    spectral_radius : from 0 to 1. start, progress: as of :func:`.integrate`.

    Raises InputError as :func:`.integrate`, DynamicsError where the iteration does not converge.
    """
    rho = as_array("spectral_radius", spectral_radius, ()).item()
    if not 0.0 <= rho <= 1.0:
        raise InputError(f"spectral_radius is {rho:g}; it lies from 0 to 1")
    alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta = (gamma + 0.5) ** 2 / 4
    n, times = system.n, output_times(t_end, step)
    q, V = consistent_start(system, start)
    V_dot = absolute_acceleration(system, q, V)
    a = V_dot
    poses, velocities = [q], [V]
    multipliers = np.zeros(system.m)
    for t, t_next in itertools.pairwise(times):
        h = t_next - t
        to_acceleration = (1 - alpha_m) / (h**2 * beta * (1 - alpha_f))
        to_velocity = gamma / (h * beta)
        a_next = (alpha_f * V_dot - alpha_m * a) / (1 - alpha_m)
        V_next = V + h * (1 - gamma) * a + h * gamma * a_next
        x = h * V + h**2 * ((0.5 - beta) * a + beta * a_next)
        V_dot_next = np.zeros((n, 6))
        weight = h**2 * beta  # brings forces to the size of positions
        for _ in range(ITERATIONS):
            q_next = _displaced(system, q, x)
            s = system.matrices(q_next, V_next)
            K, C = _spring_tangents(system, q_next)
            residual = s.M @ V_dot_next.ravel() + s.J.T @ multipliers - s.Q
            tangent = weight * (to_acceleration * s.M + to_velocity * C + K)
            matrix = np.block([[tangent, s.J.T], [s.J, np.zeros((system.m, system.m))]])
            right = -np.concatenate([weight * residual, s.g])
            solution = np.linalg.lstsq(matrix, right, rcond=rows.REDUNDANT)[0]
            dx = solution[: 6 * n].reshape(n, 6)
            x, multipliers = x + dx, multipliers + solution[6 * n :] / weight
            V_next, V_dot_next = V_next + to_velocity * dx, V_dot_next + to_acceleration * dx
            if not np.isfinite(dx).all() or np.abs(x).max() > FARTHEST:
                raise _diverges(system, t_next)
            if np.abs(dx).max() <= CONVERGED * (1.0 + np.abs(x).max()):
                break
        else:
            raise _diverges(system, t_next)
        a = a_next + (1 - alpha_f) / (1 - alpha_m) * V_dot_next
        q = _displaced(system, q, x)
        V, V_dot = V_next, V_dot_next
        poses.append(q)
        velocities.append(V)
        if progress is not None:
            progress(t_next / times[-1])
    return Integration(system, times, np.stack(poses), np.stack(velocities), len(times) - 1)


def _displaced(system: AbsoluteSystem, q: Array, x: Array) -> Array:
    """The poses q exp(x) (n, 4, 4), body by body in its group, for x (n, 6)."""
    groups = system.state_space.factors[: system.n]
    parts = zip(groups, q, x, strict=True)
    return np.stack([group.product(pose, group.exp(step)) for group, pose, step in parts])


def _diverges(system: AbsoluteSystem, t: float) -> DynamicsError:
    return DynamicsError(
        f"'{system.name}': generalised alpha does not converge at t = {t:g} s; take a smaller step"
    )


def _spring_tangents(system: AbsoluteSystem, pose: Array) -> tuple[Array, Array]:
    """Stiffness and damping (6 n, 6 n) of all springs, for fixed levers."""
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
            tension = 1.0 - row[rows.LENGTH] / length  # what pulls across when the spring turns
            K += row[rows.STIFFNESS] * J.T @ (along + tension * (np.eye(3) - along)) @ J
            C += row[rows.DAMPING] * J.T @ along @ J
        else:
            K += row[rows.STIFFNESS] * J.T @ J
            C += row[rows.DAMPING] * J.T @ J
    return K, C
