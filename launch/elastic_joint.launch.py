"""An arm with elastic joints under control: simulated or real robot, controller, and motion.

ros2 launch multibody_dynamics elastic_joint.launch.py
ros2 launch multibody_dynamics elastic_joint.launch.py plant:=mujoco law:=state_feedback
ros2 launch multibody_dynamics elastic_joint.launch.py plant:=none parameters:=robot.yaml
ros2 launch multibody_dynamics elastic_joint.launch.py robot:=R.urdf elastic_joints:=S.yaml

With another robot, the package's parameters file contributes its tuning but none of the Panda's
data. With plant:=none, the robot's driver publishes joint_states and motor_states and receives
flatness_controller_node/commands. The parameters file describes the motion of trajectory_node.
"""

from collections.abc import Sequence

from launch import Action, LaunchDescription
from launch_ros.actions import LifecycleNode

from multibody_dynamics.tools.launch_arguments import (
    Values,
    argument,
    launch_description,
    own_node,
    robot_parameters,
    share,
)


def generate_launch_description() -> LaunchDescription:
    arguments = [
        argument(
            "parameters",
            default_value=share("config", "elastic_joint.yaml"),
            description="YAML file with the parameters of all three nodes",
        ),
        argument("robot"),
        argument("xacro_arguments"),
        argument("elastic_joints"),
        argument("command_joints"),
        argument(
            "initial_positions",
            default_value="",
            description="initial positions of the simulated links in the order of command_joints,"
            " separated by commas; '' uses those of the parameters file or, if robot is set, zero"
            " or the nearest joint limit",
        ),
        argument(
            "plant",
            default_value="internal",
            choices=["internal", "mujoco", "none"],
            description="simulator of the robot; none: a real robot, or your own simulator",
        ),
        argument(
            "law",
            default_value="motor_pd",
            choices=[
                "motor_pd",
                "state_feedback",
                "feedback_linearization",
                "torque_control",
                "computed_torque",
                "hold",
                "joint_impedance",
                "cartesian_impedance",
                "esp",
                "esp_impedance",
            ],
            description="control law; may be changed at run time",
        ),
        argument("motion"),
        argument("namespace"),
        argument(
            "use_sim_time",
            description="use the time on /clock, published by the plant in lockstep or, with"
            " plant:=none, by another simulator",
        ),
    ]
    return launch_description(arguments, start)


def start(value: Values) -> list[Action]:
    """The controller and, depending on the arguments, the plant and the motion."""
    simulated_time = value.flag("use_sim_time")
    positions = [float(item) for item in value.items("initial_positions")]
    links, motors, start_there = robot_parameters(value, positions)
    common = {"autostart": True, **links}

    def node(
        name: str, own: dict[str, object], remappings: Sequence[tuple[str, str]] = ()
    ) -> LifecycleNode:
        return own_node(
            name,
            namespace=value("namespace"),
            parameters=[value("parameters"), common, own],
            remappings=list(remappings),
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
