# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Calibrate an arm that was built a little differently from its drawings, from measured poses.

    python examples/07_kinematic_calibration.py --picture calibration.png

Error screws displace each joint and the flange; 4 * 7 + 6 screws are necessary and sufficient to
describe all errors of an arm with 7 revolute joints.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"
FLANGE = "panda_link8"
BUILT = 1e-3  # rad and m, errors of the real arm
NOISE = (1e-4, 5e-5)  # rad and m, noise of a laser tracker


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the rms position error, m, of the arm as drawn and as calibrated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the errors before and after")
    options = parser.parse_args(arguments)

    drawn = dyn.load_urdf(ROBOT)
    rng = np.random.default_rng(3)
    every = dyn.identification.joint_errors(drawn, independent=False)
    real = dyn.identification.perturbed_model(
        drawn, every, rng.normal(scale=BUILT, size=len(every))
    )

    # The poses of the real arm are measured; half of them are kept for the test.
    q = rng.uniform(drawn.limits.lower, drawn.limits.upper, (80, drawn.n))
    poses = dyn.frame_pose(real, q, FLANGE)
    noise = rng.normal(size=(80, 6)) * np.repeat(NOISE, 3)
    measured = poses @ dyn.se3.exp(noise)

    errors = dyn.identification.joint_errors(drawn) + dyn.identification.frame_errors(drawn, FLANGE)
    found = dyn.identification.calibrate(drawn, errors, q[:40], measured[:40], FLANGE, noise=NOISE)
    print(f"{found.rank} of {len(errors)} parameters identified from 40 poses")
    for error, value in zip(errors[:4], found.values, strict=False):
        print(f"  {error.name:<18}{1e3 * value:8.3f} m{error.unit}")

    misses, rms = {}, {}
    for name, model in {"as drawn": drawn, "calibrated": found.model}.items():
        away = (dyn.frame_pose(model, q[40:], FLANGE) - poses[40:])[:, :3, 3]
        misses[name] = np.linalg.norm(away, axis=1)
        rms[name] = float(np.sqrt((misses[name] ** 2).mean()))
        print(f"{name:<12}{1e3 * rms[name]:8.3f} mm rms in 40 other poses")

    if options.picture:
        from matplotlib import pyplot

        figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
        for (name, miss), mark in zip(misses.items(), "so", strict=True):
            axis.semilogy(1e3 * miss, mark, label=name)
        axis.set(xlabel="pose", ylabel="position error of the flange  [mm]")
        axis.grid(color="#DDDDDD")
        figure.legend(loc="outside upper center", ncols=2)
        figure.savefig(options.picture)
    return rms


if __name__ == "__main__":
    main()
