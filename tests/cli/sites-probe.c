/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose allocations are known, for the tests of hybridmem sites. The first argument chooses what it does. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP /* in headers since glibc 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

#define MIB ((size_t)1 << 20)
#define CALLERS 8

enum told { NOTHING, POLICIES, ADDRESSES };

static volatile uint64_t sum;

__attribute__((noinline)) static void *xmalloc(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        abort();
    memset(memory, 1, bytes);
    return memory;
}

/* Each is a caller of xmalloc of its own, and allocates n + 1 MiB. */
#define CALLER(n)                                                                                                      \
    __attribute__((noinline)) static char *caller_##n(void)                                                            \
    {                                                                                                                  \
        char *memory = xmalloc((n + 1) * MIB);                                                                         \
        sum += (uint64_t)memory[0];                                                                                    \
        return memory;                                                                                                 \
    }
CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
static char *(*const callers[CALLERS])(void) = {caller_0, caller_1, caller_2, caller_3,
                                                caller_4, caller_5, caller_6, caller_7};

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_s(void)
{
    return clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

/* Reads cache lines far from each other; the size is a power of two. */
__attribute__((noinline)) static void use(const char *memory, size_t bytes, unsigned rounds)
{
    size_t at = 0;
    uint64_t found = 0;
    for (unsigned i = 0; i < rounds; i++) {
        found += (uint64_t)memory[at];
        at = (at + 4161) & (bytes - 1);
    }
    sum += found;
}

/* Prints the memory policy of the mapping that has this memory. */
static void tell(const char *name, const void *memory)
{
    char line[4096], policy[64], found[64] = "none";
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    for (unsigned long start; maps && fgets(line, sizeof(line), maps);)
        if (sscanf(line, "%lx %63s", &start, policy) == 2 && start <= (unsigned long)memory)
            memcpy(found, policy, sizeof(found));
    if (maps)
        fclose(maps);
    printf("%s %s\n", name, found);
}

/*
 * Three of four accesses go to caller 1's memory, the fourth to a part of caller 7's. A clock samples time, and how
 * long an access takes depends on the caches, which other programs use, too. Each line of the part is read more often
 * in a round than one of caller 1's, so its accesses should be no slower: about a quarter of the time is theirs.
 */
static void hot(double seconds, enum told told)
{
    char *memory[CALLERS], name[16], *mapped = NULL;
    bool tells = told == POLICIES;
    if (tells)
        mapped = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < CALLERS; i++)
        memory[i] = callers[i]();
    for (int i = 0; i < CALLERS && tells; i++) {
        snprintf(name, sizeof(name), "%d", i + 1);
        tell(name, memory[i]);
    }
    if (tells) {
        tell("9", mapped);
        tell("stack", name);
    }
    if (told == ADDRESSES)
        dprintf(STDOUT_FILENO, "%p %p\n", (void *)memory[1], (void *)memory[7]);
    for (double end = cpu_s() + seconds; cpu_s() < end;) {
        use(memory[1], 2 * MIB, 75000);
        use(memory[7], MIB / 2, 25000);
    }
}

#define SMALL_ROUNDS 400
#define SMALL_IN_ROUND 100

__attribute__((noinline)) static char *hot_caller(void)
{
    return xmalloc(8192);
}

__attribute__((noinline)) static char *cold_caller(void)
{
    return xmalloc(10240);
}

/* Small allocations of two callers, and of two size classes, take turns. Tells of the first, a middle and the last. */
static void small(double seconds, int tells)
{
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        char *hot_site = hot_caller(), *cold_site = cold_caller(), *class_128 = NULL, *class_256 = NULL;
        for (int j = 0; j < SMALL_IN_ROUND; j++) {
            class_128 = xmalloc(100);
            class_256 = xmalloc(200);
        }
        sum += (uint64_t)(hot_site[0] + cold_site[0] + class_128[0] + class_256[0]);
        if (tells && (i == 0 || i == SMALL_ROUNDS / 2 || i == SMALL_ROUNDS - 1)) {
            tell("hot", hot_site);
            tell("cold", cold_site);
            tell("128", class_128);
            tell("256", class_256);
        }
    }
    usleep((useconds_t)(seconds * 1e6));
}

/* Small allocations of two callers take turns, and those of one are used. */
static void neighbours(double seconds)
{
    static char *hot_site[SMALL_ROUNDS], *cold_site[SMALL_ROUNDS];
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        hot_site[i] = hot_caller();
        cold_site[i] = cold_caller();
    }
    for (double end = cpu_s() + seconds; cpu_s() < end;)
        for (int i = 0; i < SMALL_ROUNDS; i++)
            use(hot_site[i], 8192, 1000);
    sum += (uint64_t)cold_site[0][0];
}

/* Small allocations of one size that two sites make in turn. Tells of them when all are there. */
static void twins(void)
{
    static char *first[SMALL_ROUNDS], *second[SMALL_ROUNDS];
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        first[i] = hot_caller();
        second[i] = hot_caller();
    }
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        tell("first", first[i]);
        tell("second", second[i]);
    }
}

#define SLICES 32 /* of large memory */

/* Memory whose slices may be in different tiers: a large allocation, a mapping, and small ones in their order. */
static void slices(void)
{
    char *large = caller_7(), *small_ones[SMALL_ROUNDS];
    char *mapped = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < SMALL_ROUNDS; i++)
        small_ones[i] = hot_caller();
    for (size_t i = 0; i < SLICES; i++) {
        tell("large", large + i * 8 * MIB / SLICES);
        tell("mapped", mapped + (2 * i + 1) * 9 * MIB / (2 * SLICES));
    }
    for (int i = 0; i < SMALL_ROUNDS; i++)
        tell("small", small_ones[i]);
}

/* A mapping that may be divided is made, grows and ends, again and again. Tells of its ends before and after. */
static void remapped(void)
{
    for (int round = 0; round < 3; round++) {
        char *mapped = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t at = 0; at < 9 * MIB; at += 4096)
            mapped[at] = (char)(at / 4096);
        tell("made", mapped);
        tell("made", mapped + 9 * MIB / 2);
        tell("made", mapped + 9 * MIB - 1);
        char *grown = mremap(mapped, 9 * MIB, 18 * MIB, MREMAP_MAYMOVE);
        if (grown == MAP_FAILED)
            abort();
        for (size_t at = 0; at < 9 * MIB; at += 4096)
            if (grown[at] != (char)(at / 4096))
                abort();
        memset(grown, 1, 18 * MIB);
        tell("grown", grown);
        tell("grown", grown + 9 * MIB / 2);
        tell("grown", grown + 18 * MIB - 1);
        munmap(grown, 18 * MIB);
    }
}

/* A mapping grows where it is, step by step, and is moved to a place nearby while its addresses stay its own. Tells of
 * its ends. */
static void stays(void)
{
    char *room = mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *mapped = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(room, 64 * MIB);
    if (mremap(mapped, 8 * MIB, 8 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, room) != room)
        abort();
    for (size_t bytes = 8 * MIB; bytes < 16 * MIB; bytes += MIB)
        if (mremap(room, bytes, bytes + MIB, 0) != room)
            abort();
    memset(room, 1, 16 * MIB);
    if (mremap(room, 16 * MIB, (size_t)1 << 46, 0) != MAP_FAILED) /* there is no room for so much */
        abort();
    char *moved = mremap(room, 16 * MIB, 16 * MIB, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, room + 32 * MIB);
    if (moved != room + 32 * MIB)
        abort();
    for (size_t at = 0; at < 16 * MIB; at += 4096)
        if (moved[at] != 1 || room[at] != 0)
            abort();
    tell("start", moved);
    tell("end", moved + 16 * MIB - 1);
}

#define RACES 300

static atomic_bool has_raced;

__attribute__((noinline)) static char *race_caller(void)
{
    char *mapped = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sum += (uint64_t)mapped[0];
    return mapped;
}

static void *race_on(void *unused)
{
    for (int i = 0; i < RACES; i++) {
        race_caller();
        usleep(50);
    }
    atomic_store(&has_raced, true);
    return unused;
}

/* One thread maps memory, and keeps it, while another's memory is moved, which makes room for it. */
static void races(void)
{
    pthread_t id;
    pthread_create(&id, NULL, race_on, NULL);
    while (!atomic_load(&has_raced)) {
        char *mapped = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(mremap(mapped, MIB, 2 * MIB, MREMAP_MAYMOVE), 2 * MIB);
    }
    pthread_join(id, NULL);
}

/* A mapping of huge pages, of which none need be there, and then another. Tells where they are. */
static void huge(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *mapped = mmap(NULL, 66 * MIB, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);
    char *other = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    tell("start", mapped);
    tell("end", mapped + 66 * MIB - 1);
    tell("other", other);
}

/* One mapping is used when it has got larger, and another when it was moved. */
static void grows(double seconds)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *grown = mmap(NULL, MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *moved = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *place = mmap(NULL, 16 * MIB, PROT_NONE, flags, -1, 0);
    grown = mremap(grown, MIB, 8 * MIB, MREMAP_MAYMOVE);
    moved = mremap(moved, 4 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (grown == MAP_FAILED || moved != place)
        abort();
    memset(grown, 1, 8 * MIB);
    memset(moved, 1, 4 * MIB);
    for (double end = cpu_s() + seconds; cpu_s() < end;) {
        use(grown, 8 * MIB, 50000);
        use(moved, 4 * MIB, 50000);
    }
}

__attribute__((noinline)) static char *late_caller(size_t bytes)
{
    char *memory = xmalloc(bytes);
    sum += (uint64_t)memory[0];
    return memory;
}

/* The child keeps nothing but what it shares, for as long as its parent lives. */
static void share(char *cold_memory, char *hot_memory)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    free(cold_memory);
    free(hot_memory);
    for (;;)
        pause();
}

/* A site of which there is much is used once, and another whose memory a child shares. One that is used all the time
 * comes after them; a power of two. */
static void late(size_t cold_mib, size_t shared_mib, size_t hot_mib, double seconds)
{
    char *cold_memory = xmalloc(cold_mib * MIB), *shared = xmalloc(shared_mib * MIB),
         *hot_memory = late_caller(hot_mib * MIB);
    sum += (uint64_t)(cold_memory[0] + shared[0]);
    if (fork() == 0)
        share(cold_memory, hot_memory);
    printf("hot %p of %d\n", (void *)hot_memory, (int)getpid());
    fflush(stdout);
    for (double end = cpu_s() + seconds; cpu_s() < end;)
        use(hot_memory, hot_mib * MIB, 100000);
}

/* Threads that allocate and free small memory in all ways, while the program forks. */
static void *churn(void *unused)
{
    char *kept[64] = {NULL};
    unsigned number = 1;
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        char **place = &kept[number % 64], *before = *place;
        void *aligned = NULL;
        size_t bytes = (number >> 8) % 12000 + 1, usable = before ? malloc_usable_size(before) : 0;
        number = number * 1103515245 + 12345;
        if (before && (before[0] != before[usable - 1] || before[0] != 1))
            abort();
        if (number >> 20 & 1) {
            *place = realloc(before, bytes);
        } else if (number >> 20 & 2) {
            free(before);
            *place = posix_memalign(&aligned, 256, bytes) == 0 ? aligned : NULL;
            if ((uintptr_t)*place % 256 != 0)
                abort();
        } else {
            free(before);
            *place = calloc(1, bytes);
            for (size_t j = 0; *place && j < bytes; j++)
                if ((*place)[j] != 0)
                    abort();
        }
        if (!*place || (uintptr_t)*place % _Alignof(max_align_t) != 0)
            abort();
        memset(*place, 1, malloc_usable_size(*place));
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static void allocate_in_fork(void)
{
    free(malloc(100));
    free(malloc(8192));
}

static void churns(void)
{
    pthread_t id[4];
    int status;
    pthread_atfork(allocate_in_fork, allocate_in_fork, allocate_in_fork);
    for (int i = 0; i < 4; i++)
        pthread_create(&id[i], NULL, churn, NULL);
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            churn(NULL);
            _exit(0);
        }
        if (wait(&status) < 0 || status != 0)
            abort();
    }
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

static pthread_key_t key;
static _Thread_local int n_ends;

/* Others' data of the thread is gone by now. */
static void allocate_at_end(void *memory)
{
    char *other = realloc(xmalloc(8192), 9000);
    free(memory);
    free(other);
    if (++n_ends < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(key, xmalloc(100));
}

static void *end(void *unused)
{
    (void)unused;
    pthread_setspecific(key, xmalloc(8192));
    return xmalloc(100);
}

/* Threads allocate and free as they end. */
static void ends(void)
{
    void *memory;
    free(xmalloc(8192));
    free(xmalloc(100));
    pthread_key_create(&key, allocate_at_end);
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        pthread_create(&id, NULL, end, NULL);
        pthread_join(id, &memory);
        free(memory);
    }
}

static void *end_before(void *unused)
{
    (void)unused;
    pthread_cancel(pthread_self());
    free(xmalloc(8192));
    pthread_testcancel();
    abort();
}

/* A thread is to end as it allocates: it does so after that. */
static void cancels(void)
{
    pthread_t id;
    pthread_create(&id, NULL, end_before, NULL);
    pthread_join(id, NULL);
    for (int i = 0; i < 100; i++)
        free(xmalloc(8192));
}

/* Addresses are few: more are asked for than there are, and none is used up for ever. */
static void few(void)
{
    const struct rlimit addresses = {128 * MIB, 128 * MIB};
    static void *memory[100000];
    setrlimit(RLIMIT_AS, &addresses);
    for (int round = 0; round < 3; round++) {
        size_t n = 0;
        while (n < 100000 && (memory[n] = malloc(8192)) != NULL)
            n++;
        if (n < 5000 || n == 100000)
            abort();
        while (n > 0)
            free(memory[--n]);
    }
}

/* Ends of allocations: freed, made larger, and left. */
static void lives(void)
{
    for (int i = 0; i < 10; i++)
        free(caller_0());
    char *grown = realloc(caller_1(), 3 * MIB);
    void *aligned = NULL;
    if (!grown || posix_memalign(&aligned, 4096, MIB) != 0 || !aligned_alloc(64, 2 * MIB) || !calloc(3, MIB))
        abort();
    free(aligned);
    char *mapped = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        abort();
    munmap(mapped, 2 * MIB);
    munmap(mapped + 6 * MIB, 2 * MIB);
    munmap(mapped + 2 * MIB, 4 * MIB);
    for (int i = 0; i < 1000; i++)
        if (i % 2 == 0)
            free(malloc(40));
        else
            sum += (uint64_t)(uintptr_t)malloc(100);
}

/* Memory that is freed, unmapped and made larger makes room for more. Tells of what is there in the end. */
static void again(void)
{
    char *grown = NULL, *mapped = MAP_FAILED;
    for (int i = 0; i < 3; i++) {
        free(grown);
        if (mapped != MAP_FAILED)
            munmap(mapped, 9 * MIB);
        mapped = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        grown = realloc(caller_1(), 3 * MIB);
        if (!grown || mapped == MAP_FAILED)
            abort();
    }
    tell("grown", grown);
    tell("mapped", mapped);
}

/* A site with 8 allocations of 1 MiB, which are made twice, and another whose memory comes after them. The loop is the
 * same in all rounds, or the compiler would make two of it, with a site in each. */
static void part(void)
{
    char *memory[8] = {NULL}, name[16];
    for (int i = 0; i < 16; i++) {
        free(memory[i % 8]);
        memory[i % 8] = caller_0();
    }
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "large%d", i);
        tell(name, memory[i]);
    }
    tell("late", caller_1());
}

static void *thread(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++)
        free(caller_0());
    return caller_0();
}

static void threads(void)
{
    pthread_t id[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&id[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

/* The parent's memory is not the child's, too; what the child allocates is. */
static void forks(void)
{
    char *memory = caller_3();
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            free(memory);
            caller_4();
            _exit(0);
        }
        wait(NULL);
    }
}

static volatile sig_atomic_t n_forks;

static void fork_in_handler(int unused)
{
    int status = 0;
    (void)unused;
    if (fork() == 0)
        _exit(5);
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
        abort();
    n_forks++;
}

/* A handler that forks interrupts allocations. */
static void handler(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, fork_in_handler);
    setitimer(ITIMER_REAL, &often, NULL);
    while (n_forks < 100) {
        free(malloc(8192));
        free(malloc(1 << 20));
    }
}

static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_program(void)
{
    pthread_mutex_lock(&program_lock);
}

static void unlock_program(void)
{
    pthread_mutex_unlock(&program_lock);
}

static void *allocate_under_lock(void *is_over)
{
    while (!atomic_load((atomic_bool *)is_over)) {
        lock_program();
        free(malloc(64));
        free(malloc(8192));
        free(malloc(1 << 20));
        unlock_program();
    }
    return NULL;
}

/* Handlers of fork take a lock of the program's, under which another thread allocates. They are registered before the
 * program's first allocation, as those of a library of its could be. */
static void orders(void)
{
    static atomic_bool is_over;
    pthread_t id;
    pthread_atfork(lock_program, unlock_program, unlock_program);
    pthread_create(&id, NULL, allocate_under_lock, &is_over);
    for (int i = 0; i < 200; i++)
        fork_in_handler(0);
    atomic_store(&is_over, true);
    pthread_join(id, NULL);
}

static void fork_in_fork(void)
{
    static bool is_inner;
    if (is_inner)
        return;
    is_inner = true;
    fork_in_handler(0);
    is_inner = false;
}

static pthread_barrier_t barrier;

static int wait_in_loader(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)object;
    (void)size;
    (void)unused;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return 1;
}

static void *hold(void *unused)
{
    dl_iterate_phdr(wait_in_loader, unused);
    return NULL;
}

/* A program forks while a thread of it has the loader's lock, which the child then has for ever. */
static void loader(void)
{
    pthread_t id;
    int status = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&id, NULL, hold, NULL);
    pthread_barrier_wait(&barrier);
    if (fork() == 0) {
        free(caller_0());
        free(xmalloc(8192));
        _exit(5);
    }
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
        abort();
    pthread_barrier_wait(&barrier);
    pthread_join(id, NULL);
}

/* A program forks while it forks, as in a handler of a signal then. Memory that was freed is used again after that. */
static void nests(void)
{
    pthread_atfork(fork_in_fork, NULL, NULL);
    char *memory = xmalloc(8192);
    fork_in_handler(0);
    uintptr_t before = (uintptr_t)memory;
    free(memory);
    if ((uintptr_t)xmalloc(8192) != before)
        abort();
}

/* No file may have a byte, and no write beyond that is forgiven. */
static void limit(void)
{
    const struct rlimit none = {0, 0};
    int status = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    for (int i = 0; i < 5000; i++)
        sum += (uint64_t)(uintptr_t)malloc(8192);
    if (fork() == 0) {
        free(malloc(8192));
        _exit(0);
    }
    if (wait(&status) < 0 || status != 0)
        abort();
}

/* A call that unmaps nothing: there are 4 MiB of both then. */
static void mappings(void)
{
    char *mapped = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || munmap(mapped + MIB, 0) == 0)
        abort();
    caller_3();
}

/* Cuts off the recording, stays for a while, and ends without a note, which would find no table. */
static void cut(void)
{
    char path[512];
    caller_2();
    snprintf(path, sizeof(path), "%s/table", getenv("HYBRIDMEM_SITES"));
    if (fork() == 0) {
        unsetenv("LD_PRELOAD");
        execlp("truncate", "truncate", "-s", "0", path, (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    usleep(100000);
    syscall(SYS_exit_group, 0);
}

/* How many files the recorder's folder has of this process. */
static size_t count_files(const char *folder, const char *prefix)
{
    size_t n = 0;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened)) != NULL;)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (!opened || closedir(opened) != 0)
        abort();
    return n;
}

/* Is the file of this program, which is mapped, removed? */
static bool is_removed(const char *folder, const char *prefix)
{
    char line[1024];
    bool is_gone = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        is_gone |= strstr(line, folder) && strstr(line, prefix) && strstr(line, "(deleted)");
    if (!maps || fclose(maps) != 0)
        abort();
    return is_gone;
}

/* Waits until the recorder has looked: it removes the file of a process that has ended. */
static void await_look(void)
{
    char prefix[32];
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        abort();
    snprintf(prefix, sizeof(prefix), "p%d-", (int)child);
    while (count_files(getenv("HYBRIDMEM_SITES"), prefix) > 0)
        usleep(1000);
}

#define LOOKS 12

/* The memory of one site is gone before that of the other is there, and each is there for LOOKS looks. */
static void phases(void)
{
    char *first = malloc(9 * MIB);
    sum += (uint64_t)(uintptr_t)first;
    for (int i = 0; i < LOOKS; i++)
        await_look();
    free(first);
    char *second = malloc(11 * MIB);
    sum += (uint64_t)(uintptr_t)second;
    for (int i = 0; i < LOOKS; i++)
        await_look();
    free(second);
}

/* Waits for so many looks that what is allocated lives far longer than the time between two of them, also where the
 * machine stalls. */
static void await_many_looks(void)
{
    double start_s = clock_s(CLOCK_MONOTONIC), before_s = start_s, longest_s = 0;
    for (int i = 0; i < 4 * LOOKS || before_s - start_s < 8 * longest_s; i++) {
        await_look();
        double now_s = clock_s(CLOCK_MONOTONIC);
        longest_s = now_s - before_s > longest_s ? now_s - before_s : longest_s;
        before_s = now_s;
    }
}

/* Of a mapping of 8 MiB a quarter is touched, of one of 9 MiB nothing, and of one of 3 MiB all; and one of 5 MiB is
 * shared with a child. */
static void untouched(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *part = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *none = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *whole = mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *shared = mmap(NULL, 5 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++) /* some kernels take a huge zero page for memory */
        if (madvise(i == 0 ? part : none, 8 * MIB, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
            abort();
    memset(part + MIB, 1, 2 * MIB);
    memset(whole, 1, 3 * MIB);
    sum += (uint64_t)none[0] + (uint64_t)shared[0]; /* reads the zero page */
    await_many_looks();
}

/* Executes itself `more` times, each after the recorder has removed the file of the program before. */
static void chain(char *self, int more)
{
    char number[16], prefix[32];
    const char *folder = getenv("HYBRIDMEM_SITES");
    snprintf(prefix, sizeof(prefix), "p%d-", (int)getpid());
    while (count_files(folder, prefix) > 1)
        usleep(1000);
    if (is_removed(folder, prefix))
        _exit(4);
    snprintf(number, sizeof(number), "%d", more - 1);
    if (more > 0)
        execl(self, self, "chain", number, (char *)NULL);
    caller_2();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "hot") == 0)
        hot(argc > 2 ? atof(argv[2]) : 0.5, argc > 3 ? ADDRESSES : NOTHING);
    else if (strcmp(what, "where") == 0)
        hot(0, POLICIES);
    else if (strcmp(what, "part") == 0)
        part();
    else if (strcmp(what, "again") == 0)
        again();
    else if (strcmp(what, "lives") == 0)
        lives();
    else if (strcmp(what, "small") == 0)
        small(argc > 2 ? atof(argv[2]) : 0, argc <= 2);
    else if (strcmp(what, "neighbours") == 0)
        neighbours(1);
    else if (strcmp(what, "twins") == 0)
        twins();
    else if (strcmp(what, "slices") == 0)
        slices();
    else if (strcmp(what, "remapped") == 0)
        remapped();
    else if (strcmp(what, "stays") == 0)
        stays();
    else if (strcmp(what, "races") == 0)
        races();
    else if (strcmp(what, "huge") == 0)
        huge();
    else if (strcmp(what, "grows") == 0)
        grows(0.5);
    else if (strcmp(what, "late") == 0 && argc > 5)
        late((size_t)atoi(argv[2]), (size_t)atoi(argv[3]), (size_t)atoi(argv[4]), atof(argv[5]));
    else if (strcmp(what, "churns") == 0)
        churns();
    else if (strcmp(what, "ends") == 0)
        ends();
    else if (strcmp(what, "cancels") == 0)
        cancels();
    else if (strcmp(what, "nests") == 0)
        nests();
    else if (strcmp(what, "loader") == 0)
        loader();
    else if (strcmp(what, "few") == 0)
        few();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "orders") == 0)
        orders();
    else if (strcmp(what, "forks") == 0)
        forks();
    else if (strcmp(what, "handler") == 0)
        handler();
    else if (strcmp(what, "untouched") == 0)
        untouched();
    else if (strcmp(what, "phases") == 0)
        phases();
    else if (strcmp(what, "limit") == 0)
        limit();
    else if (strcmp(what, "mappings") == 0)
        mappings();
    else if (strcmp(what, "cut") == 0)
        cut();
    else if (strcmp(what, "chain") == 0)
        chain(argv[0], atoi(argv[2]));
    else if (strcmp(what, "exec") == 0)
        execl(argv[0], argv[0], "lives", (char *)NULL);
    else if (strcmp(what, "close") == 0) {
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        lives();
    } else if (strcmp(what, "abort") == 0) {
        caller_2();
        abort();
    }
    return strcmp(what, "status") == 0 ? 7 : 0;
}
