# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The O(n) recursions: recursive Newton-Euler (RNEA) to the second derivative of the torques.

There is one module per representation of twists, each with a forward recursion (poses, twists,
accelerations, jerks, jounces) and a backward recursion (wrenches, torques and their rates). They
are written over scalars; the same source runs compiled, on batches, and on complex or mpmath
numbers.

spatial               recursions in spatial representation, [M21] Algorithms 1 and 3
body_fixed            recursions in body-fixed representation, the fastest
hybrid                recursions in hybrid representation
mixed                 recursions in mixed representation
RECURSIONS            {representation: module}
passive               body-fixed recursions with a reference velocity, M q_r'' + C q_r' + g
momentum_pass         momentum M q', the bias of its rate, and gravity in one body-fixed pass
inverse_dynamics_series  the body-fixed recursion over power series in time, to any order
pose_recursion        poses of all joint frames
coordinate            index of the coordinate of a joint, which coupled joints share
store_trig            sines and cosines of the joint angles of one state
batch_trig            sines and cosines of the joint angles of a batch of states
generic_trig          sines and cosines of joint angles that are scalars of any kind
angular_momentum_dot  angular momentum of a body about its centre of mass, and its rate
"""

from types import MappingProxyType

from . import body_fixed, hybrid, mixed, momentum_pass, passive, spatial
from .angular_momentum import angular_momentum_dot
from .body_fixed_series import inverse_dynamics_series
from .poses import batch_trig, coordinate, generic_trig, pose_recursion, store_trig

RECURSIONS = MappingProxyType(
    {"spatial": spatial, "body": body_fixed, "hybrid": hybrid, "mixed": mixed}
)

__all__ = [
    # inverse dynamics, one module per representation
    "spatial", "body_fixed", "hybrid", "mixed", "RECURSIONS",
    # inverse dynamics of any order
    "inverse_dynamics_series",
    # inverse dynamics with a reference velocity
    "passive",
    # generalised momentum
    "momentum_pass",
    # shared with other recursions
    "pose_recursion", "coordinate", "store_trig", "batch_trig", "generic_trig",
    "angular_momentum_dot",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
