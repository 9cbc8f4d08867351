"""Cost per joint in chains of up to 1000 joints: O(n)."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import harness
import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn

SIZES = (7, 15, 30, 60, 125, 250, 500, 1000)
PINOCCHIO = 250  # joints; beyond this, its workspace takes many gigabytes
COLUMNS = ("Q", "Q, Q', Q''", "q''", "pin.rnea", "pin.aba")
BODY = 1.0, np.array([0.05, 0.01, 0.02]), np.diag([0.01, 0.02, 0.015])


def chain(n: int) -> dyn.MultibodyModel:
    """n revolute joints with axes x, y, z alternately, about 10 cm apart."""
    points = np.arange(n)[:, None] * np.array([0.1, 0.0, 0.02])
    screws = [dyn.revolute(np.eye(3)[i % 3], points[i]) for i in range(n)]
    poses = dyn.se3.from_rotation_translation(np.eye(3), points)
    return dyn.model_from_screws(range(-1, n - 1), screws, poses, [dyn.spatial_inertia(*BODY)] * n)


def pinocchio_chain(model: dyn.MultibodyModel) -> pin.Model:
    """The same chain for Pinocchio."""
    robot = pin.Model()
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i, pose in enumerate(model.poses):
        before = model.poses[i - 1] if i else np.eye(4)
        placement = pin.SE3(np.eye(3), pose[:3, 3] - before[:3, 3])
        joint = robot.addJoint(i, kinds[i % 3](), placement, model.joint_names[i])
        robot.appendBodyToJoint(joint, pin.Inertia(*BODY), pin.SE3.Identity())
    robot.gravity.linear[:] = model.gravity
    return robot


def blocks(n: int) -> dict[str, Callable[[], object]]:
    model = chain(n)
    state = np.random.default_rng(1).normal(scale=0.1, size=(5, n))
    inverse = dyn.InverseDynamicsSolver(model, "body")
    forward = dyn.ForwardDynamicsSolver(model)
    inverse.state[:] = state
    inverse.update()
    tau = inverse.result[0].copy()
    forward.state[:], forward.torque[:] = state[:2], tau
    forward.update()
    harness.require(f"q'' of {n} joints", forward.result[0], state[2], 1e-6)
    arguments = list(inverse.update.args)
    arguments[3] = 0
    found = {
        "Q": partial(inverse.update.func, *arguments),
        "Q, Q', Q''": inverse.update,
        "q''": forward.update,
    }
    if n <= PINOCCHIO:
        robot = pinocchio_chain(model)
        data = robot.createData()
        harness.require(f"Q of {n} joints", tau, pin.rnea(robot, data, *state[:3]))
        found["pin.rnea"] = partial(pin.rnea, robot, data, *state[:3])
        found["pin.aba"] = partial(pin.aba, robot, data, *state[:2], tau)
    return found


def run(options: argparse.Namespace) -> None:
    print("\ncost per joint in a chain of n, called from Python; us per joint, medians\n")
    print(f"{'n':>6}" + "".join(f"{name:>12}" for name in COLUMNS))
    for n in SIZES:
        calls = max(2000 // n, 3)
        looped = {name: harness.loop(block, calls) for name, block in blocks(n).items()}
        times = harness.measure(looped, max(options.blocks // 10, 5), calls)
        cells = [
            f"{statistics.median(times[name]) / n:12.3f}" if name in times else f"{'-':>12}"
            for name in COLUMNS
        ]
        print(f"{n:6}" + "".join(cells))


if __name__ == "__main__":
    harness.main(run, __doc__)
