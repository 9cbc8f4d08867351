# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Translated functions: the same values as in Python, without code for cases that do not occur."""

import ctypes
import math
import re
from enum import IntEnum
from math import inf
from typing import NamedTuple

import numpy as np
import pytest

from elastic_arms import real_arm
from kinds import EXAMPLES
from multibody_dynamics.dynamics.codegen import c_translation as ct
from multibody_dynamics.dynamics.codegen import c_types
from multibody_dynamics.dynamics.elastic import advance_filters, flat_map
from multibody_dynamics.dynamics.elastic.actuator_cycle import actuator_rows
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from rejections import assert_rejected
from robots import CONFIG
from translated_code import compiled, evaluated, loaded, needs_compiler

LIMIT = 3
_SHARE = 0.25


class Pair(NamedTuple):
    first: float
    second: float


def _halves(x, y):
    return 0.5 * x, 0.5 * y, x > y


def isnan_like(x):
    return math.isnan(x)


def mixture(x, y, count):
    total, k = 0.0, 0
    while True:
        k += 1
        if k > x or k >= count:
            break
    for j in range(1, LIMIT + 1):
        if j == 2:
            continue
        total += j * _SHARE
    for j in range(count, 0, -1):
        total -= j
    one, other, is_more = _halves(x, y)
    one, other = other, one
    pair = Pair(one, -other)
    if is_more and not one < 0.0:
        total = max(total, pair.first, pair[1])
    elif 0.0 <= y <= 1.0 or isnan_like(y):
        total = min(total, y)
    else:
        total = -(total - x) / (y - 7.0) - (x - (y - total))
    return total + k // 2 if k > 1 else abs(total)


@needs_compiler
def test_statements_and_expressions_mean_the_same_in_c(tmp_path):
    code = compiled(tmp_path, mixture, {"x": "double", "y": "double", "count": "int"})
    for x, y in np.random.default_rng(1).uniform(-3.0, 9.0, (200, 2)).tolist():
        assert evaluated(code, x, y, 5) == pytest.approx(mixture(x, y, 5), rel=1e-14, abs=1e-14)


def test_a_wrong_number_of_types_and_constants_with_two_values_are_refused():
    module = ct.Module()
    assert module.constant("_SHARE", 0.25) == "SHARE"
    assert module.constant("SHARE", 0.25) == "SHARE"
    assert_rejected(
        (lambda: module.add("wrong", mixture, {"x": "double"}), "x, y, count; got 1 types"),
        (lambda: module.constant("SHARE", 0.5), "constant SHARE two values, 0.25 0.5"),
    )


FILES = ("every_kind", "panda", "antagonistic")
ROBOTS = (*FILES, "examples", "real drives")


def actuators(name):
    if name == "real drives":
        return real_arm().actuators
    if name == "examples":
        return Actuators(tuple(EXAMPLES), tuple(each.actuator for each in EXAMPLES.values()))
    text = (CONFIG / "elastic_joints" / f"{name}.yaml").read_text()
    names = re.findall(r"^  (\w+):", text.split("\njoints:")[1], re.MULTILINE)
    return load_actuators(CONFIG / "elastic_joints" / f"{name}.yaml", tuple(names))


def flat_code(chosen):
    """The flat map of these actuators in C, in both directions."""
    n, m, v = chosen.n, len(chosen.motors), len(chosen.variable_joints)
    rows = actuator_rows(chosen)
    numbers = {"JOINTS": rows.joints, "MOTORS": rows.motors, "LAWS": rows.laws,
               "PIECES": rows.pieces, "VARIANT": np.ones(2)}  # fmt: skip
    tables = {name.lower(): c_types.table(name, each) for name, each in numbers.items()}
    tables["own"] = c_types.NONE

    def row(*shape, kind="double"):
        return c_types.ArrayType(kind, shape)

    types = tables | {
        "state": row(5, n), "torque": row(3, n), "carried": row(3, n), "second": row(3, v),
        "filtered": row(chosen.state_count), "deflection": row(m), "load": row(m),
        "result": row(4, m), "flags": row(m, kind="int"),
        "dt": "double",
    }  # fmt: skip
    module = ct.Module()
    springs = tables | {
        "q": row(n), "qd": row(n), "theta": row(m), "thetad": row(m), "second": row(3, v),
        "torque": row(n), "rate": row(n), "K": row(n), "load": row(m), "deflection": row(m),
    }  # fmt: skip
    for name, function, own in (
        ("flat", flat_map.feedforward_cycle, types),
        ("filters", advance_filters, types),
        ("springs", flat_map.springs_recursion, springs),
    ):
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        module.add(name, function, {each: own[each] for each in names})
    return module.text(numbers), rows


@needs_compiler
@pytest.mark.parametrize("name", ROBOTS)
def test_the_flat_map_of_every_kind_is_the_same_in_c(tmp_path, name):
    chosen = actuators(name)
    text, rows = flat_code(chosen)
    code = loaded(tmp_path, text, ("-Wno-missing-prototypes",))
    n, m, v = chosen.n, len(chosen.motors), len(chosen.variable_joints)
    rng = np.random.default_rng(2)
    ranges = [each.second_output_range(np.zeros(())) for each in chosen.actuators
              if each.second_output is not None]  # fmt: skip
    middle = np.array([0.5 * float(low + high) for low, high in ranges])
    for trial in range(40):
        size = (0.1, 1.0, 10.0, 100.0)[trial % 4]
        state, torque = rng.normal(size=(5, n)), size * rng.normal(size=(3, n))
        second = np.zeros((3, max(v, 1)))
        second[:, :v] = [[1.0], [0.0], [0.0]] * middle + 0.3 * rng.normal(size=(3, v)) * middle
        filtered = np.zeros(chosen.state_count)
        filtered[:n][chosen.has_memory] = np.nan if trial % 3 else 0.01
        found = []
        for is_c in (False, True):
            own, carried = filtered.copy(), np.zeros((3, n))
            deflection, load, result = np.zeros(m), np.zeros(m), np.zeros((4, m))
            flags = np.zeros(m, dtype=np.intc)
            q, qd, theta, thetad = state[0], state[1], 0.1 * np.ones(m), 0.2 * np.ones(m)
            out = [np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m)]
            given = (state, torque, carried, second, own, deflection, load, result, flags)
            if is_c:
                code.flat(*(each.ctypes for each in given))
                code.filters(carried.ctypes, own.ctypes, ctypes.c_double(1e-3))
                code.springs(*(each.ctypes for each in (q, qd, theta, thetad, second, *out)))
            else:
                flat_map.feedforward_cycle(*rows, None, np.ones(2), *given)
                tables = rows.joints, rows.laws, rows.pieces, None
                advance_filters(*tables, carried, own, 1e-3)
                flat_map.springs_recursion(*tables, q, qd, theta, thetad, second, *out)
            found.append([own, carried, deflection, load, result, flags, *out])
        for one, other in zip(*found, strict=True):
            scale = np.abs(one).max(initial=1.0)
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * scale)


def test_linear_springs_leave_no_search_in_the_code():
    text, _ = flat_code(actuators("panda"))
    assert "while" not in text
    assert "is_rigid" not in text
    assert "newton" not in text
    every, _ = flat_code(actuators("every_kind"))
    assert "newton_(" in every
    assert "expm1(" in every
    lines = [line for line in (text + every).splitlines() if not line.startswith("    {")]
    assert max(len(line) for line in lines) <= 100  # rows of tables aside


class Level(IntEnum):
    LOW = 2
    HIGH = 5


LEVELS = np.array([[0, 7], [3, -4]])
WEIGHTS = np.array([0.5, 0.25, 0.125])


def chosen(x, k, j):
    """Members of enumerations, tables of modules, rows, new arrays, infinity."""
    row = np.zeros(3)
    least = math.inf if x > 0.0 else -inf
    for i in range(WEIGHTS.shape[0]):
        row[i] = x * WEIGHTS[i] + row[i]
        least = min(least, row[i])
    level = Level.LOW if k < Level.HIGH else Level.HIGH
    return least + LEVELS[k % 2, 1] * level + max(k, j) + (j - k) % 3


@needs_compiler
def test_tables_and_enumerations_of_a_module_are_those_of_c(tmp_path):
    code = compiled(tmp_path, chosen, {"x": "double", "k": "int", "j": "int"})
    for x in (-1.5, 2.5):
        for k, j in ((0, 0), (1, 0), (7, 3), (8, 9), (2, 1)):
            assert evaluated(code, x, k, j) == chosen(x, k, j)
