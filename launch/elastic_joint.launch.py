"""An arm with elastic joints under control: simulated or real, its controller, a motion.

ros2 launch multibody_dynamics elastic_joint.launch.py
ros2 launch multibody_dynamics elastic_joint.launch.py plant:=mujoco law:=feedback_linearization
ros2 launch multibody_dynamics elastic_joint.launch.py plant:=none parameters:=robot.yaml
ros2 launch multibody_dynamics elastic_joint.launch.py robot:=R.urdf elastic_joints:=S.yaml

Another robot takes the tuning of the package's parameters file, but nothing in it that is the
Panda's. plant:=none leaves the robot to its own driver, which publishes joint_states and
motor_states and takes flatness_controller_node/commands. The motion is that of trajectory_node in
the parameters.
"""

from collections.abc import Sequence

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from multibody_dynamics.nodes.base.robot import chosen_robot

PACKAGE = "multibody_dynamics"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "parameters",
            default_value=PathJoinSubstitution(
                [FindPackageShare(PACKAGE), "config", "elastic_joint.yaml"]
            ),
            description="YAML file with the parameters of all three nodes",
        ),
        DeclareLaunchArgument(
            "robot",
            default_value="",
            description="URDF or xacro file; '' leaves it to the parameters file",
        ),
        DeclareLaunchArgument(
            "xacro_arguments", default_value="", description="for a xacro file: name:=value ..."
        ),
        DeclareLaunchArgument(
            "elastic_joints",
            default_value="",
            description="YAML file of springs and motors; '' leaves it to the parameters file, or"
            " with robot: every joint is rigid",
        ),
        DeclareLaunchArgument(
            "command_joints",
            default_value="",
            description="motors in the order of arrays without names, separated by commas; ''"
            " leaves them to the parameters file, or with robot or elastic_joints: in the order of"
            " the joints",
        ),
        DeclareLaunchArgument(
            "initial_positions",
            default_value="",
            description="where the simulated links stand, in the order of command_joints, separated"
            " by commas; '' leaves them to the parameters file, or with robot: zero, or the joint"
            " limit next to it",
        ),
        DeclareLaunchArgument(
            "plant",
            default_value="internal",
            choices=["internal", "mujoco", "none"],
            description="who simulates the robot; none: a real one, or a simulator of your own",
        ),
        DeclareLaunchArgument(
            "law",
            default_value="state_feedback",
            choices=[
                "motor_pd",
                "state_feedback",
                "feedback_linearization",
                "computed_torque",
                "hold",
            ],
            description="of the controller; may be changed while it runs",
        ),
        DeclareLaunchArgument(
            "motion",
            default_value="rest_to_rest",
            choices=["rest_to_rest", "sum_of_sines", "none"],
            description="what trajectory_node sends; none leaves joint_trajectory to you",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="of all topics"),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=["true", "false"],
            description="time from /clock: the plant's, in lockstep, or with plant:=none another's",
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LifecycleNode]:
    """The nodes; a function, since which they are depends on the arguments."""

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    def items(text: str) -> list[str]:
        return [item.strip() for item in text.split(",") if item.strip()]

    simulated_time = value("use_sim_time") == "true"
    description = ""
    if value("robot").endswith(".xacro"):
        command = Command(["xacro '", value("robot"), "' ", value("xacro_arguments")])
        description = command.perform(context)
    links, motors, start_there = chosen_robot(
        value("parameters"),
        value("robot"),
        value("elastic_joints"),
        items(value("command_joints")),
        [float(item) for item in items(value("initial_positions"))],
        description,
    )
    if description:  # as it stands: without the type, launch reads it as YAML
        links["robot_description"] = ParameterValue(description, value_type=str)
    common = {"autostart": True, **links}

    def node(
        name: str, own: dict[str, object], remappings: Sequence[tuple[str, str]] = ()
    ) -> LifecycleNode:
        return LifecycleNode(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=value("namespace"),
            parameters=[value("parameters"), common, own],
            remappings=list(remappings),
            output="screen",
            emulate_tty=True,
        )

    controller = {"law": value("law"), "use_sim_time": simulated_time, **motors}
    nodes = [node("flatness_controller_node", controller)]
    if value("plant") != "none":
        plant = {
            "plant": value("plant"),
            "command_interface": "stamped_motor_torque",
            "publish_clock": simulated_time,
            "lockstep": simulated_time,
            **motors,
            **start_there,
        }
        answers = [
            ("motor_torque_stamped", "flatness_controller_node/motor_torque"),
            ("stiffness_command", "flatness_controller_node/stiffness_command"),
        ]
        nodes.append(node("elastic_robot_simulator_node", plant, answers))
    if value("motion") != "none":
        motion = {"motion": value("motion"), "use_sim_time": simulated_time}
        nodes.append(node("trajectory_node", motion))
    return nodes
