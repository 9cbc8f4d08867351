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
from .contact_forces import PointContacts, forces_in_cones
from .stance import Contact

SLIDING = 0.01  # m/s, at which a foot of the desired motion is no longer at rest
BARRIER = 0.1  # weight of the barrier, see :mod:`.contact_forces`


class StandingForces(IndependentCopies):
    """The forces of least norm inside the friction cones that carry the base of a desired motion.

    contacts : what stands on the ground, wherever the desired motion puts it.

    Attributes
    ----------
    forces : (3, p, 3) at the points of all contacts, with two rates, in inertial axes, N and per
        s^k; not finite where there are none.
    problem : why there are none, or "".

    Raises InputError for a robot without weight, and unknown bodies; at `update`, for points on a
    line.
    """

    def __init__(self, model: MultibodyModel, contacts: Sequence[Contact]) -> None:
        mass = model.inertias[:, 5, 5].sum() + model.base_inertia[5, 5]
        count = sum(len(each.points) for each in contacts)
        self._share = float(mass * np.linalg.norm(model.gravity)) / max(count, 1)
        if not self._share > 0.0:
            raise InputError(f"robot '{model.name}' has no weight that presses it onto contacts")
        self._solver = InverseDynamicsSolver(model, "spatial", specialise=False)
        self._contacts = [(each, *model.frame(each.body)) for each in contacts]
        self._body_in_joint = model.body_in_joint
        shares = [len(each.points) for each in contacts]
        self._normals = np.repeat([each.normal for each in contacts], shares, axis=0)
        self._friction = np.repeat([each.friction for each in contacts], shares)
        self._is_known = False
        self.forces: Array = np.zeros((3, count, 3))
        self.problem = ""

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base, see :meth:`.ModelSolver.move_base`."""
        self._solver.move_base(pose, rates)

    def update(self, state: Array, wrenches: Array) -> None:
        """Add the wrenches of the contacts to `wrenches` (N, 3, 6), those of other forces on the
        bodies, for the desired motion `state` (5, n)."""
        solver = self._solver
        solver.state[:], solver.applied_wrenches[:] = state, wrenches
        solver.update()
        rows, points, self.problem = solver.bodies, [], ""
        for contact, body, offset in self._contacts:
            row, place = rows[body + 1], offset
            if body >= 0:
                place = self._body_in_joint[body] @ offset
            R = row[POSE : POSE + 9].reshape(3, 3)
            in_joint = contact.points @ place[:3, :3].T + place[:3, 3]
            at = in_joint @ R.T + row[POSITION : POSITION + 3]
            speeds = row[TWIST + 3 : TWIST + 6] + at @ so3.hat(row[TWIST : TWIST + 3]).T
            if not np.abs(speeds).max() <= SLIDING:
                self.problem = (
                    f"'{contact.body}' moves by {np.abs(speeds).max():.3g} m/s: no stance"
                )
            points.append(at)
        found = PointContacts(np.concatenate(points), self._normals, self._friction)
        start = self.forces[0] if self._is_known else None
        forces, is_held = forces_in_cones(
            found, solver.base_wrench[None].copy(), self._share, BARRIER, start
        )
        self.forces[:] = forces[0]
        if not is_held[0]:
            self.problem = "no contact forces inside the friction cones carry the desired motion"
        self._is_known = not self.problem
        if self.problem:
            self.forces[:] = np.nan
        moments, first = (so3.hat(found.positions) @ self.forces[..., None])[..., 0], 0
        for (_, body, _), at in zip(self._contacts, points, strict=True):
            own = slice(first, first := first + len(at))
            if body >= 0:
                wrenches[body, :, :3] += moments[:, own].sum(axis=1)
                wrenches[body, :, 3:] += self.forces[:, own].sum(axis=1)
