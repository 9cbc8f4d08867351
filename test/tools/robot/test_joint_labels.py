# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Labels of joints in a picture are apart from each other, beside their joints, and follow them."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib import pyplot

from multibody_dynamics.tools.robot.joint_labels import JointLabel, label_offsets, projected
from multibody_dynamics.tools.robot.plot_model import joint_labels, plot_model
from robots import panda, random_tree


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_boxes_find_free_places_near_their_points():
    """Five points at one place, and a cloud of points to the right of them."""
    points = np.zeros((5, 2))
    sizes = np.full((5, 2), (30.0, 10.0))
    cloud = np.random.default_rng(0).uniform((0, -60), (120, 60), (400, 2))
    window = np.array([[-200.0, -200.0], [200.0, 200.0]])
    offsets = label_offsets(points, sizes, np.vstack([points, cloud]), window)
    for a, b in combinations(offsets, 2):
        assert (np.abs(a - b) >= (30.0, 10.0)).any()
    assert np.hypot(*offsets.T).max() < 60.0
    for centre in offsets:
        inside = np.abs(np.vstack([points, cloud]) - centre) <= (15.0, 5.0)
        assert inside.all(axis=1).sum() <= 1


def test_boxes_stay_within_the_window():
    window = np.array([[0.0, 0.0], [100.0, 100.0]])
    corner = np.array([[99.0, 99.0], [1.0, 1.0]])
    sizes = np.full((2, 2), (40.0, 10.0))
    centres = corner + label_offsets(corner, sizes, corner, window)
    assert (centres - 0.5 * sizes >= 0.0).all()
    assert (centres + 0.5 * sizes <= 100.0).all()


@pytest.mark.parametrize("model", [panda(), random_tree(30, 5)], ids=repr)
def test_no_label_of_a_robot_covers_another_and_each_is_nearest_to_its_joint(model):
    figure = plot_model(model)
    figure.canvas.draw()
    robot = figure.axes[0]
    labels = [each for each in robot.get_children() if isinstance(each, JointLabel)]
    assert [label.get_text() for label in labels] == list(joint_labels(model).values())
    boxes = [label.get_window_extent() for label in labels]
    overlaps = sum(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert overlaps == 0
    for label, box in zip(labels, boxes, strict=True):
        assert robot.bbox.x0 <= box.x0 < box.x1 <= robot.bbox.x1
        there = robot.transData.transform(label.xy)
        centre = 0.5 * (box.get_points()[0] + box.get_points()[1])
        assert np.linalg.norm(centre - there) < 110.0 * figure.dpi / 72.0


def test_labels_follow_their_joints_when_the_picture_is_turned():
    figure = plot_model(panda())
    robot = figure.axes[0]
    robot.view_init(elev=60, azim=10)
    figure.canvas.draw()
    for label in robot.get_children():
        if isinstance(label, JointLabel):
            np.testing.assert_allclose(label.xy, projected(robot, label.place[None])[0])


def test_many_joints_have_numbers_which_the_tree_explains():
    model = random_tree(30, 5)
    tree = plot_model(model).axes[1]
    lines: dict[float, list[str]] = {}
    for text in tree.texts:
        lines.setdefault(text.get_position()[1], []).append(text.get_text())
    for k, name in enumerate(model.joint_names):
        assert any({str(k + 1), name} <= set(line) for line in lines.values())
