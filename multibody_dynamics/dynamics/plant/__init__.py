# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The simulated arm: links, springs, motors and drives integrated in time, with its sensors.

ElasticRobot  an arm with actuators of any kind, stepped in time; deterministic
DriveEffects  friction, hysteresis, backlash and other effects of real drives; a soft base
load_effects  these from a YAML file
MotorDrive    position loops that drives close around their motors: gains (m,)
EndStops      elastic stops at the joint limits, with damping
Plant         the interface of a simulated arm, in this package or another simulator
Encoder       positions with noise and resolution; velocities by differences
TorqueSensor  torques after a low-pass filter, with noise
Eccentricity  once-per-turn errors of encoders
DelayLine     commands that take effect a fixed time later
"""

from .drive_effects import DriveEffects, Eccentricity, load_effects
from .elastic_robot import ElasticRobot
from .motor_drive import MotorDrive
from .plants import EndStops, Plant
from .sensors import DelayLine, Encoder, TorqueSensor

__all__ = [
    # the arm
    "ElasticRobot", "DriveEffects", "load_effects", "MotorDrive", "EndStops", "Plant",
    # sensors and transmission
    "Encoder", "Eccentricity", "TorqueSensor", "DelayLine",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
