# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as child processes: failures are reported, and signals are deferred."""

import signal
import subprocess
import sys
import time

import pytest

from multibody_dynamics.tools.base import processes
from multibody_dynamics.tools.base.ros_settings import ros_environment
from rejections import assert_rejected

PATIENCE = 100.0  # s; a first start compiles


def test_a_failed_process_is_reported_with_its_log(tmp_path, ros_domain_id):
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text(
        "/**: {ros__parameters: {robot_file: absent.urdf, autostart: true, exit_when_done: true}}"
    )
    with processes.NodeProcesses() as nodes:
        node = nodes.start(
            "trajectory_node",
            parameters,
            log=tmp_path / "log",
            environ=ros_environment(ros_domain_id),
        )
        assert node.cpu_seconds() >= 0.0
        deadline = time.monotonic() + PATIENCE
        while node.exit_code is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(processes.NodeEndedError, match=r"(?s)status 1.*absent\.urdf"):
            nodes.check(may_leave=[node])


def test_signals_are_deferred_to_the_end_of_an_uninterrupted_block():
    steps = []

    def work() -> None:
        with processes.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            steps.append("done")
        steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["done"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


NODE = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda number, frame: sys.exit({status}))
print("ready", flush=True)
time.sleep({patience})
"""


class Program(processes.NodeProcess):
    """Another program in place of a node: Python code."""

    def __init__(self, name, code, log):
        self.name, self.patience, self.log = name, 20.0, log
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=log.open("wb"), start_new_session=True
        )
        while not log.read_text():
            assert self.exit_code is None
            time.sleep(0.01)


def programs(tmp_path, *statuses):
    nodes = processes.NodeProcesses()
    for k, status in enumerate(statuses):
        code = NODE.format(status=status, patience=PATIENCE)
        nodes._nodes.append(Program("arm_node", code, tmp_path / f"log_{k}"))
    return nodes


def test_nodes_of_the_same_executable_have_an_exit_code_each(tmp_path):
    nodes = programs(tmp_path, 0, 3, 0)
    first, second, third = nodes._nodes
    assert nodes.stop() == {first: 0, second: 3, third: 0}
    assert nodes.stop() == {}
    with pytest.raises(processes.RunError, match=r"arm_node exited with status 3; see .*log_1"):
        programs(tmp_path, 0, 3, 0).stop_cleanly()


def test_a_node_that_cannot_be_stopped_does_not_keep_the_others_running(tmp_path):
    nodes = programs(tmp_path, 0, 0)
    first, second = nodes._nodes
    stuck = Stuck.__new__(Stuck)  # has no process
    nodes._nodes.append(stuck)
    assert_rejected((lambda: nodes.stop(), "cannot be stopped"), error=processes.RunError)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert nodes.stop() == {}


class Stuck(processes.NodeProcess):
    def stop(self):
        raise processes.RunError("process 1 of arm_node cannot be stopped")
