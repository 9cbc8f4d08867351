# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Identify the base parameters of an arm from noisy torques along an exciting motion.

    python examples/08_inertial_parameters.py --picture torques.png

The torques are linear in the masses, first moments and inertias of the links; of the 70 parameters
of 7 links, 43 combinations, the base parameters, have an effect. Least squares, weighted by the
noise, identify them together with the friction of the joints.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"
MIDDLE = [0.0, -0.2, 0.0, -1.6, 0.0, 1.8, 0.0]  # rad
FRICTION = 0.3  # N m s/rad, viscous, at each joint
NOISE = np.array([0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1])  # N m, noise of the torque sensors


def exciting_motion(model: dyn.MultibodyModel, seed: int) -> np.ndarray:
    """q, q' and q'' (3, k, n): 10 s of random sines, sampled at 100 Hz."""
    a, b = np.random.default_rng(seed).uniform(-0.5, 0.5, (2, model.n, 5))  # rad/s
    motion = dyn.motion.sum_of_sines(model.joint_names, MIDDLE, a, b, frequency=0.6, duration=10.0)
    return motion.sample(np.arange(0.0, motion.duration, 0.01))[:, :3].swapaxes(0, 1)


def main(arguments: list[str] | None = None) -> float:
    """Returns the largest rms difference, N m, between predicted and true torques of any joint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw predicted and measured torques")
    options = parser.parse_args(arguments)

    model = dyn.load_urdf(ROBOT)
    base = dyn.identification.base_parameters(model, extra=["viscous"])
    print(
        f"base parameters: {base.rank} of {len(base.parameter_names)} parameters, including "
        f"{model.n} for friction:"
    )
    print("\n".join(base.describe().splitlines()[:3]), "\n...")

    def regressor(state: np.ndarray) -> np.ndarray:
        return base.reduce(
            dyn.identification.inverse_dynamics_regressor(model, *state, extra=["viscous"]).Y
        )

    def torque(state: np.ndarray) -> np.ndarray:
        return dyn.inverse_dynamics(model, *state).tau + FRICTION * state[1]

    state = exciting_motion(model, seed=1)
    measured = torque(state) + NOISE * np.random.default_rng(0).normal(size=state[0].shape)
    W = (regressor(state) / NOISE[:, None]).reshape(-1, base.rank)
    beta = np.linalg.lstsq(W, (measured / NOISE).ravel(), rcond=None)[0]
    print(f"condition number of the motion: {np.linalg.cond(W / np.linalg.norm(W, axis=0)):.0f}")

    other = exciting_motion(model, seed=2)  # not used for the identification
    predicted, true = regressor(other) @ beta, torque(other)
    rms = np.sqrt(((predicted - true) ** 2).mean(axis=0))
    for joint, difference, noise in zip(model.joint_names, rms, NOISE, strict=True):
        print(f"{joint:<14}{difference:8.4f} N m rms error, from sensors with {noise} N m of noise")

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(model.n, figsize=(8, 10), sharex=True, layout="constrained")
        noisy = true + NOISE * np.random.default_rng(5).normal(size=true.shape)
        for axis, joint, tau, prediction in zip(
            axes, model.joint_names, noisy.T, predicted.T, strict=True
        ):
            (dots,) = axis.plot(0.01 * np.arange(len(tau)), tau, ".", ms=2, color="#999999")
            (line,) = axis.plot(0.01 * np.arange(len(tau)), prediction, color="#0072B2")
            axis.set_ylabel(joint.removeprefix("panda_") + "  [N m]")
            axis.grid(color="#DDDDDD")
        axes[-1].set_xlabel("time  [s]")
        figure.legend([dots, line], ["measured", "predicted"], loc="outside upper center", ncols=2)
        figure.savefig(options.picture)
    return float(rms.max())


if __name__ == "__main__":
    main()
