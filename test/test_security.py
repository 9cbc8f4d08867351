# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The source is searched: no input of a user is executed, unpickled, or passed to a shell."""

import ast
from pathlib import Path

import pytest
import yaml

from multibody_dynamics.dynamics.core import InputError, yaml_files

ROOT = Path(__file__).parents[1]
FILES = [
    file
    for folder in ("multibody_dynamics", "launch", "scripts", "benchmark", "examples")
    for file in sorted((ROOT / folder).rglob("*.py"))
]
# Calls that execute or unpickle whatever their argument contains, by the end of their name.
FORBIDDEN = {
    "eval", "exec", "os.system", "os.popen", "pickle.load", "pickle.loads", "marshal.loads",
    "shelve.open", "joblib.load", "yaml.load", "yaml.load_all", "yaml.unsafe_load",
    "yaml.full_load",
    "subprocess.getoutput", "subprocess.getstatusoutput",
}  # fmt: skip
# Exceptions, with the reason why their argument is not an input of a user.
ALLOWED = {
    ("multibody_dynamics/dynamics/core/bound_calls.py", "exec"): (
        "a call of a compiled function whose arguments are read from a table; names are our own"
    ),
    ("multibody_dynamics/dynamics/core/compilation.py", "pickle.loads"): (
        "machine code from a folder that only the user can write, with a checksum"
    ),
    ("multibody_dynamics/dynamics/core/result_cache.py", "pickle.loads"): (
        "results of this package from the same folder, with a checksum"
    ),
    ("multibody_dynamics/dynamics/elastic/kinds/__init__.py", "exec"): (
        "a chain of comparisons that is made of the kinds of the package"
    ),
}


def calls(file: Path) -> list[tuple[ast.Call, str]]:
    tree = ast.parse(file.read_text())
    return [(n, ast.unparse(n.func)) for n in ast.walk(tree) if isinstance(n, ast.Call)]


def option(call: ast.Call, name: str) -> str:
    return next((ast.unparse(k.value) for k in call.keywords if k.arg == name), "")


def loader(call: ast.Call, name: str) -> str:
    """The loader that is given to yaml.load and yaml.load_all."""
    if name not in ("yaml.load", "yaml.load_all"):
        return ""
    return option(call, "Loader") or "".join(ast.unparse(arg) for arg in call.args[1:2])


def test_nothing_is_executed_or_unpickled():
    used = set()
    for file in FILES:
        place = str(file.relative_to(ROOT))
        for call, name in calls(file):
            if name in FORBIDDEN and loader(call, name) != "_Loader":
                assert (place, name) in ALLOWED, f"{place}:{call.lineno}: {name}"
                used.add((place, name))
            assert option(call, "shell") in ("", "False"), f"{place}:{call.lineno}: shell"
            assert option(call, "allow_pickle") in ("", "False"), f"{place}:{call.lineno}: pickle"
    assert used == ALLOWED.keys()  # the exceptions are still needed


def test_the_loader_of_yaml_makes_plain_data_only(tmp_path):
    assert issubclass(yaml_files._Loader, yaml.SafeLoader)
    file = tmp_path / "attack.yaml"
    file.write_text(f"!!python/object/apply:os.system ['touch {tmp_path}/touched']")
    with pytest.raises(InputError, match=r"attack\.yaml"):
        yaml_files.read_yaml(file)
    assert not (tmp_path / "touched").exists()


def test_the_search_finds_what_it_forbids(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import subprocess\nsubprocess.run('ls ' + x, shell=True)\neval(y)\n")
    found = calls(file)
    assert [name for _, name in found] == ["subprocess.run", "eval"]
    assert option(found[0][0], "shell") == "True"
