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
from ...dynamics.model.inertia import decompose
from ...dynamics.motion import rest_to_rest_motion
from ...dynamics.rigid import InverseDynamicsSolver, inverse_dynamics, postures
from ...reporting.tables import text_table

MESSAGES = 0.4  # ms per cycle at 1 kHz for two messages and the node around the solver


def load(
    path: str | PathLike[str], springs: str | PathLike[str] | None = None
) -> tuple[MultibodyModel, list[str]]:
    """The robot of a URDF file, with the couplings in a YAML file of springs, and the loader's
    warnings. Raises as :func:`load_urdf` does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_urdf(path, couplings=springs)
    return model, [str(warning.message) for warning in caught]


def summary(model: MultibodyModel, warned: Sequence[str]) -> list[str]:
    """Lines on the robot and on the elements of the file that were merged or ignored."""
    kinds = Counter(model.joint_types)
    mass = sum(decompose(M)[0] for M in model.inertias)
    count = f"{model.n} independent" if model.couplings else str(model.n)
    lines = [
        f"{model.name}: {count} joints ({', '.join(f'{k} {kind}' for kind, k in kinds.items())}),"
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
                f"{indent}{fork}{model.tree_joint_names[i]} ({model.tree_joint_types[i]}) → "
                + (model.body_names[i])
            )
            rest = "" if len(branches) == 1 else "   " if last else "│  "
            yield from below(i, indent + rest)

    return [model.base_name, *below(-1, "")]


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
