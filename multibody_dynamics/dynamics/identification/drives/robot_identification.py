# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joint identification of links, friction, motors, drive gains, springs and delays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, DynamicsError, InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..bodies.joint_friction import JointFriction
from ..bodies.regressor import with_inertial_parameters
from ..signals.differentiation import HIGHEST, noise_cutoff
from .drive_equations import Channel, DriveEquations, Options, measured_signals, motor_names
from .drive_parameters import FRICTION, Coefficients
from .effect_selection import BETTER, NO_EFFECTS, IncludedEffects, prediction
from .effect_sizes import EffectSizes
from .equation_sums import ROUNDS, EquationSums, Fit, LeastSquares, left_side
from .filtered_rows import (
    NOISE_SAMPLES,
    Block,
    FilterPlan,
    filtered_blocks,
    position_noise,
    reach_of,
    residuals_of,
    sums_of,
    without_outliers,
)
from .fitted_model import FittedModel
from .friction_profiles import Widening, friction_widenings, searched_friction
from .identified_robot import IdentifiedCovariance, IdentifiedRobot, IdentifiedValue
from .identified_values import FittedValues
from .measured_run import CarriedPayload, MeasuredRun
from .missing_terms import NAMES, NOTABLE, explained
from .prior_parameters import IdentificationSettings, PriorParameters
from .segment_jackknife import misfit
from .sensor_errors import SensorErrors, recognised, shifted
from .spring_effects import SpringEffects

LOWEST_CUTOFF, HIGHEST_CUTOFF = 2.0, 25.0  # Hz, range of cut-offs chosen from the data
LOADS = 2  # rounds in which friction that depends on the load takes the load from the last fit
REJECTIONS = 2  # rounds of leaving out outliers
SMALL_BIAS = 0.1  # standard errors: a smaller bias is not reported
DRIFT_SIGNIFICANCE = 4.0  # standard errors
LARGEST_DRIFT = 1.0  # of the friction parameter that changes: a larger one is none of temperature
VAGUE = 0.1  # relative standard error above which a stiffness is no better known than before
CONTRADICTING = 3.0  # standard errors between a stiffness and the one known before
HARDLY = 0.005  # of the rms velocity of the fastest joint: slower ones count as resting
FITS = 6  # that `progress` counts, with and without effects of drives
STEPS = FITS + 8  # that it counts in all: seven steps after these fits, and the values
LOWERINGS = 2  # of a cut-off chosen from the data, by half, for delays that are too long for it
RECOGNITIONS = 8  # fits after each of which errors of the encoders are corrected
SLOW = 0.2  # of the rms velocity, below which a joint counts as reversing
WORSE = 1.5  # mean square of residuals there, relative to the others
RANGE = (0.1, 99.9)  # percentiles of the deflections between which effects are sought
DRIFT_SIZE = 0.02  # of the friction parameter that changes


class ChannelResidual(NamedTuple):
    """rms of the residual of one equation of one joint or motor (of a current: times its gain),
    before and after identification, and `size`, the rms of its left side: for runs that were
    fitted, and for those that were held out (NaN without any). unit : N m, or N if the joint is
    prismatic."""

    joint: str
    kind: str
    unit: str
    size: float
    before: float
    after: float
    held_size: float
    held_before: float
    held_after: float


class Start(NamedTuple):
    """Values of a first fit by name, and its sites of friction with bristles."""

    values: dict[str, float]
    presliding: frozenset[str]


class Course(NamedTuple):
    """Filtered left side and its prediction over the time of the last run, (k, channels)."""

    times: Array
    measured: Array
    predicted: Array


@dataclass(frozen=True, eq=False)
class RobotIdentification:
    """The result of :func:`identify_robot`.

    robot : with the identified parameters. combinations : the base parameters of links and rotors
    by their description; torques determine these even where they do not determine the inertia of
    single bodies. residuals : of every equation. notes : what cannot be told apart, drift, noise,
    and samples that were left out. cutoff : Hz. rejected : share of the samples left out. used :
    share of the recordings used. count : their samples after filtering. bias : largest effect of
    the noise of the positions on a parameter, in standard errors, before its correction; 0 if it
    cannot be computed. covariance : of all parameters together. course : for plots. is_complete :
    whether all steps were done; False if Ctrl-C (KeyboardInterrupt) ended them after the first fit.
    """

    robot: IdentifiedRobot
    combinations: dict[str, IdentifiedValue]
    residuals: tuple[ChannelResidual, ...]
    notes: tuple[str, ...]
    cutoff: float
    rejected: float
    used: float
    count: int
    bias: float
    covariance: IdentifiedCovariance
    course: Course = field(repr=False)
    is_complete: bool = True


def identify_robot(
    model: MultibodyModel,
    runs: Sequence[MeasuredRun],
    actuators: Actuators | None = None,
    *,
    friction: JointFriction | None = None,
    held_out: Sequence[MeasuredRun] = (),
    settings: IdentificationSettings | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RobotIdentification:
    """Identify links, friction, motors and springs together, from whatever was measured.

    model, actuators : the robot as known so far, with the initial values of all parameters. Without
        actuators, all joints are rigid, and their friction is that of the links.
    friction : of the links as known so far, none by default: the initial values, or, if the
        settings exclude friction, those that are kept.
    runs : recordings to fit; held_out : recordings to judge the result on.
    progress : called with the numbers of steps done and in total.

    Raises InputError, naming joint and run, for missing signals, different rates, and too few
    samples.
    """
    sensors, chosen = SensorErrors(np.zeros(model.n)), settings or IdentificationSettings()
    lowerings = 0 if chosen.cutoff else LOWERINGS
    progress(0, STEPS)
    fits = itertools.count(1)

    def counted(*arguments: Any) -> _Identification:
        found = _begun(*arguments)
        progress(min(next(fits), FITS - 1), STEPS)  # sensor errors may require more of them
        return found

    for _ in range(RECOGNITIONS):
        fresh = partial(
            _Identification, model, runs, actuators, friction, held_out, chosen, sensors
        )
        identification = _with_effects(partial(counted, fresh))
        if lowerings and identification.has_delay_at_bound():
            lowerings -= 1
            chosen = chosen._replace(cutoff=max(identification.cutoff / 2.0, LOWEST_CUTOFF))
            continue
        before, sensors = sensors, identification.recognised()
        if sensors is before:
            break
    return identification.result(progress)


def _begun(
    fresh: Callable[..., _Identification],
    effects: IncludedEffects = NO_EFFECTS,
    start: Start | None = None,
) -> _Identification:
    """An identification after its first fit."""
    found = fresh(effects=effects)
    found.begin(start)
    return found


def _with_effects(begun: Callable[..., _Identification]) -> _Identification:
    """An identification after its first fit, with the effects of drives that it requires: first of
    the springs, then of friction, whose errors they explain in part."""
    found = begun()
    if springs := found.possible_springs():
        tried = begun(IncludedEffects(springs), found.start)
        springs, start = tried.better_springs(found), tried.start
        del tried  # the rows of each fill most of the memory
        if springs:
            del found
            found = begun(IncludedEffects(springs), start)
    if sites := found.reversing:
        tried, start = begun(IncludedEffects(springs, sites), found.start), found.start
        if better := tried.better_presliding(found):
            del found
            found = tried if better == sites else begun(IncludedEffects(springs, better), start)
        del tried
    return _without_doubtful(begun, found)


def _without_doubtful(
    begun: Callable[..., _Identification], found: _Identification
) -> _Identification:
    """The identification without effects of springs that friction explains, too: one after the
    other, the least certain first. Its errors include the difference that this makes."""
    start, presliding = found.start, found.equations.options.presliding
    while (springs := found.certain_springs()) != found.equations.effects:
        del found
        found = begun(IncludedEffects(springs, presliding), start)
        found.doubt(start)
    return found


class _Identification:
    """The steps of one identification, each of which replaces `solver` and `fit` at its end."""

    def __init__(
        self,
        model: MultibodyModel,
        runs: Sequence[MeasuredRun],
        actuators: Actuators | None,
        friction: JointFriction | None,
        held_out: Sequence[MeasuredRun],
        settings: IdentificationSettings | None,
        sensors: SensorErrors | None = None,
        effects: IncludedEffects = NO_EFFECTS,
    ) -> None:
        self.model, self.actuators = model, actuators
        self.sensors = sensors or SensorErrors(np.zeros(model.n))
        self.runs = self.sensors.corrected(runs)
        self.friction = friction or JointFriction.none(model.n)
        self.held, self.settings = [*held_out], settings or IdentificationSettings()
        self.notes: list[str] = []
        self.rejected = self.bias = 0.0
        self.contact = ""  # where most samples were left out
        everything = [*self.runs, *self.held]
        self.motor_names = motor_names(model, actuators)
        sources = measured_signals(everything, model.n, len(self.motor_names))
        self.payloads = _payloads(model, everything)
        self.cutoff = self.settings.cutoff or _cutoff(self.runs)
        self.plan = FilterPlan(self.runs, self.cutoff)
        self.equations = DriveEquations(
            model,
            actuators,
            sources,
            _speeds(self.runs, self.cutoff, model.n, len(self.motor_names)),
            {each.name: model.body_index(each.body) for each in self.payloads},
            Options(
                self.settings.stribeck,
                self.settings.load_friction,
                self.sensors.joined,
                self.sensors.positional,
                effects.presliding,
            ),
            None if self.settings.friction else self.friction,
            effects.springs,
        )
        self.gains = sources.current & ~sources.motor_torque
        ends = [run.start + len(run.position) / run.rate for run in self.runs]
        begin = min(run.start for run in self.runs)
        self.middle = (0.5 * (begin + max(ends)), max(max(ends) - begin, 1e-3))

    def begin(self, start: Start | None = None) -> None:
        """The first fit, from the prior or from that of another identification."""
        self.blocks, resting = self._filtered()
        self.sums = self._sums(self.blocks)
        self.parameters = PriorParameters(
            self.equations, self.settings, self.friction, self.payloads, self.gains, self.cutoff,
            resting, self.sensors.command,
        ).of(self.sums)  # fmt: skip
        self.prior = np.array(self.parameters.mean)
        self.doubts = np.zeros((0, len(self.prior)))  # differences from other models
        self.coefficients = Coefficients(self.equations, self.parameters, self.gains)
        self._fit_first(None if start is None else self._values_from(start))

    @property
    def reversing(self) -> frozenset[str]:
        """The sites of friction whose equations are less accurate where the velocity changes its
        sign, as with friction that depends on the way. None with the Stribeck effect."""
        found: set[str] = set()
        if self.settings.stribeck:
            return frozenset()
        for k, channel in enumerate(self.equations.channels):
            if channel.kind == "spring" or not self.coefficients.seeks_friction(channel):
                continue
            columns, nodes = self.fitted.columns(k), self.equations.nodes_of(channel)
            v = np.abs(columns[:, channel.blocks["viscous"].start])
            power, slow = (columns @ self.fit.z[k]) ** 2, v < SLOW * nodes.speed
            if min(slow.sum(), (~slow).sum()) < channel.unknowns:
                continue
            if power[slow].mean() > WORSE * power[~slow].mean():
                found.add(self.equations.site_of(channel))
        return frozenset(found)

    @property
    def fitted(self) -> FittedModel:
        """What the last fit found."""
        return FittedModel(self.blocks, self.solver, self.fit)

    def possible_springs(self) -> dict[int, SpringEffects]:
        """The effects of springs and gears that these recordings may show."""
        if not self.settings.springs:
            return {}
        travel = _travel(self.runs, self.model.n, self.actuators)
        return self.equations.possible_effects(travel)

    def better_springs(self, plain: _Identification) -> dict[int, SpringEffects]:
        """The significant effects of the joints whose equations together predict better than
        without any."""
        ratios, found = prediction(self.fitted, plain.fitted), {}
        for j, each in self.equations.effects.items():
            own = [k for k, channel in enumerate(self.equations.channels) if channel.joint == j]
            kinds = EffectSizes(self.fitted, j).significant()
            if kinds and ratios[own].prod() < BETTER:
                found[j] = each.only(kinds)
        return found

    def certain_springs(self) -> dict[int, SpringEffects]:
        """The effects of the springs that are still significant, without the most doubtful one of
        each joint, if errors that include those of the model leave one in doubt."""
        if not self.equations.effects:
            return {}
        model = self.fitted
        if (judged := misfit(model)).is_significant:
            model = model._replace(solver=self.solver.renewed(misfit=judged.deviations))
        found = {}
        for j, each in self.equations.effects.items():
            kinds = EffectSizes(self.fitted, j).significant() - EffectSizes(model, j).doubtful()
            if kinds:
                found[j] = each.only(kinds)
        return found

    def doubt(self, other: Start) -> None:
        """Count the difference from another fit, with terms that this one lacks, as an error."""
        self.doubts = np.array([[other.values[name] for name in self.parameters.names]])
        self.doubts -= self.fit.theta

    def better_presliding(self, plain: _Identification) -> frozenset[str]:
        """The sites with bristles whose equations predict better than without."""
        ratios, channels = prediction(self.fitted, plain.fitted), self.equations.channels
        sites = {
            self.equations.site_of(each)
            for each, ratio in zip(channels, ratios, strict=True)
            if each.kind != "spring" and ratio < BETTER
        }
        return frozenset(sites & self.equations.options.presliding)

    def has_delay_at_bound(self) -> bool:
        """Whether a delay is as large as the equations can represent, and a lower cut-off helps."""
        parameters, theta = self.parameters, self.fit.theta
        rows = (parameters.names, parameters.free, parameters.upper, theta.tolist())
        at_bound = any(
            free and name.endswith(" delay") and abs(value) > upper * (1.0 - 1e-9)
            for name, free, upper, value in zip(*rows, strict=True)
        )
        return at_bound and self.cutoff > LOWEST_CUTOFF

    def recognised(self) -> SensorErrors:
        """The errors of the encoders that the first fit shows; those known so far if no others."""
        if not (self.settings.friction and self.settings.springs):
            return self.sensors
        return recognised(self.sensors, self.fitted)

    def result(
        self, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> RobotIdentification:
        """All steps after the first fit in order, to the values and their errors."""
        steps = (
            self._leave_out_outliers, self._correct_noise, self._let_drift,
            self._keep_known, self._fit_again, self._judge, self._widen,
        )  # fmt: skip
        is_complete = True
        self.widenings: dict[str, Widening] = {}
        initial = [self.coefficients.of(each, self.prior)[0] for each in self.equations.channels]
        for k, step in enumerate(steps):
            before = deepcopy(self.parameters)
            try:
                progress(k + FITS, STEPS)
                step()
            except KeyboardInterrupt:
                vars(self.parameters).update(vars(before))
                self.notes.append(
                    f"stopped after {k + 1} of {len(steps) + 1} steps: outliers, noise, drift and "
                    "what the recordings do not determine may not have been considered yet"
                )
                is_complete = False
                break
        reader = FittedValues(self.fitted, self.widenings, self.friction)
        robot = reader.robot(self.settings.links)
        robot = replace(robot, delays=self.sensors.with_delays(robot.delays, self.model))
        combinations = reader.combinations() if self.settings.links else {}
        names = self.model.joint_names
        positional = {
            j: self.fitted.values(f"{names[j]}.{kind} of position" for kind in ("sine", "cosine"))
            for j in self.sensors.positional
        }
        self.notes += self.sensors.notes(names, positional)
        self._remark(reader)
        held = self._held_blocks()
        found = RobotIdentification(
            robot,
            combinations,
            self._residuals(self._sums(held), initial),
            tuple(self.notes),
            self.cutoff,
            self.rejected,
            self.plan.share,
            sum(len(block.rows) for block in self.blocks),
            self.bias,
            reader.covariance(),
            self._course(held or self.blocks),
            is_complete,
        )
        progress(STEPS, STEPS)
        return found

    def _held_blocks(self) -> list[Block]:
        """The filtered equations of the runs that were held out, with their own zeros of encoders
        that differ from run to run."""
        if not self.held:
            return []
        sensors = self.sensors.of_others(len(self.held))
        for _ in range(1 + sensors.is_shifted):
            plan = FilterPlan(sensors.corrected(self.held), self.cutoff)
            held = filtered_blocks(self.equations, plan, plan.pieces, self.middle)
            sensors = shifted(sensors, self.fitted._replace(blocks=held))
        return held

    @property
    def start(self) -> Start:
        """What another identification may begin with."""
        rows = zip(self.parameters.names, self.fit.theta.tolist(), strict=True)
        return Start(dict(rows), self.equations.options.presliding)

    def _values_from(self, start: Start) -> Array:
        """The initial values of the parameters, with those of a start where it has them."""
        theta = self.prior.copy()
        renewed = self.equations.options.presliding ^ start.presliding
        kept = {f"{site}.coulomb_velocity" for site in renewed}
        for k, (name, free) in enumerate(
            zip(self.parameters.names, self.parameters.free, strict=True)
        ):
            if free and name in start.values and name not in kept:
                theta[k] = start.values[name]
        return theta

    def _fit_first(self, begin: Array | None = None) -> None:
        """The fit from the prior, or `begin`; with friction that depends on the load, repeated with
        the torques of the robot and its payloads as identified so far."""
        self._fit(self.sums, begin)
        for _ in range(LOADS * self.settings.load_friction):
            N = self.model.body_count
            rows = self.fit.theta[: 10 * (N + len(self.payloads))].reshape(-1, 10)
            own = rows[:N]
            self.equations.loaded[""] = with_inertial_parameters(self.model, own.ravel())
            for load, (name, body) in zip(rows[N:], self.equations.payloads.items(), strict=True):
                carried = own.copy()
                carried[body] += load
                self.equations.loaded[name] = with_inertial_parameters(self.model, carried.ravel())
            self.blocks, _ = self._filtered()
            self.sums = self._sums(self.blocks)
            self._fit(self.sums, self.fit.theta)

    def _fit(self, sums: EquationSums, begin: Array | None = None) -> None:
        """A fit from `begin`; with Stribeck friction, the more likely of this and a fit that begins
        at the velocities of friction that a search over all of them finds."""
        solver = LeastSquares(sums, self.coefficients, spectral=self.settings.spectral)
        fit = solver.fit(begin)
        if self.settings.stribeck:
            searched = searched_friction(self.coefficients, sums, fit.theta)
            if searched is not None:
                fit = min(fit, solver.fit(searched), key=solver.cost)
        self.solver, self.fit = solver, fit

    def _sums(self, blocks: Sequence[Block], longest: int | None = None) -> EquationSums:
        return sums_of(self.equations, blocks, self.plan.filters[0].equations, longest)

    def _leave_out_outliers(self) -> None:
        """The fit without samples that do not follow the equations."""
        reach, used = reach_of(self.plan.filters[0]), self.blocks
        for _ in range(REJECTIONS * self.settings.robust):
            kept, share = without_outliers(self.equations, self.blocks, self.fit.z, reach)
            if share <= self.rejected:
                break
            self._require_enough(kept)
            sums = self._sums(kept)
            solver = self.solver.of_others(sums)
            fit = solver.fit(self.fit.theta)
            before, after = self._counts(self.blocks), self._counts(kept)
            lost = 1.0 - after / np.maximum(before, 1)
            worst = self.equations.channels[int(lost.argmax())]
            self.contact = f"most of all at {self.equations.site_of(worst)}, {lost.max():.1%}"
            self.sums, self.solver, self.fit, self.rejected = sums, solver, fit, share
            used = kept
        self.blocks = used

    def _counts(self, blocks: Sequence[Block]) -> Array:
        """(channels,) samples that are used."""
        return np.sum([block.used.sum(axis=0) for block in blocks], axis=0)

    def _filtered(self) -> tuple[list[Block], frozenset[str]]:
        """The filtered equations without those of joints that hardly move, and the sites of their
        friction. Raises InputError if no joint moves."""
        blocks = filtered_blocks(self.equations, self.plan, self.plan.pieces, self.middle)
        if not blocks:
            raise InputError(f"no stretch is long enough for the filter at {self.cutoff:g} Hz")
        channels, counts = self.equations.channels, self._counts(blocks)
        few = (counts < [channel.unknowns for channel in channels]) | self._slow()
        if few.all():
            joint = self.model.joint_names[channels[0].joint]
            raise InputError(
                f"joint '{joint}': {int(counts[0])} samples in motion remain after filtering at "
                f"{self.cutoff:g} Hz, for {channels[0].unknowns} coefficients, and no other joint "
                "has enough: use longer recordings or a higher cut-off"
            )
        friction = [channel for channel in channels if channel.kind != "spring"]
        resting, moving = (
            {
                self.equations.site_of(each)
                for each, lacks in zip(channels, few.tolist(), strict=True)
                if lacks is wanted and each in friction
            }
            for wanted in (True, False)
        )
        for site in sorted(resting - moving):
            text = f"{site}: did not move: its friction and its other parameters stay as known"
            if text not in self.notes:
                self.notes.append(text)
        kept = [replace(block, used=block.used & ~few) for block in blocks]
        return kept, frozenset(resting - moving)

    def _slow(self) -> NDArray[np.bool_]:
        """(channels,) whose joint hardly moves beside others of its type: what it says of friction
        would not hold at any speed that matters."""
        types = self.model.joint_types
        speeds = [
            0.0 if each.kind == "spring" else self.equations.nodes_of(each).speed
            for each in self.equations.channels
        ]
        fastest: dict[str, float] = {}
        for channel, speed in zip(self.equations.channels, speeds, strict=True):
            kind = types[channel.joint]
            fastest[kind] = max(fastest.get(kind, 0.0), speed)
        return np.array(
            [
                each.kind != "spring" and speed < HARDLY * fastest[types[each.joint]]
                for each, speed in zip(self.equations.channels, speeds, strict=True)
            ]
        )

    def _require_enough(self, kept: Sequence[Block]) -> None:
        """Raise InputError if too few samples are left without outliers."""
        before, after = self._counts(self.blocks), self._counts(kept)
        for channel, had, count in zip(self.equations.channels, before, after, strict=True):
            if had and count < channel.unknowns:
                raise InputError(
                    f"joint '{self.model.joint_names[channel.joint]}': {int(count)} samples that "
                    "follow the equations remain, for "
                    f"{channel.unknowns} coefficients: use longer recordings, or keep outliers"
                )

    def _correct_noise(self) -> None:
        """The fit without the effect of the noise of the positions, and how large that was."""
        noise = [position_noise(run) for run in self.runs]
        reconstructed = self.equations.is_elastic & ~self.equations.has_deflection
        if reconstructed.any() or not any(row.any() for rows in noise for row in rows):
            return
        pieces, longest = self.plan.first(NOISE_SAMPLES), self.sums.longest
        parts = [
            self._sums(
                filtered_blocks(self.equations, self.plan, pieces, self.middle, given, seed),
                longest,
            )
            for given, seed in ((None, 0), (noise, 1), (noise, -1))
        ]
        clean = self.sums.copied()
        clean.subtract_noise(parts[0], parts[1:])
        solver = self.solver.of_others(clean, noisy=self.sums)
        try:
            better = solver.fit(self.fit.theta)
        except DynamicsError:
            self.notes.append(
                f"the noise of the positions is too large to be corrected at {self.cutoff:.3g} Hz: "
                "choose a lower cut-off"
            )
            return
        free = np.flatnonzero(np.array(self.parameters.free))
        errors = solver.uncertainties(better, np.eye(len(better.theta))[free])
        moved = np.abs(better.theta - self.fit.theta)[free]
        shares = (
            by / each.error for by, each in zip(moved.tolist(), errors, strict=True)
            if each.determined and each.error > 0.0
        )  # fmt: skip
        self.solver, self.fit, self.bias = solver, better, float(max(shares, default=0.0))

    def _let_drift(self) -> None:
        """The fit with friction that changes linearly in time, where such a change is significant,
        and a note about it; the parameters are then those at the middle of the time. Not of joints
        with effects of drives: their laws are approximate, and drift would hide their errors."""
        parameters, index = self.parameters, self.parameters.index
        equations = self.equations
        steady = {
            equations.site_of(each)
            for each in equations.channels
            if each.joint in equations.effects
        } | equations.options.presliding
        names = [
            name
            for name in parameters.names
            if name.endswith(" drift") and name.rpartition(".")[0] not in steady
        ]
        if not names:
            return
        for name in names:
            site = name.rpartition(".")[0]
            parameters.free[index[name]] = parameters.free[index[f"{site}.viscous"]]
        drifting = self.solver.renewed()
        fit = drifting.fit(self.fit.theta)
        errors = FittedModel(self.blocks, drifting, fit).uncertainties(names)
        significant, notes = [], []
        for name, each in zip(names, errors, strict=True):
            site, _, kind = name.removesuffix(" drift").rpartition(".")
            base = float(fit.theta[index[f"{site}.{kind}"]])
            change = float(fit.theta[index[name]])
            moves = each.determined and abs(change) > DRIFT_SIGNIFICANCE * each.error
            if moves and abs(change) > LARGEST_DRIFT * abs(base):
                notes.append(
                    f"{site}: {kind} friction would change by {change / base:+.0%} within "
                    f"{self.middle[1]:.3g} s, which no friction does: this was not fitted; another "
                    "effect is missing in the model, such as friction that depends on the load"
                    if base
                    else f"{site}: {kind} friction of zero would change in time: not fitted"
                )
            elif moves and abs(change) > DRIFT_SIZE * abs(base):
                significant.append(name)
                share = f" ({change / base:+.0%})" if base else ""
                notes.append(
                    f"{site}: {kind} friction changed by {change:+.3g} +- {each.error:.1g}{share} "
                    f"from the first to the last of {self.middle[1]:.3g} s: perhaps with "
                    "temperature; values are those at the middle"
                )
        for name in names:
            parameters.free[index[name]] = name in significant
        solver = self.solver.renewed()
        if significant:
            self.fit = solver.fit(self.fit.theta)
        self.solver = solver
        self.notes += notes

    def _keep_known(self) -> None:
        """The fit in which what the recordings do not determine is as known before: of friction at
        one site first the velocity of Coulomb friction, without which the sizes may be certain, and
        then the least certain size; of the springs of one joint, the least certain coefficient,
        without which the others may be."""
        parameters, index, prior = self.parameters, self.parameters.index, self.prior
        channels = [each for each in self.equations.channels if each.kind != "spring"]
        sites = dict.fromkeys(map(self.equations.site_of, channels))
        kinds = (*FRICTION, "coulomb_velocity")
        solver, fit = self._without_hidden(), self.fit
        if solver is not self.solver:
            fit = solver.fit(self._at_prior(fit.theta))
        while True:
            names = [
                name
                for name in (f"{site}.{kind}" for site in sites for kind in kinds)
                if parameters.free[index[name]]
            ]
            found = FittedModel(self.blocks, solver, fit).uncertainties(names) if names else ()
            doubtful: dict[str, tuple[float, str]] = {}
            vague: set[str] = set()
            for name, each in zip(names, found, strict=True):
                if each.determined:
                    continue
                site, _, kind = name.rpartition(".")
                if kind == "coulomb_velocity":
                    vague.add(site)
                else:
                    doubt = each.error / parameters.spread[index[name]], kind
                    doubtful[site] = max(doubtful.get(site, doubt), doubt)
            if not doubtful and not self._keep_springs(solver, fit):
                self.solver, self.fit = solver, fit
                return
            for site, (_, kind) in doubtful.items():
                velocity = f"{site}.coulomb_velocity"
                is_shared = parameters.free[index[f"{site}.load"]]
                comes_first = site in vague and not is_shared
                if comes_first or (kind == "coulomb" and not is_shared):
                    parameters.keep(velocity, float(np.exp(prior[index[velocity]])))
                if not comes_first:
                    parameters.keep(f"{site}.{kind}", float(prior[index[f"{site}.{kind}"]]))
            solver = solver.renewed()
            fit = solver.fit(self._at_prior(fit.theta))

    def _keep_springs(self, solver: LeastSquares, fit: Fit) -> bool:
        """Keep, for the springs of each joint, the coefficient with the largest relative error, if
        it has not been determined, or has a large error and does not contradict the one known
        before; whether there was one."""
        parameters, index, is_vague = self.parameters, self.parameters.index, False
        for springs in filter(None, self.equations.springs):
            names = [name for name in springs.names if parameters.free[index[name]]]
            vague = []
            found = FittedModel(self.blocks, solver, fit).uncertainties(names) if names else ()
            for name, (error, is_determined) in zip(names, found, strict=True):
                value, known = float(fit.theta[index[name]]), float(self.prior[index[name]])
                share = error / max(abs(value), abs(known), 1e-300)
                agrees = abs(value - known) < CONTRADICTING * error
                if not is_determined or (share > VAGUE and agrees):
                    text = f"{name} {value:.3g} +- {error:.1g} is no better known than the"
                    vague.append((share, name, known, f"{text} {known:.3g} known before"))
            if vague:
                _, name, known, text = max(vague)
                parameters.keep(name, known)
                self.notes.append(f"{text}, which is kept")
                is_vague = True
        return is_vague

    def _at_prior(self, theta: Array) -> Array:
        """theta with the values known before of the parameters that are no longer identified."""
        kept = [self.parameters.index[name] for name in self.parameters.kept]
        found = theta.copy()
        found[kept] = self.prior[kept]
        return found

    def _without_hidden(self) -> LeastSquares:
        """The solver without what errors of the encoders hide: friction of the link, and damping of
        the spring."""
        parameters, index = self.parameters, self.parameters.index
        names: list[str] = []
        for j, joint in enumerate(self.model.joint_names):
            if self.equations.springs[j] is not None and self.sensors.has(j):
                names += [f"link {joint}.{kind}" for kind in (*FRICTION, "coulomb_velocity")]
                names.append(f"{joint}.damping")
        names = [name for name in names if parameters.free[index[name]]]
        for name in names:
            value = float(self.prior[index[name]])
            parameters.keep(name, float(np.exp(value)) if name.endswith("_velocity") else value)
        return self.solver.renewed() if names else self.solver

    def _fit_again(self) -> None:
        """A last fit with the prior centred on the result of the one before, so that a wrong data
        sheet does not pull the result towards itself (see `equation_sums`)."""
        self.parameters.mean[:] = self.fit.theta.tolist()
        solver = self.solver.renewed(repeated=True)
        self.fit = solver.fit(self.fit.theta)
        self.solver = solver

    def _judge(self) -> None:
        """Errors that include those of the model, where it lacks an effect, and which this may
        be."""
        found = misfit(self.fitted)
        doubts = self.doubts[:, np.array(self.parameters.free)]
        deviations = np.vstack([doubts, found.deviations[: None if found.is_significant else 0]])
        self.solver = self.solver.renewed(repeated=True, misfit=deviations)
        if not found.is_significant:
            return
        self.notes.append(
            "the model lacks an effect: without one segment of the recordings, parameters change "
            f"{found.ratio**0.5:.1f} times as much as noise explains; stated errors include this"
        )
        for k, channel in enumerate(self.equations.channels):
            named = [
                f"{share:.0%} like {NAMES[name]}"
                for name, share in explained(self.fitted, k).items()
                if share > NOTABLE
            ]
            if named:
                site = self.equations.site_of(channel)
                self.notes.append(f"{site}: its residual is {' and '.join(named)}")

    def _widen(self) -> None:
        """How much wider the intervals of friction are than those of a quadratic likelihood."""
        self.widenings = friction_widenings(self.fitted)

    def _remark(self, reader: FittedValues) -> None:
        """Notes about the data and about what they do not determine."""
        if self.rejected > 0.0:
            self.notes.append(
                f"{self.rejected:.1%} of the samples do not follow the equations (contacts, "
                f"outliers) and were left out, {self.contact}"
            )
        if self.bias > SMALL_BIAS:
            self.notes.append(
                f"the noise of the positions shifted parameters by up to {self.bias:.2g} standard "
                f"errors at {self.cutoff:.3g} Hz: corrected"
            )
        if self.plan.share < 1.0:
            self.notes.append(
                f"{self.plan.share:.0%} of the recordings were used, evenly spread, to bound the "
                "memory"
            )
        self.notes += reader.indistinguishable()
        if not self.fit.is_settled:
            self.notes.append(
                f"the search ended after {ROUNDS} rounds, before the parameters had settled: they "
                "may be further off than stated; record richer motions, or identify fewer of them"
            )

    def _scale(self, channel: Channel) -> float:
        """From the unit of the noise of an equation to that of torques: the gain of a current."""
        if channel.kind not in ("rigid", "motor") or not self.gains[channel.motor]:
            return 1.0
        gain = self.parameters.index[f"{self.motor_names[channel.motor]}.log gain"]
        return float(np.exp(self.fit.theta[gain]))

    def _residuals(
        self, held: EquationSums, initial: Sequence[Array]
    ) -> tuple[ChannelResidual, ...]:
        residuals = []
        for j, channel in enumerate(self.equations.channels):
            own = channel.kind in ("rigid", "motor")
            name = self.motor_names[channel.motor] if own else self.model.joint_names[channel.joint]
            unit = "N" if self.model.joint_types[channel.joint] == "prismatic" else "N m"
            figures = []
            for each in (self.sums, held):
                count, G = each.counts[j].sum(), each.sums[j].sum(axis=0)
                for z in (left_side(channel, self.fit.z[j]), initial[j], self.fit.z[j]):
                    rms = np.sqrt(max(z @ G @ z, 0.0) / count) if count else np.nan
                    figures.append(self._scale(channel) * float(rms))
            residuals.append(ChannelResidual(name, channel.kind, unit, *figures))
        return tuple(residuals)

    def _course(self, blocks: Sequence[Block]) -> Course:
        last = [block for block in blocks if block.run == blocks[-1].run]
        channels, z = self.equations.channels, self.fit.z
        left = [left_side(channel, each) for channel, each in zip(channels, z, strict=True)]
        scale = np.array([self._scale(channel) for channel in channels])
        measured, errors = (
            scale * np.concatenate([residuals_of(self.equations, block, each) for block in last])
            for each in (left, z)
        )
        times = np.concatenate([block.rows[:, 0] for block in last])
        return Course(times, measured, measured - errors)


def _payloads(model: MultibodyModel, runs: Sequence[MeasuredRun]) -> list[CarriedPayload]:
    """The different payloads. Raises InputError for different ones with one name."""
    found: dict[str, CarriedPayload] = {}
    for run in runs:
        if run.payload is None:
            continue
        body = run.payload.body or model.body_names[-1]
        each = CarriedPayload(run.payload.name, run.payload.mass, body)
        if found.setdefault(each.name, each) != each:
            raise InputError(
                f"run '{run.name}': payload '{each.name}' has a different mass or body than in "
                "an earlier run"
            )
    return list(found.values())


def _travel(runs: Sequence[MeasuredRun], n: int, actuators: Actuators | None) -> Array:
    """(n,) half the ranges of the deflections, rad; 0 where they were not measured."""
    found = np.zeros(n)
    if actuators is None:
        return found
    for j, i in enumerate(actuators.first_motor.tolist()):
        rows = [
            run.theta[:, i] - run.q[:, j]
            for run in runs
            if run.q is not None and run.theta is not None
        ]
        if rows and np.isfinite(every := np.concatenate(rows)).any():
            found[j] = 0.5 * float(np.ptp(np.nanpercentile(every, RANGE)))
    return found


def _cutoff(runs: Sequence[MeasuredRun]) -> float:
    """Hz, above which the motion is typically lost in the noise."""
    found = []
    for run in runs:
        longest = max(run.stretches, key=lambda part: part.stop - part.start)
        rows = run.position[longest]
        moving = rows[:, ~np.isnan(rows).any(axis=0)]
        found.append(float(noise_cutoff(moving, run.rate).max()))
    slowest = min(run.rate for run in runs)
    highest = min(HIGHEST_CUTOFF, 0.5 * HIGHEST * slowest)
    return float(np.clip(np.median(found), min(LOWEST_CUTOFF, highest), highest))


def _speeds(runs: Sequence[MeasuredRun], cutoff: float, n: int, m: int) -> list[Array]:
    """rms velocities (n,) of links and (m,) of motors."""
    powers, count = [np.zeros(n), np.zeros(m)], 0
    for run in runs:
        lag = max(int(run.rate / (4.0 * cutoff)), 1)
        for stretch in run.stretches:
            for power, rows in zip(powers, (run.q, run.theta), strict=True):
                part = (run.position if rows is None else rows)[stretch]
                if part.shape[1] == run.position.shape[1]:
                    part = np.where(np.isnan(part), run.position[stretch], part)
                step = (part[lag:] - part[:-lag]) * (run.rate / lag)
                moved = np.nansum(step**2, axis=0)
                power += moved if len(moved) == len(power) else moved.mean()
            count += max(stretch.stop - stretch.start - lag, 0)
    return [np.sqrt(power / max(count, 1)) for power in powers]
