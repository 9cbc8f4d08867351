# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings in tables: CSV and NumPy files.

    .csv    a first line with the names of the columns: t (s), and for each joint `q JOINT`,
            `tau JOINT` and optionally `qd JOINT`, in rad (m), N m (N) and rad/s (m/s)
    .npz    the same as arrays t (k,), q, tau, qd (k, n), and joint_names (n,)

Tables for `identify-springs` have motor positions `theta`, joint torques `Q`, and motor torques
`tau`: the joint effort is Q if present, and never a tau that accompanies theta.

An empty cell or NaN means that the number was not measured.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from ...dynamics.core import Array, InputError, file_reader, read_arrays
from .bags import JointSamples
from .columns import nanoseconds, read_columns, signal_in, times_in

SUFFIXES = (".csv", ".npz")
SIGNALS = ("q", "qd")  # besides the effort


@file_reader
def read_table(path: Path, effort: str = "joint") -> JointSamples:
    """Read a table; effort : that of the "joint" or of its "motor".

    Raises an InputError that names the file and what it lacks.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    t, names, rows = (_read_csv if path.suffix == ".csv" else _read_npz)(path, effort)
    stamp = nanoseconds(t)
    if not stamp.any():
        raise InputError(f"{path}: t is zero in all rows; expected increasing times in seconds")
    return JointSamples(path.name, names, stamp, stamp, rows)


def _signals(path: Path, there: Collection[str], effort: str) -> tuple[str, ...]:
    """The names of position, velocity and effort in a table."""
    if effort == "motor":
        return (*SIGNALS, "tau")
    if "Q" in there:
        return (*SIGNALS, "Q")
    if "theta" in there and "tau" in there:
        raise InputError(
            f"{path}: in a table with theta, tau is the motor torque; use --effort motor to "
            "compare motor torques, or add the joint torques as Q"
        )
    return (*SIGNALS, "tau")


def _read_csv(path: Path, effort: str) -> tuple[Array, tuple[str, ...], Array]:
    columns = read_columns(path)
    names = tuple(name[2:] for name in columns if name.startswith("q "))
    if not names:
        raise InputError(
            f"{path}: no column is named 'q JOINT'; its columns are {', '.join(columns)}"
        )
    t = times_in(path, columns["t"])
    there = {
        signal for signal in ("theta", "Q", "tau") for n in names if f"{signal} {n}" in columns
    }
    missing = np.full(len(t), np.nan)
    rows = [
        [columns.get(f"{signal} {name}", missing) for name in names]
        for signal in _signals(path, there, effort)
    ]
    return t, names, np.moveaxis(np.array(rows), 2, 0)


def _read_npz(path: Path, effort: str) -> tuple[Array, tuple[str, ...], Array]:
    arrays = read_arrays(path)
    for name in ("t", "q", "joint_names"):
        if name not in arrays:
            raise InputError(
                f"{path}: array {name} is missing; the file has {', '.join(arrays) or 'none'}"
            )
    t = times_in(path, arrays["t"])
    names = tuple(str(name) for name in np.atleast_1d(arrays["joint_names"]))
    signals = _signals(path, arrays, effort)
    rows = [signal_in(path, arrays, signal, len(t), names) for signal in signals]
    return t, names, np.stack(rows, axis=1)
