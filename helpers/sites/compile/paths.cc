/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "calls.h"

using namespace llvm;

namespace hybridmem
{

/* ---------------------------------------------------------- hash */

/* FNV-1a, with a last mix of its upper bits. */
uint64_t hash_on(uint64_t hash, StringRef text)
{
    for (char letter : text)
        hash = (hash ^ static_cast<unsigned char>(letter)) * UINT64_C(0x100000001b3);
    return hash_on(hash, text.size());
}

uint64_t hash_on(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* ---------------------------------------------------------- the call graph */

/* May this stand in the program once only? A label in assembler code may not stand there twice. */
static bool is_once(const Instruction &instruction)
{
    const auto *call = dyn_cast<CallBase>(&instruction);
    const auto *code = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
    return isa<IndirectBrInst>(instruction) || (call && call->cannotDuplicate()) ||
           (code && code->getAsmString().find(':') != std::string::npos);
}

/* Are all parts of the function copied with it? Where the addresses of its labels (goto *) are in a table, the copy
 * would jump into the function itself; data before its code (clang's sanitizer of functions) says where that code is.
 */
static bool is_whole(const Function &function)
{
    if (function.hasPrefixData() || function.hasPrologueData())
        return false;
    for (const BasicBlock &block : function)
        if (block.hasAddressTaken())
            return false;
    return none_of(instructions(function), is_once);
}

static bool can_copy(const Function &function)
{
    return !function.isDeclaration() && !function.isInterposable() && !function.hasFnAttribute(Attribute::Naked) &&
           !function.hasAvailableExternallyLinkage() && function.getName() != "main" && is_whole(function);
}

static bool has_one_caller(const Function &function)
{
    if (!function.hasLocalLinkage() || !function.hasOneUse())
        return false;
    const auto *call = dyn_cast<CallBase>(function.user_back());
    return call && callee_of(*call) == &function && call->getFunction() != &function;
}

Paths::Paths(Module &of_module, unsigned of_length, unsigned percent) : module(of_module), length(of_length)
{
    for (Function &function : module) {
        if (function.isDeclaration())
            continue;
        originals.push_back(&function);
        if (can_copy(function))
            copyable.insert(&function);
        before += function.getInstructionCount();
    }
    most = before * percent / 100;
    find_distances();
}

/* A search in breadth from the calls that allocate, towards their callers. */
void Paths::find_distances()
{
    std::deque<Function *> reached;
    for (Function *function : originals)
        for (Instruction &instruction : instructions(*function)) {
            const auto *call = dyn_cast<CallBase>(&instruction);
            if (!call || allocation_of(*call) == Allocation::none)
                continue;
            distance[function] = 1;
            reached.push_back(function);
            break;
        }
    for (; !reached.empty(); reached.pop_front()) {
        Function *function = reached.front();
        unsigned next = distance[function] + 1;
        for (const User *user : function->users()) {
            const auto *call = dyn_cast<CallBase>(user);
            if (!call || callee_of(*call) != function)
                continue;
            auto *caller = const_cast<Function *>(call->getFunction());
            if (distance.insert({caller, next}).second)
                reached.push_back(caller);
        }
    }
}

Function *Paths::source_of(Function *function) const
{
    auto found = source.find(function);
    return found == source.end() ? function : found->second;
}

std::string Paths::origin_of(const Function &function)
{
    if (function.hasFnAttribute(origin_attribute))
        return function.getFnAttribute(origin_attribute).getValueAsString().str();
    return function.getParent()->getSourceFileName() + ":" + function.getName().str();
}

Path Paths::of(const Function &function) const
{
    auto found = known.find(&function);
    return found == known.end() ? Path{hash_on(0, origin_of(function)), 1} : found->second;
}

/* ---------------------------------------------------------- copies */

/* Finds the calls in `caller` from which a path of at most `most_length` functions allocates. Those that are of copies
 * call the functions themselves again: `caller` may itself be copied from a function that has copies already. */
void Paths::add_calls(Function &caller, unsigned most_length)
{
    DenseMap<const Function *, unsigned> n_calls;
    for (Instruction &instruction : instructions(caller)) {
        auto *call = dyn_cast<CallBase>(&instruction);
        Function *called = call ? callee_of(*call) : nullptr;
        if (!called)
            continue;
        Function *original = source_of(called);
        if (original != called)
            call->setCalledFunction(original);
        auto found = distance.find(original);
        if (found == distance.end() || call->getFunctionType() != original->getFunctionType() ||
            copyable.count(original) == 0)
            continue;
        unsigned ordinal = n_calls[original]++;
        if (found->second <= most_length)
            waiting.push_back({call, most_length, ordinal});
    }
}

void Paths::give_copy(const Call &work)
{
    Function *original = callee_of(*work.call);
    uint64_t instructions = original->getInstructionCount();
    if (copied + instructions > most) {
        left++;
        return;
    }
    Path caller = of(*work.call->getFunction());
    Path path = {hash_on(hash_on(caller.hash, work.ordinal), origin_of(*original)), caller.length + 1};
    ValueToValueMapTy map;
    Function *copy = CloneFunction(original, map);
    copy->setName(original->getName() + ".hm." + utohexstr(path.hash, true));
    copy->setComdat(nullptr);
    copy->setVisibility(GlobalValue::DefaultVisibility);
    copy->setLinkage(GlobalValue::InternalLinkage);
    source[copy] = original;
    known[copy] = path;
    copies++;
    copied += instructions;
    work.call->setCalledFunction(copy);
    add_calls(*copy, work.length - 1);
}

/* The shorter paths first, so that a limit leaves out the longest. */
void Paths::tell_apart()
{
    DenseSet<const Function *> alone; /* they tell who called already, as long as their callers have no copies */
    for (Function *function : originals) {
        add_calls(*function, length - 1);
        if (has_one_caller(*function))
            alone.insert(function);
    }
    for (; !waiting.empty(); waiting.pop_front()) {
        const Call work = waiting.front();
        if (source.count(work.call->getFunction()) > 0 || alone.count(callee_of(*work.call)) == 0)
            give_copy(work);
    }
}

} // namespace hybridmem
