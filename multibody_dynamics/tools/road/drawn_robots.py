# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Robots as they may be, after an identification: drawn from the covariance of its parameters.

Torques determine the base parameters beta = B pi of the links, not the inertia of every body. For
drawn base parameters, the bodies are therefore those closest to the identified ones that have these
base parameters and are physically possible: with the log-Cholesky numbers lambda of all bodies,

    minimise  |(B pi(lambda) - beta) / sigma|^2 + w^2 |lambda - lambda_identified|^2,

where sigma are the standard errors of beta, and w is small. The choice is without effect: all
bodies with the same base parameters move alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ...dynamics.core import Array, InputError
from ...dynamics.elastic import (
    Actuator,
    Actuators,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
    Spring,
    VariableStiffness,
)
from ...dynamics.identification import (
    IdentifiedCovariance,
    base_parameters,
    consistent_parameters,
    inertial_parameters,
    log_cholesky,
    nearest_consistent,
    with_inertial_parameters,
)
from ...dynamics.model import MultibodyModel
from ..study.spring_scaling import scaled_spring

CLOSENESS = 1e-3  # w: a change of a log-Cholesky number by 1 counts as this many standard errors
LEAST_STIFFNESS = 1e-3  # of the identified one
LEAST_INERTIA = 1e-3  # of the identified one


class PossibleRobot(NamedTuple):
    """A robot that the recordings do not rule out; link_viscous (n,) in N m s/rad."""

    model: MultibodyModel
    actuators: Actuators
    link_viscous: Array


class RobotDistribution:
    """The robots that the identified parameters and their covariance allow.

    model, actuators : as identified. Raises InputError if the covariance belongs to another robot.
    """

    def __init__(
        self, model: MultibodyModel, actuators: Actuators, known: IdentifiedCovariance
    ) -> None:
        self.model, self.actuators, self.known = model, actuators, known
        self._base = None
        for extra in ((), ("rotor",)) if known.links else ():
            base = base_parameters(model, extra=extra)
            if tuple(base.describe().splitlines()) == known.names[: known.links]:
                self._base = base
        if known.links and self._base is None:
            raise InputError(
                "the covariance describes other base parameters than those of robot "
                f"'{model.name}': give the URDF with which the parameters were identified"
            )

    def robot(self, drawn: Array) -> PossibleRobot:
        """The robot with these values (m,) of the parameters."""
        names = self.known.names
        values = dict(zip(names, drawn.tolist(), strict=True))
        means = dict(zip(names, self.known.values.tolist(), strict=True))
        viscous = [
            max(values.get(f"{joint}.viscous", 0.0), 0.0) if elastic else 0.0
            for joint, elastic in zip(
                self.actuators.joint_names, ~self.actuators.is_rigid, strict=True
            )
        ]
        found = tuple(
            _actuator(actuator, joint, values, means)
            for joint, actuator in zip(
                self.actuators.joint_names, self.actuators.actuators, strict=True
            )
        )
        model = self._links(drawn[: self.known.links])
        return PossibleRobot(model, replace(self.actuators, actuators=found), np.array(viscous))

    def draws(self, count: int, seed: int = 0) -> list[PossibleRobot]:
        """`count` robots; equal seeds give equal robots."""
        return [self.robot(row) for row in self.known.draws(count, seed)]

    def _links(self, beta: Array) -> MultibodyModel:
        """The model whose base parameters are beta (b,)."""
        base, model = self._base, self.model
        if base is None:
            return model
        B = base.combination[:, : 10 * model.n]
        rotors = base.combination[:, 10 * model.n :] @ (
            model.reflected_inertia if base.combination.shape[1] > B.shape[1] else np.zeros(0)
        )
        shift = beta - self.known.values[: self.known.links]
        bodies = nearest_consistent(inertial_parameters(model).reshape(-1, 10))
        start = log_cholesky(bodies).ravel()
        wanted = B @ bodies.ravel() + rotors + shift
        sigma = np.maximum(self.known.errors[: self.known.links], 1e-12)

        def away(numbers: Array) -> Array:
            pi = consistent_parameters(numbers.reshape(-1, 10)).ravel()
            return np.concatenate(
                [(B @ pi + rotors - wanted) / sigma, CLOSENESS * (numbers - start)]
            )

        numbers = least_squares(away, start, method="lm").x
        return with_inertial_parameters(
            model, consistent_parameters(numbers.reshape(-1, 10)).ravel()
        )


def _actuator(
    actuator: Actuator, joint: str, values: Mapping[str, float], means: Mapping[str, float]
) -> Actuator:
    """The actuator with drawn motor, spring and damping."""
    if isinstance(actuator, SeriesElastic):
        damping = actuator.damping
        if damping:
            damping = max(values.get(f"{joint}.damping", damping), 0.0) or damping
        return replace(
            actuator,
            motor=_motor(actuator.motor, joint, values),
            spring=_spring(actuator.spring, joint, values, means),
            damping=damping,
        )
    if isinstance(actuator, Rigid):
        return Rigid(_motor(actuator.motor, joint, values))
    motors = [
        _motor(motor, joint + suffix, values)
        for motor, suffix in zip(actuator.motors, actuator.suffixes, strict=True)
    ]
    if isinstance(actuator, Antagonistic):
        springs = [
            _spring(spring, joint + suffix, values, means)
            for spring, suffix in zip(actuator.springs, actuator.suffixes, strict=True)
        ]
        return Antagonistic(motors[0], motors[1], springs[0], springs[1], actuator.regulates)
    if isinstance(actuator, VariableStiffness):
        return _variable(actuator, joint, motors, values)
    raise InputError(
        f"joint '{joint}': nothing is known about the errors of a {type(actuator).__name__}"
    )


def _variable(
    actuator: VariableStiffness, joint: str, motors: list[Motor], values: Mapping[str, float]
) -> VariableStiffness:
    """The joint with drawn hardening and drive."""
    shape, drive = actuator.shape, actuator.drive
    if isinstance(shape, CubicSpring) and f"{joint}.hardening" in values:
        hardening = max(values[f"{joint}.hardening"], 0.0)
        shape = CubicSpring(shape.K, hardening * shape.K, travel=shape.travel)
    if drive is not None:
        drive = replace(
            drive,
            motor=motors[1],
            offset=values.get(f"{joint}.stiffness_offset", drive.offset),
            gain=values.get(f"{joint}.stiffness_gain", drive.gain),
        )
    return replace(actuator, motor=motors[0], shape=shape, drive=drive)


def _motor(motor: Motor, joint: str, values: Mapping[str, float]) -> Motor:
    """The motor with drawn parameters. Without actuator data, the friction of a rigid joint is that
    of its link."""
    found = {}
    for name in ("inertia", "viscous", "coulomb", "coulomb_velocity"):
        own = f"motor {joint}.{name}"
        key = own if own in values or name == "inertia" else f"{joint}.{name}"
        if key in values:
            found[name] = max(values[key], 0.0)
    least = LEAST_INERTIA * motor.inertia
    if "inertia" in found:
        found["inertia"] = max(found["inertia"], least)
    if found.get("coulomb_velocity") == 0.0:
        found["coulomb_velocity"] = motor.coulomb_velocity
    return replace(motor, **found)


def _spring(
    spring: Spring, joint: str, values: Mapping[str, float], means: Mapping[str, float]
) -> Spring:
    """The law with drawn coefficients, over the same travel."""
    stiffness = values.get(f"{joint}.stiffness")
    if stiffness is not None and isinstance(spring, LinearSpring):
        return LinearSpring(max(stiffness, LEAST_STIFFNESS * spring.K), travel=spring.travel)
    if stiffness is not None and isinstance(spring, CubicSpring):
        cubic = max(values[f"{joint}.cubic_stiffness"], 0.0)
        return CubicSpring(max(stiffness, LEAST_STIFFNESS * spring.K), cubic, travel=spring.travel)
    if isinstance(spring, PolynomialSpring) and f"{joint}.c1" in values:
        terms = tuple(values[f"{joint}.c{i}"] for i in range(1, len(spring.coefficients) + 1))
        return PolynomialSpring(terms, travel=spring.travel)
    if f"{joint}.scale" in values:
        factor = values[f"{joint}.scale"] / means[f"{joint}.scale"]
        return scaled_spring(spring, torque=max(factor, LEAST_STIFFNESS))
    return spring
