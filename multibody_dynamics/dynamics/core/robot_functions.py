# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Functions of a robot that other classes of robots answer in their own way."""

from collections.abc import Callable
from functools import singledispatch, wraps
from typing import Any, TypeVar

from .errors import InputError

F = TypeVar("F", bound=Callable[..., Any])


def by_robot(function: F) -> F:
    """`function`, whose first argument is `model`, open to other definitions (:func:`answers`).

    As ``functools.singledispatch``, but typed as before, and `model` may be given by name. What is
    neither of the annotated class nor of one that has a definition of its own is an InputError.
    """
    own = function.__annotations__["model"]

    @singledispatch
    def dispatched(model: Any, *_: Any, **__: Any) -> None:
        raise InputError(f"model: expected a {own.__name__}, got {model!r}")

    dispatched.register(own, function)

    @wraps(function)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        return dispatched(model, *args, **kwargs)

    call.register = dispatched.register  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def answers(function: Callable[..., Any], kind: type) -> Callable[[F], F]:
    """The decorator of a definition of `function`, made by :func:`by_robot`, for robots of a
    class."""
    register: Callable[[F], F] = function.register(kind)  # type: ignore[attr-defined]
    return register
