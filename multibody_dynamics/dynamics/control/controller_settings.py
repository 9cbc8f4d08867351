"""The control laws by name and plain numbers, for configuration files and parameters.

"motor_pd"                quasi-static feedforward, PD on the motors
"state_feedback"          full feedforward, linear feedback of links and motors
"feedback_linearization"  q'''' = v
"computed_torque"         computed torque of the rigid arm, for comparison
"hold"                    damped stop, then hold with gravity compensation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, as_real
from ..elastic import Actuators
from ..model import MultibodyModel, check_model
from .controllers import PERIOD, ComputedTorque, Controller, LinearFeedback
from .feedback_linearization import FeedbackLinearization
from .gains import (
    JointPoles,
    StateFeedbackGains,
    damping_gains,
    motor_bandwidth_gains,
    motor_side_gains,
    optimal_gains,
    placed_gains,
)
from .hold_controller import HoldController

BANDWIDTHS: Mapping[str, float] = {
    "motor_pd": 40.0,
    "state_feedback": 20.0,
    "feedback_linearization": 60.0,
    "computed_torque": 40.0,
    "hold": 60.0,
}
"""The laws, each with its default bandwidth in rad/s."""


def _only(*laws: str) -> Mapping[str, Any]:
    """The metadata of a field that only applies to these laws."""
    return {"laws": laws}


@dataclass(frozen=True, eq=False, kw_only=True)
class ControllerSettings:
    """Settings for :func:`make_controller`.

    Rows may be scalars. None selects the default of the law.

    Attributes
    ----------
    law : one of BANDWIDTHS.
    bandwidth : rad/s, (n,); (m,) of the motors for "motor_pd" and "hold".
    poles : 1/s, for "feedback_linearization", and for "state_feedback" in place of the LQR design:
        the same for all joints or by name, see :meth:`.JointPoles.from_poles`.
    second_bandwidth : rad/s (v,), of second outputs in "feedback_linearization".
    proportional, derivative : gains in place of a bandwidth; (m,) in N m/rad and N m s/rad for
        "motor_pd" and "hold", (n,) in 1/s^2 and 1/s for "computed_torque".
    position : (n,) configuration for which gains are designed; default: the middle of the joint
        limits.
    stiffness : (v,) second outputs there, for "state_feedback" and "hold"; default: mid-range.
    variant : of the feedforward of "motor_pd" and "state_feedback".
    feedback : "motor" or "link", for "computed_torque".
    integral : 1/s, gain of the integral of the error as a share of the stiffness G_q + G_theta of
        linear feedback; 0 for none.
    integrates : whether the error of the "link" or of the "motor" is integrated.
    friction : share of the friction that is compensated, 0 to 1; default: 1, for "hold" 0.
    lead : s, see :class:`.FeedbackLinearization`.
    stop_time : s, of "hold".
    torque_limit : (m,) or a scalar, N m, of "hold"; default and maximum: the motors' own limits.
    period : s of a cycle.

    Raises InputError for a setting that does not apply to the law, two settings for the same gains,
    a bandwidth that is not positive, and poles that are not left of the imaginary axis.
    """

    law: str = "state_feedback"
    bandwidth: Any = None
    poles: Sequence[complex] | Mapping[str, Any] | None = field(
        default=None, metadata=_only("feedback_linearization", "state_feedback")
    )
    second_bandwidth: Any = field(default=None, metadata=_only("feedback_linearization"))
    proportional: Any = field(default=None, metadata=_only("motor_pd", "hold", "computed_torque"))
    derivative: Any = None
    position: Any = None
    stiffness: Any = field(default=None, metadata=_only("state_feedback", "hold"))
    variant: str | None = field(default=None, metadata=_only("motor_pd", "state_feedback"))
    feedback: str = field(default="motor", metadata=_only("computed_torque"))
    integral: Any = field(default=0.0, metadata=_only("motor_pd", "state_feedback"))
    integrates: str = field(default="link", metadata=_only("motor_pd", "state_feedback"))
    friction: Any = None
    lead: float = field(default=0.0, metadata=_only("feedback_linearization"))
    stop_time: float = field(default=0.1, metadata=_only("hold"))
    torque_limit: Any = field(default=None, metadata=_only("hold"))
    period: float = PERIOD

    def __post_init__(self) -> None:
        if self.law not in BANDWIDTHS:
            raise InputError(f"law '{self.law}': expected one of {', '.join(BANDWIDTHS)}")
        if (self.proportional is None) != (self.derivative is None):
            raise InputError("proportional and derivative: give both or neither")
        for one, other in _ALTERNATIVES:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(f"{one} and {other}: each sets the gains; give only one")
        for each in fields(self):
            laws, value = each.metadata.get("laws", (self.law,)), getattr(self, each.name)
            if self.law not in laws and value is not each.default and np.any(value != each.default):
                raise InputError(
                    f"{each.name} is not a setting of law '{self.law}', only of {', '.join(laws)}"
                )
        self._check_values()

    def _check_values(self) -> None:
        """Raise InputError for values that no robot can use; the design checks the rest."""
        for name in ("bandwidth", "second_bandwidth"):
            value = getattr(self, name)
            row = np.ones(1) if value is None else as_real(name, value)
            if not row.size or not (row > 0.0).all():
                raise InputError(f"{name} is {value}: must be one or more positive numbers")
        if self.poles is None:
            return
        try:
            real = np.asarray(self.poles, dtype=np.complex128).real
        except (TypeError, ValueError):
            return  # poles by name, or not numbers: the design reports the joint
        if (real >= 0.0).any():
            raise InputError(f"poles are {self.poles}: their real parts must be negative")


_ALTERNATIVES = (
    ("bandwidth", "poles"),
    ("bandwidth", "proportional"),
    ("second_bandwidth", "poles"),
)


def make_controller(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    """The control law that the settings name, designed for this robot.

    Raises InputError for settings that do not fit the robot, and for designs that are not stable.
    """
    check_model(model)
    for name, value, kind in (
        ("actuators", actuators, Actuators),
        ("settings", settings, ControllerSettings),
    ):
        if not isinstance(value, kind):
            raise InputError(f"{name}: expected {kind.__name__}, got {value!r}")
    friction = 1.0 if settings.friction is None else settings.friction
    common: dict[str, Any] = {"friction": friction, "period": settings.period}
    if settings.law == "feedback_linearization":
        poles = _poles(actuators, settings)
        return FeedbackLinearization(model, actuators, poles, lead=settings.lead, **common)
    if settings.law == "computed_torque":
        pd = _computed_torque_gains(settings)
        return ComputedTorque(model, actuators, *pd, feedback=settings.feedback, **common)
    gains = _gains(model, actuators, settings)
    if settings.law == "hold":
        common["friction"] = 0.0 if settings.friction is None else settings.friction
        limit = np.inf if settings.torque_limit is None else settings.torque_limit
        common.update(stop_time=settings.stop_time, torque_limit=limit)
        return HoldController(model, actuators, gains, **common)
    usual = "quasi_static" if settings.law == "motor_pd" else "full"
    return LinearFeedback(
        model,
        actuators,
        gains,
        variant=settings.variant or usual,
        integral=_integral(gains, settings),
        integrates=settings.integrates,
        **common,
    )


_TUNED = ("gains", "poles", "integral", "lead", "stop_time", "torque_limit", "friction", "period")


def retune(controller: Controller, settings: ControllerSettings) -> None:
    """Change the gains of a running law between two updates; integrators and filters keep their
    state.

    The settings must name the same law and variant; gains are designed for the controller's current
    model. The torque jumps by the change of the gains times the current error: retune at rest or in
    small steps, or make a new law and :meth:`.BumplessTransfer.switch` to it. Everything is checked
    and designed first, which takes milliseconds; after an InputError the law is unchanged.
    """
    model, actuators = controller.model, controller.actuators
    other = make_controller(model, actuators, settings)
    same = type(other) is type(controller)
    for name in ("variant", "feedback", "integrates"):
        same &= getattr(other, name, None) == getattr(controller, name, None)
    if not same:
        raise InputError(
            f"law '{settings.law}' with these settings differs from the running "
            f"{type(controller).__name__} in more than gains; make a new law and switch to it"
        )
    for name in _TUNED:
        if hasattr(other, name):
            setattr(controller, name, getattr(other, name))


def _position(model: MultibodyModel, settings: ControllerSettings) -> Array:
    if settings.position is not None:
        return as_array("position", settings.position, (model.n,), model.joint_names)
    with np.errstate(invalid="ignore"):  # no limits: inf - inf
        middle = 0.5 * (model.limits.lower + model.limits.upper)
    return np.where(np.isfinite(middle), middle, 0.0)


def _gains(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> StateFeedbackGains:
    q, bandwidth, k = _position(model, settings), _bandwidth(settings), settings.stiffness
    if settings.proportional is not None:
        return motor_side_gains(actuators, settings.proportional, settings.derivative)
    if settings.law == "motor_pd":
        return motor_bandwidth_gains(model, actuators, q, bandwidth)
    if settings.law == "hold":
        return damping_gains(model, actuators, q, k, bandwidth=bandwidth)
    if settings.poles is not None:
        return placed_gains(model, actuators, q, _poles(actuators, settings), k)
    return optimal_gains(model, actuators, q, bandwidth, k)


def _bandwidth(settings: ControllerSettings) -> Any:
    return BANDWIDTHS[settings.law] if settings.bandwidth is None else settings.bandwidth


def _poles(actuators: Actuators, settings: ControllerSettings) -> JointPoles:
    if settings.poles is not None:
        return JointPoles.from_poles(actuators, settings.poles)
    return JointPoles.from_bandwidth(actuators, _bandwidth(settings), settings.second_bandwidth)


def _computed_torque_gains(settings: ControllerSettings) -> tuple[Any, Any]:
    if settings.proportional is not None:
        return settings.proportional, settings.derivative
    w = np.asarray(_bandwidth(settings), dtype=np.float64)
    return w**2, 2.0 * w


def _integral(gains: StateFeedbackGains, settings: ControllerSettings) -> Array:
    return np.asarray(settings.integral * np.maximum(gains.values[0] + gains.values[2], 0.0))
