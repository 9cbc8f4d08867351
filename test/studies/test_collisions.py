# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A short version of the study in docs/collisions.md, on both plants."""

from functools import cache
from itertools import islice, pairwise

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import HIT, DetectionSettings
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm
from studies.collisions import (
    Impact,
    Push,
    Study,
    Wall,
    front_rows,
    ramp_response,
    random_motions,
)


@cache
def learned():
    """Thresholds from seconds instead of a minute."""
    return Study("internal").learn(6.0)


@pytest.mark.parametrize("plant", ["internal", "mujoco"])
def test_hits_are_found_in_time_and_motion_is_not(plant):
    study = Study(plant)
    thresholds = learned().thresholds
    alarms = study.quiet(thresholds, 1.5)
    assert alarms.alarms == 0
    assert 0.0 < alarms.largest < 1.0
    (found,) = study.hits(thresholds, Impact(200.0), 1)
    assert found.time <= 0.02
    assert found.force <= 200.0 + 1e-9


def test_random_motions_stay_within_the_limits_and_end_where_the_next_begins():
    model = load_arm(built_in_robots()["panda"]).model
    limits = model.limits
    motions = list(islice(random_motions(model, 4), 12))
    for motion, following in pairwise(motions):
        q = motion.sample(np.linspace(0.0, motion.end_time, 100))
        assert ((q[:, 0] > limits.lower) & (q[:, 0] < limits.upper)).all()
        assert (np.abs(q[:, 1]) < 0.65 * limits.velocity).all()
        np.testing.assert_allclose(q[-1], following(0.0), atol=1e-9)


def test_contacts_act_as_described():
    point, push, velocity = np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.0, 0.0])
    impact = Impact(100.0, 0.02)
    force = impact.force(push, point, velocity)
    np.testing.assert_allclose(force(0.01, point, velocity), 100.0 * push)
    assert not force(0.03, point, velocity).any()
    t = np.linspace(0.0, 0.02, 1001)
    impulse = np.trapezoid([force(each, point, velocity)[2] for each in t], t)
    assert f"{impulse:.2g} N s" in str(impact)
    wall = Wall(1e4, damping=0.0).force(push, point, velocity)
    np.testing.assert_allclose(wall(0.0, 1e-3 * velocity, velocity), [-5.0, 0.0, 0.0])
    assert not wall(0.0, -1e-3 * velocity, velocity).any()
    np.testing.assert_allclose(
        Push(40.0).force(push, point, velocity)(1.0, point, point), 20 * push
    )


def test_a_rising_torque_passes_the_filter_as_its_equation_says():
    settings = DetectionSettings(high_pass=1e-6)
    t, W = np.array([0.005, 0.02, 0.05]), settings.bandwidth
    x = W * t
    passed = (4.0 - np.exp(-x) * (4.0 + 3.0 * x + x**2 + x**3 / 6.0)) / W
    np.testing.assert_allclose(ramp_response(settings, t), t - passed, rtol=2e-3)


def test_walls_are_found_sooner_the_stiffer_and_faster_they_are():
    """A force at the threshold that the filter reaches after 20 ms at 5 kN/m and 0.2 m/s."""
    settings = DetectionSettings()
    force = 5e3 * 0.2 * ramp_response(settings, np.array([0.02]))
    rows = [line.split("|")[1:-1] for line in front_rows(force, settings)][2:]
    times = np.array([[cell.split("(")[0].replace("-", "inf") for cell in row[1:]]
                      for row in rows], dtype=float)  # fmt: skip
    assert times[1, 1] == 20.0
    assert (np.diff(times[1:], axis=0) <= 0.0).all()
    assert (np.diff(times[1:], axis=1) <= 0.0).all()


def test_a_soft_wall_is_found_about_when_it_is_computed_to_be():
    """Both neglect something, see docs/collisions.md; this is a fast point on a stiffer wall."""
    study, wall = Study("internal"), Wall(5e4)
    (found,) = study.hits(learned().thresholds, wall, 1)
    settings = learned().thresholds.settings
    ratio = found.needed / (wall.stiffness * found.speed)
    times = np.linspace(0.0, 0.1, 201)
    computed = float(np.interp(ratio, ramp_response(settings, times), times))
    assert abs(found.time - computed) < 0.01


def test_the_force_at_the_threshold_is_that_of_a_contact_there():
    """The force, applied at a random point of the arm, gives the threshold at one joint."""
    study = Study("internal")
    run = study.simulation(learned().thresholds, seed=7)
    for _ in run.run(0.9):
        pass
    forces = [run.needed_force(np.random.default_rng(seed)) for seed in range(40)]
    forces = np.array([force for force in forces if np.isfinite(force)])
    assert len(forces) > 5
    assert run.law.measured.detector is not None
    smallest = run.law.measured.detector.threshold[HIT].min()
    assert (forces > 0.5 * smallest).all()  # no lever is longer than 2 m
