# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Solvers of mechanisms with loops whose general kernel gives way to code for one robot."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

from mechanisms import FOUR_BAR, JOINTS, delta, five_bar, four_bar, loop_in_tree, loop_on_a_loop
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import Calls
from reference import error
from robots import random_base

pytestmark = pytest.mark.skipif(
    not Calls.available(), reason="machine code needs Numba, which is optional"
)

MECHANISMS = {
    "four-bar": four_bar(),
    "five-bar": five_bar("a", "e"),
    "five-bar, motors at other joints": five_bar("b", "d"),
    "five-bar, 3 motors": five_bar("a", "c", "e"),
    "delta": delta(),
    "loop on a loop": loop_on_a_loop(),
}


def solvers(name):
    """The general solver, and one whose specialised kernel is in force."""
    mechanism = MECHANISMS[name]
    both = [
        dyn.mechanisms.ConstrainedInverseDynamicsSolver(
            mechanism.system, mechanism.q, independent=mechanism.independent, specialise=chosen
        )
        for chosen in (False, True)
    ]
    assert (both[0].wait(), both[1].wait()) == ("general", "specialised")
    return both


def cycles(solver, count=200, amplitude=0.1, period=1.0):
    """Rows q ... q'''' (count, 5, dof) of a motion at 1 kHz."""
    omega, order = 2 * np.pi / period, np.arange(5)[:, None]
    for k in range(count):
        phase = omega * k * 1e-3 + order * np.pi / 2
        row = amplitude * omega**order * np.sin(phase + np.arange(solver.dof))
        row[0] += solver.state[0] - amplitude * np.sin(np.arange(solver.dof))
        yield row


@pytest.mark.parametrize("name", MECHANISMS)
def test_equals_the_general_kernel(name):
    general, special = solvers(name)
    for row in list(cycles(general)):
        expected = general(*row)
        for found, other in zip(special(*row), expected, strict=True):
            assert error(found, other) < 1e-12
        assert special._is_specialised()
        assert error(special.motion, general.motion) < 1e-12
        assert error(special.multipliers, general.multipliers) < 1e-12
        special.state[:] = row
        assert special.update() == 1
        assert special._is_specialised()
        assert error(special.result, general.result) < 1e-12
        assert special.problem() == ""
        assert 1e-3 < special.margin <= 1.0


def test_passive_torques_and_payloads_are_read_in_each_call():
    general, special = solvers("five-bar")
    row = next(cycles(general))
    tree = general.model.with_payload(general.model.body_names[-1], 2.0, (0.1, 0, 0), np.eye(3))
    for solver in (general, special):
        solver.passive_torque[:, solver.system.passive_indices] = np.arange(9.0).reshape(3, 3)
        solver.set_model(tree)
    for found, expected in zip(special(*row), general(*row), strict=True):
        assert error(found, expected) < 1e-12
    assert special._is_specialised()


def test_what_the_kernel_does_not_compute_is_left_to_the_general_one():
    general, special = solvers("five-bar")
    row = next(cycles(general))
    for solver in (general, special):
        solver.applied_wrenches[1] = np.arange(18.0).reshape(3, 6)
    assert error(special(*row)[2], general(*row)[2]) < 1e-12
    assert not special._is_specialised()
    for solver in (general, special):
        solver.applied_wrenches[:] = 0.0
    special(*row)
    assert special._is_specialised()
    for loop, wrench in special.loop_wrenches.items():
        general(*row)
        assert error(wrench, general.loop_wrenches[loop]) < 1e-12
    assert special.kernel == "specialised"


@pytest.mark.parametrize("name", ["five-bar", "loop on a loop"])
def test_a_moving_base_has_code_of_its_own(name):
    general, special = solvers(name)
    rows = list(cycles(general, 20))
    for seed in range(2):
        base = random_base(seed)
        for solver in (general, special):
            if seed:
                solver.move_base(
                    base.pose, np.array([base.twist, base.acceleration, base.jerk, base.jounce])
                )
            else:
                solver.set_base(base)
        assert special.wait() == "specialised"
        again = pickle.loads(pickle.dumps(special))
        assert again.wait() == "specialised"
        for row in rows:
            expected = np.array(general(*row))
            for solver in (special, again):
                assert error(np.array(solver(*row)), expected) < 1e-12
                assert solver._is_specialised()
    at_rest = np.array(solvers(name)[0](*rows[0]))
    general.set_base(None)
    special.set_base(None)
    assert error(np.array(special(*rows[0])), at_rest) < 1e-12
    assert special._is_specialised()


def test_a_screw_in_a_loop():
    system, q = loop_in_tree(JOINTS["helical"])
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver
    general, special = (solver(system, q, specialise=chosen) for chosen in (False, True))
    assert special.wait() == "specialised"
    for row in cycles(general, 20):
        assert error(np.array(special(*row)), np.array(general(*row))) < 1e-12
        assert special._is_specialised()


def test_far_positions_are_approached_as_by_the_general_kernel():
    general, special = solvers("five-bar")
    home = general.state[0].copy()
    for step, is_near in ((0.3, False), (-0.2, False), (-0.23, True)):
        row = np.zeros((5, 2))
        row[0] = home + step
        assert error(special(*row)[0], general(*row)[0]) < 1e-12
        assert special._is_specialised() == is_near
        assert error(special.motion[0], general.motion[0]) < 1e-12


def test_an_impossible_position_is_an_error_and_the_next_one_is_not():
    crank, coupler, rocker, ground = FOUR_BAR
    system = four_bar().with_motors("rocker").system
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(system, four_bar().q, specialise=True)
    assert solver.wait() == "specialised"
    end = np.pi - np.arccos(
        (ground**2 + rocker**2 - (crank + coupler) ** 2) / (2 * ground * rocker)
    )
    still = [np.zeros(1)] * 4
    for distance in np.geomspace(solver.state[0, 0] - end, 0.01, 30):
        solver(np.array([end + distance]), *still)
    with pytest.raises(dyn.DynamicsError, match=r"robot 'four_bar': .*'pin'"):
        solver(np.array([end - 0.01]), *still)
    assert np.isnan(solver.result).all()
    solver.state[0] = end - 0.01
    assert solver.update() == 0
    assert "pin" in solver.problem()
    solver.state[0] = end + 0.0102
    assert solver.update() == 1
    assert solver.problem() == ""
    assert solver._is_specialised()


def test_a_million_cycles_without_drift():
    """Four turns of a period of 250 cycles, before and after a million cycles."""
    _, special = solvers("five-bar")
    rows = list(cycles(special, 250, period=0.25))
    state, update = special.state, special.update
    first = []
    for k in range(2 * len(rows)):
        state[:] = rows[k % 250]
        update()
        first.append(special.motion.copy())
    for _ in range(4000):
        for row in rows:
            state[:] = row
            update()
    for k, row in enumerate(rows):
        state[:] = row
        assert update() == 1
        assert special._is_specialised()
        assert error(special.motion[0], first[250 + k][0]) < 1e-13


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_independent_and_specialise_again(duplicate):
    general, special = solvers("five-bar")
    first, second = list(cycles(general, 2))
    special(*first)
    other = duplicate(special)
    assert other.wait() == "specialised"
    found = [row.copy() for row in other(*second)]
    assert error(special.motion[0, [0, 4]], first[0]) < 1e-15
    assert other._is_specialised()
    for row, expected in zip(found, general(*second), strict=True):
        assert error(row, expected) < 1e-12


def test_the_solver_of_a_closed_chain_specialises_where_the_process_does():
    mechanism = MECHANISMS["five-bar"]
    model = dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
    assert dyn.rigid.inverse_solver(model).wait() == "general"
    dyn.rigid.specialise_solvers()
    try:
        assert dyn.rigid.inverse_solver(model).wait() == "specialised"
        assert model.solver(dyn.mechanisms.ConstrainedInverseDynamicsSolver).wait() == "general"
    finally:
        dyn.rigid.specialise_solvers(False)


def test_no_memory_is_allocated():
    _, special = solvers("five-bar")
    rows = list(cycles(special, 250))
    for row in rows:
        special(*row)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for row in rows:
            special.state[:] = row
            special.update()
        assert tracemalloc.get_traced_memory()[0] - before < 2000
    finally:
        tracemalloc.stop()
