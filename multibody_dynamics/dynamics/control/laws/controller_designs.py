# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The laws of :mod:`.controller_settings`, designed for a robot: from settings to a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ...core import Array, InputError, as_array
from ...elastic import Actuators
from ...model import MultibodyModel, check_model
from ..controllers.controllers import ComputedTorque, Controller, LinearFeedback
from ..controllers.feedback_linearization import FeedbackLinearization
from ..controllers.hold_controller import HoldController
from ..controllers.scheduled_feedback import ScheduledFeedback
from ..controllers.torque_controller import TorqueController
from ..gains.gain_schedule import GainSchedule
from ..gains.joint_gains import (
    JointPoles,
    StateFeedbackGains,
    damping_gains,
    inertias_felt,
    motor_bandwidth_gains,
    motor_side_gains,
    optimal_gains,
    placed_gains,
)
from ..gains.joint_values import bandwidths
from ..impedance.elastic_structure import ElasticStructureController
from ..impedance.elastic_structure_gains import (
    DAMPING_RATIO,
    ElasticStructureGains,
    esp_gains,
    esp_impedance_gains,
)
from ..impedance.impedance import CartesianImpedance, JointImpedance
from ..stability.loop_judgement import spread_poses
from ..torque.tipping_rate import tipping_rate
from ..torque.torque_gains import TORQUE_DESIGNS, whole_arm_poles
from ..torque.torque_loop import LoopTiming
from .controller_settings import LAWS, ControllerSettings

NOT_TIPPED = 1.2  # times the tipping rate; 1.11 would cover masses and stiffnesses 10 % off


def _motor_pd(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    gains = _given_gains(actuators, settings)
    if gains is None:
        q = _position(model, settings)
        gains = motor_bandwidth_gains(model, actuators, q, settings.speed)
    return _linear_feedback(model, actuators, settings, gains)


def _state_feedback(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, k = _position(model, settings), settings.stiffness
    if settings.gain_design != "joint":
        return _scheduled_feedback(model, actuators, settings, q)
    if settings.poles is not None:
        gains = placed_gains(model, actuators, q, _poles(actuators, settings), k)
    else:
        gains = optimal_gains(model, actuators, q, settings.speed, k)
    return _linear_feedback(model, actuators, settings, gains)


def _one_number(settings: ControllerSettings) -> float:
    """`integral`, for gains of the whole arm."""
    if np.ndim(settings.integral):
        raise InputError(
            f"integral: expected one number for gain_design '{settings.gain_design}', got "
            f"{settings.integral}"
        )
    return float(settings.integral)


def _scheduled_feedback(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings, q: Array
) -> ScheduledFeedback:
    schedule = GainSchedule(
        model=model,
        actuators=actuators,
        bandwidth=settings.speed,
        design=settings.gain_design,
        stiffness=settings.stiffness,
        period=settings.period,
        delay=settings.delay,
    )
    return ScheduledFeedback(
        model,
        actuators,
        schedule,
        q,
        update_time=settings.gain_update_time,
        designs_in_background=settings.designs_in_background,
        integral=_one_number(settings),
        **_feedforward_settings(settings),
    )


def _linear_feedback(
    model: MultibodyModel,
    actuators: Actuators,
    settings: ControllerSettings,
    gains: StateFeedbackGains,
) -> LinearFeedback:
    stiffness = np.maximum(gains.values[0] + gains.values[2], 0.0)
    return LinearFeedback(
        model,
        actuators,
        gains,
        integral=np.asarray(settings.integral * stiffness),
        **_feedforward_settings(settings),
    )


def _feedforward_settings(settings: ControllerSettings) -> dict[str, Any]:
    """The settings that all laws of linear feedback share besides their gains."""
    names = (
        "variant",
        "integrates",
        "disturbance_bandwidth",
        "disturbance_share",
        "adaptation",
        "period",
    )
    return {name: getattr(settings, name) for name in names} | {"friction": _friction(settings)}


def _feedback_linearization(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    return FeedbackLinearization(
        model,
        actuators,
        _poles(actuators, settings),
        lead=settings.lead,
        friction=_friction(settings),
        period=settings.period,
    )


def _computed_torque(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    proportional, derivative = settings.proportional, settings.derivative
    if proportional is None:
        w = np.asarray(settings.speed, dtype=np.float64)
        proportional, derivative = w**2, 2.0 * w
    return ComputedTorque(
        model,
        actuators,
        proportional,
        derivative,
        feedback=settings.feedback,
        friction=_friction(settings),
        period=settings.period,
    )


def _hold(model: MultibodyModel, actuators: Actuators, settings: ControllerSettings) -> Controller:
    gains = _given_gains(actuators, settings)
    if gains is None:
        q, k = _position(model, settings), settings.stiffness
        gains = damping_gains(model, actuators, q, k, bandwidth=settings.speed)
    return HoldController(
        model,
        actuators,
        gains,
        stop_time=settings.stop_time,
        torque_limit=np.inf if settings.torque_limit is None else settings.torque_limit,
        friction=0.0 if settings.friction is None else settings.friction,
        period=settings.period,
    )


def _torque_control(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, friction = _position(model, settings), _friction(settings)
    timing = LoopTiming(
        period=settings.period, delay=settings.delay, velocity_filter=settings.velocity_filter
    )
    gains = TORQUE_DESIGNS[settings.torque_design](
        model,
        actuators,
        q,
        settings.torque_bandwidth,
        settings.stiffness,
        timing=timing,
        friction=float(np.max(friction)),
    )
    felt = inertias_felt(model, actuators, q)
    w = bandwidths(_link_bandwidth(model, felt, settings), model.joint_names)
    impedance = {"link_stiffness": felt * w**2, "link_damping": 2.0 * felt * w}
    poles = whole_arm_poles(model, actuators, gains, q, settings.stiffness, **impedance)
    worst = poles[poles.real.argmax()]
    if worst.real >= 0.0:
        raise InputError(
            f"robot '{model.name}': with a bandwidth of {np.max(w):g} rad/s around the torque"
            f" loops, the arm has a pole at {worst:.4g} 1/s; use a lower bandwidth"
        )
    return TorqueController(
        model,
        actuators,
        gains,
        delay=settings.delay,
        friction=friction,
        period=settings.period,
        **impedance,
    )


def _link_bandwidth(model: MultibodyModel, felt: Array, settings: ControllerSettings) -> Any:
    """rad/s, of the impedance around the torque loops: by default that of the law, or more where
    gravity would tip the links over somewhere in the joint range."""
    if settings.bandwidth is not None:
        return settings.bandwidth
    return max(settings.speed, NOT_TIPPED * tipping_rate(model, felt, spread_poses(model)))


def _joint_impedance(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, common = _position(model, settings), _impedance(settings)
    return JointImpedance(model, actuators, q, settings.link_stiffness, **common)


def _cartesian_impedance(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    return CartesianImpedance(
        model,
        actuators,
        _position(model, settings),
        settings.tool_stiffness,
        tool=settings.tool,
        posture_stiffness=settings.posture_stiffness,
        **_impedance(settings),
    )


def _impedance(settings: ControllerSettings) -> dict[str, Any]:
    names = (
        "damping_ratio",
        "inertia_share",
        "stiffness_time",
        "stiffness_energy",
        "stiffness_share",
        "period",
    )
    given = {name: getattr(settings, name) for name in names}
    if settings.damping_ratio is None:
        del given["damping_ratio"]
    return given | {"bandwidth": settings.speed, "friction": _friction(settings)}


def _esp(model: MultibodyModel, actuators: Actuators, settings: ControllerSettings) -> Controller:
    q, k = _position(model, settings), settings.stiffness

    def design(_: Any, ratio: float) -> ElasticStructureGains:
        return esp_gains(model, actuators, q, settings.speed, k, damping_ratio=ratio)

    return _elastic_structure(model, actuators, settings, design, has_stiffness=False)


def _esp_impedance(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, k = _position(model, settings), settings.stiffness

    def design(stiffness: Any, ratio: float) -> ElasticStructureGains:
        return esp_impedance_gains(model, actuators, q, stiffness, k, damping_ratio=ratio)

    return _elastic_structure(model, actuators, settings, design, has_stiffness=True)


def _link_damping_ratio(settings: ControllerSettings) -> float:
    return DAMPING_RATIO if settings.damping_ratio is None else settings.damping_ratio


def _elastic_structure(
    model: MultibodyModel,
    actuators: Actuators,
    settings: ControllerSettings,
    design: Callable[[Any, float], ElasticStructureGains],
    *,
    has_stiffness: bool,
) -> Controller:
    ratio = _link_damping_ratio(settings)
    return ElasticStructureController(
        model,
        actuators,
        design(settings.link_stiffness, ratio),
        design=design,
        has_stiffness=has_stiffness,
        damping_ratio=ratio,
        stiffness_time=settings.stiffness_time,
        stiffness_energy=settings.stiffness_energy,
        bandwidth=settings.speed,
        contact_bandwidth=settings.contact_bandwidth,
        friction=_friction(settings),
        period=settings.period,
    )


def _friction(settings: ControllerSettings) -> Any:
    return 1.0 if settings.friction is None else settings.friction


def _position(model: MultibodyModel, settings: ControllerSettings) -> Array:
    if settings.position is not None:
        return as_array("position", settings.position, (model.n,), model.joint_names)
    return model.limits.middle


def _given_gains(actuators: Actuators, settings: ControllerSettings) -> StateFeedbackGains | None:
    if settings.proportional is None:
        return None
    return motor_side_gains(actuators, settings.proportional, settings.derivative)


def _poles(actuators: Actuators, settings: ControllerSettings) -> JointPoles:
    if settings.poles is not None:
        return JointPoles.from_poles(actuators, settings.poles)
    return JointPoles.from_bandwidth(actuators, settings.speed, settings.second_bandwidth)


DESIGNS: Mapping[str, Callable[[MultibodyModel, Actuators, ControllerSettings], Controller]] = (
    MappingProxyType(
        {
            "motor_pd": _motor_pd,
            "state_feedback": _state_feedback,
            "feedback_linearization": _feedback_linearization,
            "torque_control": _torque_control,
            "computed_torque": _computed_torque,
            "hold": _hold,
            "joint_impedance": _joint_impedance,
            "cartesian_impedance": _cartesian_impedance,
            "esp": _esp,
            "esp_impedance": _esp_impedance,
        }
    )
)
"""The function that designs each law of LAWS."""


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
    return DESIGNS[settings.law](model, actuators, settings)


_FIXED = (
    "variant",
    "feedback",
    "integrates",
    "disturbance_bandwidth",
    "disturbance_share",
    "adaptation",
    "tool",
    "inertia_share",
    "stiffness_share",
    "ramp.time",
    "ramp.capacity",
    "contact_bandwidth",
    "second_gains",
    "delay",
    "update_time",
    "designs_in_background",
    "late_cycles",
)


def _attribute(law: Controller, path: str) -> Any:
    """An attribute, or that of an attribute; None where the law has none."""
    found: Any = law
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def retune(controller: Controller, settings: ControllerSettings) -> None:
    """Change the gains of a running law between two updates; integrators and filters keep their
    state, but the observer of "torque_control" starts again from zero.

    The settings must name the same law and variant; gains are designed for the controller's current
    model. The torque jumps by the change of the gains times the current error: retune at rest or in
    small steps, or make a new law and :meth:`.BumplessTransfer.switch` to it. Everything is checked
    and designed first, which takes milliseconds; after an InputError the law is unchanged.
    """
    model, actuators = controller.model, controller.actuators
    other = make_controller(model, actuators, settings)
    same = type(other) is type(controller)
    for name in _FIXED:
        before, after = (_attribute(law, name) for law in (controller, other))
        same &= bool(np.array_equal(before, after))
    if not same:
        raise InputError(
            f"law '{settings.law}' with these settings differs from the running "
            f"{type(controller).__name__} in more than gains; make a new law and switch to it"
        )
    # the period first: gains are discretised with it, and that of a running law is the last step
    for name in ("period", *LAWS[settings.law].tunable, "friction"):
        setattr(controller, name, getattr(other, name))
