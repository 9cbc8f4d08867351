# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The public interfaces of the packages in dynamics/, and where their modules are tested."""

import ast
import re
import subprocess
import sys
from importlib.util import resolve_name
from inspect import getdoc, ismodule
from pathlib import Path

import pytest

from multibody_dynamics import dynamics as dyn

ROOT = Path(__file__).resolve().parents[1]
DYNAMICS = ROOT / "multibody_dynamics" / "dynamics"
PACKAGES = [name for name in dyn.__all__ if (DYNAMICS / name).is_dir()]
TESTED_BY_A_TABLE = "by_name"  # a folder of control laws, tested by a row in test/law_table.py

of_each_package = pytest.mark.parametrize("package", PACKAGES)


@of_each_package
def test_an_interface_describes_each_name_in_one_line(package):
    interface = getattr(dyn, package)
    names = re.findall(r"^ *(\w+) {2,}\S", getdoc(interface) or "", re.MULTILINE)
    assert sorted(names) == sorted(interface.__all__) == dir(interface)


@of_each_package
def test_no_function_shadows_its_module(package):
    interface = getattr(dyn, package)
    modules = {file.stem for file in (DYNAMICS / package).glob("*.py")}
    shadows = [name for name in {*interface.__all__} & modules]
    assert [name for name in shadows if not ismodule(getattr(interface, name))] == []
    assert package not in modules


@of_each_package
def test_every_module_has_a_test_of_its_name(package):
    def files(folder: Path, pattern: str) -> set[Path]:
        found = {file.relative_to(folder) for file in folder.rglob(pattern)}
        return {file for file in found if TESTED_BY_A_TABLE not in file.parts}

    modules = files(DYNAMICS / package, "[!_]*.py")
    tests = files(ROOT / "test" / "dynamics" / package, "test_*.py")
    assert {module.with_name(f"test_{module.name}") for module in modules} == tests


def passed_by(file: Path) -> list[str]:
    """The imports of a file that reach behind the interface of a package of dynamics/."""
    package = ".".join(file.relative_to(ROOT).with_suffix("").parts[:-1])
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = resolve_name("." * node.level + (node.module or ""), package)
        inside = re.match(r"multibody_dynamics\.dynamics\.(\w+)(\.\w+)?", module)
        if inside and not f"{package}.".startswith(f"multibody_dynamics.dynamics.{inside[1]}."):
            interface = getattr(dyn, inside[1])
            names = [inside[2][1:]] if inside[2] else [alias.name for alias in node.names]
            found += [f"{module}.{name}" for name in names if name not in interface.__all__]
    return found


def test_other_packages_import_from_interfaces(tmp_path, monkeypatch):
    files = [*(ROOT / "multibody_dynamics").rglob("*.py")]
    assert [found for file in files for found in passed_by(file)] == []
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "multibody_dynamics" / "nodes" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text("from ..dynamics.rigid.rnea import f\nfrom ..dynamics.lie import so3, ad\n")
    assert passed_by(file) == [
        "multibody_dynamics.dynamics.rigid.rnea.rnea",
        "multibody_dynamics.dynamics.lie.ad",
    ]


def test_dynamics_shows_its_packages_and_names_of_everyday_use():
    assert dir(dyn) == sorted(dyn.__all__)
    for name in set(dyn.__all__) - set(PACKAGES):
        homes = [p for p in PACKAGES if getattr(getattr(dyn, p), name, None) is getattr(dyn, name)]
        assert homes, f"dyn.{name} is in no package's interface"
    with pytest.raises(AttributeError, match="no attribute 'no_such_package'"):
        dyn.no_such_package  # noqa: B018
    with pytest.raises(AttributeError, match=r"it is dyn\.integration\.integrate$"):
        dyn.integrate  # noqa: B018


def run_python(program: str) -> list[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()


def test_type_checkers_see_what_is_loaded_later():
    tree = ast.parse(Path(dyn.__file__).read_text())
    checked = [node for node in tree.body if ast.unparse(node).startswith("if TYPE_CHECKING")]
    shown = {alias.name for node in checked for line in node.body for alias in line.names}
    assert shown == {*dyn._PACKAGES_LOADED_LATER, *dyn._NAMES_LOADED_LATER}


def test_upper_packages_are_loaded_on_first_use():
    before, touched = run_python(
        "import sys\nfrom multibody_dynamics import dynamics as dyn\n"
        "inside = lambda n: n.startswith('multibody_dynamics.dynamics.')\n"
        "loaded = lambda: {n.split('.')[2] for n in sys.modules if inside(n)}\n"
        "before = loaded()\ndyn.theory.system_kinematics\ndyn.interpolate\n"
        "print(sorted(before), sorted(loaded() - before), sep='\\n')\n"
    )
    lower = {"codegen", "core", "lie", "model", "recursions", "rigid"}
    assert set(ast.literal_eval(before)) == lower
    assert set(ast.literal_eval(touched)) == {"theory", "motion"}


def test_importing_dynamics_loads_no_slow_library():
    """scipy.signal, stats, optimize and interpolate take longer than everything else together."""
    loaded = run_python("import sys, multibody_dynamics.dynamics; print(*sys.modules, sep='\\n')")
    slow = {f"scipy.{name}" for name in ("signal", "stats", "optimize", "interpolate", "sparse")}
    assert not (slow | {"matplotlib"}) & set(loaded)


def test_modules_of_test_helpers_are_no_tests():
    """No file in test/ imports from a test, which pytest may not have put on the path."""
    for file in (ROOT / "test").rglob("*.py"):
        found = re.findall(r"^ *(?:from|import) (test_\w+)", file.read_text(), re.MULTILINE)
        assert not found, f"{file.name} imports from {found}"
