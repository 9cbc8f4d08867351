# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint motions planned for paths of a tool, without ROS."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import MessageError
from multibody_dynamics.nodes.task_space import path_planning
from multibody_dynamics.nodes.task_space.tool_motion import ToolMotion
from multibody_dynamics.resources import share_directory

MODEL = dyn.load_urdf(share_directory() / "config" / "robots" / "panda.urdf")
TASK = dyn.tasks.Task("panda_link8", offset=dyn.se3.exp([0, 0, 0, 0, 0, 0.1]))
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
LIMITS = path_planning.PathLimits(0.25, 1.0, 1.0, 4.0, 0.02, 0.005)
RESOLUTIONS = {
    "least rates": dyn.tasks.RedundancyResolution(),
    "posture and limits": dyn.tasks.RedundancyResolution(
        weights=[3.0, 1, 1, 1, 1, 1, 1], posture=READY + 0.3, limit_speed=0.3
    ),
    "damping": dyn.tasks.RedundancyResolution(damping=dyn.tasks.Damping(0.1), feedback=10.0),
}
NAMES = MODEL.joint_names


def planner(name: str = "least rates") -> path_planning.PathPlanner:
    return path_planning.PathPlanner(MODEL, TASK, RESOLUTIONS[name], MODEL.limits)


def away(*screws: list[float]) -> np.ndarray:
    """Poses relative to that of READY."""
    return dyn.tasks.task_motion(MODEL, TASK, READY).pose @ dyn.se3.exp(screws)


NEAR = away([0.3, -0.2, 0.5, 0.1, 0.2, -0.1])
THROUGH = away([0, 0, 0.3, 0.05, 0.1, 0], [0.1, 0, 0.3, 0.05, 0.1, -0.05], [0, 0, 0, 0.1, 0, 0])


@pytest.mark.parametrize(
    ("name", "poses"),
    [("least rates", THROUGH), ("posture and limits", NEAR), ("damping", THROUGH)],
    ids=["spline", "screw", "damped spline"],
)
def test_a_plan_leads_the_tool_through_the_poses_from_rest_to_rest(name, poses):
    plans = planner(name)
    motion = plans.plan(READY, poses, LIMITS)
    times = np.linspace(0.0, motion.duration, 801)
    states = motion.sample(times)
    np.testing.assert_allclose(states[0, 0], READY, rtol=0, atol=1e-12)
    assert not states[[0, -1], 1:].any()
    tools = plans.pose(states[:, 0])
    wanted = np.array([motion.wanted(t) for t in times])
    accuracy = LIMITS.pose_tolerance if name == "damping" else 1e-11
    assert plans.errors(wanted, states[:, 0]).max() < accuracy
    distance = np.abs(tools[:, None] - poses).max(axis=(2, 3)).min(axis=0)
    assert distance[:-1].max(initial=0.0) < 2e-3  # between two samples
    assert distance[-1] < accuracy

    # Every derivative is the slope of the preceding one.
    step = times[1]
    slopes = (states[2:, :-1] - states[:-2, :-1]) / (2 * step)
    error = np.abs(slopes - states[1:-1, 1:]).max(axis=(0, 2)) / np.abs(states[:, 1:]).max(
        axis=(0, 2)
    )
    assert error[:3].max() < 5e-3
    assert error[3] < 0.1  # q'''' has kinks at the knots of the time law

    rates = dyn.tasks.task_motion(MODEL, TASK, *np.moveaxis(states, 1, 0)).rates
    peaks = [np.linalg.norm(x.reshape(-1, 2, 3), axis=2).max(axis=0) for x in rates[:2]]
    slack = 1e-3 if name != "damping" else 0.05
    assert (peaks[0] <= np.array([1.0, 0.25]) * (1 + slack)).all()
    assert (peaks[1] <= np.array([4.0, 1.0]) * (1 + slack)).all()
    assert (np.abs(states[:, 1]) <= MODEL.limits.velocity).all()
    np.testing.assert_allclose(motion.near(times)[:, 0], states[:, 0], rtol=0, atol=1e-8)


def test_a_stop_stays_on_the_path():
    plans = planner("posture and limits")
    motion = plans.plan(READY, NEAR, LIMITS)
    t = 0.4 * motion.duration
    braked = motion.braked(t, 0.3)
    assert braked.end_time == pytest.approx(t + 0.3)
    np.testing.assert_array_equal(braked(t), motion(t))
    np.testing.assert_allclose(braked(t + 1e-9), motion(t), rtol=0, atol=1e-3)
    for x in np.linspace(t, braked.end_time, 20):
        assert plans.errors(braked.wanted(x), braked(x)[0]).max() < 1e-11
    assert not braked(braked.end_time)[1:].any()
    assert motion.braked(motion.duration - 0.2, 0.3) is motion


def test_the_curve_of_a_line_is_straight():
    goal = NEAR[0]
    start = dyn.tasks.task_motion(MODEL, TASK, READY).pose
    path, first, last = path_planning.curve(np.array([start, goal]), LIMITS, "line")
    middle = path((first + last) / 2).pose
    np.testing.assert_allclose(middle[:3, 3], (start + goal)[:3, 3] / 2, atol=1e-12)


STRICT = LIMITS._replace(pose_tolerance=1e-9, singularity_margin=0.0)


def plan_to(shift):
    """To a pose beside that of READY, shifted along the axes of the base."""
    target = dyn.tasks.task_motion(MODEL, TASK, READY).pose.copy()
    target[:3, 3] += shift
    return planner().plan(READY, target[None], LIMITS._replace(singularity_margin=0.09))


@pytest.mark.parametrize(
    ("reason", "make", "says"),
    [
        ("unreachable", lambda: plan_to([0, 0, -2.0]), "pose 1 of 1: out of reach by at least"),
        ("joint limit", lambda: plan_to([-0.6, 0, 0]), "panda_joint"),
        ("singularity", lambda: plan_to([0.36, 0, 0]), "% of the path, x y z ="),
        ("induced error", lambda: planner("damping").plan(READY, NEAR, STRICT), "would move the"),
        ("superseded", lambda: planner().plan(READY, NEAR, LIMITS, is_wanted=lambda: False), "."),
        ("already there", lambda: planner().plan(READY, away([0] * 6), LIMITS), "."),
    ],
)
def test_a_plan_that_is_refused_says_why_and_where(reason, make, says):
    with pytest.raises(MessageError, match=says) as caught:
        make()
    assert caught.value.reason == reason


def test_a_tool_trajectory_that_ends_in_motion_gets_a_stop():
    plans = planner()
    pose = plans.pose(READY)
    twist = np.array([0, 0, 0.2, 0.1, 0, 0.0])
    request = path_planning.CartesianRequest(
        None, np.array([0.5]), pose[None], twist[None], 0 * twist[None], 2
    )
    points = plans.joint_points(request, READY, LIMITS, 0.4)
    np.testing.assert_allclose(points.times, [0.5, 0.9])
    np.testing.assert_allclose(points.positions[0], READY, rtol=0, atol=1e-12)
    rows = (points.positions[0], points.velocities[0], points.accelerations[0])
    back = dyn.tasks.task_motion(MODEL, TASK, *rows)
    np.testing.assert_allclose(back.twist, twist, atol=1e-12)
    np.testing.assert_allclose(back.acceleration, np.zeros(6), atol=1e-12)
    resting = plans.joint_points(request._replace(orders=0), READY, LIMITS, 0.4)
    assert resting.velocities is None
    assert len(resting.times) == 1


def test_a_motion_that_its_tool_cannot_continue_comes_to_rest_smoothly():
    plans = planner()
    plan = plans.plan(READY, NEAR, LIMITS)
    motion = ToolMotion(NAMES, MODEL.limits)
    motion.hold(READY, 0)
    out = np.zeros((5, 7))
    motion.evaluate(0, out)
    motion.take_over(plan, READY, tolerance=0.1)
    step = 1_000_000
    for time in range(0, 400 * step, step):
        motion.evaluate(time, out)
    assert motion.mode == "moving"
    before = out.copy()
    far = NEAR[0].copy()
    far[0, 3] += 3.0
    plan.path.path = dyn.tasks.screw_motion(far, NEAR[0], 1.0)  # as if the target had jumped
    motion.evaluate(400 * step, out)
    assert "is not reached" in motion.fault
    np.testing.assert_array_equal(out, before)
    for time in range(401 * step, 901 * step, step):
        previous = out.copy()
        motion.evaluate(time, out)
        assert np.abs((out - previous)[:-1] - 0.5e-3 * (out + previous)[1:]).max() < 1e-3
    motion.evaluate(1000 * step, out)
    assert not out[1:].any()
