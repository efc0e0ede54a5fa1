/* SPDX-License-Identifier: Apache-2.0 */
#include "preloadable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elffile.h"

#define MOST_DYNAMIC 1024 /* entries of the dynamic section that are looked at */
#define MOST_SCRIPTS 4    /* whose interpreters are scripts; the kernel follows no more */
#define SHOWN 160         /* bytes of a name in a text */

/* What intercepts malloc itself, and refuses to start, crashes, or takes memory for lost behind another library. */
static const char *const sanitizers[] = {
    "libasan.so",       "libhwasan.so",       "libtsan.so",       "liblsan.so",
    "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.tsan", "libclang_rt.lsan",
};

struct file {
    int fd;
    struct hm_elf elf;
    ElfW(Dyn) dynamic[MOST_DYNAMIC];
    size_t n_dynamic;
};

/* Reads a text that ends within `size` bytes. */
static bool read_text(int fd, char *out, size_t size, uint64_t offset)
{
    ssize_t length = offset <= INT64_MAX ? pread(fd, out, size - 1, (off_t)offset) : -1;
    out[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static const ElfW(Phdr) * find_header(const struct file *file, unsigned type)
{
    for (unsigned i = 0; i < file->elf.n_headers; i++)
        if (file->elf.header[i].p_type == type)
            return &file->elf.header[i];
    return NULL;
}

/* The path of the loader; "": there is none. */
static void read_loader(const struct file *file, char out[PATH_MAX])
{
    const ElfW(Phdr) *header = find_header(file, PT_INTERP);
    size_t size = header && header->p_filesz < PATH_MAX ? header->p_filesz : 0;
    if (size == 0 || !read_text(file->fd, out, size, header->p_offset))
        out[0] = '\0';
}

/* Where in the file is what the program has at this address? UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct file *file, uint64_t address)
{
    for (unsigned i = 0; i < file->elf.n_headers; i++) {
        const ElfW(Phdr) *header = &file->elf.header[i];
        if (header->p_type == PT_LOAD && address >= header->p_vaddr && address - header->p_vaddr < header->p_filesz)
            return header->p_offset + (address - header->p_vaddr);
    }
    return UINT64_MAX;
}

static void read_dynamic(struct file *file)
{
    const ElfW(Phdr) *header = find_header(file, PT_DYNAMIC);
    size_t n = header ? header->p_filesz / sizeof(file->dynamic[0]) : 0;
    file->n_dynamic = n < MOST_DYNAMIC ? n : MOST_DYNAMIC;
    if (n > 0 &&
        hm_elf_read_at(file->fd, file->dynamic, file->n_dynamic * sizeof(file->dynamic[0]), header->p_offset) != 0)
        file->n_dynamic = 0;
}

static bool is_sanitizer(const char *name)
{
    for (size_t i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
        if (strncmp(name, sanitizers[i], strlen(sanitizers[i])) == 0)
            return true;
    return false;
}

/* Does the program itself need the library of a sanitizer? One that is linked into it works. */
static bool find_sanitizer(struct file *file, char name[NAME_MAX])
{
    uint64_t names = UINT64_MAX, offset;
    read_dynamic(file);
    for (size_t i = 0; i < file->n_dynamic; i++)
        if (file->dynamic[i].d_tag == DT_STRTAB)
            names = offset_of(file, file->dynamic[i].d_un.d_ptr);
    for (size_t i = 0; i < file->n_dynamic && names != UINT64_MAX; i++)
        if (file->dynamic[i].d_tag == DT_NEEDED &&
            !__builtin_add_overflow(names, file->dynamic[i].d_un.d_val, &offset) &&
            read_text(file->fd, name, NAME_MAX, offset) && is_sanitizer(name))
            return true;
    return false;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return strcmp(one, other) == 0 ||
           (stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/*
 * The path of this process's own loader, as the kernel has mapped it with the program, whose file may be one that
 * nobody may open. dl_iterate_phdr(3) would wait for a lock of the loader, which a thread of slurmstepd may hold at the
 * moment that it forks a task. Returns NULL where there is none.
 */
static const char *own_loader(void)
{
    const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
    size_t n = header ? getauxval(AT_PHNUM) : 0;
    uintptr_t moved = 0;
    for (size_t i = 0; i < n; i++)
        if (header[i].p_type == PT_PHDR)
            moved = (uintptr_t)header - header[i].p_vaddr;
    for (size_t i = 0; i < n; i++)
        if (header[i].p_type == PT_INTERP)
            return (const char *)(moved + header[i].p_vaddr);
    return NULL;
}

/* The library was linked for the libc of our own loader. Another libc does not have its functions, or an older one not
 * their versions. */
static enum hm_preloadable look(struct file *file, char why[HM_PRELOADABLE_WHY])
{
    char loader[PATH_MAX], name[NAME_MAX];
    const char *own = own_loader();
    read_loader(file, loader);
    if (!loader[0]) {
        snprintf(why, HM_PRELOADABLE_WHY, "is linked statically");
        return HM_PRELOADABLE_IGNORES;
    }
    if (own && !is_same_file(loader, own))
        snprintf(why, HM_PRELOADABLE_WHY, "starts by another loader than hybridmem (%.*s), and so with another libc",
                 SHOWN, loader);
    else if (find_sanitizer(file, name))
        snprintf(why, HM_PRELOADABLE_WHY, "is linked with %.*s, which has to be the first library", SHOWN, name);
    else
        return HM_PRELOADABLE;
    return HM_PRELOADABLE_BREAKS;
}

/* Reads a script's interpreter. False: it is no script. */
static bool read_interpreter(int fd, char out[PATH_MAX])
{
    char line[PATH_MAX];
    if (!read_text(fd, line, sizeof(line), 0) || strncmp(line, "#!", 2) != 0)
        return false;
    const char *start = line + 2 + strspn(line + 2, " \t");
    size_t length = strcspn(start, " \t\n");
    memcpy(out, start, length);
    out[length] = '\0';
    return true;
}

enum hm_preloadable hm_preloadable_open(int fd, char why[HM_PRELOADABLE_WHY])
{
    char interpreter[PATH_MAX];
    enum hm_preloadable answer = HM_PRELOADABLE;
    struct file file = {.fd = fd};
    why[0] = '\0';
    for (int i = 0; i < MOST_SCRIPTS && file.fd >= 0 && read_interpreter(file.fd, interpreter); i++) {
        if (file.fd != fd)
            close(file.fd);
        file.fd = open(interpreter, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (file.fd >= 0 && hm_elf_read(file.fd, &file.elf) == 0)
        answer = look(&file, why);
    if (file.fd >= 0 && file.fd != fd)
        close(file.fd);
    return answer;
}

enum hm_preloadable hm_preloadable(const char *path, char why[HM_PRELOADABLE_WHY])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum hm_preloadable answer = hm_preloadable_open(fd, why);
    if (fd >= 0)
        close(fd);
    return answer;
}

int hm_preloadable_put(const char *library, struct hm_error *error)
{
    const char *others = getenv("LD_PRELOAD");
    char *all = NULL;
    if (asprintf(&all, "%s%s%s", library, others && *others ? ":" : "", others ? others : "") < 0)
        return hm_fail(error, ENOMEM, "out of memory");
    int status = setenv("LD_PRELOAD", all, 1);
    free(all);
    return status == 0 ? 0 : hm_fail(error, ENOMEM, "out of memory");
}
