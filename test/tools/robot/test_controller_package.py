# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Generated controllers: equal to Python cycle by cycle, with faults; clean, allocation-free C."""

import re
import subprocess
from functools import partial
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import elastic_arms as arms
from generated_controllers import (
    FLAGS,
    PERIOD,
    Twins,
    designed,
    five_bar,
    generated,
    library,
    needs_compiler,
    object_files,
    oblique,
    six_joints,
    with_loops,
)
from multibody_dynamics.dynamics.control.arm import plausibility
from multibody_dynamics.dynamics.control.arm.cycle_settings import MOST_RECOVERIES
from multibody_dynamics.dynamics.control.arm.modes import FAULTS, Cause, Mode
from multibody_dynamics.dynamics.core.errors import DynamicsError
from multibody_dynamics.dynamics.motion.segments import ANSWERS, Answer
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.tools.robot import generated_design
from multibody_dynamics.tools.robot.controller_package import controller_package
from multibody_dynamics.tools.robot.controller_plugin import in_tables, in_template
from rejections import assert_rejected

TOLERANCE = 1e-12  # of the largest torque; below 1e-13 where it was measured
ARMS = {
    "panda": arms.elastic_panda, "rigid joints": arms.mixed_panda, "six joints": six_joints,
    "oblique": oblique, "hardening": arms.nonlinear_arm, "antagonistic": arms.antagonistic_arm,
    "pretension": arms.pretensioned_arm, "variable": arms.variable_arm, "damped": arms.damped_arm,
    "wrist": arms.differential_wrist, "real drives": arms.real_arm, "five-bar": five_bar,
    "leg": partial(with_loops, "leg"),
}  # fmt: skip
MATHEMATICS = {
    "sin", "cos", "sincos", "exp", "expm1", "tanh", "sqrt", "ceil", "fmin", "fmax", "fabs",
    "copysign", "memset", "memcpy",
}  # fmt: skip


def goal(twins: Twins, share: float):
    """A state at rest beside the start, with room for overshooting."""
    return twins.q + 0.05 * share * np.cos(np.arange(len(twins.q)))


def start(twins: Twins) -> Twins:
    twins.run(40)
    twins.activate(0.3)
    twins.run(70)
    assert twins.c.state == "holding"
    return twins


@pytest.fixture
def twins_of(tmp_path):
    """Makes controllers in C and Python, whose torques must be equal until the end of the test."""
    every = []

    def make(design):
        every.append(Twins(design, tmp_path))
        return every[-1]

    yield make
    assert all(each.error < TOLERANCE for each in every)


@needs_compiler
@pytest.mark.parametrize("name", ARMS)
def test_a_motion_is_the_same_in_c_and_python(twins_of, name):
    twins = start(twins_of(designed(ARMS[name]())))
    assert not twins.append(twins.time + 0.12, goal(twins, 0.1))
    assert not twins.append(twins.time + 0.24, goal(twins, -0.1))
    twins.run(260)
    assert twins.states == ["inactive", "holding", "following", "holding"]


@needs_compiler
def test_the_disturbance_of_a_link_behind_a_backlash_is_held_at_rest_in_c_and_python(twins_of):
    twins = twins_of(designed(arms.real_arm()))
    twins.waves = 1e-5
    start(twins)
    law = twins.python.arm.transfer.law
    twins.run(1100 + round(8e3 / law.compensation.link_bandwidth))
    before = law.compensation.link.copy()
    twins.run(40)
    assert (law.compensation.link == before).tolist() == [False, True]  # the elbow has a gap
    assert not twins.append(twins.time + 0.12, goal(twins, 0.1))
    twins.run(200)
    assert law.compensation.link[1] != before[1]


@needs_compiler
def test_a_motion_out_of_reach_is_the_same_fault_in_c_and_python(twins_of):
    """To where the arms of a five-bar are stretched, and no longer meet."""
    design, away = designed(five_bar(), tracking_tolerance=0.0), np.array([3.4, -0.3])
    assert not design.model.reaches(away)
    limits = {"lower": away - 3.0, "upper": away + 3.0}
    twins = start(twins_of(design._replace(parameters=design.parameters | limits)))
    home = twins.q
    assert not twins.append(twins.time + 0.8, away)
    for _ in range(900):
        if twins.is_following:
            twins.q, twins.theta = twins.python.desired[0].copy(), twins.c.desired_theta.copy()
        twins.run(1)
    assert twins.faults == {"", "torque not finite"}
    assert twins.states[-2:] == ["following", "stopping"]
    assert np.abs(twins.q - home).max() > 0.3
    for text in (twins.c.open_loop, twins.python.arm.supervisor.text):
        assert text.startswith("loop 'tip': translation along ")


@needs_compiler
@pytest.mark.parametrize("name", ["panda", "rigid joints"])
def test_a_stop_at_low_speed_needs_no_torque_beyond_its_limit(twins_of, name):
    """At the beginning of a motion, where the speed is low and q'''' is not."""
    twins = twins_of(designed(ARMS[name](), disturbance_bandwidth=0.0))
    twins.waves = 0.0
    start(twins)
    for speed in (0.003, 0.01, 0.03, 0.08):
        assert not twins.append(twins.time + 1.0, twins.python.desired[0] + 0.3)
        while np.abs(twins.python.desired[1]).max() < speed:
            twins.run(1)
        twins.both("stop")
        twins.run(150)
        assert twins.states[-2:] == ["braking", "holding"]
    assert twins.c.counts["limited_torques"] == 0


@needs_compiler
def test_as_many_recoveries_as_a_controller_can_count_are_counted(twins_of):
    twins = start(twins_of(designed(arms.antagonistic_arm(), recovery_limit=MOST_RECOVERIES)))
    for _ in range(MOST_RECOVERIES + 1):
        twins.run(20, links=False)
        assert twins.c.fault == "link states missing"
        twins.run(120)
    assert twins.c.fault == "interrupted repeatedly"
    assert twins.states.count("holding") == MOST_RECOVERIES + 1


@needs_compiler
@pytest.mark.parametrize("order", [2, 3, 4])
def test_filters_and_references_are_equal_bit_for_bit(tmp_path, order):
    """A filter divides differences of positions by the period, and gains multiply all of them: one
    rounding more here is as much as all others together."""
    twins = Twins(designed(arms.elastic_panda(), filter_order=order), tmp_path)
    twins.time = 700.0
    start(twins)
    assert not twins.append(twins.time + 0.12, goal(twins, 0.1))
    for k in range(200):
        if k == 60:
            twins.both("stop")
        twins.run(1)
        for name in ("desired", "q", "qd", "theta", "thetad"):
            mine, wanted = getattr(twins.c, name), getattr(twins.python, name)
            np.testing.assert_array_equal(mine, wanted)
    assert twins.states == ["inactive", "holding", "following", "braking", "holding"]


@needs_compiler
@pytest.mark.parametrize(("name", "options"), [
    ("panda", {"law": "state_feedback"}),
    ("antagonistic", {"law": "state_feedback"}),
    ("antagonistic", {"disturbance_bandwidth": 0.0, "friction": 0.3, "delay": 2e-3}),
    ("panda", {"filter_order": 2, "filter_bandwidth": 60.0}),
    ("antagonistic", {"filter_order": 4, "torque_rate": 200.0}),
    ("leg", {"law": "state_feedback"}),
])  # fmt: skip
def test_the_options_are_the_same_in_c_and_python(twins_of, name, options):
    twins = start(twins_of(designed(ARMS[name](), **options)))
    assert not twins.append(twins.time + 0.1, goal(twins, 0.1))
    twins.run(130)


@needs_compiler
@pytest.mark.parametrize("name", ["panda", "five-bar"])
def test_hold_only_stops_and_holds(twins_of, name):
    twins = twins_of(designed(ARMS[name](), law="hold"))
    twins.run(40)
    twins.activate()
    twins.run(100)
    assert twins.c.state == "stopping"
    assert twins.append(twins.time + 1.0, goal(twins, 1.0))


NOTHING_NEW = ({"links": False}, {"motors": False}, {"links": False, "motors": False})
ODD = 1.003e-3  # s, of which no deadline is a multiple: rounding decides nothing
STEPS = (0.0, -0.3, 0.0099, 0.0101, 0.02, 0.06, 0.15)  # s; 10 ms are allowed
EVENTS = st.one_of(
    st.tuples(st.just("run"), st.integers(1, 80), st.just({})),
    st.tuples(st.just("run"), st.integers(1, 40), st.sampled_from(NOTHING_NEW)),
    st.tuples(st.just("run"), st.integers(1, 15), st.sampled_from([{"step": x} for x in STEPS])),
    st.tuples(st.just("run"), st.integers(1, 60), st.sampled_from([{"late": PERIOD}])),
    st.tuples(st.just("damage"), st.integers(1, 40), st.sampled_from(["nan", "far", "drift"])),
    st.tuples(st.just("append"), st.floats(0.001, 2.0), st.floats(-1.0, 1.0)),
    st.tuples(st.just("both"), st.sampled_from(["stop", "clear_fault", "deactivate"])),
    st.tuples(st.just("cut"), st.floats(0.0, 0.2)),
    st.tuples(st.just("delay"), st.sampled_from([0.0, 0.006]), st.integers(1, 150)),
    st.just(("activate",)),
)


def play(twins: Twins, kind: str, *arguments) -> None:
    """Let one thing happen to both."""
    if kind == "run":
        twins.run(arguments[0], **{"step": ODD, **arguments[1]})
    elif kind == "damage":
        cycles, what = arguments
        first = twins.cycles

        def damage(q, theta):
            if what == "nan":
                q[0] = np.nan
            elif what == "far":
                theta[-1] += 50.0
            else:
                q[-1] += min(0.005 * (twins.cycles - first), 0.25)

        twins.run(cycles, damage=damage, step=ODD)
    elif kind == "append":
        twins.append(twins.time + arguments[0], goal(twins, arguments[1]))
    elif kind == "cut":
        twins.both("cut", twins.time + arguments[0])
    elif kind == "delay":
        for _ in range(arguments[1]):
            twins.both("note_delay", arguments[0])
            twins.run(1, step=ODD)
    elif kind == "activate":
        try:
            twins.c.activate(None)
            is_accepted = True
        except DynamicsError:
            is_accepted = False
        assert twins.python.activate() == is_accepted
    else:
        twins.both(arguments[0])


DESIGNS = {
    "panda": lambda: designed(arms.elastic_panda(), torque_rate=500.0),
    "oblique": lambda: designed(oblique(), delay=0.004, recovery_limit=2),
    "antagonistic": lambda: designed(arms.antagonistic_arm(), disturbance_bandwidth=0.0),
    "five-bar": lambda: designed(five_bar()),
}


@needs_compiler
@pytest.mark.parametrize("missing", NOTHING_NEW)
def test_a_side_that_returns_elsewhere_stays_missing(tmp_path, missing):
    """A silence of 15 ms, of which 10 ms are allowed: shorter than the steps that filters bridge.
    Nothing limits the speed of these motors."""
    twins = Twins(DESIGNS["oblique"](), tmp_path)
    start(twins)
    twins.run(15, **missing)
    play(twins, "damage", 60, "far")
    assert not twins.is_following


@needs_compiler
@pytest.mark.parametrize("name", DESIGNS)
def test_whatever_happens_is_answered_alike_in_c_and_python(tmp_path, name):
    """States, faults and torques of every cycle; what they mean is tested on `Arm`."""
    design, states, faults = DESIGNS[name](), set(), set()
    library(generated(design, tmp_path))

    @example([("append", 1.0, 1.0), ("run", 60, {}), ("both", "stop"), ("run", 100, {})])
    @settings(max_examples=25, deadline=None, derandomize=True, database=None)
    @given(st.lists(EVENTS, min_size=3, max_size=12))
    def check(events):
        twins = Twins(design, tmp_path, is_generated=True)
        start(twins)
        for event in events:
            play(twins, *event)
        states.update(twins.states)
        faults.update(twins.faults)
        assert twins.error < TOLERANCE

    check()
    assert states >= {"inactive", "holding", "following", "braking", "stopping", "lost"}
    assert faults >= {"link states missing", "motor states missing", "jump in time"}


@needs_compiler
def test_bad_and_late_references(twins_of):
    twins = twins_of(designed(arms.elastic_panda()))
    n = twins.design.model.n
    moving = np.zeros((5, n))
    assert twins.append(1.0, moving)  # not active
    start(twins)
    beyond, wrong = goal(twins, 1.0), goal(twins, 1.0)
    beyond[0], wrong[1] = 4.0, np.inf
    assert "limit" in twins.append(twins.time + 3.0, beyond)
    assert "limit" in twins.append(twins.time + 0.02, goal(twins, 10.0))  # too fast
    assert "finite" in twins.append(twins.time + 1.0, wrong)
    assert "finite" in twins.append(np.nan, goal(twins, 1.0))
    assert "past" in twins.append(twins.time, goal(twins, 1.0))
    twins.run(1)
    assert twins.c.counts["refused_points"] == 6
    moving[0], moving[1] = goal(twins, 1.0), 0.2
    assert not twins.append(twins.time + 0.2, moving)
    twins.run(195)
    assert twins.c.state == "following"
    twins.run(6)  # no further point: brakes from the state at the end
    assert twins.c.state == "braking"
    assert "not holding" in twins.append(twins.time + 1.0, goal(twins, 1.0))
    twins.run(150)
    assert twins.c.state == "holding"
    assert twins.c.counts["late_references"] == 1
    assert not twins.c.desired[1:].any()


@needs_compiler
def test_the_reference_is_continuous_to_the_fourth_derivative_and_brakes_within_its_limit(twins_of):
    twins = start(twins_of(designed(arms.elastic_panda(), stop_acceleration=20.0)))
    for k in range(1, 4):
        assert not twins.append(twins.time + 0.2 * k, goal(twins, (-1.0) ** k * 0.4))
    rows = []
    for k in range(500):
        if k == 300:
            twins.both("stop")
        twins.run(1)
        rows.append(np.array(twins.c.desired))
    rows = np.array(rows)
    for order, share in enumerate((0.01, 0.01, 0.02, 0.1)):  # of the next derivative, which
        # differences over two cycles follow; q^(5) may jump
        slope = (rows[2:, order] - rows[:-2, order]) / (2 * PERIOD)
        size = np.abs(rows[:, order + 1]).max()
        assert np.abs(slope - rows[1:-1, order + 1]).max() < share * size, order
    assert np.abs(rows[300:, 2]).max() <= max(20.0, np.abs(rows[300, 2]).max()) * 1.06


@needs_compiler
def test_a_motion_is_cut_and_continued(twins_of):
    twins = start(twins_of(designed(arms.elastic_panda())))
    here = np.array(twins.c.desired)
    twins.append(twins.time + 0.1, goal(twins, 0.1))
    twins.both("stop")  # before the cycle in which the motion would begin
    twins.run(20)
    assert twins.c.state == "holding"
    np.testing.assert_array_equal(twins.c.desired, here)
    twins.append(twins.time + 0.1, goal(twins, 0.1))
    twins.append(twins.time + 0.2, goal(twins, -0.1))
    twins.run(60)
    twins.both("cut", twins.time + 0.08)
    assert not twins.append(twins.time + 0.3, goal(twins, 0.5))
    twins.run(310)
    assert twins.c.state == "holding"
    np.testing.assert_allclose(twins.c.desired[0], goal(twins, 0.5), atol=1e-12)
    answers = [twins.append(twins.time + 0.01 * k, goal(twins, 0.5)) for k in range(1, 41)]
    assert answers.count("") == 31  # of 32 places, one is kept for the path to rest
    assert "waiting" in answers[-1]
    twins.run(40)


@needs_compiler
@pytest.mark.parametrize("name", ["panda", "wrist"])
def test_a_stream_is_the_same_in_c_and_python_and_stops_smoothly(tmp_path, name):
    """Single points, then chunks with velocities, a stop on the way, and a point appended after."""
    twins = Twins(designed(ARMS[name]()), tmp_path)
    start(twins)
    begin, moves = twins.time, 0.0
    q = twins.python.desired[0].copy()
    rng = np.random.default_rng(4)

    def run(cycles):
        before = twins.python.desired[3].copy()
        for _ in range(cycles):
            twins.run(1)
            np.testing.assert_array_equal(twins.c.desired, twins.python.desired)
            jump = np.abs(twins.python.desired[3] - before).max()
            before[:] = twins.python.desired[3]
            p = twins.design.stream_limits
            assert jump <= 1.1 * PERIOD * 30.06 * (p.acceleration / p.smoothing**2).max()

    def follow(times, points, velocities, at=None):
        sent = np.array(times), np.array(points), np.array(velocities)
        answers = twins.both("follow", *sent, at)
        assert bool(answers[0]) == bool(answers[1])
        return answers[0]

    missing = np.full((1, len(q)), np.nan)
    for k in range(30):  # 20 Hz, without stamps, with jitter
        assert not follow([0.0], [q + 0.1 * np.sin(0.1 * k)], missing)
        run(int(rng.integers(30, 70)))
        moves = max(moves, np.abs(twins.python.desired[1]).max())
    assert moves > 0.05
    assert twins.c.append(twins.time + 1.0, q)  # the stream goes first
    at = twins.time
    times = 0.06 * np.arange(1, 9)
    rates = np.full((8, len(q)), 0.2)
    assert not follow(times, twins.python.desired[0] + rates * times[:, None], rates, at)
    run(150)
    assert follow([np.inf], [q], missing)
    assert twins.c.state == "following"
    twins.both("stop")
    run(5)
    assert twins.c.state == "braking"
    run(400)
    assert twins.c.state == "holding"
    assert not follow([0.0], [q], missing)
    run(1500)
    assert twins.c.state == "holding"
    np.testing.assert_allclose(twins.c.desired[0], q, atol=1e-9)
    assert not twins.append(twins.time + 0.5, q + 0.01)
    twins.run(600)
    assert twins.error < TOLERANCE
    assert begin < at


@needs_compiler
def test_a_stream_takes_over_a_motion_in_c_and_python(twins_of):
    twins = start(twins_of(designed(arms.elastic_panda())))
    q = twins.python.desired[0].copy()
    assert not twins.append(twins.time + 0.4, q + 0.1)
    twins.run(150)
    before = twins.c.desired.copy()
    assert np.abs(before[1:4]).max(axis=1).min() > 0.1
    p = twins.design.stream_limits
    missing = np.full((1, len(q)), np.nan)
    assert not any(twins.both("follow", np.zeros(1), q[None] + 0.05, missing, None))
    for _ in range(1200):
        twins.run(1)
        np.testing.assert_array_equal(twins.c.desired, twins.python.desired)
        steps = np.abs(twins.c.desired - before).max(axis=1)
        assert steps[3] <= 1.1 * PERIOD * 30.06 * (p.acceleration / p.smoothing**2).max()
        assert steps[2] <= 1.5 * PERIOD * (np.abs(before[3]).max() + steps[3])
        before = twins.c.desired.copy()
    np.testing.assert_allclose(twins.c.desired[0], q + 0.05, atol=1e-6)


@needs_compiler
def test_limits_of_torques_and_rates(twins_of):
    arm = arms.elastic_panda()
    design = designed(arm, torque_rate=50.0, disturbance_bandwidth=0.0)
    low = design.parameters | {"torque_limit": 0.04 * arm.actuators.torque_limit}
    twins = twins_of(design._replace(parameters=low))
    twins.run(40)
    twins.activate(0.0)
    before = np.array(twins.c.torque)
    for _ in range(350):
        twins.run(1)
        assert (np.abs(twins.c.torque) <= low["torque_limit"]).all()
        assert np.abs(twins.c.torque - before).max() <= 50.0 * PERIOD * (1 + 1e-9)
        before = np.array(twins.c.torque)
    assert twins.c.counts["limited_rates"] > 0
    assert twins.c.counts["limited_torques"] > 0


@needs_compiler
@pytest.mark.parametrize("loses", ["states", "clock"])
def test_the_torque_does_not_step_when_the_state_is_lost(twins_of, loses):
    design = designed(arms.elastic_panda(), disturbance_bandwidth=0.0)
    twins = start(twins_of(design))
    twins.append(twins.time + 0.3, goal(twins, 1.0))
    twins.run(60)  # in the middle of its acceleration
    before, torques = np.array(twins.c.torque), []
    for _ in range(100):
        has_states = loses != "states"
        twins.run(1, links=has_states, motors=has_states, step=PERIOD if loses == "states" else 0.0)
        torques.append(np.array(twins.c.torque))
    assert twins.c.state == ("stopping" if has_states else "lost")
    torques = np.array(torques)
    assert np.ptp(torques[65:], axis=0).max() < 0.01  # the links go on waving a little
    steps = np.abs(np.diff(torques[10:], axis=0)).max(axis=0)  # from the cycle of the fault on
    change = np.abs(torques[-1] - before).max()
    assert change > 1.0
    # 3 x^2 - 2 x^3 rises by at most 1.5 of its mean slope, in 50 cycles
    assert steps.max() < 1.6 / 50 * np.abs(torques[-1] - torques[9]).max()


@needs_compiler
@pytest.mark.parametrize("why", ["at rest", "wrench"])
def test_what_has_held_the_arm_at_rest_is_sent_without_states(tmp_path, why):
    """Torques of a position error, which the model does not explain; not with a wrench."""
    twins = Twins(designed(arms.elastic_panda(), disturbance_bandwidth=0.0), tmp_path)
    twins.waves = 0.0
    start(twins)
    if why == "wrench":
        twins.c.set_external_torque(np.full(7, 0.5))
        twins.python.external[:] = 0.5
    twins.offset = 0.01
    twins.run(2000)
    before = np.array(twins.c.torque)
    twins.run(200, links=False, motors=False)
    assert twins.c.state == "lost"
    change = np.abs(twins.c.torque - before).max()
    assert change < 1e-9 if why == "at rest" else change > 0.1
    assert twins.error < TOLERANCE


@needs_compiler
def test_a_torque_that_is_not_finite_is_never_sent(tmp_path):
    design = designed(arms.elastic_panda(), disturbance_bandwidth=0.0, tracking_tolerance=0.0)
    gains = design.parameters["gains"].copy()
    gains[3, 2] = 1e308
    twins = Twins(design._replace(parameters=design.parameters | {"gains": gains}), tmp_path)
    c = twins.c
    last = np.zeros(7)
    for k in range(1, 400):
        theta = twins.theta + 0.5 * np.sin(0.05 * max(k - 100, 0))
        c.update(1e-3 * k, twins.q, theta)
        assert np.isfinite(c.torque).all()
        if k == 40:
            c.activate()
        if c.fault == "torque not finite":
            break
        last = np.array(c.torque)
    assert c.fault == "torque not finite"
    assert np.abs(c.torque - last).max() < 1e-3 * np.abs(last).max()  # fades to rest from there
    for k in range(400, 800):
        c.update(1e-3 * k, twins.q, twins.theta)
    assert (c.state, c.fault) == ("stopping", "torque not finite")


@needs_compiler
@pytest.mark.parametrize(
    "made",
    [arms.elastic_panda, arms.mixed_panda, arms.antagonistic_arm, arms.variable_arm, five_bar],
)
def test_states_that_are_not_plausible_are_refused_in_c_and_python_alike(twins_of, made):
    design = designed(made())
    q = generated_design.start_position(design)
    theta = generated_design.motors_at_rest(design, q)
    wrong = {"sign": (q, -theta), "links": (q[[1, 0, *range(2, len(q))]], theta)}
    if len(q) == len(theta):
        wrong["sides"] = (theta, q)
    for i in np.flatnonzero(np.bincount(design.actuators.joint_of_motor) > 1):
        second = np.arange(len(theta)) == design.actuators.first_motor[i] + 1
        wrong[f"second motor of {i}"] = (q, np.where(second, -theta, theta))
    twins = twins_of(design)
    for what, states in wrong.items():
        twins.q, twins.theta = states
        twins.run(1, links=False, motors=False, step=2.0)  # any jump is believed after that
        twins.run(60)
        assert twins.python.implausible() is not None, what
        with pytest.raises(DynamicsError, match=r"implausible states: .*external_load") as refused:
            twins.c.activate()
        assert not twins.python.activate()
        assert f"{twins.python.implausible().misfit:.4g}" in str(refused.value)
        assert ("links and motors are exchanged" in str(refused.value)) == (what == "sides")
        is_out = twins.python.implausible().is_out_of_range
        assert ("its two motors are exchanged, or the sign" in str(refused.value)) == is_out
        twins.run(5)
        assert twins.c.state == "inactive"
        assert not twins.c.torque.any()
    twins.q, twins.theta = q, theta
    twins.run(1, links=False, motors=False, step=2.0)
    twins.run(60)
    twins.activate()
    twins.run(60)
    assert twins.c.state == "holding"


@needs_compiler
@pytest.mark.parametrize("name", ["panda", "antagonistic"])
def test_activation_begins_with_the_torque_that_balances_the_springs(twins_of, name):
    design = designed(ARMS[name](), transfer_time=0.5)
    twins = twins_of(design)
    twins.waves = 0.0
    twins.run(40)
    twins.activate()
    wanted = generated_design.rest_of_motors(design, twins.q).torque
    for _ in range(600):
        twins.run(1)
        np.testing.assert_allclose(twins.c.torque, wanted, atol=1e-6 * np.abs(wanted).max())


@needs_compiler
@pytest.mark.parametrize(
    ("frozen", "fault"),
    [
        (("links",), "link states missing"),
        (("motors",), "motor states missing"),
        (("links", "motors"), "motor states missing"),
    ],
)
def test_encoders_that_repeat_their_values_in_motion_are_missing(twins_of, frozen, fault):
    """As by a `read` that fails in silence; a single encoder of a side is enough."""
    twins = start(twins_of(designed(arms.elastic_panda(), disturbance_bandwidth=0.0)))
    q, theta = twins.python.filters.samples.last_q[1], twins.python.filters.samples.last_theta[1]
    kept = float(q), float(theta)

    def freeze(links, motors):
        if "links" in frozen:
            links[1] = kept[0]
        if "motors" in frozen:
            motors[1] = kept[1]

    twins.run(500, damage=freeze)  # at rest, that is no fault
    assert twins.c.state == "holding"
    goal = twins.q.copy()
    goal[1] += 0.3
    assert not twins.append(twins.time + 0.6, goal)
    twins.run(600, damage=freeze)
    assert fault in twins.faults
    assert twins.c.counts["frozen_cycles"] > 0
    assert np.abs(twins.c.desired[0] - goal).max() > 0.1


@needs_compiler
def test_a_stop_on_coarse_encoders_fails_in_the_same_cycle_in_c_and_python(twins_of):
    """Fine at first, so that their steps are not known: 0.05 s of such a stop are 50 cycles, but
    for the last digit of a time."""
    twins = twins_of(designed(arms.shipped("planar_two_link"), transfer_time=0.1))
    twins.waves, step = 0.0, 2.0 * np.pi / 2**7
    twins.run(40)
    twins.activate()
    twins.run(100)
    begin = twins.time

    def sway(q, theta):
        away = 0.12 * np.sin(9.0 * (twins.time - begin))
        q += away
        theta[:] = np.round((theta + away) / step) * step

    twins.run(700, damage=sway)
    assert "stop failed" in twins.faults


# The files


STRESS = """
#include "arm_controller.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static arm_controller controller;
static unsigned long long seed = 1;

static double number(double low, double high)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static double wild(double value)
{
    const double kind = number(0.0, 1.0);
    if (kind < 0.002) {
        return NAN;
    }
    if (kind < 0.003) {
        return kind < 0.0025 ? HUGE_VAL : 1e300;
    }
    return value + number(-1e-3, 1e-3);
}

int main(void)
{
    arm_parameters parameters;
    arm_input input = {0};
    arm_output output = {.state = ARM_INACTIVE};
    const double zero[ARM_MOTORS] = {0.0};
    int seen[7] = {0};
    double time = 0.0;
    arm_default_parameters(&parameters);
    if (arm_initialise(&controller, &parameters)) {
        return 2;
    }
    for (int k = 0; k < 60000; ++k) {
        double point[5][ARM_JOINTS];
        const double event = number(0.0, 1.0);
        time += event < 0.0005 ? number(-1.0, 1.0) : event < 0.01 ? 0.0 : 1e-3;
        input.time = event > 0.9999 ? NAN : time;
        input.link_time = number(0.0, 1.0) < 0.05 ? input.link_time : wild(time);
        input.motor_time = number(0.0, 1.0) < 0.05 ? input.motor_time : time;
        if (k % 9000 > 8960) { /* nothing arrives */
            input.link_time = input.motor_time = -1.0;
        }
        for (int i = 0; i < ARM_JOINTS; ++i) {
            input.q[i] = k % 7000 < 6000 ? output.desired[0][i] : wild(output.desired[0][i]);
            for (int d = 0; d < 5; ++d) {
                point[d][i] = d == 0 ? output.desired[0][i] + number(-0.2, 0.2) : number(-1.0, 1.0);
            }
        }
        for (int j = 0; j < ARM_MOTORS; ++j) {
            const double theta = output.desired_theta[j];
            input.theta[j] = k % 7000 < 6000 ? theta : wild(theta);
        }
        if (event < 0.3) {
            arm_activate(&controller, zero);
        }
        if (event > 0.98) {
            arm_append(&controller, wild(time + number(-0.1, 0.5)), point);
        } else if (event > 0.975) {
            arm_clear_fault(&controller);
        } else if (event > 0.974) {
            arm_cut(&controller, wild(time));
        } else if (event > 0.973) {
            arm_stop(&controller);
        } else if (event > 0.9729) {
            arm_deactivate(&controller);
        }
        arm_update(&controller, &input, &output);
        seen[output.state] = 1;
        for (int j = 0; j < ARM_MOTORS; ++j) {
            if (!(fabs(output.torque[j]) < HUGE_VAL)) {
                printf("cycle %d, state %d: not finite\\n", k, (int)output.state);
                return 1;
            }
        }
    }
    printf("%d %d %d %d %d %d\\n", seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]);
    return 0;
}
"""


def compiled(folder: Path, program: str, *options: str) -> Path:
    flags = (*FLAGS, *options)
    files = (folder / program, *object_files(folder, flags))
    command = ["cc", *flags, "-o", folder / "program", *files, "-lm"]
    subprocess.run(command, check=True, timeout=300)
    return folder / "program"


def run(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)


# -g1: lines; to track the variables of a long function takes longer than its compilation
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1")


@needs_compiler
@pytest.mark.parametrize("name", ["panda", "damped", "five-bar"])
def test_no_input_causes_an_access_out_of_bounds_or_an_infinite_torque(tmp_path, name):
    generated(designed(ARMS[name]()), tmp_path)
    (tmp_path / "stress.c").write_text(STRESS)
    found = run(compiled(tmp_path, "stress.c", *SANITIZERS))
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.split() == ["1"] * 6  # all states occurred


@needs_compiler
@pytest.mark.parametrize(("name", "period"), [("oblique", 1e-3), ("variable", 4e-4), ("leg", 1e-3)])
def test_the_package_tests_itself(tmp_path, name, period):
    generated(designed(ARMS[name](), period=period), tmp_path)
    tested = run(compiled(tmp_path, "self_test.c", *SANITIZERS))
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "largest error" in tested.stdout
    core = tmp_path / "arm_controller.c"
    text = core.read_text()
    assert text.count("torque[j] += own;") == 1
    core.write_text(text.replace("torque[j] += own;", "torque[j] += 0.1;"))
    assert run(compiled(tmp_path, "self_test.c")).returncode == 1
    core.write_text(text)
    printed = run(compiled(tmp_path, "example.c"))
    assert printed.returncode == 0, printed.stderr
    assert "following (none)" in printed.stdout
    assert printed.stdout.count("holding (none)") == 2


@needs_compiler
@pytest.mark.skipif(which("nm") is None, reason="needs nm")
@pytest.mark.parametrize("name", ["panda", "five-bar"])
def test_the_core_calls_nothing_but_mathematics_and_has_no_global_state(tmp_path, name):
    generated(designed(ARMS[name]()), tmp_path)
    defined, undefined = set(), set()
    for source in tmp_path.glob("arm_*.c"):
        command = ["cc", "-std=c99", "-O1", "-fno-pie", "-fno-pic", "-c", source, "-o", "object.o"]
        subprocess.run(command, check=True, cwd=tmp_path)
        listed = subprocess.run(["nm", "object.o"], check=True, cwd=tmp_path, text=True,
                                capture_output=True).stdout  # fmt: skip
        for line in listed.splitlines():
            kind, name = line.split()[-2:]
            assert kind not in "bBdDcC", line  # writable data
            (undefined if kind == "U" else defined).add(name)
    assert undefined - defined - {"_GLOBAL_OFFSET_TABLE_"} <= MATHEMATICS


@needs_compiler
@pytest.mark.skipif(which("cmake") is None or which("c++") is None, reason="needs CMake and C++")
def test_the_package_builds_with_cmake_and_its_headers_with_cplusplus(tmp_path):
    generated(designed(arms.antagonistic_arm()), tmp_path)
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", tmp_path, "-B", build],
        ["cmake", "--build", build],
        ["ctest", "--test-dir", build],
        [build / "arm_timing", "1000", "0"],
        [build / "arm_timing", "4120", "0"],  # with many stops
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    main = tmp_path / "main.cpp"
    main.write_text('#include "arm_controller.h"\nint main() { return 0; }\n')
    subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", main], check=True)


@needs_compiler
def test_every_state_fault_and_answer_has_its_number_and_its_name_in_c(tmp_path):
    folder = generated(designed(arms.antagonistic_arm()), tmp_path)
    header = (folder / "arm_controller.h").read_text()
    c = CompiledController(library(folder))
    texts = {
        "state": (Mode, [mode.name.lower() for mode in Mode]),
        "fault": (Cause, [fault.text for fault in FAULTS]),
        "answer": (Answer, ANSWERS),
        "mistake": (plausibility.Mistake, plausibility.MISTAKES),
    }
    for what, (members, names) in texts.items():
        body = re.search(rf"typedef enum \{{([^}}]*)\}} arm_{what};", header).group(1)
        numbers = {name: int(value) for name, value in re.findall(r"ARM_(\w+) = (\d+)", body)}
        plain = {re.sub("^NO_(FAULT|MISTAKE)$", "NONE", name.removeprefix("POINT_")): number
                 for name, number in numbers.items()}  # fmt: skip
        assert plain == {each.name: each.value for each in members}
        assert [c._name(what, each.value) for each in members] == list(names)
        assert c._name(what, len(names)) == c._name(what, -1) == "unknown"


def test_the_files_describe_themselves():
    design = designed(arms.antagonistic_arm())
    files = controller_package(design, "", ["robot.urdf, SHA-256 0123"])
    name = next(file for file in files if file.endswith("_controller.h"))
    core = {file: text for file, text in files.items() if re.fullmatch(r"\w+\.[ch]", file)}
    assert len(core) >= 11
    for text in core.values():
        assert "generated by multibody_dynamics" in text
        assert "robot.urdf, SHA-256 0123" in text
        assert "TABLES" not in text.replace("_TABLES", "")
        assert not re.search(r"\brobot_|\bROBOT_", text)
    for joint in (*design.model.joint_names, *design.actuators.motor_names):
        assert joint in files[name]
    assert files == controller_package(
        designed(arms.antagonistic_arm()), "", ["robot.urdf, SHA-256 0123"]
    )
    included = {
        line for text in core.values() for line in text.splitlines() if "#include <" in line
    }
    assert included <= {f"#include <{x}.h>" for x in ("math", "stddef", "stdio", "stdlib", "time")}


def test_a_wrong_name_is_refused():
    arm = arms.elastic_panda()
    assert_rejected((lambda: controller_package(designed(arm), "7dof"), "try 'robot_7dof'"))


def test_only_names_in_the_code_get_the_prefix():
    """Text in quotes may name a joint."""
    text = 'robot_step(ROBOT_LAWS, "robot_arm \\"ROBOT_1\\"");'
    assert in_tables(text, "panda") == 'panda_step(PANDA_LAWS, "robot_arm \\"ROBOT_1\\"");'
    assert in_template('#include "robot_law.h"', "panda") == '#include "panda_law.h"'
