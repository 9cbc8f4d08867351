# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tool motions planned in another process equal those of the planner here, and end when they are no
longer wanted."""

import os
import time
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.serialization import serialize_message

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.tasks import RedundancyResolution, Task
from multibody_dynamics.nodes.base.messages import MessageError
from multibody_dynamics.nodes.task_space import planning_process
from multibody_dynamics.nodes.task_space.path_planning import PathLimits, PathPlanner
from robots import panda

MODEL = panda()
TASK = Task("panda_link8")
LIMITS = PathLimits(0.25, 1.0, 1.0, 4.0, 0.01, 1e-3)
Q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])
SETUP = planning_process.PlannerSetup(MODEL, TASK, RedundancyResolution(), MODEL.limits)
PATIENCE = 400.0  # s; the process may have to compile


@pytest.fixture(scope="module")
def process() -> Iterator[tuple[planning_process.PlanningProcess, Callable[[], Any]]]:
    """A process, and a function that waits for its next result."""
    results: Queue[Any] = Queue()

    def run(callback: Callable[[], object]) -> None:
        callback()

    made = planning_process.PlanningProcess(SETUP, run)
    submit = made.submit
    made.submit = lambda function, *inputs: submit(results.put, function, *inputs)
    yield made, lambda: results.get(timeout=PATIENCE)
    made.close()


def poses(count: int) -> np.ndarray:
    start = dyn.frame_pose(MODEL, Q, "panda_link8")
    found = np.tile(start, (count, 1, 1))
    angle = np.linspace(0.0, np.pi, count)
    found[:, 1, 3] += 0.1 * np.sin(angle)
    found[:, 2, 3] -= 0.05 * angle
    return found


def message(rows: np.ndarray, frame: str = "panda_link0") -> bytes:
    path = Path()
    path.header.frame_id = frame
    for pose in rows:
        item = PoseStamped()
        item.pose.position.x, item.pose.position.y, item.pose.position.z = pose[:3, 3].tolist()
        item.pose.orientation.w = 1.0
        path.poses.append(item)
    return serialize_message(path)


def test_a_path_is_that_of_the_planner_here(process):
    planning, result = process
    here = PathPlanner(*SETUP)
    planning.submit(planning_process.plan_path, Q, poses(4), LIMITS, "screw")
    found = here.motion(*result())
    wanted = here.plan(Q, poses(4), LIMITS)
    assert found.duration == wanted.duration
    for t in np.linspace(found.start_time, found.end_time, 7):
        np.testing.assert_array_equal(found(t), wanted(t))


def test_large_messages_are_read_there(process):
    planning, result = process
    rows = poses(40)
    rows[:, :3, :3] = np.eye(3)
    planning.submit(planning_process.read_poses, message(rows), Q)
    np.testing.assert_allclose(result(), rows, atol=1e-15)
    planning.submit(planning_process.read_poses, message(rows, "elsewhere"), Q)
    refusal = result()
    assert isinstance(refusal, MessageError)
    assert (refusal.reason, str(refusal)) == ("unknown frame", "the robot has no link 'elsewhere'")


def test_an_unreachable_pose_is_named(process):
    planning, result = process
    far = poses(2)
    far[1, 0, 3] += 3.0
    planning.submit(planning_process.plan_path, Q, far, LIMITS, "screw")
    refusal = result()
    assert refusal.reason == "unreachable"
    assert str(refusal).startswith("pose 2 of 2")


def test_what_is_no_longer_wanted_ends_at_once(process):
    """20,000 poses would take half a minute."""
    planning, result = process
    planning.submit(planning_process.plan_path, Q, poses(2), LIMITS, "screw")
    result()  # the process is ready
    begin = time.monotonic()
    planning.submit(planning_process.plan_path, Q, poses(20_000), LIMITS, "screw")
    planning.submit(planning_process.plan_path, Q, poses(2), LIMITS, "screw")
    refusal = result()
    assert isinstance(refusal, MessageError)
    assert refusal.reason == "superseded"
    assert not isinstance(result(), MessageError)
    planning.submit(planning_process.plan_path, Q, poses(20_000), LIMITS, "screw")
    planning.drop()
    assert result().reason == "superseded"
    assert time.monotonic() - begin < PATIENCE


def test_a_request_is_wanted_as_long_as_its_process_says_so(tmp_path):
    file = os.open(tmp_path / "newest", os.O_RDWR | os.O_CREAT)
    wanted = planning_process.Ticket(os.getpid(), file, 3)
    assert not wanted()
    os.pwrite(file, (3).to_bytes(8, "little"), 0)
    assert wanted()
    assert not wanted._replace(number=2)()
    os.close(file)
    assert not wanted()


def test_a_process_that_was_killed_is_replaced(process):
    planning, result = process
    planning.submit(planning_process.plan_path, Q, poses(2), LIMITS, "screw")
    result()
    (worker,) = planning._process._pool._processes.values()
    worker.kill()
    worker.join()
    refusal = None
    for _ in range(3):  # the pool may notice the end only with the next request
        planning.submit(planning_process.plan_path, Q, poses(2), LIMITS, "screw")
        refusal = result()
        if not isinstance(refusal, MessageError):
            break
        assert str(refusal).startswith("planning failed: ")
    assert not isinstance(refusal, MessageError)
