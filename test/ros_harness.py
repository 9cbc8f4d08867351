# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes under test in separate processes, and a peer node in the test that talks to them.

    def test_something(ros):                         # the fixture below
        node = ros.start("feedforward_node", parameters)
        ros.transition(node, "configure")
        torques = ros.record(JointState, f"{node.name}/torque")
        ros.until(lambda: torques, "a torque")

Nothing sleeps for a fixed time: `until` spins the peer until a condition holds, or fails after
`PATIENCE` and shows the output of the nodes. Only processes started here are terminated.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy

from forked_process import ForkedProcess
from multibody_dynamics.tools.base.ros_settings import ros_environment

EVERY_NODES = "/parameter_events"  # the topic on which every node publishes
PATIENCE = 60.0  # s; discovery alone may take 3, and much more on a busy computer
FIRST_START = 240.0  # s; the dynamics may have to be compiled first
NAMESPACE = "/test"
RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
    "cleanup": Transition.TRANSITION_CLEANUP,
    "shut down unconfigured": Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    "shut down active": Transition.TRANSITION_ACTIVE_SHUTDOWN,
}


class NodeProcess:
    """A running node; `output` is everything it has printed so far."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes] | ForkedProcess, log: Path
    ) -> None:
        self.name = name
        self.process = process
        self._log = log

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def exit_code(self) -> int | None:
        return self.process.poll()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


class RosHarness:
    """One ROS domain with the node `peer` and the processes started in it."""

    def __init__(self, domain_id: int, folder: Path) -> None:
        self.environment = ros_environment(domain_id)
        self._folder = folder
        self._processes: list[NodeProcess] = []
        self._services: dict[tuple[str, str], Any] = {}
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id)
        self.peer = rclpy.create_node("peer", namespace=NAMESPACE, context=self.context)
        self.executor = EventsExecutor(context=self.context)  # keeps up with several topics
        self.executor.add_node(self.peer)
        self._diagnostics: dict[str, Any] = {}
        self.peer.create_subscription(
            DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE
        )

    def start(
        self,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        *arguments: str,
        program: Path | None = None,
        variables: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> NodeProcess:
        """Start `multibody_dynamics.nodes.<name>`, or a program, in the namespace of the harness.

        It is forked with everything loaded; with either of the last two arguments, it is started as
        on a robot.

        `arguments` are further ROS arguments. A program can import the helpers in test/.
        `variables` are added to its environment; `before` is called in the new process.
        """
        number = len(self._processes)
        settings = self._folder / f"{name}_{number}.yaml"
        settings.write_text(json.dumps({"/**": {"ros__parameters": dict(parameters or {})}}))
        log = self._folder / f"{name}_{number}.log"
        ros_arguments = [
            "--ros-args", "-r", f"__ns:={NAMESPACE}", "--params-file", str(settings), *arguments,
        ]  # fmt: skip
        places = [str(Path(__file__).parent), self.environment.get("PYTHONPATH", "")]
        environment = {**self.environment, "PYTHONPATH": os.pathsep.join(filter(None, places))}
        log.touch()
        module = f"multibody_dynamics.nodes.{name}"
        process: subprocess.Popen[bytes] | ForkedProcess
        if variables or before:
            what = (str(program),) if program else ("-m", module)
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [sys.executable, *what, *ros_arguments], env=environment | (variables or {}),
                    stdout=output, stderr=subprocess.STDOUT, preexec_fn=before,
                )  # fmt: skip
        else:
            process = ForkedProcess(program or module, ros_arguments, environment, log)
        node = NodeProcess(name, process, log)
        self._processes.append(node)
        return node

    def spin(self, seconds: float = 0.0) -> None:
        """Spin the peer for this long, at least once."""
        end = time.monotonic() + seconds
        while True:
            self.executor.spin_once(timeout_sec=max(0.0, min(0.01, end - time.monotonic())))
            if time.monotonic() >= end:
                return

    def until(
        self,
        condition: Callable[[], Any],
        what: str,
        each: Callable[[], object] = lambda: None,
        patience: float = PATIENCE,
        every: float = 0.004,
    ) -> Any:
        """Spin, calling `each` after every `every` s, until `condition()` is true; return it."""
        end = time.monotonic() + patience
        while True:
            result = condition()
            if result:
                return result
            if time.monotonic() > end:
                printed = "\n".join(f"--- {p.name}:\n{p.output}" for p in self._processes)
                pytest.fail(f"timed out after {patience} s waiting for {what}\n{printed}")
            each()
            self.spin(every)

    def publisher(self, kind: type, topic: str, readers: int = 1, qos: Any = RELIABLE) -> Any:
        """A publisher of the peer that already has `readers`."""
        publisher = self.peer.create_publisher(kind, topic, qos)
        self.until(
            lambda: publisher.get_subscription_count() >= readers,
            f"a reader of {topic}",
            patience=FIRST_START,
        )
        return publisher

    def record(self, kind: type, topic: str, qos: Any = RELIABLE, writers: int = 1) -> list[Any]:
        """A list that collects the messages of a topic that already has `writers`."""
        messages: list[Any] = []
        self.peer.create_subscription(kind, topic, messages.append, qos)
        if writers:
            self.until(
                lambda: self.peer.count_publishers(topic) >= writers,
                f"a writer of {topic}",
                patience=FIRST_START,
            )
        return messages

    def call(self, kind: type, name: str, request: Any) -> Any:
        """Call a service and return its response."""
        client = self._services.get((kind.__name__, name))
        if client is None:
            client = self.peer.create_client(kind, name)
            self._services[kind.__name__, name] = client
        self.until(client.service_is_ready, f"the service {name}")
        future = client.call_async(request)
        self.until(future.done, f"a response of {name}", patience=FIRST_START)
        return future.result()

    def transition(self, node: NodeProcess, what: str | int) -> bool:
        """Request a transition by a name of `TRANSITIONS` or its number; True if it succeeded."""
        number = TRANSITIONS[what] if isinstance(what, str) else what
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(ChangeState, f"{node.name}/change_state", request).success)

    def state(self, node: NodeProcess) -> str:
        """The lifecycle state."""
        answer = self.call(GetState, f"{node.name}/get_state", GetState.Request())
        return str(answer.current_state.label)

    def set_parameters(self, node: NodeProcess, **values: Any) -> list[Any]:
        """Set parameters one by one; returns the results (successful, reason)."""
        request = SetParameters.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        return list(self.call(SetParameters, f"{node.name}/set_parameters", request).results)

    def get_parameters(self, node: NodeProcess, *names: str) -> list[Any]:
        """The present values of these parameters."""
        request = GetParameters.Request(names=list(names))
        answer = self.call(GetParameters, f"{node.name}/get_parameters", request)
        return [parameter_value_to_python(value) for value in answer.values]

    def diagnosis(self, part: str) -> tuple[int, str, dict[str, str]]:
        """Level, message and values of the latest status whose name ends with `part`."""
        for name, status in self._diagnostics.items():
            if name.endswith(part):
                values = {item.key: item.value for item in status.values}
                return status.level[0], status.message, values
        return 3, "", {}

    def exit_of(self, node: NodeProcess, **how: Any) -> int:
        """Wait until a node has ended by itself, as `until` does; returns its exit code."""
        self.until(lambda: node.exit_code is not None, f"the exit of {node.name}", **how)
        return int(node.process.returncode)

    def leave(self, node: NodeProcess, number: signal.Signals = signal.SIGTERM) -> int:
        """Terminate a node by a signal; returns its exit code."""
        node.send(number)
        code = self.exit_of(node)
        others = [each.name for each in self._processes if each.exit_code is None]
        if number != signal.SIGKILL and node.name not in others:
            self.until(
                lambda: node.name not in self._publishing_nodes(),
                f"{node.name} to say that it has left; requests to another of its name were lost",
            )
        return code

    def _publishing_nodes(self) -> list[str]:
        """The nodes whose publishers are there. The list of names may keep for ever a node whose
        last entry arrives after its publishers have left."""
        return [each.node_name for each in self.peer.get_publishers_info_by_topic(EVERY_NODES)]

    def close(self) -> None:
        is_measured = "COVERAGE_PROCESS_CONFIG" in os.environ  # coverage is saved by a regular exit
        for node in self._processes:
            if is_measured and node.exit_code is None:
                node.send(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    node.process.wait(timeout=PATIENCE / 3.0)
            if node.exit_code is None:
                node.process.kill()
                node.process.wait()
        self.executor.shutdown()
        self.peer.destroy_node()
        rclpy.shutdown(context=self.context)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self._diagnostics.update({status.name: status for status in message.status})


@pytest.fixture
def ros(ros_domain_id: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[RosHarness]:
    """A harness in its own ROS domain; import this fixture into the test module."""
    for key, value in ros_environment(ros_domain_id).items():
        if os.environ.get(key) != value:
            monkeypatch.setenv(key, value)
    with tempfile.TemporaryDirectory() as folder:
        harness = RosHarness(ros_domain_id, Path(folder))
        try:
            yield harness
        finally:
            harness.close()
