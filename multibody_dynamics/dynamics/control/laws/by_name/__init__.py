# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control laws by name: one file each, with the settings of the law and its design.

Every module of this folder is a law, whose name is that of the file; importing the folder fills
LAWS. `computed_torque` is a short example.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
