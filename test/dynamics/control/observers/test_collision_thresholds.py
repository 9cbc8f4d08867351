# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The file of thresholds: what is written is read, and what does not fit is refused by name."""

import re

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics.control import (
    KINDS,
    TERMS,
    CollisionThresholds,
    DetectionSettings,
    load_collision_thresholds,
)
from multibody_dynamics.dynamics.core import InputError

NAMES, TYPES = ("turn", "slide"), ("revolute", "prismatic")


def made(**settings) -> CollisionThresholds:
    rows = np.random.default_rng(0).uniform(0.1, 2.0, (len(KINDS), len(TERMS), 2))
    return CollisionThresholds(NAMES, rows, DetectionSettings(**settings), {"robot": "arm"})


def test_what_is_written_is_read_in_the_order_of_the_robot(tmp_path):
    wanted = made(bandwidth=200.0, filter_order=4)
    path = tmp_path / "thresholds.yaml"
    path.write_text(wanted.to_yaml(TYPES))
    found = load_collision_thresholds(path, NAMES, TYPES)
    np.testing.assert_allclose(found.coefficients, wanted.coefficients, rtol=1e-5)
    assert found.settings == wanted.settings
    assert found.learned_from == {"robot": "arm"}
    turned = load_collision_thresholds(path, NAMES[::-1], TYPES[::-1])
    np.testing.assert_array_equal(turned.coefficients, found.coefficients[:, :, ::-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["joints"].pop("slide"), "'slide' is missing; the robot has turn, slide"),
        (lambda d: d["joints"].update(lift=1), "'lift' is not one; the robot has turn, slide"),
        (lambda d: d["joints"]["slide"].update(unit="N m"), "joint 'slide': unit is 'N m': .* N$"),
        (lambda d: d["joints"]["turn"]["hit"].pop("speed"), "'turn': hit: key 'speed' is missing"),
        (lambda d: d["joints"]["turn"]["hit"].update(speed="fast"), "'turn': hit.speed"),
        (
            lambda d: d["joints"]["turn"]["push"].update(constant=0.0),
            "push.constant is 0: must be p",
        ),
        (
            lambda d: d["joints"]["turn"]["push"].update(motion=-1.0),
            "push.motion is -1: must be ze",
        ),
        (lambda d: d["settings"].update(high_pass=900.0), "high_pass is 900 rad/s: must be below"),
        (lambda d: d["settings"].update(source="motor_encoders"), "detected on measured links"),
        (lambda d: d["settings"].update(filter_order=7), "filter_order is 7: must be 2, 3 or 4"),
        (lambda d: d["settings"].update(speed=1.0), "settings: unknown key 'speed'"),
        (lambda d: d.pop("settings"), "key 'settings' is missing"),
    ],
)
def test_files_that_do_not_fit_are_refused_by_name(change, message):
    data = yaml.safe_load(made().to_yaml(TYPES))
    change(data)
    with pytest.raises(InputError, match=message) as error:
        load_collision_thresholds(data, NAMES, TYPES)
    assert re.match("thresholds", str(error.value))


def test_coefficients_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"expected shape \(2, 7, 2\)"):
        CollisionThresholds(NAMES, np.ones((2, 7, 3)))
    with pytest.raises(InputError, match="margin is 0: must be positive"):
        made(margin=0)
