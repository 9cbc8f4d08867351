# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The runtime of every node in this package: a robust life cycle, a run loop, and a clean shutdown.

`ManagedNode` is a lifecycle node whose subclasses implement two plain methods, `configure` and
`activate`, that raise on failure; `run` is its main function. Three facts about rclpy shape this
module: an executor that spins without a timeout may hang forever
(EventsExecutor does), an invalid transition id raises out of spin, and rclpy's handlers for SIGINT
and SIGTERM shut the context down before a node can publish its safe output. Hence the bounded
spins, the guarded `change_state` service, and signal handlers that only set a flag; the flag also
interrupts `configure`, which may compile or judge for a minute.
"""

import atexit
import gc
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import active_children
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import rclpy
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle, ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.logging import get_logger
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from rosgraph_msgs.msg import Clock

from ...dynamics.core import DynamicsError, when_compiling
from ...dynamics.rigid import specialise_solvers
from ...early_signals import is_program_of_a_node
from .activation import Activation
from .leave_flag import LeaveFlag, LeavingDuringCallback
from .nonblocking_output import never_block
from .parameters import NodeParameters, ParameterError, ParameterServer, field_types
from .scheduling import check_processors, return_to_normal, schedule

RCLError = rclpy_implementation.RCLError
UnknownROSArgsError = rclpy_implementation.UnknownROSArgsError
SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR

NO_THREAD = "can't start new thread"
FLUSH_TIMEOUT = 0.2  # s for subscribers to acknowledge the last messages
SPIN_TIMEOUT = 0.1  # s; also the longest delay of the reaction to a signal

P = TypeVar("P", bound=NodeParameters)


class ManagedNode(LifecycleNode, Generic[P]):
    """A lifecycle node with parameters from a table, a frozen dataclass.

    A subclass implements `configure` and `activate`. Both register what must be undone, in
    `configuration` until the node is cleaned up, and in `activation` until it is deactivated; the
    last is undone first. If one of the two raises a DynamicsError, the transition fails: the error
    is logged, what was registered is undone, and the node keeps its state. Any other exception is
    logged with its traceback, and the node falls back to unconfigured.
    """

    _server: ParameterServer[Any] | None = None  # while rclpy declares its own parameters

    @classmethod
    def main(cls, args: Sequence[str] | None = None) -> int:
        """Run this node, see :func:`run`: the entry point of its program; returns the exit code."""
        return run(cls, args)

    def __init__(self, name: str, parameters: type[P], **options: Any) -> None:
        super().__init__(name, **options)
        gc.enable()  # also in a program of somebody else
        self.leave = LeaveFlag()  # set or replaced by the run loop
        self.has_failed = False
        self.configuration = ExitStack()
        self.activation = Activation(self)
        self.activation.close()
        self._is_ready = False  # configured completely
        self._missing: Callable[[], str] = lambda: ""
        self._is_scheduled = False
        self._topic_logs: dict[str, RcutilsLogger] = {}
        self._ignore_negative_time()
        self._server = ParameterServer(
            self,
            parameters,
            is_configured=lambda: self.is_configured,
            check=lambda values: self.check(values) if self._is_ready else None,
            on_change=lambda values: self.reconfigure(values) if self._is_ready else None,
        )
        answer = self._service_change_state.callback
        self._service_change_state.callback = lambda request, response: self._guarded(
            answer, request, response
        )

    @property
    def parameters(self) -> P:
        """The current values, one immutable instance of the table."""
        return self._server.values

    # Services and `ros2 param` ask by these methods, also for parameters that are not listed.

    def get_parameter(self, name: str) -> Parameter:
        self._declare(name)
        return super().get_parameter(name)

    def get_parameter_type(self, name: str) -> Parameter.Type:
        self._declare(name)
        return super().get_parameter_type(name)

    def describe_parameter(self, name: str) -> ParameterDescriptor:
        self._declare(name)
        return super().describe_parameter(name)

    def _declare(self, name: str) -> None:
        if self._server is not None:
            self._server.declare([name])

    @property
    def state(self) -> str:
        """'unconfigured', 'inactive', 'active', 'finalized', or the transition in progress."""
        return str(self._state_machine.current_state[1])

    @property
    def is_configured(self) -> bool:
        """Whether the node is in any other state than unconfigured."""
        return bool(self._state_machine.current_state[0] != State.PRIMARY_STATE_UNCONFIGURED)

    def configure(self) -> None:
        """Read files, build models, create publishers."""

    def activate(self) -> None:
        """Create subscriptions and timers."""

    def check(self, values: P) -> None:
        """Raise ParameterError for new values that contradict the configuration."""

    def reconfigure(self, values: P) -> None:
        """React to a change of live parameters of a configured node, which has taken effect."""

    def restore(self, name: str, value: Any) -> None:
        """Set a parameter back to a value that it had before."""
        kind = field_types(type(self.parameters))[name]
        given = list(value) if isinstance(value, tuple) else value
        self.set_parameters([Parameter(name, kind, given)])

    def start(self) -> bool:
        """Configure and activate without a lifecycle manager; True if the node is then active."""
        if missing := self._missing():
            self.get_logger().info(f"waiting for {missing} before starting")
            return False
        if self.state == "unconfigured":
            self.trigger_configure()
        if self.state == "inactive":
            self.trigger_activate()
        return self.state == "active"

    def start_or_leave(self) -> None:
        """Start at startup; if that fails, end the process with an error.

        Without a lifecycle manager, nobody would try again, and other nodes would wait forever.
        """
        if self.start() or self._missing() or self.leave.is_set():
            return
        self.get_logger().fatal(
            f"autostart failed, still {self.state}: ending with status 1 (without autostart, the"
            " node waits for a lifecycle manager)"
        )
        self.has_failed = True
        self.leave.set()

    @property
    def is_waiting(self) -> bool:
        """Whether something is missing before the node can start, see :meth:`start_after`."""
        return bool(self._missing())

    def start_after(self, missing: Callable[[], str]) -> None:
        """Do not start before `missing` returns an empty text; until then, it says for what the
        node waits. Whoever receives that calls `start_or_leave`."""
        self._missing = missing

    def warn_about(self, topic: str, text: str) -> None:
        """Log a warning at most once per second for each topic.

        rclpy throttles per line of code: with one logger, a stream of invalid messages on one topic
        would hide those on the others.
        """
        if topic not in self._topic_logs:
            self._topic_logs[topic] = get_logger(self.get_logger().name)
        self._topic_logs[topic].warning(text, throttle_duration_sec=1.0)

    def close(self) -> None:
        """Leave the current state through its regular transition, ending in finalized."""
        if self.state in ("unconfigured", "inactive", "active"):
            self.trigger_shutdown()
        self._flush()

    def _ignore_negative_time(self) -> None:
        """Drop negative times on /clock, on which rclpy would raise ValueError out of spin."""
        source = self._time_source
        accept = source.clock_callback

        def on_clock(message: Clock) -> None:
            if message.clock.sec < 0:
                self.get_logger().error(
                    f"ignored /clock: {message.clock.sec} s is negative", throttle_duration_sec=1.0
                )
            else:
                accept(message)

        source.clock_callback = on_clock  # type: ignore[method-assign]
        if source._clock_sub is not None:  # use_sim_time was set at startup
            source._clock_sub.callback = on_clock

    def _flush(self) -> None:
        """Let the last messages arrive; destroying a publisher drops those still in transit."""
        end = time.monotonic() + FLUSH_TIMEOUT
        for publisher in self.publishers:
            left = max(end - time.monotonic(), 0.0)
            publisher.wait_for_all_acked(Duration(seconds=left))

    def defer(self, callback: Callable[[], object]) -> None:
        """Call `callback` in the executor's thread: the only entry from other threads."""
        executor = self.executor
        if executor is not None:
            executor.create_task(self._run_deferred, callback)

    def _run_deferred(self, callback: Callable[[], object]) -> None:
        """Shut down if `callback` fails: EventsExecutor would end with a segmentation fault."""
        try:
            callback()
        except Exception:
            self.get_logger().fatal(f"shutting down:\n{traceback.format_exc()}")
            self.has_failed = True
            self.leave.set()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        result = self._attempt("configure", state, self._configure, self._cleanup)
        # The many objects that exist now (the compiler's) are permanent: exclude them from garbage
        # collection during the control cycle.
        gc.collect()
        gc.freeze()
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        # Managed publishers first, because `activate` may start something that publishes
        # immediately.
        super().on_activate(state)
        self.activation = Activation(self)
        return self._attempt("activate", state, self.activate, lambda: self._undo_activate(state))

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        result = self._attempt("deactivate", state, self.activation.close)
        self._flush()
        super().on_deactivate(state)
        return result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._attempt("clean up", state, self._cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._attempt("shut down", state, self._release)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._attempt("recover", state, self._release)

    def _configure(self) -> None:
        check_processors(self.parameters)
        if self._is_scheduled:
            return_to_normal()
        log = self.get_logger()
        with (
            self.leave.interrupting(),
            warnings.catch_warnings(),
            when_compiling(log.info, self._check_leave),
        ):
            warnings.showwarning = lambda message, *_, **__: log.warning(str(message))
            self.configure()
        self._check_leave()
        self._is_ready = True
        if in_force := schedule(self.parameters, log.warning):  # everything has been compiled
            log.info(f"running with {in_force}")
            self._is_scheduled = self.parameters.scheduling_priority > 0

    def _check_leave(self) -> None:
        if self.leave.is_set():
            raise LeavingDuringCallback

    def _undo_activate(self, state: LifecycleState) -> None:
        self.activation.close()
        super().on_deactivate(state)

    def _cleanup(self) -> None:
        self._is_ready = False
        self.configuration.close()

    def _release(self) -> None:
        self.activation.close()
        self._flush()
        self._cleanup()

    def _attempt(
        self,
        what: str,
        state: LifecycleState,
        step: Callable[[], None],
        undo: Callable[[], None] = lambda: None,
    ) -> TransitionCallbackReturn:
        try:
            step()
        except DynamicsError as error:
            self.get_logger().error(f"cannot {what}: {error}; still {state.label}")
            undo()
            return FAILURE
        except LeavingDuringCallback:
            self.get_logger().info(f"shutting down: abandoned the attempt to {what}")
            undo()
            return FAILURE
        except Exception as error:  # rclpy would discard it silently
            if isinstance(error, MemoryError) or str(error) == NO_THREAD:
                self.get_logger().error(f"cannot {what}: {error or 'out of memory'} (see ulimit)")
                return ERROR
            self.get_logger().error(f"cannot {what}:\n{traceback.format_exc()}")
            return ERROR
        return SUCCESS

    def _guarded(
        self,
        answer: Callable[[ChangeState.Request, ChangeState.Response], ChangeState.Response],
        request: ChangeState.Request,
        response: ChangeState.Response,
    ) -> ChangeState.Response:
        try:
            return answer(request, response)
        except RCLError:
            wanted = request.transition.label or f"id {request.transition.id}"
            self.get_logger().warning(
                f"transition {wanted} is not possible in state '{self.state}'"
            )
            response.success = False
            return response


def run(node_class: Callable[[], ManagedNode[Any]], args: Sequence[str] | None = None) -> int:
    """As :func:`run_here`; the program of a node then ends with :func:`end_process`."""
    status = run_here(node_class, args)
    if is_program_of_a_node():
        end_process(status)
    return status


def end_process(status: int) -> None:
    """End this process without the clean-up of the interpreter, for which nothing is left to do.

    It would end threads in the middle of C++ code, which aborts ("terminate called without an
    active exception"), and close pipes that other threads still use ("Bad file descriptor").
    """
    for child in active_children():
        child.terminate()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def run_here(node_class: Callable[[], ManagedNode[Any]], args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT, SIGTERM or a shutdown of the context; returns the exit code.

    The node leaves through its shutdown transition while it can still publish. Repeated signals
    (the launcher's after the terminal's) have no effect during this time. With --help, only
    describe the node.
    """
    arguments = sys.argv if args is None else args
    if {"-h", "--help"} & set(arguments):
        print(help_text(sys.modules[node_class.__module__]))
        return 0
    gc.enable()
    never_block()
    leave = LeaveFlag(ends_process=is_program_of_a_node())
    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    previous = {number: signal.signal(number, leave.on_signal) for number in numbers}
    specialise_solvers()  # this process has a control cycle
    try:
        initialise(arguments)
        return _run(node_class, leave)
    except ParameterError as error:
        rclpy.logging.get_logger("multibody_dynamics").fatal(str(error))
        return 1
    finally:
        specialise_solvers(False)
        rclpy.try_shutdown()
        for number, handler in previous.items():  # a signal may arrive a second time
            signal.signal(number, signal.SIG_IGN if leave.is_set() else handler)


def help_text(module: ModuleType) -> str:
    """The text that the node of a module prints with --help."""
    name = Path(str(module.__file__)).stem
    return (
        f"{name}, a ROS 2 lifecycle node\n\n{(module.__doc__ or '').strip()}\n\n"
        f"docs/{name}.md lists the parameters, which are set as for any node:\n"
        f"  {name} --ros-args -p autostart:=true -p NAME:=VALUE ... --params-file FILE.yaml"
    )


def initialise(arguments: Sequence[str]) -> None:
    """rclpy.init without its signal handlers; ParameterError for invalid ROS arguments, for words
    outside of --ros-args, and if there is no folder for logs. arguments: with the name of the
    program."""
    try:
        first = [*arguments, "--ros-args"].index("--ros-args")
        behind = remove_ros_args([arguments[0], *arguments[first:]])[1:]
        if others := [word for word in (*arguments[1:first], *behind) if word]:
            raise ParameterError(
                f"unknown arguments: {' '.join(others)}; put those of a node after --ros-args"
            )
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
        reason = re.sub("^[Ff]ailed to .*?: ", "", _one_line(error))
        if "log directory" in reason:
            raise ParameterError(
                f"{reason}: set ROS_LOG_DIR to a folder that can be written; by default, it is"
                " .ros/log in the home folder ($HOME)"
            ) from None
        raise ParameterError(f"ROS arguments: {reason}") from None
    except UnknownROSArgsError as error:
        raise ParameterError(
            f"unknown ROS arguments: {error}; among the known ones are -p, -r, --params-file and"
            " --log-level"
        ) from None


def create(node_class: Callable[[], ManagedNode[P]]) -> ManagedNode[P]:
    """A new node; ParameterError if the middleware refuses it, for example for lack of keys, or one
    of the parameters that rclpy declares, such as use_sim_time."""
    try:
        return node_class()
    except (RCLError, ParameterException) as error:
        raise ParameterError(_one_line(error)) from None


def _one_line(error: Exception) -> str:
    """The text of an error of rcl, without places in its source."""
    return " ".join(re.sub(r", at \S+:\d+", "", str(error)).split())


def _run(node_class: Callable[[], ManagedNode[Any]], leave: LeaveFlag) -> int:
    node = create(node_class)
    node.leave = leave
    executor = make_executor(node.parameters.executor)
    executor.add_node(node)
    try:
        if node.parameters.autostart:
            node.defer(node.start_or_leave)
        else:
            node.get_logger().info(
                "unconfigured: waiting for a lifecycle manager; to start without one, set autostart"
            )
        spin(executor, leave, node.get_logger())
        return int(node.has_failed)
    finally:
        try:
            if rclpy.ok():
                node.close()
            executor.remove_node(node)
            node.destroy_node()
            executor.shutdown()
        except (RCLError, InvalidHandle):
            if rclpy.ok():
                raise


def spin(executor: Executor, leave: LeaveFlag, log: RcutilsLogger) -> None:
    """Spin until `leave` is set or the context is shut down."""
    while rclpy.ok() and not leave.is_set():
        try:
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
        except ExternalShutdownException:
            return
        except (RCLError, InvalidHandle) as error:
            # The entity was destroyed while its event was queued, or a peer vanished: drop the
            # event and keep the node running.
            if rclpy.ok():
                log.warning(f"dropped one event: {error}")


def make_executor(kind: str, context: Context | None = None) -> Executor:
    """The executor of this kind, 'events' or 'single', in a context, by default the global one.

    'events' is rclpy's EventsExecutor if available, else the SingleThreadedExecutor. The
    MultiThreadedExecutor loses most messages at 1 kHz.
    """
    if kind == "events":
        try:
            from rclpy.experimental import EventsExecutor
        except ImportError:
            rclpy.logging.get_logger("multibody_dynamics").warning(
                "this rclpy has no EventsExecutor; using the SingleThreadedExecutor"
            )
        else:
            return EventsExecutor(context=context)
    return SingleThreadedExecutor(context=context)
