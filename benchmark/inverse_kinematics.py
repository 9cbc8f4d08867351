# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics of three arms for random reachable poses: success rate, accuracy and speed.

This package is compared with a closed loop (CLIK) taken from Pinocchio's documentation, with the
same random initial configurations, and with ikpy and pink if installed (`pip install ikpy pin-pink
daqp`). All solvers get the same poses and start at the middle of the joint ranges. A solution
within the limits and within 1e-6 m and rad of the pose is a success.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.records import PLACEMENT

Solve = Callable[[np.ndarray], np.ndarray]

HALF = np.pi / 2
BODY = dyn.spatial_inertia(1.0, (0, 0, 0), np.eye(3))
POSES, SLOW = 1000, 50  # number of poses; for slow solvers
RESTARTS = 20  # of the closed loop with Pinocchio
# modified Denavit-Hartenberg rows (alpha, a, d) and joint ranges
ARMS = {
    "UR5": (
        [(0, 0, 0.089159), (HALF, 0, 0), (0, -0.425, 0), (0, -0.39225, 0.10915),
         (HALF, 0, 0.09465), (-HALF, 0, 0.0823)],
        np.pi * np.array([2, 2, 1, 2, 2, 2]),
    ),
    "LBR iiwa 14": (
        [(0, 0, 0.36), (-HALF, 0, 0), (HALF, 0, 0.42), (HALF, 0, 0), (-HALF, 0, 0.4),
         (-HALF, 0, 0), (HALF, 0, 0.126)],
        np.radians([170, 120, 170, 120, 170, 120, 175]),
    ),
}  # fmt: skip


def arm(name: str) -> dyn.MultibodyModel:
    rows, limits = ARMS[name]
    poses, C = [], np.eye(4)
    for alpha, a, d in rows:
        C = C @ dyn.se3.exp([alpha, 0, 0, 0, 0, 0]) @ dyn.se3.exp([0, 0, 0, a, 0, d])
        poses.append(C)
    free = np.full(len(rows), np.inf)
    return dyn.model_from_screws(
        range(-1, len(rows) - 1),
        [dyn.revolute(C[:3, 2], C[:3, 3]) for C in poses],
        poses,
        [BODY] * len(rows),
        limits=dyn.model.JointLimits(-limits, limits, free, free),
        name=name,
    )


def twin(model: dyn.MultibodyModel) -> pin.Model:
    """The same chain for Pinocchio, with a frame "tool" at our last body."""
    robot = pin.Model()
    joint = 0
    for i, row in enumerate(model.joint_rows):
        at = pin.SE3(row[PLACEMENT : PLACEMENT + 9].reshape(3, 3), row[PLACEMENT + 9 :][:3])
        joint = robot.addJoint(joint, pin.JointModelRZ(), at, model.joint_names[i])
        robot.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    tool = pin.SE3(model.body_in_joint[-1])
    robot.addFrame(pin.Frame("tool", joint, 0, tool, pin.FrameType.BODY))
    robot.lowerPositionLimit, robot.upperPositionLimit = map(np.array, model.limits[:2])
    robot.velocityLimit = np.full(model.n, 10.0)
    return robot


def pinocchio_loop(robot: pin.Model, starts: np.ndarray) -> Solve:
    """Damped steps with the Jacobian of log6, clipped to the limits, from one start after
    another."""
    data, frame = robot.createData(), robot.getFrameId("tool")
    lower, upper = robot.lowerPositionLimit, robot.upperPositionLimit

    def solve(target: np.ndarray) -> np.ndarray:
        goal = pin.SE3(target)
        for q in starts:
            for _ in range(100):
                pin.framesForwardKinematics(robot, data, q)
                to_goal = data.oMf[frame].actInv(goal)
                error = pin.log(to_goal).vector
                if np.abs(error).max() < 1e-12:
                    return q
                J = pin.computeFrameJacobian(robot, data, q, frame)
                J = -pin.Jlog6(to_goal.inverse()) @ J
                step = J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
                q = np.clip(q - step, lower, upper)
        return q

    return solve


def optional(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        print(f"({name} is skipped, because it is not installed)")
        return None


def ikpy_solver(model: dyn.MultibodyModel, middle: np.ndarray) -> Solve | None:
    chain, link = optional("ikpy.chain"), optional("ikpy.link")
    if chain is None or link is None:
        return None
    links = [link.OriginLink()]
    for i, row in enumerate(model.joint_rows):
        R = row[PLACEMENT : PLACEMENT + 9].reshape(3, 3)
        links.append(
            link.URDFLink(
                model.joint_names[i],
                bounds=(model.limits.lower[i], model.limits.upper[i]),
                origin_translation=row[PLACEMENT + 9 :][:3],
                origin_orientation=pin.rpy.matrixToRpy(R),
                rotation=[0, 0, 1],
            )
        )
    arm_ = chain.Chain(links, active_links_mask=[False] + [True] * model.n)
    in_body = dyn.se3.inverse(model.body_in_joint[-1])

    def solve(target: np.ndarray) -> np.ndarray:
        goal, start = target @ in_body, np.r_[0.0, middle]
        found = arm_.inverse_kinematics_frame(goal, initial_position=start, orientation_mode="all")
        return found[1:]

    return solve


def pink_solver(robot: pin.Model, middle: np.ndarray) -> Solve | None:
    pink = optional("pink")
    if pink is None or optional("daqp") is None:
        return None
    data = robot.createData()
    task = pink.tasks.FrameTask("tool", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3)

    def solve(target: np.ndarray) -> np.ndarray:
        task.set_target(pin.SE3(target))
        place = pink.Configuration(robot, data, middle)
        for _ in range(200):
            if np.abs(task.compute_error(place)).max() < 1e-8:
                break
            speed = pink.solve_ik(place, [task], 0.1, solver="daqp", safety_break=False)
            place.integrate_inplace(speed, 0.1)
        return place.q

    return solve


def try_all(model: dyn.MultibodyModel, solve: Solve, targets: np.ndarray) -> str:
    """Success in percent; median, mean, 99th percentile in ms; the largest error of successes."""
    times, errors = [], []
    solve(targets[0])
    for target in targets:
        start = time.perf_counter()
        q = solve(target)
        times.append(1e3 * (time.perf_counter() - start))
        off = dyn.se3.log(dyn.se3.inverse(dyn.frame_pose(model, q, model.n - 1)) @ target)
        inside = (q >= model.limits.lower - 1e-9) & (q <= model.limits.upper + 1e-9)
        errors.append(np.abs(off).max() if inside.all() else np.inf)
    good = np.array(errors) < 1e-6
    worst = f"{np.array(errors)[good].max():10.0e}" if good.any() else f"{'-':>10}"
    late = np.percentile(times, 99)
    return (
        f"{100 * good.mean():9.1f}{statistics.median(times):10.3f}{np.mean(times):10.3f}"
        f"{late:10.3f}{worst}"
    )


def run(options: argparse.Namespace) -> None:
    print("\ninverse kinematics on random reachable poses; ms\n")
    print(f"{'':28}{'poses':>6}{'success %':>9}{'median':>10}{'mean':>10}{'99 %':>10}{'error':>10}")
    for model in (dyn.load_urdf(options.urdf), *map(arm, ARMS)):
        lower = np.maximum(model.limits.lower, -np.pi)
        upper = np.minimum(model.limits.upper, np.pi)
        rng = np.random.default_rng(1)
        targets = dyn.frame_pose(model, rng.uniform(lower, upper, (POSES, model.n)), model.n - 1)
        middle, robot = (lower + upper) / 2, twin(model)
        starts = np.vstack([middle, rng.uniform(lower, upper, (RESTARTS - 1, model.n))])
        solver = dyn.tasks.InverseKinematicsSolver(model, model.n - 1)
        rows: dict[str, tuple[int, Solve | None]] = {
            "this": (POSES, lambda C, solver=solver, q=middle: solver.solve(C, q).q),
            "CLIK over Pinocchio": (POSES // 4, pinocchio_loop(robot, starts)),
            "pink, one start": (SLOW, pink_solver(robot, middle)),
            "ikpy, one start": (SLOW, ikpy_solver(model, middle)),
        }
        for name, (count, solve) in rows.items():
            if solve is not None:
                print(
                    f"{model.name + ', ' + name:28.28}{count:6}"
                    + try_all(model, solve, targets[:count])
                )
