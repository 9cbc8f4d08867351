# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The life cycle of a node: its states, shutdown by a signal, and faults that it must survive."""

import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, SIGTERM

import numba
import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from multibody_dynamics.dynamics.core.errors import InputError, ModelWarning
from multibody_dynamics.nodes.base.parameters import NodeParameters, ParameterError, parameter
from multibody_dynamics.nodes.base.runtime import ManagedNode, initialise, run
from ros_harness import FIRST_START, NAMESPACE, NodeProcess, RosHarness, ros

__all__ = ["ros"]  # the fixture


@dataclass(frozen=True)
class ExampleParameters(NodeParameters):
    fault: str = parameter("", "where to fail, and how")
    gain: float = parameter(1.0, "changes while running", unit="1/s", bounds=(0.0, 2.0), live=True)
    ceiling: float = parameter(2.0, "of gain", bounds=(0.0, 5.0))
    names: tuple[str, ...] = parameter((), "empty by default")
    numbers: tuple[float, ...] = parameter((), "empty by default", live=True)

    def check(self) -> None:
        super().check()
        if self.gain > self.ceiling:
            raise ParameterError(f"gain {self.gain} is above ceiling {self.ceiling}")


class ExampleNode(ManagedNode[ExampleParameters]):
    """Reports its transitions on a topic, and fails at the step named by the parameter `fault`."""

    def __init__(self) -> None:
        super().__init__("example", ExampleParameters)
        self._steps = self.create_publisher(String, "steps", 100)

    def _step(self, name: str) -> None:
        self._steps.publish(String(data=name))
        if self.parameters.fault == f"reject {name}":
            raise InputError(f"{name} is rejected on purpose")
        if self.parameters.fault == f"break {name}":
            raise RuntimeError(f"{name} breaks on purpose")
        if self.parameters.fault == f"warn in {name}":
            warnings.warn("suspicious on purpose", ModelWarning, stacklevel=2)
        if self.parameters.fault == "compute forever":
            print(name, flush=True)
            while name == "configure":
                np.linalg.eigvals(np.eye(80))
        if self.parameters.fault == "compile forever":
            print(name, flush=True)
            while name == "configure":
                numba.njit(lambda x: x + 1.0)(1.0)

    def configure(self) -> None:
        self.configuration.callback(self._step, "cleanup")
        self._step("configure")

    def activate(self) -> None:
        self.activation.callback(self._step, "deactivate")
        self._step("activate")
        if self.parameters.fault == "break later":
            self.defer(lambda: self._step("later"))

    def reconfigure(self, values: ExampleParameters) -> None:
        self._step(f"gain {values.gain}")


def start(ros: RosHarness, **parameters) -> tuple[NodeProcess, list[str]]:
    node = ros.start("example", parameters, program=Path(__file__))
    steps: list[str] = []
    ros.peer.create_subscription(String, "steps", lambda m: steps.append(m.data), 100)
    ros.until(lambda: ros.peer.count_publishers("steps"), "the node")
    return node, steps


PROGRAM = """
import atexit, gc, sys, threading
sys.orig_argv[:] = [sys.executable, "-m", "multibody_dynamics.nodes.trajectory_node"]
from multibody_dynamics.nodes.base import runtime

def node():
    print(gc.isenabled())
    raise runtime.ParameterError("enough is known")

threading.Thread(target=threading.Event().wait).start()  # waits, like those of the middleware
atexit.register(print, "cleaned up")
print(gc.isenabled())
runtime.run(node)
"""


def test_the_program_of_a_node_from_its_imports_to_its_end():
    """Garbage is collected from its start on; no thread is waited for, or ended on its way."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == ["False", "True", "cleaned up"]
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.endswith("enough is known\n")


def test_wrong_ros_arguments_end_a_node_in_one_line(ros):
    node = ros.start("example", {}, "--bogus", program=Path(__file__))
    assert ros.exit_of(node, patience=FIRST_START) == 1
    (line,) = (line for line in node.output.splitlines() if "FATAL" in line)
    assert "ROS arguments" in line
    assert "--bogus" in line
    assert "Traceback" not in node.output


@pytest.mark.parametrize("executor", ["events", "single"])
def test_round_trips_and_unknown_transitions(ros, executor):
    node, steps = start(ros, executor=executor)
    for _ in range(2):
        for what, state in (
            ("configure", "inactive"),
            ("activate", "active"),
            ("deactivate", "inactive"),
            ("cleanup", "unconfigured"),
        ):
            assert not ros.transition(node, 250)  # would end a node that uses rclpy alone
            assert not ros.transition(node, "configure" if what != "configure" else "activate")
            assert ros.transition(node, what)
            assert ros.state(node) == state
    assert ros.transition(node, "shut down unconfigured")
    assert ros.state(node) == "finalized"
    assert not ros.transition(node, "configure")
    assert steps[:4] == ["configure", "activate", "deactivate", "cleanup"]
    assert ros.leave(node) == 0
    assert "transition id 250 is not possible in state 'unconfigured'" in node.output


def test_a_node_that_cannot_start_by_itself_ends_with_an_error(ros):
    """Nobody would configure it again, and other nodes would wait forever."""
    node = ros.start(
        "example", {"autostart": True, "fault": "reject configure"}, program=Path(__file__)
    )
    assert ros.exit_of(node, patience=FIRST_START) == 1
    assert "configure is rejected on purpose" in node.output
    assert "autostart failed, still unconfigured" in node.output


def test_every_parameter_has_a_value(ros):
    """One without a value would make `ros2 param dump` print {}."""
    node, _ = start(ros)
    assert ros.get_parameters(node, "gain", "names", "numbers") == [1.0, [], []]
    (result,) = ros.set_parameters(node, numbers=[1.0, 2.0])
    assert result.successful, result.reason
    assert list(ros.get_parameters(node, "numbers")[0]) == [1.0, 2.0]


def test_a_rejected_transition_is_undone_and_explained(ros):
    node, steps = start(ros, fault="reject activate")
    assert ros.transition(node, "configure")
    assert not ros.transition(node, "activate")
    assert ros.state(node) == "inactive"
    ros.until(lambda: steps == ["configure", "activate", "deactivate"], "the reversal")
    assert "cannot activate: activate is rejected on purpose; still inactive" in node.output
    assert ros.leave(node) == 0


def test_an_exception_is_logged_and_the_node_can_be_configured_again(ros):
    node, steps = start(ros, fault="break activate")
    assert ros.transition(node, "configure")
    assert not ros.transition(node, "activate")
    assert ros.state(node) == "unconfigured"
    ros.until(lambda: steps[-2:] == ["deactivate", "cleanup"], "the release")
    assert "RuntimeError: activate breaks on purpose" in node.output
    assert ros.leave(node) == 0


def test_warnings_are_logged_by_the_node_at_every_configuration(ros):
    """Python would print them past the log, with a line of source, and only once."""
    node, _ = start(ros, fault="warn in configure")
    for number in (1, 2):
        assert ros.transition(node, "configure")
        assert ros.transition(node, "cleanup")
        ros.until(
            lambda n=number: node.output.count("[test.example]: suspicious on purpose") == n,
            "the warning",
        )
    assert "ModelWarning" not in node.output


# The handler knows nothing of the executor: each signal, and each executor.
of_each_signal_and_executor = pytest.mark.parametrize(
    ("number", "executor"), [(SIGINT, "events"), (SIGTERM, "single")]
)


@of_each_signal_and_executor
def test_a_signal_makes_an_active_node_shut_down_cleanly(ros, number, executor):
    node, steps = start(ros, autostart=True, executor=executor)
    ros.until(lambda: ros.state(node) == "active", "the start")
    node.send(number)  # the terminal and the launcher each send one
    assert ros.leave(node, number) == 0
    ros.until(lambda: steps[-2:] == ["deactivate", "cleanup"], "the shutdown")
    assert "Traceback" not in node.output


@of_each_signal_and_executor
def test_a_signal_interrupts_whatever_a_node_computes_while_it_is_configured(ros, number, executor):
    """Judging laws takes seconds, and minutes on a busy computer."""
    parameters = {"autostart": True, "fault": "compute forever", "executor": executor}
    node = ros.start("example", parameters, program=Path(__file__))
    ros.until(lambda: "configure" in node.output, "the start", patience=FIRST_START)
    begin = time.monotonic()
    node.send(number)
    node.send(number)  # the launcher's, after the terminal's
    ros.until(lambda: "abandoned the attempt to configure" in node.output, "the reaction")
    assert time.monotonic() - begin < 5.0  # 0.1 s on an idle computer
    assert ros.exit_of(node) == 0
    assert "Traceback" not in node.output
    assert "activate" not in node.output.split()


def test_a_signal_interrupts_a_node_that_compiles(ros):
    parameters = {"autostart": True, "fault": "compile forever"}
    node = ros.start("example", parameters, program=Path(__file__))
    ros.until(lambda: "compiling the dynamics" in node.output, "the start", patience=FIRST_START)
    for _ in range(20):  # while the handler of the first one runs, too
        node.send(SIGINT)
    assert ros.leave(node, SIGINT) == 0
    assert "shutting down: abandoned the attempt to configure" in node.output
    printed = node.output.split()
    assert "cleanup" in printed
    assert "activate" not in printed


def test_parameters_are_checked_for_consistency_and_some_are_fixed(ros):
    node, steps = start(ros, gian=0.5)
    misspelt = "ignored unknown parameter 'gian'; did you mean 'gain'?"
    ros.until(lambda: misspelt in node.output, "a warning")
    assert [r.successful for r in ros.set_parameters(node, ceiling=1.5, gain=1.2)] == [True, True]
    (result,) = ros.set_parameters(node, gain=1.6)
    assert not result.successful
    assert "gain 1.6 is above ceiling 1.5" in result.reason
    (result,) = ros.set_parameters(node, gain=-0.1)
    assert not result.successful
    (result,) = ros.set_parameters(node, gain=float("nan"))
    assert not result.successful
    assert ros.transition(node, "configure")
    (result,) = ros.set_parameters(node, ceiling=1.9)
    assert not result.successful
    assert "fixed once the node is configured" in result.reason
    (result,) = ros.set_parameters(node, gain=0.5)
    assert result.successful
    ros.until(lambda: "gain 0.5" in steps, "the change")
    assert ros.transition(node, "cleanup")
    assert ros.set_parameters(node, ceiling=1.9)[0].successful


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"gain": 3.0}, "gain"),
        ({"gain": 1}, "expecting type 'DOUBLE': gain; write 1.0, not 1"),
        ({"autostart": 1}, "expecting type 'BOOL': autostart\n"),
        ({"use_sim_time": "yes"}, "expecting type 'BOOL': use_sim_time"),
        ({"executor": 1}, "executor is '1'; choose from events, single"),
        ({"names": [1.5]}, "expecting type 'STRING_ARRAY': names"),
        ({"gain": 2.0, "ceiling": 1.0}, "gain 2.0 is above ceiling 1.0"),
    ],
)
def test_an_invalid_override_ends_the_node_with_the_reason(ros, parameters, says):
    node = ros.start("example", parameters, program=Path(__file__))
    assert ros.exit_of(node) == 1
    assert says in node.output
    assert "Traceback" not in node.output


def test_names_that_are_numbers_need_no_quotes(ros):
    """The joints of many small arms are called 1 to 6."""
    given = "-p", "names:=[1, 2]", "-p", "fault:=7"
    node = ros.start("example", {}, *given, program=Path(__file__))
    ros.until(lambda: ros.state(node) == "unconfigured", "the start")
    assert ros.get_parameters(node, "names", "fault") == [["1", "2"], "7"]
    assert all(done.successful for done in ros.set_parameters(node, names=[3, 4], fault=5))
    assert ros.get_parameters(node, "names", "fault") == [["3", "4"], "5"]
    (refused,) = ros.set_parameters(node, names=[1.5])
    assert "Wrong parameter type" in refused.reason


@pytest.mark.parametrize("executor", ["events", "single"])
def test_an_exception_in_a_deferred_call_ends_the_node_in_order(ros, executor):
    node, steps = start(ros, fault="break later", executor=executor)
    assert ros.transition(node, "configure")
    ros.transition(node, "activate")
    assert ros.exit_of(node) == 1
    assert "RuntimeError: later breaks on purpose" in node.output
    ros.until(lambda: steps[-3:] == ["later", "deactivate", "cleanup"], "the shutdown")


@pytest.mark.parametrize("from_start", [True, False])
def test_negative_times_on_the_clock_are_ignored(ros, from_start):
    node, _ = start(ros, autostart=True, use_sim_time=from_start)
    ros.until(lambda: ros.state(node) == "active", "the start")
    if not from_start:
        assert ros.set_parameters(node, use_sim_time=True)[0].successful
    clock = ros.publisher(Clock, "/clock", qos=10)
    message = Clock()
    message.clock.sec = -5
    says = "ignored /clock: -5 s is negative"
    ros.until(lambda: says in node.output, "a warning", each=lambda: clock.publish(message))
    assert ros.state(node) == "active"
    assert ros.leave(node) == 0


@pytest.mark.parametrize(
    "words", [["-r", "__ns:=left"], ["--params-file", "nowhere.yaml"], ["-p", "gain"]]
)
def test_wrong_ros_arguments_are_named(words):
    with pytest.raises(ParameterError, match=f"^ROS arguments: Couldn't parse .*{words[1]}"):
        initialise(["node", "--ros-args", *words])


@pytest.mark.parametrize(
    "words",
    [["-p", "gain:=1.0"], ["gain:=1.0"], ["autostart:=true"], ["--params-file", "a.yaml"]],
)
def test_words_that_are_no_ros_arguments_are_refused(words):
    """As without --ros-args, where a node would start with its defaults, or wait for a robot."""
    with pytest.raises(
        ParameterError, match=f"^unknown arguments: {' '.join(words)}; .*--ros-args"
    ):
        initialise(["node", *words, "--ros-args", "-p", "ceiling:=2.0"])


def test_a_parameter_file_for_another_node_causes_a_warning(ros):
    node = ros.start("example", {}, program=Path(__file__))
    says = f"has no section for {NAMESPACE}/example: add one that begins with 'example:'"
    ros.until(lambda: says in node.output, "a warning")


def test_a_section_for_a_node_in_another_namespace_causes_a_warning(ros, tmp_path):
    """Even if another file, such as one made by a launch file, has parameters for the node."""
    file = tmp_path / "own.yaml"
    file.write_text("example: {ros__parameters: {gain: 0.5}}")
    node = ros.start(
        "example", {"ceiling": 1.5}, "--params-file", str(file), program=Path(__file__)
    )
    says = f"{file}: the section '/example' is not for {NAMESPACE}/example: for a node in a"
    ros.until(lambda: says in node.output, "a warning")
    assert ros.get_parameters(node, "gain", "ceiling") == [1.0, 1.5]


if __name__ == "__main__":
    sys.exit(run(ExampleNode))
