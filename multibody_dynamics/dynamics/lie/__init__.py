# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Lie groups SO(3) and SE(3), their screws, and the four representations of twists.

Twists are (omega, v) and wrenches (m, f): angular part first. A pose maps the body frame to the
inertial frame. The groups are batched over leading dimensions; the compiled recursions use the
screws and exponentials over tuples of scalars.

so3                   rotation group SO(3): exp, log, Ad, dexp, ... of arrays (..., 3), (..., 3, 3)
se3                   rigid motions SE(3): exp, log, Ad, dexp, ... of arrays (..., 6), (..., 4, 4)
screws                screw algebra over tuples of scalars: cross, rotate, ad, coad, pair, ...
screw_matrices        hat, ad, coad, Ad, coAd over any scalars, without checks
exponentials          exp, log and dexp^-1 over tuples of scalars, and their scalar coefficients
lie_groups            state spaces of the integrators: SE3, SO3xR3, SO3, R and their products
convert_twist         twist of a body and its derivatives in another representation
convert_wrench        wrench on a moving body and its derivatives in another representation
change_body_frame     twist and derivatives of another frame fixed to the same body
moved_to_frame        change_body_frame without the checks
Representation        type of a representation's name, "spatial", "body", "hybrid" or "mixed"
REPRESENTATIONS       names of the four representations
check_representation  InputError for any other name
to_linear_first       (omega, v) to (v, omega), as in Pinocchio, jaxlie and ROS messages
from_linear_first     (v, omega) to (omega, v)
SYMBOLS               table of symbols: the papers' letters, our names, shapes, units and frames
"""

from . import exponentials, lie_groups, screw_matrices, screws, se3, so3
from .conventions import (
    REPRESENTATIONS,
    SYMBOLS,
    Representation,
    check_representation,
    from_linear_first,
    to_linear_first,
)
from .representations import change_body_frame, convert_twist, convert_wrench, moved_to_frame

__all__ = [
    # groups and screws
    "so3", "se3", "screws", "screw_matrices", "exponentials", "lie_groups",
    # twists and wrenches in four representations
    "convert_twist", "convert_wrench", "change_body_frame", "moved_to_frame",
    "Representation", "REPRESENTATIONS", "check_representation",
    # conventions
    "to_linear_first", "from_linear_first", "SYMBOLS",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
