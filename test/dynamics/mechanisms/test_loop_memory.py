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
        model = self.model
        rows = np.arange(len(model.equations) + 1) + 1
        tables = model.assembled, model.first_bodies, model.strides, rows
        loop_memory.approach_loops(self.program, *tables, None, self.memory, q)


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
def test_a_failure_names_its_row_and_the_next_position_begins_where_loops_were_closed(what):
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
    is_far = loops.memory.open[0] == 1 + len(loops.model.equations)
    assert loops.memory.open[0] > 0
    assert is_far == (what == "beyond all bounds")
    loops.approach(q)
    assert loops.near(q)
    np.testing.assert_allclose(loops.memory.last, loops.model.configuration(q), atol=1e-12)


def test_a_position_behind_a_dead_point_is_refused_as_by_the_solver():
    """The straight line from the assembled pose reaches it, in another assembly mode perhaps; the
    motion there, in steps of a cycle, does not."""
    loops = loops_of("five-bar")
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(
        loops.model.system, loops.model.assembled, independent=loops.model.joint_names
    )
    solver.state[:] = 0.0
    rng = np.random.default_rng(3)
    failures = 0
    for _ in range(20):
        solver.start_from(loops.model.assembled)
        loops.memory.is_known[0] = 0
        way = rng.uniform(-1.0, 1.0, loops.model.n)
        for step in np.linspace(0.0, 1.5, 40):
            q = loops.model.home + step * way
            solver.state[0] = q
            is_closed = bool(solver.update())
            if not loops.near(q):
                loops.approach(q)
            assert loops.near(q) == is_closed
            if not is_closed:
                failures += 1
                assert solver.problem()
                continue
            np.testing.assert_allclose(loops.memory.last, solver.motion[0], atol=1e-9)
    assert failures > 20
