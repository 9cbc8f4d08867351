"""Recordings that are tables: CSV and NumPy files.

    .csv    a first line that names the columns: t (s), and for every joint `q JOINT`, `tau JOINT`
            and, if known, `qd JOINT`, in rad (m), rad/s and N m (N)
    .npz    the same as arrays t (k,), q, tau, qd (k, n), and joint_names (n,)

Tables of `identify-springs` have motor positions `theta`, joint torques `Q`, and the torques of the
motors as `tau`: the effort of joints is Q where there is one, and no tau beside theta.

An empty cell or NaN is a number that was not measured.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from .bags import JointSamples

SUFFIXES = (".csv", ".npz")
SIGNALS = ("q", "qd")  # beside the effort


def read_table(path: Path, effort: str = "joint") -> JointSamples:
    """A recording, see above; the effort is that of the "joint" or of its "motor".

    Raises InputError that names the file and what it lacks.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    t, names, rows = (_read_csv if path.suffix == ".csv" else _read_npz)(path, effort)
    if not np.isfinite(t).all():
        raise InputError(f"{path}: t has NaN or infinity in row {int(np.argmin(np.isfinite(t)))}")
    stamp = np.round(1e9 * t).astype(np.int64)
    if not stamp.any():
        raise InputError(f"{path}: t is zero in all rows")
    return JointSamples(path.name, names, stamp, stamp, rows)


def _signals(path: Path, there: Collection[str], effort: str) -> tuple[str, ...]:
    """What position, velocity and effort are called in it."""
    if effort == "motor":
        return (*SIGNALS, "tau")
    if "Q" in there:
        return (*SIGNALS, "Q")
    if "theta" in there and "tau" in there:
        raise InputError(
            f"{path}: tau beside theta is the torque of the motor: --effort motor compares with "
            "it; that of the joint is called Q"
        )
    return (*SIGNALS, "tau")


def _read_csv(path: Path, effort: str) -> tuple[Array, tuple[str, ...], Array]:
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        head = [name.strip() for name in next(csv.reader(file), [])]
        if head:
            head[0] = head[0].lstrip("#\ufeff ")
        lines = [line for line in file if line.strip()]
        try:
            table = np.genfromtxt(lines, delimiter=",", ndmin=2) if lines else np.zeros((0, 0))
        except ValueError as error:
            first = str(error).splitlines()[:2]
            raise InputError(f"{path}: not a table of numbers: {' '.join(first)}") from None
    if table.size == 0:
        raise InputError(f"{path}: has no rows")
    if "t" not in head or len(head) != table.shape[1] or len(set(head)) != len(head):
        raise InputError(
            f"{path}: its first line must name its {table.shape[1]} columns, t among them"
        )
    columns = dict(zip(head, table.T, strict=True))
    names = tuple(name[2:] for name in head if name.startswith("q "))
    missing = np.full(len(table), np.nan)
    there = {signal for signal in ("theta", "Q", "tau") for n in names if f"{signal} {n}" in head}
    rows = [
        np.stack([columns.get(f"{signal} {name}", missing) for name in names], axis=-1)
        for signal in _signals(path, there, effort)
        if names
    ]
    if not names:
        raise InputError(f"{path}: no column is called 'q JOINT'")
    return columns["t"], names, np.stack(rows, axis=1)


def _read_npz(path: Path, effort: str) -> tuple[Array, tuple[str, ...], Array]:
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise InputError(f"{path}: not a NumPy archive: {error}") from None
    for name in ("t", "q", "joint_names"):
        if name not in arrays:
            raise InputError(f"{path}: {name} is missing; it has {', '.join(arrays) or 'nothing'}")
    t = np.asarray(arrays["t"], dtype=np.float64)
    names = tuple(str(name) for name in np.atleast_1d(arrays["joint_names"]))
    shape = (len(np.atleast_1d(t)), len(names))
    rows = np.full((shape[0], 3, shape[1]), np.nan)
    for k, signal in enumerate(_signals(path, arrays, effort)):
        if signal in arrays:
            if arrays[signal].shape != shape or arrays[signal].dtype.kind not in "fiu":
                raise InputError(
                    f"{path}: {signal} is {arrays[signal].shape} of {arrays[signal].dtype}: must "
                    f"be numbers {shape}, a row for each t and a column for each joint"
                )
            rows[:, k] = arrays[signal]
    return t, names, rows
