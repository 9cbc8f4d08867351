# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of the control laws as parameters, made from the declarations of the laws.

A setting of a law is a parameter with its name, or with the one in its declaration; laws that share
a declaration share the parameter. A setting with parts, such as the adaptation, is several
parameters, of which the first switches it on.
"""

from collections.abc import Iterator
from dataclasses import Field, field, fields, make_dataclass
from typing import Any, NamedTuple

from ...dynamics.control import LAWS, ControllerSettings, law_list
from ...dynamics.core import InputError
from ..base.parameters import ParameterError
from .following_parameters import FollowingParameters

OFF = "off"  # of a setting with parts


class LawParameter(NamedTuple):
    """A parameter of a law.

    setting : its declaration. whole : the parameter that switches a setting with parts on, or "".
    meaning : in place of that of the declaration.
    """

    name: str
    setting: Field[Any]
    whole: str = ""
    meaning: str = ""

    @property
    def default(self) -> Any:
        """Of the parameter: a row is an array, and an empty value stands for None."""
        if self.name == self.whole:
            return OFF
        value = self.setting.default
        if self.setting.metadata["is_row"]:
            return () if value is None else (value,)
        return "" if value is None else value

    def value(self, values: Any) -> Any:
        """The setting; `values` are those of all parameters."""
        value = getattr(values, self.name)
        if self.setting.default is None and value in ((), ""):
            return None
        return value[0] if isinstance(value, tuple) and len(value) == 1 else value

    def declaration(self, laws: list[str]) -> tuple[str, Any, Field[Any]]:
        """Name, type and field of a table of parameters; `laws` are those that have it."""
        data, default = dict(self.setting.metadata), self.default
        whose = self.whole if self.whole not in ("", self.name) else law_list(laws)
        data |= {
            "description": f"{whose}: {self.meaning or data['description']}",
            "laws": tuple(laws),
        }
        if self.name == self.whole:
            data["choices"] = (OFF, *data["choices"])
        kind = tuple[float, ...] if isinstance(default, tuple) else type(default)
        return self.name, kind, field(default=default, metadata=data)


def parameters_of(law: str) -> Iterator[LawParameter]:
    """The parameters of a law."""
    for setting in fields(LAWS[law]):
        name = _name(setting)
        if name and setting.metadata["parts"] is None:
            yield LawParameter(name, setting)
        elif name:
            for part in fields(setting.metadata["parts"]):
                if own := _name(part):
                    meaning = setting.metadata["description"] if own == name else ""
                    yield LawParameter(own, part, name, meaning)


def live_parameters(law: str) -> list[str]:
    """The names of the parameters that change a law while it runs."""
    return [each.name for each in parameters_of(law) if each.setting.metadata["live"]]


def law_settings(law: str, values: Any) -> ControllerSettings:
    """The settings of a law with these values of its parameters. Raises ParameterError."""
    values_of_law: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    names = {}
    for each in parameters_of(law):
        names[each.setting.name] = each.name
        chosen = parts.setdefault(each.whole, {}) if each.whole else values_of_law
        chosen[each.setting.name] = each.value(values)
    try:
        for setting in fields(LAWS[law]):
            name = _name(setting)
            if name in parts and getattr(values, name) != OFF:
                values_of_law[setting.name] = setting.metadata["parts"](**parts[name])
        if values_of_law.get("poles") is not None:
            del values_of_law["bandwidth"]
        return LAWS[law](**values_of_law)
    except InputError as error:
        word = str(error).partition(" ")[0]
        prefix = "" if names.get(word, word) == word else f"{names[word]}: "
        raise ParameterError(f"{prefix}{error}") from None


def _name(setting: Field[Any]) -> str:
    """The parameter of a setting, or "" if it has none."""
    name: str | None = setting.metadata.get("parameter", "")
    return setting.name if name is None else name


def _declarations() -> list[tuple[str, Any, Field[Any]]]:
    found: dict[str, LawParameter] = {}
    laws: dict[str, list[str]] = {}
    for law in LAWS:
        for each in parameters_of(law):
            found[each.name] = each
            laws.setdefault(each.name, []).append(law)
    return [each.declaration(laws[name]) for name, each in found.items()]


LawParameters: Any = make_dataclass(
    "LawParameters", _declarations(), bases=(FollowingParameters,), frozen=True
)
"""The parameters of nodes with control laws: those of :class:`.FollowingParameters`, and the
numbers of all laws."""
