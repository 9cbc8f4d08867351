# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Four equivalent descriptions of the configuration of a tree; [M18k] section 2.

With body-fixed joint frames   C_{p,i} = S_{p,i} exp(Z_i q_i) S_{i,i}^-1       [M18d] (91)
without joint frames           C_{p,i} = B_i exp(X_i q_i)                      [M18d] (91), (92)
                                       = exp(X^p_i q_i) B_i                    [M18k] (6)-(8)
without body-fixed screws      C_i     = exp(Y_1 q_1) ... exp(Y_i q_i) A_i     [M18d] (93)

p is the parent of body i (i - 1 in a chain), and C_{p,i} is the pose of body i in the frame of p.
The product (93) runs along the path from the base to body i. The four screws of a joint are the
same geometric object, at q = 0, in different frames:

    Y_i = Ad_{A_i} X_i        X_i = Ad_{S_ii} Z_i       [M18d] (94)
    X^p_i = Ad_{B_i} X_i      B_i = S_{p,i} S_ii^-1      A_i = A_p B_i
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Array, ModelError, as_array, read_only, refused_as, times
from ..lie import se3
from ..model import MultibodyModel, model_from_screws
from ..model.records import ANGULAR, LINEAR


@dataclass(frozen=True, eq=False)
class _Description(ABC):
    """Base of the descriptions: the tree, and the conversions to the other descriptions.

    All arrays are read-only copies. Raises ModelError for wrong shapes, NaN or infinity, frames
    that are not rigid transformations, and parents that do not come before their children.
    """

    parents: NDArray[np.int64]

    def __post_init__(self) -> None:
        values: dict[str, NDArray[Any]] = {"parents": _parents(self.parents)}
        for item in fields(self)[1:]:
            tail = (6,) if item.name == "screws" else (4, 4)
            shape = (len(values["parents"]), *tail)
            values[item.name] = _checked(item.name, getattr(self, item.name), shape)
        for name, array in values.items():
            object.__setattr__(self, name, read_only(array, array.dtype))

    @property
    def n(self) -> int:
        """The number of joints, which is also the number of bodies and of coordinates."""
        return len(self.parents)

    @abstractmethod
    def poses(self, q: Any) -> Array:
        """The poses C_i (..., n, 4, 4) of all bodies at q (..., n), rad or m.

        Raises InputError for a wrong shape, NaN or infinity.
        """

    @abstractmethod
    def body_screws(self) -> BodyScrewDescription:
        """The same tree described by B_i and X_i."""

    def parent_screws(self) -> ParentScrewDescription:
        """The same tree described by B_i and X^p_i = Ad_{B_i} X_i, [M18k] (7)."""
        body = self.body_screws()
        B = body.relative_poses
        return ParentScrewDescription(self.parents, B, times(se3.Ad(B), body.screws))

    def spatial_screws(self) -> SpatialScrewDescription:
        """The same tree described by A_i = A_p B_i and Y_i = Ad_{A_i} X_i, [M18d] (94)."""
        body = self.body_screws()
        A = _along_the_tree(self.parents, body.relative_poses)
        return SpatialScrewDescription(self.parents, A, times(se3.Ad(A), body.screws))

    def joint_frames(self, frames_in_body: Any) -> JointFrameDescription:
        """The same tree described by the joint frames S_ii, (n, 4, 4) or one (4, 4) for all joints.

        S_{p,i} = B_i S_ii and Z_i = Ad_{S_ii}^-1 X_i; the two frames of a joint coincide at q = 0.
        """
        body = self.body_screws()
        S = np.broadcast_to(se3.as_pose("frames_in_body", frames_in_body), (self.n, 4, 4))
        Z = times(se3.Ad(se3.inverse(S)), body.screws)
        return JointFrameDescription(self.parents, body.relative_poses @ S, S, Z)

    def _displacements(self, q: Any) -> Array:
        """exp(screw_i q_i) of every joint, (..., n, 4, 4)."""
        return se3.exp(self.screws * as_array("q", q, (self.n,))[..., None])  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class JointFrameDescription(_Description):
    """Two frames per joint, one on either body (Sheth and Uicker), [M18k] (3), [M18d] (91).

    parents : (n,) the body that joint i is mounted on, -1 for the base.
    frames_in_parent : (n, 4, 4) S_{p,i}, the joint frame on the parent in the parent's frame.
    frames_in_body : (n, 4, 4) S_{i,i}, the joint frame on body i in the frame of body i.
    screws : (n, 6) Z_i in the joint frame, for instance (0, 0, 1, 0, 0, h) with the pitch h.
    """

    frames_in_parent: Array
    frames_in_body: Array
    screws: Array

    @classmethod
    def of(cls, model: MultibodyModel) -> JointFrameDescription:
        """The description of a robot, with z along the joint axis: Z_i = (0, 0, a, 0, 0, h).

        The origin of a joint frame is the point of the axis closest to the origin of the body
        frame.
        """
        S = se3.inverse(model.body_in_joint)
        Z = np.zeros((model.n, 6))
        Z[:, 2], Z[:, 5] = model.joint_rows[:, ANGULAR], model.joint_rows[:, LINEAR]
        return cls(model.parents, BodyScrewDescription.of(model).relative_poses @ S, S, Z)

    def poses(self, q: Any) -> Array:
        """C_i (..., n, 4, 4) at q (..., n): C_i = C_p S_{p,i} exp(Z_i q_i) S_{i,i}^-1."""
        moved = self.frames_in_parent @ self._displacements(q)
        return _along_the_tree(self.parents, moved @ se3.inverse(self.frames_in_body))

    def body_screws(self) -> BodyScrewDescription:
        """B_i = S_{p,i} S_{i,i}^-1 and X_i = Ad_{S_ii} Z_i, [M18k] (4), (5)."""
        S = self.frames_in_body
        B = self.frames_in_parent @ se3.inverse(S)
        return BodyScrewDescription(self.parents, B, times(se3.Ad(S), self.screws))


@dataclass(frozen=True, eq=False)
class BodyScrewDescription(_Description):
    """Joint screws in the frame of the body they move, no joint frames; [M18k] (4), (5), (8).

    parents : (n,) the body that joint i is mounted on, -1 for the base.
    relative_poses : (n, 4, 4) B_i, body i in the frame of its parent at q = 0.
    screws : (n, 6) X_i in the frame of body i.
    """

    relative_poses: Array
    screws: Array

    @classmethod
    def of(cls, model: MultibodyModel) -> BodyScrewDescription:
        """The description of a robot."""
        return SpatialScrewDescription.of(model).body_screws()

    def poses(self, q: Any) -> Array:
        """C_i (..., n, 4, 4) at q (..., n): C_i = C_p B_i exp(X_i q_i), [M18d] (92)."""
        return _along_the_tree(self.parents, self.relative_poses @ self._displacements(q))

    def body_screws(self) -> BodyScrewDescription:
        return self


@dataclass(frozen=True, eq=False)
class ParentScrewDescription(_Description):
    """Joint screws in the frame of the parent body, no joint frames; [M18k] (6), (7), (8).

    parents : (n,) the body that joint i is mounted on, -1 for the base.
    relative_poses : (n, 4, 4) B_i, body i in the frame of its parent at q = 0.
    screws : (n, 6) X^p_i in the frame of the parent.
    """

    relative_poses: Array
    screws: Array

    @classmethod
    def of(cls, model: MultibodyModel) -> ParentScrewDescription:
        """The description of a robot."""
        return BodyScrewDescription.of(model).parent_screws()

    def poses(self, q: Any) -> Array:
        """C_i (..., n, 4, 4) at q (..., n): C_i = C_p exp(X^p_i q_i) B_i."""
        return _along_the_tree(self.parents, self._displacements(q) @ self.relative_poses)

    def body_screws(self) -> BodyScrewDescription:
        """X_i = Ad_{B_i}^-1 X^p_i."""
        X = times(se3.Ad(se3.inverse(self.relative_poses)), self.screws)
        return BodyScrewDescription(self.parents, self.relative_poses, X)


@dataclass(frozen=True, eq=False)
class SpatialScrewDescription(_Description):
    """Reference poses and joint screws in the inertial frame at q = 0; [M18k] (10)-(12).

    parents : (n,) the body that joint i is mounted on, -1 for the base.
    reference_poses : (n, 4, 4) A_i, body i in the inertial frame at q = 0.
    screws : (n, 6) Y_i in the inertial frame at q = 0.
    """

    reference_poses: Array
    screws: Array

    @classmethod
    def of(cls, model: MultibodyModel) -> SpatialScrewDescription:
        """The description of a robot; a MultibodyModel stores exactly these data."""
        return cls(model.parents, model.poses, model.screws)

    def poses(self, q: Any) -> Array:
        """C_i (..., n, 4, 4) at q (..., n): the product of exponentials, [M18d] (93)."""
        return _along_the_tree(self.parents, self._displacements(q)) @ self.reference_poses

    def body_screws(self) -> BodyScrewDescription:
        """B_i = A_p^-1 A_i and X_i = Ad_{A_i}^-1 Y_i, [M18d] (94)."""
        A = self.reference_poses
        B = np.array(
            [A[i] if p < 0 else se3.inverse(A[p]) @ A[i] for i, p in enumerate(self.parents)]
        )
        return BodyScrewDescription(self.parents, B, times(se3.Ad(se3.inverse(A)), self.screws))


def model_from_joint_frames(
    parents: Sequence[int],
    frames_in_parent: Any,
    frames_in_body: Any,
    screws: Any,
    inertias: Any,
    **options: Any,
) -> MultibodyModel:
    """A robot from two frames per joint and the screws Z_i in them; see JointFrameDescription.

    `inertias` and `options` are those of :func:`.model_from_screws`. As there, a joint may have a
    stack of screws (k, 6): S_{p,i} exp(Z_i1 q_1) ... exp(Z_ik q_k) S_ii^-1. Raises ModelError for
    inconsistent data.
    """
    n = len(parents)
    S_p = _checked("frames_in_parent", frames_in_parent, (n, 4, 4))
    S = _checked("frames_in_body", frames_in_body, (n, 4, 4))
    B, X = S_p @ se3.inverse(S), _stacks(screws, se3.Ad(S))
    return model_from_body_screws(parents, B, X, inertias, **options)


def model_from_body_screws(
    parents: Sequence[int], relative_poses: Any, screws: Any, inertias: Any, **options: Any
) -> MultibodyModel:
    """A robot from relative poses B_i and body-fixed screws X_i; see BodyScrewDescription.

    `inertias` and `options` are those of :func:`.model_from_screws`. As there, a joint may have a
    stack of screws (k, 6): B_i exp(X_i1 q_1) ... exp(X_ik q_k). Raises ModelError for inconsistent
    data.
    """
    tree = _parents(parents)
    B = _checked("relative_poses", relative_poses, (len(tree), 4, 4))
    A = _along_the_tree(tree, B)
    return model_from_screws(parents, _stacks(screws, se3.Ad(A)), A, inertias, **options)


def _parents(value: Any) -> NDArray[np.int64]:
    parents = np.array(value)
    if parents.ndim != 1 or not len(parents) or parents.dtype.kind not in "iu":
        raise ModelError(f"parents: expected one integer per body, got {parents}")
    for i, p in enumerate(parents):
        if not -1 <= p < i:
            raise ModelError(f"parents[{i}] is {p}; expected -1 (the base) or an index below {i}")
    return parents.astype(np.int64)


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """`value` as an array of `shape`: one pose (4, 4) or one screw (6,) for each body."""
    with refused_as(ModelError):
        array = (
            se3.as_pose(name, value) if shape[1:] == (4, 4) else as_array(name, value, shape[1:])
        )
    if array.shape != shape:
        raise ModelError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def _stacks(screws: Any, transformations: Array) -> list[Array]:
    """The screw (6,) or stack of screws (k, 6) of each joint, transformed by its (6, 6) matrix."""
    if len(screws) != len(transformations):
        raise ModelError(
            f"screws: expected {len(transformations)}, one entry per joint, got {len(screws)}"
        )
    with refused_as(ModelError):
        stacks = [as_array(f"screws[{i}]", X, (6,)) for i, X in enumerate(screws)]
    return [X @ T.T for X, T in zip(stacks, transformations, strict=True)]


def _along_the_tree(parents: NDArray[np.int64], motions: Array) -> Array:
    """The product of `motions` (..., n, 4, 4) along the path from the base to each body."""
    products = motions.copy()
    for i, p in enumerate(parents):
        if p >= 0:
            products[..., i, :, :] = products[..., p, :, :] @ motions[..., i, :, :]
    return products
