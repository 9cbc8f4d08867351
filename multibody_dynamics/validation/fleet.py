# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Comparison of many recordings: one by one, in parallel processes, or on a Dask cluster.

Each recording is compared separately, in batches of a fixed size, and the results are combined in
the order of the recordings, so the numbers are the same in all three cases.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from pathlib import Path

from ..dynamics.core import DynamicsError, InputError, in_order, worker_processes
from ..dynamics.identification import Residuals
from .comparison import Validation, validate
from .settings import Settings

Outcome = Validation | str  # the comparison, or why it failed


def outcome_of(path: Path, settings: Settings) -> Outcome:
    """The comparison of one recording, or the reason why it failed."""
    try:
        return validate(path, settings)
    except (DynamicsError, OSError) as error:
        return str(error)


def validate_all(
    paths: Sequence[Path],
    settings: Settings,
    *,
    processes: int = 1,
    dask: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Outcome]:
    """The outcomes of all recordings, in the same order.

    dask : address of a scheduler whose workers see the same files; "": local processes.
    Raises InputError if Dask is not installed or no scheduler answers at the address.
    """
    if not dask:
        with worker_processes(processes) as executor:
            return in_order(executor, partial(outcome_of, settings=settings), paths, progress)
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--dask requires Dask: pip install 'multibody_dynamics[dask]'") from None
    try:
        client = Client(dask, timeout=10)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask {dask}: no scheduler answers at this address: {error}") from None
    with client:
        futures = client.map(outcome_of, paths, settings=settings, pure=False)
        outcomes: list[Outcome] = []
        for k, future in enumerate(futures):
            outcomes.append(future.result())
            progress(k + 1, len(paths))
    return outcomes


def pooled_residuals(outcomes: Sequence[Outcome]) -> tuple[tuple[str, ...], list[Residuals]]:
    """Joint names and combined residuals of all recordings with the joints of the first one."""
    found = [each for each in outcomes if isinstance(each, Validation)]
    if not found:
        return (), []
    first = found[0]
    same = [each.residuals for each in found if each.joint_names == first.joint_names]
    return first.joint_names, [reduce(Residuals.__add__, rows) for rows in zip(*same, strict=True)]
