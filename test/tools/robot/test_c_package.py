# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Generated C: compiles without warnings, equals the library, and tests itself."""

import ctypes
import subprocess
from shutil import which

import numpy as np
import pytest

from balls_in_loops import closed, crank_rocker, turns
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.robot.c_package import Options, c_package, write
from reference import error
from robots import panda, random_tree

COMPILER = which("cc")
FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
STATES = 10_000


def compile_c(folder, output, *files, options=()):
    sources = [str(folder / file) for file in files]
    command = [COMPILER, *FLAGS, *options, "-o", str(folder / output), *sources, "-lm"]
    subprocess.run(command, check=True, timeout=300)
    return folder / output


def self_test(folder, *libraries):
    program = compile_c(folder, "self_test", "self_test.c", *(f"{each}.c" for each in libraries))
    return subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)


def evaluated(function, inputs, count, outputs, kind=float):
    """Results (outputs, N, count) of a function in C for inputs (N, entries)."""
    states = len(inputs[0])
    found = np.full((outputs, states, count), np.nan, dtype=kind)
    inputs = [np.ascontiguousarray(x, dtype=kind) for x in inputs]
    function.argtypes = [ctypes.c_void_p] * (len(inputs) + outputs)
    for k in range(states):
        function(*(x[k].ctypes.data for x in inputs), *(row[k].ctypes.data for row in found))
    return found


@needs_compiler
def test_ten_thousand_states_equal_the_library(tmp_path):
    model = panda()
    write(c_package(model), tmp_path)
    library = compile_c(tmp_path, "panda.so", "panda_dynamics.c", options=("-shared", "-fPIC"))
    code = ctypes.CDLL(str(library))
    state = np.random.default_rng(3).uniform(-3, 3, (5, STATES, model.n))
    expected = dyn.inverse_dynamics(model, *state)
    for order, name in enumerate(("", "_1", "_2")):
        function = getattr(code, f"panda_inverse_dynamics{name}")
        found = evaluated(function, state[: order + 3], model.n, order + 1)
        for k in range(order + 1):
            size = np.abs(expected[k]).max(axis=1)
            assert (np.abs(found[k] - expected[k]).max(axis=1) / size).max() < 1e-12
    found = evaluated(code.panda_forward_dynamics, (*state[:2], expected.tau), model.n, 1)[0]
    assert error(found, state[2]) < 1e-11


ROBOTS = {
    "off-axis": lambda: random_tree(5, 3).with_reflected_inertia(np.full(5, 0.2)),
    "prismatic": lambda: random_tree(3, 5, kinds=("prismatic",)),
    "helical": lambda: random_tree(3, 6, kinds=("helical",)),
    "one joint": lambda: random_tree(1, 8),
}
OPTIONS = {
    "plain": Options(),
    "float": Options(precision="float"),
    "torques only": Options(order=0, name="arm"),
    "all inputs": Options(payload="body1", wrenches=("body1", "base"), gravity=True),
}


@needs_compiler
@pytest.mark.parametrize(
    ("robot", "options"),
    [*((name, "plain") for name in ROBOTS), *(("off-axis", name) for name in [*OPTIONS][1:])],
)
def test_the_package_tests_itself(tmp_path, robot, options):
    model, chosen = ROBOTS[robot](), OPTIONS[options]
    if chosen.wrenches:
        chosen = chosen._replace(wrenches=("body1", model.body_names[-1]))
    write(c_package(model, chosen), tmp_path)
    library = f"{chosen.name or model.name}_dynamics"
    tested = self_test(tmp_path, library)
    assert tested.returncode == 0, tested.stdout
    assert tested.stdout.count("largest error") == chosen.order + 2
    example = compile_c(tmp_path, "example", "example.c", f"{library}.c")
    printed = subprocess.run([example], capture_output=True, text=True, check=True).stdout
    torques = [float(line.split()[-1]) for line in printed.splitlines()]
    assert [line.split()[0] for line in printed.splitlines()] == list(model.joint_names)
    middle = np.zeros(model.n)
    expected = dyn.inverse_dynamics(model, middle, middle, middle).tau
    np.testing.assert_allclose(torques, expected, atol=2e-5 * np.abs(expected).max())


CONFIG = share_directory() / "config"


def elastic_robot(name, springs):
    """A robot with its springs, and perhaps loops, from the examples."""
    folder = CONFIG / ("robots" if "elastic" in springs else "mechanisms")
    file = CONFIG / springs / f"{name}.yaml"
    model = load_robot(folder / f"{name}.urdf", file)
    return model, dyn.load_actuators(file, model.joint_names, model.joint_types)


@needs_compiler
@pytest.mark.parametrize(
    ("name", "springs"),
    [
        ("five_bar", "mechanisms"), ("leg", "mechanisms"), ("ankle", "mechanisms"),
        ("planar_two_link", "elastic_joints"),
    ],
)  # fmt: skip
def test_springs_and_loops_test_themselves(tmp_path, name, springs):
    model, actuators = elastic_robot(name, springs)
    write(c_package(model, actuators=actuators), tmp_path)
    tested = self_test(tmp_path, f"{name}_dynamics", f"{name}_actuators")
    assert tested.returncode == 0, tested.stdout
    has_loops = springs == "mechanisms"
    assert tested.stdout.count("largest error") == 5
    compile_c(
        tmp_path, "actuators.o", f"{name}_actuators.c", options=("-O2", "-c")
    )  # more warnings
    example = compile_c(tmp_path, "example", "example.c", f"{name}_dynamics.c")
    printed = subprocess.run([example], capture_output=True, text=True, check=True).stdout
    torques = [float(line.split()[-1]) for line in printed.splitlines()]
    q = model.home if has_loops else model.limits.middle
    expected = dyn.rigid.gravity_forces(model, q)
    np.testing.assert_allclose(torques, expected, atol=2e-5 * np.abs(expected).max())


@needs_compiler
def test_loops_stay_closed_along_a_motion(tmp_path):
    """Each call starts from the motion of the last one; a jump is reported."""
    model, _ = elastic_robot("five_bar", "mechanisms")
    write(c_package(model, Options(gravity=True)), tmp_path)
    library = compile_c(tmp_path, "loops.so", "five_bar_dynamics.c", options=("-shared", "-fPIC"))
    function = ctypes.CDLL(str(library)).five_bar_inverse_dynamics_2
    function.argtypes = [ctypes.c_void_p] * 12
    N, gravity, last = model.body_count, np.array(model.gravity), model.assembled.copy()
    closure = np.empty(len(rigid.trace_inverse_dynamics(model).results["closure"]))
    motion, torques = np.empty((5, N)), np.empty((3, model.n))
    order, omega = np.arange(5)[:, None], 2 * np.pi

    def call(state):
        arrays = (*state, gravity, last, *torques, motion, closure)
        function(*(array.ctypes.data for array in arrays))
        return bool((abs(closure) <= 1.0).all())

    for k in range(2000):
        phase = omega * k * 1e-3 + order * np.pi / 2
        state = 0.3 * omega**order * np.sin(phase) * np.ones(2)
        state[0] += model.home
        assert call(state)
        last[:] = motion[0]
        if k % 100 == 0:
            expected = dyn.inverse_dynamics(model, *state)
            for found, row in zip(torques, expected, strict=True):
                assert error(found, row) < 1e-12
            for found, row in zip(motion, model.tree_motion(*state), strict=True):
                assert error(found, row) < 1e-12
    state[0] += 0.2
    assert not call(state)
    state[0, 0] = np.nan
    assert not call(state)


@needs_compiler
def test_balls_pass_to_other_charts_through_full_turns(tmp_path):
    model = closed(crank_rocker("universal"))
    write(c_package(model), tmp_path)
    files, options = "robot_dynamics.c", ("-shared", "-fPIC")
    library = ctypes.CDLL(str(compile_c(tmp_path, "balls.so", files, options=options)))
    last, charts = model.assembled.copy(), set()
    count = len(rigid.trace_inverse_dynamics(model).results["closure"])
    motion, closure, torques = np.empty((5, model.body_count)), np.empty(count), np.empty((3, 1))
    for state in turns(600):
        arrays = (*state, last, *torques, motion, closure)
        library.robot_inverse_dynamics_2(*(ctypes.c_void_p(each.ctypes.data) for each in arrays))
        assert (abs(closure) <= 1.0).all()
        last[:] = motion[0]
        library.robot_renew_charts(ctypes.c_void_p(last.ctypes.data))
        charts.add(last[1])
        assert error(torques, np.array(rigid.inverse_dynamics(model, *state))) < 1e-11
    assert charts == {0.0, np.pi / 2}


@needs_compiler
def test_the_self_test_notices_wrong_code(tmp_path):
    model = random_tree(2, 1)
    write(c_package(model), tmp_path)
    source = tmp_path / f"{model.name}_dynamics.c"
    right = source.read_text()
    for wrong in (
        right.replace(" + ", " - ", 1),
        right.replace("tau[0] = ", "tau[0] = 0.0 / 0.0 + "),
    ):
        source.write_text(wrong)
        tested = self_test(tmp_path, f"{model.name}_dynamics")
        assert tested.returncode == 1
        assert "WRONG" in tested.stdout


@needs_compiler
@pytest.mark.skipif(which("cmake") is None, reason="needs CMake")
def test_the_package_builds_with_cmake(tmp_path):
    model = random_tree(2, 1)
    write(c_package(model), tmp_path)
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", tmp_path, "-B", build],
        ["cmake", "--build", build],
        ["ctest", "--test-dir", build],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=300)


@needs_compiler
@pytest.mark.skipif(which("c++") is None, reason="needs a C++ compiler")
def test_the_header_is_accepted_by_cplusplus(tmp_path):
    model = random_tree(2, 1)
    write(c_package(model), tmp_path)
    main = tmp_path / "main.cpp"
    main.write_text(f'#include "{model.name}_dynamics.h"\nint main() {{ return 0; }}\n')
    subprocess.run(["c++", "-Wall", "-Werror", "-fsyntax-only", main], check=True)


def test_the_code_needs_nothing_else():
    model = panda()
    files = c_package(model)
    source = files["panda_dynamics.c"]
    included = [line for line in source.splitlines() if line.startswith("#include")]
    assert included == ['#include "panda_dynamics.h"', "#include <math.h>"]
    assert "static" not in source
    assert "alloc" not in source
    assert all(name in files["panda_dynamics.h"] for name in model.joint_names)
    assert c_package(model) == files  # reproducible


def test_wrong_options_are_named(tmp_path):
    model = random_tree(2, 1)
    for name in ("7dof", "My-Arm", "float"):
        with pytest.raises(dyn.InputError, match=r"not a lower-case C identifier; try '\w+'"):
            c_package(model, Options(name=name))
    for options in (Options(payload="hand"), Options(wrenches=("hand",))):
        with pytest.raises(dyn.InputError, match="hand"):
            c_package(model, options)
    five_bar = elastic_robot("five_bar", "mechanisms")
    arm = elastic_robot("planar_two_link", "elastic_joints")
    for robot in ((five_bar[0],), (arm[0], arm[1])):
        with pytest.raises(dyn.InputError, match=r"precision: .* need double, got float"):
            c_package(robot[0], Options(precision="float"), *robot[1:])
    with pytest.raises(dyn.InputError, match=r"order: .* needs Q' and Q'', got 1"):
        c_package(arm[0], Options(order=1), arm[1])
    with pytest.raises(dyn.InputError, match="double or float, got half"):
        c_package(model, Options(precision="half"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="file"):
        write({"a": ""}, tmp_path / "file")
