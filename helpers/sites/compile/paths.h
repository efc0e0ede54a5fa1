/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells call paths to allocations apart by copies of functions, as MemBrain does (M. B. Olson and others, "MemBrain:
 * Automated Application Guidance for Hybrid Memory Systems", NAS 2018, figure 3): each call of a function that
 * allocates gets a copy of it, so that what is called tells who called. Calls by pointer, and from other source files,
 * reach the function itself.
 */
#ifndef HM_SITES_PATHS_H
#define HM_SITES_PATHS_H

#include <cstdint>
#include <deque>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <string>
#include <vector>

namespace hybridmem
{

/* A call path whose last function is known: the hash of its functions and calls, and how many functions it has. */
struct Path {
    uint64_t hash;
    unsigned length;
};

class Paths
{
  public:
    /* What was left to the linker has its origin with it, as functions of one name in several files get others there.
     */
    static constexpr const char *origin_attribute = "hybridmem-origin";

    /* The source file and the name of a function. */
    static std::string origin_of(const llvm::Function &function);

    /* Paths of `length` functions are told apart, the innermost of which calls the allocation function. All copies
     * together have at most `most` percent of the module's instructions. */
    Paths(llvm::Module &module, unsigned length, unsigned most);

    /* Makes the copies. The module is changed where n_copies() is not 0. */
    void tell_apart();

    /* Of any function of the module: the path that is known of its calls. */
    Path of(const llvm::Function &function) const;

    unsigned n_copies() const
    {
        return copies;
    }

    /* Calls that got no copy, as there were too many instructions. */
    unsigned n_left() const
    {
        return left;
    }

    /* The instructions of the module, without copies. */
    uint64_t n_instructions() const
    {
        return before;
    }

  private:
    struct Call {
        llvm::CallBase *call;
        unsigned length;  /* of paths that begin with the function that is called */
        unsigned ordinal; /* of the call among those of this function in its caller */
    };

    void find_distances();
    void add_calls(llvm::Function &caller, unsigned length);
    void give_copy(const Call &work);
    llvm::Function *source_of(llvm::Function *function) const;

    llvm::Module &module;
    unsigned length, copies = 0, left = 0;
    uint64_t before = 0, most = 0, copied = 0;
    std::deque<Call> waiting;
    std::vector<llvm::Function *> originals;
    llvm::DenseSet<const llvm::Function *> copyable;
    llvm::DenseMap<const llvm::Function *, unsigned> distance; /* fewest functions of a path from here that allocates */
    llvm::DenseMap<const llvm::Function *, llvm::Function *> source; /* of copies */
    llvm::DenseMap<const llvm::Function *, Path> known;              /* of copies */
};

/* The hash goes on with a text, or a number. The same on each machine. */
uint64_t hash_on(uint64_t hash, llvm::StringRef text);
uint64_t hash_on(uint64_t hash, uint64_t number);

} // namespace hybridmem

#endif
