/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites merge`: one profile of several. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "sites/profile/merge.h"

#define NAME "hybridmem sites merge"

static void print_help(void)
{
    puts("Usage: hybridmem sites merge -o PROFILE PROFILE...\n"
         "\n"
         "Puts profiles of one program together: of its runs, inputs, ranks or nodes.\n"
         "Counts and samples are summed, peaks are the largest.\n"
         "\n"
         "  -o, --output PROFILE  the profile to write\n"
         "  -h, --help            this text\n"
         "  -V, --version         the version\n"
         "\n"
         "Exit status: 0, 1 they cannot be put together, or the profile cannot be written,\n"
         "2 wrong usage, or one is no profile.");
}

/* Returns the exit status, with a text where it is not 0. */
static int merge(int n, char **path, const char *output, struct hm_error *error)
{
    struct hm_newfile file;
    int status = HM_SITES_BAD;
    struct hm_profile *into = hm_profile_read(path[0], error);
    for (int i = 1; into && i < n; i++) {
        struct hm_profile *from = hm_profile_read(path[i], error);
        int merged = from ? hm_profile_merge(into, from, path[i], error) : 0;
        status = merged < 0 ? HM_SITES_FAILED : HM_SITES_BAD;
        if (!from || merged < 0) {
            hm_profile_free(into);
            into = NULL;
        }
        hm_profile_free(from);
    }
    if (!into)
        return status;
    status = hm_newfile_open(&file, output, "app.json", error) == 0 && hm_sites_write(into, &file, error) == 0
                 ? EXIT_SUCCESS
                 : HM_SITES_FAILED;
    hm_newfile_close(&file);
    hm_profile_free(into);
    return status;
}

int hm_sites_merge(int argc, char **argv)
{
    const char *output = NULL;
    struct hm_error error = {""};
    const struct hm_word table[] = {{"output", .path = &output, .letter = 'o'}};
    const struct hm_words words = {"sites merge", print_help, table, 1, NULL};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!output || optind == argc) {
        fprintf(stderr, NAME ": %s: as in: hybridmem sites merge -o all.json run1.json run2.json\n",
                output ? "the profiles are missing" : "-o is missing");
        return HM_SITES_BAD;
    }
    status = merge(argc - optind, argv + optind, output, &error);
    if (status != EXIT_SUCCESS)
        fprintf(stderr, NAME ": %s\n", error.text);
    return status;
}
