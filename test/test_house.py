# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The house of CONTRIBUTING.md: rooms, imports between them, faces, and the size of functions."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import getdoc, ismodule
from pathlib import Path
from types import ModuleType

import pytest

from multibody_dynamics import dynamics as dyn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import rooms  # noqa: E402

GUIDE = rooms.GUIDE.read_text(encoding="utf-8")
HOUSES = rooms.houses(GUIDE)
MOST_ARROWS = 20  # in the drawing of dynamics/
MOST_NAMES = 52  # of everyday use, in dynamics/ itself
LONGEST_NODE = 402  # lines of a node's main file, three of them the notice of copyright
LONGEST, WIDEST = 60, 8  # lines and parameters of a function


def faces() -> dict[str, ModuleType]:
    return {room: getattr(dyn, room) for room in HOUSES["dynamics"]}


# rooms and imports


def test_the_guide_has_a_table_for_each_house():
    assert HOUSES.keys() == {
        "",
        "dynamics",
        "dynamics/control",
        "dynamics/identification",
        "validation",
        "nodes",
        "tools",
    }
    assert 12 <= len(HOUSES["dynamics"]) <= 16


def test_imports_go_down_and_through_faces():
    assert list(rooms.offences(GUIDE)) == []


def test_few_arrows_between_rooms():
    assert 0 < len(rooms.arrows("dynamics", HOUSES["dynamics"])) <= MOST_ARROWS


def test_the_drawings_are_up_to_date():
    assert rooms.redrawn(GUIDE) == GUIDE, "run: python scripts/rooms.py"


@pytest.mark.parametrize(
    "house", ["dynamics", "dynamics/control", "dynamics/identification", "nodes", "validation"]
)
def test_a_drawing_shows_each_room_above_the_rooms_that_it_uses(house):
    text = rooms.drawing(house, HOUSES[house])
    order = re.findall(r"^ {8}(\w+)", text, re.MULTILINE)
    arrows = re.findall(r"^ {4}(\w+) -+> (\w+)$", text, re.MULTILINE)
    assert len(order) == len(HOUSES[house].keys() - set(rooms.GROUND))
    assert len(arrows) == len(rooms.arrows(house, HOUSES[house]))
    assert all(order.index(here) < order.index(there) for here, there in arrows)


@pytest.fixture
def small_house(tmp_path, monkeypatch):
    """A small package that follows the rules: two rooms above a ground floor."""
    texts = {
        "dynamics/__init__.py": "__all__ = ['ground', 'left', 'right']\n",
        "dynamics/ground/__init__.py": "from .stone import lay\n__all__ = ['lay']\n",
        "dynamics/ground/stone.py": "def lay(): ...\n",
        "dynamics/left/__init__.py": "__all__ = []\n",
        "dynamics/left/work.py": "from ..ground import lay\n",
        "dynamics/right/__init__.py": "__all__ = []\n",
        "nodes/__init__.py": "from ..dynamics.ground import lay\n",
    }
    for name, text in texts.items():
        file = tmp_path / "small" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(rooms, "ROOT", tmp_path)
    monkeypatch.setattr(rooms, "PACKAGE", tmp_path / "small")
    monkeypatch.setattr(rooms, "GROUND", ())
    rows = "".join(f"| {f} | `{r}/` | |\n" for r, f in (("left", 2), ("right", 2), ("ground", 1)))
    guide = f"| floor | `dynamics/` | what it holds |\n|---|---|---|\n{rows}"
    assert list(rooms.offences(guide)) == []
    return tmp_path / "small" / "dynamics", guide


@pytest.mark.parametrize(
    ("name", "text", "offence"),
    [
        ("ground/stone.py", "from ..left import x\n", "left is not below ground"),
        ("left/work.py", "from ..right import x\n", "right is not below left"),
        ("left/work.py", "from .. import right\n", "right is not below left"),
        ("left/work.py", "import small.dynamics.right\n", "right is not below left"),
        ("left/work.py", "from ..ground.stone import lay\n", "not in __all__ of that room"),
        ("left/work.py", "from ..ground import stone\n", "not in __all__ of that room"),
        ("left/work.py", "def f():\n    from ..ground import other\n", "not in __all__"),
        ("../nodes/__init__.py", "from ..dynamics.ground.stone import lay\n", "not in __all__"),
        ("../nodes/__init__.py", "from small.dynamics.ground.stone import lay\n", "not in __all__"),
        ("attic/__init__.py", "", "does not match the folders: attic"),
        ("ground/stone.py", "from .moss import x\n", "import cycle"),
    ],
)
def test_each_offence_is_reported(small_house, name, text, offence):
    dynamics, guide = small_house
    file = dynamics / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    (dynamics / "ground" / "moss.py").write_text("from .stone import lay\n")
    found = list(rooms.offences(guide))
    assert any(offence in line for line in found)
    assert all(Path(name).name in line or "match" in line or "cycle" in line for line in found)


def test_the_script_sees_names_that_exist():
    """Every import that the script reads is an attribute or a module."""
    for found in rooms.all_imports():
        *parents, name = ("multibody_dynamics", *found.path)
        parent = importlib.import_module(".".join(parents))
        assert hasattr(parent, name) or find_spec(".".join((*parents, name))), str(found)


def test_helpers_of_several_tests_are_in_modules_of_their_own():
    """No file in test/ imports from a test, which pytest may not have put on the path."""
    from_a_test = re.compile(r"^ *(?:from|import) (test_\w+)", re.MULTILINE)
    assert from_a_test.findall("def f():\n    from test_house import x\n") == ["test_house"]
    for file in (ROOT / "test").rglob("*.py"):
        found = from_a_test.findall(file.read_text(encoding="utf-8"))
        assert not found, f"{file.name} imports from {found}"


# faces


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_a_face_describes_each_name_in_one_line(room):
    face = faces()[room]
    names = re.findall(r"^ *(\w+) {2,}\S", getdoc(face) or "", re.MULTILINE)
    assert sorted(names) == sorted(face.__all__)


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_a_room_lists_its_public_names_only(room):
    face = faces()[room]
    assert dir(face) == sorted(face.__all__)


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_no_function_shadows_its_module(room):
    face = faces()[room]
    modules = {file.stem for file in Path(face.__file__).parent.glob("*.py")}
    shadows = {
        name for name in face.__all__ if name in modules and not ismodule(getattr(face, name))
    }
    assert not shadows
    assert room not in modules


def test_dynamics_shows_its_rooms_and_names_of_everyday_use():
    shown = dir(dyn)
    assert shown == sorted(dyn.__all__)
    assert HOUSES["dynamics"].keys() <= set(shown)
    assert len(shown) - len(HOUSES["dynamics"]) <= MOST_NAMES
    for name in set(shown) - HOUSES["dynamics"].keys():
        homes = [f for f in faces().values() if getattr(f, name, None) is getattr(dyn, name)]
        assert homes, f"dyn.{name} is in no room's face"
    with pytest.raises(AttributeError, match="no attribute 'no_such_room'"):
        dyn.no_such_room  # noqa: B018
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
    assert shown == {*dyn._ROOMS_LOADED_LATER, *dyn._NAMES_LOADED_LATER}


def test_upper_rooms_are_loaded_on_first_use():
    before, touched = run_python(
        "import sys\nfrom multibody_dynamics import dynamics as dyn\n"
        "inside = lambda n: n.startswith('multibody_dynamics.dynamics.')\n"
        "rooms = lambda: {n.split('.')[2] for n in sys.modules if inside(n)}\n"
        "before = rooms()\ndyn.theory.system_kinematics\ndyn.interpolate\n"
        "print(sorted(before), sorted(rooms() - before), sep='\\n')\n"
    )
    assert set(ast.literal_eval(before)) == {
        "codegen",
        "core",
        "lie",
        "model",
        "recursions",
        "rigid",
    }
    assert set(ast.literal_eval(touched)) == {"theory", "motion"}


def test_importing_dynamics_loads_no_slow_library():
    """scipy.signal, stats, optimize and interpolate take longer than everything else together."""
    loaded = run_python("import sys, multibody_dynamics.dynamics; print(*sys.modules, sep='\\n')")
    slow = {f"scipy.{name}" for name in ("signal", "stats", "optimize", "interpolate", "sparse")}
    assert not (slow | {"matplotlib"}) & set(loaded)


# files


TESTED_BY_A_TABLE = "by_name"  # a folder of control laws, tested by a row in test/law_table.py


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_every_module_has_a_test_of_its_name(room):
    def files(folder: Path, pattern: str) -> set[Path]:
        found = {file.relative_to(folder) for file in folder.rglob(pattern)}
        return {file for file in found if TESTED_BY_A_TABLE not in file.parts}

    modules = files(rooms.PACKAGE / "dynamics" / room, "[!_]*.py")
    tests = files(ROOT / "test" / "dynamics" / room, "test_*.py")
    assert {module.with_name(f"test_{module.name}") for module in modules} == tests


def test_names_of_test_files_are_unique():
    names = [file.name for file in (ROOT / "test").rglob("*.py")]
    assert len(names) == len(set(names))


# size


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    found = function.args
    names = [each.arg for each in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def remarks(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> list[str]:
    """The comment lines directly above a function and its decorators."""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    found: list[str] = []
    for line in map(str.strip, reversed(lines[: first - 1])):
        if not line.startswith("#"):
            break
        found.append(line)
    return found


def oversized(source: str) -> Iterator[str]:
    """The functions that are too long or take too many parameters, without a reason given."""
    lines = source.splitlines()
    for function in functions(ast.parse(source)):
        length = (function.end_lineno or 0) - function.lineno + 1
        width = len(parameters(function))
        for size, most, marker in ((length, LONGEST, "long"), (width, WIDEST, "wide")):
            reasons = [r for r in remarks(function, lines) if re.match(rf"# {marker}: \w", r)]
            if size > most and not reasons:
                yield f"{function.lineno}: {function.name} is {marker} ({size} > {most})"


def test_functions_are_short_or_say_why_not():
    """Larger ones need a comment above them, "# long: reason" or "# wide: reason"."""
    found = [
        f"{file.relative_to(ROOT)}:{text}"
        for file in sorted(rooms.PACKAGE.rglob("*.py"))
        for text in oversized(file.read_text(encoding="utf-8"))
    ]
    assert found == []


WIDE = "def f(a, b, c, d, e, f, g, h, *, i): ...\n"
LONG = "def f():\n" + LONGEST * "    pass\n"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (WIDE, "1: f is wide (9 > 8)"),
        (LONG, "1: f is long (61 > 60)"),
        (f"# long: the wrong reason\n{WIDE}", "2: f is wide (9 > 8)"),
        (f"# wide:\n{WIDE}", "2: f is wide (9 > 8)"),
        (f"# wide: not directly above\n\n{WIDE}", "3: f is wide (9 > 8)"),
        (f"# wide: a contract\n{WIDE}", None),
        (f"# wide: a contract\n# that says more\n@inlined\n{WIDE}", None),
        (f"# long: an algorithm\n{LONG}", None),
        ("class C:\n    def f(self, a, b, c, d, e, f, g, h): ...\n", None),
    ],
)
def test_size_is_measured(source, found):
    assert list(oversized(source)) == ([] if found is None else [found])


def test_main_files_of_nodes_are_short():
    for file in (rooms.PACKAGE / "nodes").glob("*_node.py"):
        count = len(file.read_text(encoding="utf-8").splitlines())
        assert count <= LONGEST_NODE, f"{file.name} has {count} lines"
