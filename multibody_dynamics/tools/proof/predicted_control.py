# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How well the laws will follow a motion, given what is known of the robot.

The robots that the recordings do not rule out are drawn, and every law drives each of them in the
single runs of the study. Three cases are compared:

    stated      the law knows the data sheet, and the robots are within a stated error of it
    data sheet  the law knows the data sheet, and the robots are drawn from the identification
    identified  the law knows the identified robot, and the robots are drawn likewise

The number of each law (in most cases its bandwidth) is the one at which its torques are as noisy as
those of the reference law, on the identified robot.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...dynamics.core import Array, InputError, in_order, worker_processes
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import Reference
from ...dynamics.plant import ElasticRobot, Plant
from ...reporting.progress import ProgressBar
from ...simulation.mujoco_robot import MujocoRobot
from ...validation.trajectory_files import read_points
from ..motions.scaled_trajectory import motion_through
from ..study.conditions import CONDITIONS, Condition
from ..study.equal_noise import EqualNoise, at_equal_noise, reference_noise
from ..study.model_errors import with_model_errors
from ..study.single_run import Outcome, simulate
from ..study.studied_laws import REFERENCE, STUDIED_LAWS, chosen_laws
from ..study.studied_robots import RobotSource, StudiedArm, motion_of, studied_arm
from .known_robots import RobotFiles, load_known
from .sampled_robots import PossibleRobot

CASES = {
    "stated": "data sheet, robots within its stated errors",
    "sheet": "data sheet, robots as identified",
    "identified": "identified, robots as identified",
}
LAWS = ("pd-full-comp", "pd-full", "pd-integral", "sf-full-comp", "sf-full")
HIGH = 0.9  # the quantile in the tables
AS_GOOD = 1.1  # the default law is recommended if it is at most this many times worse than the best
Job = tuple["Proof", str, str, float, int]


@dataclass(frozen=True)
class Proof:
    """What is to be predicted: paths and plain numbers, for use in other processes.

    laws : keys of the study. draws : robots of each case. stated : relative error of every
    parameter of the data sheet. motion : a trajectory file; None: a fast motion within the limits.
    """

    files: RobotFiles
    laws: tuple[str, ...] = LAWS
    draws: int = 20
    stated: float = 0.2
    motion: Path | None = None
    plant: str = "internal"
    bits: int = 18
    rate: float = 1000.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises InputError for values out of range."""
        chosen_laws(self.laws)
        if not 0.0 < self.stated < 1.0:
            raise InputError(f"--initial-error {self.stated:g}: must be between 0 and 1")
        if self.draws < 1:
            raise InputError(f"--draws {self.draws}: must be at least 1")
        if not 8 <= self.bits <= 32:
            raise InputError(f"--bits {self.bits}: must be from 8 to 32")
        if self.seed < 0:
            raise InputError(f"--seed {self.seed}: must be zero or greater")

    @property
    def condition(self) -> Condition:
        """Encoders and rate of the runs."""
        return replace(CONDITIONS["exact"], bits=self.bits, rate=self.rate)


class LawErrors(NamedTuple):
    """rms errors (draws,) of a law in one case, in rad (m); infinite where the robot was lost."""

    case: str
    law: str
    number: float
    errors: Array
    lost: tuple[str, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.errors))

    @property
    def high(self) -> float:
        """The smallest error that at least HIGH of the robots do not exceed."""
        return float(np.quantile(self.errors, HIGH, method="inverted_cdf"))

    @property
    def worst(self) -> float:
        return float(self.errors.max())


@dataclass(frozen=True, eq=False)
class Prediction:
    """The errors of all laws in all cases, and the numbers of the laws; after Ctrl-C, those of the
    laws that were simulated on all robots of a case."""

    proof: Proof
    rows: tuple[LawErrors, ...]
    numbers: dict[str, EqualNoise]
    duration: float
    is_complete: bool = True

    def row(self, case: str, law: str) -> LawErrors:
        """The errors of a law in a case."""
        return next(each for each in self.rows if (each.case, each.law) == (case, law))

    @property
    def recommended(self) -> LawErrors | None:
        """The law with the smallest HIGH quantile with the identified model, or the default law if
        it is nearly as good; None if every law lost a robot."""
        rows = [each for each in self.rows if each.case == "identified" and each.worst < inf]
        if not rows:
            return None
        best = min(rows, key=lambda each: each.high)
        default = next((each for each in rows if each.law == REFERENCE), best)
        return default if default.high <= AS_GOOD * best.high else best


def predict(proof: Proof, workers: int = 1) -> Prediction:
    """Simulate all laws on all drawn robots, in `workers` processes.

    Equal proofs give equal results, whatever the number of processes. Ctrl-C ends it early. Raises
    InputError for files that do not belong together, and for a motion that does not start at rest.
    """
    arm = identified_arm(proof)  # raises errors of files here, and compiles once
    laws = [law.key for law in chosen_laws(proof.laws)]
    numbers: list[EqualNoise] = []
    outcomes: list[Outcome] = []
    runs: list[Job] = []
    try:
        with worker_processes(workers) as executor:
            wanted = reference_noise(arm, proof.seed, proof.condition)
            jobs = [(proof, law, wanted) for law in laws]
            in_order(executor, _number, jobs, ProgressBar("laws"), numbers)
            runs += [
                (proof, case, law, outcomes_of_law.number, draw)
                for case in CASES
                for law, outcomes_of_law in zip(laws, numbers, strict=True)
                for draw in range(proof.draws)
            ]
            in_order(executor, _run, runs, ProgressBar("runs"), outcomes)
    except KeyboardInterrupt:
        pass  # what is missing shows it
    rows = []
    for k in range(0, len(outcomes) - proof.draws + 1, proof.draws):
        outcomes_of_law = outcomes[k : k + proof.draws]
        errors = np.array([inf if each.lost else each.rms for each in outcomes_of_law])
        _, case, law, number, _ = runs[k]
        lost = tuple(each.lost for each in outcomes_of_law if each.lost)
        rows.append(LawErrors(case, law, number, errors, lost))
    return Prediction(
        proof,
        tuple(rows),
        dict(zip(laws, numbers, strict=False)),
        arm.motion.end_time,
        is_complete=len(rows) == len(CASES) * len(laws),
    )


@lru_cache(maxsize=4)
def identified_arm(proof: Proof) -> StudiedArm:
    """The identified robot, with the motion to follow."""
    known = load_known(proof.files)
    model, actuators = known.after
    elastic = proof.files.elastic_joints or proof.files.urdf
    source = RobotSource(model.name, model.name, proof.files.urdf, elastic)
    motion = _own(proof.motion, model) if proof.motion else motion_of(source, model, actuators)
    return studied_arm(source, model, actuators, motion)


def _own(file: Path, model: MultibodyModel) -> Reference:
    """The motion of a file, from t = 0 on. Raises InputError if it does not start or end at
    rest."""
    points = read_points(file)
    points = replace(points, times=points.times - points.times[0])
    motion = motion_through(points, model, {})
    if not motion.is_at_rest_at_end:
        raise InputError(f"{file}: does not end at rest")
    return motion


def true_robots(proof: Proof, case: str) -> list[PossibleRobot]:
    """The robots of a case that the laws will meet."""
    known = load_known(proof.files)
    if case != "stated":
        return list(_drawn(proof.files, proof.draws, proof.seed))
    found = []
    for draw in range(proof.draws):
        rng = np.random.default_rng([draw, 1, proof.seed])
        found.append(PossibleRobot(*with_model_errors(*known.before, proof.stated, rng)))
    return found


@lru_cache(maxsize=4)
def _drawn(files: RobotFiles, count: int, seed: int) -> tuple[PossibleRobot, ...]:
    return tuple(load_known(files).distribution.draws(count, seed))


def _plant(proof: Proof, robot: PossibleRobot) -> Plant:
    if proof.plant == "mujoco":
        urdf = proof.files.urdf.read_bytes()
        plant = MujocoRobot(
            load_known(proof.files).sheet.model.with_reflected_inertia(np.zeros(robot.model.n)),
            robot.actuators,
            urdf,
            link_viscous=[each.link_friction.viscous for each in robot.actuators.actuators],
        )
        plant.set_model(robot.model)
        return plant
    return ElasticRobot(robot.model, robot.actuators)


# Executed in the processes


def _number(job: tuple[Proof, str, float]) -> EqualNoise:
    proof, key, wanted = job
    law = STUDIED_LAWS[key]
    return at_equal_noise(identified_arm(proof), law, wanted, proof.seed, proof.condition)


def _run(job: Job) -> Outcome:
    proof, case, key, number, draw = job
    known = load_known(proof.files)
    robot = true_robots(proof, case)[draw]
    arm = replace(identified_arm(proof), model=robot.model, actuators=robot.actuators)
    return simulate(
        arm,
        STUDIED_LAWS[key].at(number),
        proof.condition,
        plant=_plant(proof, robot),
        seed=proof.seed,
        draw=draw,
        assumed=known.after if case == "identified" else known.before,
    )
