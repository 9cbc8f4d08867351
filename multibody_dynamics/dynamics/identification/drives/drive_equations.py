# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equations of links, motors and springs, as columns that parameters multiply.

For a joint whose spring has the deflection phi = theta - q, the following equations are used,
provided that their left-hand sides were measured (all on the link side of the gear):

    motor    k i(t - d) - load        = M_m theta'' + friction of the motor(theta')
    link     Q                        = Y(q, q', q'') pi + friction of the link(q')
    spring   Q of the sensor - bias   = s(phi) + D phi'

The load is Q at a series elastic joint, and that of one spring at a joint with two motors
(`elastic.spring_columns`). Q and loads follow from the deflections, and Q from the sensor in the
equation of the link if it has one, or if the deflection was not measured. A rigid joint has
theta = q, and one equation if it has no sensor,

    rigid    k i(t - d)               = Y pi + M_m q'' + friction(q').

The same applies to an elastic joint without a sensor of which only one side was measured; the
deflection then follows from the known spring and the torque.

Of a stiff spring, the errors of the encoders may exceed those of the motor torque. Motor and link
then share their error K (error of theta - q), which would bias K; the equation of such a motor is
used together with that of its link (`Options.joined`), where the spring cancels:

    joined   k i(t - d)               = M_m theta'' + friction of the motor(theta')
                                        + Y(q, q', q'') pi + friction of the link(q')

Each equation is a sum of columns times coefficients, z . columns = 0, and the coefficients are
functions of the parameters (`drive_parameters`): the columns need to be computed only once. Both
sides pass the same filter (`parallel_filter`). Slip elements and bristles depend on the way, which
a smooth position rounds off at every reversal: they follow positions of a higher bandwidth, at all
samples, and pass the filter of the states afterwards. Delays enter by derivatives of the torque,
i(t - d) = i - d i' + d^2 i'' / 2 - ..., friction by its tabulated terms (`friction_terms`).
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, InputError
from ...elastic import Actuators, BacklashSpring, JointSprings, Positions, SpringColumns
from ...model import MultibodyModel
from ...rigid import inverse_dynamics, passive_torques
from ..bodies.joint_friction import JointFriction
from ..bodies.regressor import inverse_dynamics_regressor
from ..signals.differentiation import HIGHEST, ZeroPhaseFilter
from ..signals.parallel_filter import ParallelFilter
from .friction_terms import NODES, VelocityNodes
from .measured_run import OF_MOTORS, MeasuredRun
from .spring_effects import EVERY, GAP, SpringEffects

Kind = Literal["rigid", "motor", "link", "spring"]
WIDER = 2.0  # cut-off of the states, relative to that of the equations
WIDEST = 4.0  # that of the positions that slip elements and bristles follow
FINEST = 250.0  # Hz, lowest rate of the states: friction changes within a few ms
PER_CUTOFF = 10.0  # fewest states per period of the cut-off
SIGNAL_ORDERS = 4  # derivatives of a torque, for its delay
SHORTEST = 16  # fewest filtered samples of a stretch that is used


@dataclass(frozen=True, eq=False)
class Channel:
    """One equation of one joint. motor : its motor, or the first one of the joint. blocks : columns
    by the name of what multiplies them."""

    kind: Kind
    joint: int
    motor: int
    blocks: dict[str, slice]
    columns: int

    @property
    def is_joined(self) -> bool:
        """Whether it is the equation of a motor together with its link."""
        return self.kind == "motor" and "links" in self.blocks

    @property
    def unknowns(self) -> int:
        """The number of coefficients: a tabulated term has a size and a velocity, a signal a gain
        and a delay; drift is fitted later and does not count."""
        few = {"coulomb": 2, "stribeck": 2, "load": 1, "signal": 2, "sensor": 1}
        few |= {"viscous drift": 0, "coulomb drift": 0, "known torque": 0}
        few |= {"positional": 0, "effects": 0}
        few |= {f"link {name}": few[name] for name in OF_LINK if name in few}
        return sum(few.get(name, each.stop - each.start) for name, each in self.blocks.items())


class Options(NamedTuple):
    """The optional terms of the equations. joined : joints whose motor is used together with its
    link. presliding : sites of friction with bristles, see `friction_terms`.
    positional : joints at whose link a torque a sin q + b cos q acts that the torque of the
    motor does not show: of a balancer that the drive compensates, or an eccentric encoder."""

    stribeck: bool = False
    load_friction: bool = False
    joined: frozenset[int] = frozenset()
    positional: frozenset[int] = frozenset()
    presliding: frozenset[str] = frozenset()


OF_LINK = ("viscous", "offset", "coulomb", "stribeck", "load")
"""Friction of the link in the joined equation of a motor: "link viscous", ..."""


class Filters(NamedTuple):
    """For one sampling rate: filters of states, efforts, and positions that slip elements and
    bristles follow; the step of the first two; filter of the equations."""

    states: ZeroPhaseFilter
    efforts: ZeroPhaseFilter
    ways: ZeroPhaseFilter
    step: int
    equations: ParallelFilter


def filters_of(rate: float, cutoff: float) -> Filters:
    """The filters for samples at `rate`, for equations below `cutoff`, both in Hz."""
    wide, widest = (min(factor * cutoff, HIGHEST * rate) for factor in (WIDER, WIDEST))
    step = max(int(rate / max(FINEST, PER_CUTOFF * cutoff) + 1e-6), 1)
    return Filters(
        ZeroPhaseFilter(rate, wide, 3),
        ZeroPhaseFilter(rate, wide, SIGNAL_ORDERS),
        ZeroPhaseFilter(rate, widest, 1),
        step,
        ParallelFilter(rate / step, cutoff),
    )


class MeasuredSignals(NamedTuple):
    """What was measured: masks (n,) of the joints for q, sensor and stiffness, (m,) of the motors
    for the others. signal : motor torque or current."""

    q: NDArray[np.bool_]
    theta: NDArray[np.bool_]
    sensor: NDArray[np.bool_]
    stiffness: NDArray[np.bool_]
    motor_torque: NDArray[np.bool_]
    current: NDArray[np.bool_]

    @property
    def signal(self) -> NDArray[np.bool_]:
        return np.asarray(self.motor_torque | self.current)


def measured_signals(runs: Sequence[MeasuredRun], joints: int, motors: int) -> MeasuredSignals:
    """What was measured in all runs. Raises InputError, naming the run, where they differ."""
    first = None
    sizes = {name: motors if name in OF_MOTORS else joints for name in MeasuredSignals._fields}
    for run in runs:
        signals = MeasuredSignals(*(run.has(name, size) for name, size in sizes.items()))
        if first is not None and any(
            not np.array_equal(a, b) for a, b in zip(first, signals, strict=True)
        ):
            raise InputError(
                f"run '{run.name}': has other signals than '{runs[0].name}': only runs with the "
                "same signals can be identified together"
            )
        first = signals
    if first is None:
        raise InputError("no runs to identify from")
    return first


def motor_names(model: MultibodyModel, actuators: Actuators | None) -> tuple[str, ...]:
    """The names of the motors; those of the joints if only these are known."""
    return model.joint_names if actuators is None else actuators.motor_names


class State(NamedTuple):
    """Filtered states of one stretch, (order, k, joints or motors), and times (k,)."""

    times: Array
    links: Array  # (3, k, n)
    motors: Array  # (3, k, m)
    sensor: Array  # (3, k, n)
    signal: Array  # (4, k, m)
    stiffness: Array  # (k, n)
    slip: dict[int, Array]  # deflections (k, elements) of the slip elements of joints
    settled: dict[int, float]  # s, time from which these do not depend on the state before
    bristles: dict[tuple[str, int], Array]  # (k, NODES) of links and motors


class DriveEquations:
    """The equations of a robot, and their columns for stretches of a run.

    speeds : rms velocities (n,) of links and (m,) of motors. payloads : names, and indices of the
    bodies. known_friction : of the links, in addition to the friction that is identified. effects :
    of the springs and gears, by joint.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators | None,
        sources: MeasuredSignals,
        speeds: Sequence[Array],
        payloads: dict[str, int],
        options: Options,
        known_friction: JointFriction | None = None,
        effects: Mapping[int, SpringEffects] | None = None,
    ) -> None:
        self.model, self.actuators, self.sources = model, actuators, sources
        self.known_friction = known_friction
        self.loaded: dict[str, MultibodyModel] = {}  # as known, with the payload of each name
        self.payloads, self.options = payloads, options
        self.is_elastic = np.zeros(model.n, dtype=bool)
        self.springs: list[JointSprings | None] = [None] * model.n
        self.motor_names = motor_names(model, actuators)
        self.joint_of_motor = np.arange(model.n) if actuators is None else actuators.joint_of_motor
        if actuators is not None:
            actuators.refuse_other_joints(model)
            self.springs, self.is_elastic = actuators.identification(), ~actuators.is_rigid
        own = np.array([sources.theta[self.motors_of(j)].all() for j in range(model.n)], dtype=bool)
        self.has_deflection = self.is_elastic & sources.q & own
        self._require_deflections()
        self.effects = dict(effects or {})
        self.nodes = {
            side: [
                VelocityNodes(float(v), has_bristles=f"{side} {name}" in options.presliding)
                for v, name in zip(row, names, strict=True)
            ]
            for side, row, names in zip(
                ("link", "motor"), speeds, (model.joint_names, self.motor_names), strict=True
            )
        }
        self.channels = self._channels()
        widths = [channel.columns for channel in self.channels]
        ends = 1 + np.cumsum([0, *widths])  # the first column is the time
        self.places = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self.width = int(ends[-1])

    def _require_deflections(self) -> None:
        """Only the missing side of a series elastic joint can be computed from its spring."""
        for j, springs in enumerate(self.springs):
            name = self.model.joint_names[j]
            if springs is None or springs.damped:
                continue
            if not self.has_deflection[j]:
                motors = ", ".join(self.motor_names[i] for i in self.motors_of(j))
                raise InputError(
                    f"joint '{name}': has two motors or a variable stiffness, so the positions of "
                    f"its link and of its motors ({motors}) must be recorded"
                )
            if springs.needs_stiffness and not self.sources.stiffness[j]:
                raise InputError(
                    f"joint '{name}': its stiffness is an input that no motor sets: record it, as "
                    "`stiffness` in N m/rad"
                )

    def possible_effects(self, travel: Array) -> dict[int, SpringEffects]:
        """Those of the series elastic joints, unless they are known to have a damper. travel : (n,)
        half the range of the deflections, rad."""
        found = {}
        for j, springs in enumerate(self.springs):
            if springs is None or not springs.damped or not self.has_deflection[j]:
                continue
            assert self.actuators is not None
            actuator, name = self.actuators.actuators[j], self.model.joint_names[j]
            if actuator.damping == 0.0 and travel[j] > 0.0:
                (spring,) = actuator.springs
                kinds = EVERY - {(GAP, 0)} if isinstance(spring, BacklashSpring) else EVERY
                ratio = actuator.motors[0].gear_ratio
                found[j] = SpringEffects(name, float(travel[j]), ratio, kinds)
        return found

    def motors_of(self, joint: int) -> NDArray[np.intp]:
        """The motors of a joint."""
        return np.flatnonzero(self.joint_of_motor == joint)

    def _channels(self) -> list[Channel]:
        channels = []
        has = self.sources
        for j, name in enumerate(self.model.joint_names):
            motors = self.motors_of(j)
            first, driven = int(motors[0]), has.signal[motors]
            if not (has.q[j] or has.theta[motors].all()):
                raise InputError(f"joint '{name}': no position was measured")
            if self.has_deflection[j] or has.sensor[j]:
                channels += [self._channel("motor", j, int(i)) for i in motors[driven]]
                if self.has_deflection[j] and has.sensor[j]:
                    channels.append(self._channel("spring", j, first))
                if has.sensor[j] or driven.any():
                    channels.append(self._channel("link", j, first))
            elif driven.any():
                channels.append(self._channel("rigid", j, first))
        if not channels:
            raise InputError(
                "no torque was measured at any joint: motor torques, currents or the torques of "
                "sensors are needed"
            )
        return channels

    def spring_columns(self, channel: Channel) -> SpringColumns:
        """The columns of the springs in an equation: the load of its motor, or Q."""
        springs, first = self.springs[channel.joint], self.motors_of(channel.joint)[0]
        assert springs is not None
        return springs.loads[channel.motor - first] if channel.kind == "motor" else springs.torque

    def _channel(self, kind: Kind, j: int, motor: int) -> Channel:
        """The layout of one equation."""
        widths: dict[str, int] = {}
        if kind in ("rigid", "motor"):
            widths["signal"] = SIGNAL_ORDERS
            widths["inertia"] = 1
        joined = kind == "motor" and j in self.options.joined
        by_spring = self.has_deflection[j] and (kind != "link" or not self.sources.sensor[j])
        by_spring = by_spring and not joined
        if by_spring:
            springs = self.springs[j]
            assert springs is not None
            widths["spring"] = self.spring_columns(Channel(kind, j, motor, {}, 0)).width
            if springs.damped:
                widths["damping"] = 1
            if j in self.effects:
                widths["effects"] = len(self.effects[j].names)
        if kind == "spring" or (kind in ("motor", "link") and not by_spring and not joined):
            widths["sensor"] = 3
        if kind == "spring":
            widths["bias"] = 1
        if kind in ("rigid", "link") or joined:
            carried = np.flatnonzero(self.model.moved_by[:, j]).tolist()
            widths["links"] = 10 * len(carried)
            widths |= {f"payload {name}": 10 for name, b in self.payloads.items() if b in carried}
            if self.known_friction is not None or self.model.has_passive_springs:
                widths["known torque"] = 1
        if kind == "link" and by_spring:
            widths["positional"] = 2
        if kind != "spring":
            friction = {"viscous": 1, "offset": 1, "coulomb": NODES}
            if self.options.stribeck:
                friction["stribeck"] = NODES
            if self.options.load_friction:
                friction["load"] = NODES
            widths |= friction | {"viscous drift": 1, "coulomb drift": 1}
            if joined:
                widths |= {f"link {name}": width for name, width in friction.items()}
        ends = np.cumsum([0, *widths.values()]).tolist()
        blocks = {name: slice(a, b) for name, a, b in zip(widths, ends[:-1], ends[1:], strict=True)}
        return Channel(kind, j, motor, blocks, ends[-1])

    def side_of(self, channel: Channel) -> str:
        """Whose friction an equation has: "link" or "motor", to which that of a rigid joint belongs
        if there are actuator data."""
        is_rigid = channel.kind == "rigid" and not self.is_elastic[channel.joint]
        by_link = self.actuators is None if is_rigid else channel.kind == "link"
        return "link" if by_link else "motor"

    def site_of(self, channel: Channel) -> str:
        """The name of what has this friction: "link JOINT" or "motor MOTOR"."""
        if (side := self.side_of(channel)) == "link":
            return f"link {self.model.joint_names[channel.joint]}"
        return f"{side} {self.motor_names[channel.motor]}"

    def nodes_of(self, channel: Channel) -> VelocityNodes:
        """The nodes of the friction of an equation."""
        side = self.side_of(channel)
        return self.nodes[side][channel.joint if side == "link" else channel.motor]

    def states(self, run: MeasuredRun, stretch: slice, filters: Filters) -> State:
        """The filtered states of a stretch."""
        step, length = filters.step, stretch.stop - stretch.start

        def rows(given: Array | None, columns: NDArray[np.bool_]) -> Array:
            part = np.zeros((length, len(columns)))
            if given is not None:
                part[:, columns] = given[stretch, columns]
            return part

        has = self.sources
        signal = rows(run.motor_torque, has.motor_torque)
        only = has.current & ~has.motor_torque
        signal[:, only] = rows(run.current, only)[:, only]
        signal = filters.efforts(signal, step=step)
        sensor = filters.states(rows(run.sensor, has.sensor), step=step)
        links = filters.states(rows(run.q, has.q), step=step)
        if run.qd is not None and run.has("qd", self.model.n)[has.q].all():
            links[1:] = filters.states(rows(run.qd, has.q), step=step)[:2]
        motors = filters.states(rows(run.theta, has.theta), step=step)
        self._complete(links, motors, sensor, step / run.rate)
        count = links.shape[1]
        first = run.start + (stretch.start + filters.states.reach) / run.rate
        times = first + np.arange(count) * step / run.rate
        stiffness = filters.states(rows(run.stiffness, has.stiffness), step=step)[0]
        slip, settled, bristles = {}, {}, {}
        sides = {"link": (run.q, has.q, links[0]), "motor": (run.theta, has.theta, motors[0])}

        def way(side: str, k: int) -> Array:
            """The position at all samples, constant beyond the reach of the filters; one that was
            not measured follows its states."""
            given, measured, state = sides[side]
            if not count:
                return np.zeros(length)
            if given is not None and measured[k]:
                own = filters.ways(given[stretch, [k]])[0, :, 0]
                return np.pad(own, filters.ways.reach, "edge")
            at = filters.states.reach + step * np.arange(count)
            return np.interp(np.arange(length), at, state[:, k])

        for j, each in self.effects.items():
            deflection = way("motor", int(self.motors_of(j)[0])) - way("link", j)
            slip[j] = filters.states(each.slip(deflection), step=step, orders=1)[0]
            settled[j] = run.start + (stretch.start + each.settled(deflection)) / run.rate
        for side, every in self.nodes.items():
            for k, nodes in enumerate(every):
                if nodes.has_bristles:
                    bent = nodes.bristles(way(side, k))
                    bristles[side, k] = filters.states(bent, step=step, orders=1)[0]
        return State(times, links, motors, sensor, signal, stiffness, slip, settled, bristles)

    def _complete(self, links: Array, motors: Array, sensor: Array, step: float) -> None:
        """Compute the side that was not measured from the known springs, in place; step in s."""
        has = self.sources
        lacking = np.flatnonzero(self.is_elastic & ~self.has_deflection)
        for j in np.flatnonzero(~self.is_elastic).tolist():
            i = self.motors_of(j)[0]
            if not has.q[j]:
                links[:, :, j] = motors[:, :, i]
            motors[:, :, i] = links[:, :, j]
        if not lacking.size:
            return
        for j in lacking[~has.q[lacking]].tolist():
            links[:, :, j] = motors[:, :, self.motors_of(j)[0]]
        assert self.actuators is not None
        predicted = inverse_dynamics(self.model, *links).tau + self._friction(links[1])
        for j in lacking.tolist():
            i, spring = self.motors_of(j)[0], self.actuators.actuators[j].series_spring
            assert spring is not None
            Q = sensor[0, :, j] if has.sensor[j] else predicted[:, j]
            phi = spring.deflection(Q, beyond="continue")
            rate = np.gradient(phi, step)
            rates = np.stack([phi, rate, np.gradient(rate, step)])
            if has.q[j]:
                motors[:, :, i] = links[:, :, j] + rates
            else:
                links[:, :, j] = motors[:, :, i] - rates

    def table(self, run: MeasuredRun, state: State, middle: tuple[float, float]) -> Any:
        """The columns (k, width) of a slice of the states, as a function of the slice.

        middle : time in s at which the drift is zero, and the span in s that counts as one.
        """
        drift_at = (state.times - middle[0]) / middle[1]

        def rows(part: slice) -> Array:
            q, qd, qdd = state.links[:, part]
            Y = inverse_dynamics_regressor(self.model, q, qd, qdd).Y
            loads = None
            if self.options.load_friction:
                carried = self.loaded.get(run.payload.name if run.payload else "", self.model)
                loads = np.abs(inverse_dynamics(carried, q, qd, qdd).tau)
            out = np.zeros((len(q), self.width))
            out[:, 0] = state.times[part]
            for channel, place in zip(self.channels, self.places, strict=True):
                named = self._named(channel, run, state, part, Y, loads, drift_at[part])
                for name, block in channel.blocks.items():
                    out[:, place][:, block] = named[name]
            return out

        return rows

    def _directions(self, state: State, part: slice, side: str, k: int, v: Array) -> Array:
        """(k, NODES) directions in which friction of link or motor k acts at its velocity v."""
        own = state.bristles.get((side, k))
        return self.nodes[side][k].coulomb(v) if own is None else own[part]

    def _friction(self, qd: Array) -> Array:
        """The known friction (k, n) of the links."""
        return np.zeros_like(qd) if self.known_friction is None else self.known_friction.torque(qd)

    def _named(
        self,
        channel: Channel,
        run: MeasuredRun,
        state: State,
        part: slice,
        Y: Array,
        loads: Array | None,
        drift: Array,
    ) -> dict[str, Array]:
        """The columns of one equation by name."""
        j, i = channel.joint, channel.motor
        by_motor = channel.kind in ("motor", "rigid")
        moving = state.motors[:, part, i] if by_motor else state.links[:, part, j]
        v, nodes, side = moving[1], self.nodes_of(channel), self.side_of(channel)
        coulomb = self._directions(state, part, side, j if side == "link" else i, v)
        columns = {
            "signal": state.signal[:, part, i].T,
            "sensor": state.sensor[:, part, j].T,
            "inertia": moving[2][:, None],
            "bias": np.ones((len(v), 1)),
            "viscous": v[:, None],
            "offset": np.ones((len(v), 1)),
            "coulomb": coulomb,
            "viscous drift": (drift * v)[:, None],
            "coulomb drift": (drift * coulomb[:, NODES // 2])[:, None],
        }
        if "stribeck" in channel.blocks:
            columns["stribeck"] = nodes.stribeck(v)
        if loads is not None:
            columns["load"] = coulomb * loads[:, j, None]
        if channel.is_joined:
            w, of_nodes = state.links[1, part, j], self.nodes["link"][j]
            of_link = {
                "viscous": w[:, None],
                "offset": columns["offset"],
                "coulomb": self._directions(state, part, "link", j, w),
            }
            if "stribeck" in channel.blocks:
                of_link["stribeck"] = of_nodes.stribeck(w)
            if loads is not None:
                of_link["load"] = of_link["coulomb"] * loads[:, j, None]
            columns |= {f"link {name}": rows for name, rows in of_link.items()}
        if "positional" in channel.blocks:
            q = state.links[0, part, j]
            columns["positional"] = np.stack([np.sin(q), np.cos(q)], axis=1)
        if "spring" in channel.blocks:
            own = state.motors[0, part][:, self.motors_of(j)]
            at = Positions(state.links[0, part, j], own, state.stiffness[part, j])
            columns["spring"] = self.spring_columns(channel).columns(at)
            columns["damping"] = (state.motors[1, part, i] - state.links[1, part, j])[:, None]
        if "effects" in channel.blocks:
            theta = state.motors[0, part, i]
            columns["effects"] = self.effects[j].columns(
                theta,
                theta - state.links[0, part, j],
                state.slip[j][part],
                of_load=channel.kind == "motor",
            )
        if "known torque" in channel.blocks:
            q, qd = state.links[:2, part]
            known = self._friction(qd) + passive_torques(self.model, q, qd)[:, 0].sum(axis=0)
            columns["known torque"] = known[:, j, None]
        if "links" in channel.blocks:
            carried = np.flatnonzero(self.model.moved_by[:, j]).tolist()
            used = np.concatenate([np.arange(10 * i, 10 * i + 10) for i in carried])
            columns["links"] = Y[:, j, used]
            for name, b in self.payloads.items():
                here = run.payload is not None and run.payload.name == name
                columns[f"payload {name}"] = float(here) * Y[:, j, 10 * b : 10 * b + 10]
        return columns
