# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A hand on a circle and out of reach: joint motion to the fourth derivative, and Q, Q' and Q''.

    python examples/15_task_space.py --picture task_space.png

The motion of a Panda's hand is given by pose, twist, acceleration, jerk and jounce. On the circle,
the redundant degree of freedom keeps the arm near its posture; when the arm is stretched, damping
makes the hand lag smoothly.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from multibody_dynamics import dynamics as dyn

ROBOT = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
HAND = dyn.tasks.Task("panda_link8", offset=dyn.se3.exp([0, 0, 0, 0, 0, 0.1]))
STEP, PERIOD = 0.001, 2.0  # s
OMEGA = 2 * np.pi / PERIOD

Motion = Callable[[float], dyn.tasks.TaskMotion]


def circle(start: np.ndarray, t: float) -> dyn.tasks.TaskMotion:
    """A circle of 10 cm in the plane y-z at constant speed, without rotation of the hand."""
    phases = OMEGA * t + np.pi / 2 * np.arange(5)  # orders of the derivatives
    rows = (
        0.1
        * OMEGA ** np.arange(5)[:, None]
        * np.stack([0 * phases, np.sin(phases), np.cos(phases)], axis=1)
    )
    return moved(start, rows - 0.1 * np.outer([1, 0, 0, 0, 0], [0, 0, 1]))


def out_and_back(start: np.ndarray, t: float) -> dyn.tasks.TaskMotion:
    """Half a metre outwards, beyond the reach of the arm, and back."""
    phases = OMEGA * t + np.pi / 2 * np.arange(5)
    way = -0.25 * OMEGA ** np.arange(5) * np.cos(phases)
    way[0] += 0.25
    return moved(start, np.outer(way, [0.8, 0.2, 0.3]))


def moved(start: np.ndarray, rows: np.ndarray) -> dyn.tasks.TaskMotion:
    """The motion of the hand with a displacement (5, 3), derivatives included, from the start."""
    pose = start.copy()
    pose[:3, 3] += rows[0]
    return dyn.tasks.TaskMotion(pose, *np.concatenate([np.zeros((4, 3)), rows[1:]], axis=1))


def run(solver: dyn.tasks.TaskSpaceSolver, motion: Motion) -> dict[str, np.ndarray]:
    """One period in cycles of `STEP`: joint motion, torques, and errors of the hand."""
    record: dict[str, list] = {"state": [], "torques": [], "missing": [], "wanted": []}
    solver.start(motion(0.0), READY)
    for k in range(round(PERIOD / STEP)):
        target = motion(k * STEP)
        record["state"].append(solver.follow(target, STEP if k else 0.0).copy())
        record["torques"].append(solver.torques.copy())
        record["missing"].append(solver.missing.copy())
        record["wanted"].append(target.pose[:3, 3])
    result = {name: np.array(rows) for name, rows in record.items()}
    reached = dyn.tasks.task_motion(solver.model, HAND, result["state"][:, 0]).pose[:, :3, 3]
    return result | {"off": np.linalg.norm(result["wanted"] - reached, axis=-1)}


def slope_error(rows: np.ndarray) -> float:
    """How far each derivative in (k, 5, n) is from the slope of the one before."""
    slopes = (rows[2:, :-1] - rows[:-2, :-1]) / (2 * STEP)
    difference = np.abs(slopes - rows[1:-1, 1:]).max(axis=(0, 2))
    return float((difference / np.abs(rows[:, 1:]).max(axis=(0, 2))).max())


def main(arguments: list[str] | None = None) -> dict[str, dict[str, np.ndarray]]:
    """Returns the results on the circle and out of reach."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the way out of reach and back")
    options = parser.parse_args(arguments)

    model = dyn.load_urdf(ROBOT)
    start = dyn.tasks.task_motion(model, HAND, READY).pose
    keep = dyn.tasks.RedundancyResolution(posture=READY, posture_gain=2.0)
    yielding = dyn.tasks.RedundancyResolution(
        posture=READY, posture_gain=2.0, damping=dyn.tasks.Damping(0.04), feedback=10.0
    )
    results = {}
    for name, resolution, motion in (
        ("circle", keep, lambda t: circle(start, t)),
        ("out of reach", yielding, lambda t: out_and_back(start, t)),
    ):
        solver = dyn.tasks.TaskSpaceSolver(model, HAND, resolution)
        results[name] = r = run(solver, motion)
        peaks = np.abs(r["torques"]).max(axis=(0, 2))
        print(name)
        print(
            f"  error of the hand: at most {r['off'].max():.1e} m, {r['off'][-1]:.1e} m at the end"
        )
        print("  peaks of q' to q''''   " + "".join(f"{x:12.2f}" for x in
              np.abs(r["state"]).max(axis=(0, 2))[1:]))  # fmt: skip
        print("  peaks of Q, Q', Q''    " + "".join(f"{x:12.1f}" for x in peaks))
        print(f"  missing in the twist   {np.abs(r['missing'][:, 0]).max():12.3f}")
        print(f"  derivatives match the slopes to {slope_error(r['state']):.0e}")

    if options.picture:
        from matplotlib import pyplot

        r, times = results["out of reach"], STEP * np.arange(round(PERIOD / STEP))
        figure, axes = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
        axes[0].plot(times, 1000 * r["off"], "#D55E00")
        axes[0].set(ylabel="hand behind  [mm]")
        axes[1].plot(times, r["state"][:, 3])
        axes[1].set(ylabel="q'''  [rad/s³]")
        axes[2].plot(times, r["torques"][:, 1])
        axes[2].set(ylabel="Q'  [N m/s]", xlabel="time  [s]", xlim=(0, PERIOD))
        for plot in axes:
            plot.grid(color="#DDDDDD")
        figure.savefig(options.picture)
    return results


if __name__ == "__main__":
    main()
