# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plant of the simulator, created from parameters, and the monitor of its limits."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dynamics.control import inertias_felt
from ...dynamics.core import Array, ModelWarning
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import distance_to_limits
from ...dynamics.plant import DriveEffects, ElasticRobot, EndStops, MotorDrive, Plant, load_effects
from ...simulation.mujoco_robot import Floor, MujocoRobot
from ..base.parameters import ParameterError
from ..base.robot import find_file, load_actuators, load_model, start_position
from .simulator_parameters import SimulatorParameters

PUSHED = 0.02  # rad or m
FASTEST_STOP = 500.0  # rad/s


@dataclass(frozen=True)
class SimulatedRobot:
    """A plant with the effects of its drives, if any, and its initial position.

    home: (n,) link positions. command_order: the motors in the order of messages without names.
    """

    plant: Plant
    home: Array
    command_order: tuple[str, ...]
    effects: DriveEffects | None = None


def make_robot(p: SimulatorParameters) -> SimulatedRobot:
    """Create the plant. Raises ParameterError, and the errors of the files that are read."""
    model = load_model(p)
    actuators = load_actuators(p, model)
    order = p.command_joints or actuators.motor_names
    if p.command_interface == "motor_torque" and not p.command_joints:
        raise ParameterError(
            "command_joints is empty; list the motors in the order of motor_torque"
        )
    if set(order) != set(actuators.motor_names):
        raise ParameterError(
            f"command_joints are {', '.join(order)}; must be the robot's motors "
            f"{', '.join(actuators.motor_names)}"
        )
    joints = _joints_of(order, actuators)
    if p.initial_positions:
        home = np.zeros(model.n)
        home[joints] = _per_joint("initial_positions", p.initial_positions, model)
        for j in np.flatnonzero(distance_to_limits(model.limits, home) < 0.0):
            text = f"initial_positions: '{model.joint_names[j]}' at {home[j]:g} rad or m is outside"
            warnings.warn(f"{text} its limits", ModelWarning, stacklevel=2)
    else:
        home = start_position(model)
    viscous = np.zeros(model.n)
    if len(p.link_viscous_friction) == 1:
        viscous[:] = p.link_viscous_friction[0]
    elif p.link_viscous_friction:
        viscous[joints] = _per_joint("link_viscous_friction", p.link_viscous_friction, model)
    drive = None
    if p.command_interface == "motor_command":
        drive = MotorDrive.from_bandwidth(
            model, actuators, home, bandwidth=p.drive_bandwidth, damping_ratio=p.drive_damping_ratio
        )
    step = p.step or None
    stops = _end_stops(p, model, actuators, home) if p.end_stops else None
    effects = load_effects(find_file(p.effects_file)) if p.effects_file else None
    plant: Plant
    if p.plant == "mujoco":
        text = find_file(p.robot_file).read_bytes() if p.robot_file else p.robot_description
        floor = None
        if p.contact_frames:
            floor = Floor(p.contact_frames, p.contact_friction, p.base_motion == "floating")
        plant = MujocoRobot(
            model,
            actuators,
            text,
            step=step,
            drive=drive,
            link_viscous=viscous,
            end_stops=stops,
            floor=floor,
        )
    else:
        plant = ElasticRobot(
            model,
            actuators,
            step=step,
            drive=drive,
            link_viscous=viscous,
            end_stops=stops,
            effects=effects,
        )
    plant.reset(home)
    return SimulatedRobot(plant, home, tuple(order), effects)


def _end_stops(
    p: SimulatorParameters, model: MultibodyModel, actuators: Actuators, home: Array
) -> EndStops:
    """Stops of the given stiffness, or so stiff that a joint's effort limit pushes it PUSHED into
    its stop, but that its link does not vibrate there faster than FASTEST_STOP."""
    if p.end_stop_stiffness:
        return EndStops(p.end_stop_stiffness)
    effort = model.limits.effort
    hard = np.where(effort > 0.0, effort, np.inf) / PUSHED
    return EndStops(np.minimum(hard, FASTEST_STOP**2 * inertias_felt(model, actuators, home)))


def _joints_of(motors: Sequence[str], actuators: Actuators) -> list[int]:
    """The joints in the order of the first occurrence of their motors."""
    behind = dict(zip(actuators.motor_names, actuators.joint_of_motor.tolist(), strict=True))
    return list(dict.fromkeys(behind[motor] for motor in motors))


def _per_joint(name: str, values: tuple[float, ...], model: MultibodyModel) -> tuple[float, ...]:
    if len(values) != model.n:
        allowed = "0, 1 or" if name == "link_viscous_friction" else "0 or"
        raise ParameterError(
            f"{name} has {len(values)} values for {model.n} joints; expected {allowed} {model.n}"
        )
    return values


class OverloadCounter:
    """Counts the cycles with a motor at its torque limit or a spring beyond its travel."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        actuators = plant.actuators
        self._limit = actuators.torque_limit
        ends = [pair for each in actuators.actuators for pair in each.limits_of_springs]
        self._lower, self._upper = np.array(ends).T
        self._joint = actuators.joint_of_motor
        # An antagonist pulls in the opposite direction; a motor that sets a stiffness has no
        # spring.
        self._side = np.concatenate([each.sides for each in actuators.actuators])
        self.saturated = self.overstretched = 0
        self.beyond: set[str] = set()  # motors whose springs exceeded their travel

    def check(self) -> None:
        """Check the current state of the plant."""
        plant = self._plant
        if (np.abs(plant.motor_torque) >= self._limit).any():
            self.saturated += 1
        deflection = self._side * (plant.theta - plant.q[self._joint])
        beyond = (deflection < self._lower) | (deflection > self._upper)
        if beyond.any():
            self.overstretched += 1
            names = plant.actuators.motor_names
            self.beyond.update(names[j] for j in np.flatnonzero(beyond))
