/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/bootid.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/path.h"

#define MOST 1024          /* bytes of the text */
#define MOST_KDAMONDS 1024 /* a larger number in the file is not believed */
/* Earlier builds wrote a raw structure. A broker of such a build may have died before an upgrade. */
#define RAW_MAGIC 0x484d4453u

struct state {
    char boot_id[40];
    struct hm_damon_owned owned;
};

struct raw_state {
    uint32_t magic, n, mark, reserved;
    char boot_id[40];
};

static const struct hm_field owned_table[] = {
    HM_FIELD(hm_damon_owned, n, .most = MOST_KDAMONDS), HM_FIELD(hm_damon_owned, mark), {.name = NULL}};
static const struct hm_field table[] = {
    HM_FIELD(state, boot_id), HM_FIELD_GROUP_OF(state, owned, owned_table), {.name = NULL}};
static const struct hm_fields fields = {.title = "damon", .table = table, .most = MOST};

int hm_damon_state_write(const char *path, const struct hm_damon_owned *owned, struct hm_error *error)
{
    struct state state = {.owned = *owned};
    char text[MOST];
    hm_boot_id(state.boot_id, sizeof(state.boot_id));
    ssize_t length = hm_fields_format(&fields, &state, NULL, text, error);
    if (length < 0)
        return -1;
    int fd = unlink(path) == 0 || errno == ENOENT ? hm_file_make(AT_FDCWD, path, text, (size_t)length) : -1;
    if (fd < 0)
        return hm_fail_errno(error, "cannot write %s", path);
    close(fd);
    return 0;
}

static int take_raw(const char *text, size_t length, struct state *state)
{
    struct raw_state raw;
    if (length != sizeof(raw))
        return -1;
    memcpy(&raw, text, sizeof(raw));
    if (raw.magic != RAW_MAGIC || raw.n > MOST_KDAMONDS || !memchr(raw.boot_id, '\0', sizeof(raw.boot_id)))
        return -1;
    state->owned = (struct hm_damon_owned){.n = raw.n, .mark = raw.mark};
    hm_text_copy(state->boot_id, raw.boot_id, sizeof(state->boot_id));
    return 0;
}

int hm_damon_state_read(const char *path, struct hm_damon_owned *owned)
{
    struct state state = {0};
    char text[MOST], boot_id[sizeof(state.boot_id)];
    int fd = hm_path_open(path, NULL);
    ssize_t length = fd < 0 ? -1 : hm_file_read_open(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return -1;
    if (take_raw(text, (size_t)length, &state) != 0 && hm_fields_parse(&fields, text, &state, NULL) != 0)
        return -1;
    if (state.owned.n == 0 || strcmp(state.boot_id, hm_boot_id(boot_id, sizeof(boot_id))) != 0)
        return -1;
    *owned = state.owned;
    return 0;
}
