# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damage to valid files: of their bytes, their text, their tree or their arrays.

Every function takes a random.Random and something valid, and returns a damaged copy. They only use
that generator, so a seed repeats a file exactly.
"""

from __future__ import annotations

import copy
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

MOST = 4  # changes of one kind to one file
TOKEN = re.compile(rb"[-+]?\.?\d[\d.eE+-]*|[A-Za-z_][\w.]*")
NUMBERS = (
    "0", "-0.0", "1", "-1", "7", "1e-4", "1e-12", "5e-324", "1e9", "1e16", "1e150", "-1e150",
    "1e300", "-1e300", "1e309", "nan", "-nan", "inf", "-inf", ".nan", ".inf", "1,5", "1e", "--1",
    "+-1", "0x1f", "1_000", "100:1", "9999999999999999999", "9" * 400, "٣", "½",
    "1 2", "1\u00a02", "",
    "-", "True", "null", "~", "[1]", "{}",
)  # fmt: skip
WORDS = (
    "", " ", "x", "\t", "\n", "\r", "\x00", "\x07", "\x1b[31m", "\ufeff", "é", "💥", "\u202e",
    "%s%n", "{0}", "$HOME", "../..", "/dev/null", "a" * 3000, "nan", "none", "-", "--", "---",
    "...", "#", ":", ": ", "- - -", "? :",
    "*a", "&a", "&a [*a]", "<<: *a", "!!bool maybe", "!!int four",
    "!!binary x", "!!python/object/apply:os.system [ls]", "2026-02-31", "2026-11-22 10:00:00",
    "<!DOCTYPE a [<!ENTITY b 'c'>]>", "<!--", "]]>", "&lt;", "&b;", "&#0;", "&#x110000;", "<a>",
    "</robot>", "<a:b/>", '"', "'", ",", ",,,", "[", "]", "{", "}", "|", ">",
)  # fmt: skip
SHAPE = re.compile(rb"'shape': \([^)]*\)")
SHAPES = (b"(-1,)", b"(9999999999999,)", b"(2, 2)", b"()", b"(1e3,)", b"[3]", b"(9**99,)")
NESTED = (b"[", b"{a: ", b"- ", b"<a>", b"((", b'"')


def number(random: Random) -> str:
    """The text of an unusual number, or text that is not a number."""
    return random.choice(NUMBERS)


def word(random: Random) -> str:
    """A text that is unusual in most places."""
    return random.choice(WORDS)


def bytes_of(text: str) -> bytes:
    """UTF-8, also for half a surrogate pair."""
    return text.encode("utf-8", "surrogatepass")


def several(random: Random, changes: tuple[Callable[..., Any], ...], start: Any) -> Any:
    """One to MOST of these changes, one after the other."""
    found = start
    for _ in range(random.randint(1, MOST)):
        found = random.choice(changes)(random, found)
    return found


# Bytes and text


def damaged_bytes(random: Random, data: bytes) -> bytes:
    """Single bytes changed, a part removed, repeated or overwritten, or the end cut off."""
    return bytes(several(random, (_flip, _cut, _remove, _repeat, _overwrite), data))


def damaged_text(random: Random, data: bytes) -> bytes:
    """Numbers and words replaced, lines moved; rarely, bytes as in `damaged_bytes`."""
    if random.random() < 0.1:
        return damaged_bytes(random, data)
    if random.random() < 0.03:
        return random.choice(NESTED) * random.choice((30, 1000, 20_000)) + data
    return bytes(several(random, (_token, _token, _token, _insert, _lines, _cut), data))


def _span(random: Random, data: bytes, longest: int = 200) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.randint(0, longest))


def _flip(random: Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(min(len(found), random.randint(1, 8))):
        found[random.randrange(len(found))] = random.choice((0, 1, 127, 128, 255, 10, 44, 60))
    return bytes(found)


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))] if random.random() < 0.3 else data


def _remove(random: Random, data: bytes) -> bytes:
    start, stop = _span(random, data)
    return data[:start] + data[stop:]


def _repeat(random: Random, data: bytes) -> bytes:
    start, stop = _span(random, data)
    return data[:stop] + data[start:stop] * random.choice((1, 2, 100)) + data[stop:]


def _overwrite(random: Random, data: bytes) -> bytes:
    start, stop = _span(random, data, 16)
    return data[:start] + random.randbytes(stop - start) + data[stop:]


def _token(random: Random, data: bytes) -> bytes:
    tokens = list(TOKEN.finditer(data))
    if not tokens:
        return data
    old = random.choice(tokens)
    new = bytes_of(number(random))
    if not old[0][-1:].isdigit():
        other = random.choice(tokens)[0]
        new = random.choice((other, other, bytes_of(word(random))))
    return data[: old.start()] + new + data[old.end() :]


def _insert(random: Random, data: bytes) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + bytes_of(word(random)) + data[at:]


def _lines(random: Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    what = random.randrange(4)
    if what == 0:
        del lines[first]
    elif what == 1:
        lines.insert(second, lines[first])
    elif what == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[first:first] = [lines[first]] * random.choice((2, 30, 1000))
    return b"".join(lines)


# Trees, as YAML and JSON contain


def damaged_tree(random: Random, tree: Any) -> Any:
    """Values replaced by others of any type, entries removed, renamed, added or moved."""
    return several(random, (_change_entry,), copy.deepcopy(tree))


def odd_value(random: Random) -> Any:
    """Something that is rarely expected in a file."""
    return random.choice(
        (
            None, True, False, 0, 1, -1, 10**30, 1e300, -1e300, 5e-324, 1e-12, float("nan"),
            float("inf"), "", "x", "1.0", "nan", "rigid", [], {}, [[]], [None], [1.0, 2.0],
            [1.0] * 7, ["x"] * 3, [[1.0, 2.0], [3.0]], {"x": 1}, {1: 2}, {"value": 1.0},
            list(range(2000)),
            number(random), word(random),
        )
    )  # fmt: skip


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All (container, key) of a tree."""
    inside = (
        tree.items()
        if isinstance(tree, Mapping)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in list(inside):
        yield tree, key
        yield from _places(value)


def _change_entry(random: Random, tree: Any) -> Any:
    places = list(_places(tree))
    if not places or random.random() < 0.02:
        return odd_value(random)
    holder, key = random.choice(places)
    what = random.randrange(6)
    if what <= 2:
        holder[key] = odd_value(random)
    elif what == 3:
        del holder[key]
    elif what == 4:
        other, elsewhere = random.choice(places)
        with_care = copy.deepcopy(other[elsewhere]) if _has(other, elsewhere) else None
        holder[key] = with_care
    elif isinstance(holder, MutableMapping):
        value = holder.pop(key) if random.random() < 0.5 else copy.deepcopy(holder[key])
        holder[random.choice((1, True, None, 1.5, "x", word(random), f"{key} "))] = value
    elif isinstance(holder, MutableSequence):
        holder.insert(key, copy.deepcopy(holder[key]))
    return tree


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, Mapping) else key < len(holder)


def damaged_yaml(random: Random, data: bytes) -> bytes:
    """A YAML file, damaged as a text or as a tree."""
    if random.random() < 0.4:
        return damaged_text(random, data)
    tree = damaged_tree(random, yaml.safe_load(data))
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=random.random() < 0.5)
    return bytes_of(text) if random.random() < 0.9 else damaged_text(random, bytes_of(text))


# XML


def damaged_xml(random: Random, data: bytes) -> bytes:
    """An XML file, damaged as a text or as a tree of elements."""
    if random.random() < 0.4:
        return damaged_text(random, data)
    root = several(random, (_change_element,), ElementTree.fromstring(data))
    return ElementTree.tostring(root, encoding=random.choice(("utf-8", "utf-16", "us-ascii")))


def _change_element(random: Random, root: ElementTree.Element) -> ElementTree.Element:
    parents = [each for each in root.iter() if len(each)]
    if not parents:
        return root
    parent = random.choice(parents)
    child = random.choice(list(parent))
    what = random.randrange(8)
    if what <= 3 and child.attrib:
        name = random.choice(list(child.attrib))
        values = child.attrib[name].split()
        if values and random.random() < 0.7:
            values[random.randrange(len(values))] = number(random)
        else:
            values = [word(random)]
        child.attrib[name] = " ".join(values)
    elif what == 4 and child.attrib:
        del child.attrib[random.choice(list(child.attrib))]
    elif what == 5:
        parent.remove(child)
    elif what == 6:
        random.choice(parents).append(copy.deepcopy(child))
    else:
        tags = [each.tag for each in root.iter()]
        child.tag = random.choice(tags)
    return root


# Tables and arrays


def damaged_csv(random: Random, data: bytes) -> bytes:
    """A table: names of columns and cells replaced, removed or repeated, or any text."""
    if random.random() < 0.4:
        return damaged_text(random, data)
    rows = [line.split(b",") for line in data.splitlines()]
    for _ in range(random.randint(1, MOST)):
        row = random.choice(rows[:3] if random.random() < 0.5 else rows)
        column = random.randrange(len(row)) if row else 0
        what = random.randrange(5)
        if what == 0 and row:
            row[column] = bytes_of(word(random))
        elif what == 1 and row:
            row[column] = bytes_of(number(random))
        elif what == 2:
            for each in rows:
                del each[column : column + 1]
        elif what == 3:
            for each in rows:
                each += each[column : column + 1]
        else:
            del rows[1 + random.randrange(len(rows)) :]
            cell = bytes_of(number(random))
            rows[1:] = [[*each[:column], cell, *each[column + 1 :]] for each in rows[1:]]
    return b"\n".join(b",".join(row) for row in rows) + b"\n"


def odd_array(random: Random, like: Any) -> np.ndarray:
    """An array of another type, shape or size than `like`."""
    given = np.atleast_1d(np.asarray(like))
    if given.dtype.kind not in "fiu":  # has been changed before, or is a list of names
        given = np.arange(3.0)
    pair = np.zeros(3, dtype=[("t", "f8"), ("q", "i4")])
    return random.choice(
        (
            np.array(1.0), np.array("x"), np.array(b"x"), np.array(np.nan), np.zeros(0),
            np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((1,) * 20), pair, pair["q"], given[...,
            None],
            given[None], given[:1], given[:0], given[::-1], given.T, given.astype(str),
            given.astype("S8"), np.zeros(given.shape, complex), np.zeros(given.shape, bool),
            np.zeros(given.shape, "datetime64[s]"), np.zeros(given.shape, "timedelta64[ns]"),
            np.zeros(given.shape, "f2"), np.zeros(given.shape, ">i8"), np.zeros(given.shape, "u1"),
            np.full(given.shape, 1e300), np.full(given.shape, np.inf), np.full(given.shape, 5e-324),
            np.array([None, {}], dtype=object), np.array(["x", "x"]), np.array(["", "\ud800"]),
        )
    )  # fmt: skip


def damaged_arrays(random: Random, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Named arrays: replaced, removed, renamed, with other numbers."""
    found = {name: np.asarray(array) for name, array in arrays.items()}
    for _ in range(random.randint(1, MOST)):
        if not found:
            break
        name = random.choice(list(found))
        what = random.randrange(6)
        if what <= 1:
            found[name] = odd_array(random, found[name])
        elif what == 2:
            del found[name]
        elif what == 3:
            found[random.choice(("x", "t", "q", "joint_names", "a/b", "é"))] = found.pop(name)
        elif what == 4:
            found[name] = found[random.choice(list(found))]
        elif found[name].dtype.kind == "f" and found[name].size:
            array = found[name].copy()
            at = random.randrange(array.size)
            array.flat[at] = random.choice((np.nan, np.inf, -1e300, 1e300, 5e-324, -1.0))
            found[name] = array
    return found


def damaged_npz(random: Random, arrays: Mapping[str, Any]) -> bytes:
    """The bytes of a NumPy archive with damaged arrays, members, headers or bytes."""
    how = random.random()
    if how < 0.05:
        stream = io.BytesIO()
        np.save(stream, np.asarray(random.choice(list(arrays.values()))))
        return stream.getvalue()
    kept = damaged_arrays(random, arrays) if how < 0.7 else arrays
    members = {f"{name}.npy": _saved(array) for name, array in kept.items()}
    if how > 0.9 and members:
        name = random.choice(list(members))
        members[name] = _damaged_member(random, members[name])
    stream = io.BytesIO()
    kind = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, kind)  # without the present time
    data = stream.getvalue()
    return damaged_bytes(random, data) if 0.7 < how < 0.9 else data


def _saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


def _damaged_member(random: Random, data: bytes) -> bytes:
    """An array whose header or bytes are damaged."""
    if random.random() < 0.4:
        return damaged_bytes(random, data)
    text = random.choice(SHAPES)
    return SHAPE.sub(lambda old: b"'shape': " + text.ljust(len(old[0]) - 9), data, count=1)
