# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as child processes: failures are reported, and signals are deferred."""

from __future__ import annotations

import signal
import time

import pytest

from multibody_dynamics.tools.base.processes import NodeEndedError, NodeProcesses, uninterrupted
from multibody_dynamics.tools.base.ros_settings import ros_environment

PATIENCE = 100.0  # s; a first start compiles


def test_a_failed_process_is_reported_with_its_log(tmp_path, ros_domain_id):
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text(
        "/**: {ros__parameters: {robot_file: absent.urdf, autostart: true, exit_when_done: true}}"
    )
    with NodeProcesses() as nodes:
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
        with pytest.raises(NodeEndedError, match=r"(?s)status 1.*absent\.urdf"):
            nodes.check(may_leave=[node])


def test_signals_are_deferred_to_the_end_of_an_uninterrupted_block():
    steps = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            steps.append("done")
        steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["done"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
