# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of the package, which share the base class DynamicsError."""

from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 1000  # characters of a message


class DynamicsError(ValueError):
    """Base class of all errors that this package raises deliberately.

    Messages quote what was found in files: they are printed in one line, and a long one is cut in
    the middle.
    """

    def __str__(self) -> str:
        text = " ".join(filter(None, map(str.strip, super().__str__().splitlines())))
        return text if len(text) <= LONGEST else f"{text[:700]} ... {text[-250:]}"


class ModelError(DynamicsError):
    """An invalid robot description; the message names the joint, link or tag."""


class InputError(DynamicsError):
    """An argument with a wrong shape, type, name or value; the message names it and the joint."""


class RequestError(InputError):
    """A request that is refused. `reason` is short and fixed, for counting; the text has the
    details."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class TrajectoryError(InputError):
    """A trajectory that cannot be followed; the message names the point and the joint."""


class OverloadError(InputError):
    """A position at which springs cannot carry the arm; the message names the joint."""


class NoSolutionError(DynamicsError):
    """A design of gains without a solution."""


class ModelWarning(UserWarning):
    """A robot description that is usable but suspicious, or partly ignored."""


@contextmanager
def refused_as(kind: type[DynamicsError], where: str = "") -> Iterator[None]:
    """Re-raise an InputError from the block as `kind`, with its message prefixed by `where`."""
    try:
        yield
    except InputError as error:
        raise kind(f"{where}: {error}" if where else str(error)) from None
