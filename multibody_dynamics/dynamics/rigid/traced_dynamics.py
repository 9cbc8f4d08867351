"""Inverse dynamics of one robot, recorded as straight-line code from the general recursion.

The recursions of the room `recursions` run here over expressions. Products with the constants of
the robot, most of which are zero or one for usual joints, vanish, and what remains is about half
of the general operations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..codegen import Expression, Graph, Program, cosine, sine
from ..lie import Representation, check_representation
from ..model import MultibodyModel
from ..model.records import BODY_ROW, JOINT_ROW, MASS, POSE, ROTOR, TWIST
from ..recursions import generic_trig
from .kinematics import RECURSIONS

INERTIAL = slice(MASS, ROTOR + 1)  # mass, centre of mass, inertia about it, rotor


def constant_columns(model: MultibodyModel) -> NDArray[np.bool_]:
    """Which entries of the joint rows (n, JOINT_ROW) the traced code takes as constants.

    These are the geometry, and the zeros among the inertial parameters of all bodies that carry
    others. Everything else can change without a new trace: a payload, too, which usually is on
    the last body of a branch.
    """
    constant = np.ones((model.n, JOINT_ROW), dtype=bool)
    constant[:, INERTIAL] = model.joint_rows[:, INERTIAL] == 0.0
    leaves = np.setdiff1d(np.arange(model.n), model.parents)
    constant[leaves, MASS:ROTOR] = False
    return constant


def trace_inverse_dynamics(
    model: MultibodyModel,
    order: int = 2,
    representation: Representation = "body",
    *,
    symbolic: bool = True,
    pause: Callable[[], object] = lambda: None,
) -> Program:
    """Q and its first `order` derivatives as straight-line code, for a base at rest.

    Inputs: "state", the rows q, q', q'', ... up to q^(order + 2), one after the other. With
    `symbolic`, also "joints", the rows (n, JOINT_ROW) of `MultibodyModel.joint_rows`, of which
    `constant_columns` are not read, and "gravity" (3,), of which components that are zero for this
    model are not read. Otherwise both are constants.
    Result: "result", the rows Q, Q', ...

    `pause` is called now and then, see `codegen.pause`.
    """
    check_representation(representation)
    n, graph = model.n, Graph(pause)
    state = np.zeros((5, n), dtype=object)
    state[: order + 3] = _array(graph.inputs("state", (order + 3) * n)).reshape(order + 3, n)
    joints, gravity = model.joint_rows.astype(object), model.gravity.astype(object)
    if symbolic:
        constant = constant_columns(model)
        symbols = _array(graph.inputs("joints", n * JOINT_ROW)).reshape(n, JOINT_ROW)
        joints[~constant] = symbols[~constant]
        moving = model.gravity != 0.0
        gravity[moving] = _array(graph.inputs("gravity", 3))[moving]
    bodies = np.zeros((n + 1, BODY_ROW), dtype=object)
    bodies[0, POSE : POSE + 9 : 4] = 1.0
    if representation != "spatial":  # gravity enters as an acceleration of the base
        bodies[0, TWIST + 9 : TWIST + 12] = -gravity
    trig = generic_trig(joints, state[0], sine, cosine)
    result = np.zeros((order + 1, n), dtype=object)
    recursion = RECURSIONS[representation]
    recursion.forward_recursion(model.parents, joints, trig, state, order, bodies)
    recursion.backward_recursion(model.parents, joints, gravity, state, order, bodies, result)
    return Program(graph, {"result": list(result.ravel())})


def _array(values: list[Expression]) -> NDArray[np.object_]:
    """Expressions as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
