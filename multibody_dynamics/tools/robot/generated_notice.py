# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The notice of copyright and licence at the beginning of generated code."""

from collections.abc import Mapping
from pathlib import Path

from ...dynamics.codegen import c_source

NOTICE = ("Copyright 2026 multibody_dynamics developers", "SPDX-License-Identifier: Apache-2.0")


def with_notice(files: Mapping[str, str]) -> dict[str, str]:
    """Files by path, with one notice as the first lines of each file of code.

    Templates have a notice of their own, which the generated head may precede; it is removed.
    """
    return {path: _with_notice(path, text) for path, text in files.items()}


def _with_notice(path: str, text: str) -> str:
    kind = Path(path).suffix
    if kind in (".c", ".h"):
        head = c_source.comment(NOTICE)
    elif kind in (".cpp", ".hpp"):
        head = "".join(f"// {line}\n" for line in NOTICE)
    elif kind in (".py", ".cmake", ".txt"):
        head = "".join(f"# {line}\n" for line in NOTICE)
    else:
        return text
    head += "\n"
    return head + text.replace(head, "", 1)
