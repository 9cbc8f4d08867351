"""The demo under ros2 launch: an arm with elastic joints, its feedforward, a motion, and a report.

ros2 launch multibody_dynamics demo.launch.py robot:=ROBOT.urdf output:=FOLDER

One run of one variant of the feedforward; the launch ends with the motion. Runs of other variants
into the same folder are put side by side in the report: with keep:=true.
"""

from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.substitutions import ExecutableInPackage

from multibody_dynamics.tools.base.recording import NODES
from multibody_dynamics.tools.demo.preparation import REMAPPINGS, prepare

PACKAGE = "multibody_dynamics"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument("robot", default_value="", description="URDF file; '': the Panda"),
        DeclareLaunchArgument(
            "elastic_joints",
            default_value="",
            description="YAML file of springs and motors; '': the Panda's, else generated",
        ),
        DeclareLaunchArgument(
            "trajectory",
            default_value="sum_of_sines",
            choices=["sum_of_sines", "rest_to_rest"],
            description="kind of motion",
        ),
        DeclareLaunchArgument("duration", default_value="8.0", description="of the motion, in s"),
        DeclareLaunchArgument(
            "rate", default_value="1000.0", description="joint states per second of simulated time"
        ),
        DeclareLaunchArgument(
            "variant",
            default_value="full",
            choices=["full", "quasi_static", "rigid"],
            description="what the feedforward knows of the springs",
        ),
        DeclareLaunchArgument(
            "output", default_value="demo_report", description="folder of report and recording"
        ),
        DeclareLaunchArgument(
            "keep",
            default_value="false",
            choices=["true", "false"],
            description="keep the runs of other variants in that folder, for one report of all",
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list:
    """The nodes; a function, since their parameters are made for the robot that was named."""

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    demo = prepare(
        Path(value("output")),
        robot=value("robot"),
        elastic_joints=value("elastic_joints"),
        motion=value("trajectory"),
        duration=float(value("duration")),
        rate=float(value("rate")),
        keep=value("keep") == "true",
    )
    variant = {"variant": value("variant")}
    nodes = [
        LifecycleNode(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace="",
            parameters=[str(demo.file), *([variant] if name == "feedforward_node" else [])],
            remappings=list(REMAPPINGS.get(name, {}).items()),
            output="screen",
            emulate_tty=True,
        )
        for name in NODES
    ]
    recorder = ExecuteProcess(
        cmd=[
            ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
            "record",
            str(demo.folder),
            "--variant",
            value("variant"),
        ],
        output="screen",
    )

    def ended(event: ProcessExited, context: LaunchContext) -> list[Shutdown]:
        """With the recorder, which has written the report, or with a node that failed."""
        if context.is_shutdown or (event.action is not recorder and not event.returncode):
            return []
        return [Shutdown(reason=f"{event.process_name} ended: {event.returncode}")]

    return [recorder, *nodes, RegisterEventHandler(OnProcessExit(on_exit=ended))]
