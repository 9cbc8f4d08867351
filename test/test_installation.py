# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The package as sdist and wheel, and installed by pip and colcon: files, executables, code."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAME = "multibody_dynamics"
EXECUTABLES = {NAME, *(file.stem for file in (ROOT / NAME / "nodes").glob("*_node.py"))}
INSTALLED = (NAME, "launch", "config", "resource")
DEVELOPMENT = ("benchmark", "docs", "examples", "scripts", "test", ".ci")

# Not for an sdist: worktrees of git have a file .git.
NOT_SOURCE = {".git"}
PROBE = f"""
import {NAME}.dynamics
from {NAME}.resources import share_directory
from ament_index_python.packages import get_package_share_directory
print({NAME}.__file__, share_directory(), get_package_share_directory("{NAME}"), sep="\\n")
"""


@dataclass(frozen=True)
class Installation:
    prefix: Path  # for AMENT_PREFIX_PATH
    executables: Path
    code: Path
    python: Path
    search_path: Path | None = None  # for PYTHONPATH

    def run(self, *command: Path | str) -> str:
        environ = dict(os.environ, AMENT_PREFIX_PATH=str(self.prefix))
        places = [p for p in environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        places = [p for p in places if Path(p).resolve() != ROOT]
        environ["PYTHONPATH"] = os.pathsep.join([str(self.search_path or ""), *places]).strip(":")
        return run(*command, cwd=self.prefix, environ=environ)


def run(*command: Path | str, cwd: Path, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def scratch_environment(folder: Path) -> Path:
    """A virtual environment with access to the packages of this one; returns its Python."""
    venv.create(folder, symlinks=True)
    packages = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (own,) = folder.glob("lib/python3*/site-packages")
    (own / "seen.pth").write_text("\n".join(sorted(packages)))
    return folder / "bin" / "python"


def files_below(folder: Path, *parts: str) -> set[str]:
    found = (f for part in parts for f in (folder / part).rglob("*") if f.is_file())
    return {f.relative_to(folder).as_posix() for f in found if "__pycache__" not in f.parts}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all files, because a build writes into the source folder."""
    folder = tmp_path_factory.mktemp("source")
    for file in ROOT.iterdir():
        if file.is_file() and file.name not in NOT_SOURCE:
            shutil.copy(file, folder)
    for part in (*INSTALLED, *DEVELOPMENT):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist of the package, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    expected = source_files(source)
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", build, str(folder), cwd=source)
    assert source_files(source) == expected  # the build leaves nothing behind
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    (unpacked,) = (found for found in folder.glob(f"{NAME}-*") if found.is_dir())
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the sdist, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation"]
    run(*pip, "--no-deps", "--wheel-dir", folder, sdist, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


def source_files(folder: Path) -> set[str]:
    """Every file of the project."""
    own = {file.name for file in folder.iterdir() if file.is_file()}
    return own | files_below(folder, *INSTALLED, *DEVELOPMENT)


def test_the_sdist_contains_every_file_of_the_project(sdist, source):
    generated = {"PKG-INFO"}
    assert source_files(sdist) - generated == source_files(source)


def test_the_wheel_contains_the_package_its_data_and_nothing_else(wheel, source):
    """Pure Python: it installs without a compiler, on every platform."""
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as content:
        names = {name for name in content.namelist() if not name.endswith("/")}
    info = next(name.partition("/")[0] for name in names if ".dist-info/" in name)
    assert info == f"{wheel.name.split('-py3')[0]}.dist-info"
    data = info.replace(".dist-info", ".data") + "/data/share"
    share = {f"{data}/{NAME}/{name}" for name in files_below(source, "launch", "config")}
    share |= {f"{data}/{NAME}/package.xml", f"{data}/ament_index/resource_index/packages/{NAME}"}
    rest = {name for name in names if not name.startswith(f"{info}/")}
    assert rest == files_below(source, NAME) | share
    assert f"{info}/licenses/LICENSE" in names or f"{info}/LICENSE" in names


@pytest.fixture(scope="module", params=["wheel", "editable", "colcon"])
def installation(
    request: pytest.FixtureRequest,
    source: Path,
    wheel: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Installation:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "colcon":
        bases = [f"--{base}-base={folder / base}" for base in ("build", "install")]
        colcon = [sys.executable, "-m", "colcon", f"--log-base={folder / 'log'}"]
        run(*colcon, "build", f"--base-paths={source}", *bases, cwd=folder)
        prefix = folder / "install" / NAME
        (code,) = prefix.glob(f"lib/python3*/*-packages/{NAME}")
        python = Path(sys.executable)
        return Installation(prefix, prefix / "lib" / NAME, code, python, code.parent)

    python = scratch_environment(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index"]
    pip += ["--no-deps", "--no-build-isolation", "--no-warn-script-location"]
    if request.param == "editable":
        run(*pip, "--editable", source, cwd=folder)
        return Installation(folder, folder / "bin", source / NAME, python)
    run(*pip, wheel, cwd=folder)
    (code,) = folder.glob(f"lib/python3*/site-packages/{NAME}")
    return Installation(folder, folder / "bin", code, python)


def test_colcon_recognises_an_ament_python_package(source, tmp_path):
    colcon = [sys.executable, "-m", "colcon", f"--log-base={tmp_path}"]
    listed = run(*colcon, "list", f"--base-paths={source}", cwd=tmp_path)
    assert listed.split() == [NAME, str(source), "(ros.ament_python)"]


def test_executables_are_in_place_and_start(installation):
    for name in EXECUTABLES:
        assert os.access(installation.executables / name, os.X_OK), name
    assert "usage" in installation.run(installation.executables / NAME, "--help")
    robot = installation.prefix / "share" / NAME / "config" / "robots" / "planar_two_link.urdf"
    assert "2 joints" in installation.run(installation.executables / NAME, "inspect", str(robot))


def test_share_files_and_index_marker_are_in_place(installation, source):
    share = installation.prefix / "share"
    files = [
        f.relative_to(source) for top in ("launch", "config") for f in (source / top).rglob("*")
    ]
    for file in [*files, Path("package.xml")]:
        assert (share / NAME / file).exists(), file
    assert (share / "ament_index/resource_index/packages" / NAME).is_file()


def test_installed_code_runs_and_finds_its_files(installation, source):
    probe = installation.run(installation.python, "-c", PROBE).splitlines()
    code, own, index = (Path(line) for line in probe)
    share = installation.prefix / "share" / NAME
    assert code == installation.code / "__init__.py"
    assert own == (source if installation.code.parent == source else share)
    assert index == share
    assert (installation.code / "py.typed").is_file()
