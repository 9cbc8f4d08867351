# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Texts from templates of Jinja, as files in folders beside the modules that fill them in."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def rendered(template: Path, **values: Any) -> str:
    """The text of a template with these values; in HTML, they are escaped."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template.name).render(values)
