# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Settings declared once: fields of frozen dataclasses with meaning, unit, range and choices.

Everything else that shows or checks a setting reads its declaration: parameters of nodes with their
descriptors, options, and the tables of the documentation.
"""

from collections.abc import Callable, Sequence
from dataclasses import Field, field
from typing import Any

from .errors import InputError


def setting(
    default: Any,
    meaning: str,
    *,
    unit: str = "",
    bounds: tuple[float, float] | None = None,
    choices: Sequence[str] = (),
    check: Callable[[str, Any], None] | None = None,
    live: bool = False,
    startup: bool = False,
    parameter: str | None = None,
    is_row: bool = False,
    parts: type | None = None,
) -> Any:
    """A field of a dataclass of settings.

    bounds : minimum and maximum, inclusive, that a node accepts. choices : the allowed texts.
    check : called with the name and the value, raises InputError for values that no robot can use.
    live : whether it may change while it is in use. startup : whether a node reads it only once.
    parameter : its name as a parameter of a node; by default that of the field; "" if it is none.
    is_row : whether, as a parameter, it is an array: one number for all joints, or one each.
    parts : the dataclass of a setting with settings of its own, or None if it is a single value.
    """
    return field(
        default=default,
        metadata={
            "description": meaning,
            "unit": unit,
            "bounds": bounds,
            "choices": tuple(choices),
            "check": check,
            "live": live,
            "startup": startup,
            "parameter": parameter,
            "is_row": is_row,
            "parts": parts,
        },
    )


def declared(settings: type, name: str, **changes: Any) -> Any:
    """The declaration of a field of `settings`, for a field of another class that means the same.

    changes : entries of the declaration that differ, such as `description`, or the `default`.
    """
    source = settings.__dataclass_fields__[name]  # type: ignore[attr-defined]
    default = changes.pop("default", source.default)
    return field(default=default, metadata={**source.metadata, **changes})


def check_setting(each: Field[Any], value: Any, *, is_bounded: bool = False) -> None:
    """Raise InputError for a value that the declaration of a field excludes; is_bounded: the bounds
    hold here, too, not only for a node."""
    choices, check = each.metadata.get("choices"), each.metadata.get("check")
    if is_bounded and each.metadata["bounds"]:
        low, high = each.metadata["bounds"]
        if not low <= value <= high:
            given = f"{each.name} is {value} {each.metadata['unit']}".rstrip()
            raise InputError(f"{given}: must be from {low:g} to {high:g}")
    if choices and value not in choices:
        raise InputError(f"{each.name} '{value}': expected one of {', '.join(choices)}")
    if check is not None and value is not None:
        check(each.name, value)
