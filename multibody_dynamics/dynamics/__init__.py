"""Lie-group dynamics of robot arms, pure Python: everything that the nodes compute with.

    from multibody_dynamics import dynamics as dyn

    model = dyn.load_urdf("panda.urdf")
    tau, tau_dot, tau_ddot = dyn.inverse_dynamics(model, q, qd, qdd, qddd, qdddd)

SI units, twists (omega, v) and wrenches (m, f) angular part first; see docs/symbols.md.
"""

from . import se3, so3
from .conventions import REPRESENTATIONS, SYMBOLS, from_linear_first, to_linear_first
from .errors import DynamicsError, InputError, ModelError, ModelWarning, TrajectoryError
from .forward_dynamics import forward_dynamics
from .inertia import spatial_inertia
from .inverse_dynamics import (
    InverseDynamics,
    InverseDynamicsSolver,
    generic_inverse_dynamics,
    interbody_wrenches,
    inverse_dynamics,
)
from .kinematics import BaseMotion, BodyMotion, forward_kinematics, frame_pose
from .mass_matrix import gravity_forces, mass_matrix
from .model import Frame, JointLimits, MultibodyModel, model_from_screws
from .wrenches import wrench_to_world
