# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameter tables; test_runtime.py tests them on a running node."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from multibody_dynamics.nodes.base.parameters import (
    NodeParameters,
    ParameterError,
    field_types,
    markdown_table,
    parameter,
)
from multibody_dynamics.nodes.following.feedforward_parameters import FeedforwardParameters


@dataclass(frozen=True)
class Example(NodeParameters):
    gain: float = parameter(0.5, "how much", unit="1/s", bounds=(0.0, 2.0), live=True)
    joints: tuple[str, ...] = parameter((), "whose")


def test_markdown_table():
    assert markdown_table(Example).splitlines() == [
        "| parameter | type | default | unit | range | when | description |",
        "|---|---|---|---|---|---|---|",
        "| `autostart` | bool | `false` |  |  | unconfigured | configure and activate at startup,"
        " without a lifecycle manager or launch file |",
        '| `executor` | string | `"events"` |  | events, single | unconfigured | executor:'
        " 'events' uses half the CPU time of 'single', which is the fallback |",
        "| `gain` | double | `0.5` | 1/s | 0 ... 2 | live | how much |",
        "| `joints` | string[] | `[]` |  |  | unconfigured | whose |",
    ]


def test_every_number_of_the_feedforward_node_has_a_range_that_contains_its_default():
    FeedforwardParameters().check()
    for field in dataclasses.fields(FeedforwardParameters):
        assert field.metadata["description"]
        if isinstance(field.default, float):
            low, high = field.metadata["bounds"]
            assert low <= field.default <= high
    assert field_types(FeedforwardParameters).keys() == {
        field.name for field in dataclasses.fields(FeedforwardParameters)
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"robot_file": "a.urdf", "robot_description": "<robot/>"}, "choose one"),
        ({"gravity": (0.0, -9.81)}, "gravity has 2 values"),
        ({"command_joints": ("a", "a")}, "command_joints has duplicate names"),
        ({"command_joints": ("a", "b", "c"), "torque_rate_limits": (1.0, 2.0)}, "has 2 values"),
        ({"torque_rate_limits": (0.0,)}, "must be positive"),
        ({"update_rate": 2.0}, "shorter than one cycle"),
    ],
)
def test_parameters_of_the_feedforward_node_are_checked_against_each_other(changes, says):
    with pytest.raises(ParameterError, match=says):
        FeedforwardParameters(**changes).check()
