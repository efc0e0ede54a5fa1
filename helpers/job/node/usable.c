/* SPDX-License-Identifier: Apache-2.0 */
#include "usable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/rundir.h"
#include "job/ledger/hurry.h"
#include "slurm/scontrol.h"

#define NAME "usable"
#define DRAFT NAME ".draft"
#define MOST 1024       /* bytes of the file, with the NUL at its end */
#define SILENT_MS 60000 /* slurmctld is not asked again for so long */

struct usable {
    char node[64];
    uint32_t cores;    /* 0: slurmctld gave no answer */
    uint64_t asked_ms; /* CLOCK_BOOTTIME */
};

static const struct hm_field usable_table[] = {
    HM_FIELD(usable, node),
    HM_FIELD(usable, cores),
    HM_FIELD(usable, asked_ms),
    {.name = NULL},
};
static const struct hm_fields usable_fields = {.title = NAME, .table = usable_table, .most = MOST};

/* Reads what is kept for this node. A text that is cut, or torn, has no last line, and is not believed. */
static bool read_kept(int folder, const char *node, struct usable *kept)
{
    char text[MOST] = "";
    int fd = hm_file_open_own(folder, NAME);
    if (fd < 0)
        return false;
    (void)hm_file_read_open(fd, text, sizeof(text));
    close(fd);
    return hm_fields_parse(&usable_fields, text, kept, NULL) == 0 && strcmp(kept->node, node) == 0;
}

/* Replaces the file. Where this fails, or another step does it at the same time, a later step asks again. */
static void keep(int folder, const struct usable *answer)
{
    char text[MOST];
    ssize_t length = hm_fields_format(&usable_fields, answer, NULL, text, NULL);
    if (length < 0)
        return;
    hm_hurry_begin();
    (void)unlinkat(folder, DRAFT, 0);
    int fd = hm_file_make(folder, DRAFT, text, (size_t)length);
    if (fd >= 0) {
        (void)renameat(folder, DRAFT, folder, NAME);
        close(fd);
    }
    hm_hurry_end();
}

static int ask(int folder, const char *node, uint32_t *cores, struct hm_error *error)
{
    struct usable answer = {.cores = 0};
    int result = hm_scontrol_usable(node, &answer.cores, error);
    int number = errno;
    if (result != 0)
        answer.cores = 0;
    answer.asked_ms = (uint64_t)hm_clock_ms(CLOCK_BOOTTIME);
    hm_text_copy(answer.node, node, sizeof(answer.node));
    keep(folder, &answer);
    *cores = answer.cores;
    errno = number;
    return result;
}

/* A time that is still to come is of an earlier boot. */
static bool is_recent(uint64_t asked_ms)
{
    uint64_t now_ms = (uint64_t)hm_clock_ms(CLOCK_BOOTTIME);
    return asked_ms <= now_ms && now_ms - asked_ms < SILENT_MS;
}

int hm_usable_learn(const struct hm_config *config, const char *node, uint32_t *cores, struct hm_error *error)
{
    struct usable kept = {.cores = 0};
    int result = 0;
    hm_hurry_begin();
    int folder = hm_rundir_open_node(config->run_dir, NULL, error);
    bool is_kept = folder >= 0 && read_kept(folder, node, &kept);
    hm_hurry_end();
    if (folder < 0)
        return -1;
    if (is_kept && kept.cores > 0)
        *cores = kept.cores;
    else if (is_kept && is_recent(kept.asked_ms))
        result = hm_fail(error, EAGAIN, "slurmctld gave no answer when it was asked less than a minute ago");
    else
        result = ask(folder, node, cores, error);
    int number = errno;
    close(folder);
    errno = number;
    return result;
}

void hm_usable_forget(const struct hm_config *config)
{
    char path[HM_CONFIG_PATH_MAX + HM_RUNDIR_NODE_PATH];
    hm_hurry_begin();
    bool is_there = access(hm_rundir_node_path(config->run_dir, NAME, path, sizeof(path)), F_OK) == 0;
    int folder = is_there ? hm_rundir_open_node(config->run_dir, NULL, NULL) : -1;
    if (folder >= 0) {
        (void)unlinkat(folder, NAME, 0);
        close(folder);
    }
    hm_hurry_end();
}
