# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `scale-time`: all formats of a trajectory, the results, and rejected input."""

import json

import numpy as np
import pytest
from matplotlib.image import imread

from bag_files import STORE, messages_of, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools import cli
from multibody_dynamics.validation.trajectory_files import MESSAGE, read_points
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
MODEL = dyn.load_urdf(ARM)
JOINTS = MODEL.joint_names
TIMES = np.array([0.5, 0.75, 1.0])
POSITIONS = np.array([[0.2, 0.5], [0.5, 0.3], [0.2, 0.5]])
VELOCITIES = np.array([[0.0, 0.0], [0.3, -0.2], [0.0, 0.0]])
LIMITS = ["--limit", "torque_rate=400", "--limit", "deflection.elbow=0.2"]


def run(file, *arguments):
    files = ["--urdf", str(ARM), "--elastic-joints", str(SPRINGS)]
    return cli.main(["scale-time", str(file), *files, *map(str, arguments)])


def message(times=TIMES):
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    points = [
        types["trajectory_msgs/msg/JointTrajectoryPoint"](
            q, qd, np.zeros(0), np.zeros(0),
            types["builtin_interfaces/msg/Duration"](*divmod(round(1e9 * t), 10**9)),
        )
        for t, q, qd in zip(times, POSITIONS, VELOCITIES, strict=True)
    ]  # fmt: skip
    raw = STORE.serialize_cdr(types[MESSAGE](header, list(JOINTS), points), MESSAGE)
    return bytes(raw)


def written(folder, kind):
    """The same trajectory in each format."""
    file = folder / f"motion.{'csv' if kind == 'csv' else 'yaml'}"
    rows = [
        {"positions": q.tolist(), "velocities": qd.tolist(),
         "time_from_start": {"nanosec": round(1e9 * (t % 1.0)), "sec": int(t)}}
        for t, q, qd in zip(TIMES, POSITIONS, VELOCITIES, strict=True)
    ]  # fmt: skip
    if kind == "csv":
        names = ["t", *(f"{s} {joint}" for s in ("q", "qd") for joint in JOINTS)]
        table = np.column_stack([TIMES, POSITIONS, VELOCITIES])
        np.savetxt(file, table, "%.17g", ",", header=",".join(names), comments="")
    elif kind == "arrays":
        rows = {"times": TIMES, "positions": POSITIONS, "velocities": VELOCITIES}
        tree = {"joint_names": JOINTS} | {name: row.tolist() for name, row in rows.items()}
        file.write_text(json.dumps(tree))  # JSON is valid YAML
    elif kind == "points":
        file.write_text(json.dumps({"joint_names": JOINTS, "points": rows}) + "\n---\n")
    else:
        return write_bag(
            folder / "motion",
            [("/arm/joint_trajectory", 5, message()), ("/arm/joint_trajectory", 9, message())],
            kinds={"/arm/joint_trajectory": MESSAGE},
        )
    return file


@pytest.fixture(scope="module")
def right():
    """The expected result, computed with the library."""
    motion = dyn.interpolate(JOINTS, TIMES, POSITIONS, VELOCITIES)
    springs = dyn.load_actuators(SPRINGS, JOINTS)
    usual = dyn.control.MotionLimits.of_robot(MODEL, springs, torque_rate=400.0)
    deflection = usual.deflection.copy()
    deflection[1] = -0.2, 0.2
    limits = dyn.control.MotionLimits.of_robot(
        MODEL, springs, torque_rate=400.0, deflection=deflection
    )
    return dyn.control.scale_time(motion, MODEL, springs, limits)


@pytest.mark.parametrize("kind", ["csv", "arrays", "points", "bag"])
def test_a_slower_trajectory_is_written_in_its_format(tmp_path, capsys, right, kind):
    file = written(tmp_path, kind)
    choose = ["--message", 2] if kind == "bag" else []
    assert run(file, *LIMITS, *choose, "-o", tmp_path / "out") == 0
    assert str(right.binding) in capsys.readouterr().out
    content = json.loads((tmp_path / "out" / "scaled.json").read_text())
    assert content["factor"] == pytest.approx(right.factor, rel=1e-6)
    assert content["factor"] > 1.2
    name = "trajectory" if kind == "bag" else f"trajectory{file.suffix}"
    slower = read_points(tmp_path / "out" / name)
    assert slower.joint_names == JOINTS
    assert slower.form == read_points(file, message=2 if kind == "bag" else None).form
    again = dyn.interpolate(JOINTS, slower.times, *slower.data)
    t = np.linspace(0.5, again.end_time, 50)
    np.testing.assert_allclose(again.sample(t), right.trajectory.sample(t), atol=1e-4, rtol=1e-6)


def test_the_results_compare_before_and_after(tmp_path, right):
    file = written(tmp_path, "csv")
    assert run(file, *LIMITS, "-o", tmp_path) == 0
    content = json.loads((tmp_path / "scaled.json").read_text())
    assert content["binding"]["quantity"] == right.binding.quantity
    before = content["limits"][0]["before"]
    assert before["utilisation"] == pytest.approx(right.before[0].utilisation, rel=1e-6)
    assert max(each["after"]["utilisation"] for each in content["limits"]) < 1.0 + 1e-6
    assert imread(tmp_path / "scaled.png").std() > 0.02

    # a trajectory within all limits is not changed
    assert run(tmp_path / "trajectory.csv", *LIMITS, "-o", tmp_path / "again") == 0
    same = json.loads((tmp_path / "again" / "scaled.json").read_text())
    assert same["factor"] == pytest.approx(1.0, abs=1e-6)


def test_joints_in_another_order_and_held_joints(tmp_path, capsys):
    file = tmp_path / "elbow.csv"
    file.write_text("t,q elbow\n0,0.5\n0.2,1.5\n")
    assert run(file, "-o", tmp_path) == 2
    assert "missing joints of the robot: shoulder; --hold shoulder=VALUE" in capsys.readouterr().err
    assert run(file, "--hold", "shoulder=0.2", "-o", tmp_path) == 0
    factor = json.loads((tmp_path / "scaled.json").read_text())["factor"]
    file.write_text("t,q elbow,q shoulder\n0,0.5,0.2\n0.2,1.5,0.2\n")
    assert run(file, "-o", tmp_path) == 0
    assert json.loads((tmp_path / "scaled.json").read_text())["factor"] == factor > 1.0


def test_times_in_milliseconds_are_noticed(tmp_path, capsys):
    rows = np.column_stack([TIMES - TIMES[0], POSITIONS])
    for unit, noticed in ((1.0, False), (1e3, True)):
        header = ",".join(["t", *(f"q {joint}" for joint in JOINTS)])
        np.savetxt(tmp_path / "m.csv", rows * [unit, 1, 1], "%g", ",", header=header, comments="")
        assert run(tmp_path / "m.csv", "-o", tmp_path / "out") == 0
        assert ("are the times in ms?" in capsys.readouterr().err) == noticed


def test_a_path_that_leaves_the_joint_range_is_reported(tmp_path, capsys):
    """Positions in degrees, for example: controllers would reject the slower motion as well."""
    upper = MODEL.limits.upper
    file = tmp_path / "motion.csv"
    for beyond in (0.0, 30.0):
        q = (*upper, upper[0], upper[1] + beyond)
        file.write_text("t,q shoulder,q elbow\n0,{},{}\n9,{},{}\n".format(*q))
        assert run(file, "-o", tmp_path) == 0
        printed = capsys.readouterr().err
        assert ("warning: elbow: position" in printed) == (beyond > 0.0)
        assert "shoulder" not in printed


def test_invalid_input_is_reported(tmp_path, capsys):
    def rejected(name, text, *arguments):
        file = tmp_path / name
        if text is not None:
            file.write_text(text)
        assert run(file, *arguments, "-o", tmp_path / "out") == 2
        printed = capsys.readouterr().err
        assert str(file) in printed or arguments
        return printed

    good = "t,q shoulder,q elbow\n0,0,0\n1,1,1\n"
    assert "no such file" in rejected("none.csv", None)
    assert "end in .csv or .yaml" in rejected("a.txt", "")
    assert "line 2: 2 cells in 3 columns" in rejected("b.csv", "t,q a,q b\n1,2\n")
    assert "no column is named 'q JOINT'; the columns are t, x" in rejected("c.csv", "t,x\n0,1\n")
    assert "'times' is missing" in rejected("d.yaml", "joint_names: [shoulder, elbow]\n")
    assert "0 documents" in rejected("e.yaml", "")
    rows = "joint_names: [shoulder, elbow]\ntimes: [0, 1]\npositions: [[0, 0], [1]]\n"
    assert "positions of point 2: 1 values, but 2 joints" in rejected("f.yaml", rows)
    names = "joint_names: [shoulder, elbow]\n"
    for points, says in (
        ("hello", "points: must be a list"),
        ("[1]", "points: must be a list"),
        ("[]", "no points"),
        ("[{positions: [0, 0]}]", "of point 1: must have sec and nanosec, not None"),
        ("[{time_from_start: 1.0}]", "of point 1: must have sec and nanosec, not 1.0"),
        ("[{positions: [0, x], time_from_start: {sec: 1}}]", "positions of point 1: must be a li"),
    ):
        assert says in rejected("points.yaml", f"{names}points: {points}\n")
    assert "joint_names: must be a list" in rejected("l.yaml", "joint_names: a\npoints: []\n")
    assert "times: must be a list of numbers" in rejected("m.yaml", f"{names}times: [a]\n")
    assert "positions: no rows" in rejected("n.yaml", f"{names}times: [0]\npositions: 1\n")
    assert "must have joint_names" in rejected("o.yaml", "- 1\n")
    assert "times must increase" in rejected("g.csv", good.replace("\n1,", "\n0,"))
    assert "'knee'" in rejected("h.csv", good.replace("elbow", "knee"))
    assert "must begin with one of" in rejected("i.csv", good, "--limit", "power=1")
    assert "'knee' is not one of" in rejected("j.csv", good, "--limit", "deflection.knee=1")
    assert "at a standstill" in rejected("k.csv", good, "--limit", "joint_torque=1")
    nothing = write_bag(tmp_path / "nothing", [], kinds={"/t": MESSAGE})
    assert "no message on /t" in rejected(nothing.name, None)
    two = written(tmp_path, "bag")
    assert "2 messages on /arm/joint_trajectory" in rejected(two.name, None)
    assert "topics with trajectories: /arm/joint_trajectory; choose" in rejected(
        two.name, None, "--topic", "/x"
    )
    states = messages_of(TIMES, np.zeros((3, 3, 2)), JOINTS)
    assert f"no topic of type {MESSAGE}" in rejected(write_bag(tmp_path / "x", states).name, None)


def test_a_stiffness_that_is_not_given_is_the_middle_of_its_range(tmp_path, capsys):
    """As for `inspect`, and said."""
    file = written(tmp_path, "csv")
    files = ["--urdf", str(CONFIG / "robots" / "antagonistic_elbow.urdf")]
    files += ["--elastic-joints", str(CONFIG / "elastic_joints" / "antagonistic.yaml")]
    words = ["scale-time", str(file), *files, "-o", str(tmp_path / "out")]
    assert cli.main(words) in (0, 1)
    first, *other = capsys.readouterr().out.splitlines()
    said = "elbow has a stiffness of "
    assert first.startswith(said)
    value = first.removeprefix(said).split()[0]
    assert cli.main([*words, "--stiffness", value]) in (0, 1)
    assert capsys.readouterr().out.splitlines()[0] == other[0]
    assert cli.main([*words, "--stiffness", "90,90"]) == 2
    assert "--stiffness: expected 1" in capsys.readouterr().err
