/* SPDX-License-Identifier: Apache-2.0 */
#include "stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include "base/amount.h"
#include "sites/compile/given.h"
#include "sites/profile/siteid.h"
#include "walk.h"

#define OWN 32        /* most frames of this library and the unwinder before that of the caller */
#define CACHE 4096    /* stacks whose site is known; a power of two */
#define PATIENCE 1000 /* looks at an object or entry that another thread fills in */
/* Does the unwinder take a lock of the loader? From glibc 2.35 on, GCC 12's does not. */
#if defined DLFO_STRUCT_HAS_EH_DBASE && __GNUC__ >= 12
#define WALK_LOCKS false
#else
#define WALK_LOCKS true
#endif

/* ---------------------------------------------------------- fork */

/* In the child of a process with threads, one that is gone may have a lock of the loader: glibc does not free all of
 * these. So the loader is not asked there, and sites are those that the process has met before. */
static atomic_bool has_threads, is_child_of_threads;

static void look_before_fork(void)
{
    int number = errno;
    struct stat threads; /* each is a folder in it, which has two links more */
    has_threads = stat("/proc/self/task", &threads) < 0 || threads.st_nlink != 3;
    errno = number;
}

static void look_in_child(void)
{
    if (has_threads)
        is_child_of_threads = true;
    hm_walk_look_in_child();
}

/* ---------------------------------------------------------- walk */

struct walk {
    struct hm_stack *stack;
    uintptr_t caller;
    unsigned n_own;
    bool is_found;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    uintptr_t address = _Unwind_GetIP(context);
    if (address == walk->caller)
        walk->is_found = true;
    if (!walk->is_found)
        return ++walk->n_own < OWN ? _URC_NO_REASON : _URC_END_OF_STACK;
    if (address == 0)
        return _URC_END_OF_STACK;
    walk->stack->address[walk->stack->n++] = address;
    return walk->stack->n < HM_SITES_DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void hm_stack_unwind(const void *caller, struct hm_stack *stack)
{
    struct walk walk = {stack, (uintptr_t)caller, 0, false};
    stack->n = 0;
    if (!WALK_LOCKS || !is_child_of_threads)
        _Unwind_Backtrace(visit, &walk);
}

void hm_stack_walk(const void *caller, struct hm_stack *stack)
{
    if (!hm_walk(caller, !is_child_of_threads, stack))
        hm_stack_unwind(caller, stack);
    if (stack->n == 0)
        stack->address[stack->n++] = (uintptr_t)caller;
}

/* ---------------------------------------------------------- objects */

/* Where the frames of a stack are. */
struct place {
    const struct hm_stack *stack;
    struct hm_siteid_frame frame[HM_SITES_DEPTH];
};

/* Has the object these `bytes` bytes at `address` in memory that was loaded? */
static bool has_loaded(const struct dl_phdr_info *info, uintptr_t address, size_t bytes)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t offset = address - info->dlpi_addr - header->p_vaddr;
        if (header->p_type == PT_LOAD && offset < header->p_memsz && bytes <= header->p_memsz - offset)
            return true;
    }
    return false;
}

static size_t id_of(const struct dl_phdr_info *info, unsigned char id[HM_BUILDID_MOST])
{
    size_t length = 0;
    for (unsigned i = 0; i < info->dlpi_phnum && length == 0; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t notes = info->dlpi_addr + header->p_vaddr;
        /* tools that change programs leave notes in the file that no segment loads */
        if (header->p_type == PT_NOTE && has_loaded(info, notes, header->p_memsz))
            length = hm_buildid_in_notes((const void *)notes, header->p_memsz, id);
    }
    return length;
}

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    struct place *place = data;
    (void)size;
    for (unsigned i = 0; i < place->stack->n; i++) {
        if (place->frame[i].path || !has_loaded(info, place->stack->address[i], 1))
            continue;
        place->frame[i].path = info->dlpi_name;
        place->frame[i].offset = place->stack->address[i] - info->dlpi_addr;
        place->frame[i].id_length = id_of(info, place->frame[i].id);
    }
    return 0;
}

static bool is_filled(atomic_uint *state)
{
    for (int i = 0; i < PATIENCE; i++)
        if (atomic_load_explicit(state, memory_order_acquire) == HM_SITES_FILLED)
            return true;
    return false;
}

/* The index of an object in the table; HM_SITES_OBJECTS: there is no room. */
static uint32_t find_object(struct hm_sites_table *table, const char *path, const unsigned char *id, size_t id_length)
{
    for (uint32_t i = 0; i < HM_SITES_OBJECTS; i++) {
        struct hm_sites_object *object = &table->object[i];
        unsigned is_free = HM_SITES_FREE;
        if (atomic_load_explicit(&object->state, memory_order_acquire) == HM_SITES_FREE &&
            atomic_compare_exchange_strong(&object->state, &is_free, HM_SITES_BEING_FILLED)) {
            object->id_length = (uint32_t)id_length;
            memcpy(object->id, id, id_length);
            size_t length = strnlen(path, HM_SITES_PATH - 1);
            memcpy(object->path, path, length);
            object->path[length] = '\0';
            atomic_store_explicit(&object->state, HM_SITES_FILLED, memory_order_release);
            return i;
        }
        if (!is_filled(&object->state) || object->id_length != id_length)
            continue;
        if (id_length > 0 ? memcmp(object->id, id, id_length) == 0
                          : strncmp(object->path, path, HM_SITES_PATH - 1) == 0)
            return i;
    }
    return HM_SITES_OBJECTS;
}

/* ---------------------------------------------------------- sites */

static char program[HM_SITES_PATH]; /* this process executes it */

int hm_stack_begin(void)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    return pthread_atfork(look_before_fork, NULL, look_in_child) == 0 ? 0 : -1;
}

/* The loader names the program itself first. */
static int look_first(struct dl_phdr_info *info, size_t size, void *data)
{
    unsigned char id[HM_BUILDID_MOST];
    (void)size;
    hm_buildid_text(id, id_of(info, id), data);
    return 1;
}

void hm_stack_program(char build_id[HM_BUILDID_TEXT])
{
    build_id[0] = '\0';
    dl_iterate_phdr(look_first, build_id);
}

/* Finds the frames of the place's stack. The loader has "" for the path of the program itself. */
static void find_place(struct place *place)
{
    dl_iterate_phdr(look, place);
    for (unsigned i = 0; i < place->stack->n; i++)
        if (place->frame[i].path && !*place->frame[i].path)
            place->frame[i].path = program;
}

static void fill(struct hm_sites_table *table, struct hm_sites_entry *entry, const struct place *place, bool is_given)
{
    entry->is_given = is_given;
    entry->n_frames = place->stack->n;
    for (unsigned i = 0; i < place->stack->n; i++) {
        const char *path = place->frame[i].path;
        struct hm_sites_frame *frame = &entry->frame[i];
        frame->offset = place->frame[i].offset;
        frame->object =
            path ? find_object(table, path, place->frame[i].id, place->frame[i].id_length) : HM_SITES_OBJECTS;
    }
    atomic_store_explicit(&entry->state, HM_SITES_FILLED, memory_order_release);
}

uint64_t hm_stack_id(const struct hm_stack *stack)
{
    struct place place = {.stack = stack};
    if (is_child_of_threads)
        return 0;
    find_place(&place);
    return hm_siteid(place.frame, stack->n);
}

/* The place of an id in the table; `is_new`: it was free until now, and is to be filled in. */
static uint32_t find_id(struct hm_sites_table *table, uint64_t id, bool *is_new)
{
    *is_new = false;
    for (uint32_t i = 0; i < HM_SITES_ENTRIES; i++) {
        uint32_t at = (uint32_t)(id + i) % HM_SITES_ENTRIES;
        uint64_t found = atomic_load_explicit(&table->entry[at].id, memory_order_relaxed);
        if (found == 0 && is_child_of_threads)
            break;
        *is_new = found == 0 && atomic_compare_exchange_strong(&table->entry[at].id, &found, id);
        if (*is_new || found == id)
            return at;
    }
    return HM_SITES_ENTRIES;
}

static uint32_t find_entry(struct hm_sites_table *table, const struct hm_stack *stack)
{
    struct place place = {.stack = stack};
    bool is_new;
    if (is_child_of_threads)
        return HM_SITES_ENTRIES;
    find_place(&place);
    uint32_t at = find_id(table, hm_siteid(place.frame, stack->n), &is_new);
    if (is_new)
        fill(table, &table->entry[at], &place, false);
    return at;
}

uint32_t hm_stack_given_site(struct hm_sites_table *table, uint64_t id, const void *caller)
{
    bool is_new;
    uint32_t at = find_id(table, id, &is_new);
    if (is_new) {
        struct hm_stack stack;
        struct place place = {.stack = &stack};
        hm_stack_walk(caller, &stack);
        stack.n = (unsigned)hm_least(stack.n, hm_most(hm_sites_given_frames(id), 1));
        find_place(&place);
        fill(table, &table->entry[at], &place, true);
    }
    return at;
}

/* Sites by their addresses in this process. An element is the upper bits of the addresses' hash and the site's index +
 * 1, so that it can be read and written at once. */
static _Atomic uint64_t known[CACHE];

void hm_stack_hold(void)
{
    hm_walk_hold();
}

void hm_stack_forget(void)
{
    hm_walk_forget();
    for (unsigned i = 0; i < CACHE; i++)
        atomic_store_explicit(&known[i], 0, memory_order_relaxed);
}

uint64_t hm_stack_hash(const struct hm_stack *stack)
{
    uint64_t hash = stack->n;
    for (unsigned i = 0; i < stack->n; i++)
        hash = hm_siteid_mix(hash, stack->address[i]);
    return hash;
}

uint32_t hm_stack_site(struct hm_sites_table *table, const struct hm_stack *stack)
{
    uint64_t hash = hm_stack_hash(stack), mask = 2 * HM_SITES_ENTRIES - 1;
    _Atomic uint64_t *place = &known[hash >> 14 & (CACHE - 1)];
    uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
    if ((found & mask) != 0 && (found & ~mask) == (hash & ~mask))
        return (uint32_t)(found & mask) - 1;
    uint32_t entry = find_entry(table, stack); /* that there is no room stays true, and is kept, too */
    atomic_store_explicit(place, (hash & ~mask) | (entry + 1), memory_order_relaxed);
    return entry;
}
