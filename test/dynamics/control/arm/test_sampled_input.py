# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What counts of measured positions: turns, frozen sides and returns after silences, in order."""

from math import inf

import numpy as np
import pytest

from elastic_arms import series, two_links
from generated_controllers import designed
from multibody_dynamics.dynamics.control import (
    CycleCounts,
    CycleSettings,
    RestingArm,
    actuation,
    encoder_steps,
    frozen_sides,
    samples,
)
from multibody_dynamics.dynamics.control.arm import sampled_input
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.tools.robot.generated_design import motors_at_rest, start_position


@pytest.fixture(scope="module")
def design():
    return designed(two_links(series(400.0), series(300.0)))


class Encoders:
    """Positions of an arm at rest, which a cycle takes every ms."""

    def __init__(self, design, **changes):
        self.p = CycleSettings(**design.parameters)._replace(**changes)
        self.q = start_position(design)
        self.theta = motors_at_rest(design, self.q)
        n, m = len(self.q), len(self.theta)
        self.a, self.arm = actuation(design.actuators), RestingArm(design.model, design.actuators)
        self.counts = record_fields.zeros(CycleCounts)
        self.samples = record_fields.zeros(samples.Samples, n=n, m=m)
        self.frozen = record_fields.zeros(frozen_sides.FrozenSides, n=n, m=m)
        self.steps = record_fields.zeros(encoder_steps.EncoderSteps, n=n, m=m)
        self.desired, self.reference = np.zeros((5, n)), np.zeros((4, m))
        self.desired[0], self.reference[0] = self.q, self.theta
        samples.compiled_forget(self.samples)
        self.time = 0.0

    def take(self, *, link_off=0.0, motor_off=0.0, is_active=True, after=1e-3, both=True):
        """A cycle; whether the samples of links and motors counted."""
        self.time += after
        before = self.samples.sampled[0], self.samples.sampled[1]
        sampled_input.take_input(
            self.a, self.arm, self.p, self.counts, self.samples, self.frozen, self.steps,
            self.arm.springs, is_active, self.time, self.time if both else before[0],
            self.time, self.q + link_off, self.theta + motor_off, after, self.desired,
            self.reference,
        )  # fmt: skip
        return self.samples.sampled[0] > before[0], self.samples.sampled[1] > before[1]


def test_every_finite_sample_counts_and_is_not_changed(design):
    arm = Encoders(design)
    q, theta = arm.q.copy(), arm.theta.copy()
    assert arm.take() == (True, True)
    assert arm.take(link_off=np.nan) == (False, True)
    assert arm.take(motor_off=inf) == (True, False)
    np.testing.assert_array_equal((arm.q, arm.theta), (q, theta))
    assert arm.counts.refused_samples[0] == 2


def test_links_that_repeat_their_positions_while_the_arm_moves_do_not_count(design):
    arm = Encoders(design, frozen_distance=0.01)
    assert arm.take() == (True, True)
    arm.desired[1] = 20.0  # rad/s: 0.02 rad in a cycle
    assert arm.take(motor_off=1e-6) == (False, True)
    assert arm.take(link_off=1e-6, motor_off=2e-6) == (True, True)
    assert arm.counts.frozen_cycles[0] == 1


@pytest.mark.parametrize(("off", "counts"), [(0.0, True), (0.2, False)])
def test_after_a_silence_the_springs_must_agree(design, off, counts):
    arm = Encoders(design, link_timeout=0.1, frozen_distance=0.0)
    limited = np.full(2, 1.0)
    arm.p = arm.p._replace(external_load=limited)
    for _ in range(5):
        arm.take()
    arm.take(after=0.5, both=False)
    links, motors = arm.take(link_off=off)
    assert links == counts
    assert motors
    if not counts:  # an arm that is not active is judged when it is activated
        assert arm.take(link_off=off, is_active=False)[0]


def test_a_step_of_a_coarse_encoder_counts_once_it_is_known(design):
    arm, step = Encoders(design), 2.0 * np.pi / 2**6
    arm.p = arm.p._replace(link_speed=np.full(2, 0.05 * step / 1e-3))
    counts = [arm.take(link_off=k * step)[0] for k in (0, 1, 1, 2, 4, 8)]
    assert counts == [True, False, False, True, True, False]
