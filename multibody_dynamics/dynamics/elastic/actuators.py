# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The actuators of a robot: one per joint, in any mix of :mod:`.kinds`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    Array,
    IndependentCopies,
    InputError,
    as_array,
    broadcast_shapes,
    cached_array,
    check_sequence,
    exactly,
    refused_as,
)
from ..model import MultibodyModel
from .actuator import Actuator, Rows
from .friction_law import FRICTION_ROW, Friction, friction_motion, friction_torque, smooth_friction
from .motor import Motor
from .spring_columns import JointSprings
from .springs import Beyond

TorqueSource = Literal["spring_deflection", "torque_sensor", "motor_torque"]
"""The source of a measured joint torque."""


class Springs(NamedTuple):
    """Response of all springs: Q, Q' and the stiffness sigma of the joints (..., n); load and
    deflection of the motors (..., m). Values that deflections do not determine are NaN: Q, Q' and
    load of rigid joints, Q' of damped ones."""

    torque: Array
    torque_rate: Array
    stiffness: Array
    load: Array
    deflection: Array


@dataclass(frozen=True, eq=False)
class Actuators(IndependentCopies):
    """The actuators of a robot, in the order of its joints.

    `motor_names` lists the m motors in the order of the joints: <joint>, or <joint>_agonist and
    <joint>_antagonist for an antagonistic joint, and <joint>_stiffness for a stiffness drive.
    Raises InputError for duplicate names, for a torque source that does not fit its actuator, and
    unless there is one actuator for each name.

    torque_sources : the source of each joint's measured torque Q: "torque_sensor", or the
        default, "spring_deflection" for a joint with a spring and "motor_torque" for a rigid one.
        State and disturbance observers use it.
    """

    joint_names: tuple[str, ...]
    actuators: tuple[Actuator, ...]
    torque_sources: tuple[TorqueSource, ...] = ()

    def __post_init__(self) -> None:
        for name in ("joint_names", "actuators"):
            check_sequence(name, getattr(self, name), name.replace("_", " "))
            object.__setattr__(self, name, tuple(getattr(self, name)))
        names = self.joint_names
        if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
            raise InputError(f"joint_names: expected unique strings, got {names}")
        if len(self.actuators) != len(names):
            raise InputError(
                f"expected {len(names)} actuators, one per joint, got {len(self.actuators)}"
            )
        for name, actuator in zip(names, self.actuators, strict=True):
            if not isinstance(actuator, Actuator):
                raise InputError(f"joint '{name}': {actuator!r} is not an actuator")
        motors = self.motor_names
        for motor in motors:
            if motors.count(motor) > 1:
                raise InputError(
                    f"two motors are named '{motor}', by the rule that a joint with two motors "
                    "adds suffixes to its name; rename a joint"
                )
        usual: list[TorqueSource] = [each.own_torque_source for each in self.actuators]
        sources = tuple(self.torque_sources) or tuple(usual)
        if len(sources) != len(names):
            raise InputError(
                f"expected {len(names)} torque_sources, one per joint, got {len(sources)}"
            )
        for name, source, own in zip(names, sources, usual, strict=True):
            if source not in (own, "torque_sensor"):
                raise InputError(
                    f"joint '{name}': torque_source must be {own} or torque_sensor, got {source!r}"
                )
        object.__setattr__(self, "torque_sources", sources)

    @property
    def n(self) -> int:
        return len(self.joint_names)

    @cached_property
    def motors(self) -> tuple[Motor, ...]:
        return tuple(motor for actuator in self.actuators for motor in actuator.motors)

    @cached_property
    def motor_names(self) -> tuple[str, ...]:
        return tuple(
            name + suffix
            for name, actuator in zip(self.joint_names, self.actuators, strict=True)
            for suffix in actuator.suffixes
        )

    @cached_property
    def variable_joints(self) -> tuple[str, ...]:
        """The v joints with a second output, in the order of `stiffness` arguments (..., 3, v)."""
        return tuple(
            name
            for name, actuator in zip(self.joint_names, self.actuators, strict=True)
            if actuator.second_output is not None
        )

    @cached_array
    def is_rigid(self) -> NDArray[np.bool_]:
        """(n,) mask of the rigid joints."""
        return np.array([each.is_rigid for each in self.actuators])

    @cached_array
    def has_torque_sensor(self) -> NDArray[np.bool_]:
        """(n,) mask of the joints whose torque_source is a torque sensor."""
        return np.array([source == "torque_sensor" for source in self.torque_sources])

    @cached_array
    def damping(self) -> Array:
        """(n,) damping in parallel with the springs, in N m s/rad; zero without a damper."""
        return np.array([each.damping for each in self.actuators])

    @cached_array
    def is_damped(self) -> NDArray[np.bool_]:
        """(n,) mask of the joints whose deflection is a state of the feedforward."""
        return np.asarray(self.damping > 0.0)

    @cached_array
    def has_memory(self) -> NDArray[np.bool_]:
        """(n,) mask of the joints whose deflection is a state: those with dampers or hysteresis."""
        return np.array([each.damping > 0.0 or each.slip_count > 0 for each in self.actuators])

    @cached_array
    def joint_of_slip(self) -> NDArray[np.intp]:
        """(k,) index of the joint that each slip element belongs to."""
        return np.repeat(np.arange(self.n), [each.slip_count for each in self.actuators])

    @property
    def slip_count(self) -> int:
        """How many slip elements all joints have."""
        return len(self.joint_of_slip)

    @cached_array
    def bristle_state(self) -> NDArray[np.intp]:
        """(n,) index of the state of the bristles of each link, behind those of all joints and slip
        elements; 0: none."""
        has_bristles = np.array([each.link_friction.presliding > 0.0 for each in self.actuators])
        first = self.n + self.slip_count
        return np.where(has_bristles, first + np.cumsum(has_bristles) - 1, 0)

    @property
    def state_count(self) -> int:
        """How many states a feedforward has: of joints, slip elements, and bristles of links."""
        return self.n + self.slip_count + int(np.count_nonzero(self.bristle_state))

    @cached_array
    def needs_stiffness(self) -> NDArray[np.bool_]:
        """(n,) mask of the joints whose stiffness is an input that no motor sets."""
        return np.array([each.input_range is not None for each in self.actuators])

    @cached_array
    def first_motor(self) -> NDArray[np.intp]:
        """(n,) index of the first motor of each joint; a rigid joint has no other."""
        return np.array([motors[0] for _, _, motors, _ in self.each()], dtype=np.intp)

    @cached_array
    def joint_of_motor(self) -> NDArray[np.intp]:
        """(m,) index of the joint that each motor moves."""
        counts = [len(actuator.motors) for actuator in self.actuators]
        return np.repeat(np.arange(self.n), counts)

    @cached_array
    def torque_share(self) -> Array:
        """(m,) share of its joint's torque that each motor takes: half for each of two antagonists,
        zero for a motor that sets a stiffness."""
        return np.concatenate([each.torque_shares for each in self.actuators])

    @cached_array
    def link_of_motors(self) -> Array:
        """(m, n): motor positions times this matrix give the link positions without deflection."""
        of_joint = self.joint_of_motor[:, None] == np.arange(self.n)
        return np.asarray(of_joint * self.torque_share[:, None])

    @cached_array
    def spring_travel(self) -> Array:
        """(m, 2) ends of the travel of the spring in front of each motor, infinite without one."""
        ends = [ends for each in self.actuators for ends in each.limits_of_springs]
        return np.array(ends).reshape(-1, 2)

    @cached_array
    def spring_directions(self) -> Array:
        """(s, n + m): the deflections of all springs are this matrix times (q, theta)."""
        rows = []
        for i, actuator, motors, _ in self.each():
            for direction in actuator.directions:
                row = np.zeros(self.n + len(self.motors))
                row[[i, *(self.n + j for j in motors)]] = direction
                rows.append(row)
        return np.array(rows).reshape(-1, self.n + len(self.motors))

    def spring_energy(self, q: Any, theta: Any, stiffness: Any = None) -> Array:
        """(...) J stored in all springs of links at q (..., n) and motors at theta (..., m), at the
        second outputs `stiffness` (v,)."""
        q, theta = (np.asarray(row, dtype=np.float64) for row in (q, theta))
        energy = np.zeros(np.broadcast_shapes(q.shape[:-1], theta.shape[:-1]))
        for i, actuator, motors, second in self.each():
            k = stiffness[second] if actuator.input_range is not None else 1.0
            energy = energy + actuator.energy(q[..., i], [theta[..., j] for j in motors], k)
        return energy

    @property
    def joints_with_base_springs(self) -> tuple[str, ...]:
        """The names of joints with springs that do not end at a motor."""
        named = zip(self.joint_names, self.actuators, strict=True)
        return tuple(name for name, actuator in named if actuator.has_base_springs)

    def identification(self) -> list[JointSprings | None]:
        """The springs of each joint for identification, None for a rigid one. Raises InputError,
        naming the joint, for a kind that cannot be identified."""
        named = zip(self.joint_names, self.actuators, strict=True)
        return [None if each.is_rigid else each.identification(name) for name, each in named]

    def refuse_base_springs(self, what: str) -> None:
        """Raise InputError, naming the joint, for springs that do not end at a motor."""
        for name, actuator in zip(self.joint_names, self.actuators, strict=True):
            if actuator.has_base_springs:
                raise InputError(
                    f"joint '{name}': {what} requires all springs to be between motor and link, "
                    f"but {type(actuator).__name__} has one between link and base"
                )

    def _column(self, name: str) -> Array:
        return np.array([getattr(motor, name) for motor in self.motors])

    @cached_array
    def motor_inertia(self) -> Array:
        """(m,) in kg m^2, link side."""
        return self._column("inertia")

    @cached_array
    def gear_ratio(self) -> Array:
        """(m,) N: on the motor shaft a command is N theta and tau_m / N."""
        return self._column("gear_ratio")

    @cached_array
    def torque_limit(self) -> Array:
        """(m,) in N m."""
        return self._column("torque_limit")

    @cached_array
    def speed_limit(self) -> Array:
        """(m,) in rad/s."""
        return self._column("speed_limit")

    def torque_limit_within(self, effort: Array) -> Array:
        """(m,) in N m, the smaller of each motor's torque limit and the `effort` limit (n,) of its
        joint, which does not apply to one of several motors."""
        joints = self.joint_of_motor
        is_alone = np.bincount(joints)[joints] == 1
        return np.minimum(self.torque_limit, np.where(is_alone, effort[joints], np.inf))

    def joint_torque_limit_within(self, effort: Array) -> Array:
        """(n,) in N m: what the motors of each joint can hold together, within its `effort` limit
        as in :meth:`torque_limit_within`."""
        holds = np.where(self.torque_share > 0.0, self.torque_limit_within(effort), 0.0)
        found = np.zeros(self.n)
        np.add.at(found, self.joint_of_motor, holds)
        return found

    @cached_property
    def _friction(self) -> tuple[Array, ...]:
        """The FRICTION rows of the motors, as columns."""
        rows = [motor.friction.row for motor in self.motors]
        return tuple(np.array(rows).reshape(-1, FRICTION_ROW).T)

    @cached_property
    def _has_simple_friction(self) -> bool:
        return all(motor.friction.is_simple for motor in self.motors)

    @cached_array
    def has_link_friction(self) -> NDArray[np.bool_]:
        """(n,) mask of the joints whose links have friction."""
        return np.array([not each.link_friction.is_zero for each in self.actuators])

    @cached_array
    def contact_torque(self) -> Array:
        """(n,) N m or N, torque that closes the gap in front of the spring; 0 without backlash."""
        return np.array(
            [max((s.contact_torque for s in each.springs), default=0.0) for each in self.actuators]
        )

    def refuse_other_joints(self, model: MultibodyModel) -> None:
        """Raise InputError unless the joints are those of the model, in its order."""
        if self.joint_names != model.joint_names:
            raise InputError(
                f"the actuators belong to joints {', '.join(self.joint_names)}, but the joints of "
                f"robot '{model.name}' are {', '.join(model.joint_names)}"
            )

    def refuse_counting_twice(self, reflected_inertia: Array) -> None:
        """Raise InputError if a model's reflected_inertia (n,) includes one of these rotors."""
        for name, actuator, reflected in zip(
            self.joint_names, self.actuators, reflected_inertia, strict=True
        ):
            inertia = actuator.motors[0].inertia
            if reflected != 0.0 and not (actuator.is_rigid and inertia == 0.0):
                raise InputError(
                    f"joint '{name}': the rotor would be counted twice: the model has a reflected "
                    f"inertia of {reflected:g}, the motor data an inertia of {inertia:g}; remove "
                    f"it from the model with model.with_reflected_inertia"
                )

    def friction(self, velocity: Any, load: Any = 0.0) -> Array:
        """Friction torque (..., m) in N m at the motor velocities (..., m) in rad/s and under the
        loads (..., m) in N m, on which only load-dependent friction depends."""
        v = as_array("velocity", velocity, (len(self.motors),), self.motor_names)
        if self._has_simple_friction:
            return np.asarray(smooth_friction(v, *self._friction[:3]))
        return np.asarray(friction_torque(self._friction, v, np.nan_to_num(load)))

    def friction_slope(self, velocity: Any, load: Any = 0.0) -> Array:
        """Derivative (..., m) of the friction with respect to the velocity, N m s/rad."""
        v = as_array("velocity", velocity, (len(self.motors),), self.motor_names)
        if self._has_simple_friction:
            viscous, coulomb, reference = self._friction[:3]
            return viscous + coulomb / reference * (1.0 - np.tanh(v / reference) ** 2)
        along = friction_motion(self._friction, (v, 1.0, 0.0), (np.nan_to_num(load), 0.0, 0.0))
        return np.asarray(along[1])

    @property
    def link_friction_slope(self) -> Array:
        """(n,) derivative of the friction of links with respect to their velocity at rest, without
        load, N m s/rad."""
        law = np.array([each.link_friction.row for each in self.actuators]).T
        return np.asarray(friction_motion(tuple(law), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))[1])

    def link_friction(self, state: Any, torque: Any) -> Array:
        """(..., 3, n) friction torques of the links with two rates along the motion `state`
        (..., 4 or more, n), q with at least three rates, under the joint torques `torque`
        (..., 3, n), rows Q, Q', Q'' of `inverse_dynamics`."""
        rows = [each.link_friction.row for each in self.actuators]
        law = tuple(np.array(rows).reshape(-1, FRICTION_ROW).T)
        state, torque = np.asarray(state), np.asarray(torque)
        motion, load = (np.moveaxis(x, -2, 0) for x in (state[..., 1:4, :], torque))
        return np.stack(friction_motion(law, motion, load), axis=-2)

    @property
    def link_friction_offset(self) -> Array:
        """(n,) friction torques of links at rest, N m."""
        return np.array([each.link_friction.offset for each in self.actuators])

    def slip_torque(self, states: Array) -> Array:
        """(n,) N m that the slip elements carry, from the `states` of a feedforward."""
        own = states[self.n : self.n + self.slip_count]
        return np.asarray(np.bincount(self.joint_of_slip, own, self.n), dtype=np.float64)

    def without_link_friction(self) -> Actuators:
        """The same actuators, with the same states, for laws that take no friction of links into
        account."""
        if not self.has_link_friction.any():
            return self
        rows = tuple(
            replace(each, link_friction=Friction(presliding=each.link_friction.presliding))
            for each in self.actuators
        )
        return replace(self, actuators=rows)

    def without_coulomb_friction(self) -> Actuators:
        """The same actuators with viscous friction alone, for linear analyses at rest."""
        none = {"coulomb": 0.0, "stribeck": 0.0, "load_friction": 0.0, "offset": 0.0}
        smooth = (
            replace(
                each.with_motors([replace(motor, **none) for motor in each.motors]),
                link_friction=replace(each.link_friction, **none),
            )
            for each in self.actuators
        )
        return replace(self, actuators=tuple(smooth))

    def motor_torque(self, velocity: Any, acceleration: Any, load: Any) -> Array:
        """tau_m (..., m) = M_m theta'' + load + friction(theta', load)."""
        shape = (len(self.motors),)
        inertial = self.motor_inertia * as_array("acceleration", acceleration, shape)
        return inertial + as_array("load", load, shape) + self.friction(velocity, load)

    def motor_acceleration(self, velocity: Any, load: Any, motor_torque: Any) -> Array:
        """theta'' (..., m) = (tau_m - load - friction(theta', load)) / M_m.

        NaN on rigid joints, where theta'' is q'' from the forward dynamics of the whole arm.
        """
        torque = as_array("motor_torque", motor_torque, (len(self.motors),), self.motor_names)
        inertia = np.where(self.is_rigid[self.joint_of_motor], np.nan, self.motor_inertia)
        return np.asarray((torque - load - self.friction(velocity, load)) / inertia)

    def springs(
        self, q: Any, qd: Any, theta: Any, thetad: Any, *, stiffness: Any = None,
        beyond: Beyond = "raise",
    ) -> Springs:  # fmt: skip
        """Response of the springs to links at q, q' (..., n) and motors at theta, theta'
        (..., m).

        stiffness: (..., 2, v) rows k and k' of the `variable_joints`. Required if no motor sets the
        stiffness of some joint; entries of joints with such a motor are ignored. Raises InputError
        for wrong shapes, NaN and infinity, and, unless `beyond` is "continue", for deflections
        beyond the travel.
        """
        m = len(self.motors)
        given = {
            "q": as_array("q", q, (self.n,), self.joint_names),
            "qd": as_array("qd", qd, (self.n,), self.joint_names),
            "theta": as_array("theta", theta, (m,), self.motor_names),
            "thetad": as_array("thetad", thetad, (m,), self.motor_names),
        }
        shapes = [row.shape[:-1] for row in given.values()]
        k = self.measured_stiffness(stiffness)
        if k is not None:
            given["stiffness"] = k
            shapes.append(k.shape[:-2])
        batch = broadcast_shapes(tuple(given), shapes)
        links = [np.broadcast_to(given[name], (*batch, self.n)) for name in ("q", "qd")]
        rotors = [np.broadcast_to(given[name], (*batch, m)) for name in ("theta", "thetad")]
        result = Springs(
            *(np.empty((*batch, self.n)) for _ in range(3)), *(np.empty((*batch, m)) for _ in "ab")
        )
        for i, actuator, motors, second in self.each():
            rows: Rows = ()
            if self.needs_stiffness[i]:
                assert k is not None
                rows = [np.broadcast_to(k[..., j, second], batch) for j in range(2)]
            theta_i, thetad_i = ([row[..., j] for j in motors] for row in rotors)
            with self.named(i):
                rows_of_joint = actuator.spring_rows(
                    links[0][..., i], links[1][..., i], theta_i, thetad_i, rows, beyond
                )
            for row, value in zip(result[:3], rows_of_joint[:3], strict=True):
                row[..., i] = value
            for j, load, deflection in zip(
                motors, rows_of_joint.loads, rows_of_joint.deflections, strict=True
            ):
                result.load[..., j], result.deflection[..., j] = load, deflection
        return result

    def link_position(
        self,
        theta: Any,
        torque: Any,
        *,
        stiffness: Any = None,
        deflection: Any = None,
        where: NDArray[np.bool_] | None = None,
        beyond: Beyond = "raise",
    ) -> Array:
        """q (..., n) from motor positions theta (..., m) and joint torques Q (..., n) by the
        springs' inverse laws; theta for rigid joints.

        stiffness : (..., 2, v) rows k and k' of the `variable_joints`, of which k is used where no
            motor sets it. deflection : (..., n), required for damped springs (see
            :meth:`deflection_after`), whose Q depends on the past. where : (n,) mask of the joints
            to compute; NaN for the others.

        Raises InputError as :meth:`springs` does.
        """
        m = len(self.motors)
        theta = as_array("theta", theta, (m,), self.motor_names)
        torque = as_array("torque", torque, (self.n,), self.joint_names)
        given = {"theta": theta.shape[:-1], "torque": torque.shape[:-1]}
        k = self.measured_stiffness(stiffness, where)
        if k is not None:
            given["stiffness"] = k.shape[:-2]
        if deflection is not None:
            deflection = as_array("deflection", deflection, (self.n,), self.joint_names)
            given["deflection"] = deflection.shape[:-1]
        batch = broadcast_shapes(tuple(given), tuple(given.values()))
        result = np.full((*batch, self.n), np.nan)
        for i, actuator, motors, second in self.each():
            if where is not None and not where[i]:
                continue
            own = k[..., 0, second] if k is not None and self.needs_stiffness[i] else None
            rows = [np.broadcast_to(theta[..., j], batch) for j in motors]
            phi = None if deflection is None else deflection[..., i]
            with self.named(i):
                Q = np.broadcast_to(torque[..., i], batch)
                result[..., i] = actuator.link_position(rows, Q, own, phi, beyond)
        return result

    def settled_deflection(self, torque: Any, *, beyond: Beyond = "raise") -> Array:
        """(..., n) deflections of damped springs once their transients have decayed, at the torques
        (..., 3, n), rows Q, Q', Q''; zero for the other joints."""
        return self._filtered(torque, lambda each, i, Q: each.settled_deflection(Q, beyond=beyond))

    def deflection_after(
        self, deflection: Any, torque: Any, dt: float, *, beyond: Beyond = "raise"
    ) -> Array:
        """(..., n) deflections of damped springs after dt in s, starting from `deflection`
        (..., n), under the torques (..., 3, n), rows Q, Q', Q''; zero for the other joints. See
        :meth:`.Actuator.deflection_after`."""
        phi = as_array("deflection", deflection, (self.n,), self.joint_names)
        dt = float(exactly("dt", dt, ()))
        if dt < 0.0:
            raise InputError(f"dt must be zero or greater, got {dt:g} s")
        return self._filtered(
            torque,
            lambda each, i, Q: each.deflection_after(phi[..., i], Q, dt, beyond=beyond),
            phi.shape[:-1],
        )

    def _filtered(
        self,
        torque: Any,
        advance: Callable[[Actuator, int, Rows], Array],
        batch: tuple[int, ...] = (),
    ) -> Array:
        torque = as_array("torque", torque, (3, self.n), self.joint_names)
        shape = broadcast_shapes(("torque", "deflection"), (torque.shape[:-2], batch))
        result = np.zeros((*shape, self.n))
        for i in np.flatnonzero(self.is_damped).tolist():
            actuator = self.actuators[i]
            with self.named(i):
                result[..., i] = advance(actuator, i, [torque[..., k, i] for k in range(3)])
        return result

    def measured_stiffness(
        self, stiffness: Any, where: NDArray[np.bool_] | None = None
    ) -> Array | None:
        """The `stiffness` argument (..., 2, v), rows k and k', checked; None if not given.

        Raises InputError if it is missing and a joint (of the mask `where`) needs it.
        """
        if stiffness is None:
            needed = self.needs_stiffness if where is None else self.needs_stiffness & where
            for i in np.flatnonzero(needed).tolist():
                raise InputError(
                    f"joint '{self.joint_names[i]}': no motor sets its stiffness; give "
                    f"`stiffness`, rows k and k' of {', '.join(self.variable_joints)}"
                )
        return self.second_outputs(stiffness, 2)

    def second_outputs(self, stiffness: Any, rows: int) -> Array | None:
        """The `stiffness` argument (..., rows, v), checked; None if not given."""
        if stiffness is None:
            return None
        names = self.variable_joints
        return as_array("stiffness", stiffness, (rows, len(names)), names or None)

    def each(self) -> Iterator[tuple[int, Actuator, range, int]]:
        """Index of the joint, actuator, indices of its motors and of its second output."""
        motor = second = 0
        for i, actuator in enumerate(self.actuators):
            count = len(actuator.motors)
            yield i, actuator, range(motor, motor + count), second
            motor += count
            second += actuator.second_output is not None

    @contextmanager
    def named(self, i: int) -> Iterator[None]:
        """Prefix any InputError raised inside with the name of the joint."""
        with refused_as(InputError, f"joint '{self.joint_names[i]}'"):
            yield
