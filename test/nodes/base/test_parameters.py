# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameter tables; test_runtime.py tests them on a running node."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter

from multibody_dynamics.nodes.base.parameters import (
    NodeParameters,
    ParameterError,
    ParameterServer,
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
        '| `executor` | string | `"events"` |  | events, single | unconfigured | executor'
        " of the callbacks: 'events' uses half the CPU time of 'single', which replaces it if rclpy"
        " has no EventsExecutor |",
        "| `scheduling_priority` | int | `0` |  | 0 ... 99 | startup | real-time priority"
        " (SCHED_FIFO) of the thread of the cycle, once the node has been configured; the other"
        " threads of the process get one less; 0: normal priority |",
        "| `lock_memory` | bool | `false` |  |  | startup | lock the memory of the process, so it"
        " is not swapped out (mlockall) |",
        "| `keep_awake` | bool | `false` |  |  | startup | keep processors without work out of idle"
        " states (/dev/cpu_dma_latency), so that they react sooner; costs power |",
        "| `processors` | int[] | `[]` |  |  | startup | processors on which the process may run,"
        " numbered from 0; empty: no restriction by the node |",
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


@pytest.mark.ros
@pytest.mark.parametrize("distribution", ["humble", "jazzy"])
def test_accepted_changes_take_effect_and_are_announced(distribution, monkeypatch):
    """In ROS 2 Humble, rclpy has no callback after parameters were set."""
    if distribution == "humble":
        monkeypatch.delattr(Node, "add_post_set_parameters_callback")
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("example", context=context)
    changes = []
    server = ParameterServer(node, Example, on_change=changes.append)
    accepted, refused = node.set_parameters([Parameter("gain", value=g) for g in (1.5, 3.0)])
    assert (accepted.successful, refused.successful) == (True, False)
    assert [values.gain for values in changes] == [server.values.gain] == [1.5]
    assert node.get_parameter("gain").value == 1.5
    node.destroy_node()
    rclpy.try_shutdown(context=context)
