# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""All parameters of a robot before their identification: initial values, priors and bounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ...core import Array, InputError
from ..bodies.joint_friction import COULOMB_VELOCITY, JointFriction
from ..bodies.regressor import inertial_parameters
from .drive_equations import Channel, DriveEquations
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
from .equation_sums import EquationSums
from .friction_terms import NODES
from .measured_run import CarriedPayload
from .spring_effects import GEAR, SLIP

EXPLAINED = 0.3  # share of a current that the links must explain to give an initial gain
PAYLOAD_SIZE = 0.1  # m, rms distance of its mass from its middle along each axis
PAYLOAD_SPREAD = 3.0  # relative standard deviation of its mass and second moments
HEAVIEST = 50.0  # kg, bound for a payload of unknown mass


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
    stribeck, load_friction : whether friction has these terms. Presliding is only sought without
        the first one.
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


@dataclass(frozen=True, eq=False)
class PriorParameters:
    """Chooses the parameters of the equations of drives, with their priors.

    friction : of the links as known so far. gains : (m,) mask of the motors of which only the
    current was measured. resting : sites of friction (see :meth:`.DriveEquations.site_of`) that
    did not move, whose friction stays as it is known. command : mean and standard deviation of the
    delays of the commands, s.

    >>> parameters = PriorParameters(equations, settings, friction, payloads, gains).of(sums)
    """

    equations: DriveEquations
    settings: IdentificationSettings
    friction: JointFriction
    payloads: Sequence[CarriedPayload]
    gains: NDArray[np.bool_]
    cutoff: float
    resting: Collection[str] = ()
    command: tuple[float, float] = (0.0, DELAY_SPREAD)

    def of(self, sums: EquationSums) -> Parameters:
        """All parameters, on the scale of the signals in these sums. Raises InputError for a motor
        whose current does not follow the torque of its links."""
        model, settings = self.equations.model, self.settings
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
            if self.equations.motor_names[i] not in settings.gains
        ]  # fmt: skip
        found = {i: self._plausible_gain(parameters, coefficients, sums, i) for i in wanted}
        sure = [gain for gain in found.values() if gain is not None]
        sure += [*settings.gains.values()]
        for i, gain in found.items():
            motor = self.equations.motor_names[i]
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
        name = self.equations.motor_names[i]
        channels = [each for each in self.equations.channels if each.motor == i]
        driving = [each for each in channels if "inertia" in each.blocks]
        torque = max(scales.motor_torque[i], scales.torque[j])
        rotor = self.equations.actuators.motors[i].inertia if self.equations.actuators else 0.0
        if i == self.equations.motors_of(j)[0]:
            rotor += float(self.equations.model.reflected_inertia[j])
        widest = WIDE * torque / max(scales.acceleration[i], 1e-9)
        spread = self.settings.rotor_spread * rotor if rotor > 0.0 else widest
        parameters.add(f"{name}.inertia", rotor, spread, 0.0, np.inf,
                       free=bool(driving) and self.settings.rotors)  # fmt: skip
        self._add_delay(parameters, f"{name}.command delay", *self.command, used=bool(driving))
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
        self._add_delay(parameters, f"{joint}.sensor delay", 0.0, DELAY_SPREAD, used=sensed)
        used = any(self.equations.side_of(each) == "link" for each in channels
                   if each.kind != "spring")  # fmt: skip
        sizes = scales.torque[j], scales.velocity["link"][j]
        self._add_friction(parameters, "link", j, sizes, used=used)

    def _add_delay(
        self, parameters: Parameters, name: str, mean: float, spread: float, *, used: bool
    ) -> None:
        largest = LARGEST_PHASE / (2.0 * np.pi * self.cutoff)
        free = self.settings.delays and used
        mean = mean if free else 0.0
        parameters.add(name, mean, spread, -largest, largest, free=free)

    def _add_friction(
        self, parameters: Parameters, side: str, k: int, sizes: tuple[float, float], *, used: bool
    ) -> None:
        """Friction of link or motor k; sizes : of its torque and velocity."""
        options, nodes = self.settings, self.equations.nodes[side][k]
        names = self.equations.motor_names if side == "motor" else self.equations.model.joint_names
        site, bounds = f"{side} {names[k]}", nodes.bounds
        wide = WIDE * sizes[0]
        slow = wide / max(sizes[1], 1e-9)
        known = self._known_friction(side, k)
        rms = float(np.sqrt(nodes.values[0] * nodes.values[-1]))
        start = known["coulomb_velocity"]
        is_velocity = not nodes.has_bristles and nodes.values[0] < start < nodes.values[-1]
        start = start if is_velocity else rms
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
        if used and site in self.resting:
            for name, value in known.items():
                parameters.keep(f"{site}.{name}", value or (start if "velocity" in name else 0.0))
            for name in ("stribeck", "stribeck_velocity", "load"):
                parameters.free[parameters.index[f"{site}.{name}"]] = False

    def _known_friction(self, side: str, j: int) -> dict[str, float]:
        """Friction of link or motor j as known so far; that of links which is kept is in the
        equations themselves."""
        names = ("viscous", "coulomb", "coulomb_velocity", "offset")
        if side == "motor":
            motor = self.equations.actuators.motors[j] if self.equations.actuators else None
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
        assert self.equations.actuators is not None
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
        damping = float(self.equations.actuators.damping[j])
        wide = WIDE * torque / max(scales.deflection_rate[j], 1e-12)
        effects = self.equations.effects.get(j)
        damped = here and springs.damped and self.settings.damping
        damped = damped and (effects is None or effects.allows_damper)
        parameters.add(f"{joint}.damping", damping, wide, free=damped)
        if effects is not None:
            for (kind, _), names in effects.groups.items():
                least = -np.inf if kind == GEAR else 0.0
                spread = WIDE * torque / (effects.travel if kind == SLIP else 1.0)
                for name in names:
                    parameters.add(name, 0.0, spread, least)
        both = here and bool(self.equations.sources.sensor[j])
        parameters.add(f"{joint}.bias", 0.0, WIDE * torque, free=both)
        found = j in self.equations.options.positional
        for name in ("sine", "cosine"):
            parameters.add(f"{joint}.{name} of position", 0.0, WIDE * torque, free=found)

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
