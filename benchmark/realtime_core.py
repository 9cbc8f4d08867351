# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Run a generated controller in C at 1 kHz with real-time priority; measure wake-ups, core, misses.

    python benchmark/realtime_core.py --robot panda --duration 120
    python benchmark/realtime_core.py --robot panda --duration 600 --modes sleeping rehearsed --load
    python benchmark/realtime_core.py --robot panda --modes sleeping --keep-awake

The controller is generated, compiled by the system's compiler with realtime_core.c, and follows a
motion back and forth with ideal encoders. The program has SCHED_FIFO, locked memory, and stays on
one processor, for which it needs the permissions (docs/realtime.md). Modes:

hot        one cycle after the other
sleeping   one cycle at every millisecond
rehearsed  the same; on waking up, a second controller first repeats the cycle before, which brings
           the code into the caches while the driver would read the states
cold       40 MB are written before each cycle: nothing is in a cache

The time of the core is from the state to the torque. Beside it, each cycle times a loop of the same
length that needs registers alone: its tail is that of the computer. A cycle is missed if its torque
comes after the next cycle was due. The kernel has caused it if less than 0.1 ms of the cycle was
left when the program was woken up, or if the core was interrupted: there were interrupts or changes
to other programs during the core, or it was not charged for the time. All else is put down to the
core, waiting and page faults as well.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.reporting.progress import ProgressBar
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.robot.c_package import write
from multibody_dynamics.tools.robot.controller_package import controller_package, start_tables
from multibody_dynamics.tools.robot.controller_plugin import TEMPLATES, in_tables, in_template
from multibody_dynamics.tools.robot.generated_design import (
    ControllerDesign,
    ControllerOptions,
    design_controller,
)

TEMPLATE = Path(__file__).with_suffix(".c")
NAME = "arm"
RECORD = np.dtype(
    [(name, "i8") for name in ("scheduled", "late", "core", "control")]
    + [(name, "i4") for name in ("is_interrupted", "waits", "switches", "faults", "interrupts",
                                 "skipped")]
)  # fmt: skip
PERIOD = 1_000_000  # ns
LEFT = 100_000  # ns of a cycle that the core may need
TARGET = 10_000  # ns
QUANTILES = (50.0, 99.0, 99.9, 100.0)
HOT, COLD = 200_000, 2_000  # cycles
MODES = ("hot", "sleeping", "rehearsed", "cold")
BUSY = "while True: pass"
WRITING = """
import os, sys
block = os.urandom(1 << 20)
while True:
    with open(sys.argv[1], "wb") as file:
        for _ in range(64):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
"""
COPYING = """
import numpy as np
a, b = np.ones((2, 16_000_000))
while True:
    np.copyto(a, b)
    np.copyto(b, a)
"""
OTHERS = 1.0  # s, until the load has begun
IDLE_LATENCY = Path("/dev/cpu_dma_latency")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmark/realtime_core.py", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--robot", choices=ROBOTS, default="panda",
                        help="links of the Panda with springs, or with two motors for each\n"
                        "variable or antagonistic joint (%(default)s)")  # fmt: skip
    parser.add_argument("--duration", type=float, default=120.0,
                        help="s, of a mode that sleeps (%(default)s)")  # fmt: skip
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES),
                        help="(all)")  # fmt: skip
    parser.add_argument("--load", action="store_true",
                        help="with two busy programs, one that writes to the disk and one that\n"
                        "copies memory; they are ended afterwards")  # fmt: skip
    parser.add_argument("--keep-awake", action="store_true",
                        help=f"keep idle processors awake, by zeros in {IDLE_LATENCY}")  # fmt: skip
    parser.add_argument("--priority", type=int, default=80, help="of SCHED_FIFO (%(default)s)")
    parser.add_argument("--processor", type=int, default=max(os.sched_getaffinity(0)),
                        help="(%(default)s)")  # fmt: skip
    parser.add_argument("--compiler", default="cc", help="(%(default)s)")
    parser.add_argument(
        "--flags", default="-O3", help="of the compiler; CMake uses -O3, too (%(default)s)"
    )
    parser.add_argument("--output", type=Path, default=Path("build/realtime_core"),
                        help="folder for realtime_core.json (%(default)s)")  # fmt: skip
    return parser.parse_args()


# Robots


def panda() -> tuple[dyn.MultibodyModel, dyn.Actuators]:
    """The Panda with series elastic joints of config/."""
    config = share_directory() / "config"
    model = dyn.load_urdf(config / "robots" / "panda.urdf")
    springs = config / "elastic_joints" / "panda.yaml"
    return model, dyn.load_actuators(springs, model.joint_names, model.joint_types)


def variable() -> tuple[dyn.MultibodyModel, dyn.Actuators]:
    """Each spring with a second motor that sets its stiffness, from half to twice that of the
    Panda."""
    model, actuators = panda()
    elastic = dyn.elastic
    joints = []
    for each in actuators.actuators:
        K = each.spring.K
        drive = elastic.StiffnessDrive(
            elastic.Motor(0.05, viscous=0.1), offset=0.5 * K, gain=0.5 * K
        )
        law = elastic.CubicSpring(1.0, 3.0)
        joints.append(elastic.VariableStiffness(each.motor, (0.5 * K, 2.0 * K), law, drive))
    return model, dyn.Actuators(model.joint_names, tuple(joints))


def antagonistic() -> tuple[dyn.MultibodyModel, dyn.Actuators]:
    """Two motors for each joint, with hardening springs that pull against each other."""
    model, actuators = panda()
    elastic = dyn.elastic
    joints = []
    for each in actuators.actuators:
        K = each.spring.K
        spring = elastic.PolynomialSpring((0.3 * K, 2.0 * K, 1.5 * K), travel=(0.0, 0.9))
        joints.append(elastic.Antagonistic(each.motor, each.motor, spring, spring))
    return model, dyn.Actuators(model.joint_names, tuple(joints))


ROBOTS = {"panda": panda, "variable": variable, "antagonistic": antagonistic}


def designed(robot: str, **options: Any) -> ControllerDesign:
    """motor_pd with compensation of disturbances, as `multibody_dynamics generate` designs it."""
    return design_controller(*ROBOTS[robot](), ControllerOptions(**options))


def program(design: ControllerDesign, folder: Path, compiler: str, flags: Sequence[str]) -> Path:
    """Generate and compile the controller and the program that runs it."""
    if which(compiler) is None:
        raise SystemExit(f"the compiler {compiler} was not found")
    write(controller_package(design, NAME), folder)
    text = in_template(TEMPLATE.read_text(encoding="utf-8"), NAME)
    text = text.replace("//TABLES//", in_tables(start_tables(design), NAME))
    main, path = folder / "realtime.c", folder / "realtime"
    main.write_text(text, encoding="utf-8")
    own = [compiler, "-std=c99", *flags, "-I", str(folder), "-I", str(TEMPLATES)]
    sources = sorted(str(file) for file in folder.glob(f"{NAME}_*.c"))
    subprocess.run([*own, *sources, str(main), "-o", str(path), "-lm"], check=True)
    return path


# Measurement


@contextmanager
def load(folder: Path) -> Iterator[None]:
    """Programs that keep processors, disk and memory busy, ended at the end."""
    commands = [[BUSY], [BUSY], [WRITING, str(folder / "written")], [COPYING]]
    processes = [subprocess.Popen([sys.executable, "-c", *each]) for each in commands]
    try:
        time.sleep(OTHERS)
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


@contextmanager
def no_idle_states() -> Iterator[None]:
    """No processor rests; needs the permission to write to IDLE_LATENCY."""
    with IDLE_LATENCY.open("wb", buffering=0) as file:
        file.write(bytes(4))
        yield


def run(path: Path, mode: str, options: argparse.Namespace) -> tuple[NDArray[Any], dict[str, Any]]:
    """The records of one mode, and the circumstances."""
    cycles = {"hot": HOT, "cold": COLD}.get(mode, round(options.duration * 1e9 / PERIOD))
    file = path.with_name(f"{mode}.bin")
    command = [str(path), str(file), mode, str(cycles), str(options.processor),
               str(options.priority)]  # fmt: skip
    show = ProgressBar(mode, stays=True)
    before, begin, loads = stolen(), time.monotonic(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            loads.append(os.getloadavg()[0])
            if mode in ("sleeping", "rehearsed"):
                show(min((time.monotonic() - begin) / options.duration, 0.999))
            time.sleep(1.0)
        printed = process.stdout.read().split() if process.stdout else []
    show(1.0)
    if process.returncode:
        raise SystemExit(f"{path.name} {mode} failed")
    is_real, counters, late, refused = map(int, printed)
    seconds = time.monotonic() - begin
    return np.fromfile(file, RECORD), {
        "seconds": seconds,
        "load average": [float(np.median(loads)), max(loads)],
        "processors stolen by the host": (stolen() - before) / seconds,
        "real time": bool(is_real),
        "interrupts are counted": counters > 0,
        "late cycles": late,
        "refused samples": refused,
    }


def stolen() -> float:
    """Processor time in s that the host of a virtual machine gave to others."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def summary(records: NDArray[Any]) -> dict[str, Any]:
    """Percentiles in us, missed cycles by their causes, and long cores with and without causes."""
    core, late = records["core"], records["late"]
    is_disturbed = records["is_interrupted"] > 0
    is_missed = late + core > PERIOD
    is_late = late > PERIOD - LEFT
    causes = {
        "woken up late": is_missed & is_late,
        "core interrupted": is_missed & ~is_late & is_disturbed,
        "core": is_missed & ~is_late & ~is_disturbed,
    }
    is_long = core > TARGET
    calm = core[~is_disturbed]
    return {
        "cycles": len(records) + int(records["skipped"].sum()),
        "wake-up": quantiles(late),
        "core": quantiles(core),
        "core, not interrupted": quantiles(calm),
        "control": quantiles(records["control"]),
        "missed": {
            name: int(which_ones.sum() + records["skipped"][which_ones].sum())
            for name, which_ones in causes.items()
        },
        "cores above 10 us": {
            "interrupted": int((is_long & is_disturbed).sum()),
            "not interrupted": int((is_long & ~is_disturbed).sum()),
        },
        "waits in the core": int(records["waits"].sum()),
        "changes to other programs in the core": int(records["switches"].sum()),
        "page faults in the core": int(records["faults"].sum()),
        "interrupts in the core": int(records["interrupts"].sum()),
    }


def quantiles(values: NDArray[Any]) -> list[float]:
    """QUANTILES in us."""
    if not len(values):
        return [0.0] * len(QUANTILES)
    return [float(x) / 1e3 for x in np.percentile(values, QUANTILES, method="higher")]


def table(results: dict[str, dict[str, Any]]) -> str:
    """Markdown: a row for each mode."""
    lines = [
        "| | cycles | wake-up: p50, p99, p99.9, max | core | core, not interrupted | control "
        "| missed: woken up late, core interrupted, core |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        cells = [name, f"{found['cycles']:,}"]
        for key in ("wake-up", "core", "core, not interrupted", "control"):
            sleeps = key != "wake-up" or any(found[key])
            cells.append(", ".join(_figure(x) for x in found[key]) if sleeps else "")
        cells.append(", ".join(str(x) for x in found["missed"].values()))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(x: float) -> str:
    return f"{x:.1f}" if x < 100.0 else f"{x:,.0f}"


def processor() -> str:
    """The name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def main() -> int:
    options = arguments()
    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True,
                             check=True).stdout.split("\n", 1)[0]  # fmt: skip
    print(f"{processor()}, {os.cpu_count()} processors, Linux {platform.release()} "
          f"{platform.version()}\n{version} {options.flags}\n"
          f"{options.robot}, us{', under load' if options.load else ''}\n", flush=True)  # fmt: skip
    results: dict[str, dict[str, Any]] = {}
    options.output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(dir=options.output)))
        path = program(designed(options.robot), folder, options.compiler, options.flags.split())
        if options.keep_awake:
            stack.enter_context(no_idle_states())
        if options.load:
            stack.enter_context(load(folder))
        for mode in options.modes:
            records, circumstances = run(path, mode, options)
            results[mode] = summary(records) | circumstances
            print(f"{mode}: {json.dumps(results[mode])}\n", flush=True)
    print(table(results))
    kept = {key: str(value) for key, value in vars(options).items()}
    report = {"options": kept, "processor": processor(), "compiler": version, "modes": results}
    conditions = "_load" * options.load + "_awake" * options.keep_awake
    name = f"realtime_core_{options.robot}{conditions}.json"
    (options.output / name).write_text(json.dumps(report, indent=1))
    if not all(found["real time"] for found in results.values()):
        print("\nwithout real-time priority or locked memory: see the messages above")
    if not all(found["interrupts are counted"] for found in results.values()):
        print("\ninterrupts were not counted, which needs tracefs and permission for perf events")
    return int(any(found["missed"]["core"] for found in results.values()))


if __name__ == "__main__":
    sys.exit(main())
