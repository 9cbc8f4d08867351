# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Single runs: they reproduce what is known of the laws, and lost runs are reported."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics.tools.study import single_run
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.studied_laws import STUDIED_LAWS
from study_arms import panda, two_links

EXACT = CONDITIONS["exact"]


def run(arm, key, condition=EXACT, number=None, **options):
    law = STUDIED_LAWS[key]
    return single_run.simulate(arm, law.at(number) if number else law, condition, **options)


@pytest.mark.parametrize(
    ("key", "number", "changes", "rms", "peak"),
    [
        # docs/elastic_joints.md of the release before this study, exact encoders and model
        ("pd-full", 60.0, {}, 0.016e-3, 0.036e-3),
        ("pd-quasi", 40.0, {}, 1.4e-3, 7e-3),
        ("pd-full-comp", 60.0, {"has_payload": True}, 1.4e-3, 6.3e-3),
    ],
)
def test_the_panda_has_the_errors_of_the_previous_study(key, number, changes, rms, peak):
    condition = replace(EXACT, bits=0, **changes)
    outcome = run(panda(), key, condition, number)
    assert outcome.rms == pytest.approx(rms, rel=0.06)
    assert outcome.peak == pytest.approx(peak, rel=0.06)


def test_the_same_draw_gives_the_same_run_and_another_a_different_one():
    off = CONDITIONS["all-20"]
    first, again, other, seeded = (
        run(two_links(), "pd-full-comp", off, until=0.3, draw=draw, seed=seed)
        for draw, seed in ((1, 0), (1, 0), (2, 0), (1, 5))
    )
    assert first == again
    assert len({each.step for each in (first, other, seeded)}) == 3


def test_every_law_faces_the_same_wrong_model():
    """Motor PDs with and without rates: at rest at the start, their feedforward is the same."""
    off = replace(CONDITIONS["all-20"], bits=0)
    first = [run(two_links(), key, off, until=0.05).peak for key in ("pd-full", "pd-quasi")]
    assert np.allclose(*first, rtol=1e-6)
    assert first[0] > 1e-3


def test_a_run_beyond_stability_is_lost_and_has_no_errors():
    late = replace(EXACT, delay=20e-3)
    outcome = run(two_links(), "sf-full", late, number=80.0)
    assert outcome.lost
    assert np.isnan([outcome.rms, outcome.peak, outcome.step]).all()


def test_a_law_without_design_is_lost():
    outcome = run(two_links(), "impedance", number=10.0)  # stiffer than the springs
    assert outcome.lost.startswith("no design: ")


def test_a_swing_is_measured_about_the_trend():
    t = np.linspace(0.0, 0.2, 200)[:, None]
    drift = np.hstack([0.1 * t, -0.3 * t + 1.0])
    assert single_run._swing(drift) < 1e-12
    swinging = drift + [0.0, 1.0] * (2e-3 * np.sqrt(2.0) * np.sin(2.0 * np.pi * 50.0 * t))
    assert single_run._swing(swinging) == pytest.approx(single_run.SWING, rel=0.01)


def test_only_a_swing_that_does_not_decay_is_unstable():
    t = np.linspace(0.0, 1.0, 1000)[:, None]
    errors, torques = np.ones((3, 1)), np.zeros((3, 1))
    for growth, is_lost in ((-1.0, False), (0.0, True), (1.0, True)):
        swing = 5e-3 * np.exp(growth * t) * np.sin(25.0 * t)
        assert bool(single_run._outcome(errors, torques, swing).lost) == is_lost
    assert not single_run._outcome(errors, torques, np.zeros((0, 1))).lost


def test_jitter_changes_the_lengths_of_the_cycles_and_costs_little():
    arm = two_links()
    regular, irregular = (
        run(arm, "pd-full", replace(EXACT, jitter=jitter)) for jitter in (0.0, 0.5)
    )
    assert irregular.rms != regular.rms
    assert irregular.rms < 2.0 * regular.rms


def test_without_link_encoders_the_links_are_observed_and_compensation_is_off():
    arm, alone = two_links(), CONDITIONS["motor-encoders"]
    plain, compensated = (run(arm, f"pd-full{kind}", alone) for kind in ("", "-comp"))
    assert plain == compensated
    assert plain.rms < 1e-4
    assert run(arm, "pd-full", EXACT).rms != plain.rms


def test_a_known_delay_is_predicted():
    arm = two_links()
    known, unknown = (
        run(arm, "sf-full-comp", CONDITIONS[f"delay-5-{name}"], 40.0)
        for name in ("known", "unknown")
    )
    assert unknown.lost or known.rms < 0.5 * unknown.rms


def test_a_planar_arm_is_pushed_within_its_plane():
    arm = two_links()
    robot = single_run.plant_of(arm, "internal")
    robot.reset(arm.start)
    single_run.push(robot, 10.0)
    assert robot.applied_wrenches[-1, 3:].tolist() == [0.0, 0.0, 10.0]
    robot = single_run.plant_of(panda(), "internal")
    single_run.push(robot, 10.0)
    assert robot.applied_wrenches[-1, 3:].tolist() == [0.0, 10.0, 0.0]
    robot.applied_wrenches[:] = 0.0
