# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle in C, printed from the functions and records that Python compiles."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...codegen import c_records, c_source, c_translation, c_types
from ...core import record_fields
from ...elastic import Actuators, flat_map
from ...motion import RATE_LIMITED, TORQUE_LIMITED, limit_torque, segments
from ..controllers import bumpless_transfer, controllers, hold_controller, link_equilibrium
from ..observers import disturbance_compensation as observer
from ..records.actuation import Actuation, actuation
from ..records.cycle_counts import CycleCounts
from ..records.cycle_settings import CycleSettings
from ..signals import samples

NAMES: c_records.Names = {
    CycleSettings: "robot_parameters",
    CycleCounts: "robot_counts",
    samples.Samples: "robot_samples",
    observer.Disturbances: "robot_disturbances",
    segments.Segments: "robot_reference",
    Actuation: "actuation",  # tables alone
    "n": "ROBOT_JOINTS",
    "m": "ROBOT_MOTORS",
    "n + m": "ROBOT_JOINTS + ROBOT_MOTORS",
    "segments": "ROBOT_SEGMENTS",
}
"""Names in C of the records and of their lengths."""

NUMBERS = (
    "now", "link_time", "motor_time", "time", "dt", "done", "bandwidth", "step", "stop_time",
    "elapsed", "duration", "share",
)  # fmt: skip
"""Arguments that are numbers; an argument has the same type in all functions."""

REFERENCE = {
    "hold": segments.hold_position,
    "append": segments.append_segment,
    "remove": segments.remove_segment,
    "evaluate": segments.evaluate_segments,
    "cut": segments.cut_segments,
    "rests": segments.ends_at_rest,
    "brake": segments.brake_segments,
}
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "samples.c": (
        "The measured positions: validity of samples, and filters of them.",
        {
            "forget_samples": samples.forget_samples,  # first: it then has its public name
            "take_samples": samples.take_samples,
            "filters_are_settled": samples.filters_are_settled,
        },
    ),
    "disturbances.c": (
        "What the model does not explain, on both sides of the springs, from the momentum.",
        {
            "observe_disturbances": observer.observe_disturbances,
            "reset_disturbances": observer.reset_disturbances,
        },
    ),
    "control.c": (
        "Linear feedback, links in equilibrium on their springs, the stop, fades and limits.",
        {
            "feed_back": controllers.feed_back,
            "links_at_motors": link_equilibrium.links_at_motors,
            "follow_rigid_motors": link_equilibrium.follow_rigid_motors,
            "spring_excess": link_equilibrium.spring_excess,
            "follow_springs": link_equilibrium.follow_springs,
            "motor_loads": link_equilibrium.motor_loads,
            "hold_step": hold_controller.hold_step,
            "transfer_share": bumpless_transfer.transfer_share,
            "faded": bumpless_transfer.fade,
            "limit_torque": limit_torque,
        },
    ),
}


class PrintedCycle(NamedTuple):
    """Files by name; structures by their records; constants and prototypes for other files."""

    files: dict[str, str]
    structures: dict[Any, str]
    prototypes: str


def printed_cycle(actuators: Actuators, settings: CycleSettings) -> PrintedCycle:
    """All that the cycle of a robot in C shares with Python, with the prefix `robot_`.

    settings : those that it has by default. Raises InputError for actuators that cannot be
    translated into C.
    """
    printer = _Printer(actuators)
    files, prototypes = {}, []
    for file, (purpose, functions) in FILES.items():
        text, heads = printer.functions(functions)
        files[file] = _file(purpose, "robot_controller.h", text)
        prototypes.append("".join(f"{head};\n" for head in heads))
    whole, heads = printer.functions({
        **{f"reference_{name}": function for name, function in REFERENCE.items()},
        "segment_is_within": segments.segment_is_within,
    })  # fmt: skip
    files["reference.c"] = _file(
        "The motion: a queue of segments, and the path to rest.", "robot_reference.h", whole
    )
    files["reference.h"] = _reference_header(heads)
    files["settings.c"] = _settings(actuators, settings)
    records = (CycleSettings, CycleCounts, samples.Samples, observer.Disturbances)
    structures = {record: c_records.structure(record, NAMES) for record in records}
    constants = [
        f"#define ITERATIONS {hold_controller.ITERATIONS} /* to the equilibrium of the links; at"
        " first, ten times that */",
        f"#define FEW_ITERATIONS {link_equilibrium.FEW} /* up to which all of them are run */",
        f"#define TORQUE_LIMITED {TORQUE_LIMITED}",
        f"#define RATE_LIMITED {RATE_LIMITED}\n\n",
    ]
    return PrintedCycle(files, structures, "\n".join(constants) + "\n".join(prototypes))


def _file(purpose: str, header: str, text: str) -> str:
    return c_source.comment([purpose]) + f'#include "{header}"\n\n#include <math.h>\n\n{text}'


class _Printer:
    """Prints functions for one robot."""

    def __init__(self, actuators: Actuators) -> None:
        n, m = actuators.n, len(actuators.motors)
        sizes = {"n": n, "m": m, "n + m": n + m, "segments": segments.SEGMENTS}
        self._tables: dict[str, Any] = {}
        self._types: dict[str, Any] = dict.fromkeys(NUMBERS, "double") | {"row": "int"}

        def record(kind: Any) -> c_types.RecordType:
            return c_records.record_type(kind, NAMES, sizes, shown=("segments",))

        def rows(*names: str, shape: tuple[int, ...]) -> None:
            self._types |= dict.fromkeys(names, c_types.ArrayType("double", shape))

        self._types |= {"p": record(CycleSettings), "counts": record(CycleCounts)}
        self._records = {
            samples: record(samples.Samples),
            segments: record(segments.Segments),
            observer: record(observer.Disturbances),
        }
        rows("q", "qd", "momentum", "beta", "known", "link_limit", "velocity", "acceleration",
             "wanted_torque", "excess", "stiffness", shape=(n,))  # fmt: skip
        rows("theta", "thetad", "sent", "load", "motor_limit", "torque", "held", "wanted", "before",
             "limit", "rate", "lower", "upper", shape=(m,))  # fmt: skip
        rows("desired", "state", shape=(5, n))
        rows("gains", shape=(4, m))
        rows("reference", shape=(4, m))
        rows("springs", shape=(n,))
        self._n, self._m = (c_types.ArrayType("double", (length,)) for length in (n, m))
        self._two = c_types.ArrayType("double", (2, m))
        self._actuation = self._tables_of(actuation(actuators))

    def _tables_of(self, a: Actuation) -> c_types.RecordType:
        """The record of the actuators as tables."""
        fields = []
        for each in record_fields.declared_fields(Actuation):
            name, numbers = each.name.upper(), getattr(a, each.name)
            self._tables[name] = numbers
            fields.append((each.name, c_types.table(name, numbers)))
        return c_types.RecordType("actuation", tuple(fields))

    def functions(self, entries: dict[str, Any]) -> tuple[str, list[str]]:
        """The text of functions by their names without prefix, and their prototypes."""
        module = c_translation.Module()
        module.defined_elsewhere("robot_motor_friction", flat_map.friction, "-rr", "double")
        heads = []
        for name, function in entries.items():
            types = {argument: self._type(function, argument) for argument in _arguments(function)}
            head = module.add(f"robot_{name}", function, types)
            purpose = (inspect.getdoc(function) or "").replace("`", "").splitlines()
            heads.append(c_source.comment(purpose) + head)
        return module.text(self._tables), heads

    def _type(self, function: Any, argument: str) -> Any:
        own = inspect.getmodule(function)
        if argument == "a":
            return self._actuation
        if argument in ("s", "d"):
            return self._records[own]
        is_stop = function is hold_controller.hold_step
        if is_stop and argument in ("gains", "reference"):
            return self._two
        if own is link_equilibrium and argument == "wanted":
            return self._n
        if own is link_equilibrium and argument == "springs" and "load" in _arguments(function):
            return self._m
        if own is segments and argument in ("lower", "upper"):
            return self._n
        return self._types[argument]


def _arguments(function: Any) -> Sequence[str]:
    return list(inspect.signature(function).parameters)


def _reference_header(heads: Sequence[str]) -> str:
    parts = [
        "#ifndef ROBOT_REFERENCE_H\n#define ROBOT_REFERENCE_H\n",
        '#include "robot_dynamics.h"\n',
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        "/* Segments that a reference can hold at a time, one of them for the path to rest; a"
        " compiler option\n * may change it. */",
        f"#ifndef ROBOT_SEGMENTS\n#define ROBOT_SEGMENTS {segments.SEGMENTS}\n#endif",
        "#if ROBOT_SEGMENTS < 2",
        '#error "ROBOT_SEGMENTS must be at least 2: one of them is kept for the path to rest"',
        "#endif\n",
        c_records.structure(segments.Segments, NAMES),
        *(f"{head};\n" for head in heads),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return "\n".join(parts)


def _settings(actuators: Actuators, values: CycleSettings) -> str:
    return "\n".join([
        c_source.comment(["Settings: defaults and ranges. Names of joints and motors."])
        + '#include "robot_controller.h"\n\n#include <math.h>\n#include <stddef.h>\n',
        "const int robot_sizes[3] = {ROBOT_JOINTS, ROBOT_MOTORS, ROBOT_VARIABLE};\n",
        _names("robot_joint_names[ROBOT_JOINTS]", actuators.joint_names),
        _names("robot_motor_names[ROBOT_MOTORS]", actuators.motor_names),
        "void robot_default_parameters(robot_parameters *parameters)\n{\n"
        f"    *parameters = {c_records.defaults(values, 'robot_parameters')};\n}}\n",
        "const char *robot_wrong_parameter(const robot_parameters *p)\n{\n"
        f"{c_records.checks(CycleSettings, 'p', NAMES)}\n    return NULL;\n}}\n",
    ])  # fmt: skip


def _names(declaration: str, names: Sequence[str]) -> str:
    texts = ",\n".join(f"    {c_source.string(name)}" for name in names)
    return f"const char *const {declaration} = {{\n{texts}\n}};\n"
