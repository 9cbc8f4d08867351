# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Every command that takes a robot with springs runs with coupled joints, transmissions and loops.

The recording names the joints, not the motors, as a robot's joint states do: it is computed from a
motion of the tree without couplings, with matrices that the test writes down itself; with loops, by
the constrained dynamics in NumPy.
"""

import csv
import json
from typing import NamedTuple

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.elastic import motor_motion
from multibody_dynamics.tools import cli
from robots import CONFIG


class Coupled(NamedTuple):
    """q_tree = G (coordinates), for the joints of the tree; `joints` replace the motors."""

    name: str
    motors: tuple[str, ...]
    joints: tuple[str, ...]
    tree: tuple[str, ...]
    G: tuple[tuple[float, ...], ...]

    kept = "transmission"  # in the files of write-back
    refused_by_gazebo = "Gazebo cannot simulate joints that depend on others"

    @property
    def urdf(self):
        return CONFIG / "robots" / f"{self.name}.urdf"

    @property
    def springs(self):
        return CONFIG / "elastic_joints" / f"{self.name}.yaml"

    def files(self, option):
        return option, str(self.urdf), "--elastic-joints", str(self.springs)

    @property
    def commanded(self):
        return self.joints

    def record(self, rows):
        """The motion (5, k, n) of the motors, q and Q of `joints`, and Q, Q', Q'' of the motors."""
        G = np.array(self.G)
        T = G[[self.tree.index(joint) for joint in self.joints]]
        tree = dyn.load_urdf(self.urdf)
        assert tree.joint_names == self.tree
        Q = [tau @ G for tau in dyn.inverse_dynamics(tree, *(rows @ G.T))]
        return rows, rows[0] @ T.T, Q[0] @ np.linalg.inv(T), Q


class FiveBar(Coupled):
    """Joint states name the elbows, too, which have no motors."""

    urdf = CONFIG / "mechanisms" / "five_bar.urdf"
    springs = CONFIG / "mechanisms" / "five_bar.yaml"
    kept = "loops"
    commanded = ("left_shoulder", "right_shoulder")
    refused_by_gazebo = "Gazebo read robots without loops only"

    def record(self, rows):
        tree = dyn.load_urdf(self.urdf)
        system = dyn.mechanisms.load_mechanism(self.springs, tree)
        assert tree.joint_names == self.joints
        own = list(system.actuated_indices)
        full = np.zeros((5, rows.shape[1], tree.n))
        full[..., own] = 0.4 * rows
        full[0] += [1.92, -1.03, 1.22, 1.03]
        full = np.array(dyn.mechanisms.consistent_motion(system, *full, fixed=self.motors))
        found = dyn.mechanisms.constrained_inverse_dynamics(system, *full)
        Q = [found.tau, found.tau_dot, found.tau_ddot]
        return full[..., own], full[0], Q[0], [row[:, own] for row in Q]


ROBOTS = (
    Coupled(
        "differential_wrist", ("elbow", "left", "right"), ("elbow", "pitch", "roll"),
        ("elbow", "pitch", "roll"), ((1, 0, 0), (0, 0.5, 0.5), (0, 0.5, -0.5)),
    ),
    FiveBar(
        "five_bar", ("left_shoulder", "right_shoulder"),
        ("left_shoulder", "left_elbow", "right_shoulder", "right_elbow"), (), (),
    ),
)  # fmt: skip


def motion(n, t, seed=0):
    """(5, k, n) a smooth motion of n joints with four derivatives, at rest at the ends."""
    rng = np.random.default_rng(seed)
    result = np.zeros((5, len(t), n))
    for i in range(n):
        for k in range(1, 5):
            a, w, phase = 0.25 * rng.uniform(0.5, 1.0) / k, 1.1 * k, rng.uniform(0, 6)
            for d in range(5):
                result[d, :, i] += a * w**d * np.sin(w * t + phase + d * np.pi / 2)
    return result


class Recorded(NamedTuple):
    """A recording in the names of the joints, and a trajectory in them."""

    robot: Coupled
    signals: object
    trajectory: object
    Q: np.ndarray


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda robot: robot.name)
def recorded(request, tmp_path_factory):
    """Torques from the tree without couplings, Q = G^T Q_tree, and motors by the flat map."""
    robot, folder = request.param, tmp_path_factory.mktemp("coupled")
    actuators = dyn.load_actuators(robot.springs, robot.motors)
    t = np.arange(0.0, 20.0, 0.005)
    rows, q, torque, Q = robot.record(motion(len(robot.motors), t))
    motors = motor_motion(actuators, rows.swapaxes(0, 1), np.stack(Q, axis=1))
    columns = {"t": t}
    for signal, values, names in (
        ("q", q, robot.joints),
        ("Q", torque, robot.joints),
        ("theta", motors.position, robot.motors),
        ("tau", motors.torque, robot.motors),
    ):
        columns |= {f"{signal} {name}": values[:, j] for j, name in enumerate(names)}
    write(folder / "signals.csv", columns)
    part = slice(0, 1200, 40)
    moved = {"t": t[part] - t[0]}
    moved |= {
        f"q {name}": q[part, j] for j, name in enumerate(robot.joints) if name in robot.commanded
    }
    write(folder / "trajectory.csv", moved)
    return Recorded(robot, folder / "signals.csv", folder / "trajectory.csv", Q[0])


def write(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(np.stack(list(columns.values()), axis=1).tolist())


def run(*words):
    return cli.main([str(word) for word in words])


def test_inspect_and_reports(recorded, tmp_path, capsys):
    urdf, option, springs = recorded.robot.files("")[1:]
    assert run("inspect", urdf, option, springs, "--no-timing") == 0
    printed = capsys.readouterr().out
    assert all(motor in printed for motor in recorded.robot.motors)
    assert "masses, inertias and limits are plausible" in printed
    assert run("torque-report", urdf, option, springs, "-o", tmp_path / "report") == 0


def test_validate_explains_the_torques_of_joints_and_motors(recorded, tmp_path):
    for effort in ("joint", "motor"):
        folder = tmp_path / effort
        words = ["validate", recorded.signals, *recorded.robot.files("--urdf"), "-o", folder]
        assert run(*words, "--effort", effort, "--max-nrms", "0.02") == 0
        assert "not part of this robot" not in (folder / "report.md").read_text()


def test_identify_recovers_springs_and_write_back_and_prove_use_them(recorded, tmp_path):
    robot = recorded.robot
    folder = tmp_path / "identified"
    words = ["identify", recorded.signals, *robot.files("--urdf"), "-o", folder]
    assert run(*words, "--no-links") == 0
    found = json.loads((folder / "identified.json").read_text())
    known = dyn.load_actuators(robot.springs, robot.motors)
    for name, actuator in zip(robot.motors, known.actuators, strict=True):
        stiffness = found["springs"][name]["stiffness"]
        value = stiffness["value"] if isinstance(stiffness, dict) else stiffness
        assert value == pytest.approx(actuator.spring.stiffness(0.0), rel=0.02)
    written = tmp_path / "written"
    words = ["write-back", folder, *robot.files("--urdf"), "-o", written]
    assert run(*words) == 0
    assert robot.kept in yaml.safe_load((written / robot.springs.name).read_text())
    words = ["prove", recorded.signals, *robot.files("--urdf"), "--identified", folder]
    # 1: the data sheet was exact, so identification cannot have improved it
    assert run(*words, "--draws", "0", "-o", tmp_path / "proof") == 1
    assert (tmp_path / "proof" / "proof.json").is_file()


def test_scale_time_reads_a_trajectory_of_the_joints(recorded, tmp_path):
    words = ["scale-time", recorded.trajectory, *recorded.robot.files("--urdf")]
    assert run(*words, "-o", tmp_path / "scaled") in (0, 1)
    head = (tmp_path / "scaled" / "trajectory.csv").read_text().splitlines()[0]
    assert all(f"q {joint}" in head for joint in recorded.robot.commanded)


def test_excite(recorded, tmp_path):
    urdf, option, springs = recorded.robot.files("")[1:]
    few = ("--starts", "1", "--iterations", "3", "--processes", "1", "--acceleration", "4")
    more = ("--clearance", "0", "--link-radius", "0.001")
    assert run("excite", urdf, option, springs, "-o", tmp_path / "plan", *few, *more) == 0


def test_generate_writes_controllers(recorded, tmp_path):
    urdf, option, springs = recorded.robot.files("")[1:]
    assert run("generate", urdf, option, springs, "--law", "motor_pd", "-o", tmp_path) == 0
    assert ("loops;" in (tmp_path / f"{recorded.robot.name}_dynamics.h").read_text()) == (
        recorded.robot.kept == "loops"
    )


def test_study(recorded, tmp_path):
    urdf, option, springs = recorded.robot.files("")[1:]
    words = ("study", "--urdf", urdf, option, springs, "--laws", "pd-full", "--workers", "1")
    one = ("--draws", "1", "--conditions", "exact", "--stiffness", "1")
    assert run(*words, *one, "-o", tmp_path / "study") == 0


def test_collision_thresholds(recorded, tmp_path):
    words = ["collision-thresholds", recorded.signals, *recorded.robot.files("--urdf")]
    assert run(*words, "-o", tmp_path / "thresholds.yaml") == 0


def test_gazebo_refuses_coupled_joints_and_loops(recorded, tmp_path, capsys):
    urdf, option, springs = recorded.robot.files("")[1:]
    assert run("gazebo", urdf, option, springs, "-o", tmp_path) == 2
    assert recorded.robot.refused_by_gazebo in capsys.readouterr().err
