# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The scripts that write pages and tables of docs/, as modules, each loaded when it is imported:

from page_scripts import loops, reference, robots
"""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).parents[1] / "scripts"


@cache
def __getattr__(name: str) -> ModuleType:
    path = SCRIPTS / f"{name}.py"
    if not path.is_file():
        raise AttributeError(name)
    spec = importlib.util.spec_from_file_location(f"{name}_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
