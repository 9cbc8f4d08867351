# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The road of a planar arm with two springs, for tests: a hidden robot, its recordings, and what
`identify` and `write-back` made of them."""

from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.motion import exciting_motion
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.proof.known_robots import RobotFiles
from multibody_dynamics.tools.robot.identified_results import Figure, Results
from multibody_dynamics.tools.robot.write_back import write_back
from multibody_dynamics.tools.study.conditions import CONDITIONS
from robots import CONFIG
from studies.simulated_recording import drive_of, motor_commands, record

URDF = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
PLANAR = URDF, SPRINGS
JOINTS = ("shoulder", "elbow")
STIFFER, HEAVIER = 1.2, 0.8  # true rotors and springs over those of the data sheet
NOISE = 0.02  # N m
EXACT = CONDITIONS["exact"]


class IdentifiedArm(NamedTuple):
    """model, actuators : the hidden robot. The recording held_out was not used."""

    model: dyn.MultibodyModel
    actuators: dyn.Actuators
    fitted: Path
    held_out: Path
    files: RobotFiles


def sheet(files: tuple[Path, Path] = PLANAR) -> tuple[dyn.MultibodyModel, dyn.Actuators]:
    """The robot of the data sheet."""
    model = dyn.load_urdf(files[0])
    return model, dyn.load_actuators(files[1], model.joint_names)


def recording(model, actuators, frequency: float, seed: int, files=PLANAR, *, duration=5.0,
              second=None):  # fmt: skip
    """A recording of the hidden robot, driven with the model of the data sheet, and, if it has one,
    the second output at times (k,)."""
    known = sheet(files)
    motion = exciting_motion(model, duration=duration, ramp=1.0, frequency=frequency)
    commands = motor_commands(*known, motion, 2e-3, second)
    plant = ElasticRobot(model, actuators, drive=drive_of(*known, commands.q[0]))
    return record(plant, commands, EXACT, NOISE, seed)


def road(changes: Results, files: tuple[Path, Path] = PLANAR, **options) -> IdentifiedArm:
    """The whole road of a robot that differs from its data sheet by these changes."""
    folder, (urdf, springs) = Path(mkdtemp()), files
    real = folder / "hidden"
    real.mkdir()
    for name, content in write_back(changes, urdf, springs).files.items():
        (real / name).write_bytes(content)
    robot = sheet((urdf, real / springs.name))
    paths = []
    for k, (name, frequency) in enumerate((("fitted", 1.0), ("held_out", 0.7))):
        paths.append(folder / f"{name}.npz")
        recording(*robot, frequency, k, files, **options).write(paths[-1], robot[1])
    with redirect_stdout(StringIO()):
        given = ["--urdf", str(urdf), "--elastic-joints", str(springs)]
        identified = str(folder / "identified")
        assert cli.main(["identify", *map(str, paths), *given, "-o", identified]) == 0
        assert cli.main(["write-back", identified, *given, "-o", str(folder / "new")]) == 0
    return IdentifiedArm(*robot, *paths, RobotFiles(urdf, springs, folder / "identified"))


@cache
def planar_arm() -> IdentifiedArm:
    """Stiffer springs and lighter rotors."""
    found, actuators = Results(), sheet()[1]
    for joint, actuator in zip(actuators.joint_names, actuators.actuators, strict=True):
        found.springs[joint] = {"stiffness": Figure(STIFFER * actuator.spring.K)}
        found.motors[joint] = {"inertia": Figure(HEAVIER * actuator.motor.inertia)}
    return road(found)


ELBOW = CONFIG / "robots" / "antagonistic_elbow.urdf"
TENDONS = CONFIG / "elastic_joints" / "antagonistic.yaml"
STRETCHED = 1.25  # true spring of the agonist over that of the data sheet


def changing_stiffness(t):
    """The stiffness (k, 3, 1) of the elbow in N m/rad at times (k,), with its rates."""
    w = 3.0
    rows = [90.0 + 15.0 * np.sin(w * t), 15.0 * w * np.cos(w * t), -15.0 * w**2 * np.sin(w * t)]
    return np.stack(rows, axis=-1)[..., None]


@cache
def identified_tendon_arm() -> IdentifiedArm:
    """The same for an arm with an antagonistic elbow, whose stiffness changes during the motion."""
    found, elbow = Results(), sheet((ELBOW, TENDONS))[1].actuators[1]
    found.springs["elbow_agonist"] = {
        f"c{i + 1}": Figure(STRETCHED * c) for i, c in enumerate(elbow.agonist_spring.coefficients)
    }
    found.motors["elbow_antagonist"] = {"inertia": Figure(HEAVIER * elbow.antagonist.inertia)}
    return road(found, (ELBOW, TENDONS), duration=6.0, second=changing_stiffness)


def truth(planar_arm: IdentifiedArm) -> dict[str, float]:
    """The true values of motors and springs by the names of the covariance."""
    found = {}
    for joint, actuator in zip(
        planar_arm.actuators.joint_names, planar_arm.actuators.actuators, strict=True
    ):
        found[f"{joint}.stiffness"] = actuator.spring.K
        for name in ("inertia", "viscous", "coulomb"):
            found[f"motor {joint}.{name}"] = getattr(actuator.motor, name)
    return found


def relative(a, b) -> float:
    """The largest difference relative to the largest number of b."""
    return float(np.abs(np.asarray(a) - b).max() / np.abs(b).max())


@cache
def motion_file() -> Path:
    """A short motion from rest to rest, for predictions."""
    file = Path(mkdtemp()) / "motion.csv"
    file.write_text(
        "t,q shoulder,q elbow\n2.0,0.2,0.4\n2.3,0.6,-0.1\n2.6,0.2,0.4\n", encoding="utf-8"
    )
    return file
