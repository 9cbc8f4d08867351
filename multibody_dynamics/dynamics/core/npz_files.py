# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reader of all NumPy archives: every failure is a one-line InputError that names the file."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from .file_reading import reading
from .inputs import as_path


def read_arrays(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file by name, of any type except Python objects.

    Raises InputError, naming the file, for anything else.
    """
    with reading(path, "a NumPy archive of numbers"):
        archive = np.load(as_path(path), allow_pickle=False)
        if isinstance(archive, NpzFile):
            with archive:
                return {name: np.asarray(archive[name]) for name in archive.files}
        raise ValueError(
            "it contains a single unnamed array (numpy.save), not named arrays (numpy.savez)"
        )
