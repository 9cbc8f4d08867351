# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The file of thresholds: what is written is read, and what does not fit is refused by name."""

from functools import reduce

import numpy as np
import yaml

from multibody_dynamics.dynamics.control import (
    KINDS,
    TERMS,
    CollisionThresholds,
    DetectionSettings,
    load_collision_thresholds,
)
from rejections import assert_rejected

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


def test_files_that_do_not_fit_are_refused_by_name():
    def changed(*keys, **values):
        """Loads a file without the last of the keys, or with other values in its place."""

        def load():
            data = yaml.safe_load(made().to_yaml(TYPES))
            *path, last = keys
            entry = reduce(dict.__getitem__, path, data)
            if values:
                entry[last].update(values)
            else:
                del entry[last]
            load_collision_thresholds(data, NAMES, TYPES)

        return load

    hit, push = ("joints", "turn", "hit"), ("joints", "turn", "push")
    fields = (
        (changed("joints", "slide"), "'slide' is missing; turn, slide"),
        (changed("joints", lift=1), "'lift' is not one; turn, slide"),
        (changed("joints", "slide", unit="N m"), "joint 'slide' unit 'N m' N"),
        (changed(*hit, "speed"), "'turn' hit: 'speed' is missing"),
        (changed(*hit, speed="fast"), "'turn' hit.speed"),
        (changed(*push, constant=0.0), "push.constant 0 positive"),
        (changed(*push, motion=-1.0), "push.motion -1 zero"),
        (changed("settings", high_pass=900.0), "high_pass 900 rad/s below"),
        (changed("settings", source="motor_encoders"), "detected on measured links"),
        (changed("settings", filter_order=7), "filter_order 7 2, 3 or 4"),
        (changed("settings", speed=1.0), "settings: unknown 'speed'"),
        (changed("settings"), "'settings' is missing"),
    )
    assert_rejected(*((call, f"thresholds {words}") for call, words in fields))


def test_coefficients_of_another_shape_are_refused():
    assert_rejected(
        (lambda: CollisionThresholds(NAMES, np.ones((2, 7, 3))), "shape (2, 7, 2)"),
        (lambda: made(margin=0), "margin 0 positive"),
    )
