# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics of one robot, recorded as straight-line code from the general recursions."""

from collections.abc import Callable

import numpy as np

from ..codegen import Program
from ..core import InputError, by_robot
from ..lie import Representation, check_representation
from ..model import MultibodyModel
from ..recursions import RECURSIONS, inverse_dynamics_series
from .tracing import (
    STATE_ONLY,
    Objects,
    TracedInputs,
    TracedRobot,
    initial_bodies,
    state_names,
    traced_robot,
)

RECURSION_ORDER = 2  # up to which the recursions of the four representations are written out


def result_names(order: int) -> tuple[str, ...]:
    """The names of Q and its derivatives: tau, tau_dot, tau_ddot, tau_dddot, ..."""
    return ("tau", *(f"tau_{'d' * k}ot" for k in range(1, order + 1)))


@by_robot
def trace_inverse_dynamics(
    model: MultibodyModel,
    order: int = 2,
    representation: Representation = "body",
    inputs: TracedInputs = STATE_ONLY,
    pause: Callable[[], object] = lambda: None,
) -> Program:
    """Q and its first `order` derivatives as straight-line code, by default for a base at rest.

    Up to order 2 by the recursion of a representation, beyond it by the body-fixed recursion over
    power series, without applied wrenches. Inputs: "q", "qd", "qdd", and for each order one more
    derivative, each (n,), followed by those of `inputs`. Results: "tau", and for each order
    "tau_dot", "tau_ddot", "tau_dddot", ..., each (n,). `pause` is called now and then, see
    `codegen.pause`. Raises InputError for a negative order, for order 3 and higher in another
    representation or with wrenches, and for unknown bodies.
    """
    check_representation(representation)
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise InputError(f"order: expected 0, 1, 2, ..., got {order!r}")
    if inputs.base and (representation != "body" or order > RECURSION_ORDER or inputs.wrenches):
        raise InputError(
            f"base: a moving base needs the body-fixed representation, an order up to "
            f"{RECURSION_ORDER}, and no applied wrenches"
        )
    if order > RECURSION_ORDER and (representation != "body" or inputs.wrenches):
        raise InputError(
            f"order: {order} is possible in the body-fixed representation and without applied "
            f"wrenches only; otherwise, the highest order is {RECURSION_ORDER}"
        )
    robot = traced_robot(model, state_names(order + 3), inputs, order + 1, pause)
    if order > RECURSION_ORDER:
        rows = robot.state[: order + 3]
        result = inverse_dynamics_series(
            robot.parents, robot.joints, robot.gravity, robot.trig, rows
        )
    else:
        result = traced_inverse_dynamics(robot, representation, order, bool(inputs.wrenches))[0]
    return robot.program(dict(zip(result_names(order), result, strict=True)))


def traced_inverse_dynamics(
    robot: TracedRobot, representation: Representation, order: int, is_loaded: bool
) -> tuple[Objects, Objects]:
    """Q with its rates, and the rows of the bodies."""
    recursion, bodies = RECURSIONS[representation], initial_bodies(robot, representation)
    _, parents, joints, gravity, state, trig, applied, _ = robot
    result = np.zeros((order + 1, robot.n), dtype=object)
    recursion.forward_recursion(parents, joints, trig, state, order, bodies)
    if is_loaded:
        recursion.apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies)
    recursion.backward_recursion(parents, joints, gravity, state, order, bodies, result)
    return result, bodies
