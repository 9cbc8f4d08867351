# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Positions that leap, repeat, or are elsewhere after a silence do not count."""

import numpy as np
import pytest

from elastic_arms import START, at_rest_under, at_start, sample_of, shipped
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control import BOTH, LINKS, MOTORS, Command, Sample
from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.control.arm.modes import (
    IMPLAUSIBLE,
    NO_LINKS,
    NO_MOTORS,
    Mode,
)
from multibody_dynamics.dynamics.control.laws.controller_settings import ControllerSettings
from multibody_dynamics.dynamics.control.laws.flatness_settings import FlatnessSettings
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot

PERIOD = 1e-3
SECOND = 1_000_000_000  # ns


class WatchedArm:
    """The two-link arm of config/ with its plant, and with what `damage` does to the positions."""

    def __init__(self, start: np.ndarray | None = None) -> None:
        arm = shipped("planar_two_link")
        start = arm.rest if start is None else start
        self.made = control.Arm(arm.model, arm.actuators, cycle=ArmSettings(transfer_time=0.1))
        self.made.design(start)
        self.plant = ElasticRobot(arm.model, arm.actuators, step=PERIOD)
        self.plant.reset(start)
        self.made.activate()
        self.now, self.torque, self.told = START, self.plant.motor_torque.copy(), []

    def run(
        self,
        seconds: float,
        missing: str = "",
        damage=lambda q, theta: (q, theta),
        is_late: bool = False,
    ) -> Mode:
        """So many seconds; every motion is one of 1 rad/s."""
        for _ in range(round(seconds / PERIOD)):
            self.now += round(SECOND * PERIOD)
            q, theta = damage(self.plant.q.copy(), self.plant.theta.copy())
            rows = {"link_position": q, "motor_position": theta}
            given = Sample(self.now, None if missing == BOTH else rows, missing, is_late=is_late)
            command = self.made.update(given)
            self.told += [str(event) for event in command.events]
            if command.torque is None:
                command = self.made.rest(self.now)
            self.torque = command.torque
            self.plant.step(self.torque, PERIOD)
        return command.mode


@pytest.mark.parametrize(
    ("links", "motors", "missing", "tolerance"),
    [
        (2.0 * np.pi, 0.0, NO_LINKS, 1.0),
        (0.27, 0.0, NO_LINKS, 0.0),
        (0.0, 2.0 * np.pi, NO_MOTORS, 1.0),
        (2.0 * np.pi, 2.0 * np.pi, NO_MOTORS, 0.0),
        (2.0 * np.pi, 2.0 * np.pi, NO_MOTORS, 1.0),
    ],
)
def test_a_side_whose_positions_leap_is_missing_until_it_agrees(links, motors, missing, tolerance):
    """0.27 rad were accepted at once, and so was a turn, of which filters made speeds of some
    100 rad/s. Where nothing judges the springs, or both sides have leapt, until they return, or the
    fault is cleared."""
    arm = shipped("planar_two_link")
    cycle = ArmSettings(load_tolerance=tolerance, transfer_time=0.1, frozen_distance=0.0)
    made = at_rest_under(arm, cycle=cycle)
    plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
    plant.reset(at_start(arm)[0][0])

    def run(cycles: range, links: float, motors: float) -> Command:
        for k in cycles:
            command = made.update(sample_of(made, k * 1e-3, plant.q + links, plant.theta + motors))
            assert np.abs(command.estimated[1]).max() < 0.1
            if command.torque is not None:
                plant.step(command.torque, 1e-3)
        return command

    assert run(range(300), 0.0, 0.0).mode is Mode.HOLDING
    assert run(range(300, 450), links, motors).mode is Mode.HOLDING  # carried along the reference
    for k in (450, 1450):
        run(range(k, k + 500), links, motors)
        assert made.supervisor.fault.code == missing
        assert run(range(k + 500, k + 1000), 0.0, 0.0).mode is Mode.HOLDING
    if tolerance or links == motors:
        run(range(2450, 2950), links, motors)
        made.clear_fault()
        believed = run(range(2950, 3450), links, motors).mode is Mode.HOLDING
        assert believed == (links == motors)


@pytest.mark.parametrize("leap", [-0.13, -0.15])
def test_a_side_that_has_leapt_does_not_return_by_moving_on(leap):
    """The motors of a moving arm covered what their leap exceeded the reach of a cycle by: 0.27 rad
    were taken for 8 rad/s after 44 ms, to which the torque answered by 10 N m."""
    arm, period = shipped("antagonistic_elbow"), 4e-3
    laws = {
        name: ControllerSettings(law=name, period=period, position=arm.rest)
        for name in ("motor_pd", "hold")
    }
    made = control.Arm(
        arm.model,
        arm.actuators,
        FlatnessSettings(law="motor_pd", controllers=laws),
        ArmSettings(transfer_time=0.1),
    )
    made.design(arm.rest)
    made.activate()
    plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
    plant.reset(arm.rest)
    torque, faults = plant.motor_torque.copy(), []
    for k in range(250):
        if k == 75:
            made.motion.go(arm.rest + 0.4, 0.8)
        away = leap if k >= 150 else 0.0
        command = made.update(sample_of(made, k * period, plant.q, plant.theta + away))
        faults += [event.fault.code for event in command.events]
        assert np.abs(made.measured.motors[1]).max() < 1.5
        assert command.torque is not None
        assert k < 150 or np.abs(command.torque - torque).max() < 0.5
        torque = command.torque.copy()
        plant.step(torque, period)
    assert faults == [NO_MOTORS]


@pytest.mark.parametrize("leap", [0.05, 0.07, 0.08, 0.15])
def test_motors_that_leap_do_not_fling_a_resting_arm(leap):
    """Links that were right looked frozen, and the stop without them moved the Panda by 1.8 rad, at
    3.6 times its speed limits."""
    arm, period = shipped("panda"), 4e-3
    laws = {
        name: ControllerSettings(law=name, period=period, position=arm.rest)
        for name in ("motor_pd", "hold")
    }
    settings = FlatnessSettings(law="motor_pd", controllers=laws)
    made = control.Arm(arm.model, arm.actuators, settings, ArmSettings(transfer_time=0.1))
    made.design(arm.rest)
    made.activate()
    plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
    plant.reset(arm.rest)
    for k in range(400):
        seen = plant.theta + (leap if k >= 100 else 0.0)
        command = made.update(sample_of(made, k * period, plant.q, seen))
        assert command.mode is not Mode.LOST
        assert command.torque is not None
        plant.step(command.torque, period)
        assert np.abs(plant.q - arm.rest).max() < 0.2
        assert np.abs(plant.qd / arm.model.limits.velocity).max() < 1.5


@pytest.mark.parametrize(
    ("links", "motors", "mode"),
    [(True, False, Mode.STOPPING), (False, True, Mode.STOPPING), (True, True, Mode.LOST)],
)
def test_encoders_that_repeat_their_values_in_motion_are_missing_under_new_stamps(
    links, motors, mode
):
    arm = WatchedArm()
    arm.run(0.5)
    arm.made.motion.go(np.array([1.0, 1.0]), 1.0)
    arm.run(0.4)
    held = arm.plant.q.copy(), arm.plant.theta.copy(), arm.made.motion.desired[0].copy()

    def frozen(q: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return held[0] if links else q, held[1] if motors else theta

    found, moved = Mode.FOLLOWING, 0.0
    while not arm.told:
        moved = float(np.abs(arm.made.motion.desired[0] - held[2]).max())
        found = arm.run(PERIOD, damage=frozen)
    cycles = 2.0 * PERIOD * 2.0  # at up to 2 rad/s
    assert moved <= ArmSettings().frozen_distance + cycles
    assert found is mode
    assert "frozen" in arm.told[0]
    assert ("link states" if links and not motors else "motor states") in arm.told[0]
    if motors:  # feedback of frozen motors has driven the arm: brakes stop it
        return
    assert arm.run(2.0, damage=frozen) is mode, arm.told
    assert np.abs(arm.plant.qd).max() < 0.05
    assert arm.run(1.5) is Mode.HOLDING, arm.told


@pytest.mark.parametrize("missing", [LINKS, MOTORS])
def test_a_stop_after_the_timeout_of_a_side_knows_how_fast_the_arm_is(missing):
    """The filters began anew at rest, after 0.2 s without pairs: the stop of an arm at 1.9 rad/s
    seemed to speed up, and was given up."""
    arm = WatchedArm()
    arm.run(0.3)
    arm.made.motion.go(np.array([0.8, 0.8]), 1.0)
    arm.run(0.25)
    assert arm.run(ArmSettings().state_timeout, is_late=True) is Mode.FOLLOWING
    arm.run(PERIOD, missing)
    there = arm.plant.thetad if missing == LINKS else arm.plant.qd
    assert np.abs(there).max() > 1.5
    measured = arm.made.measured.velocities[missing == LINKS]
    np.testing.assert_allclose(measured, there, atol=0.15)
    assert arm.run(3.0, missing) is Mode.STOPPING, arm.told
    assert np.abs(arm.plant.qd).max() < 0.05


def test_at_rest_encoders_may_repeat_their_values():
    arm = WatchedArm()
    still = arm.plant.q.copy(), arm.plant.theta.copy()
    assert arm.run(2.0, damage=lambda q, theta: still) is Mode.HOLDING
    assert not arm.told


@pytest.mark.parametrize(("missing", "step"), [(LINKS, 1.5), (MOTORS, -2.0 * np.pi), (BOTH, 1.5)])
def test_after_a_silence_a_side_that_is_elsewhere_stays_missing(missing, step):
    """1.5 rad were believed, and a speed of 8 rad/s with them."""
    arm = WatchedArm()
    arm.run(0.5)
    off = lambda q, theta: (q + step, theta) if missing == LINKS else (q, theta + step)  # noqa: E731
    arm.run(0.3, missing)
    before = arm.made.supervisor.mode
    for _ in range(1000):
        assert arm.run(PERIOD, damage=off) is before
        assert np.abs(arm.plant.qd).max() < 0.2
    assert arm.run(1.5) is Mode.HOLDING, arm.told
    # a silence too short for a fault: the step is not followed, and a fault of its own
    arm.now += round(0.1 * SECOND)
    arm.run(0.05, damage=off)
    assert np.abs(arm.made.measured.estimator.state.qd).max() < 0.1
    assert arm.run(0.3, damage=off) is Mode.LOST
    assert "do not carry the arm" in arm.told[-1]
    assert arm.run(1.5) is Mode.HOLDING, arm.told


@pytest.mark.parametrize(("links", "motors"), [(100.0, 1.0), (1.0, 100.0), (100.0, 100.0)])
def test_positions_in_another_unit_do_not_count(links, motors):
    arm = WatchedArm(start=np.array([-0.4, -0.4]))
    assert arm.run(0.5) is Mode.HOLDING
    for _ in range(1000):
        arm.run(PERIOD, damage=lambda q, theta: (links * q, motors * theta))
        assert np.abs(arm.made.measured.estimator.state.qd).max() < 0.1
    assert arm.made.supervisor.mode is not Mode.HOLDING
    assert arm.run(2.0) is Mode.HOLDING, arm.told


@pytest.mark.parametrize("turn", [-2.0 * np.pi, 2.0 * np.pi])
def test_no_arm_begins_a_turn_from_its_limits(turn):
    arm = WatchedArm()
    arm.run(0.05, damage=lambda q, theta: (q + turn, theta + turn))
    assert arm.made.supervisor.fault.code == IMPLAUSIBLE
    assert "beyond its limits" in arm.told[0]
