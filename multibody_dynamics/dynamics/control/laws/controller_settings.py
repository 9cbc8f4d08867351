# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the control laws, the registry of the laws, and their design for a robot.

A law is one file in `by_name/`: a subclass of :class:`ControllerSettings` that declares every
number of the law once, by :func:`.setting`, and designs the law for a robot. LAWS has the laws by
name. Parameters of nodes, launch files, options and tables of the documentation are made from these
declarations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar
from warnings import warn

import numpy as np

from ...core import Array, DynamicsError, InputError, as_array, as_real, check_setting, setting
from ...elastic import Actuators
from ...model import MultibodyModel, check_model
from ..controllers.controllers import PERIOD, Controller
from ..gains.joint_gains import JointPoles, StateFeedbackGains, motor_side_gains
from ..gains.joint_values import FASTEST, SLOWEST, is_possible

LawName = Literal[
    "cartesian_impedance", "computed_torque", "esp", "esp_impedance", "feedback_linearization",
    "hold", "joint_impedance", "motor_pd", "state_feedback", "torque_control"
]  # fmt: skip
"""The names of the package's own laws, for type checkers; at run time, LAWS decides."""
DEFAULT_LAW: LawName = "motor_pd"
_laws: dict[str, type[ControllerSettings]] = {}
LAWS: Mapping[str, type[ControllerSettings]] = MappingProxyType(_laws)
"""The laws by name: the classes of their settings."""

_ALTERNATIVES = (
    ("bandwidth", "poles"),
    ("bandwidth", "proportional"),
    ("second_bandwidth", "poles"),
)
Own = TypeVar("Own", bound="ControllerSettings")


def positive_rates(name: str, value: Any) -> None:
    """Raise InputError for bandwidths with which no gains can be designed."""
    row = as_real(name, value)
    if not row.size or not (row > 0.0).all():
        raise InputError(f"{name} is {value}: must be one or more positive numbers")
    if not is_possible(row).all():
        raise InputError(f"{name} is {value}: must be between {SLOWEST:g} and {FASTEST:g} 1/s")


def zero_or_more(name: str, value: Any) -> None:
    """Raise InputError for a number below zero, NaN or infinity."""
    if not 0.0 <= value < np.inf:
        raise InputError(f"{name} is {value}: must be zero or greater, and finite")


def stable_poles(name: str, value: Any) -> None:
    """Raise InputError for poles that are not left of the imaginary axis."""
    try:
        real = np.asarray(value, dtype=np.complex128).real
    except (TypeError, ValueError):
        return  # poles by name, or not numbers: the design reports the joint
    if (real >= 0.0).any():
        raise InputError(f"{name} are {value}: their real parts must be negative")


def bandwidth_setting(default: Any, meaning: str, *, is_row: bool = True, **more: Any) -> Any:
    """A :func:`.setting` in rad/s, as a parameter one value or one per joint or motor."""
    return setting(default, meaning, unit="rad/s", check=positive_rates, is_row=is_row, **more)


class Cycle(NamedTuple):
    """What a law should know about the control cycle in which it runs.

    period : s. delay : s, from a measurement to the effect of its torque, that gains must tolerate.
    command_delay : s, from the stamp of a state to the effect of its torque.
    velocity_filter : order and bandwidth in Hz of the filter of the measured state.
    measures_links : whether there are link encoders or torque sensors.
    """

    period: float
    delay: float
    command_delay: float
    velocity_filter: tuple[int, float]
    measures_links: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class ControllerSettings:
    """Settings of a control law, the argument of :func:`.make_controller`.

    `ControllerSettings(law="hold", stop_time=0.2)` is an object of the class of that law in LAWS;
    without `law`, of that of DEFAULT_LAW. The fields of each class are its settings, documented by
    their declarations and in docs/control_laws.md. Rows may be scalars; None stands for the
    default. Settings are equal if all values are, and hashable.

    Raises InputError for a setting that does not apply to the law, two settings for the same gains,
    a bandwidth that is not positive, and poles that are not left of the imaginary axis.

    Attributes of each class
    ------------------------
    page : of the documentation, with more about the law, or "".
    tunable : attributes of the controller that :func:`.retune` may change while it runs.
    fixed : those with which :func:`.retune` refuses the settings if they differ.
    observer : the setting of the bandwidth of an observer that compares links and model; it is
        lowered first, and 0 without link encoders.
    lowers : what is lowered if the law is unstable at some poses: "bandwidth", "impedance", or ""
        for nothing, because a slower law is often less stable.
    follows_no_motion : why it is left out where laws are compared by how well the joints follow a
        motion, or "".
    """

    page: ClassVar[str] = ""
    tunable: ClassVar[tuple[str, ...]] = ()
    fixed: ClassVar[tuple[str, ...]] = ()
    observer: ClassVar[str] = ""
    lowers: ClassVar[str] = "bandwidth"
    follows_no_motion: ClassVar[str] = ""

    law: LawName = DEFAULT_LAW
    # fmt: off
    bandwidth: Any = bandwidth_setting(None, "none, unless the law declares one", parameter="")
    position: Any = setting(None, parameter="",
        meaning="(n,) configuration for which gains are designed; default: the middle of the joint"
        " limits")
    friction: Any = setting(1.0, bounds=(0.0, 1.0), parameter="friction_compensation",
        meaning="share of the motor friction that is compensated")
    base_frequency: float = setting(5.0, unit="Hz", bounds=(0.0, 1000.0), check=zero_or_more,
        meaning="lowest natural frequency that the base may have with the arm on it: once the"
        " compensation of links oscillates, it becomes as slow as such a base requires, and the law"
        " is judged as it is then on bases from this frequency on; 0: the base is rigid")
    period: float = setting(PERIOD, "duration of a cycle", unit="s", parameter="")
    # fmt: on

    def __init_subclass__(cls) -> None:
        if "law" in cls.__dict__:
            _laws[cls.__dict__["law"]] = cls

    def __new__(cls, **given: Any) -> ControllerSettings:
        law = given.get("law", cls.law)
        if law not in LAWS:
            raise InputError(f"law '{law}': expected one of {', '.join(LAWS)}")
        kind = LAWS[law] if "law" not in cls.__dict__ or cls is ControllerSettings else cls
        if law != kind.law:
            raise InputError(f"law '{law}': {kind.__name__} are the settings of '{kind.law}'")
        for name in given:
            having = [key for key, other in LAWS.items() if name in other.__dataclass_fields__]
            if having and law not in having:
                raise InputError(
                    f"{name} is not a setting of law '{law}', only of {', '.join(having)}"
                )
        return object.__new__(kind)

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) is None:
                object.__setattr__(self, each.name, each.default)
        if self._is_given("proportional") != self._is_given("derivative"):
            raise InputError("proportional and derivative: give both or neither")
        for one, other in _ALTERNATIVES:
            if self._is_given(one) and self._is_given(other):
                raise InputError(f"{one} and {other}: each sets the gains; give only one")
        for each in fields(self):
            check_setting(each, getattr(self, each.name))
        self.check()

    def check(self) -> None:
        """Raise InputError for settings that contradict each other; the design checks the rest."""

    def _is_given(self, name: str) -> bool:
        each = self.__dataclass_fields__.get(name)
        if each is None:
            return False
        value = getattr(self, name)
        return value is not each.default and bool(np.any(value != each.default))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ControllerSettings) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, each.name)) for each in fields(self))

    def of(self, *names: str) -> dict[str, Any]:
        """These settings by name, as arguments of a controller."""
        return {name: getattr(self, name) for name in names}

    def design(self, model: MultibodyModel, actuators: Actuators) -> Controller:
        """The law for this robot. Raises InputError for settings that do not fit the robot and for
        designs that are not stable."""
        raise DynamicsError(f"{type(self).__name__} does not say how law '{self.law}' is designed")

    def in_cycle(self: Own, cycle: Cycle) -> Own:
        """These settings, adapted to the control cycle in which the law runs."""
        return self

    def slowed(self, share: float) -> dict[str, Any]:
        """The settings that change if the law is to be slower by this factor."""
        if self.bandwidth is None:
            return {}
        return {"bandwidth": share * np.asarray(self.bandwidth, dtype=np.float64)}

    @property
    def speed(self) -> Any:
        """Deprecated: `bandwidth`."""
        warn("ControllerSettings.speed: use bandwidth", DeprecationWarning, stacklevel=2)
        return self.bandwidth

    @property
    def has_given_gains(self) -> bool:
        """Whether poles or gains were given instead of a bandwidth."""
        return self._is_given("poles") or self._is_given("proportional")

    @classmethod
    def live(cls) -> tuple[str, ...]:
        """The settings that may change while the law runs: stiffness and damping of a
        :class:`.LiveImpedance` once they are judged; others at once, as the attributes of the
        controller that have their names."""
        return tuple(each.name for each in fields(cls) if each.metadata.get("live"))

    def position_of(self, model: MultibodyModel) -> Array:
        """(n,) the position for which gains are designed."""
        if self.position is not None:
            return as_array("position", self.position, (model.n,), model.joint_names)
        return model.limits.middle


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenGains:
    """The part of the settings of laws that take gains in place of a bandwidth."""

    # fmt: off
    proportional: Any = setting(None, parameter="",
        meaning="gain on the position error of each motor, N m/rad or N/m, in place of a bandwidth;"
        " for computed_torque that of each joint, 1/s^2")
    derivative: Any = setting(None, parameter="",
        meaning="gain on the velocity error, N m s/rad or N s/m; for computed_torque in 1/s")
    # fmt: on

    def given_gains(self, actuators: Actuators) -> StateFeedbackGains | None:
        """PD gains of the motors from `proportional` and `derivative`, if these are given."""
        if self.proportional is None:
            return None
        return motor_side_gains(actuators, self.proportional, self.derivative)


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondOutputs:
    """The part of the settings of laws whose gains depend on second outputs."""

    stiffness: Any = setting(
        None, "(v,) second outputs for which gains are designed; default: mid-range", parameter=""
    )


def joint_poles(actuators: Actuators, poles: Any, bandwidth: Any, second: Any) -> JointPoles:
    """The poles of every joint, given, or all at its bandwidth."""
    if poles is not None:
        return JointPoles.from_poles(actuators, poles)
    return JointPoles.from_bandwidth(actuators, bandwidth, second)


def make_controller(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    """The control law that the settings name, designed for this robot.

    Raises InputError for settings that do not fit the robot and for designs that are not stable,
    and DynamicsError if no gains stabilise the arm (:func:`.coupled_gains`).
    """
    check_model(model)
    for name, value, kind in (
        ("actuators", actuators, Actuators),
        ("settings", settings, ControllerSettings),
    ):
        if not isinstance(value, kind):
            raise InputError(f"{name}: expected {kind.__name__}, got {value!r}")
    return settings.design(model, actuators)


def retune(controller: Controller, settings: ControllerSettings) -> None:
    """Change the gains of a running law between two updates; integrators and filters keep their
    state, but the observer of "torque_control" starts again from zero.

    The settings must name the same law and variant; gains are designed for the controller's current
    model. The torque jumps by the change of the gains times the current error: retune at rest or in
    small steps, or make a new law and :meth:`.BumplessTransfer.switch` to it. Everything is checked
    and designed first, which takes milliseconds; after an InputError the law is unchanged.
    """
    other = make_controller(controller.model, controller.actuators, settings)

    def kept(law: Any) -> list[Any]:
        """What may not change: attributes, or attributes of attributes; None without them."""
        paths = (path.split(".") for path in settings.fixed)
        return [reduce(lambda at, name: getattr(at, name, None), path, law) for path in paths]

    same = map(np.array_equal, kept(controller), kept(other))
    if type(other) is not type(controller) or not all(same):
        raise InputError(
            f"law '{settings.law}' with these settings differs from the running "
            f"{type(controller).__name__} in more than gains; make a new law and switch to it"
        )
    # the period first: gains are discretised with it, and that of a running law is the last step
    for name in ("period", *settings.tunable, "friction"):
        setattr(controller, name, getattr(other, name))


def law_list(laws: Collection[str]) -> str:
    """The names of these laws, as text."""
    others = [law for law in LAWS if law not in laws]
    if not others:
        return "all laws"
    return f"all laws but {', '.join(others)}" if len(others) < 3 else ", ".join(laws)


def _hashable(value: Any) -> Any:
    """Arrays, sequences and mappings as tuples, so that settings are compared by value."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return tuple(sorted((key, _hashable(each)) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return value
