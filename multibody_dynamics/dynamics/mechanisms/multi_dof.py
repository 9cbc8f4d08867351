# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of robots with multi-degree-of-freedom joints; [K12] Tables 2, 3 and 4.

A :class:`MultiDofModel` has one body per joint and needs no massless bodies: joint i has the motion
subspace S_i(q_i), 6 x n_i. The recursions are body-fixed, as in the paper, with X_i = Ad_{T_i^-1}:

    V_i = X_i V_parent + S_i q_i'          F_i = M_i V_i' - ad_{V_i}^T M_i V_i - F_i^ext
    tau_i = S_i^T F_i                            + sum over children of X_k^T F_k

Gravity is part of F^ext, and V_i' is the acceleration alone. The code is plain NumPy, vectorised
over the states, with loops over bodies. In control cycles the compiled functions of a
:class:`.MultibodyModel` are faster; :meth:`MultiDofModel.from_model` merges its chains of joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy import matmul

from ..core import (
    STATE_ROWS,
    Array,
    DynamicsError,
    InputError,
    ModelError,
    as_mapping,
    as_partial,
    as_state,
    broadcast_shapes,
    check_sequence,
    exactly,
    leibniz,
    product_rule,
    read_only,
    refused_as,
    spread,
    transposed,
)
from ..lie import se3
from ..model import STANDARD_GRAVITY, MultibodyModel, check_parent, inertia
from ..model.records import TWIST, WRENCH
from ..rigid import (
    ROUNDING,
    BaseMotion,
    BodyMotion,
    HybridDynamics,
    InverseDynamics,
    Wrenches,
    base_rows,
    joint_poses,
    with_rates,
)
from .motion_subspaces import CompositeJoint, Joint

SINGULAR = 1e-13  # smallest eigenvalue allowed in S^T I S, diagonal scaled to one
LOST_RANK = 1e-5  # least singular value of S, columns scaled to one, below which S is the cause


class _Motion(NamedTuple):
    """X_i, S_i, V_i (batch, 6, .) of every body i with their derivatives, and its pose."""

    X: list[list[Array]]
    S: list[list[Array]]
    V: list[list[Array]]
    pose: list[Array]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MultiDofModel:
    """A tree of N bodies, each moved by one joint with n_i degrees of freedom.

    The pose of body i in the frame of its parent is placements[i] T_i(q_i). q (..., n) holds the
    coordinates of all joints, one joint after the other. All arrays are read-only.

    Attributes
    ----------
    parents : N indices, -1 for the base; parents come before their children.
    joints : N joints of :mod:`.motion_subspaces`. A stack of screws (k, 6) in the axes of the body
        frame at q = 0, such as `dyn.planar()`, becomes a :class:`.CompositeJoint`.
    placements : (N, 4, 4) body frame in that of its parent (the inertial frame for the base) at
        q = 0.
    inertias : (N, 6, 6) about the origin of the body frame, see :func:`.spatial_inertia`.
    joint_names, body_names : N each; default joint1 ..., body1 ...
    coordinate_names : n; default the joint names, with `_1`, `_2`, ... for joints with several.
    gravity : (3,) in m/s^2, inertial axes.
    reflected_inertia : (n,) inertia of the rotors on the link side, kg m^2 or kg; default: zero.

    Raises ModelError for inconsistent or physically impossible data.
    """

    parents: tuple[int, ...]
    joints: tuple[Joint, ...]
    placements: Array
    inertias: Array
    joint_names: tuple[str, ...] = ()
    body_names: tuple[str, ...] = ()
    coordinate_names: tuple[str, ...] = ()
    gravity: Any = STANDARD_GRAVITY
    reflected_inertia: Any = None
    name: str = "robot"

    def __post_init__(self) -> None:
        count = len(self.parents)
        self._set_names("joint", self.joint_names, [f"joint{i + 1}" for i in range(count)])
        self._set_names("body", self.body_names, [f"body{i + 1}" for i in range(count)])
        if len(self.joints) != count or not count:
            raise ModelError(
                f"robot '{self.name}': expected one joint per parent index, got "
                f"{len(self.joints)} joints and {count} parents"
            )
        joints = map(_as_joint, self.joint_names, self.joints)
        object.__setattr__(self, "joints", tuple(joints))
        numbered = [
            f"{name}_{k + 1}" if joint.degrees > 1 else name
            for name, joint in zip(self.joint_names, self.joints, strict=True)
            for k in range(joint.degrees)
        ]
        self._set_names("coordinate", self.coordinate_names, numbered)
        for i, parent in enumerate(self.parents):
            check_parent(self.joint_names[i], parent, i)
        object.__setattr__(self, "parents", tuple(map(int, self.parents)))
        if self.reflected_inertia is None:
            object.__setattr__(self, "reflected_inertia", np.zeros(self.n))
        self._set_array("placements", (count, 4, 4))
        self._set_array("inertias", (count, 6, 6))
        self._set_array("gravity", (3,))
        self._set_array("reflected_inertia", (self.n,))
        for body, M in zip(self.body_names, self.inertias, strict=True):
            inertia.check(M, f"body '{body}'")
        if (self.reflected_inertia < 0).any():
            wrong = self.coordinate_names[int(np.argmin(self.reflected_inertia))]
            raise ModelError(f"coordinate '{wrong}': a reflected inertia cannot be negative")

    def _set_names(self, kind: str, given: Sequence[str], default: Sequence[str]) -> None:
        names = tuple(given) or tuple(default)
        if len(names) != len(default):
            raise ModelError(f"{kind} names: expected {len(default)}, got {len(names)}")
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f"duplicate {kind} name '{name}'; names must be unique")
        object.__setattr__(self, f"{kind}_names", names)

    def _set_array(self, key: str, shape: tuple[int, ...]) -> None:
        """Replace an attribute by a checked, read-only copy; ModelError if it is wrong."""
        with refused_as(ModelError, f"robot '{self.name}'"):
            array = exactly(key, getattr(self, key), shape)
            if key == "placements":
                se3.as_pose(key, array)
        object.__setattr__(self, key, read_only(array))

    @classmethod
    def from_model(
        cls, model: MultibodyModel, groups: Mapping[str, Sequence[str]] | None = None
    ) -> MultiDofModel:
        """The same robot, with chains of joints that share massless bodies merged into one joint.

        `groups` is {name of the new joint: names of the merged joints, in order}. Without it every
        chain is merged and named "a+b+c" after its joints. q is the same for both robots. Bodies
        keep their names and frames; the massless bodies inside a chain are dropped.

        Raises InputError for an unknown joint, and ModelError for a group that is not such a chain.
        """
        model.require_uncoupled("a model with joints of several degrees of freedom")
        chains = _chains(model) if groups is None else _groups(model, groups)
        last = {chain[-1]: i for i, chain in enumerate(chains.values())}
        before = [int(model.parents[chain[0]]) for chain in chains.values()]
        ends = list(last)
        A = [np.eye(4) if p < 0 else model.poses[p] for p in before]
        screws = [
            model.screws[list(chain)] @ se3.Ad(se3.inverse(model.poses[chain[-1]])).T
            for chain in chains.values()
        ]
        return cls(
            name=model.name,
            parents=tuple(-1 if p < 0 else last[p] for p in before),
            joints=tuple(map(CompositeJoint, screws)),
            placements=se3.inverse(A) @ model.poses[ends],
            inertias=model.inertias[ends],
            joint_names=tuple(chains),
            body_names=tuple(model.body_names[i] for i in ends),
            coordinate_names=model.joint_names,
            gravity=model.gravity,
            reflected_inertia=model.reflected_inertia,
        )

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        """Copy and unpickle through the constructor, which makes the arrays read-only."""
        return partial(type(self), **{x.name: getattr(self, x.name) for x in fields(self)}), ()

    def __repr__(self) -> str:
        return f"<MultiDofModel '{self.name}': {len(self.joints)} joints, {self.n} coordinates>"

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.coordinate_names)

    @cached_property
    def coordinates(self) -> tuple[slice, ...]:
        """The slice of q that holds the coordinates of each joint."""
        ends = np.cumsum([joint.degrees for joint in self.joints]).tolist()
        return tuple(
            slice(end - joint.degrees, end) for end, joint in zip(ends, self.joints, strict=True)
        )

    def joint_index(self, joint: str | int) -> int:
        """The index of a joint, by name or index; the InputError lists the known names."""
        return _index("joint", joint, self.joint_names)

    def body_index(self, body: str | int) -> int:
        """The index of a body, by name or index; the InputError lists the known names."""
        return _index("body", body, self.body_names)

    def forward_kinematics(
        self, q: Any, qd: Any | None = None, qdd: Any | None = None, qddd: Any | None = None,
        qdddd: Any | None = None, *, base: BaseMotion | None = None,
    ) -> BodyMotion:  # fmt: skip
        """Poses (..., N, 4, 4) and body-fixed twists with derivatives (..., N, 6).

        [K12] (37) and (41). q, qd, ... are (..., n), rad or m and per s^k; leading dimensions
        broadcast. Each derivative of q that is given adds the next derivative of the motion. `base`
        is the motion of the base, at rest if None. Raises InputError for wrong shapes, gaps, NaN or
        infinity.
        """
        states, shape, given = as_state(self.coordinate_names, q, qd, qdd, qddd, qdddd)
        if given == 0:
            raise InputError("kinematics requires q")
        (states,), _, bases, shape = self._batch(None, base, shape, states)
        motion = self._motion(states, given, bases)
        tail = (len(self.joints), 6)
        rates = [
            np.stack([V[k][..., 0] for V in motion.V], axis=1).reshape(*shape, *tail)
            for k in range(given - 1)
        ]
        pose = np.stack(motion.pose, axis=1).reshape(*shape, len(self.joints), 4, 4)
        return BodyMotion(pose, *rates, *[None] * (5 - given))

    def inverse_dynamics(
        self, q: Any, qd: Any, qdd: Any, qddd: Any | None = None, qdddd: Any | None = None, *,
        wrenches: Wrenches | None = None, base: BaseMotion | None = None,
    ) -> InverseDynamics:  # fmt: skip
        """Inverse dynamics: joint torques Q, [K12] Table 2, and by differentiation Q' and Q''.

        Arguments, units and errors are those of :func:`.inverse_dynamics`; `wrenches` are given by
        body name.
        """
        states, shape, given = as_state(self.coordinate_names, q, qd, qdd, qddd, qdddd)
        if given < 3:
            raise InputError(f"inverse dynamics needs {STATE_ROWS[given]}")
        (states,), applied, bases, shape = self._batch(wrenches, base, shape, states)
        motion = self._motion(states, given, bases)
        F = self._forces(motion, applied)
        tau = self.reflected_inertia * np.moveaxis(states[:, 2:given], 1, 0)
        for i in reversed(range(len(self.joints))):
            to_joint, to_parent = map(product_rule.transpose, (motion.S[i], motion.X[i]))
            for k in range(len(tau)):
                tau[k][:, self.coordinates[i]] += leibniz(k, matmul, to_joint, F[i])[..., 0]
                if self.parents[i] >= 0:
                    F[self.parents[i]][k] += leibniz(k, matmul, to_parent, F[i])
        rates = [rate.reshape(*shape, self.n) for rate in tau]
        return InverseDynamics(*[*rates, None, None][:3])

    def forward_dynamics(
        self, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
        base: BaseMotion | None = None,
    ) -> Array:  # fmt: skip
        """Forward dynamics: q'' (..., n) under the torques `tau` (..., n), [K12] Table 3.

        `wrenches` and `base` are those of :meth:`inverse_dynamics`. Raises InputError for wrong
        shapes or names, NaN or infinity; DynamicsError if the coordinates of a joint are singular
        or if a joint moves no inertia.
        """
        known = {"prescribed": (), "qdd": np.zeros(self.n), "tau": tau}
        return self.hybrid_dynamics(q, qd, **known, wrenches=wrenches, base=base).qdd

    def hybrid_dynamics(
        self, q: Any, qd: Any, *, prescribed: Sequence[str | int], qdd: Any, tau: Any,
        wrenches: Wrenches | None = None, base: BaseMotion | None = None,
    ) -> HybridDynamics:  # fmt: skip
        """Accelerations of the free joints, torques of the `prescribed` ones; [K12] Table 4.

        `prescribed` are names or indices of joints. `qdd` (..., n) is used for the prescribed
        joints, `tau` (..., n) for the free ones; all other entries may be NaN. Other arguments and
        errors are those of :meth:`forward_dynamics`; a DynamicsError concerns free joints only.
        """
        check_sequence("prescribed", prescribed, "joints")
        states, shape, given = as_state(self.coordinate_names, q, qd)
        if given < 2:
            raise InputError(f"hybrid dynamics needs {STATE_ROWS[given]}")
        held = {self.joint_index(joint) for joint in prescribed}
        is_held = np.repeat(
            [i in held for i in range(len(self.joints))], [joint.degrees for joint in self.joints]
        )
        rows = {
            "qdd": as_partial("qdd", qdd, is_held, self.coordinate_names),
            "tau": as_partial("tau", tau, ~is_held, self.coordinate_names),
        }
        (states, qdd, tau), applied, bases, shape = self._batch(
            wrenches, base, shape, states, **rows
        )
        states[:, 2] = qdd
        motion = self._motion(states, 3, bases)
        own = [F[0] for F in self._forces(motion, applied)]
        self._table_4(held, motion, own, qdd, tau)
        return HybridDynamics(qdd.reshape(*shape, self.n), tau.reshape(*shape, self.n))

    def _table_4(
        self, held: set[int], motion: _Motion, B: list[Array], qdd: Array, tau: Array
    ) -> None:
        """Fill in the unknown entries of qdd and tau (batch, n); [K12] Tables 3 and 4.

        `motion` and `B` belong to q'' = 0 of the free joints. Relative to that motion the
        accelerations are a_i = X_i a_parent + S_i q_i''; the eta_i of the tables is part of B_i.
        """
        X, S = [x[0] for x in motion.X], [x[0] for x in motion.S]
        articulated = [np.broadcast_to(M, (len(qdd), 6, 6)) for M in self.inertias]
        composite = articulated.copy()  # the inertias with all joints locked
        free: dict[int, tuple[Array, Array]] = {}
        for i in reversed(range(len(self.joints))):
            own, Pi, beta = self.coordinates[i], articulated[i], B[i]
            if i not in held:
                U = Pi @ S[i]
                D = transposed(S[i]) @ U + np.diag(self.reflected_inertia[own])
                self._check_regular(i, D, S[i], composite[i])
                Psi = np.linalg.inv(D)
                x = Psi @ (tau[:, own, None] - transposed(S[i]) @ beta)
                free[i] = x, Psi @ transposed(U)
                Pi, beta = Pi - U @ Psi @ transposed(U), beta + U @ x
            if self.parents[i] >= 0:
                p, to_parent = self.parents[i], transposed(X[i])
                articulated[p] = articulated[p] + to_parent @ Pi @ X[i]
                composite[p] = composite[p] + to_parent @ composite[i] @ X[i]
                B[p] = B[p] + to_parent @ beta
        a: list[Array] = []
        for i, (own, parent) in enumerate(zip(self.coordinates, self.parents, strict=True)):
            a.append(X[i] @ a[parent] if parent >= 0 else np.zeros_like(B[i]))
            if i in held:
                F = articulated[i] @ a[i] + B[i]
                tau[:, own] = (transposed(S[i]) @ F)[..., 0]
                tau[:, own] += self.reflected_inertia[own] * qdd[:, own]
            else:
                x, gain = free[i]
                qdd[:, own] = (x - gain @ a[i])[..., 0]
                a[i] = a[i] + S[i] @ qdd[:, own, None]

    def _check_regular(self, i: int, D: Array, S: Array, composite: Array) -> None:
        """Raise DynamicsError if D = S^T I S (batch, n_i, n_i) of joint i is singular.

        The composite inertia (batch, 6, 6) bounds the terms that cancelled in D.
        """
        trace = np.trace(composite[:, :3, :3], axis1=-2, axis2=-1)
        w2, v2 = (np.sum(half**2, axis=-2) for half in (S[:, :3], S[:, 3:]))
        cancelled = trace[:, None] * w2 + composite[:, 3, 3, None] * v2
        pivots = np.diagonal(D, axis1=-2, axis2=-1)
        pivots = np.where(pivots > ROUNDING * cancelled, pivots, 0.0)
        size = np.sqrt(np.where(pivots > 0, pivots, 1.0))
        smallest = np.linalg.eigvalsh(D / (size[..., :, None] * size[..., None, :]))[..., 0]
        smallest = np.where((pivots > 0).all(axis=-1), smallest, 0.0)
        if not len(D) or (smallest > SINGULAR).all():
            return
        joint = f"joint '{self.joint_names[i]}' of robot '{self.name}'"
        S = S[int(np.argmin(smallest))]
        if np.linalg.svd(S / np.linalg.norm(S, axis=0), compute_uv=False)[-1] < LOST_RANK:
            raise DynamicsError(
                f"{joint}: its coordinates are singular here; the motion subspace loses rank "
                f"{self.joints[i].singularity}"
            )
        raise DynamicsError(
            f"{joint} has no inertia to accelerate in some direction; give body "
            f"'{self.body_names[i]}' or the bodies that it carries mass and inertia, or prescribe "
            "the motion of the joint"
        )

    def _motion(self, states: Array, given: int, bases: Array) -> _Motion:
        """The forward recursion for states (batch, 5, n), of which `given` rows are known.

        `bases` (batch, WRENCH) is the body-fixed motion of the base, see :func:`.base_rows`.
        Products are differentiated by the Leibniz rule. With X' = -ad_{S q'} X this gives
        V' = X V_parent' + ad_V S q' + S' q' + S q'', [K12] (41).
        """
        motion = _Motion([], [], [], [])
        ground = joint_poses(bases)
        carried = [bases[:, TWIST + 6 * k : TWIST + 6 * k + 6, None] for k in range(given - 1)]
        for joint, parent, own, placement in zip(
            self.joints, self.parents, self.coordinates, self.placements, strict=True
        ):
            rows = list(np.moveaxis(states[:, :given, own], 1, 0))
            T = placement @ joint.pose(rows[0])
            motion.pose.append((ground if parent < 0 else motion.pose[parent]) @ T)
            S = joint.subspace_rates(*rows[: given - 1]) if given > 1 else []
            qd = [row[..., None] for row in rows[1:]]
            U = [leibniz(k, matmul, S, qd) for k in range(given - 1)]
            ad_U = [-se3.ad(u[..., 0]) for u in U]
            X = [se3.Ad(se3.inverse(T))]
            for k in range(given - 2):
                X.append(leibniz(k, matmul, ad_U, X))
            before = carried if parent < 0 else motion.V[parent]
            motion.X.append(X)
            motion.S.append(S)
            motion.V.append([leibniz(k, matmul, X, before) + U[k] for k in range(given - 1)])
        return motion

    def _forces(self, motion: _Motion, applied: Mapping[int, list[Array]]) -> list[list[Array]]:
        """M_i V_i' - ad_{V_i}^T M_i V_i - F_i^ext (batch, 6, 1) of every body, with derivatives.

        `applied` is {body: W, W', W'' (batch, 6, 1)}, in inertial axes about the inertial origin.
        """
        G = np.concatenate([np.zeros(3), self.gravity])[:, None]
        forces = []
        for i, (M, C, V) in enumerate(zip(self.inertias, motion.pose, motion.V, strict=True)):
            ad_V = [se3.ad(v[..., 0]) for v in V]
            Ad, fall = [se3.Ad(C)], [se3.Ad(se3.inverse(C)) @ G]
            for k in range(len(V) - 2):
                Ad.append(leibniz(k, matmul, Ad, ad_V))
                fall.append(-leibniz(k, matmul, ad_V, fall))
            momentum = [M @ v for v in V]
            ad_T, to_body = map(product_rule.transpose, (ad_V, Ad))
            F = [
                M @ (V[k + 1] - fall[k]) - leibniz(k, matmul, ad_T, momentum)
                for k in range(len(V) - 1)
            ]
            if i in applied:
                F = [f - leibniz(k, matmul, to_body, applied[i]) for k, f in enumerate(F)]
            forces.append(F)
        return forces

    def _batch(
        self,
        wrenches: Wrenches | None,
        base: BaseMotion | None,
        shape: tuple[int, ...],
        states: Array,
        **rows: Array,
    ) -> tuple[list[Array], dict[int, list[Array]], Array, tuple[int, ...]]:
        """Broadcast the input to one flat batch.

        Returns copies of the states and of `rows` (..., n), the wrenches by body, the rows of the
        base, and the shape of the batch.
        """
        bases = base_rows(base, "body")
        given = as_mapping("wrenches", wrenches)
        loads = {body: with_rates(f"wrenches['{body}']", W) for body, W in given.items()}
        full = broadcast_shapes(
            ("states", *rows, *loads, "base"),
            (
                shape,
                *(row.shape[:-1] for row in rows.values()),
                *(W.shape[:-2] for W in loads.values()),
                bases.shape[:-1],
            ),
        )
        flat = [spread(states.reshape(*shape, 5, self.n), full, (5, self.n))]
        flat += [spread(row, full, (self.n,)) for row in rows.values()]
        applied: dict[int, list[Array]] = {}
        for body, W in loads.items():
            i, rates = self.body_index(body), np.moveaxis(spread(W, full, (3, 6)), 1, 0)[..., None]
            applied[i] = list(rates + np.stack(applied[i])) if i in applied else list(rates)
        return flat, applied, spread(bases, full, (WRENCH,)), full


def _as_joint(name: str, value: Any) -> Joint:
    if isinstance(value, Joint):
        return value
    try:
        return CompositeJoint(value)
    except ModelError as error:
        raise ModelError(f"joint '{name}': {error}") from None


def _index(kind: str, value: str | int, names: tuple[str, ...]) -> int:
    if isinstance(value, str) and value in names:
        return names.index(value)
    if isinstance(value, (int, np.integer)) and 0 <= value < len(names):
        return int(value)
    raise InputError(f"unknown {kind} {value!r}; expected one of {', '.join(names)}")


def _chains(model: MultibodyModel) -> dict[str, list[int]]:
    """{name: joint indices} of the longest chains with only massless bodies in between."""
    chains: list[list[int]] = []
    for i in range(model.n):
        if chains and _continues(model, chains[-1][-1], i):
            chains[-1].append(i)
        else:
            chains.append([i])
    return {"+".join(model.joint_names[i] for i in chain): chain for chain in chains}


def _groups(model: MultibodyModel, groups: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """{name: joint indices} of the given groups, and of every joint that belongs to no group."""
    chains: dict[str, list[int]] = {}
    taken: set[int] = set()
    for name, joints in groups.items():
        if isinstance(joints, str) or not len(joints):
            raise InputError(f"group '{name}': expected a sequence of joint names, got {joints!r}")
        chain = [model.joint_index(joint) for joint in joints]
        for i, j in pairwise(chain):
            if not _continues(model, i, j):
                raise ModelError(
                    f"group '{name}': joint '{joints[chain.index(j)]}' must directly follow "
                    f"'{model.joint_names[i]}', on a massless body that carries nothing else"
                )
        for i in taken.intersection(chain):
            joint = model.joint_names[i]
            raise InputError(f"group '{name}': joint '{joint}' is also in another group")
        taken.update(chain)
        chains[name] = chain
    chains |= {model.joint_names[i]: [i] for i in range(model.n) if i not in taken}
    return dict(sorted(chains.items(), key=lambda item: item[1]))


def _continues(model: MultibodyModel, i: int, j: int) -> bool:
    """Whether joint j directly follows joint i, with only a massless body in between."""
    carried = np.flatnonzero(model.parents == i)
    return j == i + 1 and carried.tolist() == [j] and not np.any(model.inertias[i])
