"""The parameters of the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base.parameters import ParameterError, parameter
from ..base.robot import ElasticRobotParameters

ANSWERS = ("motor_command", "stamped_motor_torque")
"""Command interfaces whose stamps tell which state they answer."""


def _three(description: str, unit: str) -> Any:
    return parameter((0.0, 0.0, 0.0), description, unit=unit, live=True)


@dataclass(frozen=True)
class SimulatorParameters(ElasticRobotParameters):
    """See the descriptions; docs/elastic_robot_simulator_node.md has them as a table."""

    plant: str = parameter(
        "internal",
        "'internal': dynamics.ElasticRobot; 'mujoco': the same arm on MuJoCo, which is to be"
        " installed by itself (multibody_dynamics[mujoco])",
        choices=("internal", "mujoco"),
    )
    link_viscous_friction: tuple[float, ...] = parameter(
        (),
        "viscous friction on the link side of the springs: one for all or one per joint, as"
        " initial_positions; empty: none",
        unit="N m s/rad or N s/m",
    )
    end_stop_stiffness: float = parameter(
        0.0,
        "stiffness of stops at the robot's joint limits; 0: links pass them. MuJoCo has stops of"
        " its own, without regard to the number",
        unit="N m/rad or N/m",
        bounds=(0.0, 1e9),
    )
    command_interface: str = parameter(
        "motor_command",
        "'motor_torque', 'stamped_motor_torque': torques as they come; 'motor_command': drives"
        " close a PD around reference and torque feedforward",
        choices=("motor_torque", "motor_command", "stamped_motor_torque"),
    )
    initial_positions: tuple[float, ...] = parameter(
        (),
        "where activation puts the links, at rest, in the order in which command_joints has the"
        " joints, or their motors; empty: zero, or the joint limit next to it",
        unit="rad or m",
    )
    brakes_until_command: bool = parameter(
        True, "after activation the robot stands still until the first command"
    )
    command_timeout: float = parameter(
        0.1,
        "without a command for this long: zero torque, or the drives hold their last reference",
        unit="s",
        bounds=(0.001, 60.0),
        live=True,
    )
    actuation_delay: float = parameter(
        0.0,
        "time from the beginning of the cycle that takes a command until the motors obey; any"
        " fraction of a cycle",
        unit="s",
        bounds=(0.0, 0.1),
    )
    drive_bandwidth: float = parameter(
        15.0,
        "bandwidth of the drives' position loops, each motor by itself",
        unit="Hz",
        bounds=(0.1, 1000.0),
    )
    drive_damping_ratio: float = parameter(
        1.0, "damping ratio of the drives' position loops", bounds=(0.0, 10.0)
    )
    drive_interpolation: float = parameter(
        0.02,
        "a reference moves on at its velocity for at most this long, then it stands still",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )

    seed: int = parameter(
        0,
        "seed of all noise: the same seed and commands give the same states",
        bounds=(0, 2**31 - 1),
    )
    link_encoder_resolution: float = parameter(
        0.0, "step of link positions; 0: none", unit="rad or m", bounds=(0.0, 1.0)
    )
    link_position_noise: float = parameter(
        0.0, "standard deviation of link positions", unit="rad or m", bounds=(0.0, 1.0)
    )
    motor_encoder_resolution: float = parameter(
        0.0,
        "step of motor positions, on the link side of the gear; 0: none",
        unit="rad or m",
        bounds=(0.0, 1.0),
    )
    motor_position_noise: float = parameter(
        0.0, "standard deviation of motor positions", unit="rad or m", bounds=(0.0, 1.0)
    )
    velocity_bandwidth: float = parameter(
        0.0,
        "low-pass of the velocities, which are difference quotients of the measured positions;"
        " 0: the true velocities",
        unit="Hz",
        bounds=(0.0, 10000.0),
    )
    torque_sensor_bandwidth: float = parameter(
        0.0, "low-pass of the joint torques; 0: none", unit="Hz", bounds=(0.0, 10000.0)
    )
    torque_noise: float = parameter(
        0.0, "standard deviation of the joint torques", unit="N m or N", bounds=(0.0, 1000.0)
    )

    payload_link: str = parameter("", "link that the payload hangs on", live=True)
    payload_mass: float = parameter(
        0.0,
        "mass of the payload, a point; 0: no payload",
        unit="kg",
        bounds=(0.0, 1000.0),
        live=True,
    )
    payload_com: tuple[float, ...] = _three(
        "where the payload is, in the frame of payload_link", "m"
    )
    payload_time: float = parameter(
        0.0,
        "when the payload appears: simulated time from the first command on",
        unit="s",
        bounds=(0.0, 1e6),
        live=True,
    )
    hit_link: str = parameter("", "link that is hit at its origin; '': none", live=True)
    hit_force: tuple[float, ...] = _three("force of the hit: x, y, z in the base frame", "N")
    hit_moment: tuple[float, ...] = _three("moment of the hit: x, y, z in the base frame", "N m")
    hit_time: float = parameter(
        0.0,
        "when the hit begins: simulated time from the first command on",
        unit="s",
        bounds=(0.0, 1e6),
        live=True,
    )
    hit_duration: float = parameter(
        0.02, "duration of the hit", unit="s", bounds=(0.0, 1e6), live=True
    )
    wrench_link: str = parameter(
        "", "link that external_wrench acts on; '': the one that its frame_id names"
    )
    wrench_timeout: float = parameter(
        0.1, "an older wrench counts as zero", unit="s", bounds=(0.001, 60.0), live=True
    )

    update_rate: float = parameter(
        1000.0, "cycles, and published states, per second", unit="Hz", bounds=(1.0, 10000.0)
    )
    step: float = parameter(
        0.0,
        "inner step of the integrator; 0: by the fastest mode, at most 0.25 ms",
        unit="s",
        bounds=(0.0, 0.01),
    )
    time_source: str = parameter(
        "steady",
        "'steady': runs in real time; 'clock': a period whenever the /clock of another has advanced"
        " by one",
        choices=("steady", "clock"),
    )
    publish_clock: bool = parameter(
        False,
        "be the time source: publish /clock and stamp with simulated time, which waits for the"
        " simulation; otherwise stamp with system time, or that of the /clock it runs by",
    )
    lockstep: bool = parameter(
        False,
        "wait, for at most command_timeout, until the state before has been answered by a"
        " motor_command or motor_torque_stamped: simulated time slows down, or runs as fast as the"
        " answers come (see max_speed), and no command is lost; needs publish_clock",
    )
    max_speed: float = parameter(
        1.0,
        "simulated time per real time with lockstep; 0: as fast as it goes",
        bounds=(0.0, 1000.0),
    )
    max_lag: float = parameter(
        0.05,
        "when further behind than this, give up catching up and report the loss",
        unit="s",
        bounds=(0.001, 10.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        for name in ("payload_com", "hit_force", "hit_moment"):
            if len(getattr(self, name)) != 3:
                raise ParameterError(f"{name} has {len(getattr(self, name))} numbers; x, y, z")
        if self.payload_mass and not self.payload_link:
            raise ParameterError("payload_mass needs payload_link")
        if self.publish_clock and self.time_source == "clock":
            raise ParameterError(
                "time_source is 'clock', that of another; it cannot go with publish_clock"
            )
        if self.lockstep and not (self.publish_clock and self.command_interface in ANSWERS):
            raise ParameterError(
                "lockstep needs publish_clock, for time to wait, and one of the command_interfaces"
                f" {', '.join(ANSWERS)}, whose stamps tell which state it answers"
            )
        if self.max_speed != 1.0 and not self.lockstep:
            raise ParameterError("max_speed needs lockstep: otherwise time runs in real time")
        if self.command_timeout * self.update_rate < 1.0:
            raise ParameterError(
                f"command_timeout ({self.command_timeout} s) is shorter than one cycle at "
                f"update_rate {self.update_rate} Hz"
            )
