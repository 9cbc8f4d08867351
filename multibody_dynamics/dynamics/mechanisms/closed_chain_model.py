# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot with loops as its motors see it: the model that control laws, plants and nodes take.

Its coordinates are those of the actuated joints, one for each degree of freedom; the loops
determine all other joints, as couplings do in a tree, but not linearly. What control asks of a
robot is answered for its coordinates,

    inverse_solver, momentum_solver, forward_arrays              in every cycle
    inverse_dynamics, forward_dynamics, the derivatives of both, mass_matrix, gravity_forces,
    kinetic_energy, potential_energy, reduction                  at the design
    trace_inverse_dynamics, trace_gravity_forces, trace_momentum, trace_forward_dynamics
    forward_kinematics, frame_pose, jacobian, jacobian_dot, moved_by

tasks and regressors close its loops by :mod:`.loop_kinematics` and `tree_motion`, and everything
else refuses it, because it has no `joint_rows`. Every answer starts from the configuration
`assembled` and follows a straight line of the coordinates from there: positions behind a singular
pose, or out of reach, are a DynamicsError.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..codegen import Program
from ..core import (
    STATE_ROWS,
    Array,
    DynamicsError,
    InputError,
    ModelError,
    answers,
    as_array,
    as_state,
    broadcast_shapes,
    exactly,
    product_rule,
    read_only,
    spread,
    times,
)
from ..lie import Representation
from ..model import JointLimits, MultibodyModel, screw_type
from ..rigid import (
    STATE_ONLY,
    BaseMotion,
    BodyMotion,
    ForwardArrays,
    InverseDynamics,
    TracedInputs,
    Wrenches,
    forward_arrays,
    forward_dynamics,
    forward_kinematics,
    frame_pose,
    gravity_forces,
    inverse_dynamics,
    inverse_solver,
    jacobian,
    jacobian_dot,
    kinetic_energy,
    mass_matrix,
    momentum_solver,
    passive_torques,
    potential_energy,
    trace_forward_dynamics,
    trace_gravity_forces,
    trace_inverse_dynamics,
    trace_momentum,
    wrench_rows,
)
from .ball_charts import find_balls, in_charts, with_charts
from .constrained_solvers import (
    NEAR,
    ConstrainedForwardDynamicsSolver,
    ConstrainedInverseDynamicsSolver,
    ConstrainedMomentumSolver,
    LoopSolver,
)
from .loops import ConstrainedModel, LoopClosure, PassiveSpring
from .traced_loops import (
    trace_constrained_forward_dynamics,
    trace_constrained_gravity,
    trace_constrained_inverse_dynamics,
    trace_constrained_momentum,
)

Solver = TypeVar("Solver", bound=LoopSolver)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClosedChainModel(MultibodyModel):
    """A robot with loops in the coordinates of its motors, see :func:`closed_chain`.

    `joint_names`, `joint_types`, `limits` and `reflected_inertia` are those of the n actuated
    joints; parents, screws, poses and inertias those of the N bodies of the tree with its loops
    cut; `coordinates` is -1 where the loops determine a joint.

    Attributes
    ----------
    loops : the cut joints.
    assembled : (N,) a closed configuration, rad or m, which selects the assembly mode.
    dependent_limits : of the joints without a motor, in the order of `dependent_joints`.
    charts : joints of the tree that neither move nor have a motor, see :mod:`.ball_charts`.
    passive_springs : {joint without a motor: its :class:`.PassiveSpring`}.
    """

    loops: tuple[LoopClosure, ...]
    assembled: Array
    dependent_limits: JointLimits
    charts: tuple[str, ...] = ()
    passive_springs: Mapping[str, PassiveSpring] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "loops", tuple(self.loops))
        object.__setattr__(self, "passive_springs", MappingProxyType(dict(self.passive_springs)))
        assembled = exactly("assembled", self.assembled, (self.body_count,))
        object.__setattr__(self, "assembled", read_only(assembled))
        object.__setattr__(
            self, "dependent_limits", JointLimits(*map(read_only, self.dependent_limits))
        )

    def _check_coordinates(self) -> None:
        own = {name: c for c, name in enumerate(self.joint_names)}
        given = [own.get(name, -1) for name in self.tree_joint_names]
        object.__setattr__(self, "coordinates", read_only(given, np.int64))

    def __repr__(self) -> str:
        return f"<ClosedChainModel '{self.name}' with {self.n} motors, {len(self.loops)} loops>"

    @property
    def first_bodies(self) -> NDArray[np.int64]:
        """(n,) the body that each actuated joint moves."""
        return np.array([self.tree_joint_names.index(name) for name in self.joint_names])

    @cached_property
    def tree(self) -> MultibodyModel:
        """The robot with its loops cut, with a coordinate for each of its N joints."""
        kept = {item.name: getattr(self, item.name) for item in fields(MultibodyModel)}
        rotors = np.zeros(self.body_count)
        rotors[self.first_bodies] = self.reflected_inertia
        changed = {
            "joint_names": self.tree_joint_names,
            "joint_types": tuple(map(screw_type, self.screws)),
            "reflected_inertia": rotors,
            "limits": JointLimits.unlimited(self.body_count),
            "coordinates": np.arange(self.body_count),
        }
        return MultibodyModel(**(kept | changed))

    @cached_property
    def system(self) -> ConstrainedModel:
        """The tree, its constraints, and the names of the actuated joints."""
        return ConstrainedModel(
            self.tree,
            self.loops,
            self.joint_names,
            charts=self.charts,
            springs=self.passive_springs,
        )

    @property
    def home(self) -> Array:
        """(n,) the actuated joints of `assembled`."""
        return self.assembled[self.first_bodies]

    @property
    def tree_joint_types(self) -> tuple[str, ...]:
        """(N,) the type of each joint of the tree, or "passive"."""
        own = dict(zip(self.joint_names, self.joint_types, strict=True))
        return tuple(own.get(name, "passive") for name in self.tree_joint_names)

    @property
    def is_periodic(self) -> NDArray[np.bool_]:
        return np.full(self.n, not self.passive_springs)  # a turn may wind up a spring

    def configuration(self, q: Any) -> Array:
        """All joints (..., N) for the actuated ones (..., n), rad or m, as `tree_motion`."""
        return self.tree_motion(q)[0]

    def tree_motion(self, *rows: Any) -> list[Array]:
        """q, q', ... of all joints (..., N), for those of the actuated ones (..., n), rad or m.

        Raises InputError for a wrong shape, NaN or infinity, and DynamicsError for a position that
        the loops do not allow.
        """
        motion, _, given = self._evaluated(rows)
        return motion[:given]

    def reduction(self, *rows: Any) -> list[Array]:
        """G with q_tree' = G q', and its rates, as far as q, q', q'' (..., n) are given; each
        (..., N, n).

        Of the second derivative H and the third one K of q_tree with respect to q, G' e_j is
        H(q', e_j), and G'' e_j is H(q'', e_j) + K(q', q', e_j). Both follow, without differences in
        q, from the motions of the tree at q' + e_j, q' - e_j and e_j.
        Raises the errors of :meth:`tree_motion`.
        """
        q, *rates = (np.asarray(row, dtype=np.float64)[..., None, :] for row in rows)
        e, still = np.eye(self.n), np.zeros(self.n)
        alone = self.tree_motion(q, e, still, still)
        G = [alone[1]]
        if rates:
            qd, qdd = rates if len(rates) > 1 else (rates[0], still)
            ahead, behind = (self.tree_motion(q, qd + step, qdd, still) for step in (e, -e))
            G.append((ahead[2] - behind[2]) / 4.0)
            G.append((ahead[3] - behind[3] - 2.0 * alone[3]) / 6.0)
        return [np.swapaxes(each, -1, -2) for each in G[: len(rows)]]

    @property
    def dependent_joints(self) -> tuple[str, ...]:
        return self.system.passive

    def dependent_motion(self, q: Array, qd: Array) -> tuple[Array, Array]:
        position, velocity = self.tree_motion(q, qd)
        balls, own = self.system.balls, self.system.passive_indices
        position, rates = in_charts(position, velocity[..., None], balls, np.zeros(len(balls)))
        return position[..., own], rates[..., own, 0]

    @property
    def moved_by(self) -> NDArray[np.bool_]:
        """(N, n): [i, j] is true if motor j may move body i; all may, behind a passive joint."""
        paths = self.tree.moved_by
        behind = np.any(paths[:, self.system.passive_indices], axis=1, keepdims=True)
        return np.asarray(paths[:, self.first_bodies] | behind)

    def _evaluated(
        self, rows: Any, wrenches: Wrenches | None = None
    ) -> tuple[list[Array], list[Array], int]:
        """q ... q'''' of the tree, 5 of (..., N), and Q, Q', Q'', 3 of (..., n), where rows
        that are not given are zero; and the number of given ones."""
        states, shape, given = as_state(self.joint_names, *rows)
        if given == 0:
            raise InputError("robots with loops require q")
        solver = self.solver(ConstrainedInverseDynamicsSolver)
        states = np.moveaxis(states, 1, 0)
        if wrenches:
            named = dict(zip(STATE_ROWS, states.reshape(5, *shape, self.n), strict=True))
            results = solver.motion, solver.result
            found = at_states(self, solver, solver, results, named, wrenches)
            motion, torques = (np.moveaxis(x, -2, 0) for x in found)
        else:
            found = [np.asarray(x) for x in solver.batch(*states)]
            motion, torques = (x.reshape(len(x), *shape, x.shape[-1]) for x in found)
        return list(motion), list(torques), given

    def reaches(self, q: Any) -> NDArray[np.bool_]:
        q = as_array("q", q, (self.n,), self.joint_names)
        reached = [not self.obstacle(row) for row in q.reshape(-1, self.n)]
        return np.array(reached, dtype=bool).reshape(q.shape[:-1])

    def obstacle(self, q: Array) -> str:
        solver = self.solver(ConstrainedInverseDynamicsSolver)
        solver.state[:], solver.state[0] = 0.0, q
        if not solver.update():
            return solver.problem()
        loops = ", ".join(f"'{loop.name}'" for loop in self.loops)
        is_near = solver.margin < NEAR
        return f"loop {loops}: nearly singular, margin {solver.margin:.1e}" if is_near else ""

    @cached_property
    def _of_thread(self) -> threading.local:
        return threading.local()

    def solver(self, kind: type[Solver]) -> Solver:
        """A solver of this thread, which starts from `assembled`, without wrenches, for use before
        a model that :meth:`_with_same_loops` has made of this one asks for it."""
        own = vars(self._of_thread)
        if kind.__name__ not in own:
            own[kind.__name__] = kind(self.system, self.assembled, independent=self.joint_names)
        solver: Solver = own[kind.__name__]
        if solver.model is not self.tree:
            solver.set_model(self)
        solver.start_from(self.assembled)
        solver.applied_wrenches[:] = 0.0
        return solver

    @property
    def strides(self) -> Array:
        """(n,) of :class:`.LoopSolver`, rad or m."""
        return self.solver(ConstrainedInverseDynamicsSolver).strides.copy()

    @property
    def equations(self) -> tuple[str, ...]:
        """The names of the rows of the loops, as of :class:`.LoopSolver`."""
        return self.solver(ConstrainedInverseDynamicsSolver).equations

    def fields_behind(self, count: int) -> dict[str, Any]:
        return {"assembled": np.concatenate((np.zeros(count), self.assembled))}

    def describe(self) -> str:
        return self.system.describe()

    def _with_same_loops(self, **changes: Any) -> MultibodyModel:
        """The robot with other inertias or gravity, and the same solvers: loops take long to
        assemble."""
        changed = replace(self, **changes)
        vars(changed)["_of_thread"] = self._of_thread
        return changed

    def with_gravity(self, gravity: Any) -> MultibodyModel:
        return self._with_same_loops(gravity=gravity)

    def with_scaled_links(self, factors: Any) -> MultibodyModel:
        scale = as_array("factors", factors, (self.body_count,), self.tree_joint_names)
        return self._with_same_loops(link_inertias=scale[:, None, None] * self.link_inertias)

    # What the recursions over a tree read, and only they

    @property
    def joint_rows(self) -> NoReturn:
        self.require_tree("this computation")

    @property
    def coordinate_map(self) -> NoReturn:
        self.require_tree("this computation")

    def spread(self, values: Any) -> NoReturn:
        self.require_tree("this computation")

    def require_tree(self, what: str) -> NoReturn:
        names = ", ".join(f"'{loop.name}'" for loop in self.loops)
        raise InputError(
            f"{what} is not available for robot '{self.name}', which has loops: {names}"
        )

    require_uncoupled = require_tree

    @property
    def has_passive_springs(self) -> bool:
        return bool(self.passive_springs)

    def _reduced(self, couplings: Any) -> MultibodyModel:
        return self.require_tree("coupling or locking a joint") if couplings else self


def closed_chain(system: ConstrainedModel, q: Any) -> ClosedChainModel:
    """The robot `system` in the coordinates of its motors, assembled near q (N,), rad or m.

    Raises ModelError for coupled joints, rotors behind joints without a motor, and constraints that
    are not supported; InputError unless there are as many motors as degrees of freedom;
    DynamicsError if the loops cannot be closed near q, or q is singular.
    """
    tree = system.tree
    tree.require_uncoupled("closing the loops of a robot")
    idle = [name for name in system.passive if tree.reflected_inertia[tree.joint_index(name)]]
    if idle:
        raise ModelError(f"joint '{idle[0]}' has a reflected inertia, but is not `actuated`")
    system, q = _without_singular_balls(system, q)
    tree = system.tree
    motors = tuple(system.actuated or ())
    solver = ConstrainedInverseDynamicsSolver(system, q, independent=motors)
    own = system.actuated_indices
    kept = {item.name: getattr(tree, item.name) for item in fields(MultibodyModel)}
    changed = {
        "joint_names": motors,
        "joint_types": tuple(tree.joint_types[i] for i in own),
        "reflected_inertia": tree.reflected_inertia[own],
        "limits": JointLimits(*(values[own] for values in tree.limits)),
        "loops": system.constraints,
        "assembled": solver.motion[0].copy(),
        "dependent_limits": JointLimits(
            *(values[system.passive_indices] for values in tree.limits)
        ),
        "charts": system.charts,
        "passive_springs": system.springs,
    }
    return ClosedChainModel(**(kept | changed))


def _without_singular_balls(system: ConstrainedModel, q: Any) -> tuple[ConstrainedModel, Any]:
    """The same mechanism and pose with the charts of :mod:`.ball_charts`."""
    tree = system.tree
    loops = [loop for loop in system.constraints if isinstance(loop, LoopClosure)]
    ends = {tree.frame(end).body for loop in loops for end in (loop.first, loop.second)}
    balls = find_balls(tree, {*system.passive} - {*system.springs}, ends)
    if not balls:
        return system, q
    q = as_array("q", q, (tree.n,), tree.joint_names)
    moved, charts = with_charts(tree, balls)
    place = [moved.joint_index(name) for name in tree.joint_names]
    angles = np.zeros(moved.n)
    angles[place] = q
    return replace(system, tree=moved, charts=charts), angles


@answers(inverse_solver, ClosedChainModel)
def _inverse_solver(model: ClosedChainModel) -> ConstrainedInverseDynamicsSolver:
    return ConstrainedInverseDynamicsSolver(
        model.system, model.assembled, independent=model.joint_names, specialise=None
    )


@answers(momentum_solver, ClosedChainModel)
def _momentum_solver(model: ClosedChainModel) -> ConstrainedMomentumSolver:
    return ConstrainedMomentumSolver(model.system, model.assembled, independent=model.joint_names)


@answers(forward_arrays, ClosedChainModel)
def _forward_arrays(model: ClosedChainModel) -> ForwardArrays:
    solver = ConstrainedForwardDynamicsSolver(
        model.system, model.assembled, independent=model.joint_names
    )
    return ForwardArrays(np.array(model.tree.joint_rows), *solver.arrays)


@answers(trace_inverse_dynamics, ClosedChainModel)
def _trace_inverse_dynamics(
    model: ClosedChainModel,
    order: int = 2,
    representation: Representation = "spatial",
    inputs: TracedInputs = STATE_ONLY,
) -> Program:
    solver = model.solver(ConstrainedInverseDynamicsSolver)
    return trace_constrained_inverse_dynamics(solver, order, inputs)


@answers(trace_gravity_forces, ClosedChainModel)
def _trace_gravity_forces(model: ClosedChainModel) -> Program:
    return trace_constrained_gravity(model.solver(ConstrainedInverseDynamicsSolver))


@answers(trace_momentum, ClosedChainModel)
def _trace_momentum(model: ClosedChainModel) -> Program:
    return trace_constrained_momentum(model.solver(ConstrainedInverseDynamicsSolver))


@answers(trace_forward_dynamics, ClosedChainModel)
def _trace_forward_dynamics(model: ClosedChainModel, inputs: TracedInputs = STATE_ONLY) -> Program:
    solver = model.solver(ConstrainedInverseDynamicsSolver)
    return trace_constrained_forward_dynamics(solver, inputs)


@answers(inverse_dynamics, ClosedChainModel)
def _inverse_dynamics(
    model: ClosedChainModel,
    q: Any,
    qd: Any,
    qdd: Any,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> InverseDynamics:
    _at_rest(model, base)
    _, torques, given = model._evaluated((q, qd, qdd, qddd, qdddd), wrenches)
    if given < 3:
        raise InputError(f"inverse dynamics needs {STATE_ROWS[given]}")
    return InverseDynamics(*torques[: given - 2], *[None] * (5 - given))


@answers(gravity_forces, ClosedChainModel)
def _gravity_forces(model: ClosedChainModel, q: Any, *, base: BaseMotion | None = None) -> Array:
    _at_rest(model, base)
    return model._evaluated((q,))[1][0]


def at_states(
    model: ClosedChainModel,
    solver: LoopSolver,
    solve: Callable[..., Any],
    results: Sequence[Array],
    rows: dict[str, Any],
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> list[Array]:
    """The buffers `results` of a solver of the model, (..., each), after it has been called, by
    `solve`, with each state of the `rows` (..., n) and each of the wrenches.

    Raises InputError for wrong shapes or names, NaN, infinity, or a base, and the errors of the
    solver, which name the state.
    """
    _at_rest(model, base)
    given = [as_array(name, row, (model.n,), model.joint_names) for name, row in rows.items()]
    applied = wrench_rows(model, wrenches)
    shapes = [*(row.shape[:-1] for row in given), applied.shape[:-2]]
    full = broadcast_shapes((*rows, "wrenches"), shapes)
    states = np.stack([spread(row, full, (model.n,)) for row in given], axis=1)
    found = [np.empty((len(states), *each.shape)) for each in results]
    loads = spread(applied, full, applied.shape[-2:])
    for k, (state, load) in enumerate(zip(states, loads, strict=True)):
        solver.start_from(model.assembled)
        solver.applied_wrenches[:] = load.reshape(-1, 3, 6)
        try:
            solve(*state)
        except DynamicsError:
            raise solver.failure(k) from None
        for one, each in zip(found, results, strict=True):
            one[k] = each
    return [each.reshape(*full, *each.shape[1:]) for each in found]


def _at_rest(model: ClosedChainModel, base: BaseMotion | None) -> None:
    if base is not None:
        model.require_tree("the argument `base`")


@answers(mass_matrix, ClosedChainModel)
def _mass_matrix(model: ClosedChainModel, q: Any) -> Array:
    solver, still = model.solver(ConstrainedForwardDynamicsSolver), np.zeros(model.n)
    return at_states(
        model, solver, lambda q: solver(q, still, still), (solver.mass_matrix,), {"q": q}
    )[0]


@answers(forward_dynamics, ClosedChainModel)
def _forward_dynamics(
    model: ClosedChainModel, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    solver, rows = model.solver(ConstrainedForwardDynamicsSolver), {"q": q, "qd": qd, "tau": tau}
    return at_states(model, solver, solver, (solver.result,), rows, wrenches, base)[0]


@answers(kinetic_energy, ClosedChainModel)
def _kinetic_energy(model: ClosedChainModel, q: Any, qd: Any) -> Array:
    qd = as_array("qd", qd, (model.n,), model.joint_names)
    return 0.5 * np.sum(qd * times(mass_matrix(model, q), qd), axis=-1)


@answers(potential_energy, ClosedChainModel)
def _potential_energy(model: ClosedChainModel, q: Any) -> Array:
    at = model.configuration(q)
    K, rest, _ = model.system.spring_rows
    return potential_energy(model.tree, at) + 0.5 * (at - rest) ** 2 @ K


@answers(passive_torques, ClosedChainModel)
def _passive_torques(model: ClosedChainModel, *rows: Any) -> Array:
    """G^T K (q_tree - q0) and G^T D q'_tree, with rates."""
    motion = model.tree_motion(*rows)
    K, rest, D = model.system.spring_rows
    GT = product_rule.transpose(model.reduction(*rows[:3]))
    bends = K * np.stack([motion[0] - rest, *motion[1:-1]]), D * np.stack(motion[1:])
    return np.array([product_rule.apply(GT, each) for each in bends])


@answers(forward_kinematics, ClosedChainModel)
def _forward_kinematics(
    model: ClosedChainModel,
    q: Any,
    qd: Any | None = None,
    qdd: Any | None = None,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> BodyMotion:
    rows = model.tree_motion(q, qd, qdd, qddd, qdddd)
    return forward_kinematics(model.tree, *rows, base=base, representation=representation)


@answers(frame_pose, ClosedChainModel)
def _frame_pose(
    model: ClosedChainModel, q: Any, body: str | int, *, base: BaseMotion | None = None
) -> Array:
    return frame_pose(model.tree, model.configuration(q), body, base=base)


@answers(jacobian, ClosedChainModel)
def _jacobian(model: ClosedChainModel, q: Any, body: str | int, **how: Any) -> Array:
    return jacobian(model.tree, model.configuration(q), body, **how) @ model.reduction(q)[0]


@answers(jacobian_dot, ClosedChainModel)
def _jacobian_dot(model: ClosedChainModel, q: Any, qd: Any, body: str | int, **how: Any) -> Array:
    """J' G + J G'."""
    at, speed = model.tree_motion(q, qd)
    G, rate = model.reduction(q, qd)
    moved = jacobian_dot(model.tree, at, speed, body, **how) @ G
    return moved + jacobian(model.tree, at, body, **how) @ rate
