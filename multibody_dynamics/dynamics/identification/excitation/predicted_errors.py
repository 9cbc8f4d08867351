# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How well each parameter will be known from planned motions, before anything moves.

The torques of the drives are measured with white noise; the predicted standard errors are the roots
of the diagonal of M^-1, with the information matrix M of `information_criterion` summed over all
runs. In a robot with elastic joints, a joint has two equations, linear in all parameters:

    tau_m = M_m theta'' + d theta' + c tanh(theta' / v0) + o + kappa F(phi)     noise of the motor
    0     = sum kappa F(phi) - Y beta                                      noise of the deflection

for each motor, and for the link. F is the spring law of the model and kappa, which is 1, scales it.
The noise of the second one is that of two encoders times the stiffness. There is no information on
directions of the parameters that no run excites; a parameter with a component in such a direction
cannot be known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, as_array
from ..bodies.joint_friction import JointFriction
from ..bodies.regressor import inertial_parameters
from .information_criterion import FRICTION, TorqueColumns, information
from .motion_limits import ExcitationLimits, MotorLimits, link_torques

CHUNK = 4000  # states whose equations are in memory at the same time
ZERO = 1e-12  # SI units
NULL = 1e-11  # eigenvalues of the scaled information matrix below this are zero, relative
SHARE = 1e-6  # of a parameter in directions without information
MOTOR = ("inertia", "viscous", "coulomb", "offset", "spring")
GOOD, FAIR = 0.1, 0.5  # relative standard errors


class PredictedError(NamedTuple):
    """A parameter, its value in the model (NaN if not given there) and its standard error.

    The error is infinite if the runs do not determine the parameter.
    """

    name: str
    value: float
    error: float

    @property
    def relative(self) -> float:
        """Standard error / value; infinite for a value of zero, NaN for an unknown one."""
        return float(self.error / abs(self.value)) if self.value != 0.0 else np.inf

    @property
    def verdict(self) -> str:
        """In a word: "well", "roughly" (over 10 %), "barely" (over half of it), or "no".

        "-" if the model has no value, or zero, with which to compare the error.
        """
        if not np.isfinite(self.error):
            return "no"
        if np.isnan(self.value) or self.value == 0.0:
            return "-"
        return "well" if self.relative <= GOOD else "roughly" if self.relative <= FAIR else "barely"


@dataclass(frozen=True)
class TorqueNoise:
    """torque (m,) N m standard deviation of each drive, and encoder in rad, at `rate` Hz."""

    torque: Array
    encoder: float
    rate: float


def unobservable(columns: TorqueColumns) -> tuple[str, ...]:
    """Parameters without effect on the torques in any motion, and offsets that look like others."""
    free = ~columns.base.combination.any(axis=0)
    names = columns.model.joint_names
    kept = columns.friction.get("offset", np.arange(columns.model.n))
    offsets = [f"{names[j]}.offset" for j in range(columns.model.n) if j not in kept]
    return (*np.array(columns.base.parameter_names)[free].tolist(), *offsets)


def predicted_errors(
    columns: TorqueColumns,
    limits: ExcitationLimits,
    runs: Sequence[tuple[Array, Array]],
    noise: TorqueNoise,
) -> list[PredictedError]:
    """The standard errors of all parameters from runs together.

    runs : pairs of times (k,), equally spaced, and states (k, 5, n).
    limits : with the friction or the elastic joints of the robot.
    """
    model = columns.model
    rotors = (
        model.reflected_inertia if columns.base.combination.shape[1] > 10 * model.body_count else ()
    )
    beta = columns.base.values(np.concatenate([inertial_parameters(model), rotors]))
    if limits.motors is None:
        values = np.concatenate([beta, *_friction_values(columns, limits.friction)])
        names, deviation = columns.names, noise.torque
        stack = _of_rows(columns)
    else:
        elastic = _ElasticColumns(columns, limits.motors, noise)
        values = np.concatenate([beta, elastic.motor_values()])
        names, deviation = elastic.names, np.ones(1)
        stack = elastic.evaluate
    M = np.zeros((len(names), len(names)))
    for times, states in runs:
        step = float(times[-1] - times[0]) / len(times)
        for first in range(0, len(states), CHUNK):
            part = states[first : first + CHUNK]
            M += information(stack(part), deviation, noise.rate, step * len(part))
    errors = standard_errors(M)
    values = np.where(np.abs(values) < ZERO, 0.0, values)  # round-off of combinations
    triples = zip(names, values.tolist(), errors.tolist(), strict=True)
    return [PredictedError(*triple) for triple in triples]


def standard_errors(M: Any) -> Array:
    """Roots (r,) of the diagonal of M^-1; infinite for those with a component in its null space."""
    M = as_array("M", M, (len(M), len(M)))
    scale = np.sqrt(np.diag(M))
    used = scale > 0.0
    errors = np.full(len(M), np.inf)
    if not used.any():
        return errors
    inner = M[np.ix_(used, used)] / np.outer(scale[used], scale[used])
    values, vectors = np.linalg.eigh(inner)
    null = values < NULL * values[-1]
    variance = (vectors[:, ~null] ** 2 / values[~null]).sum(axis=1)
    lost = (vectors[:, null] ** 2).sum(axis=1) > SHARE
    errors[used] = np.where(lost, np.inf, np.sqrt(variance) / scale[used])
    return errors


def _of_rows(columns: TorqueColumns) -> Callable[[Array], Array]:
    return lambda states: columns.evaluate(states[:, :3])


def _friction_values(columns: TorqueColumns, friction: JointFriction | None) -> list[Array]:
    if friction is None:
        return [np.full(len(joints), np.nan) for joints in columns.friction.values()]
    found = {
        "viscous": friction.viscous,
        "coulomb": 0.5 * friction.amplitude,
        "offset": friction.offset,
    }
    return [found[name][joints] for name, joints in columns.friction.items()]


class _ElasticColumns:
    """The equations of motors and links as one linear model of all parameters."""

    def __init__(self, columns: TorqueColumns, motors: MotorLimits, noise: TorqueNoise) -> None:
        self._columns, self._motors, self._noise = columns, motors, noise
        self._actuators = motors.actuators
        labels = self._actuators.motor_names
        self.names = (
            *columns.base.describe().splitlines(),
            *(f"{motor}.{kind}" for kind in MOTOR for motor in labels),
        )

    def motor_values(self) -> Array:
        """The values of the motors' parameters; the scales of the springs are 1."""
        motors = self._actuators.motors
        rows = [
            [motor.inertia for motor in motors],
            [motor.viscous for motor in motors],
            [motor.coulomb for motor in motors],
            [np.nan] * len(motors),
            np.where(self._actuators.is_rigid[self._actuators.joint_of_motor], np.nan, 1.0),
        ]
        return np.concatenate([np.asarray(row, dtype=np.float64) for row in rows])

    def evaluate(self, states: Array) -> Array:
        """Equations (k, m + n, r) of states (k, 5, n), divided by their noise."""
        model, actuators = self._columns.model, self._actuators
        n, m, rank = model.n, len(actuators.motors), self._columns.base.rank
        moved = self._motors.motor_motion(states, link_torques(model, states))
        speed, acceleration = moved.velocity, moved.acceleration
        load = moved.torque - actuators.motor_torque(speed, acceleration, np.zeros(m))
        stiffness = actuators.springs(
            states[:, 0],
            states[:, 1],
            moved.position,
            speed,
            stiffness=self._motors.second_outputs(2),
            beyond="continue",
        ).stiffness
        links = self._columns.evaluate(states[:, :3])[..., :rank]
        Y = np.zeros((len(states), m + n, len(self.names)))
        own, of = np.arange(m), actuators.joint_of_motor
        rigid = actuators.is_rigid[of]
        parts = (
            acceleration,
            speed,
            np.tanh(speed / np.array([motor.coulomb_velocity for motor in actuators.motors])),
            np.ones_like(speed),
            np.where(rigid, 0.0, load),
        )
        for k, part in enumerate(parts):
            Y[:, own, rank + k * m + own] = part
        Y[:, own[rigid], :rank] = links[:, of[rigid]]
        shares = load * (actuators.torque_share[of] != 0.0)
        for i in np.flatnonzero(~actuators.is_rigid).tolist():
            Y[:, m + i, :rank] = -links[:, i]
            for k in np.flatnonzero(of == i).tolist():
                Y[:, m + i, rank + 4 * m + k] = shares[:, k]
        stiff = np.where(actuators.is_rigid, 1.0, stiffness.mean(axis=0))
        encoders = np.sqrt(2.0) * self._noise.encoder * stiff
        return np.asarray(Y / np.concatenate([self._noise.torque, encoders])[:, None])


def friction_kinds(limits: ExcitationLimits) -> tuple[str, ...]:
    """The friction that belongs to the joints: all kinds, none where motors are modelled."""
    return FRICTION if limits.motors is None else ()
