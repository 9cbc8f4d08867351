# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The launch files, run with stand-ins for `launch` and `launch_ros`, which are not on PyPI."""

import ast
import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from multibody_dynamics.resources import NAME, share_directory
from multibody_dynamics.tools import cli

FILES = sorted((share_directory() / "launch").glob("*.launch.py"))
HELPER = ast.parse((Path(cli.__file__).parent / "launch_arguments.py").read_text())
HELPER_NAME = f"{NAME}.tools.launch_arguments"
SETUP = (Path(__file__).parents[1] / "setup.py").read_text().replace("{name}", NAME)
EXECUTABLES = set(re.findall(r'"(\w+) = [\w.]+:main"', SETUP))


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(), file.name)


class StandIn:
    """An instance of any class of launch, which keeps the arguments of its constructor."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.args, self.options = args, options

    def perform(self, context: Mapping[str, str]) -> str:
        if type(self).__name__ == "LaunchConfiguration":
            return context[self.args[0]]
        parts = [x.perform(context) if isinstance(x, StandIn) else x for x in self.args[0]]
        return "/".join(parts)


class FindPackageShare(StandIn):
    def perform(self, context: Mapping[str, str]) -> str:
        assert self.args == (NAME,)
        return str(share_directory())


class StandInModule(ModuleType):
    """A stand-in for a module: has any class that is requested."""

    __path__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = {"FindPackageShare": FindPackageShare}
        return known.get(name) or type(name, (StandIn,), {})


@contextmanager
def stand_ins(file: Path) -> Iterator[None]:
    """Within the block, the modules of launch that a launch file and its helper import exist."""
    names = ["launch", "launch_ros"]
    for node in (*ast.walk(parsed(file)), *ast.walk(HELPER)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("launch"):
            names.append(str(node.module))
    known = {name: sys.modules.pop(name, None) for name in {*names, HELPER_NAME}}
    sys.modules.update({name: StandInModule(name) for name in names})
    try:
        yield
    finally:
        for name, module in known.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def described(file: Path) -> tuple[dict[str, dict[str, Any]], Any]:
    """The declared arguments with their options, and the function that makes the actions."""
    description = runpy.run_path(str(file))["generate_launch_description"]()
    *declared, last = description.args[0]
    return {each.args[0]: each.options for each in declared}, last.options["function"]


def accepted(name: str) -> dict[str, dict[str, Any]]:
    """The arguments of one of our launch files."""
    file = share_directory() / "launch" / name
    with stand_ins(file):
        return described(file)[0]
