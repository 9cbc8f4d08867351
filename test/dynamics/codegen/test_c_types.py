# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types in C: tables with their values, common types, structures of tuples."""

from typing import NamedTuple

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import c_types
from multibody_dynamics.dynamics.codegen.c_types import BOOL, DOUBLE, INT, ArrayType, TupleType
from multibody_dynamics.dynamics.core.errors import InputError


class FirstAndLast(NamedTuple):
    first: float
    last: tuple[float, float]


def test_a_table_knows_the_values_of_its_columns():
    kind = c_types.table("ROWS", np.array([[1.0, 3.0], [1.0, 4.0]]))
    assert (kind.kind, kind.shape, kind.table) == (DOUBLE, (2, 2), "ROWS")
    assert kind.columns == ({1.0}, {3.0, 4.0})
    assert c_types.table("ROW", np.array([5, 6])).columns == ({5.0, 6.0},)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([0.1, -np.inf], "ROWS[2] = {0.1, -HUGE_VAL};"),
        ([[1.0], [np.inf]], "ROWS[2][1] = {\n    {1.0},\n    {HUGE_VAL}\n};"),
        (np.zeros((0, 3)), "ROWS[1][3] = {\n    {0.0, 0.0, 0.0}\n};"),  # C has no empty arrays
    ],
)  # fmt: skip
def test_the_definition_of_a_table(numbers, text):
    assert c_types.table_definition("ROWS", numbers) == f"static const double {text}\n"


def test_the_type_of_a_variable_holds_all_its_values():
    assert c_types.joined(None, INT, "f") == INT
    assert c_types.joined(INT, BOOL, "f") == INT
    assert c_types.joined(BOOL, DOUBLE, "f") == DOUBLE
    pair = c_types.joined(TupleType((INT, BOOL)), TupleType((DOUBLE, BOOL)), "f")
    assert pair == TupleType((DOUBLE, BOOL))
    with pytest.raises(InputError, match="f: one variable is a double and a TupleType"):
        c_types.joined(DOUBLE, pair, "f")


def test_structures_are_defined_before_those_that_contain_them():
    structures = c_types.Structures()
    inner = TupleType((DOUBLE, DOUBLE))
    outer = TupleType((DOUBLE, inner), FirstAndLast)
    assert structures.name(outer) == "first_and_last_tuple"
    assert structures.name(inner) == "doubles_2"
    assert structures.name(TupleType((INT, BOOL))) == "tuple_3"
    texts = structures.definitions()
    assert texts[0] == "typedef struct {\n    double x0;\n    double x1;\n} doubles_2;\n"
    assert "    double first;\n    doubles_2 last;\n" in texts[1]
    assert "    int x0;\n    int x1;\n" in texts[2]


def test_declarations():
    declared = c_types.Structures().declared
    assert declared(BOOL, "x") == "int x"
    assert declared(ArrayType(INT, (3,)), "x") == "int *x"
    assert declared(ArrayType(DOUBLE, (3, 4)), "x") == "double (*x)[4]"
    assert declared(ArrayType(DOUBLE, (3, 0)), "x") == "double (*x)[1]"
