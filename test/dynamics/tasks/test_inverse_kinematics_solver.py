# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics: forward(inverse), a closed form, singular poses, limits, failures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import delta
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, so3
from rejections import assert_rejected
from robots import panda, random_pose, random_tree, two_link_planar, with_multidof

HAND = "panda_link7"
SEEDS = st.integers(0, 2**32 - 1)
BODY = dyn.spatial_inertia(1.0, (0, 0, 0), np.eye(3))
TURNED = se3.exp([0.4, 0.2, -0.3, 0, 0, 0])
A2, A3, D3, D4 = 0.4318, 0.0203, 0.15, 0.4318  # m, of a PUMA 560


def puma():
    """Six revolute joints; the axes of the last three meet in one point, [Craig] figure 3.21."""
    half = np.pi / 2
    table = [(0, 0, 0), (-half, 0, 0), (0, A2, D3), (-half, A3, D4), (half, 0, 0), (-half, 0, 0)]
    poses, C = [], np.eye(4)
    for alpha, a, d in table:
        C = C @ se3.exp([alpha, 0, 0, 0, 0, 0]) @ se3.exp([0, 0, 0, a, 0, d])
        poses.append(C)
    screws = [dyn.revolute(C[:3, 2], C[:3, 3]) for C in poses]
    return dyn.model_from_screws(range(-1, 5), screws, poses, [BODY] * 6, name="puma")


def puma_solutions(C):
    """All joint positions (8, 6) for the pose of the flange, in closed form; Craig, section 4.7.

    The wrist point fixes the first three joints; the rest of the rotation the others.
    """
    (x, y, z), R = C[:3, 3], C[:3, :3]
    rho2 = x * x + y * y - D3 * D3
    K = (rho2 + D3**2 + z * z - A2**2 - A3**2 - D3**2 - D4**2) / (2 * A2)
    found = []
    for s1 in (1, -1):
        q1 = np.arctan2(y, x) - np.arctan2(D3, s1 * np.sqrt(rho2))
        c, s = np.cos(q1), np.sin(q1)
        for s3 in (1, -1):
            q3 = np.arctan2(A3, D4) - np.arctan2(K, s3 * np.sqrt(A3**2 + D4**2 - K**2))
            c3, sn3 = np.cos(q3), np.sin(q3)
            u = c * x + s * y
            q23 = np.arctan2(
                (-A3 - A2 * c3) * z - u * (D4 - A2 * sn3), (A2 * sn3 - D4) * z + (A3 + A2 * c3) * u
            )
            about_z = so3.exp([0, 0, q1])
            R03 = about_z @ so3.exp([-np.pi / 2, 0, 0]) @ so3.exp([0, 0, q23])
            R36 = R03.T @ R
            for s5 in (1, -1):
                q5 = np.arctan2(s5 * np.hypot(R36[0, 2], R36[2, 2]), R36[1, 2])
                q4 = np.arctan2(s5 * R36[2, 2], -s5 * R36[0, 2])
                q6 = np.arctan2(-s5 * R36[1, 1], s5 * R36[1, 0])
                found.append([q1, q23 - q3, q3, q4, q5, q6])
    return np.array(found)


def reachable(model, count, seed=0):
    """Joint positions between the limits, within a turn."""
    low, high = (
        np.clip(model.limits.lower, -np.pi, np.pi),
        np.clip(model.limits.upper, -np.pi, np.pi),
    )
    return np.random.default_rng(seed).uniform(low, high, (count, model.n))


def within_limits(model, q):
    return np.all((q >= model.limits.lower) & (q <= model.limits.upper))


# solutions


def test_the_motors_of_a_robot_with_loops_are_found():
    mechanism = delta()
    model = dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
    rng = np.random.default_rng(2)
    solver = dyn.tasks.InverseKinematicsSolver(model, "platform", components="position", starts=20)
    for q in model.home + rng.uniform(-0.3, 0.3, (10, 3)):
        found = solver.solve(dyn.frame_pose(model, q, "platform"))
        assert found.success
        assert found.starts == 1
        np.testing.assert_allclose(found.q, q, atol=1e-10)
    pose = dyn.frame_pose(model, q, "platform")
    twist = np.array([0, 0, 0, 0.1, 0, 0.05])
    near = solver.follow(found.q, pose, 1e-3, twist=twist)
    moved = dyn.frame_pose(model, near, "platform")[:3, 3] - pose[:3, 3]
    np.testing.assert_allclose(moved, 1e-3 * twist[3:], atol=1e-7)
    pose[0, 3] += 0.9
    found = solver.solve(pose)
    assert not found.success
    assert found.residual[0] > 0.1
    assert model.reaches(found.q)
    pose[0, 3] += 9.0
    assert solver.solve(pose).reason.startswith("out of reach by at least")
    with pytest.raises(dyn.DynamicsError, match="its loops cannot be closed at q"):
        solver.follow(np.array([3.0, -3.0, 3.0]), pose, 1e-3)
    turned = dyn.tasks.InverseKinematicsSolver(model, "platform", starts=20)
    assert "only 3 for 6" in turned.solve(dyn.frame_pose(model, q, "platform") @ TURNED).reason


def test_random_reachable_poses_of_the_panda_are_solved():
    model = panda()
    poses = dyn.frame_pose(model, reachable(model, 400), HAND)
    found = dyn.tasks.inverse_kinematics(model, poses, HAND)
    assert found.success.all()
    assert set(found.reason) == {""}
    assert within_limits(model, found.q)
    assert found.residual.max() < 1e-12
    np.testing.assert_allclose(dyn.frame_pose(model, found.q, HAND), poses, atol=2e-12)
    assert np.median(found.iterations) < 15


def in_units(size):
    """The arm of `puma`, with a tool, and every length multiplied by `size`."""
    arm = puma()
    screws, poses = arm.screws.copy(), arm.poses.copy()
    screws[:, 3:] *= size
    poses[:, :3, 3] *= size
    tool = dyn.model.Frame(5, se3.exp([0, 0, 0, 0.03 * size, 0, 0.1 * size]))
    return dyn.model_from_screws(arm.parents, screws, poses, [BODY] * 6, frames={"tool": tool})


@pytest.mark.parametrize("size", [1e-5, 1e-3, 1e3])
def test_an_arm_of_any_size_is_solved_as_one_of_a_metre(size):
    """Also a robot that was described in millimetres."""
    metre, arm = in_units(1.0), in_units(size)
    q = reachable(metre, 40)
    tolerance = 1e-12 * max(size, 1.0)
    usual = dyn.tasks.inverse_kinematics(metre, dyn.frame_pose(metre, q, "tool"), "tool")
    found = dyn.tasks.inverse_kinematics(
        arm, dyn.frame_pose(arm, q, "tool"), "tool", tolerance=tolerance
    )
    assert usual.success.all()
    assert found.success.all(), set(found.reason)
    assert np.median(found.iterations) < 2 * np.median(usual.iterations)


def test_a_gantry_with_a_long_travel_is_solved():
    screws = [dyn.prismatic(axis) for axis in np.eye(3)]
    gantry = dyn.model_from_screws(range(-1, 2), screws, [np.eye(4)] * 3, [BODY] * 3)
    target = se3.from_rotation_translation(np.eye(3), (2500.0, -800.0, 1200.0))
    found = dyn.tasks.inverse_kinematics(gantry, target, 2, components="position")
    assert found.success, found.reason
    np.testing.assert_allclose(found.q, target[:3, 3])


@settings(max_examples=20)
@given(SEEDS)
def test_trees_of_all_joints_with_a_tool(seed):
    """Ten revolute, prismatic and helical joints on branches; the tool is on the longest one."""
    model = random_tree(10, seed)
    rng = np.random.default_rng(seed)
    body = max(range(model.n), key=lambda i: len(model.path(i)))
    offset, q = random_pose(rng), rng.uniform(-1, 1, model.n)
    target = dyn.frame_pose(model, q, body) @ offset
    found = dyn.tasks.inverse_kinematics(model, target, body, offset=offset)
    assert found.success, found.reason
    reached = dyn.frame_pose(model, found.q, body) @ offset
    np.testing.assert_allclose(reached, target, atol=1e-11)
    others = ~model.moved_by[body]
    np.testing.assert_array_equal(found.q[others], np.zeros(others.sum()))


def test_joints_that_do_not_move_the_tool_stay_at_the_first_start():
    """Even if a later start, which is random, leads to the solution."""
    model = random_tree(10, 239)
    rng = np.random.default_rng(239)
    body = max(range(model.n), key=lambda i: len(model.path(i)))
    offset, q, initial = random_pose(rng), *rng.uniform(-1, 1, (2, model.n))
    target = dyn.frame_pose(model, q, body) @ offset
    used = []
    for first in (None, initial):
        found = dyn.tasks.inverse_kinematics(model, target, body, offset=offset, initial=first)
        assert found.success
        used.append(found.starts)
        idle = ~model.moved_by[body]
        np.testing.assert_array_equal(
            found.q[idle], np.zeros(model.n)[idle] if first is None else first[idle]
        )
    assert max(used) > 1


def test_a_solution_of_a_spherical_wrist_is_one_of_the_eight_in_closed_form():
    model = puma()
    angles = np.random.default_rng(3).uniform(-np.pi, np.pi, (30, 6))
    for q in angles:
        target = dyn.frame_pose(model, q, 5)
        closed = puma_solutions(target)
        np.testing.assert_allclose(dyn.frame_pose(model, closed, 5), [target] * 8, atol=1e-12)
        found = dyn.tasks.inverse_kinematics(model, target, 5)
        assert found.success
        turned = np.abs(so3.log(so3.exp((closed - found.q)[..., None] * [0, 0, 1]))).max(
            axis=(1, 2)
        )
        assert turned.min() < 1e-8
        for branch in closed:  # each one is also found from a start nearby
            near = dyn.tasks.inverse_kinematics(model, target, 5, initial=branch + 0.01, starts=1)
            assert near.success
            turned = so3.log(so3.exp((branch - near.q)[:, None] * [0, 0, 1]))
            np.testing.assert_allclose(turned, 0.0, atol=1e-10)


def test_several_bodies_at_once():
    """Two tools of a tree, each with components of its own."""
    model = with_multidof()
    q = np.random.default_rng(2).uniform(-0.5, 0.5, model.n)
    tasks = [
        dyn.tasks.Task(model.n - 1, "pose"),
        dyn.tasks.Task(model.n - 4, "position", offset=se3.exp([0.3, 0, 0, 0.1, 0.2, 0])),
    ]
    targets = np.stack([dyn.frame_pose(model, q, t.body) @ t.offset for t in tasks])
    found = dyn.tasks.inverse_kinematics(model, targets, tasks)
    assert found.success, found.reason
    assert found.residual.shape == (2, 2)
    for task, target in zip(tasks, targets, strict=True):
        reached = dyn.frame_pose(model, found.q, task.body) @ task.offset
        np.testing.assert_allclose(reached[:3, 3], target[:3, 3], atol=1e-11)
    np.testing.assert_allclose(
        dyn.frame_pose(model, found.q, tasks[0].body), targets[0], atol=1e-11
    )


@pytest.mark.parametrize(
    "components", ["position", "orientation", "direction", "x y z rx ry", "z rx"]
)
def test_prescribed_components_are_met_and_the_rest_is_free(components):
    model = panda()
    for q in reachable(model, 10, 5):
        target = dyn.frame_pose(model, q, HAND)
        axes = "tool" if "r" in components or components == "direction" else None
        found = dyn.tasks.inverse_kinematics(model, target, HAND, components=components, axes=axes)
        assert found.success
        C = dyn.frame_pose(model, found.q, HAND)
        way = target[:3, :3].T @ (C - target)[:3, 3]
        if "x y z" in components or components == "position":
            np.testing.assert_allclose(way, 0, atol=1e-11)
        if components == "z rx":
            assert abs(way[2]) < 1e-11
        if components in ("direction", "x y z rx ry"):
            np.testing.assert_allclose(C[:3, 2], target[:3, 2], atol=1e-11)
        if components == "orientation":
            np.testing.assert_allclose(C[:3, :3], target[:3, :3], atol=1e-11)


def test_along_named_axes():
    """A height is one component of the inertial frame; another axis is given as a rotation."""
    model, q = panda(), reachable(panda(), 1, 7)[0]
    target = dyn.frame_pose(model, q, HAND)
    height = dyn.tasks.inverse_kinematics(model, target, HAND, components="z", starts=5)
    assert height.success
    assert dyn.frame_pose(model, height.q, HAND)[2, 3] == pytest.approx(target[2, 3], abs=1e-12)
    R = random_pose(np.random.default_rng(1))[:3, :3]
    task = dyn.tasks.Task(HAND, "x y", axes=R)
    found = dyn.tasks.inverse_kinematics(model, target, task)
    way = R.T @ (dyn.frame_pose(model, found.q, HAND) - target)[:3, 3]
    assert found.success
    np.testing.assert_allclose(way[:2], 0, atol=1e-12)


def test_the_same_input_gives_the_same_result_and_a_solver_keeps_no_state():
    model = panda()
    poses = dyn.frame_pose(model, reachable(model, 20), HAND)
    solver = dyn.tasks.InverseKinematicsSolver(model, HAND)
    first = [solver.solve(pose).q for pose in poses]
    again = [solver.solve(pose).q for pose in poses[::-1]][::-1]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, dyn.tasks.inverse_kinematics(model, poses, HAND).q)


def test_a_warm_start_begins_at_the_previous_solution():
    model = panda()
    q = np.linspace(*reachable(model, 2, 11), 50)
    poses = dyn.frame_pose(model, q, HAND)
    found = dyn.tasks.inverse_kinematics(model, poses, HAND, initial=q[0], warm_start=True)
    assert found.success.all()
    assert found.starts.max() == 1
    assert found.iterations.max() <= 6
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.3
    pairs = dyn.tasks.inverse_kinematics(model, poses.reshape(5, 10, 4, 4), HAND, initial=q[0])
    assert pairs.q.shape == (5, 10, 7)
    assert pairs.residual.shape == (5, 10, 2)
    assert pairs.success.all()


def test_a_batch_may_be_empty():
    model = panda()
    none = dyn.tasks.inverse_kinematics(model, np.zeros((0, 4, 4)), HAND)
    assert [x.shape for x in none] == [(0, 7), (0,), (0,), (0,), (0, 2), (0,)]
    assert [x.dtype.kind for x in none] == ["f", "b", "i", "i", "f", "U"]
    pairs = dyn.tasks.inverse_kinematics(model, np.zeros((0, 3, 2, 4, 4)), [HAND, "panda_link4"])
    assert [x.shape for x in pairs[::4]] == [(0, 3, 7), (0, 3, 2, 2)]


def test_joints_that_can_make_full_turns_end_next_to_the_initial_position():
    model = puma()
    q = np.array([2.0, -4.0, 9.0, 13.0, -1.0, 7.0])
    found = dyn.tasks.inverse_kinematics(model, dyn.frame_pose(model, q, 5), 5, initial=q + 0.05)
    np.testing.assert_allclose(found.q, q, atol=1e-10)


# singular poses


@pytest.mark.parametrize("q", [(0.3, 0.0), (0.3, np.pi), (0.3, 1e-5)])
def test_stretched_and_folded_arms(q):
    """At the edge of the workspace, where the Jacobian has lost rank and the error is of second
    order in the joints, which are therefore determined to sqrt(eps) only."""
    model = two_link_planar()
    target = dyn.frame_pose(model, q, 1) @ se3.exp([0, 0, 0, 0.7, 0, 0])
    offset = se3.exp([0, 0, 0, 0.7, 0, 0])
    found = dyn.tasks.inverse_kinematics(model, target, 1, components="x z", offset=offset)
    assert found.success, found.reason
    reached = dyn.frame_pose(model, found.q, 1) @ offset
    np.testing.assert_allclose(reached[:3, 3], target[:3, 3], atol=2e-12)


def test_singular_wrist_and_shoulder():
    model = panda()
    straight = dyn.frame_pose(model, [0, 0, 0, -0.0698, 0, 0, 0], HAND)
    wrist = dyn.frame_pose(model, [0.3, 0.5, 0, -1.5, 0, 0.0, 0.2], HAND)
    for target in (straight, wrist):
        found = dyn.tasks.inverse_kinematics(model, target, HAND)
        assert found.success, found.reason
        np.testing.assert_allclose(dyn.frame_pose(model, found.q, HAND), target, atol=1e-11)
    arm = puma()
    for q5 in (0.0, 1e-9, 1e-4):
        target = dyn.frame_pose(arm, [0.3, -0.4, 0.5, 0.6, q5, 0.8], 5)
        assert dyn.tasks.inverse_kinematics(arm, target, 5).success


# limits


def test_a_solution_at_the_limits_is_found():
    """Joint 2, 4 or 6 exactly at one of its limits."""
    model = panda()
    rng = np.random.default_rng(1)
    for q in reachable(model, 30, 2):
        at = rng.choice([1, 3, 5])
        q[at] = rng.choice([model.limits.lower[at], model.limits.upper[at]])
        found = dyn.tasks.inverse_kinematics(model, dyn.frame_pose(model, q, HAND), HAND)
        assert found.success, found.reason
        assert within_limits(model, found.q)


def test_limits_may_be_given_or_switched_off():
    model = panda()
    q = reachable(model, 1, 4)[0]
    target = dyn.frame_pose(model, q, HAND)
    narrow = dyn.tasks.inverse_kinematics(model, target, HAND, limits=(q - 0.01, q + 0.01))
    assert narrow.success
    assert np.abs(narrow.q - q).max() <= 0.01
    beyond = model.limits.upper + 0.3
    target = dyn.frame_pose(model, beyond, HAND)
    assert dyn.tasks.inverse_kinematics(model, target, HAND, initial=beyond, limits=False).success


def test_a_joint_limit_is_reported_as_the_reason():
    arm = two_link_planar()
    target = dyn.frame_pose(arm, [0.2, 1.2], 1) @ se3.exp([0, 0, 0, 0.7, 0, 0])
    offset = se3.exp([0, 0, 0, 0.7, 0, 0])
    found = dyn.tasks.inverse_kinematics(
        arm, target, 1, components="x z", offset=offset, limits=([-3, -0.5], [3, 0.5])
    )
    assert not found.success
    assert found.reason.startswith(
        "joint limit of 'elbow': a solution outside the limits has this joint at "
    )
    assert np.all(np.abs(found.q) <= [3, 0.5])
    assert abs(found.q[1]) == 0.5  # the closest permitted position


# targets without a solution


def test_the_distance_out_of_reach_is_bounded_from_below():
    """For a chain of parallel axes the bound is exact."""
    arm = two_link_planar()
    offset = se3.exp([0, 0, 0, 0.7, 0, 0])
    far = se3.exp([0, 0, 0, 1.9, 0, 0])
    found = dyn.tasks.inverse_kinematics(arm, far, 1, components="position", offset=offset)
    assert not found.success
    assert found.reason.startswith("out of reach by at least 0.2 m")
    np.testing.assert_allclose(found.q, 0, atol=1e-4)  # stretched towards it
    assert found.residual == pytest.approx([0.2, 0], abs=1e-6)


def test_reachable_poses_are_never_reported_out_of_reach():
    """The bound on the reach must hold for revolute and prismatic joints alike."""
    for model in (panda(), puma(), *(random_tree(6, seed) for seed in range(8))):
        limits = (np.full(model.n, -2.0), np.full(model.n, 2.0))
        q = np.random.default_rng(0).uniform(-2, 2, (10, model.n))
        solver = dyn.tasks.InverseKinematicsSolver(model, model.n - 1, limits=limits, starts=1)
        for pose in dyn.frame_pose(model, q, model.n - 1):
            residual = np.ones((1, 2))
            goal = solver._goal(pose)
            assert not solver._reason(q[0], goal, residual).startswith("out of reach")


def test_too_few_degrees_of_freedom_and_an_unreachable_orientation():
    arm = two_link_planar()
    found = dyn.tasks.inverse_kinematics(arm, se3.exp([0.1, 0, 0, 0.5, 0, 0]), 1)
    assert found.reason.startswith("degrees of freedom: only 2 for 6 prescribed")
    R = np.array([[0, 0, -1.0], [0, 1, 0], [1, 0, 0]])  # a tool of 0.3 m that points back at 0.8 m
    target, tool = se3.from_rotation_translation(R, (0.8, 0, 0)), se3.exp([0, 0, 0, 0, 0, 0.3])
    found = dyn.tasks.inverse_kinematics(puma(), target, 5, offset=tool, starts=20)
    assert not found.success
    assert found.reason.split()[0] in ("singular:", "iterations:")
    assert "rad off" in found.reason


# closed loop


def test_the_closed_loop_follows_a_moving_target():
    """With its twist the error vanishes as exp(-gain t); without, it lags by speed / gain."""
    model, dt = panda(), 1e-3
    q0 = np.array([0.1, 0.4, -0.2, -1.8, 0.1, 1.9, 0.5])
    start = dyn.frame_pose(model, q0, HAND)
    path = dyn.tasks.line(start, start @ se3.exp([0.4, 0.2, 0, 0.1, -0.1, 0.05]), 1.0)
    solver = dyn.tasks.InverseKinematicsSolver(model, HAND)
    motion = path.sample(np.arange(0, 1.0, dt))
    lag = {}
    for feedforward in (True, False):
        q, off = q0 + 0.01, []
        for pose, twist in zip(motion.pose, motion.twist, strict=True):
            C = dyn.frame_pose(model, q, HAND)
            off.append(np.linalg.norm((C - pose)[:3, 3]))
            q = solver.follow(q, pose, dt, twist=twist if feedforward else None, gain=30.0)
            assert within_limits(model, q)
        lag[feedforward] = np.array(off)
    assert lag[True][500] < 2e-5  # a twist that is held for a cycle: acceleration dt / (2 gain)
    assert lag[True][100] / lag[True][0] == pytest.approx(np.exp(-3), rel=0.3)
    speed = np.linalg.norm(motion.twist[500, 3:])
    assert lag[False][500] == pytest.approx(speed / 30, rel=0.2)


def test_the_closed_loop_keeps_the_limits():
    """The elbow stays at its limit, and the shoulder points to the target as well as it can."""
    arm, offset = two_link_planar(), se3.exp([0, 0, 0, 0.7, 0, 0])
    solver = dyn.tasks.InverseKinematicsSolver(
        arm, 1, components="x z", offset=offset, limits=([-3, -0.5], [3, 0.5])
    )
    q = np.array([0.0, 0.1])
    target = dyn.frame_pose(arm, [0.9, 1.2], 1) @ offset
    for _ in range(300):
        q = solver.follow(q, target, 0.01)
        assert abs(q[1]) <= 0.5
    assert q[1] == 0.5
    closest = dyn.tasks.inverse_kinematics(
        arm, target, dyn.tasks.Task(1, "x z", offset=offset), limits=([-3, -0.5], [3, 0.5])
    )
    left = np.linalg.norm((dyn.frame_pose(arm, q, 1) @ offset - target)[:3, 3])
    assert left == pytest.approx(closest.residual[0], abs=1e-6)


def test_the_closed_loop_respects_velocity_limits():
    model, q = panda(), np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])
    solver = dyn.tasks.InverseKinematicsSolver(model, HAND)
    far = dyn.frame_pose(model, [1.5, 0.5, 0.5, -1.0, 1.0, 2.0, 2.0], HAND)
    speeds = []
    for _ in range(300):
        before, q = q, solver.follow(q, far, 0.01)
        assert within_limits(model, q)
        speeds.append(np.max(np.abs(q - before) / model.limits.velocity) / 0.01)
    assert max(speeds) == pytest.approx(1.0)
    np.testing.assert_allclose(dyn.frame_pose(model, q, HAND), far, atol=1e-8)


def test_the_closed_loop_returns_from_beyond_a_limit_at_the_permitted_speed():
    model, dt = panda(), 1e-3
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.6, 0.5])
    q[1] = model.limits.upper[1] + 0.05
    solver = dyn.tasks.InverseKinematicsSolver(model, HAND)
    target = dyn.frame_pose(model, q, HAND)
    for _ in range(400):
        before, q = q, solver.follow(q, target, dt)
        assert (np.abs(q - before) <= model.limits.velocity * dt * (1 + 1e-9)).all()
    assert within_limits(model, q)


def test_the_last_permitted_step_counts():
    """A solution that the last step finds counts, and one at the start needs no step."""
    model, q = panda(), np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.6, 0.5])
    near = dyn.frame_pose(model, q + 0.02, HAND)
    needed = dyn.tasks.inverse_kinematics(model, near, HAND, initial=q, starts=1).iterations - 1
    for target, steps in ((dyn.frame_pose(model, q, HAND), 1), (near, int(needed))):
        found = dyn.tasks.inverse_kinematics(
            model, target, HAND, initial=q, starts=1, max_iterations=steps
        )
        assert found.success, found.reason


# invalid input


def test_bad_input_is_rejected_by_name():
    solver, q, one = dyn.tasks.InverseKinematicsSolver(panda(), HAND), np.zeros(7), np.eye(4)

    def solve(target=one, body=HAND, **options):
        return lambda: dyn.tasks.inverse_kinematics(panda(), target, body, **options)

    def follow(q=q, target=one, dt=0.01, **options):
        return lambda: solver.follow(q, target, dt, **options)

    assert_rejected(
        (solve(body="gripper"), "no body or frame 'gripper'"),
        (solve(body="panda_link0"), "belongs to the base"),
        (solve(body=[]), "requires a body"),
        (solve(body=None), "body: expected a sequence of bodies or tasks, got None"),
        (solve(body=[HAND, 3]), "target: expected shape (..., 2, 4, 4)"),
        (solve(body=dyn.tasks.Task(HAND, softness=0.1)), "softness"),
        (solve(np.full((4, 4), np.nan)), "target is nan"),
        (solve(np.diag([1.0, 1, 2, 1])), "not a rotation matrix"),
        (solve(np.diag([1.0, 1, -1, 1])), "reflection"),
        (solve(np.eye(3)), "target: expected shape"),
        (solve(components="sideways"), "components"),
        (solve(axes="odd"), "axes"),
        (solve(offset=np.eye(3)), "offset"),
        (solve(initial=[0.0]), "initial: expected shape"),
        (solve(initial=[np.inf] * 7), "initial must be finite"),
        (solve(limits=([1.0] * 7, [0.0] * 7)), "limits"),
        (solve(limits=([1.0], [2.0])), "limits"),
        (solve(limits=None), "limits: expected a sequence of lower and upper limits"),
        (solve(limits=(["a"] * 7, ["b"] * 7)), "limits: expected real numbers"),
        (solve(starts=0), "starts"),
        (solve(max_iterations=1.5), "max_iterations"),
        (solve(tolerance=0.0), "tolerance"),
        (solve(tolerance="fine"), "tolerance: expected real numbers"),
        (solve(seed="x"), "seed: expected an integer"),
        (solve(seed=-1), "seed: expected an integer, zero or greater, got -1"),
        (follow(q[:6]), "q"),
        (follow(target=np.eye(3)), "target"),
        (follow(twist=np.full(6, np.nan)), "twist"),
        (follow(twist=np.zeros(5)), "twist"),
        (follow(target=np.stack([one] * 2)), "target"),
        (follow(dt=0.0), "dt"),
        (follow(dt="now"), "dt: expected real numbers"),
        (follow(gain=-1.0), "gain"),
        (follow(gain=None), "gain"),
        (follow(damping=-1.0), "damping"),
        (follow(damping=np.inf), "damping"),
        (follow(twist=np.full(6, np.nan)), "is nan finite"),
        (lambda: solver.solve(np.stack([one] * 2)), "target: expected shape"),
        (lambda: solver.solve(one, np.zeros((2, 7))), "initial"),
    )
