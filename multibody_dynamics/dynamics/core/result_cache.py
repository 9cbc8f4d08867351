# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Results of slow computations, kept on disk for the next process that asks for the same.

They are files in the folder of the compiled code (:mod:`compilation`), whose name is a hash of all
statements of this library: after an update, nothing old is found. The file is named after a hash of
the arguments, has a checksum, and appears complete or not at all, so that neither a damaged file,
nor a full disk, nor two processes at once do harm: a result that cannot be read is computed again.
"""

import hashlib
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .compilation import cached_files, load_machine_code, store_machine_code

MOST = 200  # files; older ones are removed
LIBRARY = __name__.partition(".")[0]

Result = TypeVar("Result")


def cached_result(name: str, arguments: Any, compute: Callable[[], Result]) -> Result:
    """`compute()`, or what it returned for equal arguments before, in this process or another one.

    Parameters
    ----------
    name : of the computation; part of the file's name.
    arguments : everything on which the result depends: numbers, text, arrays, sequences, mappings,
        and dataclasses of this library, of these. With anything else, nothing is kept: the code of
        other packages may change unnoticed.
    compute : returns something that can be pickled. What it raises is not kept.
    """
    try:
        file = f"{name}-{digest(arguments)}.result"
    except TypeError:
        return compute()
    content = load_machine_code(file)
    if content is not None:
        kept: Result = pickle.loads(content)
        return kept
    result = compute()
    store_machine_code(file, pickle.dumps(result))
    for old in cached_files(f"{name}-*.result")[MOST:]:
        Path(old).unlink(missing_ok=True)
    return result


def digest(value: Any) -> str:
    """A hash of the content of a value; equal in all processes. Raises TypeError for values other
    than those of :func:`cached_result`."""
    digester = hashlib.sha256()
    _feed(digester.update, value)
    return digester.hexdigest()[:32]


def _feed(update: Callable[[bytes], None], value: Any) -> None:
    kind = type(value)
    update(f"{kind.__module__}.{kind.__qualname__}:".encode())
    if value is None or isinstance(value, bool | int | float | complex | str | np.generic):
        update(f"{value!r};".encode())
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("arrays of objects have no digest")
        update(f"{value.dtype.descr}{value.shape}".encode())
        update(value.tobytes())
    elif isinstance(value, tuple | list):
        update(f"{len(value)};".encode())
        for each in value:
            _feed(update, each)
    elif isinstance(value, Mapping):
        update(f"{len(value)};".encode())
        for key, each in value.items():
            _feed(update, key)
            _feed(update, each)
    elif isinstance(value, Enum):
        update(f"{value.name};".encode())
    elif is_dataclass(value) and kind.__module__.partition(".")[0] == LIBRARY:
        for item in fields(value):
            _feed(update, item.name)
            _feed(update, getattr(value, item.name))
    else:
        raise TypeError(f"a {kind.__qualname__} has no digest")
