/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which files have ELF headers, and that no header is taken from behind a file's end. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/elffile.h"
#include "unit/lib/rows.h"

#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OTHER_CLASS (sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64)
#define HEADER sizeof(ElfW(Phdr))

/* A file with a head that says so, and program headers of the types 1, 2, ... behind it. */
static int make(const ElfW(Ehdr) * head, size_t head_bytes, unsigned n_headers)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, head, head_bytes), head_bytes);
    for (unsigned i = 0; i < n_headers; i++) {
        const ElfW(Phdr) header = {.p_type = i + 1};
        assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
    }
    return fd;
}

static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned char magic, class;
        size_t head_bytes;
        unsigned entry_bytes, told, there; /* of a program header; headers that the head tells, and that are there */
        uint64_t offset;                   /* of the first one; 0: behind the head */
        int n;                             /* headers that are read; -1: refused */
    } rows[] = {
        {"a program", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 3, 3, 0, 3},
        {"no headers", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 0, 0, 0, 0},
        {"more than are looked at", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 200, 200, 0, HM_ELF_HEADERS},
        {"another class", 0x7f, OTHER_CLASS, sizeof(ElfW(Ehdr)), HEADER, 3, 3, 0, -1},
        {"no ELF", 0x7e, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 3, 3, 0, -1},
        {"half a head", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)) / 2, HEADER, 0, 0, 0, -1},
        {"headers of another size", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER - 1, 3, 3, 0, -1},
        {"too few headers", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 3, 2, 0, -1},
        {"headers behind the end", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 1, 1, 1 << 20, -1},
        {"headers at no offset", 0x7f, OWN_CLASS, sizeof(ElfW(Ehdr)), HEADER, 1, 1, UINTPTR_MAX, -1},
    };
    static struct hm_elf elf;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        ElfW(Ehdr) head = {.e_phentsize = (ElfW(Half))rows[i].entry_bytes,
                           .e_phnum = (ElfW(Half))rows[i].told,
                           .e_phoff = (ElfW(Off))(rows[i].offset ? rows[i].offset : sizeof(head))};
        memcpy(head.e_ident, ELFMAG, SELFMAG);
        head.e_ident[EI_MAG0] = rows[i].magic;
        head.e_ident[EI_CLASS] = rows[i].class;
        int fd = make(&head, rows[i].head_bytes, rows[i].there);
        errno = 0;
        int result = hm_elf_read(fd, &elf);
        if (rows[i].n < 0 ? result != -1 || errno != ENOEXEC : result != 0 || (int)elf.n_headers != rows[i].n)
            fail_msg("%s: %d, %s", rows[i].name, result, strerror(errno));
        for (int n = 0; n < rows[i].n; n++)
            assert_int_equal(elf.header[n].p_type, n + 1);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
