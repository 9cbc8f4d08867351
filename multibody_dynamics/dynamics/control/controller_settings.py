"""The laws by name and plain numbers, for whoever has parameters and no code.

"motor_pd"                quasi-static feedforward, PD of the motors
"state_feedback"          full feedforward, linear feedback of links and motors
"feedback_linearization"  q'''' = v
"computed_torque"         that of a rigid arm, for comparison
"hold"                    damped stop and gravity-compensated hold
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array
from ..elastic import Actuators
from ..model import MultibodyModel
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
"""Laws, and their bandwidth in rad/s if none is set."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ControllerSettings:
    """What :func:`make_controller` takes. Rows may be scalars; None is the default of the law.

    Attributes
    ----------
    law : one of BANDWIDTHS.
    bandwidth : rad/s, (n,), of "motor_pd" and "hold" that of the motors, (m,).
    poles : of "feedback_linearization", and of "state_feedback" in place of the LQR's: the same
        for all joints or by name, see :meth:`.JointPoles.from_poles`.
    second_bandwidth : rad/s (v,), of second outputs in "feedback_linearization".
    proportional, derivative : gains in place of a bandwidth; (m,) in N m/rad and N m s/rad of
        "motor_pd" and "hold", (n,) in 1/s^2 and 1/s of "computed_torque".
    position : (n,) where gains are designed, if any are; the middle of the joint limits.
    stiffness : (v,) second outputs there, of "state_feedback" and "hold"; mid-range.
    variant : of the feedforward of "motor_pd" and "state_feedback".
    feedback : "motor" or "link", of "computed_torque".
    integral : 1/s, share per second of the stiffness G_q + G_theta of linear feedback that the
        integral of the error gets; 0 is none.
    integrates : the error of the "link" or of the "motor".
    friction : share of the friction that is compensated, 0 to 1; "hold" has none of its own.
    lead : s, see :class:`.FeedbackLinearization`.
    stop_time : s, of "hold".
    torque_limit : (m,) or one, N m, of "hold"; the motors' own, and never more than that.
    period : s of a cycle.
    """

    law: str = "state_feedback"
    bandwidth: Any = None
    poles: Sequence[complex] | Mapping[str, Any] | None = None
    second_bandwidth: Any = None
    proportional: Any = None
    derivative: Any = None
    position: Any = None
    stiffness: Any = None
    variant: str | None = None
    feedback: str = "motor"
    integral: Any = 0.0
    integrates: str = "link"
    friction: Any = None
    lead: float = 0.0
    stop_time: float = 0.1
    torque_limit: Any = None
    period: float = PERIOD

    def __post_init__(self) -> None:
        if self.law not in BANDWIDTHS:
            raise InputError(f"law '{self.law}': expected one of {', '.join(BANDWIDTHS)}")
        if (self.proportional is None) != (self.derivative is None):
            raise InputError("proportional and derivative: give both or neither")
        for one, other in _ALTERNATIVES:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(f"{one} and {other}: each sets the gains; give one of them")
        for name, laws in _ONLY_OF.items():
            default = next(each.default for each in fields(self) if each.name == name)
            value = getattr(self, name)
            if self.law not in laws and value is not default and np.any(value != default):
                raise InputError(f"{name}: the law '{self.law}' has none; of {', '.join(laws)}")


_ALTERNATIVES = (
    ("bandwidth", "poles"),
    ("bandwidth", "proportional"),
    ("second_bandwidth", "poles"),
)
_LINEAR = ("motor_pd", "state_feedback")
_ONLY_OF: Mapping[str, tuple[str, ...]] = {
    "poles": ("feedback_linearization", "state_feedback"),
    "second_bandwidth": ("feedback_linearization",),
    "proportional": ("motor_pd", "hold", "computed_torque"),
    "stiffness": ("state_feedback", "hold"),
    "variant": _LINEAR,
    "feedback": ("computed_torque",),
    "integral": _LINEAR,
    "integrates": _LINEAR,
    "lead": ("feedback_linearization",),
    "stop_time": ("hold",),
    "torque_limit": ("hold",),
}


def make_controller(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    """The law that the settings name, designed for this robot.

    Raises InputError for settings that do not suit it, and designs that are not stable.
    """
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
    """Other gains for a law that runs, between two updates; integrators and filters stay.

    Settings of the same law and variant, designed for the controller's present model. The torque
    jumps by what the new gains make of the present error: retune at rest or in small steps, or make
    a new law and :meth:`.BumplessTransfer.switch` to it. All is checked and designed first, which
    takes milliseconds: InputError leaves the law as it was.
    """
    model, actuators = controller.model, controller.actuators
    other = make_controller(model, actuators, settings)
    same = type(other) is type(controller)
    for name in ("variant", "feedback", "integrates"):
        same &= getattr(other, name, None) == getattr(controller, name, None)
    if not same:
        raise InputError(
            f"law '{settings.law}' with these settings is not the one that runs, "
            f"{type(controller).__name__}: switch to a new one instead"
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
