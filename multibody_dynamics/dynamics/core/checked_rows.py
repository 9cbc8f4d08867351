# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rows of numbers that a caller passes every cycle, checked and copied by compiled code."""

from collections.abc import Sequence
from math import isfinite
from threading import Lock
from typing import Any

import numpy as np

from .compilation import IS_COMPILED, compiled, copy_row
from .errors import InputError
from .independent_copies import IndependentCopies
from .inputs import Array, as_array

ROWS = 5


def _take(scratch, values, row0, row1, row2, row3, row4):
    """Copy the first k rows into `values` (k, n); if any is invalid, copy none and return False.

    A row is invalid if its length is wrong or a number is not finite. The copy goes through
    `scratch` (k, n), since the rows may be those of `values` itself in another order. The rows are
    separate arguments because Numba ignores the byte order of arrays inside a tuple.
    """
    rows = (row0, row1, row2, row3, row4)
    for k in range(values.shape[0]):
        if rows[k].shape[0] != values.shape[1]:
            return False
        for i in range(values.shape[1]):
            if not isfinite(rows[k][i]):
                return False
            scratch[k, i] = rows[k][i]
    for k in range(values.shape[0]):
        copy_row(values[k], scratch[k])
    return True


_compiled_take = compiled(_take)
_compiling = Lock()


def _compile() -> None:
    """Compile once, for float64 arrays; any other type then raises TypeError.

    Rows may be strided or read-only: contiguous ones that can be written are converted.
    """
    with _compiling:
        if not _compiled_take.signatures:  # type: ignore[attr-defined]
            from numba import types

            table, row = (
                types.Array(types.float64, 2, "C"),
                types.Array(types.float64, 1, "A", True),
            )
            _compiled_take.compile((table, table, *(row,) * ROWS))  # type: ignore[attr-defined]
            _compiled_take.disable_compile()  # type: ignore[attr-defined]


class CheckedRows(IndependentCopies):
    """An array `values` (k, n), k <= 5; :meth:`take` sets either all of its rows or none.

    `names` are the names of the rows and `labels` those of the columns, for error messages. With
    `is_fallback`, nothing is compiled: :meth:`take` then gets only the rows that faster code has
    refused.
    """

    def __init__(
        self,
        names: Sequence[str],
        labels: Sequence[str],
        values: Array,
        *,
        is_fallback: bool = False,
    ) -> None:
        self._names, self._labels, self._values = tuple(names), labels, values
        self._scratch = np.empty_like(values)
        unused = np.zeros(values.shape[1])
        self._unused = (unused,) * (ROWS - len(values))
        self._is_compiled = IS_COMPILED and not is_fallback
        if self._is_compiled:
            _compile()

    def take(self, rows: tuple[Any, ...]) -> None:
        """Check and copy the rows; InputError for a wrong number or length, NaN or infinity."""
        if len(rows) != len(self._names):
            raise InputError(
                f"expected {len(self._names)} rows ({', '.join(self._names)}), got {len(rows)}"
            )
        is_taken = self._is_compiled
        for row in rows:  # Numba may take a masked array for a plain one
            is_taken = is_taken and type(row) is np.ndarray
        try:
            is_taken = is_taken and _compiled_take(
                self._scratch, self._values, *rows, *self._unused
            )
        except Exception:  # of Numba, for float32 and others: the slow path, 0.1 ms
            is_taken = False
        if is_taken:
            return
        shape = self._values.shape[1:]
        checked = [
            as_array(name, row, shape, self._labels)
            for name, row in zip(self._names, rows, strict=True)
        ]
        for name, row in zip(self._names, checked, strict=True):
            if row.shape != shape:
                raise InputError(f"{name}: expected shape {shape}, got {row.shape}")
        self._values[:] = np.stack(checked)  # stacked first: the rows may be views of the values
