# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""All orders of the joint rates are the derivatives of the first, along the motion; 40 digits."""

import dataclasses

import mpmath as mp
import numpy as np
import pytest

from mechanisms import delta
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.tasks.task_recursion import chain, smooth_step
from multibody_dynamics.dynamics.tasks.tool_task import Task, TaskMotion, as_tasks
from reference import error
from robots import panda, random_tree
from task_reference import Reference, differentiated, step, taylor

OFFSET = se3.exp([0.3, -0.2, 0.5, 0.05, -0.08, 0.12])
READY = np.array([0.2, -0.6, 0.3, -2.1, 0.4, 1.7, 0.5])
STRETCHED = np.array([0.2, 0.5, 0.3, -0.25, 0.4, 1.7, 0.5])
RNG = np.random.default_rng(4)
POSTURE = RNG.normal(0, 0.3, 7)
HAND = Task("panda_link7", offset=OFFSET)
TURNED = se3.exp([0.2, 0.7, -0.4, 0, 0, 0])[:3, :3]
Resolution = dyn.tasks.RedundancyResolution

ALL = Resolution(
    weights=RNG.uniform(0.3, 3, 7),
    posture=POSTURE,
    posture_gain=RNG.uniform(0.5, 2, 7),
    limit_margin=2.5,  # the ready posture is within it, at many joints
    limit_speed=0.4,
    feedback=7.0,
    length=0.4,
)
CASES = {
    "least rates": (HAND, Resolution()),
    "weights and posture": (
        HAND,
        Resolution(weights=ALL.weights, posture=POSTURE, posture_gain=3.0),
    ),
    "limits": (HAND, Resolution(limit_margin=2.5, limit_speed=0.4)),
    "position": (Task("panda_link7", "position", OFFSET), Resolution(posture=POSTURE, feedback=5)),
    "direction": (Task("panda_link7", "direction", OFFSET), Resolution(feedback=5.0)),
    "line along the tool": (Task("panda_link7", "rx ry x y", OFFSET, "tool"), ALL),
    "turned axes": (Task("panda_link7", "z y rx", OFFSET, TURNED), ALL),
    "everything": (HAND, ALL),
    "damped": (HAND, Resolution(damping=dyn.tasks.Damping(0.02), feedback=4.0)),
    "damped, everything": (
        [Task("panda_link7", "direction", OFFSET), Task("panda_link7", "position", softness=0.3)],
        Resolution(posture=POSTURE, damping=dyn.tasks.Damping(0.4, 0.2), feedback=6.0, length=0.5),
    ),
    "two priorities": (
        [Task("panda_link4", "position", softness=0.1), Task("panda_link7", "position", OFFSET)],
        Resolution(posture=POSTURE, feedback=5.0, length=0.7),
    ),
    "prescribed joint": (HAND, Resolution(prescribed=["panda_joint3"], feedback=2.0)),
}


def moving_target(model, task, q, seed, away):
    """A target with random motion, near the pose of the tool at q."""
    rng = np.random.default_rng(seed)
    pose = dyn.tasks.task_motion(model, task, q).pose @ se3.exp(away * rng.normal(size=6))
    return TaskMotion(pose, *rng.normal(0, 0.6, (4, 6)))


def agree(model, tasks, resolution, q, prescribed=None, away=0.0, seed=0):
    """The solver's orders against the numerical derivatives of the first; (rates, missing, tau)."""
    tasks = as_tasks(tasks)
    targets = [moving_target(model, task, q, seed + k, away) for k, task in enumerate(tasks)]
    solver = dyn.tasks.TaskSpaceSolver(model, tasks, resolution)
    if prescribed is not None:
        solver.prescribed[:] = prescribed
    state = solver(targets, q).copy()
    reference = Reference(model, tasks, targets, state, solver.resolution, prescribed)
    rates, missing = reference.expected()
    got = solver.missing.copy()
    assert error(state[1:], rates) < 1e-10, error(state[1:], rates)
    size = max(1.0, float(np.abs(np.asarray(rates, dtype=float)).max()))
    np.testing.assert_allclose(got, np.array(missing, dtype=float), atol=1e-10 * size)
    return solver


@pytest.mark.parametrize("name", CASES)
def test_higher_orders_are_derivatives_of_the_first(name):
    tasks, resolution = CASES[name]
    q = STRETCHED if name == "damped" else READY
    prescribed = None
    if resolution.prescribed:
        prescribed = np.random.default_rng(9).normal(0, 0.5, (5, 7))
        prescribed[0] = q
    away = 0.02 if resolution.feedback else 0.0
    solver = agree(panda(), tasks, resolution, q, prescribed, away)
    if resolution.damping is not None:
        assert 0.1 < solver.lost_directions < 0.5  # where the damping changes
        assert np.abs(solver.missing).max() > 1e-3
    if prescribed is not None:
        np.testing.assert_array_equal(solver.state[:, 2], prescribed[:, 2])


def test_tools_on_the_branches_of_a_tree_of_all_kinds_of_joints():
    model = random_tree(9, seed=2)  # prismatic, revolute, helical; leaves 2, 6, 8
    tasks = [Task(6, "position", OFFSET), Task(2, "rx", softness=0.2), Task(8, "z")]
    q = np.random.default_rng(2).normal(0, 0.7, model.n)
    agree(model, tasks, Resolution(posture=np.zeros(model.n), feedback=3.0), q, away=0.02)


LOOPS = {
    "least rates": Resolution(),
    "everything": Resolution(
        weights=[0.5, 2.0, 1.2], posture=[0.3, -0.2, 0.1], limit_speed=0.3, feedback=3.0, length=0.4
    ),
    "damped": Resolution(damping=dyn.tasks.Damping(0.1, 0.2), feedback=4.0),
}


@pytest.mark.parametrize("name", LOOPS)
def test_with_loops_the_first_order_is_optimal_and_the_others_are_its_derivatives(name):
    """The first order solves the problem with the Jacobian of the model, in NumPy; the others by
    differences along the motion."""
    mechanism, resolution, task = delta(), LOOPS[name], Task("platform", "x z", OFFSET)
    limits = dyn.model.JointLimits.unlimited(3)._replace(
        lower=np.full(3, -0.4), upper=np.full(3, 0.5)
    )
    closed = dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
    model = dataclasses.replace(closed, limits=limits)
    rng = np.random.default_rng(5)
    desired = rng.uniform(-0.5, 0.5, (5, 3))
    desired[0] = model.home
    solver = dyn.tasks.TaskSpaceSolver(model, task, resolution)

    def target(t):
        return dyn.tasks.task_motion(model, task, *taylor(desired, t))

    away = 0.05 if resolution.feedback else 0.0
    state = solver(target(0.0), model.home + away * rng.normal(size=3)).copy()
    q, length = state[0], resolution.length
    A = dyn.tasks.task_jacobian(model, task, q, length=length)
    here, there = (dyn.tasks.task_motion(model, task, x) for x in (q, desired[0]))
    ahead = (here.pose - there.pose)[[0, 2], 3] / length
    wanted = target(0.0).twist[[3, 5]] / length - resolution.feedback * ahead
    mobility = 1.0 / resolution.joint_weights(model)
    z = np.array(
        [float(Reference(model, [], [], state, resolution).wish(i, q[i])) for i in range(3)]
    )
    G, L = (A * mobility) @ A.T, 0.0
    if resolution.damping is not None:
        eps = resolution.damping.singular_value**2
        tau = eps * np.trace(np.linalg.inv(G + eps * np.eye(2)))
        assert 0.1 < tau < 0.5
        L = resolution.damping.lambda_max**2 * float(step((tau - 0.1) / 0.4))
        assert solver.lost_directions == pytest.approx(tau, rel=1e-12)
    mu = np.linalg.solve(G + L * np.eye(2), wanted - A @ z)
    assert error(state[1], z + mobility * (A.T @ mu)) < 1e-12

    def rates(t):
        return solver(target(t), taylor(state, t)[0])[1:4].copy()

    h = 1e-3
    a, b, c, d = (rates(k * h) for k in (-2, -1, 1, 2))
    assert error((a - 8 * b + 8 * c - d) / (12 * h), state[2:], axes=2) < 1e-8


def test_the_step_and_its_derivatives():
    for x in (-0.1, 0.0, 0.03, 0.4, 0.5, 0.97, 1.0, 1.5):
        expected = (
            differentiated(lambda t, x=x: step(x + t)) if 0 < x < 1 else [float(x >= 1), 0, 0, 0]
        )
        np.testing.assert_allclose(smooth_step(x), np.array(expected, dtype=float), atol=1e-12)


def test_the_chain_rule():
    stack = (0.3, -0.7, 0.4, 0.9)
    x = lambda t: sum(c * t**k / mp.factorial(k) for k, c in enumerate(stack))  # noqa: E731
    expected = differentiated(lambda t: mp.sin(x(t)))
    s, c = np.sin(stack[0]), np.cos(stack[0])
    for k in range(4):
        assert chain(k, (s, c, -s, -c), *stack[1:]) == pytest.approx(float(expected[k]), abs=1e-13)
