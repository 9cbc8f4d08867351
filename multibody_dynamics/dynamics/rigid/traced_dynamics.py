"""Dynamics of one robot, recorded as straight-line code from the general recursions.

The recursions of the room `recursions` run here over expressions. Products with the constants of
the robot, most of which are zero or one for usual joints, vanish, and about half of the operations
of the general code remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codegen import Expression, Graph, Program, cosine, sine
from ..core import STATE_ROWS, InputError
from ..lie import Representation, check_representation
from ..lie.screws import (
    add,
    add_screws,
    cross,
    dot,
    load_screw,
    pair,
    rotate,
    rotate_symmetric,
    scale,
    subtract,
    symmetric_times,
)
from ..model import MultibodyModel
from ..model.records import BODY_ROW, COM, INERTIA, JOINT_ROW, MASS, POSE, ROTOR, SCREW, TWIST
from ..recursions import generic_trig
from .aba import ARTICULATED_ROW, factorisation_recursion, solution_recursion
from .crba import world_inertia
from .kinematics import RECURSIONS

INERTIAL = slice(MASS, ROTOR + 1)  # mass, centre of mass, inertia about it, rotor
PAYLOAD_SIZE = 10
WRENCH_SIZE = 6
RESULTS = ("tau", "tau_dot", "tau_ddot")

Objects = NDArray[np.object_]


class TracedInputs(NamedTuple):
    """What traced code reads in each call besides the state. All other numbers are constants.

    joints : (n, JOINT_ROW) which entries of `MultibodyModel.joint_rows` are read, from the input
        "joints", all rows one after the other; None for none.
    gravity : (3,) which components are read from the input "gravity" (3,); None for none.
    payload : body or merged link that carries a payload, from the input "payload" (10,): mass,
        centre of mass (3) and inertia about it (xx xy xz yy yz zz), in the frame of that link.
    wrenches : bodies on which the world exerts a wrench, in inertial axes about the inertial
        origin, from the inputs "wrench 0", "wrench 1", ... ((order + 1) 6,): the wrench and its
        rates.
    """

    joints: NDArray[np.bool_] | None = None
    gravity: NDArray[np.bool_] | None = None
    payload: str | int | None = None
    wrenches: tuple[str | int, ...] = ()


STATE_ONLY = TracedInputs()


def constant_columns(model: MultibodyModel) -> NDArray[np.bool_]:
    """Which entries of the joint rows (n, JOINT_ROW) stay constant in the code of a solver.

    These are the geometry, and the zeros among the inertial parameters of all bodies that carry
    others. Everything else can change without a new trace, including a payload, which is usually
    on the last body of a branch.
    """
    constant = np.ones((model.n, JOINT_ROW), dtype=bool)
    constant[:, INERTIAL] = model.joint_rows[:, INERTIAL] == 0.0
    leaves = np.setdiff1d(np.arange(model.n), model.parents)
    constant[leaves, MASS:ROTOR] = False
    return constant


class _Robot(NamedTuple):
    """A robot whose constants may be expressions, with the rows of its bodies at rest."""

    graph: Graph
    parents: NDArray[Any]
    joints: Objects
    gravity: Objects
    bodies: Objects
    state: Objects
    trig: Objects
    applied: Objects


def _robot(
    model: MultibodyModel,
    names: Sequence[str],
    representation: Representation,
    inputs: TracedInputs,
    order: int,
    pause: Callable[[], object],
) -> _Robot:
    """Declares the inputs: the rows `names` of the state, each (n,), and `inputs`."""
    check_representation(representation)
    n, graph = model.n, Graph(pause)
    state, applied = np.zeros((5, n), dtype=object), np.zeros((n, 18), dtype=object)
    for row, name in zip(state, names, strict=False):
        row[:] = _array(graph.inputs(name, n))
    joints, gravity = model.joint_rows.astype(object), model.gravity.astype(object)
    if inputs.joints is not None:
        read = np.asarray(inputs.joints, dtype=bool)
        joints[read] = _array(graph.inputs("joints", n * JOINT_ROW)).reshape(joints.shape)[read]
    if inputs.gravity is not None:
        read = np.asarray(inputs.gravity, dtype=bool)
        gravity[read] = _array(graph.inputs("gravity", 3))[read]
    if inputs.payload is not None:
        _attach(model, inputs.payload, graph.inputs("payload", PAYLOAD_SIZE), joints)
    for k, body in enumerate(inputs.wrenches):
        size = WRENCH_SIZE * (order + 1)
        applied[model.body_index(body), :size] += _array(graph.inputs(f"wrench {k}", size))
    bodies = np.zeros((n + 1, BODY_ROW), dtype=object)
    bodies[0, POSE : POSE + 9 : 4] = 1.0
    if representation != "spatial":  # gravity enters as an acceleration of the base
        bodies[0, TWIST + 9 : TWIST + 12] = -gravity
    trig = generic_trig(joints, state[0], sine, cosine)
    return _Robot(graph, model.parents, joints, gravity, bodies, state, trig, applied)


def _attach(
    model: MultibodyModel, link: str | int, payload: list[Expression], joints: Objects
) -> None:
    """Add a payload to the mass, centre of mass and inertia of the body that carries it."""
    body = model.body_index(link)
    pose = model.body_in_joint[body] @ model.frame(link).pose
    R, p = tuple(pose[:3, :3].ravel().tolist()), tuple(pose[:3, 3].tolist())
    row = joints[body]
    mass, c = row[MASS], tuple(row[COM : COM + 3])
    added = payload[0]
    total = mass + added
    d = subtract(add(p, rotate(R, tuple(payload[1:4]))), c)  # from one centre of mass to the other
    share = added / total
    row[MASS] = total
    row[COM : COM + 3] = [c[k] + share * d[k] for k in range(3)]
    turned = rotate_symmetric(R, tuple(payload[4:]))
    reduced = mass * share
    square = dot(d, d)
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        moved = (square if i == j else 0.0) - d[i] * d[j]
        row[INERTIA + k] = row[INERTIA + k] + turned[k] + reduced * moved


def trace_inverse_dynamics(
    model: MultibodyModel,
    order: int = 2,
    representation: Representation = "body",
    inputs: TracedInputs = STATE_ONLY,
    pause: Callable[[], object] = lambda: None,
) -> Program:
    """Q and its first `order` derivatives, up to 2, as straight-line code for a base at rest.

    Inputs: "q", "qd", "qdd", and for each order one more derivative, each (n,), followed by those
    of `inputs`. Results: "tau", and for each order "tau_dot", "tau_ddot", each (n,). `pause` is
    called now and then, see `codegen.pause`. Raises InputError for another order and for unknown
    bodies.
    """
    if order not in (0, 1, 2):
        raise InputError(f"order: expected 0, 1 or 2, got {order!r}")
    robot = _robot(model, STATE_ROWS[: order + 3], representation, inputs, order, pause)
    result = _inverse_dynamics(robot, representation, order, bool(inputs.wrenches))
    results = {name: list(row) for name, row in zip(RESULTS, result, strict=False)}
    return Program(robot.graph, results)


def _inverse_dynamics(
    robot: _Robot, representation: Representation, order: int, is_loaded: bool
) -> Objects:
    recursion = RECURSIONS[representation]
    _, parents, joints, gravity, bodies, state, trig, applied = robot
    result = np.zeros((order + 1, len(parents)), dtype=object)
    recursion.forward_recursion(parents, joints, trig, state, order, bodies)
    if is_loaded:
        recursion.apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies)
    recursion.backward_recursion(parents, joints, gravity, state, order, bodies, result)
    return result


def trace_gravity_forces(model: MultibodyModel) -> Program:
    """g(q), the torques of a robot at rest, as straight-line code.

    Input: "q" (n,). Result: "tau" (n,).
    """
    robot = _robot(model, ("q",), "body", STATE_ONLY, 0, lambda: None)
    tau = _inverse_dynamics(robot, "body", 0, is_loaded=False)[0]
    return Program(robot.graph, {"tau": list(tau)})


def trace_momentum(model: MultibodyModel) -> Program:
    """p = M q' and beta = g - dT/dq, with p' = Q - beta + tau_ext, as straight-line code.

    With the joint screws S_j, their rates S_j' = ad_V S_j, and the momentum H_j of everything that
    joint j carries, all in spatial representation,

        p_j = S_j . H_j + rotor_j q'_j,    dT/dq_j = S_j' . H_j.

    dT/dq = C^T q' with the Christoffel C; the derivatives of Q are not needed. Inputs: "q" and "qd"
    (n,). Results: "momentum" and "bias" (n,).
    """
    robot = _robot(model, ("q", "qd"), "spatial", STATE_ONLY, 0, lambda: None)
    resting = robot.state.copy()
    resting[1:] = 0
    at_rest = robot._replace(state=resting, bodies=robot.bodies.copy())
    weight = _inverse_dynamics(at_rest, "spatial", 0, is_loaded=False)[0]
    _, parents, joints, _, bodies, state, trig, _ = robot
    RECURSIONS["spatial"].forward_recursion(parents, joints, trig, state, 0, bodies)
    n = model.n
    carried: list[Any] = [((0, 0, 0), (0, 0, 0))] * n
    momentum, bias = np.zeros((2, n), dtype=object)
    for i in reversed(range(n)):
        m, c, Theta = world_inertia(joints, bodies, i)
        w, v = load_screw(bodies, i + 1, TWIST)
        linear = scale(m, add(v, cross(w, c)))
        H = add_screws(carried[i], (add(symmetric_times(Theta, w), cross(c, linear)), linear))
        if parents[i] >= 0:
            carried[parents[i]] = add_screws(carried[parents[i]], H)
        rotor = joints[i, ROTOR] * state[1, i]
        momentum[i] = pair(load_screw(bodies, i + 1, SCREW), H) + rotor
        bias[i] = weight[i] - pair(load_screw(bodies, i + 1, SCREW + 6), H)
    return Program(robot.graph, {"momentum": list(momentum), "bias": list(bias)})


def trace_forward_dynamics(model: MultibodyModel, inputs: TracedInputs = STATE_ONLY) -> Program:
    """q'' from torques, by articulated bodies, as straight-line code for a base at rest.

    Inputs: "q", "qd" and "tau", each (n,), followed by those of `inputs`. Result: "qdd" (n,).
    Raises InputError for unknown bodies.
    """
    robot = _robot(model, ("q", "qd"), "spatial", inputs, 0, lambda: None)
    tau = robot.graph.inputs("tau", model.n)
    bias = _inverse_dynamics(robot, "spatial", 0, bool(inputs.wrenches))[0]
    rows = np.zeros((model.n + 1, ARTICULATED_ROW), dtype=object)
    free = np.zeros(model.n, dtype=bool)
    factorisation_recursion(model.parents, robot.joints, free, robot.bodies, rows)
    solution = np.array([tau[i] - bias[i] for i in range(model.n)], dtype=object)
    solution_recursion(model.parents, free, robot.bodies, rows, solution, solution)
    return Program(robot.graph, {"qdd": list(solution)})


def _array(values: list[Expression]) -> Objects:
    """Expressions as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
