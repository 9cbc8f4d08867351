# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Assignments that nobody reads are removed, with the loops and branches around them."""

from __future__ import annotations

import ast
import textwrap

import pytest

from multibody_dynamics.dynamics.codegen.unused_code import without_unused


def cleaned(text, read):
    body = ast.parse(textwrap.dedent(text)).body
    return ast.unparse(ast.Module(without_unused(body, set(read)), []))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = 1\nunused = 2", "x = 1"),
        ("x = unused = 1", "x = 1"),
        ("x, unused = 1, 2", "x = 1"),
        ("x, unused, y = 1, 2, 3", "x, y = (1, 3)"),
        ("x, unused = pair", "x, _ = pair"),
        ("unused, other = pair", ""),
        ("for k in range(3):\n    unused = k", ""),
        ("while x:\n    unused = 1", ""),
        ("if x:\n    y = 1\nelse:\n    unused = 2", "if x:\n    y = 1"),
        ("if x:\n    unused = 1\nelse:\n    y = 2", "if not x:\n    y = 2"),
        ("if x:\n    unused = 1\nelse:\n    other = 2", ""),
        ("x[0] = unused", "x[0] = unused"),
        ("call(x)", "call(x)"),
        ("return x", "return x"),
    ],
)
def test_what_is_never_read_is_removed(text, left):
    left = ast.unparse(ast.parse(left))  # as this version of Python writes it
    assert cleaned(text, {"x", "y"}) == left
    assert cleaned(left, {"x", "y"}) == left
