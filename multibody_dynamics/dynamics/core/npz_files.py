# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reader of all NumPy archives: every failure is a one-line InputError that names the file."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from .errors import InputError
from .inputs import as_path


def read_arrays(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file by name, of any type except Python objects.

    Raises InputError, naming the file, for anything else.
    """
    file = as_path(path)
    try:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, NpzFile):
            with archive:
                return {name: np.asarray(archive[name]) for name in archive.files}
        reason: object = (
            "it contains a single unnamed array (numpy.save), not named arrays (numpy.savez)"
        )
    except OSError as error:
        if error.errno is not None:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        reason = error  # of NumPy
    except Exception as error:  # of NumPy, zipfile, zlib and tokenize; and of memory
        reason = str(error) or type(error).__name__
    raise InputError(f"{path}: not a NumPy archive of numbers: {reason}")
