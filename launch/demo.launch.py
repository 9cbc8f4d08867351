# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The demo under ros2 launch: an arm with elastic joints, its feedforward, a motion, and a report.

ros2 launch multibody_dynamics demo.launch.py robot:=ROBOT.urdf output:=FOLDER

Runs one variant of the feedforward; the launch ends with the motion. To compare variants in one
report, run them one after the other into the same folder with keep:=true.
"""

from pathlib import Path

from launch import Action, LaunchDescription
from launch.actions import ExecuteProcess, Shutdown
from launch_ros.substitutions import ExecutableInPackage

from multibody_dynamics.tools.base.node_parameters import NODES
from multibody_dynamics.tools.demo.preparation import REMAPPINGS, prepare
from multibody_dynamics.tools.launch_arguments import (
    PACKAGE,
    ending_together,
    launch_description,
    own_node,
)
from multibody_dynamics.tools.live.launched_systems import FLAG, Argument, NodeStart, Values


def generate_launch_description() -> LaunchDescription:
    arguments = [
        Argument("robot", "", "URDF file; '': the Panda"),
        Argument(
            "elastic_joints",
            "",
            "YAML file of springs and motors; '': the Panda's, or generated for robot",
        ),
        Argument("trajectory", "sum_of_sines", "kind of motion", ("sum_of_sines", "rest_to_rest")),
        Argument("duration", "8.0", "duration of the motion [s]"),
        Argument("rate", "1000.0", "joint states per second of simulated time"),
        Argument(
            "variant",
            "full",
            "how the feedforward models the springs",
            ("full", "quasi_static", "rigid"),
        ),
        Argument("output", "demo_report", "folder for the report and the recording"),
        Argument(
            "keep",
            "false",
            "keep earlier runs of other variants in the folder and report on all",
            FLAG,
        ),
    ]
    return launch_description(arguments, start)


def start(values: Values) -> list[Action]:
    """The nodes and the recorder, once their parameters have been generated for the robot."""
    demo = prepare(
        Path(values["output"]),
        robot=values["robot"],
        elastic_joints=values["elastic_joints"],
        motion=values["trajectory"],
        duration=float(values["duration"]),
        rate=float(values["rate"]),
    )
    demo.write(keep=values.flag("keep"))
    variant = {"variant": values["variant"]}
    nodes = [
        own_node(
            NodeStart(
                name,
                parameters=(str(demo.file), *([variant] if name == "feedforward_node" else [])),
                remappings=tuple(REMAPPINGS.get(name, {}).items()),
            )
        )
        for name in NODES
    ]
    recorder = ExecuteProcess(
        cmd=[
            ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
            "record-demo",
            str(demo.folder),
            "--variant",
            values["variant"],
        ],
        output="screen",
        on_exit=[Shutdown(reason="the report is written")],
    )
    return ending_together([recorder, *nodes])
