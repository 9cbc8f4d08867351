"""How often the stated intervals of identified parameters contain the true values.

A Panda moves along sums of five sines. White noise, or noise with a correlation time, is added to
its torques, which include friction and a payload, and the noise of 18-bit encoders to its
positions. States and torques pass the same filters as in `multibody_dynamics validate --identify`.
Each run has its own noise; the table contains the share of values within 1.96 standard errors, by
kind of parameter, and the standard deviation of (value - true) / standard error, which should be
0.95 and 1. The springs are those of `identify_spring` with noise of the torque sensor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.recordings.spring_fits import smoothed

Array = NDArray[np.float64]
idn = dyn.identification

RATE = 500.0  # Hz
WINDOW = 0.03  # s, of the smoothing of springs
ENCODER = 2.0 * np.pi / 2**18 / np.sqrt(12.0)  # rad
NOISE = 0.1  # N m
KINDS = (("friction",), ("payload", "friction"), ("inertia", "friction"))
INERTIAL = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


class Robot(NamedTuple):
    """A model with wrong parameters, its motion (3, k, n), its torques, and the true parameters."""

    model: dyn.MultibodyModel
    motion: Array
    torque: Array
    true: dict[str, float]


def motion(model: dyn.MultibodyModel, duration: float) -> Array:
    """(3, k, n): five sines of up to 0.5 Hz for each joint."""
    rng = np.random.default_rng(7)
    t = np.arange(int(duration * RATE)) / RATE
    rows = np.zeros((3, len(t), model.n))
    for k in range(1, 6):
        w = 0.2 * np.pi * k
        for j, (size, phase) in enumerate(rng.uniform([0.1, 0.0], [0.5, 6.0], (model.n, 2))):
            for order in range(3):
                angle = w * t + phase + order * np.pi / 2.0
                rows[order, :, j] += size / k**0.5 * w**order * np.sin(angle)
    rows[0] += (model.limits.lower + model.limits.upper) / 2.0
    return rows


def robot(kinds: tuple[str, ...], duration: float) -> Robot:
    """A robot whose parameters of these kinds differ from those of the model."""
    rng = np.random.default_rng(1)
    model = dyn.load_urdf("config/robots/panda.urdf")
    real, true = model, {}
    if "payload" in kinds:
        body = model.body_names[-1]
        real = model.with_payload(body, 1.2, [0.03, -0.02, 0.08], np.diag([4e-3, 5e-3, 3e-3]))
        ten = (idn.inertial_parameters(real) - idn.inertial_parameters(model))[-10:]
        true.update(zip((f"{body}.{name}" for name in INERTIAL), ten.tolist(), strict=True))
    if "inertia" in kinds:
        bodies = idn.nearest_consistent(idn.inertial_parameters(model).reshape(-1, 10))
        theta = idn.log_cholesky(bodies) + rng.normal(scale=0.15, size=bodies.shape)
        parameters = idn.consistent_parameters(theta).ravel()
        real = idn.with_inertial_parameters(model, parameters)
        base = idn.base_parameters(model)
        values = base.values(parameters).tolist()
        true.update(zip(base.describe().splitlines(), values, strict=True))
    friction = rng.uniform(0.2, 1.0, (3, model.n))
    for kind, row in zip(("viscous", "coulomb", "offset"), friction, strict=True):
        names = (f"{joint}.{kind}" for joint in model.joint_names)
        true.update(zip(names, row.tolist(), strict=True))
    rows = motion(model, duration)
    torque = dyn.inverse_dynamics(real, *rows).tau
    torque += idn.JointFriction.smooth_coulomb(*friction).torque(rows[1])
    return Robot(model, rows, torque, true)


def noise(rng: np.random.Generator, shape: tuple[int, ...], time: float, rate: float) -> Array:
    """Noise of unit variance with a correlation time in s; white if it is zero."""
    keep = np.exp(-1.0 / (rate * time)) if time > 0.0 else 0.0
    start = int(10.0 * time * rate)
    white = rng.normal(size=(shape[0] + start, *shape[1:]))
    return np.asarray(np.sqrt(1.0 - keep**2) * lfilter([1.0], [1.0, -keep], white, axis=0)[start:])


def deviations(
    arm: Robot, kinds: tuple[str, ...], cutoff: float, time: float, runs: int
) -> Iterator[dict[str, float]]:
    """(value - true) / standard error of every parameter of each run; NaN if not determined."""
    wide = min(2.0 * cutoff, idn.HIGHEST * RATE)
    step = max(int(RATE / max(250.0, 10.0 * cutoff)), 1)
    place, effort = idn.ZeroPhaseFilter(RATE, wide, 3), idn.ZeroPhaseFilter(RATE, wide, 1)
    for run in range(runs):
        rng = np.random.default_rng(1000 + run)
        position = arm.motion[0] + rng.normal(scale=ENCODER, size=arm.torque.shape)
        torque = arm.torque + NOISE * noise(rng, arm.torque.shape, time, RATE)
        found = idn.identify_parameters(
            arm.model,
            *place(position, step=step),
            effort(torque, step=step)[0],
            kinds=kinds,
            rate=RATE / step,
            cutoff=cutoff,
        )
        estimates = {**found.estimates, **found.combinations}
        yield {
            name: (estimates[name].value - true) / estimates[name].error
            for name, true in arm.true.items()
        }


def joint_deviations(
    arm: Robot, kinds: tuple[str, ...], cutoff: float, time: float, runs: int
) -> Iterator[dict[str, float]]:
    """The same for `identify_robot`, with the positions and torques themselves."""
    load = idn.CarriedPayload("load") if "payload" in kinds else None
    settings = idn.IdentificationSettings(
        cutoff=cutoff, links="inertia" in kinds, delays=False, robust=False, spectral=True
    )
    body = arm.model.body_names[-1]
    true = {name: value for name, value in arm.true.items() if not name.startswith(f"{body}.")}
    if load is not None:
        true["load.mass"] = mass = arm.true[f"{body}.mass"]
        com = [arm.true[f"{body}.m{axis}"] / mass for axis in "xyz"]
        true.update(zip((f"load.com.{axis}" for axis in "xyz"), com, strict=True))
    if "friction" in kinds:
        true.update({f"{joint}.coulomb_velocity": 0.05 for joint in arm.model.joint_names})
    for run in range(runs):
        rng = np.random.default_rng(1000 + run)
        position = arm.motion[0] + rng.normal(scale=ENCODER, size=arm.torque.shape)
        torque = arm.torque + NOISE * noise(rng, arm.torque.shape, time, RATE)
        recorded = idn.MeasuredRun("run", RATE, q=position, sensor=torque, payload=load)
        found = idn.identify_robot(arm.model, [recorded], settings=settings)
        estimates = {**found.robot.estimates(), **found.combinations}
        yield {
            name: (estimates[name].value - value) / estimates[name].error
            for name, value in true.items()
        }


def kind_of(name: str) -> str:
    """The kind of a parameter by its name."""
    kind = name.split(".")[1]
    if kind in ("coulomb_velocity", "com"):
        return kind
    if kind in ("viscous", "coulomb", "offset"):
        return kind
    return "mass" if kind == "mass" else "m c" if kind in ("mx", "my", "mz") else "I"


def base_kind(name: str) -> str:
    """The same if the inertial parameters are base parameters."""
    kind = kind_of(name)
    return (
        kind if kind in ("viscous", "coulomb", "offset", "coulomb_velocity") else "base parameters"
    )


def spring_deviations(time: float, runs: int) -> Iterator[dict[str, float]]:
    """The same for a cubic spring with damper and sensor bias, with samples smoothed as by
    `multibody_dynamics identify-springs`."""
    rate = 500.0
    t = np.arange(0.0, 22.0, 1.0 / rate)
    phi = 0.05 * np.sin(3 * t) + 0.02 * np.sin(11 * t + 1)
    true = {"K": 300.0, "K3": 4e4, "damping": 2.0, "bias": 0.2}
    phid = 0.15 * np.cos(3 * t) + 0.22 * np.cos(11 * t + 1)
    Q = 300 * phi + 4e4 * phi**3 + 2.0 * phid + 0.2
    for run in range(runs):
        rng = np.random.default_rng(5000 + run)
        sensed = Q + 0.1 * noise(rng, (len(t), 1), time, rate)[:, 0]
        smooth, rates, _ = smoothed(t, np.stack([phi, sensed], axis=1), WINDOW)
        fit = idn.identify_spring(*smooth.T, rates[:, 0], law="cubic", damping=True)
        yield {p.name: (p.value - true[p.name]) / p.error for p in fit.parameters}


def summarised(
    found: Iterator[dict[str, float]], group: Callable[[str], str]
) -> dict[str, tuple[float, float, float]]:
    """Coverage, standard deviation and share determined, by kind of parameter."""
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
        result[name] = inside, spread, len(known) / len(z)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument(
        "--duration", type=float, default=30.0, help="length of each recording in s"
    )
    parser.add_argument("--cutoffs", type=float, nargs="+", default=[5.0, 15.0, 40.0], help="Hz")
    parser.add_argument("--correlation-times", type=float, nargs="+", default=[0.0, 0.1], help="s")
    parser.add_argument(
        "--kinds", nargs="+", default=[",".join(each) for each in KINDS] + ["spring"]
    )
    parser.add_argument("--joint", action="store_true", help="with identify_robot")
    options = parser.parse_args()
    print(
        "| kinds | cut-off, Hz | correlation time, s | parameter | coverage | rms z | determined |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for text in options.kinds:
        kinds = tuple(text.split(","))
        arm = None if text == "spring" else robot(kinds, options.duration)
        for time in options.correlation_times:
            for cutoff in options.cutoffs:
                if arm is None:
                    if cutoff != options.cutoffs[0]:  # springs have no cut-off
                        continue
                    rows = summarised(spring_deviations(time, options.runs), str)
                else:
                    method = joint_deviations if options.joint else deviations
                    found = method(arm, kinds, cutoff, time, options.runs)
                    rows = summarised(found, base_kind if "inertia" in kinds else kind_of)
                for name, (inside, spread, share) in rows.items():
                    print(
                        f"| {text} | {f'{cutoff:g}' if arm else '-'} | {time:g} | {name} "
                        f"| {inside:.1%} | {spread:.2f} | {share:.0%} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
