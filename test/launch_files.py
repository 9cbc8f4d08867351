"""The launch files, read as text: their arguments, and the executables of setup.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from multibody_dynamics.resources import NAME, share_directory
from multibody_dynamics.tools import reference

FILES = sorted((share_directory() / "launch").glob("*.launch.py"))
HELPER = ast.parse((Path(reference.__file__).parent / "launch_arguments.py").read_text())
SETUP = (Path(__file__).parents[1] / "setup.py").read_text().replace("{name}", NAME)
EXECUTABLES = set(re.findall(r'"(\w+) = [\w.]+:main"', SETUP))


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(), file.name)


def calls(tree: ast.AST, *names: str) -> Iterator[tuple[list[ast.expr], dict[str, ast.expr]]]:
    """Arguments of the calls of these functions, or of methods written with their dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names:
            yield node.args, {keyword.arg: keyword.value for keyword in node.keywords}


def text(node: ast.expr | None) -> str:
    """A string constant, or the constant PACKAGE of the launch files."""
    if isinstance(node, ast.Name) and node.id == "PACKAGE":
        return NAME
    return str(node.value) if isinstance(node, ast.Constant) else ""


def shared_arguments() -> dict[str, dict[str, ast.expr]]:
    """The table SHARED of tools/launch_arguments.py."""
    (table,) = (
        node.value
        for node in HELPER.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SHARED"
    )
    return {
        text(name): dict(zip(map(text, options.keys), options.values, strict=True))
        for name, options in zip(table.keys, table.values, strict=True)
    }


def arguments(tree: ast.Module) -> dict[str, dict[str, ast.expr]]:
    shared = shared_arguments()
    return {
        text(args[0]): shared.get(text(args[0]), {}) | options
        for args, options in calls(tree, "argument")
    }


def accepted(name: str) -> dict[str, dict[str, ast.expr]]:
    """The arguments of one of our launch files and of those that it includes."""
    tree = ast.parse((share_directory() / "launch" / name).read_text())
    included = {text(node) for node in ast.walk(tree)} & {file.name for file in FILES}
    return {k: v for other in included for k, v in accepted(other).items()} | arguments(tree)
