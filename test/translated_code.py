# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C code for the tests: functions translated, compiled with all warnings, loaded and called."""

import ctypes
import subprocess
from shutil import which

import pytest

from multibody_dynamics.dynamics.codegen import c_translation

COMPILER = which("cc")
FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


def loaded(tmp_path, text, options=()):
    source, library = tmp_path / "code.c", tmp_path / "code.so"
    source.write_text("#include <math.h>\n\n" + text)
    command = [COMPILER, *FLAGS, *options, "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True, timeout=120)
    return ctypes.CDLL(str(library))


def evaluated(function, *values):
    """The result, a double, for floats and integers."""
    function.restype = ctypes.c_double
    return function(*(ctypes.c_double(x) if isinstance(x, float) else x for x in values))


def translated(function, types, tables=None):
    """The text of a translation unit with this function alone, with its prototype in front."""
    module = c_translation.Module()
    prototype = module.add(function.__name__, function, types)
    return f"{prototype};\n{module.text(tables or {})}"


def compiled(tmp_path, function, types, tables=None):
    """A translated function, to be called by `evaluated`."""
    return getattr(loaded(tmp_path, translated(function, types, tables)), function.__name__)
