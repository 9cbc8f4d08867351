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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, IndependentCopies, InputError, compiled, inlined
from ..lie import so3
from ..mechanisms import factorise, solve
from ..model import MultibodyModel

ITERATIONS, HALVINGS = 100, 40
CONVERGED = 1e-6  # last step of Newton's method, whose error is about the square
NEARER = 0.1  # least share of c that remains after a step towards W
PROGRESS = 0.1  # share of the expected decrease of the objective that a step must achieve
CLOSEST = 1e-6  # c, below which no forces inside the cones are assumed
BARRIER = 0.1  # beta, unless another one is chosen
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


@inlined
def _margin(cone, normal, f):
    """c of a force f (3,); negative for one that pulls, too."""
    c = f @ (cone @ f)
    return c if f @ normal > 0.0 else -abs(c)


@inlined
def _exerted(grasp, f):
    """G f (6,) of forces f (p, 3)."""
    W = np.zeros(6)
    for i in range(len(f)):
        W += grasp[i] @ f[i]
    return W


@inlined
def _objective(cones, normals, weight, f):
    """Infinite outside of the cones."""
    value = 0.5 * np.sum(f * f)
    for i in range(len(f)):
        c = _margin(cones[i], normals[i], f[i])
        if not c > 0.0:
            return np.inf
        value -= weight * np.log(c)
    return value


@inlined
def _slope(cones, weight, f):
    """Gradient (p, 3) of the objective inside the cones."""
    slope = f.copy()
    for i in range(len(f)):
        Jf = cones[i] @ f[i]
        slope[i] -= 2.0 * weight / (f[i] @ Jf) * Jf
    return slope


@inlined
def _third(cones, weight, f, v):
    """Third derivative (p, 3) of the objective along v twice."""
    found = np.empty_like(f)
    for i in range(len(f)):
        Jf, Jv = cones[i] @ f[i], cones[i] @ v[i]
        c, a, b = f[i] @ Jf, f[i] @ Jv, v[i] @ Jv
        found[i] = (8.0 * a * Jv + 4.0 * b * Jf) / c**2 - 16.0 * a**2 * Jf / c**3
    return weight * found


@inlined
def _solve(grasp, cones, weight, f, slope, wanted):
    """x (p, 3) of H x + G^T y = -slope, G x = wanted (6,), with the Hessian at f."""
    x, yielding, compliance = np.empty_like(f), np.empty_like(grasp), np.zeros((6, 6))
    order, y = np.empty(6, dtype=np.int64), np.empty(6)
    for i in range(len(f)):
        Jf = cones[i] @ f[i]
        c = f[i] @ Jf
        H = np.eye(3) + weight * (4.0 * Jf.reshape(3, 1) * Jf / c**2 - 2.0 * cones[i] / c)
        factorise(H, 3, np.ones(3), order)
        solve(H, 3, order, -slope[i], x[i])
        for a in range(6):
            solve(H, 3, order, grasp[i, a], yielding[i, a])
            for b in range(6):
                compliance[b, a] += grasp[i, b] @ yielding[i, a]
    factorise(compliance, 6, np.ones(6), order)
    for _ in range(3):  # twice more against rounding
        solve(compliance, 6, order, wanted - _exerted(grasp, x), y)
        for i in range(len(f)):
            x[i] += y @ yielding[i]
    return x


def find_forces(grasp, cones, normals, weight, wrenches, start, forces, is_held):
    """Write the forces (k, 3, p, 3) that exert the wrenches (k, 3, 6), with two rates, and whether
    they are inside the cones (k,). grasp : G, (p, 6, 3). cones : J, (p, 3, 3).

    The search begins at `start` (p, 3), then at the forces of the state before, if there are some.
    """
    f = start.copy()
    for k in range(len(wrenches)):
        W, is_held[k] = wrenches[k, 0], False
        for _ in range(ITERATIONS):
            # towards W, as far as the cones allow
            way = _solve(grasp, cones, weight, f, np.zeros_like(f), W - _exerted(grasp, f))
            step, closest = 1.0, 0.0
            for _ in range(HALVINGS):
                closest, is_near = np.inf, False
                for i in range(len(f)):
                    c = _margin(cones[i], normals[i], f[i] + step * way[i])
                    closest = min(closest, c)
                    is_near = is_near or c < NEARER * _margin(cones[i], normals[i], f[i])
                if not is_near:
                    f += step * way
                    break
                step *= 0.5
            # Newton's step, which keeps what they exert
            slope, before = _slope(cones, weight, f), _objective(cones, normals, weight, f)
            way = _solve(grasp, cones, weight, f, slope, np.zeros(6))
            size, fall, step = np.abs(way).max(), PROGRESS * np.sum(slope * way), 1.0
            for _ in range(HALVINGS):
                value = _objective(cones, normals, weight, f + step * way)
                if size <= CONVERGED or value <= before + step * fall:
                    f += step * way
                    break
                step *= 0.5
            missing = np.abs(_exerted(grasp, f) - W).max()
            is_held[k] = size <= CONVERGED and missing <= CONVERGED
            if is_held[k] or not closest > CLOSEST:
                break
        if not is_held[k]:
            f = normals.copy()
        # what CONVERGED leaves
        f += _solve(grasp, cones, weight, f, _slope(cones, weight, f), W - _exerted(grasp, f))
        rate = _solve(grasp, cones, weight, f, np.zeros_like(f), wrenches[k, 1])
        curved = _third(cones, weight, f, rate)
        forces[k, 0], forces[k, 1] = f, rate
        forces[k, 2] = _solve(grasp, cones, weight, f, curved, wrenches[k, 2])
        if not is_held[k]:
            f = normals.copy()


compiled_find_forces = compiled(find_forces)


def share_of_weight(model: MultibodyModel, count: int) -> float:
    """The weight of a robot per contact point, N. Raises InputError for a robot without weight."""
    mass = model.inertias[:, 5, 5].sum() + model.base_inertia[5, 5]
    weight = float(mass * np.linalg.norm(model.gravity))
    if not weight > 0.0:
        raise InputError(f"robot '{model.name}' has no weight that presses it onto contacts")
    return weight / count


class ForcesInCones(IndependentCopies):
    """The forces at these contacts that exert a wrench.

    share : N, the unit of forces in the objective: about the largest one.
    barrier : beta.

    Raises InputError for points on a line, about which they exert no moment.
    """

    def __init__(self, contacts: PointContacts, share: float, barrier: float) -> None:
        x, n, mu = contacts
        self._share, self._barrier, self._normals = share, barrier, np.array(n)
        centre = x.mean(axis=0)
        self._moment = so3.hat(centre).T  # moment of a force f at the centre: f @ _moment
        self._length = length = float(np.sqrt(np.mean((x - centre) ** 2))) or 1.0
        turning = so3.hat((x - centre) / length)
        self._grasp = np.concatenate([turning, np.tile(np.eye(3), (len(x), 1, 1))], axis=1)
        if np.linalg.matrix_rank(np.concatenate(list(self._grasp), axis=1), tol=RANK) < 6:
            raise InputError(
                f"the {len(x)} contact points are on a line: they exert no moment about it"
            )
        self._cones = (1.0 + mu[:, None, None] ** 2) * n[:, :, None] * n[:, None, :] - np.eye(3)

    def __call__(
        self, wrench: Array, start: Array | None = None
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Forces (k, 3, p, 3) with two rates that exert a wrench (k, 3, 6), and where they exist
        (k,).

        wrench : with two rates, in inertial axes about the inertial origin, N m, N and per s^k.
        start : (p, 3) forces inside the cones, N, near those of the first wrench, if known.
        """
        wanted = wrench / self._share
        wanted[..., :3] -= wanted[..., 3:] @ self._moment
        wanted[..., :3] /= self._length
        forces = np.empty((len(wanted), 3, *self._normals.shape))
        is_held = np.empty(len(wanted), dtype=bool)
        first = self._normals if start is None else start / self._share
        compiled_find_forces(
            self._grasp, self._cones, self._normals, self._barrier, wanted, first, forces, is_held
        )
        return self._share * forces, is_held
