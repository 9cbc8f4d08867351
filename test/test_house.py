"""The rooms of the package are those of CONTRIBUTING.md, and imports between them go down only."""

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

GUIDE = rooms.GUIDE.read_text()
HOUSES = rooms.houses(GUIDE)
MOST_ARROWS = 20  # between rooms of dynamics/ above its ground
LONGEST_NODE, LONGEST, WIDEST = 400, 60, 8


def faces() -> dict[str, ModuleType]:
    return {name: getattr(dyn, name) for name in HOUSES["dynamics"]}


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


# walls


def test_the_guide_names_the_houses():
    assert HOUSES.keys() == {"", "dynamics", "nodes", "tools"}
    assert 12 <= len(HOUSES["dynamics"]) <= 16


def test_imports_go_down_and_through_faces():
    assert list(rooms.offences(GUIDE)) == []


def test_few_arrows_between_rooms():
    upper = [pair for pair in rooms.arrows("dynamics") if not set(pair) & set(rooms.GROUND)]
    assert 0 < len(upper) <= MOST_ARROWS


def test_the_drawings_are_those_of_the_code():
    assert rooms.updated(GUIDE) == GUIDE, "run: python scripts/rooms.py"


@pytest.fixture
def small_house(tmp_path, monkeypatch):
    """A package with two wings above a ground floor, to break the rules in."""
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
    guide = f"| floor | `dynamics/` | what |\n|---|---|---|\n{rows}"
    assert list(rooms.offences(guide)) == []
    return tmp_path / "small", guide


@pytest.mark.parametrize(
    ("name", "text", "offence"),
    [
        ("ground/stone.py", "from ..left import x\n", "left is not below ground"),
        ("left/work.py", "from ..right import x\n", "right is not below left"),
        ("left/work.py", "from .. import right\n", "right is not below left"),
        ("left/work.py", "from ..ground.stone import lay\n", "not in __all__ of that room"),
        ("left/work.py", "from ..ground import stone\n", "not in __all__ of that room"),
        ("left/work.py", "def f():\n    from ..ground import other\n", "not in __all__"),
        ("../nodes/__init__.py", "from ..dynamics.ground.stone import lay\n", "not in __all__"),
        ("../nodes/__init__.py", "from small.dynamics.ground.stone import lay\n", "not in __all__"),
        ("attic/__init__.py", "", "rooms and table of CONTRIBUTING.md differ: ['attic']"),
        ("ground/stone.py", "from .moss import x\n", "in a circle"),
    ],
)
def test_what_breaks_the_rules_is_found(small_house, name, text, offence):
    package, guide = small_house
    file = package / "dynamics" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    (package / "dynamics" / "ground" / "moss.py").write_text("from .stone import lay\n")
    found = list(rooms.offences(guide))
    assert found
    assert any(offence in line for line in found)
    assert all(Path(name).name in line or "differ" in line or "circle" in line for line in found)


# faces


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_a_face_has_one_line_for_each_name(room):
    face = faces()[room]
    lines = re.findall(r"^ *(\w+) {2,}\S", getdoc(face) or "", re.MULTILINE)
    assert sorted(lines) == sorted(face.__all__)


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_no_name_shadows_a_module(room):
    face = faces()[room]
    modules = {file.stem for file in Path(face.__file__).parent.glob("*.py")}
    shadows = {
        name for name in face.__all__ if name in modules and not ismodule(getattr(face, name))
    }
    assert not shadows
    assert room not in modules


def test_dynamics_shows_rooms_and_names_of_everyday_use():
    shown = dir(dyn)
    assert shown == sorted(dyn.__all__)
    assert HOUSES["dynamics"].keys() <= set(shown)
    assert len(shown) - len(HOUSES["dynamics"]) <= 52
    for name in set(shown) - HOUSES["dynamics"].keys():
        homes = [f for f in faces().values() if getattr(f, name, None) is getattr(dyn, name)]
        assert homes, f"dyn.{name} is in no room"
    with pytest.raises(AttributeError, match="no attribute 'no_such_room'"):
        dyn.no_such_room  # noqa: B018


def run_python(program: str) -> list[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()


def test_wings_are_loaded_when_they_are_touched():
    before, touched = run_python(
        "import sys\nfrom multibody_dynamics import dynamics as dyn\n"
        "inside = lambda n: n.startswith('multibody_dynamics.dynamics.')\n"
        "rooms = lambda: {n.split('.')[2] for n in sys.modules if inside(n)}\n"
        "before = rooms()\ndyn.theory.system_kinematics\ndyn.interpolate\n"
        "print(sorted(before), sorted(rooms() - before), sep='\\n')\n"
    )
    assert set(ast.literal_eval(before)) == {"core", "lie", "model", "recursions", "rigid"}
    assert set(ast.literal_eval(touched)) == {"theory", "motion"}


def test_the_start_loads_no_slow_library():
    """scipy.signal, stats, optimize and interpolate take longer than all else together."""
    loaded = run_python("import sys, multibody_dynamics.dynamics; print(*sys.modules, sep='\\n')")
    slow = {f"scipy.{name}" for name in ("signal", "stats", "optimize", "interpolate", "sparse")}
    assert not (slow | {"matplotlib"}) & set(loaded)


# files


@pytest.mark.parametrize("room", HOUSES["dynamics"])
def test_every_module_has_a_test_of_its_name(room):
    modules = {file.stem for file in (rooms.PACKAGE / "dynamics" / room).glob("*.py")}
    tests = {file.stem for file in (ROOT / "test" / "dynamics" / room).glob("test_*.py")}
    assert {f"test_{name}" for name in modules - {"__init__"}} == tests


def test_a_test_file_has_a_name_of_its_own():
    names = [file.name for file in (ROOT / "test").rglob("*.py")]
    assert len(names) == len(set(names))


def test_importing_by_hand_is_what_the_scripts_see():
    """The reader of imports knows every module of the package."""
    for file in rooms.PACKAGE.rglob("*.py"):
        for found in rooms.imports(file):
            *parents, name = ("multibody_dynamics", *found.target)
            parent = importlib.import_module(".".join(parents))
            assert hasattr(parent, name) or find_spec(".".join((*parents, name))), str(found)
