/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites list`: which profiles are in the stores. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/moment.h"
#include "base/output.h"
#include "commands.h"
#include "core/config/config.h"
#include "sites/profile/take.h"
#include "sites/store/store.h"

#define NAME "hybridmem sites list"

static void print_help(void)
{
    puts("Usage: hybridmem sites list\n"
         "\n"
         "The profiles of your programs that are in your store, and those that the site\n"
         "shares: by build, the newest first. --hybrid-mem=guided and hybridmem sites\n"
         "guide take the newest of the program's build where none is named; with input=\n"
         "and --input-class, the newest of that kind of input, if there is one.\n"
         "\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, 1 a store cannot be read, 2 wrong usage.");
}

/* A path of the shared store, and a command, may be anybody's: no text of theirs moves the cursor, or begins a line. */
static void put(const char *text)
{
    for (; *text; text++) {
        bool is_control = hm_take_is_control(text);
        putchar(is_control ? '?' : *text);
        text += is_control && (unsigned char)*text >= 0x80; /* it has two bytes */
    }
}

static void print_entry(const struct hm_store_entry *entry)
{
    char moment[HM_MOMENT], input[HM_SITES_INPUT];
    struct hm_error why = {""};
    struct hm_profile *profile = hm_profile_read(entry->path, &why);
    printf("%s  ", hm_moment_format(entry->changed.tv_sec, moment));
    put(entry->path);
    fputs("  ", stdout);
    put(profile ? profile->command : why.text);
    if (profile && hm_sites_input(profile, input)[0])
        printf("  input: %s", input);
    putchar('\n');
    hm_profile_free(profile);
}

static int print_store(const char *folder, struct hm_error *error)
{
    struct hm_store_entry *entries;
    int n = hm_store_list(folder, &entries, error);
    for (int i = 0; i < n; i++)
        print_entry(&entries[i]);
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
