# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 from Python functions over scalars: the same source that Numba compiles, translated.

Straight-line code (:mod:`c_source`) suits recursions without branches. Functions that search,
iterate or distinguish cases are translated statement by statement instead. The subset is that of
the compiled functions of this library: numbers, tuples, named tuples, arrays that are indexed entry
by entry, ``if``, ``for ... in range``, ``while``, and calls of other such functions.

All arrays have known shapes (:mod:`c_types`). Tables of constants become global constants in C, and
a comparison that has the same result for every value in a column is decided during the translation:
the cases that do not occur in a table vanish, with everything that only they need
(:mod:`c_statements`).
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from ..core import InputError
from .c_expressions import Expressions, Function
from .c_source import comment, folded, literal, wrapped
from .c_statements import Inference, Statements, without_unused
from .c_types import (
    INDENT,
    NONE,
    ArrayType,
    RecordType,
    Structures,
    Translated,
    may_be_constant,
    table,
    table_definition,
)

SELECTION = """\
/* The smaller and the larger of two numbers; the first if they are equal. */
static inline double smaller_of(double a, double b)
{
    return b < a ? b : a;
}

static inline double larger_of(double a, double b)
{
    return b > a ? b : a;
}
"""


class Module:
    """A translation unit: add entry functions, then read :meth:`text`.

    elsewhere : functions that other units define, see `public`.

    >>> module = Module()
    >>> module.add("arm_springs", springs, {"laws": table("LAWS", laws), "q": ...})
    """

    def __init__(self, elsewhere: Mapping[Function, Translated] = MappingProxyType({})) -> None:
        self.constants: dict[str, float] = {}
        self.structures = Structures()
        self.functions: dict[Any, Translated] = {}
        self.public: dict[Function, Translated] = {}
        self._elsewhere: dict[Any, Translated] = dict(elsewhere)
        self._tables: dict[str, NDArray[Any]] = {}
        self._names: set[str] = set()

    def add(self, name: str, function: Function, types: dict[str, Any]) -> str:
        """Translate a function with arguments of these types, public under `name`; returns its
        prototype. Raises InputError for statements outside the subset."""
        return self.translate(function, tuple(types.values()), name).prototype

    def defined_elsewhere(
        self, name: str, function: Function, used: str, result: Any = None
    ) -> None:
        """Calls of `function` become calls of `name`, a function of C that another file defines.

        used : one letter for each argument in Python: "-" if it is not taken in C, "r" for a number
        or an array that is only read, "w" for an array that is written.
        """
        own = getattr(function, "py_func", function)
        taken, read = (tuple(letter in kind for letter in used) for kind in ("rw", "r"))
        self._elsewhere[own] = Translated(name, "", "", result, taken, read)

    def text(self, tables: dict[str, NDArray[Any]]) -> str:
        """The C text: constants, tables, structures, functions in the order of their use."""
        integers = {k: v for k, v in self.constants.items() if isinstance(v, int)}
        parts = []
        if integers:
            names = "\n".join(f"{INDENT}{k} = {v}," for k, v in integers.items()).rstrip(",")
            parts.append(f"enum {{\n{names}\n}};\n")
        body = "\n".join(each.text for each in self.functions.values())
        parts += (
            f"static const double {name} = {literal(value, 'double')};\n"
            for name, value in self.constants.items()
            if not isinstance(value, int) and re.search(rf"\b{name}\b", body)
        )
        parts += (
            table_definition(name, numbers)
            for name, numbers in {**tables, **self._tables}.items()
            if re.search(rf"\b{name}\b", body)
        )
        parts += self.structures.definitions()
        if re.search(r"\b(smaller_of|larger_of)\(", body):
            parts.append(SELECTION)
        return "\n".join([*parts, body])

    def translate(self, function: Function, types: tuple[Any, ...], name: str = "") -> Translated:
        """A function for arguments of these types, translated when it is first used; public if it
        is given a name."""
        function = getattr(function, "py_func", function)
        if function in self._elsewhere:
            return self._elsewhere[function]
        key = (function, types)
        if key not in self.functions:
            own = name or self._unique_name(function)
            self.functions[key] = _translated(self, function, types, own, is_public=bool(name))
            if name:
                self.public[function] = self.functions[key]
        return self.functions[key]

    def _unique_name(self, function: Function) -> str:
        plain = function.__name__.lstrip("_")
        name = base = plain if plain == function.__name__ else f"{plain}_"  # no variable ends so
        count = 1
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    def table(self, name: str, numbers: NDArray[Any]) -> ArrayType:
        """The type of a table of a Python module, which becomes one of the translation unit."""
        plain = name.lstrip("_")
        if self._tables.setdefault(plain, numbers) is not numbers:
            raise InputError(f"two tables have the name {plain}")
        return table(plain, numbers)

    def constant(self, name: str, value: float) -> str:
        """The name in C of a constant of a Python module."""
        plain = name.lstrip("_")
        known = self.constants.setdefault(plain, value)
        if known != value or isinstance(known, int) != isinstance(value, int):
            raise InputError(f"constant {plain} has two values, {known} and {value}")
        return plain


def _translated(
    module: Module, function: Function, types: tuple[Any, ...], name: str, *, is_public: bool
) -> Translated:
    """One function, for arguments of these types."""
    tree = _tree_of(function)
    arguments = {argument.arg: None for argument in tree.args.args}
    if len(arguments) != len(types):
        raise InputError(
            f"{function.__name__} takes {', '.join(arguments)}; got {len(types)} types"
        )
    given = dict(zip(arguments, types, strict=True))
    expressions = Expressions(module, function)
    lines, result = _body(tree, expressions, given)
    taken = {
        argument: kind
        for argument, kind in given.items()
        if (is_public or argument in expressions.read) and _is_passed(kind)
    }
    silenced = [f"{INDENT}(void){x};" for x in taken if x not in expressions.read]
    declared = module.structures.declared
    returned = "void" if result is None else declared(result, "").strip()
    constant = {
        argument
        for argument, kind in given.items()
        if may_be_constant(kind) and argument not in expressions.written
    }
    written = [
        module.structures.argument(kind, argument, argument in constant)
        for argument, kind in taken.items()
    ]
    head = wrapped(f"{'' if is_public else 'static '}{returned} {name}(", written or ["void"], ")")
    text = "\n".join([_comment_of(function) + head, "{", *silenced, *lines, "}", ""])
    used = tuple(argument in taken for argument in given)
    return Translated(name, text, head, result, used, tuple(x in constant for x in given))


def _tree_of(function: Function) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise InputError(f"{function!r} is not a plain function")
    return tree


def _body(
    tree: ast.FunctionDef, expressions: Expressions, given: dict[str, Any]
) -> tuple[list[str], Any]:
    """The lines of a function with arguments of given types, and the type of its result."""
    inference = Inference(expressions, given)
    body = inference.reachable(tree, tree.body[1:] if ast.get_docstring(tree) else tree.body)
    while True:  # what only vanished branches needed vanishes, too
        expressions.read = set()
        statements = Statements(expressions, set(given), inference.assigned_once, inference.result)
        lines = statements.block(body, 1)
        shorter = without_unused(body, expressions.read | set(given))
        if ast.dump(ast.Module(shorter, [])) == ast.dump(ast.Module(body, [])):
            return [part for line in lines for part in folded(line)], inference.result
        body = shorter


def _comment_of(function: Function) -> str:
    text = inspect.getdoc(function)
    return comment(text.replace("`", "").splitlines()) if text else ""


def _is_passed(kind: Any) -> bool:
    if isinstance(kind, RecordType):  # one of tables alone needs no structure
        return any(_is_passed(each) for _, each in kind.fields)
    return kind != NONE and not (isinstance(kind, ArrayType) and bool(kind.table))
