# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Time integration of rigid bodies in absolute coordinates by explicit Munthe-Kaas methods.

    result = dyn.integration.integrate(dyn.integration.examples.heavy_top(), t_end=1.0, step=1e-3)

Every stage of the method, [MT13] (37), solves the index-1 system (3) once. Positions drift off the
constraints unless stabilisation or projection is chosen.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, Baumgarte, DynamicsError, InputError, as_array, exactly, writable
from ..lie import se3
from ..lie.lie_groups import Element
from .absolute_steps import (
    DONE,
    REFUSED,
    Coefficients,
    Equations,
    Observations,
    State,
    StepScratch,
    advance_by_error_cycle,
    advance_cycle,
    observe_cycle,
    project_cycle,
    rates_cycle,
)
from .absolute_systems import AbsoluteSystem, flat_poses, full_poses
from .butcher import ButcherTableau, tableau
from .free_screws import CARRIED
from .index_one import FIRST_FRAME, SECOND_FRAME
from .munthe_kaas_method import SMALLEST, Tolerances, counted_munthe_kaas, output_times

WrenchLaw = Callable[[float, Array, Array], Any]
Progress = Callable[[float], None]

CHUNKS = 100  # number of progress reports
CONSISTENT = 1e-6  # m, rad: allowed violation at the start; per s for velocities, scaled by speed


@dataclass(frozen=True, eq=False)
class Integration:
    """The motion of an absolute system at the times `time` (k,), s.

    Attributes
    ----------
    pose : (k, n, 4, 4).
    velocity : (k, n, 6): (R^T omega, R^T r') of bodies in SE3, (R^T omega, r') in SO3xR3.
    steps, refused : numbers of steps taken, and of steps rejected and repeated with a smaller one.
    applied : (k, n, 6) all applied wrenches, including those of a wrench law; None without a law.
    baumgarte : the stabilisation that `reaction` and `acceleration` contain, or None.
    """

    system: AbsoluteSystem
    time: Array
    pose: Array
    velocity: Array
    steps: int = 0
    refused: int = 0
    applied: Array | None = field(default=None, repr=False)
    baumgarte: Baumgarte | None = None

    @cached_property
    def _observed(self) -> Observations:
        system, k = self.system, len(self.time)
        observations = Observations(
            np.zeros((k, len(system.joints))),
            np.zeros((k, len(system.joints), 6)),
            np.zeros((k, system.n, 6)),
        )
        states, scratch = State(flat_poses(self.pose), self.velocity), _scratch(system)
        if self.applied is None:
            observe_cycle(_equations(system, self.baumgarte), states, scratch, observations)
            return observations
        for i, applied in enumerate(self.applied):
            at = slice(i, i + 1)
            observe_cycle(
                _equations(system, self.baumgarte, applied),
                State(*(row[at] for row in states)),
                scratch,
                Observations(*(row[at] for row in observations)),
            )
        return observations

    @property
    def constraint(self) -> Array:
        """(k, joints) norm of the violation of each joint's position constraints, m and rad."""
        return self._observed.violations

    @property
    def reaction(self) -> Array:
        """(k, joints, 6) wrench (m, f) on the second body, or ground, of each joint.

        In inertial axes about the joint's point on that body, N m and N.

        Redundant constraints can share a load in many ways; here an independent subset carries it.
        """
        return self._observed.reactions

    @property
    def acceleration(self) -> Array:
        """(k, n, 6) V' in the velocities of the groups."""
        return self._observed.accelerations

    @cached_property
    def energy(self) -> Array:
        """(k,) kinetic plus potential energy, J."""
        return self.system.energy(self.pose, self.velocity)

    @cached_property
    def momentum(self) -> Array:
        """(k, 6) angular and linear momentum in inertial axes about the inertial origin."""
        return self.system.momentum(self.pose, self.velocity)


class _Run(NamedTuple):
    """The checked arguments of :func:`integrate`."""

    system: AbsoluteSystem
    method: ButcherTableau
    times: Array  # (all,) multiples of the step, s
    kept: Any  # (k,) which of the times to return
    start: tuple[Array, Array]
    tolerances: Tolerances | None
    baumgarte: Baumgarte | None
    project: bool
    progress: Progress | None


def integrate(
    system: AbsoluteSystem,
    t_end: float,
    step: float,
    method: str | ButcherTableau = "rk4",
    *,
    start: tuple[Any, Any] | None = None,
    tolerances: Tolerances | None = None,
    every: int = 1,
    baumgarte: Baumgarte | None = None,
    project: bool = False,
    wrenches: WrenchLaw | None = None,
    progress: Progress | None = None,
) -> Integration:
    """Integrate the motion of `system` from t = 0 to `t_end` in steps of `step`, s.

    Parameters
    ----------
    method : "rk4", "euler", "rk2", "heun", "rk3", "dormand_prince" or any explicit tableau.
    start : (pose (n, 4, 4), velocity (n, 6)); default: the initial state of the bodies.
    tolerances : adapt the step to the error estimate of "dormand_prince"; `step` is then the
        interval of the interpolated output.
    every : keep one state in every so many, and always the last one.
    baumgarte, project : countermeasures against constraint drift; default: none. `project` moves
        the state after each step to the nearest one without violation.
    wrenches : law (t, pose (n, 4, 4), velocity (n, 6)) -> (n, 6), added to the constant wrenches
        of the system, in inertial axes about the inertial origin. Called from Python at every
        stage, which makes the integration several hundred times slower.
    progress : called with the fraction done, from 0 to 1.

    Raises InputError for inconsistent arguments or a start that violates a joint's position or
    velocity (:func:`project_state` repairs it), DynamicsError for a solution that diverges.
    """
    method, times = tableau(method), output_times(t_end, step)
    if not isinstance(every, (int, np.integer)) or every < 1:
        raise InputError(f"every: expected a positive whole number, got {every!r}")
    if not isinstance(tolerances, Tolerances | None):
        raise InputError(f"tolerances: expected dyn.integration.Tolerances, got {tolerances!r}")
    if tolerances is not None and (method.error is None or method.dense is None or project):
        raise InputError(
            f"method '{method.name}': adaptive steps need 'dormand_prince' or another method with "
            "an error estimate and dense output, and no projection"
        )
    start = consistent_start(system, start)
    kept = np.append(np.arange(0, len(times) - 1, every), len(times) - 1)
    run = _Run(system, method, times, kept, start, tolerances, baumgarte, project, progress)
    return _compiled(run, float(step)) if wrenches is None else _under_wrenches(run, wrenches)


def _compiled(run: _Run, step: float) -> Integration:
    """Run the compiled code in chunks, between which progress is reported."""
    system, times, kept = run.system, run.times, run.kept
    lengths = np.full(len(times) - 1, step)
    last = times[-1] - times[-2]
    if abs(last - step) > 1e-9 * step:  # a shorter last step; else the same number as the others
        lengths[-1] = last
    method = _coefficients(run.method)
    results = State(np.zeros((len(kept), system.n, 12)), np.zeros((len(kept), system.n, 6)))
    results.pose[0], results.velocity[0] = flat_poses(run.start[0]), run.start[1]
    state = State(results.pose[0].copy(), results.velocity[0].copy())
    equations, scratch = _equations(system, run.baumgarte), _scratch(system, run.method.stages)
    allowed = run.tolerances or Tolerances()
    control = np.array([allowed.relative, allowed.absolute, SMALLEST * times[-1], times[-1]])
    clock = np.array([0.0, step, 0.0, 0.0])
    bounds = np.unique(np.linspace(1, len(kept), CHUNKS + 1).astype(int))
    for first, end in pairwise(bounds):
        rows = State(results.pose[first:end], results.velocity[first:end])
        if run.tolerances is None:
            chunk = kept[first - 1 : end]
            done = advance_cycle(
                equations, method, run.project, lengths, chunk, state, scratch, rows
            )
        else:
            chunk = times[kept[first:end]]
            done = advance_by_error_cycle(
                equations, method, control, clock, state, scratch, chunk, rows
            )
        if done < end - first:
            t = times[kept[first + done - 1]]
            raise DynamicsError(f"'{system.name}': no finite solution after t = {t:g} s")
        if run.progress is not None:
            run.progress(times[kept[end - 1]] / times[-1])
    steps = len(lengths) if run.tolerances is None else int(clock[DONE]) + 1
    return Integration(
        system, times[kept], full_poses(results.pose), results.velocity, steps,
        int(clock[REFUSED]), baumgarte=run.baumgarte,
    )  # fmt: skip


def _under_wrenches(run: _Run, wrenches: WrenchLaw) -> Integration:
    """Run :func:`.munthe_kaas` in plain Python, which calls the law at every stage."""
    system, n = run.system, run.system.n
    scratch = _scratch(system)

    def split(X: Element) -> tuple[Array, Array]:
        return np.stack(X[:n]), X[n].reshape(n, 6)

    def applied(t: float, pose: Array, velocity: Array) -> Array:
        return system.applied_wrenches + as_array("wrenches", wrenches(t, pose, velocity), (n, 6))

    def slope(t: float, X: Element) -> Array:
        pose, velocity = split(X)
        equations = _equations(system, run.baumgarte, applied(t, pose, velocity))
        rates_cycle(equations, State(flat_poses(pose), velocity), scratch)
        return np.concatenate([velocity, scratch.rates]).ravel()

    def projected(X: Element) -> Element:
        pose, velocity = project_state(system, *split(X))
        return (*pose, velocity.ravel())

    pose, velocity = run.start
    states, steps, refused = counted_munthe_kaas(
        system.state_space, slope, (*pose, velocity.ravel()), run.times, run.method,
        tolerances=run.tolerances, project=projected if run.project else None,
        progress=run.progress,
    )  # fmt: skip
    time = run.times[run.kept]
    kept = (split(states[k]) for k in run.kept)
    poses, velocities = (np.stack(x) for x in zip(*kept, strict=True))
    laws = np.stack([applied(*state) for state in zip(time, poses, velocities, strict=True)])
    return Integration(system, time, poses, velocities, steps, refused, laws, run.baumgarte)


def absolute_acceleration(
    system: AbsoluteSystem,
    pose: Any,
    velocity: Any,
    *,
    wrenches: Any = 0.0,
    baumgarte: Baumgarte | None = None,
) -> Array:
    """V' (n, 6) at one state, in the velocities of the groups, by the index-1 system; [MT13] (3).

    pose, velocity : (n, 4, 4) and (n, 6), as in :class:`AbsoluteSystem`.
    wrenches : (n, 6) added to those of the system, in inertial axes about the inertial origin.
    baumgarte : stabilisation of the constraints; none by default.

    Raises InputError for wrong shapes.
    """
    pose = exactly("pose", pose, (system.n, 4, 4))
    velocity = np.array(exactly("velocity", velocity, (system.n, 6)))
    added = as_array("wrenches", np.broadcast_to(wrenches, velocity.shape), velocity.shape)
    equations = _equations(system, baumgarte, system.applied_wrenches + added)
    scratch = _scratch(system)
    rates_cycle(equations, State(flat_poses(pose), velocity), scratch)
    return scratch.rates


def project_state(system: AbsoluteSystem, pose: Any, velocity: Any) -> tuple[Array, Array]:
    """The nearest state (pose, velocity), in the metric of the inertia, that violates no joint.

    pose : (n, 4, 4). velocity : (n, 6), in the groups.

    Raises InputError for wrong shapes, DynamicsError if no such state is found.
    """
    pose = flat_poses(exactly("pose", pose, (system.n, 4, 4)))
    velocity = np.array(exactly("velocity", velocity, (system.n, 6)))
    remains = project_cycle(_equations(system, None), State(pose, velocity), _scratch(system))
    if not remains < CONSISTENT:
        raise DynamicsError(
            f"'{system.name}': no state that satisfies all joints was found; the joints remain "
            f"open by {remains:.1g} m or rad"
        )
    pose = full_poses(pose)
    joint = _turned_over(system, pose)
    if joint is not None:
        raise DynamicsError(
            f"'{system.name}': the nearest state has the bodies of joint '{joint}' turned over by "
            "half a turn across its axis; start from a pose closer to the assembled system"
        )
    return pose, velocity


def consistent_start(system: AbsoluteSystem, start: tuple[Any, Any] | None) -> tuple[Array, Array]:
    """`start`, or the initial state of the bodies if None; InputError if it violates a joint."""
    if not isinstance(system, AbsoluteSystem):
        raise InputError(f"system: expected an AbsoluteSystem, got {system!r}")
    if start is None:
        start = system.initial_pose, system.initial_velocity
    try:
        pose, velocity = start
    except (TypeError, ValueError):
        raise InputError("start: expected two arrays, pose (n, 4, 4) and velocity (n, 6)") from None
    pose = se3.as_pose("start pose", exactly("start pose", pose, (system.n, 4, 4)))
    velocity = np.array(exactly("start velocity", velocity, (system.n, 6)))
    matrices = system.matrices(pose, velocity)
    size = 1.0 + np.abs(velocity).max()
    for joint, block in zip(system.joint_names, system.blocks, strict=True):
        for what, unit, violations, allowed in (
            ("position", "m or rad", matrices.g[block], CONSISTENT),
            ("velocity", "m/s or rad/s", matrices.J[block] @ velocity.ravel(), CONSISTENT * size),
        ):
            open_by = np.abs(violations).max(initial=0.0)
            if open_by > allowed:
                raise InputError(
                    f"'{system.name}': the start violates the {what} constraint of joint '{joint}' "
                    f"by {open_by:.2g} {unit}; dyn.integration.project_state gives the nearest "
                    "consistent one"
                )
    turned = _turned_over(system, pose)
    if turned is not None:
        raise InputError(
            f"'{system.name}': the start has the bodies of joint '{turned}' turned over by half a "
            "turn across its axis; turn one of the two bodies back"
        )
    return pose, velocity


def _turned_over(system: AbsoluteSystem, pose: Array) -> str | None:
    """The first joint whose z axes point in opposite directions, or None.

    Constraints measure tilt by its sine, which half a turn does not change.
    """
    constants = system.constants
    parts = zip(
        system.joint_names, system.forbidden, constants.joint_bodies, constants.joints, strict=True
    )
    for joint, forbidden, bodies, row in parts:
        if not forbidden.m[forbidden.kinds == CARRIED, :2].any():
            continue
        first, second = (
            (np.eye(3) if i < 0 else pose[i, :3, :3]) @ row[start : start + 9].reshape(3, 3)[:, 2]
            for i, start in zip(bodies, (FIRST_FRAME, SECOND_FRAME), strict=True)
        )
        if first @ second <= 0.0:
            return joint
    return None


def _stabilisation(baumgarte: Baumgarte | None) -> Array:
    """(2,) alpha and beta, 1/s."""
    if not isinstance(baumgarte, Baumgarte | None):
        raise InputError(f"baumgarte: expected dyn.core.Baumgarte(alpha, beta), got {baumgarte!r}")
    return np.zeros(2) if baumgarte is None else np.array([baumgarte.alpha, baumgarte.beta])


def _equations(
    system: AbsoluteSystem, baumgarte: Baumgarte | None, applied: Array | None = None
) -> Equations:
    """Input of compiled code, with all wrenches `applied` (n, 6); default: those of the system."""
    if applied is None:
        applied = system.applied_wrenches
    return Equations(
        system.constants, system.is_direct, _stabilisation(baumgarte), writable(applied)
    )


def _coefficients(method: ButcherTableau) -> Coefficients:
    """The tableau for compiled code; zeros if it has no error estimate or dense output."""
    error = np.zeros(method.stages) if method.error is None else writable(method.error)
    dense = np.zeros((method.stages, 1)) if method.dense is None else writable(method.dense)
    return Coefficients(method.a, method.b, error, dense, method.error_order)


def _scratch(system: AbsoluteSystem, stages: int = 1) -> StepScratch:
    n = system.n
    return StepScratch(
        slopes=np.zeros((stages, n, 12)),
        increment=np.zeros((n, 12)),
        stage=State(np.zeros((n, 12)), np.zeros((n, 6))),
        hybrid=np.zeros((n, 6)),
        rates=np.zeros((n, 6)),
        index_one=system.scratch(),
    )
