/* SPDX-License-Identifier: Apache-2.0 */
#include "daxkernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define FIRST_MAJOR 6
#define FIRST_MINOR 15
#define SYMBOLS "/proc/kallsyms"
#define FUNCTION "dax_break_layout_final"

/* Does a line "ADDRESS TYPE NAME [MODULE]" have the function's name? */
static bool names_it(const char *line)
{
    char name[sizeof(FUNCTION) + 1];
    return sscanf(line, "%*x %*c %23s", name) == 1 && strcmp(name, FUNCTION) == 0;
}

int hm_dax_kernel_waits(const char *release, const char *symbols, struct hm_error *error)
{
    unsigned major, minor;
    char line[512];
    bool is_there = false;
    if (sscanf(release, "%u.%u", &major, &minor) == 2 &&
        (major > FIRST_MAJOR || (major == FIRST_MAJOR && minor >= FIRST_MINOR)))
        return 1;
    FILE *file = fopen(symbols, "re");
    if (!file)
        return hm_fail_errno(error, "%s", symbols);
    while (!is_there && fgets(line, sizeof(line), file))
        is_there = names_it(line);
    fclose(file);
    return is_there;
}

int hm_dax_kernel_check(const struct hm_config *config, struct hm_error *error)
{
    struct utsname name;
    struct hm_error why = {"it has no " FUNCTION};
    if (config->fsdax_trust)
        return 0;
    if (uname(&name) != 0)
        return hm_fail_errno(error, "the kernel's release is unknown");
    if (hm_dax_kernel_waits(name.release, SYMBOLS, &why) == 1)
        return 0;
    return hm_fail(
        error, EOPNOTSUPP,
        "Linux %s does not keep a file system's pages from a user who goes on using them after its end (%s): "
        "use Linux %d.%d or later, or say fsdax_trust = yes if the users of fsdax trust each other",
        name.release, why.text, FIRST_MAJOR, FIRST_MINOR);
}
