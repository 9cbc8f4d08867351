# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws lowered until their sampled loops are stable, and impedances tried on both plants."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import at_rest_under, linear_arm, sample_of, shipped, without_coulomb
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control import ControllerSettings, LoopJudge, make_controller
from multibody_dynamics.dynamics.control.laws.lowered_settings import SEARCHES, lowered_impedance
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.plant import DelayLine, ElasticRobot
from multibody_dynamics.resources import share_directory
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot

STEP = 1e-3
ENCODERS = control.StateEstimation("link_and_motor_encoders", bandwidth=100.0)


class Stated:
    """A judge of settings in place of controllers."""

    def __init__(self, is_stable):
        self.is_stable = is_stable

    def unstable_pose(self, settings, order=(), above=0.0):
        return None if self.is_stable(settings) else 0


def lowered(settings, is_stable, needed=0.0):
    def make(changed):
        if getattr(changed, "stiffness_share", 1.0) < needed:
            raise InputError("the springs cannot carry the stiffness")
        return changed

    return SEARCHES[settings.lowers](settings, make, Stated(is_stable))


def test_the_compensation_is_lowered_first():
    found = lowered(ControllerSettings(), lambda s: s.disturbance_bandwidth < 60.0)
    assert set(found) == {"disturbance_bandwidth"}
    assert 40.0 < found["disturbance_bandwidth"] < 60.0


def test_then_it_is_turned_off():
    found = lowered(ControllerSettings(), lambda s: s.disturbance_bandwidth == 0.0)
    assert found == {"disturbance_bandwidth": 0.0}


def test_then_the_law_is_lowered_and_compensated_again():
    given = ControllerSettings(law="state_feedback", bandwidth=[40.0, 20.0])

    def is_stable(settings):
        return np.max(settings.bandwidth) < 20.0 and settings.disturbance_bandwidth < 50.0

    found = lowered(given, is_stable)
    assert np.max(found["bandwidth"]) < 20.0
    assert found["bandwidth"][0] == pytest.approx(2.0 * found["bandwidth"][1])
    assert 30.0 < found["disturbance_bandwidth"] < 50.0
    found = lowered(given, lambda s: np.max(s.bandwidth) < 20.0 and not s.disturbance_bandwidth)
    assert found["disturbance_bandwidth"] == 0.0
    found = lowered(ControllerSettings(law="hold"), lambda s: s.bandwidth < 30.0)
    assert set(found) == {"bandwidth"}


def test_there_may_be_none():
    assert lowered(ControllerSettings(), lambda s: False) is None
    placed = ControllerSettings(law="state_feedback", poles=[-20.0] * 4)
    assert lowered(placed, lambda s: False) is None  # poles are not changed
    assert lowered(placed, lambda s: not s.disturbance_bandwidth) == {"disturbance_bandwidth": 0.0}


def test_the_stiffness_is_lowered_before_the_torque_feedback():
    given = ControllerSettings(law="joint_impedance")
    found = lowered(given, lambda s: s.stiffness_share < 0.5)
    assert set(found) == {"stiffness_share"}
    assert 0.3 < found["stiffness_share"] < 0.5
    found = lowered(given, lambda s: s.stiffness_share < 0.5 * s.inertia_share, needed=0.3)
    assert found["inertia_share"] > 0.5
    assert 0.3 < found["stiffness_share"] < 0.5 * found["inertia_share"]
    assert lowered(given, lambda s: s.stiffness_share < 0.5, needed=0.6) is None
    rows = replace(given, inertia_share=[0.5, 1.0])
    found = lowered(rows, lambda s: np.min(s.inertia_share) > 0.9)
    assert found["inertia_share"][1] == 1.0
    assert 0.9 < found["inertia_share"][0] <= 1.0


def cycle_of(arm, law, **settings):
    chosen = {law: ControllerSettings(law=law, **settings), "hold": ControllerSettings(law="hold")}
    settings = control.FlatnessSettings(law=law, controllers=chosen)
    return control.Arm(arm.model, arm.actuators, settings)


def test_a_cycle_lowers_its_law_and_keeps_to_it():
    arm, name = shipped("planar_two_link"), "state_feedback"
    cycle = cycle_of(arm, name, bandwidth=40.0, base_frequency=0.0)
    conditions = {"delay": 1e-3, "model_error": 0.3, "poses": 40}
    assert cycle.laws.judge(name, arm.rest, **conditions).unstable_share > 0.0
    found = cycle.laws.stabilise(name, arm.rest, **conditions)
    assert found.unstable_share == 0.0
    changed = cycle.laws.lowered[name]
    assert 12.0 <= changed["disturbance_bandwidth"] < 120.0
    cycle.design(arm.rest)
    assert cycle.laws[name].disturbance_bandwidth == changed["disturbance_bandwidth"]
    own = replace(cycle.laws.settings.controllers[name], position=arm.rest, **changed)
    same = make_controller(arm.model, arm.actuators, own)
    judge = LoopJudge(same, arm.rest, estimation=ENCODERS, **conditions)
    np.testing.assert_array_equal(judge.judge(same).growth, found.growth)
    exact = cycle.laws.stabilise(name, arm.rest, delay=1e-3, poses=10)
    assert exact.unstable_share == 0.0
    assert name not in cycle.laws.lowered


def test_a_cycle_lowers_its_impedance():
    arm = linear_arm()
    laws = cycle_of(arm, "joint_impedance").laws
    found = laws.stabilise("joint_impedance", arm.rest, delay=1e-3, poses=4)
    assert not found.is_unstable.any()
    assert 0.02 < laws.lowered["joint_impedance"]["stiffness_share"] < 0.8


def swing(arm, settings, cycles, plant):
    """The largest joint speed in the last fifth of a simulation of a sampled loop with encoders,
    after a small push."""
    made = at_rest_under(
        arm,
        cycle=control.ArmSettings(tracking_tolerance=0.0, transfer_time=0.0),
        law=settings.law,
        controllers={"hold": ControllerSettings(law="hold"), settings.law: settings},
        estimation=ENCODERS,
    )
    plant.reset(arm.rest)
    line = DelayLine(1e-3, STEP, plant.motor_torque.copy())
    worst = 0.0
    for k in range(cycles):
        torque = made.update(sample_of(made, k * STEP, plant.q, plant.theta)).torque
        kick = 0.02 if k == 1 else 0.0
        for duration, late in line.push(torque + kick):
            plant.step(late, duration)
        if k > 0.8 * cycles:
            worst = max(worst, float(np.abs(plant.qd).max()))
    return worst


def test_what_is_accepted_is_stable_on_both_plants_and_what_is_not_is_not():
    """1 kHz, 1 ms of delay, no Coulomb friction."""
    arm = without_coulomb(shipped("planar_two_link"))
    robot = share_directory() / "config" / "robots" / "planar_two_link.urdf"
    plants = (
        ElasticRobot(arm.model, arm.actuators),
        MujocoRobot(arm.model, arm.actuators, robot.read_bytes()),
    )
    given = ControllerSettings(law="joint_impedance", position=arm.rest)

    def make(settings):
        law = make_controller(arm.model, arm.actuators, settings)
        law.lead = 0.5 * STEP
        return law

    judge = LoopJudge(make(given), arm.rest, delay=1e-3, estimation=ENCODERS, poses=6)
    found = lowered_impedance(given, make, judge)
    assert found["stiffness_share"] < 0.8
    accepted = replace(given, **found)
    springs = make(given)._carrying
    stiffest = found["stiffness_share"] * springs
    with pytest.raises(InputError, match=r"at most 0\.\d+ is possible"):
        make(replace(accepted, link_stiffness=1.02 * stiffest))
    stable = replace(accepted, link_stiffness=0.999 * stiffest)
    diverging = replace(given, link_stiffness=0.79 * springs)
    assert judge.exact(make(diverging)).growth > 10.0
    for plant in plants:
        assert swing(arm, stable, 600, plant) < 1e-3
        assert swing(arm, diverging, 600, plant) > 1e-2
