# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinetic and potential energy, momentum and centre of mass of the whole robot.

Along a motion with joint torques Q and applied wrenches W_i, on a base at rest, the power balance
is (T + U)' = Q . q' + sum_i W_i . V_i. The spatial momentum changes by Pi' = sum_i W_i + the weight
of all bodies + the wrenches that the base transmits through the joints mounted on it.
"""

from typing import Any

import numpy as np

from ..core import Array, ModelError, by_robot, times
from ..lie.so3 import vee
from ..model import MultibodyModel
from .all_bodies import spatial_bodies
from .kinematics import forward_kinematics


@by_robot
def kinetic_energy(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The kinetic energy T (...) in J for q and q' (..., n), [M18d] before (81).

    The sum of V_i . M_i V_i / 2 over the bodies, and of m q'^2 / 2 over the reflected inertias m of
    the rotors. Raises InputError for wrong shapes, NaN or infinity.
    """
    bodies = spatial_bodies(model, q, qd)
    rotors = model.reflected_inertia * np.square(qd, dtype=np.float64)
    twice = np.sum(bodies.twists * bodies.momenta, axis=(-2, -1)) + np.sum(rotors, axis=-1)
    return np.asarray(twice / 2)


@by_robot
def potential_energy(model: MultibodyModel, q: Any) -> Array:
    """The potential energy U (...) in J for q (..., n): U = -sum_i m_i g . c_i.

    It is zero if the centre of mass is at the inertial origin; its gradient is
    :func:`.gravity_forces`. Raises InputError for wrong shapes, NaN or infinity.
    """
    return np.asarray(-_first_moment(model, q) @ model.gravity)


@by_robot
def center_of_mass(model: MultibodyModel, q: Any) -> Array:
    """The centre of mass (..., 3) of all bodies without the base at q (..., n), inertial frame, m.

    Raises InputError for wrong shapes, NaN or infinity, and ModelError for a robot without mass.
    """
    mass = np.sum(model.inertias[:, 5, 5])
    if mass == 0:
        raise ModelError(f"robot '{model.name}' has no mass and therefore no centre of mass")
    return _first_moment(model, q) / mass


def spatial_momentum(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The momentum Pi^s (..., 6) = (angular, linear) of all bodies, [M18d] (35).

    kg m^2/s and kg m/s, in inertial axes about the inertial origin; q and q' are (..., n). The spin
    of the rotors is not included, because a reflected inertia does not determine the axis of the
    rotor. Raises InputError for wrong shapes, NaN or infinity.
    """
    return np.asarray(np.sum(spatial_bodies(model, q, qd).momenta, axis=-2))


def _first_moment(model: MultibodyModel, q: Any) -> Array:
    """The first moment of mass sum_i m_i c_i (..., 3), kg m."""
    pose = forward_kinematics(model, q).pose
    mass, moment = model.inertias[:, 5, 5, None], vee(model.inertias[:, :3, 3:])
    return np.asarray(np.sum(times(pose[..., :3, :3], moment) + mass * pose[..., :3, 3], axis=-2))
