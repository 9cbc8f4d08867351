"""The Lie groups SO(3) and SE(3), their screws, and the four representations of twists.

so3                   The rotation group SO(3), batched over leading dimensions.
se3                   The group SE(3) of rigid-body motions, batched over leading dimensions.
screws                Screw algebra over tuples of scalars
Element               ?? Element = tuple[Array, ...]
ProductGroup          The product of `factors`, multiplied entry by entry.
R                     Vectors (n,) under addition.
SE3                   Poses (4, 4) under C_1 C_2
SO3xR3                Poses (4, 4) under (R_1 R_2, r_1 + r_2), [MT13] (16)
dexp_inv_se3          dexp_X^-1 Y with c = stumpff(omega of X)
dexp_inv_so3          dexp_omega^-1 y with c = stumpff(omega); [MT13] (11).
rotation              exp(omega), row by row, with c = stumpff(omega); [MT13] (9), corrected.
stumpff               c_0 ... c_6 at x = |omega|.
translation           dexp_omega v, the translation of exp(omega, v); [MT13] (8).
REPRESENTATIONS       ?? REPRESENTATIONS: tuple[str, ...] = get_args(Representation)
SYMBOLS               fmt: skip
from_linear_first     (v, omega) to (omega, v), or (f, m) to (m, f)
to_linear_first       (omega, v) to (v, omega), or (m, f) to (f, m)
Representation        ?? Representation = Literal["spatial", "body", "hybrid", "mixed
check_representation  `name` itself, or an InputError that lists the four representations.
change_body_frame     The twist and derivatives of another frame on the same body
convert_twist         The twist of a body at `pose` (..., 4, 4) and its derivatives
convert_wrench        A wrench in the frame of a moving body and its derivatives
moved_to_frame        change_body_frame of arrays that are known to be right.
lie_groups  the state spaces of the integrators: SO(3), SE(3), SO(3) x R^3, R^n and products
"""

from . import lie_groups, screws, se3, so3
from .conventions import (
    REPRESENTATIONS,
    SYMBOLS,
    Representation,
    check_representation,
    from_linear_first,
    to_linear_first,
)
from .exponentials import dexp_inv_se3, dexp_inv_so3, rotation, stumpff, translation
from .lie_groups import SE3, Element, ProductGroup, R, SO3xR3
from .representations import change_body_frame, convert_twist, convert_wrench, moved_to_frame

__all__ = [
    "so3", "se3", "screws", "lie_groups", "Element", "ProductGroup", "R", "SE3", "SO3xR3",
    "dexp_inv_se3",
    "dexp_inv_so3", "rotation", "stumpff", "translation", "REPRESENTATIONS", "SYMBOLS",
    "from_linear_first", "to_linear_first", "Representation", "check_representation",
    "change_body_frame", "convert_twist", "convert_wrench", "moved_to_frame",
]  # fmt: skip
