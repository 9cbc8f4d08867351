"""The exceptions of the package, with one base class for a single `except`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DynamicsError(ValueError):
    """Base class of all errors that this package raises on purpose."""


class ModelError(DynamicsError):
    """A robot description that cannot be right; the message names the joint, link or tag."""


class InputError(DynamicsError):
    """An argument of the wrong shape, kind, name or value; the message names it and the joint."""


class TrajectoryError(InputError):
    """A trajectory that cannot be followed; the message names the point and the joint."""


class ModelWarning(UserWarning):
    """A robot description that is usable but suspicious, or partly ignored."""


@contextmanager
def refused_as(kind: type[DynamicsError], where: str = "") -> Iterator[None]:
    """Re-raise an InputError from within as this `kind`, its message prefixed with `where`."""
    try:
        yield
    except InputError as error:
        raise kind(f"{where}: {error}" if where else str(error)) from None
