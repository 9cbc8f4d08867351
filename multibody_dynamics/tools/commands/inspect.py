# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `inspect`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import positive

HELP = "Show how a URDF file is read, what looks wrong, and how fast the dynamics are computed"
DETAILS = (
    "Lists what was read, merged and ignored; checks masses, inertias and limits; shows the torques"
    " over the joint ranges and in a motion; with --elastic-joints, resonances, sag and the use of"
    " the motors; times a control cycle on this computer. Exit status 1 if a check fails."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    parser.add_argument("--elastic-joints", metavar="YAML", type=Path,
                        help="springs and motors: their resonances, their sag and how much of the"
                        " motors a motion uses; their feedforward is timed as well")  # fmt: skip
    parser.add_argument("--rate", metavar="HZ", type=positive, default=1000.0,
                        help="rate of the control cycle (%(default)s)")  # fmt: skip
    parser.add_argument("--picture", metavar="FILE", type=Path,
                        help="draw the robot and its kinematic tree, as `plot` does")  # fmt: skip
    parser.add_argument("--tables", action="store_true",
                        help="print every number of the model, for comparison with a data"
                        " sheet")  # fmt: skip
    parser.add_argument("--no-timing", dest="timing", action="store_false",
                        help="skip the timing and thus the compilation")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_actuators
    from ...dynamics.rigid import check_model
    from ..robot import inspection
    from ..robot.plot_model import save_picture
    from ..robot.spring_figures import POSTURES
    from ..robot.spring_figures import lines as spring_lines

    model, warned = inspection.load(options.robot, options.elastic_joints)
    if options.tables:
        print(model.describe(), end="\n\n")
    print(*inspection.summary(model, warned), "", *inspection.tree(model), sep="\n")
    actuators = None
    if options.elastic_joints:
        actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    found = check_model(model)
    print("\nChecks")
    for finding in found:
        print(f"{'WRONG' if finding.severe else 'suspicious'}: {finding.text}")
    if not found:
        print("masses, inertias and limits are plausible")
    if model.n:
        print(
            "\nTorques in N m, rates in N m/s (or N, N/s); moving: at up to half the speed limits"
        )
        torques = inspection.typical_torques(model)
        print(*inspection.torque_table(model, torques), sep="\n")
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
