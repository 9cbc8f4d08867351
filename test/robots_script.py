# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""scripts/robots.py as a module."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "robots.py"
spec = importlib.util.spec_from_file_location("robots_page", SCRIPT)
robots_page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(robots_page)
