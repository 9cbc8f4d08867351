# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Load a robot and compute Q, Q' and Q'' along a motion.

    python examples/01_first_steps.py --picture torques.png

Angles in rad, torques in N m, times in s.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"
POINTS = [  # rad
    [0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8],
    [0.8, 0.3, -0.4, -1.2, 0.5, 1.2, 0.0],
    [-0.4, 0.1, 0.6, -2.2, -0.5, 2.4, 1.4],
]


def main(arguments: list[str] | None = None) -> float:
    """Returns the largest difference between Q' and the slope of Q, relative to the peak of Q'."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw Q, Q' and Q'' of every joint")
    options = parser.parse_args(arguments)

    model = dyn.load_urdf(ROBOT)
    print(f"{model.name}: {model.n} joints; model.describe() lists their data")

    # A minimum-jerk motion through the points, at rest at both ends.
    motion = dyn.interpolate(model.joint_names, times=[0.0, 1.0, 2.2], positions=POINTS)
    times = np.linspace(0.0, motion.duration, 2201)
    q, qd, qdd, qddd, qdddd = motion.sample(times).swapaxes(0, 1)  # each (2201, 7)
    torques = dyn.inverse_dynamics(model, q, qd, qdd, qddd, qdddd)

    print(f"{'peak of':<14}{'Q':>10}{'Q_dot':>10}{'Q_ddot':>10}")
    for joint, *peaks in zip(model.joint_names, *np.abs(torques).max(axis=1), strict=True):
        print(f"{joint:<14}" + "".join(f"{peak:10.2f}" for peak in peaks))
    slope = np.gradient(torques.tau, times, axis=0, edge_order=2)
    difference = np.abs(slope - torques.tau_dot).max() / np.abs(torques.tau_dot).max()
    print(f"Q_dot and the slope of Q over 1 ms differ by {difference:.1e}")

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
        labels = ("Q  [N m]", "Q'  [N m/s]", "Q''  [N m/s²]")
        for axis, torque, label in zip(axes, torques, labels, strict=True):
            lines = axis.plot(times, torque)
            axis.set_ylabel(label)
            axis.grid(color="#DDDDDD")
        axes[-1].set_xlabel("time  [s]")
        figure.legend(lines, model.joint_names, loc="outside upper center", ncols=4)
        figure.savefig(options.picture)
    return float(difference)


if __name__ == "__main__":
    main()
