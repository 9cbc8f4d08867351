# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A generated controller, compiled and loaded: a simulation runs the same code as the robot.

``multibody_dynamics generate ROBOT.urdf --elastic-joints SPRINGS.yaml --law ... -o DIR`` writes the
sources (docs/realtime.md). The structures of C are read from their header.
"""

import ctypes
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..dynamics.control import coarse_encoder, plausibility
from ..dynamics.core import Array, DynamicsError, InputError, NeverCopied, as_array

FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared")
_TYPES: Mapping[str, Any] = {
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "unsigned long": ctypes.c_ulong,
}
_STRUCTURE = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
_DECLARATION = re.compile(r"(unsigned long|\w+) ([^;]+);")
_CONSTANT = re.compile(r"^#define (\w+) (\d+)$", re.MULTILINE)


class CompiledController(NeverCopied):
    """A generated controller as a shared library in this process.

    >>> controller = CompiledController("panda_controller")
    >>> torque = controller.update(t, q, theta)  # every cycle, also before activation
    >>> controller.activate()
    >>> controller.append(t + 1.0, goal)

    Parameters
    ----------
    folder : the generated files, or the path of the shared library if that is compiled already; its
        headers must be beside it.
    parameters : settings by name, see the header, in place of those that were designed.
    compiler, flags : command that compiles C, and its options; the library is deleted with this
        object.

    Attributes
    ----------
    joint_names, motor_names, n, m, v : of the robot; v joints have a second output.
    torque : (m,) N m, to be sent. desired : (5, n). desired_theta : (m,).
    q, qd : (n,); theta, thetad : (m,), estimates. flags : (m,) of the feedforward.

    The arrays are views that every update overwrites. Raises InputError for a folder without a
    controller and for parameters that are unknown, have a wrong shape or are out of range, and
    DynamicsError if the compiler fails.
    """

    def __init__(
        self,
        folder: str | Path,
        parameters: Mapping[str, Any] | None = None,
        *,
        compiler: str = "cc",
        flags: Sequence[str] = FLAGS,
    ) -> None:
        path = Path(folder)
        sources = path if path.is_dir() else path.parent
        header = next(sources.glob("*_controller.h"), None)
        if header is None:
            raise InputError(
                f"{sources}: no generated controller; write one with `multibody_dynamics generate "
                f"ROBOT.urdf --elastic-joints SPRINGS.yaml --law motor_pd -o {sources}`"
            )
        self.name = header.name.removesuffix("_controller.h")
        self._scratch: TemporaryDirectory[str] | None = None
        if path.is_dir():
            self._scratch = TemporaryDirectory()
            path = self._compiled(sources, Path(self._scratch.name), compiler, flags)
        self._library = ctypes.CDLL(str(path))
        structures = _structures(sources, self.name)
        self.n, self.m, self.v = (ctypes.c_int * 3).in_dll(self._library, f"{self.name}_sizes")
        self.joint_names = self._names("joint_names", self.n)
        self.motor_names = self._names("motor_names", self.m)
        size = self._function("controller_size", ctypes.c_ulong)()
        self._controller = ctypes.create_string_buffer(size)
        self._input = structures[f"{self.name}_input"]()
        self._output = structures[f"{self.name}_output"]()
        self._parameters = structures[f"{self.name}_parameters"]()
        self._refusal_type = structures[f"{self.name}_refusal"]
        self._update = self._function("update", ctypes.c_int)
        view = self._view
        self._q, self._theta = view(self._input, "q"), view(self._input, "theta")
        self.torque, self.desired = view(self._output, "torque"), view(self._output, "desired")
        self.desired_theta = view(self._output, "desired_theta")
        self.q, self.qd = view(self._output, "q"), view(self._output, "qd")
        self.theta, self.thetad = view(self._output, "theta"), view(self._output, "thetad")
        self.flags = view(self._output, "flags")
        self._function("default_parameters", None)(ctypes.byref(self._parameters))
        self._set(parameters or {})

    def _compiled(self, sources: Path, output: Path, compiler: str, flags: Sequence[str]) -> Path:
        if which(compiler) is None:
            raise DynamicsError(f"the compiler {compiler} was not found; install a C compiler")
        library = output / f"lib{self.name}_controller.so"
        files = sorted(str(each) for each in sources.glob(f"{self.name}_*.c"))
        command = [compiler, *flags, "-o", str(library), *files, "-lm"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode:
            raise DynamicsError(f"{compiler} failed: {found.stderr.strip()[-2000:]}")
        return library

    def _function(self, name: str, result: Any) -> Any:
        function = getattr(self._library, f"{self.name}_{name}")
        function.restype = result
        return function

    def _names(self, what: str, count: int) -> tuple[str, ...]:
        row = (ctypes.c_char_p * count).in_dll(self._library, f"{self.name}_{what}")
        return tuple(each.decode() for each in row)

    def _name(self, what: str, number: int) -> str:
        """The text of a state, fault or answer."""
        text: bytes = self._function(f"{what}_name", ctypes.c_char_p)(number)
        return text.decode()

    @staticmethod
    def _view(structure: Any, name: str) -> Any:
        return np.ctypeslib.as_array(getattr(structure, name))

    def _set(self, parameters: Mapping[str, Any]) -> None:
        known = [name for name, _ in self._parameters._fields_]
        for name, value in parameters.items():
            if name not in known:
                raise InputError(f"parameter '{name}': expected one of {', '.join(known)}")
            if np.ndim(getattr(self._parameters, name)) == 0:
                setattr(self._parameters, name, value)
                continue
            row = self._view(self._parameters, name)
            if np.ndim(value) and np.shape(value) != row.shape:
                raise InputError(f"parameter '{name}': expected shape {row.shape}")
            row[...] = value
        wrong = self._function("wrong_parameter", ctypes.c_char_p)(ctypes.byref(self._parameters))
        if wrong is not None:
            raise InputError(
                f"parameter '{wrong.decode()}' is {self.parameters[wrong.decode()]}: out of range;"
                f" see {self.name}_controller.h"
            )
        initialise = self._function("initialise", ctypes.c_int)
        initialise(self._controller, ctypes.byref(self._parameters))

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings by name."""
        return {
            name: np.array(getattr(self._parameters, name)) for name, _ in self._parameters._fields_
        }

    @property
    def state(self) -> str:
        """The name of the state: "inactive", "stopping", "holding", "following", "braking" or
        "lost"."""
        return self._name("state", self._output.state)

    @property
    def fault(self) -> str:
        """Why the arm is stopped; empty if there is no fault."""
        return self._name("fault", self._output.fault) if self._output.fault else ""

    @property
    def fault_joint(self) -> str:
        """The joint at which the fault was found; empty if it is not about one."""
        i = self._output.fault_joint
        return self.joint_names[i] if i >= 0 else ""

    @property
    def open_loop(self) -> str:
        """The equation of a loop that a fault has found open; empty if it is not about one."""
        names = (ctypes.c_char_p * (self._output.open_loop + 1)).in_dll(
            self._library, f"{self.name}_loop_names"
        )
        return names[-1].decode()

    @property
    def counts(self) -> dict[str, int]:
        """What was refused, limited or missed since the start."""
        counts = self._output.counts
        return {name: int(getattr(counts, name)) for name, _ in counts._fields_}

    def activate(self, torque: Any = None) -> None:
        """Take over from this motor torque (m,), by default from the one that balances the springs.
        Raises DynamicsError if the controller is active already, if the torque is not finite, if
        there are no recent states: call `update` first; or if the states of an arm at rest are not
        plausible."""
        row = None if torque is None else np.full(self.m, torque, dtype=np.float64)
        given = None if row is None else row.ctypes
        refused = self._function("activate", ctypes.c_int)(self._controller, given)
        if refused == 2:
            raise DynamicsError(self._refusal())
        if refused:
            raise DynamicsError(
                "activation needs an inactive controller that has received states of all links and "
                "motors within the timeouts"
            )

    def _refusal(self) -> str:
        """Why the present states are not plausible."""
        found = self._refusal_type()
        judge = self._function("judge", ctypes.c_int)
        judge(self._controller, self.q.ctypes, self.theta.ctypes, ctypes.byref(found))
        names = self.joint_names
        if found.mistake == plausibility.COARSE_ENCODER:
            return coarse_encoder(names[found.joint], found.misfit, found.allowed)
        cause = {
            2: "links and motors are exchanged",
            3: f"'{names[found.joint]}' and '{names[found.other]}' are exchanged",
            5: "its two motors are exchanged, or the sign, unit or gear of one is wrong",
        }.get(found.mistake, "names, signs, units, gear ratios, or springs of another robot")
        what = f"carries {found.misfit:.4g} that its weight does not explain"
        if found.mistake == plausibility.OUT_OF_RANGE:
            what = f"has motors that are {found.misfit:.4g} rad or m out of range"
        return (
            f"implausible states: '{names[found.joint]}' {what}; allowed: {found.allowed:.4g}"
            f" (external_load; inf for all joints: not judged). Likely cause: {cause}"
        )

    def deactivate(self) -> None:
        """Request zero torque from the next update on."""
        self._function("deactivate", None)(self._controller)

    def append(self, time: float, state: Any) -> str:
        """Continue the motion to q..q'''' (5, n), or to rest at q (n,), at `time` in s; returns why
        the point was refused, empty if it was accepted."""
        rows = np.zeros((5, self.n))
        if np.ndim(state) == 1:
            rows[0] = state
        else:
            rows[:] = state
        append = self._function("append", ctypes.c_int)
        answer = append(self._controller, ctypes.c_double(time), rows.ctypes)
        return self._name("answer", answer) if answer else ""

    def follow(
        self, times: Any, positions: Any, velocities: Any = None, start: float | None = None
    ) -> str:
        """Follow the targets (k, n) of a stream, due at `times` (k,) after `start`, or after their
        arrival; velocities: NaN where not sent. Returns why they were refused, empty if not."""
        times, q = np.array(times, dtype=float), np.array(positions, dtype=float)
        rates = np.full_like(q, np.nan) if velocities is None else np.array(velocities, float)
        begin = None if start is None else ctypes.byref(ctypes.c_double(start))
        follow = self._function("follow", ctypes.c_int)
        rows = times.ctypes, q.ctypes, rates.ctypes
        answer = follow(self._controller, begin, len(times), *rows)
        return self._name("answer", answer) if answer else ""

    def cut(self, time: float) -> None:
        """Discard the motion after `time` in s."""
        self._function("cut", None)(self._controller, ctypes.c_double(time))

    def stop(self) -> None:
        """Brake along a path to rest."""
        self._function("stop", None)(self._controller)

    def clear_fault(self) -> None:
        """End a latched fault."""
        self._function("clear_fault", None)(self._controller)

    def note_delay(self, delay: float) -> None:
        """Say how late, in s after its sample, the last torque was sent."""
        self._function("note_delay", None)(self._controller, ctypes.c_double(delay))

    def set_external_torque(self, torque: Any) -> None:
        """Known external joint torques (n,) in N m. Raises InputError for NaN or infinity."""
        row = np.array(as_array("torque", torque, (self.n,), self.joint_names))
        self._function("set_external_torque", ctypes.c_int)(self._controller, row.ctypes)

    def set_second_outputs(self, second: Any) -> None:
        """Stiffness or pretension (3, v) of the variable joints, with two rates. Raises InputError
        for NaN or infinity."""
        rows = np.zeros((3, max(self.v, 1)))
        rows[:, : self.v] = as_array("second", second, (3, self.v))
        self._function("set_second_outputs", ctypes.c_int)(self._controller, rows.ctypes)

    def update(
        self,
        time: float,
        q: Any,
        theta: Any,
        *,
        link_time: float | None = None,
        motor_time: float | None = None,
    ) -> Array:
        """One cycle: the torque (m,) from the positions of links (n,) and motors (m,).

        link_time, motor_time : s, of the samples; `time` if not given. An old time, like NaN in a
        sample, means that there is no new one.
        """
        given = self._input
        given.time = time
        given.link_time = time if link_time is None else link_time
        given.motor_time = time if motor_time is None else motor_time
        self._q[:], self._theta[:] = q, theta
        self._update(self._controller, ctypes.byref(given), ctypes.byref(self._output))
        torque: Array = self.torque
        return torque


def _structures(folder: Path, name: str) -> dict[str, Any]:
    """The structures of all headers as classes of ctypes."""
    text = "\n".join(
        (folder / f"{name}_{part}.h").read_text(encoding="utf-8")
        for part in ("dynamics", "actuators", "reference", "controller")
    )
    constants = {key: int(value) for key, value in _CONSTANT.findall(text)}
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    structures: dict[str, Any] = {}
    for body, structure in _STRUCTURE.findall(text):
        if not structure.endswith(("_parameters", "_input", "_output", "_counts", "_refusal")):
            continue
        members: list[tuple[str, Any]] = []
        for kind, names in _DECLARATION.findall(body):
            own = structures.get(kind) or _TYPES.get(kind, ctypes.c_int)  # an enumeration
            for each in names.split(","):
                first, *lengths = re.findall(r"\w+", each)
                size = own
                for length in reversed(lengths):
                    size = size * (constants[length] if length in constants else int(length))
                members.append((first, size))
        structures[structure] = type(structure, (ctypes.Structure,), {"_fields_": members})
    return structures
