# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot whose state and constants are expressions, on which the recursions run.

The recursions of `recursions` run over these expressions. Products with the constants of
the robot, most of which are zero or one for usual joints, vanish, and about half of the operations
of the general code remain.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codegen import Expression, Graph, Program, cosine, sine
from ..core import InputError
from ..lie import Representation
from ..lie.screws import add, dot, rotate, rotate_symmetric, subtract
from ..model import MultibodyModel, check_model
from ..model.records import BODY_ROW, COM, INERTIA, JOINT_ROW, MASS, POSE, ROTOR, TWIST
from ..recursions import generic_trig

INERTIAL = slice(MASS, ROTOR + 1)  # mass, centre of mass, inertia about it, rotor
MOST_JOINTS = 64  # beyond it, the code exceeds the caches, and gains less than a fifth
PAYLOAD_SIZE = 10
WRENCH_SIZE = 6

Objects = NDArray[np.object_]


Pause = Callable[[], object]


def no_pause() -> None:
    """No pause is needed."""


class TracedInputs(NamedTuple):
    """What traced code reads in each call besides the state. All other numbers are constants.

    joints : (N, JOINT_ROW) which entries of `MultibodyModel.joint_rows` are read, from the input
        "joints", all rows one after the other; None for none.
    gravity : (3,) which components are read from the input "gravity" (3,); None for none.
    payload : body or merged link that carries a payload, from the input "payload" (10,): mass,
        centre of mass (3) and inertia about it (xx xy xz yy yz zz), in the frame of that link.
    wrenches : bodies on which the world exerts a wrench, in inertial axes about the inertial
        origin, from the inputs "wrench 0", "wrench 1", ... ((order + 1) 6,): the wrench and its
        rates.
    base : whether the base moves: its body-fixed twist and three derivatives, with -g in the
        acceleration, are read from the input "base" (24,); in body-fixed representation only.
    """

    joints: NDArray[np.bool_] | None = None
    gravity: NDArray[np.bool_] | None = None
    payload: str | int | None = None
    wrenches: tuple[str | int, ...] = ()
    base: bool = False


STATE_ONLY = TracedInputs()


def constant_columns(model: MultibodyModel) -> NDArray[np.bool_]:
    """Which entries of the joint rows (N, JOINT_ROW) stay constant in the code of a solver.

    These are the geometry, and the zeros among the inertial parameters of all bodies that carry
    others. Everything else can change without a new trace, including a payload, which is usually
    on the last body of a branch.
    """
    constant = np.ones((model.body_count, JOINT_ROW), dtype=bool)
    constant[:, INERTIAL] = model.joint_rows[:, INERTIAL] == 0.0
    leaves = np.setdiff1d(np.arange(model.body_count), model.parents)
    constant[leaves, MASS:ROTOR] = False
    return constant


class TracedRobot(NamedTuple):
    """A robot over expressions: arguments of the recursions, some of which are inputs.

    graph : of the expressions; empty for other scalars.
    parents, joints, gravity : as in the recursions.
    state : (rows, n), with as many rows as there are names.
    trig : (2, N) sines and cosines of the joint angles.
    applied : (N, 6 rows) wrenches of the world with their rates, zero without such inputs.
    base : (24,) motion of the base; None at rest.
    """

    graph: Graph
    parents: NDArray[Any]
    joints: Objects
    gravity: Objects
    state: Objects
    trig: Objects
    applied: Objects
    base: Objects | None = None

    @property
    def n(self) -> int:
        """The number of joints, which are coordinates."""
        return int(self.state.shape[1])

    @property
    def body_count(self) -> int:
        """The number N of bodies."""
        return len(self.parents)

    def more(self, name: str, count: int) -> Objects:
        """Further inputs (count,)."""
        return _array(self.graph.inputs(name, count))

    def program(self, results: Mapping[str, Any]) -> Program:
        """The program of some results, arrays of any shape, row by row."""
        flat = {name: list(np.asarray(x, dtype=object).ravel()) for name, x in results.items()}
        return Program(self.graph, flat)


def traced_robot(
    model: MultibodyModel,
    names: Sequence[str],
    inputs: TracedInputs = STATE_ONLY,
    wrench_rows: int = 3,
    pause: Pause = no_pause,
    *,
    count: int | None = None,
) -> TracedRobot:
    """Declares the inputs: q and its derivatives under `names`, each (n,), then `inputs`.

    Where loops determine the other joints, only the first `count` entries of each row are given,
    those of the independent joints, and `trig` is to be computed later. Wrenches have `wrench_rows`
    rows, themselves and their rates. `pause` is called now and then, see `codegen.pause`. Raises
    InputError for unknown bodies.
    """
    n, N, graph = model.n, model.body_count, Graph(pause)
    state = np.zeros((max(len(names), 5), n), dtype=object)
    applied = np.zeros((N, max(wrench_rows, 3) * WRENCH_SIZE), dtype=object)
    for row, name in zip(state, names, strict=False):
        row[:count] = _array(graph.inputs(name, n if count is None else count))
    joints, gravity = model.joint_rows.astype(object), model.gravity.astype(object)
    if inputs.joints is not None:
        read = np.asarray(inputs.joints, dtype=bool)
        joints[read] = _array(graph.inputs("joints", N * JOINT_ROW)).reshape(joints.shape)[read]
    if inputs.gravity is not None:
        read = np.asarray(inputs.gravity, dtype=bool)
        gravity[read] = _array(graph.inputs("gravity", 3))[read]
    base = _array(graph.inputs("base", 24)) if inputs.base else None
    if inputs.payload is not None:
        _attach(model, inputs.payload, graph.inputs("payload", PAYLOAD_SIZE), joints)
    for k, body in enumerate(inputs.wrenches):
        size = WRENCH_SIZE * wrench_rows
        applied[model.body_index(body), :size] += _array(graph.inputs(f"wrench {k}", size))
    trig = generic_trig(joints, state[0], sine, cosine)
    return TracedRobot(graph, model.parents, joints, gravity, state, trig, applied, base)


def generic_robot(
    model: MultibodyModel,
    rows: Mapping[str, Sequence[Any]],
    sin: Callable[[Any], Any],
    cos: Callable[[Any], Any],
) -> TracedRobot:
    """The same over scalars of any type, with q and its derivatives given by name.

    Raises InputError for rows that do not have n scalars; nothing else is checked.
    """
    check_model(model)
    joints, state = model.joint_rows.astype(object), scalar_rows(model, rows)
    applied = np.zeros((model.body_count, 3 * WRENCH_SIZE), dtype=object)
    trig = generic_trig(joints, state[0], sin, cos)
    gravity = model.gravity.astype(object)
    return TracedRobot(Graph(), model.parents, joints, gravity, state, trig, applied)


def scalar_rows(model: MultibodyModel, rows: Mapping[str, Sequence[Any]]) -> Objects:
    """Rows of n scalars of any type as objects (5, n); those that are not given are zero."""
    table = np.zeros((5, model.n), dtype=object)
    for k, (name, row) in enumerate(rows.items()):
        if len(row) != model.n:
            raise InputError(f"{name}: expected {model.n} scalars, got {len(row)}")
        for i in range(model.n):  # entry by entry: a scalar may be an array
            table[k, i] = row[i]
    return table


def state_names(count: int) -> tuple[str, ...]:
    """The names of q and its derivatives: q, qd, qdd, ..."""
    return tuple("q" + "d" * k for k in range(count))


def initial_bodies(robot: TracedRobot, representation: Representation) -> Objects:
    """Rows of the bodies, with the motion of the base in the first one."""
    bodies = np.zeros((robot.body_count + 1, BODY_ROW), dtype=object)
    bodies[0, POSE : POSE + 9 : 4] = 1.0
    if robot.base is not None:
        bodies[0, TWIST : TWIST + 24] = robot.base
    elif representation != "spatial":  # gravity enters as an acceleration of the base
        bodies[0, TWIST + 9 : TWIST + 12] = -robot.gravity
    return bodies


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


def _array(values: list[Expression]) -> Objects:
    """Expressions as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
