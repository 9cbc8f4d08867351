# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torque feedback that changes the apparent inertia of rotors behind springs.

A motor with the torque

    tau_m = r u + (1 - r) (Q + D K^-1 Q'),    r = M_m / M_theta,

moves like a motor of the smaller inertia M_theta under the torque u of an outer law:

    M_theta theta'' + (Q + D K^-1 Q') + friction(theta') / r = u

(A. Albu-Schaeffer, C. Ott, G. Hirzinger, IJRR 2007, (9) and (10); C. Ott et al., IEEE T-RO 2008).
The bracket is the load of the motor: the torque Q of the spring and that of the damper D in
parallel. Since it is measured, this holds for any spring law and for each motor separately: M_theta
is passive where u is, and the friction of the motor is reduced by the same factor r.

Delay and sampling bound r: the torque is fed back with the negative gain 1 - r, so the motor
oscillates at sqrt(K / M_theta) against its spring, where u must add damping.
"""

from typing import Any

import numpy as np

from ...core import Array, IndependentCopies, InputError, read_only
from ...elastic import Actuators
from ..gains.joint_values import per_name


class InertiaShaping(IndependentCopies):
    """Motor torques that make rotors behind springs appear lighter, for the control cycle.

    >>> shaping = InertiaShaping(actuators, 0.25)
    >>> springs.update()  # a SpringSolver: measured loads
    >>> tau_m = shaping.shape(u, springs.load)

    Parameters
    ----------
    share : M_theta / M_m, apparent over real inertia, above 0 and at most 1; one value or (m,).
        Rigid joints and motors that only set a stiffness keep their inertia, whatever their share.

    Attributes
    ----------
    is_shaped : (m,) mask of the motors that drive a link through a spring.
    share : (m,) M_theta / M_m; 1 where `is_shaped` is False.
    apparent_inertia : (m,) M_theta in kg m^2, link side of the gear.
    torque : (m,) N m, the result of the last :meth:`shape`, overwritten by the next.

    Raises InputError, naming the motor, for a share out of its range.
    """

    def __init__(self, actuators: Actuators, share: Any) -> None:
        names = actuators.motor_names
        row = per_name("share of the inertia", share, names, positive=True, of="motor")
        for j in np.flatnonzero(row > 1.0).tolist():
            raise InputError(
                f"motor '{names[j]}': share of the inertia is {row[j]:g}: must not exceed 1; "
                f"torque feedback that makes a rotor heavier would not be passive"
            )
        is_rigid = actuators.is_rigid[actuators.joint_of_motor]
        self.is_shaped = ~is_rigid & (actuators.torque_share > 0.0)
        self.share: Array = read_only(np.where(self.is_shaped, row, 1.0))
        self.apparent_inertia: Array = read_only(self.share * actuators.motor_inertia)
        self.torque: Array = np.zeros(len(names))
        self._gain = 1.0 / self.share
        self._feedback = np.zeros(len(names))

    def shape(self, u: Array, load: Array) -> Array:
        """Compute `torque` (m,) from the torques u (m,) of the outer law and the measured loads.

        load : (m,) N m, what springs and dampers in parallel exert on each motor, as in
            :attr:`.SpringSolver.load`; not read where `is_shaped` is False, where it may be NaN.
            If a damper acts in parallel with a torque sensor, D K^-1 Q' must be added.

        Nothing is allocated; u and load are not checked.
        """
        # r u + (1 - r) load = load + r (u - load)
        torque, feedback = self.torque, self._feedback
        torque[:] = u
        np.subtract(u, load, out=feedback)
        np.multiply(self._gain, feedback, out=feedback)
        np.add(feedback, load, out=torque, where=self.is_shaped)
        return torque
