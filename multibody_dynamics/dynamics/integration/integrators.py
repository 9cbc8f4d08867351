"""Integration of absolute systems, and what came out: states, violations, energy, reactions.

    result = dyn.integration.integrate(dyn.examples.heavy_top(group="SE3"), t_end=1.0, step=1e-3)

Every stage of the Munthe-Kaas method, [MT13] (37), solves the index-1 system (3) once. Constraints
drift unless a stabilisation is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..core import Array, Baumgarte, DynamicsError, InputError, as_array, exactly
from ..lie import se3
from ..lie.lie_groups import Element
from .absolute_steps import (
    DONE,
    REFUSED,
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

CHUNKS = 100  # reports of progress
CONSISTENT = 1e-6  # m, rad and per s: what the start may violate, beside the size of its motion


@dataclass(frozen=True, eq=False)
class Integration:
    """A motion of an absolute system at the times `time` (k,), s.

    Attributes
    ----------
    pose : (k, n, 4, 4).
    velocity : (k, n, 6): (R^T omega, R^T r') of bodies in SE3, (R^T omega, r') in SO3xR3.
    steps, refused : numbers of steps done, and of those repeated with a smaller step.
    applied : (k, n, 6) the wrenches of a law and of the system together; None without a law.
    baumgarte : the stabilisation that `reaction` and `acceleration` contain; None without one.
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
    def _observed(self) -> tuple[Array, Array, Array]:
        system, k = self.system, len(self.time)
        results = (
            np.zeros((k, len(system.joints))),
            np.zeros((k, len(system.joints), 6)),
            np.zeros((k, system.n, 6)),
        )
        poses, stabilisation = flat_poses(self.pose), _stabilisation(self.baumgarte)
        hybrid, rates, scratch = np.zeros((system.n, 6)), np.zeros((system.n, 6)), system.scratch()
        singly = [slice(i, i + 1) for i in range(k)]
        for part in [slice(None)] if self.applied is None else singly:
            applied = system.applied_wrenches
            if self.applied is not None:
                applied = self.applied[part.start]
            observe_cycle(
                system.constants, system.is_direct, stabilisation, applied, poses[part],
                self.velocity[part], hybrid, scratch, rates, *(row[part] for row in results),
            )  # fmt: skip
        return results

    @property
    def constraint(self) -> Array:
        """(k, joints) the violation of every joint: the norm of what is open, in m and rad."""
        return self._observed[0]

    @property
    def reaction(self) -> Array:
        """(k, joints, 6) the wrench (m, f) on the second body of every joint; on the ground, where
        that is the second: inertial axes, about the joint's point on that body.

        Of redundant constraints, which share their load in many ways, one set carries all of it.
        """
        return self._observed[1]

    @property
    def acceleration(self) -> Array:
        """(k, n, 6) V'."""
        return self._observed[2]

    @cached_property
    def energy(self) -> Array:
        """(k,) kinetic and potential, J."""
        return self.system.energy(self.pose, self.velocity)

    @cached_property
    def momentum(self) -> Array:
        """(k, 6) angular and linear, inertial axes and origin."""
        return self.system.momentum(self.pose, self.velocity)


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
    """The motion of `system` up to `t_end` in steps of `step`, s; the start is in it.

    Parameters
    ----------
    method : "rk4", "euler", "rk2", "heun", "rk3", "dormand_prince" or any explicit tableau.
    start : (pose (n, 4, 4), velocity (n, 6)); default: that of the bodies.
    tolerances : the step follows from the error, and `step` is that of the output by interpolation;
        for "dormand_prince".
    every : one in so many steps is kept.
    baumgarte, project : what to do about the drift of the constraints; default: nothing. `project`
        takes every step to the nearest state without violation.
    wrenches : (t, pose (n, 4, 4), velocity (n, 6)) -> (n, 6), added to those of the system, in
        inertial axes about the inertial origin; uncompiled, a thousand times slower.
    progress : told how much is done, from 0 to 1.

    Raises InputError for what does not fit together or a start that violates a joint's velocity or
    position (:func:`project_state` mends it); DynamicsError where the solution grows beyond bounds.
    """
    method, times = tableau(method), output_times(t_end, step)
    if not isinstance(every, (int, np.integer)) or every < 1:
        raise InputError(f"every: expected a positive whole number, got {every!r}")
    if not isinstance(tolerances, Tolerances | None):
        raise InputError(f"tolerances: expected dyn.integration.Tolerances, got {tolerances!r}")
    if tolerances is not None and (method.error is None or method.dense is None or project):
        raise InputError(
            f"method '{method.name}': steps by tolerance need 'dormand_prince' or another method "
            "with error estimate and dense output, and no projection"
        )
    pose, velocity = consistent_start(system, start)
    stabilisation = _stabilisation(baumgarte)
    kept = np.append(np.arange(0, len(times) - 1, every), len(times) - 1)
    if wrenches is not None:
        return _under_wrenches(
            system, times, method, (pose, velocity), tolerances, kept, baumgarte, project,
            wrenches, progress,
        )  # fmt: skip
    lengths = np.full(len(times) - 1, float(step))
    last = times[-1] - times[-2]
    if abs(last - step) > 1e-9 * step:  # shorter; else it is the same number as the others
        lengths[-1] = last
    poses, velocities = np.zeros((len(kept), system.n, 12)), np.zeros((len(kept), system.n, 6))
    poses[0], velocities[0] = flat_poses(pose), velocity
    constants = (system.constants, system.is_direct, stabilisation)
    state = (poses[0].copy(), velocities[0].copy(), _memory(system, method), system.scratch())
    allowed = tolerances or Tolerances()
    control = np.array([allowed.relative, allowed.absolute, SMALLEST * times[-1], times[-1]])
    clock = np.array([0.0, step, 0.0, 0.0])
    bounds = np.unique(np.linspace(1, len(kept), CHUNKS + 1).astype(int))
    for first, end in pairwise(bounds):
        rows = poses[first:end], velocities[first:end]
        if tolerances is None:
            done = advance_cycle(
                *constants, project, system.applied_wrenches, method.a, method.b, lengths,
                kept[first - 1 : end], *state, *rows,
            )  # fmt: skip
        else:
            done = advance_by_error_cycle(
                *constants, system.applied_wrenches, method.a, method.b, method.error, method.dense,
                method.error_order, control, clock, *state, times[kept[first:end]], *rows,
            )  # fmt: skip
        if done < end - first:
            t = times[kept[first + done - 1]]
            raise DynamicsError(f"'{system.name}': no finite solution after t = {t:g} s")
        if progress is not None:
            progress(times[kept[end - 1]] / times[-1])
    steps = len(lengths) if tolerances is None else int(clock[DONE]) + 1
    return Integration(
        system, times[kept], full_poses(poses), velocities, steps, int(clock[REFUSED]),
        baumgarte=baumgarte,
    )  # fmt: skip


def absolute_acceleration(
    system: AbsoluteSystem,
    pose: Any,
    velocity: Any,
    *,
    wrenches: Any = 0.0,
    baumgarte: Baumgarte | None = None,
) -> Array:
    """V' (n, 6) in the velocities of the groups at one state, by the index-1 system; [MT13] (3).

    wrenches : (n, 6) added to those of the system. Raises InputError for wrong shapes.
    """
    pose = exactly("pose", pose, (system.n, 4, 4))
    velocity = np.array(exactly("velocity", velocity, (system.n, 6)))
    added = as_array("wrenches", np.broadcast_to(wrenches, velocity.shape), velocity.shape)
    applied, stabilisation = system.applied_wrenches + added, _stabilisation(baumgarte)
    rates, hybrid = np.zeros((system.n, 6)), np.zeros((system.n, 6))
    rates_cycle(
        system.constants, system.is_direct, stabilisation, applied, flat_poses(pose), velocity,
        hybrid, system.scratch(), rates,
    )  # fmt: skip
    return rates


def project_state(system: AbsoluteSystem, pose: Any, velocity: Any) -> tuple[Array, Array]:
    """The nearest state, by the measure of the inertia, that violates no joint.

    Raises InputError for wrong shapes, DynamicsError where there is none in reach.
    """
    pose = flat_poses(exactly("pose", pose, (system.n, 4, 4)))
    velocity = np.array(exactly("velocity", velocity, (system.n, 6)))
    remains = project_cycle(
        system.constants, system.is_direct, system.applied_wrenches, pose, velocity,
        np.zeros((system.n, 6)), system.scratch(),
    )  # fmt: skip
    if not remains < CONSISTENT:
        raise DynamicsError(f"'{system.name}': the joints stay open by {remains:.1g} m or rad")
    pose = full_poses(pose)
    joint = _turned_over(system, pose)
    if joint is not None:
        raise DynamicsError(f"'{system.name}': joint '{joint}' closes only turned over")
    return pose, velocity


def consistent_start(system: AbsoluteSystem, start: tuple[Any, Any] | None) -> tuple[Array, Array]:
    """`start`, or that of the bodies if None; InputError if it violates a joint."""
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
                    f"'{system.name}': the start violates the {what} of joint '{joint}' by "
                    f"{open_by:.2g} {unit}; dyn.integration.project_state, on the command line "
                    "--project-start, gives the nearest one that does not"
                )
    turned = _turned_over(system, pose)
    if turned is not None:
        raise InputError(
            f"'{system.name}': the start has the bodies of joint '{turned}' turned over, by half a "
            "turn across its axis"
        )
    return pose, velocity


def _turned_over(system: AbsoluteSystem, pose: Array) -> str | None:
    """A joint whose z axes point against each other: it measures tilt by the sine, which half a
    turn does not change."""
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


def _memory(system: AbsoluteSystem, method: ButcherTableau) -> tuple[Array, ...]:
    n = system.n
    six = (n, 6)
    return (
        np.zeros((method.stages, n, 12)), np.zeros((n, 12)), np.zeros((n, 12)), np.zeros(six),
        np.zeros(six), np.zeros(six),
    )  # fmt: skip


def _under_wrenches(
    system: AbsoluteSystem,
    times: Array,
    method: ButcherTableau,
    start: tuple[Array, Array],
    tolerances: Tolerances | None,
    kept: Any,
    baumgarte: Baumgarte | None,
    project: bool,
    wrenches: WrenchLaw,
    progress: Progress | None,
) -> Integration:
    """The same by :func:`.munthe_kaas`, which calls the law at every stage."""
    n, stabilisation = system.n, _stabilisation(baumgarte)
    hybrid, scratch = np.zeros((n, 6)), system.scratch()

    def split(X: Element) -> tuple[Array, Array]:
        return np.stack(X[:n]), X[n].reshape(n, 6)

    def applied(t: float, pose: Array, velocity: Array) -> Array:
        return system.applied_wrenches + as_array("wrenches", wrenches(t, pose, velocity), (n, 6))

    def slope(t: float, X: Element) -> Array:
        pose, velocity = split(X)
        rates = np.zeros((n, 6))
        rates_cycle(
            system.constants, system.is_direct, stabilisation, applied(t, pose, velocity),
            flat_poses(pose), velocity, hybrid, scratch, rates,
        )  # fmt: skip
        return np.concatenate([velocity, rates]).ravel()

    def projected(X: Element) -> Element:
        pose, velocity = project_state(system, *split(X))
        return (*pose, velocity.ravel())

    pose, velocity = start
    step = times[1] - times[0]
    times, states, steps, refused = counted_munthe_kaas(
        system.state_space, slope, (*pose, velocity.ravel()), times[-1], step, method=method,
        tolerances=tolerances, project=projected if project else None, progress=progress,
    )  # fmt: skip
    time = times[kept]
    poses, velocities = (np.stack(x) for x in zip(*(split(states[k]) for k in kept), strict=True))
    laws = np.stack([applied(*state) for state in zip(time, poses, velocities, strict=True)])
    return Integration(system, time, poses, velocities, steps, refused, laws, baumgarte)
