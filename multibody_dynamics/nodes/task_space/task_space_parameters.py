# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the task-space node."""

from dataclasses import dataclass, fields

from ...dynamics.tasks import GROUPS
from ..base.parameters import ParameterError, parameter
from ..following.following_parameters import FeedforwardParameters


@dataclass(frozen=True)
class TaskSpaceParameters(FeedforwardParameters):
    """The parameters of task_space_node; docs/task_space_node.md has them as a table."""

    streams = ("target_pose", "cartesian_trajectory")

    # fmt: off
    tool: str = parameter("", "link that follows the path; trajectories name it in joint_names")
    tool_offset: tuple[float, ...] = parameter((),
        meaning="x y z and quaternion x y z w of the tool frame in the frame of the link; empty:"
        " identity")
    components: str = parameter(
        "pose", f"controlled components: {', '.join(GROUPS)}, or a subset of 'rx ry rz x y z'"
    )
    task_axes: str = parameter("default", choices=("default", "inertial", "tool"),
        meaning="axes of the components: inertial, or those of the target (tool); default: tool for"
        " direction, otherwise inertial")
    path_shape: str = parameter("screw", choices=("screw", "line"), live=True,
        meaning="path to a single pose: a screw motion about one axis, or a straight line of the"
        " tool's origin with a rotation about a fixed axis")

    linear_speed: float = parameter(0.25, unit="m/s", bounds=(1e-4, 100.0), live=True,
        meaning="maximum speed of the tool's origin")
    angular_speed: float = parameter(1.0, unit="rad/s", bounds=(1e-4, 100.0), live=True,
        meaning="maximum angular velocity of the tool")
    linear_acceleration: float = parameter(1.0, unit="m/s^2", bounds=(1e-3, 1000.0), live=True,
        meaning="maximum acceleration of the tool's origin")
    angular_acceleration: float = parameter(4.0, unit="rad/s^2", bounds=(1e-3, 1000.0), live=True,
        meaning="maximum angular acceleration of the tool")

    singularity_margin: float = parameter(0.02, bounds=(0.0, 1.0), live=True,
        meaning="reject motions in which the smallest singular value of the task Jacobian falls"
        " below this; set to 0 with damping")
    damping: float = parameter(0.0, bounds=(0.0, 1.0),
        meaning="singular value around which damping begins; 0: no damping, the path is exact")
    feedback: float = parameter(10.0, unit="1/s", bounds=(0.1, 1000.0),
        meaning="with damping: rate at which an error of the tool is corrected, per second of the"
        " path parameter s (time at full speed)")
    pose_tolerance: float = parameter(0.005, unit="m, rad", bounds=(0.0, 10.0), live=True,
        meaning="with damping: maximum deviation of the tool from the path")
    length: float = parameter(1.0, unit="m", bounds=(0.01, 100.0),
        meaning="length that counts as 1 rad in singular values and damping")

    joint_weights: tuple[float, ...] = parameter((),
        meaning="weights, one per joint of the robot: a joint with a large weight moves little;"
        " empty: all 1")
    posture: tuple[float, ...] = parameter((), unit="rad or m",
        meaning="positions, one per joint of the robot, towards which redundant joints are drawn as"
        " the tool moves; empty: none")
    posture_gain: float = parameter(1.0, unit="1/s", bounds=(0.0, 100.0),
        meaning="rate at which redundant joints approach the posture, per second of the path"
        " parameter s")
    limit_margin: float = parameter(0.2, unit="rad or m", bounds=(1e-3, 10.0),
        meaning="redundant joints closer than this to a joint limit are driven away from it")
    limit_speed: float = parameter(0.0, unit="rad/s or m/s", bounds=(0.0, 100.0),
        meaning="speed at which a redundant joint at its limit is driven away from it, per second"
        " of the path parameter s; 0: do not avoid limits")
    trajectory_period: float = parameter(0.05, unit="s", bounds=(0.0, 1.0), live=True,
        meaning="time between the points of joint_trajectory, for display and other controllers; 0:"
        " do not publish it")
    # fmt: on

    def listed(self) -> set[str]:
        inherited = {each.name for each in fields(FeedforwardParameters)}
        return super().listed() | {each.name for each in fields(self) if each.name not in inherited}

    def check(self) -> None:
        super().check()
        if len(self.tool_offset) not in (0, 7):
            raise ParameterError(
                f"tool_offset has {len(self.tool_offset)} values; expected 7: x y z, quaternion"
            )
