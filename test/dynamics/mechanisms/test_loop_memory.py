# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The memory of where loops were closed, against Newton's method of the library."""

import numpy as np
import pytest

from mechanisms import delta, five_bar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.mechanisms import loop_memory
from multibody_dynamics.dynamics.rigid import trace_gravity_forces

MECHANISMS = {"five-bar": five_bar("a", "e"), "delta": delta()}


class Loops:
    """The loops of a robot, closed by its recorded gravity torques."""

    def __init__(self, model):
        self.model = model
        self.program = trace_gravity_forces(model)
        sizes = {"n": self.model.n, "N": self.model.body_count}
        sizes["closure"] = len(self.program.results["closure"])
        self.memory = record_fields.zeros(loop_memory.LoopMemory, **sizes)

    def near(self, q):
        """Whether the recorded function closes the loops, from where they were closed last."""
        found = self.program.evaluate(q=q, last=self.memory.last)
        return loop_memory.take_closed(self.memory, found["motion"], found["closure"], None)

    def approach(self, q):
        own = self.model.first_bodies
        loop_memory.approach_loops(self.program, self.model.assembled, own, None, self.memory, q)


def loops_of(name):
    mechanism = MECHANISMS[name]
    return Loops(dyn.mechanisms.closed_chain(mechanism.system, mechanism.q))


@pytest.mark.parametrize("name", MECHANISMS)
def test_far_positions_are_approached_from_the_assembled_one(name):
    loops = loops_of(name)
    steps = np.random.default_rng(1).uniform(-0.6, 0.6, (30, loops.model.n))
    targets = loops.model.home + steps
    reached = loops.model.reaches(targets)
    assert reached.sum() > 5
    assert not loops.near(loops.model.home)  # nothing is known yet
    for q in targets[reached]:
        loops.approach(q)
        np.testing.assert_allclose(loops.memory.last, loops.model.configuration(q), atol=1e-11)
        assert loops.near(q + 1e-3)
        expected = loops.model.configuration(q + 1e-3)
        np.testing.assert_allclose(loops.memory.last, expected, atol=1e-11)


@pytest.mark.parametrize("what", ["out of reach", "not a number", "beyond all bounds"])
def test_nothing_is_known_after_a_failure_and_the_next_position_is_approached_again(what):
    loops = loops_of("five-bar")
    q = loops.model.home.copy()
    loops.approach(q)
    before = loops.memory.last.copy()
    away = {"out of reach": q + 0.6, "not a number": q * np.nan, "beyond all bounds": q + 1e9}[what]
    assert not loops.near(away)
    np.testing.assert_array_equal(loops.memory.last, before)
    loops.approach(away)
    assert not loops.near(away)
    assert np.isnan(loops.program.evaluate(q=away, last=loops.memory.last)["tau"]).all()
    loops.approach(q)
    assert loops.near(q)
    np.testing.assert_allclose(loops.memory.last, loops.model.configuration(q), atol=1e-12)
