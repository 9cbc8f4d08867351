# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What Q' and Q'' are for: tracking with springs in the joints, with and without these rates.

    python examples/03_elastic_joint_feedforward.py --picture tracking.png

For a link to move along q(t), the motor behind its spring of stiffness K must be at theta = q + Q/K
with the velocity theta' = q' + Q'/K, and exert tau_m = M_m (q'' + Q''/K) + Q + friction(theta').
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

CONFIG = share_directory() / "config"
POINTS = [[0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8], [0.8, 0.3, -0.4, -1.2, 0.5, 1.2, 0.0]]  # rad
PERIOD = 1e-3  # s, control cycle
VARIANTS = {"full": "Q, Q', Q''", "quasi_static": "Q only", "rigid": "as if without springs"}


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the rms tracking error, rad, for each variant of the feedforward."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the errors over time")
    options = parser.parse_args(arguments)

    model = dyn.load_urdf(CONFIG / "robots" / "panda.urdf")
    actuators = dyn.load_actuators(CONFIG / "elastic_joints" / "panda.yaml", model.joint_names)
    drive = dyn.plant.MotorDrive.from_bandwidth(model, actuators, POINTS[0], bandwidth=15.0)  # Hz
    robot = dyn.plant.ElasticRobot(model, actuators, drive=drive)

    motion = dyn.interpolate(model.joint_names, times=[0.0, 1.0], positions=POINTS)
    times = np.arange(0.0, 1.3, PERIOD)
    # A command is held for one period: use the motion in the middle of that period.
    state = motion.sample(times + PERIOD / 2)
    torques = dyn.inverse_dynamics(model, *state.swapaxes(0, 1))
    errors, rms = {}, {}
    for variant, text in VARIANTS.items():
        feedforward = dyn.elastic.MotorFeedforward(actuators, variant=variant)
        robot.reset(POINTS[0])
        measured = []
        for desired, *Q in zip(state, *torques, strict=True):
            feedforward.state[:], feedforward.torque[:] = desired, Q
            theta, speed, _, torque = feedforward.update()
            measured.append(robot.q.copy())
            robot.follow(theta - PERIOD / 2 * speed, speed, torque, PERIOD)
        errors[variant] = measured - motion.sample(times)[:, 0]
        rms[variant] = float(np.sqrt((errors[variant] ** 2).mean()))
        print(f"{text:<24}{1e3 * rms[variant]:10.6f} mrad rms", end="")
        print(f"{rms[variant] / rms['full']:12,.0f} times the first")

    if options.picture:
        from matplotlib import pyplot

        figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
        for variant, error in errors.items():
            axis.semilogy(times, 1e3 * np.abs(error).max(axis=1), label=VARIANTS[variant])
        axis.set(xlabel="time  [s]", ylabel="link error, worst joint  [mrad]", ylim=(1e-6, 1e2))
        axis.grid(color="#DDDDDD")
        figure.legend(loc="outside upper center", ncols=3)
        figure.savefig(options.picture)
    return rms


if __name__ == "__main__":
    main()
