# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The kinds of actuators, one file each; :class:`.Actuator` says what a kind defines.

``KINDS`` is the only list of kinds: the compiled control cycle, the C source, the YAML reader and
the tests are made from it.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...core import inlined
from ..actuator import Actuator
from ..actuator_tables import KIND
from .antagonistic import Antagonistic
from .rigid import Rigid
from .series import SeriesElastic
from .variable import VariableStiffness

__all__ = ["KINDS", "Antagonistic", "Rigid", "SeriesElastic", "VariableStiffness", "by_kind"]

KINDS: dict[str, type[Actuator]] = {
    "rigid": Rigid,
    "series elastic": SeriesElastic,
    "variable stiffness": VariableStiffness,
    "antagonistic": Antagonistic,
}

for _code, _kind in enumerate(KINDS.values()):
    _kind.code = float(_code)


def by_kind(
    part: str, kinds: Mapping[str, type[Actuator]] = MappingProxyType(KINDS)
) -> Callable[..., Any]:
    """The function `part` of joint i for robots with these kinds, for compiled code and C.

    Neither can look functions up in a table, so this writes one chain of comparisons with KIND and
    executes it; joints of kinds without this part are left alone.
    """
    functions = {
        name: getattr(kind, part) for name, kind in kinds.items() if getattr(kind, part) is not None
    }
    (arguments,) = {", ".join(inspect.signature(each).parameters) for each in functions.values()}
    lines = [
        f"def {part}({arguments}):",
        f'    """`{part}` of the kind of joint i."""',
        "    kind = joints[i, KIND]",
    ]
    names: dict[str, Any] = {"KIND": KIND, "__name__": __name__}
    for name, function in functions.items():
        code, own = f"{name.upper().replace(' ', '_')}_KIND", function.__name__
        names |= {code: kinds[name].code, own: function}
        lines += [f"    if kind == {code}:", f"        {own}({arguments})"]
    file = f"<{part} of {', '.join(functions)}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return inlined(names[part])
