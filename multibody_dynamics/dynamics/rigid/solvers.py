# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Base of the solvers for the control cycle: fixed buffers, exchangeable robot and base."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen import GUARD_STEP
from ..core import Array, IndependentCopies, InputError, locked
from ..lie import Representation
from ..model import MultibodyModel, check_model
from ..model.records import COM, INERTIA, MASS, POSE, POSITION, TWIST, WRENCH
from .base_rates import compiled_body_rates
from .kinematics import BaseMotion
from .rnea import dynamic_base_rows


class ModelSolver(IndependentCopies):
    """A compiled `update` bound to fixed buffers; the robot and its base can be exchanged.

    The first row of `bodies` (..., BODY_ROW) is the motion of the base that `update` reads.
    `self._constants` (parents, joints, gravity) are its first three arguments.
    """

    update: Callable[[], Any]

    def __init__(
        self, model: MultibodyModel, bodies: Array, representation: Representation = "spatial"
    ) -> None:
        self.model = model
        self.representation = representation
        # followed by zeros, since compiled code reads whole vector registers
        wrenches = np.zeros(-(-model.body_count * 18 // GUARD_STEP) * GUARD_STEP)
        self._wrench_numbers = wrenches
        self.applied_wrenches: Array = wrenches[: model.body_count * 18].reshape(-1, 3, 6)
        self._joints, self._gravity = np.array(model.joint_rows), np.array(model.gravity)
        # read only like the arrays of a model, so that the same machine code serves both
        views = locked(self._joints.view()), locked(self._gravity.view())
        self._constants = (model.parents, *views)
        self._base_row = bodies[0, :WRENCH]
        self._base: BaseMotion | tuple[Array, Array] | None = None
        self.set_base(None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:  # the recursion would keep using the old buffer
            raise AttributeError(f"{name} is fixed; write into it: solver.{name}[:] = ...")
        super().__setattr__(name, value)

    def problem(self) -> str:
        """Why the last update has failed; empty if it has not, and always for trees."""
        return ""

    def set_base(self, base: BaseMotion | None) -> None:
        """Set the motion of the base from the next call on; None for a base at rest.

        Raises InputError, and changes nothing, for a batch and for anything but a BaseMotion.
        Unlike calls of the solver, it allocates.
        """
        row = dynamic_base_rows(self.model, base, self.representation)
        if row.ndim != 1:
            raise InputError(f"base: expected a single motion, got a batch {row.shape[:-1]}")
        self._base_row[:] = row
        self.__dict__["_base"] = base

    def move_base(self, pose: Array, rates: Array) -> None:
        """:meth:`set_base` for every cycle: pose (4, 4), and rates (4, 6), the spatial twist,
        acceleration, jerk and jounce. In the representations "spatial" and "body", it takes a few
        microseconds; it checks nothing, and refers to both arrays in :meth:`set_model`."""
        row = self._base_row
        row[POSE : POSE + 9].reshape(3, 3)[:] = pose[:3, :3]
        row[POSITION : POSITION + 3] = pose[:3, 3]
        moving = row[TWIST : TWIST + 24].reshape(4, 6)
        if self.representation == "spatial":
            moving[:] = rates
        elif self.representation == "body":
            compiled_body_rates(pose, rates, self._gravity, moving)
        else:
            row[:] = dynamic_base_rows(self.model, BaseMotion(pose, *rates), self.representation)
        self.__dict__["_base"] = pose, rates

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model from the next call on, for instance with a payload or other gravity.

        >>> solver.set_model(model.with_payload("hand", 1.5, (0, 0, 0.1), np.eye(3) * 0.01))

        Raises InputError, and changes nothing, unless the joint names, the tree and the joint
        screws are those of the current model. Unlike calls of the solver, it allocates.
        """
        check_model(model)
        if model.joint_names != self.model.joint_names or not (
            np.array_equal(model.parents, self.model.parents)
            and np.array_equal(model.screws, self.model.screws)
            and np.array_equal(model.coordinates, self.model.coordinates)
        ):
            raise InputError(
                f"the joints of robot '{model.name}' differ from those of '{self.model.name}'; "
                f"make a new {type(self).__name__} for it"
            )
        self.__dict__["model"] = model
        self._joints[:] = model.joint_rows
        self._gravity[:] = model.gravity
        self._renew_base()

    def _renew_base(self) -> None:
        """The present motion of the base once more, because what it was combined with is new."""
        if isinstance(self._base, tuple):
            self.move_base(*self._base)
        else:
            self.set_base(self._base)

    def set_pseudo_inertias(self, P: Array) -> None:
        """Use the masses and inertias in P (N, 4, 4) from the next call on.

        P_i = [[Sigma, m c], [m c^T, m]] is in the joint frame, with the second moments Sigma of the
        mass; there the body frame has the pose `model.body_in_joint`. For adaptation in the control
        cycle: it checks nothing, does not change `model`, and takes a few microseconds.
        """
        joints = self._joints
        mass = joints[:, MASS] = P[:, 3, 3]
        com = joints[:, COM : COM + 3] = P[:, :3, 3] / np.where(mass > 0.0, mass, 1.0)[:, None]
        about_com = P[:, :3, :3] - P[:, :3, 3, None] * com[:, None, :]
        xx, yy, zz = about_com[:, 0, 0], about_com[:, 1, 1], about_com[:, 2, 2]
        columns = joints[:, INERTIA : INERTIA + 6].T
        columns[0], columns[3], columns[5] = yy + zz, xx + zz, xx + yy
        columns[1] = -about_com[:, 0, 1]
        columns[2], columns[4] = -about_com[:, 0, 2], -about_com[:, 1, 2]


def pseudo_inertias(model: MultibodyModel) -> Array:
    """The pseudo-inertias (N, 4, 4) of the bodies with payloads, joint frames; kg m^2, kg m, kg.

    See :meth:`ModelSolver.set_pseudo_inertias`.
    """
    rows = model.joint_rows
    mass, com = rows[:, MASS], rows[:, COM : COM + 3]
    xx, xy, xz, yy, yz, zz = rows[:, INERTIA : INERTIA + 6].T
    half = (xx + yy + zz) / 2
    about_com = np.array([[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]])
    P = np.empty((len(rows), 4, 4))
    P[:, :3, :3] = about_com.transpose(2, 0, 1) + mass[:, None, None] * (
        com[:, :, None] * com[:, None, :]
    )
    P[:, :3, 3] = P[:, 3, :3] = mass[:, None] * com
    P[:, 3, 3] = mass
    return P
