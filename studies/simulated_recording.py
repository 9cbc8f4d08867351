# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of a simulated robot: drives move it along a motion, and its sensors are recorded.

The robot is driven as by feedforward_node and the simulator's interface `motor_command`: the motor
motion and torque that the assumed model needs for the desired motion, and a PD loop of each drive.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multibody_dynamics.dynamics.core import Array, DynamicsError, InputError
from multibody_dynamics.dynamics.elastic import Actuators, motor_motion, resting_second_outputs
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.motion import Reference
from multibody_dynamics.dynamics.plant import ElasticRobot, MotorDrive
from multibody_dynamics.dynamics.rigid import inverse_dynamics
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from multibody_dynamics.tools.study.conditions import Condition
from multibody_dynamics.tools.study.single_run import LOST, SETTLING

DRIVE_BANDWIDTH = 15.0  # Hz, of the position loops, as in the demo


class SensorRows(NamedTuple):
    """What was measured at the times t (k,), the motion beginning at t = 0: positions of links
    (k, n) and motors (k, m), and mean motor torques (k, m) of the cycles that end at these
    times."""

    t: Array
    q: Array
    theta: Array
    tau: Array

    def write(self, file: Path, actuators: Actuators) -> None:
        """Write the recording as .npz, as the command `identify` reads it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        names = {"joint_names": actuators.joint_names, "motor_names": actuators.motor_names}
        np.savez(file, **{key: np.array(value) for key, value in names.items()}, **self._asdict())


class MotorCommands(NamedTuple):
    """Links (k, n) at times t (k,), and what the drives are sent for them: theta, theta' and the
    torque (k, m)."""

    t: Array
    q: Array
    position: Array
    velocity: Array
    torque: Array


def motor_commands(
    model: MultibodyModel,
    actuators: Actuators,
    motion: Reference,
    dt: float,
    outputs: Callable[[Array], Array] | None = None,
) -> MotorCommands:
    """The commands every dt s, including SETTLING s at rest before the motion.

    outputs : the second outputs (k, 3, v) of variable joints with their rates, at times (k,) from
        the beginning of the motion; by default constant in the middle of their ranges.
    """
    t = dt * np.arange(round((motion.duration + SETTLING) / dt)) - SETTLING
    state = motion.sample(motion.start_time + t)
    loads = np.stack(inverse_dynamics(model, *np.moveaxis(state, 1, 0)), axis=-2)
    second = None
    if actuators.variable_joints:
        second = np.zeros((len(t), 3, len(actuators.variable_joints)))
        second[:, 0] = resting_second_outputs(actuators)
        if outputs is not None:
            second = outputs(np.maximum(t, 0.0))
    motors = motor_motion(actuators, state, loads, second, beyond="continue")
    return MotorCommands(t, state[:, 0], motors.position, motors.velocity, motors.torque)


def drive_of(model: MultibodyModel, actuators: Actuators, q: Array) -> MotorDrive:
    """Position loops with DRIVE_BANDWIDTH, designed at q (n,)."""
    return MotorDrive.from_bandwidth(model, actuators, q, bandwidth=DRIVE_BANDWIDTH)


def record(
    plant: ElasticRobot | MujocoRobot,
    commands: MotorCommands,
    condition: Condition,
    torque_noise: Any,
    seed: Any = 0,
) -> SensorRows:
    """Move a plant with drives, from rest, and record its sensors.

    condition : its encoders. torque_noise : standard deviations of the measured motor torques, N m
    (N), a scalar or (n,). Equal arguments give equal recordings.

    The torques are means over cycles. Between two commands, the torque of a drive falls while the
    motor accelerates and its velocity command does not, and jumps at the next command. Its values
    at the ends of the cycles would make the rotors look lighter by half a cycle times the
    derivative gain, 8 % here.

    Raises DynamicsError if the robot deviates by more than LOST from the motion.
    """
    dt = float(np.median(np.diff(commands.t)))
    drive, limit = plant.drive, plant.actuators.torque_limit
    if drive is None:
        raise InputError("the robot has no drives: construct it with those of drive_of")
    q = np.zeros(commands.q.shape)
    theta, tau = np.zeros((2, *commands.position.shape))
    plant.applied_wrenches[:] = 0.0
    plant.reset(commands.q[0])
    mean = plant.motor_torque.copy()
    for k, (wanted, *command) in enumerate(zip(*commands[1:], strict=True)):
        q[k], theta[k], tau[k] = plant.q, plant.theta, mean
        if not np.abs(wanted - plant.q).max() < LOST:
            raise DynamicsError(
                f"the robot is further than {LOST:g} rad from the motion at t = "
                f"{commands.t[k]:.3g} s: make the motion slower, or the drives stiffer"
            )
        position, velocity, torque = command
        before = np.stack([plant.theta, plant.thetad])
        plant.follow(position, velocity, torque, dt)
        after = np.stack([plant.theta, plant.thetad])
        mean = drive.mean_torque(np.stack([position, velocity]), torque, before, after, dt)
        mean = np.clip(mean, -limit, limit)
    rng = np.random.default_rng(seed)
    step = condition.resolution
    for rows in (q, theta):
        rows += step / 3.0 * rng.standard_normal(rows.shape)
        if step:
            rows[:] = step * np.round(rows / step)
    tau += torque_noise * rng.standard_normal(tau.shape)
    return SensorRows(commands.t, q, theta, tau)
