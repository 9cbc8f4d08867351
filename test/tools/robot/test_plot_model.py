# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The picture of a robot is correct: its lines and markers are read back and compared."""

from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from matplotlib import pyplot

from multibody_dynamics.dynamics import MultibodyModel, model_from_screws, se3
from multibody_dynamics.dynamics.core.inputs import Array
from multibody_dynamics.dynamics.model import inertia
from multibody_dynamics.tools.robot.joint_labels import projected
from multibody_dynamics.tools.robot.plot_model import (
    FRAME,
    JOINTS,
    LONGEST,
    MOST_NAMES,
    SHORTEST,
    best_view,
    default_pose,
    plot_model,
)
from rejections import assert_rejected
from robots import panda, product_of_exponentials, random_tree, with_multidof

ROBOTS = [panda(), random_tree(30, 5), with_multidof().with_payload("body3", 1.5, name="cup")]
LONG = "a_joint_with_a_rather_long_name_{}_as_generators_write_them"


class Picture(NamedTuple):
    model: MultibodyModel
    q: Array
    robot: Any
    tree: Any


@pytest.fixture(scope="module", params=ROBOTS, ids=repr)
def picture(request):
    q = np.random.default_rng(1).uniform(-1, 1, request.param.n)
    yield Picture(request.param, q, *plot_model(request.param, q).axes)
    pyplot.close("all")


def found(axis, prefix):
    """The drawn objects of a kind, by name."""
    named = {artist.get_gid(): artist for artist in axis.get_children() if artist.get_gid()}
    return {gid.partition(" ")[2]: a for gid, a in named.items() if gid.startswith(prefix)}


def texts(axis):
    return [text for text in axis.texts if text.get_text()]


def boxes(axis):
    """The bounding boxes of the texts in the figure."""
    renderer = axis.figure.canvas.get_renderer()
    return {text: text.get_window_extent(renderer) for text in texts(axis)}


def test_axes_are_where_the_joints_are(picture):
    model, q, robot, _ = picture
    drawn = found(robot, "axis")
    assert tuple(drawn) == model.joint_names
    poses = product_of_exponentials(model, q)
    for i, line in enumerate(drawn.values()):
        S = se3.Ad(poses[i] @ se3.inverse(model.poses[i])) @ model.screws[i]
        e, v = S[:3], S[3:]
        start, end = np.transpose(line.get_data_3d())
        kind = "revolute" if model.joint_types[i] == "continuous" else model.joint_types[i]
        assert line.get_color() == JOINTS[kind][0]
        along = e if e.any() else v
        np.testing.assert_allclose(np.cross(end - start, along), 0, atol=1e-12)
        assert (end - start) @ along > 0
        if e.any():  # v = y x e + h e for every point y of the axis
            h = e @ v / (e @ e)
            np.testing.assert_allclose(np.cross(start, e) + h * e, v, atol=1e-12)


def test_markers_of_masses_have_the_right_position_and_area(picture):
    model, q, robot, _ = picture
    marks = found(robot, "mass")
    poses = product_of_exponentials(model, q)
    bodies = dict(zip(model.body_names, enumerate(model.link_inertias), strict=True))
    bodies |= {name: (load.body, load.inertia) for name, load in model.payloads.items()}
    masses = {name: inertia.decompose(M) for name, (_, M) in bodies.items() if M[5, 5]}
    assert set(marks) == set(masses)
    for name, (mass, com, _) in masses.items():
        centre = poses[bodies[name][0]] @ [*com, 1.0]
        x, y, z = (float(values[0]) for values in marks[name]._offsets3d)
        np.testing.assert_allclose((x, y, z), centre[:3], atol=1e-12)
        heaviest = max(mass for mass, _, _ in masses.values())
        largest = max(mark.get_sizes()[0] for mark in marks.values())
        assert marks[name].get_sizes()[0] == pytest.approx(largest * mass / heaviest)


def test_all_axes_have_the_same_scale(picture):
    robot = picture.robot
    robot.set_proj_type("ortho")
    for elevation, azimuth, seen in ((0, -90, (0, 2)), (90, -90, (0, 1))):
        robot.view_init(elev=elevation, azim=azimuth)
        x, y, _, w = robot.get_proj()[:, :3]  # the unit vectors in the plane of the picture
        assert not w.any()
        lengths = np.hypot(x, y)
        assert lengths[seen[0]] == pytest.approx(lengths[seen[1]])


def long_names(model):
    return model_from_screws(
        model.parents, model.screws, model.poses, model.link_inertias,
        joint_names=[LONG.format(i) for i in range(model.n)], name="long",
    )  # fmt: skip


def check_texts(tree):
    """No text overlaps another, and all are within the axes."""
    places = boxes(tree)
    for box in places.values():
        assert tree.bbox.x0 <= box.x0 < box.x1 <= tree.bbox.x1
        assert tree.bbox.y0 <= box.y0 < box.y1 <= tree.bbox.y1
    for (one, a), (other, b) in combinations(places.items(), 2):
        assert not a.overlaps(b), (one.get_text(), other.get_text())


def test_the_texts_of_the_tree_do_not_overlap(picture):
    check_texts(picture.tree)
    assert min(text.get_fontsize() for text in texts(picture.tree)) > 8.9


def test_long_names_in_the_tree_do_not_overlap():
    check_texts(plot_model(long_names(random_tree(12, 1))).axes[1])


@pytest.mark.parametrize("model", [panda(), random_tree(30, 5)], ids=repr)
def test_given_axes_are_used(model):
    figure = pyplot.figure(figsize=(7.0, 4.0))
    robot, tree = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    assert plot_model(model, axes=(robot, tree)) is figure
    assert figure.axes == [robot, tree]
    assert len(found(robot, "axis")) == model.n
    check_texts(tree)


def test_the_tree_has_a_line_for_every_joint_below_its_parent(picture):
    model, _, _, tree = picture
    lines = {}
    for text in texts(tree):
        lines.setdefault(text.get_position()[1], []).append(text.get_text())
    if model.n > MOST_NAMES:  # the first column has the numbers that label the joints in space
        lines = {y: row[1:] if len(row) > 2 else row for y, row in lines.items()}
    height = {row[2]: y for y, row in lines.items() if len(row) > 3}
    height |= {row[0]: y for y, row in lines.items() if row == [model.base_name]}
    for i, (joint, body) in enumerate(zip(model.joint_names, model.body_names, strict=True)):
        mass = model.link_inertias[i, 5, 5]
        loads = [f"{name} 1.5" for name, load in model.payloads.items() if load.body == i]
        cells = [joint, model.joint_types[i], body, f"{mass:.3f}" if mass else "-", *loads]
        assert lines[height[body]] == cells
        parent = model.parents[i]
        assert height[body] > height[model.base_name if parent < 0 else model.body_names[parent]]
    total = next(row for row in lines.values() if row[0] == "total")
    assert float(total[1]) == pytest.approx(model.inertias[:, 5, 5].sum(), abs=1e-3)


def test_the_tree_connects_every_body_with_its_parent(picture):
    model, _, _, tree = picture
    edges = {name: np.transpose(x.get_data()) for name, x in found(tree, "joint").items()}
    bodies = np.array([edges[name][1] for name in model.joint_names])
    base = np.ravel(found(tree, "base")[""].get_data())
    trunks = [np.transpose(x.get_data()) for x in tree.lines if x.get_zorder() == 1]
    for i, parent in enumerate(model.parents):
        carrier = base if parent < 0 else bodies[parent]
        bend = edges[model.joint_names[i]][0]
        if np.any(bend != carrier):
            assert any(np.array_equal(trunk, [carrier, bend]) for trunk in trunks)
        passed = bodies[(bodies[:, 0] == carrier[0]) & (bodies[:, 1] > carrier[1])]
        assert not (passed[:, 1] < bodies[i, 1]).any()  # the line passes no other body
        siblings = np.flatnonzero(model.parents == parent)
        assert (np.diff(bodies[siblings, 1]) > 0).all()


def test_every_body_has_its_frame_in_red_green_and_blue():
    model = random_tree(5, 2)
    q = np.full(5, 0.4)
    lines = plot_model(model, q).axes[0].lines
    for colour, k in zip(FRAME, range(3), strict=True):
        ends = [np.transpose(x.get_data_3d()) for x in lines if x.get_color() == colour]
        starts = np.array([start for start, _ in ends])
        directions = np.array([(end - start) / np.linalg.norm(end - start) for start, end in ends])
        expected = np.concatenate([np.eye(4)[None], product_of_exponentials(model, q)])
        np.testing.assert_allclose(starts, expected[:, :3, 3], atol=1e-12)
        np.testing.assert_allclose(directions, expected[:, :3, k], atol=1e-12)


def test_the_default_configuration_is_within_the_limits():
    model = panda()
    limits = model.limits._replace(lower=np.full(7, 1.5), upper=np.full(7, 2.5))
    for shown in (model, replace(model, limits=limits)):
        q = default_pose(shown)
        assert (shown.limits.lower <= q).all()
        assert (q <= shown.limits.upper).all()
    np.testing.assert_array_equal(default_pose(random_tree(4, 1)), 0)


@pytest.mark.parametrize("wrong", [np.zeros(6), np.zeros((2, 7)), 0.0, np.full(7, np.nan), "q"])
def test_an_invalid_configuration_is_rejected(wrong):
    before = pyplot.get_fignums()
    assert_rejected((lambda: plot_model(panda(), wrong), "q panda_joint1"))
    assert pyplot.get_fignums() == before


def test_the_robot_fills_its_window_between_title_and_legend():
    """A long and a wide robot, whatever the shape of the sheet."""
    for model in (panda(), random_tree(30, 5)):
        figure = plot_model(model)
        figure.canvas.draw()
        robot, tree = figure.axes
        ends = [robot.get_xlim3d(), robot.get_ylim3d(), robot.get_zlim3d()]
        corners = np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, 3)
        seen = robot.transData.transform(projected(robot, corners))
        window = np.array([tree.bbox.x0, figure.bbox.height])
        assert (seen > 0.0).all()
        assert (seen < window).all()
        assert max(np.ptp(seen, axis=0) / window) > 0.7


def test_crowded_joints_have_short_axes(picture):
    """They do not reach the nearest joint, unless that is in almost the same place."""
    drawn = [np.transpose(line.get_data_3d()) for line in found(picture.robot, "axis").values()]
    centres = np.array([ends.mean(axis=0) for ends in drawn])
    halves = np.array([0.5 * np.linalg.norm(ends[1] - ends[0]) for ends in drawn])
    apart = np.linalg.norm(centres[:, None] - centres, axis=-1)
    assert halves.max() / halves.min() <= LONGEST / SHORTEST * (1.0 + 1e-9)
    apart[apart < 1.01 * halves.min()] = np.inf
    is_short = halves <= 0.5 * apart.min(axis=1) * (1.0 + 1e-9)
    assert (is_short | np.isclose(halves, halves.min())).all()


def test_the_view_keeps_joints_apart():
    """Joints in a plane are seen from the front, whichever plane it is; a given view is used."""
    points = np.random.default_rng(2).uniform(-1.0, 1.0, (12, 2))
    for angle in np.radians([0.0, 40.0, 100.0, 170.0]):
        along = np.array([np.cos(angle), np.sin(angle), 0.0])
        elevation, azimuth = best_view(points[:, :1] * along + points[:, 1:] * (0.0, 0.0, 1.0))
        e, a = np.radians([elevation, azimuth])
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        assert abs(towards @ np.cross(along, (0.0, 0.0, 1.0))) > 0.6
    robot = plot_model(panda(), view=(30.0, 60.0)).axes[0]
    assert (robot.elev, robot.azim) == (30.0, 60.0)
