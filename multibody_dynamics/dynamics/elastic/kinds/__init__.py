# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The kinds of actuators, one file each; :class:`.Actuator` says what a kind defines.

Every motor obeys, on the link side of the gear,

    M_m theta'' + load + friction(theta', load) = tau_m,

with the friction of :mod:`.friction_law`, and the deflections of the springs determine the joint
torque Q, which moves the link against its own friction, and the loads of the motors. A joint with
two motors has a second flat output: its stiffness sigma = -dQ/dq (motors held), or a pretension.
See G. Palli, C. Melchiorri, A. De Luca, ICRA 2008, and G. Buondonno, A. De Luca, RA-L 2016.

Spong's simplification: the kinetic energy of a rotor is that of its own spin, M_m theta'^2 / 2, and
its mass belongs to the link that carries it. This neglects the motion of the rotor's axis, an error
of the order of 1 / gear ratio of the rotor's own torque (with a ratio of 100, 1 % of M_m times the
accelerations of the preceding joints). Direct drives (ratio near 1) need the complete model,
with inertial coupling of motors and links, whose feedforward needs derivatives of q beyond the
fourth (A. De Luca, P. Tomei, in Theory of Robot Control, Springer 1996).

``KINDS`` is the only list of kinds: the compiled control cycle, the C source, the YAML reader and
the tests are made from it.
"""

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
from .series_elastic import SeriesElastic
from .variable_stiffness import VariableStiffness

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
    names[part].__qualname__ = f"{part} of {', '.join(functions)}"  # for Numba: a name of its own
    return inlined(names[part], uncounted=True)


def __dir__() -> list[str]:
    return sorted(__all__)
