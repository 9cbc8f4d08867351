"""The command `multibody_dynamics`, with a sub-command for each tool: its arguments, its refusals.

Exit status: 0; 1 if nodes or measured torques are not as they should be; 2 if the arguments or
files are wrong, with one line that says how; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..dynamics.core import DynamicsError
from .processes import DemoError
from .validate_options import add_options as add_validation_options

MOTIONS = ("sum_of_sines", "rest_to_rest")
VARIANTS = ("full", "quasi_static", "rigid")
COMPARISONS = ("feedforwards", "controllers", "both")
PLANTS = ("internal", "mujoco")
INTEGRATORS = ("euler", "rk2", "heun", "rk3", "rk4", "dormand_prince", "generalized_alpha")
CONFIGURATION = "--configuration"
INITIAL = "--initial"
ROS_ARGUMENTS = "--ros-args"


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(
        prog="multibody_dynamics",
        description="Joint torques and their rates for robots with elastic joints.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Any, text: str, details: str = "") -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=f"{text}. {details}")
        sub.set_defaults(run=run)
        return sub

    demo = command(
        "demo",
        _demo,
        "Run an arm with elastic joints over ROS 2 and write a report",
        "Simulator, feedforward and trajectory run as processes of their own, three times: with Q,"
        " Q' and Q'' in the feedforward, without the rates, and as for a rigid robot. Then four"
        " laws of the flatness controller make the same fast motion, on the plant of this package"
        " and on MuJoCo. Some three minutes.",
    )
    _robot_options(demo)
    demo.add_argument("--output", metavar="FOLDER", type=Path, default=Path("demo_report"),
                      help="where report and recordings go (%(default)s)")  # fmt: skip
    demo.add_argument(
        "--real-time",
        action="store_true",
        help="lose commands that come late, as a robot would, instead of letting time wait",
    )
    demo.add_argument("--compare", choices=COMPARISONS, default="both",
                      help="what is compared: %(choices)s (%(default)s)")  # fmt: skip
    demo.add_argument("--plant", choices=PLANTS, action="append",
                      help="plant on which the controllers are compared; may be repeated (all that"
                      " are installed)")  # fmt: skip
    demo.add_argument("--domain-id", metavar="N", type=_domain, help="ROS domain (one of its own)")

    task = command(
        "task-demo",
        _task_demo,
        "Lead the hand of an arm with elastic joints through poses, over ROS 2",
        "Simulator and task_space_node run as processes of their own. Writes task_space.png with"
        " the path, its error and the torques, and the figures in task_space.json.",
    )
    task.add_argument("--output", metavar="FOLDER", type=Path, default=Path("task_demo"),
                      help="where picture and figures go (%(default)s)")  # fmt: skip
    task.add_argument("--domain-id", metavar="N", type=_domain, help="ROS domain (one of its own)")

    report = command("report", _report, "Write the report of recorded runs again")
    report.add_argument("folder", metavar="FOLDER", type=Path, help="output folder of a demo")

    inspect = command(
        "inspect",
        _inspect,
        "Show what is understood of a URDF file, what looks wrong, and how fast it runs here",
        "What was read, merged and ignored; checks of masses, inertias and limits; torques over the"
        " range and in a motion; the time of a control cycle, measured here. Exit status 1 if a"
        " check fails.",
    )
    inspect.add_argument("robot", metavar="ROBOT.urdf", type=Path)
    inspect.add_argument("--elastic-joints", metavar="YAML", type=Path,
                         help="springs and motors: their feedforward is timed, too")  # fmt: skip
    inspect.add_argument("--rate", metavar="HZ", type=_positive, default=1000.0,
                         help="rate of the control cycle (%(default)s)")  # fmt: skip
    inspect.add_argument("--picture", metavar="FILE", type=Path,
                         help="draw robot and kinematic tree, as `plot` does")  # fmt: skip
    inspect.add_argument("--tables", action="store_true",
                         help="every number of the model, against a data sheet")  # fmt: skip
    inspect.add_argument("--no-timing", dest="timing", action="store_false",
                         help="measure nothing: nothing is compiled")  # fmt: skip

    gazebo = command(
        "gazebo",
        _gazebo,
        "Make a robot with springs for Gazebo and ros2_control",
        "Each joint becomes a motor and a spring in series, see docs/gazebo.md. Writes plant.urdf"
        " with its ros2_control tags, links.urdf and springs.yaml for the controller, and"
        " controllers.yaml.",
    )
    gazebo.add_argument("robot", metavar="ROBOT.urdf", type=Path)
    gazebo.add_argument("--elastic-joints", metavar="YAML", type=Path, required=True,
                        help="file of linear springs and motors")  # fmt: skip
    gazebo.add_argument(INITIAL, metavar="Q1,Q2,...", default="",
                        help="positions of the links at the start, rad (0)")  # fmt: skip
    gazebo.add_argument("--namespace", default="", help="namespace of the controller manager")
    gazebo.add_argument(
        "--prefix", default="", help="text put before the names of joints and links"
    )
    gazebo.add_argument("-o", "--output", metavar="FOLDER", type=Path,
                        default=Path("gazebo_robot"),
                        help="folder for these files (%(default)s)")  # fmt: skip

    composed = command(
        "compose",
        _compose,
        "Run several nodes in one process, on one executor",
        "They are configured and activated in this order. What follows --ros-args holds for all.",
    )
    composed.add_argument("nodes", metavar="NODE", nargs="+", help="such as feedforward_node")
    composed.add_argument("--executor", choices=("events", "single"), default="events",
                          help="run loop: %(choices)s (%(default)s)")  # fmt: skip

    monitor = command(
        "monitor",
        _monitor,
        "Watch torques, rates, limits and periods of a running robot in the terminal",
        "Rows marked with ! have less than a tenth of the effort limit left, or less than 0.05 rad"
        " (m) to a stop.",
    )
    monitor.add_argument("--urdf", metavar="ROBOT", type=Path, help="URDF file, for its limits")
    monitor.add_argument("--torques", metavar="TOPIC",
                         help="JointState with efforts (the first that has a publisher, of"
                         " flatness_controller_node/motor_torque, task_space_node/torque,"
                         " feedforward_node/torque)")  # fmt: skip
    monitor.add_argument("--states", metavar="TOPIC", default="joint_states",
                         help="JointState with positions (%(default)s)")  # fmt: skip
    monitor.add_argument("--namespace", default="", help="namespace of the topics")
    monitor.add_argument("--stale-after", metavar="S", type=_positive, default=0.2,
                         help="a topic silent for longer is marked, s (%(default)s)")  # fmt: skip
    monitor.add_argument("--once", action="store_true", help="print one table and end")
    monitor.add_argument("--timeout", metavar="S", type=_positive, default=10.0,
                         help="with --once: wait so long for torques, else exit status 1, s"
                         " (10)")  # fmt: skip

    plot = command(
        "plot",
        _plot,
        "Draw a robot: frames, joint axes, masses, and its kinematic tree",
        "The robot is shown in the middle of its joint ranges, or at the given configuration.",
    )
    plot.add_argument("robot", metavar="ROBOT.urdf", type=Path)
    plot.add_argument("-o", "--output", metavar="FILE", type=Path, default=Path("model.png"),
                      help="the picture; its ending says which format (%(default)s)")  # fmt: skip
    plot.add_argument(CONFIGURATION, metavar="Q1,Q2,...", type=_numbers,
                      help="rad or m, for the joints in the order of `inspect`")  # fmt: skip

    trajectory = command(
        "trajectory",
        _trajectory,
        "Show the demo motion of a robot beside its limits",
        "trajectory_node sends such a motion to a robot.",
    )
    trajectory.add_argument("robot", metavar="ROBOT.urdf", type=Path)
    _motion_options(trajectory)
    trajectory.add_argument("--csv", metavar="FILE", type=Path,
                            help="write t, q..q'''' of every joint, every 10 ms")  # fmt: skip

    recorder = command(
        "record",
        _record,
        "Record nodes that were started elsewhere, and write the report",
        "For launch/demo.launch.py.",
    )
    recorder.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        help="folder that has the parameters.yaml of the nodes",
    )
    recorder.add_argument("--variant", choices=VARIANTS, default="full",
                          help="variant of the feedforward that runs (%(default)s)")  # fmt: skip
    recorder.add_argument("--namespace", default="", help="namespace of the nodes")

    validation = command(
        "validate",
        _validate,
        "Compare recorded torques with those of the robot's model, and write a report",
        "Filters and differentiates the recorded motion without lag, predicts Q, Q' and Q'', and"
        " says how far from the measured efforts they are. A table has columns t, and for every"
        " joint 'q JOINT', 'tau JOINT' and, if known, 'qd JOINT' (.csv), or arrays t, q, tau, qd,"
        " joint_names (.npz).",
    )
    add_validation_options(validation)

    springs = command(
        "identify-springs",
        _identify_springs,
        "Find the laws of springs in a recorded motion: deflection against torque",
        "A recording is a bag with joint states of the links (positions, and efforts of torque"
        " sensors if there are any) and of the motors (positions, torques); or a table with a"
        " header: t and for every joint 'q JOINT', 'theta JOINT', and 'Q JOINT' of a torque sensor"
        " or 'tau JOINT' of the motor (.csv); arrays t, q, theta, Q, tau, joint_names, or a"
        " recording of the demo (.npz). All in s, rad (m) and N m (N) on the link side of the gear."
        " A motor has the name of its joint, or that and _agonist and _antagonist where there are"
        " two.",
    )
    springs.add_argument("recording", metavar="RECORDING", type=Path,
                         help="rosbag2 folder, .mcap, .db3, .csv or .npz file")  # fmt: skip
    springs.add_argument("--urdf", metavar="ROBOT", type=Path,
                         help="URDF file, for the torques of the links")  # fmt: skip
    springs.add_argument("--elastic-joints", metavar="YAML", type=Path,
                         help="data of the motors, for the torques at the motors")  # fmt: skip
    springs.add_argument(
        "--torque",
        choices=("sensor", "links", "motors"),
        default="",
        help="what gives the joint torque: %(choices)s (the sensor if recorded, else the links)",
    )
    springs.add_argument("--topic", metavar="NAME", action="append", default=[],
                         help="joint states of the links (the one called joint_states); may be"
                         " repeated")  # fmt: skip
    springs.add_argument("--motor-topic", metavar="NAME", default="",
                         help="joint states of the motors (the one called"
                         " motor_states)")  # fmt: skip
    springs.add_argument("--prefix", metavar="TEXT", default="",
                         help="what recorded joint names have before those of the"
                         " URDF")  # fmt: skip
    _state_options(springs)
    springs.add_argument("--law", choices=("auto", "linear", "cubic", "polynomial", "table"),
                         default="auto",
                         help="law of the springs: %(choices)s; auto chooses by BIC")  # fmt: skip
    springs.add_argument("--window", metavar="S", type=_positive, default=0.03,
                         help="span over which motion is smoothed and differentiated, s"
                         " (%(default)s)")  # fmt: skip
    springs.add_argument("--rate", metavar="HZ", type=_positive,
                         help="fitted samples per second (all that were recorded)")  # fmt: skip
    springs.add_argument("--robust", action="store_true", help="leave outliers out")
    springs.add_argument("--no-bias", dest="bias", action="store_false",
                         help="the torque has no constant error")  # fmt: skip
    springs.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("springs"),
                         help="folder for springs.yaml and springs.png (%(default)s)")  # fmt: skip

    scaling = command(
        "scale-time",
        _scale_time,
        "Make a trajectory slower until torques, torque rates, speeds and deflections keep limits",
        "A trajectory is a table with a header: t and for every joint 'q JOINT' and, if known,"
        " 'qd JOINT' and 'qdd JOINT' (.csv); joint_names, times, positions and, if known,"
        " velocities and accelerations, or joint_names and points as in a message (.yaml); or a bag"
        " with a JointTrajectory. All in s and rad (m). Writes it in the same form, made slower,"
        " with a picture and all limits, before and after, as JSON.",
    )
    scaling.add_argument("trajectory", metavar="TRAJECTORY", type=Path,
                         help=".csv or .yaml file, rosbag2 folder, .mcap or .db3 file")  # fmt: skip
    scaling.add_argument("--urdf", metavar="ROBOT", type=Path, required=True,
                         help="URDF file; its effort and velocity are limits")  # fmt: skip
    scaling.add_argument("--elastic-joints", "--springs", metavar="YAML", type=Path, required=True,
                         help="springs and motors; torque and speed of the motors and travel of"
                         " the springs are limits")  # fmt: skip
    scaling.add_argument("--limit", metavar="QUANTITY[.JOINT]=VALUE", type=_assignment,
                         action="append", default=[],
                         help="limit of joint_torque, torque_rate, joint_speed, motor_torque,"
                         " motor_speed or deflection, on the link side, in N m, N m/s, rad/s, rad"
                         " (N, m); inf: none; may be repeated")  # fmt: skip
    scaling.add_argument("--stiffness", metavar="K1,K2,...", type=_numbers,
                         help="stiffness of the joints where it can be set, N m/rad")  # fmt: skip
    _state_options(scaling)
    scaling.add_argument("--topic", metavar="NAME", default="",
                         help="topic of the bag with the trajectory (the only one)")  # fmt: skip
    scaling.add_argument("--message", metavar="N", type=int,
                         help="which message of that topic, from 1 on (the only one)")  # fmt: skip
    scaling.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("scaled"),
                         help="folder for trajectory, scaled.json and scaled.png"
                         " (%(default)s)")  # fmt: skip

    integrate = command(
        "integrate",
        _integrate,
        "Integrate rigid bodies in absolute coordinates on SE(3) and on SO(3) x R^3",
        "SYSTEM is a YAML file, see docs/lie_group_integration.md, or one of the examples"
        " heavy_top, spherical_double_pendulum, floating_bodies, three_bar_linkage. Writes"
        " the violation of the constraints and the drift of the energy as pictures, with both"
        " groups on one plot, and the states of each group.",
    )
    integrate.add_argument("system", metavar="SYSTEM")
    integrate.add_argument("-o", "--output", metavar="FOLDER", type=Path,
                           default=Path("integration"),
                           help="folder for all of this (%(default)s)")  # fmt: skip
    integrate.add_argument("--group", choices=("SE3", "SO3xR3", "both"), default="both",
                           help="where all bodies move: %(choices)s (%(default)s)")  # fmt: skip
    integrate.add_argument("--duration", metavar="S", type=_positive, default=1.0,
                           help="length of the motion, s (%(default)s)")  # fmt: skip
    integrate.add_argument("--step", metavar="S", type=_positive, default=1e-3,
                           help="length of a step, s (%(default)s)")  # fmt: skip
    integrate.add_argument("--method", choices=INTEGRATORS, default="rk4",
                           help="method of integration: %(choices)s (%(default)s)")  # fmt: skip
    integrate.add_argument("--tolerance", metavar="E", type=_positive,
                           help="relative error; the step follows from it (dormand_prince), and"
                           " --step is that of the output")  # fmt: skip
    integrate.add_argument("--every", metavar="N", type=int, default=1,
                           help="keep one step in N (%(default)s)")  # fmt: skip
    integrate.add_argument("--baumgarte", metavar="RATE", type=_positive,
                           help="stabilise the constraints at this rate, 1/s (none)")  # fmt: skip
    integrate.add_argument("--project", action="store_true",
                           help="close the constraints after every step")  # fmt: skip
    integrate.add_argument("--project-start", action="store_true",
                           help="take the nearest start that violates no constraint")  # fmt: skip
    integrate.add_argument("--format", choices=("npz", "csv"), default="npz",
                           help="format of the states: %(choices)s (%(default)s)")  # fmt: skip
    return parser


def _robot_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--urdf", metavar="ROBOT", default="", help="URDF file (the Panda)")
    parser.add_argument(
        "--elastic-joints",
        metavar="YAML",
        default="",
        help="springs and motors (of the Panda; for other robots generated by a stated rule)",
    )
    _motion_options(parser)
    parser.add_argument(
        "--rate", metavar="HZ", type=_positive, help="joint states per second (1000)"
    )


def _state_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hold",
        metavar="JOINT=VALUE",
        type=_assignment,
        action="append",
        default=[],
        help="where a joint stands of which the file says nothing; may be repeated",
    )
    parser.add_argument(
        "--gravity",
        metavar="G",
        type=float,
        default=9.81,
        help="gravity along -z of the base, m/s² (%(default)s)",
    )


def _motion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trajectory", choices=MOTIONS, default="", help=f"kind of motion ({MOTIONS[0]})"
    )
    parser.add_argument(
        "--duration", metavar="S", type=_positive, help="length of the motion, s (8)"
    )


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _assignment(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE") from None


def _domain(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 232):
        raise argparse.ArgumentTypeError(f"{text} is not a domain from 0 to 232")
    return int(text)


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not numbers with commas between") from None


# ROS, Numba and Matplotlib are imported by the commands that need them: --help is at once there.


def _demo(options: argparse.Namespace) -> int:
    from .demo import (
        CONTROL_FOLDER,
        FEEDFORWARDS,
        available_plants,
        controllers,
        prepare,
        run_demo,
    )

    wanted = {}
    if options.compare != "controllers":
        wanted[options.output] = FEEDFORWARDS
    if options.compare != "feedforwards":
        plants = options.plant or available_plants()
        wanted[options.output / CONTROL_FOLDER] = controllers([k for k in PLANTS if k in plants])
    demos = [
        prepare(
            folder,
            comparison,
            robot=options.urdf,
            elastic_joints=options.elastic_joints,
            motion=options.trajectory,
            duration=options.duration,
            rate=options.rate,
            real_time=options.real_time,
        )
        for folder, comparison in wanted.items()
    ]
    model = demos[0].model
    print(f"{model.name}, {model.n} joints; the first start of all compiles for a minute")
    if wanted and not options.plant and len(available_plants()) < len(PLANTS):
        print("mujoco is not installed (multibody_dynamics[mujoco]): one plant instead of two")
    return max(_told(run_demo(demo, domain_id=options.domain_id), demo.folder) for demo in demos)


def _record(options: argparse.Namespace) -> int:
    from .demo import record_launched

    return _told(
        record_launched(options.folder, options.variant, options.namespace), options.folder
    )


def _task_demo(options: argparse.Namespace) -> int:
    from .task_demo import run_task_demo

    print("panda, 7 joints; the first start of all compiles for a minute")
    for name, value in run_task_demo(options.output, domain_id=options.domain_id).items():
        print(f"{name:<42}{value:12.4f}")
    print(f"picture: {options.output / 'task_space.png'}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from .control_report import write_control_report
    from .demo import CONTROL_FOLDER
    from .recording import CONTROLLER, PARAMETERS, read_parameters
    from .report import write_report

    def status(folder: Path) -> int:
        file = folder / PARAMETERS
        is_of_laws = file.is_file() and CONTROLLER in read_parameters(file)
        return _told((write_control_report if is_of_laws else write_report)(folder), folder)

    folders = [options.folder / CONTROL_FOLDER]
    if (options.folder / PARAMETERS).is_file() or not folders[0].is_dir():
        folders.insert(0, options.folder)
    return max(status(folder) for folder in folders if folder.is_dir() or folder is folders[0])


def _told(report: dict[str, Any], folder: Path) -> int:
    """Say in a few lines what came out; the exit status."""
    from .pictures import error_unit

    unit = error_unit(report["joint types"])
    for variant, run in report["runs"].items():
        ratio = report["ratios of rms errors"].get(variant)
        print(
            f"{variant:<32}rms {1e3 * run['tracking error rms']:9.5f}"
            f"   peak {1e3 * run['tracking error peak']:9.5f} {unit}"
            + (f"   {ratio:8,.1f} times the rms of full" if ratio else "")
        )
    for problem in report["problems"]:
        print(f"multibody_dynamics: {problem}", file=sys.stderr)
    print(f"report: {folder / 'report.md'}")
    return 1 if report["problems"] else 0


def _inspect(options: argparse.Namespace) -> int:
    from ..dynamics import load_actuators
    from . import inspect_robot as look

    model, warned = look.load(options.robot)
    if options.tables:
        print(model.describe(), end="\n\n")
    print(*look.summary(model, warned), "", *look.tree(model), sep="\n")
    actuators = None
    if options.elastic_joints:
        actuators = load_actuators(options.elastic_joints, model.joint_names)
    found = look.check(model)
    print("\nChecks")
    for finding in found:
        print(f"{'WRONG' if finding.severe else 'look at'}: {finding.text}")
    if not found:
        print("masses, inertias and limits are plausible")
    if model.n:
        print("\nTorques: N m and N m/s, or N and N/s; a motion at up to half the speed limits")
        print(*look.torque_table(model, look.typical_torques(model)), sep="\n")
    fits = True
    if options.timing and model.n:
        lines, fits = look.timing_lines(look.measure(model, actuators), options.rate)
        print("\nTime of a control cycle on this computer", *lines, sep="\n")
    if options.picture:
        _draw(model, options.picture)
    return 0 if fits and not any(finding.severe for finding in found) else 1


def _compose(options: argparse.Namespace) -> int:
    from .compose import compose

    return compose(options.nodes, options.ros_arguments, options.executor)


def _monitor(options: argparse.Namespace) -> int:
    from ..dynamics import load_urdf
    from .monitor import Monitor, watch

    watch(
        Monitor(load_urdf(options.urdf) if options.urdf else None),
        options.torques,
        options.states,
        namespace=options.namespace,
        stale_after=options.stale_after,
        once=options.once,
        timeout=options.timeout,
    )
    return 0


def _gazebo(options: argparse.Namespace) -> int:
    from .gazebo import prepare

    files = prepare(
        options.output,
        robot=str(options.robot),
        elastic_joints=str(options.elastic_joints),
        initial=options.initial,
        namespace=options.namespace,
        prefix=options.prefix,
    )
    print("written:", files.plant, files.links, files.springs, files.controllers)
    return 0


def _plot(options: argparse.Namespace) -> int:
    from ..dynamics import load_urdf

    _draw(load_urdf(options.robot), options.output, options.configuration)
    return 0


def _draw(model: Any, file: Path, configuration: Sequence[float] | None = None) -> None:
    import matplotlib

    from ..dynamics import InputError
    from .plot_model import plot_model

    matplotlib.use("Agg")
    figure = plot_model(model, configuration)
    kinds = figure.canvas.get_supported_filetypes()
    if file.suffix[1:].lower() not in kinds:
        raise InputError(f"{file}: the name must end in one of {', '.join(sorted(kinds))}")
    figure.savefig(file, dpi=110)
    print(f"picture: {file}")


def _trajectory(options: argparse.Namespace) -> int:
    import numpy as np

    from ..dynamics import load_urdf
    from ..dynamics.motion import (
        DERIVATIVES,
        exciting_motion,
        reproduction_error,
        rest_to_rest_motion,
        sampled,
    )

    model = load_urdf(options.robot)
    duration = options.duration or 8.0
    if options.trajectory == "rest_to_rest":
        motion = rest_to_rest_motion(model, duration=duration)
    else:
        motion = exciting_motion(model, duration=duration, ramp=1.0, frequency=0.15 * np.pi)
    low, high = motion.extremes()
    peak = motion.peak_values()
    print(f"{model.name}: {motion.duration:.2f} s; peak values in rad (m), s, and shares of limits")
    head = ("joint", "q min", "q max", "|q'|", "|q''|", "|q'''|", "|q''''|", "of speed limit")
    print(f"{head[0]:<20}" + "".join(f"{text:>15}" for text in head[1:]))
    for j, joint in enumerate(model.joint_names):
        numbers = (low[0, j], high[0, j], *peak[1:, j])
        share = peak[1, j] / model.limits.velocity[j]
        print(f"{joint:<20}" + "".join(f"{x:15.4g}" for x in numbers) + f"{share:15.0%}")
    error = reproduction_error(motion, sampled(motion, 0.02))
    print(
        "sent every 20 ms with velocities and accelerations, then interpolated, it differs by "
        + ", ".join(f"{x:.1e} in {q}" for x, q in zip(error, DERIVATIVES, strict=True))
    )
    if options.csv:
        times = np.arange(0.0, motion.duration, 0.01)
        states = motion.sample(motion.start_time + times).reshape(len(times), -1)
        names = [f"{q} {joint}" for q in DERIVATIVES for joint in model.joint_names]
        table = np.column_stack([times, states])
        np.savetxt(options.csv, table, "%.12g", ",", header=",".join(["t", *names]), comments="")
    return 0


def _identify_springs(options: argparse.Namespace) -> int:
    from ..dynamics import InputError, load_actuators, load_urdf
    from ..dynamics.core.quantities import read_yaml
    from .identify_springs import draw_springs, identify, to_yaml
    from .spring_recordings import read_motion
    from .validate import ProgressBar

    model = None
    if options.urdf:
        model = load_urdf(options.urdf, (0.0, 0.0, -options.gravity))
    elif options.hold:
        raise InputError("--hold: says where a joint of the robot stood, so it needs --urdf")
    if options.elastic_joints:
        read_yaml(options.elastic_joints)  # before the recording, whose joints it must have
    motion = read_motion(
        options.recording,
        model,
        topics=options.topic,
        motor_topic=options.motor_topic,
        prefix=options.prefix,
        held=dict(options.hold),
        progress=ProgressBar("messages"),
    )
    print(f"{options.recording}:", *motion.used, sep="\n  ")
    actuators = None
    if options.elastic_joints:
        actuators = load_actuators(options.elastic_joints, motion.joint_names)
    fits, reasons, samples = identify(
        motion,
        torque=options.torque,
        model=model,
        actuators=actuators,
        window=options.window,
        rate=options.rate,
        law=options.law,
        robust=options.robust,
        bias=options.bias,
    )
    for motor in samples:
        print(fits[motor].describe() if motor in fits else reasons[motor])
    options.output.mkdir(parents=True, exist_ok=True)
    text = to_yaml(motion, fits, reasons)
    (options.output / "springs.yaml").write_text(text, encoding="utf-8")
    draw_springs(fits, samples, options.output / "springs.png")
    print(f"springs: {options.output / 'springs.yaml'}, {options.output / 'springs.png'}")
    if motion.problem:
        print(f"multibody_dynamics: {motion.problem}", file=sys.stderr)
    return 0 if fits and not motion.problem else 1


def _scale_time(options: argparse.Namespace) -> int:
    from ..dynamics import load_actuators, load_urdf
    from ..dynamics.control import scale_time
    from .scale_time import draw, limits_of, motion_through, write_json
    from .trajectory_files import read_points, write_points

    model = load_urdf(options.urdf, (0.0, 0.0, -options.gravity))
    actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    points = read_points(options.trajectory, topic=options.topic, message=options.message)
    motion = motion_through(points, model, dict(options.hold))
    limits = limits_of(model, actuators, options.limit)
    scaled = scale_time(motion, model, actuators, limits, stiffness=options.stiffness)
    print(scaled.describe())
    file = write_points(points.slower(scaled.factor), options.output)
    write_json(scaled, options.output / "scaled.json")
    draw(scaled, options.output / "scaled.png")
    print(f"written: {file}, {options.output / 'scaled.json'}, {options.output / 'scaled.png'}")
    return 0


def _integrate(options: argparse.Namespace) -> int:
    from .integrate import GROUPS, draw, find_system, run, write_states

    results = run(
        find_system(options.system),
        GROUPS if options.group == "both" else (options.group,),
        duration=options.duration,
        step=options.step,
        method=options.method,
        relative_tolerance=options.tolerance,
        every=options.every,
        baumgarte=options.baumgarte,
        project=options.project,
        project_start=options.project_start,
    )
    options.output.mkdir(parents=True, exist_ok=True)
    files = [options.output / f"states_{group}.{options.format}" for group in results]
    for file, result in zip(files, results.values(), strict=True):
        write_states(result, file)
    print("written:", *files, *draw(results, options.output))
    return 0


def _validate(options: argparse.Namespace) -> int:
    from .validate import run

    return run(options)


def _joined(arguments: Sequence[str]) -> list[str]:
    """`--configuration -1,2` as one word: argparse takes what begins with a minus for an option."""
    words = list(arguments)
    for option in (CONFIGURATION, INITIAL):
        if option in words[:-1]:
            k = words.index(option)
            words[k : k + 2] = ["=".join(words[k : k + 2])]
    return words


def _say(message: str) -> None:
    """One line; of a warning, without the place in the code that `warnings` would show."""
    print(f"multibody_dynamics: {message}", file=sys.stderr)


def _in_one_line(error: Exception) -> str:
    """What is wrong, the file first: YAML's own words take several lines."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
        if isinstance(error, FileExistsError):
            text += ", and is no folder"
    return " ".join(text.split())


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    words = _joined(sys.argv[1:] if arguments is None else arguments)
    ros = words.index(ROS_ARGUMENTS) if ROS_ARGUMENTS in words else len(words)
    options = make_parser().parse_args(words[:ros])
    options.ros_arguments = words[ros:]

    from ..dynamics.core import when_compiling

    try:
        with warnings.catch_warnings(), when_compiling(_say):
            warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
            status = int(options.run(options))
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # who reads, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except (DynamicsError, OSError) as error:
        _say(_in_one_line(error))
        return 2
    except DemoError as error:
        print(f"\nmultibody_dynamics: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name != "rclpy":
            raise
        print(
            "multibody_dynamics: this needs ROS 2, which is not there: source"
            " /opt/ros/DISTRO/setup.bash first, or run it in a checkout by scripts/environment.sh",
            file=sys.stderr,
        )
        return 2


if __name__ == "__main__":
    sys.exit(main())
