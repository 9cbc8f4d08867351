# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle in C, printed from the functions and records that Python compiles."""

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ...codegen import c_records, c_source, c_translation, c_types
from ...elastic import Actuators, friction
from ...motion import RATE_LIMITED, TORQUE_LIMITED, StreamLimits, limit_torque, segments, streams
from ..controllers import (
    bumpless_transfer,
    controllers,
    hold_controller,
    late_hold,
    link_damping,
    link_equilibrium,
)
from ..observers import disturbance_compensation as observer
from ..records.actuation import Actuation, actuation
from ..records.cycle_counts import CycleCounts
from ..signals import encoder_steps, frozen_sides, samples
from . import cycle_clock, modes, plausibility, sampled_input, sampled_motion, torque_steps
from .cycle_settings import MOST_RECOVERIES, CycleSettings

NAMES: c_records.Names = {
    CycleSettings: "robot_parameters",
    CycleCounts: "robot_counts",
    cycle_clock.CycleClock: "robot_clock",
    encoder_steps.EncoderSteps: "robot_encoder_steps",
    frozen_sides.FrozenSides: "robot_frozen",
    samples.Samples: "robot_samples",
    modes.Situation: "robot_situation",
    modes.Memory: "robot_modes",
    late_hold.SmoothedMotors: "robot_smoothed",
    bumpless_transfer.Transfer: "robot_transfer",
    observer.Disturbances: "robot_disturbances",
    segments.Segments: "robot_reference",
    StreamLimits: "robot_stream_limits",
    streams.Ticks: "robot_ticks",
    streams.Stream: "robot_stream",
    sampled_motion.SampledMotion: "robot_motion",
    plausibility.Refusal: "robot_refusal",
    plausibility.RestingSprings: "robot_springs",
    Actuation: "actuation",  # tables alone
    "n": "ROBOT_JOINTS",
    "m": "ROBOT_MOTORS",
    "v": "ROBOT_SECOND",
    "n + m": "ROBOT_JOINTS + ROBOT_MOTORS",
    "segments": "ROBOT_SEGMENTS",
    "recoveries": str(MOST_RECOVERIES),
    "rows": str(streams.ROWS),
    "points": str(streams.POINTS),
}
"""Names in C of the records, each after those in it, and of their lengths."""

SHAPES: dict[str, tuple[int | str, ...]] = {
    **dict.fromkeys((
        "now", "link_time", "motor_time", "time", "dt", "done", "bandwidth", "link_bandwidth",
        "lowered_bandwidth",
        "step", "stop_time", "elapsed", "duration", "share", "lead", "late", "delay", "period",
        "interval", "recent", "in_time", "held_back", "far", "start",
    ), ()),
    **dict.fromkeys((
        "q", "qd", "momentum", "beta", "known", "link_limit", "band", "velocity", "acceleration",
        "excess", "stiffness", "springs", "external", "disturbance", "disturbance_rate", "weight",
        "K", "allowed", "misfit", "scale", "wanted_rate", "wanted_speed", "position",
        "link_resolution", "bend",
    ), ("n",)),
    **dict.fromkeys((
        "theta", "thetad", "sent", "load", "loads", "motor_limit", "torque", "held", "wanted",
        "before", "limit", "rate", "lower", "upper", "damping", "kept", "bias", "motor_resolution",
    ), ("m",)),
    "times": ("points",), "positions": ("points", "n"), "velocities": ("points", "n"),
    "desired": (5, "n"), "state": (5, "n"), "gains": (4, "m"), "reference": (4, "m"),
    "states": ("states",), "second": (3, "v"),
}  # fmt: skip
"""The shapes of arguments by name, in all functions but those of OTHER_SHAPES."""

OTHER_SHAPES: dict[Any, dict[str, tuple[int | str, ...]]] = {
    hold_controller.hold_step: {"gains": (2, "m"), "reference": (2, "m")},
    late_hold.interpolate_motors: {"gains": (2, "m")},
    late_hold.damp_motors: {"gains": (2, "m")},
    controllers.subtract_known: {"torque": (3, "n")},
    controllers.known_torques: {"torque": ("n",)},
    link_equilibrium.follow_springs: {"wanted": ("n",)},
    link_equilibrium.motor_loads: {"wanted": ("n",)},
    segments.accept_point: {"lower": ("n",), "upper": ("n",)},
    segments.segment_is_within: {"lower": ("n",), "upper": ("n",)},
}

RECORDS = {
    "p": CycleSettings, "k": streams.Ticks, "counts": CycleCounts, "d": observer.Disturbances,
    "x": modes.Situation, "refusal": plausibility.Refusal, "m": sampled_motion.SampledMotion,
    "samples": samples.Samples, "frozen": frozen_sides.FrozenSides,
    "resting": plausibility.RestingSprings, "steps": encoder_steps.EncoderSteps,
}  # fmt: skip
MEMORIES: dict[Any, Any] = {
    samples: samples.Samples, segments: segments.Segments, modes: modes.Memory,
    late_hold: late_hold.SmoothedMotors, bumpless_transfer: bumpless_transfer.Transfer,
    cycle_clock: cycle_clock.CycleClock, encoder_steps: encoder_steps.EncoderSteps,
    frozen_sides: frozen_sides.FrozenSides, streams: streams.Stream,
    plausibility: plausibility.RestingSprings,
}  # fmt: skip
"""The records that arguments are; `s` is that of the module of a function."""
WHOLE = (
    "row", "agrees", "may_end", "mode", "fault", "knows_speed", "is_stamped", "count", "moves",
    "is_active", "has_motion", "keeps",
)  # fmt: skip
"""Arguments that are integers."""

REFERENCE = {
    "hold": segments.hold_position,
    "begin": segments.begin_segments,
    "append": segments.append_segment,
    "evaluate": segments.evaluate_segments,
    "cut": segments.cut_segments,
    "rests": segments.ends_at_rest,
    "brake": segments.brake_segments,
    "follow": segments.follow_segments,
    "motion": segments.motion_of_segments,
    "stop": segments.stop_segments,
    "accept": segments.accept_point,
}
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "plausibility.c": (
        "Whether what is measured of an arm at rest agrees with the model.",
        {
            "load_springs": plausibility.load_springs,
            "springs_agree": plausibility.springs_agree,
            "balance_springs": plausibility.balance_springs,
            "judge_positions": plausibility.judge_positions,
            "judge_encoders": plausibility.judge_encoders,
        },
    ),
    "samples.c": (
        "The clock; the measured positions: validity of samples, and filters of them.",
        {
            "advance_clock": cycle_clock.advance_clock,
            # before those that call them: they then have their public names
            "forget_samples": samples.forget_samples,
            "accept_next_samples": samples.accept_next_samples,
            "lacks_links": samples.lacks_links,
            "lacks_motors": samples.lacks_motors,
            "state_interval": samples.state_interval,
            "filters_are_settled": samples.filters_are_settled,
            "knows_speed": samples.knows_speed,
            "take_input": sampled_input.take_input,
        },
    ),
    "modes.c": (
        "Modes and faults: what acts on the arm, and why.",
        {
            "is_following": modes.is_following,
            "is_final": modes.is_final,
            "joint_of_fault": modes.joint_of_fault,
            "interpolate_speeds": encoder_steps.interpolate_speeds,
            "are_motors_slow": modes.are_motors_slow,
            "raise_fault": modes.fail,
            "begin_modes": modes.activate,
            "end_modes": modes.deactivate,
            "restart_modes": modes.restart,
            "keeps_torque": modes.keeps_torque,
            "damping_share": modes.damping_share,
            "end_fault": modes.clear_fault,
            "supervise": modes.supervise,
            "note_motion": modes.note_motion,
            "judge_delay": modes.note_delay,
        },
    ),
    "disturbances.c": (
        "What the model does not explain, on both sides of the springs, from the momentum.",
        {
            "observe_disturbances": observer.observe_disturbances,
            "reset_disturbances": observer.reset_disturbances,
        },
    ),
    "motion.c": (
        "What the arm follows: points, as a motion in segments, or the targets of a stream.",
        {
            "hold_motion": sampled_motion.hold_motion,
            "evaluate_motion": sampled_motion.evaluate_motion,
            "follow_motion": sampled_motion.follow_motion,
            "phase_of_motion": sampled_motion.phase_of_motion,
            "append_point": sampled_motion.append_point,
            "follow_targets": sampled_motion.follow_targets,
            "cut_motion": sampled_motion.cut_motion,
            "stop_motion": sampled_motion.stop_motion,
        },
    ),
    "control.c": (
        "Linear feedback, links in equilibrium on their springs, the stop, fades and limits.",
        {
            "subtract_known": controllers.subtract_known,
            "known_torques": controllers.known_torques,
            "feed_back": controllers.feed_back,
            "links_at_motors": link_equilibrium.links_at_motors,
            "follow_rigid_motors": link_equilibrium.follow_rigid_motors,
            "follow_springs": link_equilibrium.follow_springs,
            "motor_loads": link_equilibrium.motor_loads,
            "hold_step": hold_controller.hold_step,
            "smooth_motors": late_hold.smooth_motors,
            "calm_motors": encoder_steps.calm_motors,
            "interpolate_motors": late_hold.interpolate_motors,
            "damp_motors": late_hold.damp_motors,
            "damp_links": link_damping.damp_links,
            "start_transfer": bumpless_transfer.start_transfer,
            "transfer_torque": bumpless_transfer.transfer_torque,
            "held_back": bumpless_transfer.held_back,
            "limit_torque": limit_torque,
            "next_period": torque_steps.next_period,
            "torque_step": torque_steps.torque_step,
            "longest_interval": torque_steps.longest_interval,
            "recent_interval": torque_steps.recent_interval,
            "feedback_share": torque_steps.feedback_share,
        },
    ),
}

OUTPUT: tuple[tuple[str, str, tuple[int | str, ...], str, str], ...] = (
    ("double", "torque", ("m",), "c->torque", "N m or N, to be sent"),
    ("robot_state", "state", (), "(robot_state)c->modes.mode", ""),
    ("robot_fault", "fault", (), "(robot_fault)c->modes.fault", ""),
    ("int", "fault_joint", (), "robot_joint_of_fault(&c->modes)",
     "at which it was found; -1 if it is not about one"),
    ("double", "fault_value", (), "c->modes.value", "what was found there, SI units"),
    ("double", "fault_allowed", (), "c->modes.allowed", "what is allowed there"),
    ("int", "open_loop", (), "c->modes.fault == ROBOT_NOT_FINITE ? c->open_loop : 0",
     "which of robot_loop_names could not be closed; 0: none"),
    ("double", "desired", (5, "n"), "c->desired", "q..q''''"),
    ("double", "desired_theta", ("m",), "c->now.result[0]",
     "along `desired`, by the flat map, or that of a stop"),
    ("double", "q", ("n",), "c->samples.q", "rad or m"),
    ("double", "qd", ("n",), "c->samples.qd", ""),
    ("double", "theta", ("m",), "c->samples.theta", ""),
    ("double", "thetad", ("m",), "c->samples.thetad", ""),
    ("int", "flags", ("m",), "c->now.flags",
     "while following, 1: spring beyond its travel, 2: second output clipped"),
    ("robot_counts", "counts", (), "c->counts", ""),
)  # fmt: skip
"""What a cycle answers: kind, name and shape in C, where it comes from, and what it means."""

REQUESTS = {
    "robot_answer robot_append(robot_controller *c, double time, double state[5][ROBOT_JOINTS])":
        "append_point",
    "void robot_cut(robot_controller *c, double time)": "cut_motion",
    "void robot_stop(robot_controller *c)": "stop_motion",
    "void robot_note_delay(robot_controller *c, double delay)": "judge_delay",
}  # fmt: skip
"""Functions for users, and those of FILES that they apply to PARTS of a controller."""
PARTS = {
    "p": "&c->parameters", "counts": "&c->counts", "m": "&c->motion", "s": "&c->modes",
    "mode": "c->modes.mode", "now": "c->clock.time", "desired": "c->desired",
    "qd": "c->samples.qd", "thetad": "c->samples.thetad",
}  # fmt: skip


class PrintedCycle(NamedTuple):
    """Files by name; structures of the settings, of what a cycle answers, and of all other records;
    constants and prototypes for other files; functions for users; the enumerations of modes, faults
    and answers."""

    files: dict[str, str]
    settings: str
    output: str
    records: str
    prototypes: str
    requests: str
    enumerations: str


def printed_cycle(
    actuators: Actuators, settings: CycleSettings, stream: StreamLimits, loops: Any = c_types.NONE,
    loop_names: Sequence[str] = (),
) -> PrintedCycle:  # fmt: skip
    """All that the cycle of a robot in C shares with Python, with the prefix `robot_`.

    settings, stream : those that it has by default. loops : the record that the gravity torques of
    a robot with loops take; loop_names : what it counts as open. Raises InputError for actuators
    that cannot be translated into C.
    """
    printer = _Printer(actuators, loops)
    files, prototypes = {}, []
    whole, heads = printer.functions({
        "segment_is_within": segments.segment_is_within,
        **{f"reference_{name}": function for name, function in REFERENCE.items()},
    })  # fmt: skip
    files["reference.c"] = _file(
        "The motion: a queue of segments, and the path to rest.", "robot_reference.h", whole
    )
    files["reference.h"] = _reference_header(heads)
    for file, (purpose, functions) in FILES.items():
        text, heads = printer.functions(functions)
        files[file] = _file(purpose, "robot_controller.h", text)
        prototypes.append("".join(f"{head};\n" for head in heads))
    files["settings.c"] = _settings(actuators, settings, stream, loop_names)
    structures = {
        record: c_records.structure(record, NAMES)
        for record in NAMES
        if not isinstance(record, str) and record not in (segments.Segments, Actuation)
    }
    records = "\n".join(list(structures.values())[2:])
    constants = [
        f"#define ITERATIONS {hold_controller.ITERATIONS} /* to the equilibrium of the links; at"
        " first, ten times that */",
        f"#define FEW_ITERATIONS {link_equilibrium.FEW} /* up to which all of them are run */",
        f"#define CLOCK_RUNS {cycle_clock.RUNS}",
        f"#define CLOCK_SET_BACK {cycle_clock.SET_BACK}",
        f"#define CLOCK_STOPPED {cycle_clock.STOPPED}",
        f"#define OPEN_LOOP {'c->loops.open' if loop_names else 0}",
        f"#define TORQUE_LIMITED {TORQUE_LIMITED}",
        f"#define RATE_LIMITED {RATE_LIMITED}\n\n",
    ]
    shared = "\n".join(constants) + "\n".join(prototypes)
    answer, report = _output()
    requests = "\n".join([report, *map(_request, REQUESTS)])
    output = f"{structures[CycleCounts]}\n{answer}"
    return PrintedCycle(
        files, structures[CycleSettings], output, records, shared, requests, _enumerations()
    )


def _output() -> tuple[str, str]:
    """The structure of what a cycle answers, and the function that fills it."""
    fields, copies = [], []
    for kind, name, shape, source, meaning in OUTPUT:
        lengths = [str(NAMES.get(length, length)) for length in shape]
        size = "".join(f"[{length}]" for length in lengths)
        fields.append(f"    {kind} {name}{size};{f' /* {meaning} */' if meaning else ''}\n")
        if shape:
            to, own = (f"(&{row}[0][0])" if shape[1:] else row for row in (f"out->{name}", source))
            copies.append(f"    for (int k = 0; k < {' * '.join(lengths)}; ++k) {{\n")
            copies.append(f"        {to}[k] = {own}[k];\n    }}\n")
        else:
            copies.append(f"    out->{name} = {source};\n")
    head = "static void report(const robot_controller *c, robot_output *out)"
    body = "".join(copies)
    return f"typedef struct {{\n{''.join(fields)}}} robot_output;\n", f"{head}\n{{\n{body}}}\n"


def _request(head: str) -> str:
    """A function for users."""
    name, answer = REQUESTS[head], head.partition(" ")[0]
    (function,) = (own[name] for _, own in FILES.values() if name in own)
    given = [PARTS.get(each, each) for each in _arguments(function)]
    begin = "    " if answer == "void" else f"    return ({answer})"
    call = c_source.folded(f"{begin}robot_{name}({', '.join(given)});")
    return "\n".join([head, "{", *call, "}", ""])


def _file(purpose: str, header: str, text: str) -> str:
    return c_source.comment([purpose]) + f'#include "{header}"\n\n#include <math.h>\n\n{text}'


class _Printer:
    """Prints functions for one robot."""

    def __init__(self, actuators: Actuators, loops: Any) -> None:
        self._arm = loops  # of a RestingArm, C needs at most that
        n, m = actuators.n, len(actuators.motors)
        self._public: dict[Any, c_types.Translated] = {}  # of the files before
        self._sizes = {
            "n": n, "m": m, "n + m": n + m, "v": len(actuators.variable_joints),
            "segments": segments.SEGMENTS,
            "recoveries": MOST_RECOVERIES, "rows": streams.ROWS, "points": streams.POINTS,
            "states": actuators.state_count,
        }  # fmt: skip
        own = actuation(actuators)
        self._tables = {name.upper(): row for name, row in own._asdict().items()}
        self._fields = {
            name: c_types.table(name.upper(), row) for name, row in own._asdict().items()
        }
        common = late_hold.common_motion(actuators)
        self._tables["COMMON"] = common
        self._fields["common"] = c_types.table("COMMON", common)
        # the rules of the modes: settings, and two tables
        self._rules = {
            "joint_of_motor": self._fields["joint_of_motor"],
            "link_share": self._fields["torque_share"],
        }

    def functions(self, entries: dict[str, Any]) -> tuple[str, list[str]]:
        """The text of functions by their names without prefix, after the declarations of those in
        other files, and their prototypes."""
        module = c_translation.Module(self._public)
        module.defined_elsewhere("robot_motor_friction", friction, "-rrr", "double")
        module.defined_elsewhere("robot_spring_torques", plausibility.spring_torques, "-rrrrrwwwww")
        weighs = "-rw" if self._arm == c_types.NONE else "wrw"
        module.defined_elsewhere("robot_gravity_forces", plausibility.weigh_links, weighs)
        heads = []
        for name, function in entries.items():
            types = {argument: self._type(function, argument) for argument in _arguments(function)}
            head = module.add(f"robot_{name}", function, types)
            purpose = (inspect.getdoc(function) or "").replace("`", "").splitlines()
            heads.append(c_source.comment(purpose) + head)
        text = module.text(self._tables)
        called = [
            f"{each.prototype};\n"
            for each in self._public.values()
            if f"{each.name}(" in text and not each.name.startswith("robot_reference_")
        ]
        self._public |= module.public
        return "\n".join([*called, text]), heads

    def _type(self, function: Any, argument: str) -> Any:
        if argument == "a":
            return c_types.RecordType(NAMES[Actuation], tuple(self._fields.items()))
        if argument == "arm":
            return self._arm
        if argument in self._fields:
            return self._fields[argument]
        own = inspect.getmodule(function)
        if argument in WHOLE or (own is modes and argument == "motion"):
            return c_types.INT
        record = MEMORIES[own] if argument == "s" else RECORDS.get(argument)
        if own is streams and argument == "p":
            record = StreamLimits
        if record is not None:
            kind = c_records.record_type(record, NAMES, self._sizes, shown=("segments",))
            if record is CycleSettings:
                kind = kind._replace(fields=(*kind.fields, *self._rules.items()))
            return kind
        shape = OTHER_SHAPES.get(function, {}).get(argument, SHAPES[argument])
        lengths = tuple(self._sizes[each] if isinstance(each, str) else each for each in shape)
        return c_types.ArrayType(c_types.DOUBLE, lengths) if lengths else c_types.DOUBLE


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


def _settings(
    actuators: Actuators, values: CycleSettings, stream: StreamLimits, loop_names: Sequence[str]
) -> str:
    return "\n".join([
        c_source.comment(["Settings: defaults and ranges. Names of joints and motors."])
        + '#include "robot_controller.h"\n\n#include <math.h>\n#include <stddef.h>\n',
        "const int robot_sizes[3] = {ROBOT_JOINTS, ROBOT_MOTORS, ROBOT_VARIABLE};\n",
        _names("robot_joint_names[ROBOT_JOINTS]", actuators.joint_names),
        _names("robot_motor_names[ROBOT_MOTORS]", actuators.motor_names),
        _names("robot_loop_names[]", ("", *loop_names)),
        "void robot_default_parameters(robot_parameters *parameters)\n{\n"
        f"    *parameters = {c_records.defaults(values, 'robot_parameters')};\n}}\n",
        "const robot_stream_limits robot_default_stream = "
        f"{c_records.defaults(stream, '').removeprefix('()')};\n",
        "const char *robot_wrong_parameter(const robot_parameters *p)\n{\n"
        f"{c_records.checks(CycleSettings, 'p', NAMES)}\n    return NULL;\n}}\n",
        *(_words(name, texts) for name, (_, _, texts) in CODES.items()),
    ])  # fmt: skip


CODES: Mapping[str, tuple[type[IntEnum], Sequence[str], Sequence[str]]] = {
    "state": (modes.Mode, [mode.name for mode in modes.Mode],
              [mode.name.lower() for mode in modes.Mode]),
    "fault": (modes.Cause, ["NO_FAULT", *(each.name for each in list(modes.Cause)[1:])],
              [fault.text for fault in modes.FAULTS]),
    "answer": (segments.Answer,
               ["ACCEPTED", *(f"POINT_{each.name}" for each in list(segments.Answer)[1:])],
               segments.ANSWERS),
    "mistake": (plausibility.Mistake,
                ["NO_MISTAKE", *(each.name for each in list(plausibility.Mistake)[1:])],
                plausibility.MISTAKES),
}  # fmt: skip
"""Enumerations of C with their members and texts."""


def _names(declaration: str, names: Sequence[str]) -> str:
    texts = ",\n".join(f"    {c_source.string(name)}" for name in names)
    return f"const char *const {declaration} = {{\n{texts}\n}};\n"


def _words(name: str, texts: Sequence[str]) -> str:
    """The function that gives the text of a state, a fault or an answer."""
    rows = ",\n".join(f"        {c_source.string(text)}" for text in texts)
    return (
        f"const char *robot_{name}_name(robot_{name} {name})\n{{\n"
        f"    static const char *const names[{len(texts)}] = {{\n{rows}\n    }};\n"
        f"    return (int){name} >= 0 && (int){name} < {len(texts)} ? names[{name}]"
        ' : "unknown";\n}\n'
    )


def _enumerations() -> str:
    """The states with what they mean, the faults, and the answers to points."""
    table = inspect.cleandoc(modes.__doc__ or "").split("\n\n")[2]
    parts = [c_source.comment(["What acts on the arm:", "", *textwrap.dedent(table).splitlines()])]
    for name, (members, names, texts) in CODES.items():
        rows = "".join(
            f"    ROBOT_{own} = {each.value},"
            + ("" if text == own.lower() else f" /* {text} */")
            + "\n"
            for each, own, text in zip(members, names, texts, strict=True)
        )
        parts.append(f"typedef enum {{\n{rows}}} robot_{name};\n")
    return "\n".join(parts)
