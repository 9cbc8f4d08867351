# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joint identification of links, friction, motors, drive gains, springs and delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...core import Array, DynamicsError, InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..bodies.joint_friction import JointFriction
from ..bodies.regressor import with_inertial_parameters
from ..signals.differentiation import HIGHEST, noise_cutoff
from .drive_equations import (
    DriveEquations,
    Options,
    motor_names,
    sources_of,
)
from .drive_parameters import FRICTION, Coefficients
from .equation_sums import ROUNDS, EquationSums, Fit, LeastSquares, left_side
from .filtered_rows import (
    NOISE_SAMPLES,
    Block,
    Plan,
    filtered_blocks,
    position_noise,
    reach_of,
    residuals_of,
    sums_of,
    without_outliers,
)
from .friction_profiles import friction_widenings
from .friction_search import searched_friction
from .identified_covariance import IdentifiedCovariance
from .identified_robot import IdentifiedRobot, IdentifiedValue
from .identified_values import Reader
from .measured_run import CarriedPayload, MeasuredRun
from .prior_parameters import IdentificationSettings, PriorParameters

LOWEST_CUTOFF, HIGHEST_CUTOFF = 2.0, 25.0  # Hz, range of cut-offs chosen from the data
LOADS = 2  # rounds in which friction that depends on the load takes the load from the last fit
REJECTIONS = 2  # rounds of leaving out outliers
SMALL_BIAS = 0.1  # standard errors: a smaller bias is not reported
DRIFT_SIGNIFICANCE = 4.0  # standard errors
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
    cannot be computed. covariance : of all parameters together. course : for plots.
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
    course: Course | None = field(default=None, repr=False)


def identify_robot(
    model: MultibodyModel,
    runs: Sequence[MeasuredRun],
    actuators: Actuators | None = None,
    *,
    friction: JointFriction | None = None,
    held_out: Sequence[MeasuredRun] = (),
    settings: IdentificationSettings | None = None,
) -> RobotIdentification:
    """Identify links, friction, motors and springs together, from whatever was measured.

    model, actuators : the robot as known so far, with the initial values of all parameters. Without
        actuators, all joints are rigid, and their friction is that of the links.
    friction : of the links as known so far, none by default: the initial values, or, if the
        settings exclude friction, those that are kept.
    runs : recordings to fit; held_out : recordings to judge the result on.

    Raises InputError, naming joint and run, for missing signals, different rates, and too few
    samples.
    """
    return _Identification(model, runs, actuators, friction, held_out, settings).result()


class _Identification:
    """The steps of one identification."""

    def __init__(
        self,
        model: MultibodyModel,
        runs: Sequence[MeasuredRun],
        actuators: Actuators | None,
        friction: JointFriction | None,
        held_out: Sequence[MeasuredRun],
        settings: IdentificationSettings | None,
    ) -> None:
        self.model, self.runs, self.actuators = model, [*runs], actuators
        self.friction = friction or JointFriction.none(model.n)
        self.held, self.settings = [*held_out], settings or IdentificationSettings()
        self.notes: list[str] = []
        everything = [*self.runs, *self.held]
        self.motor_names = motor_names(model, actuators)
        sources = sources_of(everything, model.n, len(self.motor_names))
        self.payloads = _payloads(model, everything)
        self.cutoff = self.settings.cutoff or _cutoff(self.runs)
        self.plan = Plan(self.runs, self.cutoff)
        self.equations = DriveEquations(
            model,
            actuators,
            sources,
            _speeds(self.runs, self.cutoff, model.n, len(self.motor_names)),
            {each.name: model.body_index(each.body) for each in self.payloads},
            Options(self.settings.stribeck, self.settings.load_friction),
            None if self.settings.friction else self.friction,
        )
        self.gains = sources.current & ~sources.motor_torque
        ends = [run.start + len(run.position) / run.rate for run in self.runs]
        begin = min(run.start for run in self.runs)
        self.middle = (0.5 * (begin + max(ends)), max(max(ends) - begin, 1e-3))

    def result(self) -> RobotIdentification:
        """All steps in order."""
        plan = self.plan
        blocks = filtered_blocks(self.equations, plan, plan.pieces, self.middle)
        blocks, resting = self._without_resting(blocks)
        sums = self._sums(blocks)
        self.parameters = PriorParameters(
            self.equations, self.settings, self.friction, self.payloads, self.gains, self.cutoff,
            resting,
        ).of(sums)  # fmt: skip
        prior = [*self.parameters.mean]
        self.coefficients = Coefficients(self.equations, self.parameters, self.gains)
        initial = [
            self.coefficients.of(each, np.array(self.parameters.mean))[0]
            for each in self.equations.channels
        ]
        fit = self._fitted(sums)
        if self.settings.load_friction:
            for _ in range(LOADS):
                self._take_loads(fit)
                blocks = filtered_blocks(self.equations, plan, plan.pieces, self.middle)
                blocks, _ = self._without_resting(blocks)
                sums = self._sums(blocks)
                fit = self._fitted(sums, fit.theta)
        sums, fit, rejected = self._without_outliers(blocks, sums, fit)
        solver, fit, bias = self._without_noise(sums, fit)
        solver, fit = self._with_known(*self._with_drift(solver, fit), prior)
        solver, fit = self._again(solver, fit)
        widenings = friction_widenings(
            self.equations, self.coefficients, self.parameters, solver, fit
        )
        reader = Reader(
            self.equations, self.parameters, solver, fit, self.gains, widenings, self.friction
        )
        robot = reader.robot(self.settings.links)
        combinations = reader.combinations() if self.settings.links else {}
        self._remark(rejected, bias, reader)
        if not fit.is_settled:
            self.notes.append(
                f"the search ended after {ROUNDS} rounds, before the parameters had settled: they "
                "may be further off than stated; record richer motions, or identify fewer of them"
            )
        held = filtered_blocks(
            self.equations, held_plan := Plan(self.held or self.runs, self.cutoff),
            held_plan.pieces, self.middle,
        ) if self.held else []  # fmt: skip
        return RobotIdentification(
            robot,
            combinations,
            self._residuals(sums, self._sums(held), initial, fit),
            tuple(self.notes),
            self.cutoff,
            rejected,
            plan.share,
            sum(len(block.rows) for block in blocks),
            bias,
            reader.covariance(),
            self._course([each for each in held or blocks], fit),
        )

    def _fitted(self, sums: EquationSums, begin: Array | None = None) -> Fit:
        """A fit from `begin`; with Stribeck friction, the more likely of this and a fit that begins
        at the velocities of friction that a search over all of them finds."""
        solver = self._solver(sums, sums)
        fit = solver.fit(begin)
        if not self.settings.stribeck:
            return fit
        searched = searched_friction(
            self.equations, self.coefficients, self.parameters, sums, fit.theta
        )
        return fit if searched is None else min(fit, solver.fit(searched), key=solver.cost)

    def _sums(self, blocks: Sequence[Block], longest: int | None = None) -> EquationSums:
        return sums_of(self.equations, blocks, self.plan.filters[0].equations, longest)

    def _take_loads(self, fit: Fit) -> None:
        """Let friction depend on the torques of the robot and its payloads as identified so far."""
        N = self.model.body_count
        rows = fit.theta[: 10 * (N + len(self.payloads))].reshape(-1, 10)
        own = rows[:N]
        bodies = list(self.equations.payloads.items())
        for k, (name, body) in enumerate([("", 0), *bodies]):
            carried = own.copy()
            if k:
                carried[body] += rows[N + k - 1]
            self.equations.loaded[name] = with_inertial_parameters(self.model, carried.ravel())

    def _without_outliers(
        self, blocks: Sequence[Block], sums: EquationSums, fit: Fit
    ) -> tuple[EquationSums, Fit, float]:
        """Sums and fit without samples that do not follow the equations, and their share."""
        rejected, reach = 0.0, reach_of(self.plan.filters[0])
        for _ in range(REJECTIONS * self.settings.robust):
            kept, share = without_outliers(self.equations, blocks, fit.z, reach)
            if share <= rejected:
                break
            rejected = share
            sums = self._sums(self._enough(kept, blocks))
            fit = self._solver(sums, sums).fit(fit.theta)
        return sums, fit, rejected

    def _counts(self, blocks: Sequence[Block]) -> Array:
        """(channels,) samples that are used."""
        return np.sum([block.used.sum(axis=0) for block in blocks], axis=0)

    def _without_resting(self, blocks: Sequence[Block]) -> tuple[list[Block], frozenset[str]]:
        """The blocks without the equations of joints that hardly move, and the sites of their
        friction. Raises InputError if no joint moves."""
        if not blocks:
            raise InputError(f"no stretch is long enough for the filter at {self.cutoff:g} Hz")
        channels, counts = self.equations.channels, self._counts(blocks)
        few = counts < [channel.unknowns for channel in channels]
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

    def _enough(self, kept: Sequence[Block], blocks: Sequence[Block]) -> Sequence[Block]:
        """The blocks without outliers. Raises InputError if these leave too few samples."""
        before, after = self._counts(blocks), self._counts(kept)
        for channel, had, count in zip(self.equations.channels, before, after, strict=True):
            if had and count < channel.unknowns:
                raise InputError(
                    f"joint '{self.model.joint_names[channel.joint]}': {int(count)} samples that "
                    "follow the equations remain, for "
                    f"{channel.unknowns} coefficients: use longer recordings, or keep outliers"
                )
        return kept

    def _solver(self, sums: EquationSums, noisy: EquationSums) -> LeastSquares:
        return LeastSquares(
            sums, self.coefficients, self.parameters, spectral=self.settings.spectral, noisy=noisy
        )

    def _without_noise(self, sums: EquationSums, fit: Fit) -> tuple[LeastSquares, Fit, float]:
        """The fit without the effect of the noise of the positions, and how large that was."""
        noise = [position_noise(run) for run in self.runs]
        reconstructed = self.equations.is_elastic & ~self.equations.has_deflection
        if reconstructed.any() or not any(row.any() for rows in noise for row in rows):
            return self._solver(sums, sums), fit, 0.0
        pieces = self.plan.first(NOISE_SAMPLES)
        parts = [
            self._sums(
                filtered_blocks(self.equations, self.plan, pieces, self.middle, given, seed),
                sums.longest,
            )
            for given, seed in ((None, 0), (noise, 1), (noise, -1))
        ]
        clean = sums.copied()
        clean.less_noise(parts[0], parts[1:])
        solver = self._solver(clean, sums)
        try:
            better = solver.fit(fit.theta)
        except DynamicsError:
            self.notes.append(
                f"the noise of the positions is too large to be corrected at {self.cutoff:.3g} Hz: "
                "choose a lower cut-off"
            )
            return self._solver(sums, sums), fit, 0.0
        free = np.flatnonzero(np.array(self.parameters.free))
        rows = np.eye(len(fit.theta))[free]
        errors = solver.uncertainties(better, rows)
        moved = (better.theta - fit.theta)[free]
        worst = max(
            (abs(by) / each.error for by, each in zip(moved, errors, strict=True)
             if each.determined and each.error > 0.0),
            default=0.0,
        )  # fmt: skip
        return solver, better, float(worst)

    def _with_drift(self, solver: LeastSquares, fit: Fit) -> tuple[LeastSquares, Fit]:
        """The fit with friction that changes linearly in time, where such a change is significant,
        and a note about it; the parameters are then those at the middle of the time."""
        names = [name for name in self.parameters.names if name.endswith(" drift")]
        index = self.parameters.index
        for name in names:
            site = name.rpartition(".")[0]
            self.parameters.free[index[name]] = self.parameters.free[index[f"{site}.viscous"]]
        drifting = LeastSquares(
            solver._sums, self.coefficients, self.parameters,
            spectral=self.settings.spectral, noisy=solver._noisy,
        )  # fmt: skip
        found = drifting.fit(fit.theta)
        rows = np.zeros((len(names), len(fit.theta)))
        for k, name in enumerate(names):
            rows[k, index[name]] = 1.0
        errors = drifting.uncertainties(found, rows)
        significant = []
        for name, each in zip(names, errors, strict=True):
            site, _, kind = name.rpartition(".")
            side, _, joint = site.partition(" ")
            base = float(found.theta[index[f"{site}.{kind.removesuffix(' drift')}"]])
            change = float(found.theta[index[name]])
            moves = each.determined and abs(change) > DRIFT_SIGNIFICANCE * each.error
            if moves and abs(change) > DRIFT_SIZE * abs(base):
                significant.append(name)
                share = f" ({change / base:+.0%})" if base else ""
                self.notes.append(
                    f"{side} {joint}: {kind.removesuffix(' drift')} friction changed by "
                    f"{change:+.3g} +- {each.error:.1g}{share} from the first to "
                    f"the last of {self.middle[1]:.3g} s: perhaps with temperature; values "
                    "are those at the middle"
                )
        for name in names:
            self.parameters.free[index[name]] = name in significant
        if not significant:
            return LeastSquares(
                solver._sums, self.coefficients, self.parameters,
                spectral=self.settings.spectral, noisy=solver._noisy,
            ), fit  # fmt: skip
        kept = LeastSquares(
            solver._sums, self.coefficients, self.parameters,
            spectral=self.settings.spectral, noisy=solver._noisy,
        )  # fmt: skip
        return kept, kept.fit(fit.theta)

    def _with_known(
        self, solver: LeastSquares, fit: Fit, prior: Sequence[float]
    ) -> tuple[LeastSquares, Fit]:
        """The fit in which friction that the recordings do not determine is as known before. Of one
        site, the least certain parameter comes first: the others may be certain without it."""
        index = self.parameters.index
        channels = [each for each in self.equations.channels if each.kind != "spring"]
        sites = dict.fromkeys(map(self.equations.site_of, channels))
        while True:
            names = [
                name
                for name in (f"{site}.{kind}" for site in sites for kind in FRICTION)
                if self.parameters.free[index[name]]
            ]
            rows = np.eye(len(fit.theta))[[index[name] for name in names]]
            doubtful: dict[str, tuple[float, str]] = {}
            for name, each in zip(
                names, solver.uncertainties(fit, rows) if names else (), strict=True
            ):
                if not each.determined:
                    doubt = each.error / self.parameters.spread[index[name]], name
                    site = name.rpartition(".")[0]
                    doubtful[site] = max(doubtful.get(site, doubt), doubt)
            if not doubtful:
                return solver, fit
            for site, (_, name) in doubtful.items():
                self.parameters.keep(name, prior[index[name]])
                velocity = f"{site}.coulomb_velocity"
                if name.endswith(".coulomb") and not self.parameters.free[index[f"{site}.load"]]:
                    self.parameters.keep(velocity, float(np.exp(prior[index[velocity]])))
            solver = LeastSquares(
                solver._sums, self.coefficients, self.parameters,
                spectral=self.settings.spectral, noisy=solver._noisy,
            )  # fmt: skip
            kept = [index[name] for name in self.parameters.kept]
            theta = fit.theta.copy()
            theta[kept] = np.array(prior)[kept]
            fit = solver.fit(theta)

    def _again(self, solver: LeastSquares, fit: Fit) -> tuple[LeastSquares, Fit]:
        """A last fit with the prior centred on the result of the one before, so that a wrong data
        sheet does not pull the result towards itself (see `equation_sums`)."""
        self.parameters.mean[:] = fit.theta.tolist()
        last = LeastSquares(
            solver._sums, self.coefficients, self.parameters,
            spectral=self.settings.spectral, noisy=solver._noisy, repeated=True,
        )  # fmt: skip
        return last, last.fit(fit.theta)

    def _remark(self, rejected: float, bias: float, reader: Reader) -> None:
        """Notes about the data and about what they do not determine."""
        if rejected > 0.0:
            self.notes.append(
                f"{rejected:.1%} of the samples do not follow the equations (contacts, outliers) "
                "and were left out"
            )
        if bias > SMALL_BIAS:
            self.notes.append(
                f"the noise of the positions shifted parameters by up to {bias:.2g} standard "
                f"errors at {self.cutoff:.3g} Hz: corrected"
            )
        if self.plan.share < 1.0:
            self.notes.append(
                f"{self.plan.share:.0%} of the recordings were used, evenly spread, to bound the "
                "memory"
            )
        self.notes += reader.indistinguishable()

    def _residuals(
        self, sums: EquationSums, held: EquationSums, initial: Sequence[Array], fit: Fit
    ) -> tuple[ChannelResidual, ...]:
        found = []
        for j, channel in enumerate(self.equations.channels):
            left = left_side(channel, fit.z[j])
            figures: list[float] = []
            for each in (sums, held):
                count = each.counts[j].sum()
                G = each.sums[j].sum(axis=0)
                powers = [left @ G @ left, initial[j] @ G @ initial[j], fit.z[j] @ G @ fit.z[j]]
                rms = np.sqrt(np.maximum(powers, 0.0) / count) if count else np.full(3, np.nan)
                figures += rms.tolist()
            joint = self.model.joint_names[channel.joint]
            scale = 1.0
            unit = "N" if self.model.joint_types[channel.joint] == "prismatic" else "N m"
            if channel.kind in ("rigid", "motor"):
                joint = self.motor_names[channel.motor]
                if self.gains[channel.motor]:
                    scale = float(np.exp(fit.theta[self.parameters.index[f"{joint}.log gain"]]))
            size, before, after, *rest = (scale * x for x in figures)
            found.append(ChannelResidual(joint, channel.kind, unit, size, before, after, *rest))
        return tuple(found)

    def _course(self, blocks: Sequence[Block], fit: Fit) -> Course | None:
        last = [block for block in blocks if block.run == blocks[-1].run]
        measured = np.concatenate(
            [
                np.stack(
                    [
                        block.rows[:, place] @ left_side(channel, z)
                        for channel, place, z in zip(
                            self.equations.channels, self.equations.places, fit.z, strict=True
                        )
                    ],
                    axis=1,
                )
                for block in last
            ]
        )
        errors = np.concatenate([residuals_of(self.equations, block, fit.z) for block in last])
        scale = np.ones(measured.shape[1])
        for k, channel in enumerate(self.equations.channels):
            if channel.kind in ("rigid", "motor") and self.gains[channel.motor]:
                name = f"{self.motor_names[channel.motor]}.log gain"
                scale[k] = np.exp(fit.theta[self.parameters.index[name]])
        times = np.concatenate([block.rows[:, 0] for block in last])
        return Course(times, scale * measured, scale * (measured - errors))


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
