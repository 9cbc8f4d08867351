# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A smooth path of a hand through six poses, on the group SE(3), and the joints that follow it.

    python examples/14_pose_spline.py --picture spline.png

The spline passes exactly through its poses, and its twist, acceleration, jerk and jounce are
continuous, as elastic joints require. Interpolated Euler angles would depend on their convention
and fail where they are singular. Inverse kinematics along the path starts each solution from the
previous one; the first one is found within the joint limits from several starting points.
"""

import argparse
from pathlib import Path

import numpy as np

from multibody_dynamics import dynamics as dyn

ROBOT = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"
HAND = "panda_link7"
TIMES = np.array([0.0, 1.0, 1.8, 2.6, 3.6, 5.0])
COUNT = 501
RATES = ("velocity", "acceleration", "jerk", "jounce")


def poses() -> np.ndarray:
    """Poses around a point in front of the arm; the hand points down, tilted to all sides."""
    down = dyn.so3.exp([np.pi, 0, 0])
    angle = np.linspace(0.0, 2 * np.pi, len(TIMES))
    points = np.stack([0.45 + 0.12 * np.cos(angle), 0.25 * np.sin(angle), 0.4 + 0.02 * angle], 1)
    tilts = 0.6 * np.stack([np.sin(angle), np.cos(angle), angle / 6], axis=1)
    return dyn.se3.from_rotation_translation(dyn.so3.exp(tilts) @ down, points)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the errors of path and joints, m and rad, and the largest step of the joints, rad."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the path, its rates and the joints")
    options = parser.parse_args(arguments)

    robot, corners = dyn.load_urdf(ROBOT), poses()
    path = dyn.tasks.spline(TIMES, corners)
    times = np.linspace(path.start_time, path.end_time, COUNT)
    motion = path.sample(times)  # hybrid: omega and r' in inertial axes
    missed = float(np.abs(path.sample(TIMES).pose - corners).max())
    print(f"the path misses its poses by {missed:.0e}")
    for name, (angular, linear), k in zip(RATES, path.peak_values(), range(1, 5), strict=True):
        print(f"peak {name:<13}{angular:8.2f} rad/s^{k}{linear:8.2f} m/s^{k}")

    found = dyn.tasks.inverse_kinematics(robot, motion.pose, HAND, warm_start=True)
    if not found.success.all():
        raise SystemExit(f"the arm cannot follow: {found.reason[~found.success][0]}")
    steps = np.abs(np.diff(found.q, axis=0)).max()
    off = float(np.abs(dyn.frame_pose(robot, found.q, HAND) - motion.pose).max())
    print(f"joints follow to {off:.0e}, in steps of at most {steps:.3f} rad")
    print(
        f"iterations: {found.iterations[0]} for the first pose, at most"
        f" {found.iterations[1:].max()} for each of the others"
    )

    if options.picture:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(10, 7), layout="constrained")
        space = figure.add_subplot(2, 2, 1, projection="3d")
        space.plot(*motion.pose[:, :3, 3].T, color="k", lw=1)
        for C in motion.pose[::20]:
            for axis, colour in zip(C[:3, :3].T, ("#D55E00", "#009E73", "#0072B2"), strict=True):
                space.plot(*np.transpose([C[:3, 3], C[:3, 3] + 0.05 * axis]), color=colour, lw=1)
        space.plot(*corners[:, :3, 3].T, "ko", ms=4)
        space.locator_params(nbins=4)
        space.set(xlabel="x  [m]", ylabel="y  [m]", zlabel="z  [m]", aspect="equal")
        plots = {
            "joints  [rad]": found.q,
            "omega, r'  [rad/s, m/s]": motion.twist,
            "their third derivatives": motion.jounce,
        }
        for place, (label, rows) in enumerate(plots.items(), start=2):
            axes = figure.add_subplot(2, 2, place)
            axes.plot(times, rows, lw=1)
            for t in TIMES:
                axes.axvline(t, color="#BBBBBB", lw=0.6, zorder=0)
            axes.set(xlabel="time  [s]", ylabel=label)
        figure.savefig(options.picture)
    return {"missed": missed, "off": off, "step": float(steps)}


if __name__ == "__main__":
    main()
