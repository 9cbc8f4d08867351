# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Run robots in real time alongside other work; measure memory, period, latency, losses, stops.

    scripts/environment.sh python benchmark/load.py --robots 1 --minutes 30 --busy 2

For every robot, the simulator, the controller and a repeated motion run as separate processes, as
`multibody_dynamics loop` starts them. This program is the independent recorder: it takes every
state and every torque from the middleware, with the time at which it was published and the number
that its publisher gave it. It looks for stops every five seconds and calls ~/enable for those older
than two seconds, so that the arm moves again. `--busy` starts programs that only compute.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import FAULTS
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.base.processes import NodeProcess, NodeProcesses
from multibody_dynamics.tools.base.ros_settings import ros_context, ros_environment
from multibody_dynamics.tools.base.subscriptions import PublicationCount
from multibody_dynamics.tools.live.launched_systems import LAWS
from multibody_dynamics.validation.recordings import JointStateLayout

SIMULATOR, CONTROLLER, MOTION = NODES = (
    "elastic_robot_simulator_node",
    "flatness_controller_node",
    "trajectory_node",
)
STATES, TORQUES = "motor_states", f"{CONTROLLER}/motor_torque"
DEPTH = 5000  # messages
PAUSE = 0.005  # s between two polls
BUSY = "while True: pass"
START_UP = 300.0  # s; the very first start compiles
SETTLING = 5.0  # s after the first torque, before the measurement
SAMPLING = 5.0  # s between two looks at the processes
ENABLE_AFTER = 2.0  # s
MS = 1e-6  # of a nanosecond
QUANTILES = (50, 99, 99.9, 100)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmark/load.py", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--robots", type=int, default=1, help="number of robots (%(default)s)")
    parser.add_argument("--minutes", type=float, default=1.0, help="duration (%(default)s)")
    parser.add_argument("--rate", type=float, default=1000.0, help="cycle rate, Hz (%(default)s)")
    parser.add_argument("--busy", type=int, default=0, help="other busy programs (%(default)s)")
    parser.add_argument("--law", choices=LAWS, default="motor_pd", help="(%(default)s)")
    parser.add_argument("--robot", default="panda", help="robot of config/ (%(default)s)")
    parser.add_argument("--priority", type=int, default=0, help="scheduling_priority (%(default)s)")
    parser.add_argument("--lock-memory", action="store_true", help="lock_memory")
    parser.add_argument("--keep-awake", action="store_true", help="keep_awake")
    parser.add_argument("--processor", type=int, help="processor of the controllers")
    parser.add_argument("--no-enable", action="store_true", help="do not call ~/enable after stops")
    parser.add_argument("--domain-id", type=int, help="ROS domain (a private one)")
    parser.add_argument("--output", type=Path, default=Path("build/load"),
                        help="folder for logs and load.json (%(default)s)")  # fmt: skip
    return parser.parse_args()


@dataclass
class Recorded:
    """What was received of one topic: stamps and times of publication, ns."""

    count: PublicationCount = field(default_factory=lambda: PublicationCount(stamped=True))
    stamps: array[int] = field(default_factory=lambda: array("q"))
    published: array[int] = field(default_factory=lambda: array("q"))


class Robot:
    """The nodes of one robot, and everything that was recorded of it."""

    def __init__(self, name: str, folder: Path, options: argparse.Namespace, limits: Any) -> None:
        self.name, self._limits = name, limits
        self.states, self.torques = Recorded(), Recorded()
        self.not_finite = self.beyond_limit = 0
        self.largest_change = 0.0  # of a torque from message to message, in shares of its limit
        self._last: Any = None
        self.events: dict[str, int] = {}
        self.fault_since = 0.0
        self.memory: dict[str, list[int]] = {SIMULATOR: [], CONTROLLER: []}
        self.processes: dict[str, NodeProcess] = {}
        self._layout: JointStateLayout | None = None
        self._folder, self._options = folder, options

    def start(self, processes: NodeProcesses) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / "parameters.yaml"
        file.write_text(yaml.safe_dump(parameters(self._options)))
        remappings = {"__ns": f"/{self.name}"}
        for node in NODES:
            self.processes[node] = processes.start(
                node, file, log=self._folder / f"{node}.log",
                remappings=remappings | own(node),
                patience=20.0,
            )  # fmt: skip

    def listen(self, node: Any) -> Iterator[tuple[Any, Recorded]]:
        """Subscribe; yields subscriptions that are polled, with where their messages go."""
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState

        quality = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
        for topic, recorded in ((STATES, self.states), (TORQUES, self.torques)):
            name = f"/{self.name}/{topic}"
            yield (
                node.create_subscription(JointState, name, lambda m: None, quality, raw=True),
                recorded,
            )

    def judge(self, raw: bytes) -> None:
        """Judge the torques of a message."""
        if self._layout is None or len(raw) != self._layout.size:
            self._layout = JointStateLayout.of(raw)
        torque = self._layout.read(np.frombuffer(raw, np.uint8)[None]).rows[0, 2]
        self.not_finite += not np.isfinite(torque).all()
        self.beyond_limit += bool((np.abs(torque) > self._limits * (1 + 1e-9)).any())
        if self._last is not None:
            change = np.abs(torque - self._last) / self._limits
            self.largest_change = max(self.largest_change, float(change.max()))
        self._last = torque.copy()

    def clear(self) -> None:
        """Forget what happened during the start."""
        for recorded in (self.states, self.torques):
            recorded.stamps, recorded.published = array("q"), array("q")
            recorded.count = PublicationCount(stamped=True)
        self.largest_change = 0.0
        self.before = dict(self.events)
        self.cpu = {name: process.cpu_seconds() for name, process in self.processes.items()}

    def sample(self) -> None:
        """Record the memory of the processes, kB."""
        for name, sizes in self.memory.items():
            sizes.append(resident(self.processes[name].pid))

    def results(self, seconds: float, rate: float) -> dict[str, Any]:
        """Everything that was measured."""
        states, torques = (np.array(r.stamps) for r in (self.states, self.torques))
        published = np.array(self.torques.published)
        answers = np.isin(torques, states)
        latency = MS * (published - torques)[answers]
        stops = {k: v - self.before.get(k, 0) for k, v in self.events.items()}
        return {
            "seconds": seconds,
            "states": len(states),
            "torques": int(answers.sum()),
            "states without torque": 1.0 - answers.sum() / max(len(states), 1),
            "states missing in real time": 1.0 - len(states) / (seconds * rate),
            "not received by the recorder": self.states.count.lost + self.torques.count.lost,
            "period of torques [ms]": quantiles(MS * np.diff(published)),
            "latency [ms]": quantiles(latency),
            "not finite": self.not_finite,
            "beyond a limit": self.beyond_limit,
            "largest change of a torque, share of its limit": self.largest_change,
            "stamps that do not increase": int((np.diff(torques) <= 0).sum()),
            "stops": {k: v for k, v in stops.items() if v > 0 and is_stop(k)},
            "memory [MB]": {
                name: [sizes[0] / 1024, max(sizes) / 1024, sizes[-1] / 1024]
                for name, sizes in self.memory.items()
            },
            "CPU": {
                name: (process.cpu_seconds() - self.cpu[name]) / seconds
                for name, process in self.processes.items()
                if name in self.memory
            },
        }


def is_stop(event: str) -> bool:
    """Whether an event of the controller is a fault that stopped the arm."""
    return event in {fault.text for fault in FAULTS}


def own(node: str) -> dict[str, str]:
    """The remappings that connect the simulator to the controller."""
    return {"motor_torque_stamped": TORQUES} if node == SIMULATOR else {}


def parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the nodes: those of config/elastic_joint.yaml, with endless motion."""
    content = yaml.safe_load((share_directory() / "config" / "elastic_joint.yaml").read_text())
    simulator, controller, motion = (content[f"/**/{name}"]["ros__parameters"] for name in NODES)
    every = content["/**"]["ros__parameters"]
    every |= {
        "autostart": True,
        "scheduling_priority": options.priority,
        "lock_memory": options.lock_memory,
        "keep_awake": options.keep_awake,
    }
    if options.robot != "panda":
        for node in (simulator, controller):
            node["elastic_joints_file"] = f"config/elastic_joints/{options.robot}.yaml"
            node["command_joints"] = list(model_of(options).joint_names)
        every["robot_file"] = f"config/robots/{options.robot}.urdf"
        del simulator["initial_positions"]
    simulator["update_rate"] = options.rate
    controller |= {
        "law": options.law,
        "command_delay": 1.0 / options.rate,
        "expected_rate": options.rate,
    }
    if options.processor is not None:
        controller["processors"] = [options.processor]
    motion |= {"repeat": 0, "autostart": True, "patience": 3600.0}
    return content  # type: ignore[no-any-return]


def model_of(options: argparse.Namespace) -> dyn.MultibodyModel:
    return dyn.load_urdf(share_directory() / "config" / "robots" / f"{options.robot}.urdf")


def quantiles(values: Any) -> list[float]:
    """The median, 99 %, 99.9 % and the largest one."""
    if not len(values):
        return [float("nan")] * len(QUANTILES)
    return [float(x) for x in np.percentile(values, QUANTILES)]


def resident(process: int) -> int:
    """Resident memory of a process, kB; 0 if it has ended."""
    try:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def prefer_this_process() -> None:
    """Give all threads of the recorder a real-time priority if permitted: it must lose nothing."""
    for thread in Path("/proc/self/task").iterdir():
        with suppress(PermissionError):
            os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(90))


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    """Programs that compute without end."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


class Recorder:
    """Polls the topics of all robots, looks at their processes, and ends their stops."""

    def __init__(self, context: Any, robots: Sequence[Robot], *, enables: bool) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor
        from std_srvs.srv import SetBool

        # The executor would take messages from the queues that are polled: two nodes.
        self.nodes = [rclpy.create_node(name, context=context) for name in ("recorder", "enabler")]
        polled, enabler = self.nodes
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(enabler)
        self._robots, self._enables, self._request = robots, enables, SetBool.Request(data=True)
        self._polled = [(*pair, robot) for robot in robots for pair in robot.listen(polled)]
        self._clients = {
            robot.name: enabler.create_client(SetBool, f"/{robot.name}/{CONTROLLER}/enable")
            for robot in robots
        }
        enabler.create_subscription(DiagnosticArray, "/diagnostics", self._diagnose, 100)
        self.load: list[float] = []

    def poll(self) -> None:
        """Take everything that has arrived."""
        for subscription, recorded, robot in self._polled:
            with subscription.handle:
                while taken := subscription.handle.take_message(subscription.msg_type, True):
                    raw, info = taken
                    recorded.count.add(info.get("publication_sequence_number"), raw)
                    recorded.stamps.append(stamp_of(raw))
                    recorded.published.append(info["source_timestamp"])
                    if recorded is robot.torques:
                        robot.judge(raw)
        self._executor.spin_once(timeout_sec=PAUSE)

    def sample(self) -> None:
        """Look at the processes and the load, and end stops."""
        self.load.append(os.getloadavg()[0])
        for robot in self._robots:
            robot.sample()
            waited = robot.fault_since and time.monotonic() - robot.fault_since > ENABLE_AFTER
            if self._enables and waited:
                self._clients[robot.name].call_async(self._request)

    def _diagnose(self, message: Any) -> None:
        for status in message.status:
            for robot in self._robots:
                if status.name == f"/{robot.name}/{CONTROLLER}: cycle":
                    is_fault = status.level[0] >= 2
                    since = robot.fault_since or time.monotonic()
                    robot.fault_since = since if is_fault else 0.0
                elif status.name == f"/{robot.name}/{CONTROLLER}: reference":
                    robot.events |= {
                        item.key: int(item.value) for item in status.values if item.value.isdigit()
                    }


def stamp_of(raw: bytes) -> int:
    """The stamp of a serialised JointState, ns."""
    order = "little" if raw[1] & 1 else "big"
    seconds, rest = (int.from_bytes(raw[k : k + 4], order) for k in (4, 8))
    return 1_000_000_000 * seconds + rest


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results, one row for each robot, as a table of Markdown."""
    rows = [
        "| robot | states | without torque | lost by the recorder | period p50, p99, p99.9, max |"
        " latency p50, p99, p99.9, max | stops | memory: start, maximum, end | CPU |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in results.items():
        period, latency = (
            ", ".join(f"{x:.3g}" for x in r[key]) + " ms"
            for key in ("period of torques [ms]", "latency [ms]")
        )
        stops = ", ".join(f"{count} {what}" for what, count in r["stops"].items()) or "none"
        memory = "; ".join(
            f"{node.split('_')[0]} " + ", ".join(f"{x:.0f}" for x in sizes) + " MB"
            for node, sizes in r["memory [MB]"].items()
        )
        cpu = ", ".join(f"{node.split('_')[0]} {share:.0%}" for node, share in r["CPU"].items())
        rows.append(
            f"| {name} | {r['states']} | {r['states without torque']:.2%} |"
            f" {r['not received by the recorder']} | {period} | {latency} | {stops} | {memory} |"
            f" {cpu} |"
        )
    return "\n".join(rows)


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which stops the nodes
    os.environ.update(ros_environment(options.domain_id))
    options.output.mkdir(parents=True, exist_ok=True)
    model = model_of(options)
    springs = share_directory() / "config" / "elastic_joints" / f"{options.robot}.yaml"
    actuators = dyn.load_actuators(springs, model.joint_names, model.joint_types)
    limits = np.minimum(actuators.torque_limit, model.limits.effort)
    names = [f"robot_{k}" for k in range(1, options.robots + 1)]
    robots = [Robot(name, options.output / name, options, limits) for name in names]
    with ExitStack() as stack:
        processes = stack.enter_context(NodeProcesses())
        context = stack.enter_context(ros_context())
        recorder = Recorder(context, robots, enables=not options.no_enable)
        for robot in robots:
            robot.start(processes)
            wait_for_torques(recorder, [robot], processes)
        stack.enter_context(busy_programs(options.busy))
        prefer_this_process()
        seconds = measure(recorder, robots, processes, 60.0 * options.minutes)
        results = {robot.name: robot.results(seconds, options.rate) for robot in robots}
        for node in recorder.nodes:
            node.destroy_node()
    report = {"options": {k: str(v) for k, v in vars(options).items()}, "robots": results,
              "load": quantiles(recorder.load), "cores": os.cpu_count()}  # fmt: skip
    (options.output / "load.json").write_text(json.dumps(report, indent=1))
    median, *_, most = quantiles(recorder.load)
    print(f"\n{options.robots} robots at {options.rate:g} Hz for {seconds:.0f} s, {options.busy}"
          f" busy programs, {os.cpu_count()} cores, load average {median:.1f} (median), {most:.1f}"
          f" (maximum)\n\n{table(results)}")  # fmt: skip
    for name, r in results.items():
        change = r["largest change of a torque, share of its limit"]
        print(f"{name}: {r['not finite']} torques not finite, {r['beyond a limit']} beyond a limit,"
              f" {r['stamps that do not increase']} stamps that do not increase; torques change by"
              f" at most {change:.2%} of their limits from message to message")  # fmt: skip
    return int(any(r["not finite"] or r["beyond a limit"] for r in results.values()))


def wait_for_torques(recorder: Recorder, robots: Sequence[Robot], processes: NodeProcesses) -> None:
    """Wait until every robot is under control. Raises RunError if a node ends, and SystemExit if
    that takes too long."""
    end = time.monotonic() + START_UP
    while not all(len(robot.torques.stamps) > 100 for robot in robots):
        recorder.poll()
        processes.check()
        if time.monotonic() > end:
            raise SystemExit(f"no torques within {START_UP:g} s, see the logs")


def measure(
    recorder: Recorder, robots: Sequence[Robot], processes: NodeProcesses, seconds: float
) -> float:
    """Record for so many seconds, after some seconds to settle; returns the exact time."""
    end = time.monotonic() + SETTLING
    while time.monotonic() < end:
        recorder.poll()
    for robot in robots:
        robot.clear()
    begin = time.monotonic()
    due = shown = begin
    while (now := time.monotonic()) < begin + seconds:
        recorder.poll()
        if now >= due:
            due += SAMPLING
            recorder.sample()
            processes.check()
        if now >= shown + 60.0:
            shown += 60.0
            counts = ", ".join(f"{len(robot.torques.stamps)} torques" for robot in robots)
            print(
                f"{(now - begin) / 60.0:.0f} min: {counts}, load {recorder.load[-1]:.1f}",
                flush=True,
            )
    return time.monotonic() - begin


if __name__ == "__main__":
    sys.exit(main())
