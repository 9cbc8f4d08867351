# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Shared by all tests: reference data, ROS domains, settings of hypothesis."""

import fcntl
import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

from multibody_dynamics.tools.base.ros_settings import DOMAINS

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("MULTIBODY_DYNAMICS_SHARED") or HERE.parents[1] / "shared")
HAS_SHARED = (SHARED / "cases").is_dir() and (SHARED / "logs").is_dir()

# Tests that need the reference data, or control_msgs or ros2_control from an installed ROS 2, have
# files of their own, which are collected only if these are available.
PREFIXES = [
    Path(each) for each in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if each
]
NEEDS = {
    "test_shared_*.py": HAS_SHARED,
    "test_control_msgs_*.py": find_spec("control_msgs") is not None,
    "test_ros2_control_*.py": any(
        (each / "share" / "controller_interface").is_dir() for each in PREFIXES
    ),
}
collect_ignore_glob = [files for files, is_available in NEEDS.items() if not is_available]
if find_spec("rosbags") is None:  # optional: no rosdep key installs it without pip
    uses = ("from rosbags", "from bag_files")
    collect_ignore_glob += [
        str(file.relative_to(HERE))
        for file in HERE.rglob("test_*.py")
        if any(line.startswith(uses) for line in file.read_text(encoding="utf-8").splitlines())
    ]

# Files with the longest tests start first, so that no process ends long after the others.
LONGEST = (
    "test_node_and_generated_c",
    "test_flatness_controller_node",
    "test_runs",
    "test_nodes_with_loops",
    "test_loops_page",
)
ROS_WORDS = ("rclpy", "ros_harness", "ros_domain_id", "mark.ros")  # one is in every file of -m ros

hypothesis.settings.register_profile("project", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("project")
os.environ.setdefault("MPLBACKEND", "Agg")


class ComparisonIsMissing(pytest.Item):
    def runtest(self) -> None:
        pytest.fail(
            f"the reference data is available ({SHARED}), but this full run collected no test that "
            "compares with it: no test_shared_*.py",
            pytrace=False,
        )


def pytest_configure() -> None:
    """Restore SIGINT, which shells ignore in background jobs and all their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def _may_use_ros(file: Path) -> bool:
    text = file.read_text(encoding="utf-8")
    return any(word in text for word in ROS_WORDS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With -m ros, read only test files that import ROS or the harness."""
    if config.getoption("markexpr") != "ros" or collection_path.suffix != ".py":
        return None
    return None if _may_use_ros(collection_path) else True


def pytest_collection_finish() -> None:
    """Spare the garbage collector all that lives until the end, and let it run less often, as tests
    make many small objects: that takes 5 % of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark tests with nodes as `ros`, the longest first; fail a full run without a comparison with
    reference data."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)
    for item in items:
        module = getattr(item, "module", None)
        if hasattr(module, "rclpy") or "ros_domain_id" in getattr(item, "fixturenames", ()):
            item.add_marker("ros")
        if item.get_closest_marker("ros") and not _may_use_ros(item.path):
            raise pytest.UsageError(f"{item.nodeid}: -m ros would not find it, see ROS_WORDS")

    collected = {item.path.name for item in items}
    files = {file.name for file in HERE.glob("test_*.py")}
    shared, *installed = ({file.name for file in HERE.glob(pattern)} for pattern in NEEDS)
    yield  # -k and -m select
    if HAS_SHARED and collected >= files.difference(shared, *installed) and not collected & shared:
        items.append(
            ComparisonIsMissing.from_parent(session, name="comparison with reference data")
        )


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """The folder with the reference robots and their states; only for test_shared_*.py."""
    return SHARED / "cases"


@pytest.fixture(scope="session")
def shared_logs() -> Path:
    """The folder with recorded motions of real robots; only for test_shared_*.py."""
    return SHARED / "logs"


@pytest.fixture
def ros_domain_id() -> Iterator[int]:
    """A ROS domain that no other test on this computer uses while this one runs."""
    folder = Path(tempfile.gettempdir(), f"multibody_dynamics_domains_{os.getuid()}")
    folder.mkdir(exist_ok=True)
    first = os.getpid() % len(DOMAINS)
    for domain_id in (*DOMAINS[first:], *DOMAINS[:first]):
        with (folder / str(domain_id)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield domain_id
            # Nodes whose last references are cycles would keep their participants in this process:
            # of many that discover each other, Fast DDS may deadlock when one is destroyed.
            gc.collect()
            return
    pytest.fail(f"every ROS domain is in use, see the locks in {folder}")
