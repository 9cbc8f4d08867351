# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inspection of a URDF file: how it is read, values that look wrong, the torques that the motors
need, and whether this computer is fast enough to control the robot.

    multibody_dynamics inspect ROBOT.urdf --elastic-joints SPRINGS.yaml --picture robot.png
"""

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from textwrap import shorten, wrap
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.core import Array, TrajectoryError
from ...dynamics.elastic import Actuators, MotorFeedforward
from ...dynamics.mechanisms import ClosedChainModel, load_robot
from ...dynamics.model import MultibodyModel
from ...dynamics.model.inertia import decompose
from ...dynamics.motion import rest_to_rest_motion
from ...dynamics.rigid import Finding, inverse_dynamics, inverse_solver, postures
from ...reporting.tables import text_table
from .robot_kind import ON_A_BASE, robot_kind

WIDTH = 100  # columns of the terminal
MOST_NOTES, MOST_FINDINGS, MOST_JOINTS = 10, 8, 60  # lines, unless everything is asked for
IN_NOTES = "ignored, but"  # how a warning begins that repeats notes of the model
MESSAGES = 0.4  # ms per cycle at 1 kHz for two messages and the node around the solver


def load(
    path: str | PathLike[str], springs: str | PathLike[str] | None = None
) -> tuple[MultibodyModel, list[str]]:
    """The robot of :func:`.load_robot`, and the loader's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_robot(path, springs)
    source = f"{path}: "
    return model, [str(warning.message).removeprefix(source) for warning in caught]


def summary(model: MultibodyModel, warned: Sequence[str], *, is_full: bool = False) -> list[str]:
    """Lines on the robot and on the elements of the file that were merged or ignored: complete
    ones, or a line for each, and at most MOST_NOTES of them."""
    kinds = Counter(model.joint_types)
    mass = sum(decompose(M)[0] for M in model.inertias)
    count = f"{model.n} independent joints" if model.dependent_joints else f"{model.n} joints"
    kind = robot_kind(model)
    held = ", which is held fixed" if kind.startswith(ON_A_BASE) else ""
    if isinstance(model, ClosedChainModel):
        kind = f"mechanism with loops: {', '.join(loop.name for loop in model.loops)}"
    lines = [
        f"{model.name}: {kind}",
        f"{count if model.n > 1 else count[:-1]}"
        f" ({', '.join(f'{k} {kind}' for kind, k in kinds.items())}),"
        f" {len(model.body_names)} moving bodies, {mass:.4g} kg, base '{model.base_name}'{held}",
    ]
    merged: dict[str, list[str]] = {}
    for name, frame in model.frames.items():
        carrier = model.base_name if frame.body < 0 else model.body_names[frame.body]
        if name not in (carrier, *model.payloads):
            merged.setdefault(carrier, []).append(name)
    noted = "\n".join(model.notes)
    warnings = [
        f"warning: {text}" for text in warned
        if not text.startswith(IN_NOTES) and text.rpartition(": ")[2] not in noted
    ]  # fmt: skip
    if is_full:
        lines += [f"merged into {body}: {', '.join(names)}" for body, names in merged.items()]
        return [*lines, *model.notes, *warnings]
    if merged:
        links = [name for names in merged.values() for name in names]
        lines.append(f"{len(links)} links without a joint of their own, merged: {', '.join(links)}")
    lines += warnings
    room = max(MOST_NOTES - len(lines), 1)
    notes = _alike(model.notes)
    if len(notes) > room:
        notes = [*notes[: room - 1], f"... and {len(notes) - room + 1} more notes"]
    return [shorten(line, WIDTH, placeholder=" ... (--full)") for line in [*lines, *notes]]


def _alike(notes: Sequence[str]) -> list[str]:
    """The notes, with one line for those that differ only in names and numbers."""
    groups: dict[str, list[str]] = {}
    for note in notes:
        groups.setdefault(re.sub(r"'[^']*'|[-\d.]+", "", note), []).append(note)
    return [
        same[0] if len(same) == 1 else f"{same[0]}; {len(same) - 1} more like it"
        for same in groups.values()
    ]


def tree(model: MultibodyModel) -> list[str]:
    """The label of each joint of the tree in depth-first order, as in `tree_joint_names`; branches
    are indented."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(model.parents):
        children.setdefault(int(parent), []).append(i)
    labels = [""] * model.body_count

    def below(body: int, indent: str) -> None:
        branches = children.get(body, [])
        for k, i in enumerate(branches):
            last = k == len(branches) - 1
            fork = "" if len(branches) == 1 else "└─ " if last else "├─ "
            labels[i] = f"{indent}{fork}{model.tree_joint_names[i]}"
            below(i, indent + ("" if len(branches) == 1 else "   " if last else "│  "))

    below(-1, "")
    return labels


class Torques(NamedTuple):
    """Torques that the joints need (n,), N m or N; rates in N m/s or N/s."""

    at_rest: Array  # rms over postures
    at_rest_peak: Array
    moving_peak: Array  # in a motion at up to half the speed limits
    rate_peak: Array


def typical_torques(model: MultibodyModel) -> tuple[Torques, str]:
    """Gravity torques over the joint ranges, and torques and rates in a point-to-point motion; NaN,
    and the reason, where the robot cannot move."""
    q = postures(model)
    zero = np.zeros_like(q)
    at_rest = np.abs(inverse_dynamics(model, q, zero, zero).tau)
    moving, rate, why = np.full(model.n, np.nan), np.full(model.n, np.nan), ""
    try:
        motion = rest_to_rest_motion(model, duration=10.0)
    except TrajectoryError as error:
        why = f"no torques in motion: {error}"
    else:
        states = motion.sample(np.linspace(motion.start_time, motion.end_time, 500))
        found = inverse_dynamics(model, *np.moveaxis(states, 1, 0)[:4])
        moving, rate = (np.abs(rows).max(axis=0) for rows in (found.tau, found.tau_dot))
    rms, peak = np.sqrt((at_rest**2).mean(axis=0)), at_rest.max(axis=0)
    return Torques(rms, peak, moving, rate), why


def joint_table(model: MultibodyModel, torques: Torques, *, is_full: bool = False) -> list[str]:
    """A table of the tree with ranges, torques and limits; within WIDTH columns, as far as names
    permit, and MOST_JOINTS lines, those of the joints that use most of their limits, unless it is
    full."""
    own = dict(zip(model.first_bodies.tolist(), range(model.n), strict=True))
    rows, use = [], np.full(model.body_count, -1.0)
    for i, label in enumerate(tree(model)):
        row = [label, model.tree_joint_types[i], model.body_names[i]]
        if (j := own.get(i)) is not None:
            lower, upper, _, effort = (limit[j] for limit in model.limits[:4])
            row.append(f"{lower:.3g} .. {upper:.3g}" if np.isfinite([lower, upper]).all() else "")
            most = np.fmax(torques.at_rest_peak[j], torques.moving_peak[j])
            row += [_value(column[j], effort) for column in torques]
            use[i] = most / effort if 0.0 < effort < np.inf else 0.0
            row += [effort, f"{use[i]:.0%}" if 0.0 < effort < np.inf else None]
        rows.append(row + [""] * (4 - len(row)) + [None] * min(10 - len(row), 6))
    rest = []
    if not is_full and len(rows) > MOST_JOINTS:
        kept = np.sort(np.argsort(-use, kind="stable")[: MOST_JOINTS - 1]).tolist()
        rest = [f"... and {len(rows) - len(kept)} joints that use less of their limits (--full)"]
        rows = [rows[i] for i in kept]
    heads = ["joint", "type", "body", "range"]
    heads += ["at rest, rms", "peak", "moving, peak", "rate, peak", "limit", "used"]
    lines = text_table(heads, rows, digits=3, indent="")
    for dropped in () if is_full else ("body", "type", "range", "at rest, rms"):
        if max(map(len, lines)) <= WIDTH:
            break
        if dropped in heads:
            k = heads.index(dropped)
            heads, rows = heads[:k] + heads[k + 1 :], [row[:k] + row[k + 1 :] for row in rows]
            lines = text_table(heads, rows, digits=3, indent="")
    return [*lines, *rest]


def _value(torque: float, effort: float) -> float:
    """A torque, or 0 where only rounding is left."""
    least = 1e-12 * effort if 0.0 < effort < np.inf else 1e-12
    return 0.0 if abs(torque) < least else torque


def wrapped(lines: Iterable[str]) -> list[str]:
    """The lines, folded at WIDTH columns."""
    return [part for line in lines for part in wrap(line, WIDTH, subsequent_indent="  ")]


def finding_lines(found: Sequence[Finding], *, is_full: bool = False) -> list[str]:
    """What looks wrong first, then what is suspicious; the same of several joints or bodies in one
    line."""
    groups: dict[tuple[bool, str], list[str]] = {}
    for finding in sorted(found, key=lambda each: not each.severe):
        same = finding.text.replace(finding.subject, "{}", 1) if finding.subject else finding.text
        groups.setdefault((finding.severe, same), []).append(finding.subject)
    lines = []
    for (severe, text), subjects in groups.items():
        also = ", ".join(subjects[1:4]) + (f" and {len(subjects) - 4} more" * (len(subjects) > 4))
        whole = f"{'WRONG' if severe else 'suspicious'}: {text.replace('{}', subjects[0], 1)}"
        lines.append(f"{whole} (also {also})" if also else whole)
    if not is_full and len(lines) > MOST_FINDINGS:
        left = len(lines) - MOST_FINDINGS + 1
        lines = [*lines[: MOST_FINDINGS - 1], f"... and {left} more findings (--full)"]
    return lines or ["masses, inertias and limits are plausible"]


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
    solver = inverse_solver(model)
    rng = np.random.default_rng(1)
    solver.state[:] = rng.uniform(-0.5, 0.5, solver.state.shape)
    solver.state[0] = postures(model, 1)[0]
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
