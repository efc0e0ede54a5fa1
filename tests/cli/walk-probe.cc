/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates from frames of many kinds, under walk-check.c. Prints a line for each kind: its name, and the counts of
 * walk_counts. Its status is 1 if some walk differs, or was not made in the way that its kind is to be. Arguments: a
 * library that has `via`, built in another way; then two whose `via` have frames of other sizes but the same code, and
 * so the same return address if one is loaded where the other was. `via` calls what it is given, and fills its frame
 * with its other argument. walk-build builds all but this program.
 */
#include <alloca.h>
#include <cstdint>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline))

extern "C" {
extern volatile int walk_alone __attribute__((weak));
void walk_counts(unsigned long count[3]) __attribute__((weak));
void hm_stack_hold() __attribute__((weak));
void hm_stack_forget() __attribute__((weak));
}

static char **argument;
static bool has_failed;

static void check(bool is_right, const char *otherwise)
{
    if (!is_right)
        puts(otherwise);
    has_failed |= !is_right;
}

APART static void allocate()
{
    for (int i = 0; i < 3; i++) {
        void *volatile memory = malloc(64);
        free(memory);
    }
}

APART static void plain()
{
    allocate();
    asm volatile("");
}

APART static int recurse(int depth)
{
    if (depth == 0) {
        allocate();
        return 0;
    }
    volatile int here = depth;
    return recurse(depth - 1) + here;
}

static void recursion()
{
    recurse(3);
    recurse(30);
}

APART static void of_size(size_t bytes)
{
    volatile char array[bytes];
    array[0] = 1;
    volatile char *more = static_cast<char *>(alloca(bytes / 2));
    more[0] = array[0];
    allocate();
    array[bytes - 1] = more[0];
}

static void variable()
{
    for (size_t bytes = 8; bytes < 40000; bytes = 3 * bytes + 1)
        of_size(bytes);
}

APART static void large()
{
    volatile char array[100000];
    array[0] = 1;
    allocate();
    array[99999] = array[0];
}

/* Its frame's end is in no register, but in a word of the frame. */
APART static void aligned_of(size_t bytes)
{
    alignas(64) volatile char array[64];
    volatile char *more = static_cast<char *>(alloca(bytes));
    array[0] = more[0] = 1;
    allocate();
    more[0] = array[0];
}

static void aligned()
{
    aligned_of(100);
}

/* So many values that all registers are in use, also that of the frame pointer where it is no such. */
APART static long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
    long x = a * b, y = c * d, z = e * f, u = g * h, v = a - h, w = b + g;
    allocate();
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ x ^ y ^ z ^ u ^ v ^ w;
}

static void registers()
{
    volatile long value = many(1, 2, 3, 4, 5, 6, 7, 8);
    (void)value;
}

APART static void *last(size_t bytes)
{
    return malloc(bytes); /* a jump at -O2: this frame is not on the stack */
}

APART static void tail()
{
    void *volatile memory = last(64);
    free(memory);
}

static int compare(const void *left, const void *right)
{
    allocate();
    return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

static void callback()
{
    int value[] = {3, 1, 2};
    qsort(value, 3, sizeof(*value), compare);
}

struct ends {
    ~ends()
    {
        allocate();
    }
};

APART static void throws(int depth)
{
    ends at_end;
    if (depth == 0)
        throw depth;
    throws(depth - 1);
}

static void exception()
{
    try {
        throws(3);
    } catch (int) {
        allocate();
    }
}

static void handle(int)
{
    allocate();
}

static void raise_on(int flags)
{
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
}

static void handler()
{
    raise_on(0);
}

static void *map(size_t bytes)
{
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void other_stack()
{
    stack_t stack = {};
    stack.ss_size = 65536;
    stack.ss_sp = map(stack.ss_size);
    sigaltstack(&stack, nullptr);
    raise_on(SA_ONSTACK);
}

static ucontext_t before, fiber;

static void in_fiber()
{
    recursion();
    variable();
}

static void coroutine()
{
    getcontext(&fiber);
    fiber.uc_stack.ss_size = 1 << 20;
    fiber.uc_stack.ss_sp = map(fiber.uc_stack.ss_size);
    fiber.uc_link = &before;
    makecontext(&fiber, in_fiber, 0);
    swapcontext(&before, &fiber);
    munmap(fiber.uc_stack.ss_sp, fiber.uc_stack.ss_size);
}

static void *in_thread(void *)
{
    plain();
    callback();
    return nullptr;
}

static void threads()
{
    pthread_t thread[8];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, static_cast<size_t>(sysconf(_SC_THREAD_STACK_MIN)) + 16384);
    for (pthread_t &each : thread)
        pthread_create(&each, &small, in_thread, nullptr);
    for (pthread_t each : thread)
        pthread_join(each, nullptr);
}

/* Calls allocate by the function of a library. Returns where that function is. */
static void *call_by(const char *path, uintptr_t filling, int (*close)(void *))
{
    void *library = dlopen(path, RTLD_NOW);
    void *function = library ? dlsym(library, "via") : nullptr;
    if (function)
        reinterpret_cast<void (*)(void (*)(), uintptr_t)>(function)(allocate, filling);
    if (library)
        close(library);
    return function;
}

static void other_library()
{
    call_by(argument[1], 1, dlclose);
}

static void load_in_turn(uintptr_t filling, int (*close)(void *))
{
    void *before = nullptr;
    for (int i = 0; i < 4; i++) {
        void *there = call_by(argument[2 + i % 2], filling, close);
        check(there && (!before || before == there), "the libraries are not loaded at the same address");
        before = there;
    }
}

/* By an old rule a frame would be the last one. */
static void unloading()
{
    load_in_turn(0, dlclose);
}

/* As libc unloads objects itself: by its own function. By an old rule there would be a return address not met before.
 */
static void unseen()
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    load_in_turn(1, reinterpret_cast<int (*)(void *)>(dlsym(libc, "dlclose")));
}

static pthread_barrier_t in_dlclose;

static void *unload(void *)
{
    hm_stack_hold();
    pthread_barrier_wait(&in_dlclose);
    pthread_barrier_wait(&in_dlclose);
    hm_stack_forget();
    return nullptr;
}

/* While another thread unloads a library, which nobody ends in the child. */
static void forked()
{
    pthread_t thread;
    int status = 0;
    pthread_barrier_init(&in_dlclose, nullptr, 2);
    pthread_create(&thread, nullptr, unload, nullptr);
    pthread_barrier_wait(&in_dlclose);
    pid_t child = fork();
    if (child == 0) {
        unsigned long count[3];
        walk_counts(count);
        plain();
        walk_counts(count);
        _exit(count[0] == 0 || count[1] != count[0] || count[2] != 0);
    }
    waitpid(child, &status, 0);
    pthread_barrier_wait(&in_dlclose);
    pthread_join(thread, nullptr);
    if (child > 0 && status == 0)
        plain();
}

/* As if the program had written over the frames of its callers; it puts them right again. The value for each word from
 * the frame pointer on stands for a saved frame pointer or a return address. */
APART static void damage_by(uintptr_t value)
{
    auto *frame = static_cast<volatile uintptr_t *>(__builtin_frame_address(0));
    uintptr_t kept[2] = {frame[0], frame[1]};
    for (int i = 0; i < 2; i++) {
        frame[i] = value;
        allocate();
        frame[i] = kept[i];
    }
    frame[0] = frame[1] = value;
    allocate();
    frame[0] = kept[0];
    frame[1] = kept[1];
}

static void damaged()
{
    auto page = reinterpret_cast<uintptr_t>(map(8192));
    auto code = reinterpret_cast<uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
    mprotect(reinterpret_cast<void *>(page + 4096), 4096, PROT_NONE);
    walk_alone = 1;
    const uintptr_t values[] = {uintptr_t(0),
                                uintptr_t(1),
                                uintptr_t(8),
                                page,
                                page + 4092,
                                page + 4096,
                                code,
                                code + 5,
                                reinterpret_cast<uintptr_t>(&page),
                                uintptr_t(-1),
                                uintptr_t(-8),
                                uintptr_t(-16),
                                uintptr_t(1) << 47};
    for (uintptr_t value : values)
        damage_by(value);
    walk_alone = 0;
}

static const struct {
    const char *name;
    void (*run)();
    bool by_unwinder; /* what the rules do not express */
} kinds[] = {
    {"plain", plain, false},
    {"recursion", recursion, false},
    {"variable", variable, false},
    {"large", large, false},
    {"aligned", aligned, false},
    {"registers", registers, false},
    {"tail", tail, false},
    {"callback", callback, false},
    {"exception", exception, false},
    {"handler", handler, true},
    {"other_stack", other_stack, true},
    {"coroutine", coroutine, false},
    {"threads", threads, false},
    {"other_library", other_library, false},
    {"unloading", unloading, false},
    {"unseen", unseen, false},
    {"forked", forked, false},
    {"damaged", damaged, false},
};

int main(int, char **argv)
{
    static char buffer[65536];
    argument = argv;
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    unsigned long count[3];
    for (const auto &kind : kinds)
        for (int i = 0; i < 2; i++) { /* the rules are learnt, then known */
            walk_counts(count);
            kind.run();
            walk_counts(count);
            printf("%s %lu %lu %lu\n", kind.name, count[0], count[1], count[2]);
            check(count[0] > 0 && count[1] == (kind.by_unwinder ? 0 : count[0]), "not in the way that it is to be");
            check(count[2] == 0, "some frames differ");
        }
    return has_failed;
}
