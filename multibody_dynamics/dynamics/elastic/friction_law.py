# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Friction of links and motors: one law, with the two time derivatives that the flat map needs.

    F(v, Q) = viscous v + (coulomb + load_friction |Q| + stribeck exp(-(v / v_s)^2)) tanh(v / v_c)
              + offset,    |Q| smoothed to Q tanh(Q / (coulomb + 0.1 N m))

It is evaluated on the desired motion, where v and its derivatives are known and smooth. At rest
F = offset: nothing is assumed about the direction in which a joint sticks, so a reference at rest
cannot make the compensation hunt; a reversal takes place within +- v_c. The friction of links adds
to Q, and the springs carry the sum; that of motors adds to tau_m.

At a reversal, true friction changes sign with the way, not with the speed. With a presliding
distance d, a link has bristles that bend along the desired motion, and their state y takes the
place of tanh(v / v_c) wherever a motion has a past,

    y' = (v - |v| y) / d,    y'' = (v' - |v|' y - |v| y') / d.

y' is continuous, and y'' jumps at reversals alone. Over a way s in one direction,
y = sign(s) + (y_0 - sign(s)) exp(-|s| / d). Bristles move with the reference alone and rest with
it, bent as the motion left them, so they cannot hunt either. They are those of P. Dahl, Solid
friction damping of mechanical vibrations, AIAA Journal 14 (1976).

The law without load is that of H. Olsson et al., Friction models and friction compensation,
European Journal of Control 4 (1998), with tanh in place of the sign; the share of the load is that
of gears: P. Hamon et al., Dynamic identification of robot with a dry friction model depending on
load and velocity, IROS 2010.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core import InputError, as_real, inlined

VISCOUS = 0
COULOMB = 1
COULOMB_VELOCITY = 2
STRIBECK = 3
STRIBECK_VELOCITY = 4
LOAD_FRICTION = 5
FRICTION_OFFSET = 6
FRICTION_ROW = 7

LEAST_WIDTH = 0.1  # N m or N, over which |Q| is smoothed without Coulomb friction


@dataclass(frozen=True)
class Friction:
    """Friction of one link or motor, on the link side of the gear; N m and rad/s, or N and m/s.

    stribeck : excess of the breakaway torque over Coulomb friction, which vanishes with the speed.
    load_friction : share of the magnitude of the joint torque that adds to `coulomb`.
    presliding : of links only, the way after a reversal in which 63 % of the change of friction
        takes place; 0: friction depends on the velocity alone.
    Raises InputError for values that are not physical.
    """

    viscous: float = 0.0  # N m s/rad
    coulomb: float = 0.0  # N m
    coulomb_velocity: float = 1.0  # rad/s, at which Coulomb friction has reached 76 %
    stribeck: float = 0.0  # N m
    stribeck_velocity: float = 1.0  # rad/s
    load_friction: float = 0.0
    offset: float = 0.0  # N m, may be negative
    presliding: float = 0.0  # rad

    def __post_init__(self) -> None:
        for each in fields(self):
            value = one_number(f"{each.name} of the friction", getattr(self, each.name))
            object.__setattr__(self, each.name, value)
            check_friction(each.name, value, f"{each.name} of the friction")

    @property
    def row(self) -> tuple[float, ...]:
        """The FRICTION row that compiled code reads."""
        return tuple(getattr(self, name) for name in FRICTION_NAMES)

    @property
    def is_simple(self) -> bool:
        """Whether it is only viscous and Coulomb friction."""
        return not any((self.stribeck, self.load_friction, self.offset))

    @property
    def is_zero(self) -> bool:
        return self.is_simple and not any((self.viscous, self.coulomb))


FRICTION_NAMES = tuple(each.name for each in fields(Friction))[:FRICTION_ROW]
"""Fields of the FRICTION row, which links and motors have in common."""


@inlined
def smooth_friction(velocity, viscous, coulomb, coulomb_velocity):
    """Viscous and smoothed Coulomb friction torque, for scalars or arrays."""
    return viscous * velocity + coulomb * np.tanh(velocity / coulomb_velocity)


@inlined
def friction_torque(law, velocity, load):
    """F of a FRICTION row `law` under the joint torque `load`; scalars or arrays."""
    return directed_friction(law, velocity, load, np.tanh(velocity / law[COULOMB_VELOCITY]))


@inlined
def directed_friction(law, velocity, load, direction):
    """`friction_torque` with a direction of sliding, from -1 to 1, of its own."""
    viscous, coulomb, _, stribeck, stribeck_velocity, share, offset = law
    x = velocity / stribeck_velocity
    level = coulomb + share * _magnitude(load, coulomb)[0] + stribeck * np.exp(-x * x)
    return viscous * velocity + level * direction + offset


@inlined
def friction_motion(law, motion, load):
    """F, F', F'' along `motion` = (v, v', v'') under `load` = (Q, Q', Q''); scalars or arrays."""
    return directed_friction_motion(law, motion, load, sliding_direction(law, motion))


@inlined
def sliding_direction(law, motion):
    """tanh(v / v_c) with two rates along `motion` = (v, v', v'')."""
    y, yd, ydd = (
        motion[0] / law[COULOMB_VELOCITY],
        motion[1] / law[COULOMB_VELOCITY],
        motion[2] / law[COULOMB_VELOCITY],
    )
    t = np.tanh(y)
    t_d = (1.0 - t * t) * yd
    return t, t_d, (1.0 - t * t) * ydd - 2.0 * t * t_d * yd


@inlined
def bristle_direction(y, motion, presliding):
    """y of bristles with two rates, in place of `sliding_direction`."""
    v, vd, _ = motion
    onwards = v if v != 0.0 else vd
    side = 1.0 if onwards >= 0.0 else -1.0
    slope = (1.0 - side * y) / presliding
    y_d = slope * v
    return y, y_d, slope * vd - side * y_d * v / presliding


@inlined
def directed_friction_motion(law, motion, load, direction):
    """`friction_motion` with a direction of sliding and two rates of its own."""
    viscous, coulomb, _, stribeck, stribeck_velocity, share, offset = law
    v, vd, vdd = motion
    Q, Qd, Qdd = load
    size, slope, curvature = _magnitude(Q, coulomb)
    x, xd, xdd = v / stribeck_velocity, vd / stribeck_velocity, vdd / stribeck_velocity
    E = stribeck * np.exp(-x * x)
    E_d = -2.0 * x * xd * E
    level = coulomb + share * size + E
    level_d = share * slope * Qd + E_d
    level_dd = share * (slope * Qdd + curvature * Qd * Qd)
    level_dd = level_dd - 2.0 * ((xd * xd + x * xdd) * E + x * xd * E_d)
    t, t_d, t_dd = direction
    return (
        viscous * v + level * t + offset,
        viscous * vd + level_d * t + level * t_d,
        viscous * vdd + level_dd * t + 2.0 * level_d * t_d + level * t_dd,
    )


@inlined
def _magnitude(x, coulomb):
    """|x| smoothed to x tanh(x / w) with two derivatives; w is little more than the Coulomb
    friction itself, so that the difference to |x| does not matter beside it."""
    width = coulomb + LEAST_WIDTH
    t = np.tanh(x / width)
    slope = (1.0 - t * t) / width
    return x * t, t + x * slope, 2.0 * slope * (1.0 - x * t / width)


@inlined
def friction_row(rows, k, first):
    """The law in columns `first` and following of rows[k]."""
    return (
        rows[k, first + VISCOUS],
        rows[k, first + COULOMB],
        rows[k, first + COULOMB_VELOCITY],
        rows[k, first + STRIBECK],
        rows[k, first + STRIBECK_VELOCITY],
        rows[k, first + LOAD_FRICTION],
        rows[k, first + FRICTION_OFFSET],
    )


@inlined
def moved_bristles(y, way, presliding):
    """y after a way in one direction."""
    side = 1.0 if way >= 0.0 else -1.0
    return side + (y - side) * np.exp(-abs(way) / presliding)


def check_friction(name: str, value: float, what: str) -> None:
    """Raise InputError for a value that the field `name` of a Friction cannot have; `what` it is
    called."""
    if name.endswith("velocity"):
        is_right, right = value > 0.0, "greater than zero"
    else:
        is_right, right = value >= 0.0 or name == "offset", "zero or greater"
    if not is_right:
        raise InputError(f"{what} must be {right}, got {value:g}")
    if np.isinf(value):
        raise InputError(f"{what} must be finite, got {value:g}")


def one_number(name: str, value: Any) -> float:
    """A number, or InputError."""
    number = as_real(name, value)
    if number.ndim:
        raise InputError(f"{name}: expected one number, got an array of shape {number.shape}")
    return float(number)
