# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse and forward dynamics, and momentum, of mechanisms with loops for the control cycle."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..codegen import Calls, pause
from ..core import (
    STATE_ROWS,
    Array,
    BoundCall,
    CheckedRows,
    DynamicsError,
    InputError,
    ModelError,
    as_array,
    as_state,
)
from ..lie import Representation, se3
from ..model import MultibodyModel
from ..model.records import BODY_ROW, PLACEMENT, POSE, TWIST
from ..recursions import momentum_pass
from ..rigid import (
    CHECKED_STATES,
    TOLERANCE,
    BaseMotion,
    SpecialisingSolver,
    addresses,
    base_rows,
    body_rows,
    joint_poses,
    spatial_jacobians,
)
from . import loop_recursion as at
from .assembly import assemble
from .ball_charts import renew_charts
from .constraints import independent_rows
from .loop_rows import LOOP_ROW, SMALL, LoopRow, closure_rows, frames_in_joints
from .loops import ConstrainedModel, LoopClosure
from .specialised_loops import LoopKernel, table
from .traced_loops import SINGULAR

Indices = NDArray[np.int64]

NEARBY = 1e-3  # rad or m; the range of positions at which kernels are compared, as of a cycle
NEAR = 0.05  # a margin below which messages call a pose nearly singular


class LoopSolver(SpecialisingSolver):
    """Base of the solvers: closes the loops of `system` in every update, from the last solution.

    Parameters
    ----------
    system : the mechanism. Its cut joints are those of :mod:`.loop_rows`; a ConstraintMatrix is not
        supported.
    q : (n,) a configuration that is closed or nearly so, and not singular, rad or m. It decides
        between the ways in which the mechanism can be assembled.
    independent : names of as many joints as there are degrees of freedom. Default: the actuated
        joints as far as they are independent.

    Attributes
    ----------
    independent, actuated, passive : names of joints, in the order of the tree.
    redundant : names of the rows that depend on the others, and are only checked.
    motion : (5, n) q ... q'''' of all joints after an update; forward dynamics write three rows.
    multipliers : (m,) of the rows that are not redundant, N m or N.

    Raises ModelError for constraints that are not supported, InputError for unknown joints and a
    wrong number of independent ones, DynamicsError if the loops cannot be closed near q, or q is
    singular.
    """

    def __init__(self, system: ConstrainedModel, q: Any, independent: Sequence[str] | None) -> None:
        tree = system.tree
        n, N = tree.n, tree.body_count
        bodies = np.zeros((N + 1, BODY_ROW))
        super().__init__(tree, bodies, self._recursion)
        self.system = system
        start, chosen, rows, kept, strides = _assembled(system, q, independent)
        m = len(kept)
        self._rows_kept = tuple(rows[k] for k in kept)
        dropped = tuple(row for k, row in enumerate(rows) if k not in kept)
        self._all_rows = (*self._rows_kept, *dropped)
        self.redundant = tuple(row.name for _, row in dropped)
        self.independent = tuple(tree.joint_names[i] for i in chosen)
        self.actuated, self.passive = tuple(system.actuated or ()), system.passive
        size = max(n + m, N, at.REPORT_COLUMNS)
        self._plan, link_parents, links, numbers = _plan(system, self._all_rows, m, chosen)
        link_bodies = np.zeros((len(links) + 1, BODY_ROW))
        link_bodies[0, POSE : POSE + 9 : 4] = 1.0
        self._vectors = np.zeros((at.VECTORS, size))
        self._vectors[at.STRIDES, : len(strides)] = strides
        self.springs[:] = system.spring_rows
        self._vectors[at.REPORT, at.SINGULAR] = system.rank_tolerance
        self._vectors[at.REPORT, at.OPENING] = system.consistency_tolerance
        self._matrices = np.zeros((at.MATRICES, size, size))
        self._wrenches = np.zeros((len(rows), at.WRENCHES_ROW))
        self._motions = np.zeros((1, 5, n))
        self.motion: Array = self._motions[0]
        self.multipliers: Array = self._vectors[at.MULTIPLIER, :m]
        self._linkage = self._plan, link_parents, links, numbers
        self._arguments: tuple[Any, ...] = (*self._constants, *self._linkage)
        self._applied = self.applied_wrenches.reshape(N, 18)
        self._scratch = (bodies, link_bodies, self._wrenches, self._matrices, self._vectors)
        self.start_from(start)

    def start_from(self, q: Array) -> None:
        """Start the next update from the closed configuration q (n,), which is not checked."""
        self._vectors[at.LAST : at.LAST + 3] = 0.0
        self._vectors[at.LAST, : self.model.n] = q
        self._vectors[at.START, : self.model.n] = q
        self._vectors[at.REPORT, at.CLOSED_MARGIN] = np.inf
        self._plan[at.CLOSED] = 0

    def restart(self, q: Any) -> Array:
        """Close the loops near q (n,) once more, for instance in another assembly mode.

        The independent joints keep their values. Returns the closed configuration (n,), from which
        the next update starts. Raises the errors of :func:`.assemble`; allocates.
        """
        q = as_array("q", q, (self.model.n,), self.model.joint_names)
        if q.ndim != 1:
            raise InputError(f"q: expected shape ({self.model.n},), got {q.shape}")
        closed = _closed(self.system, q, self.independent)
        self.start_from(closed)
        return closed

    def set_model(self, model: MultibodyModel) -> None:
        """As :meth:`.ModelSolver.set_model`, for a tree or for a robot with these loops."""
        is_tree = model.joint_names == self.model.joint_names
        if not is_tree and getattr(model, "passive_springs", {}) != self.system.springs:
            raise InputError(
                f"the passive springs of robot '{model.name}' differ from those of "
                f"'{self.model.name}'; make a new {type(self).__name__} for it"
            )
        super().set_model(model if is_tree else model.tree)

    @property
    def kinematics(self) -> tuple[Any, ...]:
        """Buffers with which compiled code closes the loops, see :mod:`.loop_kinematics`."""
        return *self._linkage, self.motion, *self._scratch[1:]

    @property
    def dof(self) -> int:
        """The number of degrees of freedom."""
        return len(self.independent)

    @property
    def strides(self) -> Array:
        """(dof,) how far each independent joint goes in one step towards a far pose, rad or m."""
        return self._vectors[at.STRIDES, : self.dof]

    @property
    def springs(self) -> Array:
        """(3, n) stiffness, rest and damping of the joints, zero where there is no spring."""
        return self._vectors[at.SPRINGS : at.SPRINGS + 3, : self.model.n]

    @property
    def equations(self) -> tuple[str, ...]:
        """The names of all rows of the loops, the redundant ones last."""
        return tuple(row.name for _, row in self._all_rows)

    @property
    def margin(self) -> float:
        """How far the last pose was from a singular one: the smallest pivot of A_d over its row.

        It falls to zero where the independent joints no longer determine the others; an update
        fails below `system.rank_tolerance`.
        """
        return float(self._vectors[at.REPORT, at.MARGIN])

    @property
    def loop_wrenches(self) -> Mapping[str, Array]:
        """{loop: (3, 6)} the wrench that each cut joint applies to its second body, with two rates.

        In inertial axes about the inertial origin; with the opposite sign, it acts on the first
        body. Forward dynamics have no rates: their rows 1 and 2 are zero. Redundant rows transmit
        nothing here, see :class:`.ConstrainedInverseDynamics`.
        """
        m, w = len(self._rows_kept), self._unit_wrenches()
        multipliers = self._vectors[at.MULTIPLIER : at.MULTIPLIER + 3, :m]
        result = {c.name: np.zeros((3, 6)) for c in self.system.constraints}
        rates = 3 if self._has_rates else 1
        for r, (loop, _) in enumerate(self._rows_kept):
            for k in range(rates):
                for j in range(k + 1):
                    share = at.BINOMIAL[k, j] * multipliers[k - j, r]
                    result[loop.name][k] += share * w[r, j]
        return result

    def _unit_wrenches(self) -> Array:
        """(m, 3, 6) the wrenches of unit multipliers, with two rates, in inertial axes."""
        tree, base = self.model, self._base
        if isinstance(base, tuple):
            base = BaseMotion(base[0], *base[1])
        bodies = body_rows(tree, list(self.motion[:3]), base)[0][0]
        sides, numbers = [], np.empty((len(self._rows_kept), LOOP_ROW))
        for r, (loop, row) in enumerate(self._rows_kept):
            (first, pose1), (second, pose2) = frames_in_joints(tree, loop)
            sides += [first + 1, second + 1, 0, 0]
            numbers[r] = row.numbers(pose1, pose2)
        plan, wrenches = np.array([*self._plan[: at.HEADER], *sides]), np.zeros_like(self._wrenches)
        plan[at.SIDES] = at.HEADER
        w = at.work(plan, np.empty_like(self._matrices), np.empty_like(self._vectors))
        at.place_rows(plan, numbers, bodies, wrenches, w)
        for k in (1, 2):
            at.move_rows(k, plan, numbers, bodies, wrenches)
        return wrenches[: len(numbers), :18].reshape(-1, 3, 6)

    _recursion: Representation = "spatial"
    _has_rates = True

    def problem(self) -> str:
        """Why the last update has failed; empty if it has not."""
        problem, where, amount = self._vectors[at.REPORT, : at.MARGIN]
        k, tree = int(where), self.model
        if problem == at.NONE:
            return ""
        if problem == at.NOT_CLOSED:
            margin = float(self._vectors[at.REPORT, at.CLOSED_MARGIN])
            near = f"; the last one is nearly singular, margin {margin:.1e}"
            return (
                f"{self._all_rows[k][1].name}: no configuration found near the last one "
                f"({self._last()}), an error of {amount:.3g} remains; the independent joints may "
                f"be out of reach, or have moved too far in one step (see `restart`)"
                f"{near if margin < NEAR else ''}"
            )
        if problem == at.DEPENDENT_ROW:
            return (
                f"{self._all_rows[k][1].name}: violated by {amount:.3g}, although it depended on "
                "the other rows at the start: the mechanism has left its assembly mode"
            )
        if problem == at.TOO_FAR:
            loops = ", ".join(f"'{constraint.name}'" for constraint in self.system.constraints)
            return (
                f"loop {loops}: joint '{self.independent[k]}' is {amount:.4g} from the assembled "
                f"pose; far poses are approached from there, in at most {at.MOST_STRIDES} steps of "
                f"{self.strides[k]:.3g} rad or m"
            )
        if problem == at.NO_INERTIA:
            joint = self.independent[k]
            return f"joint '{joint}' has no inertia to accelerate"
        columns = at.DEPENDENT if problem == at.SINGULAR_POSE else at.PASSIVE
        if columns == at.PASSIVE and k >= len(self.passive):
            return f"singular pose near {self._last()}: its motors cannot hold it ({amount:.1e})"
        joint = tree.joint_names[self._plan[self._plan[columns] + k]]
        loops = ", ".join(f"'{name}'" for name in self._loops_of(joint))
        held = ", ".join(self.independent if problem == at.SINGULAR_POSE else self.actuated)
        return (
            f"singular pose of loop {loops} near {self._last()}: with {held} locked, joint "
            f"'{joint}' can still move (pivot {amount:.1e} of its row)"
        )

    def _last(self) -> str:
        """The independent joints of the last solution, for messages."""
        q = self._vectors[at.LAST, self.system.indices(self.independent)]
        return ", ".join(f"{n} = {x:.4g}" for n, x in zip(self.independent, q, strict=True))

    def _loops_of(self, joint: str) -> list[str]:
        i = self.model.joint_index(joint)
        A = self._matrices[at.JACOBIANS, : len(self._rows_kept), i]
        names = dict.fromkeys(
            loop.name for (loop, _), entry in zip(self._rows_kept, A, strict=True) if entry
        )
        return list(names) or [c.name for c in self.system.constraints]

    def _run(self) -> None:
        if not self.update():
            raise self.failure()

    def failure(self, state: int | None = None) -> DynamicsError:
        """The error of the last update, with the number of its state if it is one of many."""
        where = "" if state is None else f", state {state}"
        return DynamicsError(f"robot '{self.model.name}'{where}: {self.problem()}")


class ConstrainedInverseDynamicsSolver(LoopSolver):
    """Q, Q' and Q'' of the motors of a mechanism with loops, for the control cycle: compiled.

    >>> solver = ConstrainedInverseDynamicsSolver(system, q)
    >>> tau, tau_dot, tau_ddot = solver(q, qd, qdd, qddd, qdddd)

    The motion is that of the independent joints; all other joints follow from the loops. To avoid
    all copies, fill `solver.state` (5, dof), call `solver.update()` and read `solver.result`
    (3, motors). The results are views that the next call overwrites.

    choice : with more motors than degrees of freedom, "minimum_torque" or "minimum_force" as in
        :func:`.constrained_inverse_dynamics`, with the wrench of each cut joint about its
        centre, a point of the second body.

    state : (5, dof) rows q ... q'''' of the joints `independent`, rad or m and per s^k.
    result : (3, motors) rows Q, Q', Q'' of the joints `actuated`, N m or N and per s^k.
    passive_torque : (3, n) torques of the passive joints besides those of the springs of `system`,
        with two rates; other entries must be zero. It keeps its values between calls.
    applied_wrenches, set_base, move_base, set_model : as in :class:`.InverseDynamicsSolver`.

    Every update closes the loops by Newton's method, starting from the last solution and its
    motion. A pose farther than `strides` from the last one, 0.1 rad or at most 0.1 m, is approached
    from that of the constructor or of `restart`: the independent joints go there on a straight
    line, in at most 1000 such steps, which determines the assembly mode. `update()` returns 1, or 0
    if it fails; then `problem()` says why, the results are NaN, and the next update starts from the
    last solution. Use an instance from one thread only.

    With `specialise`, code for this robot takes over as in :class:`.InverseDynamicsSolver`, with
    `kernel` and `wait`; None: if :func:`.specialise_solvers` asks for it. It closes the loops by a
    fixed number of Newton steps; where they do not suffice, in far or nearly singular poses, the
    general kernel computes the same state. Parameters, other attributes and errors are those of
    :class:`.LoopSolver`; ModelError also for fewer motors than degrees of freedom.
    """

    update: Callable[[], int]
    _recursion = "body"
    _temporary = (*LoopSolver._temporary, "_closure")

    def __init__(
        self,
        system: ConstrainedModel,
        q: Any,
        *,
        independent: Sequence[str] | None = None,
        choice: Literal["minimum_torque", "minimum_force"] = "minimum_torque",
        specialise: bool | None = False,
    ) -> None:
        super().__init__(system, q, independent)
        if choice not in ("minimum_torque", "minimum_force"):
            raise InputError(f"choice must be minimum_torque or minimum_force, got {choice!r}")
        self._choice = choice
        if choice == "minimum_force" and self._plan[at.LEAST] == at.LEAST_NORM:
            self._plan[at.LEAST] = at.LEAST_FORCE
        if len(self.actuated) < self.dof:
            raise ModelError(
                f"robot '{self.model.name}': {self.dof} degrees of freedom, but motors on only "
                f"{len(self.actuated)} joints: no torques give every motion; name further "
                "`actuated` joints, or use ConstrainedForwardDynamicsSolver"
            )
        count = len(self.actuated)
        self.state = np.zeros((5, self.dof))
        self.result: Array = np.zeros((3, count))
        self.passive_torque: Array = self._vectors[
            at.PASSIVE_TORQUE : at.PASSIVE_TORQUE + 3, : self.model.n
        ]
        self._results = tuple(self.result)
        is_direct = Calls.available()
        self._checked = CheckedRows(STATE_ROWS, self.independent, self.state, is_fallback=is_direct)
        self._compiled = self._bound(self.state[None], self._motions, self.result[None])
        self.update = self._compiled
        self.state[0] = self._vectors[at.LAST, system.indices(self.independent)]
        self._run()
        if self._is_wanted(specialise):
            self._specialise()
        else:
            self._call_directly()

    def _specialise(self) -> None:
        self._closure = np.full(_closure_size(self._plan, len(self._all_rows)), np.nan)
        last = self._vectors[at.LAST, : self.model.n]
        gravity = self._constants[2]
        arrays = table(self, self.state, gravity, last, self.motion, self.result, self._closure)
        given = self.state, self._results, arrays, self._wrench_numbers, 1
        self._begin(Calls(self._general, *given), Calls(self._run_general, *given))

    def _new_kernel(self, moving: bool) -> LoopKernel:
        return LoopKernel(self, moving=moving)

    def _general(self) -> int:
        """Update by the general kernel."""
        if self.kernel == "specialised":
            self._plan[at.CLOSED] = 0  # its factors are not those of the last configuration
        self._closure[:] = np.nan
        return self._compiled()

    def _run_general(self) -> None:
        if not self._general():
            raise self.failure()

    def _agrees(self, moving: bool, address: int) -> bool:
        start = self._vectors[at.START, : self.model.n].copy()
        general = ConstrainedInverseDynamicsSolver(
            self.system, start, independent=self.independent, choice=self._choice, specialise=False
        )
        n, last = self.model.n, general._vectors[at.LAST, : self.model.n]
        motion, found = np.empty((5, n)), np.empty_like(general.result)
        rng, base, closure = np.random.default_rng(1), self.model.gravity, self._closure.copy()
        if moving:
            moved = BaseMotion(None, *rng.uniform(-3.0, 3.0, (4, 6)))
            general.set_base(moved)
            base = base_rows(moved, "body", self.model.gravity)[TWIST : TWIST + 24]
        arrays = table(general, general.state, base, last, motion, found, closure)
        kernel = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(address)
        home, compared = general.state[0].copy(), 0
        for _ in range(CHECKED_STATES):
            general.start_from(start)
            general.state[:] = rng.uniform(-1.0, 1.0, general.state.shape)
            general.state[0] = home + NEARBY * general.state[0]
            where = addresses(arrays)
            is_valid = kernel(where.ctypes.data)
            general.start_from(start)
            if not (general.update() and is_valid):
                continue
            compared += 1
            for one, other in ((found, general.result), (motion, general.motion)):
                size = np.abs(other).max(axis=1)
                if not (np.abs(one - other).max(axis=1) <= TOLERANCE * size).all():
                    return False
            pause()
        return compared > 0

    def _choose_kernel(self) -> None:
        super()._choose_kernel()
        if self._calls:
            self._plan[at.CLOSED] = 0

    @property
    def margin(self) -> float:
        """How far the last pose was from a singular one, as in :class:`LoopSolver`; with the
        specialised kernel, the smallest sine of the angle between a column of A_d and others."""
        if not self._is_specialised():
            return super().margin
        m, first = len(self.multipliers), len(self._all_rows) + 2 * len(self.multipliers)
        return float(SINGULAR / np.sqrt(self._closure[first : first + m].max()))

    def problem(self) -> str:
        return "" if self._is_specialised() else super().problem()

    def _is_specialised(self) -> bool:
        """Whether the last update was one of the specialised kernel."""
        return bool(self._calls) and bool((abs(self._closure) <= 1.0).all())

    def _bound(self, states: Array, motions: Array, results: Array) -> Callable[[], int]:
        return BoundCall(
            at.inverse_dynamics_cycle, *self._arguments, states, self._applied, motions,
            *self._scratch, results,
        )  # fmt: skip

    def __call__(
        self, q: Any, qd: Any, qdd: Any, qddd: Any, qdddd: Any
    ) -> tuple[Array, Array, Array]:
        """Q, Q' and Q'' (motors,) as views of `result`; all arguments are (dof,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged;
        DynamicsError if the loops cannot be closed or the pose is singular.
        """
        if self._call is not None:
            results = self._call(q, qd, qdd, qddd, qdddd)
            if results is not None:
                return results
        self._checked.take((q, qd, qdd, qddd, qdddd))
        self._run()
        return self._results  # type: ignore[return-value]

    def batch(
        self, q: Any, qd: Any, qdd: Any, qddd: Any, qdddd: Any
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        """A motion of the independent joints, (count, dof) each, whose states follow each other.

        Returns q ... q'''' of all joints (5, count, n), and Q, Q', Q'' (count, motors). The first
        state starts from the last solution of the solver, every other one from that before it.
        Errors are those of a call, and name the state.
        """
        states, shape, given = as_state(self.independent, q, qd, qdd, qddd, qdddd)
        if len(shape) != 1 or given < 5:
            raise InputError(
                f"expected q ... qdddd of shape (count, {self.dof}), got {given} rows of shape "
                f"{(*shape, self.dof)}"
            )
        states = np.ascontiguousarray(states)
        motions = np.zeros((len(states), 5, self.model.n))
        results = np.zeros((len(states), 3, len(self.actuated)))
        if self._calls:
            self._plan[at.CLOSED] = 0
            self._closure[:] = np.nan
        done = self._bound(states, motions, results)()
        if done < len(states):
            raise self.failure(done)
        tau, tau_dot, tau_ddot = np.swapaxes(results, 0, 1)
        return np.swapaxes(motions, 0, 1), (tau, tau_dot, tau_ddot)


class ConstrainedForwardDynamicsSolver(LoopSolver):
    """q'' of the independent joints of a mechanism with loops, for the control cycle: compiled.

    >>> solver = ConstrainedForwardDynamicsSolver(system, q)
    >>> qdd = solver(q, qd, tau)

    Fill `solver.state` (2, dof) and `solver.torque` (motors,), call `solver.update()`, and read
    `solver.result` (dof,). The loops are closed in every update: integrating the independent
    coordinates does not open them.

    state : (2, dof) rows q, q' of the joints `independent`, rad or m and per s.
    torque : (motors,) of the joints `actuated`, N m or N.
    passive_torque : (n,) torques of the passive joints besides those of the springs of `system`;
        other entries are overwritten.
    result : (dof,) q'' of the joints `independent`, rad/s^2 or m/s^2.
    mass_matrix : (dof, dof) G^T M G, where q' = G s' for the independent coordinates s.
    bias : (dof,) the torques of the independent joints at s'' = 0, without those of other joints.
    reduction : (n, dof) G.

    In other respects as :class:`ConstrainedInverseDynamicsSolver`; any number of motors is
    accepted.
    """

    update: BoundCall
    _has_rates = False

    def __init__(
        self, system: ConstrainedModel, q: Any, *, independent: Sequence[str] | None = None
    ) -> None:
        super().__init__(system, q, independent)
        n, dof, count = self.model.n, self.dof, len(self.actuated)
        states, results = np.zeros((1, 3, dof)), np.zeros((1, 2, dof))
        self.state = states[0, :2]
        self.torque: Array = np.zeros(count)
        self.passive_torque: Array = self._vectors[at.PASSIVE_TORQUE, :n]
        self.result: Array = results[0, 0]
        self.bias: Array = results[0, 1]
        self.mass_matrix: Array = self._matrices[at.REDUCED_INERTIA, :dof, :dof]
        self.reduction: Array = self._matrices[at.REDUCTION, :n, :dof]
        self._given = np.zeros(count)
        is_direct = Calls.available()
        self._checked_torque = CheckedRows(
            ("tau",), self.actuated, self._given[None], is_fallback=is_direct
        )
        self._checked = CheckedRows(
            STATE_ROWS[:2], self.independent, self.state, is_fallback=is_direct
        )
        self._given_to_cycle = (
            *self._arguments, states, self._applied, self._motions, *self._scratch,
            self.torque[None], results,
        )  # fmt: skip
        self.update, self._results = self._cycle()
        self.state[0] = self._vectors[at.LAST, system.indices(self.independent)]
        self._run()
        self._call_directly()

    def _cycle(self) -> tuple[BoundCall, tuple[Array, ...]]:
        """The function that updates all results, and those that a call returns."""
        return BoundCall(at.forward_dynamics_cycle, *self._given_to_cycle), (self.result,)

    def _rows_taken(self) -> tuple[Array, ...]:
        return *self.state, self.torque

    @property
    def arrays(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """The equations of the loops, and the scratch of :func:`.loop_accelerations`, which shares
        the buffers of this solver."""
        (_, _, _, plan, *loops, states, _, motions, bodies, link_bodies, wrenches, matrices,
         vectors, torque, results) = self._given_to_cycle  # fmt: skip
        scratch = (bodies, link_bodies, states, motions, wrenches, matrices, vectors)
        return tuple(loops), (plan, *scratch, torque, results)

    def __call__(self, q: Any, qd: Any, tau: Any) -> Array:
        """q'' (dof,) as a view of `result`, for q, q' (dof,) and tau (motors,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged;
        DynamicsError if the loops cannot be closed, or the pose or the mass matrix is singular.
        """
        if self._call is None or self._call(q, qd, tau) is None:
            self._checked_torque.take((tau,))
            self._checked.take((q, qd))
            self.torque[:] = self._given
            self._run()
        return self.result


class ConstrainedMomentumSolver(LoopSolver):
    """:class:`.MomentumSolver` of a mechanism with loops: p = G^T M G s', beta and g of the
    independent joints s, with p' = G^T (Q + tau_ext) - beta.

    state : (2, dof) s and s'. result : (3, dof) p, beta, g, the latter two with the torques of
    passive springs and dampers. Applied wrenches and the motion of the base do not count. In other
    respects as :class:`ConstrainedInverseDynamicsSolver`.
    """

    update: Callable[[], int]
    _has_rates = False

    def __init__(
        self, system: ConstrainedModel, q: Any, *, independent: Sequence[str] | None = None
    ) -> None:
        super().__init__(system, q, independent)
        states = np.zeros((1, 3, self.dof))
        self.state = states[0, :2]
        self.result: Array = np.zeros((3, self.dof))
        self._results = tuple(self.result)
        passes = np.zeros((self.model.body_count + 1, momentum_pass.MOMENTUM_ROW))
        self.update = BoundCall(
            at.momentum_cycle, *self._arguments, states, self._applied, self._motions,
            *self._scratch, passes, self.result[None],
        )  # fmt: skip
        self.state[0] = self._vectors[at.LAST, system.indices(self.independent)]
        self._run()


def _closure_size(plan: Indices, rows: int) -> int:
    """The number of entries of "closure", see :func:`.trace_constrained_inverse_dynamics`."""
    conditions = {at.SHARED_FACTORS: 0, at.OWN_FACTORS: plan[at.KEPT]}
    whole = plan[at.JOINTS] + plan[at.KEPT]
    others = 3 * plan[at.KEPT] + plan[at.DOF] + plan[at.BALLS]
    return int(rows + others + conditions.get(plan[at.LEAST], whole))


Row = tuple[LoopClosure, LoopRow]


def _assembled(
    system: ConstrainedModel, q: Any, independent: Sequence[str] | None
) -> tuple[Array, Indices, list[Row], Indices, Array]:
    """A closed configuration, the independent joints, all rows, the independent rows, and the
    strides of the independent joints."""
    tree = system.tree
    q = as_array("q", q, (tree.n,), tree.joint_names)
    if q.ndim != 1:
        raise InputError(f"q: expected shape ({tree.n},), got {q.shape}")
    rows = []
    for constraint in system.constraints:
        if not isinstance(constraint, LoopClosure):
            raise ModelError(
                f"constraint '{constraint.name}' is a matrix; only loops are closed in the control "
                "cycle: use a coupling of the tree (with_couplings) where it is linear in q"
            )
        rows += [(constraint, row) for row in closure_rows(constraint)]
    fixed = () if independent is None else tuple(independent)
    q = _closed(system, q, fixed)
    A = _jacobian(system, rows, q)
    kept = independent_rows(system, A, np.ones(len(A)))
    dof = tree.n - len(kept) - len(system.charts)
    if independent is None:
        free = _independent_columns(system, A[kept])
    else:
        free = system.indices(independent, "independent")
        if len(free) != dof:
            raise InputError(
                f"independent: robot '{tree.name}' has {dof} degrees of freedom at q "
                f"({len(kept) + dof} joints, {len(kept)} independent constraints), got {len(free)} "
                f"joints: {', '.join(tree.joint_names[i] for i in free)}"
                f"{_loose(system, A[kept], free)}"
            )
    plain = [k for k in kept if not rows[k][1].pitch]
    return q, free, rows, kept, _strides(system, A[plain], free)


def _closed(system: ConstrainedModel, q: Array, fixed: Sequence[str]) -> Array:
    """A closed configuration near q (n,), with each ball in a chart that suits its pose there,
    which may be far from that in q."""
    q = q.copy()
    for _ in range(2 if len(system.balls) else 1):
        renew_charts(q, system.balls)
        q = assemble(system, q, fixed=(*fixed, *system.charts))
    return q


def _strides(system: ConstrainedModel, A: Array, independent: Indices) -> Array:
    """How far each independent joint may go from one closed configuration to the next: STRIDE rad;
    if it slides, as many m as turn a dependent joint by that, as a power of two of it, because
    rounding must not change code that is recorded with it. Threads turn often, but in proportion:
    they do not count, and A (k, n) has the rows without pitch."""
    types = np.array(system.tree.joint_types)
    slides, turns = types == "prismatic", np.isin(types, ["revolute", "continuous"])
    strides = np.full(len(independent), at.STRIDE)
    own = slides[independent]
    if own.any():
        others = np.setdiff1d(np.arange(system.n), [*independent, *system.balls[:, 0]])
        moved = np.linalg.lstsq(A[:, others], A[:, independent[own]])[0]
        turned = np.abs(moved[turns[others]]).max(axis=0, initial=1.0)  # rad/m
        strides[own] *= np.exp2(-np.ceil(np.log2(turned)))
    return strides


def _loose(system: ConstrainedModel, A: Array, locked: Indices) -> str:
    """Which joints can still move with others locked, for the message."""
    others = np.setdiff1d(np.arange(system.n), [*locked, *system.balls[:, 0]])
    _, sigma, V = np.linalg.svd(A[:, others])
    largest = np.abs(V[np.sum(sigma > SMALL) :]).max(axis=0, initial=0.0)
    names = [system.tree.joint_names[i] for i in others[largest > SMALL]]
    if not names:
        return ""
    hinges = (system.balls[:, :1] + [1, 2, 3]).ravel()
    spins = set(others[largest > SMALL]) <= {*hinges}
    advice = "list one of them as `actuated` or `independent`"
    if spins:
        advice = "a rod between two balls spins about its own axis: make one of them universal"
    return f"; with these locked, {', '.join(names)} can still move: {advice}"


def _independent_columns(system: ConstrainedModel, A: Array) -> Indices:
    """Joints that determine all others; passive and then later joints are dependent if possible."""
    dependent: list[int] = []
    rest = A.copy()
    for joints in (system.passive_indices, system.actuated_indices):
        columns = rest[:, joints].T
        found = joints[independent_rows(system, columns, np.ones(len(columns)))]
        dependent += found.tolist()
        basis = np.linalg.qr(A[:, dependent])[0]
        rest = A - basis @ (basis.T @ A)
    return np.setdiff1d(np.arange(system.n), [*dependent, *system.balls[:, 0]])


def _jacobian(system: ConstrainedModel, rows: Sequence[Row], q: Array) -> Array:
    """A (rows, n) at q, each row relative to its largest possible entry."""
    tree = system.tree
    bodies = body_rows(tree, (q,))[0]
    result = np.zeros((len(rows), tree.n))
    for r, (loop, row) in enumerate(rows):
        (C1, J1), (C2, J2) = (
            (C[0] @ offset, J[0, 0])
            for (C, J, _), offset in (
                (spatial_jacobians(tree, bodies, loop.first, 1), loop.first_pose),
                (spatial_jacobians(tree, bodies, loop.second, 1), loop.second_pose),
            )
        )
        u = C1[:3, :3] @ row.u
        x = C2[:3, :3] @ row.x + row.is_point * C2[:3, 3]
        w = np.concatenate([np.cross(x, u) - row.pitch * u, row.is_point * u])
        least = 1e-3 * np.linalg.norm(w) * max(abs(J1).max(), abs(J2).max())  # less is rounding
        size = max(abs(w @ J1).max(), abs(w @ J2).max(), least, np.finfo(float).tiny)
        result[r] = w @ (J2 - J1) / size
    return result


def _plan(
    system: ConstrainedModel, rows: Sequence[Row], m: int, independent: Indices
) -> tuple[Indices, Indices, Array, Array]:
    """The lists of :mod:`.loop_recursion`, parents and joints of the links, and the numbers of the
    rows."""
    tree = system.tree
    sides_of = {loop.name: frames_in_joints(tree, loop) for loop, _ in rows}
    paths_of = {
        name: [tree.path(body) if body >= 0 else [] for body, _ in both]
        for name, both in sides_of.items()
    }
    found = sorted({i for one, two in paths_of.values() for i in set(one) ^ set(two)})
    place = {i: k for k, i in enumerate(found)}
    zero = [*joint_poses(body_rows(tree, (np.zeros(tree.n),))[0][0, 1:]), np.eye(4)]

    def on_links(body: int, pose: Array) -> tuple[int, Array]:
        """The link or -1 to which a body is fixed at q = 0, and a pose in it."""
        link = body
        while link >= 0 and link not in place:
            link = int(tree.parents[link])
        if link != body:
            pose = se3.inverse(zero[link]) @ zero[body] @ pose
        return place.get(link, -1), pose

    links, link_parents = np.array(tree.joint_rows)[found], np.empty(len(found), np.int64)
    for k, i in enumerate(found):
        B = links[k, PLACEMENT : PLACEMENT + 12]
        pose = se3.from_rotation_translation(B[:9].reshape(3, 3), B[9:])
        link_parents[k], pose = on_links(int(tree.parents[i]), pose)
        B[:9], B[9:] = pose[:3, :3].ravel(), pose[:3, 3]
    actuated, passive = system.actuated_indices, system.passive_indices
    dependent = np.setdiff1d(np.arange(tree.n), [*independent, *system.balls[:, 0]])
    if np.array_equal(np.sort(passive), dependent):
        mode, dependent = at.SHARED_FACTORS, passive
    else:
        mode = at.OWN_FACTORS if len(passive) == m else at.LEAST_NORM
    lists = [independent, dependent, actuated, passive]
    begins = at.HEADER + np.cumsum([0, *(len(x) for x in lists)])
    sides_at = int(begins[-1])
    paths_at = sides_at + 4 * len(rows)
    sides: list[int] = []
    paths: list[int] = []
    numbers = np.zeros((len(rows), LOOP_ROW))
    seen: dict[str, tuple[int, int]] = {}
    for r, (loop, row) in enumerate(rows):
        (first, pose1), (second, pose2) = (on_links(*side) for side in sides_of[loop.name])
        if loop.name not in seen:
            one, two = paths_of[loop.name]
            begin = paths_at + len(paths)
            paths += [x for i in one if i not in two for x in (place[i], -1)]
            paths += [x for i in two if i not in one for x in (place[i], 1)]
            seen[loop.name] = begin, paths_at + len(paths)
        sides += [first + 1, second + 1, *seen[loop.name]]
        numbers[r] = row.numbers(pose1, pose2)
    pivots = [0] * (2 * (tree.n + m))
    charts_at, balls = paths_at + len(paths), system.balls
    header = [
        *(len(independent), m, mode, *begins[:4], sides_at, charts_at + balls.size, 0),
        *(tree.n, len(balls), charts_at),
    ]
    numbered = [*np.concatenate(lists), *sides, *paths, *balls.ravel(), *pivots]
    plan = np.array([*header, *numbered], np.int64)
    return plan, link_parents, links, numbers
