# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Contact forces with two rates in the control cycle of a robot that stands, see :mod:`.stance`."""

from collections.abc import Sequence

import numpy as np

from ..core import Array, IndependentCopies, InputError
from ..lie import so3
from ..model import MultibodyModel
from ..model.records import POSE, POSITION, TWIST
from ..rigid import InverseDynamicsSolver
from .contact_forces import BARRIER, ForcesInCones, PointContacts, share_of_weight
from .stance import Contact

SLIDING = 0.01  # m/s, at which a foot of the desired motion is no longer at rest
NEW_STANCE = 1e-3  # m, from the first points of a stance


class StandingForces(IndependentCopies):
    """The forces of least norm inside the friction cones that carry the base of a desired motion.

    contacts : what stands on the ground, wherever the desired motion first puts it.

    Attributes
    ----------
    forces : (3, p, 3) at the points of all contacts, with two rates, in inertial axes, N and per
        s^k; not finite where there are none.
    problem : why there are none, or "".

    Raises InputError for a robot without weight, unknown bodies, and fewer than three points.
    """

    def __init__(self, model: MultibodyModel, contacts: Sequence[Contact]) -> None:
        count = sum(len(each.points) for each in contacts)
        if count < 3:
            raise InputError(f"expected three or more contact points, got {count}")
        self._share = share_of_weight(model, count)
        self._solver = InverseDynamicsSolver(model, "spatial", specialise=False)
        bodies, in_joints = [], []
        for each in contacts:
            body, pose = model.frame(each.body)
            if body >= 0:
                pose = model.body_in_joint[body] @ pose
            bodies.append(body)
            in_joints.append(each.points @ pose[:3, :3].T + pose[:3, 3])
        shares = [len(each.points) for each in contacts]
        self._names = np.repeat([str(each.body) for each in contacts], shares)
        self._bodies, self._in_joint = np.repeat(bodies, shares), np.concatenate(in_joints)
        self._normals = np.repeat([each.normal for each in contacts], shares, axis=0)
        self._friction = np.repeat([each.friction for each in contacts], shares)
        self._grasp: ForcesInCones | None = None
        self._points, self._arms = np.zeros((count, 3)), np.zeros((count, 3, 3))
        self._is_known = False
        self.forces: Array = np.zeros((3, count, 3))
        self.problem = ""

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base, see :meth:`.ModelSolver.move_base`."""
        self._solver.move_base(pose, rates)

    def update(self, state: Array, wrenches: Array) -> None:
        """Add the wrenches of the contacts to `wrenches` (N, 3, 6), those of other forces on the
        bodies, for the desired motion `state` (5, n)."""
        solver, self.problem = self._solver, ""
        solver.state[:], solver.applied_wrenches[:] = state, wrenches
        solver.update()
        try:
            self._find_forces(solver.base_wrench[None].copy(), solver.bodies)
        except InputError as error:
            self.problem = str(error)
            self.forces[:] = np.nan
        self._is_known = not self.problem
        moments = (self._arms @ self.forces[..., None])[..., 0]
        exerted = np.concatenate([moments, self.forces], axis=-1).swapaxes(0, 1)
        is_moving = self._bodies >= 0
        np.add.at(wrenches, self._bodies[is_moving], exerted[is_moving])

    def _find_forces(self, needed: Array, rows: Array) -> None:
        """Exert the wrench (1, 3, 6) that the base needs. Raises InputError if nothing does."""
        points = self._find_points(rows)
        if self._grasp is None or np.abs(points - self._points).max() > NEW_STANCE:
            self._grasp = None
            contacts = PointContacts(points, self._normals, self._friction)
            self._grasp, self._is_known = ForcesInCones(contacts, self._share, BARRIER), False
            self._points, self._arms = points, so3.hat(points)
        start = self.forces[0] if self._is_known else None
        (self.forces[:],), is_held = self._grasp(needed, start)
        if not is_held.all():
            raise InputError("no contact forces inside the friction cones carry the desired motion")

    def _find_points(self, rows: Array) -> Array:
        """(p, 3) where the contacts are, in rows of the recursion. Raises InputError for one that
        moves."""
        own = rows[self._bodies + 1]
        turned = own[:, POSE : POSE + 9].reshape(-1, 3, 3) @ self._in_joint[..., None]
        points = turned[..., 0] + own[:, POSITION : POSITION + 3]
        turning = so3.hat(own[:, TWIST : TWIST + 3]) @ points[..., None]
        speeds = np.abs(own[:, TWIST + 3 : TWIST + 6] + turning[..., 0]).max(axis=1)
        for k in np.flatnonzero(~(speeds <= SLIDING)):
            moves = f"moves by {speeds[k]:.3g} m/s in the desired motion"
            raise InputError(f"'{self._names[k]}' {moves}, and cannot stand")
        return np.asarray(points)
