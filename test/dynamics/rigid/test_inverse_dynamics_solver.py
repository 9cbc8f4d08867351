# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The inverse-dynamics solver equals the function and reuses its memory."""

import pickle
import subprocess
import sys
import threading
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.codegen import Calls, machine_code
from multibody_dynamics.dynamics.core import compilation
from multibody_dynamics.dynamics.core.compilation import IS_COMPILED
from multibody_dynamics.dynamics.rigid.specialised_kernel import SpecialisedKernel
from multibody_dynamics.dynamics.rigid.tracing import MOST_JOINTS
from reference import error, worst
from robots import draw, random_base, random_tree, random_wrenches

needs_calls = pytest.mark.skipif(
    not Calls.available(), reason="machine code needs Numba, which is optional"
)


def specialised(model, name="body"):
    """A solver whose specialised kernel is in force."""
    solver = dyn.InverseDynamicsSolver(model, name, specialise=True)
    assert solver.wait() == "specialised"
    return solver


each_kernel = pytest.mark.parametrize(
    "name", [*dyn.REPRESENTATIONS, pytest.param("specialised", marks=needs_calls)]
)


def solver_of(name, model):
    if name == "specialised":
        return specialised(model)
    return dyn.InverseDynamicsSolver(model, name)


@pytest.mark.parametrize("name", dyn.REPRESENTATIONS)
def test_solver_takes_applied_wrenches_and_gives_interbody_wrenches(name):
    model = random_tree(6, 19)
    solver = dyn.InverseDynamicsSolver(model, name)
    state, wrenches = draw(model, 5), random_wrenches(model)
    for body, W in wrenches.items():
        solver.applied_wrenches[model.body_index(body)] = W
    loaded = dyn.inverse_dynamics(model, *state, wrenches=wrenches, representation=name)
    for _ in range(2):  # they keep their values
        assert worst(solver(*state), loaded) < 1e-15
    transmitted = dyn.rigid.interbody_wrenches(model, *state, wrenches=wrenches)
    motion = dyn.forward_kinematics(model, *state)
    joint = motion.pose @ se3.inverse(model.body_in_joint)
    seen_as = "body" if name == "mixed" else name
    for i, W in enumerate(transmitted):
        rates = [motion.twist[i], motion.acceleration[i]]
        expected = dyn.convert_wrench(joint[i], rates, W, "spatial", seen_as)
        tolerance = 1e-15 if name == "spatial" else 1e-12  # other recursions round differently
        assert error(solver.interbody_wrenches[i], np.array(expected)) < tolerance
    solver.applied_wrenches[:] = 0
    free = dyn.inverse_dynamics(model, *state, representation=name)
    assert worst(solver(*state), free) < 1e-15


def test_solver_rejects_an_unknown_representation():
    with pytest.raises(dyn.InputError, match="spatial, body, hybrid, mixed"):
        dyn.InverseDynamicsSolver(random_tree(6, 26), representation="world")


@each_kernel
@pytest.mark.parametrize("way", ["update", "call"])
def test_solver_allocates_no_lasting_memory(way, name):
    model = random_tree(6, 27)
    solver = solver_of(name, model)
    solver.applied_wrenches[2] = float(name != "specialised")
    rows = tuple(draw(model, 5))
    cycle = solver.update if way == "update" else lambda: solver(*rows)
    owned = [solver.state, solver.result, solver.applied_wrenches, model.joint_rows, *rows]

    def run(times):
        for _ in range(times):
            cycle()

    run(100)
    counts = [sys.getrefcount(array) for array in owned]
    native = native_allocations()
    tracemalloc.start()
    run(100)
    retained, transient = zip(*(traced_growth(lambda: run(3_000)) for _ in range(4)), strict=True)
    tracemalloc.stop()
    # The least of four: other threads of the process allocate now and then.
    assert min(retained) < 128  # what measuring takes itself; 3,000 cycles would leave more
    assert min(transient) < 1024  # call frames; an array of this robot takes 200 bytes
    assert [sys.getrefcount(array) for array in owned] == counts
    assert native_allocations() == native
    assert (solver.kernel == "specialised") == (name == "specialised")


def traced_growth(action):
    """What `action` has left behind and what it held at most [bytes]."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    action()
    after, peak = tracemalloc.get_traced_memory()
    return after - before, peak - before


def native_allocations():
    """The number of blocks that Numba's memory manager holds."""
    if not IS_COMPILED:
        return 0
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    stats = rtsys.get_allocation_stats()
    return stats.alloc - stats.free, stats.mi_alloc - stats.mi_free


# the specialised kernel


def test_solvers_are_general_unless_asked():
    solver = dyn.InverseDynamicsSolver(random_tree(3, 31))
    assert solver.kernel == solver.wait() == "general"


@needs_calls
def test_a_process_with_a_cycle_specialises_all_solvers():
    dyn.rigid.specialise_solvers()
    try:
        assert dyn.InverseDynamicsSolver(random_tree(3, 31)).wait() == "specialised"
        general = dyn.InverseDynamicsSolver(random_tree(3, 31), specialise=False)
        assert general.wait() == "general"
    finally:
        dyn.rigid.specialise_solvers(False)
    assert dyn.InverseDynamicsSolver(random_tree(3, 31)).wait() == "general"


@needs_calls
def test_the_kernel_is_compiled_beside_the_cycle(tmp_path, monkeypatch):
    """The solver works while the kernel is compiled; captured functions change over, too."""
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    monkeypatch.setattr(machine_code, "_engines", {})
    gate, compiling = threading.Event(), threading.Event()
    compile_kernel = SpecialisedKernel.compile

    def slow(self, pause):
        compiling.set()
        assert gate.wait(60)
        return compile_kernel(self, pause)

    monkeypatch.setattr(SpecialisedKernel, "compile", slow)
    model = random_tree(4, 32)
    state = draw(model, 5)
    expected = np.array(dyn.inverse_dynamics(model, *state))
    solver = dyn.InverseDynamicsSolver(model, specialise=True)
    update, result = solver.update, solver.result
    assert compiling.wait(60)
    assert solver.wait(0.0) == solver.kernel == "general"
    np.testing.assert_array_equal(solver(*state), expected)
    gate.set()
    assert solver.wait() == "specialised"
    assert solver.update is update
    result[:] = np.nan
    update()
    assert worst(result, expected) < 1e-12
    assert dyn.InverseDynamicsSolver(model, specialise=True).kernel == "specialised"  # at once


@needs_calls
@pytest.mark.filterwarnings("ignore:.*cannot be specialised")
@pytest.mark.parametrize("fails", [False, True])
def test_a_wrong_kernel_is_not_used_and_a_failing_compiler_leaves_the_general_one(
    monkeypatch, fails
):
    def fail(self, pause):
        raise RuntimeError("no code generator")

    model, wrong = random_tree(4, 32), SpecialisedKernel(random_tree(4, 33)).compile()
    monkeypatch.setattr(SpecialisedKernel, "ready", lambda self: None if fails else wrong)
    monkeypatch.setattr(SpecialisedKernel, "compile", fail)
    says = nullcontext() if fails else pytest.warns(RuntimeWarning, match="from the general ones")
    with says:
        solver = dyn.InverseDynamicsSolver(model, specialise=True)
    assert solver.wait() == "general"
    state = draw(model, 5)
    assert worst(solver(*state), dyn.inverse_dynamics(model, *state)) < 1e-14


@needs_calls
def test_what_the_kernel_cannot_do_is_left_to_the_general_one():
    model = random_tree(6, 30)
    solver, general = specialised(model), dyn.InverseDynamicsSolver(model, "body")
    state, wrenches, base = draw(model, 5), random_wrenches(model), random_base(20)
    for body, W in wrenches.items():
        solver.applied_wrenches[model.body_index(body)] = W
    general.applied_wrenches[:] = solver.applied_wrenches
    np.testing.assert_array_equal(solver(*state), general(*state))
    solver.applied_wrenches[:] = general.applied_wrenches[:] = 0.0
    for motion in (base, None):
        solver.set_base(motion)
        general.set_base(motion)
        assert solver.wait() == "specialised"
        assert worst(solver(*state), general(*state)) < 1e-12
    for robot, kernel in (
        (model.with_payload("body5", 2.0, (0.1, 0.2, 0.3), np.eye(3)), "specialised"),
        (model.with_gravity((1.0, 2.0, 3.0)), "specialised"),
        (model.with_reflected_inertia(np.full(6, 0.1)), "general"),
        (model, "specialised"),
    ):
        solver.set_model(robot)
        assert solver.kernel == kernel
        assert worst(solver(*state), dyn.inverse_dynamics(robot, *state)) < 1e-12


@each_kernel
def test_a_base_that_moves_in_every_cycle(name):
    model = random_tree(6, 30)
    solver, state = solver_of(name, model), draw(model, 5)
    for seed in range(3):
        base = random_base(seed)
        rates = np.array([base.twist, base.acceleration, base.jerk, base.jounce])
        solver.move_base(base.pose, rates)
        assert solver.wait() == ("specialised" if name == "specialised" else "general")
        assert worst(solver(*state), dyn.inverse_dynamics(model, *state, base=base)) < 1e-12
    light = model.with_gravity((0.0, 1.0, -1.6))
    solver.set_model(light)
    assert worst(solver(*state), dyn.inverse_dynamics(light, *state, base=base)) < 1e-12
    copied = pickle.loads(pickle.dumps(solver))
    assert worst(copied(*state), solver(*state)) < 1e-12
    solver.set_base(None)
    assert worst(solver(*state), dyn.inverse_dynamics(light, *state)) < 1e-12


@needs_calls
@pytest.mark.parametrize("name", ["bodies", "interbody_wrenches", "base_wrench"])
def test_rows_of_the_bodies_are_filled_from_the_first_access_on(name):
    model = random_tree(6, 30)
    solver, general = specialised(model), dyn.InverseDynamicsSolver(model, "body")
    for seed in range(3):
        state = draw(model, 5, seed=seed)
        assert worst(solver(*state), general(*state)) < 1e-12
        np.testing.assert_array_equal(getattr(solver, name), getattr(general, name))
        assert solver.kernel == "general"


@needs_calls
def test_large_robots_remain_general():
    model = random_tree(MOST_JOINTS + 1, 34)
    assert dyn.InverseDynamicsSolver(model, specialise=True).wait() == "general"


@needs_calls
def test_a_program_ends_cleanly_while_a_kernel_is_compiled():
    """The cache of machine code of this library is used, but not that of the kernel."""
    program = (
        "from multibody_dynamics.dynamics.codegen import machine_code\n"
        "machine_code.load_machine_code = lambda name: None\n"
        "machine_code.store_machine_code = lambda name, content: None\n"
        "from multibody_dynamics import dynamics as dyn\n"
        "from robots import panda\n"
        "solver = dyn.InverseDynamicsSolver(panda(), 'body', specialise=True)\n"
        "print(solver.kernel)\n"
    )
    folder = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, timeout=300, cwd=folder,
    )  # fmt: skip
    assert ended.stdout in ("general\n", "specialised\n")
    assert not ended.stderr
