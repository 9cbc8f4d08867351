# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Consistency of the package: imports, manifests, versions, public names, files."""

import ast
import importlib
import pkgutil
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import setuptools
import yaml
from catkin_pkg.changelog import get_changelog_from_path
from catkin_pkg.package import Package, parse_package

import multibody_dynamics
from dependencies import COMMANDS, IMPORTS

ROOT = Path(__file__).resolve().parents[1]
NAME = "multibody_dynamics"
RUNTIME = (NAME, "launch")
DEVELOPMENT = ("test", "benchmark", "examples", "studies")
# Only for launch/gazebo.launch.py: docs/gazebo.md says how to install them, instead of rosdep.
GAZEBO = {"controller_manager", "robot_state_publisher", "ros_gz_bridge", "ros_gz_sim"}
# Describes the nodes that launch files start; runs xacro for them.
SYSTEMS = ROOT / NAME / "tools" / "live" / "launched_systems.py"
# Only for launch files; test_launch_files.py runs them with stand-ins for launch and launch_ros.
NEEDS_LAUNCH = f"{NAME}.tools.launch_arguments"
OPTIONAL = {"mujoco", "dask", "pin", "pyarrow", "viser", "trimesh"}  # extras of their own
OLDEST = 3, 10  # of the supported versions of Python
LATER = {  # names of the standard library that came after it
    "builtins.BaseExceptionGroup", "builtins.ExceptionGroup", "contextlib.chdir", "datetime.UTC",
    "enum.StrEnum", "enum.verify", "hashlib.file_digest", "itertools.batched", "tomllib",
    "typing.LiteralString", "typing.Never", "typing.NotRequired", "typing.Required", "typing.Self",
    "typing.assert_never", "typing.assert_type", "typing.override", "typing.reveal_type",
}  # fmt: skip


@pytest.fixture(scope="module")
def manifest() -> Package:
    """package.xml, validated as ROS tools do, with warnings as errors."""
    warnings: list[str] = []
    package = parse_package(str(ROOT), warnings=warnings)
    assert not warnings
    return package


@pytest.fixture(scope="module")
def arguments() -> dict[str, Any]:
    """The arguments that setup.py passes to setuptools.setup."""
    handed: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(setuptools, "setup", lambda **kwargs: handed.update(kwargs))
        runpy.run_path("setup.py")
    return handed


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def imported_by(file: Path) -> frozenset[str]:
    """Top-level packages that a file imports by name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return frozenset(name.partition(".")[0] for name in names)


def imported(*folders: str) -> dict[str, Path]:
    """Third-party packages imported below `folders`, each with a file that imports it."""
    own = {NAME, *DEVELOPMENT}
    own |= {file.stem for folder in (*DEVELOPMENT, "scripts") for file in sources(folder)}
    found = {name: file for file in sources(*folders) for name in imported_by(file)}
    return {k: v for k, v in found.items() if k not in own | sys.stdlib_module_names}


def distributions(requirements: list[str]) -> set[str]:
    """Names without extras and versions: "ros-jazzy-rclpy[fastrtps]~=7.1" is ros-jazzy-rclpy."""
    return {re.split(r"[\[<>=~!; ]", requirement, maxsplit=1)[0] for requirement in requirements}


def started_by_launch_files() -> set[str]:
    """Packages whose programs the launch files start: Node(package=...), run(["xacro", ...])."""
    found = set()
    helper = ROOT.joinpath(*NEEDS_LAUNCH.split(".")).with_suffix(".py")
    for file in (*sources("launch"), helper, SYSTEMS):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "subprocess.run":
                found.add(ast.literal_eval(node.args[0].elts[0]))
            elif isinstance(node, ast.Call):
                package = [k.value for k in node.keywords if k.arg == "package"]
                found |= {value.value for value in package if isinstance(value, ast.Constant)}
    return found - {NAME} - GAZEBO


def project_files() -> Iterator[Path]:
    """Every text file of the project."""
    folders = (NAME, "launch", "config", "resource", *DEVELOPMENT, "docs", "scripts", ".ci")
    found = [f for folder in folders for f in (ROOT / folder).rglob("*") if f.is_file()]
    found += [f for f in ROOT.iterdir() if f.is_file() and f.name != ".git"]  # a worktree's
    for file in found:
        if "__pycache__" not in file.parts and b"\0" not in file.read_bytes():
            yield file


# declared and imported packages are the same


def test_every_import_is_in_the_map_of_names():
    unknown = {k: v for k, v in imported(*RUNTIME, *DEVELOPMENT).items() if k not in IMPORTS}
    assert not unknown, f"add to test/dependencies.py, package.xml and setup.py: {unknown}"
    unused = IMPORTS.keys() - imported(*RUNTIME, *DEVELOPMENT)
    assert not unused, f"in test/dependencies.py but imported nowhere: {unused}"


def test_package_xml_declares_what_is_imported(manifest):
    optional = {None, "pinocchio"}  # `excite` does without it, where it is not installed
    runtime = {IMPORTS[name].rosdep for name in imported(*RUNTIME)} - optional
    development = {IMPORTS[name].rosdep for name in imported(*DEVELOPMENT)} - {None}
    assert {d.name for d in manifest.exec_depends} == runtime | started_by_launch_files()
    assert {d.name for d in manifest.test_depends} == development - runtime


def test_setup_py_declares_what_is_imported(arguments):
    runtime = {IMPORTS[name].pypi for name in imported(*RUNTIME)} - {None}
    development = {IMPORTS[name].pypi for name in imported(*DEVELOPMENT)} - {None}
    ros = {name for name in runtime | development if name.startswith("ros-")}
    extras = arguments["extras_require"]
    assert distributions(arguments["install_requires"]) == runtime - ros - OPTIONAL
    assert distributions(extras["ros"]) == ros
    assert distributions(extras["pinocchio"]) == {"pin"}
    assert distributions(extras["mujoco"]) == {"mujoco"}
    site = {"furo", "ipykernel", "latex2mathml", "myst-nb", "sphinx"}
    assert distributions(extras["docs"]) == site
    assert distributions(extras["dask"]) == {"dask"}
    assert distributions(extras["parquet"]) == {"pyarrow"}
    assert distributions(extras["view"]) == {"viser", "trimesh", "pycollada"}
    others = runtime | ros | OPTIONAL
    assert distributions(extras["test"]) == development - others | COMMANDS.keys()


# the manifests


def test_package_xml_is_that_of_an_ament_python_package(manifest):
    assert manifest.package_format == 3
    assert manifest.get_build_type() == "ament_python"
    assert manifest.name == NAME


def test_versions_agree(manifest, arguments):
    changelog = get_changelog_from_path(str(ROOT), package_name=NAME)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    released = [version for version, _, _ in changelog.foreach_version(reverse=True) if version]
    assert manifest.version == multibody_dynamics.__version__
    assert manifest.version == arguments["version"]
    assert manifest.version == released[0] == citation["version"]
    assert changelog.get_date_of_version(manifest.version).date() == citation["date-released"]


def test_licence_is_the_same_everywhere(manifest, arguments):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert manifest.licenses == [arguments["license"]] == [citation["license"]] == ["Apache-2.0"]
    assert "Apache License" in (ROOT / manifest.licenses[0].file).read_text()


def test_every_entry_point_resolves(arguments):
    for line in arguments["entry_points"]["console_scripts"]:
        name, value = line.split(" = ")
        assert callable(EntryPoint(name, value, "console_scripts").load()), line


def test_every_node_has_an_executable(arguments):
    executables = {e.split(" = ")[0] for e in arguments["entry_points"]["console_scripts"]}
    nodes = {file.stem for file in (ROOT / NAME / "nodes").glob("*_node.py")}
    assert executables == nodes | {NAME}


def test_every_launch_and_config_file_is_installed_where_it_was(arguments):
    installed = {
        file: f"{folder}/{Path(file).name}"
        for folder, files in arguments["data_files"]
        for file in files
    }
    expected = [
        file.relative_to(ROOT).as_posix()
        for folder in ("launch", "config")
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    assert expected
    for file in [*expected, "package.xml"]:
        assert installed[file] == f"share/{NAME}/{file}"
    assert installed[f"resource/{NAME}"] == f"share/ament_index/resource_index/packages/{NAME}"


# the modules


def test_every_public_name_resolves():
    modules = pkgutil.walk_packages(multibody_dynamics.__path__, prefix=f"{NAME}.")
    names = [info.name for info in modules]
    names.remove(NEEDS_LAUNCH)
    for module in map(importlib.import_module, names):
        names = getattr(module, "__all__", [])
        missing = [name for name in names if not hasattr(module, name)]
        assert not missing, f"{module.__name__}.__all__ has undefined names: {missing}"
        assert len(set(names)) == len(names), f"{module.__name__}.__all__ has duplicate names"


def test_dynamics_needs_no_ros_and_no_simulator():
    program = f"import sys, {NAME}.dynamics; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = {name.partition(".")[0] for name in run.stdout.split()}
    assert "numpy" in modules
    ros = {name for name in modules if name.startswith(("rcl", "ament", "rosidl"))}
    assert not ros | {name for name in modules if name.endswith(("_msgs", "_interfaces"))}
    assert "mujoco" not in modules


def test_studies_and_proofs_need_no_ros():
    """What `study`, `excite`, `identify` and `prove` import, in a process without ROS."""
    folders = ("study", "road", "motions", "robot")
    modules = [
        f"{NAME}.tools.{folder}.{file.stem}"
        for folder in folders
        for file in (ROOT / NAME / "tools" / folder).glob("[!_]*.py")
    ]
    program = (
        "import sys, importlib\n"
        "sys.modules['rclpy'] = sys.modules['rcl_interfaces'] = sys.modules['sensor_msgs'] = None\n"
        f"for name in {modules}: importlib.import_module(name)"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# the text


def newer_names(source: str) -> list[str]:
    """What a module uses that the oldest supported Python lacks. Raises SyntaxError."""
    tree = ast.parse(source, feature_version=OLDEST)
    if not any(name.rpartition(".")[2] in source for name in LATER):
        return []
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            used |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            used |= {each.name for each in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Name):
            used.add(f"builtins.{node.id}")
    return sorted(used & LATER)


def test_the_code_runs_with_the_oldest_supported_python(arguments):
    assert arguments["python_requires"] == ">=" + ".".join(map(str, OLDEST))
    files = [ROOT / "setup.py", *sources(*RUNTIME, *DEVELOPMENT, "scripts")]
    found = {str(file): newer_names(file.read_text()) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "pattern",
    [r"(?<![\w.}])/(?:home|root|Users|work|mnt)/\w", "TO[D]O|FIX[M]E|XX[X]|NotImplemented[E]rror"],
    ids=["path of a particular machine", "mark of unfinished work"],
)
def test_no_file_has_a(pattern):
    found = {
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in project_files()
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if re.search(pattern, line)
    }
    assert not found
