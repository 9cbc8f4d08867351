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
    heads = {
        (".c", ".h"): c_source.comment(NOTICE),
        (".cpp", ".hpp"): "".join(f"// {line}\n" for line in NOTICE),
        (".py", ".cmake", ".txt"): "".join(f"# {line}\n" for line in NOTICE),
    }
    of_kind = {kind: f"{head}\n" for kinds, head in heads.items() for kind in kinds}
    found = {}
    for path, text in files.items():
        head = of_kind.get(Path(path).suffix, "")
        found[path] = head + (text.replace(head, "", 1) if head else text)
    return found
