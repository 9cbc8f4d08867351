#!/usr/bin/env python3
"""Draw the rooms of the package and the imports between them into CONTRIBUTING.md.

The tables of CONTRIBUTING.md say which rooms there are and on which floor. This script reads the
imports from the code, reports those that break the rules, and rewrites the drawings; with --check
it writes nothing and fails when a drawing is out of date. The rules:

- a room imports only from rooms on lower floors; rooms of one floor stand side by side;
- what is above a room of dynamics/ uses its face: names that its __init__ has in __all__;
- modules of one room do not import one another in a circle.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "multibody_dynamics"
GUIDE = ROOT / "CONTRIBUTING.md"
WITH_FACES = "dynamics"  # the house whose rooms are entered by their faces alone
GROUND = ("core", "lie", "model")  # everything stands on them, so arrows to them say nothing

Floors = dict[str, int]


class Import(NamedTuple):
    """One imported name: where, and its parts below the package, ("dynamics", "lie", "so3")."""

    file: Path
    line: int
    target: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {'.'.join(self.target)}"


def houses(guide: str) -> dict[str, Floors]:
    """The floor of every room, by house ("" is the package), from the tables of the guide.

    Files that lie in the house itself are the room ".".
    """
    found: dict[str, Floors] = {}
    for title, rows in re.findall(r"^\| floor \| (.+?) \|.*\n\|[-|]+\n((?:\|.*\n)+)", guide, re.M):
        house = title.strip("`/ ").removeprefix(PACKAGE.name).strip("/")
        cells = [row.split("|")[1:3] for row in rows.splitlines()]
        found[house] = {
            name if (name := room.strip(" `").strip("/")).isidentifier() else ".": int(floor)
            for floor, room in cells
        }
    return found


def imports(file: Path) -> Iterator[Import]:
    """Every name that a module imports from this package, at any depth of indentation."""
    package = file.relative_to(PACKAGE.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package[: len(package) - node.level + 1] if node.level else ()
        base += tuple(node.module.split(".")) if node.module else ()
        if base[:1] == (PACKAGE.name,):
            for alias in node.names:
                yield Import(file, node.lineno, (*base[1:], alias.name))


def room_of(house: str, parts: tuple[str, ...]) -> str | None:
    """The room in which a path below the package lies; None outside of the house."""
    if house:
        if parts[:1] != (house,):
            return None
        parts = parts[1:]
    inside = PACKAGE / house / parts[0] if parts else PACKAGE
    return parts[0] if parts and inside.is_dir() else "."


def between_rooms(house: str) -> Iterator[tuple[str, str, Import]]:
    """(room, room that it imports from, import) for every import that crosses a wall."""
    for file in sorted((PACKAGE / house).rglob("*.py")):
        here = room_of(house, file.relative_to(PACKAGE).parts)
        for found in imports(file):
            there = room_of(house, found.target)
            if here is not None and there not in (None, here):
                yield here, str(there), found


def arrows(house: str) -> Counter[tuple[str, str]]:
    """How many names each room imports from each other one."""
    return Counter((here, there) for here, there, _ in between_rooms(house) if here != ".")


def shown(room: str) -> list[str]:
    """What the face of a room of dynamics/, or of dynamics/ itself (""), has in __all__."""
    tree = ast.parse((PACKAGE / WITH_FACES / room / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return []


def is_past_the_face(found: Import) -> bool:
    """Whether a name of dynamics/ is imported from a module that the face does not show."""
    house, *path = found.target
    if house != WITH_FACES or not path:
        return False
    *rooms, name = path
    faces = [shown(""), *(shown(rooms[0]) if rooms else [],)]
    return len(rooms) > 2 or any(
        step not in face for step, face in zip((*rooms, name), faces, strict=False)
    )


def offences(guide: str) -> Iterator[str]:
    """What breaks the rules, a line each."""
    for house, floors in houses(guide).items():
        rooms = {path.parent.name for path in (PACKAGE / house).glob("*/__init__.py")} | (
            {"."} if "." in floors else set()
        )
        if rooms != floors.keys():
            odd = sorted(rooms ^ floors.keys())
            yield f"{house or PACKAGE.name}/: rooms and table of CONTRIBUTING.md differ: {odd}"
            continue
        for here, there, found in between_rooms(house):
            if here in floors and there in floors and floors[there] >= floors[here]:
                yield f"{found}: {there} is not below {here}"
    for file in sorted(PACKAGE.rglob("*.py")):
        own = room_of(WITH_FACES, file.relative_to(PACKAGE).parts)
        for found in imports(file):
            there = room_of(WITH_FACES, found.target)
            if there is not None and (own is None or own != there) and is_past_the_face(found):
                yield f"{found}: not in __all__ of that room"
    for folder in sorted({file.parent for file in PACKAGE.rglob("*.py")}):
        try:
            TopologicalSorter(modules_used(folder)).prepare()
        except CycleError as circle:
            yield f"{folder.relative_to(ROOT)}: imports in a circle: {' -> '.join(circle.args[1])}"


def modules_used(folder: Path) -> dict[str, set[str]]:
    """Which modules of its own folder each module imports."""
    prefix = folder.relative_to(PACKAGE).parts
    modules = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    return {
        module: {
            found.target[len(prefix)]
            for found in imports(folder / f"{module}.py")
            if found.target[: len(prefix)] == prefix and len(found.target) > len(prefix)
        }
        & modules
        for module in modules
    }


def drawing(house: str, floors: Floors) -> str:
    """A Mermaid flow chart: upper rooms on top, one arrow for each pair of rooms."""
    lines = ["```mermaid", "flowchart TB"]
    titles = {room: "*_node.py" if house == "nodes" else "*.py" for room in floors if room == "."}
    for floor in sorted(set(floors.values()), reverse=True):
        rooms = [room for room in floors if floors[room] == floor and room not in GROUND]
        if rooms:
            lines.append(f"    subgraph floor{floor}[ ]")
            lines += [f'        {name(room)}["{titles.get(room, room)}"]' for room in rooms]
            lines.append("    end")
    pairs = sorted(
        {(here, there) for here, there, _ in between_rooms(house)},
        key=lambda pair: (-floors.get(pair[0], 0), pair),
    )
    lines += [
        f"    {name(here)} --> {name(there)}"
        for here, there in pairs
        if here in floors and there in floors and there not in GROUND and here not in GROUND
    ]
    return "\n".join([*lines, "```", ""])


def name(room: str) -> str:
    return "top" if room == "." else f"{room}_room"


def updated(guide: str) -> str:
    """The guide with its drawings made anew."""
    for house, floors in houses(guide).items():
        guide = re.sub(
            rf"(<!-- begin rooms of {house or PACKAGE.name} -->\n).*?(<!-- end -->)",
            lambda match, h=house, f=floors: match[1] + drawing(h, f) + match[2],
            guide,
            flags=re.DOTALL,
        )
    return guide


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or ""), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail if out of date")
    check = parser.parse_args().check
    guide = GUIDE.read_text(encoding="utf-8")
    found = list(offences(guide))
    for offence in found:
        print(offence, file=sys.stderr)
    new = updated(guide)
    if check and new != guide:
        found.append("")
        print(f"{GUIDE.name}: the drawings are out of date", file=sys.stderr)
    elif new != guide:
        GUIDE.write_text(new, encoding="utf-8")
    for house in houses(guide):
        count = arrows(house)
        upper = [pair for pair in count if not set(pair) & set(GROUND)]
        print(f"{house or PACKAGE.name}/: {len(upper)} arrows between rooms, {count.total()} names")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
