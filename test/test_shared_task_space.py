# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tools of the reference robots along analytic paths, against 40-digit differentiation.

If the path determines the joint positions, Newton's method finds them at nine times with 40 digits,
and they are differentiated; otherwise, the first-order solution is differentiated.
"""

import mpmath as mp
import numpy as np
import pytest

from conftest import SHARED
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.tasks.tool_task import Task, TaskMotion
from reference import error, exact, rigid
from task_reference import Reference, cross, differentiated, distance, exponential, placed

FEET = ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]
UR5 = [0.3, -1.2, 1.4, -0.7, -1.3, 0.4]
SCARA = [0.4, 0.9, 0.05, -0.6]
LEG = [0.1, 0.7, -1.4]
OFFSET = se3.exp([0.3, -0.2, 0.5, 0.05, -0.08, 0.12])
SCREW = np.array([0.3, 0.5, -0.8, 0.1, -0.2, 0.15])  # of the path: inertial axes, tool origin


def robot(name):
    return dyn.load_urdf(SHARED / "cases" / f"{name}.urdf")


CASES = {
    "ur5": ([Task("tool0", offset=OFFSET)], UR5, SCREW),
    "scara": ([Task("link4", "x y z rz", OFFSET)], SCARA, SCREW * [0, 0, 1, 1, 1, 1]),
    "solo12": ([Task(foot, "position") for foot in FEET], LEG * 4, SCREW),
}


def phase(t):
    return mp.sin(2 * t) / 2 + t


def path(pose, screw, t):
    """A screw motion from `pose`, with the time law `phase`."""
    start = rigid(pose)
    R = start[:3, :3].T
    turned = np.concatenate([R @ exact(screw)[:3], R @ exact(screw)[3:]])
    return start @ exponential(turned, phase(t))


def along(model, task, q, screw):
    """The path as a TaskMotion at t = 0; its body-fixed twist is a multiple of the screw."""
    index, offset = task.tool_in(model)
    pose = dyn.forward_kinematics(model, q).pose[index] @ offset
    rates = differentiated(lambda t: np.array([phase(t)]), 5)[1:, 0]
    turned = np.r_[screw[:3] @ pose[:3, :3], screw[3:] @ pose[:3, :3]]
    return TaskMotion(pose, *np.outer(np.array(rates, dtype=float), turned), "body")


def joints_on_path(model, tasks, q, screw, t):
    """q(t) with the tools on their paths, by Newton's method with 40 digits."""
    q0, q = q, exact(q)
    starts = [along(model, task, q0, screw).pose for task in tasks]
    for _ in range(8):
        poses, screws = placed(model, q)
        A, rest = [], []
        for task, start in zip(tasks, starts, strict=True):
            index, offset = task.tool_in(model)
            C, D = poses[index] @ rigid(offset), path(start, screw, t)
            tilt = sum(cross(D[:3, i], C[:3, i]) for i in range(3)) / 2
            moving = [j in model.path(index) for j in range(model.n)]
            linear = [S[3:] + cross(S[:3], C[:3, 3]) for S in screws]
            for name in task.components:
                axis = "xyz".index(name[-1])
                chosen = [S[axis] for S in screws] if name[0] == "r" else [v[axis] for v in linear]
                A.append(np.where(moving, chosen, mp.mpf(0)))
                rest.append(tilt[axis] if name[0] == "r" else (C - D)[axis, 3])
        step = mp.lu_solve(mp.matrix(np.array(A).tolist()), mp.matrix(rest))
        q = q - np.array(list(step))
        if mp.norm(step) < mp.mpf(10) ** -37:
            return q
    raise AssertionError("Newton's method has not converged")


@pytest.mark.parametrize("name", CASES)
def test_joints_along_a_path_of_the_tools(name):
    model, (tasks, q, screw) = robot(name), CASES[name]
    motions = [along(model, task, q, screw) for task in tasks]
    found = dyn.tasks.task_inverse_dynamics(model, tasks, motions, q)
    expected = differentiated(lambda t: joints_on_path(model, tasks, q, screw, t), 5)
    for rate, exactly in zip(found[1:5], expected[1:], strict=True):
        assert error(rate, exactly) < 1e-10
    for task, motion in zip(tasks, motions, strict=True):
        away = distance(dyn.tasks.task_motion(model, task, *found[:5]), motion.seen_as("hybrid"))
        if task.size == 6:
            assert away[0] < 1e-10
            assert max(away[1:]) < 1e-8
    torques = dyn.inverse_dynamics(model, *found[:5])
    for rate, tau in zip(found.torques, torques, strict=True):
        assert error(rate, tau) < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_a_disturbed_start_converges_to_the_path(name):
    model, (tasks, q, screw) = robot(name), CASES[name]
    motions = [along(model, task, q, screw) for task in tasks]
    solver = dyn.tasks.TaskSpaceSolver(model, tasks)
    state = solver.start(motions, np.array(q) + 0.05)
    found = dyn.tasks.task_inverse_dynamics(model, tasks, motions, q)
    np.testing.assert_allclose(state[0], q, atol=1e-10)
    for rate, expected in zip(state[1:], found[1:5], strict=True):
        assert error(rate, expected) < 1e-8


def test_the_redundant_panda():
    model, q = robot("panda7"), np.array([0.2, -0.6, 0.3, -2.1, 0.4, 1.7, 0.5])
    task = Task(6, offset=OFFSET)
    resolution = dyn.tasks.RedundancyResolution(
        weights=np.linspace(0.4, 2, 7), posture=np.zeros(7), posture_gain=0.8, feedback=3.0
    )
    motion = along(model, task, q, SCREW)
    found = dyn.tasks.task_inverse_dynamics(model, task, motion, q, resolution)
    reference = Reference(model, [task], [motion], np.array(found[:5]), resolution)
    rates, missing = reference.expected()
    assert error(np.array(found[1:5]), rates) < 1e-10
    assert np.abs(np.asarray(missing, dtype=float)).max() == 0
    away = distance(dyn.tasks.task_motion(model, task, *found[:5]), motion.seen_as("hybrid"))
    assert away[0] < 1e-10
    assert max(away[1:]) < 1e-8


def test_two_legs_have_priority_over_two_others():
    """Soft tasks yield to the posture; hard tasks do not."""
    model = robot("solo12")
    q = np.array(LEG * 4)
    tasks = [Task(foot, "position", softness=0.05 * (k > 1)) for k, foot in enumerate(FEET)]
    resolution = dyn.tasks.RedundancyResolution(weights=np.linspace(0.5, 2, 12), posture=q + 0.2)
    motions = [along(model, task, q, SCREW) for task in tasks]
    solver = dyn.tasks.TaskSpaceSolver(model, tasks, resolution)
    state = solver(motions, q).copy()
    rates, missing = Reference(model, tasks, motions, state, resolution).expected()
    assert error(state[1:], rates) < 1e-10
    assert error(solver.missing, np.array(missing)) < 1e-8
    np.testing.assert_array_equal(solver.missing[:, solver.rows[0]], 0)
    assert np.abs(solver.missing[:, solver.rows[2]]).min() > 0
