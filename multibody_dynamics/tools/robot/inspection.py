# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inspection of a URDF file: how it is read, values that look wrong, the torques that the motors
need, and whether this computer is fast enough to control the robot.

    multibody_dynamics inspect ROBOT.urdf --elastic-joints SPRINGS.yaml --picture robot.png
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators, MotorFeedforward
from ...dynamics.model import MultibodyModel, load_urdf
from ...dynamics.model.inertia import decompose, principal_moments
from ...dynamics.motion import rest_to_rest_motion
from ...dynamics.rigid import InverseDynamicsSolver, gravity_forces, inverse_dynamics, mass_matrix
from ...reporting.tables import text_table

POSTURES = 500  # for gravity torques and the mass matrix
UNLIMITED = 1.0  # rad or m: half the range of a joint without limits
FLAT = 1e-3  # ratio of principal moments that only a needle or a missing entry explains
EXTENDED = 1.0  # m: larger than the radius of gyration of any arm's link
# Ranges beyond the first number are hardly those of an arm; beyond the second, there is no limit.
TURNING = (25.0, 1e4)  # rad
SLIDING = (30.0, 1e4)  # m
SINGULAR = 1e10  # condition number of the mass matrix
MESSAGES = 0.4  # ms per cycle at 1 kHz for two messages and the node around the solver


class Finding(NamedTuple):
    """Something that looks wrong; `severe` if it makes the torques wrong."""

    severe: bool
    text: str


def load(path: str | PathLike[str]) -> tuple[MultibodyModel, list[str]]:
    """The robot of a URDF file and the loader's warnings. Raises as :func:`load_urdf` does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_urdf(path)
    return model, [str(warning.message) for warning in caught]


def summary(model: MultibodyModel, warned: Sequence[str]) -> list[str]:
    """Lines on the robot and on the elements of the file that were merged or ignored."""
    kinds = Counter(model.joint_types)
    mass = sum(decompose(M)[0] for M in model.inertias)
    lines = [
        f"{model.name}: {model.n} joints ({', '.join(f'{k} {kind}' for kind, k in kinds.items())}),"
        f" {len(model.body_names)} moving bodies, {mass:.4g} kg, base '{model.base_name}'",
    ]
    merged: dict[str, list[str]] = {}
    for name, frame in model.frames.items():
        carrier = model.base_name if frame.body < 0 else model.body_names[frame.body]
        if name not in (carrier, *model.payloads):
            merged.setdefault(carrier, []).append(name)
    lines += [f"merged into {body}: {', '.join(names)}" for body, names in merged.items()]
    lines += list(model.notes)
    noted = "\n".join(model.notes)
    lines += [f"warning: {text}" for text in warned if text.rpartition(": ")[2] not in noted]
    return lines


def tree(model: MultibodyModel) -> list[str]:
    """The kinematic tree, with a line per joint and body; branches are indented."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(model.parents):
        children.setdefault(int(parent), []).append(i)

    def below(body: int, indent: str) -> Iterator[str]:
        branches = children.get(body, [])
        for k, i in enumerate(branches):
            last = k == len(branches) - 1
            fork = "" if len(branches) == 1 else "└─ " if last else "├─ "
            yield (
                f"{indent}{fork}{model.joint_names[i]} ({model.joint_types[i]}) → "
                + (model.body_names[i])
            )
            rest = "" if len(branches) == 1 else "   " if last else "│  "
            yield from below(i, indent + rest)

    return [model.base_name, *below(-1, "")]


def check(model: MultibodyModel) -> list[Finding]:
    """Masses, inertias and limits that are readable but look wrong."""
    found: list[Finding] = []
    for body, M in zip(model.body_names, model.inertias, strict=True):
        found += _check_body(body, M)
    weight = np.abs(gravity_forces(model, postures(model)[:50])).max(axis=0)
    for j in range(model.n):
        found += _check_limits(model, j, float(weight[j]))
    M = mass_matrix(model, postures(model)[:50])
    worst = float(np.linalg.cond(M).max())
    if worst > SINGULAR:
        weak = int(np.argmin(np.diagonal(M, axis1=-2, axis2=-1).min(axis=0)))
        text = (
            f"the mass matrix is singular (condition {worst:.1g}): there is almost no inertia"
            f" behind {model.joint_names[weak]}; add that of its motor (reflected inertia)"
        )
        found.append(Finding(True, text))
    return found


def _check_body(body: str, M: Array) -> Iterator[Finding]:
    mass, _, about_com = decompose(M)
    moments = principal_moments(about_com)
    if mass == 0.0:
        yield Finding(False, f"{body} has no mass")
    elif moments[-1] <= 0.0:
        yield Finding(False, f"{body} is a point mass: no inertia about its COM")
    else:
        if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6):
            text = ", ".join(f"{x:.3g}" for x in moments)
            text = f"no rigid body can have the principal moments {text} kg m^2"
            yield Finding(True, f"{body}: {text}")
        elif moments[0] < FLAT * moments[-1]:
            text = f"one principal moment is only {moments[0]:.3g} kg m^2"
            yield Finding(False, f"{body} is implausibly thin: {text}")
        radius = np.sqrt(moments[-1] / mass)
        if radius > EXTENDED:
            text = f"{body}: radius of gyration of {radius:.3g} m; is its inertia in g mm^2?"
            yield Finding(True, text)


def _check_limits(model: MultibodyModel, j: int, weight: float) -> Iterator[Finding]:
    """weight : N m or N, the largest effort against gravity."""
    joint, effort = model.joint_names[j], model.limits.effort[j]
    unit = "N" if model.joint_types[j] == "prismatic" else "N m"
    if weight > effort > 0.0:
        text = f"{weight:.3g} {unit} to hold its links, but its limit is {effort:.3g} {unit}"
        yield Finding(False, f"{joint} needs {text}; are masses in g?")
    if not np.isfinite(effort):
        yield Finding(False, f"{joint} has no effort limit: torques are not limited")
    elif effort == 0.0:
        yield Finding(True, f"{joint} has the effort limit 0: every torque becomes zero")
    if model.limits.velocity[j] == 0.0:
        yield Finding(True, f"{joint} has the velocity limit 0: it cannot move")
    travel = model.limits.upper[j] - model.limits.lower[j]
    if model.joint_types[j] == "revolute" and TURNING[0] < travel < TURNING[1]:
        turns = travel / (2.0 * np.pi)
        text = f"{joint} has a range of {travel:.4g} rad, {turns:.3g} turns"
        yield Finding(False, f"{text}; are its limits in degrees?")
    if model.joint_types[j] == "prismatic" and SLIDING[0] < travel < SLIDING[1]:
        yield Finding(False, f"{joint} has a range of {travel:.4g} m; are its limits in mm?")


def postures(model: MultibodyModel, count: int = POSTURES) -> Array:
    """`count` random configurations (count, n) within the joint ranges, the same in every call."""
    lower, upper, *_ = model.limits
    low = np.where(np.isfinite(lower), lower, np.minimum(-UNLIMITED, upper - UNLIMITED))
    high = np.where(np.isfinite(upper), upper, np.maximum(UNLIMITED, low + UNLIMITED))
    return np.random.default_rng(0).uniform(low, high, (count, model.n))


class Torques(NamedTuple):
    """Torques that the joints need (n,), N m or N; rates in N m/s or N/s."""

    at_rest: Array  # rms over postures
    at_rest_peak: Array
    moving_peak: Array  # in a motion at up to half the speed limits
    rate_peak: Array


def typical_torques(model: MultibodyModel) -> Torques:
    """Gravity torques over the joint ranges, and torques and rates in a point-to-point motion."""
    q = postures(model)
    zero = np.zeros_like(q)
    held = np.abs(inverse_dynamics(model, q, zero, zero).tau)
    motion = rest_to_rest_motion(model, duration=10.0)
    states = motion.sample(np.linspace(motion.start_time, motion.end_time, 500))
    moving = inverse_dynamics(model, *np.moveaxis(states, 1, 0)[:4])
    return Torques(
        np.sqrt((held**2).mean(axis=0)),
        held.max(axis=0),
        np.abs(moving.tau).max(axis=0),
        np.abs(moving.tau_dot).max(axis=0),
    )


def torque_table(model: MultibodyModel, torques: Torques) -> list[str]:
    """A table of torques and limits."""
    head = ("joint", "at rest, rms", "peak", "moving, peak", "rate, peak", "limit", "used")
    rows = []
    for j, joint in enumerate(model.joint_names):
        limit = model.limits.effort[j]
        most = max(torques.at_rest_peak[j], torques.moving_peak[j])
        used = f"{most / limit:.0%}" if 0.0 < limit < np.inf else None
        rows.append((joint, *(column[j] for column in torques), limit, used))
    return text_table(head, rows, indent="")


class Timing(NamedTuple):
    """Times of one cycle, in microseconds."""

    what: str
    p50: float
    p99: float
    worst: float


def measure(
    model: MultibodyModel, actuators: Actuators | None = None, *, seconds: float = 0.5
) -> list[Timing]:
    """Time of a cycle on this computer: Q, Q', Q'' of the links, and the motors' feedforward.

    The first call compiles the solvers, which takes up to a minute, unless they are cached.
    """
    solver = InverseDynamicsSolver(model)
    rng = np.random.default_rng(1)
    solver.state[:] = rng.uniform(-0.5, 0.5, solver.state.shape)
    timings = [_timed("Q, Q', Q''", solver.update, seconds)]
    if actuators is not None:
        feedforward = MotorFeedforward(actuators, solver.state, solver.result)

        def both() -> None:
            solver.update()
            feedforward.update()

        timings.append(_timed("Q, Q', Q'' and the motors", both, seconds))
    return timings


def _timed(what: str, cycle: Callable[[], Any], seconds: float) -> Timing:
    for _ in range(20):
        cycle()
    times = []
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        cycle()
        times.append(1e6 * (time.perf_counter() - begin))
    p50, p99 = np.percentile(times, (50, 99))
    return Timing(what, float(p50), float(p99), float(max(times)))


def timing_lines(timings: Sequence[Timing], rate: float) -> tuple[list[str], bool]:
    """Compare the times with the period of `rate` Hz: lines, and whether a node is fast enough."""
    period = 1e3 / rate
    lines = [
        f"{t.what}: {t.p50:.1f} us (p50), {t.p99:.1f} us (p99), {t.worst:.1f} us (maximum)"
        for t in timings
    ]
    need = MESSAGES + 1e-3 * timings[-1].p99
    fits = need < period
    lines.append(
        f"with the messages of a node, about {need:.2f} ms of the {period:.3g} ms of a cycle at"
        f" {rate:g} Hz: {'fast enough' if fits else 'too slow'}"
    )
    return lines, fits
