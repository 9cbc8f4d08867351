"""Kinetic and potential energy, momentum and centre of mass of the whole robot.

Along a motion with joint forces Q and applied wrenches W_i the power balance is
(T + U)' = Q . q' + sum_i W_i . V_i, and the balance of the spatial momentum Pi' = sum_i W_i + the
weight of all bodies + what the ground transmits to them through the joints on the base, which
stands still.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Array, ModelError, times
from ..lie.so3 import vee
from ..model import MultibodyModel
from .all_bodies import spatial_bodies
from .kinematics import forward_kinematics


def kinetic_energy(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """T (...) in J for q and q' (..., n): the sum of V_i . M_i V_i / 2, [M18d] before (81).

    The reflected inertias of the rotors add m q'^2 / 2 each. Raises InputError for wrong shapes,
    NaN or infinity.
    """
    bodies = spatial_bodies(model, q, qd)
    rotors = model.reflected_inertia * np.square(qd, dtype=np.float64)
    twice = np.sum(bodies.twists * bodies.momenta, axis=(-2, -1)) + np.sum(rotors, axis=-1)
    return np.asarray(twice / 2)


def potential_energy(model: MultibodyModel, q: Any) -> Array:
    """U (...) in J of q (..., n), zero for a robot with its centre of mass at the inertial origin.

    U = -sum_i m_i g . c_i; its gradient is :func:`.gravity_forces`. Raises InputError for wrong
    shapes, NaN or infinity.
    """
    return np.asarray(-_first_moment(model, q) @ model.gravity)


def center_of_mass(model: MultibodyModel, q: Any) -> Array:
    """The centre of mass (..., 3) of all bodies in the inertial frame, m; the base is not one.

    Raises InputError for wrong shapes, NaN or infinity, and ModelError for a robot without mass.
    """
    mass = np.sum(model.inertias[:, 5, 5])
    if mass == 0:
        raise ModelError(f"robot '{model.name}' has no mass, and so no centre of mass")
    return _first_moment(model, q) / mass


def spatial_momentum(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """Pi^s (..., 6) = (angular, linear) momentum of all bodies, [M18d] (35); inertial axes, origin.

    kg m^2/s and kg m/s. The spin of the rotors is not in it: a reflected inertia does not tell
    which way the rotor's own axis points. Raises InputError for wrong shapes, NaN or infinity.
    """
    return np.asarray(np.sum(spatial_bodies(model, q, qd).momenta, axis=-2))


def _first_moment(model: MultibodyModel, q: Any) -> Array:
    """sum_i m_i c_i (..., 3), kg m."""
    pose = forward_kinematics(model, q).pose
    mass, moment = model.inertias[:, 5, 5, None], vee(model.inertias[:, :3, 3:])
    return np.asarray(np.sum(times(pose[..., :3, :3], moment) + mass * pose[..., :3, 3], axis=-2))
