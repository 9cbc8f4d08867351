# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The machine code of a module is compiled once, and kept in memory and on disk."""

import ctypes

import pytest

from multibody_dynamics.dynamics.codegen import machine_code
from multibody_dynamics.dynamics.core import IS_COMPILED, compilation

pytestmark = pytest.mark.skipif(
    not IS_COMPILED, reason="machine code needs Numba, which is optional"
)

TEXT = "define i64 @triple(i64 %x) {{\n  %y = mul i64 %x, {factor}\n  ret i64 %y\n}}\n"


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    monkeypatch.setattr(machine_code, "_engines", {})
    return tmp_path


def result(addresses):
    (address,) = addresses
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(14)


def test_a_module_is_stored(empty_cache, monkeypatch):
    assert machine_code.stored("m", ["triple"]) is None
    assert result(machine_code.compile_module("m", TEXT.format(factor=3), ["triple"])) == 42
    assert [file.name for file in empty_cache.iterdir()] == ["m.o"]
    assert result(machine_code.stored("m", ["triple"])) == 42  # from memory
    memory = machine_code._engines
    monkeypatch.setattr(machine_code, "_engines", {})
    assert result(machine_code.stored("m", ["triple"])) == 42  # from disk
    assert set(memory) == set(machine_code._engines) == {"m"}


@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[:-1], lambda x: x[:-1] + b"?"])
def test_a_damaged_file_counts_as_missing(empty_cache, monkeypatch, damage):
    machine_code.compile_module("m", TEXT.format(factor=3), ["triple"])
    file = empty_cache / "m.o"
    file.write_bytes(damage(file.read_bytes()))
    monkeypatch.setattr(machine_code, "_engines", {})
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert machine_code.stored("m", ["triple"]) is None
    assert result(machine_code.compile_module("m", TEXT.format(factor=2), ["triple"])) == 28
    monkeypatch.setattr(machine_code, "_engines", {})
    assert result(machine_code.stored("m", ["triple"])) == 28


def test_without_a_cache_nothing_is_stored(monkeypatch):
    monkeypatch.setattr(compilation, "_CACHE", None)
    monkeypatch.setattr(machine_code, "_engines", {})
    assert result(machine_code.compile_module("m", TEXT.format(factor=3), ["triple"])) == 42
    assert result(machine_code.stored("m", ["triple"])) == 42


def test_a_full_disk_costs_only_the_cache(empty_cache, monkeypatch):
    monkeypatch.setattr(compilation, "_CACHE", empty_cache / "missing")
    with pytest.warns(RuntimeWarning, match="cannot be cached"):
        found = machine_code.compile_module("m", TEXT.format(factor=3), ["triple"])
    assert result(found) == 42


def test_wrong_text_is_an_error():
    with pytest.raises(RuntimeError):
        machine_code.compile_module("m", "define nonsense", ["triple"])


def test_machine_code_is_available():
    assert machine_code.available()


@pytest.mark.parametrize(
    ("features", "lanes"),
    [
        (("avx512f", "avx2", "sse2"), 8),
        (("avx2", "sse2"), 4),
        (("sse2",), 2),
        (("neon", "sve"), 2),  # 64-bit ARM: LLVM takes the registers of NEON
        ((), 2),
    ],
)
def test_the_processor_determines_the_number_of_lanes(monkeypatch, features, lanes):
    known = dict.fromkeys(features, True)
    monkeypatch.setattr(machine_code.llvm, "get_host_cpu_features", lambda: known)
    assert machine_code.lanes() == lanes
