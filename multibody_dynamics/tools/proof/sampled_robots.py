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

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ...dynamics.core import Array, InputError, refused_as
from ...dynamics.elastic import Actuator, Actuators, Friction, Identified, Motor, Spring
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

CLOSENESS = 1e-3  # w: a change of a log-Cholesky number by 1 counts as this many standard errors
LEAST_STIFFNESS = 1e-3  # of the identified one
LEAST_INERTIA = 1e-3  # of the identified one
LINK_FRICTION = {each.name: each.name for each in fields(Friction)} | {"load_friction": "load"}
"""Terms of the friction of a link: their keys in the covariance."""


class PossibleRobot(NamedTuple):
    """A robot that the recordings do not rule out, with the friction of its links."""

    model: MultibodyModel
    actuators: Actuators


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
        found = tuple(
            _actuator(actuator, joint, values, means)
            for joint, actuator in zip(
                self.actuators.joint_names, self.actuators.actuators, strict=True
            )
        )
        model = self._links(drawn[: self.known.links])
        return PossibleRobot(model, replace(self.actuators, actuators=found))

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

        def residuals(numbers: Array) -> Array:
            pi = consistent_parameters(numbers.reshape(-1, 10)).ravel()
            return np.concatenate(
                [(B @ pi + rotors - wanted) / sigma, CLOSENESS * (numbers - start)]
            )

        numbers = least_squares(residuals, start, method="lm").x
        return with_inertial_parameters(
            model, consistent_parameters(numbers.reshape(-1, 10)).ravel()
        )


def _actuator(
    actuator: Actuator, joint: str, values: Mapping[str, float], means: Mapping[str, float]
) -> Actuator:
    """The actuator with drawn motor, spring, damping and friction of the link."""
    motors = [
        _motor(motor, joint + suffix, values, actuator.is_rigid)
        for motor, suffix in zip(actuator.motors, actuator.suffixes, strict=True)
    ]
    own = {
        name.rpartition(".")[2]: value
        for name, value in values.items()
        if name.rpartition(".")[0] == joint
    }
    if "damping" in own:
        own["damping"] = (max(own["damping"], 0.0) or actuator.damping) if actuator.damping else 0.0
    with refused_as(InputError, f"joint '{joint}'"):
        drawn = actuator.identified(
            Identified(motors, lambda x, law: _spring(law, joint + x, values, means), own)
        )
        return drawn if drawn.is_rigid else replace(drawn, link_friction=_friction(actuator, own))


def _friction(actuator: Actuator, own: Mapping[str, float]) -> Friction:
    """The friction of the link with its drawn terms: viscous, and those that the identified robot
    has."""
    known, changes = actuator.link_friction, {}
    for name, key in LINK_FRICTION.items():
        least = 0.0 if name != "offset" else -np.inf
        if key in own and (name == "viscous" or getattr(known, name)):
            changes[name] = max(own[key], least)
    for name in ("coulomb_velocity", "stribeck_velocity"):
        if changes.get(name) == 0.0:
            del changes[name]
    return replace(known, **changes)


def _motor(motor: Motor, joint: str, values: Mapping[str, float], is_rigid: bool) -> Motor:
    """The motor with drawn parameters. Without actuator data, the friction of a rigid joint is that
    of its link."""
    changes = {}
    for name in ("inertia", "viscous", "coulomb", "coulomb_velocity"):
        own = f"motor {joint}.{name}"
        key = f"{joint}.{name}" if is_rigid and name != "inertia" and own not in values else own
        if key in values:
            changes[name] = max(values[key], 0.0)
    least = LEAST_INERTIA * motor.inertia
    if "inertia" in changes:
        changes["inertia"] = max(changes["inertia"], least)
    if changes.get("coulomb_velocity") == 0.0:
        changes["coulomb_velocity"] = motor.coulomb_velocity
    return replace(motor, **changes)


def _spring(
    spring: Spring, joint: str, values: Mapping[str, float], means: Mapping[str, float]
) -> Spring:
    """The law with drawn parameters, over the same travel."""
    known = {name: f"{joint}.{name}" for name in spring.parameters}
    if "scale" not in known and all(name in values for name in known.values()):
        drawn = {name: values[own] for name, own in known.items()}
        if "stiffness" in drawn:
            least = LEAST_STIFFNESS * spring.parameters["stiffness"]
            drawn["stiffness"] = max(drawn["stiffness"], least)
        return spring.with_parameters([*drawn.values()])
    if f"{joint}.scale" in values:
        factor = values[f"{joint}.scale"] / means[f"{joint}.scale"]
        return spring.scaled(torque=max(factor, LEAST_STIFFNESS))
    return spring
