"""The simulated arm: elastic joints, motors and sensors.

EndStops      Elastic stops at the joint limits of the model
Plant         The robot at one instant, and how it gets to the next.
ElasticRobot  An arm with actuators of any kinds, stepped in time; deterministic. A Plant.
MotorDrive    The position loop that a drive closes around its motor, link side of the gear:
DelayLine     What was put in comes out a fixed time later, which may end within a cycle.
Encoder       Positions with additive white noise, then steps of the resolution
TorqueSensor  Torques behind a first-order low-pass, with additive white noise.
"""

from .elastic_robot import ElasticRobot, MotorDrive
from .plants import EndStops, Plant
from .sensors import DelayLine, Encoder, TorqueSensor

__all__ = [
    "EndStops", "Plant", "ElasticRobot", "MotorDrive", "DelayLine", "Encoder", "TorqueSensor",
]  # fmt: skip
