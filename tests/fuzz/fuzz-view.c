/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what `hybridmem top`, which root may run, gets from programs of users: names of UNIX sockets, and views, the
 * messages of migrators (migrator/figures/view.h). The first byte chooses: a text of /proc/net/unix, a message of any
 * bytes, or a valid view with changes. A view that is accepted is shown on no more lines and columns than the screen
 * has, without control characters, and no figure is negative.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cli/top/print.h"
#include "jsonline.h"
#include "migrator/figures/viewclient.h"
#include "patch.h"

#define COLUMNS 40
#define LINES 7 /* fewer are taken for no terminal */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const uint8_t *data, size_t size)
{
    struct hm_view_name names[4] = {0};
    char *text = calloc(1, size + 1);
    if (!text)
        return;
    memcpy(text, data, size);
    size_t count = hm_view_parse_names(text, names, 4);
    if (count != hm_view_parse_names(text, NULL, 0))
        abort();
    for (size_t i = 0; i < count && i < 4; i++)
        if (names[i].job_id == 0 || strspn(names[i].mark, "0123456789abcdef") != HM_VIEW_MARK ||
            names[i].mark[HM_VIEW_MARK] != '\0')
            abort();
    free(text);
}

static void check_screen(const struct hm_view *view)
{
    static char text[(COLUMNS + 1) * LINES + 2];
    const struct hm_screen screen = {.columns = COLUMNS, .lines = LINES};
    unsigned column = 0, lines = 0;
    memset(text, 0, sizeof(text));
    FILE *out = fmemopen(text, sizeof(text), "w");
    if (!out)
        return;
    hm_topprint_screen(out, view, "n1", &screen);
    if (fclose(out) != 0)
        abort();
    for (const char *byte = text; *byte; byte++) {
        lines += *byte == '\n';
        column = *byte == '\n' ? 0 : column + 1;
        if (column > COLUMNS || lines > LINES || (*byte != '\n' && (*byte < 0x20 || *byte > 0x7e)))
            abort();
    }
}

static void check_json(const struct hm_view *view)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    int result = hm_topprint_json(out, view, "n1");
    if (fclose(out) != 0 || result != 0 || text[size - 1] != '\n')
        abort();
    text[size - 1] = '\0';
    json_t *object = json_loads(text, 0, NULL);
    if (!object || has_negative(object) || !is_line(text))
        abort();
    json_decref(object);
    free(text);
}

/* Asks for a view, and answers with this message as the migrator would. */
static void check_answer(const void *message, size_t size)
{
    static struct hm_view view;
    static int end[2] = {-1, -1};
    char ask;
    if (size == 0 || (end[0] < 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0))
        return;
    if (send(end[1], message, size, 0) != (ssize_t)size)
        abort();
    int result = hm_view_ask(end[0], &view, NULL);
    if (recv(end[1], &ask, sizeof(ask), MSG_DONTWAIT) != 1 || (result == 0 && size != sizeof(view)))
        abort();
    if (result == 0) {
        check_screen(&view);
        check_json(&view);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_view view;
    if (size == 0)
        return 0;
    if (data[0] % 4 == 0) {
        check_names(data + 1, size - 1);
    } else if (data[0] % 4 == 1) {
        check_answer(data + 1, size - 1);
    } else {
        view = (struct hm_view){.job_id = 12, .fast_bytes = 1, .slow_bytes = 2, .n_rows = 2};
        hm_progress_init(&view.progress, 0);
        view.row[0] = (struct hm_view_row){.pid = 100, .first = 16, .n_pages = 100, .fast_pages = 100, .reads = 90};
        view.row[1] = (struct hm_view_row){.pid = 101, .first = 16, .n_pages = 8, .fast_pages = 4, .slow_pages = 4};
        patch(&view, sizeof(view), data + 1, size - 1);
        check_answer(&view, sizeof(view));
    }
    return 0;
}
