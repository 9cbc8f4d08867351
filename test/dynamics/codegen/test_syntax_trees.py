# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Names in syntax trees: read, assigned, and variables of loops."""

from __future__ import annotations

import ast

from multibody_dynamics.dynamics.codegen import syntax_trees

BODY = ast.parse(
    """
a, _ = b
for k in range(a):
    c[k] += d
    e += 1
    for j in range(k):
        a = f(j)
"""
).body


def test_names_are_found_at_every_depth():
    assert syntax_trees.stores(BODY) == ["a", "k", "e", "j", "a"]  # _ is no variable
    assert syntax_trees.loads(BODY) == {"b", "range", "a", "c", "k", "d", "e", "f", "j"}
    assert syntax_trees.names(BODY[:1]) == {"a", "_", "b"}
    assert syntax_trees.loop_targets(BODY[1]) == {"k", "j"}


def test_a_copy_has_other_fields_and_the_same_line():
    copy = syntax_trees.copied(BODY[1], body=[])
    assert not copy.body
    assert BODY[1].body
    assert copy.lineno == BODY[1].lineno == 3
    assert ast.dump(copy.iter) == ast.dump(BODY[1].iter)
