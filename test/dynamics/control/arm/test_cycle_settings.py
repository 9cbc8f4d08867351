# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the cycle: declared in the order of the design, and within their intervals."""

import numpy as np

from elastic_arms import antagonistic_arm
from generated_controllers import designed
from multibody_dynamics.dynamics.control.arm.cycle_settings import CycleSettings
from multibody_dynamics.dynamics.core import record_fields


def test_a_design_has_all_settings_in_their_shapes():
    design = designed(antagonistic_arm())
    assert tuple(design.parameters) == CycleSettings._fields
    sizes = {"n": 2, "m": 3}
    for each in record_fields.declared_fields(CycleSettings):
        shape = record_fields.shape_of(each.field, sizes)
        assert np.shape(design.parameters[each.name]) == shape, each.name
    settings = CycleSettings(**design.parameters)
    assert record_fields.outside(settings) == ""
    assert record_fields.outside(settings._replace(link_timeout=settings.period)) == "link_timeout"


def test_each_setting_says_what_it_is_and_most_have_an_interval():
    fields = record_fields.declared_fields(CycleSettings)
    free = [each.name for each in fields if not each.field.within]
    assert free == ["follows", "hold_upper", "stops_on_links", "upper", "recovers"]
    for each in fields:
        assert each.field.meaning
        if each.field.rows:
            assert len(each.field.rows) == each.field.shape[0]
