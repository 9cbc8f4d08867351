# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Contact forces of least norm inside friction cones, as smooth functions of the wrench they exert.

Forces f_i at points x_i exert the wrench W = G f with the constant grasp map G. For a given W, with
normals n_i and tangential parts t_i of the forces, they are

    f = argmin  sum_i  |f_i|^2 / 2 - beta log(c_i),    c_i = mu_i^2 (n_i . f_i)^2 - |t_i|^2

subject to G f = W, with c_i = f_i . J_i f_i. The barrier keeps all forces strictly inside their
cones, wherever such forces exist. As the objective is strictly convex and analytic, f is an
analytic function of W: no contact becomes active or inactive, which would make the rates of f jump.
The conditions of optimality, differentiated twice, give these, with the Hessian H and the
multipliers y:

    H f'  + G^T y'  = 0,                               G f'  = W'
    H f'' + G^T y'' = -(D^3 objective)(f', f'),        G f'' = W''.

f is found from forces along the normals by steps of Newton's method in turn with steps towards W
along the tangent f'(W), which stay inside the cones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, times
from ..lie import so3

ITERATIONS, HALVINGS = 100, 40
CONVERGED = 1e-6  # last step of Newton's method, whose error is about the square
NEARER = 0.1  # least share of c that remains after a step towards W
PROGRESS = 0.1  # share of the expected decrease of the objective that a step must achieve
CLOSEST = 1e-6  # c, below which no forces inside the cones are assumed
RANK = 1e-9  # singular values of the grasp map below it are zero


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
    """The problem for forces f (k, p, 3): `grasp` G (p, 6, 3), `cones` J (p, 3, 3), `normals`."""

    grasp: Array
    cones: Array
    normals: Array
    weight: float

    def exerted(self, f: Array) -> Array:
        """G f (k, 6)."""
        return np.asarray(np.einsum("pij,kpj->ki", self.grasp, f))

    def margins(self, f: Array) -> Array:
        """c (k, p); negative for forces that pull, too."""
        c = np.sum(f * times(self.cones, f), axis=-1)
        return np.where(np.sum(f * self.normals, axis=-1) > 0.0, c, -np.abs(c))

    def objective(self, f: Array) -> Array:
        """(k,), infinite outside of the cones."""
        c = self.margins(f)
        logarithms = np.log(np.where(c > 0.0, c, 1.0)) + np.where(c > 0.0, 0.0, -np.inf)
        return np.asarray(np.sum(f**2, axis=(1, 2)) / 2 - self.weight * logarithms.sum(axis=1))

    def slope(self, f: Array) -> Array:
        """Gradient (k, p, 3) of the objective."""
        return np.asarray(f - 2.0 * self.weight * times(self.cones, f) / self.margins(f)[..., None])

    def third(self, f: Array, v: Array) -> Array:
        """Third derivative (k, p, 3) of the objective along v twice."""
        Jf, Jv = times(self.cones, f), times(self.cones, v)
        c, a, b = (np.sum(x, axis=-1, keepdims=True) for x in (f * Jf, f * Jv, v * Jv))
        curved = (8.0 * a * Jv + 4.0 * b * Jf) / c**2 - 16.0 * a**2 * Jf / c**3
        return np.asarray(self.weight * curved)

    def solve(self, f: Array, slope: Array, wanted: Array) -> Array:
        """x of H x + G^T y = -slope, G x = wanted (k, 6), with the Hessian at f."""
        Jf, c = times(self.cones, f), self.margins(f)[..., None, None]
        curved = 4.0 * Jf[..., :, None] * Jf[..., None, :] / c**2 - 2.0 * self.cones / c
        inverse = np.linalg.inv(np.eye(3) + self.weight * curved)
        compliance = np.einsum("pij,kpjl,pml->kim", self.grasp, inverse, self.grasp)
        x = -times(inverse, slope)
        for _ in range(2):  # once more against rounding
            missing = wanted - self.exerted(x)
            y = np.linalg.solve(compliance, missing[..., None])[..., 0]
            x = x + times(inverse, np.einsum("pij,ki->kpj", self.grasp, y))
        return np.asarray(x)

    def towards(self, f: Array, wanted: Array) -> Array:
        """f after a step that brings G f closer to `wanted` (k, 6), or to it."""
        way = self.solve(f, np.zeros_like(f), wanted - self.exerted(f))
        least = NEARER * self.margins(f)
        return _stepped(f, way, lambda g, step: (self.margins(g) < least).any(axis=1))

    def centred(self, f: Array) -> tuple[Array, Array]:
        """f after a step of Newton's method that keeps G f, and the size (k,) of a full step."""
        slope, before = self.slope(f), self.objective(f)
        way = self.solve(f, slope, np.zeros((len(f), 6)))
        fall = PROGRESS * np.sum(slope * way, axis=(1, 2))
        size = np.abs(way).max(axis=(1, 2))

        def rises(g: Array, step: Array) -> Any:
            return (self.objective(g) > before + step * fall) & (size > CONVERGED)

        return _stepped(f, way, rises), size


def _stepped(f: Array, way: Array, is_too_long: Callable[[Array, Array], Any]) -> Array:
    """f + step * way, with the step (k,) halved from 1 until it is short enough."""
    step = np.ones(len(f))
    for _ in range(HALVINGS):
        trial = f + step[:, None, None] * way
        poor = is_too_long(trial, step)
        if not poor.any():
            return trial
        step[poor] /= 2.0
    return np.where(poor[:, None, None], f, trial)


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
    if np.linalg.matrix_rank(np.concatenate(list(grasp), axis=1), tol=RANK) < 6:
        raise InputError(
            f"the {len(x)} contact points are on a line: they exert no moment about it"
        )
    wanted = wrench / share
    wanted[..., :3] = (wanted[..., :3] - np.cross(centre, wanted[..., 3:])) / length
    cones = (1.0 + mu[:, None, None] ** 2) * n[:, :, None] * n[:, None, :] - np.eye(3)
    problem = _Barrier(grasp, cones, n, barrier)

    start = np.tile(n, (len(wanted), 1, 1))
    f, W = start.copy(), wanted[:, 0]
    searched, is_held = np.arange(len(f)), np.zeros(len(f), dtype=bool)
    for _ in range(ITERATIONS):
        g = problem.towards(f[searched], W[searched])
        f[searched], size = problem.centred(g)
        missing = np.abs(problem.exerted(g) - W[searched]).max(axis=1)
        is_found = (size <= CONVERGED) & (missing <= CONVERGED)
        is_held[searched[is_found]] = True
        searched = searched[~is_found & (problem.margins(g).min(axis=1) > CLOSEST)]
        if not len(searched):
            break
    f[~is_held] = start[~is_held]
    f = f + problem.solve(f, problem.slope(f), W - problem.exerted(f))  # what CONVERGED leaves
    rate = problem.solve(f, np.zeros_like(f), wanted[:, 1])
    second = problem.solve(f, problem.third(f, rate), wanted[:, 2])
    return share * np.stack([f, rate, second], axis=1), is_held
