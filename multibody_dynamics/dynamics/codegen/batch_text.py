# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""LLVM IR of loops over many states, several of them side by side in vector registers.

There are two loops, for two layouts of the arrays. In the first, each state is one row of every
array. A block of as many states as a register has lanes is transposed on its way into a buffer,
where a number of all these states is one vector, then evaluated by the function of the program, and
transposed back, both in registers, by interleaving vectors. In the second, each state is one
column: one number of neighbouring states already is one vector, and the function of the program
works on the arrays themselves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from .llvm_text import Body, Numbers, function_text, module_text
from .programs import Program

# writes code that moves some entries of all lanes: their buffer, the row of each lane, the first
# entry and how many
Tile = Callable[[str, Sequence[str], str, int], None]


class _Function:
    """What both functions have in common: blocks of states, and checks of the inputs."""

    def __init__(self, program: Program, name: str, lanes: int, shared: Sequence[str]) -> None:
        self.name, self.lanes = name, lanes
        self.vector, self.mask = f"<{lanes} x double>", f"<{lanes} x i1>"
        self.body = Body()
        inputs = {f"%in{k}": item for k, item in enumerate(program.inputs.items())}
        self.inputs = {a: size for a, (key, size) in inputs.items() if key not in shared}
        results = enumerate(program.results.values())
        self.results = {f"%out{k}": len(entries) for k, entries in results}
        self.arrays = [*inputs, *self.results]

    @contextmanager
    def blocks(self) -> Iterator[None]:
        """A loop in which %state is the first state of a block, and the return of the result.

        In each lane, %flaws is zero until an input is NaN or infinite, and NaN from then on.
        """
        body = self.body
        body.do(f"%flaws = alloca {self.vector}, align 64")
        body.do(f"store {self.vector} zeroinitializer, ptr %flaws")
        body.do("%some = icmp ult i64 %first, %end")
        body.do("br i1 %some, label %block, label %finish")
        body.label("block")
        body.do("%state = phi i64 [%first, %entry], [%state.next, %done]")
        yield
        body.do("br label %done")
        body.label("done")
        body.do(f"%state.next = add i64 %state, {self.lanes}")
        body.do("%more = icmp ult i64 %state.next, %end")
        body.do("br i1 %more, label %block, label %finish")
        body.label("finish")
        flaws = body.new(f"load {self.vector}, ptr %flaws")
        flawed = body.new(f"fcmp uno {self.vector} {flaws}, zeroinitializer")
        some = body.new(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.mask} {flawed})")
        body.do(f"ret i64 {body.new(f'zext i1 {some} to i64')}")

    def text(self, suffix: str, *numbers: str) -> str:
        """The function, which takes the arrays and `numbers`."""
        given = ", ".join([*(f"ptr {a}" for a in self.arrays), *(f"i64 {x}" for x in numbers)])
        lines = "\n".join(self.body.lines)
        return f"define i64 @{self.name}.{suffix}({given}) nounwind {{\nentry:\n{lines}\n}}\n"

    def call(self, places: Sequence[str], stride: str) -> None:
        """Call the function of the program."""
        given = [*(f"ptr {place}" for place in places), *[f"i64 {stride}"] * 2]
        self.body.do(f"call void @{self.name}({', '.join(given)})")

    def at(self, array: str, *offset: str) -> str:
        """The address of an entry, whose place is the product of `offset`."""
        place = offset[0]
        for factor in offset[1:]:
            place = self.body.new(f"mul i64 {place}, {factor}")
        return self.body.new(f"getelementptr double, ptr {array}, i64 {place}")

    def check(self, values: Sequence[str]) -> None:
        """Add 0 times these numbers, which is 0 or NaN, to %flaws."""
        numbers, total = Numbers(self.body, self.lanes), "zeroinitializer"
        for value in values:
            total = numbers.binary("fadd", total, numbers.binary("fmul", value, "zeroinitializer"))
        before = self.body.new(f"load {self.vector}, ptr %flaws")
        self.body.do(f"store {self.vector} {numbers.binary('fadd', before, total)}, ptr %flaws")


class _Rows(_Function):
    """Writes the function for states in rows."""

    def write(self) -> str:
        self.buffers = {
            array: self.body.new(f"alloca [{count * self.lanes} x double], align 64")
            for array, count in (self.inputs | self.results).items()
        }
        self.body.do("%final = sub i64 %end, 1")
        with self.blocks():
            rows = []
            for lane in range(self.lanes):  # the last block is filled up with the last state
                ahead = self.body.new(f"add i64 %state, {lane}")
                rows.append(self.body.new(f"call i64 @llvm.umin.i64(i64 {ahead}, i64 %final)"))
            self._transpose(self.inputs, rows, self._gather)
            self.call([self.buffers.get(array, array) for array in self.arrays], str(self.lanes))
            self._transpose(self.results, rows, self._scatter)
        return self.text("batch", "%first", "%end")

    def _transpose(self, arrays: Mapping[str, int], rows: Sequence[str], tile: Tile) -> None:
        """Write `tile` for as many entries of each array at a time as there are lanes."""
        for array, count in arrays.items():
            starts = [self.at(array, row, str(count)) for row in rows]
            full, rest = divmod(count, self.lanes)
            if full:
                with self._each(array[1:], full) as k:
                    first = self.body.new(f"mul i64 {k}, {self.lanes}")
                    tile(self.buffers[array], starts, first, self.lanes)
            if rest:
                tile(self.buffers[array], starts, str(full * self.lanes), rest)

    @contextmanager
    def _each(self, name: str, count: int) -> Iterator[str]:
        """A loop over 0 ... count - 1."""
        body, k = self.body, f"%{name}.k"
        body.do(f"br label %before.{name}")
        body.label(f"before.{name}")
        body.do(f"br label %each.{name}")
        body.label(f"each.{name}")
        body.do(f"{k} = phi i64 [0, %before.{name}], [{k}.next, %each.{name}]")
        yield k
        body.do(f"{k}.next = add i64 {k}, 1")
        body.do(f"{k}.more = icmp ult i64 {k}.next, {count}")
        body.do(f"br i1 {k}.more, label %each.{name}, label %after.{name}")
        body.label(f"after.{name}")

    def _gather(self, buffer: str, starts: Sequence[str], first: str, width: int) -> None:
        call = f"call {self.vector} @llvm.masked.load.v{self.lanes}f64.p0"
        after = f"i32 8, {self._first(width)}, {self.vector} zeroinitializer"
        rows = [self.body.new(f"{call}(ptr {self.at(row, first)}, {after})") for row in starts]
        self.check(rows)
        start = self.at(buffer, first, str(self.lanes))
        for k, column in enumerate(self._transposed(rows)[:width]):
            self.body.do(f"store {self.vector} {column}, ptr {self.at(start, str(k * self.lanes))}")

    def _scatter(self, buffer: str, starts: Sequence[str], first: str, width: int) -> None:
        start = self.at(buffer, first, str(self.lanes))
        columns = [
            self.body.new(f"load {self.vector}, ptr {self.at(start, str(k * self.lanes))}")
            for k in range(width)
        ]
        rows = self._transposed([*columns, *["poison"] * (self.lanes - width)])
        call = f"call void @llvm.masked.store.v{self.lanes}f64.p0({self.vector}"
        for row, place in zip(rows, starts, strict=True):
            self.body.do(f"{call} {row}, ptr {self.at(place, first)}, i32 8, {self._first(width)})")

    def _first(self, width: int) -> str:
        """A mask of the first lanes."""
        return f"{self.mask} <{', '.join(f'i1 {int(k < width)}' for k in range(self.lanes))}>"

    def _transposed(self, rows: list[str]) -> list[str]:
        """As many vectors as lanes, transposed: their halves interleaved, log2(lanes) times."""
        half = self.lanes // 2
        for _ in range(half.bit_length()):
            pairs = zip(rows[:half], rows[half:], strict=True)
            rows = [self._interleaved(*pair, start) for pair in pairs for start in (0, half)]
        return rows

    def _interleaved(self, a: str, b: str, start: int) -> str:
        """a[start], b[start], a[start + 1], ..."""
        picks = [start + k // 2 + k % 2 * self.lanes for k in range(self.lanes)]
        mask = ", ".join(f"i32 {pick}" for pick in picks)
        return self.body.new(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{self.lanes} x i32> <{mask}>"
        )


class _Columns(_Function):
    """Writes the function for states in columns."""

    def write(self) -> str:
        self.body.do(f"%last = sub i64 %end, {self.lanes}")  # a last block may overlap another one
        with self.blocks():
            state = self.body.new("call i64 @llvm.umin.i64(i64 %state, i64 %last)")
            moving = self.inputs | self.results
            places = {a: self.at(a, state) if a in moving else a for a in self.arrays}
            for array, count in self.inputs.items():
                rows = (self.at(places[array], str(k), "%count") for k in range(count))
                self.check([self.body.new(f"load {self.vector}, ptr {r}, align 8") for r in rows])
            self.call(list(places.values()), "%count")
        return self.text("columns", "%first", "%end", "%count")


def batch_module(program: Program, name: str, lanes: int, shared: Sequence[str] = ()) -> str:
    """A module with two functions that evaluate a program for many states.

    `name`.batch takes the addresses of the inputs and then of the results, arrays (N, entries) row
    by row, and two numbers: the first state, and the one after the last. `name`.columns takes
    arrays (entries, N), and as a third number N, which must not be less than `lanes`; its last
    block of states may begin before the first state. Inputs in `shared` are single rows for all
    states. Both return 0, or another number if an input is NaN or infinite. `lanes` states, a power
    of two from two on, are evaluated at a time, counted from the first.
    """
    text = function_text(program, name, lanes=lanes, shared=shared)
    loops = [kind(program, name, lanes, shared).write() for kind in (_Rows, _Columns)]
    vector, mask = f"<{lanes} x double>", f"<{lanes} x i1>"
    declared = (
        "declare i64 @llvm.umin.i64(i64, i64)\n"
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mask})\n"
        f"declare {vector} @llvm.masked.load.v{lanes}f64.p0(ptr, i32, {mask}, {vector})\n"
        f"declare void @llvm.masked.store.v{lanes}f64.p0({vector}, ptr, i32, {mask})\n"
    )
    return module_text(text, *loops, declared, lanes=lanes, width=1)
