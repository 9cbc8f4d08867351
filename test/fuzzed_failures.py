# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inputs that fail in every way, for tests of the command `fuzz`: one by its number."""

from __future__ import annotations

import os
import time

import numpy as np

from multibody_dynamics.tools.fuzzing.judgement import Finding, attempt

GOOD, FOREIGN, CRASH, HANG, MEMORY = range(5)


def fail(kind: str, seed: int, number: int) -> Finding | None:
    def read() -> None:
        if number == FOREIGN:
            raise KeyError(kind)
        if number == CRASH:
            os._exit(9)
        if number == HANG:
            time.sleep(3600.0)
        if number == MEMORY:
            np.ones(2**27)  # 1 GiB

    return attempt(read, 1e9)
