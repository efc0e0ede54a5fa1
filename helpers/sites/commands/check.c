/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites check`: is this file a profile, and of this program? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/plural.h"
#include "commands.h"
#include "sites/profile/buildid.h"

#define NAME "hybridmem sites check"

static void print_help(void)
{
    puts("Usage: hybridmem sites check [--program FILE] PROFILE\n"
         "\n"
         "Checks that a file is a whole profile. With --program, also that it was made\n"
         "with this build of the program.\n"
         "\n"
         "  --program FILE  the executable\n"
         "  -h, --help      this text\n"
         "  -V, --version   the version\n"
         "\n"
         "Exit status: 0 it is, 1 it is one of another build, 2 wrong usage, or it is no\n"
         "profile.");
}

/* Returns the exit status. */
static int compare(const struct hm_profile *profile, const char *profile_path, const char *path)
{
    char build_id[HM_BUILDID_TEXT];
    struct hm_error error = {""};
    int status = HM_SITES_FAILED;
    if (hm_buildid_of_file(path, build_id, &error) < 0) {
        fprintf(stderr, NAME ": %s\n", error.text);
        status = HM_SITES_BAD;
    } else if (!profile->build_id) {
        fprintf(stderr, NAME ": %s does not have the build-id of its program, so nobody can tell if it is one of %s\n",
                profile_path, path);
    } else if (strcmp(build_id, profile->build_id) != 0) {
        fprintf(stderr, NAME ": %s is of the build %s, and %s is %s: make a new profile\n", profile_path,
                profile->build_id, path, build_id);
    } else {
        status = EXIT_SUCCESS;
    }
    return status;
}

int hm_sites_check(int argc, char **argv)
{
    const char *program = NULL;
    const struct hm_word table[] = {{"program", .path = &program}};
    const struct hm_words words = {"sites check", print_help, table, 1, NULL};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    struct hm_profile *profile = hm_sites_open(argc, argv, &words, &status);
    if (!profile)
        return status;
    status = program ? compare(profile, argv[argc - 1], program) : EXIT_SUCCESS;
    if (status == EXIT_SUCCESS)
        printf("a profile of %zu %s\n", profile->n_sites, hm_plural(profile->n_sites, "site", "sites"));
    hm_profile_free(profile);
    return hm_output_end(NAME, 0, status);
}
