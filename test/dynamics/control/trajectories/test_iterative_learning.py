# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Iterative learning on simulated arms whose models are wrong, and its rules on known loops."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from elastic_arms import series
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.elastic import Actuators, Motor
from multibody_dynamics.dynamics.motion import interpolate
from multibody_dynamics.dynamics.plant import ElasticRobot, Plant
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from multibody_dynamics.tools.study.model_errors import with_model_errors
from rejections import assert_rejected
from robots import CONFIG

FILE = CONFIG / "robots" / "planar_two_link.urdf"
NAMES = ("a", "b")
ENCODER = 2.0 * np.pi / 2**18  # rad
SETTLING = 0.3  # s
DURATION = 1.2 + SETTLING


@cache
def robot():
    model = dyn.load_urdf(FILE)
    shoulder = series(500.0, Motor(1.0, viscous=1.0, coulomb=0.5, coulomb_velocity=0.1))
    elbow = series(250.0, Motor(0.4, viscous=0.5, coulomb=0.3, coulomb_velocity=0.1))
    return model, Actuators(model.joint_names, (shoulder, elbow))


MOTION = interpolate(
    robot()[0].joint_names, [0.0, 0.6, 1.2], [[-1.2, 0.4], [-0.8, 0.8], [-1.2, 0.4]]
)


def new_learning(**settings) -> control.IterativeLearning:
    return control.IterativeLearning.of_trajectory(
        "key", "robot", NAMES, MOTION(0.0)[0], DURATION, control.LearningSettings(**settings)
    )


def drive(plant: Plant, law, correction: control.LearnedCorrection, resolution: float, seed: int):
    """One run after a hold in which the correction fades in; the run, and its true errors."""
    rng = np.random.default_rng(seed)
    plant.reset(MOTION(0.0)[0])
    law.reset()
    desired, ahead = np.zeros((2, 5, 2))
    rows, truth = [], []
    for k in range(-400, round(1e3 * DURATION) + 1):
        t = 1e-3 * k
        MOTION.evaluate(max(t, 0.0), desired)
        MOTION.evaluate(max(t + 5e-4, 0.0), ahead)
        q, theta = (
            np.round(row / resolution + rng.normal(0.0, 0.3, 2)) * resolution if resolution else row
            for row in (plant.q, plant.theta)
        )
        if k >= 0:
            rows.append((t, desired[0] - q, correction(t)[0]))
            truth.append(desired[0] - plant.q)
        share = min((k + 400) / 200.0, 1.0)
        desired += share * correction(t)
        ahead += share * correction(t + 5e-4)
        torque = law.update(desired, q, plant.qd, theta, plant.thetad, ahead=ahead)
        plant.step(torque, 1e-3)
    times, error, applied = (np.array(column) for column in zip(*rows, strict=True))
    return control.Run(times, error, applied), float(np.sqrt(np.mean(np.square(truth))))


def wrong_law(draw: int, law: str = "motor_pd", **settings):
    model, actuators = with_model_errors(*robot(), 0.1, np.random.default_rng(draw))
    found = control.ControllerSettings(law=law, position=MOTION(0.0)[0], **settings)
    return control.make_controller(model, actuators, found)


def learn(plant: Plant, law, runs: int, resolution: float = 0.0, **settings):
    """The true rms error of every run, and what was learned."""
    learning, errors = new_learning(**settings), []
    for seed in range(runs):
        run, rms = drive(plant, law, learning.correction, resolution, seed)
        errors.append(rms)
        learning = learning.after(run)
    return np.array(errors), learning


def plants() -> dict[str, Plant]:
    model, actuators = robot()
    return {
        "internal": ElasticRobot(model, actuators),
        "mujoco": MujocoRobot(model, actuators, FILE.read_bytes()),
    }


@pytest.mark.parametrize(
    ("plant", "law", "draw"), [("internal", "state_feedback", 2), ("mujoco", "motor_pd", 1)]
)
def test_five_runs_divide_the_error_by_ten_at_a_model_error_of_a_tenth(plant, law, draw):
    wrong = wrong_law(draw, law, disturbance_bandwidth=0.0)
    errors, learning = learn(plants()[plant], wrong, 5, cutoff=20.0)
    assert errors[0] > 1e-4
    assert errors[-1] < 0.1 * errors[0], errors
    assert (np.diff(errors[:3]) < 0.0).all()
    assert learning.best_rms == pytest.approx(errors.min(), rel=1e-9)


def test_it_still_improves_on_top_of_the_compensation_of_disturbances():
    errors, _ = learn(plants()["internal"], wrong_law(1), 4)
    assert errors[-1] < 0.3 * errors[0], errors


def test_encoder_noise_is_not_amplified_by_any_number_of_runs():
    law = wrong_law(1, disturbance_bandwidth=0.0)
    errors, learning = learn(plants()["internal"], law, 9, ENCODER, patience=9, cutoff=20.0)
    exact, _ = learn(plants()["internal"], law, 9, patience=9, cutoff=20.0)
    assert errors[-1] < 0.1 * errors[0]
    assert (np.diff(errors) < 0.1 * errors[:-1]).all(), errors
    assert (errors < 1.1 * exact + ENCODER).all(), (errors, exact)
    assert np.abs(np.diff(learning.best.coefficients, axis=0)).max() < 0.05


class Loop:
    """A known loop: the error of a run is repeated + noise - T c."""

    def __init__(self, gain: float, noise: float = 0.0) -> None:
        self.gain, self.noise, self.rng = gain, noise, np.random.default_rng(0)
        self.times = np.linspace(0.0, DURATION, 500)
        x = np.linspace(0.0, 1.0, 8)
        slow = np.stack((1.0 + x, np.sin(6.0 * x)), axis=1)
        motion = control.LearnedCorrection(DURATION, 1e-3 * slow)
        self.repeated = np.array([motion(t)[0] for t in self.times])

    def run(self, correction: control.LearnedCorrection) -> control.Run:
        applied = np.array([correction(t)[0] for t in self.times])
        noise = self.noise * self.rng.normal(size=applied.shape)
        return control.Run(self.times, self.repeated + noise - self.gain * applied, applied)


def repeated(loop: Loop, learning: control.IterativeLearning, runs: int = 20):
    """What is learned by so many runs, or until it is finished, and the rms errors of all runs."""
    for _ in range(runs):
        if not learning.is_finished:
            learning = learning.after(loop.run(learning.correction))
    return learning, np.array([run.rms for run in learning.figures])


@pytest.mark.parametrize(("T", "gain"), [(0.8, 1.0), (1.3, 1.0), (1.0, 0.5), (1.2, 0.7)])
def test_a_run_leaves_the_predicted_share_of_the_error(T, gain):
    _, rms = repeated(Loop(T), new_learning(gain=gain, memory=0), 4)
    np.testing.assert_allclose(rms[1:] / rms[:-1], abs(1.0 - gain * T), rtol=0.05)


@pytest.mark.parametrize("T", [-0.5, 30.0])
def test_learning_that_would_diverge_ends_with_the_best_correction(T):
    learning, rms = repeated(Loop(T), new_learning(memory=0))
    assert len(rms) == 3  # without correction, and with a full and a half step
    assert not learning.correction.coefficients.any()


def test_half_steps_learn_where_full_ones_would_diverge():
    learning, rms = repeated(Loop(2.4), new_learning(memory=0), 9)
    assert rms[1] > rms[0]
    assert learning.best_rms < 1e-2 * rms[0]


def test_memory_finds_the_inverse_of_a_loop_that_is_far_from_one():
    _, rms = repeated(Loop(0.3), new_learning(), 3)
    assert rms[1] > 0.6 * rms[0]
    assert rms[2] < 0.01 * rms[0]


def test_learning_ends_at_the_noise_and_keeps_the_best_run():
    learning, rms = repeated(Loop(1.0, noise=2e-6), new_learning())
    assert len(rms) < 12
    assert learning.is_finished
    assert learning.best is learning.correction
    assert learning.best_rms == min(rms) < 4e-6
    after = learning.after(Loop(1.0).run(learning.correction))
    assert after.correction is learning.correction
    assert len(after.figures) == len(rms) + 1
    assert "finished" in str(after)


def test_a_correction_that_was_not_applied_in_full_is_not_learned_twice():
    loop, learning = Loop(1.0), new_learning(memory=0)
    learning = learning.after(loop.run(learning.correction))
    share = np.clip(loop.times / 0.2, 0.0, 1.0)[:, None]  # faded in during the run
    applied = share * loop.run(learning.correction).applied
    learning = learning.after(control.Run(loop.times, loop.repeated - applied, applied))
    left = loop.run(learning.correction).error
    assert np.abs(left).max() < 0.02 * np.abs(loop.repeated).max()


def test_the_limit_holds_for_each_joint():
    loop = Loop(1.0)
    learning, _ = repeated(loop, new_learning(limit=(5e-4, 1.0)), 1)
    found = np.abs([learning.correction(t)[0] for t in loop.times]).max(axis=0)
    assert found[0] == pytest.approx(5e-4, rel=1e-6)
    assert found[1] > 6e-4


def test_a_file_restores_everything_and_is_replaced_as_a_whole(tmp_path):
    path, loop = tmp_path / "motion.npz", Loop(0.9)
    learning = new_learning(cutoff=9.0, limit=(0.1, 0.2), patience=3)
    learning.save(path)
    assert control.IterativeLearning.load(path).last is None
    for _ in range(2):
        learning = learning.after(loop.run(learning.correction), date="2026-01-02T03:04:05+00:00")
        learning.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["motion.npz"]
    found = control.IterativeLearning.load(path)
    for name in ("key", "robot", "joint_names", "settings", "figures", "stalls", "is_finished"):
        assert getattr(found, name) == getattr(learning, name)
    np.testing.assert_array_equal(found.history, learning.history)
    for name in ("correction", "best", "step"):
        wanted, got = getattr(learning, name), getattr(found, name)
        np.testing.assert_array_equal(got.coefficients, wanted.coefficients)
        assert got.duration == wanted.duration
    assert found.last is not None
    assert learning.last is not None
    for got, wanted in zip(found.last, learning.last, strict=True):
        np.testing.assert_array_equal(got, wanted)
    with np.load(path) as file:  # readable without this package
        assert file["trajectory_hash"] == "key"
        assert len(file["rms"]) == len(file["date"]) == 2


def test_the_file_of_another_trajectory_or_robot_is_rejected_with_the_reason(tmp_path):
    learning, load = new_learning(), control.IterativeLearning.load
    learning.require("key", "robot", NAMES)
    text, empty, newer = (tmp_path / f"{name}.npz" for name in ("text", "empty", "newer"))
    text.write_text("nothing")
    np.savez(empty, format=1)
    np.savez(newer, format=99)
    assert_rejected(
        (lambda: learning.require("other", "robot", NAMES), "another trajectory"),
        (lambda: learning.require("key", "panda", NAMES), "'robot' not 'panda'"),
        (lambda: learning.require("key", "robot", ("a", "c")), "a, b a, c"),
        (lambda: load(tmp_path / "missing.npz"), "cannot read missing.npz"),
        (lambda: load(text), "cannot read text.npz"),
        (lambda: load(empty), "not a learned correction"),
        (lambda: load(newer), "format 99"),
        (lambda: learning.save(tmp_path / "missing" / "x.npz"), "cannot write"),
    )


def test_the_key_changes_with_every_part_of_the_trajectory():
    tables = np.array([0.0, 1.0]), np.zeros((2, 2)), None
    key = control.trajectory_key(NAMES, *tables)
    assert key == control.trajectory_key(list(NAMES), [0.0, 1.0], np.zeros((2, 2)), None)
    others = {
        control.trajectory_key(("a", "c"), *tables),
        control.trajectory_key(NAMES, np.array([0.0, 1.0 + 1e-15]), *tables[1:]),
        control.trajectory_key(NAMES, tables[0], np.zeros((2, 2)), np.zeros((2, 2))),
        control.trajectory_key(NAMES, tables[0], np.zeros(4), None),
    }
    assert len(others | {key}) == 5


def test_wrong_runs_and_settings_are_rejected():
    learning, run = new_learning(), Loop(1.0).run(new_learning().correction)
    bad = run.error.copy()
    bad[3, 1] = np.nan
    wrong = {"cutoff": 0.0, "gain": 1.5, "limit": 0.0, "improvement": 1.0, "patience": 0}

    def some(rows):
        return lambda: learning.after(control.Run(*(each[rows] for each in run)))

    assert_rejected(
        (some(slice(None, None, 60)), "gaps"),
        (some(slice(400)), "gaps"),
        (lambda: learning.after(run._replace(times=run.times[:-1])), "shapes"),
        (lambda: learning.after(run._replace(error=bad)), "error of the run"),
        *[
            (lambda setting=each: control.LearningSettings(**dict([setting])), each[0])
            for each in wrong.items()
        ],
        (lambda: new_learning(limit=(1.0, 1.0, 1.0)), "3 values 2 joints"),
    )
    assert replace(control.LearningSettings(), gain=0.5).gain == 0.5
