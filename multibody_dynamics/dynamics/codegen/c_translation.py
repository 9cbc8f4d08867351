"""C99 from Python functions over scalars: the same source that Numba compiles, translated.

Straight-line code (:mod:`c_source`) suits recursions without branches. Functions that search,
iterate or distinguish cases are translated statement by statement instead. The subset is that of
the compiled functions of this library: numbers, tuples, named tuples, arrays that are indexed entry
by entry, ``if``, ``for ... in range``, ``while``, and calls of other such functions.

All arrays have known shapes. Tables of constants become global constants in C, and a comparison
that has the same result for every value in a column is decided during the translation: the cases
that do not occur in a table vanish, with everything that only they need.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import InputError
from .c_source import comment, literal

Function = Callable[..., Any]
DOUBLE, INT, BOOL = "double", "int", "bool"
NONE = "None"
WIDTH = 100
INDENT = "    "


class ArrayType(NamedTuple):
    """An array in C.

    kind : "double" or "int". shape : one or two lengths. table : name of the global constant; empty
    for an argument. columns : the values that occur in each column of a table.
    """

    kind: str
    shape: tuple[int, ...]
    table: str = ""
    columns: tuple[frozenset[float], ...] = ()


class TupleType(NamedTuple):
    """A tuple, a structure in C; `record` is the named tuple, if it is one."""

    items: tuple[Any, ...]
    record: Any = None


class Value(NamedTuple):
    """A translated expression: text, type, precedence; all values that it can have, if known."""

    text: str
    type: Any
    rank: int = 9
    values: frozenset[float] | None = None


class Variable(NamedTuple):
    """A local variable; `values` as in `Value`."""

    type: Any
    values: frozenset[float] | None = None


def table(name: str, numbers: NDArray[Any]) -> ArrayType:
    """The type of a global constant (rows, columns) or (entries,) of doubles."""
    numbers = np.asarray(numbers, dtype=np.float64)
    columns = numbers.T if numbers.ndim == 2 else numbers[:, None]
    values = tuple(frozenset(column.ravel().tolist()) for column in columns)
    return ArrayType(DOUBLE, numbers.shape, name, values)


def table_definition(name: str, numbers: NDArray[Any]) -> str:
    """The definition of a table in C; an empty table gets one row of zeros, which is never read."""
    rows = np.asarray(numbers, dtype=np.float64)
    if rows.size == 0:
        rows = np.zeros([max(length, 1) for length in rows.shape])
    if rows.ndim == 1:
        return f"static const double {name}[{len(rows)}] = {{{_numbers(rows)}}};\n"
    lines = ",\n".join(f"{INDENT}{{{_numbers(row)}}}" for row in rows)
    return f"static const double {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{lines}\n}};\n"


def _numbers(row: Iterable[float]) -> str:
    texts = [
        ("-" if x < 0 else "") + "HUGE_VAL" if math.isinf(x) else literal(x, "double") for x in row
    ]
    return ", ".join(texts)


_CALLS = {  # name: result, and its name in C; arguments are converted to double
    "abs": "fabs", "expm1": "expm1", "exp": "exp", "tanh": "tanh", "sqrt": "sqrt",
    "sin": "sin", "cos": "cos", "copysign": "copysign",
}  # fmt: skip
_TESTS = ("isnan", "isfinite")
_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("+", 6), ast.Sub: ("-", 6), ast.Mult: ("*", 7), ast.Div: ("/", 7),
    ast.FloorDiv: ("/", 7), ast.BitOr: ("|", 2), ast.BitAnd: ("&", 3),
}  # fmt: skip
_COMPARISONS: dict[type, tuple[str, Callable[[float, float], bool]]] = {
    ast.Eq: ("==", lambda a, b: a == b), ast.NotEq: ("!=", lambda a, b: a != b),
    ast.Lt: ("<", lambda a, b: a < b), ast.LtE: ("<=", lambda a, b: a <= b),
    ast.Gt: (">", lambda a, b: a > b), ast.GtE: (">=", lambda a, b: a >= b),
}  # fmt: skip

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

    >>> module = Module()
    >>> module.add("arm_springs", springs, {"laws": table("LAWS", laws), "q": ...})
    """

    def __init__(self) -> None:
        self.constants: dict[str, float] = {}
        self.structures: dict[Any, str] = {}
        self.functions: dict[Any, _Translated] = {}
        self._names: set[str] = set()

    def add(self, name: str, function: Function, types: dict[str, Any]) -> str:
        """Translate a function with arguments of these types, public under `name`; returns its
        prototype. Raises InputError for statements outside the subset."""
        return self.translate(function, tuple(types.values()), name).prototype

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
            for name, numbers in tables.items()
            if re.search(rf"\b{name}\b", body)
        )
        parts += (self._structure(kind, name) for kind, name in self.structures.items())
        if re.search(r"\b(smaller_of|larger_of)\(", body):
            parts.append(SELECTION)
        return "\n".join([*parts, body])

    def _structure(self, kind: TupleType, name: str) -> str:
        fields = kind.record._fields if kind.record else [f"x{k}" for k in range(len(kind.items))]
        lines = [
            f"{INDENT}{self.declared(each, field)};"
            for field, each in zip(fields, kind.items, strict=True)
        ]
        return "typedef struct {\n" + "\n".join(lines) + f"\n}} {name};\n"

    def declared(self, kind: Any, name: str) -> str:
        """The declaration of a variable or argument in C."""
        if isinstance(kind, TupleType):
            return f"{self.structure(kind)} {name}"
        if isinstance(kind, ArrayType):
            if len(kind.shape) == 1:
                return f"{kind.kind} *{name}"
            return f"{kind.kind} (*{name})[{max(kind.shape[1], 1)}]"
        return f"{'int' if kind == BOOL else kind} {name}"

    def structure(self, kind: TupleType) -> str:
        """The name of the structure of a tuple."""
        if kind not in self.structures:
            for item in kind.items:
                if isinstance(item, TupleType):
                    self.structure(item)
            if kind.record:
                name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.record.__name__).lower() + "_tuple"
            elif set(kind.items) == {DOUBLE}:
                name = f"doubles_{len(kind.items)}"
            else:
                name = f"tuple_{len(self.structures) + 1}"
            self.structures[kind] = name
        return self.structures[kind]

    def translate(self, function: Function, types: tuple[Any, ...], name: str = "") -> _Translated:
        function = getattr(function, "py_func", function)
        key = (function, types)
        if key not in self.functions:
            if not name:
                plain = function.__name__.lstrip(
                    "_"
                )  # an underscore at the end: no variable has one
                name = base = plain if plain == function.__name__ else f"{plain}_"
                count = 1
                while name in self._names:
                    count += 1
                    name = f"{base}_{count}"
                self._names.add(name)
                found = _Translation(self, function, types, name, is_public=False).translated()
            else:
                found = _Translation(self, function, types, name, is_public=True).translated()
            self.functions[key] = found
        return self.functions[key]

    def constant(self, name: str, value: float) -> str:
        """The name in C of a constant of a Python module."""
        plain = name.lstrip("_")
        known = self.constants.setdefault(plain, value)
        if known != value or isinstance(known, int) != isinstance(value, int):
            raise InputError(f"constant {plain} has two values, {known} and {value}")
        return plain


class _Translated(NamedTuple):
    name: str
    text: str
    prototype: str
    result: Any
    used: tuple[bool, ...]  # which arguments the function takes in C


class _Translation:
    """One function, for arguments of given types."""

    def __init__(
        self,
        module: Module,
        function: Function,
        types: tuple[Any, ...],
        name: str,
        *,
        is_public: bool,
    ) -> None:
        self.module, self.function, self.name, self.is_public = module, function, name, is_public
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise InputError(f"{function!r} is not a plain function")
        self.tree = tree
        self.arguments = [argument.arg for argument in tree.args.args]
        if len(self.arguments) != len(types):
            raise InputError(
                f"{function.__name__} takes {', '.join(self.arguments)}; got {len(types)} types"
            )
        self.globals = function.__globals__
        self.types = types
        self.result: Any = None
        self.temporaries = 0
        self.variables: dict[str, Variable] = {}
        self._read: set[str] = set()  # names in the text
        self._declared: set[str] = set()
        self._single: set[str] = set()  # assigned once

    def fail(self, node: ast.AST, why: str) -> InputError:
        line = getattr(node, "lineno", 0)
        return InputError(f"{self.function.__name__}, line {line}: {why}: {ast.unparse(node)}")

    # The whole function

    def translated(self) -> _Translated:
        body = self.tree.body[1:] if ast.get_docstring(self.tree) else self.tree.body
        assigned = _stores(body)
        body = self._inferred(body, assigned)
        while True:  # what only vanished branches needed vanishes, too
            self._declared, self._read, self.temporaries = set(self.arguments), set[str](), 0
            lines = self._block(body, 1)
            shorter = _without_unused(body, self._read | set(self.arguments))
            if ast.dump(ast.Module(shorter, [])) == ast.dump(ast.Module(body, [])):
                break
            body = shorter
        read = self._read
        used = tuple(
            (self.is_public or name in read) and self._is_passed(kind)
            for name, kind in zip(self.arguments, self.types, strict=True)
        )
        silenced = [
            f"{INDENT}(void){name};"
            for name, kind, is_used in zip(self.arguments, self.types, used, strict=True)
            if is_used and name not in read
        ]
        given = [
            self.module.declared(kind, name)
            for name, kind, is_used in zip(self.arguments, self.types, used, strict=True)
            if is_used
        ]
        result = "void" if self.result is None else self.module.declared(self.result, "").strip()
        start = f"{'' if self.is_public else 'static '}{result} {self.name}("
        head = _wrapped(start, given or ["void"], ")")
        lines = [part for line in lines for part in _folded(line)]
        text = "\n".join([self._comment() + head, "{", *silenced, *lines, "}", ""])
        return _Translated(self.name, text, head, self.result, used)

    def _comment(self) -> str:
        text = inspect.getdoc(self.function)
        if not text:
            return ""
        return comment(text.replace("`", "").splitlines())

    @staticmethod
    def _is_passed(kind: Any) -> bool:
        return kind != NONE and not (isinstance(kind, ArrayType) and bool(kind.table))

    def _inferred(self, body: list[ast.stmt], assigned: Sequence[str]) -> list[ast.stmt]:
        """The types of all variables, and the statements without branches that cannot be taken."""
        for _ in range(5):
            before = dict(self.variables)
            for name, kind in zip(self.arguments, self.types, strict=True):
                if name not in self.variables:
                    self.variables[name] = Variable(kind)
            self._single = {name for name in assigned if assigned.count(name) == 1}
            found = self._prune(body)
            assigned = _stores(found)
            if before == self.variables:
                return found
        raise self.fail(self.tree, "types of variables do not settle")

    def _prune(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.If):
                test = self._known(statement.test)
                if test is not None:
                    chosen = self._prune(statement.body if test else statement.orelse)
                    kept += chosen
                    if chosen and isinstance(chosen[-1], ast.Return | ast.Continue | ast.Break):
                        return kept
                    continue
                kept.append(
                    _copied(
                        statement,
                        body=self._prune(statement.body),
                        orelse=self._prune(statement.orelse),
                    )
                )
            elif isinstance(statement, ast.For | ast.While):
                if isinstance(statement, ast.For):
                    self._learn(statement.target, INT, None)
                kept.append(_copied(statement, body=self._prune(statement.body)))
            elif isinstance(statement, ast.Assign):
                self._assign_types(statement)
                kept.append(statement)
            else:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    self.result = self._joined(self.result, self.value(statement.value).type)
                kept.append(statement)
        return kept

    def _assign_types(self, statement: ast.Assign) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                for one, value in zip(target.elts, statement.value.elts, strict=True):
                    found = self.value(value)
                    self._learn(one, found.type, found.values)
                continue
            found = self.value(statement.value)
            if isinstance(target, ast.Tuple):
                for one, kind in zip(target.elts, found.type.items, strict=True):
                    self._learn(one, kind, None)
            else:
                self._learn(target, found.type, found.values)

    def _learn(self, target: ast.expr, kind: Any, values: frozenset[float] | None) -> None:
        if not isinstance(target, ast.Name):
            return
        known = self.variables.get(target.id)
        if known is not None and target.id in self.arguments:
            if self._joined(known.type, kind) != known.type:
                raise self.fail(target, f"the argument becomes a {kind}")
            return
        joined = kind if known is None else self._joined(known.type, kind)
        keeps = target.id in self._single and isinstance(joined, str)
        self.variables[target.id] = Variable(joined, values if keeps else None)

    def _joined(self, one: Any, other: Any) -> Any:
        if one is None or one == other:
            return other
        if {one, other} <= {DOUBLE, INT, BOOL}:
            return DOUBLE if DOUBLE in (one, other) else INT
        if isinstance(one, TupleType) and isinstance(other, TupleType):
            pairs = zip(one.items, other.items, strict=True)
            return TupleType(tuple(self._joined(a, b) for a, b in pairs), one.record)
        raise InputError(f"{self.function.__name__}: one variable is a {one} and a {other}")

    def _known(self, test: ast.expr) -> bool | None:
        """The result of a test if it is the same for all values, None otherwise."""
        with self._unread():
            return self._decided(test)

    @contextmanager
    def _unread(self) -> Iterator[None]:
        """Expressions are only examined, and not written: what they name is not read."""
        before = set(self._read)
        yield
        self._read = before

    def _decided(self, test: ast.expr) -> bool | None:
        if isinstance(test, ast.BoolOp):
            is_and = isinstance(test.op, ast.And)
            found = []
            for each in test.values:
                found.append(self._decided(each))
                if found[-1] is (not is_and):  # later operands need not even have a type
                    return not is_and
            return is_and if all(each is is_and for each in found) else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._decided(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Constant) and isinstance(test.value, bool):
            return test.value
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test)
        return None

    def _compared(self, test: ast.Compare) -> bool | None:
        operation, right = test.ops[0], test.comparators[0]
        if isinstance(operation, ast.Is | ast.IsNot):
            is_none = self.value(test.left).type == NONE
            return is_none is isinstance(operation, ast.Is)
        left_values, right_values = self.value(test.left).values, self.value(right).values
        if left_values is None or right_values is None:
            return None
        compare = _COMPARISONS[type(operation)][1]
        results = {compare(a, b) for a in left_values for b in right_values}
        return results.pop() if len(results) == 1 else None

    # Statements

    def _block(self, body: Sequence[ast.stmt], level: int) -> list[str]:
        """The lines of a block, with declarations of variables that are assigned deeper inside."""
        lines: list[str] = []
        for k, statement in enumerate(body):
            later = _names(body[k + 1 :])
            for name in dict.fromkeys(_stores([statement])):
                is_here = isinstance(statement, ast.Assign) and not _loads([statement]) >= {name}
                if name in self._declared or is_here or isinstance(statement, ast.Assign):
                    continue
                if name in later and name not in _loop_targets(statement):
                    kind = self.variables[name].type
                    lines.append(INDENT * level + self.module.declared(kind, name) + ";")
                    self._declared.add(name)
            lines += self._statement(statement, level)
        return lines

    def _inner(self, body: Sequence[ast.stmt], level: int) -> list[str]:
        known = set(self._declared)
        lines = self._block(body, level)
        self._declared = known
        return lines

    def _statement(self, statement: ast.stmt, level: int) -> list[str]:
        pad = INDENT * level
        match statement:
            case ast.Assign():
                return [pad + line for line in self._assignment(statement)]
            case ast.AugAssign():
                target, value = self.value(statement.target), self.value(statement.value)
                symbol, _ = self._operator(statement, statement.op, target, value)
                if symbol == "/" and target.type == INT and isinstance(statement.op, ast.Div):
                    raise self.fail(statement, "an integer would become a floating-point number")
                return [f"{pad}{target.text} {symbol}= {value.text};"]
            case ast.Return(value=None):
                return [f"{pad}return;"]
            case ast.Return(value=value):
                assert value is not None
                return [f"{pad}return {self._as(value, self.result)};"]
            case ast.Break():
                return [f"{pad}break;"]
            case ast.Continue():
                return [f"{pad}continue;"]
            case ast.If():
                return self._if(statement, level)
            case ast.While():
                body = self._inner(statement.body, level + 1)
                return [f"{pad}while ({self.value(statement.test).text}) {{", *body, f"{pad}}}"]
            case ast.For():
                return self._for(statement, level)
            case ast.Expr():
                return [f"{pad}{self.value(statement.value).text};"]
            case _:
                raise self.fail(statement, "not in the subset that is translated")

    def _if(self, statement: ast.If, level: int) -> list[str]:
        pad = INDENT * level
        lines = [f"{pad}if ({self.value(statement.test).text}) {{"]
        lines += self._inner(statement.body, level + 1)
        rest = statement.orelse
        if len(rest) == 1 and isinstance(rest[0], ast.If):
            first, *others = self._if(rest[0], level)
            return [*lines, f"{pad}}} else {first.strip()}", *others]
        if rest:
            lines += [f"{pad}}} else {{", *self._inner(rest, level + 1)]
        return [*lines, f"{pad}}}"]

    def _for(self, statement: ast.For, level: int) -> list[str]:
        call, target = statement.iter, statement.target
        is_range = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range"
        if not is_range or not isinstance(target, ast.Name):
            raise self.fail(statement, "only loops over a range are translated")
        assert isinstance(call, ast.Call)
        bounds = [self.value(each).text for each in call.args]
        start, end = ("0", bounds[0]) if len(bounds) == 1 else bounds[:2]
        is_down = len(bounds) == 3 and bounds[2].startswith("-")
        name = target.id if target.id != "_" else f"loop_{level}"
        step = ("--" if is_down else "++") + name
        if len(bounds) == 3 and bounds[2] not in ("1", "-1"):
            raise self.fail(statement, "only ranges with a step of one are translated")
        known = set(self._declared)
        self._declared.add(target.id)
        body = self._block(statement.body, level + 1)
        self._declared = known
        pad = INDENT * level
        head = f"for (int {name} = {start}; {name} {'>' if is_down else '<'} {end}; {step}) {{"
        return [pad + head, *body, f"{pad}}}"]

    def _assignment(self, statement: ast.Assign) -> list[str]:
        lines: list[str] = []
        value = statement.value
        first = statement.targets[0]
        if isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple):
            return self._parallel(first.elts, value.elts)
        if isinstance(first, ast.Tuple):
            found = self.value(value)
            if isinstance(value, ast.Name | ast.Attribute):
                name = found.text
            else:
                self.temporaries += 1
                name = f"found_{self.temporaries}"
                lines.append(f"const {self.module.structure(found.type)} {name} = {found.text};")
            fields = _fields(found.type)
            for target, field in zip(first.elts, fields, strict=True):
                if not (isinstance(target, ast.Name) and target.id == "_"):
                    lines.append(self._stored(target, f"{name}.{field}"))
            return lines
        previous = None
        for target in reversed(statement.targets):
            kind = self.variables[target.id].type if isinstance(target, ast.Name) else DOUBLE
            text = self._as(value, kind) if previous is None else previous
            lines.append(self._stored(target, text))
            with self._unread():
                previous = self.value(target).text
        return lines

    def _parallel(self, targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> list[str]:
        """Assignments of a tuple to a tuple, with temporaries where a value needs an old one."""
        lines: list[str] = []
        overwritten: set[str] = set()
        needs_copies = False
        for target, value in zip(targets, values, strict=True):
            needs_copies |= bool(overwritten & _loads([ast.Expr(value)]))
            overwritten |= {x.id for x in ast.walk(target) if isinstance(x, ast.Name)}
        texts = []
        for target, value in zip(targets, values, strict=True):
            kind = self.variables[target.id].type if isinstance(target, ast.Name) else DOUBLE
            text = self._as(value, kind)
            if needs_copies:
                self.temporaries += 1
                copy = f"copy_{self.temporaries}"
                lines.append(f"const {self.module.declared(kind, copy)} = {text};")
                text = copy
            texts.append(text)
        pairs = zip(targets, texts, strict=True)
        return lines + [self._stored(target, text) for target, text in pairs]

    def _stored(self, target: ast.expr, text: str) -> str:
        if isinstance(target, ast.Name):
            if target.id not in self._declared:
                self._declared.add(target.id)
                kind = self.variables[target.id].type
                is_constant = target.id in self._single and not isinstance(kind, ArrayType)
                start = "const " if is_constant else ""
                return f"{start}{self.module.declared(kind, target.id)} = {text};"
            return f"{target.id} = {text};"
        return f"{self.value(target).text} = {text};"

    # Expressions

    def _as(self, node: ast.expr, kind: Any) -> str:
        """The text of an expression of a given type; tuples become compound literals."""
        if isinstance(node, ast.Tuple):
            items = [self._as(x, each) for x, each in zip(node.elts, kind.items, strict=True)]
            return f"({self.module.structure(kind)}){{{', '.join(items)}}}"
        return self.value(node).text

    def value(self, node: ast.expr) -> Value:
        """An expression in C."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.Tuple():
                kind = TupleType(tuple(self.value(each).type for each in node.elts))
                return Value(self._as(node, kind), kind)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp():
                return self._boolean(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._call(node)
            case _:
                raise self.fail(node, "not in the subset that is translated")

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        if value is None:
            return Value("0", NONE)
        if isinstance(value, bool):
            return Value("1" if value else "0", BOOL, values=frozenset({float(value)}))
        if isinstance(value, int):
            return Value(str(value), INT, values=frozenset({float(value)}))
        return Value(literal(value, "double"), DOUBLE, values=frozenset({value}))  # type: ignore[arg-type]

    def _name(self, node: ast.Name) -> Value:
        known = self.variables.get(node.id)
        if known is not None:
            kind = known.type
            text = kind.table if isinstance(kind, ArrayType) and kind.table else node.id
            self._read.add(node.id)
            return Value(text, kind, values=known.values)
        value = self.globals.get(node.id)
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = self.module.constant(node.id, value)
            kind = INT if isinstance(value, int) else DOUBLE
            return Value(text, kind, values=frozenset({float(value)}))
        raise self.fail(node, "unknown name")

    def _attribute(self, node: ast.Attribute) -> Value:
        inner = self.value(node.value)
        if isinstance(inner.type, TupleType) and inner.type.record:
            k = inner.type.record._fields.index(node.attr)
            return Value(f"{inner.text}.{node.attr}", inner.type.items[k])
        raise self.fail(node, "not the field of a named tuple")

    def _subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            kind = self.value(node.value.value).type
            assert isinstance(node.slice, ast.Constant)
            length = kind.shape[node.slice.value]
            return Value(str(length), INT, values=frozenset({float(length)}))
        array = self.value(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [self.value(each) for each in indices]
        if isinstance(array.type, TupleType):
            (values,) = (found[0].values,)
            if values is None or len(found) != 1:
                raise self.fail(node, "the index of a tuple must be a constant")
            k = int(next(iter(values)))
            return Value(f"{array.text}.{_fields(array.type)[k]}", array.type.items[k])
        if not isinstance(array.type, ArrayType) or len(found) != len(array.type.shape):
            raise self.fail(node, "an array is indexed entry by entry")
        if any(each.type not in (INT, BOOL) for each in found):
            raise self.fail(node, "an index is an integer")
        text = array.text + "".join(f"[{each.text}]" for each in found)
        values, columns = None, array.type.columns
        if len(found) == 2 and columns and found[1].values and len(found[1].values) == 1:
            values = columns[int(next(iter(found[1].values)))]
        elif len(found) == 1 and columns:
            values = columns[0]
        return Value(text, array.type.kind, values=values)

    def _unary(self, node: ast.UnaryOp) -> Value:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(f"!{_wrap(inner, 8)}", BOOL, 8)
        if isinstance(node.op, ast.USub):
            values = None if inner.values is None else frozenset(-x for x in inner.values)
            return Value(f"-{_wrap(inner, 9)}", inner.type, 8, values)  # 9: -(-x), not --x
        raise self.fail(node, "not in the subset that is translated")

    def _binary(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                with self._unread():
                    is_one = self.value(one).values == {1.0} and self.value(other).type == DOUBLE
                if is_one:
                    return self.value(other)
        left, right = self.value(node.left), self.value(node.right)
        symbol, rank = self._operator(node, node.op, left, right)
        kind = DOUBLE if DOUBLE in (left.type, right.type) else INT
        if isinstance(node.op, ast.Div) and kind == INT:
            left = _as_double(left)
            kind = DOUBLE
        text = f"{_wrap(left, rank)} {symbol} {_wrap(right, rank + 1)}"
        return Value(text, kind, rank)

    def _operator(
        self, node: ast.AST, operation: ast.operator, left: Value, right: Value
    ) -> tuple[str, int]:
        """Symbol and rank; floor division only of integers, which must not be negative."""
        if type(operation) not in _OPERATORS:
            raise self.fail(node, "not in the subset that is translated")
        if isinstance(operation, ast.FloorDiv) and DOUBLE in (left.type, right.type):
            raise self.fail(node, "floor division is translated for integers only")
        return _OPERATORS[type(operation)]

    def _boolean(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        kept = [each for each in node.values if self._known(each) is not is_and]
        if len(kept) == 1:
            return self.value(kept[0])
        symbol = " && " if is_and else " || "
        return Value(symbol.join(_wrap(self.value(each), 4) for each in kept), BOOL, 1)

    def _comparison(self, node: ast.Compare) -> Value:
        operands = [node.left, *node.comparators]
        values = [self.value(each) for each in operands]
        for each in operands[1:-1]:
            if any(isinstance(x, ast.Call) for x in ast.walk(each)):
                raise self.fail(node, "a call in a chain of comparisons would run twice")
        texts = [
            f"{_wrap(a, 5)} {_COMPARISONS[type(op)][0]} {_wrap(b, 5)}"
            for a, b, op in zip(values, values[1:], node.ops, strict=False)
        ]
        return Value(" && ".join(texts), BOOL, 4 if len(texts) == 1 else 1)

    def _choice(self, node: ast.IfExp) -> Value:
        known = self._known(node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse)
        one, other = self.value(node.body), self.value(node.orelse)
        text = f"{_wrap(self.value(node.test), 1)} ? {_wrap(one, 1)} : {_wrap(other, 1)}"
        return Value(text, self._joined(one.type, other.type), 0)

    def _call(self, node: ast.Call) -> Value:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id  # type: ignore[attr-defined]
        function = self.globals.get(name)
        if inspect.isfunction(getattr(function, "py_func", function)):
            return self._own_call(node, function)
        values = [self.value(each) for each in node.args]
        texts = ", ".join(each.text for each in values)
        if name in ("min", "max", "minimum", "maximum") and len(values) >= 2:
            call = "smaller_of" if name.startswith("min") else "larger_of"
            text = values[0].text
            for each in values[1:]:
                text = f"{call}({text}, {each.text})"
            return Value(text, DOUBLE)
        if name in _CALLS:
            return Value(f"{_CALLS[name]}({texts})", DOUBLE)
        if name in _TESTS:
            return Value(f"{name}({texts})", BOOL)
        if name == "int":
            return Value(f"(int){_wrap(values[0], 8)}", INT, 8)
        if name in ("float", "float64"):
            return values[0] if values[0].type == DOUBLE else _as_double(values[0])
        if isinstance(function, type) and hasattr(function, "_fields"):
            kind = TupleType(tuple(each.type for each in values), function)
            return Value(f"({self.module.structure(kind)}){{{texts}}}", kind)
        raise self.fail(node, "unknown function")

    def _own_call(self, node: ast.Call, function: Any) -> Value:
        """A call of another function in the subset, with those arguments that it needs in C."""
        with self._unread():
            types = tuple(self.value(each).type for each in node.args)
        found = self.module.translate(function, types)
        texts = [self.value(x).text for x, used in zip(node.args, found.used, strict=True) if used]
        return Value(f"{found.name}({', '.join(texts)})", found.result)


# Syntax trees


def _as_double(value: Value) -> Value:
    """Integers divide with a remainder in C, so a cast is needed."""
    return Value(f"(double){_wrap(value, 8)}", DOUBLE, 8)


def _wrap(value: Value, rank: int) -> str:
    return f"({value.text})" if value.rank < rank else value.text


def _fields(kind: TupleType) -> Sequence[str]:
    return kind.record._fields if kind.record else [f"x{k}" for k in range(len(kind.items))]


def _copied(node: Any, **changes: Any) -> Any:
    fields = {name: getattr(node, name) for name in node._fields} | changes
    return ast.copy_location(type(node)(**fields), node)


def _walk(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _stores(body: Iterable[ast.AST]) -> list[str]:
    """The names that are assigned, once for each assignment."""
    found = [x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
    return [name for name in found if name != "_"]


def _loads(body: Iterable[ast.AST]) -> set[str]:
    found = {x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    changed = {
        x.target.id
        for x in _walk(body)
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)
    }
    return found | changed


def _names(body: Iterable[ast.AST]) -> set[str]:
    return {x.id for x in _walk(body) if isinstance(x, ast.Name)}


def _stores_in_place(body: Iterable[ast.AST]) -> set[str]:
    return {
        x.value.id
        for x in _walk(body)
        if isinstance(x, ast.Subscript)
        and isinstance(x.ctx, ast.Store)
        and isinstance(x.value, ast.Name)
    }


def _loop_targets(statement: ast.AST) -> set[str]:
    return {
        x.target.id
        for x in ast.walk(statement)
        if isinstance(x, ast.For) and isinstance(x.target, ast.Name)
    }


def _without_unused(body: Sequence[ast.stmt], read: set[str]) -> list[ast.stmt]:
    """The statements without assignments to variables that are never read, and empty loops."""

    def is_unused(target: ast.expr) -> bool:
        return isinstance(target, ast.Name) and target.id not in read

    def cleaned(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for each in statements:
            if isinstance(each, ast.Assign):
                one = _cleaned_assignment(each, is_unused)
                kept += [one] if one is not None else []
            elif isinstance(each, ast.If):
                inner, other = cleaned(each.body), cleaned(each.orelse)
                if inner or other:
                    test = each.test if inner else ast.UnaryOp(ast.Not(), each.test)
                    kept.append(_copied(each, test=test, body=inner or other,
                                        orelse=other if inner else []))  # fmt: skip
            elif isinstance(each, ast.For | ast.While):
                if inner := cleaned(each.body):
                    kept.append(_copied(each, body=inner))
            else:
                kept.append(each)
        return kept

    return cleaned(body)


def _cleaned_assignment(
    statement: ast.Assign, is_unused: Callable[[ast.expr], bool]
) -> ast.Assign | None:
    targets = [target for target in statement.targets if not is_unused(target)]
    if not targets:
        return None
    first, value = targets[0], statement.value
    if isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = [
            pair for pair in zip(first.elts, value.elts, strict=True) if not is_unused(pair[0])
        ]
        if not pairs:
            return None
        if len(pairs) == 1:
            return _copied(statement, targets=[pairs[0][0]], value=pairs[0][1])
        left, right = zip(*pairs, strict=True)
        return _copied(
            statement,
            targets=[_copied(first, elts=list(left))],
            value=_copied(value, elts=list(right)),
        )
    if isinstance(first, ast.Tuple):
        blank = ast.Name("_", ast.Store())
        elements = [blank if is_unused(each) else each for each in first.elts]
        if all(isinstance(each, ast.Name) and each.id == "_" for each in elements):
            return None
        return _copied(statement, targets=[_copied(first, elts=elements)])
    return _copied(statement, targets=targets)


def _folded(line: str) -> list[str]:
    """A statement, in lines that are not too long, broken after commas or before operators."""
    if len(line) <= WIDTH:
        return [line]
    pad = " " * (len(line) - len(line.lstrip()))
    places = [m.start() for m in re.finditer(r"(?<=,) | (?=[-+*/?:] )| (?=&& )|(?<==) ", line)]
    fitting = [k for k in places if len(pad) < k <= WIDTH]
    if not fitting:
        return [line]
    start, rest = line[: fitting[-1]], line[fitting[-1] + 1 :]
    return [start, *_folded(pad + INDENT + rest)]


def _wrapped(start: str, items: Sequence[str], end: str) -> str:
    whole = start + ", ".join(items) + end
    if len(whole) <= WIDTH:
        return whole
    lines, line = [start], INDENT[:-1]
    for k, item in enumerate(items):
        text = item + ("," if k < len(items) - 1 else end)
        if len(line) + len(text) + 1 > WIDTH and line.strip():
            lines.append(line)
            line = INDENT[:-1]
        line += f" {text}"
    return "\n".join([*lines, line])
