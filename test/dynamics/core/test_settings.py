# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Declarations of settings, and other classes that take them over."""

from dataclasses import dataclass, fields

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.core.settings import check_setting, declared, setting
from rejections import assert_rejected


def odd(name: str, value: int) -> None:
    if value % 2 == 0:
        raise InputError(f"{name} is {value}: must be odd")


@dataclass(frozen=True)
class Example:
    gain: float = setting(0.5, "how much", unit="1/s", bounds=(0.0, 2.0), live=True)
    kind: str = setting("soft", "which", choices=("soft", "hard"), parameter="")
    count: int | None = setting(None, "how many", check=odd)


@dataclass(frozen=True)
class Other:
    gain: float = declared(Example, "gain", default=1.5, description="how much of it")
    kind: str = declared(Example, "kind")


def test_a_declaration_is_kept_with_the_field():
    gain, kind, _ = fields(Example)
    assert (Example().gain, Example().kind, Example().count) == (0.5, "soft", None)
    assert (gain.metadata["description"], gain.metadata["unit"]) == ("how much", "1/s")
    assert gain.metadata["bounds"] == (0.0, 2.0)
    assert (gain.metadata["live"], kind.metadata["live"]) == (True, False)
    assert (gain.metadata["parameter"], kind.metadata["parameter"]) == (None, "")


def test_another_class_takes_a_declaration_over():
    gain, kind = fields(Other)
    assert (Other().gain, Other().kind) == (1.5, "soft")
    assert (gain.metadata["description"], gain.metadata["unit"]) == ("how much of it", "1/s")
    assert kind.metadata == fields(Example)[1].metadata


def test_excluded_values_are_refused_by_name():
    _, kind, count = fields(Example)
    check_setting(kind, "hard")
    check_setting(count, 3)
    check_setting(count, None)  # not given
    assert_rejected(
        (lambda: check_setting(kind, "wet"), "kind 'wet': expected one of soft, hard"),
        (lambda: check_setting(count, 4), "count is 4: must be odd"),
    )
