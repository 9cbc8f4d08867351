# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""From tool motions to joint motion and torques: square, redundant and singular arms; errors."""

from functools import partial

import numpy as np
import pytest

from mechanisms import delta
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.tasks.tool_task import Task, TaskMotion
from reference import error
from rejections import assert_rejected
from robots import panda, random_state, random_tree
from task_reference import distance, taylor, tool_motion

OFFSET = se3.exp([0.3, -0.2, 0.5, 0.05, -0.08, 0.12])
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
HAND = Task("panda_link7", offset=OFFSET)
Resolution = dyn.tasks.RedundancyResolution


def arm(n=6):
    """A chain that the pose of its last body determines."""
    return random_tree(n, seed=3, branching=0)


def elbow_stretched(t):
    """A hand motion beyond the reach of the Panda and back: C4, with analytic rates."""
    start = dyn.tasks.task_motion(panda(), HAND, READY).pose
    w, a = 2 * np.pi / 2.0, 0.25
    s = a * np.array([1 - np.cos(w * t), w * np.sin(w * t), w**2 * np.cos(w * t),
                      -(w**3) * np.sin(w * t), -(w**4) * np.cos(w * t)])  # fmt: skip
    e = np.array([0, 0, 0, 0.8, 0.2, 0.3])
    pose = start.copy()
    pose[:3, 3] += s[0] * e[3:]
    return TaskMotion(pose, *(s[1:, None] * e))


# robots without redundancy: [M21] Algorithms 2 and 3


def test_joint_motion_is_recovered_from_the_exact_motion_of_the_tool():
    model, task = arm(), Task(5, offset=OFFSET)
    state = random_state(model, seed=2)
    pose, rates = tool_motion(model, task, state)
    motion = TaskMotion(np.array(pose, dtype=float), *np.array(rates, dtype=float))
    found = dyn.tasks.task_inverse_dynamics(model, task, motion, state[0])
    assert error(np.array(found[:5]), state) < 1e-10
    for rate, expected in zip(found.torques, dyn.inverse_dynamics(model, *state), strict=True):
        assert error(rate, expected) < 1e-10
    assert not found.missing.any()


def test_forward_of_inverse_and_batches():
    model, task = panda(), HAND
    rng = np.random.default_rng(5)
    q = READY + rng.normal(0, 0.3, (2, 1, 7))
    pose = dyn.tasks.task_motion(model, task, q).pose
    motion = TaskMotion(pose, *rng.normal(size=(4, 2, 3, 6)), representation="spatial")
    found = dyn.tasks.task_inverse_dynamics(
        model, task, motion, q, wrenches={"panda_link8": np.ones(6)}
    )
    back = dyn.tasks.task_motion(model, task, *found[:5], representation="spatial")
    assert found.q.shape == (2, 3, 7)
    away = distance(back, motion)
    assert away[0] < 1e-13
    assert max(away[1:]) < 1e-11
    torques = dyn.inverse_dynamics(model, *found[:5], wrenches={"panda_link8": np.ones(6)})
    for rate, expected in zip(found.torques, torques, strict=True):
        assert error(rate, expected) < 1e-12
    one = TaskMotion(motion.pose[1, 2], *(x[1, 2] for x in motion.rates), "spatial")
    single = dyn.tasks.task_inverse_dynamics(
        model, task, one, q[1, 0], wrenches={"panda_link8": np.ones(6)}
    )
    for together, alone in zip(found, single, strict=True):
        np.testing.assert_array_equal(together[1, 2], alone)


def test_the_motion_of_the_base_is_accounted_for():
    rng = np.random.default_rng(3)
    base = dyn.BaseMotion(se3.exp(rng.normal(size=6)), *rng.normal(size=(4, 6)))
    state = random_state(arm(), seed=2)
    task = Task(5, offset=OFFSET)
    motion = dyn.tasks.task_motion(arm(), task, *state, base=base)
    found = dyn.tasks.task_inverse_dynamics(arm(), task, motion, state[0], base=base)
    assert error(np.array(found[:5]), state) < 1e-9
    expected = dyn.inverse_dynamics(arm(), *state, base=base)
    for rate, other in zip(found.torques, expected, strict=True):
        assert error(rate, other) < 1e-9


def test_a_base_that_moves_in_every_cycle_moves_the_torques_too():
    model, rng = arm(), np.random.default_rng(4)
    state = random_state(model, seed=4)
    pose, rates = se3.exp(rng.normal(size=6)), rng.normal(size=(4, 6))
    base = dyn.BaseMotion(pose, *rates)
    solver = dyn.tasks.TaskSpaceSolver(model, Task(5))
    solver.move_base(pose, rates)
    found = solver(dyn.tasks.task_motion(model, Task(5), *state, base=base), state[0])
    assert error(found, state) < 1e-10
    assert error(solver.torques, np.array(dyn.inverse_dynamics(model, *state, base=base))) < 1e-10


def test_a_robot_with_loops_follows_a_tool_with_the_torques_of_its_motors():
    mechanism = delta()
    model, task = (
        dyn.mechanisms.closed_chain(mechanism.system, mechanism.q),
        Task("platform", "position", OFFSET),
    )
    state = np.random.default_rng(6).uniform(-0.5, 0.5, (5, 3))
    state[0] = model.home + 0.2 * state[0]
    wrench = {"platform": np.array([0.1, -0.2, 0.3, 2.0, -1.0, 3.0])}
    motion = dyn.tasks.task_motion(model, task, *state)
    found = dyn.tasks.task_inverse_dynamics(model, task, motion, state[0], wrenches=wrench)
    assert error(np.array(found[:5]), state) < 1e-11
    for rate, expected in zip(
        found.torques, dyn.inverse_dynamics(model, *state, wrenches=wrench), strict=True
    ):
        assert error(rate, expected) < 1e-11
    solver = dyn.tasks.TaskSpaceSolver(model, task)
    assert error(solver.start(motion, model.home), state) < 1e-10
    for k in range(1, 200):
        at = taylor(state, 0.001 * k)
        solver.follow(dyn.tasks.task_motion(model, task, *at), 0.001)
    assert error(solver.state, at) < 1e-9
    heavier = model.with_payload("platform", 2.0, (0.0, 0.0, 0.1), np.eye(3) * 0.01)
    solver.set_model(heavier)
    solver.update()
    assert error(solver.torques, np.array(dyn.inverse_dynamics(heavier, *solver.state))) < 1e-10
    far = TaskMotion(motion.pose + 2.0 * np.eye(4, k=3))
    with pytest.raises(dyn.InputError, match="'platform' is not reached"):
        solver.start(far, model.home)


# redundant robots


def test_rates_are_the_weighted_pseudoinverse():
    weights = np.linspace(0.3, 2, 7)
    V = np.random.default_rng(1).normal(size=6)
    J = dyn.tasks.task_jacobian(panda(), HAND, READY)
    W = np.diag(1 / weights)
    posture = READY + 0.1
    expected = W @ J.T @ np.linalg.solve(J @ W @ J.T, V)
    motion = TaskMotion(dyn.tasks.task_motion(panda(), HAND, READY).pose, V)
    found = dyn.tasks.task_inverse_dynamics(
        panda(), HAND, motion, READY, Resolution(weights=weights)
    )
    np.testing.assert_allclose(found.qd, expected, atol=1e-13)
    z = 2 * (posture - READY)
    null = np.eye(7) - W @ J.T @ np.linalg.solve(J @ W @ J.T, J)
    resolution = Resolution(weights=weights, posture=posture, posture_gain=2)
    found = dyn.tasks.task_inverse_dynamics(panda(), HAND, motion, READY, resolution)
    np.testing.assert_allclose(found.qd, expected + null @ z, atol=1e-13)


def test_the_joint_space_is_decomposed():
    """[M21] remark 2: with the motion of one joint given, the others move like a square arm."""
    rng = np.random.default_rng(8)
    state = np.stack([READY, *rng.normal(0, 0.5, (4, 7))])
    motion = dyn.tasks.task_motion(panda(), HAND, *state)
    given = np.full((5, 7), np.nan)
    given[:, 2] = state[:, 2]
    resolution = Resolution(prescribed=["panda_joint3"])
    found = dyn.tasks.task_inverse_dynamics(
        panda(), HAND, motion, READY, resolution, prescribed=given
    )
    assert error(np.array(found[:5]), state) < 1e-10
    held = dyn.tasks.task_inverse_dynamics(panda(), HAND, motion, READY, resolution)
    np.testing.assert_array_equal([rate[2] for rate in held[1:5]], 0)


def test_second_priority_never_disturbs_first_priority():
    tasks = [Task("panda_link4", "position", softness=1e-3), HAND]
    targets = [dyn.tasks.task_motion(panda(), task, READY) for task in tasks]
    targets = [TaskMotion(m.pose, np.r_[0, 0, 0, 0, 0.1, 0]) for m in targets]
    found = dyn.tasks.task_inverse_dynamics(panda(), tasks, targets, READY)
    reached = dyn.tasks.task_motion(panda(), HAND, *found[:5])
    np.testing.assert_allclose(reached.twist, targets[1].twist, atol=1e-12)
    np.testing.assert_allclose(reached.jounce, 0, atol=1e-9)
    np.testing.assert_array_equal(found.missing[:, :6], 0)
    J1, J2 = (dyn.tasks.task_jacobian(panda(), task, READY) for task in (HAND, tasks[0]))
    first = np.linalg.pinv(J1) @ targets[1].twist
    null = np.eye(7) - np.linalg.pinv(J1) @ J1
    second = np.linalg.pinv(J2 @ null, rcond=1e-10) @ (targets[0].twist[3:] - J2 @ first)
    np.testing.assert_allclose(found.qd, first + second, atol=1e-4)


def test_limits_are_avoided_in_the_null_space():
    model = panda()
    q = np.array(READY)
    q[6] = model.limits.upper[6] - 0.05
    target = dyn.tasks.task_motion(model, Task(6, "position"), q)
    resolution = Resolution(limit_margin=0.3, limit_speed=0.5)
    solver = dyn.tasks.TaskSpaceSolver(model, Task(6, "position"), resolution)
    solver.start(target, q)
    for _ in range(200):
        solver.follow(target, 0.02)
    assert solver.state[0, 6] < model.limits.upper[6] - 0.2
    assert np.abs(dyn.tasks.task_motion(model, HAND, solver.state[0]).pose).max() < 2
    reached = dyn.tasks.task_motion(model, Task(6, "position"), solver.state[0])
    np.testing.assert_allclose(reached.pose[:3, 3], target.pose[:3, 3], atol=1e-12)


# the control cycle


def test_the_solver_starts_at_a_target_and_follows_it_without_drift():
    model = panda()
    solver = dyn.tasks.TaskSpaceSolver(model, HAND, Resolution(posture=READY))
    dt = 0.01
    solver.start(dyn.tasks.task_motion(model, HAND, READY), READY + 0.1)
    states = []
    for k in range(40):
        target = elbow_stretched(k * dt)
        state = solver.follow(target, dt if k else 0.0)
        states.append(state.copy())
        back = dyn.tasks.task_motion(model, HAND, *state)
        away = distance(back, target)
        assert away[0] < 1e-10
        assert max(away[1:]) < 1e-8
        for rate, tau in zip(solver.torques, dyn.inverse_dynamics(model, *state), strict=True):
            assert error(rate, tau) < 1e-12
    states = np.array(states)
    for k in range(4):  # the rows are the derivatives of one another
        slope = (states[2:, k] - states[:-2, k]) / (2 * dt)
        size = np.abs(states[:, k + 1]).max()
        assert np.abs(slope - states[1:-1, k + 1]).max() < 0.01 * size


def test_feedback_removes_an_error_at_the_given_rate():
    model = panda()
    solver = dyn.tasks.TaskSpaceSolver(model, HAND, Resolution(feedback=5.0))
    target = dyn.tasks.task_motion(model, HAND, READY)
    solver(target, READY + 0.01)
    errors = []
    for _ in range(101):
        reached = dyn.tasks.task_motion(model, HAND, solver.state[0])
        errors.append(np.abs(reached.pose - target.pose)[:3].max(axis=0))
        solver.follow(target, 0.01)
    errors = np.array(errors)
    np.testing.assert_allclose(errors[100] / errors[0], np.exp(-5.0), rtol=0.03)


def test_motion_through_a_singularity_is_finite_smooth_and_reports_unmet_rates():
    """The target moves out of reach: the arm stretches, falls behind, and catches up."""
    model, dt = panda(), 0.001
    solver = dyn.tasks.TaskSpaceSolver(
        model, HAND, Resolution(damping=dyn.tasks.Damping(0.04), feedback=10.0, posture=READY)
    )
    solver.start(elbow_stretched(0.0), READY)
    states, missing, damped, behind = [], [], [], []
    for k in range(1600):
        target = elbow_stretched(k * dt)
        states.append(solver.follow(target, dt if k else 0.0).copy())
        missing.append(solver.missing.copy())
        damped.append(solver.lost_directions)
        if k % 50 == 49:
            reached = dyn.tasks.task_motion(model, HAND, states[-1][0])
            behind.append(np.abs(reached.pose - target.pose).max())
            distance = reached.pose[:3, 3] - target.pose[:3, 3]
            np.testing.assert_allclose(solver.displacement()[3:], distance, atol=1e-14)
            np.testing.assert_array_equal(solver.state, states[-1])
    states, missing, damped = np.array(states), np.array(missing), np.array(damped)
    assert damped[0] < 0.1 < 0.5 < damped.max()
    assert np.isfinite(states).all()
    assert np.isfinite(missing).all()
    assert max(behind) > 0.05 > 1e-3 > behind[-1]
    exact = damped < 0.1
    np.testing.assert_array_equal(missing[exact], 0)
    assert np.abs(states[:, 1]).max() < 10
    for k in range(4):  # q'''' too is the derivative of q'''
        slope = (states[2:, k] - states[:-2, k]) / (2 * dt)
        size = np.abs(states[:, k + 1]).max()
        assert np.abs(slope - states[1:-1, k + 1]).max() < 0.04 * size


def test_a_singularity_and_a_target_out_of_reach_are_rejected_and_change_nothing():
    model = panda()
    solver = dyn.tasks.TaskSpaceSolver(model, HAND)
    target = dyn.tasks.task_motion(model, HAND, READY)
    before = solver.start(target, READY).copy()
    far = TaskMotion(se3.exp([0, 0, 0, 2, 0, 0]) @ target.pose)
    assert_rejected((lambda: solver.follow(far, 0.01), "not reached: out of reach"))
    np.testing.assert_array_equal(solver.state, before)
    two_r = Task("panda_link2", "position", se3.exp([0, 0, 0, 0, -0.3, 0]))
    with pytest.raises(dyn.InputError, match=r"singular at q = .* set a damping"):
        dyn.tasks.TaskSpaceSolver(model, two_r)(dyn.tasks.task_motion(model, two_r, READY), READY)
    np.testing.assert_array_equal(solver.follow(target)[0], before[0])


def test_damping_without_feedback_is_rejected():
    solver = dyn.tasks.TaskSpaceSolver(panda(), HAND, Resolution(damping=dyn.tasks.Damping(0.04)))
    target = dyn.tasks.task_motion(panda(), HAND, READY)
    solver.start(target, READY)
    assert_rejected((lambda: solver.follow(target, 0.001), "requires a feedback"))


def test_a_payload_takes_effect_at_the_next_call():
    solver = dyn.tasks.TaskSpaceSolver(panda(), HAND)
    motion = dyn.tasks.task_motion(panda(), HAND, *random_state(panda(), seed=4))
    q = random_state(panda(), seed=4)[0]
    loaded = panda().with_payload("panda_link8", 2.0, (0, 0, 0.1))
    solver.set_model(loaded)
    state = solver(motion, q)
    for rate, tau in zip(solver.torques, dyn.inverse_dynamics(loaded, *state), strict=True):
        assert error(rate, tau) < 1e-12


@pytest.mark.parametrize(
    ("tasks", "resolution", "message"),
    [
        ([HAND, HAND], None, "12 prescribed components .* than the 7 joints"),
        (HAND, Resolution(prescribed=["panda_joint1", 1]), "more than the 5 joints"),
        (Task("panda_link8", softness=0.1), None, "one task must have first priority"),
        (Task("panda_link0"), None, "no joint moves"),
        (HAND, Resolution(prescribed=["elbow"]), "no joint 'elbow'"),
        (HAND, Resolution(posture=np.zeros(6)), "posture"),
        (HAND, Resolution(weights=np.ones(6)), "weights"),
        (HAND, Resolution(limit_margin=np.ones(3)), "limit_margin"),
    ],
)
def test_tasks_that_do_not_fit_the_robot_are_rejected(tasks, resolution, message):
    with pytest.raises(dyn.InputError, match=message):
        dyn.tasks.TaskSpaceSolver(panda(), tasks, resolution)


def test_bad_input_is_rejected_and_changes_nothing():
    solver = dyn.tasks.TaskSpaceSolver(panda(), HAND)
    motion = dyn.tasks.task_motion(panda(), HAND, READY)
    before = solver(motion, READY).copy()
    for bad in (np.full(7, np.nan), np.zeros(6), np.zeros((2, 7))):
        with pytest.raises(dyn.InputError, match="q"):
            solver(motion, bad)
        np.testing.assert_array_equal(solver.state, before)
    batch = dyn.tasks.task_motion(panda(), HAND, np.stack([READY, READY]))
    torques = partial(dyn.tasks.task_inverse_dynamics, panda(), HAND)
    assert_rejected(
        (lambda: solver(batch, READY), "got a batch"),
        (lambda: solver([motion, motion], READY), "one per task (1), got 2"),
        (lambda: torques([motion, motion], READY), "one per task (1), got 2"),
        (lambda: torques(batch, np.zeros((3, 7))), "batch dimensions"),
        (lambda: torques(motion, READY + 0.1), "q: a tool is away from its target"),
    )
    torques(motion, READY + 0.1, Resolution(feedback=5.0))
    torques(motion, READY.astype(np.float32))
    with pytest.raises(AttributeError, match="fixed"):
        solver.state = np.zeros((5, 7))
