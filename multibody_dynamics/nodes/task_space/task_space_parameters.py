"""The parameters of the task space node."""

from __future__ import annotations

from dataclasses import dataclass

from ...dynamics.tasks import GROUPS
from ..base.parameters import ParameterError, parameter
from ..following.feedforward_parameters import FeedforwardParameters


@dataclass(frozen=True)
class TaskSpaceParameters(FeedforwardParameters):
    """See the descriptions; docs/task_space_node.md has them as a table."""

    tool: str = parameter(
        "", "link that is led along the path; trajectories name it in joint_names"
    )
    tool_offset: tuple[float, ...] = parameter(
        (), "x y z and quaternion x y z w of the tool frame in that of the link; empty: the same"
    )
    components: str = parameter(
        "pose", f"what is prescribed: {', '.join(GROUPS)}, or some of 'rx ry rz x y z'"
    )
    task_axes: str = parameter(
        "default",
        "axes of the components: the inertial ones, or those of the target; default: inertial,"
        " but for direction",
        choices=("default", "inertial", "tool"),
    )
    path_shape: str = parameter(
        "screw",
        "path to a single pose: about and along one axis, or straight with the orientation turning",
        choices=("screw", "line"),
        live=True,
    )

    linear_speed: float = parameter(
        0.25, "greatest speed of the tool's origin", unit="m/s", bounds=(1e-4, 100.0), live=True
    )
    angular_speed: float = parameter(
        1.0, "greatest angular velocity of the tool", unit="rad/s", bounds=(1e-4, 100.0), live=True
    )
    linear_acceleration: float = parameter(
        1.0,
        "greatest acceleration of the tool's origin",
        unit="m/s^2",
        bounds=(1e-3, 1000.0),
        live=True,
    )
    angular_acceleration: float = parameter(
        4.0,
        "greatest angular acceleration of the tool",
        unit="rad/s^2",
        bounds=(1e-3, 1000.0),
        live=True,
    )

    singularity_margin: float = parameter(
        0.02,
        "least singular value of the task Jacobian that a motion may pass; 0 with damping",
        bounds=(0.0, 1.0),
        live=True,
    )
    damping: float = parameter(
        0.0,
        "singular value about which damping sets in; 0: none, the path is exact",
        bounds=(0.0, 1.0),
    )
    feedback: float = parameter(
        10.0,
        "with damping: how fast an error of the tool is brought back, per second of the path",
        unit="1/s",
        bounds=(0.1, 1000.0),
    )
    pose_tolerance: float = parameter(
        0.005,
        "with damping: how far the tool may be led off the path",
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
        (), "weights of the robot's joints: one with a great weight moves little; empty: all 1"
    )
    posture: tuple[float, ...] = parameter(
        (),
        "positions to which spare joints are drawn as the tool moves; empty: none",
        unit="rad or m",
    )
    posture_gain: float = parameter(
        1.0,
        "how strongly spare joints are drawn to the posture, per second of the path",
        unit="1/s",
        bounds=(0.0, 100.0),
    )
    limit_margin: float = parameter(
        0.2,
        "spare joints that are so near to a joint limit are led away from it",
        unit="rad or m",
        bounds=(1e-3, 10.0),
    )
    limit_speed: float = parameter(
        0.0,
        "how fast spare joints are led away at the limit itself, per second of the path; 0: not"
        " at all",
        unit="rad/s or m/s",
        bounds=(0.0, 100.0),
    )
    trajectory_period: float = parameter(
        0.05,
        "time between the points of joint_trajectory, for display and plain controllers; 0: none"
        " sent",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        if len(self.tool_offset) not in (0, 7):
            raise ParameterError(
                f"tool_offset has {len(self.tool_offset)} numbers; x y z and a quaternion are 7"
            )
