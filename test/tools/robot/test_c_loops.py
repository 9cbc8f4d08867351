# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded functions of a robot with loops in C, which keep where the loops were closed."""

import ctypes
import subprocess

import numpy as np
import pytest

from generated_controllers import FLAGS, designed, generated, needs_compiler, with_loops
from multibody_dynamics.dynamics import inverse_dynamics
from multibody_dynamics.dynamics.rigid import gravity_forces, momentum_solver
from multibody_dynamics.tools.robot.c_loops import with_memory
from reference import error
from robots import sprung_five_bar

# Offsets of the motors from the assembled pose, and how far they move in a cycle; the balls of the
# ankle pass to other charts, at the latest before 1.4 rad
JUMPS = {
    "five_bar": (0.01, [[0.0, 0.0], [0.2, -0.3], [1.2, -1.2], [0.0, 0.0]]),
    "five_bar, springs": (0.01, [[0.0, 0.0], [0.2, -0.3], [1.2, -1.2], [0.0, 0.0]]),
    "ankle": (
        1e-3,
        [
            [0.0, 0.0],
            [0.98, 0.98],
            [1.02, 1.02],
            [1.45, 1.45],
            [-1.1, -1.1],
            [1.1, -1.1],
            [0.0, 0.0],
        ],
    ),
}


@pytest.fixture(scope="module", params=JUMPS)
def mechanism(request, tmp_path_factory):
    """The jumps and the robot."""
    name = request.param
    if "springs" in name:
        name = sprung_five_bar(tmp_path_factory.mktemp("springs"))
    return JUMPS[request.param], with_loops(name)


@pytest.fixture(scope="module")
def library(tmp_path_factory, mechanism):
    folder = generated(designed(mechanism[1]), tmp_path_factory.mktemp("loops"))
    command = ["cc", *FLAGS, "-shared", "-o", "dynamics.so", "arm_dynamics.c", "-lm"]
    subprocess.run(command, check=True, cwd=folder, timeout=300)
    return ctypes.CDLL(str(folder / "dynamics.so"))


def call(function, memory, *arrays):
    function.restype = None
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (memory, *arrays)))


@needs_compiler
def test_all_functions_share_where_the_loops_were_closed(library, mechanism):
    """Along a motion, after a jump, and after a position that is out of reach."""
    (largest_step, offsets), (model, *_) = mechanism
    memory = np.zeros(80)
    rng = np.random.default_rng(2)
    refused = []
    momentum, bias, tau, results = np.empty(2), np.empty(2), np.empty(2), np.empty((3, 2))
    for offset in offsets:
        for step in rng.uniform(-largest_step, largest_step, (20, 2)):
            state = rng.uniform(-1.0, 1.0, (5, 2))
            state[0] = model.home + offset + step
            rows = [(ctypes.c_void_p * 1)(each.ctypes.data) for each in (state, results)]
            library.arm_torques_along(ctypes.c_void_p(memory.ctypes.data), 1, *rows)
            call(library.arm_gravity_forces, memory, state[0], tau)
            call(library.arm_momentum, memory, state[0], state[1], momentum, bias)
            if not model.reaches(state[0]):
                assert np.isnan([*results, tau, momentum, bias]).all()
                refused.append(offset)
                continue
            for found, expected in zip(results, inverse_dynamics(model, *state), strict=True):
                assert error(found, expected) < 1e-11
            assert error(tau, gravity_forces(model, state[0])) < 1e-11
            solver = momentum_solver(model)
            solver.state[:] = state[:2]
            solver.update()
            assert error(momentum, solver.result[0]) < 1e-11
            assert error(bias, solver.result[1]) < 1e-11
    assert refused == 20 * offsets[-2:-1]


def test_only_functions_that_are_declared_to_take_the_memory_take_it():
    text = "a = robot_gravity(q, tau) + robot_weight(q);"
    declared = "void robot_gravity(\n    robot_loops *loops, const double q[2]);\n"
    assert with_memory(text, "void robot_gravity(const double q[2]);", "&c->loops") == text
    expected = "a = robot_gravity(&c->loops, q, tau) + robot_weight(q);"
    assert with_memory(text, declared, "&c->loops") == expected
