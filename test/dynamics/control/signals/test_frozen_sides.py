# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Encoders that repeat their values: noticed if the arm moves, and not at rest."""

import numpy as np
import pytest

from elastic_arms import shipped
from multibody_dynamics.dynamics.control.records.cycle_counts import CycleCounts
from multibody_dynamics.dynamics.control.signals.encoder_steps import EncoderSteps
from multibody_dynamics.dynamics.control.signals.frozen_sides import (
    LINKS_FROZEN,
    MOTORS_FROZEN,
    FrozenSides,
    notice_frozen_sides,
    spring_bends,
)
from multibody_dynamics.dynamics.core import record_fields

FAR = 0.05
BEND = 0.12  # rad, of the springs
PERIOD = 1e-3
JOINT_OF_MOTOR = np.array([0, 1, 1])
SHARE = np.array([1.0, 1.0, 0.0])  # the last motor sets a stiffness
START = np.array([0.3, -0.8])


class Watch:
    def __init__(self, far: float = FAR, bend: float = 0.0) -> None:
        self.memory = record_fields.zeros(FrozenSides, n=2, m=3)
        self.counts = record_fields.zeros(CycleCounts)
        self.steps = record_fields.zeros(EncoderSteps, n=2, m=3)
        self.far, self.bend = far, np.full(2, bend)
        self.wanted = 0.0
        self.see()

    def see(self, links=0.0, motors=0.0, wanted=0.0, stiffness=0.0) -> int:
        """What is noticed after links, motors and reference have moved so far from the start."""
        q = START + links
        theta = np.array([*(START + motors), 0.1 + stiffness])
        velocity = np.full(2, (wanted - self.wanted) / PERIOD)
        self.wanted = wanted
        own = self.counts, self.memory, self.steps, self.far, PERIOD, q, theta, velocity
        return notice_frozen_sides(JOINT_OF_MOTOR, SHARE, self.bend, *own)

    def go(self, **to) -> int:
        """What is noticed after it has moved there without a leap."""
        steps = int(np.ceil(max(np.abs(far).max() for far in to.values()) / (0.5 * FAR)))
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            found = self.see(**{name: share * far for name, far in to.items()})
        return found


def test_at_rest_every_encoder_may_repeat_its_value():
    watch = Watch()
    assert [watch.see() for _ in range(1000)] == 1000 * [0]
    assert watch.counts.frozen_cycles[0] == 0


@pytest.mark.parametrize(
    ("moves", "sides"),
    [
        ({"motors": 1.0}, LINKS_FROZEN),
        ({"links": 1.0}, MOTORS_FROZEN),
        ({"wanted": 1.0}, LINKS_FROZEN + MOTORS_FROZEN),
        ({"wanted": 1.0, "links": 1.0}, MOTORS_FROZEN),
        ({"wanted": 1.0, "links": 1.0, "motors": 1.0}, 0),  # but for the stiffness, which may
    ],
)
def test_a_side_that_stays_while_the_arm_moves_on_is_frozen(moves, sides):
    watch = Watch()
    for share in np.linspace(0.0, 0.9, 50):
        assert watch.see(**{name: share * FAR for name in moves}) == 0
    assert watch.see(**{name: 1.1 * FAR for name in moves}) == sides
    still = {name: 0.0 for name in moves}
    assert watch.see(**still | {name: 1e-9 for name in {"links", "motors"} - moves.keys()}) == 0


def test_a_frozen_side_remains_so_until_its_value_changes():
    watch = Watch()
    assert watch.go(motors=1.8 * FAR) == LINKS_FROZEN
    assert watch.see(motors=0.0) == LINKS_FROZEN
    assert watch.see(links=1e-12) == 0
    assert watch.counts.frozen_cycles[0] == 3


def test_one_joint_of_several_is_enough_and_zero_turns_it_off():
    one = np.array([2.0 * FAR, 0.0])
    assert Watch().go(motors=one) == LINKS_FROZEN
    assert Watch(0.0).go(motors=100.0) == 0


@pytest.mark.parametrize("moves", ["motors", "links"])
def test_a_side_that_leaps_does_not_make_the_other_one_look_frozen(moves):
    """The motors of a resting Panda leapt by 0.08 rad, within reach at 250 Hz; its stop, without
    links, flung it 1.8 rad away, at 3.6 times its speed limits."""
    watch = Watch()
    found = [watch.see(**{moves: far}) for far in (1.1 * FAR, 1.1 * FAR, 3.0 * FAR, 0.0)]
    assert found == 4 * [0]
    assert watch.see(**{moves: 0.9 * FAR}) == 0
    assert watch.see(**{moves: 1.8 * FAR}) != 0


@pytest.mark.parametrize("moves", ["motors", "links"])
def test_an_encoder_may_repeat_its_value_within_a_step(moves):
    watch = Watch()
    watch.steps.link_step[:] = watch.steps.motor_step[:] = FAR
    assert watch.see(**{moves: 1.9 * FAR}) == 0  # a step of the other side is no leap, either
    assert watch.see(**{moves: 2.1 * FAR}) != 0


@pytest.mark.parametrize(("moves", "side"), [("motors", LINKS_FROZEN), ("links", MOTORS_FROZEN)])
def test_between_the_sides_a_spring_may_bend(moves, side):
    """A motor of 12 bits bent it by 0.05 rad before the link had moved by a step."""
    watch = Watch(bend=BEND)
    assert watch.go(**{moves: 0.99 * (FAR + BEND)}) == 0
    assert watch.see(**{moves: 1.01 * (FAR + BEND)}) == side
    assert Watch(bend=BEND).see(wanted=1.01 * FAR) == LINKS_FROZEN + MOTORS_FROZEN
    assert Watch(bend=np.inf).go(**{moves: 1e3}) == 0


def test_springs_bend_as_far_as_torque_limits_and_their_travel_permit():
    two, bent = shipped("planar_two_link"), np.array([60.0 / 500.0, 30.0 / 250.0])
    limits, unlimited = two.model.limits, np.full(2, np.inf)
    np.testing.assert_allclose(spring_bends(two.actuators, limits.effort), bent)
    travel = np.full(2, np.deg2rad(8.0))  # shorter than the torque limits of the motors permit
    np.testing.assert_allclose(spring_bends(two.actuators, unlimited), travel)
    pair = shipped("antagonistic_elbow")
    found = spring_bends(pair.actuators, pair.model.limits.effort)
    np.testing.assert_allclose(found, [20.0 / 200.0, 0.5 * 0.9])
