# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Records in C: the same layout, defaults and checks as in Python."""

import ctypes
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import c_records, c_translation
from multibody_dynamics.dynamics.codegen.c_types import ArrayType, RecordType
from multibody_dynamics.dynamics.core import Array, Field, Integers, record_fields
from translated_code import loaded, needs_compiler


class Part(NamedTuple):
    """A part of the memory."""

    level: Annotated[Array, Field("m")]
    ring: Annotated[Array, Field("m, the latest ones", ("size", "n"))]


class Memory(NamedTuple):
    """What changes."""

    count: Annotated[Integers, Field("of calls", counts=True)]
    mode: Annotated[Integers, Field("what is done")]
    part: Annotated[Part, Field("another record")]
    row: Annotated[Array, Field("m", ("n",))]


class Settings(NamedTuple):
    """What does not change; the lines of a long docstring become the lines of a comment, which is
    never longer than a line may be."""

    step: Annotated[float, Field("s", within="(0, inf)", section="The first part, with a heading.")]
    most: Annotated[int, Field("of calls", within="[1, 9]")]
    gains: Annotated[
        Array,
        Field(
            "on two errors, in units that take so long to write that the"
            " comment needs a line of its own",
            (2, "n"),
            ("(0, inf]", "[-1, 1]"),
        ),
    ]
    lower: Annotated[Array, Field("m", ("n",), "[-inf, upper]")]
    upper: Annotated[Array, Field("m", ("n",))]


NAMES = {Part: "arm_part", Memory: "arm_memory", Settings: "arm_settings",
         "n": "ARM_N", "size": "ARM_SIZE"}  # fmt: skip
SIZES = {"n": 2, "size": 3}
HEAD = "#include <stddef.h>\n#define ARM_N 2\n#define ARM_SIZE 3\n"


def _average(row):
    total = 0.0
    for i in range(row.shape[0]):
        total += row[i]
    return total / row.shape[0]


def _note(part, level):
    part.level[0] = max(part.level[0], level)


def _clear(mode):
    mode[0] = 7


def work(p, s, x):
    """Use all kinds of fields."""
    s.count[0] += 1
    k = (s.mode[0] - 1) % s.part.ring.shape[0]
    for i in range(x.shape[0]):
        s.part.ring[k, i] = p.gains[0, i] * x[i] if x[i] > p.lower[i] else p.step
        s.row[i] += s.part.ring[k, i]
    _note(s.part, _average(s.part.ring[k]))
    s.mode[0] = k
    if s.mode[0] == 0 and min(p.most, k) < 2:
        _clear(s.mode)


def good():
    gains = np.array([[0.5, np.inf], [1.0, -1.0]])
    return Settings(1e-3, 4, gains, np.array([-np.inf, 0.25]), np.array([np.inf, 0.5]))


def test_the_type_of_a_record():
    kind = c_records.record_type(Memory, NAMES, SIZES, shown=("size",))
    assert kind.name == "arm_memory"
    assert kind.field("count") == ArrayType("unsigned long", (1,), is_number=True)
    part = kind.field("part")
    assert isinstance(part, RecordType)
    assert part.field("ring") == ArrayType("double", (3, 2), names=("ARM_SIZE", ""))
    assert kind.field("absent") is None


def test_comments_are_complete_and_lines_are_short():
    text = c_records.structure(Settings, NAMES)
    assert max(map(len, text.splitlines())) <= 100
    for each in record_fields.declared_fields(Settings):
        assert each.field.meaning in text.replace("\n       ", " ")
    assert "/* The first part, with a heading. */" in text
    assert " */\n    double gains[2][ARM_N];" in text


@needs_compiler
def test_a_function_over_records_is_the_same_in_c(tmp_path):
    module = c_translation.Module()
    types = {"p": c_records.record_type(Settings, NAMES, SIZES),
             "s": c_records.record_type(Memory, NAMES, SIZES, shown=("size",)),
             "x": ArrayType("double", (2,))}  # fmt: skip
    prototype = module.add("work", work, types)
    assert prototype == "void work(const arm_settings *p, arm_memory *s, const double *x)"
    parts = [c_records.structure(each, NAMES) for each in (Part, Memory, Settings)]
    code = loaded(tmp_path, "\n".join([
        HEAD, *parts, f"{prototype};", module.text({}),
        "arm_settings p; arm_memory s;",
        "void start(void);",
        f"void start(void) {{ p = {c_records.defaults(good(), 'arm_settings')};}}",
        "const double *end(const double *x);",
        "const double *end(const double *x) { work(&p, &s, x); return &s.part.level; }",
        "int state(void);\nint state(void) { return s.mode + 100 * (int)s.count; }",
    ]))  # fmt: skip
    memory = record_fields.zeros(Memory, **SIZES)
    code.start()
    code.end.restype = ctypes.POINTER(ctypes.c_double * 9)
    for x in np.random.default_rng(2).normal(size=(20, 2)):
        work(good(), memory, x)
        found = np.array(code.end(x.ctypes).contents)
        wanted = [memory.part.level, memory.part.ring.ravel(), memory.row]
        np.testing.assert_array_equal(found, np.concatenate(wanted))
        assert code.state() == memory.mode[0] + 100 * memory.count[0]


@needs_compiler
def test_the_checks_are_the_same_in_c(tmp_path):
    lines = c_records.checks(Settings, "p", NAMES)
    code = loaded(tmp_path, "\n".join([
        HEAD, c_records.structure(Settings, NAMES),
        "const char *wrong(const arm_settings *p);",
        f"const char *wrong(const arm_settings *p)\n{{\n{lines}\n    return NULL;\n}}",
    ]))  # fmt: skip

    class Layout(ctypes.Structure):
        _fields_ = (("step", ctypes.c_double), ("most", ctypes.c_int),
                    ("gains", ctypes.c_double * 2 * 2), ("lower", ctypes.c_double * 2),
                    ("upper", ctypes.c_double * 2))  # fmt: skip

    code.wrong.restype = ctypes.c_char_p
    rng, names = np.random.default_rng(3), set()
    values = np.array([-np.inf, -2.0, -1.0, 0.0, 0.5, 1.0, 9.0, 10.0, np.inf, np.nan])
    for _ in range(400):
        settings = good()
        name = rng.choice(Settings._fields)
        if name == "most":
            settings = settings._replace(most=int(rng.integers(-1, 11)))
        elif name == "step":
            settings = settings._replace(step=float(rng.choice(values)))
        else:
            getattr(settings, name)[..., rng.integers(2)] = rng.choice(values)
        layout = Layout(settings.step, settings.most)
        for each in ("gains", "lower", "upper"):
            np.ctypeslib.as_array(getattr(layout, each))[:] = getattr(settings, each)
        found = (code.wrong(ctypes.byref(layout)) or b"").decode()
        assert found == record_fields.outside(settings)
        names.add(found)
    assert names == {"", "step", "most", "gains", "lower"}


@pytest.mark.parametrize("length", [20, 300])
def test_rows_are_folded(length):
    row = "    {" + ", ".join(f"{k}.0" for k in range(length)) + "},"
    lines = c_records.folded_row(row)
    assert max(map(len, lines)) <= 100
    assert " ".join(line.strip() for line in lines) == row.strip()
