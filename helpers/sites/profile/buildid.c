/* SPDX-License-Identifier: Apache-2.0 */
#include "buildid.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define ALIGN(n) (((size_t)(n) + 3) & ~(size_t)3)

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
