# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How Numba compiles functions that only other compiled functions call.

Numba makes a complete program of every function: wrappers for callers in Python and in C, optimised
and translated to machine code, although only its intermediate code enters the functions that call
it. Here a function marked as `inlined` ends as intermediate code, and is optimised once, as a part
of the function that Python calls. This takes a third of the time of the first start.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering


class _IntermediateCode(JITCodeLibrary):
    """The code of a function and of those that it calls, not optimised, without an address."""

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Link the called functions in, and leave everything else to the caller."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class _Registration(AnalysisPass):
    """Makes the intermediate code known to the callers of the function."""

    _name = "registration_of_intermediate_code"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        lowered, library = state.cr, state.library
        described = lowered.fndesc
        # A key: Numba finds the code of a function by an object of this type, and never calls it.
        key = _dynfunc.make_function(
            described.lookup_module(), described.qualname, "", 0, lowered.env, (library,)
        )
        state.targetctx.insert_user_function(key, described, [library])
        state["cr"] = lowered._replace(cfunc=key)
        return False


def _equal_for_callees() -> None:
    """Numba compiles a function once for each set of flags of its callers. Set the flags that do
    not affect the callees to the same values, so that each callee is compiled only once."""
    seen = ConfigStack().top()
    seen.enable_looplift = seen.enable_pyobject_looplift = False
    seen.no_cpython_wrapper = seen.no_cfunc_wrapper = True


class CompleteCompiler(Compiler):
    """Numba's compiler, for functions that Python calls."""

    def define_pipelines(self) -> Any:
        _equal_for_callees()
        return super().define_pipelines()


class InlinedCompiler(Compiler):
    """Numba's compiler, for functions that only compiled code calls."""

    def define_pipelines(self) -> Any:
        _equal_for_callees()
        state = self.state
        state.library = _IntermediateCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.add_pass_after(_Registration, NativeLowering)
            pipeline.finalize()
        return pipelines
