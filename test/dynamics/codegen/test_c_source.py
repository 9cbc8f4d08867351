# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Names, constants and functions in C."""

import ctypes
import subprocess
from shutil import which

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import Graph, Program, c_source, cosine, sine

COMPILER = which("cc")
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler on this machine; the package itself needs none"
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("panda", "panda"), ("UR10e arm", "ur10e_arm"), ("7dof", "robot_7dof"), ("--", "robot"),
        ("float", "robot_float"), ("a*/b", "a_b"), ("sin", "robot_sin"), ("v12", "robot_v12"),
        ("wrench 0", "wrench_0"),
    ],
)  # fmt: skip
def test_identifiers(text, name):
    assert c_source.identifier(text) == name
    assert c_source.identifier(name) == name


@pytest.mark.parametrize("value", [0.1, 1.0, -2.0, 1e300, 5e-324, 123456789.0, 1e22, np.pi])
def test_constants_read_back_exactly(value):
    text = c_source.literal(value, "double")
    assert float(text) == value
    assert set(".e") & set(text)
    if abs(value) < 1e38:
        single = c_source.literal(value, "float")
        assert single.endswith("f")
        assert np.float32(single[:-1]) == np.float32(value)
        assert set(".e") & set(single)


def test_comments_and_strings_cannot_be_left():
    text = c_source.comment(["a */ b", "/* c", "what??/"])
    assert text.count("*/") == text.count("/*") == 1
    assert "??" not in text
    assert c_source.string('a"\\?\n') == '"a\\042\\134\\077\\012"'


def test_long_declarations_are_wrapped():
    graph = Graph()
    groups = [graph.inputs(f"a_rather_long_name_{k}", 3) for k in range(12)]
    program = Program(graph, {"y": [sum(row[0] for row in groups)]})
    lines = c_source.prototype(program, "f").splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= c_source.WIDTH


def test_arguments_need_different_names():
    graph = Graph()
    graph.inputs("a b", 1)
    graph.inputs("a-b", 1)
    with pytest.raises(dyn.InputError, match="same name in C: a_b, a_b"):
        c_source.arguments(Program(graph, {}))


def example():
    graph = Graph()
    x, k = graph.inputs("x", 3), graph.inputs("gain", 1)
    graph.inputs("unused", 2)
    force = -k[0] * sine(2.0 * x[0]) / (3.0 + x[1] * x[1]) - cosine(x[2])
    return Program(graph, {"force": [-force, 0.0, -2.5, x[1], -x[2]], "none": [1.0]})


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "float"])
def test_functions_compile_without_warnings_and_equal_the_evaluation(tmp_path, precision):
    program = example()
    source = tmp_path / "f.c"
    source.write_text(
        f"#include <math.h>\n{c_source.prototype(program, 'f', precision)};\n"
        f"{c_source.constant_array('list', [1.0, -0.5, 1e-3], precision)}"
        f"{precision} last(void);\n{precision} last(void) {{ return list[2]; }}\n"
        f"{c_source.function(program, 'f', precision)}"
    )
    library = tmp_path / "f.so"
    command = [COMPILER, *WARNINGS, "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True)
    f = ctypes.CDLL(str(library)).f
    kind = np.dtype(precision if precision == "double" else np.float32)
    x, gain, unused = np.array([0.3, -1.2, 2.0]), np.array([0.7]), np.zeros(2)
    arrays = [*(a.astype(kind) for a in (x, gain, unused)), np.empty(5, kind), np.empty(1, kind)]
    f(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
    expected = program.evaluate(x=x, gain=gain, unused=unused)
    tolerance = 1e-14 if precision == "double" else 1e-6
    np.testing.assert_allclose(arrays[3], expected["force"], rtol=tolerance)
    assert arrays[4] == 1.0
