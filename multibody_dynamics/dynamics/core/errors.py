# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of the package, which share the base class DynamicsError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DynamicsError(ValueError):
    """Base class of all errors that this package raises deliberately."""


class ModelError(DynamicsError):
    """An invalid robot description; the message names the joint, link or tag."""


class InputError(DynamicsError):
    """An argument with a wrong shape, type, name or value; the message names it and the joint."""


class TrajectoryError(InputError):
    """A trajectory that cannot be followed; the message names the point and the joint."""


class ModelWarning(UserWarning):
    """A robot description that is usable but suspicious, or partly ignored."""


@contextmanager
def refused_as(kind: type[DynamicsError], where: str = "") -> Iterator[None]:
    """Re-raise an InputError from the block as `kind`, with its message prefixed by `where`."""
    try:
        yield
    except InputError as error:
        raise kind(f"{where}: {error}" if where else str(error)) from None
