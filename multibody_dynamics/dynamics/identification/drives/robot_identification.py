"""The joint identification of links, friction, motors, drive gains, springs and delays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ...core import Array, DynamicsError, InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..bodies.joint_friction import COULOMB_VELOCITY, JointFriction
from ..bodies.regressor import inertial_parameters, with_inertial_parameters
from ..signals.differentiation import HIGHEST, noise_cutoff
from .drive_equations import (
    Channel,
    DriveEquations,
    Options,
    motor_names,
    sources_of,
)
from .drive_parameters import (
    DELAY_SPREAD,
    GAIN_SPREAD,
    LARGEST_PHASE,
    STRIBECK_VELOCITY,
    VELOCITY_SPREAD,
    WIDE,
    Coefficients,
    Parameters,
    add_body,
)
from .equation_sums import EquationSums, Fit, LeastSquares, left_side
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
from .friction_search import searched_friction
from .friction_terms import NODES
from .identified_covariance import IdentifiedCovariance
from .identified_robot import IdentifiedRobot, IdentifiedValue
from .identified_values import Reader
from .measured_run import CarriedPayload, MeasuredRun

LOWEST_CUTOFF, HIGHEST_CUTOFF = 2.0, 25.0  # Hz, range of cut-offs chosen from the data
LOADS = 2  # rounds in which friction that depends on the load takes the load from the last fit
REJECTIONS = 2  # rounds of leaving out outliers
EXPLAINED = 0.3  # share of a current that the links must explain to give an initial gain
PAYLOAD_SIZE = 0.1  # m, rms distance of its mass from its middle along each axis
PAYLOAD_SPREAD = 3.0  # relative standard deviation of its mass and second moments
HEAVIEST = 50.0  # kg, bound for a payload of unknown mass
SMALL_BIAS = 0.1  # standard errors: a smaller bias is not reported
DRIFT_SIGNIFICANCE = 4.0  # standard errors
DRIFT_SIZE = 0.02  # of the rms torque of a joint


class IdentificationSettings(NamedTuple):
    """Settings of :func:`identify_robot`.

    cutoff : Hz, of the equations; None: the frequency above which the motion is lost in the noise
        of the positions, from 2 to 25 Hz, and at most 0.1 of the sampling rate.
    links, friction, rotors, springs, damping, delays : whether to identify them. Otherwise they
        keep their values, and delays are zero.
    prior : relative standard deviation of mass and second moments of the links about their initial
        values.
    mass_range : the mass of each link remains between its initial value divided by 1 + mass_range
        and that value times 1 + mass_range.
    rotor_spread : relative standard deviation of the inertias of rotors known so far.
    stribeck, load_friction : whether friction has these terms.
    gains : N m/A by joint, known or assumed; by default those with which the initial inertias
        explain the currents. They are identified where a payload of known mass was carried.
    robust : leave out samples that do not follow the equations.
    spectral : weight equations at every frequency by the spectra of their residuals. This is
        optimal if the model is right up to noise; otherwise the errors of the model, which vary
        slowly, make it rely on fast motions. By default, each equation has one weight.
    """

    cutoff: float | None = None
    links: bool = True
    friction: bool = True
    rotors: bool = True
    springs: bool = True
    damping: bool = True
    delays: bool = True
    prior: float = 0.5
    mass_range: float = 0.5
    rotor_spread: float = 1.0
    stribeck: bool = False
    load_friction: bool = False
    gains: Mapping[str, float] = {}
    robust: bool = True
    spectral: bool = False


class ChannelResidual(NamedTuple):
    """rms of the residual of one equation of one joint or motor, N m (A without a known gain),
    before and after identification, and standard deviation of its left side: for runs that were
    fitted, and for those that were held out (NaN without any)."""

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
    cannot be computed. covariance : of all parameters together. course : for pictures.
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
    friction : of the links as known so far, none by default: first values, or what the settings
        keep.
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
        plan = Plan(self.runs, self.cutoff)
        self.plan = plan
        blocks = filtered_blocks(self.equations, plan, plan.pieces, self.middle)
        self._require(blocks)
        sums = self._sums(blocks)
        self.parameters = self._parameters(sums)
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
                sums = self._sums(blocks)
                fit = self._fitted(sums, fit.theta)
        sums, fit, rejected = self._without_outliers(blocks, sums, fit)
        solver, fit, bias = self._without_noise(sums, fit)
        solver, fit = self._with_drift(solver, fit)
        reader = Reader(self.equations, self.parameters, solver, fit, self.gains)
        robot = reader.robot(self.settings.links)
        combinations = reader.combinations() if self.settings.links else {}
        self._remark(rejected, bias, reader)
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
        return sums_of(self.equations, blocks, longest)

    def _take_loads(self, fit: Fit) -> None:
        """Let friction depend on the torques of the robot and its payloads as identified so far."""
        rows = fit.theta[: 10 * (self.model.n + len(self.payloads))].reshape(-1, 10)
        own = rows[: self.model.n]
        bodies = list(self.equations.payloads.items())
        for k, (name, body) in enumerate([("", 0), *bodies]):
            carried = own.copy()
            if k:
                carried[body] += rows[self.model.n + k - 1]
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
            self._require(kept)
            sums = self._sums(kept)
            fit = self._solver(sums, sums).fit(fit.theta)
        return sums, fit, rejected

    def _require(self, blocks: Sequence[Block]) -> None:
        counts = sum((block.used.sum(axis=0) for block in blocks), np.zeros(1))
        for channel, count in zip(self.equations.channels, counts.tolist(), strict=False):
            if count < channel.unknowns:
                raise InputError(
                    f"joint '{self.model.joint_names[channel.joint]}': {int(count)} samples in "
                    f"motion remain after filtering at {self.cutoff:g} Hz, for "
                    f"{channel.unknowns} coefficients: use longer recordings or a higher cut-off"
                )
        if not blocks:
            raise InputError(f"no stretch is long enough for the filter at {self.cutoff:g} Hz")

    def _solver(self, sums: EquationSums, noisy: EquationSums) -> LeastSquares:
        return LeastSquares(
            sums, self.coefficients, self.parameters, spectral=self.settings.spectral, noisy=noisy
        )

    def _parameters(self, sums: EquationSums) -> Parameters:
        """All parameters with their priors."""
        model, settings = self.model, self.settings
        parameters = Parameters()
        rows = inertial_parameters(model).reshape(-1, 10)
        for body, ten in zip(model.body_names, rows, strict=True):
            mass, factor = max(float(ten[0]), 1e-3), 1.0 + settings.mass_range
            bounds = (mass / factor, mass * factor) if settings.links else None
            add_body(parameters, body, ten, settings.prior, bounds)
        for payload in self.payloads:
            add_payload(parameters, payload)
        scales = _Scales(self.equations, sums)
        for j, joint in enumerate(model.joint_names):
            for i in self.equations.motors_of(j).tolist():
                self._add_drive(parameters, j, i, scales)
            self._add_link(parameters, joint, j, scales)
            self._add_spring(parameters, joint, j, scales)
        coefficients = Coefficients(self.equations, parameters, self.gains)
        wanted = [
            i for i in np.flatnonzero(self.gains).tolist()
            if self.motor_names[i] not in settings.gains
        ]  # fmt: skip
        found = {i: self._plausible_gain(parameters, coefficients, sums, i) for i in wanted}
        sure = [gain for gain in found.values() if gain is not None]
        sure += [*settings.gains.values()]
        for i, gain in found.items():
            motor = self.motor_names[i]
            if not sure:
                raise InputError(
                    f"joint '{motor}': its current does not follow the torque of the links: check "
                    "its sign, or give a gain in N m/A"
                )
            name = f"{motor}.log gain"
            parameters.mean[parameters.index[name]] = float(np.log(gain or np.median(sure)))
        return parameters

    def _add_drive(self, parameters: Parameters, j: int, i: int, scales: _Scales) -> None:
        """Rotor, friction, gain and delay of a motor."""
        name = self.motor_names[i]
        channels = [each for each in self.equations.channels if each.motor == i]
        driving = [each for each in channels if "inertia" in each.blocks]
        torque = max(scales.motor_torque[i], scales.torque[j])
        rotor = self.actuators.motors[i].inertia if self.actuators else 0.0
        if i == self.equations.motors_of(j)[0]:
            rotor += float(self.model.reflected_inertia[j])
        widest = WIDE * torque / max(scales.acceleration[i], 1e-9)
        spread = self.settings.rotor_spread * rotor if rotor > 0.0 else widest
        parameters.add(f"{name}.inertia", rotor, spread, 0.0, np.inf,
                       free=bool(driving) and self.settings.rotors)  # fmt: skip
        self._add_delay(parameters, f"{name}.command delay", used=bool(driving))
        gain = np.log(self.settings.gains.get(name, 1.0))
        weighed = any(each.mass is not None for each in self.payloads)
        free = bool(self.gains[i]) and weighed and bool(driving)
        parameters.add(f"{name}.log gain", gain, GAIN_SPREAD, free=free)
        used = any(self.equations.side_of(each) == "motor" for each in driving)
        sizes = torque, scales.velocity["motor"][i]
        self._add_friction(parameters, "motor", i, sizes, used=used)

    def _add_link(self, parameters: Parameters, joint: str, j: int, scales: _Scales) -> None:
        """Friction of a link, and the delay of its sensor."""
        channels = [each for each in self.equations.channels if each.joint == j]
        sensed = any("sensor" in each.blocks for each in channels)
        self._add_delay(parameters, f"{joint}.sensor delay", used=sensed)
        used = any(self.equations.side_of(each) == "link" for each in channels
                   if each.kind != "spring")  # fmt: skip
        sizes = scales.torque[j], scales.velocity["link"][j]
        self._add_friction(parameters, "link", j, sizes, used=used)

    def _add_delay(self, parameters: Parameters, name: str, *, used: bool) -> None:
        largest = LARGEST_PHASE / (2.0 * np.pi * self.cutoff)
        free = self.settings.delays and used
        parameters.add(name, 0.0, DELAY_SPREAD, -largest, largest, free=free)

    def _add_friction(
        self, parameters: Parameters, side: str, k: int, sizes: tuple[float, float], *, used: bool
    ) -> None:
        """Friction of link or motor k; sizes : of its torque and velocity."""
        options, nodes = self.settings, self.equations.nodes[side][k]
        names = self.motor_names if side == "motor" else self.model.joint_names
        site, bounds = f"{side} {names[k]}", nodes.bounds
        wide = WIDE * sizes[0]
        slow = wide / max(sizes[1], 1e-9)
        known = self._known_friction(side, k)
        rms = float(np.sqrt(nodes.values[0] * nodes.values[-1]))
        start = known["coulomb_velocity"]
        start = start if nodes.values[0] < start < nodes.values[-1] else rms
        used = used and options.friction
        stribeck = used and options.stribeck
        vs = np.log(STRIBECK_VELOCITY * 7.0 * rms)
        spread = VELOCITY_SPREAD
        parameters.add(f"{site}.viscous", known["viscous"], slow, free=used)
        parameters.add(f"{site}.coulomb", known["coulomb"], wide, free=used)
        parameters.add(f"{site}.coulomb_velocity", np.log(start), spread, *bounds, free=used)
        parameters.add(f"{site}.offset", known["offset"], wide, free=used)
        # A negative one with a large velocity resembles more Coulomb and less viscous friction.
        parameters.add(f"{site}.stribeck", 0.0, wide, 0.0, free=stribeck)
        parameters.add(f"{site}.stribeck_velocity", vs, spread, *bounds, free=stribeck)
        parameters.add(f"{site}.load", 0.0, 1.0, free=used and options.load_friction)
        parameters.add(f"{site}.viscous drift", 0.0, slow, free=False)
        parameters.add(f"{site}.coulomb drift", 0.0, wide, free=False)

    def _known_friction(self, side: str, j: int) -> dict[str, float]:
        """Friction of link or motor j as known so far; that of links which is kept is in the
        equations themselves."""
        names = ("viscous", "coulomb", "coulomb_velocity", "offset")
        if side == "motor":
            motor = self.actuators.motors[j] if self.actuators else None
            return {name: getattr(motor, name, 0.0) for name in names}
        if not self.settings.friction:
            return dict.fromkeys(names, 0.0)
        known = self.friction
        velocity = 2.0 / known.steepness[j] if known.steepness[j] > 0.0 else COULOMB_VELOCITY
        middle = expit(known.steepness[j] * known.shift[j]) - 0.5  # of a shifted Coulomb friction
        offset = known.offset[j] - known.amplitude[j] * middle
        values = known.viscous[j], known.amplitude[j] / 2.0, velocity, offset
        return {name: float(value) for name, value in zip(names, values, strict=True)}

    def _add_spring(self, parameters: Parameters, joint: str, j: int, scales: _Scales) -> None:
        """Laws, damping and sensor bias of a joint with springs."""
        springs = self.equations.springs[j]
        if springs is None:
            return
        assert self.actuators is not None
        here = bool(self.equations.has_deflection[j]) and self.settings.springs
        torque = scales.torque[j]
        phi = max(scales.deflection[j], 1e-12)
        for name, value, power in zip(
            springs.names, springs.values.tolist(), springs.powers, strict=True
        ):
            spread = max(abs(value), torque / phi**power if power > 1 else 0.0)
            is_slope = power == 1 and value > 0.0
            low = 1e-3 * value if is_slope else -np.inf
            parameters.add(name, value, spread, low, np.inf, free=here)
        damping = float(self.actuators.damping[j])
        wide = WIDE * torque / max(scales.deflection_rate[j], 1e-12)
        damped = here and springs.damped and self.settings.damping
        parameters.add(f"{joint}.damping", damping, wide, free=damped)
        both = here and bool(self.equations.sources.sensor[j])
        parameters.add(f"{joint}.bias", 0.0, WIDE * torque, free=both)

    def _plausible_gain(
        self, parameters: Parameters, coefficients: Coefficients, sums: EquationSums, i: int
    ) -> float | None:
        """The gain of motor i with which the initial inertias explain the current best, with any
        friction and rotor; None where they explain little of it."""
        for channel, each in zip(sums.channels, sums.sums, strict=True):
            if channel.motor != i or "signal" not in channel.blocks:
                continue
            z, _ = coefficients.of(channel, np.array(parameters.mean))
            G = each.sum(axis=0)
            block = channel.blocks
            explained = np.zeros(channel.columns)
            for name in ("links", "spring", "sensor"):
                if name in block:
                    explained[block[name]] = z[block[name]]
            places = [block[name].start for name in ("signal", "inertia", "viscous", "offset")]
            places.append(block["coulomb"].start + NODES // 2)
            normal, right = G[np.ix_(places, places)], -(G @ explained)[places]
            size = np.sqrt(np.maximum(np.diag(normal), 1e-300))
            found = np.linalg.lstsq(normal / np.outer(size, size), right / size, rcond=1e-10)[0]
            gain = float(found[0] / size[0])
            power = float(explained @ G @ explained)
            if gain > 0.0 and power > (EXPLAINED * gain) ** 2 * normal[0, 0]:
                return gain
        return None

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
                self.notes.append(
                    f"{side} {joint}: {kind.removesuffix(' drift')} friction changed by "
                    f"{change:+.3g} +- {each.error:.1g} ({change / base:+.0%}) from the first to "
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
            scale, unit = 1.0, "N m"
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


def add_payload(parameters: Parameters, payload: CarriedPayload) -> None:
    """Append a payload, 20 cm wide, of 1 kg if its mass is unknown, before identification."""
    mass = payload.mass or 1.0
    ten = np.zeros(10)
    ten[0] = mass
    ten[[4, 7, 9]] = 2.0 * mass * PAYLOAD_SIZE**2
    bounds = (mass, mass) if payload.mass is not None else (1e-3, HEAVIEST)
    add_body(parameters, f"payload {payload.name}", ten, PAYLOAD_SPREAD, bounds)


class _Scales:
    """Sizes of the signals of each joint and motor: those of the columns of its equations."""

    def __init__(self, equations: DriveEquations, sums: EquationSums) -> None:
        n, m = equations.model.n, len(equations.motor_names)
        self.torque, self.motor_torque, self.acceleration = np.zeros(n), np.zeros(m), np.zeros(m)
        self.velocity = {"link": np.zeros(n), "motor": np.zeros(m)}
        self.deflection, self.deflection_rate = np.zeros(n), np.zeros(n)
        for channel, each, counts in zip(sums.channels, sums.sums, sums.counts, strict=True):
            j, i, count = channel.joint, channel.motor, max(float(counts.sum()), 1.0)
            rms = np.sqrt(np.maximum(np.einsum("bpp->p", each), 0.0) / count)
            block = channel.blocks
            for name in ("signal", "sensor"):
                if name in block:
                    self.torque[j] = max(self.torque[j], rms[block[name].start])
            if "signal" in block:
                self.motor_torque[i] = max(self.motor_torque[i], rms[block["signal"].start])
            if "spring" in block:
                self._take_spring(equations, channel, each / count, rms)
            if "inertia" in block:
                self.acceleration[i] = rms[block["inertia"].start]
            if "viscous" in block:
                side = equations.side_of(channel)
                self.velocity[side][j if side == "link" else i] = rms[block["viscous"].start]
        self.torque = np.maximum(self.torque, 1e-9)
        self.motor_torque = np.maximum(self.motor_torque, 1e-9)

    def _take_spring(
        self, equations: DriveEquations, channel: Channel, powers: Array, rms: Array
    ) -> None:
        """Sizes of deflection and torque of the springs in an equation."""
        j, block = channel.joint, channel.blocks["spring"]
        springs = equations.springs[j]
        assert springs is not None
        z = equations.spring_columns(channel).coefficients(springs.values)[0]
        size = np.sqrt(max(float(z @ powers.sum(axis=0)[block, block] @ z), 0.0))
        self.torque[j] = max(self.torque[j], size)
        self.deflection[j] = max(self.deflection[j], rms[block.start])
        if "damping" in channel.blocks:
            self.deflection_rate[j] = rms[channel.blocks["damping"].start]


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
                f"run '{run.name}': payload '{each.name}' has another mass or body than in "
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
