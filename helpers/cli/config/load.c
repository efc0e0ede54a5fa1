/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the file with the latencies of the tiers under load, as the migrator of a job reads it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/apply/loadfile.h"
#include "parts.h"

/* Writes to `shut` the first folder above the file, or the file itself, that not all users may enter or read: the
 * migrator of a job is a process of the job's user. Returns whether there is one. */
static bool find_shut(const char *path, char *shut, size_t size, bool *is_folder)
{
    struct stat status;
    for (const char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
        size_t length = end ? (size_t)(end - path) : strlen(path);
        *is_folder = end != NULL;
        snprintf(shut, size, "%.*s", (int)length, path);
        if (stat(shut, &status) != 0)
            return false; /* reading the file tells why */
        if (!(status.st_mode & (end ? S_IXOTH : S_IROTH)))
            return true;
        if (!end)
            return false;
    }
}

void hm_config_check_load(const struct hm_config *config, int n_tiers, struct hm_report *report)
{
    char shut[sizeof(config->load)];
    struct hm_load load;
    struct hm_error error;
    bool is_folder;
    if (!config->load[0])
        return;
    if (find_shut(config->load, shut, sizeof(shut), &is_folder))
        hm_report_change(report, "load %s: not all users may %s %s, as their migrators must: chmod %s %s", config->load,
                         is_folder ? "enter" : "read", shut, is_folder ? "a+x" : "a+r", shut);
    else if (hm_loadfile_read(config->load, &load, &error) < 0)
        hm_report_change(report, "load %s; without its figures no job is balanced", error.text);
    else if (n_tiers == 1)
        hm_report_note(report, "load %s is read, but this node has one tier: there is nothing to balance",
                       config->load);
    else
        hm_report_ok(report, "load %s is read, and is for the fast and the slow tier of this node", config->load);
}
