# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the task-space node."""

from dataclasses import dataclass, fields

from ...dynamics.tasks import GROUPS
from ..base.parameters import ParameterError, parameter
from ..following.feedforward_parameters import FeedforwardParameters


@dataclass(frozen=True)
class TaskSpaceParameters(FeedforwardParameters):
    """The parameters of task_space_node; docs/task_space_node.md has them as a table."""

    streams = ("target_pose", "cartesian_trajectory")

    tool: str = parameter("", "link that follows the path; trajectories name it in joint_names")
    tool_offset: tuple[float, ...] = parameter(
        (),
        "x y z and quaternion x y z w of the tool frame in the frame of the link; empty: identity",
    )
    components: str = parameter(
        "pose", f"controlled components: {', '.join(GROUPS)}, or a subset of 'rx ry rz x y z'"
    )
    task_axes: str = parameter(
        "default",
        "axes of the components: inertial, or those of the target (tool); default: tool for"
        " direction, otherwise inertial",
        choices=("default", "inertial", "tool"),
    )
    path_shape: str = parameter(
        "screw",
        "path to a single pose: a screw motion about one axis, or a straight line of the tool's"
        " origin with a rotation about a fixed axis",
        choices=("screw", "line"),
        live=True,
    )

    linear_speed: float = parameter(
        0.25, "maximum speed of the tool's origin", unit="m/s", bounds=(1e-4, 100.0), live=True
    )
    angular_speed: float = parameter(
        1.0, "maximum angular velocity of the tool", unit="rad/s", bounds=(1e-4, 100.0), live=True
    )
    linear_acceleration: float = parameter(
        1.0,
        "maximum acceleration of the tool's origin",
        unit="m/s^2",
        bounds=(1e-3, 1000.0),
        live=True,
    )
    angular_acceleration: float = parameter(
        4.0,
        "maximum angular acceleration of the tool",
        unit="rad/s^2",
        bounds=(1e-3, 1000.0),
        live=True,
    )

    singularity_margin: float = parameter(
        0.02,
        "reject motions in which the smallest singular value of the task Jacobian falls below this;"
        " set to 0 with damping",
        bounds=(0.0, 1.0),
        live=True,
    )
    damping: float = parameter(
        0.0,
        "singular value around which damping begins; 0: no damping, the path is exact",
        bounds=(0.0, 1.0),
    )
    feedback: float = parameter(
        10.0,
        "with damping: rate at which an error of the tool is corrected, per second of the path"
        " parameter s (time at full speed)",
        unit="1/s",
        bounds=(0.1, 1000.0),
    )
    pose_tolerance: float = parameter(
        0.005,
        "with damping: maximum deviation of the tool from the path",
        unit="m, rad",
        bounds=(0.0, 10.0),
        live=True,
    )
    length: float = parameter(
        1.0,
        "length that counts as 1 rad in singular values and damping",
        unit="m",
        bounds=(0.01, 100.0),
    )

    joint_weights: tuple[float, ...] = parameter(
        (),
        "weights, one per joint of the robot: a joint with a large weight moves little; empty: all"
        " 1",
    )
    posture: tuple[float, ...] = parameter(
        (),
        "positions, one per joint of the robot, towards which redundant joints are drawn as the"
        " tool moves; empty: none",
        unit="rad or m",
    )
    posture_gain: float = parameter(
        1.0,
        "rate at which redundant joints approach the posture, per second of the path parameter s",
        unit="1/s",
        bounds=(0.0, 100.0),
    )
    limit_margin: float = parameter(
        0.2,
        "redundant joints closer than this to a joint limit are driven away from it",
        unit="rad or m",
        bounds=(1e-3, 10.0),
    )
    limit_speed: float = parameter(
        0.0,
        "speed at which a redundant joint at its limit is driven away from it, per second of the"
        " path parameter s; 0: do not avoid limits",
        unit="rad/s or m/s",
        bounds=(0.0, 100.0),
    )
    trajectory_period: float = parameter(
        0.05,
        "time between the points of joint_trajectory, for display and other controllers; 0: do not"
        " publish it",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )

    def listed(self) -> set[str]:
        inherited = {each.name for each in fields(FeedforwardParameters)}
        return super().listed() | {each.name for each in fields(self) if each.name not in inherited}

    def check(self) -> None:
        super().check()
        if len(self.tool_offset) not in (0, 7):
            raise ParameterError(
                f"tool_offset has {len(self.tool_offset)} values; expected 7: x y z, quaternion"
            )
