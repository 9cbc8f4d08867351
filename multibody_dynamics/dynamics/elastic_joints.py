"""Joints with springs: what the motor must do so that the link does what it should.

Series elastic actuators with Spong's simplification (a rotor's kinetic energy is that of its own
spin; good for gear ratios well above 1): [M21] (2), (3) with joint friction,

    Q = K (theta - q),        M_m theta'' + Q + friction(theta') = tau_m,
    friction(v) = viscous v + coulomb tanh(v / coulomb_velocity).

Solved for the motor (differential flatness, q is the flat output):

    theta = q + K^-1 Q,    theta' = q' + K^-1 Q',    theta'' = q'' + K^-1 Q'',
    tau_m = M_m theta'' + Q + friction(theta').

A rigid joint is the limit K = inf: theta = q. Everything here is on the link side of the gear: a
motor angle is the angle of the shaft divided by the gear ratio, a motor torque the torque of the
shaft times the ratio.

Who counts the rotor inertia: this module, for elastic and rigid joints alike, and nobody else. Q
must come from a model whose `reflected_inertia` is zero on every joint that has a motor inertia
here (:func:`refuse_counting_twice` checks that). A rigid joint's rotor may instead be left to the
model; then its motor inertia here is zero, and Q, which includes it, is what the motor must push.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError
from .inputs import Array, as_array, broadcast_shapes
from .quantities import entries, joint_entries, joint_motion, motor_values, quantity

VARIANTS: Mapping[str, tuple[float, float, float]] = {
    "full": (1.0, 1.0, 1.0),
    "quasi_static": (1.0, 0.0, 0.0),
    "rigid": (0.0, 0.0, 0.0),
}
"""Which of Q, Q', Q'' bend the spring in the feedforward. `full` is exact. `quasi_static` knows the
deflection but not its rates (theta = q + K^-1 Q, theta' = q', theta'' = q''), as does the usual
motor-side controller with gravity or inverse-dynamics feedforward. `rigid` is that of a robot
without springs: theta = q and its rates, tau_m = Q + M_m q''. All three compensate friction, at
their theta'."""


class MotorCommand(NamedTuple):
    """theta, theta', theta'' and tau_m on the link side of the gear, each (..., n)."""

    position: Array
    velocity: Array
    acceleration: Array
    torque: Array


_ZERO: Any = 0.0
_ONE: Any = 1.0
_UNLIMITED: Any = np.inf


@dataclass(frozen=True, eq=False)
class SeriesElasticJoints:
    """Springs and motors, one of each per joint, (n,) arrays on the link side of the gear.

    A scalar is the value of every joint. Units are those of a revolute joint; of a prismatic one
    they are N/m, kg, N s/m, N and m/s. Raises InputError that names the joint for values that no
    hardware has.
    """

    joint_names: tuple[str, ...]
    stiffness: Array  # N m/rad, positive; inf: a rigid joint
    motor_inertia: Array  # kg m^2, rotor and gear; positive, or zero on a rigid joint
    gear_ratio: Array = _ONE  # motor travel per link travel, positive
    viscous: Array = _ZERO  # friction, N m s/rad
    coulomb: Array = _ZERO  # friction, N m
    coulomb_velocity: Array = _ONE  # rad/s, at which friction is 0.76 coulomb
    torque_limit: Array = _UNLIMITED  # of the motor, N m
    speed_limit: Array = _UNLIMITED  # of the motor, rad/s

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
            raise InputError(f"joint_names: expected different strings, got {names}")
        object.__setattr__(self, "joint_names", names)
        for name in (each.name for each in fields(self)[1:]):
            object.__setattr__(self, name, _per_joint(name, getattr(self, name), names))
        for name in ("stiffness", "gear_ratio", "coulomb_velocity", "torque_limit", "speed_limit"):
            self._refuse(name, getattr(self, name) <= 0.0, "greater than zero")
        for name in ("motor_inertia", "viscous", "coulomb"):
            self._refuse(name, getattr(self, name) < 0.0, "zero or greater")
        for name in ("motor_inertia", "gear_ratio", "viscous", "coulomb", "coulomb_velocity"):
            self._refuse(name, np.isinf(getattr(self, name)), "finite")
        massless = (self.motor_inertia == 0.0) & ~self.is_rigid
        self._refuse("motor_inertia", massless, "greater than zero on an elastic joint")

    def _refuse(self, name: str, wrong: NDArray[np.bool_], right: str) -> None:
        for i in np.flatnonzero(wrong):
            value = getattr(self, name)[i]
            raise InputError(f"joint '{self.joint_names[i]}': {name} is {value:g}: must be {right}")

    @property
    def n(self) -> int:
        return len(self.joint_names)

    @cached_property
    def is_rigid(self) -> NDArray[np.bool_]:
        """(n,) mask of the joints without a spring."""
        return np.isinf(self.stiffness)

    @cached_property
    def compliance(self) -> Array:
        """(n,) K^-1 in rad/(N m); zero on rigid joints."""
        return 1.0 / self.stiffness

    def _row(self, name: str, value: Any) -> Array:
        return as_array(name, value, (self.n,), self.joint_names)

    def friction(self, velocity: ArrayLike) -> Array:
        """Torque (..., n) in N m that friction takes at the motor velocity (..., n) in rad/s."""
        v = self._row("velocity", velocity)
        return self.viscous * v + self.coulomb * np.tanh(v / self.coulomb_velocity)

    def feedforward(
        self, state: ArrayLike, torque: ArrayLike | tuple[Array, ...], *, variant: str = "full"
    ) -> MotorCommand:
        """The motor command that moves the link along `state`.

        state: (..., 5, n) rows q, q', q'', q''', q''''; torque: (..., 3, n) rows Q, Q', Q'' of the
        same motion (or the tuple that inverse_dynamics returns); variant: see VARIANTS.
        Raises InputError on a wrong shape or variant, on missing rates and on NaN or inf.
        """
        if isinstance(torque, tuple):
            if any(row is None for row in torque):
                raise InputError(
                    "torque: Q' or Q'' is missing: inverse_dynamics gives them for qddd and qdddd"
                )
            torque = np.stack(torque, axis=-2)
        state = as_array("state", state, (5, self.n), self.joint_names)
        torque = as_array("torque", torque, (3, self.n), self.joint_names)
        batch = broadcast_shapes(("state", "torque"), (state.shape[:-2], torque.shape[:-2]))
        state = np.broadcast_to(state, (*batch, 5, self.n))
        torque = np.broadcast_to(torque, (*batch, 3, self.n))
        return MotorFeedforward(self, state, torque, variant=variant).update()

    def joint_torque(
        self, q: ArrayLike, qd: ArrayLike, theta: ArrayLike, thetad: ArrayLike
    ) -> tuple[Array, Array]:
        """Q and Q' (N m, N m/s) from the deflection of the springs and its rate, (..., n) each.

        NaN on rigid joints, whose deflection says nothing: see :meth:`torque_behind_motor`.
        """
        stiffness = np.where(self.is_rigid, np.nan, self.stiffness)
        deflection = self._row("theta", theta) - self._row("q", q)
        rate = self._row("thetad", thetad) - self._row("qd", qd)
        return stiffness * deflection, stiffness * rate

    def torque_behind_motor(
        self, velocity: ArrayLike, acceleration: ArrayLike, motor_torque: ArrayLike
    ) -> Array:
        """Q = tau_m - M_m theta'' - friction(theta'): elastic and rigid joints, (..., n) each."""
        inertial = self.motor_inertia * self._row("acceleration", acceleration)
        return self._row("motor_torque", motor_torque) - inertial - self.friction(velocity)

    def motor_acceleration(
        self, velocity: ArrayLike, joint_torque: ArrayLike, motor_torque: ArrayLike
    ) -> Array:
        """theta'' = (tau_m - Q - friction(theta')) / M_m in rad/s^2, (..., n).

        NaN on rigid joints: theirs is q'', from the forward dynamics of the whole arm.
        """
        inertia = np.where(self.is_rigid, np.nan, self.motor_inertia)
        torque = self._row("motor_torque", motor_torque) - self._row("joint_torque", joint_torque)
        return (torque - self.friction(velocity)) / inertia

    def at_motor_shaft(self, command: MotorCommand) -> MotorCommand:
        """The command on the motor side of the gear, as a drive without the ratio expects it."""
        N = self.gear_ratio
        theta, thetad, thetadd, tau = command
        return MotorCommand(N * theta, N * thetad, N * thetadd, tau / N)


def refuse_counting_twice(joints: SeriesElasticJoints, reflected_inertia: Array) -> None:
    """Raise InputError where a model's reflected_inertia (n,) holds a rotor that `joints` has too.

    On an elastic joint the rotor is behind the spring: the model must not have it at all.
    """
    twice = (reflected_inertia != 0.0) & ((joints.motor_inertia != 0.0) | ~joints.is_rigid)
    for i in np.flatnonzero(twice):
        raise InputError(
            f"joint '{joints.joint_names[i]}': the model has a reflected inertia of "
            f"{reflected_inertia[i]:g} and the motor data {joints.motor_inertia[i]:g}: the rotor "
            f"counts once; take it out of the model with model.with_reflected_inertia"
        )


class MotorFeedforward:
    """:meth:`SeriesElasticJoints.feedforward` for the control cycle: in place, nothing allocated.

    `state` (5, n), `torque` (3, n): arrays to read from at every update, such as an
    InverseDynamicsSolver's `state` and `result`; own zeros if not given. `result` (4, n) and its
    rows, `command`, are overwritten. The caller answers for finite numbers.
    """

    def __init__(
        self,
        joints: SeriesElasticJoints,
        state: Array | None = None,
        torque: Array | None = None,
        *,
        variant: str = "full",
    ) -> None:
        if variant not in VARIANTS:
            raise InputError(f"variant '{variant}': expected one of {', '.join(VARIANTS)}")
        self.joints = joints
        self.variant = variant
        self.state = np.zeros((5, joints.n)) if state is None else state
        self.torque = np.zeros((3, joints.n)) if torque is None else torque
        self.result = np.zeros((*self.state.shape[:-2], 4, joints.n))
        self.command = MotorCommand(*np.moveaxis(self.result, -2, 0))
        self._bending = np.outer(VARIANTS[variant], joints.compliance)
        self._link_motion = self.state[..., :3, :]
        self._motor_motion = self.result[..., :3, :]
        self._joint_torque = self.torque[..., 0, :]
        self._scratch = np.empty_like(self.command.torque)
        self._has_viscous = bool(joints.viscous.any())
        self._has_coulomb = bool(joints.coulomb.any())

    def update(self) -> MotorCommand:
        """Compute `result` from `state` and `torque`; return its rows."""
        joints, work = self.joints, self._scratch
        _, velocity, acceleration, torque = self.command
        np.multiply(self._bending, self.torque, out=self._motor_motion)
        np.add(self._motor_motion, self._link_motion, out=self._motor_motion)
        np.multiply(joints.motor_inertia, acceleration, out=torque)
        np.add(torque, self._joint_torque, out=torque)
        if self._has_viscous:
            np.multiply(joints.viscous, velocity, out=work)
            np.add(torque, work, out=torque)
        if self._has_coulomb:
            np.divide(velocity, joints.coulomb_velocity, out=work)
            np.tanh(work, out=work)
            np.multiply(joints.coulomb, work, out=work)
            np.add(torque, work, out=torque)
        return self.command


def _per_joint(name: str, value: ArrayLike, joint_names: tuple[str, ...]) -> Array:
    """A read-only copy (n,) without NaN."""
    n = len(joint_names)
    try:
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers, got {value!r}") from None
    if given.shape not in ((), (n,)):
        raise InputError(f"{name}: shape {given.shape}, expected a value for each of {n} joints")
    array = np.full(n, given)
    for i in np.flatnonzero(np.isnan(array)):
        raise InputError(f"joint '{joint_names[i]}': {name} is NaN")
    array.flags.writeable = False
    return array


# The YAML schema, documented key by key in config/elastic_joints/panda.yaml.


def load_elastic_joints(
    source: str | PathLike[str] | Mapping[str, Any],
    joint_names: Sequence[str],
    joint_types: Sequence[str] | None = None,
) -> SeriesElasticJoints:
    """Springs and motors of a robot from a YAML file or its mapping, in the order of `joint_names`.

    joint_types: as MultibodyModel.joint_types; where given, the units must suit them.
    Raises InputError that names the file, joint and key, and says what would be right: unknown,
    missing and doubled keys, joints that the robot has not or that the file has not, units and
    sides that do not fit, and values that no hardware has.
    """
    where, joints = joint_entries(source, joint_names, "elastic joints")
    types = dict(zip(joint_names, joint_types, strict=True)) if joint_types is not None else {}
    columns: dict[str, list[float]] = {}
    for name in joint_names:
        for key, value in _joint(joints[name], f"{where}: joint '{name}'", types.get(name)).items():
            columns.setdefault(key, []).append(value)
    try:
        return SeriesElasticJoints(
            tuple(joint_names), **{key: np.array(values) for key, values in columns.items()}
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _joint(data: Any, where: str, joint_type: str | None) -> dict[str, float]:
    """The fields of SeriesElasticJoints of one joint."""
    entry = entries(data, where, required=("spring", "motor"), optional=("motion",))
    motion = joint_motion(entry, where, joint_type)
    values, gear = motor_values(entry["motor"], where, motion)
    if entry["spring"] == "rigid":
        values["stiffness"] = np.inf
    elif isinstance(entry["spring"], str):
        raise InputError(
            f"{where}: spring '{entry['spring']}': must be rigid, or a mapping with law and "
            f"stiffness"
        )
    else:
        spring = entries(entry["spring"], f"{where}: spring", ("law", "stiffness"), ())
        if spring["law"] != "linear":
            raise InputError(f"{where}: spring.law {spring['law']!r}: must be linear")
        at = f"{where}: spring.stiffness"
        values["stiffness"] = quantity(spring["stiffness"], at, "stiffness", gear)
    return values
