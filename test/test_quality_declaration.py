# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What QUALITY_DECLARATION.md refers to exists, and it justifies every dependency."""

import re
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package

import multibody_dynamics
from dependencies import IMPORTS

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "QUALITY_DECLARATION.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next one of the same depth or above."""
    head = re.search(rf"^(#+) {re.escape(title)}.*\n", TEXT, re.MULTILINE)
    assert head, title
    rest = TEXT[head.end() :]
    return re.split(rf"^#{{1,{len(head[1])}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def named(text: str) -> set[str]:
    """Names in backticks in the first column of the tables."""
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_test_and_document_exists():
    files = set(re.findall(r"`(test/[\w/]+\.py)`", TEXT))
    files |= set(re.findall(r"\]\(((?!http)[^)#]+)(?:#[^)]*)?\)", TEXT))
    assert len(files) > 30
    assert [file for file in sorted(files) if not (ROOT / file).exists()] == []


def test_names_that_pages_and_examples_import_are_public():
    files = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    line = r"^ *from multibody_dynamics\.(?!dynamics\b)([\w.]+) import (.+)$"
    found = re.findall(line, text, re.MULTILINE)
    imported = {f"{module}.{name.strip()}" for module, names in found for name in names.split(",")}
    public = section("Public Interface")
    assert {"resources.share_directory", "validation.comparison.validate"} < imported
    assert [name for name in sorted(imported) if f"`{name}" not in public] == []


def test_every_public_name_exists():
    rows = [row for row in section("Public Interface").splitlines() if "other packages" in row]
    names = [name for row in rows for name in re.findall(r"`(\w[\w.]*\.\w+)`", row.split("|")[1])]
    assert len(names) == 11
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert callable(getattr(import_module(f"multibody_dynamics.{module}"), attribute)), name


STUDIES = (
    "stored_energy", "arm_energy", "ArmStates", "power_balance", "PowerBalance",
    "sampled_contacts", "SampledContacts", "BOUT", "PASSIVITY_CLAIMS", "PassivityClaim",
)  # fmt: skip


def test_names_of_version_1_are_public_or_deprecated():
    """The stability policy: only a major version removes a name, after a warning that names the
    replacement. The one exception is stated there: proofs, which have moved."""
    text = (ROOT / "test" / "release_1_0_0" / "names.txt").read_text(encoding="utf-8")
    rooms = re.findall(r"^(dyn[.\w]*):((?:\s+\w+)+)$", text, re.MULTILINE)
    assert sum(len(names.split()) for _, names in rooms) == 676
    for room, names in rooms:
        face = import_module(room.replace("dyn", "multibody_dynamics.dynamics", 1))
        for name in names.split():
            if name in STUDIES:
                with pytest.raises(AttributeError, match=r"studies/\w+\.py"):
                    getattr(face, name)
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                getattr(face, name)
            said = [str(each.message) for each in caught]
            instead = [re.match(rf"{room}\.{name}: use (\w+)", each) for each in said]
            is_announced = any(each and each[1] in face.__all__ for each in instead)
            assert (name in face.__all__) != is_announced, (room, name)


def test_every_dependency_is_justified():
    ros = named(section("Direct Runtime ROS Dependencies"))
    others = named(section("Direct Runtime Non-ROS Dependencies"))
    manifest = parse_package(str(ROOT))
    by_key = {dependency.rosdep: dependency for dependency in IMPORTS.values()}
    python = {d.name for d in manifest.exec_depends if d.name.startswith("python3-")}
    assert {by_key[key].pypi for key in python} <= others
    assert {d.name for d in manifest.exec_depends} - python == ros
    assert others >= {"rosbags", "mujoco", "dask", "pin"}  # optional, without a rosdep key


def test_no_dependency_needs_pip():
    manifest = parse_package(str(ROOT))
    dependencies = [*manifest.exec_depends, *manifest.test_depends, *manifest.build_depends]
    assert [d.name for d in dependencies if d.name.endswith("-pip")] == []


def test_the_version_is_the_current_one_and_stable():
    assert f"The version is {multibody_dynamics.__version__}." in section("Version Stability")
    assert int(multibody_dynamics.__version__.partition(".")[0]) >= 1


def test_the_readme_links_to_the_declaration():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    quality = readme.partition("\n## Quality\n")[2].partition("\n## ")[0]
    assert "(QUALITY_DECLARATION.md)" in quality
