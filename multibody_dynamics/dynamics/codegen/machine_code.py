# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code of LLVM IR for this processor, kept in the cache on disk.

Numba brings llvmlite along. Only the code generator of LLVM runs. Its optimiser would find little
in straight-line code, and would take longer than everything else.
"""

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any

from ..core import IS_COMPILED, load_machine_code, store_machine_code

if IS_COMPILED:
    from llvmlite import binding as llvm

LEVEL = 2  # of the code generator's optimisation

_engines: dict[str, Any] = {}  # loaded code stays: a caller may hold the address of a function
_lock = Lock()


@cache
def available() -> bool:
    """Whether machine code can be made: with Numba, and a mathematical library to call."""
    return IS_COMPILED and all(llvm.address_of_symbol(name) for name in ("sin", "cos"))


def lanes() -> int:
    """The number of doubles in a vector register of this processor: 8, 4 or 2; 1 if unknown."""
    if not IS_COMPILED:
        return 1
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx2") else 2


def stored(key: str, names: Sequence[str]) -> tuple[int, ...] | None:
    """Addresses of the functions `names` of the module `key`, from memory or from the cache on
    disk; None if it has not been compiled."""
    with _lock:
        engine = _engines.get(key)
    if engine is None:
        content = load_machine_code(f"{key}.o")
        if content is None:
            return None
        engine = _linked(key, content)
    return tuple(engine.get_function_address(name) for name in names)


def compile_module(key: str, text: str, names: Sequence[str]) -> tuple[int, ...]:
    """Addresses of the functions `names` of a module of LLVM IR, compiled and stored under a key.

    Equal keys must mean equal text; the folder of the cache stands for the statements of this
    library and for the processor."""
    content = compiled_object(text)
    store_machine_code(f"{key}.o", content)
    engine = _linked(key, content)
    return tuple(engine.get_function_address(name) for name in names)


def compiled_object(text: str) -> bytes:
    """The object file of a module of LLVM IR."""
    module = llvm.parse_assembly(text)
    module.verify()
    return bytes(_target_machine().emit_object(module))


def _linked(key: str, content: bytes) -> Any:
    with _lock:
        if key not in _engines:
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
            engine.add_object_file(llvm.ObjectFileRef.from_data(content))
            engine.finalize_object()
            _engines[key] = engine
        return _engines[key]


def _target_machine() -> Any:
    """A new one each time, since an engine takes possession of it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=LEVEL,
        reloc="pic",
    )
