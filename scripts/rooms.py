#!/usr/bin/env python3
# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Check the imports between the rooms of the package and draw them in CONTRIBUTING.md.

The tables in CONTRIBUTING.md list the rooms of each house (a folder with rooms) and their floors.
The rules:

- A room imports only from lower floors.
- Code outside a room of dynamics/ imports from its face: the names in `__all__` of its `__init__`.
  Rooms within control/ and identification/ have no separate faces.
- The modules of a folder do not import each other in a cycle.

The script reports imports that break these rules and rewrites the drawings. With --check, it writes
nothing and fails if a drawing is out of date.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "multibody_dynamics"
GUIDE = ROOT / "CONTRIBUTING.md"

FACED = "dynamics"  # the house whose rooms are entered through their faces only
GROUND = ("core", "codegen", "lie", "model")  # open to all rooms of dynamics/, and not drawn
FILES = "."  # the room of the files directly in a house

TABLE = re.compile(r"^\| floor \| `([\w/]+)/` \|.*\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| (\d+) \| `(?:(\w+)/|\*[\w.]+)`", re.MULTILINE)
DRAWING = re.compile(r"(<!-- begin rooms of ([\w/]+) -->\n).*?(<!-- end -->)", re.DOTALL)

Floors = dict[str, int]  # by room, as in the table


class Import(NamedTuple):
    """One imported name, with its path below the package: ("dynamics", "lie", "so3")."""

    file: Path
    line: int
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {'.'.join(self.path)}"


def houses(guide: str) -> dict[str, Floors]:
    """The floors of all rooms by house, "" being the package itself, from the tables."""
    return {
        house.removeprefix(PACKAGE.name): {
            room or FILES: int(floor) for floor, room in ROW.findall(rows)
        }
        for house, rows in TABLE.findall(guide)
    }


def room_of(house: str, path: tuple[str, ...]) -> str | None:
    """The room of a path below the package, or None if it is outside the house."""
    folders = tuple(filter(None, house.split("/")))
    if path[: len(folders)] != folders:
        return None
    path = path[len(folders) :]
    return path[0] if path and (PACKAGE / house / path[0]).is_dir() else FILES


def imports(file: Path) -> tuple[Import, ...]:
    """All names of this package that a module imports, including imports in functions."""
    return _imports(file, file.read_text(encoding="utf-8"))


@cache
def _imports(file: Path, text: str) -> tuple[Import, ...]:
    folder = file.relative_to(PACKAGE.parent).parts[:-1]
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            start = folder[: len(folder) + 1 - node.level] if node.level else ()
            module = (*start, *(node.module.split(".") if node.module else ()))
            names = [(*module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        for package, *path in names:
            if package == PACKAGE.name and path:
                found.append(Import(file, node.lineno, tuple(path)))
    return tuple(found)


def all_imports() -> Iterator[Import]:
    """The imports of all modules of the package."""
    for file in sorted(PACKAGE.rglob("*.py")):
        yield from imports(file)


def crossings(house: str) -> Iterator[tuple[str, str, Import]]:
    """All imports from one room of a house by another: (importing room, imported room, import)."""
    for found in all_imports():
        here = room_of(house, found.file.relative_to(PACKAGE).parts)
        there = room_of(house, found.path)
        if here and there and here != there:
            yield here, there, found


def arrows(house: str, floors: Floors) -> list[tuple[str, str]]:
    """The pairs of rooms to draw, from the upper to the lower one, top floors first."""
    pairs = {(here, there) for here, there, _ in crossings(house)}
    drawn = [pair for pair in pairs if floors.keys() >= set(pair) and not {*pair} & {*GROUND}]
    return sorted(drawn, key=lambda pair: (-floors[pair[0]], pair))


def offences(guide: str) -> Iterator[str]:
    """The violations of the rules, one line each."""
    for house, floors in houses(guide).items():
        rooms = {file.parent.name for file in (PACKAGE / house).glob("*/__init__.py")}
        if difference := rooms ^ (floors.keys() - {FILES}):
            table = f"table of {house or PACKAGE.name}/ in {GUIDE.name}"
            yield f"{table}: does not match the folders: {', '.join(sorted(difference))}"
        for here, there, found in crossings(house):
            if here in floors and there in floors and floors[there] >= floors[here]:
                yield f"{found}: {there} is not below {here}"
    for found in all_imports():
        if passes_a_face(found):
            yield f"{found}: not in __all__ of that room"
    for folder in sorted({file.parent for file in PACKAGE.rglob("*.py")}):
        try:
            TopologicalSorter(imported_modules(folder)).prepare()
        except CycleError as error:
            yield f"{folder.relative_to(ROOT)}: import cycle {' -> '.join(error.args[1])}"


def passes_a_face(found: Import) -> bool:
    """Whether an import from a room of dynamics/ bypasses the face of the room."""
    own, room = room_of(FACED, found.file.relative_to(PACKAGE).parts), room_of(FACED, found.path)
    if room in (None, own):
        return False
    steps = found.path[1:]  # room, name; or room, module, name
    return len(steps) > 3 or any(step not in face(*steps[:k]) for k, step in enumerate(steps[:2]))


def face(*room: str) -> tuple[str, ...]:
    """The `__all__` of a room of dynamics/, or of dynamics/ itself."""
    return _face(PACKAGE.joinpath(FACED, *room, "__init__.py").read_text(encoding="utf-8"))


@cache
def _face(init: str) -> tuple[str, ...]:
    for node in ast.parse(init).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return tuple(ast.literal_eval(node.value))
    return ()


def imported_modules(folder: Path) -> dict[str, set[str]]:
    """The modules of a folder, each with the modules of the same folder that it imports."""
    place = folder.relative_to(PACKAGE).parts
    depth, modules = len(place), {file.stem for file in folder.glob("*.py")} - {"__init__"}
    found: dict[str, set[str]] = {module: set() for module in modules}
    for module, used in found.items():
        for each in imports(folder / f"{module}.py"):
            if each.path[:depth] == place:
                used.update(modules.intersection(each.path[depth : depth + 1]))
    return found


def drawing(house: str, floors: Floors) -> str:
    """A Mermaid flow chart: upper floors on top, arrows to the lower rooms that a room imports.

    Arrows that descend several floors are longer, which keeps the rooms of a floor in one row.
    """
    rooms = [room for room in floors if room not in GROUND]
    levels = sorted({floors[room] for room in rooms}, reverse=True)
    shapes = {FILES: f'files["{"*_node.py" if house == "nodes" else "*.py"}"]'}
    lines = ["```mermaid", "flowchart TB"]
    for level in levels:
        lines.append(f'    subgraph floor{level}[" "]')
        lines += [f"        {shapes.get(room, room)}" for room in rooms if floors[room] == level]
        lines.append("    end")
    for here, there in arrows(house, floors):
        dashes = "-" * (1 + levels.index(floors[there]) - levels.index(floors[here]))
        lines.append(f"    {node_id(here)} {dashes}> {node_id(there)}")
    return "\n".join([*lines, "```", ""])


def node_id(room: str) -> str:
    return "files" if room == FILES else room


def redrawn(guide: str) -> str:
    """The guide with up-to-date drawings."""
    floors = houses(guide)
    return DRAWING.sub(
        lambda found: found[1] + drawing(found[2], floors[found[2]]) + found[3], guide
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only check, rewrite nothing")
    check = parser.parse_args().check
    guide = GUIDE.read_text(encoding="utf-8")
    found, new = list(offences(guide)), redrawn(guide)
    if check and new != guide:
        found.append(f"{GUIDE.name}: a drawing is out of date; run: python scripts/rooms.py")
    elif new != guide:
        GUIDE.write_text(new, encoding="utf-8")
    for line in found:
        print(line, file=sys.stderr)
    for house, floors in houses(guide).items():
        print(f"{house or PACKAGE.name}/: {len(arrows(house, floors))} arrows between rooms")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
