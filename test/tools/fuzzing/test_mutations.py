# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damage: the same for the same seed, different from what it came from, never of the original."""

from __future__ import annotations

import io
import json
from random import Random
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from multibody_dynamics.tools.fuzzing import examples, mutations

TEXTS = {
    mutations.damaged_bytes: examples.table(),
    mutations.damaged_text: examples.table(),
    mutations.damaged_csv: examples.table(),
    mutations.damaged_yaml: examples.POINTS.encode(),
    mutations.damaged_xml: examples.contents("robots", "*.urdf")[0][1],
}


@pytest.mark.parametrize("damage", TEXTS, ids=lambda damage: damage.__name__)
def test_damage_follows_from_the_seed_and_is_damage(damage):
    text = TEXTS[damage]
    made = [damage(Random(seed), text) for seed in range(100)]
    assert made == [damage(Random(seed), text) for seed in range(100)]
    assert len(set(made)) > 80
    assert sum(each != text for each in made) > 80


def test_tables_also_end_early(monkeypatch):
    monkeypatch.setattr(mutations, "damaged_text", lambda random, data: data)
    table = examples.table()
    made = [mutations.damaged_csv(Random(seed), table) for seed in range(100)]
    assert min(len(each.splitlines()) for each in made) < len(table.splitlines()) / 2


def test_trees_and_arrays_are_copied():
    tree = examples.springs()
    before = json.dumps(tree)
    arrays = examples.arrays()
    for seed in range(200):
        mutations.damaged_tree(Random(seed), tree)
        mutations.damaged_arrays(Random(seed), arrays)
    assert json.dumps(tree) == before
    for name, array in examples.arrays().items():
        np.testing.assert_array_equal(arrays[name], array)


def test_the_structure_is_damaged_too_not_only_the_text():
    """Most damaged trees and tables can be parsed, so that what is behind the parser is reached."""

    def parses(read, made) -> bool:
        try:
            read(made)
        except Exception:
            return False
        return True

    def share(damage, text, read) -> float:
        return np.mean([parses(read, damage(Random(seed), text)) for seed in range(200)])

    assert share(mutations.damaged_yaml, TEXTS[mutations.damaged_yaml], yaml.safe_load) > 0.5
    assert share(mutations.damaged_xml, TEXTS[mutations.damaged_xml], ElementTree.fromstring) > 0.4
    arrays = examples.arrays()

    def load(data: bytes) -> None:
        with np.load(io.BytesIO(data)) as archive:
            assert {name: archive[name] for name in archive}

    assert share(mutations.damaged_npz, arrays, load) > 0.4
