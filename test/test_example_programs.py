# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The examples run as a user runs them and print correct numbers."""

import ast
import re
import runpy
from pathlib import Path

import pytest
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NUMBER = r"([-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)"


def number(printed, before="", after=""):
    """The only number printed between two pieces of text."""
    found = re.findall(f"{before} *{NUMBER}{after}", printed)
    assert len(found) == 1, f"{before}...{after} in\n{printed}"
    return float(found[0].replace(",", ""))


def first_steps(printed):
    assert number(printed, "differ by") < 1e-4
    peaks = [float(x) for x in re.search(r"panda_joint2 +(.*)", printed)[1].split()]
    assert peaks == pytest.approx([42.08, 57.91, 302.36], abs=0.01)


def four_representations(printed):
    assert number(printed, "Q'' to") < 1e-13
    (by_differences,) = re.findall(r"r'' +(.*)", printed)
    accelerations = re.findall(r"acceleration +(.*)", printed)
    linear = [row.split()[3:] for row in accelerations]  # spatial, body, hybrid, mixed
    assert [row == by_differences.split() for row in linear] == [False, False, True, True]


def elastic_joint_feedforward(printed):
    assert number(printed, "Q only", " mrad rms") == pytest.approx(0.332, rel=0.01)
    assert number(printed, "Q, Q', Q''", " mrad rms") < 0.332 / 1000
    assert number(printed, "as if without springs", " mrad rms") > 10 * 0.332


def remote_centre_of_motion(printed):
    assert number(printed, "the remote centre by", " m") < 1e-13
    assert number(printed, "from their rates:", " m/rad") < 1e-13


def closed_form(printed):
    assert number(printed, r"christoffel_symbols +N \+ N\^T is") < 1e-13
    assert number(printed, r"coriolis_matrix +N \+ N\^T is") < 1e-13
    assert number(printed, r"coriolis_matrix_mueller +N \+ N\^T is") > 0.1
    assert number(printed, "relative difference") < 1e-10


def exact_references(printed):
    recursion = [float(x) for x in re.search(r"recursion +(.*)", printed)[1].split()]
    differences = [float(x) for x in re.search(r"differences +(.*)", printed)[1].split()]
    assert min(recursion) > 14
    assert 14 > differences[1] > differences[2]


def kinematic_calibration(printed):
    assert "34 of 34 parameters identified" in printed
    drawn, calibrated = (number(printed, name, " mm rms") for name in ("as drawn", "calibrated"))
    assert drawn > 3
    assert calibrated < 0.05  # the noise of a single measurement


def inertial_parameters(printed):
    assert "50 of 77 parameters" in printed  # 43 of the Panda and 7 of friction
    rows = re.findall(f"{NUMBER} N m rms error, from sensors with {NUMBER} N m of noise", printed)
    assert len(rows) == 7
    assert all(5 * float(difference) < float(noise) for difference, noise in rows)


def four_bar(printed):
    pairs = re.search("redundant: (.*)", printed)[1].split(", ")
    assert [row.split(": ")[1] for row in pairs] == [
        "rotation about x",
        "rotation about y",
        "translation along z",
    ]
    assert number(printed, "peak torque", " N m") == pytest.approx(8.459, abs=0.001)
    assert number(printed, "rate of the energy to") < 1e-12
    assert number(printed, "slope of the torque to") < 1e-12
    row = f"{NUMBER} m +{NUMBER} J"
    found = {name: re.search(f"{name} +{row}", printed) for name in ("Baumgarte", "projection")}
    gaps = {name: float(match[1]) for name, match in found.items()}
    assert gaps["projection"] < 1e-14 < gaps["Baumgarte"] < number(printed, "none", " m") < 1e-4
    assert max(float(match[2]) for match in found.values()) < 1e-3


def five_bar(printed):
    assert re.search(r"one motor: 2 degrees of freedom .*\(m = 2 < n_p = 3", printed)
    work, energy = (number(printed, text, " J") for text in ("work of the motor", "gain of energy"))
    assert work == pytest.approx(energy, rel=1e-3)
    cases = ("two motors", "three, least torque", "three, least force")
    rows = (re.search(f"{case} +(.*) N\n", printed)[1] for case in cases)
    two, torque, force = ([float(x) for x in row.split(" N m")] for row in rows)
    assert two == pytest.approx([5.357, 0.0, 5.033, 9.852], abs=0.001)
    squares = [sum(x**2 for x in row[:3]) for row in (torque, force, two)]
    assert squares == sorted(squares)
    assert force[3] < torque[3] < two[3]
    assert "rate of the energy, and Q' is the slope of Q" in printed


def delta_robot(printed):
    assert "21 joints, 18 constraints" in printed
    assert number(printed, "stays level to", " rad") < 1e-13
    peaks = [float(x) for x in re.search(r"motor1 +([\d. ]+)\n", printed)[1].split()]
    assert peaks == pytest.approx([5.517, 50.410, 651.882], abs=0.001)
    for what in ("slope of Q", "slope of Q_dot", "rate of the energy"):
        assert number(printed, f"{what} differ by") < 1e-12


def passive_pendulum(printed):
    assert number(printed, "equals the closed form to") < 1e-13
    assert re.findall("([0-9.]+) m in 3.0 s", printed) == ["3.000", "3.000"]
    plain, ahead = (float(x) for x in re.findall("swings by +([0-9.]+) deg", printed))
    assert plain == pytest.approx(50.67, abs=0.01)
    assert ahead < plain / 40


def pose_spline(printed):
    assert number(printed, "misses its poses by") < 1e-14
    assert number(printed, "joints follow to", ",") < 1e-11
    assert number(printed, "in steps of at most", " rad") < 0.03
    assert number(printed, "first pose, at most", " for each of the others") <= 6
    peaks = re.findall(f"peak jounce +{NUMBER} rad/s.4 +{NUMBER} m/s.4", printed)
    assert [float(x) for x in peaks[0]] == pytest.approx([128.05, 57.12], abs=0.02)


def lqr_double_pendulum(printed):
    predicted = re.findall(f"differs from the prediction by {NUMBER}", printed)
    assert max(map(float, predicted)) < 1e-4
    free, *_ = re.findall("poles free +(.*) 1/s", printed)
    assert [float(x) for x in free.split()] == [-10.17, -3.79, 3.79, 10.17]
    closed = re.findall("poles with LQR +(.*) 1/s", printed)
    assert max(float(x) for row in closed for x in row.split()) < -3
    shares = [float(x) for x in re.findall(r"upright from (\d+) %", printed)]
    assert shares == pytest.approx([45, 3], abs=1)


def task_space(printed):
    circle, away = printed.split("out of reach")
    assert number(circle, "at most", " m,") < 1e-11
    assert number(circle, "missing in the twist") == 0
    assert number(circle, "slopes to") < 1e-3
    assert 0.05 < number(away, "at most", " m,") < 0.15
    assert number(away, " m,", " m at the end") < 1e-3
    assert number(away, "missing in the twist") > 0.1
    assert number(away, "slopes to") < 0.05


def lie_group_integration(printed):
    found = {}
    for row in printed.splitlines():
        if match := re.match(r"  (SE\(3\)|SO\(3\) x R\^3|one each) +(.*) energy", row):
            violations = [float(x) for x in re.findall(f"{NUMBER} m", match[2])]
            found.setdefault(match[1], []).extend(violations)  # pivot, ground, middle joint
    assert max(found["SE(3)"][:2]) < 1e-12
    assert min(found["SO(3) x R^3"]) > 1e-7
    assert found["one each"][0] < 1e-13
    assert number(printed, r"on SO\(3\) x R\^3:", " m") < 1e-14
    assert number(printed, "steps, error") < 1e-6


def momenta_of_floating_bodies(printed):
    by_velocities, by_momenta = (float(x) for x in re.findall(f"drifts by {NUMBER}", printed))
    assert by_momenta < 1e-14 < 1e-8 < by_velocities
    assert number(printed, "coordinates differ by", " in 0.5 s") < 1e-11


def vendor_interface(printed):
    assert number(printed, "at the goal to", " mrad") < 0.1
    states = re.findall(r"s  (\w+)(?:: (.*))?", printed)
    names = ["inactive", "holding", "following", "holding", "following", "stopping"]
    assert [name for name, _ in states] == names
    assert states[-1][1] == "link states missing"
    assert number(printed, "moves at", " rad/s") < 5e-3


def symbolic(printed):
    for what in ("Q, Q', Q''.*", "dQ/dq, dQ/dq', dQ/dq''", "dQ''/dq'''' and the mass matrix"):
        assert number(printed, f"{what} differ by") < 1e-12


def bodies_from_a_file(printed):
    assert "slider_crank" in printed
    assert "energy should change, as dampers work" in printed
    rows = [re.findall(f"\\w+ {NUMBER}", row) for row in re.findall("rad: (.*)", printed)]
    assert [len(row) for row in rows] == [4, 4]
    assert max(float(x) for row in rows for x in row) < 1e-4
    lost = [float(x) for x in re.findall(f"at the end {NUMBER} J", printed)]
    assert lost[0] < 0.0
    assert lost == pytest.approx([lost[0]] * 2, rel=1e-3)
    assert number(printed, "end differ by") < 1e-5


def springs_in_loops(printed):
    for robot, ratio in (("five_bar", 4000), ("delta", 1000), ("leg", 1500)):
        full = number(printed, f"{robot} +Q, Q', Q''", " mrad rms")
        assert number(printed, f"{robot} +Q only", " mrad rms") > ratio * full > 0.0
    found = re.findall(f"work of the motors: at most {NUMBER} J", printed)
    assert len(found) == 3
    assert max(float(x) for x in found) < 1e-6
    assert re.search(r"loop 'tip'.*\(left_shoulder = .*, right_shoulder = .*out of reach", printed)


def squatting_quadruped(printed):
    assert number(printed, "contacts leave: at most") < 1e-12
    assert 10 < number(printed, "friction used: at most", " %") < 50
    for phase in ("sway", "squat"):
        assert number(printed, f"{phase} +Q only", " mm") > 0.05
        assert 0.0 < number(printed, f"{phase}: the error is", " times") < 0.15
    moved = re.findall(f"feet move by {NUMBER} mm", printed)
    assert len(moved) == 2
    assert max(float(x) for x in moved) < 0.05
    assert number(printed, "Q, Q', Q''  forces differ from the plan by", " N rms") < 0.02


CHECKS = {
    "01_first_steps": first_steps,
    "02_four_representations": four_representations,
    "03_elastic_joint_feedforward": elastic_joint_feedforward,
    "04_remote_centre_of_motion": remote_centre_of_motion,
    "05_closed_form": closed_form,
    "06_exact_references": exact_references,
    "07_kinematic_calibration": kinematic_calibration,
    "08_inertial_parameters": inertial_parameters,
    "09_four_bar": four_bar,
    "10_five_bar": five_bar,
    "11_delta_robot": delta_robot,
    "12_passive_pendulum": passive_pendulum,
    "13_lqr_double_pendulum": lqr_double_pendulum,
    "14_pose_spline": pose_spline,
    "15_task_space": task_space,
    "16_lie_group_integration": lie_group_integration,
    "17_momenta_of_floating_bodies": momenta_of_floating_bodies,
    "18_vendor_interface": vendor_interface,
    "19_jax": symbolic,
    "20_casadi": symbolic,
    "21_bodies_from_a_file": bodies_from_a_file,
    "22_springs_in_loops": springs_in_loops,
    "23_squatting_quadruped": squatting_quadruped,
}


def test_every_example_is_checked_quoted_in_the_readme_and_needs_no_ros():
    assert [file.stem for file in EXAMPLES] == list(CHECKS)
    page = (ROOT / "examples" / "README.md").read_text()
    for file in EXAMPLES:
        text = file.read_text()
        line = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
        assert f"| [`{file.name}`]({file.name}) | {line} |" in page
        assert text.endswith("\n    main()\n"), file
        assert not re.search(r"rclpy|_msgs|\.nodes", text), file


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_example_prints_correct_numbers(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = runpy.run_path(str(file))  # not as __main__: it does not run yet
    with pytest.raises(SystemExit) as end:
        program["main"](["--help"])
    assert end.value.code == 0
    offered = capsys.readouterr().out
    picture = ["--picture", "picture.png"] if "--picture FILE" in offered else []

    program["main"](picture)
    CHECKS[file.stem](capsys.readouterr().out)
    for name in picture[1:]:
        pixels = imread(tmp_path / name)[..., :3]
        assert 0.005 < (pixels.min(axis=-1) < 0.9).mean() < 0.5
    assert {path.name for path in tmp_path.iterdir()} == set(picture[1:])
