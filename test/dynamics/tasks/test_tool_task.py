# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tasks, and the motion of their tools."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.model.records import POSE, POSITION, TWIST
from multibody_dynamics.dynamics.tasks.tool_task import COMPONENTS, Task, TaskMotion
from reference import error
from rejections import assert_rejected
from robots import panda, random_state, random_tree
from task_reference import tool_motion

OFFSET = se3.exp([0.3, -0.2, 0.5, 0.05, -0.08, 0.12])
RNG = np.random.default_rng(12)


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        ("pose", "rx ry rz x y z"),
        ("position", "x y z"),
        ("orientation", "rx ry rz"),
        ("direction", "rx ry"),
        ("z rz x", "rz x z"),
        (["y"], "y"),
    ],
)
def test_components_have_a_canonical_order(components, expected):
    task = Task("hand", components)
    assert task.components == tuple(expected.split())
    assert task.size == len(task.components)


def test_only_tool_axes_turn_with_the_tool():
    assert Task("hand", "direction").is_turning
    assert not Task("hand").is_turning
    assert Task("hand", "x y", axes="tool").is_turning


@pytest.mark.parametrize("model", [panda(), random_tree(7, seed=9)], ids=lambda m: m.name)
def test_the_motion_of_a_tool_is_that_of_its_product_of_exponentials(model):
    task = Task(model.n - 1, offset=OFFSET)
    state = random_state(model, seed=3)
    pose, rates = tool_motion(model, task, state)
    motion = dyn.tasks.task_motion(model, task, *state)
    np.testing.assert_allclose(motion.pose, np.array(pose, dtype=float), atol=1e-14)
    assert error(np.array(motion.rates), rates) < 1e-13


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_a_motion_is_the_same_in_every_representation(representation):
    state = random_state(panda(), seed=1)
    task = Task("panda_link8", offset=OFFSET)
    hybrid = dyn.tasks.task_motion(panda(), task, *state)
    seen = dyn.tasks.task_motion(panda(), task, *state, representation=representation)
    assert seen.representation == representation
    assert error(seen.rows, hybrid.rows) < 1e-13
    back = hybrid.seen_as(representation)
    assert error(np.array(back.rates), np.array(seen.rates)) < 1e-13


def test_rows_hold_rotation_position_and_rates():
    motion = dyn.tasks.task_motion(panda(), Task(6), *random_state(panda(), seed=1))
    row = motion.rows
    np.testing.assert_array_equal(row[POSE : POSE + 9].reshape(3, 3), motion.pose[:3, :3])
    np.testing.assert_array_equal(row[POSITION:TWIST], motion.pose[:3, 3])
    np.testing.assert_array_equal(row[TWIST:].reshape(4, 6), motion.rates)


def test_motions_are_batches_and_missing_rates_are_zero():
    motion = TaskMotion(np.broadcast_to(OFFSET, (3, 4, 4)), RNG.normal(size=6))
    assert motion.shape == (3,)
    assert motion.rows.shape == (3, 36)
    np.testing.assert_array_equal(motion.jounce, np.zeros((3, 6)))


@pytest.mark.parametrize("axes", ["inertial", "tool", se3.exp([0.3, 1, -0.5, 0, 0, 0])[:3, :3]])
def test_the_task_jacobian_gives_tool_rates_along_the_axes(axes):
    model, q, qd = panda(), *RNG.normal(size=(2, 2, 7))
    tasks = [Task("panda_link8", "pose", OFFSET, axes), Task("panda_link4", "direction")]
    J = dyn.tasks.task_jacobian(model, tasks, q, length=0.5)
    assert J.shape == (2, 8, 7)
    for task, rows in zip(tasks, (slice(0, 6), slice(6, 8)), strict=True):
        motion = dyn.tasks.task_motion(model, task, q, qd)
        R = motion.pose[..., :3, :3] if task.is_turning else np.transpose(task.axis_rows)
        V = np.stack([motion.twist[:, :3], motion.twist[:, 3:] / 0.5], axis=1)
        seen = np.einsum("...ji,...kj->...ki", R, V).reshape(2, 6)
        chosen = [COMPONENTS.index(name) for name in task.components]
        np.testing.assert_allclose((J @ qd[..., None])[:, rows, 0], seen[:, chosen], atol=1e-14)


def test_bad_input_is_rejected_by_name():
    def task(**options):
        return lambda: Task("hand", **options)

    def moving(*motion, **options):
        return lambda: TaskMotion(*motion, **options)

    def motion(task):
        return lambda: dyn.tasks.task_motion(panda(), task, np.zeros(7))

    def jacobian(tasks):
        return lambda: dyn.tasks.task_jacobian(panda(), tasks, np.zeros(7))

    assert_rejected(
        (task(components="rx yaw"), "'rx yaw'"),
        (task(components=""), "each once"),
        (task(components="x x"), "each once"),
        (task(components=3), "sequence of names"),
        (task(components="direction", axes="inertial"), "two rotations need axes='tool'"),
        (task(axes="world"), "'inertial', 'tool'"),
        (task(axes=2 * np.eye(3)), "axes"),
        (task(axes=np.broadcast_to(np.eye(3), (2, 3, 3))), "one rotation"),
        (task(offset=np.zeros((4, 4))), "offset"),
        (task(offset=np.broadcast_to(np.eye(4), (2, 4, 4))), "one pose"),
        (task(softness=-1.0), "zero or greater"),
        (task(softness=np.nan), "finite"),
        (moving(np.full((4, 4), np.nan)), "pose"),
        (moving(np.eye(3)), "pose"),
        (moving(np.eye(4), np.full(6, np.nan)), "twist"),
        (moving(np.eye(4), np.zeros(6), np.zeros(5)), "acceleration"),
        (moving(np.eye(4), np.zeros((2, 6)), np.zeros((3, 6))), "batch dimensions"),
        (moving(np.eye(4), representation="foo"), "representation 'foo' spatial"),
        (motion(Task("panda_link0")), "no joint moves"),
        (motion(Task("palm")), "no body or frame"),
        (motion("panda_link8"), "expected a Task, got 'panda_link8'"),
        (jacobian([]), "expected a Task"),
        (jacobian(["panda_link8"]), "expected a Task"),
        (jacobian(None), "expected a Task"),
    )


def test_a_motion_is_immutable():
    pose, twist = np.eye(4), np.ones(6)
    motion = TaskMotion(pose, twist)
    pose[0, 3] = twist[0] = 5
    assert motion.pose[0, 3] == 0
    assert motion.twist[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        motion.rows[0] = 1
