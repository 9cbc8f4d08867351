# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the simulator."""

from dataclasses import dataclass
from typing import Any

from ..base.contact_parameters import ContactParameters
from ..base.external_wrench import WrenchParameters
from ..base.parameters import ParameterError, parameter
from ..base.robot import ElasticRobotParameters

ANSWERS = ("motor_command", "stamped_motor_torque")
"""Command interfaces whose stamps identify the state that a command answers."""


def _vector(description: str, unit: str) -> Any:
    return parameter((0.0, 0.0, 0.0), description, unit=unit, live=True)


def _noise(what: str, unit: str, most: float = 1.0) -> Any:
    return parameter(
        0.0, f"standard deviation of the noise on {what}", unit=unit, bounds=(0.0, most)
    )


def _start_time(what: str) -> Any:
    return parameter(
        0.0,
        f"simulated time from the first command until {what}",
        unit="s",
        bounds=(0.0, 1e6),
        live=True,
    )


@dataclass(frozen=True)
class SimulatorParameters(ContactParameters, WrenchParameters, ElasticRobotParameters):
    """The parameters of the simulator; docs/elastic_robot_simulator_node.md has them as a table."""

    # fmt: off
    plant: str = parameter("internal", choices=("internal", "mujoco"),
        meaning="'internal': dyn.plant.ElasticRobot; 'mujoco': the same arm in MuJoCo, which is"
        " installed separately (multibody_dynamics[mujoco])")
    link_viscous_friction: tuple[float, ...] = parameter((), unit="N m s/rad or N s/m",
        meaning="viscous friction on the link side of the springs: one value, or one per joint, in"
        " the order of initial_positions; empty: none")
    effects_file: str = parameter("",
        meaning="YAML file with effects of real drives and a soft base, see"
        " docs/elastic_robot_simulator_node.md; internal plant only; empty: none")
    end_stop_stiffness: float = parameter(0.0, unit="N m/rad or N/m", bounds=(0.0, 1e9),
        meaning="stiffness of the end stops; 0: chosen for the robot; MuJoCo has its own")
    end_stops: bool = parameter(True,
        meaning="stop the links at the robot's joint limits; false: they move through")
    base_motion: str = parameter("fixed", choices=("fixed", "trajectory", "floating"),
        meaning="motion of the base: 'fixed', that of the topic base_trajectory"
        " (trajectory_msgs/MultiDOFJointTrajectory, 'trajectory'), or 'floating': carried by the"
        " forces on contact_frames, at first level and at rest on them")
    command_interface: str = parameter("motor_command",
        choices=("motor_torque", "motor_command", "stamped_motor_torque"),
        meaning="'motor_torque', 'stamped_motor_torque': motor torques applied directly;"
        " 'motor_command': drives with PD position control and torque feedforward")
    initial_positions: tuple[float, ...] = parameter((), unit="rad or m",
        meaning="link positions after activation, at rest, in the order of the joints in"
        " command_joints; empty: zero, or the nearest position at which the effort limits hold the"
        " links")
    brakes_until_command: bool = parameter(True,
        meaning="keep the robot at rest after activation until the first command")
    command_timeout: float = parameter(0.1, unit="s", bounds=(0.001, 60.0), live=True,
        meaning="if no command arrives for this long, apply zero torque or hold the drives' last"
        " reference")
    actuation_delay: float = parameter(0.0, unit="s", bounds=(0.0, 0.1),
        meaning="delay from the beginning of the cycle that reads a command until the motors apply"
        " it; need not be a multiple of the cycle")
    drive_bandwidth: float = parameter(15.0, unit="Hz", bounds=(0.1, 1000.0),
        meaning="bandwidth of the drives' position loops, each designed for its motor alone")
    drive_damping_ratio: float = parameter(1.0, bounds=(0.0, 10.0),
        meaning="damping ratio of the drives' position loops")
    drive_interpolation: float = parameter(0.02, unit="s", bounds=(0.0, 1.0), live=True,
        meaning="extrapolate a reference at its velocity for at most this long, then hold it")

    seed: int = parameter(0, bounds=(0, 2**31 - 1),
        meaning="seed of all noise; identical seeds and commands give identical states")
    link_encoder_resolution: float = parameter(0.0, unit="rad or m", bounds=(0.0, 1.0),
        meaning="quantisation of link positions; 0: none")
    link_position_noise: float = _noise("link positions", "rad or m")
    motor_encoder_resolution: float = parameter(0.0, unit="rad or m", bounds=(0.0, 1.0),
        meaning="quantisation of motor positions, on the link side of the gear; 0: none")
    motor_position_noise: float = _noise("motor positions", "rad or m")
    velocity_bandwidth: float = parameter(0.0, unit="Hz", bounds=(0.0, 10000.0),
        meaning="bandwidth of the low-pass filter of velocities, which are difference quotients of"
        " measured positions; 0: true velocities")
    torque_sensor_bandwidth: float = parameter(0.0, unit="Hz", bounds=(0.0, 10000.0),
        meaning="bandwidth of the low-pass filter of joint torques; 0: none")
    torque_noise: float = _noise("joint torques", "N m or N", 1000.0)

    payload_link: str = parameter("", "link that carries the payload", live=True)
    payload_mass: float = parameter(0.0, unit="kg", bounds=(0.0, 1000.0), live=True,
        meaning="mass of the payload, a point mass; 0: no payload")
    payload_com: tuple[float, ...] = _vector(
        "position of the payload in the frame of payload_link", "m"
    )
    payload_time: float = _start_time("the payload appears")
    hit_link: str = parameter("", "link that is hit at its origin; empty: none", live=True)
    hit_force: tuple[float, ...] = _vector("force of the hit: x, y, z in the base frame", "N")
    hit_moment: tuple[float, ...] = _vector("moment of the hit: x, y, z in the base frame", "N m")
    hit_time: float = _start_time("the hit begins")
    hit_duration: float = parameter(0.02, unit="s", bounds=(0.0, 1e6), live=True,
        meaning="duration of the hit")

    update_rate: float = parameter(1000.0, unit="Hz", bounds=(1.0, 10000.0),
        meaning="rate of the cycles and published states")
    step: float = parameter(0.0, unit="s", bounds=(0.0, 0.01),
        meaning="inner step of the integrator; 0: chosen for the fastest mode, at most 0.25 ms")
    time_source: str = parameter("steady", choices=("steady", "clock"),
        meaning="'steady': run in real time; 'clock': follow an external /clock, one cycle per"
        " period by which it advances")
    publish_clock: bool = parameter(False,
        meaning="act as the time source: publish /clock and stamp states with simulated time, which"
        " waits for the simulation; otherwise use system time, or the external /clock")
    lockstep: bool = parameter(False,
        meaning="wait, for at most lockstep_timeout, until a motor_command or motor_torque_stamped"
        " answers the previous state: simulated time runs as fast as the answers arrive, even"
        " faster than real time (see max_speed), and no command is lost; requires publish_clock")
    lockstep_timeout: float = parameter(10.0, unit="s", bounds=(0.001, 3600.0), live=True,
        meaning="in lockstep, how long simulated time waits for a command, or command_timeout if"
        " that is longer; after that, time runs slowly until a command arrives, as without"
        " commands")
    max_speed: float = parameter(1.0, bounds=(0.0, 1000.0),
        meaning="maximum ratio of simulated to real time in lockstep; 0: as fast as possible")
    max_lag: float = parameter(0.05, unit="s", bounds=(0.001, 10.0), live=True,
        meaning="if the simulation lags by more than this, stop catching up and report the lost"
        " time")
    # fmt: on

    def check(self) -> None:
        super().check()
        self._require_three("payload_com", "hit_force", "hit_moment")
        if self.effects_file and self.plant != "internal":
            raise ParameterError(
                f"effects_file requires plant 'internal'; '{self.plant}' has no such effects"
            )
        if self.contact_frames and self.plant != "mujoco":
            raise ParameterError(
                f"contact_frames require plant 'mujoco'; '{self.plant}' has no contacts"
            )
        if self.base_motion == "floating" and not self.contact_frames:
            raise ParameterError("base_motion 'floating' requires contact_frames, or it would fall")
        if self.payload_mass and not self.payload_link:
            raise ParameterError("payload_mass requires payload_link")
        if self.publish_clock and self.time_source == "clock":
            raise ParameterError(
                "publish_clock cannot be combined with time_source 'clock', an external clock"
            )
        if self.lockstep and not (self.publish_clock and self.command_interface in ANSWERS):
            raise ParameterError(
                "lockstep requires publish_clock, because simulated time must wait for commands,"
                f" and one of the command_interfaces {', '.join(ANSWERS)}, whose stamps identify"
                " the answered state"
            )
        if self.max_speed != 1.0 and not self.lockstep:
            raise ParameterError(
                "max_speed requires lockstep; without it, the simulator runs in real time"
            )
        if self.command_timeout * self.update_rate < 1.0:
            raise ParameterError(
                f"command_timeout ({self.command_timeout} s) is shorter than one cycle at "
                f"update_rate {self.update_rate} Hz"
            )
