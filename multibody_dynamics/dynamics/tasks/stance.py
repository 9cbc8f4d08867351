# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions of a legged robot on contacts at rest: joints, contact forces and torques, with rates.

The motion of the base up to its jounce and the contacts at rest determine q ... q'''' of the legs
(:class:`.TaskSpaceSolver`). What the base needs besides the contacts is a wrench with two rates
(:func:`.base_wrench`); the contact forces that exert it, of least norm inside the friction cones,
follow with two rates (:mod:`.contact_forces`), and with them Q, Q' and Q'' of the joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    Array,
    IndependentCopies,
    InputError,
    TrajectoryError,
    as_array,
    check_sequence,
    read_only,
    refused_as,
)
from ..model import MultibodyModel
from ..model.joints import unit
from ..rigid import BaseMotion, base_wrench, frame_pose, inverse_dynamics
from .contact_forces import BARRIER, ForcesInCones, PointContacts, share_of_weight
from .redundancy import RedundancyResolution
from .task_space import TaskSpaceSolver
from .tool_task import Task, TaskMotion


@dataclass(frozen=True, eq=False)
class Contact(IndependentCopies):
    """A foot on the ground: a point, about which it may turn, or three and more of a flat sole.

    Attributes
    ----------
    body : the body, or a link merged into one; a name or an index.
    points : (3,) or (p, 3) in the frame of `body`, m. The corners of a sole carry every wrench
        whose centre of pressure lies between them.
    normal : (3,) out of the ground, in inertial axes.
    friction : coefficient of static friction: the largest tangential over the normal force.

    Raises InputError for two points, and for a friction that is not positive.
    """

    body: str | int
    points: Any = (0.0, 0.0, 0.0)
    normal: Any = (0.0, 0.0, 1.0)
    friction: float = 0.5

    def __post_init__(self) -> None:
        points = as_array("points", self.points, (3,)).reshape(-1, 3)
        if len(points) in (0, 2):
            raise InputError(
                f"contact of '{self.body}': expected one point, or three or more of a sole, got "
                f"{len(points)}"
            )
        friction = as_array("friction", self.friction, ())
        if friction.ndim or not friction > 0.0:
            raise InputError(
                f"contact of '{self.body}': friction must be positive, got {self.friction!r}"
            )
        object.__setattr__(self, "points", read_only(points))
        object.__setattr__(self, "normal", read_only(unit("normal", self.normal)))
        object.__setattr__(self, "friction", float(friction))

    @property
    def task(self) -> Task:
        """The task that keeps the contact at rest."""
        offset = np.eye(4)
        offset[:3, 3] = self.points[0]
        return Task(self.body, "position" if len(self.points) == 1 else "pose", offset)


class StanceMotion(NamedTuple):
    """A motion on p contact points at rest, at k times.

    states : (k, 5, n) q ... q'''', rad or m and per s^k.
    torques : (k, 3, n) Q, Q', Q'', N m or N and per s^k.
    base, wrenches : motion of the base and {body: (k, 3, 6)} of the contacts, for the arguments of
        these names of all functions of dynamics.
    points : where the contacts are, in inertial axes.
    forces : (k, 3, p, 3) that the ground exerts at them, with two rates, N and per s^k.
    friction_used : (k, p) tangential over largest tangential force, below 1.
    residual : (k, 3, 6) wrench with two rates that the base lacks: rounding errors.
    """

    states: Array
    torques: Array
    base: BaseMotion
    wrenches: dict[str, Array]
    points: PointContacts
    forces: Array
    friction_used: Array
    residual: Array


def stance_motion(
    model: MultibodyModel,
    contacts: Sequence[Contact],
    times: Any,
    base: TaskMotion,
    q: Any,
    resolution: RedundancyResolution | None = None,
    *,
    barrier: float = BARRIER,
) -> StanceMotion:
    """Joints, contact forces and torques, with rates, for a motion of the base on given contacts.

    Parameters
    ----------
    contacts : they stay where q puts them at the first of the times.
    times : (k,) in s, increasing, and as close to each other as control cycles.
    base : motion of the base frame, the root link of a URDF, at these times, such as
        `PosePath.sample(times)`. All results are as smooth as its jounce.
    q : (n,) at the first time, rad or m.
    resolution : how redundant joints move; those that it prescribes stay at rest.
    barrier : weight of the barrier of :mod:`.contact_forces`. Less of it lets forces come closer to
        the cones before they leave those of least norm, and leave these faster.

    The motion is a feedforward: nothing here balances the robot. Neither limits of joints and
    torques are checked, nor collisions.

    Raises InputError for wrong shapes, contact points on a line, and a robot without weight;
    TrajectoryError for a motion out of reach of the legs, and one that no forces inside the cones
    allow, with the time.
    """
    check_sequence("contacts", contacts, "Contacts")
    if not contacts or not all(isinstance(contact, Contact) for contact in contacts):
        raise InputError(f"contacts: expected one Contact or more, got {contacts!r}")
    if not isinstance(base, TaskMotion):
        raise InputError(f"base: expected a TaskMotion, such as path.sample(times), got {base!r}")
    at = as_array("times", times, ())
    if at.ndim != 1 or not at.size or base.shape != at.shape or (np.diff(at) <= 0.0).any():
        raise InputError(
            "expected increasing times (k,) and one motion of the base for each, got times of shape"
            f" {at.shape} and motions {base.shape}"
        )
    if not barrier > 0.0:
        raise InputError(f"barrier must be positive, got {barrier}")
    share = share_of_weight(model, sum(len(contact.points) for contact in contacts))
    seen = base.seen_as("spatial")
    moving = BaseMotion(seen.pose, *seen.rates)
    states = _joint_motion(model, contacts, at, seen, q, resolution)
    rows = list(np.moveaxis(states, 1, 0))
    points = _points(model, contacts, states[0, 0], seen.pose[0])

    needed = base_wrench(model, *rows, base=moving)
    forces, is_held = ForcesInCones(points, share, barrier)(needed)
    for k in np.flatnonzero(~is_held):
        raise TrajectoryError(
            f"at {at[k]:.6g} s: no contact forces inside the friction cones exert the wrench "
            f"{np.array2string(needed[k, 0], precision=4)} (N m, N, about the inertial origin) that"
            " the motion needs; move the base more slowly, or keep it nearer to the middle of the "
            "contacts"
        )
    W = np.concatenate([np.cross(points.positions, forces), forces], axis=-1)
    wrenches: dict[str, Array] = {}
    ends = np.cumsum([len(contact.points) for contact in contacts])
    for contact, end in zip(contacts, ends, strict=True):
        body = contact.body if isinstance(contact.body, str) else model.body_names[contact.body]
        own = W[:, :, end - len(contact.points) : end].sum(axis=2)
        wrenches[body] = wrenches[body] + own if body in wrenches else own
    torques = inverse_dynamics(model, *rows, wrenches=wrenches, base=moving)
    return StanceMotion(
        states,
        np.stack([row for row in torques if row is not None], axis=1),
        moving,
        wrenches,
        points,
        forces,
        points.used(forces[:, 0]),
        base_wrench(model, *rows, wrenches=wrenches, base=moving),
    )


def _joint_motion(
    model: MultibodyModel,
    contacts: Sequence[Contact],
    at: Array,
    base: TaskMotion,
    q: Any,
    resolution: RedundancyResolution | None,
) -> Array:
    """(k, 5, n) q ... q'''' that keep the contacts at rest; `base` is in spatial representation."""
    tasks = [contact.task for contact in contacts]
    solver = TaskSpaceSolver(model, tasks, resolution)
    first = BaseMotion(base.pose[0])
    targets = [
        TaskMotion(frame_pose(model, q, task.body, base=first) @ task.offset) for task in tasks
    ]
    solver.prescribed[0] = q
    states = np.empty((len(at), 5, model.n))
    rates = np.stack(base.rates, axis=-2)
    for k, t in enumerate(at):
        solver.move_base(base.pose[k], rates[k])
        with refused_as(TrajectoryError, f"at {t:.6g} s"):
            if k == 0:
                states[k] = solver.start(targets, q)
            else:
                states[k] = solver.follow(targets, t - at[k - 1])
    return states


def _points(
    model: MultibodyModel, contacts: Sequence[Contact], q: Array, pose: Array
) -> PointContacts:
    """The points of all contacts at q (n,), with the base at a pose (4, 4)."""
    feet = [frame_pose(model, q, contact.body, base=BaseMotion(pose)) for contact in contacts]
    shares = [len(contact.points) for contact in contacts]
    return PointContacts(
        np.concatenate(
            [
                c.points @ foot[:3, :3].T + foot[:3, 3]
                for c, foot in zip(contacts, feet, strict=True)
            ]
        ),
        np.repeat([contact.normal for contact in contacts], shares, axis=0),
        np.repeat([contact.friction for contact in contacts], shares),
    )
