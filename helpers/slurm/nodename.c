/* SPDX-License-Identifier: Apache-2.0 */
#include "nodename.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "scontrol.h"

#define MOST_TEXT 8192 /* bytes of an answer; its beginning is enough */

int hm_nodename_parse_aliases(const char *text, const char *host, char *name, size_t size, struct hm_error *error)
{
    size_t length = strcspn(text, " \n"), rest = length + strspn(text + length, " \n");
    if (length == 0)
        return 0;
    if (text[rest])
        return hm_fail(error, EINVAL, "slurm.conf has several nodes on the host %.64s (%.*s): say which one this is",
                       host, (int)strcspn(text, "\n"), text);
    if (length >= size)
        return hm_fail(error, EINVAL, "the name of Slurm's node on the host %.64s is too long", host);
    snprintf(name, size, "%.*s", (int)length, text);
    return 1;
}

bool hm_nodename_is_on(const char *text, const char *host)
{
    static const char key[] = " NodeHostName=";
    const char *at = strstr(text, key);
    size_t length = strlen(host);
    if (!at)
        return false;
    at += strlen(key);
    return length > 0 && strcspn(at, " \n") == length && strncmp(at, host, length) == 0;
}

/* Returns 1; 0 where slurm.conf has no node on the host; or -1. */
static int find_in_conf(const char *host, char *name, size_t size, struct hm_error *error)
{
    char text[MOST_TEXT];
    return hm_scontrol_aliases(host, text, sizeof(text), error) == 0
               ? hm_nodename_parse_aliases(text, host, name, size, error)
               : -1;
}

/* The node of slurmctld's that has the name `own`. Returns 0 or -1. */
static int find_in_slurmctld(const char *own, const char *host, char *name, size_t size, struct hm_error *error)
{
    char text[MOST_TEXT];
    struct hm_error why = {{0}};
    if (hm_scontrol_node(own, text, sizeof(text), &why) != 0)
        return hm_fail(error, ENOENT, "which node of Slurm's is the host %.64s? None of slurm.conf, and %s", host,
                       why.text);
    if (!hm_nodename_is_on(text, own) && !hm_nodename_is_on(text, host))
        return hm_fail(error, ENOENT, "the host %.64s is not Slurm's node %.64s, which is on another host", host, own);
    hm_text_copy(name, own, size);
    return 0;
}

int hm_nodename_find(char *name, size_t size, struct hm_error *error)
{
    const char *told = getenv("SLURMD_NODENAME");
    char host[HOST_NAME_MAX + 1] = "", own[HOST_NAME_MAX + 1];
    if (told && strlen(told) >= size)
        return hm_fail(error, EINVAL, "SLURMD_NODENAME is too long: \"%.64s\"", told);
    if (told && told[0]) {
        hm_text_copy(name, told, size);
        return 0;
    }
    if (gethostname(host, HOST_NAME_MAX) != 0)
        return hm_fail_errno(error, "this host has no name");
    hm_text_copy(own, host, sizeof(own));
    own[strcspn(own, ".")] = '\0';
    int found = find_in_conf(own, name, size, error);
    if (found == 0 && strcmp(own, host) != 0)
        found = find_in_conf(host, name, size, error);
    if (found != 0)
        return found > 0 ? 0 : -1;
    return find_in_slurmctld(own, host, name, size, error);
}
