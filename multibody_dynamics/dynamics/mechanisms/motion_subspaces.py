# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motion subspaces of joints with several degrees of freedom; [K12] section 2.

The child frame of a joint has the pose T(q) in the frame that the joint is mounted on, T(0) = 1.
In the child frame the joint contributes the twist V = S(q) q' with the 6 x k motion subspace

    S(q) = (T^-1 dT/dq_1, ..., T^-1 dT/dq_k).

(The paper prints T^-1 dT^-1/dq, which is not a twist.) Two kinds of coordinates are available for
any joint, [M18k] remark 4: the second kind, T = exp(X_1 q_1) ... exp(X_k q_k), as for a sequence of
joints with one degree of freedom; and the first kind, T = exp(X_1 q_1 + ... + X_k q_k).

The screws X refer to the child frame at q = 0; :mod:`.joints` has those of the usual joints.

Every such choice of coordinates of a ball is singular somewhere. A :class:`BodyFixedJoint` avoids
this: its rates are the components of the twist V instead of derivatives of q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..core import (
    STATE_ROWS,
    Array,
    ModelError,
    as_array,
    broadcast_shapes,
    compiled,
    product,
    read_only,
    refused_as,
    times,
)
from ..lie import se3
from ..lie.exponentials import exp_se3
from ..lie.screws import load_screw
from ..model import joints
from ..model.joints import ORIGIN
from .local_coordinates import structure_constants

Exponential = TypeVar("Exponential", bound="ExponentialJoint")

_HORNER_TERMS = 24  # enough for the third derivative of the series at rotations below 1 rad


@dataclass(frozen=True, eq=False)
class Joint(ABC):
    """A joint with k degrees of freedom, given by its screws X (k, 6) at q = 0; immutable.

    Coordinates are (..., k), rad or m; q and its derivatives broadcast. All methods raise
    InputError for wrong shapes, NaN or infinity. The constructor raises ModelError for a zero
    screw, no screws, and more than six.
    """

    screws: Array

    #: Where S loses rank and how to avoid it, for messages.
    singularity: ClassVar[str]

    def __post_init__(self) -> None:
        with refused_as(ModelError):
            screws = np.atleast_2d(as_array("screws", self.screws, (6,)))
        if screws.ndim != 2 or not 1 <= len(screws) <= 6 or not np.any(screws, axis=1).all():
            raise ModelError(f"a joint has one to six nonzero screws (k, 6); got {self.screws}")
        object.__setattr__(self, "screws", read_only(screws))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Keep the arrays of copies and unpickled joints read-only."""
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def degrees(self) -> int:
        """The number k of degrees of freedom and coordinates."""
        return len(self.screws)

    @abstractmethod
    def pose(self, q: Any) -> Array:
        """The pose T(q) (..., 4, 4) of the child frame in the frame the joint is mounted on."""

    def subspace(self, q: Any) -> Array:
        """The motion subspace S(q) (..., 6, k), in the child frame."""
        return self.subspace_rates(q)[0]

    def subspace_dot(self, q: Any, qd: Any) -> Array:
        """S'(q, q') (..., 6, k), the time derivative of the components of S."""
        return self.subspace_rates(q, qd)[1]

    def subspace_rates(self, q: Any, *rates: Any) -> list[Array]:
        """S, S', ... (..., 6, k), one derivative for each of the `rates` q', q'', ..."""
        names = [
            STATE_ROWS[k] if k < len(STATE_ROWS) else f"q^({k})" for k in range(len(rates) + 1)
        ]
        rows = [
            as_array(name, row, (self.degrees,))
            for name, row in zip(names, (q, *rates), strict=True)
        ]
        shape = broadcast_shapes(names, [row.shape[:-1] for row in rows])
        return self._rates([np.broadcast_to(row, (*shape, self.degrees)) for row in rows])

    @abstractmethod
    def _rates(self, rows: list[Array]) -> list[Array]:
        """S, S', ... for q, q', ... of one shape (..., k)."""


class CompositeJoint(Joint):
    """Coordinates of the second kind: T = exp(X_1 q_1) ... exp(X_k q_k).

    The same joint as :func:`.model_from_screws` makes from a stack of screws, but without massless
    bodies in between. The screws may come from :func:`.universal`, cylindrical, planar, spherical
    or floating, as in `CompositeJoint(dyn.universal(...))`, or may be one screw (6,) from
    :func:`.revolute`, prismatic or helical.
    """

    singularity = (
        "where its axes become dependent: for yaw, pitch and roll at a pitch of +-90 deg. Stay "
        "away from it, reorder the axes to move it out of the workspace, or use a BodyFixedJoint "
        "for a ball or free joint, which is singular nowhere"
    )

    def pose(self, q: Any) -> Array:
        q = as_array("q", q, (self.degrees,))
        T = np.eye(4)
        for j, X in enumerate(self.screws):
            T = T @ se3.exp(X * q[..., j, None])
        return T

    def _screws_at(self, q: Array) -> Array:
        """S(q): X_j transformed by the inverse motion of the joints that follow it."""
        S = np.empty((*q.shape[:-1], 6, self.degrees))
        following = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for j in reversed(range(self.degrees)):
            S[..., j] = se3.Ad(se3.inverse(following)) @ self.screws[j]
            following = se3.exp(self.screws[j] * q[..., j, None]) @ following
        return S

    def _rates(self, rows: list[Array]) -> list[Array]:
        """S_j' = -ad_U S_j and its derivatives, with U the twist of the joints after j."""
        S = [self._screws_at(rows[0])]
        S += [np.zeros_like(S[0]) for _ in rows[1:]]
        U = [np.zeros((*rows[0].shape[:-1], 6)) for _ in rows[1:]]
        for j in reversed(range(self.degrees)):
            for k in range(len(U)):
                for r in range(k + 1):
                    S[k + 1][..., j] -= comb(k, r) * times(se3.ad(U[r]), S[k - r][..., j])
            for k in range(len(U)):
                for r in range(k + 1):
                    U[k] += comb(k, r) * S[r][..., j] * rows[k + 1 - r][..., j, None]
        return S


@dataclass(frozen=True, eq=False)
class SphericalJoint(CompositeJoint):
    """Yaw, pitch and roll about the origin of the child frame.

    R = Rot_z(q_1) Rot_y(q_2) Rot_x(q_3), the coordinates of :func:`.spherical`. Singular at the
    pitch q_2 = +-pi/2.
    """

    screws: Array = field(init=False, default_factory=joints.spherical)


class ExponentialJoint(Joint):
    """Coordinates of the first kind: T = exp(x) with x = X_1 q_1 + ... + X_k q_k.

    S = dexp_-x (X_1, ..., X_k), regular below a full turn, |omega| < 2 pi. The usual joints of this
    kind are :meth:`spherical` and :meth:`floating`.
    """

    singularity = (
        "at a full turn, where its rotation vector has the length 2 pi. Before that, switch to the "
        "shorter rotation vector of the same pose, dyn.se3.log(joint.pose(q))"
    )

    @classmethod
    def spherical(cls: type[Exponential], point: Any = ORIGIN) -> Exponential:
        """A spherical joint about `point`; q (3,) is the rotation vector, axis times angle."""
        return cls(joints.spherical(point)[::-1])

    @classmethod
    def floating(cls: type[Exponential]) -> Exponential:
        """A free joint; q (6,) is the screw (omega, v) of the pose, T = exp(q)."""
        return cls(np.eye(6))

    def pose(self, q: Any) -> Array:
        x = as_array("q", q, (self.degrees,)) @ self.screws
        T = np.zeros((*x.shape[:-1], 4, 4))
        _compiled_exponentials(x.reshape(-1, 6), T.reshape(-1, 4, 4))
        return T

    def _rates(self, rows: list[Array]) -> list[Array]:
        dexp = _dexp_rates([-se3.ad(row @ self.screws) for row in rows])
        return [D @ self.screws.T for D in dexp]


class BodyFixedJoint(ExponentialJoint):
    """A pose and its body-fixed twist: T = exp(X_1 q_1 + ... + X_k q_k), V = X_1 nu_1 + ... .

    The rows q', q'', ... of a motion are nu, nu', ..., the twist along the screws, and the torques
    are conjugate to nu: no pose is singular. For :meth:`spherical`, q is the rotation vector of R,
    `so3.log(R)`, of any length; nu is R^T omega, and the torque is the moment, both in the axes of
    the child frame. For :meth:`floating`, q is `se3.log(T)`, and V the body-fixed twist. To
    integrate, multiply: T exp(V dt).

    Raises ModelError unless the motions along the screws form a group, as those of a spherical,
    planar, cylindrical or free joint do.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if structure_constants(self.screws) is None:
            raise ModelError(
                "the motions of a BodyFixedJoint must form a group, as those of a spherical, planar"
                f" or free joint do; use a CompositeJoint or ExponentialJoint; got {self.screws}"
            )

    def _rates(self, rows: list[Array]) -> list[Array]:
        rates = np.zeros((len(rows), *rows[0].shape[:-1], 6, self.degrees))
        rates[0] = self.screws.T
        return list(rates)


def _exponentials(screws, poses):
    """exp of each screw (6,) into poses (4, 4) of zeros."""
    for i in range(screws.shape[0]):
        R, p = exp_se3(load_screw(screws, i, 0))
        for r in range(3):
            for c in range(3):
                poses[i, r, c] = R[3 * r + c]
            poses[i, r, 3] = p[r]
        poses[i, 3, 3] = 1.0


_compiled_exponentials = compiled(_exponentials)


def _dexp_rates(A: list[Array]) -> list[Array]:
    """dexp(A) = 1 + A/2! + A^2/3! + ... and its derivatives, from A, A', ... (..., 6, 6).

    A is halved until the power series converges fast, evaluated by Horner's scheme, and doubled
    again by dexp(2 A) = (1 + A dexp(A) / 2) dexp(A). :func:`.se3.dexp` has no derivatives.
    """
    turn = np.abs(A[0][..., :3, :3]).max(initial=0.0)
    doublings = max(0, int(np.ceil(np.log2(turn)))) + 1 if turn > 0 else 0
    A = [x / 2**doublings for x in A]
    D = [np.eye(6) + 0 * A[0], *(0 * x for x in A[1:])]
    for j in range(_HORNER_TERMS, 1, -1):
        D = _one_plus(1 / j, A, D)
    for _ in range(doublings):
        D = product(_one_plus(1 / 2, A, D), D)
        A = [2 * x for x in A]
    return D


def _one_plus(factor: float, A: Sequence[Array], B: Sequence[Array]) -> list[Array]:
    """1 + factor A B and its derivatives."""
    value, *rates = (factor * x for x in product(A, B))
    return [np.eye(6) + value, *rates]
