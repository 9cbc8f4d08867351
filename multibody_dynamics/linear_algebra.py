# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear algebra on one thread.

The matrices of an arm have at most some hundred rows. OpenBLAS divides even these among all
processors, and its threads wait for each other actively: a start of flatness_controller_node that
takes 5 s on one thread took 20 s on two processors, and more than 60 s on busy ones.
"""

import os

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Let this process and its children compute on one thread, unless the environment says
    otherwise. To be called before NumPy is imported."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")
