# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Signals that are not what they are called are noticed, and true ones are left alone."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from drive_runs import elastic_run, planar
from multibody_dynamics.dynamics.elastic import Actuators, LinearSpring
from multibody_dynamics.dynamics.identification import Residuals
from multibody_dynamics.dynamics.model import parse_urdf
from multibody_dynamics.validation import doubtful_signals
from urdf_parts import joint, link, robot

DEGREES = 180.0 / math.pi
RATE = 200.0
T = np.arange(4000) / RATE
W = np.array([1.5, 4.0, 9.0])
Q = 0.5 * np.sin(np.outer(T, W)) + [0.3, -0.2, 1.0]
QD = 0.5 * W * np.cos(np.outer(T, W))


def test_motions_as_slow_as_with_times_in_ms():
    model, _ = planar()
    limit = model.limits.velocity
    assert np.isfinite(limit).all()
    assert doubtful_signals.doubtful_pace(model, 0.1 * limit) == ""
    assert doubtful_signals.doubtful_pace(model, 0.0 * limit) == ""
    slow = doubtful_signals.doubtful_pace(model, 1e-4 * limit)
    assert slow == "no joint exceeds 0.0001 of its speed limit: are the times in ms?"
    mixed = np.where(np.arange(len(limit)) == 0, limit, 0.0)
    assert doubtful_signals.doubtful_pace(model, mixed) == ""


def found(qd, q=Q, t=T):
    return doubtful_signals.contradicting_velocities([doubtful_signals.Stretch(t, q, qd)])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda v: 0.0 * v, "are all zero"),
        (lambda v: 0.0 * v - 0.4, "are all -0.4"),
        (lambda v: doubtful_signals.DEGREES * v, r"are 57\.[23] times .*: in degrees/s\?"),
        (lambda v: -v, r"are -(1|0\.999) times .*: the other sign\?"),
        (lambda v: 30.0 / math.pi * v, r"are 9\.5[45] times .*: in rpm\?"),
        (lambda v: 1.3 * v, r"are 1\.3 times the derivatives of the positions$"),
        (lambda v: np.gradient(v, 1.0 / RATE, axis=0), "do not follow|times"),
        (lambda v: np.roll(v, 400, axis=0), "do not follow"),
        (lambda v: v + 1.5, r"exceed the derivatives of the positions by 1\.5 throughout"),
        (lambda v: np.where((T < 2.0)[:, None], 0.0, v), "do not follow"),
    ],
)
def test_velocities_that_contradict_the_positions(change, text):
    wrong = found(change(QD))
    assert set(wrong) == {0, 1, 2}
    for each in wrong.values():
        assert re.search(text, each), each


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (DEGREES, r"are 57\.\d times .*: in degrees/s\?"),
        (-1.0, r"are -(1|0\.999) times .*: the other sign\?"),
        (30.0 / math.pi, r"are 9\.5\d times .*: in rpm\?"),
        (1.3, r"are 1\.3 times the derivatives of the positions$"),
    ],
)
def test_a_factor_is_no_offset_in_a_motion_at_constant_speed(factor, text):
    speed = 0.5 * np.clip(np.minimum(T, T[-1] - T), 0.0, 1.0)
    position = np.cumsum(speed) / RATE
    (wrong,) = found(factor * speed[:, None], position[:, None]).values()
    assert re.search(text, wrong), wrong


def test_two_stretches_at_two_speeds_have_no_lag():
    still = np.zeros((400, 1))
    parts = [doubtful_signals.Stretch(T[:400], still, still + v) for v in (0.0, 1.0)]
    (wrong,) = doubtful_signals.contradicting_velocities(parts).values()
    assert wrong == "do not follow from the positions"


@pytest.mark.parametrize(("lag", "text"), [(0.04, "lag behind"), (-0.04, "are ahead of")])
def test_velocities_that_lag_behind_by_much_of_the_motion(lag, text):
    """Of the slowest joint, 40 ms are 6 % of the motion."""
    wrong = found(0.5 * W * np.cos(np.outer(T - lag, W)))
    assert set(wrong) == {1, 2}
    for each in wrong.values():
        assert re.fullmatch(f"{text} the derivatives of the positions by (39|40) ms", each), each


def test_velocities_as_late_as_those_of_drives_are_left_alone_in_slow_motions():
    assert set(found(0.5 * W * np.cos(np.outer(T - 0.02, W)))) == {2}


@pytest.mark.parametrize("factor", [0.2, 1.0, 30.0])
def test_velocities_that_are_proportional_to_the_positions(factor):
    wrong = found(factor * Q)
    assert set(wrong) == {0, 1, 2}
    assert all(f"proportional to the positions ({factor:.3g} times)" in x for x in wrong.values())


@pytest.mark.parametrize("joint", range(3))
def test_a_single_joint(joint):
    qd = QD.copy()
    qd[:, joint] = 0.0
    assert found(qd) == {joint: "are all zero"}


def test_true_velocities_with_noise_delay_rounding_gaps_and_rest():
    rng = np.random.default_rng(3)
    for bits in (12, 16, 20):
        step = 2.0 * np.pi / 2**bits
        assert found(QD, step * np.round(Q / step)) == {}
    assert found(QD + 0.3 * rng.normal(size=QD.shape)) == {}
    assert found(QD, Q + 2e-3 * rng.normal(size=Q.shape)) == {}
    late = 0.5 * W * np.cos(np.outer(T - 0.01, W))
    assert found(late) == {}
    kept = (T < 4.0) | (T > 4.7)
    assert found(QD[kept], Q[kept], T[kept]) == {}
    still = np.zeros_like(Q) + 1e-5 * rng.integers(0, 2, size=Q.shape)
    assert found(np.zeros_like(Q), still) == {}
    assert found(np.array(2e-3 * rng.normal(size=Q.shape)), still) == {}
    assert found(QD[:5], Q[:5], T[:5]) == {}


def arm(kind="revolute"):
    hinge = joint("j", kind, "a", "b", limit="-2 2 1 9")
    return parse_urdf(robot("r", link("a"), link("b", 1.0), hinge))


@pytest.mark.parametrize(
    ("kind", "ends", "text"),
    [
        ("revolute", (-1.9, 2.1), ""),
        ("revolute", (-90.0, 60.0), "are they in degrees?"),
        ("revolute", (5.5, 7.0), "is its zero 6.283 rad away?"),
        ("revolute", (-14.0, -11.0), "is its zero -12.57 rad away?"),
        ("revolute", (1000.0, 60_000.0), "encoder counts"),
        ("prismatic", (-400.0, 1500.0), "are they in mm?"),
        ("continuous", (-90.0, 60.0), ""),
    ],
)
def test_positions_far_outside_of_their_limits(kind, ends, text):
    doubt = doubtful_signals.positions_beyond_limits(arm(kind), 0, *ends)
    assert text in doubt
    assert bool(doubt) == bool(text)


def efforts(change, gears=None, noise=0.05):
    rng = np.random.default_rng(5)
    predicted = np.stack([20.0 * np.sin(3.0 * T), 8.0 + 0.2 * np.sin(T)], axis=1)
    measured = change(predicted) + noise * rng.normal(size=predicted.shape)
    return doubtful_signals.doubtful_efforts(
        ("a", "b"), Residuals.of(T, predicted, measured), gears
    )


def test_efforts_with_another_sign_or_unit():
    assert efforts(lambda x: x) == []
    assert efforts(lambda x: 1.4 * x + 0.5) == []  # friction, a payload
    for text in efforts(lambda x: -x):
        assert re.search(r"-1(\.01)? times those of the model: the other sign\?", text)
    assert len(efforts(lambda x: -x)) == 2
    for unit, said in ((1e3, "in mN m"), (1e-3, "in kN m")):
        for sign, more in ((1.0, "?"), (-1.0, ", with the other sign?")):
            found = efforts(lambda x, factor=sign * unit: factor * x, noise=1e-5)
            assert len(found) == 2
            assert all(said + more in text for text in found)
    assert all("currents or a share" in text for text in efforts(lambda x: x / 13.0, noise=1e-3))
    by_gear = efforts(lambda x: x / 100.0, np.array([100.0, 100.0]), noise=1e-3)
    assert all("of the motor before its gear?" in text for text in by_gear)
    assert efforts(lambda x: 0.0 * x) == []  # unrelated: nothing can be said
    held = 12.31 + 0.02 * np.sin(np.outer(T, [1.0, 2.0]))
    coarse = Residuals.of(T, held, 0.1 * np.round(held / 0.1))
    assert doubtful_signals.doubtful_efforts(("a", "b"), coarse) == []


def test_clipped_efforts():
    effort = 8.0 * np.sin(3.0 * T)
    assert doubtful_signals.clipped(effort, np.sin(T)) == ""
    assert "are 5 in 30%" in doubtful_signals.clipped(np.minimum(effort, 5.0), np.sin(T))
    assert "are -5 in 2" in doubtful_signals.clipped(np.maximum(effort, -5.0), np.sin(T))
    at_rest = np.where(T < 5.0, 8.0, effort)
    assert doubtful_signals.clipped(at_rest, np.where(T < 5.0, 0.3, np.sin(T))) == ""
    assert doubtful_signals.clipped(np.round(effort), np.sin(T)) == ""  # a coarse sensor


@pytest.mark.parametrize(
    ("lags", "friction", "text"),
    [
        ((0.05, 0.05), 0.0, "the efforts lag behind those of the model by 50 ms"),
        ((-0.05, -0.05), 0.0, "the efforts are ahead of those of the model by 50 ms"),
        ((0.002, 0.002), 0.0, ""),
        ((0.05, 0.0), 0.0, ""),
        ((0.0, 0.0), 3.0, ""),  # of one joint, in phase with the rate of its torque
        ((0.05,), 0.0, ""),  # may be friction
    ],
)
def test_efforts_that_lag_behind_in_all_joints(lags, friction, text):
    w, noise = np.array([1.5, 4.0]), np.random.default_rng(5).normal(size=(len(T), 2))
    n = len(lags)
    at = T[:, None] - np.array([lags])
    torque, rate = np.sin(w[:n] * T[:, None]), w[:n] * np.cos(w[:n] * T[:, None])
    error = np.sin(w[:n] * at) - torque + 1e-3 * noise[:, :n]
    error[:, 0] += friction * rate[:, 0]
    assert doubtful_signals.late_efforts(Residuals.of(T, rate, error)) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda run: run, ""),
        (lambda run: {"sensor": -run.sensor}, r"efforts \(sensor\) are -\S+ times .* other sign"),
        (lambda run: {"motor_torque": 1e3 * run.motor_torque}, r"efforts \(motor\) .* in mN m"),
        (lambda run: {"sensor": 0.0 * run.sensor + 4.0}, r"efforts \(sensor\) are all 4$"),
        (lambda run: {"q": run.theta, "theta": run.q}, "links and motors exchanged"),
        (lambda run: {"q": run.q[:, ::-1]}, "are columns exchanged, or positions in other units"),
        (lambda run: {"q": DEGREES * run.q, "theta": DEGREES * run.theta}, "in degrees"),
    ],
)
def test_runs_whose_signals_do_not_fit_the_robot(change, text):
    run, (model, actuators) = elastic_run(), planar()
    changed = change(run)
    changed = run if changed is run else replace(run, **changed)
    notes = doubtful_signals.doubtful_run(changed, model, actuators)
    assert bool(notes) == bool(text)
    for name in model.joint_names if text else ():
        assert any(re.match(f"{name}: .*{text}", note) for note in notes), notes


def test_a_run_with_times_in_ms_is_noticed():
    (model, actuators), run = planar(), elastic_run()
    slow = replace(run, rate=1e-3 * run.rate)
    assert doubtful_signals.doubtful_run(run, model, actuators) == []
    assert any("in ms?" in note for note in doubtful_signals.doubtful_run(slow, model, actuators))


def test_late_encoders_behind_stiff_springs_are_not_taken_for_exchanged_columns():
    """As on an industrial robot, where encoders 3 ms apart see more than its springs deflect."""
    (model, actuators), run = planar(), elastic_run()
    stiff = Actuators(
        model.joint_names,
        tuple(
            replace(each, spring=LinearSpring(300.0 * float(each.spring.stiffness(0.0))))
            for each in actuators.actuators
        ),
    )
    theta = run.q + (run.theta - run.q) / 300.0
    late = np.vstack((run.q[:1], run.q[:1], run.q[:-2]))
    assert doubtful_signals.doubtful_run(replace(run, theta=theta, q=late), model, stiff) == []
    assert (
        doubtful_signals.doubtful_run(replace(run, theta=DEGREES * theta, q=late), model, stiff)
        != []
    )
