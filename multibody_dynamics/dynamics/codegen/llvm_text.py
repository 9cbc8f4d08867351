# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""LLVM IR of a program: one function of straight-line code, for one state or for several lanes.

With one lane, inputs and results are arrays of doubles. With more lanes, every number of a state is
a vector register with the values of that many states. The only fast-math flag is `contract`:
products and sums may be fused, but never reordered.

Sines and cosines are computed several angles at a time, by the polynomials of fdlibm: first those
of inputs and of their multiples, then, where one of a computed angle is needed, those of all angles
that are known there. If an angle is larger than `LARGEST_ANGLE`, or not finite, the mathematical
library takes over.
"""

import struct
from collections.abc import Iterator, Sequence

from .expressions import PAUSE_AFTER, Operation
from .programs import TRIGONOMETRY, Program, Result

LARGEST_ANGLE = 1e5  # rad; the quotient by pi/2 must stay below 2^20
BLOCK = 400  # nodes; the code generator of LLVM needs more than proportional time for larger blocks
ARITHMETIC = {
    Operation.ADD: "fadd",
    Operation.SUBTRACT: "fsub",
    Operation.MULTIPLY: "fmul",
    Operation.DIVIDE: "fdiv",
}

# fdlibm: pi/2 as the sum of three numbers, of which the first two have 33 bits, so that their
# products with small integers are exact (e_rem_pio2.c), and the polynomials (k_sin.c, k_cos.c)
INVERSE_HALF_PI = 6.36619772367581382433e-01
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
TO_INTEGER = 6755399441055744.0  # 1.5 2^52: adding it rounds to an integer in the lowest bits

DECLARATIONS = """declare double @sin(double)
declare double @cos(double)
declare double @llvm.fabs.f64(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def literal(value: float) -> str:
    """A double in LLVM IR, exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Body:
    """The lines of a function, with numbered values."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def new(self, text: str) -> str:
        """A new value with this right-hand side."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")


class Numbers:
    """Arithmetic in IR on vectors of `lanes` doubles, or on doubles."""

    def __init__(self, body: Body, lanes: int) -> None:
        self.body, self.lanes = body, lanes
        self.type = "double" if lanes == 1 else f"<{lanes} x double>"
        self.integer = "i64" if lanes == 1 else f"<{lanes} x i64>"

    def constant(self, value: float) -> str:
        return self._spread("double", literal(value))

    def whole(self, value: int) -> str:
        return self._spread("i64", str(value))

    def _spread(self, kind: str, text: str) -> str:
        if self.lanes == 1:
            return text
        return "<" + ", ".join([f"{kind} {text}"] * self.lanes) + ">"

    def binary(self, operation: str, a: str, b: str) -> str:
        """A floating-point operation, fused with others where the processor can."""
        return self.body.new(f"{operation} contract {self.type} {a}, {b}")

    def exact(self, operation: str, a: str, b: str) -> str:
        """A floating-point operation that is rounded as it is written."""
        return self.body.new(f"{operation} {self.type} {a}, {b}")

    def bits(self, operation: str, a: str, b: int) -> str:
        return self.body.new(f"{operation} {self.integer} {a}, {self.whole(b)}")

    def cast(self, a: str, to_integer: bool) -> str:
        kinds = (self.type, self.integer) if to_integer else (self.integer, self.type)
        return self.body.new(f"bitcast {kinds[0]} {a} to {kinds[1]}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        total = self.constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            product = self.binary("fmul", x, total)
            total = self.binary("fadd", product, self.constant(coefficient))
        return total

    def all_within(self, x: str, largest: float) -> str:
        """Whether |x| <= largest in every lane; false for NaN."""
        suffix = "f64" if self.lanes == 1 else f"v{self.lanes}f64"
        size = self.body.new(f"call {self.type} @llvm.fabs.{suffix}({self.type} {x})")
        small = self.body.new(f"fcmp ole {self.type} {size}, {self.constant(largest)}")
        if self.lanes == 1:
            return small
        kind = f"<{self.lanes} x i1>"
        return self.body.new(f"call i1 @llvm.vector.reduce.and.v{self.lanes}i1({kind} {small})")

    def sine_and_cosine(self, x: str) -> tuple[str, str]:
        """Sine and cosine of |x| <= LARGEST_ANGLE, each with an error below one unit in the last
        place: reduction to |y| <= pi/4 by a multiple of pi/2, and the polynomials of fdlibm."""
        quotient = self.exact("fmul", x, self.constant(INVERSE_HALF_PI))
        shifted = self.exact("fadd", quotient, self.constant(TO_INTEGER))
        quadrant = self.cast(shifted, to_integer=True)
        count = self.exact("fsub", shifted, self.constant(TO_INTEGER))
        first, second, third = (self.exact("fmul", count, self.constant(part)) for part in HALF_PI)
        t = self.exact("fsub", x, first)
        r = self.exact("fsub", t, second)
        lost = self.exact("fsub", self.exact("fsub", t, r), second)
        w = self.exact("fsub", third, lost)
        y = self.exact("fsub", r, w)  # the angle is y + rest
        rest = self.exact("fsub", self.exact("fsub", r, y), w)
        sine, cosine = self._sine(y, rest), self._cosine(y, rest)
        odd = self.body.new(
            f"icmp ne {self.integer} {self.bits('and', quadrant, 1)}, {self.whole(0)}"
        )
        kind = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
        choose = f"select {kind} {odd}, {self.type}"
        sine, cosine = (
            self.body.new(f"{choose} {cosine}, {self.type} {sine}"),
            self.body.new(f"{choose} {sine}, {self.type} {cosine}"),
        )
        return self._signed(sine, quadrant), self._signed(cosine, self.bits("add", quadrant, 1))

    def _sine(self, y: str, rest: str) -> str:
        z = self.binary("fmul", y, y)
        cube = self.binary("fmul", z, y)
        tail = self.polynomial(z, SINE[1:])
        half = self.binary("fmul", rest, self.constant(0.5))
        inner = self.binary("fsub", half, self.binary("fmul", cube, tail))
        inner = self.binary("fsub", self.binary("fmul", z, inner), rest)
        inner = self.binary("fsub", inner, self.binary("fmul", cube, self.constant(SINE[0])))
        return self.exact("fsub", y, inner)

    def _cosine(self, y: str, rest: str) -> str:
        z = self.binary("fmul", y, y)
        tail = self.binary("fmul", z, self.polynomial(z, COSINE))
        half = self.exact("fmul", z, self.constant(0.5))
        w = self.exact("fsub", self.constant(1.0), half)
        lost = self.exact("fsub", self.exact("fsub", self.constant(1.0), w), half)
        small = self.binary("fsub", self.binary("fmul", z, tail), self.binary("fmul", y, rest))
        return self.exact("fadd", w, self.exact("fadd", lost, small))

    def _signed(self, x: str, quadrant: str) -> str:
        """-x where the second bit of the quadrant is set."""
        sign = self.bits("shl", self.bits("and", quadrant, 2), 62)
        flipped = self.body.new(f"xor {self.integer} {self.cast(x, to_integer=True)}, {sign}")
        return self.cast(flipped, to_integer=False)


class _Function:
    """Writes the function of a program."""

    def __init__(self, program: Program, lanes: int, width: int, shared: Sequence[str]) -> None:
        self.program, self.lanes, self.width = program, lanes, width
        self.body = Body()
        self.numbers = Numbers(self.body, lanes)
        self.groups = list(program.inputs)
        self.shared = {self.groups.index(name) for name in shared if name in program.inputs}
        self.stores: dict[int, list[tuple[int, int, Result]]] = {}
        self.values: dict[int, str] = {}  # in this block; inputs and constants are loaded again
        self.trig: dict[int, tuple[int, int]] = {}  # angle: its wave, place in %sines and %cosines
        self.angles = program.angles()  # that are still to come
        self.waves = 0

    def write(self, name: str) -> str:
        results = enumerate(self.program.results.values())
        constants = []
        for group, entries in results:
            for k, entry in enumerate(entries):
                if entry.node is None:
                    constants.append((group, k, entry))
                else:
                    self.stores.setdefault(entry.node, []).append((group, k, entry))
        self.body.label("entry")
        self._trigonometry([k for k in self.angles if self._is_given(k)])
        for each in constants:
            self._store(*each)
        self._arithmetic()
        self.body.do("ret void")
        inputs = [f"ptr noalias nocapture readonly %in{k}" for k in range(len(self.groups))]
        outputs = [f"ptr noalias nocapture %out{k}" for k in range(len(self.program.results))]
        stride = [] if self.lanes == 1 else ["i64 %stride_in", "i64 %stride_out"]
        arguments = ", ".join([*inputs, *outputs, *stride])
        lines = "\n".join(self.body.lines)
        return f"define void @{name}({arguments}) nounwind {{\n{lines}\n}}\n"

    def _address(self, array: str, entry: int, stride: str | None) -> str:
        if self.lanes == 1 or stride is None:
            return self.body.new(f"getelementptr inbounds double, ptr {array}, i64 {entry}")
        offset = self.body.new(f"mul i64 {stride}, {entry}")
        return self.body.new(f"getelementptr inbounds double, ptr {array}, i64 {offset}")

    def _load(self, kind: str, address: str) -> str:
        return self.body.new(f"load {kind}, ptr {address}, align 8")

    def _operand(self, node: int) -> str:
        """The value of a node; inputs and constants where they are needed, so that they are
        operands in memory and occupy no register."""
        known = self.values.get(node)
        if known is not None:
            return known
        kind, first, second = self.program.nodes[node]
        if kind is Operation.CONSTANT:
            return self.numbers.constant(first)
        if first not in self.shared:
            value = self._load(
                self.numbers.type, self._address(f"%in{first}", second, "%stride_in")
            )
        else:
            value = self._load("double", self._address(f"%in{first}", second, None))
            if self.lanes > 1:
                kinds = f"<{self.lanes} x double>"
                value = self.body.new(f"insertelement {kinds} poison, double {value}, i64 0")
                value = self.body.new(
                    f"shufflevector {kinds} {value}, {kinds} poison, "
                    f"<{self.lanes} x i32> zeroinitializer"
                )
        self.values[node] = value
        return value

    def _store(self, group: int, k: int, entry: Result) -> None:
        value = (
            self.numbers.constant(entry.constant)
            if entry.node is None
            else self._operand(entry.node)
        )
        if entry.sign < 0:
            value = self.body.new(f"fneg {self.numbers.type} {value}")
        address = self._address(f"%out{group}", k, "%stride_out")
        self.body.do(f"store {self.numbers.type} {value}, ptr {address}, align 8")

    def _arithmetic(self) -> None:
        for k, (kind, first, second) in enumerate(self.program.nodes):
            if k % PAUSE_AFTER == 0:
                self.program.pause()
            if k % BLOCK == 0:
                self._next_block(k // BLOCK)
            if kind in ARITHMETIC:
                operands = self._operand(first), self._operand(second)
                self.values[k] = self.numbers.binary(ARITHMETIC[kind], *operands)
            elif kind in TRIGONOMETRY:
                if first not in self.trig:
                    self._trigonometry([angle for angle in self.angles if angle < k])
                name = "sines" if kind is Operation.SINE else "cosines"
                wave, place = self.trig[first]
                address = self.body.new(
                    f"getelementptr inbounds double, ptr %{name}{wave}, i64 {place * self.lanes}"
                )
                self.values[k] = self._load(self.numbers.type, address)
            for each in self.stores.get(k, ()):
                self._store(*each)

    def _next_block(self, number: int) -> None:
        inputs = (Operation.INPUT, Operation.CONSTANT)
        self.values = {
            node: value
            for node, value in self.values.items()
            if self.program.nodes[node][0] not in inputs
        }
        self.body.do(f"br label %block{number}")
        self.body.label(f"block{number}")

    def _is_given(self, angle: int) -> bool:
        """Whether a node is an input, or an input times a number."""
        kind, *arguments = self.program.nodes[angle]
        kinds = {self.program.nodes[k][0] for k in arguments} if kind is Operation.MULTIPLY else ()
        return kind is Operation.INPUT or kinds == {Operation.INPUT, Operation.CONSTANT}

    def _trigonometry(self, angles: list[int]) -> None:
        """Fill %sines and %cosines (angles, lanes) of a wave, and branch to %computed."""
        if not angles:
            return
        wave, self.waves = self.waves, self.waves + 1
        self.trig |= {angle: (wave, place) for place, angle in enumerate(angles)}
        self.angles = [angle for angle in self.angles if angle not in self.trig]
        size = self.width if self.lanes == 1 else self.lanes
        vectors = Numbers(self.body, size)
        chunks = list(self._angle_vectors(angles, size))
        count = len(chunks) * size
        for name in ("angles", "sines", "cosines"):
            place = f"  %{name}{wave} = alloca [{count} x double], align 64"
            self.body.lines.insert(
                1, place
            )  # in the first block, where it is no change of the stack
        small = "true"
        for chunk in chunks:
            inside = vectors.all_within(chunk, LARGEST_ANGLE)
            small = self.body.new(f"and i1 {small}, {inside}")
        self.body.do(f"br i1 {small}, label %small{wave}, label %large{wave}")
        self.body.label(f"small{wave}")
        for k, chunk in enumerate(chunks):
            sine, cosine = vectors.sine_and_cosine(chunk)
            self._store_chunk(f"sines{wave}", k, vectors.type, sine, size)
            self._store_chunk(f"cosines{wave}", k, vectors.type, cosine, size)
        self.body.do(f"br label %computed{wave}")
        self.body.label(f"large{wave}")
        for k, chunk in enumerate(chunks):
            self._store_chunk(f"angles{wave}", k, vectors.type, chunk, size)
        self._library_loop(wave, count)
        self.body.label(f"computed{wave}")

    def _angle_vectors(self, angles: Sequence[int], size: int) -> Iterator[str]:
        """The angles as vectors: of one angle each, or with one lane, of several angles."""
        values = []
        for angle in angles:
            kind, first, second = self.program.nodes[angle]
            if kind is Operation.MULTIPLY and angle not in self.values:
                values.append(
                    self.numbers.exact("fmul", self._operand(first), self._operand(second))
                )
            else:
                values.append(self._operand(angle))
        if self.lanes > 1 or size == 1:
            yield from values
            return
        for start in range(0, len(values), size):
            vector = "zeroinitializer"
            for k, value in enumerate(values[start : start + size]):
                vector = self.body.new(
                    f"insertelement <{size} x double> {vector}, double {value}, i64 {k}"
                )
            yield vector

    def _store_chunk(self, name: str, k: int, kind: str, value: str, size: int) -> None:
        address = self.body.new(f"getelementptr inbounds double, ptr %{name}, i64 {k * size}")
        self.body.do(f"store {kind} {value}, ptr {address}, align 8")

    def _library_loop(self, wave: int, count: int) -> None:
        """Sines and cosines of all %angles of a wave by the mathematical library."""
        body = self.body
        body.do(f"br label %each{wave}")
        body.label(f"each{wave}")
        body.do(f"%at{wave} = phi i64 [0, %large{wave}], [%next{wave}, %each{wave}]")
        where = {
            name: body.new(f"getelementptr inbounds double, ptr %{name}{wave}, i64 %at{wave}")
            for name in ("angles", "sines", "cosines")
        }
        angle = self._load("double", where["angles"])
        for name, function in (("sines", "sin"), ("cosines", "cos")):
            value = body.new(f"call double @{function}(double {angle})")
            body.do(f"store double {value}, ptr {where[name]}, align 8")
        body.do(f"%next{wave} = add i64 %at{wave}, 1")
        more = body.new(f"icmp ult i64 %next{wave}, {count}")
        body.do(f"br i1 {more}, label %each{wave}, label %computed{wave}")


def function_text(
    program: Program, name: str, *, lanes: int = 1, width: int = 1, shared: Sequence[str] = ()
) -> str:
    """The function `name` in LLVM IR.

    Its arguments are one pointer for each group of inputs and then one for each group of results.
    With more than one lane, two strides follow: entry k of lane l of the inputs is at the place
    k stride_in + l of its array, and likewise for the results. Inputs in `shared` are the same
    for all lanes. With one lane, sines and cosines are computed `width` at a time.
    """
    return _Function(program, lanes, width, shared).write(name)


def table_text(
    program: Program, name: str, *, condition: str = "", memory: tuple[str, str] | None = None
) -> str:
    """The function `name`.table, which takes the addresses of all arguments of `name` in a table.

    For functions of one lane; the order is that of the arguments. It returns true if all entries
    of the result `condition` are within -1 and 1, and then copies a result to an input: those named
    in `memory`."""
    names = [*program.inputs, *program.results]
    body, valid = Body(), "true"
    arrays = [
        body.new(f"load ptr, ptr {body.new(f'getelementptr ptr, ptr %table, i64 {k}')}")
        for k in range(len(names))
    ]
    body.do(f"call void @{name}({', '.join(f'ptr {array}' for array in arrays)})")
    numbers = Numbers(body, 1)
    for k in range(len(program.results.get(condition, ()))):
        place = body.new(f"getelementptr double, ptr {arrays[names.index(condition)]}, i64 {k}")
        within = numbers.all_within(body.new(f"load double, ptr {place}"), 1.0)
        valid = body.new(f"and i1 {valid}, {within}")
    body.do(f"br i1 {valid}, label %keep, label %end")
    body.label("keep")
    if memory:
        source, target = (arrays[names.index(each)] for each in memory)
        size = 8 * program.inputs[memory[1]]
        body.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)"
        )
    body.do("br label %end")
    body.label("end")
    body.do(f"ret i1 {valid}")
    text = "\n".join(body.lines)
    return f"define i1 @{name}.table(ptr %table) nounwind {{\n{text}\n}}\n"


def module_text(*functions: str, lanes: int, width: int) -> str:
    """A complete module with these functions."""
    size = max(lanes, width)
    parts = [DECLARATIONS]
    if size > 1:
        parts.append(f"declare <{size} x double> @llvm.fabs.v{size}f64(<{size} x double>)\n")
        parts.append(f"declare i1 @llvm.vector.reduce.and.v{size}i1(<{size} x i1>)\n")
    return "".join([*parts, *functions])
