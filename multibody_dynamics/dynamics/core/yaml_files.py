# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reader of all YAML files: every failure is a one-line InputError that names the file.

The files are YAML 1.1, as PyYAML reads them, except that

- a key that is given twice is an error; YAML would silently use the last value;
- keys are text, so that a joint may be called 1 or on;
- 1e-4 is a number, as in YAML 1.2; YAML 1.1 requires a decimal point and a sign in the exponent;
- 100:1, a gear ratio on a data sheet, is an error; YAML 1.1 reads it as 60 * 100 + 1;
- dates remain text.
"""

import re
from os import PathLike
from typing import Any

import yaml

from .errors import InputError
from .file_reading import computable, reading
from .inputs import as_path

DIGITS = 300  # of an integer; with more it does not fit into a float64


TEXT = "tag:yaml.org,2002:str"
NOT_TEXT = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "null"))


class _Loader(yaml.SafeLoader):
    """SafeLoader with the exceptions listed in the module's docstring."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - an attribute of the base class
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag in NOT_TEXT:
                key_node.tag = TEXT
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise InputError(f"key {key!r:.60} is given twice ({_line(key_node)})")
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_number(self, node: yaml.ScalarNode) -> Any:
        text = str(node.value)
        if ":" in text:
            raise InputError(
                f"{text:.60} is not a number ({_line(node)}); write a gear ratio of 100:1 as 100"
            )
        if len(text) > DIGITS:
            raise InputError(f"a number of {len(text)} digits ({_line(node)}) is too large")
        if node.tag.endswith("int"):
            whole: int = self.construct_yaml_int(node)
            computable(f"{_line(node)}: ", whole)
            return whole
        return computable(f"{_line(node)}: ", self.construct_yaml_float(node))


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_yaml_number)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def read_yaml(path: str | PathLike[str]) -> Any:
    """The contents of a YAML file with one document; None if it is empty.

    Raises InputError, naming the file, if it cannot be read or parsed.
    """
    documents = read_yaml_documents(path)
    if len(documents) > 1:
        raise InputError(f"{path}: not valid YAML: {len(documents)} documents, expected one")
    return documents[0] if documents else None


def read_yaml_documents(path: str | PathLike[str]) -> list[Any]:
    """The documents of a YAML file, which are separated by ---.

    Raises InputError, naming the file, if it cannot be read or parsed.
    """
    with reading(path, "text in UTF-8"):
        text = as_path(path).read_text(encoding="utf-8")
    return _documents(text, f"{path}: ")


def parse_yaml(text: str) -> Any:
    """The contents of a YAML text. Raises InputError if it cannot be parsed."""
    return next(iter(_documents(text, "")), None)


def _documents(text: str, where: str) -> list[Any]:
    try:
        return list(yaml.load_all(text, _Loader))
    except RecursionError:
        raise InputError(f"{where}not valid YAML: nested too deeply") from None
    except Exception as error:  # PyYAML's own, and any that its constructors raise
        raise InputError(f"{where}not valid YAML: {_reason(error)}") from None


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _reason(error: Exception) -> str:
    """What is wrong, and where, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        what = error.problem or error.context or "cannot be parsed"
        return f"{what} (line {mark.line + 1}, column {mark.column + 1})"
    text = " ".join(str(error).split())
    return f"{text:.200}" if isinstance(error, InputError) else f"bad value {text:.200}"
