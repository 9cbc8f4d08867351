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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from .errors import InputError
from .inputs import Array, as_array, broadcast_shapes

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

_TURN, _DEGREE = 2.0 * np.pi, np.pi / 180.0
_UNITS: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("stiffness", "revolute"): {
        "N m/rad": 1.0, "kN m/rad": 1e3, "N m/deg": 1.0 / _DEGREE, "N m/arcmin": 60.0 / _DEGREE,
    },
    ("stiffness", "prismatic"): {"N/m": 1.0, "kN/m": 1e3, "N/mm": 1e3},
    ("inertia", "revolute"): {"kg m^2": 1.0, "kg cm^2": 1e-4, "kg mm^2": 1e-6, "g cm^2": 1e-7},
    ("inertia", "prismatic"): {"kg": 1.0, "g": 1e-3},
    ("damping", "revolute"): {
        "N m s/rad": 1.0, "mN m s/rad": 1e-3, "N m/rpm": 60.0 / _TURN, "mN m/rpm": 0.06 / _TURN,
    },
    ("damping", "prismatic"): {"N s/m": 1.0},
    ("force", "revolute"): {"N m": 1.0, "N cm": 1e-2, "mN m": 1e-3},
    ("force", "prismatic"): {"N": 1.0, "kN": 1e3},
    ("velocity", "revolute"): {"rad/s": 1.0, "deg/s": _DEGREE, "rpm": _TURN / 60.0},
    ("velocity", "prismatic"): {"m/s": 1.0, "mm/s": 1e-3},
    ("ratio", "prismatic"): {"rad/m": 1.0, "rad/mm": 1e3, "turn/m": _TURN, "turn/mm": _TURN * 1e3},
}  # fmt: skip
_TO_LINK_SIDE = {"stiffness": 2, "inertia": 2, "damping": 2, "force": 1, "velocity": -1}
"""Power of the gear ratio that takes a quantity from the motor side to the link side."""

_MOTOR_QUANTITIES = {
    "inertia": ("motor_inertia", "inertia"),
    "viscous_friction": ("viscous", "damping"),
    "coulomb_friction": ("coulomb", "force"),
    "coulomb_velocity": ("coulomb_velocity", "velocity"),
    "torque_limit": ("torque_limit", "force"),
    "speed_limit": ("speed_limit", "velocity"),
}


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
    if isinstance(source, Mapping):
        where, data = "elastic joints", source
    else:
        where, data = str(source), _read_yaml(Path(source))
    top = _entries(data, where, required=("joints",), optional=("description",))
    joints = _entries(top["joints"], f"{where}: joints", required=(), optional=None)
    for name in joints:
        if name not in joint_names:
            raise InputError(
                f"{where}: joint {name!r}: the robot has no such joint; it has "
                f"{', '.join(joint_names)}"
            )
    types = dict(zip(joint_names, joint_types, strict=True)) if joint_types is not None else {}
    columns: dict[str, list[float]] = {}
    for name in joint_names:
        if name not in joints:
            raise InputError(
                f"{where}: joint '{name}' of the robot is missing; a joint without a spring is "
                f"written with 'spring: rigid'"
            )
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
    entry = _entries(data, where, required=("spring", "motor"), optional=("motion",))
    motion = entry.get("motion", "revolute")
    if motion not in ("revolute", "prismatic"):
        raise InputError(f"{where}: motion {motion!r}: must be revolute (the default) or prismatic")
    if joint_type is not None and (joint_type == "prismatic") != (motion == "prismatic"):
        raise InputError(f"{where}: motion is {motion}, but the robot's joint is {joint_type}")

    optional = tuple(key for key in _MOTOR_QUANTITIES if key != "inertia")
    motor = _entries(entry["motor"], f"{where}: motor", ("gear_ratio", "inertia"), optional)
    if ("coulomb_friction" in motor) != ("coulomb_velocity" in motor):
        raise InputError(
            f"{where}: motor: coulomb_friction and coulomb_velocity (the speed of its tanh) belong "
            f"together: give both or neither"
        )
    ratio, motor_motion = _gear_ratio(motor["gear_ratio"], f"{where}: motor.gear_ratio", motion)
    motions = {"link": motion, "motor": motor_motion}
    values = {
        "gear_ratio": ratio,
        "coulomb": 0.0, "viscous": 0.0, "coulomb_velocity": 1.0,
        "torque_limit": np.inf, "speed_limit": np.inf,
    }  # fmt: skip
    for key, (name, dimension) in _MOTOR_QUANTITIES.items():
        if key in motor:
            at = f"{where}: motor.{key}"
            values[name] = _quantity(motor[key], at, dimension, motions, ratio)

    if entry["spring"] == "rigid":
        values["stiffness"] = np.inf
    elif isinstance(entry["spring"], str):
        raise InputError(
            f"{where}: spring '{entry['spring']}': must be rigid, or a mapping with law and "
            f"stiffness"
        )
    else:
        spring = _entries(entry["spring"], f"{where}: spring", ("law", "stiffness"), ())
        if spring["law"] != "linear":
            raise InputError(f"{where}: spring.law {spring['law']!r}: must be linear")
        at = f"{where}: spring.stiffness"
        values["stiffness"] = _quantity(spring["stiffness"], at, "stiffness", motions, ratio)
    return values


def _gear_ratio(value: Any, where: str, motion: str) -> tuple[float, str]:
    """Motor travel per link travel, and the motion of the motor."""
    if not isinstance(value, Mapping):
        return _positive(value, where), motion
    if motion == "revolute":
        raise InputError(f"{where}: the ratio of a revolute joint is a plain number, without unit")
    entry = _entries(value, where, required=("value", "unit"), optional=())
    unit = _factor(entry["unit"], where, "ratio", motion)
    return _positive(entry["value"], where) * unit, "revolute"


def _quantity(
    data: Any, where: str, dimension: str, motions: Mapping[str, str], ratio: float
) -> float:
    """A value with unit and side of the gear, in SI units on the link side."""
    entry = _entries(data, where, required=("value", "unit", "side"), optional=())
    side = entry["side"]
    if side not in motions:
        raise InputError(f"{where}: side {side!r}: must be motor or link (of the gear)")
    factor = _factor(entry["unit"], where, dimension, motions[side])
    if side == "motor":
        factor *= ratio ** _TO_LINK_SIDE[dimension]
    return _number(entry["value"], where) * factor


def _factor(unit: Any, where: str, dimension: str, motion: str) -> float:
    """SI value of a unit; spaces and the sign of multiplication do not matter."""

    def plain(text: str) -> str:
        for old, new in ((" ", ""), ("*", ""), ("·", ""), (".", ""), ("²", "^2")):
            text = text.replace(old, new)
        return text

    units = _UNITS[dimension, motion]
    for known, factor in units.items():
        if plain(str(unit)) == plain(known):
            return factor
    raise InputError(
        f"{where}: unit {unit!r} is not one of {', '.join(units)} (motion there is {motion})"
    )


def _number(value: Any, where: str) -> float:
    """A YAML number; also 1e4, which YAML 1.1 reads as a string for want of a point."""
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {value!r} is not a number") from None
    if np.isnan(number):
        raise InputError(f"{where}: NaN is not a value")
    return number


def _positive(value: Any, where: str) -> float:
    number = _number(value, where)
    if not 0.0 < number < np.inf:
        raise InputError(f"{where}: {number:g}: must be greater than zero and finite")
    return number


def _entries(
    data: Any, where: str, required: Sequence[str], optional: Sequence[str] | None
) -> Mapping[str, Any]:
    """A mapping with the required keys and none but these and the optional ones (None: any)."""
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: found {data!r}, expected a mapping with {', '.join(required)}")
    for key in data:
        if optional is not None and key not in required and key not in optional:
            raise InputError(
                f"{where}: unknown key {key!r}; allowed: {', '.join((*required, *optional))}"
            )
    for key in required:
        if key not in data:
            raise InputError(f"{where}: key '{key}' is missing")
    return data


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice, of which YAML would silently drop one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise InputError(f"key {key!r} is given twice (line {line})")
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_number(self, node: yaml.ScalarNode) -> Any:
        """YAML 1.1 takes 100:1 for sixty times 100 and 1, a data sheet for a gear ratio."""
        if ":" in node.value:
            line = node.start_mark.line + 1
            raise InputError(f"{node.value} is no plain number (line {line}); write a ratio as one")
        kind = node.tag.rpartition(":")[2]
        return (self.construct_yaml_int if kind == "int" else self.construct_yaml_float)(node)


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_yaml_number)


def _read_yaml(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, InputError, TypeError) as error:
        raise InputError(f"{path}: not a valid description: {error}") from None
