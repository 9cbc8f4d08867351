# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The scene shows the robot's poses, and the page in a real browser what its sliders say. One test
makes the picture of the README and of docs/view.md."""

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from browser import CHROMIUM, browser, wait
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.view import viewer_page
from multibody_dynamics.tools.view.scene import LOADED, Look, RobotScene
from multibody_dynamics.tools.view.shapes import robot_shapes
from multibody_dynamics.tools.view.sources import Playback, PoseSliders
from multibody_dynamics.tools.view.viewed_motion import RobotState, ViewedMotion, planned
from multibody_dynamics.tools.view.viewer_page import ViewerPage, write_page
from multibody_dynamics.validation.recordings import write_columns
from recorded_arm import ARM, MODEL, NAMES, SPRINGS
from robots import random_tree

ACTUATORS = dyn.load_actuators(SPRINGS, NAMES, MODEL.joint_types)
SHAPES = robot_shapes(MODEL)
HAND = MODEL.body_names[-1]
SIZE = 900, 520  # pixels: without a graphics card, each costs time
PICTURE = 960, 640  # of the README
DOCS = Path(__file__).parents[3] / "docs"
HIDE = (  # the notification of slow graphics, and the bar of a written page
    "document.querySelectorAll('.mantine-Notification-root').forEach(x => x.remove())"
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium")


@pytest.fixture
def page():
    made = ViewerPage(MODEL, SHAPES, port=0)
    yield made
    made.close()


def state(q, motor=None, torque=0.0, wrenches=()):
    n = len(q)
    nothing = np.full(n, np.nan)
    motor = nothing if motor is None else np.asarray(motor, dtype=float)
    rows = np.zeros((3, n))
    rows[0] = torque
    return RobotState(np.asarray(q, dtype=float), motor, rows, nothing, nothing, tuple(wrenches))


def handle(page, name):
    return page.server.scene.get_handle_by_name(name)


def test_links_and_motors_are_where_the_kinematics_place_them(page):
    q, motor = np.array([0.3, -0.8]), np.array([0.32, -0.83])
    page.scene.show(state(q, motor), Look(magnification=10.0))
    for root, position in (("links", q), ("motors", q + 10.0 * (motor - q))):
        pose = dyn.forward_kinematics(MODEL, position).pose[-1]
        frame = handle(page, f"/{root}/{MODEL.n - 1}_{HAND}")
        assert np.allclose(frame.position, pose[:3, 3])
        w, *v = frame.wxyz
        assert 2.0 * np.arctan2(np.linalg.norm(v), w) == pytest.approx(abs(position.sum()))
    assert handle(page, "/motors").visible
    page.scene.show(state(q, motor), Look(twin=False))
    assert not handle(page, "/motors").visible


def test_colours_follow_the_torque_up_to_the_limit(page):
    effort = MODEL.limits.effort
    assert np.isfinite(effort).all()
    mesh = next(
        handle(page, f"/links/0_{MODEL.body_names[0]}/{k}")
        for k, shape in enumerate(SHAPES.shapes)
        if shape.body == 0
    )
    plain = tuple(mesh.color)
    page.scene.show(state([0, 0], torque=[-effort[0], 0.0]), Look())
    assert np.allclose(mesh.color, LOADED, atol=1)
    page.scene.show(state([0, 0], torque=[effort[0], 0.0]), Look(colours=False))
    assert tuple(mesh.color) == plain


def test_a_wrench_is_an_arrow_from_the_origin_of_its_link(page):
    q = np.array([0.3, 0.4])
    pose = dyn.forward_kinematics(MODEL, q).pose[-1]
    wrench = np.array([0.0, 0.0, 0.0, 0.0, 7.0, 0.0])
    page.scene.show(state(q, wrenches=[(HAND, wrench)]), Look())
    ((tail, tip),) = handle(page, "/force").points
    assert np.allclose(tail, pose[:3, 3], atol=1e-6)
    along = (tip - tail) / np.linalg.norm(tip - tail)
    assert np.allclose(along, pose[:3, 1], atol=1e-5)
    page.scene.show(state(q), Look())
    assert not handle(page, "/force").visible


def test_a_second_of_a_humanoid_costs_less_than_a_second():
    """30 pictures of 60 joints that all move, with motors and torques."""
    robot = random_tree(60, 1, ["revolute"])
    humanoid = ViewerPage(robot, robot_shapes(robot), port=0)
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (30, 3, robot.n))
    try:
        begin = time.process_time()
        for q, deflection, torque in rows:
            humanoid.scene.show(state(q, q + 0.1 * deflection, torque), Look())
        assert time.process_time() - begin < 1.0
    finally:
        humanoid.close()


def motion_of_half_a_turn():
    t = np.linspace(0.0, 2.0, 41)
    q = np.stack([np.linspace(-1.5, 1.5, 41), np.zeros(41)], axis=1)
    nothing = np.full_like(q, np.nan)
    return ViewedMotion("swing", t, q, q + 0.02, np.zeros((41, 3, 2)), nothing, nothing)


def test_playback_keeps_time_and_starts_again(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    motion = motion_of_half_a_turn()
    source = Playback(motion)
    now[0] += 1.0
    assert source.state().q == pytest.approx([0.0, 0.0], abs=1e-12)
    assert source.curves().t[-1] == pytest.approx(1.0)
    now[0] += 1.5
    assert source.state().q[0] == -1.5


@contextmanager
def running(page):
    """A page that shows its source, in a thread."""
    leave = threading.Event()
    thread = threading.Thread(target=page.run, args=(leave.is_set,))
    thread.start()
    try:
        yield page
    finally:
        leave.set()
        thread.join()
        page.close()


def robot_in(picture):
    """Mask of the pixels that are neither background nor grid, left of the panel."""
    left = picture[:, : picture.shape[1] - 400]
    return left.min(axis=2) < 0.72


@needs_browser
def test_a_slider_in_the_browser_moves_the_robot(tmp_path):
    source = PoseSliders(MODEL, ACTUATORS, np.zeros(2))
    with running(ViewerPage(MODEL, SHAPES, source, port=0)) as page, browser(tmp_path, *SIZE) as b:
        b.open(page.url)
        b.until(f"document.body.innerText.includes('{NAMES[1]}')", 60)
        before = wait(lambda: _drawn(b), "the robot in the picture", 60)
        q = source.state().q.copy()
        b.run("document.querySelector('[role=slider]').focus()")
        b.press("End", 35)
        wait(lambda: source.state().q[0] != q[0], "the slider", 30)
        assert source.state().q[0] == pytest.approx(MODEL.limits.upper[0], abs=0.01)
        after = wait(lambda: _drawn(b, unlike=before), "another picture", 60)
        assert (before ^ after).sum() > 0.3 * before.sum()
        assert not b.errors


def test_a_page_of_a_very_long_motion_has_a_bounded_number_of_frames(tmp_path, monkeypatch):
    shown = []
    show = RobotScene.show
    monkeypatch.setattr(viewer_page, "MOST_FRAMES", 40)
    monkeypatch.setattr(RobotScene, "show", lambda *each: (shown.append(each[1]), show(*each)))
    motion = motion_of_half_a_turn()
    write_page(MODEL, SHAPES, replace(motion, t=1e3 * motion.t), tmp_path / "slow.html")
    assert 40 <= len(shown) <= 42
    assert shown[-1].q == pytest.approx(motion.at(0.975 * motion.duration).q, abs=0.05)


@needs_browser
def test_a_written_page_shows_the_motion_without_a_server(tmp_path):
    file = write_page(MODEL, SHAPES, motion_of_half_a_turn(), tmp_path / "swing.html", frames=10.0)
    assert not re.search(r'(src|href)="https?://', file.read_text())
    with browser(tmp_path / "profile", *SIZE) as b:
        b.open(file.as_uri())
        first = wait(lambda: _drawn(b), "the robot in the picture", 60)
        wait(lambda: _drawn(b, unlike=first), "its motion", 60)
        assert not b.errors


HOME = np.array([0.0, -0.6, 0.0, -2.1, 0.0, 1.7, 0.8])  # rad
REACH = np.array([-1.5, 0.7, -0.4, -1.0, 0.6, 2.3, 0.2])


@needs_browser
def test_the_picture_of_the_readme_is_one_of_the_page(tmp_path):
    config = share_directory() / "config"
    panda = dyn.load_urdf(config / "robots" / "panda.urdf")
    springs = dyn.load_actuators(config / "elastic_joints" / "panda.yaml", panda.joint_names)
    path = dyn.interpolate(panda.joint_names, [0.0, 1.5, 3.0], [HOME, REACH, HOME])
    source = Playback(planned("there and back", path, panda, springs), 1.35, plays=False)
    look = Look(magnification=10.0)
    page = ViewerPage(panda, robot_shapes(panda), source, look=look, port=0)
    file = tmp_path / "view.png"
    with running(page), browser(tmp_path / "profile", *PICTURE) as b:
        width, height = PICTURE
        b.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
               deviceScaleFactor=1, mobile=False)  # fmt: skip
        b.open(page.url)
        b.until("document.querySelectorAll('.uplot').length > 2", 120)
        wait(lambda: _drawn(b), "the robot in the picture", 60)
        made, before = robot_in(b.screenshot(file)), None
        while before is None or (made ^ before).any():  # until all meshes are drawn
            before, made = made, robot_in(b.screenshot(file))
        assert not b.errors
    kept = imread(DOCS / "images" / "view.png")[..., :3]
    assert kept.shape == (height, width, 3)
    both, either = made & robot_in(kept), made | robot_in(kept)
    assert both.sum() > 0.8 * either.sum(), f"if the page is right, cp {file} {DOCS / 'images'}"


def _drawn(b, unlike=None):
    """The robot's pixels, if there are enough of them; None if they are like others."""
    b.run(HIDE)
    found = robot_in(b.screenshot())
    if found.sum() < 500:
        return None
    if unlike is not None and (found ^ unlike).sum() < 0.3 * unlike.sum():
        return None
    return found


def test_loops_stay_closed_on_the_page_and_under_the_sliders(tmp_path):
    folder = share_directory() / "config" / "mechanisms"
    urdf, springs = folder / "five_bar.urdf", folder / "five_bar.yaml"
    model = load_robot(urdf, springs)
    page = ViewerPage(model, robot_shapes(model), port=0)
    try:
        page.scene.show(state(model.home + 0.1), Look())
        pose = model.tree.body_names, dyn.forward_kinematics(
            model.tree, model.configuration(model.home + 0.1)
        ).pose  # fmt: skip
        for k, (body, of_tree) in enumerate(zip(*pose, strict=True)):
            assert np.allclose(handle(page, f"/links/{k}_{body}").position, of_tree[:3, 3])
    finally:
        page.close()
    sliders = PoseSliders(model, None)
    before = sliders.state().q
    sliders._move(0, 3.4)  # where the loop does not close
    assert np.array_equal(sliders.state().q, before)
    file, t = tmp_path / "motion.csv", np.linspace(0.0, 0.2, 21)
    write_columns(file, {"t": t, **{f"q {joint}": 0.2 * t for joint in model.joint_names}})
    words = ["view", str(file), "--urdf", str(urdf), "--elastic-joints", str(springs)]
    assert cli.main([*words, "--page", str(tmp_path / "m.html")]) == 0


def test_the_command_writes_a_page_and_names_what_it_needs(tmp_path, capsys):
    t = np.linspace(0.0, 1.0, 21)
    file = tmp_path / "motion.csv"
    write_columns(file, {"t": t, **{f"q {joint}": 0.2 * t for joint in NAMES}})
    page = tmp_path / "m.html"
    words = ["view", str(file), "--elastic-joints", str(SPRINGS), "--page", str(page)]
    assert cli.main(words) == 2
    assert "which robot? --urdf names its file" in capsys.readouterr().err
    assert cli.main([*words, "--urdf", str(ARM)]) == 0
    assert page.stat().st_size > 500_000
    assert cli.main(["view", str(ARM), "--configuration", "1"]) == 2
    assert "1 numbers, but 2 joints" in capsys.readouterr().err
    assert cli.main(["view", str(ARM), "--duration", "0.3"]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out
