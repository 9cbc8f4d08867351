# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is printed of the cycle: everything that is declared, under its names."""

import inspect
import re

import pytest

from elastic_arms import antagonistic_arm, elastic_panda, mixed_panda, series, two_links
from generated_controllers import designed
from multibody_dynamics.dynamics.control.arm import printed_cycle as printing
from multibody_dynamics.dynamics.control.arm.cycle_settings import CycleSettings
from multibody_dynamics.dynamics.control.records.actuation import Actuation


def printed_of(design):
    settings = CycleSettings(**design.parameters)
    return printing.printed_cycle(design.actuators, settings, design.stream_limits)


@pytest.fixture(scope="module", params=[elastic_panda, mixed_panda, antagonistic_arm])
def printed(request):
    design = designed(request.param())
    return printed_of(design)


def test_every_function_and_record_is_there(printed):
    for file, (_, functions) in printing.FILES.items():
        for name in functions:
            head = rf"^(void|int|double) robot_{name}\("
            assert re.search(head, printed.files[file], re.MULTILINE)
            assert re.search(head, printed.prototypes, re.MULTILINE)
    for name in printing.REFERENCE:
        for file in ("reference.c", "reference.h"):
            assert f" robot_reference_{name}(" in printed.files[file]
    texts = printed.settings + printed.output + printed.records + printed.files["reference.h"]
    for record, name in printing.NAMES.items():
        if isinstance(record, type) and record is not Actuation:
            (text,) = re.findall(rf"typedef struct \{{[^}}]*\}} {name};", texts)
            for field in record._fields:
                assert re.search(rf"\b{field}\b", text)


def test_comments_are_the_docstrings(printed):
    for file, (_, functions) in printing.FILES.items():
        for function in functions.values():
            first = inspect.getdoc(function).splitlines()[0].replace("`", "")
            assert first in printed.files[file]


def test_cases_that_a_robot_does_not_have_vanish():
    plain = printed_of(designed(elastic_panda())).files
    assert "IS_RIGID" not in plain["disturbances.c"] + plain["control.c"]
    mixed = printed_of(designed(mixed_panda())).files
    assert "IS_RIGID" in mixed["disturbances.c"]
    assert "IS_RIGID" in mixed["control.c"]


def test_the_motion_of_the_links_does_not_depend_on_the_number_of_motors():
    """Positions of links have as many limits as links, although limits of motors share the name."""
    motions = set()
    for arm in (antagonistic_arm(), two_links(series(400.0), series(300.0))):
        motions.add(printed_of(designed(arm)).files["reference.c"])
    assert len(motions) == 1
