"""The command line: help everywhere, one line for what is wrong, and the right exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics import __version__
from multibody_dynamics.dynamics.elastic_joints import VARIANTS
from multibody_dynamics.nodes.demo_motions import MOTIONS
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli

PANDA = str(share_directory() / "config" / "robots" / "panda.urdf")
COMMANDS = ("demo", "report", "describe", "trajectory", "record")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command refuses."""
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("multibody_dynamics: ")
    return said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys, command):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert f"usage: multibody_dynamics {command}" in capsys.readouterr().out


def test_every_option_is_described():
    parser = cli.make_parser()
    commands = next(a for a in parser._actions if a.dest == "==SUPPRESS==" or a.choices).choices
    assert set(commands) == set(COMMANDS)
    for command in commands.values():
        for action in command._actions:
            if action.option_strings:
                assert action.help, action.option_strings


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.strip() == f"multibody_dynamics {__version__}"


def test_the_choices_are_those_of_the_nodes():
    assert cli.MOTIONS == MOTIONS
    assert set(cli.VARIANTS) == set(VARIANTS)


def test_as_a_command_without_arguments():
    run = subprocess.run(
        [sys.executable, "-m", "multibody_dynamics.tools.cli"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert run.returncode == 2
    assert "COMMAND" in run.stderr
    assert "Traceback" not in run.stderr


def test_describe(capsys, tmp_path):
    assert cli.main(["describe", PANDA, "--plot", str(tmp_path / "panda.png")]) == 0
    assert "panda_joint7" in capsys.readouterr().out
    assert (tmp_path / "panda.png").stat().st_size > 5000


def test_describe_refuses_what_is_no_robot(capsys, tmp_path):
    file = tmp_path / "bad.urdf"
    file.write_text("<robot name='x'>")
    assert "bad.urdf" in refused(capsys, "describe", str(file))
    assert "absent.urdf" in refused(capsys, "describe", str(tmp_path / "absent.urdf"))


def test_trajectory(capsys, tmp_path):
    file = tmp_path / "motion.csv"
    arguments = ["trajectory", PANDA, "--trajectory", "rest_to_rest", "--duration", "3"]
    assert cli.main([*arguments, "--csv", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "panda_joint7" in printed
    table = np.genfromtxt(file, delimiter=",", names=True, deletechars="")
    assert len(table) == 300
    assert len(table.dtype.names) == 1 + 5 * 7


def test_demo_refuses_files_before_it_starts_anything(capsys, tmp_path):
    output = ["--output", str(tmp_path / "out")]
    assert "absent.urdf" in refused(capsys, "demo", "--urdf", "absent.urdf", *output)
    assert "absent.yaml" in refused(capsys, "demo", "--elastic-joints", "absent.yaml", *output)
    springs = tmp_path / "springs.yaml"
    springs.write_text("joints: {elbow: {spring: rigid, motor: {}}}")
    said = refused(capsys, "demo", "--elastic-joints", str(springs), *output)
    assert "springs.yaml" in said
    assert "elbow" in said


@pytest.mark.parametrize("wrong", [["--duration", "0"], ["--rate", "x"], ["--domain-id", "300"]])
def test_numbers_out_of_range(capsys, wrong):
    with pytest.raises(SystemExit) as end:
        cli.main(["demo", *wrong])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {wrong[0]}: {wrong[1]} is not a" in said


def test_report_of_a_folder_that_has_none(capsys, tmp_path):
    assert "not the output of a demo" in refused(capsys, "report", str(tmp_path))
