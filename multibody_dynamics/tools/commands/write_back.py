# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `write-back`."""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

HELP = "Write identified parameters into a copy of the URDF and of the springs file"
DETAILS = (
    "RESULTS is a folder with identified.json of `identify` or `validate --identify`, or"
    " springs.yaml of `identify-springs`, or one of these files. The text of the files is kept"
    " except for the numbers that change. changes.md in the new folder compares every number with"
    " the previous one. Exit status 1 if `inspect` finds the new robot implausible."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", metavar="RESULTS", type=Path, help="folder or file to read")
    # fmt: off
    add("--urdf", metavar="ROBOT", type=Path, required=True,
        help="URDF file of the robot that was identified")
    add("--elastic-joints", metavar="YAML", type=Path, help="its springs and motors")
    add("-o", "--output", metavar="FOLDER", type=Path, required=True,
        help="new folder for the files")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics import InputError, load_actuators
    from ...dynamics.rigid import inspect_model
    from ..robot import inspection
    from ..robot.identified_results import read_results
    from ..robot.write_back import write_back

    if options.output.exists() and any(options.output.iterdir()):
        raise InputError(f"{options.output} is not empty: choose a new folder")
    found = write_back(read_results(options.results), options.urdf, options.elastic_joints)
    table = found.table()
    files = found.files | {"changes.md": f"{table}\n".encode()}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".write-back-", dir=options.output.parent) as folder:
        new = Path(folder)
        for name, content in files.items():
            (new / name).write_bytes(content)
        # Load the files before they reach the output folder: only loadable files may end up there.
        springs = new / options.elastic_joints.name if options.elastic_joints else None
        model, _ = inspection.load(new / options.urdf.name, springs)
        if springs:
            load_actuators(springs, model.joint_names, model.joint_types)
        options.output.mkdir(exist_ok=True)
        for name in files:
            (new / name).replace(options.output / name)
    print(table, *found.notes, sep="\n")
    problems = inspect_model(model)
    for finding in problems:
        print(f"{'WRONG' if finding.severe else 'suspicious'}: {finding.text}")
    print(f"{options.output}: {', '.join(files)}")
    return 1 if any(finding.severe for finding in problems) else 0
