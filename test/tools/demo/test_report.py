# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report on the feedforward, for synthetic runs with known results."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics.control.arm.desired_motion import TrajectoryRequest
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic.actuator_cycle import VARIANTS, MotorFeedforward
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.motion.trajectories import hold, splice
from multibody_dynamics.dynamics.rigid.rnea import inverse_dynamics
from multibody_dynamics.nodes.base.messages import SECOND
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.node_parameters import read_parameters
from multibody_dynamics.tools.base.recording import Recording, Series
from multibody_dynamics.tools.demo.analysis import Run, load_runs
from multibody_dynamics.tools.demo.preparation import prepare
from multibody_dynamics.tools.demo.report import OUTPUTS, _ratio, write_report
from rejections import assert_rejected
from urdf_parts import joint, link, robot

START = 1_700_000_000 * SECOND
PERIOD = SECOND // 100
LATENCY = 300_000  # ns
ERRORS = {"full": 1e-5, "quasi_static": 1e-4, "rigid": 1e-3}  # rad
ROBOT = robot(
    "pendulum",
    link("stand"),
    joint("hinge", "revolute", "stand", "rod", axis="0 1 0", limit="-2 2 6 50"),
    link("rod", 2.0, "0 0 -0.4", "0.1 0.1 0.01"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a demo without the report: parameters, springs and recordings."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "pendulum.urdf").write_text(ROBOT)
    demo = prepare(folder, robot=str(folder / "pendulum.urdf"), motion="rest_to_rest", rate=100.0)
    demo.write()
    for variant in VARIANTS:
        recorded(folder, variant).save(folder / f"{variant}.npz")
    return folder


def recorded(folder: Path, variant: str) -> Recording:
    """A run without faults; every joint state has the same position error."""
    p = read_parameters(folder / "parameters.yaml")["feedforward_node"]
    model = load_urdf(p["robot_file"])
    actuators = load_actuators(p["elastic_joints_file"], model.joint_names)
    q0 = np.array([0.3])
    request = TrajectoryRequest(
        START, np.array([1.0, 1.6, 2.2]), np.array([[0.3], [1.2], [-0.4]]), None, None
    )
    motion = splice(hold(model.joint_names, q0), 0.0, request.times, request.positions)
    stamp = START + np.arange(-50, 260, dtype=np.int64) * PERIOD
    seconds = 1e-9 * (stamp - START)
    desired = motion.sample(seconds + p["lookahead"])
    torque = np.stack(inverse_dynamics(model, *np.moveaxis(desired, 1, 0)), axis=1)
    rows, forces = np.zeros((5, 1)), np.zeros((3, 1))
    flat = MotorFeedforward(actuators, rows, forces, variant=variant)
    command = np.empty((len(desired), 4, 1))
    for k in range(len(desired)):
        rows[:], forces[:] = desired[k], torque[k]
        command[k] = np.stack(flat.update())
    position = motion.sample(seconds)[:, :1] + ERRORS[variant]
    state = np.concatenate([position, np.zeros((len(stamp), 2, 1))], axis=1)
    sent = stamp + 7  # ns, arbitrary

    def series(values, late=LATENCY):
        return Series(stamp, sent + late, np.asarray(values), len(stamp))

    return Recording(
        variant,
        model.joint_names,
        {
            "joint_states": series(state, 0),
            "motor_states": series(state, 0),
            "torque": series(torque[:, :1]),
            "torque_rate": series(torque[:, 1:2]),
            "torque_acceleration": series(torque[:, 2:]),
            "motor_command": series(command),
        },
        request,
        {"feedforward_node": 0.25},
        [{"name": "a: b", "level": k, "message": f"{k} cuts", "values": {}} for k in (0, 1, 1)],
    )


def run(folder: Path, variant: str = "full") -> Run:
    return next(r for r in load_runs(folder) if r.recording.variant == variant)


def changed(run: Run, name: str, **fields) -> Run:
    """The run with the data of one topic replaced."""
    series = dict(run.recording.series)
    series[name] = series[name]._replace(**fields)
    return replace(run, recording=replace(run.recording, series=series))


def test_a_recording_survives_a_round_trip(folder, tmp_path):
    before = recorded(folder, "full")
    before.save(tmp_path / "x.npz")
    after = Recording.load(tmp_path / "x.npz")
    for name, series in before.series.items():
        for one, other in zip(series, after.series[name], strict=True):
            np.testing.assert_array_equal(one, other)
    assert after.request.start == before.request.start
    assert after.request.velocities is None
    np.testing.assert_array_equal(after.request.positions, before.request.positions)
    assert (after.joint_names, after.cpu, after.diagnostics) == (
        before.joint_names, before.cpu, before.diagnostics,
    )  # fmt: skip


def test_a_good_run(folder):
    figures = run(folder).figures()
    assert max(figures["disagreement"].values()) < 1e-13
    assert figures["tracking error rms"] == pytest.approx(1e-5, rel=1e-6)
    assert figures["tracking error peak"] == pytest.approx(1e-5, rel=1e-6)
    assert figures["period [ms]"] == {"p50": 10.0, "p90": 10.0, "p99": 10.0, "max": 10.0}
    assert figures["latency [ms]"]["max"] == pytest.approx(0.3)
    assert figures["real time factor"] == pytest.approx(1.0)
    assert figures["states without a torque"] == 0
    assert figures["messages"]["torque"] == {"published": 310, "received": 310, "lost": 0}
    assert figures["warnings"] == {"a: b: ... cuts": 2}


@pytest.mark.parametrize("name", ["torque", "torque_rate", "torque_acceleration"])
def test_one_wrong_torque_is_found(folder, name):
    good = run(folder)
    values = good.recording.series[name].values.copy()
    values[200] += 1e-8 * np.abs(values).max()
    quantity = {"torque": "Q", "torque_rate": "Q'", "torque_acceleration": "Q''"}[name]
    found = changed(good, name, values=values).disagreement()
    assert found.pop(quantity) == pytest.approx(1e-8, rel=1e-3)
    assert max(found.values()) < 1e-13


def test_rounding_explains_more_where_points_are_close(folder):
    """By the derivatives of a spline through points that differ in their last digits."""
    good, t = run(folder), np.linspace(1.0, 2.2, 61)
    assert max(good.rounding().values()) < 1.1e-9
    points = 0.3 + 0.01 * np.sin(np.pi * (t - 1.0) / 1.2)[:, None] ** 6  # slow, from rest to rest
    digit = np.random.default_rng(2).choice([-1.0, 1.0], points.shape) * np.finfo(float).eps
    requests = (
        TrajectoryRequest(START, t, rows, None, None) for rows in (points, points * (1.0 + digit))
    )
    dense, other = (
        replace(good, recording=replace(good.recording, request=request)) for request in requests
    )
    change = np.abs(dense.desired - other.desired).max(axis=(0, 2))
    shares = change / np.abs(dense.desired).max(axis=(0, 2))
    for k, quantity in enumerate(("Q", "Q'", "Q''"), 2):
        assert shares[k] < dense.rounding()[quantity] < 1e-6
    assert shares[4] > 1e-3 * dense.rounding()["Q''"] > 2e-12


def test_a_motor_command_of_another_variant_is_found(folder):
    other = run(folder, "rigid").recording.series["motor_command"].values.copy()
    other[:50] = run(folder).recording.series["motor_command"].values[:50]  # while it holds
    assert changed(run(folder), "motor_command", values=other).disagreement()["theta"] > 1e-4


def test_lost_messages_and_states_without_a_response_are_counted(folder):
    good = run(folder)
    torque = good.recording.series["torque"]
    keep = np.ones(len(torque.stamp), dtype=bool)
    keep[[200, 201, 250]] = False
    bad = changed(
        good, "torque", stamp=torque.stamp[keep], sent=torque.sent[keep], values=torque.values[keep]
    )
    figures = bad.figures()
    assert figures["states without a torque"] == 3
    assert figures["messages"]["torque"] == {"published": 310, "received": 307, "lost": 3}
    assert figures["period [ms]"]["max"] == pytest.approx(30.0)
    assert max(figures["disagreement"].values()) < 1e-13


@pytest.mark.parametrize("name", ["torque", "joint_states"])
def test_a_topic_without_messages_is_an_error(folder, name):
    good = run(folder)
    series = good.recording.series[name]
    with pytest.raises(InputError, match=f"full: no messages were received on {name}"):
        changed(good, name, stamp=series.stamp[:0], sent=series.sent[:0], values=series.values[:0])
    with pytest.raises(InputError, match="no trajectory"):
        replace(good, recording=replace(good.recording, request=None))


def test_the_report(folder):
    report = write_report(folder)
    assert report["problems"] == []
    assert report["ratios of rms errors"] == pytest.approx({"quasi_static": 10.0, "rigid": 100.0})
    for name in OUTPUTS:
        assert (folder / name).stat().st_size > 1000
    assert json.loads((folder / "report.json").read_text()) == report
    page = (folder / "report.md").read_text()
    assert "rigid body: 100.0 times the rms error of the full feedforward" in page
    assert "each link oscillates at 10 Hz against its locked motor" in page  # rule of the springs
    assert "position loop of 15 Hz" in page
    assert "NaN" not in page


def test_errors_of_a_prismatic_joint_are_in_mm(tmp_path, capsys):
    rail = ROBOT.replace('type="revolute"', 'type="prismatic"')
    (tmp_path / "rail.urdf").write_text(rail)
    demo = prepare(tmp_path, robot=str(tmp_path / "rail.urdf"), motion="rest_to_rest", rate=100.0)
    demo.write()
    recorded(tmp_path, "full").save(tmp_path / "full.npz")
    assert cli.main(["report", str(tmp_path)]) == 0
    assert "0.01000 mm" in capsys.readouterr().out
    page = (tmp_path / "report.md").read_text()
    assert "rms [mm]" in page
    assert "mrad" not in page


def test_the_pictures_are_not_blank(folder):
    from matplotlib.image import imread

    write_report(folder)
    for name, width in (("report.png", 1000), ("tracking.png", 1000)):
        pixels = imread(folder / name)[..., :3]
        assert pixels.shape[1] > width
        assert 0.01 < (pixels.min(axis=-1) < 0.9).mean() < 0.5


def test_problems_are_reported(folder, tmp_path):
    for file in folder.iterdir():
        if file.suffix in (".yaml", ".npz", ".urdf"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    bad = recorded(folder, "full")
    states = bad.series["joint_states"]
    series = dict(bad.series) | {
        "joint_states": states._replace(values=states.values + 0.01),
        "torque": bad.series["torque"]._replace(values=1.001 * bad.series["torque"].values),
    }
    replace(bad, series=series).save(tmp_path / "full.npz")
    problems = "\n".join(write_report(tmp_path)["problems"])
    assert "full: published Q differs from the library by 0.001" in problems
    assert "rigid tracks no worse than full" in problems


def test_a_motion_that_was_stopped_has_no_ratio(folder, tmp_path, capsys):
    """An error on /diagnostics since the beginning of the motion; earlier ones do not count."""
    for file in folder.iterdir():
        if file.suffix in (".yaml", ".npz", ".urdf"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    good = recorded(folder, "full")
    status = {"level": 2, "name": "/feedforward_node: cycle", "message": "no joint state for 0.3 s"}
    status |= {"values": {}, "stamp": good.request.start + 1}
    other = status | {"name": "/elastic_robot_simulator_node: commands"}
    early = status | {"stamp": good.request.start - 1}
    replace(good, diagnostics=[other, early]).save(tmp_path / "full.npz")
    report = write_report(tmp_path)
    assert report["runs"]["full"]["stopped"] == ""
    assert set(report["ratios of rms errors"]) == {"quasi_static", "rigid"}
    replace(recorded(folder, "rigid"), diagnostics=[status]).save(tmp_path / "rigid.npz")
    report = write_report(tmp_path)
    assert set(report["ratios of rms errors"]) == {"quasi_static"}
    problem = "rigid: the motion was stopped: no joint state for 0.3 s"
    assert problem in report["problems"]
    assert cli.main(["report", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert problem in printed.err
    (line,) = (line for line in printed.out.splitlines() if line.startswith("rigid"))
    assert line.split() == ["rigid", "stopped"]
    replace(good, diagnostics=[status]).save(tmp_path / "full.npz")
    report = write_report(tmp_path)
    assert report["ratios of rms errors"] == {}
    ratios = [_ratio(report, v) for v in ("full", "quasi_static", "rigid")]
    assert ratios == ["stopped", None, "stopped"]


def test_a_folder_without_a_run_is_an_error(tmp_path):
    assert_rejected((lambda: write_report(tmp_path), "no parameters.yaml"))
    (tmp_path / "pendulum.urdf").write_text(ROBOT)
    prepare(tmp_path, robot=str(tmp_path / "pendulum.urdf")).write()
    assert_rejected((lambda: write_report(tmp_path), "no recording"))


def test_generated_springs_follow_their_rule(folder):
    data = yaml.safe_load((folder / "elastic_joints.yaml").read_text())
    joint = data["joints"]["hinge"]
    inertia = 0.1 + 2.0 * 0.4**2  # about the hinge
    stiffness, rotor = joint["spring"]["stiffness"], joint["motor"]["inertia"]
    assert stiffness["value"] == pytest.approx(inertia * (2.0 * np.pi * 10.0) ** 2, rel=1e-3)
    assert rotor["value"] == pytest.approx(0.5 * inertia, rel=1e-3)
