# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Task-space inverse dynamics: q ... q'''' and torques with rates from tool motions."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array, broadcast_shapes
from ..mechanisms import tree_and_loops
from ..model import MultibodyModel
from ..model.records import BODY_ROW, POSITION
from ..rigid import (
    BaseMotion,
    InverseDynamics,
    ModelSolver,
    Wrenches,
    inverse_solver,
    wrench_rows,
)
from . import task_recursion as recursion
from .redundancy import RedundancyResolution
from .tool_task import COMPONENTS, TARGET_ROW, Task, TaskMotion, as_tasks

AT_TARGET = 1e-6  # rad, and m divided by `length`: tolerance that q in single precision meets
REACHED = 1e-9  # rad, and m divided by `length`: a target missed by more is out of reach
CONVERGED = 1e-13
POLISHING_STEPS, STARTING_STEPS = 8, 100


class TaskSpaceSolver(ModelSolver):
    """q ... q'''' from the motion of tools in the control cycle; compiled, no allocation.

    >>> solver = TaskSpaceSolver(model, Task("panda_link8"), RedundancyResolution(posture=q0))
    >>> solver.start(target, q)  # corrects q until the tool is at its target
    >>> state = solver.follow(next_target, dt)  # (5, n), and solver.torques (3, n)

    `follow` continues from where the last call ended. Alternatively, write q into `solver.state[0]`
    and the targets into `solver.targets` (tasks, TARGET_ROW), see `TaskMotion.rows`; call
    `solver.update()`; read

    state (5, n)           q, and q' ... q'''' of [M21] Algorithm 2, generalised in `task_recursion`
    torques (3, n)         Q, Q', Q'' of [M21] Algorithm 3, under `applied_wrenches` (n, 3, 6)
    missing (4, m)         task rate ... jounce left unmet by damping or softness; rad/s, m/s;
                           columns `solver.rows[i]` are those of task i
    jacobian (m, n)        of the tasks along their axes, translations divided by `length`
    lost_directions        tau of `Damping`, 0 without damping

    `solver.prescribed` (5, n) holds the motion of the joints that `resolution` prescribes. `update`
    returns False if the tasks are singular, and checks nothing else. Not thread-safe. `set_base`,
    `move_base` and `set_model` are those of `InverseDynamicsSolver`, which computes the torques,
    with code for the robot where :func:`.specialise_solvers` asks for it. For a robot with loops,
    q are its actuated joints, and `update` also returns False if the loops cannot be closed.

    Raises InputError for tasks that do not fit the robot, and for more components than joints that
    serve them.
    """

    def __init__(
        self,
        model: MultibodyModel,
        tasks: Task | Sequence[Task],
        resolution: RedundancyResolution | None = None,
    ) -> None:
        n = model.n
        bodies = np.zeros((model.body_count + 1, BODY_ROW))
        self.robot = model
        self.tasks = as_tasks(tasks)
        self.resolution = resolution = resolution or RedundancyResolution()
        tree, loops = tree_and_loops(model, sum(task.size for task in self.tasks))
        super().__init__(tree, bodies)
        plan, damping, self.rows = _plan(model, tree, self.tasks, resolution)
        frames = recursion.tool_frames(plan, bodies)
        frames.axes[:, 0] = [task.axis_rows for task in self.tasks]
        m = len(plan.components)
        system = recursion.joint_system(_secondary_motion(model, resolution), m, model.body_count)
        self._inverse = inverse_solver(model)
        self.state: Array = self._inverse.state
        self.torques: Array = self._inverse.result
        self.__dict__["applied_wrenches"] = self._inverse.applied_wrenches
        self.missing: Array = np.zeros((4, m))
        self.prescribed: Array = np.zeros((5, n))
        self.targets: Array = np.zeros((len(self.tasks), TARGET_ROW))
        self.jacobian: Array = system.A[0]
        self._before = np.zeros((5, n))
        self._lost, self._ahead, self._scales = damping.lost, system.multipliers[0], plan.scales
        self._exact = resolution.feedback == 0 and resolution.damping is None
        self._prescribed = system.secondary[:, recursion.PRESCRIBED] != 0
        robot, bundles = (*self._constants[:2], loops), (*plan, *frames, *system)
        self._solve_rates: Callable[[], bool] = partial(
            recursion.solve, *robot, self.targets, self.prescribed, self.state, self.missing,
            *bundles, *damping,
        )  # fmt: skip
        self._polished = (*robot, self.targets, self.state, damping.hard, np.zeros(m), *bundles)
        self.state[0] = model.home
        self._solve_rates()
        self._inverse.update()
        self._polish(0, CONVERGED)

    def _polish(self, steps: int, tolerance: float) -> float:
        distance: float = recursion.polish(steps, tolerance, *self._polished)
        return distance

    def set_base(self, base: BaseMotion | None) -> None:
        super().set_base(base)
        if "_inverse" in self.__dict__:  # not while the base class is constructed
            self._inverse.set_base(base)

    def move_base(self, pose: Array, rates: Array) -> None:
        super().move_base(pose, rates)
        self._inverse.move_base(pose, rates)

    def set_model(self, model: MultibodyModel) -> None:
        self._inverse.set_model(model)
        super().set_model(tree_and_loops(model, 0)[0])
        self.__dict__["robot"] = model

    def set_pseudo_inertias(self, P: Array) -> None:
        super().set_pseudo_inertias(P)
        self._inverse.set_pseudo_inertias(P)

    def update(self) -> bool:
        """Compute all results from `state[0]` and `targets`; False if the tasks are singular."""
        if not self._solve_rates():
            return False
        self._inverse.update()
        return True

    @property
    def lost_directions(self) -> float:
        """tau of `Damping` at the last update, about the number of lost directions."""
        return float(self._lost[0])

    def displacement(self) -> Array:
        """Errors (m,) of the tools at the current state, in rad and m, task i in `rows[i]`.

        They arise from damping, and from errors that feedback has not yet removed.
        """
        state = self.state.copy()
        self._polish(0, CONVERGED)
        self.state[:] = state
        return np.asarray(self._ahead / self._scales)

    def take(self, motions: TaskMotion | Sequence[TaskMotion]) -> None:
        """Write the motions of the tools, one per task, into `targets`."""
        given = (motions,) if isinstance(motions, TaskMotion) else tuple(motions)
        if len(given) != len(self.tasks):
            raise InputError(
                f"motions: expected one per task ({len(self.tasks)}), got {len(given)}"
            )
        rows = [motion.rows for motion in given]
        for task, row in zip(self.tasks, rows, strict=True):
            if row.ndim != 1:
                raise InputError(f"motion of '{task.body}': expected one, got a batch {row.shape}")
        for target, row in zip(self.targets, rows, strict=True):
            target[:] = row

    def __call__(self, motions: TaskMotion | Sequence[TaskMotion], q: Any) -> Array:
        """`state` (5, n), a view, at the given q (n,), which is not corrected; errors of the tools
        affect it only with feedback. Raises InputError for bad input and at a singularity."""
        self._begin(motions, q)
        self._solve()
        return self.state

    def start(self, motions: TaskMotion | Sequence[TaskMotion], q: Any) -> Array:
        """`state` (5, n), a view, with the tools of first priority at their targets, found by
        Newton's method from q (n,). Raises InputError if that fails."""
        self._begin(motions, q)
        self._reach(STARTING_STEPS)
        self._solve()
        return self.state

    def follow(self, motions: TaskMotion | Sequence[TaskMotion], dt: float = 0.0) -> Array:
        """`state` (5, n), a view, of the next cycle, `dt` s later.

        q is extrapolated by the Taylor series of the last state and corrected by Newton's method;
        with feedback or damping there is no Newton correction, and the feedback removes errors
        smoothly. The rates are then computed at this q. Raises InputError for a target out of reach
        and at a singularity, leaving the state unchanged, and for damping without feedback, since
        errors would never decay. Joint limits are not enforced; `limit_speed` only moves joints
        away from them.
        """
        if self.resolution.damping is not None and self.resolution.feedback == 0.0:
            raise InputError(
                "damping lets tools deviate from their targets, and `follow` requires a feedback "
                "to remove the errors: set `feedback` of the RedundancyResolution above 0"
            )
        self._before[:] = self.state
        self.take(motions)
        if dt:
            q = self._before[4]
            for k in (3, 2, 1, 0):
                q = self._before[k] + dt / (k + 1) * q
            self.state[0] = q
        if self._exact:
            self._reach(POLISHING_STEPS)
        self._solve()
        return self.state

    def _begin(self, motions: TaskMotion | Sequence[TaskMotion], q: Any) -> None:
        position = as_array("q", q, (self.robot.n,), self.robot.joint_names)
        if position.ndim != 1:
            raise InputError(f"q: expected ({self.robot.n},), got {position.shape}")
        self.take(motions)
        self._before[:] = self.state
        self.state[0] = position

    def _reach(self, steps: int) -> None:
        self.state[0, self._prescribed] = self.prescribed[0, self._prescribed]
        distance = self._polish(steps, CONVERGED)
        if not distance <= REACHED:
            self.state[:] = self._before
            names = ", ".join(f"'{task.body}'" for task in self.tasks)
            raise InputError(
                f"the target of {names} is not reached: an error of {distance:.3g} rad (or m "
                f"divided by `length`) remains after {steps} steps; it is out of reach, too far "
                "for one cycle, or at a singularity"
            )

    def _solve(self) -> None:
        if not self.update():
            q = np.array2string(self.state[0], precision=4)
            self.state[:] = self._before
            raise InputError(
                f"the tasks are singular at q = {q}: some of their components cannot be moved; "
                "set a damping or a softness, or prescribe fewer components"
            )


class TaskDynamics(NamedTuple):
    """Joint motion, torques and their rates from the motion of tools, each (..., n).

    missing (..., 4, m): task rate ... jounce left unmet by damping or softness, those of soft tasks
    last.
    """

    q: Array
    qd: Array
    qdd: Array
    qddd: Array
    qdddd: Array
    tau: Array
    tau_dot: Array
    tau_ddot: Array
    missing: Array

    @property
    def torques(self) -> InverseDynamics:
        """Q, Q' and Q'' as the result of `inverse_dynamics`."""
        return InverseDynamics(self.tau, self.tau_dot, self.tau_ddot)


def task_inverse_dynamics(
    model: MultibodyModel,
    tasks: Task | Sequence[Task],
    motions: TaskMotion | Sequence[TaskMotion],
    q: Any,
    resolution: RedundancyResolution | None = None,
    *,
    prescribed: Any | None = None,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> TaskDynamics:
    """[M21] Algorithms 2 and 3: from pose, twist ... jounce of tools to q' ... q'''', Q, Q', Q''.

    Parameters
    ----------
    tasks, motions : one motion per task; the motions are batches (...).
    q : (..., n) with the tools at their targets, from `inverse_kinematics` or
        `TaskSpaceSolver.start`.
    resolution : how redundant joints share the tasks; default: the smallest joint rates.
    prescribed : (..., 5, n) q ... q'''' of the joints that the resolution prescribes; other columns
        are ignored. Default: at rest at q.
    wrenches, base : as in `inverse_dynamics`.

    Raises InputError for wrong shapes, NaN, too many components, at a singularity, and if the tools
    are not at their targets and there is no feedback to bring them there.
    """
    solver = TaskSpaceSolver(model, tasks, resolution)
    solver.set_base(base)
    n = model.n
    given = (motions,) if isinstance(motions, TaskMotion) else tuple(motions)
    position = as_array("q", q, (n,), model.joint_names)
    if prescribed is None:
        prescribed = np.zeros((*position.shape[:-1], 5, n))
        prescribed[..., 0, :] = position
    else:
        prescribed = np.where(solver._prescribed, prescribed, 0.0)
        prescribed = as_array("prescribed", prescribed, (5, n), model.joint_names)
    applied = wrench_rows(model, wrenches)
    shape = broadcast_shapes(
        ("q", "prescribed", "wrenches", *(f"motions[{k}]" for k in range(len(given)))),
        [position.shape[:-1], prescribed.shape[:-2], applied.shape[:-2], *(m.shape for m in given)],
    )
    position = np.broadcast_to(position, (*shape, n))
    prescribed = np.broadcast_to(prescribed, (*shape, 5, n))
    N = model.body_count
    applied = np.broadcast_to(applied.reshape(*applied.shape[:-2], N, 3, 6), (*shape, N, 3, 6))
    targets = [np.broadcast_to(motion.rows, (*shape, TARGET_ROW)) for motion in given]
    if len(given) != len(solver.tasks):
        raise InputError(f"motions: expected one per task ({len(solver.tasks)}), got {len(given)}")
    states, torques = np.empty((*shape, 5, n)), np.empty((*shape, 3, n))
    missing = np.empty((*shape, *solver.missing.shape))
    for index in np.ndindex(shape):
        for target, rows in zip(solver.targets, targets, strict=True):
            target[:] = rows[index]
        solver.prescribed[:] = prescribed[index]
        solver.applied_wrenches[:] = applied[index]
        solver.state[0] = position[index]
        if solver._exact and (away := solver._polish(0, CONVERGED)) > AT_TARGET:
            raise InputError(
                f"q: a tool is {away:.3g} rad (or m divided by `length`) away from its target; "
                "find q by inverse kinematics, or set a feedback that brings it there"
            )
        solver._solve()
        states[index], torques[index] = solver.state, solver.torques
        missing[index] = solver.missing
    rows = np.moveaxis(np.concatenate([states, torques], axis=-2), -2, 0)
    return TaskDynamics(*map(np.ascontiguousarray, (*rows, missing)))


def _plan(
    model: MultibodyModel,
    tree: MultibodyModel,
    tasks: tuple[Task, ...],
    resolution: RedundancyResolution,
) -> tuple[recursion.ToolPlan, recursion.DampingTerms, tuple[slice, ...]]:
    """The tasks and their damping in the form of the recursion, and the rows of each task."""
    n = model.n
    links = np.zeros((len(tasks), recursion.LINK), dtype=np.int64)
    tools = np.zeros((len(tasks), recursion.TOOL))
    components: list[int] = []
    softness: list[float] = []
    slices: dict[int, slice] = {}
    by_priority = sorted(range(len(tasks)), key=lambda t: tasks[t].softness > 0)
    for t in by_priority:
        task = tasks[t]
        index, offset = task.tool_in(model)
        tool = model.body_in_joint[index] @ offset
        slices[t] = slice(len(components), len(components) + task.size)
        links[t] = index + 1, slices[t].start, slices[t].stop, task.is_turning
        tools[t, :POSITION] = tool[:3, :3].ravel()
        tools[t, recursion.TOOL_POSITION : recursion.TOOL_WEIGHTS] = tool[:3, 3]
        tools[t, recursion.TOOL_WEIGHTS :] = 0.5
        if len(task.rotations) == 2:  # only the free axis has to agree
            tools[t, recursion.TOOL_WEIGHTS :] = [axis not in task.rotations for axis in range(3)]
        components += [COMPONENTS.index(name) for name in task.components]
        softness += [float(task.softness)] * task.size
    hard = sum(task.size for task in tasks if task.softness == 0)
    serving = model.n - len(set(map(model.joint_index, resolution.prescribed)))
    damping = resolution.damping
    if hard > serving:
        names = ", ".join(f"'{task.body}'" for task in tasks if task.softness == 0)
        raise InputError(
            f"{hard} prescribed components of {names} are more than the {serving} joints that "
            "serve them; prescribe fewer components or give a task a softness above 0"
        )
    if hard == 0:
        raise InputError("at least one task must have first priority, that is, a softness of 0")
    is_square = len(components) == n and hard == n and damping is None
    options = np.zeros(recursion.OPTION)
    options[recursion.FEEDBACK] = resolution.feedback
    options[recursion.KEEPS] = not is_square
    if damping is not None:
        options[recursion.THRESHOLD] = damping.singular_value**2
        options[recursion.STRENGTH] = damping.lambda_max**2
    kinds = np.array(components, dtype=np.int64)
    scales = np.where(kinds < 3, 1.0, 1 / resolution.length)
    paths = model.tree.moved_by
    moved = np.array([paths[model.body_index(task.body)] for task in tasks])
    rows = tuple(slices[t] for t in range(len(tasks)))
    plan = recursion.ToolPlan(links, tools, kinds, scales, moved, tree.coordinates)
    return plan, recursion.damping_terms(options, np.array(softness), hard), rows


def _secondary_motion(model: MultibodyModel, resolution: RedundancyResolution) -> Array:
    """(n, SECONDARY) weights and secondary motions of the joints."""
    n, names = model.n, model.joint_names
    secondary = np.zeros((n, recursion.SECONDARY))
    secondary[:, recursion.ROOT] = 1 / np.sqrt(resolution.joint_weights(model))
    if resolution.posture is not None:
        secondary[:, recursion.POSTURE] = as_array("posture", resolution.posture, (n,), names)
        secondary[:, recursion.POSTURE_GAIN] = _each("posture_gain", resolution.posture_gain, model)
    secondary[:, recursion.LOWER], secondary[:, recursion.UPPER] = model.limits[:2]
    secondary[:, recursion.MARGIN] = _each("limit_margin", resolution.limit_margin, model)
    secondary[:, recursion.SPEED] = _each("limit_speed", resolution.limit_speed, model)
    for joint in resolution.prescribed:
        secondary[model.joint_index(joint), recursion.PRESCRIBED] = 1
    secondary[secondary[:, recursion.PRESCRIBED] != 0, recursion.ROOT] = 0
    return secondary


def _each(name: str, value: Any, model: MultibodyModel) -> Array:
    """One number for all joints, or one per joint, as (n,)."""
    if np.ndim(value) == 0:
        return np.full(model.n, float(value))
    values = as_array(name, value, (model.n,), model.joint_names)
    if values.ndim != 1:
        raise InputError(f"{name}: expected one number or {model.n}, got {values.shape}")
    return values
