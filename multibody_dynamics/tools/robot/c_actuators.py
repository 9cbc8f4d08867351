# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of the springs and motors of one robot, translated from the scalar source of the flat map."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.codegen import c_source, c_translation, c_types
from ...dynamics.elastic import (
    Actuators,
    actuator_rows,
    add_slip,
    flat_map,
    friction,
    link_friction,
)


class Entry(NamedTuple):
    """A translated function: its name in C, in Python, types of its arguments, purpose."""

    name: str
    function: Any
    types: dict[str, Any]
    purpose: str


def _entries(actuators: Actuators, tables: Mapping[str, Any]) -> list[Entry]:
    n, m, v = actuators.n, len(actuators.motors), len(actuators.variable_joints)

    def row(*shape: int, kind: str = "double") -> c_types.ArrayType:
        return c_types.ArrayType(kind, shape)

    states = row(actuators.state_count)
    common = {"own": c_types.NONE, "second": row(3, v)} | dict(tables)
    return [  # friction first: the feedforward then calls it by its public name
        Entry("robot_motor_friction", friction, common | {
            "j": "int", "velocity": "double", "load": "double",
        }, "Friction torque of motor j."),
        Entry("robot_link_friction", link_friction, common | {
            "i": "int", "velocity": "double", "torque": "double",
        }, "Friction torque of link i, under the torque of its springs."),
        Entry("robot_motor_feedforward", flat_map.feedforward_cycle, common | {
            "state": row(5, n), "torque": row(3, n), "carried": row(3, n), "filtered": states,
            "deflection": row(m),
            "load": row(m), "result": row(4, m), "flags": row(m, kind="int"),
        }, "Motors along a motion of the links: result = theta, theta', theta'', tau."),
        Entry("robot_spring_torques", flat_map.springs_recursion, common | {
            "q": row(n), "qd": row(n), "theta": row(m), "thetad": row(m), "torque": row(n),
            "rate": row(n), "K": row(n), "load": row(m), "deflection": row(m),
        }, "Torques of the springs at a measured state, their stiffness, and loads of the motors."),
        Entry("robot_advance_states", flat_map.advance_states, common | {
            "state": row(5, n), "torque": row(3, n), "filtered": states, "dt": "double",
        }, "Deflections of damped springs, and bristles of links along a motion, dt later."),
        Entry("robot_add_slip", add_slip, common | {
            "filtered": states, "torque": row(n), "load": row(m),
        }, "Torques of slip elements, added to those of springs and to loads of motors."),
    ]  # fmt: skip


def c_actuators(actuators: Actuators) -> tuple[str, str]:
    """Header and source, with the prefix `robot_`. Raises InputError for actuators that cannot be
    translated into C."""
    rows = actuator_rows(actuators)
    numbers = {
        "ACTUATORS": rows.joints,
        "MOTORS": rows.motors,
        "LAWS": rows.laws,
        "PIECES": rows.pieces,
        "VARIANT": np.ones(2),
    }
    names = ("joints", "motors", "laws", "pieces", "variant")
    tables = {
        name: c_types.table(key, numbers[key]) for name, key in zip(names, numbers, strict=True)
    }
    module, declared = c_translation.Module(), []
    for name, function, types, purpose in _entries(actuators, tables):
        arguments = signature(getattr(function, "py_func", function)).parameters
        chosen = {each: types[each] for each in arguments}
        declared.append(c_source.comment([purpose]) + module.add(name, function, chosen) + ";\n")
    v = len(actuators.variable_joints)
    sizes = {"MOTORS": len(actuators.motors), "VARIABLE": v, "SECOND": max(v, 1)}
    sizes["STATES"] = actuators.state_count
    parts = [
        "".join(f"#define ROBOT_{key} {value}\n" for key, value in sizes.items()),
        c_source.comment(
            [
                "ROBOT_VARIABLE joints have a second output, stiffness or pretension; arrays of",
                "second outputs have ROBOT_SECOND columns, at least one. ROBOT_STATES are the",
                "deflections of all joints, the torques of slip elements, and bristles of links.",
            ]
        ),
        *declared,
    ]
    source = '#include "robot_actuators.h"\n\n#include <math.h>\n\n' + module.text(numbers)
    return c_source.header("ROBOT_ACTUATORS_H", parts), source
