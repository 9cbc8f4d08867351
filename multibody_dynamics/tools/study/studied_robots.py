# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robots of the study: built in by name, or the user's own, each with a fast motion."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.control import QUANTITIES, MotionLimits, scale_time, slow_down
from ...dynamics.core import Array, InputError
from ...dynamics.elastic import Actuators, load_actuators, resting_second_outputs
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import Reference, hold, rest_to_rest_motion, splice
from ...dynamics.plant import DriveEffects, ElasticRobot, Plant
from ...resources import share_directory
from ...simulation.mujoco_robot import MujocoRobot
from ..base.models import load_quietly
from ..base.node_parameters import CONTROLLER, TRAJECTORY, read_parameters

STIFFNESSES = (0.5, 1.0, 5.0)
"""Factors of the stiffness of all springs. The springs of the built-in robots have the stiffness of
series elastic actuators. Half of it makes a soft arm; five times as much approaches the stiffness
of the torque sensors and gears of common lightweight arms (about ten times)."""
APPROACH, DURATION = 0.3, 1.1  # s: from rest to the first point, and for the whole motion
OWN_SPEED = 0.7  # share of the velocity limits that the motion of other robots uses
PAYLOAD_SHARE = 1.0 / 9.0  # of the mass of the moving links; 2 kg for the Panda
FORCE_PER_MASS = 100.0 / 18.0  # N/kg, of the hit; 100 N for the Panda
LEVER = 0.1  # m from the last link's origin to the payload


class RobotSource(NamedTuple):
    """Files of a robot, and the points (k, n) of its motion; without points, a motion is derived
    from the limits of the joints. `outputs` are the second outputs (v,) at the given stiffness, by
    default mid-range. `payload` in kg and `hit` in N; None: in proportion to the robot's mass."""

    name: str
    title: str
    urdf: Path
    springs: Path
    waypoints: tuple[tuple[float, ...], ...] = ()
    outputs: tuple[float, ...] = ()
    payload: float | None = None
    hit: float | None = None


@dataclass(frozen=True, eq=False)
class StudiedArm:
    """The true robot, and the motion to follow from t = 0.

    stiffness : factor of the springs of `source`.
    payload : kg, and `hit` : N, of the conditions with contacts.
    outputs : (v,) second outputs, held constant.
    """

    source: RobotSource
    stiffness: float
    model: MultibodyModel
    actuators: Actuators
    motion: Reference
    payload: float
    hit: float
    outputs: Array

    @property
    def start(self) -> Array:
        """(n,) the position at which the motion starts."""
        return self.motion(0.0)[0]

    def slower(self, factor: float) -> Reference:
        """The motion, `factor` times slower."""
        return slow_down(self.motion, factor)

    def plant(self, name: str, effects: tuple[tuple[str, float], ...] = ()) -> Plant:
        """A new plant; `name` is one of PLANTS, effects as those of a :class:`.Condition`."""
        if name == "mujoco":
            if effects:
                raise InputError("the MuJoCo plant has no effects of real drives")
            return MujocoRobot(self.model, self.actuators, self.source.urdf.read_bytes())
        own = self.effects(effects) if effects else None
        return ElasticRobot(self.model, self.actuators, effects=own)

    def effects(self, shares: tuple[tuple[str, float], ...]) -> DriveEffects:
        """The effects of a :class:`.Condition` on this arm."""
        effort = self.model.limits.effort
        effort = np.where(np.isfinite(effort), effort, 0.0)
        declared = DriveEffects.__dataclass_fields__
        own = {
            key: value * effort if declared[key].metadata["unit"] == "N m" else value
            for key, value in shares
        }
        return DriveEffects(**own)


@lru_cache(maxsize=32)
def motion_rows(arm: StudiedArm, slower: float, first: float, step: float, count: int) -> Array:
    """(count, 5, n) the motion, `slower` times slower, at first, first + step, ... in s."""
    rows = arm.slower(slower).sample(first + step * np.arange(count))
    rows.setflags(write=False)
    return rows


def _demo_points() -> tuple[tuple[float, ...], ...]:
    p = read_parameters(share_directory() / "config" / "controllers_demo.yaml")
    points = np.reshape(p[TRAJECTORY]["waypoints"], (-1, len(p[CONTROLLER]["command_joints"])))
    return tuple(map(tuple, points.tolist()))


def built_in_robots() -> dict[str, RobotSource]:
    """The built-in robots by name: two with series elastic joints, one with variable stiffness."""
    config = share_directory() / "config"

    def source(name: str, title: str, urdf: str, springs: str, **more: Any) -> RobotSource:
        robot, actuators = config / "robots" / f"{urdf}.urdf", config / "elastic_joints"
        return RobotSource(name, title, robot, actuators / f"{springs}.yaml", **more)

    robots = (
        source("panda", "Panda, 7 series elastic joints", "panda", "panda",
               waypoints=_demo_points(), payload=2.0, hit=100.0),
        source("six_joint_arm", "six-joint arm, series elastic joints", "six_joint_arm",
               "six_joint_arm", waypoints=SIX_JOINT_POINTS),
        source("antagonistic", "two-joint arm, elbow with variable stiffness",
               "antagonistic_elbow", "antagonistic", waypoints=ANTAGONISTIC_POINTS,
               outputs=ANTAGONISTIC_STIFFNESS),
    )  # fmt: skip
    return {robot.name: robot for robot in robots}


SIX_JOINT_POINTS = (
    (0.0, 0.9, -1.4, -1.0, 1.5, 0.3),
    (0.35, 1.2, -1.1, -1.3, 1.15, 0.65),
    (-0.2, 0.7, -1.6, -0.75, 1.75, 0.0),
    (0.0, 0.9, -1.4, -1.0, 1.5, 0.3),
)
ANTAGONISTIC_POINTS = ((-0.4, 0.6), (0.0, 1.0), (-0.6, 0.3), (-0.4, 0.6))
ANTAGONISTIC_STIFFNESS = (90.0,)  # N m/rad, the middle of what the motors can hold under load


def own_robot(urdf: Path, springs: Path) -> RobotSource:
    """The user's robot."""
    for file in (urdf, springs):
        if not file.is_file():
            raise InputError(f"{file}: no such file")
    return RobotSource(urdf.stem, urdf.stem, urdf.resolve(), springs.resolve())


@lru_cache(maxsize=16)
def load_arm(source: RobotSource, stiffness: float = 1.0) -> StudiedArm:
    """The robot with `stiffness` times the stiffness of its springs, and its motion.

    The motion is the same for every stiffness. Raises InputError or ModelError for files that do
    not describe a robot with springs.
    """
    model = load_quietly(source.urdf, source.springs)
    nominal = load_actuators(source.springs, model.joint_names, model.joint_types)
    if nominal.is_rigid.all():
        raise InputError(f"{source.springs}: no joint of '{model.name}' has a spring")
    actuators = _stiffened(nominal, stiffness)
    motion = motion_of(source, model, nominal)
    return studied_arm(source, model, actuators, motion, stiffness)


def studied_arm(
    source: RobotSource,
    model: MultibodyModel,
    actuators: Actuators,
    motion: Reference,
    stiffness: float = 1.0,
) -> StudiedArm:
    """An arm with payload and hit in proportion to its mass, unless the source says otherwise."""
    mass = float(model.inertias[:, 5, 5].sum())
    return StudiedArm(
        source,
        stiffness,
        model,
        actuators,
        motion,
        PAYLOAD_SHARE * mass if source.payload is None else source.payload,
        FORCE_PER_MASS * mass if source.hit is None else source.hit,
        _outputs(source, actuators, stiffness),
    )


def _outputs(source: RobotSource, actuators: Actuators, stiffness: float) -> Array:
    """(v,) second outputs; a stiffness follows the springs, a pretension does not."""
    outputs = resting_second_outputs(actuators)
    if source.outputs:
        kinds = [each.second_output for each in actuators.actuators if each.second_output]
        follows = np.array([kind == "stiffness" for kind in kinds])
        outputs = np.array(source.outputs) * np.where(follows, stiffness, 1.0)
    return outputs


def _stiffened(actuators: Actuators, factor: float) -> Actuators:
    if factor == 1.0:
        return actuators
    return replace(
        actuators, actuators=tuple(each.stiffened(factor) for each in actuators.actuators)
    )


def motion_of(source: RobotSource, model: MultibodyModel, actuators: Actuators) -> Reference:
    """The motion through the points of the source, or one derived from the limits, slowed down
    where motors or springs need more time at one of STIFFNESSES."""
    if source.waypoints:
        points = np.array(source.waypoints)
        times = APPROACH + np.linspace(0.0, DURATION, len(points))
        return splice(hold(model.joint_names, points[0]), 0.0, times, points)
    motion = rest_to_rest_motion(model, duration=APPROACH + DURATION, speed=OWN_SPEED)
    slowest = 1.0
    for factor in STIFFNESSES if not actuators.is_damped.any() else ():
        springs = _stiffened(actuators, factor)
        limits = MotionLimits.of_robot(model, springs)
        if any(np.isfinite(getattr(limits, name)).any() for name in QUANTITIES):
            outputs = _outputs(source, springs, factor)
            scaling = scale_time(motion, model, springs, limits, stiffness=outputs)
            slowest = max(slowest, scaling.factor)
    return slow_down(motion, slowest)
