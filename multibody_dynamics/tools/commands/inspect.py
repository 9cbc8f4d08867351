# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `inspect`."""

import argparse
from pathlib import Path

from ..base.arguments import positive

HELP = "Show how a URDF file is read, what looks wrong, and how fast the dynamics are computed"
DETAILS = (
    "Says what kind of robot it is, and what was read, merged and ignored; checks masses, inertias"
    " and limits; shows the torques over the joint ranges and in a motion; with --elastic-joints,"
    " resonances, sag and the use of the motors; times a control cycle on this computer. Exit"
    " status 1 if a check fails."
)

MOST_DRIVES = 8  # lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    # fmt: off
    add("--elastic-joints", metavar="YAML", type=Path,
        help="springs and motors: their resonances, their sag and how much of the motors a motion"
        " uses; their feedforward is timed as well")
    add("--rate", metavar="HZ", type=positive, default=1000.0,
        help="rate of the control cycle (%(default)s)")
    add("--picture", metavar="FILE", type=Path,
        help="draw the robot and its kinematic tree, as `plot` does")
    add("--full", "--tables", action="store_true",
        help="print every number of the model, for comparison with a data sheet, and"
        " every note")
    add("--springs", metavar="YAML", type=Path,
        help="write what the URDF declares of springs, gears and motors to a new file for"
        " --elastic-joints, to be completed")
    add("--no-timing", dest="timing", action="store_false",
        help="skip the timing and thus the compilation")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics import InputError, load_actuators
    from ...dynamics.rigid import inspect_model
    from ..robot import inspection
    from ..robot.declared_drives import declared_drives, drive_lines, springs_file
    from ..robot.plot_model import save_picture
    from ..robot.spring_figures import POSTURES
    from ..robot.spring_figures import lines as spring_lines

    if options.springs and options.springs.exists():
        raise InputError(
            f"{options.springs}: --springs writes a new file, and this one exists; to inspect the"
            " robot with it, use --elastic-joints"
        )
    model, warned = inspection.load(options.robot, options.elastic_joints)
    full = {"is_full": options.full}
    if options.full:
        print(model.describe(), end="\n\n")
    print(*inspection.summary(model, warned, **full), sep="\n")
    actuators = None
    if options.elastic_joints:
        actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    torques, why = inspection.typical_torques(model)
    unit = "rad or m; N m or N, rates per s; moving: at up to half the speed limits"
    print(f"\nJoints ({unit})", *inspection.joint_table(model, torques, **full), sep="\n")
    found = inspect_model(model)
    lines = [*filter(None, [why]), *inspection.finding_lines(found, **full)]
    print("\nChecks", *inspection.wrapped(lines), sep="\n")
    if drives := declared_drives(options.robot, model):
        lines = drive_lines(drives)
        if not options.full and len(lines) > MOST_DRIVES:
            lines = [*lines[: MOST_DRIVES - 1], f"... and {len(lines) - MOST_DRIVES + 1} more"]
        hint = "; --springs YAML writes them to a file"
        print(
            f"\nSprings and motors that the file declares{hint}",
            *inspection.wrapped(lines),
            sep="\n",
        )
    if options.springs:
        options.springs.write_text(springs_file(options.robot, model), encoding="utf-8")
        print(f"springs and motors, to be completed: {options.springs}")
    fits = True
    if actuators is not None:
        rows = spring_lines(model, actuators)
        fits = not rows[0].startswith("WRONG")
        print(f"\nSprings and motors over {POSTURES} postures; used: in the motion above")
        print(*rows, sep="\n")
    if options.timing and model.n:
        timings = inspection.measure(model, actuators)
        lines, is_fast = inspection.timing_lines(timings, options.rate)
        fits &= is_fast
        print("\nTime of a control cycle on this computer", *lines, sep="\n")
    if options.picture:
        save_picture(model, options.picture)
    return 0 if fits and not any(finding.severe for finding in found) else 1
