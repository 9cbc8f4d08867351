# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the joint identification, and the coefficients that follow from them.

The parameters are one vector. Links and payloads come first, with the ten inertial parameters of
each; v0, vs and drive gains are logarithms. Every parameter has a prior: wide where torques
determine the parameter, and decisive where they do not. It is a normal distribution about the
initial value, and for bodies their divergence from the initial ones, which is infinite for bodies
that cannot exist (`divergence`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array
from ..bodies.consistent_inertia import nearest_consistent
from .drive_equations import Channel, DriveEquations
from .friction_terms import VelocityNodes

FRICTION = ("viscous", "coulomb", "offset")
WIDE = 10.0  # standard deviations of wide priors, in units of the signals
VELOCITY_SPREAD = 1.0  # of log v0
DELAY_SPREAD = 0.01  # s
GAIN_SPREAD = 0.3  # of log k
STRIBECK_VELOCITY = 0.1  # of the rms velocity, before identification
LARGEST_PHASE = 0.7  # rad at the cut-off, for which the derivatives represent a delay


@dataclass
class Parameters:
    """Names, priors and bounds of all parameters, (p,) each. weights : of the divergences of the
    bodies that are identified, by the index of their first parameter. kept : values known before,
    by name, of parameters that were sought, but that the recordings do not determine."""

    names: list[str] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    free: list[bool] = field(default_factory=list)
    weights: dict[int, float] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        name: str,
        mean: float,
        spread: float,
        lower: float = -np.inf,
        upper: float = np.inf,
        *,
        free: bool = True,
    ) -> None:
        """Append a parameter."""
        inside = float(np.clip(mean, lower, upper))
        for row, value in zip(
            (self.names, self.mean, self.spread, self.lower, self.upper, self.free),
            (name, inside, spread, lower, upper, free and lower < upper),
            strict=True,
        ):
            row.append(value)  # type: ignore[attr-defined]

    def keep(self, name: str, value: float) -> None:
        """No longer identify a parameter, which keeps the value known before."""
        i = self.index[name]
        self.free[i] = False
        is_log = name.endswith("_velocity")
        inside = np.clip(np.log(value) if is_log else value, self.lower[i], self.upper[i])
        self.mean[i] = float(inside)
        self.kept[name] = value

    @property
    def index(self) -> dict[str, int]:
        """The index of each name."""
        return {name: i for i, name in enumerate(self.names)}


def body_names(body: str) -> list[str]:
    """The names of the ten inertial parameters of a body."""
    return [f"{body}.ten{k}" for k in range(10)]


def add_body(
    parameters: Parameters,
    body: str,
    ten: Array,
    spread: float,
    mass_range: tuple[float, float] | None,
) -> None:
    """Append a body; spread : relative standard deviation of its mass and second moments;
    mass_range in kg, equal for a known mass; None: the body is known."""
    if mass_range is not None:
        parameters.weights[len(parameters.names)] = 1.0 / (4.0 * spread**2)
    values = nearest_consistent(ten).tolist()
    for k, (name, value) in enumerate(zip(body_names(body), values, strict=True)):
        if k == 0 and mass_range is not None:
            parameters.add(name, value, np.inf, *mass_range)
        else:
            parameters.add(name, value, np.inf, free=mass_range is not None)


class _Layout(NamedTuple):
    """columns (k,) of a channel whose coefficients are parameters, times signs (k,), the indices
    where (k,) of these, and the names of all other blocks, with their signs."""

    columns: NDArray[np.intp]
    where: NDArray[np.intp]
    signs: Array
    others: tuple[tuple[str, float], ...]


class Coefficients:
    """The coefficients z of every channel of the equations as functions of the parameters.

    gains : (m,) mask of the motors of which only the current was measured.
    """

    def __init__(
        self, equations: DriveEquations, parameters: Parameters, gains: NDArray[np.bool_]
    ) -> None:
        self.equations, self.parameters, self.gains = equations, parameters, gains
        self._index = parameters.index
        self._names = equations.model.joint_names
        self._motors = equations.motor_names
        self._layouts: dict[Channel, _Layout] = {}

    def of(self, channel: Channel, theta: Array) -> tuple[Array, Array]:
        """z (columns,) of a channel, and its derivative (columns, p)."""
        z = np.zeros(channel.columns)
        D = np.zeros((channel.columns, len(self._index)))
        layout = self._layouts.get(channel) or self._laid_out(channel)
        z[layout.columns] = layout.signs * theta[layout.where]
        D[layout.columns, layout.where] = layout.signs
        for name, sign in layout.others:
            block = channel.blocks[name]
            value, where, slope = self._block(channel, name, theta)
            z[block] = sign * value
            if len(where):
                D[block.start : block.stop, where] = sign * slope
        return self._scaled(channel, theta, z, D)

    def seeks_friction(self, channel: Channel) -> bool:
        """Whether the friction in an equation is identified."""
        velocity = f"{self.equations.site_of(channel)}.coulomb_velocity"
        return "coulomb" in channel.blocks and self.parameters.free[self._index[velocity]]

    def _laid_out(self, channel: Channel) -> _Layout:
        """The layout of a channel. What is on the left side of its equation is positive."""
        left = {"rigid": ("signal",), "motor": ("signal",), "spring": ("sensor",)}
        positive = left.get(channel.kind, ("spring", "damping", "effects", "sensor"))
        columns, where, signs, others = list[int](), list[int](), list[float](), []
        for name, block in channel.blocks.items():
            sign = 1.0 if name in positive else -1.0
            if own := self._own_parameters(channel, name):
                columns += range(block.start, block.stop)
                where += own
                signs += [sign] * len(own)
            else:
                others.append((name, sign))
        found = _Layout(np.array(columns), np.array(where), np.array(signs), tuple(others))
        return self._layouts.setdefault(channel, found)

    def _own_parameters(self, channel: Channel, name: str) -> list[int]:
        """The indices of the parameters that the coefficients of a block are; none if they are
        functions of parameters."""
        joint, motor = self._names[channel.joint], self._motors[channel.motor]
        if name == "links":
            moved = self.equations.model.moved_by[:, channel.joint]
            bodies = zip(self.equations.model.body_names, moved, strict=True)
            names = [ten for body, moves in bodies if moves for ten in body_names(body)]
        elif name.startswith("payload "):
            names = body_names(name)
        elif name == "positional":
            names = [f"{joint}.{each} of position" for each in ("sine", "cosine")]
        elif name == "effects":
            names = [*self.equations.effects[channel.joint].names]
        elif name in ("link viscous", "link offset"):
            names = [f"link {joint}.{name.removeprefix('link ')}"]
        elif name.endswith((" drift", "viscous", "offset")):
            names = [f"{self.equations.site_of(channel)}.{name}"]
        else:
            owner = {"damping": joint, "bias": joint, "inertia": motor}.get(name)
            names = [f"{owner}.{name}"] if owner else []
        return [self._index[each] for each in names]

    def _block(
        self, channel: Channel, name: str, theta: Array
    ) -> tuple[Array, Sequence[int], Array]:
        """Value (m,) of a block, indices (k,) of its parameters, and derivative (m, k)."""
        at, joint = self._index, self._names[channel.joint]
        site, motor = self.equations.site_of(channel), self._motors[channel.motor]
        if name == "signal":
            d = at[f"{motor}.command delay"]
            x = theta[d]
            value = np.array([1.0, -x, x**2 / 2.0, -(x**3) / 6.0])
            return value, [d], np.array([[0.0], [-1.0], [x], [-(x**2) / 2.0]])
        if name == "sensor":
            d = at[f"{joint}.sensor delay"]
            x = theta[d]
            return np.array([1.0, x, x**2 / 2.0]), [d], np.array([[0.0], [1.0], [x]])
        if name == "known torque":
            return np.ones(1), [], np.zeros((1, 0))
        if name == "spring":
            where = self._of_springs(channel.joint)
            value, slope = self.equations.spring_columns(channel).coefficients(theta[where])
            return value, where, slope
        nodes = self.equations.nodes_of(channel)
        if name.startswith("link "):
            site, name = f"link {joint}", name.removeprefix("link ")
            nodes = self.equations.nodes["link"][channel.joint]
        return self._of_velocity(nodes, site, name, theta)

    def _of_velocity(
        self, nodes: VelocityNodes, site: str, name: str, theta: Array
    ) -> tuple[Array, Sequence[int], Array]:
        velocity = "stribeck_velocity" if name == "stribeck" else "coulomb_velocity"
        where = [self._index[f"{site}.{name}"], self._index[f"{site}.{velocity}"]]
        size, log_velocity = theta[where]
        weights, slope = nodes.weights(log_velocity)
        return size * weights, where, np.stack([weights, size * slope], axis=1)

    def _scaled(self, channel: Channel, theta: Array, z: Array, D: Array) -> tuple[Array, Array]:
        """Scale an equation to the units of its noise: to those of the current, not of k times the
        current, and to those of the deflection, not of the stiffness times the deflection.
        Otherwise, small gains would make the errors look small."""
        if channel.kind in ("rigid", "motor") and self.gains[channel.motor]:
            g = self._index[f"{self._motors[channel.motor]}.log gain"]
            scale, signal = np.exp(-theta[g]), channel.blocks["signal"]
            kept, slopes = z[signal].copy(), D[signal].copy()
            z, D = scale * z, scale * D
            D[:, g] -= z
            z[signal], D[signal] = kept, slopes
        elif channel.kind == "link" and "spring" in channel.blocks:
            size, slope = self._stiffness(channel.joint, theta)
            z, D = z / size, D / size
            D[:, self._of_springs(channel.joint)] -= np.outer(z, slope / size)
        return z, D

    def stiffness(self, joint: int, theta: Array) -> tuple[float, float]:
        """A stiffness of the joint, N m/rad, and its ratio to the initial one."""
        springs = self.equations.springs[joint]
        assert springs is not None
        initial = float(springs.weights @ springs.torque.coefficients(springs.values)[0])
        ratio = self._stiffness(joint, theta)[0]
        return ratio * initial, ratio

    def _stiffness(self, joint: int, theta: Array) -> tuple[float, Array]:
        """A stiffness of the joint relative to the initial one, and its derivative (r,)."""
        springs = self.equations.springs[joint]
        assert springs is not None
        value, slope = springs.torque.coefficients(theta[self._of_springs(joint)])
        initial = float(springs.weights @ springs.torque.coefficients(springs.values)[0])
        return float(springs.weights @ value) / initial, springs.weights @ slope / initial

    def _of_springs(self, joint: int) -> list[int]:
        """The indices of the parameters of the springs of a joint."""
        springs = self.equations.springs[joint]
        assert springs is not None
        return [self._index[name] for name in springs.names]
