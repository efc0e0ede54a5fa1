/* SPDX-License-Identifier: Apache-2.0 */
#include "buildid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define ALIGN(n) (((size_t)(n) + 3) & ~(size_t)3)
#define MOST_HEADERS 128 /* program headers of a file */
#define MOST_NOTES 16384 /* bytes of a note segment that are looked at */

size_t hm_buildid_in_notes(const void *notes, size_t length, unsigned char id[HM_BUILDID_MOST])
{
    const char *at = notes;
    while (length >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof(note));
        at += sizeof(note);
        length -= sizeof(note);
        if (note.n_namesz > length || ALIGN(note.n_namesz) > length)
            return 0;
        const char *data = at + ALIGN(note.n_namesz);
        size_t left = length - ALIGN(note.n_namesz);
        if (note.n_descsz > left)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
            size_t bytes = note.n_descsz < HM_BUILDID_MOST ? note.n_descsz : HM_BUILDID_MOST;
            memcpy(id, data, bytes);
            return bytes;
        }
        if (ALIGN(note.n_descsz) > left)
            return 0;
        at = data + ALIGN(note.n_descsz);
        length = left - ALIGN(note.n_descsz);
    }
    return 0;
}

void hm_buildid_text(const unsigned char *id, size_t length, char text[HM_BUILDID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = length < HM_BUILDID_MOST ? length : HM_BUILDID_MOST;
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    text[2 * n] = '\0';
}

/* Reads exactly `length` bytes at `offset`. */
static int read_at(int fd, void *out, size_t length, uint64_t offset)
{
    if (offset <= INT64_MAX && pread(fd, out, length, (off_t)offset) == (ssize_t)length)
        return 0;
    errno = ENOEXEC;
    return -1;
}

static void look_at_notes(int fd, const ElfW(Phdr) * header, char text[HM_BUILDID_TEXT])
{
    char notes[MOST_NOTES];
    unsigned char id[HM_BUILDID_MOST] = {0};
    size_t length = header->p_filesz < sizeof(notes) ? header->p_filesz : sizeof(notes);
    if (text[0] || read_at(fd, notes, length, header->p_offset) < 0)
        return;
    hm_buildid_text(id, hm_buildid_in_notes(notes, length, id), text);
}

/* Returns 0, or -1 with errno. */
static int look(int fd, char text[HM_BUILDID_TEXT])
{
    ElfW(Ehdr) elf;
    ElfW(Phdr) header;
    if (read_at(fd, &elf, sizeof(elf), 0) < 0)
        return -1;
    unsigned char wanted = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != wanted ||
        elf.e_phentsize != sizeof(header)) {
        errno = ENOEXEC;
        return -1;
    }
    for (unsigned i = 0; i < elf.e_phnum && i < MOST_HEADERS; i++) {
        if (read_at(fd, &header, sizeof(header), elf.e_phoff + i * sizeof(header)) < 0)
            return -1;
        if (header.p_type == PT_NOTE)
            look_at_notes(fd, &header, text);
    }
    return 0;
}

int hm_buildid_look(const char *path, char text[HM_BUILDID_TEXT], struct hm_error *error)
{
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    int result = look(fd, text), number = errno;
    close(fd);
    if (result == 0)
        return 0;
    return hm_fail(error, number, "%s is no program of this machine", path);
}

int hm_buildid_of_file(const char *path, char text[HM_BUILDID_TEXT], struct hm_error *error)
{
    if (hm_buildid_look(path, text, error) < 0)
        return -1;
    return text[0] ? 0 : hm_fail(error, ENODATA, "%s has no build-id: link it with -Wl,--build-id", path);
}
