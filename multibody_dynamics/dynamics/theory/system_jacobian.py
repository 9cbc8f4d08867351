# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The system Jacobian of all bodies, its factors and its time derivative.

The stacked twists V (6n) of the n bodies are V = J q'. The system Jacobian J (6N, n) is the
product of a block triangular A (6N, 6N) and block diagonal joint screws X (6N, n), [M18d] (112):

    V = D V + X q'      J = A X      A = (I - D)^-1 = I + D + D^2 + ...

D is nilpotent: its block (i, p) transforms the twist of the parent p to the frame of body i, and
all other blocks are zero. Block (i, j) of A does the same for every joint j on the path from the
base to body i (j <= i in a chain). With r_ij = r_j - r_i in inertial axes:

    representation   A_ij, D_ip                          X_i
    body             Ad_{C_ij}                           X_i, constant       [M18k] 3.1.3
    spatial          1, so that A is L of [M18d] (18)    J^s_i               [M18k] 3.2.3
    hybrid           Ad_{r_ij}                           Ad_{R_i} X_i        [M18k] 3.3.3
    mixed            [[R_i^T R_j, 0], [r_ij^ R_j, 1]]    diag(1, R_i) X_i    [M18k] 3.4.3

Differentiation gives (I - D) V' = X q'' + X' q' + D' V, and therefore J' = A (X' + D' J).

The spatial Jacobian has two more factorisations with constant screws; see `spatial_factors`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, as_array, broadcast_shapes, times, transposed
from ..lie import Representation, check_representation, se3, so3
from ..model import MultibodyModel, model_state
from ..rigid import forward_kinematics


def _matrix(method: Callable[[SystemKinematics], Array]) -> cached_property[Array]:
    """A read-only array that is computed on first access."""

    def compute(self: SystemKinematics) -> Array:
        array = method(self)
        array.flags.writeable = False
        return array

    compute.__doc__ = method.__doc__
    return cached_property(compute)


@dataclass(frozen=True, eq=False)
class SystemKinematics:
    """The system matrices in one representation, at one state or a batch of them.

    Made by :func:`system_kinematics`. Of N bodies, body i has the rows 6i ... 6i + 5, angular part
    first.

    Attributes
    ----------
    pose : (..., N, 4, 4) C_i.
    qd : (..., n) or None. Without it, every matrix that depends on q' raises InputError.
    """

    model: MultibodyModel
    representation: Representation
    pose: Array
    qd: Array | None

    @_matrix
    def X(self) -> Array:
        """(..., 6N, n): the joint screws, each in the representation of its own body."""
        return block_diagonal(self._screws[..., None]) @ self.model.coordinate_map

    @_matrix
    def D(self) -> Array:
        """(..., 6N, 6N): transforms the twist of the parent to the body; [M18k] (23)."""
        return _assemble(self._transfers * _mask(_is_parent(self.model)))

    @_matrix
    def A(self) -> Array:
        """(..., 6N, 6N): (I - D)^-1, assembled from its blocks; [M18k] (25)."""
        return _assemble(self._transfers * _mask(self.model.tree.moved_by))

    @_matrix
    def A_inverse(self) -> Array:
        """(..., 6N, 6N): I - D; [M18k] 3.1.3."""
        return np.eye(6 * self.model.body_count) - self.D

    @_matrix
    def L(self) -> Array:
        """(6N, 6N): identity blocks wherever A has blocks; [M18d] (18)."""
        return _assemble(_mask(self.model.tree.moved_by) * np.eye(6))

    @_matrix
    def J(self) -> Array:
        """(..., 6N, n): the system Jacobian A X; [M18d] (112), [M18k] (24)."""
        return self.A @ self.X

    @_matrix
    def V(self) -> Array:
        """(..., 6N): the system twist J q'; [M18d] (111)."""
        return times(self.J, self._rates)

    @_matrix
    def a(self) -> Array:
        """(..., 6N, 6N): diag(q'_i ad_{X_i}), [M18d] (9); J'^b = -A a J, (8). Body-fixed only."""
        self._only("a", "body")
        rates = self._rates[..., self.model.coordinates]
        return block_diagonal(rates[..., None, None] * se3.ad(self._screws))

    @_matrix
    def b(self) -> Array:
        """(..., 6N, 6N): diag(ad_{V_i}); b^s of [M18d] (19), b^b of (82). Spatial or body-fixed."""
        self._only("b", "spatial", "body")
        return block_diagonal(se3.ad(self._twists))

    @_matrix
    def X_dot(self) -> Array:
        """(..., 6N, n): X', componentwise; 0 body-fixed, b X spatial, [omega_i, X_i] hybrid."""
        if self.representation == "body":
            return np.zeros_like(self.X)
        if self.representation == "spatial":
            return self.b @ self.X
        angular, linear = self._screws[..., :3], self._screws[..., 3:]
        turned = np.cross(self._omega, angular)
        if self.representation == "mixed":
            turned = np.zeros_like(turned)  # the joint axis is constant in the axes of the body
        rate = np.concatenate([turned, np.cross(self._omega, linear)], axis=-1)
        return block_diagonal(rate[..., None]) @ self.model.coordinate_map

    @_matrix
    def D_dot(self) -> Array:
        """(..., 6N, 6N): D', componentwise; -a D body-fixed, 0 spatial, ad_(0, r'_ip) hybrid."""
        if self.representation == "body":
            return -self.a @ self.D
        if self.representation == "spatial":
            return np.zeros_like(self.D)
        rates = np.zeros_like(self._transfers)
        shift = so3.hat(_of_j(self._twists[..., 3:]) - _of_i(self._twists[..., 3:]))
        if self.representation == "mixed":
            R, W = self.pose[..., :3, :3], so3.hat(self._omega)
            turned = _of_j(W @ R, 2)
            rates[..., :3, :3] = _of_i(transposed(R), 2) @ (turned - _of_i(W, 2) @ _of_j(R, 2))
            shift = shift @ _of_j(R, 2) + self._ways @ turned
        rates[..., 3:, :3] = shift
        return _assemble(rates * _mask(_is_parent(self.model)))

    @_matrix
    def J_dot(self) -> Array:
        """(..., 6N, n): J' = A (X' + D' J), componentwise; [M18d] (8), (18).

        Body-fixed this is -A a J, spatial L b X.
        """
        return self.A @ (self.X_dot + self.D_dot @ self.J)

    def acceleration(self, qdd: Any) -> Array:
        """V' = J q'' + J' q' (..., 6N) for q'' (..., n), componentwise; [M18d] (10), (18)."""
        qdd = as_array("qdd", qdd, (self.model.n,), self.model.joint_names)
        broadcast_shapes(("states", "qdd"), (self.V.shape[:-1], qdd.shape[:-1]))
        return times(self.J, qdd) + times(self.J_dot, self._rates)

    @property
    def _rates(self) -> Array:
        if self.qd is None:
            raise InputError("qd was not given; twists and derivatives of the matrices require it")
        return self.qd

    def _only(self, matrix: str, *where: str) -> None:
        if self.representation not in where:
            raise InputError(
                f"the matrix {matrix} is defined in {' and '.join(where)} representation, not in "
                f"{self.representation}"
            )

    @cached_property
    def _screws(self) -> Array:
        """X_i (..., n, 6)."""
        X = np.broadcast_to(self.model.body_screws, (*self.pose.shape[:-2], 6))
        if self.representation == "body":
            return X
        if self.representation == "spatial":
            return times(se3.Ad(self.pose), X)
        R = self.pose[..., :3, :3]
        angular = X[..., :3] if self.representation == "mixed" else times(R, X[..., :3])
        return np.concatenate([angular, times(R, X[..., 3:])], axis=-1)

    @cached_property
    def _transfers(self) -> Array:
        """(..., n, n, 6, 6): block (i, j) transforms a twist from body j to body i, for a rigid
        connection between the two."""
        if self.representation == "body":
            return se3.Ad(_of_i(se3.inverse(self.pose), 2) @ _of_j(self.pose, 2))
        n = self.model.body_count
        transfers = np.zeros((*self.pose.shape[:-3], n, n, 6, 6))
        transfers[...] = np.eye(6)
        if self.representation == "spatial":
            return transfers
        shift = self._ways
        if self.representation == "mixed":
            R = self.pose[..., :3, :3]
            transfers[..., :3, :3] = _of_i(transposed(R), 2) @ _of_j(R, 2)
            shift = shift @ _of_j(R, 2)
        transfers[..., 3:, :3] = shift
        return transfers

    @cached_property
    def _ways(self) -> Array:
        """r_ij^ (..., n, n, 3, 3) with r_ij = r_j - r_i in inertial axes."""
        r = self.pose[..., :3, 3]
        return so3.hat(_of_j(r) - _of_i(r))

    @cached_property
    def _twists(self) -> Array:
        """V_i (..., n, 6)."""
        return self.V.reshape(*self.V.shape[:-1], self.model.body_count, 6)

    @cached_property
    def _omega(self) -> Array:
        """(..., n, 3): angular velocities in inertial axes, from hybrid or mixed twists."""
        omega = self._twists[..., :3]
        return times(self.pose[..., :3, :3], omega) if self.representation == "mixed" else omega


def system_kinematics(
    model: MultibodyModel, q: Any, qd: Any | None = None, *, representation: Representation = "body"
) -> SystemKinematics:
    """The system Jacobian with its factors and derivatives at q and q' (..., n), rad or m, per s.

    [M18d] (8)-(10), (17)-(19), (111), (112); [M18k] 3.1.3 (22)-(26), 3.2.3 (32), 3.3.3 and 3.4.3.

        k = dyn.theory.system_kinematics(model, q, qd)
        k.V                                              # stacked twists of all bodies, k.J @ qd
        k.acceleration(qdd)                              # their time derivatives
        np.allclose(k.J_dot, -k.A @ k.a @ k.J)           # [M18d] (8)

    Raises InputError for wrong shapes, NaN or infinity, and an unknown representation.
    """
    check_representation(representation)
    states, shape, given = model_state(model, q, qd)
    if given == 0:
        raise InputError("kinematics requires q")
    states = states.reshape(*shape, 5, model.n)
    states.flags.writeable = False
    pose = forward_kinematics(model, states[..., 0, :]).pose
    pose.flags.writeable = False
    return SystemKinematics(model, representation, pose, states[..., 1, :] if given > 1 else None)


class SpatialFactors(NamedTuple):
    """J^s = A X with constant joint screws X (6N, n); A and its inverse are (..., 6N, 6N)."""

    A: Array
    A_inverse: Array
    X: Array


def spatial_factors(
    model: MultibodyModel, q: Any, screws: Literal["spatial", "body"] = "spatial"
) -> SpatialFactors:
    """Factors of the spatial system Jacobian with constant screws, at q (..., n).

    [M18d] (112), [M18k] (33):

    "spatial": J^s = A^s Y^s,   X = diag(Y_i),  A_ij = Ad_{C_j A_j^-1}
    "body":    J^s = A^sb X^b,  X = diag(X_i),  A_ij = Ad_{C_j}

    for every joint j on the path to body i; all blocks of a column are equal. With K = diag(A_jj),
    A is L K, and its inverse is K^-1 (1 - D) with the D of the spatial representation. For A^s this
    is diag(Ad_{A_i}) (1 - D^b) diag(Ad_{C_i}^-1), as in [M18k] (50).

    Raises InputError for wrong shapes, NaN or infinity, and other `screws`.
    """
    if screws not in ("spatial", "body"):
        raise InputError(f"screws: expected 'spatial' or 'body', got '{screws}'")
    kinematics = system_kinematics(model, q, representation="spatial")
    moved, X = kinematics.pose, model.body_screws
    if screws == "spatial":
        moved, X = moved @ se3.inverse(model.poses), model.screws
    K, K_inverse = (block_diagonal(se3.Ad(C)) for C in (moved, se3.inverse(moved)))
    return SpatialFactors(
        kinematics.L @ K,
        K_inverse @ kinematics.A_inverse,
        block_diagonal(X[..., None]) @ model.coordinate_map,
    )


def resolvent(D: Any) -> Array:
    """(1 - D)^-1 of a nilpotent D (..., m, m) by its Neumann series 1 + D + D^2 + ...

    [M18k] (26). The last term is D^(d-1) for a tree of depth d, with d = n for a chain of n bodies.
    Raises InputError for a matrix that is not square or not nilpotent.
    """
    size = np.shape(D)[-1] if np.ndim(D) else 0
    D = as_array("D", D, (size, size))
    total = power = np.broadcast_to(np.eye(size), D.shape)
    for _ in range(size):
        power = power @ D
        if not power.any():
            return total.copy()
        total = total + power
    raise InputError(f"D is not nilpotent: D^{size} is not zero")


def _is_parent(model: MultibodyModel) -> NDArray[np.bool_]:
    """(N, N): whether body j is the parent of body i."""
    return np.arange(model.body_count) == model.parents[:, None]


def _mask(pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return pairs[:, :, None, None]


def _of_i(values: Array, axes: int = 1) -> Array:
    """Values of the bodies over pairs (i, j), indexed by i; each value has `axes` axes."""
    return np.expand_dims(values, -1 - axes)


def _of_j(values: Array, axes: int = 1) -> Array:
    """Values of the bodies over pairs (i, j), indexed by j; each value has `axes` axes."""
    return np.expand_dims(values, -2 - axes)


def block_diagonal(blocks: Array) -> Array:
    """A matrix (..., 6n, k n) with the blocks (..., n, 6, k) on its diagonal."""
    n, k = blocks.shape[-3], blocks.shape[-1]
    spread = np.zeros((*blocks.shape[:-3], n, 6, n, k))
    each = np.arange(n)
    spread[..., each, :, each, :] = np.moveaxis(blocks, -3, 0)
    return spread.reshape(*blocks.shape[:-3], 6 * n, k * n)


def _assemble(blocks: Array) -> Array:
    """The matrix (..., 6N, 6N) made of the blocks (..., n, n, 6, 6)."""
    n = blocks.shape[-3]
    return np.swapaxes(blocks, -3, -2).reshape(*blocks.shape[:-4], 6 * n, 6 * n)
