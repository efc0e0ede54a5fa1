/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls of a module allocate memory. */
#ifndef HM_SITES_CALLS_H
#define HM_SITES_CALLS_H

#include <llvm/IR/InstrTypes.h>

namespace hybridmem
{

enum class Allocation {
    none,
    itself, /* the preload libraries replace the function */
    inner,  /* it calls such a function in its turn */
};

/* Does this call allocate? A function that the module defines itself is none of a library's. */
Allocation allocation_of(const llvm::CallBase &call);

/* The function that is called, where it is called by its name; else nullptr. */
llvm::Function *callee_of(const llvm::CallBase &call);

} // namespace hybridmem

#endif
