# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How the operating system runs a node: priority, locked memory, idle states, chosen processors.

A node works without any of this. Where a permission is missing, it says which, and continues. The
thread of the control cycle gets the priority; all others of the process, those of the middleware
included, get one less: they share Python's lock, and one of low priority that holds it while other
programs take its processor would make the cycle wait. Processes that a node starts have lower
priority, see :class:`.BackgroundProcess`.
"""

import ctypes
import os
import resource
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from .parameters import NodeParameters, ParameterError

MCL_CURRENT, MCL_FUTURE = 1, 2  # of mlockall
CAP_IPC_LOCK = 14
THREADS = Path("/proc/self/task")
STATUS = Path("/proc/self/status")
IDLE_LATENCY = Path("/dev/cpu_dma_latency")
AT_ONCE = bytes(4)  # an int: the longest time, in us, that a processor may take to wake up
NO_PRIORITY = (
    "scheduling_priority: no permission for the real-time priority {}: continuing with normal"
    " priority. Allow it by `ulimit -r 99` (rtprio in /etc/security/limits.conf), LimitRTPRIO= of a"
    " systemd service, or the capability CAP_SYS_NICE"
)
NO_LOCK = (
    "lock_memory: no permission to lock the memory of this process: continuing without. Allow it"
    " by `ulimit -l unlimited` (memlock in /etc/security/limits.conf), LimitMEMLOCK= of a systemd"
    " service, or the capability CAP_IPC_LOCK"
)
NO_IDLE_LATENCY = (
    "keep_awake: {} cannot be written ({}): continuing with idle states. Allow it by a udev rule,"
    ' KERNEL=="cpu_dma_latency", GROUP="realtime", MODE="0660", with the user in this group'
)
_keeps_awake: list[int] = []  # the open file, held as long as the process lives


def check_processors(parameters: NodeParameters) -> None:
    """Raise ParameterError for processors that this computer does not have."""
    count = os.sysconf("SC_NPROCESSORS_CONF")
    for number in parameters.processors:
        if not 0 <= number < count:
            raise ParameterError(f"processors has {number}; this computer has 0 to {count - 1}")


def schedule(parameters: NodeParameters, warn: Callable[[str], object]) -> str:
    """Apply the parameters to all threads of this process; returns what is in force, in words.

    `warn` is called with one line for everything that is not permitted.
    """
    done = []
    if parameters.processors:
        try:
            _for_all_threads(lambda thread: os.sched_setaffinity(thread, parameters.processors))
            allowed = os.sched_getaffinity(0)
            done.append(f"processors {_listed(allowed)}")
            if lost := set(parameters.processors) - allowed:
                warn(f"processors: {_listed(lost)} not allowed for this process (cpuset)")
        except OSError as error:  # outside of the set that a container or cgroup allows
            allowed = os.sched_getaffinity(0)
            warn(f"processors: {error.strerror}: continuing with {_listed(allowed)}")
    if parameters.scheduling_priority:
        try:
            _set_priority(parameters.scheduling_priority)
            done.append(f"real-time priority {parameters.scheduling_priority} (SCHED_FIFO)")
        except PermissionError:
            return_to_normal()  # the limit may allow the lower priority of the others
            warn(NO_PRIORITY.format(parameters.scheduling_priority))
    if parameters.lock_memory:
        if _lock_memory():
            done.append("memory locked")
        else:
            warn(NO_LOCK)
    if parameters.keep_awake:
        try:
            _keep_awake()
            done.append("processors kept awake")
        except OSError as error:
            warn(NO_IDLE_LATENCY.format(IDLE_LATENCY, error.strerror))
    return ", ".join(done)


def return_to_normal() -> None:
    """Normal priority for all threads again, because there is much to compute."""
    _for_all_threads(
        lambda thread: os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
    )


def _set_priority(priority: int) -> None:
    """This priority for the main thread, which runs the cycle, and one less for the others: with an
    equal one, they would not make way for it while they compute without Python's lock."""

    def apply(thread: int) -> None:
        own = priority if thread == os.getpid() else max(priority - 1, 1)
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(own))

    _for_all_threads(apply)


def lower_thread_priority() -> None:
    """One less than the priority of the main thread, for a thread that starts after `schedule` has
    run: it inherits the priority of the thread that starts it, which is mostly the cycle."""
    process = os.getpid()
    if os.sched_getscheduler(process) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO:
        own = max(os.sched_getparam(process).sched_priority - 1, 1)
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(own))


def _listed(processors: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(processors)))


def _for_all_threads(apply: Callable[[int], object]) -> None:
    """Call `apply` with the number of every thread of this process."""
    for thread in list(THREADS.iterdir()):
        with suppress(ProcessLookupError):  # it has ended meanwhile
            apply(int(thread.name))


def _lock_memory() -> bool:
    """Lock all pages; also future ones, unless a limit would make later allocations fail."""
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    is_free = limit == resource.RLIM_INFINITY or _has_capability(CAP_IPC_LOCK)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.mlockall(MCL_CURRENT | (MCL_FUTURE if is_free else 0)) == 0)


def _keep_awake() -> None:
    """Ask the kernel to avoid idle states that take time to leave, until this process ends."""
    if not _keeps_awake:
        file = os.open(IDLE_LATENCY, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, AT_ONCE)
        except OSError:
            os.close(file)
            raise
        _keeps_awake.append(file)


def _has_capability(number: int) -> bool:
    lines = STATUS.read_text().splitlines()
    effective = next(line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> number & 1)
