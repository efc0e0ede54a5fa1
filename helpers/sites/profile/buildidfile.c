/* SPDX-License-Identifier: Apache-2.0 */
/* The build-id of a file. No preload library needs it. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/elffile.h"
#include "buildid.h"

#define MOST_NOTES 16384 /* bytes of a note segment that are looked at */

static void look_at_notes(int fd, const ElfW(Phdr) * header, char text[HM_BUILDID_TEXT])
{
    char notes[MOST_NOTES];
    unsigned char id[HM_BUILDID_MOST] = {0};
    size_t length = header->p_filesz < sizeof(notes) ? header->p_filesz : sizeof(notes);
    if (hm_elf_read_at(fd, notes, length, header->p_offset) == 0)
        hm_buildid_text(id, hm_buildid_in_notes(notes, length, id), text);
}

int hm_buildid_read(int fd, char text[HM_BUILDID_TEXT])
{
    struct hm_elf elf;
    text[0] = '\0';
    if (hm_elf_read(fd, &elf) != 0)
        return -1;
    for (unsigned i = 0; i < elf.n_headers && !text[0]; i++)
        if (elf.header[i].p_type == PT_NOTE)
            look_at_notes(fd, &elf.header[i], text);
    return 0;
}

int hm_buildid_look(const char *path, char text[HM_BUILDID_TEXT], struct hm_error *error)
{
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    int result = hm_buildid_read(fd, text), number = errno;
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
