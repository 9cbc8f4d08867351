# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The position loops that drives close around their motors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Array, IndependentCopies, InputError, read_only
from ..elastic import Actuators
from ..model import MultibodyModel
from ..rigid import mass_matrix


@dataclass(frozen=True, eq=False)
class MotorDrive(IndependentCopies):
    """The position loop that a drive closes around its motor, link side of the gear:

        tau_m = feedforward + proportional (theta_ref - theta) + derivative (theta_ref' - theta').

    Gains (m,) or a scalar for all motors, in N m/rad and N m s/rad. The cycle of a drive is short
    compared with the mechanics, so the loop is modelled in continuous time.
    """

    proportional: Array
    derivative: Array

    def __post_init__(self) -> None:
        for name in ("proportional", "derivative"):
            gain = read_only(getattr(self, name))
            for j in np.flatnonzero(~(np.isfinite(gain) & (gain >= 0.0))).tolist():
                which = f" of motor {j}" if gain.ndim else ""
                raise InputError(
                    f"drive: {name} gain{which} is {gain.flat[j]}: must be zero or greater, and "
                    f"finite"
                )
            object.__setattr__(self, name, gain)

    @classmethod
    def from_bandwidth(
        cls,
        model: MultibodyModel,
        actuators: Actuators,
        q: Any,
        *,
        bandwidth: float,
        damping_ratio: float = 1.0,
    ) -> MotorDrive:
        """Gains that give each motor, detached from its spring, a `bandwidth` in Hz.

        The motor of a rigid joint also carries its link, with the inertia M_ii at the configuration
        q (n,), that is, with all other joints locked. In contrast, :func:`.motor_bandwidth_gains`
        of the controllers takes a bandwidth in rad/s and leaves the other joints free, with the
        inertia 1 / (M^-1)_ii.
        """
        load = np.where(actuators.is_rigid, np.diag(mass_matrix(model, q)), 0.0)
        carried = actuators.motor_inertia + load[actuators.joint_of_motor]
        omega = 2.0 * np.pi * bandwidth
        return cls(carried * omega**2, 2.0 * damping_ratio * omega * carried)

    def mean_torque(
        self, reference: Array, feedforward: Array, before: Array, after: Array, dt: float
    ) -> Array:
        """The mean torque (m,) over dt s, without limits: what a drive that averages reports.

        reference : theta_ref and theta_ref' (2, m) at the beginning. before, after : theta and
        theta' (2, m). The mean of theta' is exact; that of theta is the mean of the cubic
        polynomial through both states, with an error of the order dt^4.
        """
        position = 0.5 * (before[0] + after[0]) - dt / 12.0 * (after[1] - before[1])
        velocity = (after[0] - before[0]) / dt
        lag = reference[0] + 0.5 * dt * reference[1] - position
        return np.asarray(
            feedforward + self.proportional * lag + self.derivative * (reference[1] - velocity)
        )
