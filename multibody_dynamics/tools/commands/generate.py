# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `generate`."""

import argparse
from pathlib import Path
from typing import Any

from ..base.arguments import add_gravity, call, numbers
from ..robot.generated_laws import GENERATED_LAWS

HELP = "Write C99 source of the dynamics or of a controller of a robot, for use without Python"
DETAILS = (
    "Without --law, writes a library with inverse dynamics, their time derivatives and forward"
    " dynamics, with --elastic-joints also the feedforward of the motors; with --law and"
    " --elastic-joints, a controller for hard real time: recursions, springs and motors, filters,"
    " law, reference, limits, watchdogs and stop. Both take the loops in that file into account,"
    " and come with a self-test with recorded values, an example and CMakeLists.txt; the controller"
    " is also an ament_cmake package with a plugin for ros2_control. The code allocates nothing,"
    " has no global state and needs only math.h."
)
OF_DYNAMICS = {"order": 2, "precision": "double", "payload": "", "wrench": [],
               "gravity_input": False}  # fmt: skip
OF_CONTROLLER = ("bandwidth", "position", "disturbance_bandwidth", "base_frequency", "friction",
                 "period", "delay", "filter_bandwidth", "stop_acceleration",
                 "torque_rate")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    add("-o", "--output", metavar="DIR", type=Path, required=True,
        help="folder for the files, which replace older ones")
    add("--name", metavar="NAME", default="",
        help="prefix of all names in C (default: the name of the robot)")
    add_gravity(parser)
    add = parser.add_argument_group("dynamics").add_argument
    add("--order", type=int, choices=(0, 1, 2), default=OF_DYNAMICS["order"],
        help="highest time derivative of the torques (%(default)s)")
    add("--precision", choices=("double", "float"), default="double",
        help="type of all numbers (%(default)s)")
    add("--payload", metavar="LINK", default="",
        help="take a payload on this link as an input of every call")
    add("--wrench", metavar="LINK", action="append", default=[],
        help="take the external wrench on this link as an input of every call; may be"
        " repeated")
    add("--gravity-input", action="store_true",
        help="take the gravity vector as an input of every call")
    add = parser.add_argument_group("controller").add_argument
    add("--elastic-joints", metavar="YAML", type=Path,
        help="file of the springs and motors, couplings and loops; required with --law")
    add("--law", choices=GENERATED_LAWS, help="control law; hold only stops the arm and holds it")
    add("--bandwidth", metavar="W", type=float,
        help="bandwidth of the law in rad/s (default: that of the law)")
    add("--position", metavar="Q", type=numbers, nargs="+",
        help="position for which gains are designed, one number per joint, with commas or spaces"
        " between them (default: the middle of the joint limits; with loops, `assembled`)")
    add("--disturbance-bandwidth", metavar="W", type=float,
        help="bandwidth of the compensation of disturbances in rad/s; 0 for none (default: that of"
        " the law)")
    add("--base-frequency", metavar="F", type=float,
        help="natural frequency of the robot's base in Hz, which limits that bandwidth for the"
        " links; 0: rigid (default: that of the law)")
    add("--friction", metavar="SHARE", type=float,
        help="share of the motor friction that is compensated (default: all of it)")
    add("--period", metavar="T", type=float, help="duration of a cycle in s (0.001)")
    add("--delay", metavar="T", type=float,
        help="time from a sample to the effect of its torque in s (0)")
    add("--filter-bandwidth", metavar="F", type=float,
        help="bandwidth of the filters of the measured positions in Hz (default: that of"
        " flatness_controller_node)")
    add("--stop-acceleration", metavar="A", type=float,
        help="largest acceleration of the path to rest in rad/s^2 or m/s^2 (10)")
    add("--torque-rate", metavar="R", type=float, help="limit of the torque rates in N m/s (none)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics import InputError, load_actuators
    from ...dynamics.mechanisms import load_robot
    from ..robot.c_package import Options, c_package, write

    springs = options.elastic_joints
    model = load_robot(options.robot, springs, (0.0, 0.0, -options.gravity))
    given = [name for name in OF_CONTROLLER if getattr(options, name) is not None]
    if options.law:
        for name, default in OF_DYNAMICS.items():
            if getattr(options, name) != default:
                raise InputError(f"--{name.replace('_', '-')} does not apply to a controller")
        files = _controller(model, options, given)
    else:
        if given:
            raise InputError(f"--{given[0].replace('_', '-')} requires --law and --elastic-joints")
        inputs = {"wrenches": tuple(options.wrench), "gravity": options.gravity_input}
        files = c_package(
            model,
            call(Options, options, **inputs),
            springs and load_actuators(springs, model.joint_names, model.joint_types),
        )
    write(files, options.output)
    for name in files:
        print(options.output / name)
    return 0


def _controller(model: Any, options: argparse.Namespace, given: list[str]) -> dict[str, str]:
    from ...dynamics import InputError, load_actuators
    from ..base.provenance import digest_of
    from ..robot.controller_package import controller_package
    from ..robot.generated_design import ControllerOptions, design_controller

    if not options.elastic_joints:
        raise InputError("a controller requires both --law and --elastic-joints")
    actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    chosen = {name: getattr(options, name) for name in given}
    if "position" in chosen:
        chosen["position"] = [x for part in chosen["position"] for x in part]
    design = design_controller(model, actuators, ControllerOptions(law=options.law, **chosen))
    files = (options.robot, options.elastic_joints)
    sources = [f"{path.name}, SHA-256 {digest_of(path, 32)}" for path in files]
    return controller_package(design, options.name, sources)
