# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of a data sheet, and the same robot with its identified parameters."""

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...dynamics.elastic import Actuators, Motor, Rigid
from ...dynamics.identification import IdentifiedCovariance
from ...dynamics.model import MultibodyModel
from ...validation.settings import Robot, load_robot
from ..robot.changes_table import Change
from ..robot.identified_results import Results, read_results
from ..robot.write_back import write_back
from .sampled_robots import RobotDistribution


class RobotFiles(NamedTuple):
    """The files of the data sheet, and the folder of `identify`."""

    urdf: Path
    elastic_joints: Path | None
    identified: Path
    gravity: float = 9.81


@dataclass(frozen=True, eq=False)
class KnownRobots:
    """The robot before and after its identification.

    sheet, identified : as they are validated, with friction of the links. before, after : model and
    actuators as the laws know them; without actuator data, the motors of rigid joints have the
    known inertia of the rotor and friction of the joint. changes : every number, before and after.
    """

    sheet: Robot
    identified: Robot
    before: tuple[MultibodyModel, Actuators]
    after: tuple[MultibodyModel, Actuators]
    results: Results
    changes: tuple[Change, ...]
    distribution: RobotDistribution

    @property
    def is_elastic(self) -> bool:
        """Whether any joint has a spring."""
        return not bool(self.after[1].is_rigid.all())


@lru_cache(maxsize=4)
def load_known(files: RobotFiles) -> KnownRobots:
    """Load both robots; the identified one by writing the results into copies of the files.

    Raises InputError, naming the file, if one is missing or belongs to another robot.
    """
    gravity = (0.0, 0.0, -files.gravity)
    covariance = IdentifiedCovariance.read(files.identified)
    results = read_results(files.identified)
    written = write_back(results, files.urdf, files.elastic_joints)
    sheet = load_robot(files.urdf, None, files.elastic_joints, gravity)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for name, content in written.files.items():
            (folder / name).write_bytes(content)
        data = folder / "data.yaml"
        springs = files.elastic_joints and folder / files.elastic_joints.name
        identified = load_robot(
            folder / files.urdf.name, data if data.is_file() else None, springs, gravity
        )
    after = driven(identified)
    return KnownRobots(
        sheet,
        identified,
        driven(sheet),
        after,
        results,
        tuple(written.changes),
        RobotDistribution(*after, covariance),
    )


def driven(robot: Robot) -> tuple[MultibodyModel, Actuators]:
    """Model and actuators of a robot; motors of rigid joints follow from rotors and friction."""
    if robot.actuators is not None:
        return robot.model, robot.actuators
    model, friction = robot.model, robot.friction
    limits = model.limits.effort
    motors = [
        Motor(
            inertia=float(model.reflected_inertia[j]),
            viscous=max(float(friction.viscous[j]), 0.0),
            coulomb=max(float(friction.amplitude[j]) / 2.0, 0.0),
            coulomb_velocity=2.0 / float(friction.steepness[j]) if friction.steepness[j] else 1.0,
            torque_limit=float(limits[j]) if limits[j] > 0.0 else np.inf,
        )
        for j in range(model.n)
    ]
    actuators = Actuators(model.joint_names, tuple(Rigid(motor) for motor in motors))
    return model.with_reflected_inertia(np.zeros(model.n)), actuators
