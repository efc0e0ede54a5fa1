/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem-compile.so: the pass of LLVM that gives each call of an allocation function a site's id (given.h). It
 * runs behind all others, so that it costs them nothing and copies what is left of inlining. An id is the hash of the
 * source file's name, and of the functions and calls of the path; so it stays where the code is not changed.
 */
#include <config.h>
#undef PIC /* libtool's, and a name in LLVM's headers */
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "calls.h"
#include "given.h"
#include "paths.h"

using namespace llvm;

namespace hybridmem
{

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

/* MemBrain tells apart paths of four functions, with which one of its programs grows to 4.8 times its size. */
static cl::opt<unsigned> context("hybridmem-context", cl::desc("functions of a call path that are told apart"),
                                 cl::init(4));
static cl::opt<unsigned> growth("hybridmem-growth", cl::desc("most growth of the code by copies, in percent"),
                                cl::init(400));
static cl::opt<bool> report("hybridmem-report", cl::desc("print the sites and the growth of each file"));

static cl::opt<bool> at_link("hybridmem-at-link", cl::desc("leave all to the linker, which has the whole program"));

/* What the linker's run of the pass has to know is in the module: these flags, and a function's origin. */
static const char context_flag[] = "hybridmem-context", growth_flag[] = "hybridmem-growth",
                  report_flag[] = "hybridmem-report";

struct Options {
    unsigned context, growth;
    bool is_report;
};

/* The variable is the same in all objects of a program and its libraries: that of the first that has it. A library that
 * is loaded later (dlopen) finds little room for variables of threads whose place is fixed, and needs it for all that
 * it has as soon as one is: there its place is asked for (general dynamic), unless a program is linked of it. */
static GlobalVariable *variable_of(Module &module)
{
    const char *name = TEXT(HM_SITES_GIVEN);
    if (GlobalVariable *found = module.getNamedGlobal(name))
        return found;
    Type *type = Type::getInt64Ty(module.getContext());
    bool is_library = module.getPICLevel() != PICLevel::NotPIC && module.getPIELevel() == PIELevel::Default;
    auto *made =
        new GlobalVariable(module, type, false, GlobalValue::WeakAnyLinkage, ConstantInt::get(type, 0), name, nullptr,
                           is_library ? GlobalValue::GeneralDynamicTLSModel : GlobalValue::InitialExecTLSModel);
    Comdat *comdat = module.getOrInsertComdat(name);
    comdat->setSelectionKind(Comdat::Any);
    made->setComdat(comdat);
    return made;
}

/* ---------------------------------------------------------- ids */

class Marker
{
  public:
    Marker(Module &module, const Paths &with_paths);

    /* Gives ids to all calls that allocate; at the link, to those of functions that were left to it. */
    void mark(bool is_link);
    unsigned n_sites() const
    {
        return sites;
    }

  private:
    void mark(Function &function);
    void mark_call(CallBase &call, uint64_t id);
    void mark_landings(Function &function);
    void clear_at(BasicBlock &block, const Instruction &like);
    void set(Instruction &before, uint64_t id, const Instruction &like);

    Module &module;
    const Paths &paths;
    GlobalVariable *variable;
    DenseSet<const BasicBlock *> cleared; /* blocks that set it to 0 at their beginning */
    unsigned sites = 0;
};

Marker::Marker(Module &of_module, const Paths &with_paths)
    : module(of_module), paths(with_paths), variable(variable_of(of_module))
{
}

/* The store is volatile: LLVM knows of malloc that it reads no variable of the program. */
void Marker::set(Instruction &before, uint64_t id, const Instruction &like)
{
    IRBuilder<> builder(&before);
    builder.SetCurrentDebugLocation(like.getDebugLoc());
    builder.CreateStore(builder.getInt64(id), variable, true);
}

void Marker::clear_at(BasicBlock &block, const Instruction &like)
{
    BasicBlock::iterator place = block.getFirstInsertionPt();
    if (place != block.end() && cleared.insert(&block).second)
        set(*place, 0, like);
}

/* Behind the call it is 0 again, so that no other code's allocation is taken for one of this site. */
void Marker::mark_call(CallBase &call, uint64_t id)
{
    set(call, id, call);
    auto *invoke = dyn_cast<InvokeInst>(&call);
    if (!invoke) {
        set(*call.getNextNode(), 0, call);
        return;
    }
    BasicBlock *normal = invoke->getNormalDest();
    if (!normal->getSinglePredecessor())
        normal = SplitEdge(invoke->getParent(), normal);
    clear_at(*normal, call);
}

/* An exception that has left such a call, here or in a function that was called, ends at the first of these blocks. */
void Marker::mark_landings(Function &function)
{
    for (BasicBlock &block : function)
        if (const Instruction *landing = block.getLandingPadInst())
            clear_at(block, *landing);
}

static bool can_mark(const CallBase &call)
{
    const auto *plain = dyn_cast<CallInst>(&call);
    return plain ? !plain->isMustTailCall() : isa<InvokeInst>(call);
}

void Marker::mark(Function &function)
{
    std::vector<CallBase *> calls;
    for (Instruction &instruction : instructions(function)) {
        auto *call = dyn_cast<CallBase>(&instruction);
        if (call && can_mark(*call) && allocation_of(*call) != Allocation::none)
            calls.push_back(call);
    }
    Path path = paths.of(function);
    StringMap<unsigned> n_calls;
    for (CallBase *call : calls) {
        StringRef name = callee_of(*call)->getName();
        uint64_t id = hash_on(hash_on(path.hash, n_calls[name]++), name);
        uint64_t inner = allocation_of(*call) == Allocation::inner;
        id &= (UINT64_C(1) << HM_SITES_GIVEN_INNER_BIT) - 1;
        id |= static_cast<uint64_t>(path.length) << HM_SITES_GIVEN_LENGTH_BIT | inner << HM_SITES_GIVEN_INNER_BIT;
        mark_call(*call, id);
    }
    mark_landings(function);
    sites += calls.size();
}

void Marker::mark(bool is_link)
{
    for (Function &function : module)
        if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
            (!is_link || function.hasFnAttribute(Paths::origin_attribute)))
            mark(function);
}

/* ---------------------------------------------------------- the pass */

static bool has_allocations(const Module &module)
{
    for (const Function &function : module)
        for (const Instruction &instruction : instructions(function)) {
            const auto *call = dyn_cast<CallBase>(&instruction);
            if (call && allocation_of(*call) != Allocation::none)
                return true;
        }
    return false;
}

/* These lines are no warnings of the compiler, as -Werror would make errors of them. */
static void tell(const Module &module, const Paths &paths, unsigned n_sites, uint64_t n_instructions,
                 const Options &options)
{
    StringRef file = module.getSourceFileName();
    double before = static_cast<double>(paths.n_instructions()), after = static_cast<double>(n_instructions);
    if (options.is_report)
        errs() << "hybridmem: " << file << ": " << n_sites << " sites, " << paths.n_copies()
               << " copies of functions, the code grows by " << format("%.1f", 100 * (after - before) / before)
               << " %\n";
    if (paths.n_left() > 0)
        errs() << "hybridmem: " << file << ": call paths are not told apart at " << paths.n_left()
               << " calls: the code would grow by more than " << options.growth << " % (-fhybridmem-growth=PERCENT)\n";
}

static void give_ids(Module &module, ModuleAnalysisManager &manager, const Options &options, bool is_link)
{
    Paths paths(module, std::min(std::max(options.context, 1U), unsigned{HM_SITES_GIVEN_MOST}), options.growth);
    paths.tell_apart();
    if (paths.n_copies() > 0) /* a function all of whose callers have copies is not needed any more */
        GlobalDCEPass().run(module, manager);
    uint64_t n_instructions = module.getInstructionCount();
    Marker marker(module, paths);
    marker.mark(is_link);
    tell(module, paths, marker.n_sites(), n_instructions, options);
}

static void leave_to_linker(Module &module)
{
    for (Function &function : module)
        if (!function.isDeclaration())
            function.addFnAttr(Paths::origin_attribute, Paths::origin_of(function));
    module.addModuleFlag(Module::Max, context_flag, context);
    module.addModuleFlag(Module::Max, growth_flag, growth);
    module.addModuleFlag(Module::Max, report_flag, report);
    appendToUsed(module, {variable_of(module)}); /* the linker has to see it before the pass runs */
}

struct FilePass : PassInfoMixin<FilePass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &manager)
    {
        if (module.getNamedValue(TEXT(HM_SITES_GIVEN)) || (!at_link && !has_allocations(module)))
            return PreservedAnalyses::all();
        if (at_link)
            leave_to_linker(module);
        else
            give_ids(module, manager, {context, growth, report}, false);
        return PreservedAnalyses::none();
    }

    static bool isRequired()
    {
        return true;
    }
};

static unsigned flag_of(const Module &module, StringRef name)
{
    const auto *value = mdconst::extract_or_null<ConstantInt>(module.getModuleFlag(name));
    return value ? static_cast<unsigned>(value->getZExtValue()) : 0;
}

struct LinkPass : PassInfoMixin<LinkPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &manager)
    {
        if (!module.getModuleFlag(context_flag) || !has_allocations(module))
            return PreservedAnalyses::all();
        give_ids(module, manager,
                 {flag_of(module, context_flag), flag_of(module, growth_flag), flag_of(module, report_flag) != 0},
                 true);
        return PreservedAnalyses::none();
    }

    static bool isRequired()
    {
        return true;
    }
};

static void add_pass(PassBuilder &builder)
{
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &manager, auto &&...) { manager.addPass(FilePass()); });
#if LLVM_VERSION_MAJOR >= 15
    builder.registerFullLinkTimeOptimizationLastEPCallback(
        [](ModulePassManager &manager, auto &&...) { manager.addPass(LinkPass()); });
#endif
}

} // namespace hybridmem

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "hybridmem-sites", PACKAGE_VERSION, hybridmem::add_pass};
}
