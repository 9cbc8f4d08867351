# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains as a function of the pose, and linear feedback with gains that follow the arm."""

import time
from dataclasses import dataclass

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.controllers import scheduled_feedback
from multibody_dynamics.dynamics.core import DynamicsError, InputError
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.plant import ElasticRobot

STEP = 1e-3
PATIENCE = 60000  # cycles, of 1 ms or more, until a process has answered


def schedule(arm, bandwidth=30.0, **settings):
    return control.GainSchedule(
        model=arm.model, actuators=arm.actuators, bandwidth=bandwidth, **settings
    )


def feedback(arm, gains=None, **settings):
    return control.ScheduledFeedback(
        arm.model, arm.actuators, gains or schedule(arm), arm.rest, **settings
    )


def run(law, arm, times, error=0.0):
    """(k, m) torques along a motion, of links that are a constant error away from it."""
    motion, flat = arms.exciting(arm, 0.8), arms.law_of(arm, disturbance_bandwidth=0.0)
    found = []
    for t in times:
        desired = motion(t)
        flat.update(desired, desired[0], desired[1], 0.0 * law.torque, 0.0 * law.torque)
        theta, thetad = flat._now.result[:2]
        found.append(law.update(desired, desired[0] + error, desired[1], theta, thetad).copy())
    return np.array(found)


@dataclass(frozen=True, eq=False, kw_only=True)
class Failing(control.GainSchedule):
    """Designs only up to a position of the first joint."""

    limit: float
    error: Exception

    def at(self, q):
        if np.asarray(q)[0] > self.limit:
            raise self.error
        return super().at(q)


def test_it_is_the_design_at_that_pose():
    arm = arms.elastic_panda()
    q = arm.rest + 0.3
    found = schedule(arm, 40.0, delay=1e-3).at(q)
    np.testing.assert_array_equal(
        found.values, control.coupled_gains(arm.model, arm.actuators, q, 40.0, delay=1e-3).values
    )
    found = schedule(arm, 40.0, design="modal").at(q)
    wanted = control.modal_gains(arm.model, arm.actuators, q, 40.0).values
    np.testing.assert_array_equal(found.values, wanted)
    late = schedule(arm, 40.0, delay=2.5e-3)
    assert late.late_cycles == len(late.at(q).past)
    assert schedule(arm, 40.0, design="modal", delay=1e-3).late_cycles == 0


@pytest.mark.parametrize("design", ["coupled", "modal"])
def test_gains_are_continuous_along_a_motion(design):
    """Half the step, half the change."""
    arm = arms.elastic_panda()
    motion, found = arms.exciting(arm, 1.0), schedule(arm, 40.0, design=design)
    for t in np.linspace(0.1, 1.9, 5):
        gains = [found.at(motion(t + dt)[0]).values for dt in (0.0, 1e-3, 2e-3)]
        scale = np.abs(gains[0]).max(axis=0) + 1e-9
        small, large = (np.abs((each - gains[0]) / scale).max() for each in gains[1:])
        assert 1.5 * small < large < 2.5 * small
        assert small < 0.02


def test_a_design_that_is_unstable_without_sampling_is_refused():
    arm = arms.linear_arm()
    heavy = arm.model.with_payload(1, 40.0, (0.3, 0.0, 0.0))
    soft = Actuators(arm.actuators.joint_names, (arms.series(4000.0), arms.series(900.0)))
    upright = np.array([-np.pi / 2, 0.0])
    found = control.GainSchedule(model=heavy, actuators=soft, bandwidth=2.0, design="modal")
    with pytest.raises(InputError, match="the whole arm has a pole at"):
        found.checked_at(upright)
    assert np.isfinite(found.at(upright).values).all()
    assert np.isfinite(schedule(arm, 40.0).checked_at(arm.rest).values).all()


def test_an_unknown_design_is_rejected():
    with pytest.raises(InputError, match="design 'joint': expected one of coupled, modal"):
        schedule(arms.linear_arm(), design="joint")


def test_the_torque_is_that_of_the_gains_of_its_pose():
    """With the torques of the last two cycles as they were sent."""
    arm = arms.linear_arm()
    gains = schedule(arm, delay=2e-3)
    law = feedback(arm, gains)
    rng = np.random.default_rng(0)
    desired = arms.still(arm)
    plain = arms.law_of(arm, disturbance_bandwidth=0.0)
    own = gains.at(arm.rest)
    past = np.zeros((2, 2))
    for _ in range(5):
        q, qd, theta, thetad = rng.normal(0.0, 0.1, (4, 2))
        torque = law.update(desired, arm.rest + q, qd, theta, thetad).copy()
        plain.update(desired, arm.rest, 0.0 * q, theta, 0.0 * q)
        flat = plain._now.result
        e = np.concatenate((-q, -qd, flat[0] - theta, flat[1] - thetad))
        wanted = own.values @ e - own.past[0] @ past[0] - own.past[1] @ past[1]
        np.testing.assert_allclose(torque, flat[3] + wanted, rtol=1e-9)
        sent = torque - rng.uniform(0.0, 1.0, 2)  # limits cut it
        law.applied(sent)
        past[1], past[0] = past[0], wanted + sent - torque


@pytest.mark.parametrize("design", ["coupled", "modal"])
def test_gains_follow_the_motion_without_a_jump_of_the_torque(design):
    """With a constant error, the torque of changing gains is as smooth as their blending: per
    cycle, it changes by no more than 1.5 STEP / update_time of a whole change of gains."""
    arm = arms.elastic_panda()
    gains = schedule(arm, design=design)
    times = np.arange(0.0, 0.6, STEP)
    error = np.full(7, 0.01)
    fixed = run(feedback(arm, gains, update_time=0.0), arm, times, error)
    law = feedback(arm, gains, update_time=0.05)
    moving = run(law, arm, times, error)
    assert law.refused == 0
    assert not np.array_equal(law.pose, arm.rest)
    motion = arms.exciting(arm, 0.8)
    poses = [arm.rest, *(motion(t)[0] for t in np.arange(0.0, 0.6, 0.05))]
    each = [gains.at(q).values[:, :7] @ error for q in poses]
    largest = np.abs(np.diff(each, axis=0)).max()
    change = moving - fixed  # what the changes of the gains do to the torque
    assert np.abs(change).max() > 0.5 * largest
    assert np.abs(np.diff(change, axis=0)).max() < 1.5 * 1.2 * STEP / 0.05 * largest
    wanted = gains.at(law.pose)
    np.testing.assert_allclose(law._next.values, wanted.values)
    assert law.age < 0.15


def test_blending_ends_with_the_gains_of_the_pose():
    arm = arms.linear_arm()
    law = feedback(arm, update_time=0.02)
    q = arm.rest + 0.4
    desired = np.zeros((5, 2))
    desired[0] = q
    steps = [law.current.copy()]
    for _ in range(25):
        law.update(desired, q, 0.0 * q, q, 0.0 * q)
        steps.append(law.current.copy())
    np.testing.assert_allclose(law.current, schedule(arm).at(q).values, rtol=1e-12)
    before, after = steps[0], steps[-1]
    shares = [(each - before)[0, 0] / (after - before)[0, 0] for each in steps]
    assert (np.diff(shares) >= -1e-12).all()
    assert np.abs(np.diff(shares)).max() < 1.6 * STEP / 0.02
    np.testing.assert_array_equal(law.gains_at(q).values, schedule(arm).at(q).values)


@pytest.mark.parametrize("error", [DynamicsError("no gains there"), InputError("overloaded")])
def test_after_a_failed_design_the_last_gains_stay(error):
    arm = arms.linear_arm()
    motion, times = arms.exciting(arm, 0.8), np.arange(0.0, 1.0, STEP)
    first = np.array([motion(t)[0][0] for t in times])
    limit = max(arm.rest[0], float(np.median(first)))
    assert first.max() > limit
    gains = Failing(
        model=arm.model, actuators=arm.actuators, bandwidth=30.0, limit=limit, error=error
    )
    law = feedback(arm, gains)
    run(law, arm, times)
    assert law.refused > 0
    assert law.pose[0] <= limit
    assert np.isfinite(law.current).all()
    if motion(times[-1])[0][0] > limit:
        assert str(error) in "".join(law.problems())
    else:
        assert law.problem == ""


def wait(law, q, is_done, drift=0.0):
    """Cycles at rest at q, which moves on by `drift` in each, until the process has answered."""
    desired = np.zeros((5, len(q)))
    for _ in range(PATIENCE):
        desired[0] = q
        law.update(desired, q, 0.0 * q, q, 0.0 * q)
        if is_done():
            return
        time.sleep(1e-3)
        q = q + drift


def test_a_process_designs_the_same_gains_in_the_background():
    arm = arms.linear_arm()
    q = arm.rest + 0.4
    law = feedback(arm, designs_in_background=True, update_time=0.01)
    law.prepare()
    own = law.current.copy()

    def is_blended():
        return law._share == 1.0 and not np.array_equal(law.pose, arm.rest)

    wait(law, q, lambda: True)
    np.testing.assert_array_equal(law.current, own)  # nothing waits for the design
    wait(law, q, is_blended)
    np.testing.assert_allclose(law.current, schedule(arm).at(q).values, rtol=1e-12)
    failing = Failing(
        model=arm.model, actuators=arm.actuators, bandwidth=30.0, limit=arm.rest[0],
        error=RuntimeError("unexpected"),
    )  # fmt: skip
    law = feedback(arm, failing, designs_in_background=True)
    own = law.current.copy()
    wait(law, q, lambda: law.refused)
    assert "unexpected" in law.problem
    np.testing.assert_array_equal(law.current, own)

    # A process that ended is replaced, and given the schedule again.
    law = feedback(arm, designs_in_background=True, update_time=0.01)
    law.prepare()
    (worker,) = scheduled_feedback._process()._pool._processes.values()
    worker.kill()
    worker.join()
    wait(law, q, is_blended, drift=1e-5)
    assert not law.problem
    np.testing.assert_allclose(law.current, schedule(arm).at(law.pose).values, rtol=1e-12)


@pytest.mark.parametrize(
    ("arm", "design"),
    [
        (arms.linear_arm, "modal"),
        (arms.antagonistic_arm, "coupled"),
        (arms.elastic_panda, "coupled"),
        (arms.elastic_panda, "modal"),
    ],
)
def test_the_arm_follows_a_motion(arm, design):
    """From rest at its start."""
    arm = arm()
    law = arms.law_of(arm, "state_feedback", gain_design=design, bandwidth=30.0)
    motion, robot = arms.exciting(arm, 0.5), ElasticRobot(arm.model, arm.actuators)
    robot.reset(motion(0.0)[0])
    second = robot.stiffness
    law.stiffness[:2] = second
    worst = 0.0
    for k in range(600):
        t = k * STEP
        state = (robot.q, robot.qd, robot.theta, robot.thetad)
        robot.step(law.update(motion(t), *state, ahead=motion(t + 0.5 * STEP)), STEP)
        if k > 300:
            worst = max(worst, np.abs(robot.q - motion(t + STEP)[0]).max())
    assert worst < 2e-3
    assert law.refused == 0


def test_retune_blends_in_other_gains():
    arm = arms.linear_arm()
    settings = {"law": "state_feedback", "gain_design": "coupled", "position": arm.rest}
    law = arms.law_of(arm, bandwidth=20.0, **settings)
    before = law.current.copy()
    control.retune(law, control.ControllerSettings(bandwidth=40.0, **settings))
    np.testing.assert_array_equal(law.current, before)
    desired = arms.still(arm)
    for _ in range(60):
        law.update(desired, arm.rest, np.zeros(2), arm.rest, np.zeros(2))
    np.testing.assert_allclose(law.current, schedule(arm, 40.0).at(arm.rest).values, rtol=1e-12)
    with pytest.raises(InputError, match="differs from the running"):
        control.retune(law, control.ControllerSettings(bandwidth=40.0, delay=1e-3, **settings))
    with pytest.raises(InputError, match="update_time is -1"):
        feedback(arm, update_time=-1.0)
