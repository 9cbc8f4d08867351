"""The package's own exceptions: one base class, so that one `except` catches them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DynamicsError(ValueError):
    """Anything that this package refuses."""


class ModelError(DynamicsError):
    """A robot description that cannot be right; names the joint, link or tag."""


class InputError(DynamicsError):
    """An argument of the wrong shape, kind, name or value; names the argument and the joint."""


class TrajectoryError(InputError):
    """A trajectory that cannot be followed; names the point and the joint."""


class ModelWarning(UserWarning):
    """A robot description that is usable but suspicious, or of which a part is ignored."""


@contextmanager
def refused_as(kind: type[DynamicsError], where: str = "") -> Iterator[None]:
    """An InputError from within is one of this `kind`, and begins with `where`."""
    try:
        yield
    except InputError as error:
        raise kind(f"{where}: {error}" if where else str(error)) from None
