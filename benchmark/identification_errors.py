# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How often the stated intervals of identified parameters contain the true values.

An arm with three joints moves along sums of sines. Two cases contain all kinds of parameters:

    elastic   springs between motors and links; positions of both and currents of the motors are
              measured, in a run without a load and in one with a load of known mass
    rigid     torques of sensors at the joints, with Stribeck friction, friction that depends on the
              load, and a payload of unknown mass; the links are known

Before each identification, all parameters are wrong by 10 to 30 %. Every run has its own noise:
that of 18-bit encoders in the positions, and noise of the torques, white or coloured.
The table contains the share of values within 1.96 standard errors, by kind of parameter, and the
rms of (value - true) / standard error, which should be 0.95 and 1. The springs of the third case
are those of `identify_spring`, with noise of the torque sensor and of both encoders.

    python benchmark/identification_errors.py --runs 200 --keep errors.jsonl

With --keep, every run is appended to a file as soon as it is computed. A benchmark that was
interrupted continues from there, and the table contains all runs of the file.
"""

import argparse
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.recordings.spring_fits import smoothed

Array = NDArray[np.float64]
elastic, idn = dyn.elastic, dyn.identification

FINE, RATE = 2000.0, 500.0  # Hz, of the simulation and of the recordings
PERIOD = 10.0  # s
BAND = 150.0  # Hz, highest frequency of the simulated motion of the motors
WINDOW = 0.03  # s, of the smoothing of springs
ENCODER = 2.0 * np.pi / 2**18 / np.sqrt(12.0)  # rad
NOISE = 0.1  # N m
CASES = ("elastic", "rigid", "spring")
JOINTS = ("base", "shoulder", "elbow")
MASS, COM = 1.2, np.array([0.03, -0.02, 0.08])
GAINS, DELAY = np.array([12.0, 9.0, 7.0]), 2e-3
DAMPING = 1.5  # N m s/rad
STRIBECK, STRIBECK_VELOCITY, LOAD = 0.4, 0.15, 0.05


class Case(NamedTuple):
    """What is known before, runs without noise, settings, and true values by name."""

    model: dyn.MultibodyModel
    actuators: dyn.Actuators | None
    runs: list[idn.MeasuredRun]
    settings: idn.IdentificationSettings
    true: dict[str, float]


def arm(seed: int) -> dyn.MultibodyModel:
    """An arm with a vertical and two horizontal axes; its links have some random asymmetry."""
    rng = np.random.default_rng(seed)
    axes = np.array([[0, 0, 1], [0, 1, 0], [0, 1, 0]], dtype=float)
    points = np.array([[0, 0, 0], [0, 0.1, 0.3], [0.4, 0.1, 0.3]])
    screws = np.concatenate([axes, np.cross(points, axes)], axis=1)
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, :3, 3] = points
    mean = idn.log_cholesky(
        [[m, 0, 0, m * z, *(m * np.array([0.02 + z * z, 0, 0, 0.02 + z * z, 0, 0.01]))]
         for m, z in ((6.0, 0.1), (4.0, 0.15), (2.5, 0.1))]
    )  # fmt: skip
    ten = idn.consistent_parameters(mean + rng.normal(scale=0.05, size=mean.shape))
    drawn = dyn.model_from_screws(
        [-1, 0, 1], screws, poses, np.tile(np.eye(6), (3, 1, 1)), joint_names=JOINTS,
        body_names=tuple(f"{joint}_link" for joint in JOINTS), gravity=(0.0, 0.0, -9.81),
    )  # fmt: skip
    return idn.with_inertial_parameters(drawn, ten.ravel())


def motion(seed: int, rate: float) -> Array:
    """(3, k, n): q, q', q'' of a periodic sum of sines of up to 1.5 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(PERIOD * rate)) / rate
    rows = np.zeros((3, len(t), 3))
    for k in (1, 3, 5, 7, 10, 15):
        w = 2.0 * np.pi * k / PERIOD
        for j, (size, phase) in enumerate(rng.uniform([0.15, 0.0], [0.5, 6.0], (3, 2))):
            for order in range(3):
                angle = w * t + phase + order * np.pi / 2.0
                rows[order, :, j] += size * 2.0 / (2.0 + k**0.8) * w**order * np.sin(angle)
    return rows


def derivative(rows: Array, order: int, advance: float = 0.0) -> Array:
    """A derivative of periodic samples (k, n) at FINE, `advance` s ahead, without what is above
    BAND."""
    f = np.fft.rfftfreq(len(rows), 1.0 / FINE)[:, None]
    shape = (2j * np.pi * f) ** order * np.exp(2j * np.pi * f * advance) * (f < BAND)
    return np.asarray(np.fft.irfft(np.fft.rfft(rows, axis=0) * shape, len(rows), axis=0))


def settled(torque: Array, stiffness: Array, damping: float) -> Array:
    """Periodic deflections (k, n) of linear springs with dampers under torques (k, n) at FINE."""
    f = np.fft.rfftfreq(len(torque), 1.0 / FINE)[:, None]
    shape = (f < BAND) / (stiffness + 2j * np.pi * f * damping)
    return np.asarray(np.fft.irfft(np.fft.rfft(torque, axis=0) * shape, len(torque), axis=0))


def real_motors(known: dyn.Actuators) -> dyn.Actuators:
    """Motors and springs that differ from those known before."""
    found = []
    for k, each in enumerate(known.actuators):
        assert isinstance(each, elastic.SeriesElastic)
        assert isinstance(each.spring, elastic.CubicSpring)
        motor = replace(each.motor, inertia=(1.2, 0.85, 1.15)[k] * each.motor.inertia,
                        viscous=0.8 - 0.2 * k, coulomb=0.7 - 0.1 * k,
                        coulomb_velocity=0.08)  # fmt: skip
        spring = elastic.CubicSpring(1.15 * each.spring.K, 0.8 * each.spring.K3)
        found.append(elastic.SeriesElastic(motor, spring, DAMPING))
    return elastic.Actuators(JOINTS, tuple(found))


def elastic_case(cutoff: float) -> Case:
    """Springs, motors, gains, delays, links and a load of known mass."""
    known = elastic.Actuators(
        JOINTS,
        tuple(
            elastic.SeriesElastic(elastic.Motor(inertia), elastic.CubicSpring(K, 8.0 * K), 1.0)
            for inertia, K in ((0.6, 600.0), (0.5, 500.0), (0.3, 300.0))
        ),
    )
    actuators, real, start = real_motors(known), arm(2), arm(1)
    link = idn.JointFriction.smooth_coulomb(
        [0.4, 0.3, 0.2], [0.3, 0.4, 0.2], [0.2, -0.1, 0.1], 0.15
    )
    every = round(FINE / RATE)
    runs = []
    for seed in range(2):
        rows = motion(seed, FINE)
        carried = real.with_payload("elbow_link", MASS, COM, 4e-3 * np.eye(3)) if seed else real
        Q = dyn.inverse_dynamics(carried, *rows).tau + link.torque(rows[1])
        K, K3 = np.array([(a.spring.K, a.spring.K3) for a in actuators.actuators]).T
        phi = np.zeros_like(Q)
        for _ in range(30):  # K phi + D phi' = Q - K3 phi^3, by frequency
            phi = settled(Q - K3 * phi**3, K, DAMPING)
        theta = rows[0] + phi
        thetad, thetadd = rows[1] + derivative(phi, 1), rows[2] + derivative(phi, 2)
        torque = Q + actuators.friction(thetad)
        torque += thetadd * [motor.inertia for motor in actuators.motors]
        current = derivative(torque, 0, DELAY) / GAINS
        load = idn.CarriedPayload("load", MASS) if seed else None
        runs.append(
            idn.MeasuredRun(
                f"run{seed}", RATE, q=rows[0, ::every], theta=theta[::every],
                current=current[::every], payload=load, start=seed * PERIOD,
            )
        )  # fmt: skip
    true = {"load.com." + axis: float(x) for axis, x in zip("xyz", COM, strict=True)}
    for j, joint in enumerate(JOINTS):
        each = actuators.actuators[j]
        names = ("inertia", "viscous", "coulomb", "coulomb_velocity")
        true |= {f"motor {joint}.{name}": getattr(each.motor, name) for name in names}
        true |= {f"motor {joint}.offset": 0.0, f"{joint}.gain": GAINS[j]}
        true |= {f"{joint}.viscous": link.viscous[j], f"{joint}.offset": link.offset[j]}
        true |= {f"{joint}.coulomb": link.amplitude[j] / 2.0, f"{joint}.coulomb_velocity": 0.15}
        true |= {f"{joint}.stiffness": each.spring.K, f"{joint}.cubic_stiffness": each.spring.K3}
        true |= {f"{joint}.damping": DAMPING, f"{joint}.command": DELAY}
    base = idn.base_parameters(start)
    values = base.values(idn.inertial_parameters(real)).tolist()
    true |= dict(zip(base.describe().splitlines(), values, strict=True))
    return Case(start, known, runs, idn.IdentificationSettings(cutoff=cutoff), true)


def rigid_case(cutoff: float) -> Case:
    """All kinds of friction, and a payload of unknown mass on known links."""
    model = arm(1)
    rows = motion(3, RATE)
    loaded = model.with_payload("elbow_link", MASS, COM, np.diag([4e-3, 5e-3, 3e-3]))
    link = idn.JointFriction.smooth_coulomb(
        [0.8, 0.6, 0.4], [0.7, 0.5, 0.6], [0.2, -0.1, 0.1], 0.06
    )
    Q = dyn.inverse_dynamics(loaded, *rows).tau
    x = rows[1] / STRIBECK_VELOCITY
    Q = Q + link.torque(rows[1]) + STRIBECK * np.sqrt(2.0 * np.e) * x * np.exp(-(x**2))
    Q += LOAD * np.abs(dyn.inverse_dynamics(loaded, *rows).tau) * np.tanh(rows[1] / 0.06)
    run = idn.MeasuredRun("run", RATE, q=rows[0], sensor=Q, payload=idn.CarriedPayload("payload"))
    settings = idn.IdentificationSettings(
        cutoff=cutoff, links=False, delays=False, stribeck=True, load_friction=True
    )
    true = {"payload.mass": MASS}
    true |= {"payload.com." + axis: float(x) for axis, x in zip("xyz", COM, strict=True)}
    sizes = {"ixx": 4e-3, "iyy": 5e-3, "izz": 3e-3}
    true |= {
        f"payload.inertia.{name}": sizes.get(name, 0.0)
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    }
    for j, joint in enumerate(JOINTS):
        true |= {f"{joint}.viscous": link.viscous[j], f"{joint}.offset": link.offset[j]}
        true |= {f"{joint}.coulomb": link.amplitude[j] / 2.0, f"{joint}.coulomb_velocity": 0.06}
        true |= {f"{joint}.stribeck": STRIBECK, f"{joint}.stribeck_velocity": STRIBECK_VELOCITY}
        true |= {f"{joint}.load": LOAD}
    return Case(model, None, [run], settings, true)


def noise(rng: np.random.Generator, shape: tuple[int, ...], time: float, rate: float) -> Array:
    """Noise of unit variance with a correlation time in s; white if it is zero."""
    keep = np.exp(-1.0 / (rate * time)) if time > 0.0 else 0.0
    start = int(10.0 * time * rate)
    white = rng.normal(size=(shape[0] + start, *shape[1:]))
    return np.asarray(np.sqrt(1.0 - keep**2) * lfilter([1.0], [1.0, -keep], white, axis=0)[start:])


def noisy(run: idn.MeasuredRun, rng: np.random.Generator, time: float) -> idn.MeasuredRun:
    """The run with noise of encoders and torques."""
    changed = {}
    for name, size in (("q", ENCODER), ("theta", ENCODER), ("sensor", NOISE)):
        rows = getattr(run, name)
        if rows is not None:
            white = 0.0 if name != "sensor" else time
            changed[name] = rows + size * noise(rng, rows.shape, white, RATE)
    if run.current is not None:
        changed["current"] = run.current + NOISE / GAINS * noise(rng, run.current.shape, time, RATE)
    return replace(run, **changed)


def deviations(
    name: str, cutoff: float, time: float, run: int, *, spectral: bool = False
) -> dict[str, float]:
    """(value - true) / standard error of every parameter of a run; NaN if not determined."""
    case = case_of(name, cutoff)
    rng = np.random.default_rng(1000 + run)
    found = idn.identify_robot(
        case.model,
        [noisy(each, rng, time) for each in case.runs],
        case.actuators,
        settings=case.settings._replace(spectral=spectral),
    )
    estimates = {**found.robot.estimates(), **found.combinations}
    return {
        key: (estimates[key].value - value) / estimates[key].error
        for key, value in case.true.items()
    }


@cache
def case_of(name: str, cutoff: float) -> Case:
    return (elastic_case if name == "elastic" else rigid_case)(cutoff)


def kind_of(name: str) -> str:
    """The kind of a parameter by its name."""
    if "_link." in name:
        return "base parameters"
    side = "motor " if name.startswith("motor") else ""
    owner, _, kind = name.removeprefix("motor ").partition(".")
    kind = kind.partition(".")[0]
    return f"{owner} {kind}" if owner in ("load", "payload") else side + kind


def spring_deviations(time: float, run: int) -> dict[str, float]:
    """The same for a cubic spring with damper and sensor bias, with samples smoothed as by
    `multibody_dynamics identify-springs`."""
    t = np.arange(0.0, 22.0, 1.0 / RATE)
    phi = 0.05 * np.sin(3 * t) + 0.02 * np.sin(11 * t + 1)
    true = {"K": 300.0, "K3": 4e4, "damping": 2.0, "bias": 0.2}
    phid = 0.15 * np.cos(3 * t) + 0.22 * np.cos(11 * t + 1)
    Q = 300 * phi + 4e4 * phi**3 + 2.0 * phid + 0.2
    rng = np.random.default_rng(5000 + run)
    sensed = Q + 0.1 * noise(rng, (len(t), 1), time, RATE)[:, 0]
    measured = phi + np.sqrt(2.0) * ENCODER * rng.normal(size=len(t))
    smooth, rates, _ = smoothed(t, np.stack([measured, sensed], axis=1), WINDOW)
    fit = idn.identify_spring(*smooth.T, rates[:, 0], law="cubic", damping=True)
    return {p.name: (p.value - true[p.name]) / p.error for p in fit.parameters}


class Job(NamedTuple):
    """One run: case, cut-off in Hz (0 for springs), correlation time in s, seed, weights."""

    case: str
    cutoff: float
    time: float
    run: int
    spectral: bool

    def deviations(self) -> dict[str, float]:
        if self.case == "spring":
            return spring_deviations(self.time, self.run)
        return deviations(self.case, self.cutoff, self.time, self.run, spectral=self.spectral)


def computed(job: Job) -> tuple[Job, dict[str, float]]:
    return job, job.deviations()


def kept(file: Path | None) -> dict[Job, dict[str, float]]:
    """The runs in a file of --keep; none without it."""
    if file is None or not file.is_file():
        return {}
    written = file.read_text()
    complete = written[: written.rfind("\n") + 1]  # the last line may have been interrupted
    if complete != written:
        file.write_text(complete)
    rows = (json.loads(line) for line in complete.splitlines())
    return {Job(*job): {k: np.nan if z is None else z for k, z in z_of.items()}
            for job, z_of in rows}  # fmt: skip


def all_runs(jobs: list[Job], file: Path | None, workers: int) -> dict[Job, dict[str, float]]:
    """The deviations of the runs in the file, followed by those of the other jobs."""
    found = kept(file)
    wanted = [job for job in jobs if job not in found]
    with ProcessPoolExecutor(workers) as executor:
        for job, z_of in executor.map(computed, wanted):
            found[job] = z_of
            if file is not None:
                plain = {k: z if np.isfinite(z) else None for k, z in z_of.items()}
                with file.open("a") as rows:
                    rows.write(json.dumps([job, plain]) + "\n")
    return found


def summarised(
    found: Iterable[dict[str, float]], group: Callable[[str], str]
) -> dict[str, tuple[float, float, float, int]]:
    """Coverage, rms, share determined, and number of values, by kind of parameter."""
    groups: dict[str, list[float]] = {}
    for each in found:
        for name, value in each.items():
            groups.setdefault(group(name), []).append(value)
    result = {}
    for name, values in groups.items():
        z = np.array(values)
        known = z[np.isfinite(z)]
        inside = float(np.mean(np.abs(known) < 1.96)) if len(known) else float("nan")
        spread = float(np.sqrt(np.mean(known**2))) if len(known) else float("nan")
        result[name] = inside, spread, len(known) / len(z), len(known)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--cutoffs", type=float, nargs="+", default=[5.0, 15.0, 40.0], help="Hz")
    parser.add_argument("--correlation-times", type=float, nargs="+", default=[0.0, 0.1], help="s")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--spectral", action="store_true", help="weights by spectra of residuals")
    parser.add_argument("--keep", type=Path, help="file of all runs, to continue later")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    options = parser.parse_args()
    jobs = [
        Job(name, cutoff, time, run, options.spectral)
        for run in range(options.first, options.first + options.runs)
        for name in options.cases
        for time in options.correlation_times
        for cutoff in (options.cutoffs if name != "spring" else [0.0])
    ]
    found = all_runs(jobs, options.keep, options.workers)
    print("| case | cut-off, Hz | correlation time, s | runs | parameter | coverage | rms "
          "| determined |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for key in dict.fromkeys((job.case, job.cutoff, job.time, job.spectral) for job in found):
        own = [z for job, z in found.items() if (*job[:3], job.spectral) == key]
        rows = summarised(own, str if key[0] == "spring" else kind_of)
        for kind, (inside, spread, share, _) in rows.items():
            print(
                f"| {key[0]} | {key[1]:g} | {key[2]:g} | {len(own)} | {kind} | {inside:.1%} "
                f"| {spread:.2f} | {share:.0%} |"
            )


if __name__ == "__main__":
    main()
