# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Templates: values are filled in, escaped in HTML alone, and none may be missing."""

import pytest
from jinja2 import UndefinedError

from multibody_dynamics.reporting.templates import rendered


@pytest.mark.parametrize(("name", "text"), [("a.html", "x &lt; y\n"), ("a.c", "x < y\n")])
def test_values_are_escaped_in_html_alone(tmp_path, name, text):
    (tmp_path / name).write_text("{% if condition %}\n{{ condition }}\n{% endif %}\n")
    assert rendered(tmp_path / name, condition="x < y") == text
    with pytest.raises(UndefinedError, match="condition"):
        rendered(tmp_path / name)
