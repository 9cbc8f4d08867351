# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Contact forces of least norm inside friction cones, as smooth functions of the wrench they exert.

Forces f_i at points x_i exert the wrench W = G f with the constant grasp map G. For a given W, with
normals n_i and tangential parts t_i of the forces, they are

    f = argmin  sum_i  |f_i|^2 / 2 - beta log(c_i),    c_i = mu_i^2 (n_i . f_i)^2 - |t_i|^2

subject to G f = W, with c_i = f_i . J_i f_i. The barrier keeps all forces strictly inside their
cones, wherever such forces exist. As the objective is strictly convex and analytic, f is an analytic
function of W: no contact becomes active or inactive, which would make the rates of f jump. Newton's
method finds f from a point at which G f = W need not hold (Boyd and Vandenberghe 2004, section
10.3.2). The conditions of optimality, differentiated twice, give the rates, with the Hessian H and
the multipliers y:

    H f'  + G^T y'  = 0,                               G f'  = W'
    H f'' + G^T y'' = -(D^3 objective)(f', f'),        G f'' = W''.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, times
from ..lie import so3

ITERATIONS, HALVINGS = 100, 40
CONVERGED = 1e-11  # residual of the conditions of optimality
PROGRESS = 0.01  # share of its expected decrease that a step must achieve
RANK = 1e-9  # smallest singular value of the grasp map


class PointContacts(NamedTuple):
    """Points at rest on the ground, in inertial axes.

    positions : (p, 3), m. normals : (p, 3) unit vectors out of the ground. friction : (p,)
    coefficients mu.
    """

    positions: Array
    normals: Array
    friction: Array

    def used(self, forces: Array) -> Array:
        """Tangential over largest tangential force (..., p) of forces (..., p, 3) that press."""
        normal = np.sum(forces * self.normals, axis=-1)
        tangent = np.linalg.norm(forces - normal[..., None] * self.normals, axis=-1)
        return np.asarray(tangent / (self.friction * normal))


class _Barrier(NamedTuple):
    """The problem for k wrenches: `grasp` (p, 6, 3), `cones` J (p, 3, 3), `normals` (p, 3)."""

    grasp: Array
    cones: Array
    normals: Array
    weight: float

    def exerted(self, f: Array) -> Array:
        """G f (k, 6) of forces (k, p, 3)."""
        return np.asarray(np.einsum("pij,kpj->ki", self.grasp, f))

    def pulled(self, y: Array) -> Array:
        """G^T y (k, p, 3) of multipliers (k, 6)."""
        return np.asarray(np.einsum("pij,ki->kpj", self.grasp, y))

    def slope(self, f: Array, y: Array) -> Array:
        """Gradient (k, p, 3) of the Lagrangian."""
        Jf = times(self.cones, f)
        c = np.sum(f * Jf, axis=-1, keepdims=True)
        return np.asarray(f - 2.0 * self.weight * Jf / c + self.pulled(y))

    def residual(self, f: Array, y: Array, wanted: Array) -> Array:
        """(k,) of the conditions of optimality; infinite outside of the cones."""
        pressing = np.sum(f * self.normals, axis=-1) > 0.0
        inside = pressing & (np.sum(f * times(self.cones, f), axis=-1) > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = self.slope(f, y)
        missing = self.exerted(f) - wanted
        size = np.sqrt(np.sum(slope**2, axis=(1, 2)) + np.sum(missing**2, axis=1))
        return np.where(inside.all(axis=1), size, np.inf)

    def solve(self, f: Array, slope: Array, wanted: Array) -> tuple[Array, Array]:
        """x and y of H x + G^T y = -slope, G x = wanted, with the Hessian at f."""
        Jf = times(self.cones, f)
        c = np.sum(f * Jf, axis=-1)[..., None, None]
        curved = 4.0 * Jf[..., :, None] * Jf[..., None, :] / c**2 - 2.0 * self.cones / c
        inverse = np.linalg.inv(np.eye(3) + self.weight * curved)
        compliance = np.einsum("pij,kpjl,pml->kim", self.grasp, inverse, self.grasp)
        free = -times(inverse, slope)
        y = np.linalg.solve(compliance, (self.exerted(free) - wanted)[..., None])[..., 0]
        return np.asarray(free - times(inverse, self.pulled(y))), np.asarray(y)

    def third(self, f: Array, v: Array) -> Array:
        """Third derivative (k, p, 3) of the objective along v twice."""
        Jf, Jv = times(self.cones, f), times(self.cones, v)
        c, a, b = (np.sum(x, axis=-1, keepdims=True) for x in (f * Jf, f * Jv, v * Jv))
        curved = (8.0 * a * Jv + 4.0 * b * Jf) / c**2 - 16.0 * a**2 * Jf / c**3
        return np.asarray(self.weight * curved)


def forces_in_cones(
    contacts: PointContacts, wrench: Array, share: float, barrier: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Forces (k, 3, p, 3) with two rates that exert a wrench (k, 3, 6), and where they exist (k,).

    wrench : with two rates, in inertial axes about the inertial origin, N m, N and per s^k.
    share : N, the unit of forces in the objective: about the largest one.
    barrier : beta.

    Raises InputError for points on a line, about which they exert no moment.
    """
    x, n, mu = contacts
    centre = x.mean(axis=0)
    length = float(np.sqrt(np.mean((x - centre) ** 2))) or 1.0
    grasp = np.concatenate([so3.hat((x - centre) / length), np.tile(np.eye(3), (len(x), 1, 1))], 1)
    singular = np.linalg.svd(grasp.swapaxes(0, 1).reshape(6, -1), compute_uv=False)
    if not singular[-1] > RANK:
        raise InputError(
            f"the {len(x)} contact points lie on a line: they exert no moment about it"
        )
    wanted = wrench / share
    wanted[..., :3] = (wanted[..., :3] - np.cross(centre, wanted[..., 3:])) / length
    cones = (1.0 + mu[:, None, None] ** 2) * n[:, :, None] * n[:, None, :] - np.eye(3)
    problem = _Barrier(grasp, cones, n, barrier)

    f, y, W = np.tile(n, (len(wanted), 1, 1)), np.zeros((len(wanted), 6)), wanted[:, 0]
    size = problem.residual(f, y, W)
    for _ in range(ITERATIONS):
        if (size <= CONVERGED).all():
            break
        df, dy = problem.solve(f, problem.slope(f, y), W - problem.exerted(f))
        step = np.ones(len(f))
        for _ in range(HALVINGS):
            next_f, next_y = f + step[:, None, None] * df, y + step[:, None] * dy
            reached = problem.residual(next_f, next_y, W)
            poor = (reached > (1.0 - PROGRESS * step) * size) & (size > CONVERGED)
            if not poor.any():
                break
            step[poor] /= 2.0
        better = reached < size
        f[better], y[better], size[better] = next_f[better], next_y[better], reached[better]
    rate, _ = problem.solve(f, np.zeros_like(f), wanted[:, 1])
    second, _ = problem.solve(f, problem.third(f, rate), wanted[:, 2])
    return share * np.stack([f, rate, second], axis=1), size <= CONVERGED
