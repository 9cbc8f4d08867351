# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Robots with joints of several degrees of freedom, on the compiled recursions.

A :class:`MultiDofModel` has one body per joint, with the pose T_i(q_i) and the motion subspace
S_i(q_i) of [K12], 6 x n_i. It is computed as a tree of joints with one degree of freedom each. A
:class:`.CompositeJoint` is a chain of such joints. Any other joint is two chains: the first holds
the current pose and is at rest; the second, at x = 0, moves from there, so that no pose is singular
(:mod:`.local_coordinates`). With the torques f along its screws X,

    X nu = S_i q_i',   nu = B_i q_i' = B x',   tau_i = B_i^T f,   Q_x = B^T f,

and the Leibniz rule gives their derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    STATE_ROWS,
    Array,
    DynamicsError,
    InputError,
    ModelError,
    as_array,
    as_mapping,
    as_partial,
    as_state,
    broadcast_shapes,
    check_sequence,
    exactly,
    product_rule,
    read_only,
    refused_as,
    times,
    transposed,
)
from ..lie import se3
from ..model import (
    STANDARD_GRAVITY,
    MultibodyModel,
    check_parent,
    floating,
    model_from_screws,
    spherical,
)
from ..rigid import (
    ROUNDING,
    BaseMotion,
    BodyMotion,
    HybridDynamics,
    InverseDynamics,
    Wrenches,
    forward_kinematics,
    hybrid_dynamics,
    inverse_dynamics,
    mass_matrix,
)
from .local_coordinates import local_motion, structure_constants
from .motion_subspaces import BodyFixedJoint, CompositeJoint, Joint

LOST_RANK = 1e-5  # least singular value of S, screws scaled to one, at which S is singular
LOST_PIVOT = 1e-13  # least pivot of a mass matrix, diagonal scaled to one, that is not rounding


class Link(NamedTuple):
    """Joint i in the tree of joints with one degree of freedom.

    own : its coordinates in q.
    held, local : the coordinates of the tree that hold its pose, none for a composite joint, and
        those that move from there.
    chains : the joints that these coordinates move, T_i is the product of their poses.
    projector : (m, 6) components of a twist along the screws of the latter; m > n_i if the motions
        along those of the joint do not form a group.
    brackets : of these screws, see `structure_constants`; None for a composite joint.
    """

    own: slice
    held: slice
    local: slice
    chains: tuple[CompositeJoint, ...]
    projector: Array
    brackets: Array | None


class _TreeMotion(NamedTuple):
    """q, q', ... of the tree (..., N), and of each joint B_i, B_i', ... (..., m, n_i) and
    B, B', ... (..., m, m); empty for a composite joint."""

    rows: list[Array]
    maps: list[tuple[list[Array], list[Array]]]


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
        if (self.reflected_inertia < 0).any():
            wrong = self.coordinate_names[int(np.argmin(self.reflected_inertia))]
            raise ModelError(f"coordinate '{wrong}': a reflected inertia cannot be negative")
        self._parts  # noqa: B018  # its checks

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
        robot = cls(
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
        vars(robot)["_parts"] = model, robot.links  # the same robot, without rounding its screws
        return robot

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

    @property
    def tree(self) -> MultibodyModel:
        """The same robot of joints with one degree of freedom each, for other functions of this
        library. A joint that is not composite has two groups of coordinates: x, y, z, yaw, pitch,
        roll of its pose, or only the last three, held at rest; and those about it, at zero. One of
        the groups is redundant, and makes the mass matrix of the tree singular: inverse dynamics
        take it, also with loops, and hybrid dynamics with the :attr:`held_joints` prescribed;
        forward dynamics, their derivatives and :func:`.closed_chain` do not.

        Raises ModelError for such a joint with a reflected inertia, which acts on its q'': only the
        methods of this class know it.
        """
        for name, link in zip(self.joint_names, self.links, strict=True):
            if link.brackets is not None and self.reflected_inertia[link.own].any():
                raise ModelError(
                    f"joint '{name}': `tree` cannot represent its reflected inertia "
                    f"{self.reflected_inertia[link.own]}, which is not that of a joint with one "
                    "degree of freedom; use the methods of the model, or set it to zero"
                )
        return self._tree

    @property
    def held_joints(self) -> tuple[str, ...]:
        """The joints of :attr:`tree` that hold poses: at rest, and without torque if the joints
        about these poses have none. Hybrid dynamics of `tree` prescribe them; a mechanism of `tree`
        with loops lists them as actuated, and as independent. Raises the error of `tree`."""
        return tuple(name for link in self.links for name in self.tree.joint_names[link.held])

    @property
    def links(self) -> tuple[Link, ...]:
        """The joints in :attr:`tree`."""
        return self._parts[1]

    @property
    def _tree(self) -> MultibodyModel:
        """:attr:`tree`, without the reflected inertias of joints that are not composite."""
        return self._parts[0]

    @cached_property
    def _parts(self) -> tuple[MultibodyModel, tuple[Link, ...]]:
        A: list[Array] = []
        links: list[Link] = []
        screws, names, rotors, reserved = [], [], [], []
        end = 0
        for name, joint, parent, own, placement in zip(
            self.joint_names, self.joints, self.parents, self.coordinates, self.placements,
            strict=True,
        ):  # fmt: skip
            A.append(placement if parent < 0 else A[parent] @ placement)
            X, brackets, labels = joint.screws, None, list(self.coordinate_names[own])
            at_pose = X[:0]
            if not isinstance(joint, CompositeJoint):
                with refused_as(ModelError, f"joint '{name}'"):
                    brackets = structure_constants(X)
                if brackets is None:
                    X, brackets = np.eye(6), structure_constants(np.eye(6))
                    labels = [f"{name}_about_{k + 1}" for k in range(6)]
                    reserved += labels
                at_pose = floating() if X[:, 3:].any() else spherical()
            holding = [f"{name}_held_{k + 1}" for k in range(len(at_pose))]
            reserved += holding
            labels = holding + labels
            held = slice(end, end + len(at_pose))
            end += len(labels)
            chains = tuple(CompositeJoint(Y) for Y in (at_pose, X) if len(Y))
            projector = read_only(np.linalg.pinv(X.T))
            links.append(Link(own, held, slice(held.stop, end), chains, projector, brackets))
            rotors.append(np.zeros(len(labels)))
            if brackets is None:
                rotors[-1] += self.reflected_inertia[own]
            screws.append(np.concatenate([at_pose, X]) @ se3.Ad(A[-1]).T)
            names.append(labels)
        for taken in set(reserved).intersection(self.coordinate_names):
            raise ModelError(
                f"robot '{self.name}': the coordinate name '{taken}' is reserved for the pose of a "
                "joint in `tree`; choose another one"
            )
        tree = model_from_screws(
            self.parents, screws, A, self.inertias, joint_names=names, body_names=self.body_names,
            gravity=self.gravity, name=self.name, reflected_inertia=np.concatenate(rotors),
        )  # fmt: skip
        return tree, tuple(links)

    def in_tree(
        self, q: Any, qd: Any | None = None, qdd: Any | None = None, qddd: Any | None = None,
        qdddd: Any | None = None,
    ) -> list[Array]:  # fmt: skip
        """The given q, q', ... (..., n) as those of the joints of :attr:`tree`, each (..., N).

        Of a :class:`.BodyFixedJoint`, the coordinates x of the tree that have the same names have
        the velocities x' = nu, and the columns of a Jacobian and of the mass matrix belong to them.
        Derivatives by x and x', and J', do not: x'' is not nu'. Raises InputError for wrong shapes,
        gaps, NaN or infinity, and the error of :attr:`tree`.
        """
        self.tree  # noqa: B018  # its ModelError
        states, given = self._states(q, qd, qdd, qddd, qdddd)
        return self._in_tree(states, given).rows

    def _in_tree(self, states: Array, given: int) -> _TreeMotion:
        """The motion of the tree for states (..., 5, n), of which `given` rows are known."""
        x = np.zeros((*states.shape[:-1], self._tree.n))
        maps: list[tuple[list[Array], list[Array]]] = []
        for joint, link in zip(self.joints, self.links, strict=True):
            rows = [states[..., k, link.own] for k in range(given)]
            if link.brackets is None:
                x[..., link.local] = states[..., link.own]
                maps.append(([], []))
                continue
            if isinstance(joint, BodyFixedJoint):  # its rates are nu
                B_i = list(np.eye(joint.degrees) * (np.arange(given - 1) == 0)[:, None, None])
                nu = states[..., 1:given, link.own]
            else:
                S = joint.subspace_rates(*rows[:-1]) if rows[1:] else []
                B_i = [link.projector @ each for each in S]
                nu = np.zeros((*rows[0].shape[:-1], given - 1, len(link.projector)))
                for k, rate in enumerate(product_rule.apply(B_i, rows[1:])):
                    nu[..., k, :] = rate
            held = link.held.stop - link.held.start
            found = local_motion(link.brackets, joint.pose(rows[0]), nu, held)
            x[..., 0, link.held], x[..., 1:given, link.local], B = found
            maps.append((B_i, B))
        return _TreeMotion([x[..., k, :] for k in range(given)], maps)

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
        states, given = self._states(q, qd, qdd, qddd, qdddd)
        if given == 0:
            raise InputError("kinematics requires q")
        rows, bodies = self._in_tree(states, given).rows, [x.local.stop - 1 for x in self.links]
        pose, *rates = forward_kinematics(self._tree, *rows, base=base, representation="body")
        own = (None if rate is None else rate[..., bodies, :] for rate in rates)
        return BodyMotion(pose[..., bodies, :, :], *own)

    def mass_matrix(self, q: Any) -> Array:
        """The mass matrix (..., n, n), kg m^2, kg m or kg, with the reflected inertias; q (..., n).

        Raises InputError for a wrong shape, NaN or infinity.
        """
        states, _ = self._states(as_array("q", q, (self.n,), self.coordinate_names))
        return self._mass_matrix(self._in_tree(states, 2))

    def _mass_matrix(self, motion: _TreeMotion) -> Array:
        x, maps = motion
        G = np.zeros((*x[0].shape, self.n))  # q' of the tree is G q'
        rotors = np.zeros(self.n)
        for link, (B_i, _) in zip(self.links, maps, strict=True):
            G[..., link.local, link.own] = B_i[0] if B_i else np.eye(len(link.projector))
            if B_i:
                rotors[link.own] = self.reflected_inertia[link.own]
        return transposed(G) @ mass_matrix(self._tree, x[0]) @ G + np.diag(rotors)

    def inverse_dynamics(
        self, q: Any, qd: Any, qdd: Any, qddd: Any | None = None, qdddd: Any | None = None, *,
        wrenches: Wrenches | None = None, base: BaseMotion | None = None,
    ) -> InverseDynamics:  # fmt: skip
        """Inverse dynamics: joint torques Q, [K12] Table 2, and by differentiation Q' and Q''.

        Arguments, units and errors are those of :func:`.inverse_dynamics`; `wrenches` are given by
        body name.
        """
        states, given = self._states(q, qd, qdd, qddd, qdddd)
        if given < 3:
            raise InputError(f"inverse dynamics needs {STATE_ROWS[given]}")
        return self._torques(states, self._in_tree(states, given), wrenches, base)

    def _torques(
        self, states: Array, motion: _TreeMotion, wrenches: Wrenches | None, base: BaseMotion | None
    ) -> InverseDynamics:
        found = inverse_dynamics(
            self._tree, *motion.rows, wrenches=self._named(wrenches), base=base,
            representation="body",
        )  # fmt: skip
        Q = [rate for rate in found if rate is not None]
        tau: list[Any] = [np.empty((*rate.shape[:-1], self.n)) for rate in Q]
        for link, (B_i, B) in zip(self.links, motion.maps, strict=True):
            own = [rate[..., link.local] for rate in Q]
            if B:
                to_joint, to_screws = map(product_rule.transpose, (B_i, B))
                f = product_rule.solve(np.eye(len(link.projector)), to_screws, own)
                rotors = self.reflected_inertia[link.own] * states[..., 2:, link.own]
                rates = product_rule.apply(to_joint, f)
                own = [rate + rotors[..., k, :] for k, rate in enumerate(rates)]
            for k, rate in enumerate(own):
                tau[k][..., link.own] = rate
        return InverseDynamics(*[*tau, None, None][:3])

    def forward_dynamics(
        self, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
        base: BaseMotion | None = None,
    ) -> Array:  # fmt: skip
        """Forward dynamics: q'' (..., n) under the torques `tau` (..., n), [K12] (32).

        Composite joints, and body-fixed ones without reflected inertia, by the recursion of Table
        3, O(n); others by the mass matrix, O(n^3).
        `wrenches` and `base` are those of :meth:`inverse_dynamics`. Raises InputError for wrong
        shapes or names, NaN or infinity; DynamicsError if the mass matrix is singular, by the
        coordinates of a joint, or because it moves no inertia.
        """
        known = {"prescribed": (), "qdd": np.zeros(self.n), "tau": tau}
        return self.hybrid_dynamics(q, qd, **known, wrenches=wrenches, base=base).qdd

    def hybrid_dynamics(
        self, q: Any, qd: Any, *, prescribed: Sequence[str | int], qdd: Any, tau: Any,
        wrenches: Wrenches | None = None, base: BaseMotion | None = None,
    ) -> HybridDynamics:  # fmt: skip
        """Accelerations of the free joints, torques of the `prescribed` ones; [K12] (33).

        Composite joints, and body-fixed ones without reflected inertia, by the recursion of Table
        4, O(n); others by the mass matrix, O(n^3).
        `prescribed` are names or indices of joints. `qdd` (..., n) is used for the prescribed
        joints, `tau` (..., n) for the free ones; all other entries may be NaN. Other arguments and
        errors are those of :meth:`forward_dynamics`; a DynamicsError concerns free joints only.
        """
        check_sequence("prescribed", prescribed, "joints")
        states, given = self._states(q, qd)
        if given < 2:
            raise InputError(f"hybrid dynamics needs {STATE_ROWS[given]}")
        held = {self.joint_index(joint) for joint in prescribed}
        is_held = np.repeat(
            [i in held for i in range(len(self.joints))], [joint.degrees for joint in self.joints]
        )
        qdd = as_partial("qdd", qdd, is_held, self.coordinate_names)
        tau = as_partial("tau", tau, ~is_held, self.coordinate_names)
        shape = broadcast_shapes(
            ("states", "qdd", "tau"), (states.shape[:-2], qdd.shape[:-1], tau.shape[:-1])
        )
        states = np.array(np.broadcast_to(states, (*shape, 5, self.n)))
        states[..., 2, :] = qdd
        motion, q, v = self._in_tree(states, 3), states[..., 0, :], np.flatnonzero(~is_held)
        if self._has_rates_of_tree:
            x, own = motion.rows, np.concatenate([range(self._tree.n)[k.local] for k in self.links])
            is_given, of_tree = np.ones(self._tree.n, dtype=bool), np.zeros_like(x[2])
            is_given[own], of_tree[..., own] = is_held, tau
            try:
                found = hybrid_dynamics(
                    self._tree, *x[:2], prescribed=np.flatnonzero(is_given).tolist(), qdd=x[2],
                    tau=of_tree, wrenches=self._named(wrenches), base=base,
                )  # fmt: skip
            except DynamicsError:
                raise self._singular(self._scaled(self._mass_matrix(motion), v), v, q) from None
            change = found.qdd[..., own] - x[2][..., own]
            return HybridDynamics(states[..., 2, :] + change, found.tau[..., own])
        M = self._mass_matrix(motion)
        scaled = self._scaled(M, v)
        try:
            pivots = np.diagonal(np.linalg.cholesky(scaled), axis1=-2, axis2=-1) ** 2
            is_regular = np.min(pivots, initial=1.0) > LOST_PIVOT
        except np.linalg.LinAlgError:
            is_regular = False
        if not is_regular:
            raise self._singular(scaled, v, q)
        bias = self._torques(states, motion, wrenches, base).tau
        rest = tau - bias
        qdd, tau = (np.array(np.broadcast_to(row, rest.shape)) for row in (qdd, tau))
        qdd[..., v] = np.linalg.solve(M[..., v, :][..., v], rest[..., v, None])[..., 0]
        tau[..., is_held] = (bias + times(M[..., v], qdd[..., v]))[..., is_held]
        return HybridDynamics(qdd, tau)

    @cached_property
    def _has_rates_of_tree(self) -> bool:
        """Whether all velocities and torques are those of the tree, which has all rotors."""
        return all(
            link.brackets is None
            or (isinstance(joint, BodyFixedJoint) and not self.reflected_inertia[link.own].any())
            for joint, link in zip(self.joints, self.links, strict=True)
        )

    @cached_property
    def _cancelled(self) -> Array:
        """(n,) diagonal of the mass matrix if all bodies moved with each joint, a bound on the
        terms that cancel in it."""
        to_body = se3.Ad(se3.inverse(self._tree.poses))
        whole = np.sum(transposed(to_body) @ self._tree.inertias @ to_body, axis=0)
        w, v = np.split(np.concatenate([joint.screws for joint in self.joints]) ** 2, 2, axis=1)
        return np.asarray(np.trace(whole[:3, :3]) * w.sum(axis=1) + whole[3, 3] * v.sum(axis=1))

    def _scaled(self, M: Array, v: NDArray[np.intp]) -> Array:
        """M_vv of M (..., n, n) with a diagonal of ones, zero where it is rounding error."""
        inertia = np.diagonal(M, axis1=-2, axis2=-1)
        scale = np.where(inertia > ROUNDING * self._cancelled, inertia, np.inf) ** -0.5
        return (scale[..., :, None] * M * scale[..., None, :])[..., v, :][..., v]

    def _singular(self, scaled: Array, v: NDArray[np.intp], q: Array) -> DynamicsError:
        """The DynamicsError for a singular M_vv (..., v, v), scaled, at q (..., n): a joint whose
        motion subspace loses rank, or else the one that moves most where no inertia resists."""
        resistance, motions = np.linalg.eigh(scaled.reshape(-1, len(v), len(v)))
        k = int(np.argmin(resistance[:, 0]))
        q, most = q.reshape(-1, self.n)[k], v[np.argmax(abs(motions[k, :, 0]))]
        free = [i for i, own in enumerate(self.coordinates) if own.start in v]
        for i in free:
            joint = self.joints[i]
            S = joint.subspace(q[self.coordinates[i]]) / np.linalg.norm(joint.screws, axis=1)
            if np.linalg.svd(S, compute_uv=False)[-1] < LOST_RANK:
                return DynamicsError(
                    f"joint '{self.joint_names[i]}' of robot '{self.name}': its coordinates are "
                    f"singular here; the motion subspace loses rank {joint.singularity}"
                )
        i = next(i for i in free if most < self.coordinates[i].stop)
        return DynamicsError(
            f"robot '{self.name}': the mass matrix is singular at q = {q}: joint "
            f"'{self.joint_names[i]}' has no inertia to accelerate in some direction; give body "
            f"'{self.body_names[i]}' or the bodies that it carries mass and inertia, or prescribe "
            "the motion of the joint"
        )

    def _states(self, *rows: Any) -> tuple[Array, int]:
        """q, q', ... as states (..., 5, n), and the number of rows given."""
        states, shape, given = as_state(self.coordinate_names, *rows)
        return states.reshape(*shape, 5, self.n), given

    def _named(self, wrenches: Wrenches | None) -> Wrenches | None:
        """Wrenches by the names of bodies, which are those of the tree."""
        if wrenches is None:
            return None
        given = as_mapping("wrenches", wrenches)
        return {self.body_names[self.body_index(body)]: W for body, W in given.items()}


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
