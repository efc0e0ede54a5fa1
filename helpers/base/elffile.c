/* SPDX-License-Identifier: Apache-2.0 */
#include "elffile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int hm_elf_read_at(int fd, void *out, size_t length, uint64_t offset)
{
    if (offset <= INT64_MAX && pread(fd, out, length, (off_t)offset) == (ssize_t)length)
        return 0;
    errno = ENOEXEC;
    return -1;
}

int hm_elf_read_head(int fd, ElfW(Ehdr) * head)
{
    unsigned char wanted = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (hm_elf_read_at(fd, head, sizeof(*head), 0) != 0)
        return -1;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == wanted)
        return 0;
    errno = ENOEXEC;
    return -1;
}

int hm_elf_read(int fd, struct hm_elf *elf)
{
    if (hm_elf_read_head(fd, &elf->head) != 0)
        return -1;
    if (elf->head.e_phentsize != sizeof(elf->header[0])) {
        errno = ENOEXEC;
        return -1;
    }
    elf->n_headers = elf->head.e_phnum < HM_ELF_HEADERS ? elf->head.e_phnum : HM_ELF_HEADERS;
    return hm_elf_read_at(fd, elf->header, elf->n_headers * sizeof(elf->header[0]), elf->head.e_phoff);
}
