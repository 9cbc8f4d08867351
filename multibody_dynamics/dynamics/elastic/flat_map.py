# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The flat map of elastic joints over scalars, in both directions, for all kinds of actuators.

`feedforward` computes theta, theta', theta'' and tau_m of the motors from q, q', q'', Q, Q', Q''
and the second outputs; `springs_recursion` computes Q, Q' and the loads from links and motors. The
relations are those of :mod:`.kinds`. The functions run over the joints of a robot in the control
cycle (:mod:`actuator_cycle`), or over a batch of states of one actuator. They never raise: a spring
continues along its tangents beyond its travel (where an infeasible pretension takes it), an
infeasible stiffness is clipped to the nearest feasible value, and flags report both.
"""

from ..core import compiled, inlined
from .actuator_tables import LinkRows, MotorArrays, add_link_friction, advance_bristles
from .damped_springs import advance_filters
from .kinds import KINDS, by_kind

_feedforward_of_joint = by_kind("feedforward")
_feedforward_without_second = by_kind(
    "feedforward", {name: kind for name, kind in KINDS.items() if not kind.may_have_second_output}
)
_springs_of_joint = by_kind("spring_torques")


@inlined
def _spring_torque(joints, i, variant, state, torque, carried, filtered):
    """The torque that deflects the springs of joint i, with its rates; writes all of `carried`."""
    add_link_friction(joints, i, state, torque, carried, filtered)
    moves = variant[1]
    return variant[0] * carried[0, i], moves * carried[1, i], moves * carried[2, i]


# A call unpacks an array in 0.07 us; a tuple of arrays takes several times as long
def feedforward_cycle(
    joints, motors, laws, pieces, own, variant, state, torque, carried, second, filtered,
    deflection, load, result, flags,
):  # fmt: skip
    """Write the motors that move all joints along a motion to `deflection` (m,), `load` (m,),
    `result` (4, m) and `flags` (m,), as a MotorArrays names them.

    variant: (2,) as in `VARIANTS`. state (3 or more, n), torque (3, n), second outputs (3, v).
    carried: (3, n), to which Q, Q', Q'' with the friction of links are written, for which state
    must have four rows; may be `torque` itself without such friction.
    filtered: (n,) deflections of damped springs; NaN settles first.
    """
    given, outputs = LinkRows(state, carried, second), MotorArrays(deflection, load, result, flags)
    for i in range(joints.shape[0]):
        Qs = _spring_torque(joints, i, variant, state, torque, carried, filtered)
        _feedforward_of_joint(
            joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
        )


def single_feedforward_cycle(
    joints, motors, laws, pieces, own, variant, state, torque, carried, second, filtered,
    deflection, load, result, flags,
):  # fmt: skip
    """`feedforward_cycle` for a robot without second outputs; compiled in half the time."""
    given, outputs = LinkRows(state, carried, second), MotorArrays(deflection, load, result, flags)
    for i in range(joints.shape[0]):
        Qs = _spring_torque(joints, i, variant, state, torque, carried, filtered)
        _feedforward_without_second(
            joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
        )


@inlined
def advance_states(joints, laws, pieces, own, state, torque, filtered, dt):
    """Advance the states `filtered` of a feedforward by dt in s: deflections of damped springs
    under `torque` (3, n), and bristles of links along `state` (4 or more, n). Slip elements have
    followed the torque already."""
    advance_filters(joints, laws, pieces, own, torque, filtered, dt)
    advance_bristles(joints, state, filtered, dt)


# The plant passes the rows of its packed state one by one; a tuple of arrays costs time
@inlined
def springs_recursion(
    joints, laws, pieces, own, q, qd, theta, thetad, second, torque, rate, K, load, deflection
):
    """Write Q, Q' and stiffness of the joints (n,), load and deflection of the motors (m,) for
    links at q, q' (n,) and motors at theta, theta' (m,).

    second: (2, v) stiffness and rate, read where no motor sets it. The entries of rigid joints, and
    Q' of damped ones, are left unchanged.
    """
    for i in range(joints.shape[0]):
        _springs_of_joint(
            joints, laws, pieces, own, i, q, qd, theta, thetad, second,
            torque, rate, K, load, deflection,
        )  # fmt: skip


compiled_feedforward = compiled(feedforward_cycle)
compiled_single_feedforward = compiled(single_feedforward_cycle)
compiled_advance = compiled(advance_states)
compiled_springs = compiled(springs_recursion)
