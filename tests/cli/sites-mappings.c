/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose mappings are known, for the tests of hybridmem sites: they grow, shrink, move and end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sites-probe.h"
#include "tell.h"

#ifndef MREMAP_DONTUNMAP /* in headers since glibc 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

CALLER(1)
CALLER(3)

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

/* A call that unmaps nothing: there are 4 MiB of both then. */
static void mappings(void)
{
    char *mapped = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || munmap(mapped + MIB, 0) == 0)
        abort();
    caller_3();
}

#define PAGE 4096
#define BEFORE 1000 /* allocations that stay, with which the pages are more than the notes have room for at first */
#define PAGES 3500  /* fewer than mappings may be noted at one time */

static atomic_bool is_cancelled;

/* Nothing here is a place where a thread is cancelled. */
static void *fail_to_remap(void *mapped)
{
    while (!atomic_load(&is_cancelled))
        ;
    for (size_t i = PAGES; i-- > 0;)
        if (mremap((char *)mapped + i * PAGE, PAGE, PTRDIFF_MAX, 0) != MAP_FAILED)
            abort();
    return mapped;
}

/* A thread that is cancelled has mremap fail, each time for another page of a mapping. */
static void cancelled(void)
{
    pthread_t id;
    void *result;
    char *mapped = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < BEFORE; i++)
        sum += (uint64_t)malloc(2 * PAGE);
    pthread_create(&id, NULL, fail_to_remap, mapped);
    pthread_cancel(id);
    atomic_store(&is_cancelled, true);
    pthread_join(id, &result);
    if (result != mapped)
        abort();
}

static const struct command commands[] = {
    {"again", again}, {"remapped", remapped}, {"stays", stays},         {"races", races},
    {"huge", huge},   {"mappings", mappings}, {"cancelled", cancelled}, {NULL},
};

int main(int argc, char **argv)
{
    (void)argc;
    return run_command(commands, argv + 1);
}
