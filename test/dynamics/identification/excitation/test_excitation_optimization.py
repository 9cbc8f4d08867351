# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Optimal motions: better than random ones, within all limits, repeatable, also in parallel."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import DynamicsError, InputError
from robots import CONFIG, two_link_planar

FORM = idn.FourierForm(period=4.0, harmonics=3, repetitions=1.0, ramp=0.5)


def problem(kind="log_det", **options):
    model = two_link_planar()
    limits = idn.ExcitationLimits.of(
        model, margin=0.0, acceleration=8.0, torque=60.0, capsules=idn.link_skeleton(model),
        **options,
    )  # fmt: skip
    criterion = idn.InformationCriterion(idn.TorqueColumns(model), np.ones(2), kind=kind)
    return criterion, limits


@pytest.mark.parametrize("kind", ["log_det", "condition"])
def test_the_result_beats_random_motions_within_the_same_limits(kind):
    criterion, limits = problem(kind)
    best = idn.optimal_excitation(criterion, limits, FORM, starts=2, iterations=60)
    rng = np.random.default_rng(9)
    times = FORM.times()
    basis = FORM.basis(times)[:3]
    tried = []
    for _ in range(60):
        c = rng.normal(size=(FORM.size, 2))
        c[0] = 0.0
        for _ in range(30):
            motion = FORM.reference(limits.model.joint_names, c)
            if idn.exceeded_limit(limits, motion, 0.02) is None:
                break
            c *= 0.85
        rows = (basis @ c).swapaxes(0, 1)
        tried.append(criterion(rows, FORM.duration)[0])
    assert best.criterion < min(tried)


def test_no_limit_is_violated_between_the_times_of_the_optimisation():
    criterion, limits = problem(box=[[-1.6, -0.2, -1.6], [1.6, 0.2, 1.6]])
    best = idn.optimal_excitation(criterion, limits, FORM, starts=1, iterations=60)
    times = np.sort(np.random.default_rng(0).uniform(0.0, FORM.duration, 4000))
    for use in limits.uses(times, best.motion.sample(times)):
        assert use.used <= 1.0 + 1e-6, str(use)
    assert best.uses[0].used > 0.9  # and the limits are used


def test_equal_arguments_give_equal_results_in_any_number_of_processes():
    criterion, limits = problem()
    counts = []
    one = idn.optimal_excitation(
        criterion, limits, FORM, starts=2, iterations=12,
        progress=lambda done, total: counts.append((done, total)),
    )  # fmt: skip
    two = idn.optimal_excitation(criterion, limits, FORM, starts=2, iterations=12, processes=2)
    np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=0, atol=1e-9)
    assert counts[-1] == (24, 24)
    assert all(a <= b for a, b in pairwise(counts))


def test_repetitions_repeat_the_optimised_period():
    criterion, limits = problem()
    form = idn.FourierForm(period=4.0, harmonics=3, repetitions=3.0, ramp=0.5)
    best = idn.optimal_excitation(criterion, limits, form, starts=1, iterations=12)
    assert best.motion.duration == pytest.approx(13.0)
    np.testing.assert_allclose(best.motion(2.0), best.motion(10.0), atol=1e-9)


def test_a_time_limit_of_zero_still_gives_a_motion_within_the_limits():
    criterion, limits = problem()
    best = idn.optimal_excitation(criterion, limits, FORM, starts=1, iterations=50, seconds=1e-9)
    assert best.uses[0].used <= 1.0


@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_ends_the_search_with_the_best_motion_so_far(processes):
    criterion, limits = problem()
    first = True

    def stop(done, total):
        nonlocal first
        if done >= 5 and first:
            first = False
            raise KeyboardInterrupt

    options = {"starts": 2, "iterations": 200, "processes": processes, "progress": stop}
    found = idn.optimal_excitation(criterion, limits, FORM, **options)
    assert not found.is_complete
    assert found.uses[0].used <= 1.0
    assert np.isfinite(found.criterion)
    with pytest.raises(KeyboardInterrupt):  # no motion yet
        idn.optimal_excitation(criterion, limits, FORM, progress=at_once)


def at_once(done, total):
    raise KeyboardInterrupt


def test_no_room_is_reported_with_the_limit_in_the_way():
    criterion, limits = problem(box=[[5.0, 5.0, 5.0], [6.0, 6.0, 6.0]])
    with pytest.raises(DynamicsError, match=r"random starts; .*box"):
        idn.optimal_excitation(criterion, limits, FORM, starts=1, iterations=5)


def test_counts_must_be_positive():
    criterion, limits = problem()
    with pytest.raises(InputError, match="starts is 0"):
        idn.optimal_excitation(criterion, limits, FORM, starts=0)


def test_a_prismatic_joint_is_excited_within_its_range():
    """A SCARA: two parallel revolute joints, then a translation along the same axis."""
    names = ("one", "two", "slide")
    screws = [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -0.4, 0], [0, 0, 0, 0, 0, 1]]
    body = dyn.spatial_inertia(2.0, (-0.1, 0.02, 0.0), np.diag([0.02, 0.03, 0.04]))
    model = dyn.model_from_screws(
        (-1, 0, 1), screws, [_at(x) for x in (0.4, 0.7, 0.7)], [body] * 3, joint_names=names
    )
    limits = idn.ExcitationLimits.of(model, acceleration=(6.0, 6.0, 2.0), torque=(40.0, 40.0, 60.0))
    criterion = idn.InformationCriterion(idn.TorqueColumns(model), np.ones(3))
    best = idn.optimal_excitation(criterion, limits, FORM, starts=1, iterations=40)
    lost = idn.unobservable(criterion.columns)
    assert (
        "slide.offset" in lost
    )  # the weight of the slide, separated from its rotor by gravity alone
    travel = best.motion.sample(np.linspace(0.0, 5.0, 500))[:, 0, 2]
    assert np.ptp(travel) > 0.1
    assert np.abs(travel).max() <= 0.2


def _at(x):
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


def test_joints_that_loops_determine_keep_their_limits():
    files = CONFIG / "mechanisms" / "five_bar.urdf"
    model = dyn.mechanisms.load_robot(files, files.with_suffix(".yaml"))
    own = model.system.passive_indices
    room = model.dependent_limits._replace(
        lower=model.assembled[own] - 0.2, upper=model.assembled[own] + 0.2
    )
    limits = idn.ExcitationLimits.of(replace(model, dependent_limits=room), acceleration=20.0)
    criterion = idn.InformationCriterion(idn.TorqueColumns(limits.model), np.full(model.n, 0.3))
    best = idn.optimal_excitation(criterion, limits, FORM, starts=1, iterations=10)
    motion = best.motion.sample(np.linspace(0.0, best.motion.duration, 2000))
    travel = model.configuration(motion[:, 0])[:, own] - model.assembled[own]
    assert 0.09 < np.abs(travel).max() < 0.2  # of the middle; the margin is 10 %
