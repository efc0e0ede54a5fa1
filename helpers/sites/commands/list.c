/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites list`: which profiles are in the stores. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/moment.h"
#include "base/output.h"
#include "commands.h"
#include "core/config/config.h"
#include "sites/store/store.h"

#define NAME "hybridmem sites list"

static void print_help(void)
{
    puts("Usage: hybridmem sites list\n"
         "\n"
         "The profiles of your programs that are in your store, and those that the site\n"
         "shares: by build, the newest first. --hybrid-mem=guided and hybridmem sites\n"
         "guide take the newest of the program's build where none is named.\n"
         "\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, 1 a store cannot be read, 2 wrong usage.");
}

static int print_store(const char *folder, struct hm_error *error)
{
    struct hm_store_entry *entries;
    int n = hm_store_list(folder, &entries, error);
    for (int i = 0; i < n; i++) {
        char moment[HM_MOMENT];
        struct hm_error why = {""};
        struct hm_profile *profile = hm_profile_read(entries[i].path, &why);
        printf("%s  %s  %s\n", hm_moment_format(entries[i].changed.tv_sec, moment), entries[i].path,
               profile ? profile->command : why.text);
        hm_profile_free(profile);
    }
    free(entries);
    return n;
}

int hm_sites_list(int argc, char **argv)
{
    const struct hm_words words = {"sites list", print_help, NULL, 0, NULL};
    struct hm_error error = {""};
    char own[PATH_MAX], shared[HM_CONFIG_PATH_MAX];
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    int n = hm_store_own(own, &error) == 0 ? print_store(own, &error) : -1;
    if (n >= 0 && hm_sites_shared(shared, &error) == 0 && shared[0]) {
        int more = print_store(shared, &error);
        n = more < 0 ? -1 : n + more;
    }
    if (error.text[0])
        fprintf(stderr, NAME ": %s\n", error.text);
    else if (n == 0)
        printf("no profile in %s\n", own);
    return hm_output_end(NAME, 0, error.text[0] ? HM_SITES_FAILED : EXIT_SUCCESS);
}
