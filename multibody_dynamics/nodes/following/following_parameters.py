# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of nodes that follow a trajectory."""

from dataclasses import dataclass
from typing import ClassVar

from ...dynamics.control import ArmSettings, StreamSettings
from ...dynamics.core import declared
from ...dynamics.elastic import VARIANTS
from ...dynamics.motion import SHAPES
from ..base.contact_parameters import ContactParameters
from ..base.external_wrench import WrenchParameters
from ..base.parameters import ParameterError, parameter
from ..base.robot import ElasticRobotParameters


@dataclass(frozen=True)
class FollowingParameters(WrenchParameters, ElasticRobotParameters):
    """Parameters for reference, inputs and limits.

    usual : the names of those that the node lists; others are listed once they have been used.
    streams : the topics that may bring streams.
    """

    usual: ClassVar[tuple[str, ...]] = (
        "autostart", "robot_file", "robot_description", "elastic_joints_file", "command_joints",
        "update_rate", "expected_rate", "state_timeout", "start_tolerance", "path_tolerance",
        "goal_tolerance", "goal_time_tolerance", "position_margin", "torque_limit_scale",
        "torque_rate_limits",
    )  # fmt: skip
    streams: ClassVar[tuple[str, ...]] = ("joint_targets", "position_commands", "joint_trajectory")

    # fmt: off
    variant: str = parameter("full", choices=tuple(VARIANTS), live=True,
        meaning="model of the springs: 'full' with the torque rates Q' and Q'', 'quasi_static'"
        " without them, 'rigid' without springs")
    gravity_compensated_by_robot: bool = parameter(False,
        meaning="the robot compensates gravity itself: exclude it from all torques")
    initial_stiffness: tuple[float, ...] = declared(ArmSettings, "initial_stiffness")

    lookahead: float = declared(ArmSettings, "lookahead")
    update_rate: float = parameter(0.0, unit="Hz", bounds=(0.0, 10000.0),
        meaning="rate of a timer that drives the cycle; 0: one cycle per complete state")
    state_queue_depth: int = parameter(8, bounds=(1, 1000),
        meaning="queue depth of the state subscriptions; at least the number of messages that make"
        " up one state")
    state_timeout: float = declared(ArmSettings, "state_timeout")
    stamp_tolerance: float = parameter(0.5, unit="s", bounds=(0.0, 60.0), live=True,
        meaning="reject stamps that differ from the node's clock by more than this; 0: accept any"
        " stamp")
    state_speed_factor: float = declared(ArmSettings, "state_speed_factor")
    expected_rate: float = parameter(0.0, unit="Hz", bounds=(0.0, 10000.0), live=True,
        meaning="expected rate of the states, for counting missed cycles (0: the median of the last"
        " second) and for the design and judgement of laws by flatness_controller_node (0: 1 kHz)")

    start_tolerance: float = parameter(0.1, unit="rad or m", bounds=(0.0, 10.0), live=True,
        meaning="reject a trajectory if the measured position, or the position at which the"
        " trajectory takes over, is further than this from the current motion")
    splice_lead: float = parameter(0.01, unit="s", bounds=(0.0, 10.0), live=True,
        meaning="drop trajectory points that are due within this time from now, like those in the"
        " past")
    stop_duration: float = parameter(0.5, unit="s", bounds=(0.01, 60.0), live=True,
        meaning="duration of a stop")
    path_tolerance: float = parameter(0.0, unit="rad or m", bounds=(0.0, 10.0), live=True,
        meaning="stop a motion if the measured position deviates from it by more than this; 0: no"
        " limit")
    goal_tolerance: float = parameter(0.0, unit="rad or m", bounds=(0.0, 10.0), live=True,
        meaning="the goal is reached when the measured position is within this distance of the end;"
        " 0: at any distance")
    stopped_velocity_tolerance: float = parameter(0.01, unit="rad/s or m/s", bounds=(0.0, 10.0),
        live=True,
        meaning="the goal is reached when the measured velocity, if available, is also below this;"
        " 0: at any velocity")
    goal_time_tolerance: float = parameter(0.0, unit="s", bounds=(0.0, 600.0), live=True,
        meaning="the motion has failed if the goal is not reached within this time after the last"
        " point; 0: wait forever")
    action_monitor_rate: float = parameter(20.0, unit="Hz", bounds=(0.0, 1000.0),
        meaning="feedback rate of the action follow_joint_trajectory (not served by"
        " task_space_node); 0: do not serve it")
    trajectory_shape: str = parameter("held", choices=SHAPES, live=True,
        meaning="motion through points without velocities: 'held' rests between equal positions and"
        " overshoots none of them; 'monotone' also turns round at points only; 'least_jerk' is the"
        " smoothest, and overshoots held points like any smooth spline")
    stream_topics: tuple[str, ...] = parameter((),
        meaning="topics that bring streams of targets: joint_targets (sensor_msgs/JointState),"
        " position_commands (std_msgs/Float64MultiArray), both ignored otherwise, joint_trajectory,"
        " each of whose messages is a trajectory otherwise, and, in task_space_node, target_pose"
        " and cartesian_trajectory; see docs/streams.md")
    stream_delay: float = declared(StreamSettings, "stream_delay")
    stream_smoothing: float = declared(StreamSettings, "stream_smoothing")
    stream_acceleration: tuple[float, ...] = declared(StreamSettings, "stream_acceleration")
    position_margin: float = parameter(0.0, unit="rad or m", bounds=(0.0, 10.0),
        meaning="margin of the soft position limits inside the robot's limits")
    enable_at_activation: bool = parameter(True,
        meaning="follow trajectories from activation on; false: hold until ~/enable is called")
    torque_limit_scale: float = parameter(1.0, bounds=(0.01, 1.0), live=True,
        meaning="usable share of the torque limit, which is the smaller of the robot's effort limit"
        " and the motor's torque limit")
    torque_rate_limits: tuple[float, ...] = parameter((), unit="N m/s or N/s", live=True,
        meaning="limits of the motor torque rates: one value, or one per entry of command_joints;"
        " empty: no limit")

    base_motion: str = parameter("fixed", choices=("fixed", "trajectory", "odometry", "imu"),
        meaning="motion of the base: 'fixed', or that of the topic base_trajectory"
        " (trajectory_msgs/MultiDOFJointTrajectory, 'trajectory'), base_odometry"
        " (nav_msgs/Odometry, 'odometry') or base_imu (sensor_msgs/Imu, 'imu'); see"
        " docs/moving_base.md")
    base_bandwidth: float = parameter(20.0, unit="Hz", bounds=(0.1, 1000.0),
        meaning="bandwidth of the filter that differentiates base_odometry or base_imu three times")
    wrench_tolerance: float = parameter(1.0, bounds=(0.0, 1000.0), live=True,
        meaning="reject an external_wrench against which a joint would need more than this many"
        " times its torque limit; 0: accept any")
    wrench_filter_time: float = parameter(0.0, unit="s", bounds=(0.0, 10.0), live=True,
        meaning="time constant of a low-pass filter of the wrench that also yields its rates; 0: no"
        " filter, zero rates")
    # fmt: on

    def listed(self) -> set[str]:
        return {*self.usual}

    def check(self) -> None:
        super().check()
        self._require_unique("stream_topics")
        for topic in self.stream_topics:
            if topic not in self.streams:
                raise ParameterError(
                    f"stream_topics: no topic '{topic}'; expected some of {', '.join(self.streams)}"
                )
        rates = self.torque_rate_limits
        if len(rates) not in (0, 1, len(self.command_joints)):
            raise ParameterError(
                f"torque_rate_limits has {len(rates)} values; expected one, or one for each of the"
                f" {len(self.command_joints)} command_joints"
            )
        if any(rate <= 0.0 for rate in rates):
            raise ParameterError(f"torque_rate_limits must be positive, got {rates}")
        if self.update_rate and self.state_timeout * self.update_rate < 1.0:
            raise ParameterError(
                f"state_timeout ({self.state_timeout} s) is shorter than one cycle"
                f" at update_rate {self.update_rate} Hz"
            )


@dataclass(frozen=True)
class FeedforwardParameters(ContactParameters, FollowingParameters):
    """The parameters of feedforward_node; docs/feedforward_node.md has them as a table."""

    usual = (*FollowingParameters.usual, "variant", "lookahead", "ramp_time")

    # fmt: off
    ramp_time: float = parameter(0.5, unit="s", bounds=(0.0, 60.0), live=True,
        meaning="duration of the ramp to the motor torques of the law, from zero at activation, or"
        " from the last torques if a new hold begins")
    # fmt: on

    def check(self) -> None:
        super().check()
        if self.contact_frames and self.gravity_compensated_by_robot:
            raise ParameterError(
                "contact_frames and gravity_compensated_by_robot exclude each other: the forces of"
                " the ground belong to gravity"
            )
        if self.contact_frames and self.base_motion not in ("fixed", "trajectory"):
            raise ParameterError(
                f"contact_frames require base_motion 'fixed' or 'trajectory'; with a measured base"
                f" ('{self.base_motion}'), feet of the desired motion would never be at rest"
            )
