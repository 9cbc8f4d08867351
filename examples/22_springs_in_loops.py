# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A five-bar linkage, a delta robot and a leg, with springs: tracking with Q' and Q'' in loops.

    python examples/22_springs_in_loops.py --picture errors.png

The links move along q(t) if the motor behind a spring of stiffness K is at theta = q + Q/K; its
velocity and its torque need Q' and Q''. Behind loops, Q and its rates come from a solver that
closes the loops in every cycle of 1 kHz; in the leg, a four-bar linkage moves the ankle. After its
motion, the five-bar linkage reaches for a point where its arms no longer meet.
"""

import argparse
from typing import NamedTuple

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

FILES = share_directory() / "config" / "mechanisms"
TIMES = [0.0, 0.25, 0.5, 0.75]  # s
PERIOD = 1e-3  # s, control cycle, and step of the integration
BANDWIDTH = 60.0  # rad/s, of the feedback of the motors
VARIANTS = {"full": "Q, Q', Q''", "quasi_static": "Q only"}


class Task(NamedTuple):
    """What a robot does, in degrees."""

    near: list[float]  # all joints, near a closed pose: it selects how the robot is assembled
    points: list[list[float]]  # of the motors, at TIMES
    too_far: list[float] | None = None  # of the motors


TASKS = {
    "five_bar": Task(
        [110.0, 110.0, 70.0, -110.0],
        [[110.0, 70.0], [135.0, 60.0], [115.0, 40.0], [110.0, 70.0]],
        [170.0, 10.0],
    ),
    "delta": Task(
        [0.0] * 11,
        [[0.0, 0.0, 0.0], [25.0, 0.0, -15.0], [10.0, 30.0, 0.0], [0.0, 0.0, 0.0]],
    ),
    "leg": Task(
        [0.0] * 5,
        [[0.0, -10.0, 0.0], [25.0, -55.0, 20.0], [10.0, -35.0, -15.0], [0.0, -10.0, 0.0]],
    ),
}


class Plant:
    """A robot with its motors: state x (4, motors) with the rows q, q', theta, theta'."""

    def __init__(
        self,
        system: dyn.mechanisms.ConstrainedModel,
        near: np.ndarray,
        actuators: dyn.elastic.Actuators,
    ) -> None:
        self._tree, self._actuators = system.tree, actuators
        self._forward = dyn.mechanisms.ConstrainedForwardDynamicsSolver(
            system, near, independent=system.actuated
        )

    def slope(self, x: np.ndarray, torque: np.ndarray) -> np.ndarray:
        springs = self._actuators.springs(*x)
        qdd = self._forward(x[0], x[1], springs.torque)
        return np.array(
            [x[1], qdd, x[3], self._actuators.motor_acceleration(x[3], springs.load, torque)]
        )

    def step(self, x: np.ndarray, torque: np.ndarray) -> np.ndarray:
        """x after a period under a held torque, by RK4."""
        h = PERIOD
        k1 = self.slope(x, torque)
        k2 = self.slope(x + h / 2 * k1, torque)
        k3 = self.slope(x + h / 2 * k2, torque)
        k4 = self.slope(x + h * k3, torque)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def energy(self, x: np.ndarray) -> float:
        """J, of links, rotors and springs."""
        self._forward(x[0], x[1], np.zeros_like(x[0]))
        q, qd = self._forward.motion[:2]  # of all joints
        links = dyn.rigid.kinetic_energy(self._tree, q, qd)
        links = links + dyn.rigid.potential_energy(self._tree, q)
        rotors = 0.5 * self._actuators.motor_inertia @ x[3] ** 2
        return float(links + rotors + self._actuators.spring_energy(x[0], x[2]).sum())


def track(robot: str, times: np.ndarray) -> dict[str, np.ndarray]:
    """The errors of the motors' joints (k, motors), rad, for each variant of the feedforward."""
    tree = dyn.load_urdf(FILES / f"{robot}.urdf")
    system = dyn.mechanisms.load_mechanism(FILES / f"{robot}.yaml", tree)
    task = TASKS[robot]
    near, points = np.radians(task.near), np.radians(task.points)
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(
        system, near, independent=system.actuated
    )
    actuators = dyn.load_actuators(FILES / f"{robot}.yaml", solver.actuated)
    gains = actuators.motor_inertia * [[BANDWIDTH**2], [2 * BANDWIDTH]]
    plant = Plant(system, near, actuators)

    motion = dyn.interpolate(solver.actuated, times=TIMES, positions=points)
    desired = motion.sample(times)[:, 0]
    # A command is held for one period: use the motion in the middle of that period.
    state, back = motion.sample(times + PERIOD / 2), PERIOD / 2
    feedforward = dyn.elastic.MotorFeedforward(actuators, solver.state, solver.result)
    still = np.zeros((4, len(solver.actuated)))
    solver(points[0], *still)
    rest = still.copy()
    rest[0], rest[2] = points[0], feedforward.update().position

    errors, imbalance = {}, 0.0
    for variant in VARIANTS:
        feedforward = dyn.elastic.MotorFeedforward(
            actuators, solver.state, solver.result, variant=variant
        )
        x, gained, measured = rest, -plant.energy(rest), []
        for rows in state:
            measured.append(x[0])
            solver(*rows)
            theta, speed, rate, torque = feedforward.update()
            # The feedback compares with the beginning of the period, when x was measured.
            lag = theta - back * (speed - back / 2 * rate) - x[2], speed - back * rate - x[3]
            torque = torque + gains[0] * lag[0] + gains[1] * lag[1]
            before, x = x, plant.step(x, torque)
            gained -= float(torque @ (x[2] - before[2]))
            imbalance = max(imbalance, abs(gained + plant.energy(x)))
        errors[variant] = np.array(measured) - desired
    print(f"energy gained less the work of the motors: at most {imbalance:.1e} J")

    if task.too_far is not None:
        try:
            for q in np.linspace(points[-1], np.radians(task.too_far), 1000):
                solver(q, *still)
        except dyn.DynamicsError as error:
            print(error)
    return errors


def main(arguments: list[str] | None = None) -> dict[str, dict[str, float]]:
    """Returns the rms tracking error, rad, for each robot and variant of the feedforward."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the errors over time")
    options = parser.parse_args(arguments)

    times = np.arange(0.0, TIMES[-1] + 0.05, PERIOD)
    errors, rms = {}, {}
    for robot in TASKS:
        errors[robot] = track(robot, times)
        rms[robot] = {v: float(np.sqrt((e**2).mean())) for v, e in errors[robot].items()}
        for variant, text in VARIANTS.items():
            print(f"{robot:<10}{text:<24}{1e3 * rms[robot][variant]:10.6f} mrad rms", end="")
            print(f"{rms[robot][variant] / rms[robot]['full']:12,.0f} times the first")

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(
            1, len(TASKS), figsize=(12, 4), sharey=True, layout="constrained"
        )
        for axis, (robot, found) in zip(axes, errors.items(), strict=True):
            for variant, error in found.items():
                axis.semilogy(times, 1e3 * np.abs(error).max(axis=1), label=VARIANTS[variant])
            axis.set(title=robot, xlabel="time  [s]", ylim=(1e-6, 1e2))
            axis.grid(color="#DDDDDD")
        axes[0].set(ylabel="error, worst joint  [mrad]")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        figure.savefig(options.picture)
    return rms


if __name__ == "__main__":
    main()
