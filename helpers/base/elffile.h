/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of an ELF file, which may be anybody's. Files of another machine with addresses of our size are read,
 * too: who has to know them looks at their loader.
 */
#ifndef HM_BASE_ELFFILE_H
#define HM_BASE_ELFFILE_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define HM_ELF_HEADERS 128 /* program headers of a file that are looked at */

struct hm_elf {
    ElfW(Ehdr) head;
    unsigned n_headers;
    ElfW(Phdr) header[HM_ELF_HEADERS];
};

/*
 * Read the head of the open file `fd`, which stays the caller's, and whose position does not matter; hm_elf_read also
 * reads its program headers. Return 0, or -1 with errno ENOEXEC: it is no ELF file with addresses of our size, or ends
 * before its headers do. What the headers say of the rest of the file is not checked.
 */
int hm_elf_read_head(int fd, ElfW(Ehdr) * head);
int hm_elf_read(int fd, struct hm_elf *elf);

/* Reads exactly `length` bytes at `offset`. Returns 0, or -1 with errno ENOEXEC: the file does not have them. */
int hm_elf_read_at(int fd, void *out, size_t length, uint64_t offset);

#endif
