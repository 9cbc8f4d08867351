# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command line: complete help, one-line errors, and correct exit statuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from matplotlib.image import imread

from multibody_dynamics import __version__
from multibody_dynamics.dynamics import load_actuators
from multibody_dynamics.dynamics.elastic.actuator_cycle import VARIANTS
from multibody_dynamics.dynamics.motion.demo_motions import MOTIONS
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli, commands
from multibody_dynamics.tools.base import arguments
from multibody_dynamics.tools.commands import record_demo

PANDA = str(share_directory() / "config" / "robots" / "panda.urdf")
COMMANDS = (
    "demo", "task-demo", "report", "inspect", "torque-report", "plot", "view",
    "generate", "trajectory",
    "record", "record-demo", "identify", "identify-springs", "write-back", "scale-time",
    "gazebo", "monitor", "compose", "validate", "collision-thresholds", "study",
    "excite", "prove", "loop", "send-pose", "stream",
)  # fmt: skip


def rejected(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command's error message."""
    assert cli.main(arguments) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert printed.startswith("multibody_dynamics: ")
    return printed


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert f"usage: multibody_dynamics {command}" in capsys.readouterr().out


def test_every_argument_is_described():
    parser = cli.make_parser()
    choices = next(a for a in parser._actions if a.dest == "==SUPPRESS==" or a.choices).choices
    assert set(choices) == set(COMMANDS)
    for command in choices.values():
        for action in command._actions:
            assert action.help, action.dest


def test_every_command_is_one_file_in_the_table():
    files = {file.stem for file in Path(commands.__file__).parent.glob("*.py")} - {"__init__"}
    assert sorted(commands.COMMANDS) == sorted(files)
    assert [name.replace("_", "-") for name in commands.COMMANDS] == list(
        next(a for a in cli.make_parser()._actions if a.dest == "==SUPPRESS==" or a.choices).choices
    )


def test_help_imports_nothing_slow():
    code = "import sys; from multibody_dynamics.tools import cli; cli.make_parser()"
    program = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    loaded = subprocess.check_output(program, text=True, cwd=Path(__file__).parents[2]).split()
    assert not {"numpy", "numba", "scipy", "matplotlib", "rclpy", "rosbags", "yaml"} & set(loaded)


def test_negative_numbers_are_no_options(capsys):
    words = "send-pose -.1 -1e-3 -2 --frame tip --rpy -0.1 -1e-3 0"
    options = cli.make_parser().parse_args(words.split())
    assert (options.x, options.y, options.z) == (-0.1, -1e-3, -2.0)
    assert options.rpy == [-0.1, -1e-3, 0.0]
    assert "-1.urdf: cannot be read" in rejected(capsys, "inspect", "--no-timing", "--", "-1.urdf")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("loop --duration 4", "unknown option --duration\n"),
        ("inspect a.urdf --no-timin=3", "argument --no-timing: ignored explicit argument '3'"),
        ("validate bag --urfd a.urdf", "unknown option --urfd; is it --urdf?\n"),
    ],
)
def test_an_unknown_option_is_named_and_not_its_value(capsys, words, says):
    with pytest.raises(SystemExit):
        cli.main(words.split())
    assert says in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.strip() == f"multibody_dynamics {__version__}"


def test_the_choices_are_those_of_the_nodes():
    assert arguments.MOTIONS == MOTIONS
    assert set(record_demo.VARIANTS) == set(VARIANTS)


def test_without_arguments_it_shows_the_usage():
    run = subprocess.run(
        [sys.executable, "-m", "multibody_dynamics"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 2
    assert "COMMAND" in run.stderr
    assert "Traceback" not in run.stderr


def test_inspect(capsys):
    assert cli.main(["inspect", PANDA, "--no-timing"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("panda: arm with 7 joints\n7 joints (7 revolute), 7 moving bodies")
    assert "merged: panda_link8" in printed


def test_inspect_shows_every_number_with_tables(capsys):
    assert cli.main(["inspect", PANDA, "--no-timing", "--tables"]) == 0
    assert "Inertia about the COM" in capsys.readouterr().out


@pytest.mark.filterwarnings("always")
def test_warnings_are_printed_in_one_line(capsys, tmp_path):
    file = tmp_path / "damped.urdf"
    text = Path(PANDA).read_text()
    file.write_text(text.replace("</joint>", '<dynamics damping="1"/></joint>', 1))
    assert cli.main(["plot", str(file), "-o", str(tmp_path / "damped.png")]) == 0
    printed = capsys.readouterr().err
    assert printed.startswith(f"multibody_dynamics: warning: {file}: ignored")
    assert printed.count("\n") == 1
    assert cli.main(["inspect", str(file), "--no-timing"]) == 0
    assert "friction and damping (<dynamics>) in joint 'panda_joint1'" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error():
    command = (
        f"{sys.executable} -m multibody_dynamics.tools.cli inspect --no-timing {PANDA} | head -n 1"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=root)
    assert run.stdout.startswith("panda: arm with 7 joints")
    said = [line for line in run.stderr.splitlines() if "compiling the dynamics" not in line]
    assert not said


def test_plot(capsys, tmp_path):
    file = tmp_path / "panda.png"
    assert cli.main(["plot", PANDA, "-o", str(file), "--configuration", "-1,0,0.5,-1,0,1,0"]) == 0
    assert capsys.readouterr().out == f"picture: {file}\n"
    pixels = imread(file)[..., :3]
    assert 0.01 < (pixels.min(axis=-1) < 0.9).mean() < 0.5


def test_generate(capsys, tmp_path):
    folder = tmp_path / "new" / "c"
    assert (
        cli.main(["generate", PANDA, "-o", str(folder), "--order", "0", "--gravity", "1.62"]) == 0
    )
    names = ["panda_dynamics.h", "panda_dynamics.c", "self_test.c", "example.c", "CMakeLists.txt"]
    assert capsys.readouterr().out.splitlines() == [str(folder / name) for name in names]
    assert "Gravity: (0, 0, -1.62) m/s^2." in (folder / "panda_dynamics.h").read_text()
    printed = rejected(capsys, "generate", PANDA, "-o", str(folder), "--payload", "hand")
    assert "hand" in printed


def test_generate_a_robot_with_loops_and_springs(capsys, tmp_path):
    files = share_directory() / "config" / "mechanisms"
    robot = ["generate", str(files / "five_bar.urdf"), "-o", str(tmp_path / "code")]
    springs = ["--elastic-joints", str(files / "five_bar.yaml")]
    assert cli.main([*robot, *springs, "--name", "arm"]) == 0
    written = [str(file) for file in (tmp_path / "code").iterdir()]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(written)
    assert "Loops: 'tip'." in (tmp_path / "code" / "arm_dynamics.h").read_text()
    assert "arm_motor_feedforward(" in (tmp_path / "code" / "arm_actuators.h").read_text()


def test_generate_a_controller(capsys, tmp_path):
    springs = str(share_directory() / "config" / "elastic_joints" / "panda.yaml")
    folder = str(tmp_path / "code")
    robot = ["generate", PANDA, "-o", folder]
    both = [*robot, "--elastic-joints", springs, "--law", "state_feedback"]
    position = "0,-0.5,0,-2,0,1.6,0.5"
    assert cli.main([*both, "--position", position, "--name", "arm", "--delay", "0.001"]) == 0
    printed = capsys.readouterr().out
    written = {str(file) for file in (tmp_path / "code").rglob("*") if file.is_file()}
    assert set(printed.splitlines()) == written
    text = (tmp_path / "code" / "arm_settings.c").read_text()
    assert "from panda.urdf, SHA-256" in text
    assert "from panda.yaml, SHA-256" in text
    assert ".lead = 0.0015," in text
    for other in (position.split(","), [position.replace(",", " ")]):
        assert cli.main([*both, "--position", *other, "--name", "arm", "--delay", "0.001"]) == 0
        assert (tmp_path / "code" / "arm_settings.c").read_text() == text
    capsys.readouterr()
    assert "requires both --law" in rejected(capsys, *robot, "--law", "motor_pd")
    assert "--bandwidth requires --law" in rejected(capsys, *robot, "--bandwidth", "30")
    assert "--order does not apply" in rejected(capsys, *both, "--order", "1")
    assert "position" in rejected(capsys, *both, "--position", "0,1")


def test_plot_rejects_invalid_arguments(capsys, tmp_path):
    file = str(tmp_path / "panda.png")
    printed = rejected(capsys, "plot", PANDA, "-o", file, "--configuration", "1,2")
    assert "expected 7 numbers (panda_joint1, " in printed
    printed = rejected(capsys, "plot", PANDA, "-o", file, "--configuration", "-1,0,nan,0,0,0,0")
    assert "panda_joint3" in printed
    assert "panda.docx: the name must end in one of" in rejected(
        capsys, "plot", PANDA, "-o", str(tmp_path / "panda.docx")
    )
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit) as end:
        cli.main(["plot", PANDA, "--configuration", "1,two"])
    assert end.value.code == 2
    assert "1,two is not a list of numbers" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "plot"])
def test_invalid_robots_are_rejected(capsys, tmp_path, command):
    file = tmp_path / "bad.urdf"
    file.write_text("<robot name='x'>")
    assert "bad.urdf" in rejected(capsys, command, str(file))
    assert "absent.urdf" in rejected(capsys, command, str(tmp_path / "absent.urdf"))


def test_demo_rejects_files_before_it_starts_nodes(capsys, tmp_path):
    output = ["--output", str(tmp_path / "out")]
    assert "absent.urdf" in rejected(capsys, "demo", "--urdf", "absent.urdf", *output)
    assert "absent.yaml" in rejected(capsys, "demo", "--elastic-joints", "absent.yaml", *output)
    springs = tmp_path / "springs.yaml"
    springs.write_text("joints: {elbow: {spring: rigid, motor: {}}}")
    printed = rejected(capsys, "demo", "--elastic-joints", str(springs), *output)
    assert "springs.yaml" in printed
    assert "elbow" in printed


@pytest.mark.parametrize("command", ["inspect", "torque-report", "study", "identify-springs"])
def test_units_of_springs_must_match_the_type_of_the_joint(capsys, tmp_path, command):
    """The springs of sliding joints do not fit revolute ones."""
    springs = tmp_path / "springs.yaml"
    spring = "{law: linear, stiffness: {value: 500.0, unit: N/m, side: link}}"
    motor = "{gear_ratio: 1.0, inertia: {value: 1.0, unit: kg, side: link}}"
    entry = f"{{motion: prismatic, spring: {spring}, motor: {motor}}}"
    springs.write_text(f"joints: {{shoulder: {entry}, elbow: {entry}}}")
    assert load_actuators(springs, ["shoulder", "elbow"]).n == 2
    urdf = str(Path(PANDA).with_name("planar_two_link.urdf"))
    recording = tmp_path / "motion.csv"
    heads = "t,q shoulder,q elbow,theta shoulder,theta elbow,Q shoulder,Q elbow\n"
    recording.write_text(heads + "".join(f"{0.01 * k},0,0,0,0,0,0\n" for k in range(100)))
    elastic = ["--elastic-joints", str(springs)]
    words = {
        "inspect": [urdf, *elastic],
        "torque-report": [urdf, *elastic],
        "study": ["--urdf", urdf, *elastic, "-o", str(tmp_path / "study")],
        "identify-springs": [str(recording), "--urdf", urdf, *elastic],
    }[command]
    assert cli.main([command, *words]) == 2
    assert "joint 'shoulder'" in (printed := capsys.readouterr().err)
    assert "prismatic" in printed


def test_a_command_that_needs_ros_reports_that_it_is_missing():
    code = "import sys; sys.modules['rclpy'] = None; from multibody_dynamics.tools import cli"
    command = [sys.executable, "-c", f"{code}; sys.exit(cli.main(['monitor']))"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith(
        "multibody_dynamics: this command requires ROS 2, but rclpy was not found"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["demo", "--duration", "0"],
        ["demo", "--rate", "x"],
        ["demo", "--domain-id", "300"],
        ["excite", PANDA, "-o", "plan", "--bits", "2000"],
        ["excite", PANDA, "-o", "plan", "--starts", "0"],
        ["excite", PANDA, "-o", "plan", "--clearance", "nan"],
        ["study", "--draws", "0"],
        ["validate", "bag", "--urdf", PANDA, "--cutoff", "-1"],
        ["validate", "bag", "--urdf", PANDA, "--processes", "0"],
    ],
)
def test_numbers_out_of_range(capsys, words):
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    assert end.value.code == 2
    assert f"argument {words[-2]}: {words[-1]} is not a" in capsys.readouterr().err


BAD_YAML = "joints: [\n  a: {\n"


@pytest.mark.parametrize(
    "words",
    [
        ["gazebo", PANDA, "--elastic-joints", "bad.yaml"],
        ["inspect", PANDA, "--no-timing", "--elastic-joints", "bad.yaml"],
        ["scale-time", "motion.csv", "--urdf", PANDA, "--elastic-joints", "bad.yaml"],
        ["identify-springs", "absent.csv", "--elastic-joints", "bad.yaml"],
        ["validate", "absent.csv", "--urdf", PANDA, "--data", "bad.yaml"],
    ],
)
def test_invalid_yaml_is_reported_in_one_line(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(BAD_YAML)
    assert "bad.yaml: " in rejected(capsys, *words)


def test_gazebo_rejects_an_empty_name(capsys, tmp_path):
    springs = str(share_directory() / "config" / "elastic_joints" / "panda.yaml")
    output = tmp_path / "out"
    rejected(capsys, "gazebo", "", "--elastic-joints", springs, "-o", str(output))
    assert not output.exists()


def test_unusable_folders_are_reported(capsys, tmp_path):
    assert "has no parameters.yaml" in rejected(capsys, "record-demo", str(tmp_path / "absent"))
    file = tmp_path / "file"
    file.write_text("")
    printed = rejected(capsys, "demo", "--output", str(file))
    assert printed == f"multibody_dynamics: {file}: File exists, but is not a folder\n"


def test_study_of_ones_own_robot_and_its_report_written_again(tmp_path, capsys):
    config = Path(PANDA).parents[1]
    words = ["study", "--quick", "--urdf", str(config / "robots" / "planar_two_link.urdf")]
    words += ["--elastic-joints", str(config / "elastic_joints" / "planar_two_link.yaml")]
    words += ["--laws", "linearization", "--conditions", "exact", "--workers", "1"]
    assert cli.main([*words, "-o", str(tmp_path / "first")]) == 0
    printed = capsys.readouterr().out
    assert "planar_two_link: rms error in mrad" in printed
    assert "feedback linearisation" in printed
    found = tmp_path / "first"
    assert {file.name for file in found.iterdir()} == {"report.html", "study.json", "study.csv"}
    again = ["study", "--results", str(found / "study.json"), "-o", str(tmp_path / "second")]
    assert cli.main([*again, "--view"]) == 0
    page = tmp_path / "second" / "planar_two_link.html"
    report, motion = capsys.readouterr().out.split("motion: ")
    assert motion == f"{page}\n"
    assert page.stat().st_size > 500_000
    assert report.replace("second", "first") == printed
    for name in ("study.json", "study.csv"):
        assert (tmp_path / "second" / name).read_text() == (found / name).read_text()


def test_a_study_ends_within_a_second_after_ctrl_c_and_keeps_what_was_done(tmp_path, capsys):
    config = Path(PANDA).parents[1]
    words = ["study", "--urdf", str(config / "robots" / "planar_two_link.urdf"),
             "--elastic-joints", str(config / "elastic_joints" / "planar_two_link.yaml"),
             "--laws", "pd-full", "--conditions", "error", "--stiffness", "1",
             "--draws", "1000", "--workers", "2", "-o", str(tmp_path / "first")]  # fmt: skip
    study = subprocess.Popen(
        [sys.executable, "-m", "multibody_dynamics", *words],
        stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    for _ in range(2):  # at the beginning, and when some have been made
        assert any(line.startswith("runs: ") for line in iter(study.stderr.readline, ""))
    begin = time.monotonic()
    study.send_signal(signal.SIGINT)
    printed = study.communicate()[1]
    share = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # 1 on an idle computer
    assert time.monotonic() - begin < 1.0 * share
    assert study.returncode == 130
    assert "Traceback" not in printed
    file = tmp_path / "first" / "study.json"
    assert re.search(rf"stopped; \d+ of 6000 runs are in {file}", printed)
    assert 0 < len(json.loads(file.read_text())["runs"]) < 6000
    assert cli.main(["study", "--results", str(file), "-o", str(tmp_path / "second")]) == 0
    assert "planar_two_link: rms error in mrad" in capsys.readouterr().out


def test_excite_writes_what_trajectory_node_sends(tmp_path, capsys):
    config = Path(PANDA).parents[1]
    robot = str(config / "robots" / "planar_two_link.urdf")
    words = ["excite", robot, "--starts", "1", "--iterations", "6", "--processes", "1"]
    words += ["--acceleration", "8", "--period", "4", "--harmonics", "2", "--repetitions", "1"]
    assert cli.main([*words, "-o", str(tmp_path / "plan")]) == 0
    printed = capsys.readouterr().out
    for text in ("run fourier: 6.0 s", "shoulder.viscous", "Without effect on the torques"):
        assert text in printed
    files = {file.name for file in (tmp_path / "plan").iterdir()}
    assert files == {
        *("fourier.csv", "fourier.yaml", "friction.csv", "friction.yaml"),
        *("summary.json", "excitation.png"),
    }


def test_excite_names_the_option_that_does_not_fit(tmp_path, capsys):
    words = ["excite", PANDA, "-o", str(tmp_path / "plan")]
    assert "--runs hop: expected some of fourier" in rejected(capsys, *words, "--runs", "hop")
    twice = rejected(capsys, *words, "--runs", "friction,friction")
    assert "--runs friction,friction: duplicate run 'friction'" in twice
    assert "--box: expected x, y, z" in rejected(capsys, *words, "--box", "1,2,3")
    assert "--torque: expected 1 or 7 numbers" in rejected(capsys, *words, "--torque", "1,2")
    assert "--noise: expected 1 or 7 numbers" in rejected(capsys, *words, "--noise", "1,2")
    assert not (tmp_path / "plan").exists()
