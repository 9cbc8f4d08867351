"""The O(n) recursions, one for each representation of twists, written over scalars.

spatial               The recursions in spatial representation, [M21] Algorithms 1 and 3
body_fixed            The recursions in body-fixed representation, [M18d] section 4.1
hybrid                The recursions in hybrid representation
mixed                 The recursions in mixed representation, [M18k] section 3.4
batch_trig            The same for a batch: state (5, n, N), returns (2, n, N).
store_trig            Sine and cosine of the joint angles a_i q_i of one state (5, n)
generic_trig          The same of n scalars of any kind, by their own functions: (2, n) objects.
pose_recursion        The poses of all joint frames; row 0 of `bodies` holds that of the base.
angular_momentum_dot  h, h* and h' from omega and omega'.
"""

from . import body_fixed, hybrid, mixed, spatial
from .angular_momentum import angular_momentum_dot
from .poses import batch_trig, generic_trig, pose_recursion, store_trig

__all__ = [
    "spatial", "body_fixed", "hybrid", "mixed", "batch_trig", "store_trig", "generic_trig",
    "pose_recursion", "angular_momentum_dot",
]  # fmt: skip
