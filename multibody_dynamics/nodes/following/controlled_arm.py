# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The design of the flatness controller's laws, and the report on how well it can stop."""

from collections.abc import Iterator

import numpy as np

from ...dynamics.control import (
    MAX_STEP,
    AdaptiveFeedforward,
    Arm,
    CollisionThresholds,
    CycleTimes,
    DesiredMotion,
    StopForecast,
    TorqueTimes,
    forecast_stop,
    load_collision_thresholds,
    middle_of_range,
)
from ...dynamics.core import InputError, cached_result
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ..base.parameters import ParameterError
from ..base.robot import find_file
from .controlled_robot import ControlledRobot
from .flatness_controller_parameters import FlatnessControllerParameters

EXPECTED_DELAY = 0.02  # s, delay of the torques that a stop should tolerate; warn if less


def make_arm(robot: ControlledRobot, p: FlatnessControllerParameters, motion: DesiredMotion) -> Arm:
    """The arm, which follows `motion`. Raises ParameterError if `design_position` has the wrong
    length, the inertias of the robot's links cannot be adapted, or the thresholds of collision
    detection do not fit."""
    model = robot.model
    if (count := len(p.design_position)) not in (0, model.n):
        raise ParameterError(f"design_position has {count} values; expected {model.n} or none")
    settings = p.settings(_thresholds(model, p))
    if p.adaptation != "off":
        try:
            AdaptiveFeedforward(model, settings.controllers["motor_pd"].adaptation)  # type: ignore[attr-defined]
        except InputError as error:
            raise ParameterError(f"adaptation '{p.adaptation}': {error}") from None
    arm = Arm(model, robot.actuators, settings, p.arm_settings(), motion=motion)
    is_known = bool(p.update_rate or p.expected_rate)
    arm.times = TorqueTimes(CycleTimes(p.period, MAX_STEP), is_known=is_known)
    return arm


def _thresholds(
    model: MultibodyModel, p: FlatnessControllerParameters
) -> CollisionThresholds | None:
    """The thresholds of collision detection, if there is a file."""
    if not p.collision_thresholds:
        return None
    try:
        file = find_file(p.collision_thresholds)
        thresholds = load_collision_thresholds(file, model.joint_names, model.joint_types)
    except (InputError, ParameterError) as error:
        raise ParameterError(f"collision_thresholds: {error}") from None
    learned = thresholds.settings
    for name, value in (
        ("state_source", (learned.source, p.state_source)),
        ("filter_bandwidth", (learned.filter_bandwidth, p.filter_bandwidth)),
        ("filter_order", (learned.filter_order, p.filter_order)),
    ):
        if value[0] != value[1]:
            raise ParameterError(
                f"collision_thresholds: {file}: learned with {name} {value[0]}, but the node has"
                f" {value[1]}: learn them with the settings of the node"
            )
    return thresholds


def stop_report(
    arm: Arm, p: FlatnessControllerParameters
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How the arm stops when torques are late: lines of information, and warnings."""
    model, actuators = arm.model, arm.actuators
    position = np.array(p.design_position) if p.design_position else middle_of_range(model)
    limits = {
        "rest_speed": max(p.recovery_speed, 0.01),
        "allowed_time": p.stop_timeout,
        "expected_delay": EXPECTED_DELAY,
    }
    try:
        forecast = cached_result(
            "stop",
            (model, actuators, position, limits),
            lambda: forecast_stop(model, actuators, position, **limits),
        )
    except InputError as error:
        return (), (f"stop: no forecast, because the arm cannot rest there: {error}",)
    units = _units(model, actuators)
    lines = (f"stop: {_distances(actuators, forecast, units)}", f"stop: {_stable(forecast)}")
    return lines, tuple(_warnings(actuators, forecast, p.stop_timeout, units))


def _stable(forecast: StopForecast) -> str:
    delay = 1e3 * forecast.delay
    if delay < 0.5:
        return "stable only while torques are on time"
    return f"stable with torques {delay:.0f} ms late{'' if forecast.weakest else ', or more'}"


def _units(model: MultibodyModel, actuators: Actuators) -> list[str]:
    """The unit of each motor's position."""
    types = (model.joint_types[i] for i in actuators.joint_of_motor)
    return ["m" if kind == "prismatic" else "rad" for kind in types]


def _distances(actuators: Actuators, forecast: StopForecast, units: list[str]) -> str:
    """How far each motor moves in a stop."""
    moving = np.isfinite(forecast.time)
    ends = (
        f"'{name}' at {speed:.2g} {unit}/s "
        + (f"within {time:.2g} s, over" if stops else "not within 30 s, and")
        + f" {distance:.2g} {unit}"
        for name, unit, speed, time, distance, stops in zip(
            actuators.motor_names,
            units,
            forecast.top_speed,
            forecast.time,
            forecast.distance,
            moving,
            strict=True,
        )
    )
    return f"comes to rest: {'; '.join(ends)}"


def _warnings(
    actuators: Actuators, forecast: StopForecast, timeout: float, units: list[str]
) -> Iterator[str]:
    if forecast.delay < EXPECTED_DELAY:
        yield (
            f"stop: the arm, '{forecast.weakest}' in particular, is unstable if torques are more"
            f" than {1e3 * forecast.delay:.0f} ms late; brakes must then stop it"
        )
    short = [
        f"'{name}' needs {needed:.2g} and has {motor.viscous:.3g} N"
        + (" s/m" if unit == "m" else " m s/rad")
        for name, unit, needed, motor in zip(
            actuators.motor_names, units, forecast.needed_viscous, actuators.motors, strict=True
        )
        if needed > motor.viscous + 1e-9
    ]
    if short:
        yield (
            f"stop: too little viscous friction to stop within {timeout:g} s, stable with torques"
            f" {1e3 * EXPECTED_DELAY:.0f} ms late: {', '.join(short)}"
        )
