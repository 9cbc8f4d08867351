# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot model: an immutable tree of rigid bodies, each moved by one joint.

Joints may be coupled: q_tree = G q + g0 for the joints of the tree. A joint whose coordinate is a
multiple of another one is a joint with a scaled screw that reads the same coordinate; one that
depends on several is a chain of joints about one axis, whose exponentials commute. Offsets are part
of the reference poses. Every tree joint i then has a single coordinate, q[coordinates[i]], and the
recursions need nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    Array,
    InputError,
    ModelError,
    ModelWarning,
    as_array,
    as_mapping,
    as_real,
    as_state,
    cached_array,
    check_sequence,
    exactly,
    read_only,
    rebuilt,
    refused_as,
    times,
)
from ..lie import se3
from . import inertia
from .couplings import (
    Coupling,
    Transmission,
    checked_couplings,
    checked_positions,
    coupled_fields,
    transmissions,
)
from .description import describe
from .joints import turn_z_to
from .records import ANGULAR, COM, COORDINATE, INERTIA, JOINT_ROW, LINEAR, MASS, PLACEMENT, ROTOR

JOINT_TYPES = ("revolute", "continuous", "prismatic", "helical")
RATES = ("acceleration", "jerk")  # limits that are optional
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
PARALLEL = 1e-12  # relative; smaller components of a screw are rounding
FAR = 1.0  # rad or m, outside of the limits: a position in another unit
EQUAL = 1e-9  # of the factors of joints that follow, m/rad of those that slide


class Frame(NamedTuple):
    """A frame fixed to a body: its pose (4, 4) in the frame of body `body` (-1: base)."""

    body: int
    pose: Array


class JointLimits(NamedTuple):
    """Limits of the joints, each (n,); infinite if not given.

    lower, upper in rad or m; velocity in rad/s or m/s; effort in N m or N; acceleration in rad/s^2
    or m/s^2; jerk in rad/s^3 or m/s^3. A model has all of them; otherwise, the last two may be
    None.
    """

    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    acceleration: Any = None
    jerk: Any = None

    @classmethod
    def unlimited(cls, n: int) -> JointLimits:
        """Infinite limits of n joints."""
        infinite = np.full(n, np.inf)
        return cls(-infinite, *[infinite] * 5)

    @property
    def middle(self) -> Array:
        """(n,) the middle of the position limits; 0, or the limit closest to it, where a limit is
        infinite."""
        is_bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        low, high = (np.where(is_bounded, limit, 0.0) for limit in (self.lower, self.upper))
        return np.where(is_bounded, 0.5 * (low + high), np.clip(0.0, self.lower, self.upper))


class Payload(NamedTuple):
    """A load fixed to a body, with its spatial inertia (6, 6) in the frame of that body."""

    body: int
    inertia: Array


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MultibodyModel:
    """A tree of N bodies with n independent coordinates; a parent comes before its children.

    The configuration is the product of exponentials C_i(q) = exp(Y_1 q_1) ... exp(Y_i q_i) A_i
    along the path from the base to body i, [M21] (4), where q_i is `q[coordinates[i]]`. Without
    coupled joints N = n, and body i is moved by joint i.

    Attributes
    ----------
    joint_names, joint_types : (n,) of the independent joints.
    parents : (N,) int, the body that joint i is mounted on; -1 is the base.
    screws : (N, 6) Y_i, joint screws at q = 0 in the inertial frame, per unit of the coordinate,
        rad or m.
    poses : (N, 4, 4) A_i, body frame to inertial frame at q = 0.
    link_inertias : (N, 6, 6) M^b_i about the origin of the body frame, in its axes, without
        payloads; `inertias` includes them.
    coordinates : (N,) int, the coordinate of the joint that moves body i; 0 ... n - 1 if no joints
        are coupled.
    tree_joint_names : (N,) names of the joints that move the bodies, also of dependent ones.
    couplings : {dependent joint: :class:`Coupling`}.
    locked : {joint: position in rad or m} of joints that were fixed, see :meth:`with_locked`.
    base_inertia : (6, 6) of the base and the links merged into it, about the origin of its frame;
        only :func:`.base_wrench` uses it, and it is not checked.
    gravity : (3,) in m/s^2, inertial axes, e.g. (0, 0, -9.81).
    reflected_inertia : (n,) rotor inertia on the link side of the gear, kg m^2 or kg, included in
        the torque of a rigid joint. It must be zero for an elastic joint, whose motor carries it.
    frames : every name that functions accept as a `body`: bodies, the base, links merged into one
        of these, and payloads.

    All arrays are read-only; copies and pickles are checked like new models. `==` compares
    identity, not content. Raises ModelError if the data do not describe a valid robot.
    """

    name: str
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    parents: NDArray[np.int64]
    screws: Array
    poses: Array
    link_inertias: Array
    gravity: Array
    reflected_inertia: Array
    limits: JointLimits
    base_name: str = "base"
    frames: Mapping[str, Frame] = field(default_factory=dict)
    payloads: Mapping[str, Payload] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    coordinates: NDArray[np.int64] = None  # type: ignore[assignment]
    tree_joint_names: tuple[str, ...] = ()
    couplings: Mapping[str, Coupling] = field(default_factory=dict)
    locked: Mapping[str, float] = field(default_factory=dict)
    base_inertia: Any = None

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        if self.coordinates is None:
            object.__setattr__(self, "coordinates", np.arange(n))
        if len(self.coordinates) == n or not self.tree_joint_names:
            object.__setattr__(self, "tree_joint_names", tuple(self.joint_names))
        N = len(self.tree_joint_names)
        if self.base_inertia is None:
            object.__setattr__(self, "base_inertia", np.zeros((6, 6)))
        shapes = {
            "screws": (N, 6), "poses": (N, 4, 4), "link_inertias": (N, 6, 6),
            "gravity": (3,), "reflected_inertia": (n,), "base_inertia": (6, 6),
        }  # fmt: skip
        if n == 0:
            raise ModelError(f"robot '{self.name}' has no moving joint")
        for key, shape in shapes.items():
            with refused_as(ModelError, f"robot '{self.name}'"):
                array = exactly(key, getattr(self, key), shape)
            object.__setattr__(self, key, read_only(array))
        self._check_names()
        self._check_coordinates()
        self._check_tree()
        self._check_bodies()
        if not isinstance(self.limits, JointLimits):
            raise ModelError(f"limits: expected JointLimits(lower, ...), got {self.limits!r}")
        unlimited = {key: np.full(n, np.inf) for key in RATES if getattr(self.limits, key) is None}
        object.__setattr__(self, "limits", self.limits._replace(**unlimited))
        for key, given in self.limits._asdict().items():
            with refused_as(ModelError):
                values = as_real(f"limits.{key}", given)
            if values.shape != (n,) or np.isnan(values).any():
                raise ModelError(f"limits.{key}: expected {n} numbers, none of which is NaN")
        self._check_limits()
        object.__setattr__(self, "limits", JointLimits(*map(read_only, self.limits)))
        own = {body: Frame(i, np.eye(4)) for i, body in enumerate(self.body_names)}
        own[self.base_name] = Frame(-1, np.eye(4))
        self._check_frames(own)
        frames = {**self.frames, **own}
        fixed = {name: Frame(body, read_only(pose)) for name, (body, pose) in frames.items()}
        object.__setattr__(self, "frames", MappingProxyType(fixed))
        loads = {name: Payload(p.body, read_only(p.inertia)) for name, p in self.payloads.items()}
        object.__setattr__(self, "payloads", MappingProxyType(loads))
        for key in ("couplings", "locked"):
            object.__setattr__(self, key, MappingProxyType(dict(getattr(self, key))))

    def _check_names(self) -> None:
        n, N = self.n, len(self.tree_joint_names)
        for kind, names, count in (
            ("joint", self.joint_names, n),
            ("joint", self.tree_joint_names, N),
            ("body", self.body_names, N),
        ):
            if len(names) != count:
                raise ModelError(f"expected {count} {kind} names, one per joint, got {len(names)}")
            for name in names:
                if not isinstance(name, str) or not name:
                    raise ModelError(f"a {kind} name is {name!r}; expected a non-empty string")
                if names.count(name) > 1:
                    raise ModelError(f"two {kind} names are '{name}'; names must be unique")
        if self.base_name in self.body_names:
            raise ModelError(
                f"a body and the base are both named '{self.base_name}'; names must be unique"
            )
        if len(self.joint_types) != n:
            raise ModelError(
                f"expected {n} joint types, one per joint, got {len(self.joint_types)}"
            )

    def _check_coordinates(self) -> None:
        given, N = np.asarray(self.coordinates), len(self.tree_joint_names)
        if given.shape != (N,) or given.dtype.kind not in "iu":
            raise ModelError(f"coordinates: expected {N} whole numbers, got {given!r}")
        if sorted(set(given.tolist())) != list(range(self.n)):
            raise ModelError(
                f"coordinates: expected each of 0 ... {self.n - 1} at least once, got {given}"
            )
        object.__setattr__(self, "coordinates", read_only(given, np.int64))

    def _check_tree(self) -> None:
        parents, N = np.asarray(self.parents), self.body_count
        if parents.shape != (N,) or parents.dtype.kind not in "iu":
            raise ModelError(f"parents: expected {N} whole numbers, got {parents!r}")
        for i, parent in enumerate(parents):
            check_parent(self.tree_joint_names[i], parent, i)
        object.__setattr__(self, "parents", read_only(parents, np.int64))
        for joint, Y in zip(self.tree_joint_names, self.screws, strict=True):
            if not np.any(Y):
                raise ModelError(f"joint '{joint}': its screw (its axis) is zero")
        own = self.screws[self.first_bodies]
        for joint, kind, Y in zip(self.joint_names, self.joint_types, own, strict=True):
            if kind not in JOINT_TYPES or (kind == "prismatic") != (not np.any(Y[:3])):
                raise ModelError(
                    f"joint '{joint}': its type is {kind!r}, but its screw is that of a "
                    f"{screw_type(Y)} joint; the types are {', '.join(JOINT_TYPES)}"
                )

    def _check_limits(self) -> None:
        for joint, lower, upper, velocity, effort, *rates in zip(
            self.joint_names, *self.limits, strict=True
        ):
            for key, rate in zip(RATES, rates, strict=True):
                if not rate > 0:
                    raise ModelError(
                        f"joint '{joint}': {key} limit {rate:g}; it must be positive; leave it out"
                        " if there is none"
                    )
            if lower > upper or velocity < 0 or effort < 0:
                raise ModelError(
                    f"joint '{joint}': limits lower {lower:g}, upper {upper:g}, velocity "
                    f"{velocity:g}, effort {effort:g}; lower must not exceed upper; velocity and "
                    "effort must not be negative"
                )

    def _check_bodies(self) -> None:
        for i, body in enumerate(self.body_names):
            _check_rigid(f"body '{body}': its pose at q = 0", self.poses[i])
            inertia.check(self.link_inertias[i], f"body '{body}'")

    def _check_frames(self, own: Mapping[str, Frame]) -> None:
        for name, (body, pose) in self.frames.items():
            if not isinstance(name, str) or not name:
                raise ModelError(f"a frame name is {name!r}; expected a non-empty string")
            _check_frame_body(name, body, self.body_count)
            _check_rigid(f"frame '{name}': its pose", pose)
            if name in own and (body != own[name].body or np.any(pose != own[name].pose)):
                raise ModelError(f"frame '{name}': a body or the base has this name; use another")

    __reduce__ = rebuilt

    def __repr__(self) -> str:
        return f"<MultibodyModel '{self.name}' with {self.n} joints>"

    @property
    def n(self) -> int:
        """Number of independent joints, and of coordinates."""
        return len(self.joint_names)

    @property
    def home(self) -> Array:
        """(n,) a position that the robot can take: zero, unless it has loops that do not close."""
        return np.zeros(self.n)

    def reaches(self, q: Any) -> NDArray[np.bool_]:
        """(...,) whether the loops of the robot, if there are any, allow q (..., n), on a straight
        line from `home` and away from singular poses. Limits of joints do not count."""
        q = as_array("q", q, (self.n,), self.joint_names)
        return np.ones(q.shape[:-1], dtype=bool)

    def within_reach(self, q: Array) -> Array:
        """Positions (k, n), rad or m: q (k, n) where the robot :meth:`reaches` it, otherwise the
        first that it reaches when the way from `home` is halved again and again.

        Raises InputError if `home` is nearly singular.
        """
        if not self.reaches(self.home):
            raise InputError(
                f"robot '{self.name}': its assembled configuration is nearly singular; assemble it"
                " in another one"
            )
        q = q.copy()
        while not (reached := self.reaches(q)).all():
            q[~reached] = (q[~reached] + self.home) / 2.0
        return q

    def obstacle(self, q: Array) -> str:
        """Which loop keeps the robot from q (n,), and why; empty where it reaches q."""
        return ""

    @property
    def is_periodic(self) -> NDArray[np.bool_]:
        """(n,) whether a turn of each joint leaves all joints that follow it where they are."""
        factors, travels = self.joint_rows[:, [ANGULAR, LINEAR]].T
        elsewhere = (np.abs(factors - np.round(factors)) > EQUAL) | (np.abs(travels) > EQUAL)
        return np.asarray(np.bincount(self.coordinates, elsewhere, self.n) == 0)

    @property
    def body_count(self) -> int:
        """Number N of bodies, and of joints in the tree; more than n if joints are coupled."""
        return len(self.body_names)

    @property
    def tree_joint_types(self) -> tuple[str, ...]:
        """(N,) the type of each joint of the tree, or "with" the joint that it follows."""
        own = set(self.first_bodies.tolist())
        return tuple(
            self.joint_types[c] if i in own else f"with {self.joint_names[c]}"
            for i, c in enumerate(self.coordinates.tolist())
        )

    @property
    def is_coupled(self) -> bool:
        """Whether several joints share a coordinate."""
        return self.body_count > self.n

    @cached_array
    def first_bodies(self) -> NDArray[np.int64]:
        """(n,) the body that each joint moves; the first one that its coordinate moves if no joint
        of the tree has its name."""
        return _first_bodies(self.joint_names, self.tree_joint_names, self.coordinates)

    @cached_property
    def transmissions(self) -> tuple[Transmission, ...]:
        """The motors that move several joints together, which joint states and trajectories may
        name instead of these motors."""
        return transmissions(self.joint_names, self.tree_joint_names, self.couplings)

    @property
    def dependent_joints(self) -> tuple[str, ...]:
        """Joints without a coordinate of their own name, whose motion follows from the others."""
        return tuple(self.couplings)

    def dependent_motion(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Positions and velocities of `dependent_joints` for q, q' (n,), rad or m and per s."""
        G = self._dependence
        return G[:, :-1] @ q + G[:, -1], G[:, :-1] @ qd

    @cached_array
    def _dependence(self) -> Array:
        """(d, n + 1) `dependent_joints` per unit of each coordinate, and at zero."""
        rows = [
            [*(terms.get(name, 0.0) for name in self.joint_names), offset]
            for terms, offset in self.couplings.values()
        ]
        return np.array(rows).reshape(-1, self.n + 1)

    @cached_array
    def coordinate_map(self) -> Array:
        """(N, n) with one 1 in each row: the coordinates of the tree are `coordinate_map @ q`."""
        return np.eye(self.n)[self.coordinates]

    @cached_property
    def tree(self) -> MultibodyModel:
        """The same tree with a coordinate of its own for each of its N joints.

        Its joints move by one unit of the shared coordinate, with the offsets at zero.
        """
        if not self.is_coupled:
            return self
        rotors = np.zeros(self.body_count)
        rotors[self.first_bodies] = self.reflected_inertia
        return replace(
            self,
            joint_names=self.tree_joint_names,
            joint_types=tuple(map(screw_type, self.screws)),
            reflected_inertia=rotors,
            limits=JointLimits.unlimited(self.body_count),
            coordinates=np.arange(self.body_count),
            couplings={},
        )

    def require_uncoupled(self, what: str) -> None:
        """InputError that `what` needs a coordinate for each joint, if some joints share one."""
        if self.is_coupled:
            raise InputError(
                f"{what} is not available for robot '{self.name}', whose joints are coupled: "
                f"{', '.join(self.couplings)} depend on others; load it without these couplings"
            )

    def fields_behind(self, count: int) -> dict[str, Any]:
        """What else to replace in a robot that `count` new joints carry: nothing, without loops."""
        return {}

    def require_tree(self, what: str) -> None:
        """InputError that `what` is not available for a robot with loops, if it has any."""

    @property
    def has_passive_springs(self) -> bool:
        """Whether springs or dampers act on joints without a motor."""
        return False

    def spread(self, values: Any) -> Array:
        """Values (..., n) of the coordinates at the joints of the tree, (..., N): with
        :meth:`collect`, a function of `tree` becomes one of this robot."""
        values = np.asarray(values)
        return values[..., self.coordinates] if self.is_coupled else values

    def collect(self, values: Array, *axes: int) -> Array:
        """Sum the entries of coupled joints along `axes`: (..., N, ...) to (..., n, ...)."""
        if self.is_coupled:
            for axis in axes:
                values = np.moveaxis(np.tensordot(values, self.coordinate_map, (axis, 0)), -1, axis)
        return values

    def joint_index(self, joint: str | int) -> int:
        """Index of a joint given by name or index; InputError lists the known names."""
        if isinstance(joint, str):
            if joint in self.joint_names:
                return self.joint_names.index(joint)
            raise InputError(
                f"no joint '{joint}' in robot '{self.name}'; it has {', '.join(self.joint_names)}"
            )
        if not isinstance(joint, (int, np.integer)) or not 0 <= joint < self.n:
            raise InputError(f"joint must be a name or an index below {self.n}, got {joint!r}")
        return int(joint)

    def frame(self, body: str | int) -> Frame:
        """Frame of a body (name or index), of the base, of a merged link, or of a payload."""
        if isinstance(body, str):
            if body in self.frames:
                return self.frames[body]
            raise InputError(
                f"no body or frame '{body}' in robot '{self.name}'; it has {', '.join(self.frames)}"
            )
        if not isinstance(body, (int, np.integer)) or not 0 <= body < self.body_count:
            raise InputError(
                f"body must be a name or an index below {self.body_count}, got {body!r}"
            )
        return self.frames[self.body_names[body]]

    def body_index(self, body: str | int) -> int:
        """Index of the moving body that a name belongs to; InputError for the base."""
        index = self.frame(body).body
        if index < 0:
            raise InputError(f"'{body}' belongs to the base, which no joint moves")
        return index

    def path(self, body: str | int) -> list[int]:
        """Indices of the bodies from the base to a body, and of the joints that move them."""
        chain = []
        i = self.frame(body).body
        while i >= 0:
            chain.append(i)
            i = int(self.parents[i])
        return chain[::-1]

    @cached_array
    def moved_by(self) -> NDArray[np.bool_]:
        """(N, n): [i, j] is true if joint j is on the path from the base to body i."""
        paths = np.zeros((self.body_count, self.n), dtype=bool)
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                paths[i] |= paths[parent]
            paths[i, self.coordinates[i]] = True
        return paths

    def with_gravity(self, gravity: Any) -> MultibodyModel:
        """The same robot under `gravity` (3,) in m/s^2, inertial axes."""
        return replace(self, gravity=gravity)

    def with_reflected_inertia(self, reflected_inertia: Any) -> MultibodyModel:
        """The same robot with rotor inertias (n,), or {joint name: value}, on the link side of the
        gear."""
        if isinstance(reflected_inertia, Mapping):
            values = self.reflected_inertia.copy()
            for joint, value in reflected_inertia.items():
                i = self.joint_index(joint)
                values[i] = exactly(f"reflected inertia of '{joint}'", value, ())
            reflected_inertia = values
        values = as_array("reflected_inertia", reflected_inertia, (self.n,), self.joint_names)
        if (values < 0).any():
            joint = self.joint_names[int(np.argmin(values))]
            raise ModelError(f"joint '{joint}': a reflected inertia cannot be negative")
        return replace(self, reflected_inertia=values)

    def with_couplings(self, couplings: Any) -> MultibodyModel:
        """The robot whose joints depend on others: belts, differentials, parallelograms, fingers.

        `couplings` is {dependent joint: {joint: factor}}, with an offset in rad or m as a pair
        ({joint: factor}, offset): q_dependent = sum of factor q + offset. A name that is no joint
        of the robot becomes a new coordinate, such as the input of a differential. Chains are
        followed. The dependent joints leave `joint_names`, and all functions take and return the
        coordinates that remain: Q = G^T Q_tree.

        >>> model.with_couplings({"finger2": {"finger1": 1.0}})
        >>> model.with_couplings({"pitch": {"a": 0.5, "b": 0.5}, "roll": {"a": 0.5, "b": -0.5}})

        Raises InputError for unknown joints and for anything but numbers, and ModelError for
        joints that depend on each other in a circle.
        """
        return self._reduced(checked_couplings(couplings))

    def with_locked(self, positions: Any) -> MultibodyModel:
        """The robot with joints held at {joint: position}, rad or m, or all named joints at zero.

        Their bodies are merged into those that carry them, and remain frames under their own names.
        Raises InputError for an unknown joint, and ModelError if no joint is left; a position far
        outside the limits causes a ModelWarning.
        """
        held = checked_positions(self, positions)
        for joint, at in held.items():
            lower, upper = (ends[self.joint_index(joint)] for ends in self.limits[:2])
            if not lower - FAR <= at.offset <= upper + FAR:
                warnings.warn(
                    f"'{joint}' is locked at {at.offset:g}, far outside its limits, {lower:g} to"
                    f" {upper:g}: is it in rad or m?",
                    ModelWarning,
                    stacklevel=2,
                )
        return self._reduced(held)

    def with_base(self, link: str) -> MultibodyModel:
        """The robot as seen from a link that does not move: its frame becomes the inertial frame.

        Gravity is the same vector in the new axes. Raises InputError for an unknown link, and
        ModelError for one that joints move.
        """
        body, pose = self.frame(link)
        if body >= 0:
            raise ModelError(
                f"'{link}' belongs to body '{self.body_names[body]}', which joints move; lock these"
            )
        T = se3.inverse(pose)
        frames = {name: f if f.body >= 0 else Frame(-1, T @ f.pose) for name, f in
                  self.frames.items() if name != link}  # fmt: skip
        return replace(
            self,
            base_name=link,
            screws=self.screws @ se3.Ad(T).T,
            poses=T @ self.poses,
            gravity=T[:3, :3] @ self.gravity,
            frames=frames,
            base_inertia=inertia.transform(self.base_inertia, T),
        )

    def _reduced(self, couplings: Mapping[str, Coupling]) -> MultibodyModel:
        if not couplings:
            return self
        changed = coupled_fields(self, couplings)
        names, limits = changed["joint_names"], JointLimits.unlimited(len(changed["joint_names"]))
        first = _first_bodies(names, changed["tree_joint_names"], changed["coordinates"])
        types, bounds = [], np.array(limits)
        for c, name in enumerate(names):
            if name in self.joint_names:
                j = self.joint_names.index(name)
                types.append(self.joint_types[j])
                bounds[:, c] = [values[j] for values in self.limits]
            else:
                types.append(screw_type(changed["screws"][first[c]]))
        for each in transmissions(names, changed["tree_joint_names"], changed["couplings"]):
            if {*each.joints} <= {*self.joint_names}:
                own = [self.joint_names.index(joint) for joint in each.joints]
                motors = [names.index(motor) for motor in each.motors]
                bounds[:, motors] = each.limits(np.array(self.limits)[:, own])
        return replace(self, **changed, joint_types=tuple(types), limits=JointLimits(*bounds))

    def with_payload(
        self,
        body: str | int,
        mass: float,
        com: Any = (0.0, 0.0, 0.0),
        inertia_com: Any = ((0.0,) * 3,) * 3,
        *,
        name: str = "payload",
    ) -> MultibodyModel:
        """The robot with a load fixed to a body; `without_payload` removes it exactly.

        `mass` in kg; `com` (3,) in m and `inertia_com` (3, 3) in kg m^2 in the frame of `body`,
        which may be a link merged into a moving body.
        """
        if name in self.payloads or name in self.frames:
            raise InputError(f"the name '{name}' is taken in robot '{self.name}'; use another")
        index, pose = self.body_index(body), self.frame(body).pose
        load = inertia.spatial_inertia(mass, com, inertia_com)
        inertia.check(load, f"payload '{name}'")
        attached = Payload(index, read_only(inertia.transform(load, pose)))
        return replace(
            self,
            payloads={**self.payloads, name: attached},
            frames={**self.frames, name: Frame(index, pose)},
        )

    def without_payload(self, name: str = "payload") -> MultibodyModel:
        """The robot without a load that was added by `with_payload`."""
        if name not in self.payloads:
            there = ", ".join(self.payloads) or "none"
            raise InputError(f"no payload '{name}' on robot '{self.name}'; attached: {there}")
        return replace(
            self,
            payloads={key: load for key, load in self.payloads.items() if key != name},
            frames={key: frame for key, frame in self.frames.items() if key != name},
        )

    def with_scaled_links(self, factors: Any) -> MultibodyModel:
        """The same robot with the mass and inertia of each link multiplied by `factors` (N,),
        payloads aside. Nothing that was checked can become wrong: this takes a hundredth of the
        time of a new model."""
        scale = as_array("factors", factors, (self.body_count,), self.tree_joint_names)
        for joint, factor in zip(self.tree_joint_names, scale, strict=True):
            if not factor > 0.0:
                raise InputError(f"factors: {factor:g} for joint '{joint}'; must be positive")
        inertias = read_only(scale[:, None, None] * self.link_inertias)
        if self.payloads:
            return replace(self, link_inertias=inertias)
        rows = self.joint_rows.copy()
        rows[:, MASS] *= scale
        rows[:, INERTIA : INERTIA + 6] *= scale[:, None]
        scaled = object.__new__(type(self))
        kept = {item.name: getattr(self, item.name) for item in fields(self)}
        vars(scaled).update(kept, link_inertias=inertias, joint_rows=read_only(rows))
        return scaled

    @cached_array
    def inertias(self) -> Array:
        """M^b_i (N, 6, 6) of the bodies, including their payloads."""
        total = self.link_inertias.copy()
        for load in self.payloads.values():
            total[load.body] += load.inertia
        return total

    def describe(self) -> str:
        """Tables of the robot as text, for comparison with its data sheet."""
        return describe(self)

    @cached_array
    def joint_rows(self) -> Array:
        """Constants of the recursions, (N, JOINT_ROW), see :mod:`.records`."""
        rows = np.zeros((self.body_count, JOINT_ROW))
        rows[:, COORDINATE] = self.coordinates
        rows[self.first_bodies, ROTOR] = self.reflected_inertia
        placed: list[Array] = []
        for i in range(self.body_count):
            F, a, h = _joint_frame(self.body_screws[i])
            placed.append(self.poses[i] @ F)
            p = self.parents[i]
            B = placed[i] if p < 0 else se3.inverse(placed[p]) @ placed[i]
            mass, com, about_com = inertia.decompose(self.inertias[i])
            R = F[:3, :3]
            rows[i, PLACEMENT : PLACEMENT + 9] = B[:3, :3].ravel()
            rows[i, PLACEMENT + 9 : PLACEMENT + 12] = B[:3, 3]
            rows[i, ANGULAR], rows[i, LINEAR] = a, h
            rows[i, MASS] = mass
            rows[i, COM : COM + 3] = R.T @ (com - F[:3, 3]) if mass else 0.0
            rows[i, INERTIA : INERTIA + 6] = (R.T @ about_com @ R)[np.triu_indices(3)]
        return rows

    @cached_array
    def base_row(self) -> Array:
        """(1, JOINT_ROW): the base as the body of a joint that does not move."""
        row = np.zeros((1, JOINT_ROW))
        row[0, PLACEMENT : PLACEMENT + 9 : 4] = 1.0
        row[0, MASS], row[0, COM : COM + 3], about_com = inertia.decompose(self.base_inertia)
        row[0, INERTIA : INERTIA + 6] = about_com[np.triu_indices(3)]
        return row

    @cached_array
    def body_screws(self) -> Array:
        """X_i = Ad_{A_i}^-1 Y_i (N, 6), the joint screws in the frames of their bodies."""
        return times(se3.Ad(se3.inverse(self.poses)), self.screws)

    @cached_array
    def body_in_joint(self) -> Array:
        """Pose (N, 4, 4) of each body frame in its joint frame."""
        return np.stack([se3.inverse(_joint_frame(X)[0]) for X in self.body_screws])


def _first_bodies(
    joints: Sequence[str], tree_joints: Sequence[str], coordinates: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(n,) the index of each joint in the tree, or else of the first one with its coordinate."""
    first = np.unique(coordinates, return_index=True)[1]
    for i, c in enumerate(coordinates.tolist()):
        if tree_joints[i] == joints[c]:
            first[c] = i
    return first


def check_model(model: Any) -> None:
    """InputError unless `model` is a MultibodyModel."""
    if not isinstance(model, MultibodyModel):
        raise InputError(f"model: expected a MultibodyModel, got {model!r}")


def finite_range(model: MultibodyModel) -> tuple[Array, Array]:
    """Lower and upper position limits (n,); pi rad or 0.2 m on both sides of zero if unlimited."""
    lower, upper = model.limits.lower, model.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    free = np.array([0.2 if kind == "prismatic" else np.pi for kind in model.joint_types])
    return np.where(bounded, lower, -free), np.where(bounded, upper, free)


def model_state(model: MultibodyModel, *rows: Any) -> tuple[Array, tuple[int, ...], int]:
    """q, q', ... of a robot as one batch, see :func:`.as_state`; also checks `model`."""
    check_model(model)
    return as_state(model.joint_names, *rows)


def model_from_screws(
    parents: Sequence[int],
    screws: Any,
    poses: Any,
    inertias: Any,
    *,
    joint_names: Sequence[str | Sequence[str]] | None = None,
    body_names: Sequence[str] | None = None,
    gravity: Any = STANDARD_GRAVITY,
    name: str = "robot",
    joint_types: Sequence[str] | None = None,
    reflected_inertia: Any | None = None,
    limits: JointLimits | None = None,
    base_name: str = "base",
    frames: Mapping[str, Frame] | None = None,
    notes: Sequence[str] = (),
    strict: bool = False,
    base_inertia: Any | None = None,
) -> MultibodyModel:
    """A robot from joint screws Y_i, reference poses A_i and inertias M^b_i, [M21] section II.

    Parameters
    ----------
    parents : n indices, -1 for the base; a parent comes before its children.
    screws : (n, 6) Y_i = (e, y x e + h e), or (0, e) for a prismatic joint, inertial frame, q = 0.
        Helical joints have the pitch h in m/rad. e need not be of unit length; q scales with it.
        An entry may be a stack (k, 6), a joint with k degrees of freedom (see :mod:`.joints`),
        which becomes k joints with massless bodies in between.
    poses : (n, 4, 4) A_i.
    inertias : (n, 6, 6) M^b_i about the origin of the body frame, see :func:`.spatial_inertia`.
    joint_names : one per entry, default joint1 ...; the joints of a stack are named `<name>_1` ...
        `<name>_k`, or by a sequence of k names. Their massless bodies are named `<joint>_body`.
    body_names : one per entry, default body1 ...
    joint_types, reflected_inertia, limits : one per joint, counting each joint of a stack; by
        default the types follow from the screws.
    frames : named frames; `Frame.body` is an index like those of `parents`.
    base_inertia : (6, 6) of the base, about the origin of its frame; default: massless.

    Raises ModelError. An inertia that violates the triangle inequality causes a ModelWarning, or a
    ModelError with `strict`.
    """
    with refused_as(ModelError):
        check_sequence("parents", parents, "indices")
        check_sequence("screws", screws, "screws")
    if not len(parents):
        raise ModelError(f"robot '{name}' has no moving joint")
    joints = _default_names("joint", joint_names, len(parents))
    bodies = _default_names("body", body_names, len(parents))
    single = _split_joints(parents, screws, poses, inertias, joints, bodies)
    n = len(single.parents)
    with refused_as(ModelError):
        frames = {key: _as_frame(key, frame) for key, frame in as_mapping("frames", frames).items()}
    for key, frame in frames.items():
        _check_frame_body(key, frame.body, len(parents))
    last = {-1: -1, **dict(enumerate(single.last))}
    model = MultibodyModel(
        name=name,
        joint_names=tuple(single.joint_names),
        body_names=tuple(single.body_names),
        joint_types=tuple(joint_types or map(screw_type, single.screws)),
        parents=np.asarray(single.parents, dtype=np.int64),
        screws=np.reshape(single.screws, (n, 6)),
        poses=np.reshape(single.poses, (n, 4, 4)),
        link_inertias=np.reshape(single.inertias, (n, 6, 6)),
        gravity=gravity,
        reflected_inertia=np.zeros(n),
        limits=JointLimits.unlimited(n) if limits is None else limits,
        base_name=base_name,
        frames={key: Frame(last[f.body], f.pose) for key, f in frames.items()},
        notes=tuple(notes),
        base_inertia=base_inertia,
    )
    for body, M in zip(model.body_names, model.link_inertias, strict=True):
        inertia.check_triangle(M, f"body '{body}'", strict=strict)
    if reflected_inertia is None:
        return model
    with refused_as(ModelError):
        return model.with_reflected_inertia(reflected_inertia)


class _SingleDofJoints(NamedTuple):
    """Joints with one degree of freedom each; `last` is the last joint of each original one."""

    parents: list[int]
    screws: list[Array]
    poses: list[Array]
    inertias: list[Array]
    joint_names: list[str]
    body_names: list[str]
    last: list[int]


def _split_joints(
    parents: Sequence[int],
    screws: Any,
    poses: Any,
    inertias: Any,
    joints: Sequence[str | Sequence[str]],
    bodies: Sequence[str],
) -> _SingleDofJoints:
    """The joints of `model_from_screws` with every stack of screws split up."""
    n = len(parents)
    if len(screws) != n:
        raise ModelError(f"screws: expected {n}, one per parent, got {len(screws)}")
    with refused_as(ModelError):
        A = as_array("poses", poses, (n, 4, 4))
        M = as_array("inertias", inertias, (n, 6, 6))
        stacks = [
            np.atleast_2d(as_array(f"screws[{i}] (joint '{joint}')", screws[i], (6,)))
            for i, joint in enumerate(joints)
        ]
        for i, joint in enumerate(joints):
            if not isinstance(joint, str):
                check_sequence(f"joint_names[{i}]", joint, "names")

    single = _SingleDofJoints([], [], [], [], [], [], [])
    for i, (joint, stack) in enumerate(zip(joints, stacks, strict=True)):
        k = len(stack)
        names = [joint] if isinstance(joint, str) else list(joint)
        if len(names) == 1 < k:
            names = [f"{names[0]}_{j + 1}" for j in range(k)]
        if stack.ndim != 2 or len(names) != k or k == 0:
            raise ModelError(
                f"joint '{joint}': expected screws (k, 6), k >= 1, with a single name or k names, "
                f"got shape {stack.shape} and {len(names)} names"
            )
        check_parent(names[0], parents[i], i)
        parent = -1 if parents[i] < 0 else single.last[parents[i]]
        for j, name in enumerate(names):
            carries = j == k - 1
            single.parents.append(parent)
            single.screws.append(stack[j])
            single.poses.append(A[i])
            single.inertias.append(M[i] if carries else np.zeros((6, 6)))
            single.joint_names.append(name)
            single.body_names.append(bodies[i] if carries else f"{name}_body")
            parent = len(single.parents) - 1
        single.last.append(parent)
    return single


def _default_names(kind: str, names: Sequence[Any] | None, n: int) -> Sequence[Any]:
    if names is None:
        return [f"{kind}{i + 1}" for i in range(n)]
    with refused_as(ModelError):
        check_sequence(f"{kind}_names", names, "names")
    if len(names) != n:
        raise ModelError(f"expected {n} {kind} names, one per parent, got {len(names)}")
    return names


def check_parent(joint: str, parent: Any, i: int) -> None:
    """ModelError unless the parent of joint i is the base or the body of an earlier joint."""
    if not isinstance(parent, (int, np.integer)) or not -1 <= parent < i:
        raise ModelError(
            f"joint '{joint}': parent {parent} must be a whole number, -1 (the base) or the index "
            f"of an earlier joint, below {i}"
        )


def _as_frame(name: str, value: Any) -> Frame:
    if not isinstance(value, tuple) or len(value) != 2:
        raise InputError(f"frame '{name}': expected a Frame(body, pose), got {value!r}")
    return Frame(*value)


def _check_frame_body(name: str, body: Any, n: int) -> None:
    if not isinstance(body, (int, np.integer)) or not -1 <= body < n:
        raise ModelError(
            f"frame '{name}': body {body} must be -1 (the base) or the index of a body, below {n}"
        )


def _check_rigid(what: str, pose: Any) -> None:
    """ModelError unless `pose` is a single rigid transformation (4, 4)."""
    with refused_as(ModelError, f"{what} is not a rigid transformation"):
        se3.as_pose("C", exactly("C", pose, (4, 4)))


def screw_type(Y: Array) -> str:
    """Type of joint that a screw (6,) describes: revolute, prismatic or helical."""
    angular, linear = Y[:3], Y[3:]
    if not np.any(angular):
        return "prismatic"
    along = abs(angular @ linear)
    size = np.linalg.norm(angular) * max(np.linalg.norm(linear), np.linalg.norm(angular))
    return "helical" if along > PARALLEL * size else "revolute"


def _joint_frame(X: Array) -> tuple[Array, float, float]:
    """The joint frame F of the joint screw X (6,), both in the body frame; z is the joint axis.

    Returns the pose of F (4, 4), then a and h with X = Ad_F (0, 0, a, 0, 0, h). The origin of F is
    the point of the axis nearest to the origin of the body.
    """
    e, v = X[:3], X[3:]
    a = float(np.linalg.norm(e))
    if a > PARALLEL * np.linalg.norm(v):
        axis, h, origin = e / a, float(e @ v) / a, np.cross(e, v) / a**2
    else:
        a, h = 0.0, float(np.linalg.norm(v))
        axis, origin = v / h, np.zeros(3)
    return se3.from_rotation_translation(turn_z_to(axis), origin), a, h
