# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of samples in files: CSV columns below a line of their names, or named NumPy arrays.

    .csv    t (s) and, for every joint or motor, columns such as `q JOINT` and `theta MOTOR`
    .npz    the same as arrays t (k,), q (k, n), theta (k, m), ..., joint_names (n,), and
            motor_names (m,) if these are not those of the joints

with the SIGNALS
    q, qd           position and velocity of a link, rad (m), rad/s (m/s)
    Q               torque of a sensor, N m (N)
    stiffness       of a joint whose stiffness is an input that no motor sets, N m/rad
    theta           position of a motor, rad (m)
    tau, current    torque and current of a motor, N m (N), A

all except the current on the link side of the gear. Without theta, tau may also be the torque of
the joint. An empty cell, NaN or infinity means that the number was not measured.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import (
    SECOND,
    Array,
    InputError,
    computable_rows,
    file_reader,
    read_arrays,
    reading,
)
from ...dynamics.model import Transmission, motor_columns
from .bags import JointSamples

SUFFIXES = (".csv", ".npz")
OF_MOTORS = ("theta", "tau", "current")
SIGNALS = ("q", "qd", "Q", "stiffness", *OF_MOTORS)
KINDS = {"q": "position", "qd": "velocity", "Q": "effort", "stiffness": "effort"}
EMPTY = re.compile(r"(^|,)\s*(?=,|$)")
WITH_UNIT = re.compile(r"(t ?|(q\S*|Q|theta|tau|current|stiffness) .+ )[\[(].*[\])]")
LATEST = 9e9  # s: in ns, later times overflow 64 bits
UNIX = 1e6  # s: larger times are those of a clock that began long before the recording


class SignalTable(NamedTuple):
    """Times t (k,) s, and signals (k, n) of the joints or (k, m) of the motors."""

    t: Array
    signals: dict[str, Array]
    joints: tuple[str, ...]
    motors: tuple[str, ...]

    def _names(self, signal: str) -> tuple[str, ...]:
        return self.motors if signal in OF_MOTORS else self.joints

    def owners(self, signal: str) -> tuple[str, ...]:
        """The joints or motors whose signal was measured."""
        if signal not in self.signals:
            return ()
        there = np.flatnonzero(np.isfinite(self.signals[signal]).any(axis=0))
        return tuple(self._names(signal)[k] for k in there)

    def at_motors(self, transmissions: Sequence[Transmission], prefix: str = "") -> SignalTable:
        """The same with joints behind transmissions as their motors. prefix : of all names."""
        columns = motor_columns(self.joints, transmissions, prefix)
        signals = {
            name: values if name in OF_MOTORS else columns.convert(KINDS[name], values)
            for name, values in self.signals.items()
        }
        return self._replace(joints=columns.names, signals=signals)

    def samples(self, topic: str, owners: Sequence[str], signals: Sequence[str]) -> JointSamples:
        """Three signals of these joints or motors as positions, velocities and efforts of messages;
        "" stands for one that is not wanted."""
        stamp, rows = nanoseconds(self.t), [self.rows(each, owners) for each in signals]
        return JointSamples(topic, tuple(owners), stamp, stamp, np.stack(rows, axis=1))

    def rows(self, signal: str, owners: Sequence[str]) -> Array:
        """A signal (k, p) of these joints or motors; NaN if it was not measured."""
        found = np.full((len(self.t), len(owners)), np.nan)
        names = self._names(signal) if signal in self.signals else ()
        for j, owner in enumerate(owners):
            if owner in names:
                found[:, j] = self.signals[signal][:, names.index(owner)]
        return found


@file_reader
def read_signals(path: Path, arrays: Mapping[str, Any] | None = None) -> SignalTable:
    """The signals in a table. arrays : of a .npz file, if they have been read.

    Raises an InputError that names the file, and what it lacks or what is wrong with it.
    """
    named = ""
    if path.suffix == ".csv":
        there, named = read_columns(path), ", in columns named 'q JOINT' or 'theta MOTOR'"
        given, joints, motors = _of_columns(there)
    else:
        there = given = dict(read_arrays(path) if arrays is None else arrays)
        if "joint_names" not in given:
            raise InputError(f"{path}: array joint_names is missing; it has {', '.join(given)}")
        joints = tuple(map(str, np.atleast_1d(given["joint_names"])))
        motors = tuple(map(str, np.atleast_1d(given.get("motor_names", joints))))
    if "t" not in given or not {"q", "theta"} & set(given):
        raise InputError(f"{path}: t and q or theta are needed{named}; it has {', '.join(there)}")
    t = times_in(path, given["t"])
    signals = {
        name: _checked(path, name, given[name], len(t), motors if name in OF_MOTORS else joints)
        for name in SIGNALS
        if name in given
    }
    return SignalTable(t, signals, joints, motors)


def _of_columns(
    columns: Mapping[str, Array],
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """The arrays of a .csv file, and the names of joints and motors."""
    split = [name.partition(" ") for name in columns]
    joints, motors = (
        tuple(
            dict.fromkeys(
                owner for signal, _, owner in split
                if signal in SIGNALS and (signal in OF_MOTORS) == of_motors
            )
        )
        for of_motors in (False, True)
    )  # fmt: skip
    missing = np.full(len(columns["t"]), np.nan)
    arrays: dict[str, Any] = {"t": columns["t"]}
    for signal in dict.fromkeys(signal for signal, _, _ in split if signal in SIGNALS):
        names = motors if signal in OF_MOTORS else joints
        rows = [columns.get(f"{signal} {name}", missing) for name in names]
        arrays[signal] = np.stack(rows, axis=1)
    return arrays, joints or motors, motors


def _checked(path: Path, name: str, values: Any, count: int, owners: Sequence[str]) -> Array:
    """A signal as numbers (count, n)."""
    shape, rows = (count, len(owners)), np.asarray(values)
    if rows.shape != shape or rows.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: {name} is {rows.shape} of {rows.dtype}: expected numbers {shape}, a row for "
            f"each t and a column for each of {', '.join(owners) or '(no names given)'}"
        )
    rows = np.where(np.isinf(rows), np.nan, rows)
    return computable_rows(f"{path}: {name}: ", np.asarray(rows, dtype=np.float64))


@file_reader
def read_table(
    path: Path, effort: str = "joint", transmissions: Sequence[Transmission] = (), prefix: str = ""
) -> JointSamples:
    """A table as messages with the states of its joints. effort : that of the "joint" or of its
    "motor"; that of the joint is Q if present, and never a tau that accompanies theta.
    transmissions, prefix : see `SignalTable.at_motors`.

    Raises InputError as :func:`read_signals` does.
    """
    table = read_signals(path).at_motors(transmissions, prefix)
    names = table.owners("q")
    if not names:
        raise InputError(f"{path}: q, the position of the joints, is missing")
    if not nanoseconds(table.t).any():
        raise InputError(f"{path}: t is zero in all rows; expected increasing times in seconds")
    signal = "Q" if effort == "joint" and "Q" in table.signals else "tau"
    if effort == "joint" and signal == "tau" and {"theta", "tau"} <= set(table.signals):
        raise InputError(
            f"{path}: in a table with theta, tau is the motor torque; use --effort motor to "
            "compare motor torques, or add the joint torques as Q"
        )
    return table.samples(path.name, names, ("q", "qd", signal))


@file_reader
def read_motor_table(path: Path) -> JointSamples | None:
    """The motors of a table, as messages on a topic motor_states; None without their positions."""
    table = read_signals(path)
    if not table.owners("theta"):
        return None
    names = tuple(dict.fromkeys((*table.owners("theta"), *table.owners("tau"))))
    return table.samples(f"{path.name}/motor_states", names, ("theta", "", "tau"))


def read_columns(path: Path) -> dict[str, Array]:
    """The columns (k,) of a .csv file, including `t`; empty cells are NaN.

    Raises InputError, naming the file, for anything else.
    """
    if not path.is_file():  # but perhaps a pipe, which nobody may ever write to
        raise InputError(f"{path}: no such file")
    with reading(path, "a table in UTF-8"):
        text = path.read_text(encoding="utf-8-sig")
    lines = [(k, line.strip()) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    with reading(path):
        head = _head(lines[0][1] if lines else "")
    if len(lines) < 2:
        raise InputError(f"{path}: no rows of numbers below the names of the columns")
    with reading(path, "a table of numbers"):
        cells = [EMPTY.sub(r"\1nan", line) for _, line in lines[1:]]
        try:
            table = np.loadtxt(cells, delimiter=",", quotechar='"', ndmin=2)
        except ValueError as error:
            raise ValueError(_fault(head, lines[1:]) or error) from None
        if len(head) != table.shape[1]:
            raise ValueError(_fault(head, lines[1:]))
    return {
        name: computable_rows(f"{path}: {name}: ", column)
        for name, column in zip(head, table.T, strict=True)
    }


def _head(line: str) -> list[str]:
    """The names of the columns. Raises InputError that says what is wrong with them."""
    names = [" ".join(name.split()) for name in next(csv.reader([line.lstrip("# ")]), [])]
    twice = [name for name in names if name and names.count(name) > 1]
    units = [name for name in names if WITH_UNIT.fullmatch(name)]
    if not line:
        raise InputError("the file is empty")
    if twice:
        problem = f"duplicate column '{twice[0]}'"
    elif units:
        problem = f"'{units[0]}' must be without its unit; numbers are in s, rad (m) and N m (N)"
    elif "t" in names:
        return names
    elif len(names) < 2:
        problem = "expected columns separated by commas, and numbers with decimal points"
    else:
        problem = "no column is named t, which has the times in s"
    raise InputError(f"{problem}; the first line, which must name the columns, is {line!r:.80}")


def _fault(head: Sequence[str], lines: Sequence[tuple[int, str]]) -> str:
    """What is wrong with the first faulty row; "" if none is. lines : with their numbers."""
    for k, line in lines:
        row = next(csv.reader([line]))
        if len(row) != len(head) and not line.startswith("#"):
            commas = "; are there decimal commas?" if len(row) > len(head) else ""
            return f"line {k}: {len(row)} cells in {len(head)} columns{commas}"
        for name, cell in zip(head, row, strict=False):
            try:
                float(cell or "nan")
            except ValueError:
                return f"line {k}: {name} is {cell!r:.40}"
    return ""


def stacked(path: Path, columns: Mapping[str, Array], names: Sequence[str]) -> Array | None:
    """The columns of these names as (k, n), or None if all are missing.

    Raises InputError if only some are missing.
    """
    missing = [name for name in names if name not in columns]
    if len(missing) == len(names):
        return None
    if missing:
        raise InputError(f"{path}: column '{missing[0]}' is missing")
    return np.stack([columns[name] for name in names], axis=1)


def times_in(path: Path, t: Any) -> Array:
    """The times t (k,), s, checked. Raises InputError, naming the file."""
    times = np.asarray(t)
    if times.ndim != 1 or times.dtype.kind not in "fiu":
        raise InputError(f"{path}: t is {times.shape} of {times.dtype}: expected numbers (k,)")
    finite = np.isfinite(times)
    if not finite.all():
        raise InputError(f"{path}: t has NaN or infinity in row {int(np.argmin(finite))}")
    if np.abs(times).max(initial=0) > LATEST:
        latest = np.abs(times).max()
        raise InputError(f"{path}: t reaches {latest:.4g}: expected seconds, not ms, us or ns")
    if not len(times):
        raise InputError(f"{path}: t is empty: there are no rows")
    ends = np.append(np.flatnonzero(np.diff(times)), len(times) - 1)  # of rows of one time
    if len(ends) > 1 and np.median(np.diff(ends, prepend=-1)) > 1:
        equal = len(times) - len(ends)
        raise InputError(
            f"{path}: t has too few digits: {equal} of {len(times)} rows repeat the time before"
        )
    if np.count_nonzero(np.diff(times) < 0) > len(times) // 2:
        raise InputError(f"{path}: t decreases; expected the rows in the order of their times")
    return times.astype(np.float64)


def nanoseconds(t: Array) -> NDArray[np.int64]:
    """Times (k,) s, in ns. Those of a large clock are taken by the decimals that identify them,
    because a float64 of Unix time is up to 0.1 us away from the number that was written."""
    if np.abs(t).max(initial=0.0) < UNIX:
        return np.round(SECOND * t).astype(np.int64)
    exact = (int((SECOND * Decimal(repr(x))).to_integral_value()) for x in t.tolist())
    return np.fromiter(exact, dtype=np.int64, count=len(t))


def from_start(t: Array) -> Array:
    """Times (k,) s, from the first one on if they are Unix times, without loss of digits."""
    if not len(t) or abs(t[0]) < UNIX:
        return t
    at = nanoseconds(t)
    return np.asarray((at - at[0]) / SECOND)


def write_columns(file: Path, columns: Mapping[str, Array]) -> None:
    """A .csv file of columns (k,), with all digits."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
