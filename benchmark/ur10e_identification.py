# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joint identification of a real UR10e, compared with the method that came with the recordings.

The recordings are the public ones of github.com/shamilmamedov/dynamic_calibration (S. Mamedov, S.
Mikhel, "Practical aspects of model-based collision detection", Frontiers in Robotics and AI 7,
2020), in a folder of their csv files; the robot is ur10e.urdf of the same source. Both methods get
the same run and the published drive gains. The method of the set is ordinary least squares with
base parameters, reflected rotors and friction (viscous, sign, offset), after Butterworth filters of
fifth order without phase lag; here it is computed again. Both results are judged on runs that
neither has used, with the filters of the set; only moving joints count, since friction at rest can
have any value.

    python benchmark/ur10e_identification.py FOLDER ur10e.urdf

Also printed: drive gains from one motion without and with a load, and the largest ratio of
residuals of the momentum to thresholds learned from unused motions, in runs with and without a
collision.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, filtfilt

from multibody_dynamics import dynamics as dyn

Array = NDArray[np.float64]
idn = dyn.identification

RATE = 100.0  # Hz
PUBLISHED = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # N m/A
FITTED = ("ur-20_02_10-30sec_12harm", 635, 3510)  # as in the script of the set
UNLOADED, LOADED = (
    ("ur-20_02_19_14harm50sec", 195, 4966),
    ("ur-20_02_19_14harm50secLoad", 308, 5071),
)
LOAD = 2.805  # kg
JUDGED = {  # unused runs with motion, and the samples of each
    "ur-20_01_17-ptp_10_points": (700, 4200),
    "ur-20_02_05-20sec_8harm": (320, 2310),
    "ur-20_02_12-40sec_12harm": (500, 4460),
    "ur-20_02_12-50sec_12harm": (355, 5090),
    **{f"ur-20_01_22-joint_{i}": (1, None) for i in range(1, 7)},
}
VALIDATION = ("ur-20_01_17-ptp_10_points", *(f"ur-20_01_17-p{i}" for i in range(1, 11)))
COLLISIONS = ("ur-20_01_22-push_pose_1", "ur-20_01_22-push_pose_2")
MOVING = 0.02  # rad/s


class Run(NamedTuple):
    """Times (k,); q, q', currents (k, 6)."""

    t: Array
    q: Array
    qd: Array
    current: Array


def read(folder: Path, name: str, first: int = 1, last: int | None = None) -> Run:
    """The samples first to last, counted from 1."""
    rows = np.loadtxt(folder / f"{name}.csv", delimiter=",")[first - 1 : last]
    return Run(rows[:, 0] - rows[0, 0], rows[:, 1:7], rows[:, 7:13], rows[:, 13:19])


def filtered(run: Run) -> tuple[Array, Array, Array, Array]:
    """q, q', q'' and currents as in filterData.m of the set."""
    motion, current = butter(5, 0.15), butter(5, 0.20)
    qd = filtfilt(*motion, run.qd, axis=0)
    qdd = np.zeros_like(qd)
    qdd[1:-1] = (qd[2:] - qd[:-2]) / (run.t[2:] - run.t[:-2])[:, None]
    return run.q, qd, filtfilt(*motion, qdd, axis=0), filtfilt(*current, run.current, axis=0)


class Reference:
    """The method of the set: ordinary least squares of base parameters and friction."""

    def __init__(self, model: dyn.MultibodyModel, run: Run, gains: Array) -> None:
        self._base = idn.base_parameters(model, extra=("rotor",))
        self._model = model
        q, qd, qdd, current = filtered(run)
        W, torque = self._rows(q, qd, qdd), gains * current
        self._x = np.linalg.lstsq(W.reshape(-1, W.shape[-1]), torque.ravel(), rcond=None)[0]

    def _rows(self, q: Array, qd: Array, qdd: Array) -> Array:
        Y = self._base.reduce(
            idn.inverse_dynamics_regressor(self._model, q, qd, qdd, extra=("rotor",)).Y
        )
        friction = [x[..., None] * np.eye(6) for x in (qd, np.sign(qd), np.ones_like(qd))]
        return np.concatenate([Y, *friction], axis=-1)

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Predicted torques (k, 6)."""
        return np.asarray(self._rows(q, qd, qdd) @ self._x)


class Joint:
    """The joint identification of this package."""

    def __init__(self, found: idn.RobotIdentification) -> None:
        self.found = found

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Predicted torques (k, 6)."""
        robot = self.found.robot
        return np.asarray(
            dyn.inverse_dynamics(robot.model, q, qd, qdd).tau + robot.friction.torque(qd)
        )


def measured(name: str, run: Run, payload: idn.CarriedPayload | None = None) -> idn.MeasuredRun:
    """A run for the joint identification."""
    return idn.MeasuredRun(name, RATE, q=run.q, qd=run.qd, current=run.current, payload=payload)


def residuals(folder: Path, methods: list[Reference | Joint]) -> Iterator[tuple[str, list[Array]]]:
    """rms residuals (6,) in N m of each method on each unused run, joints in motion only."""
    for name, samples in JUDGED.items():
        run = read(folder, name, *samples)
        q, qd, qdd, current = filtered(run)
        moving = np.abs(qd) > MOVING
        enough = moving.sum(axis=0) > 100
        found = []
        for method in methods:
            # Of a joint that does not move, there is no residual.
            error = np.where(moving, PUBLISHED * current - method.torque(q, qd, qdd), 0.0)
            found.append(
                np.sqrt((error**2).sum(axis=0) / np.where(enough, moving.sum(axis=0), np.inf))
            )
        yield name, found


def drive_gains(folder: Path, model: dyn.MultibodyModel) -> list[idn.IdentifiedValue]:
    """From one motion without and with the load."""
    runs = [
        measured(name, read(folder, name, first, last), load)
        for (name, first, last), load in (
            (UNLOADED, None), (LOADED, idn.CarriedPayload("load", LOAD))
        )
    ]  # fmt: skip
    found = idn.identify_robot(model, runs)
    return [found.robot.gains[joint]["gain"] for joint in model.joint_names]


def excess(folder: Path, found: idn.RobotIdentification) -> Iterator[tuple[str, float]]:
    """The largest ratio of a residual to its threshold in runs with collisions and in the runs to
    judge on, each of which is left out when its own threshold is learned."""
    robot = found.robot
    model = robot.model.with_reflected_inertia(np.zeros(6))
    motors = [
        dyn.elastic.Motor(
            float(rotor),
            viscous=max(float(robot.friction.viscous[j]), 0.0),
            coulomb=max(float(robot.friction.amplitude[j]) / 2.0, 0.0),
            coulomb_velocity=2.0 / float(robot.friction.steepness[j]),
        )
        for j, rotor in enumerate(robot.model.reflected_inertia)
    ]
    actuators = dyn.elastic.Actuators(
        model.joint_names, tuple(dyn.elastic.Rigid(motor) for motor in motors)
    )
    settings = dyn.control.DetectionSettings(bandwidth=30.0)
    runs = {name: read(folder, name) for name in (*VALIDATION, *COLLISIONS)}
    for name, run in runs.items():
        t, q, tau = _joined([each for other, each in runs.items()
                             if other in VALIDATION and other != name])  # fmt: skip
        learned = dyn.control.learn_thresholds(
            model, actuators, dyn.control.RecordedMotion(t, q, q, tau=tau), settings
        )
        detector = dyn.control.CollisionDetector(model, actuators, learned.thresholds, settings)
        worst = 0.0
        for k, time in enumerate(run.t.tolist()):
            detector.update(time, run.q[k], run.qd[k], PUBLISHED * run.current[k])
            worst = max(worst, float(detector.share.max()))
        yield name, worst


def _joined(runs: list[Run]) -> tuple[Array, Array, Array]:
    """Times, positions and torques of runs one after the other, with gaps between them."""
    begin, times = 0.0, []
    for run in runs:
        times.append(begin + run.t)
        begin = times[-1][-1] + 10.0
    rows = (np.concatenate([getattr(run, name) for run in runs]) for name in ("q", "current"))
    q, current = rows
    return np.concatenate(times), q, PUBLISHED * current


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the csv files")
    parser.add_argument("urdf", type=Path)
    parser.add_argument("--without-collisions", action="store_true")
    options = parser.parse_args()
    model = dyn.load_urdf(options.urdf)
    name, first, last = FITTED
    run = read(options.folder, name, first, last)
    settings = idn.IdentificationSettings(
        gains=dict(zip(model.joint_names, PUBLISHED.tolist(), strict=True))
    )
    found = idn.identify_robot(model, [measured(name, run)], settings=settings)
    methods: list[Reference | Joint] = [Reference(model, run, PUBLISHED), Joint(found)]
    print("rms residuals of unused runs, N m: method of the set | joint identification")
    sums, counts = np.zeros((2, 6)), np.zeros(6)
    for judged, rows in residuals(options.folder, methods):
        print(f"{judged:28}", *("".join(f"{x:8.3f}" for x in row) for row in rows), sep=" |")
        sums += np.square(rows)
        counts += rows[0] > 0.0
    rms = np.sqrt(sums / counts)
    print(f"{'all':28}", *("".join(f"{x:8.3f}" for x in row) for row in rms), sep=" |")
    print("drive gains, N m/A")
    for joint, gain, other in zip(
        model.joint_names, drive_gains(options.folder, model), PUBLISHED, strict=True
    ):
        text = f"{gain.value:.2f} +- {gain.error:.2f}" if gain.determined else "not determined"
        print(f"{joint:28} {text} (published {other:.2f})")
    if not options.without_collisions:
        print("largest residual of the momentum, relative to its threshold")
        for judged, worst in excess(options.folder, found):
            print(f"{judged:28} {worst:.2f}")


if __name__ == "__main__":
    main()
