# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Panda under its default law, on a plant with what real drives add: the terms of the flat map
remove most of the error that each effect causes, even if their numbers are wrong."""

import pytest

from studies.real_drives import WRONG, cases, errors

UNTIL = 2.0  # s of the motion, with reversals of several joints
CASES = list(cases())[1:]
MOST = (0.1, 0.25, 0.6, 0.2, 0.025, 0.05, 0.25, 0.25, 0.35)  # mrad rms with the terms


@pytest.mark.parametrize(
    ("case", "most"), [*zip(CASES, MOST, strict=True)], ids=[each.title for each in CASES]
)
def test_the_terms_remove_most_of_the_error(case, most):
    without, found = errors(case, None, UNTIL), errors(case, 1.0, UNTIL)
    assert not without.lost
    assert not found.lost
    assert found.rms < 1e-3 * most
    assert found.rms < (0.7 if case.gap else 0.3) * without.rms


@pytest.mark.parametrize("factor", [1.0 - WRONG, 1.0 + WRONG])
def test_wrong_numbers_still_help(factor):
    case = CASES[1]
    wrong = errors(case, factor, UNTIL)
    assert not wrong.lost
    assert wrong.rms < 0.55e-3
