# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Priority, memory and processors of a node; and what it says if it may not have them."""

import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.nodes.base import scheduling
from multibody_dynamics.nodes.base.parameters import NodeParameters, ParameterError
from multibody_dynamics.nodes.base.watchdog import Watchdog
from permissions import may_use_real_time, threads, without_real_time
from ros_harness import FIRST_START, NodeProcess, ros

__all__ = ["ros"]  # the fixture

PROGRAM = Path(__file__).with_name("test_runtime.py")  # its example node
PRIORITY = 7
LAST = max(os.sched_getaffinity(0))


def active(ros, node: NodeProcess) -> None:
    ros.until(lambda: ros.state(node) == "active", "the start", patience=FIRST_START)


def locked(node: NodeProcess) -> int:
    """kB of locked memory."""
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return int(re.search(r"VmLck:\s+(\d+)", status)[1])


def test_all_threads_get_what_the_parameters_say(ros):
    parameters = {
        "scheduling_priority": PRIORITY,
        "lock_memory": True,
        "keep_awake": True,
        "processors": [LAST],
    }
    node = ros.start("example", parameters | {"autostart": True}, program=PROGRAM)
    active(ros, node)
    own = threads(node.process.pid)
    assert len(own) > 3  # those of the middleware too
    assert {frozenset(os.sched_getaffinity(each)) for each in own} == {frozenset({LAST})}
    assert f"processors {LAST}" in node.output
    if may_use_real_time(PRIORITY):
        assert {os.sched_getscheduler(each) for each in own} == {os.SCHED_FIFO}
        levels = {each: os.sched_getparam(each).sched_priority for each in own}
        assert levels.pop(node.process.pid) == PRIORITY  # the cycle
        assert set(levels.values()) == {PRIORITY - 1}
    else:
        assert f"no permission for the real-time priority {PRIORITY}" in node.output
    assert ("memory locked" in node.output) == (locked(node) > 0)
    assert ("no permission to lock" in node.output) == (locked(node) == 0)
    files = {os.path.realpath(each) for each in Path(f"/proc/{node.process.pid}/fd").iterdir()}
    is_awake = str(scheduling.IDLE_LATENCY) in files
    assert ("processors kept awake" in node.output) == is_awake
    assert (f"keep_awake: {scheduling.IDLE_LATENCY} cannot be" in node.output) == (not is_awake)

    for name, value in parameters.items():
        (found,) = ros.get_parameters(node, name)
        assert (list(found) if name == "processors" else found) == value
    (result,) = ros.set_parameters(node, scheduling_priority=PRIORITY + 1)
    assert not result.successful
    assert result.reason == "scheduling_priority is fixed at startup; restart the node"
    for transition in ("deactivate", "cleanup", "configure"):
        assert ros.transition(node, transition)
    if may_use_real_time(PRIORITY):
        assert os.sched_getparam(node.process.pid).sched_priority == PRIORITY
    assert ros.leave(node) == 0


def test_threads_that_end_and_processors_that_are_not_allowed(monkeypatch, tmp_path):
    (tmp_path / "4194305").touch()  # the number of no thread
    monkeypatch.setattr(scheduling, "THREADS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    said: list[str] = []
    in_force = scheduling.schedule(NodeParameters(processors=(0, 1)), said.append)
    assert in_force == "processors 0"
    assert said == ["processors: 1 not allowed for this process (cpuset)"]
    scheduling.return_to_normal()


def test_idle_states_are_forbidden_once_for_the_process(monkeypatch, tmp_path):
    """A file in place of the device, which exists only where the kernel has idle states."""
    device = tmp_path / "cpu_dma_latency"
    opened: list[int] = []
    monkeypatch.setattr(scheduling, "IDLE_LATENCY", device)
    monkeypatch.setattr(scheduling, "_keeps_awake", opened)
    parameters, said = NodeParameters(keep_awake=True), []
    assert scheduling.schedule(parameters, said.append) == ""
    (line,) = said
    assert line.startswith(f"keep_awake: {device} cannot be written (No such file or directory)")
    assert "udev rule" in line

    device.touch()
    for _ in range(2):  # two nodes of a process
        assert scheduling.schedule(parameters, said.append) == "processors kept awake"
    (file,) = opened
    assert device.read_bytes() == np.int32(0).tobytes()
    os.close(file)
    assert len(said) == 1


def test_threads_that_start_later_make_way_for_the_cycle(monkeypatch):
    """A new thread inherits the priority of the cycle."""
    own: dict[int, int] = {}

    def set_scheduler(thread: int, policy: int, parameter: os.sched_param) -> None:
        assert (thread, policy) == (0, os.SCHED_FIFO)
        own[threading.get_native_id()] = parameter.sched_priority

    monkeypatch.setattr(os, "sched_getscheduler", lambda process: os.SCHED_FIFO)
    monkeypatch.setattr(os, "sched_getparam", lambda process: os.sched_param(PRIORITY))
    monkeypatch.setattr(os, "sched_setscheduler", set_scheduler)
    watchdog = Watchdog(lambda: 60.0, lambda age: None)
    watchdog.start()
    watchdog.stop()
    assert list(own.values()) == [PRIORITY - 1]
    assert threading.get_native_id() not in own
    monkeypatch.setattr(os, "sched_getscheduler", lambda process: os.SCHED_OTHER)
    scheduling.lower_thread_priority()
    assert threading.get_native_id() not in own


def test_without_permission_a_node_says_what_to_set_and_goes_on(ros):
    parameters = {"scheduling_priority": PRIORITY, "lock_memory": True, "autostart": True}
    node = ros.start("example", parameters, program=PROGRAM, before=without_real_time)
    active(ros, node)
    for text in (
        f"no permission for the real-time priority {PRIORITY}: continuing with normal priority",
        "ulimit -r 99",
        "LimitRTPRIO=",
        "CAP_SYS_NICE",
        "no permission to lock the memory of this process: continuing without",
        "ulimit -l unlimited",
        "CAP_IPC_LOCK",
    ):
        assert node.output.count(text) == 1, text
    assert {os.sched_getscheduler(each) for each in threads(node.process.pid)} == {os.SCHED_OTHER}
    assert locked(node) == 0
    assert "running with" not in node.output
    assert ros.leave(node) == 0


def test_by_default_nothing_is_changed(ros):
    node = ros.start("example", {"autostart": True}, program=PROGRAM)
    active(ros, node)
    assert set(os.sched_getaffinity(node.process.pid)) == set(os.sched_getaffinity(0))
    assert locked(node) == 0
    assert "permission" not in node.output
    assert "running with" not in node.output
    assert list(ros.get_parameters(node, "processors")[0]) == []


def test_processors_that_do_not_exist_are_refused(ros):
    count = os.sysconf("SC_NPROCESSORS_CONF")
    node = ros.start("example", {"processors": [0, count]}, program=PROGRAM)
    ros.until(lambda: node.exit_code is not None or ros.peer.count_publishers("steps"), "the node")
    assert not ros.transition(node, "configure")
    assert f"processors has {count}; this computer has 0 to {count - 1}" in node.output
    with pytest.raises(ParameterError, match="processors has -1"):
        scheduling.check_processors(NodeParameters(processors=(-1,)))


def test_a_set_that_the_system_refuses_is_reported(monkeypatch):
    """As in a container that has been given other processors."""

    def refuse(thread: int, processors: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    said: list[str] = []
    assert scheduling.schedule(NodeParameters(processors=(0,)), said.append) == ""
    (line,) = said
    assert line.startswith("processors: Invalid argument: continuing with ")
