/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Function.h>

using namespace llvm;

namespace hybridmem
{

static const StringRef itself[] = {
    "malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign",
};

/* Those of libc; operator new and new[], with sizes of 64 and 32 bits; the run-time libraries of LLVM's Fortran
 * compiler. */
static const StringRef inner[] = {
    "reallocarray",
    "strdup",
    "strndup",
    "__strdup",
    "__strndup",
    "_FortranAAllocatableAllocate",
    "_FortranAAllocatableAllocateSource",
    "_FortranAAssign",
    "_FortranAPointerAllocate",
    "_FortranAPointerAllocateSource",
};

/* They have a form for each kind of alignment and error. */
static const StringRef inner_beginning[] = {"_Znwm", "_Znam", "_Znwj", "_Znaj", "f90_alloc", "f90_ptr_alloc"};

Function *callee_of(const CallBase &call)
{
    return dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
}

Allocation allocation_of(const CallBase &call)
{
    const Function *function = callee_of(call);
    if (!function || !function->isDeclaration())
        return Allocation::none;
    StringRef name = function->getName();
    for (StringRef known : itself)
        if (name == known)
            return Allocation::itself;
    for (StringRef known : inner)
        if (name == known)
            return Allocation::inner;
    for (StringRef beginning : inner_beginning)
        if (name.substr(0, beginning.size()) == beginning)
            return Allocation::inner;
    return Allocation::none;
}

} // namespace hybridmem
