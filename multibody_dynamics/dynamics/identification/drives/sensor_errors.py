# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Errors of the encoders of a stiff joint, recognised by parameters that no joint can have.

The deflection phi = theta - q of a stiff spring is small, and a late or shifted encoder changes it
by more than its own size. An encoder of the link that is late by d adds d q' to phi, hence K d to
the viscous friction of the link, and takes it from that of the motor; an error phi_0 of its zero
adds K phi_0 to the offset of the friction of the link, and takes it from that of the motor. Their
sums remain right. Only negative friction, or an asymmetry beyond the Coulomb friction, with the
opposite on the other side of the spring, tells such errors from friction; without it, nothing is
changed. Recordings cannot separate a delay from viscous friction of the link, nor a zero from its
offset: once recognised, these stay as known before, and the encoders explain the rest.

If the residuals of motor and link show the same error with opposite signs, it is one of phi, not
noise of the torque. K phi then has noise on the right side of the equation of the motor, which
biases K towards zero (W. A. Fuller, Measurement Error Models, 1987, section 1.1); the sum of the
two equations does not contain phi, and is used in its place (`Options.joined`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from ...core import Array
from ...model import MultibodyModel
from .drive_equations import DriveEquations
from .drive_parameters import DELAY_SPREAD
from .filtered_rows import residuals_of
from .fitted_model import FittedModel
from .identified_robot import IdentifiedValue, Values
from .measured_run import SIGNALS, MeasuredRun
from .spring_effects import SLIP

NEGATIVE = 3.0  # standard errors below zero at which viscous friction is impossible
ASYMMETRY = 1.5  # of the Coulomb friction, above which an offset is none of friction
OPPOSITE = 0.5  # of the smaller one, by which opposite sizes may differ
LONGEST = 0.02  # s, delay of an encoder
SHORTEST = 2e-4  # s, the same beside effects of springs, whose errors resemble shorter ones
ALIKE = 0.25  # relative spread of the delays of joints that have the same encoders
COMMON = 0.5  # share of the residual of a motor that is an error of phi
REFITTED = ("spring", "inertia", "viscous", "offset")  # of a motor
POSITIONAL = 2  # columns: sine and cosine
EXPLAINED = 0.6  # share of the residual of a motor that depends on the position
CLOSE = 0.05  # relative change of a delay that is left
SAME_BUS = 2e-3  # s, standard deviation of the delays of commands over the same bus
FEWEST = 32  # filtered samples of a joint
SMALL = 0.25  # of the rms of the residual of a link: a shift of its zero that is left


@dataclass(frozen=True, eq=False)
class SensorErrors:
    """What is known of the encoders. delay : (n,) s, of the encoder of the link behind that of the
    motor. zero : for each run, (n,) rad by which theta - q is too large. joined, positional : see
    :class:`.Options`. command : mean and standard deviation in s of the delays of the commands,
    which have passed the same bus."""

    delay: Array
    zero: Mapping[int, Array] = field(default_factory=dict)
    joined: frozenset[int] = frozenset()
    positional: frozenset[int] = frozenset()
    command: tuple[float, float] = (0.0, DELAY_SPREAD)

    def corrected(self, runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
        """The runs without these errors."""
        none = np.zeros_like(self.delay)
        return [corrected(run, self.delay, self.zero.get(i, none)) for i, run in enumerate(runs)]

    @property
    def is_shifted(self) -> bool:
        """Whether zeros of encoders are wrong."""
        return bool(self.zero)

    def of_others(self, count: int) -> SensorErrors:
        """The same for other runs, whose zeros are those of these runs on average."""
        if not self.zero:
            return self
        zero: Array = np.mean([*self.zero.values()], axis=0)
        return replace(self, zero=dict.fromkeys(range(count), zero))

    def has(self, joint: int) -> bool:
        """Whether the encoders of a joint have errors."""
        shifted = any(zero[joint] for zero in self.zero.values())
        return bool(self.delay[joint]) or shifted or joint in self.joined

    def with_delays(self, delays: Values, model: MultibodyModel) -> Values:
        """Identified delays with those of the encoders."""
        found = {name: dict(each) for name, each in delays.items()}
        for j in np.flatnonzero(self.delay).tolist():
            value = IdentifiedValue(float(self.delay[j]), CLOSE * abs(self.delay[j]), True)
            found.setdefault(model.joint_names[j], {})["encoder"] = value
        return found

    def notes(self, names: Sequence[str], positional: Mapping[int, Array]) -> list[str]:
        """What was recognised, for joints of these names, and what follows from it. positional :
        factors of sine and cosine by joint, N m."""
        shifted = [j for j in range(len(names)) if any(zero[j] for zero in self.zero.values())]
        notes = []
        for delay in np.unique(self.delay[self.delay != 0.0]).tolist():
            late = ", ".join(names[j] for j in np.flatnonzero(self.delay == delay).tolist())
            notes.append(
                f"{late}: motor and link would have viscous friction of opposite signs: the "
                f"encoder of the link is {1e3 * delay:+.3g} ms behind that of the motor: corrected"
            )
        for j in shifted:
            listed = ", ".join(f"{1e3 * float(zero[j]):.3g}" for zero in self.zero.values())
            notes.append(
                f"{names[j]}: offsets beyond its Coulomb friction: theta - q is too large by "
                f"{listed} mrad in the recordings fitted, a zero of the encoders: corrected"
            )
        for j, (sine, cosine) in positional.items():
            notes.append(
                f"{names[j]}: its spring carries {sine:.3g} sin q {cosine:+.3g} cos q N m that the "
                "torque of the motor does not contain: a balancer for which the drive compensates, "
                "or an encoder of the link that is not centred"
            )
        joined = ", ".join(names[j] for j in sorted(self.joined - self.positional))
        if joined:
            notes.append(
                f"{joined}: the error of theta - q exceeds that of the torque of the motor, whose "
                "equation was therefore used together with that of the link"
            )
        hidden = ", ".join(name for j, name in enumerate(names) if self.has(j))
        if hidden:
            notes.append(
                f"{hidden}: friction of the link and damping of the spring cannot be told from "
                "errors of the encoders: they stay as known, and the motor has the rest"
            )
        return notes


def corrected(run: MeasuredRun, delay: Array, zero: Array) -> MeasuredRun:
    """A run with the positions of the links earlier by `delay` (n,), and theta - q smaller by
    `zero` (n,); it loses samples at the ends of its stretches."""
    if run.q is None or run.theta is None or not (delay.any() or zero.any()):
        return run
    edge = int(np.ceil(np.abs(delay).max() * run.rate))
    rows: dict[str, list[Array]] = {name: [] for name in SIGNALS if getattr(run, name) is not None}
    starts, count = [], 0
    for part in run.stretches:
        inner = np.arange(edge, part.stop - part.start - edge)
        if len(inner) < 4:
            continue
        for name, found in rows.items():
            given = getattr(run, name)[part]
            own = given[inner].copy()
            if name in ("q", "qd"):
                for j in np.flatnonzero(delay).tolist():
                    spline = CubicSpline(np.arange(len(given)), given[:, j])
                    own[:, j] = spline(inner + delay[j] * run.rate)
            if name == "q":
                own += zero
            found.append(own)
        starts.append(count)
        count += len(inner)
    joined: dict[str, Any] = {name: np.concatenate(found) for name, found in rows.items()}
    return replace(run, **joined, starts=tuple(starts), start=run.start + edge / run.rate)


def recognised(known: SensorErrors, model: FittedModel) -> SensorErrors:
    """The errors after a fit to runs without those known so far; `known` itself if there are no
    others."""
    joints = _joints(model)
    if not joints:
        return known
    delay = _delays(known, joints)
    single = [each for each in joints if each.joint not in known.joined]
    compensated = {each.joint for each in single if each.is_compensated}
    joined = compensated | {each.joint for each in single if each.shares_error}
    zero = known.zero if joined else _zeros(known, joints)
    if delay is known.delay and zero is known.zero and not joined:
        return known
    return SensorErrors(
        delay,
        zero,
        known.joined | joined,
        known.positional | compensated,
        _command(model),
    )


def shifted(known: SensorErrors, model: FittedModel) -> SensorErrors:
    """The same with the zeros that the residuals of other runs show, where zeros are wrong."""
    if not known.zero:
        return known
    begun = [
        each for each in _joints(model) if any(zero[each.joint] for zero in known.zero.values())
    ]
    return replace(known, zero=_zeros(known, begun, with_offset=False))


def _joints(model: FittedModel) -> list[_Joint]:
    """The joints with both equations, as far as they moved."""
    found = [_Joint(model, pair) for pair in _pairs(model.equations)]
    return [each for each in found if len(each.errors) > FEWEST]


def _pairs(equations: DriveEquations) -> list[tuple[int, int]]:
    """The equations of motor and link of the series elastic joints without a sensor."""
    channels = equations.channels
    pairs = []
    for k, channel in enumerate(channels[:-1]):
        springs, after = equations.springs[channel.joint], channels[k + 1]
        if (
            channel.kind == "motor" and after.kind == "link" and after.joint == channel.joint
            and springs is not None and springs.damped and "spring" in after.blocks
        ):  # fmt: skip
            pairs.append((k, k + 1))
    return pairs


class _Joint:
    """What a fit says of the encoders of one joint."""

    def __init__(self, model: FittedModel, pair: tuple[int, int]) -> None:
        equations, fit = model.equations, model.fit
        motor, link = (equations.channels[k] for k in pair)
        self.joint = link.joint
        sites = [equations.site_of(each) for each in (motor, link)]
        self.stiffness, share = model.coefficients.stiffness(self.joint, fit.theta)
        names = [f"{site}.viscous" for site in sites]
        self.viscous = model.values(names)
        each = model.uncertainties(names)
        self.negative = (
            min(v + NEGATIVE * e.error for v, e in zip(self.viscous, each, strict=True)) < 0.0
        )
        self.offset = model.values(f"{site}.offset" for site in sites)
        self.held = 0.0  # N m of slip elements, whose states at the beginning are unknown
        effects = equations.effects.get(self.joint)
        self.shortest = 0.0 if effects is None else SHORTEST
        if effects is not None and effects.slips:
            self.held = float(effects.limits @ model.values(effects.groups[SLIP, 0]))
        self.coulomb = np.abs(model.values(f"{site}.coulomb" for site in sites)).sum()
        positional = link.blocks["positional"]
        own = [motor.blocks[name] for name in REFITTED if name in motor.blocks]
        errors, runs, shapes = [], [], []
        for block in model.blocks:
            used = block.used[:, pair].all(axis=1)
            errors.append(residuals_of(equations, block, fit.z)[used][:, pair] * [1.0, share])
            runs.append(np.full(int(used.sum()), block.run))
            of_motor, of_link = (block.rows[used][:, equations.places[k]] for k in pair)
            parts = [of_link[:, positional], *(of_motor[:, columns] for columns in own)]
            shapes.append(np.concatenate(parts, axis=1))
        self.errors, self.runs = np.concatenate(errors), np.concatenate(runs)
        self._shapes = np.concatenate(shapes)

    @property
    def delay(self) -> float:
        """s, that explains the viscous friction of the link."""
        return float(self.viscous[1] / self.stiffness)

    @property
    def is_late(self) -> bool:
        """Whether one side has impossible viscous friction, and the other one the opposite."""
        motor, link = self.viscous
        is_delay = self.shortest <= abs(self.delay) < LONGEST
        return self.negative and motor * link < 0.0 and is_delay

    @property
    def is_shifted(self) -> bool:
        """Whether opposite offsets are too large for friction."""
        motor, link = self.offset
        smaller = min(abs(motor), abs(link))
        opposite = abs(motor + link) < OPPOSITE * smaller
        return bool(opposite and smaller > max(ASYMMETRY * self.coulomb, self.held))

    @property
    def shares_error(self) -> bool:
        """Whether the residual of the motor is mostly an error of phi."""
        motor, link = (self.errors - self.errors.mean(axis=0)).T
        if len(motor) < 2 or not motor.any() or not link.any():
            return False
        slope, size = (
            motor @ link / (link @ link),
            motor @ link / np.sqrt(motor @ motor * (link @ link)),
        )
        return bool(slope < -COMMON and size**2 > COMMON)

    @property
    def is_compensated(self) -> bool:
        """Whether a sine of the position would explain most of the residual of the motor, with its
        spring, rotor and viscous friction fitted again."""
        motor = self.errors[:, 0]
        own, less = (unexplained(self._shapes[:, first:], motor) for first in (POSITIONAL, 0))
        return less < (1.0 - EXPLAINED) * own


def unexplained(shapes: Array, errors: Array) -> float:
    """The sum of squares of errors (k,) that shapes (k, m) leave."""
    scale = np.maximum(np.linalg.norm(shapes, axis=0), 1e-300)
    left = errors - shapes @ (np.linalg.lstsq(shapes / scale, errors, rcond=1e-12)[0] / scale)
    return float(left @ left)


def _delays(known: SensorErrors, joints: Sequence[_Joint]) -> Array:
    """(n,) delays: of all joints with the same encoders if those that show it agree."""
    delays = known.delay.copy()
    late = [each for each in joints if each.is_late or known.delay[each.joint]]
    if not late:
        return known.delay
    own = {each.joint: known.delay[each.joint] + each.delay for each in joints}
    middle = float(np.median([own[each.joint] for each in late]))
    alike = [each.joint for each in joints if abs(own[each.joint] - middle) < ALIKE * abs(middle)]
    for each in late:
        delays[each.joint] = own[each.joint]
    if {each.joint for each in late} <= set(alike):
        delays[alike] = middle
    is_close = np.abs(delays - known.delay).max() < CLOSE * np.abs(delays).max()
    return known.delay if is_close else delays


def _command(model: FittedModel) -> tuple[float, float]:
    """Mean and standard deviation of the delays of all commands."""
    parameters = model.solver.parameters
    delays = [f"{motor}.command delay" for motor in model.equations.motor_names]
    names = [name for name in delays if parameters.free[parameters.index[name]]]
    if not names:
        return 0.0, DELAY_SPREAD
    errors = [each.error for each in model.uncertainties(names)]
    weights = np.array([1.0 / (error**2 + SAME_BUS**2) for error in errors])
    return float(weights @ model.values(names) / weights.sum()), SAME_BUS


def _zeros(
    known: SensorErrors, joints: Sequence[_Joint], *, with_offset: bool = True
) -> Mapping[int, Array]:
    """The zeros of every run; `known.zero` itself if none has changed noticeably.

    with_offset : include the offset of the friction of the link, as in a fit that sought it.
    """
    zeros = {run: zero.copy() for run, zero in known.zero.items()}
    changed = False
    for each in joints:
        errors = each.errors[:, 1]
        size = float(np.sqrt(np.mean(errors**2)))
        means = {int(run): float(errors[each.runs == run].mean()) for run in np.unique(each.runs)}
        begun = any(zero[each.joint] for zero in known.zero.values())
        apart = np.ptp([*means.values()]) > size + 2.0 * each.held
        if each.joint in known.positional or not (begun or apart or each.is_shifted):
            continue  # of a cosine of the position, a zero cannot be told apart
        shift = float(each.offset[1]) if with_offset and (begun or each.is_shifted) else 0.0
        for run, mean in means.items():
            step = (shift + mean) / each.stiffness
            row = zeros.setdefault(run, np.zeros_like(known.delay))
            changed |= abs(shift + mean) > SMALL * size
            row[each.joint] += step
    return zeros if changed else known.zero
