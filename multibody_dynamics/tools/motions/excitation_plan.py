# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plan of an identification: exciting motions of a robot, and what they will reveal."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics import MultibodyModel
from ...dynamics import identification as idn
from ...dynamics.core import Array, DynamicsError, InputError
from ...dynamics.motion import Reference, Trajectory, approach_time, interpolate
from ...dynamics.rigid import doubtful_range
from ...reporting.progress import ProgressBar
from ...validation.settings import load_robot
from .collision_geometry import CollisionGeometry, collision_geometry

FOURIER = "fourier"
RUNS = (FOURIER, *idn.RUN_KINDS)
PREDICTED_STEP = 0.02  # s
QUIET = 0.005  # of the torque limit: noise of a drive, if none is given
NOISE = 0.1  # N m, without a torque limit
ENCODER = 2.0 * np.pi / 2**18 / np.sqrt(12.0)  # rad, rounding to 18 bits per turn
APPROACH = 0.3  # share of the speed limits between two runs in one file


@dataclass(frozen=True)
class PlanOptions:
    """What to plan: the options of the command `excite`, in SI units."""

    robot: Path
    elastic_joints: Path | None = None
    data: Path | None = None
    runs: tuple[str, ...] = ()
    criterion: Any = "log_det"
    form: idn.FourierForm = field(default_factory=lambda: idn.FourierForm(10.0, 5, 2.0, 1.0))
    margin: float = 0.1
    acceleration: Sequence[float] = ()
    torque: Sequence[float] = ()
    torque_rate: Sequence[float] = ()
    box: Sequence[float] = ()
    clearance: float = 0.02
    radius: float = 0.06
    meshes: Sequence[Path] = ()
    pose: Sequence[float] = ()
    noise: Sequence[float] = ()
    encoder: float = ENCODER
    rate: float = 100.0
    starts: int = 8
    iterations: int = 200
    seconds: float | None = None
    seed: int = 0
    processes: int = 1
    sample_period: float = 0.01
    one_file: bool = False


@dataclass(frozen=True, eq=False)
class ExcitationPlan:
    """The runs of a plan, and the predicted errors of all parameters after them."""

    options: PlanOptions
    limits: idn.ExcitationLimits
    runs: dict[str, Reference]
    excitation: idn.Excitation | None
    errors: tuple[idn.PredictedError, ...]
    unobservable: tuple[str, ...]
    noise: idn.TorqueNoise
    notes: tuple[str, ...]

    @property
    def model(self) -> MultibodyModel:
        return self.limits.model


def make_plan(options: PlanOptions) -> ExcitationPlan:
    """Compute the motions and predict the errors.

    Raises InputError for arguments and files that do not fit the robot, DynamicsError if there is
    no motion within the limits.
    """
    robot = load_robot(options.robot, options.data, options.elastic_joints)
    for doubt in filter(None, (doubtful_range(robot.model, j) for j in range(robot.model.n))):
        raise InputError(f"{options.robot}: {doubt} No motion is planned over such a range")
    wanted = options.runs or ((FOURIER, "friction") + (("chirps",) if robot.actuators else ()))
    for name in wanted:
        if name not in RUNS:
            raise InputError(f"--runs {name}: expected some of {', '.join(RUNS)}")
        if wanted.count(name) > 1:
            raise InputError(f"--runs {','.join(wanted)}: duplicate run '{name}'")
    limits, geometry, notes = _limits(robot, options)
    if robot.actuators is not None:
        robot.actuators.identification()  # rather than refused once the robot has moved
    columns = idn.TorqueColumns(
        robot.model, rotors=robot.actuators is None, friction=idn.friction_kinds(limits)
    )
    noise = _noise(limits, options)
    runs: dict[str, Reference] = {}
    excitation = None
    if FOURIER in wanted:
        of_joints = _noise(replace(limits, motors=None), options).torque
        criterion = idn.InformationCriterion(
            columns, of_joints, kind=options.criterion, rate=options.rate
        )
        if options.seconds:  # compile now: this must not use up the time limit
            idn.optimal_excitation(criterion, limits, options.form, starts=1, iterations=1)
        excitation = idn.optimal_excitation(
            criterion,
            limits,
            options.form,
            starts=options.starts,
            iterations=options.iterations,
            seconds=options.seconds,
            seed=options.seed,
            processes=options.processes,
            progress=ProgressBar("iterations"),
        )
        runs[FOURIER] = excitation.motion
        if not excitation.is_complete:
            notes.append("the search was stopped: the motion is the best one so far")
    rest = [name for name in wanted if name != FOURIER]
    if rest:
        pose = np.asarray(options.pose) if len(options.pose) else idn.resting_pose(limits)
        runs |= {name: idn.single_joint_run(limits, name, pose) for name in rest}
    _refuse_collisions(geometry, {f"run '{name}'": run for name, run in runs.items()})
    states = [_sampled(run) for run in runs.values()]
    errors = tuple(idn.predicted_errors(columns, limits, states, noise))
    lost = idn.unobservable(columns)
    runs = {name: runs[name] for name in wanted}
    if options.one_file:
        runs = {"all": _joined(limits, geometry, list(runs.values()))}
    return ExcitationPlan(options, limits, runs, excitation, errors, lost, noise, tuple(notes))


def _limits(
    robot: Any, options: PlanOptions
) -> tuple[idn.ExcitationLimits, CollisionGeometry | None, list[str]]:
    model = robot.model
    geometry = collision_geometry(model, options.robot, options.meshes)
    capsules = geometry.capsules if geometry else idn.link_skeleton(model, options.radius)
    around = "the collision geometry" if geometry else f"the skeleton, radius {options.radius:g} m"
    notes = [
        f"collisions: {len(capsules.bodies)} capsules around {around}, {len(capsules.pairs)} pairs"
    ]
    box = None
    if len(options.box):
        if len(options.box) != 6:
            raise InputError("--box: expected x, y, z of the lower and of the upper corner")
        box = np.reshape(options.box, (2, 3))
    else:
        notes.append("no --box given: the floor and other surroundings are not considered")
    limits = idn.ExcitationLimits.of(
        model,
        margin=options.margin,
        acceleration=_row(model, "--acceleration", options.acceleration),
        torque=_row(model, "--torque", options.torque),
        torque_rate=_row(model, "--torque-rate", options.torque_rate),
        actuators=robot.actuators,
        capsules=capsules,
        clearance=options.clearance,
        box=box,
        friction=robot.friction if options.data else None,
    )
    if np.isinf(limits.torque).all() and limits.motors is None:
        notes.append("no torque limits in the URDF: give --torque, or check the torques yourself")
    if np.isinf(limits.acceleration).all():
        notes.append("no --acceleration given: only torques, speeds and ranges limit the motion")
    return limits, geometry, notes


def _row(model: MultibodyModel, option: str, values: Sequence[float]) -> Array | None:
    if not len(values):
        return None
    if len(values) not in (1, model.n):
        raise InputError(f"{option}: expected 1 or {model.n} numbers, got {len(values)}")
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (model.n,))


def _noise(limits: idn.ExcitationLimits, options: PlanOptions) -> idn.TorqueNoise:
    """The noise of the drives: given, or a share of their torque limits."""
    actuators = limits.motors.actuators if limits.motors else None
    limit = limits.torque if actuators is None else actuators.torque_limit
    count = len(limit)
    if not len(options.noise):
        torque = np.where(np.isfinite(limit), QUIET * limit, NOISE)
    elif len(options.noise) == limits.model.n and actuators is not None:
        torque = np.asarray(options.noise)[actuators.joint_of_motor]
    elif len(options.noise) in (1, limits.model.n):
        torque = np.broadcast_to(np.asarray(options.noise, dtype=np.float64), (count,))
    else:
        raise InputError(
            f"--noise: expected 1 or {limits.model.n} numbers, got {len(options.noise)}"
        )
    return idn.TorqueNoise(torque, options.encoder, options.rate)


def _refuse_collisions(geometry: CollisionGeometry | None, motions: dict[str, Reference]) -> None:
    if geometry is None:
        return
    for what, motion in motions.items():
        touching = geometry.first_collision(motion)
        if touching:
            raise DynamicsError(f"{what}: {touching}; increase --clearance")


def _sampled(run: Reference) -> tuple[Array, Array]:
    times = np.linspace(
        run.start_time, run.end_time, int(np.ceil(run.duration / PREDICTED_STEP)) + 1
    )
    return times, run.sample(times)


def _joined(
    limits: idn.ExcitationLimits, geometry: CollisionGeometry | None, runs: list[Reference]
) -> Reference:
    """All runs one after the other, with moves from rest to rest between them."""
    model = limits.model
    times, states = [np.zeros(1)], [runs[0](runs[0].start_time)[None]]
    for run in runs:
        gap = run(run.start_time)[0] - states[-1][-1][0]
        start = times[-1][-1]
        if np.abs(gap).max() > 1e-9:
            start += max(approach_time(model, gap, APPROACH), 1.0)
            ends = [states[-1][-1][0], run(run.start_time)[0]]
            move = interpolate(model.joint_names, [0.0, start - times[-1][-1]], ends)
            worst = idn.exceeded_limit(limits, move)
            if worst is not None:
                raise DynamicsError(f"the move between two runs exceeds a limit: {worst}")
            _refuse_collisions(geometry, {"the move between two runs": move})
            times.append(np.array([start]))
            states.append(run(run.start_time)[None])
        knots = np.linspace(0.0, run.duration, int(np.ceil(run.duration / 0.01)) + 1)[1:]
        times.append(start + knots)
        states.append(run.sample(run.start_time + knots))
    return Trajectory(model.joint_names, np.concatenate(times), np.concatenate(states))
