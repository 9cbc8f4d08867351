# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Hypothesis strategies for damaged files: a few changes to something valid."""

import copy
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st

NUMBERS = (
    "0", "-0.0", "1", "-1", "7", "1e-12", "5e-324", "1e16", "-1e150", "1e300", "1e309", "nan",
    "-inf", ".nan", ".inf", "1,5", "1e", "--1", "0x1f", "1_000", "100:1", "9" * 400, "½", "1 2", "",
    "-", "True", "null", "~", "[1]", "{}",
)  # fmt: skip
WORDS = (
    "", " ", "x", "\t", "\n", "\r", "\x00", "\x1b[31m", "\ufeff", "é", "💥", "%s%n", "{0}", "$HOME",
    "../..", "/dev/null", "a" * 3000, "nan", "none", "-", "---", "#", ":", ": ", "- - -", "? :",
    "*a", "&a [*a]", "<<: *a", "!!bool maybe", "!!int four", "!!binary x", "2026-02-31",
    "!!python/object/apply:os.system [ls]", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "<!--", "]]>", "&b;",
    "&#0;", "<a>", "</robot>", "<a:b/>", '"', "'", ",", ",,,", "[", "]", "{", "}", "|", ">",
)  # fmt: skip
VALUES = (
    None, True, 0, -1, 10**30, 1e300, -1e300, 5e-324, float("nan"), float("inf"), "", "x", "1.0",
    "rigid", [], {}, [[]], [None], [1.0, 2.0], [1.0] * 7, ["x"] * 3, [[1.0, 2.0], [3.0]], {"x": 1},
    {1: 2}, {"value": 1.0}, list(range(2000)), *NUMBERS, *WORDS,
)  # fmt: skip
NESTED = (b"[", b"{a: ", b"- ", b"<a>", b'"')
TOKEN = re.compile(rb"[-+]?\.?\d[\d.eE+-]*|[A-Za-z_][\w.]*")
MOST = 4  # changes of one file
Draw = Callable[[Any], Any]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _span(draw: Draw, data: bytes) -> tuple[int, int]:
    start = draw(st.integers(0, len(data)))
    return start, min(len(data), start + draw(st.integers(0, 200)))


def _overwrite(draw: Draw, data: bytes) -> bytes:
    start, _ = _span(draw, data)
    return data[:start] + (new := draw(st.binary(max_size=8))) + data[start + len(new) :]


def _remove(draw: Draw, data: bytes) -> bytes:
    start, stop = _span(draw, data)
    return data[:start] + data[stop:]


def _repeat(draw: Draw, data: bytes) -> bytes:
    start, stop = _span(draw, data)
    return data[:stop] + data[start:stop] * draw(st.sampled_from((1, 2, 100))) + data[stop:]


def _cut(draw: Draw, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _nest(draw: Draw, data: bytes) -> bytes:
    return draw(st.sampled_from(NESTED)) * draw(st.sampled_from((30, 20_000))) + data


def _insert(draw: Draw, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return data[:at] + _bytes(draw(st.sampled_from(WORDS))) + data[at:]


def _token(draw: Draw, data: bytes) -> bytes:
    """A number or a word replaced by an odd one, or a word by another of the file."""
    tokens = list(TOKEN.finditer(data))
    if not tokens:
        return data
    old = draw(st.sampled_from(tokens))
    is_number = old[0][-1:].isdigit()
    new = _bytes(draw(st.sampled_from(NUMBERS if is_number else WORDS)))
    if not is_number and draw(st.booleans()):
        new = draw(st.sampled_from(tokens))[0]
    return data[: old.start()] + new + data[old.end() :]


def _line(draw: Draw, data: bytes) -> bytes:
    """A line removed, repeated or moved."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    place = st.integers(0, len(lines) - 1)
    line, count = lines.pop(at := draw(place)), draw(st.sampled_from((0, 1, 2, 1000)))
    at = at if draw(st.booleans()) else draw(place)
    return b"".join([*lines[:at], *[line] * count, *lines[at:]])


OF_BYTES = (_overwrite, _remove, _repeat, _cut)
OF_TEXT = (_token,) * 8 + (_line,) * 4 + (_insert,) * 2 + (*OF_BYTES, _nest)


@st.composite
def damaged(draw: Draw, data: bytes, changes: Any = OF_TEXT) -> bytes:
    """The text of a file, or its bytes with OF_BYTES, after one to MOST changes."""
    for _ in range(draw(st.integers(1, MOST))):
        data = draw(st.sampled_from(changes))(draw, data)
    return data


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All (container, key) of a tree."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


@st.composite
def damaged_tree(draw: Draw, tree: Any) -> Any:
    """Content of a YAML or JSON file: values replaced, exchanged or removed, keys renamed."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, MOST))):
        places = list(_places(tree))
        if not places:
            return draw(st.sampled_from(VALUES))
        holder, key = draw(st.sampled_from(places))
        what = draw(st.sampled_from(("value",) * 4 + ("other", "remove", "rename")))
        if what == "value":
            holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif what == "other":
            other, place = draw(st.sampled_from(places))
            holder[key] = copy.deepcopy(other[place])
        else:
            value = holder.pop(key)
            if what == "rename" and isinstance(holder, dict):
                holder[draw(st.sampled_from((1, True, None, 1.5, "x", f"{key} ")))] = value
    return tree


@st.composite
def damaged_yaml(draw: Draw, data: bytes) -> bytes:
    """A YAML file, damaged as a text or as a tree."""
    if draw(st.booleans()):
        return draw(damaged(data))
    tree = draw(damaged_tree(yaml.safe_load(data)))
    return _bytes(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))


def _odd_arrays(like: Any) -> tuple[Any, ...]:
    """Arrays of other types, shapes and sizes."""
    array = np.atleast_1d(like) if np.asarray(like).dtype.kind in "fiu" else np.arange(3.0)
    pair = np.zeros(3, dtype=[("t", "f8"), ("q", "i4")])
    return (
        np.array(1.0), np.array("x"), np.array(np.nan), np.zeros(0), np.zeros((0, 3)),
        np.zeros((1,) * 20), pair, array[..., None], array[None], array[:1], array[:0], array[::-1],
        array.T, array.astype(str), array.astype("S8"), array.astype(complex), array.astype(bool),
        np.zeros(array.shape, "datetime64[s]"), array.astype("f2"), array.astype(">i8"),
        np.full(array.shape, 1e300), np.full(array.shape, np.inf), np.full(array.shape, 5e-324),
        np.where(np.arange(array.size).reshape(array.shape) % 7, array, np.nan),
        np.array([None, {}], dtype=object), np.array(["x", "x"]), np.array(["", "\ud800"]),
    )  # fmt: skip


@st.composite
def damaged_npz(draw: Draw, arrays: Mapping[str, Any]) -> bytes:
    """A NumPy archive whose arrays or bytes are damaged."""
    arrays, is_of_bytes = dict(arrays), draw(st.integers(0, 3)) == 0
    for _ in range(0 if is_of_bytes else draw(st.integers(1, MOST))):
        name = draw(st.sampled_from(sorted(arrays) or ["x"]))
        what = draw(st.sampled_from(("odd", "odd", "remove", "rename", "other")))
        array = arrays.pop(name, np.zeros(0))
        if what == "odd":
            arrays[name] = draw(st.sampled_from(_odd_arrays(array)))
        elif what == "rename":
            arrays[draw(st.sampled_from(("x", "t", "q", "joint_names", "a/b", "é")))] = array
        elif what == "other" and arrays:
            arrays[name] = arrays[draw(st.sampled_from(sorted(arrays)))]
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return draw(damaged(stream.getvalue(), OF_BYTES)) if is_of_bytes else stream.getvalue()
