# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""scripts/robots.py and scripts/loops.py as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType


def _script(name: str) -> ModuleType:
    path = Path(__file__).parents[1] / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


robots_page, loops_page = _script("robots"), _script("loops")
