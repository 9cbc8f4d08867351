# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""LLVM IR of loops over many states, several of them side by side in vector registers.

There are two loops, for two layouts of the arrays. In the first, each state is one row of every
array. A block of as many states as a register has lanes is transposed on its way into a buffer,
where a number of all these states is one vector, then evaluated by the function of the program, and
transposed back. In the second, each state is one column: one number of neighbouring states already
is one vector, and the function of the program works on the arrays themselves.
"""

from collections.abc import Sequence

from .llvm_text import function_text, module_text
from .programs import Program

EXPONENT = 0x7FF0000000000000  # these bits are all set in NaN and in infinity


class _Function:
    """What both functions have in common: blocks of states, loops over the entries of arrays."""

    def __init__(self, name: str, lanes: int) -> None:
        self.name, self.lanes = name, lanes
        self.vector, self.bits = f"<{lanes} x double>", f"<{lanes} x i64>"
        self.lines: list[str] = []

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def begin(self, name: str, before: str) -> None:
        """The head of a loop over the entries of an array, entered from the label `before`."""
        self.do(f"br label %each.{name}")
        self.lines.append(f"each.{name}:")
        self.do(f"%{name}.k = phi i64 [0, %{before}], [%{name}.next, %each.{name}]")

    def end(self, name: str, count: int) -> str:
        """The end of this loop; returns the label after it."""
        self.do(f"%{name}.next = add i64 %{name}.k, 1")
        self.do(f"%{name}.more = icmp ult i64 %{name}.next, {count}")
        self.do(f"br i1 %{name}.more, label %each.{name}, label %after.{name}")
        self.lines.append(f"after.{name}:")
        return f"after.{name}"

    def flag(self, name: str) -> None:
        """Note in the flaws of an array which of the lanes in its `bits` are NaN or infinite."""
        mask = "<" + ", ".join([f"i64 {EXPONENT}"] * self.lanes) + ">"
        self.do(f"%{name}.exponent = and {self.bits} %{name}.bits, {mask}")
        self.do(f"%{name}.flawed = icmp eq {self.bits} %{name}.exponent, {mask}")
        self.do(f"%{name}.flag = zext <{self.lanes} x i1> %{name}.flawed to {self.bits}")
        self.do(f"%{name}.flaws = or {self.bits} %{name}.before, %{name}.flag")

    def finished(self, counter: str, flaws: str) -> str:
        """The function, with its last blocks: `counter` advances to the next states; the result is
        not zero if there were flaws."""
        self.do("br label %done")
        self.lines.append("done:")
        self.do(f"%flaws.next = or {self.bits} {flaws}, zeroinitializer")
        self.do(f"{counter}.next = add i64 {counter}, {self.lanes}")
        self.do(f"%more = icmp ult i64 {counter}.next, %end")
        self.do("br i1 %more, label %block, label %finish")
        self.lines.append("finish:")
        self.do(f"%all = phi {self.bits} [zeroinitializer, %entry], [%flaws.next, %done]")
        self.do(f"%any = call i64 @llvm.vector.reduce.or.v{self.lanes}i64({self.bits} %all)")
        self.do("ret i64 %any")
        return "\n".join([*self.lines, "}", ""])


class _Loop(_Function):
    """Writes the function for states in rows."""

    def __init__(self, program: Program, name: str, lanes: int, shared: Sequence[str]) -> None:
        super().__init__(name, lanes)
        self.inputs = list(program.inputs.items())
        self.results = [(key, len(entries)) for key, entries in program.results.items()]
        self.arrays = [f"%in{k}" for k in range(len(self.inputs))]
        self.arrays += [f"%out{k}" for k in range(len(self.results))]
        self.buffers = {  # array: (buffer, entries); inputs that all states share have none
            array: (f"%buffer.{array[1:]}", count)
            for array, (key, count) in zip(self.arrays, self.inputs + self.results, strict=True)
            if key not in shared and count
        }

    def write(self) -> str:
        parameters = ", ".join([*(f"ptr {a}" for a in self.arrays), "i64 %first", "i64 %end"])
        self.lines = [f"define i64 @{self.name}.batch({parameters}) nounwind {{", "entry:"]
        for buffer, count in self.buffers.values():
            self.do(f"{buffer} = alloca [{count * self.lanes} x double], align 64")
        self.do("%final = sub i64 %end, 1")
        self.do("%some = icmp ult i64 %first, %end")
        self.do("br i1 %some, label %block, label %finish")
        self.lines.append("block:")
        self.do("%state = phi i64 [%first, %entry], [%state.next, %done]")
        self.do(f"%flaws = phi {self.bits} [zeroinitializer, %entry], [%flaws.next, %done]")
        for lane in range(self.lanes):  # the last block is filled up with the last state
            self.do(f"%ahead{lane} = add i64 %state, {lane}")
            self.do(f"%row{lane} = call i64 @llvm.umin.i64(i64 %ahead{lane}, i64 %final)")
        before, flaws = "block", "%flaws"
        for array in self.arrays:
            if array.startswith("%in") and array in self.buffers:
                before, flaws = self._gather(array, before, flaws)
        places = (self.buffers[a][0] if a in self.buffers else a for a in self.arrays)
        given = [*(f"ptr {place}" for place in places), *[f"i64 {self.lanes}"] * 2]
        self.do(f"call void @{self.name}({', '.join(given)})")
        for array in self.arrays:
            if array.startswith("%out") and array in self.buffers:
                before = self._scatter(array, before)
        return self.finished("%state", flaws)

    def _start(self, array: str, before: str) -> tuple[str, str, int]:
        """The head of a loop over the entries of an array, and the rows of the lanes."""
        buffer, count = self.buffers[array]
        name = array[1:]
        for lane in range(self.lanes):
            self.do(f"%offset.{name}.{lane} = mul i64 %row{lane}, {count}")
            self.do(
                f"%{name}.row{lane} = getelementptr double, ptr {array}, i64 %offset.{name}.{lane}"
            )
        self.begin(name, before)
        return name, buffer, count

    def _place(self, name: str, buffer: str) -> None:
        self.do(f"%{name}.place = mul i64 %{name}.k, {self.lanes}")
        self.do(f"%{name}.target = getelementptr double, ptr {buffer}, i64 %{name}.place")

    def _gather(self, array: str, before: str, flaws: str) -> tuple[str, str]:
        name, buffer, count = self._start(array, before)
        new = f"%{name}.flaws"
        self.do(f"%{name}.before = phi {self.bits} [{flaws}, %{before}], [{new}, %each.{name}]")
        value = "poison"
        for lane in range(self.lanes):
            number, next_value = f"%{name}.number{lane}", f"%{name}.v{lane}"
            self.do(
                f"%{name}.from{lane} = getelementptr double, ptr %{name}.row{lane}, i64 %{name}.k"
            )
            self.do(f"{number} = load double, ptr %{name}.from{lane}, align 8")
            self.do(
                f"{next_value} = insertelement {self.vector} {value}, double {number}, i64 {lane}"
            )
            value = next_value
        self.do(f"%{name}.bits = bitcast {self.vector} {value} to {self.bits}")
        self.flag(name)
        self._place(name, buffer)
        self.do(f"store {self.vector} {value}, ptr %{name}.target, align 8")
        return self.end(name, count), new

    def _scatter(self, array: str, before: str) -> str:
        name, buffer, count = self._start(array, before)
        self._place(name, buffer)
        self.do(f"%{name}.value = load {self.vector}, ptr %{name}.target, align 8")
        for lane in range(self.lanes):
            self.do(
                f"%{name}.number{lane} = extractelement {self.vector} %{name}.value, i64 {lane}"
            )
            self.do(
                f"%{name}.to{lane} = getelementptr double, ptr %{name}.row{lane}, i64 %{name}.k"
            )
            self.do(f"store double %{name}.number{lane}, ptr %{name}.to{lane}, align 8")
        return self.end(name, count)


class _Columns(_Function):
    """Writes the function for states in columns."""

    def __init__(self, program: Program, name: str, lanes: int, shared: Sequence[str]) -> None:
        super().__init__(name, lanes)
        inputs = {f"%in{k}": item for k, item in enumerate(program.inputs.items())}
        self.inputs = {array: size for array, (key, size) in inputs.items() if key not in shared}
        self.fixed = [array for array, (key, _) in inputs.items() if key in shared]
        self.arrays = [*inputs, *(f"%out{k}" for k in range(len(program.results)))]

    def write(self) -> str:
        parameters = ", ".join(f"ptr {array}" for array in self.arrays)
        parameters += ", i64 %first, i64 %end, i64 %count"
        self.lines = [f"define i64 @{self.name}.columns({parameters}) nounwind {{", "entry:"]
        self.do(f"%last = sub i64 %end, {self.lanes}")  # the last block may overlap another one
        self.do("%some = icmp ult i64 %first, %end")
        self.do("br i1 %some, label %block, label %finish")
        self.lines.append("block:")
        self.do("%ahead = phi i64 [%first, %entry], [%ahead.next, %done]")
        self.do(f"%flaws = phi {self.bits} [zeroinitializer, %entry], [%flaws.next, %done]")
        self.do("%state = call i64 @llvm.umin.i64(i64 %ahead, i64 %last)")
        places = []
        for array in self.arrays:
            if array in self.fixed:
                places.append(array)
                continue
            place = f"%at.{array[1:]}"
            self.do(f"{place} = getelementptr double, ptr {array}, i64 %state")
            places.append(place)
        before, flaws = "block", "%flaws"
        for array, size in self.inputs.items():
            if size:
                before, flaws = self._check(array, size, before, flaws)
        given = [*(f"ptr {place}" for place in places), *["i64 %count"] * 2]
        self.do(f"call void @{self.name}({', '.join(given)})")
        return self.finished("%ahead", flaws)

    def _check(self, array: str, size: int, before: str, flaws: str) -> tuple[str, str]:
        """Collect in `flaws` whether a number of these states is NaN or infinite."""
        name = array[1:]
        new = f"%{name}.flaws"
        self.begin(name, before)
        self.do(f"%{name}.before = phi {self.bits} [{flaws}, %{before}], [{new}, %each.{name}]")
        self.do(f"%{name}.row = mul i64 %{name}.k, %count")
        self.do(f"%{name}.place = getelementptr double, ptr %at.{name}, i64 %{name}.row")
        self.do(f"%{name}.bits = load {self.bits}, ptr %{name}.place, align 8")
        self.flag(name)
        return self.end(name, size), new


def batch_module(program: Program, name: str, lanes: int, shared: Sequence[str] = ()) -> str:
    """A module with two functions that evaluate a program for many states.

    `name`.batch takes the addresses of the inputs and then of the results, arrays (N, entries) row
    by row, and two numbers: the first state, and the one after the last. `name`.columns takes
    arrays (entries, N), and as a third number N, which must not be less than `lanes`; its last
    block of states may begin before the first state. Inputs in `shared` are single rows for all
    states. Both return 0, or another number if an input is NaN or infinite. `lanes` states, at
    least two, are evaluated at a time, counted from the first.
    """
    text = function_text(program, name, lanes=lanes, shared=shared)
    loops = _Loop(program, name, lanes, shared).write()
    loops += _Columns(program, name, lanes, shared).write()
    declared = (
        "declare i64 @llvm.umin.i64(i64, i64)\n"
        f"declare i64 @llvm.vector.reduce.or.v{lanes}i64(<{lanes} x i64>)\n"
    )
    return module_text(text, loops, declared, lanes=lanes, width=1)
