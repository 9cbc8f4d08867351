"""The demo under ros2 launch: an arm with elastic joints, its feedforward, a motion, and a report.

ros2 launch multibody_dynamics demo.launch.py robot:=ROBOT.urdf output:=FOLDER

Runs one variant of the feedforward; the launch ends with the motion. To compare variants in one
report, run them one after the other into the same folder with keep:=true.
"""

from pathlib import Path

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import ExecuteProcess, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch_ros.substitutions import ExecutableInPackage

from multibody_dynamics.tools.base.recording import NODES
from multibody_dynamics.tools.demo.preparation import REMAPPINGS, prepare
from multibody_dynamics.tools.launch_arguments import (
    PACKAGE,
    Values,
    argument,
    launch_description,
    own_node,
)


def generate_launch_description() -> LaunchDescription:
    arguments = [
        argument("robot", description="URDF file; '': the Panda"),
        argument(
            "elastic_joints",
            description="YAML file of springs and motors; '': the Panda's, or generated for robot",
        ),
        argument(
            "trajectory",
            default_value="sum_of_sines",
            choices=["sum_of_sines", "rest_to_rest"],
            description="kind of motion",
        ),
        argument("duration", default_value="8.0", description="duration of the motion [s]"),
        argument(
            "rate", default_value="1000.0", description="joint states per second of simulated time"
        ),
        argument(
            "variant",
            default_value="full",
            choices=["full", "quasi_static", "rigid"],
            description="how the feedforward models the springs",
        ),
        argument(
            "output",
            default_value="demo_report",
            description="folder for the report and the recording",
        ),
        argument(
            "keep",
            default_value="false",
            choices=["true", "false"],
            description="keep earlier runs of other variants in the folder and report on all",
        ),
    ]
    return launch_description(arguments, start)


def start(value: Values) -> list[Action]:
    """The nodes and the recorder, once their parameters have been generated for the robot."""
    demo = prepare(
        Path(value("output")),
        robot=value("robot"),
        elastic_joints=value("elastic_joints"),
        motion=value("trajectory"),
        duration=float(value("duration")),
        rate=float(value("rate")),
        keep=value.flag("keep"),
    )
    variant = {"variant": value("variant")}
    nodes = [
        own_node(
            name,
            parameters=[str(demo.file), *([variant] if name == "feedforward_node" else [])],
            remappings=list(REMAPPINGS.get(name, {}).items()),
        )
        for name in NODES
    ]
    recorder = ExecuteProcess(
        cmd=[
            ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
            "record-demo",
            str(demo.folder),
            "--variant",
            value("variant"),
        ],
        output="screen",
    )

    def on_exit(event: ProcessExited, context: LaunchContext) -> list[Shutdown]:
        """Shut down when the recorder has written its report, or when a node fails."""
        if context.is_shutdown or (event.action is not recorder and not event.returncode):
            return []
        return [Shutdown(reason=f"{event.process_name} exited with status {event.returncode}")]

    return [recorder, *nodes, RegisterEventHandler(OnProcessExit(on_exit=on_exit))]
