/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-profile: profiles of programs that take many runs. */
#include <config.h>

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"plan", hm_mbi_plan},   {"run", hm_mbi_run},   {"status", hm_mbi_status},
    {"merge", hm_mbi_merge}, {"task", hm_mbi_task},
};

static void print_help(void)
{
    puts("Usage: hybridmem profile mbi COMMAND [ARGUMENT]...\n"
         "\n"
         "A profile by bandwidth isolation (MBI): a program is run once for each of its\n"
         "allocation sites, with the memory of that site alone in the slow tier, whose\n"
         "traffic the node's counters have.\n"
         "\n"
         "Commands:\n"
         "  plan    make the plan of the runs, and a job array for Slurm\n"
         "  run     one run, or all that are not done\n"
         "  status  which are done, and which failed and why\n"
         "  merge   put the results together into a profile\n"
         "  task    a run whose program Slurm starts; tasks of --hybrid-mem=profile use it\n"
         "\n"
         "Options:\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "'hybridmem profile mbi COMMAND --help' tells more. hybridmem sites run makes a\n"
         "profile by sampling, in one run.");
}

int hm_mbi_fail(const char *command, int status, const char *text)
{
    fprintf(stderr, "hybridmem profile mbi %s: %s\n", command, text);
    return status;
}

int hm_mbi_open(int argc, char **argv, const struct hm_words *words, struct hm_mbi_store *store)
{
    struct hm_error error = {"the folder is missing: name one that hybridmem profile mbi plan made"};
    if (optind + 1 < argc)
        return hm_words_refuse(words, argv[optind + 1]);
    if (optind < argc && hm_mbi_store_open(store, argv[optind], &error) == 0 &&
        hm_mbi_store_results(store, &error) == 0)
        return 0;
    fprintf(stderr, "hybridmem %s: %s\n", words->command, error.text);
    return HM_MBI_BAD;
}

int main(int argc, char **argv)
{
    const struct hm_words words = {"profile", print_help, NULL, 0, NULL};
    const struct hm_words mbi = {"profile mbi", print_help, NULL, 0, NULL};
    bool is_mbi = argc > 1 && strcmp(argv[1], "mbi") == 0;
    for (size_t i = 0; is_mbi && argc > 2 && i < N_ROWS(commands); i++)
        if (strcmp(argv[2], commands[i].name) == 0)
            return commands[i].run(argc - 2, argv + 2);
    const struct hm_words *used = is_mbi ? &mbi : &words;
    int status = hm_words_parse_before(argc - is_mbi, argv + is_mbi, used);
    if (status >= 0)
        return status;
    if (optind < argc - is_mbi)
        return hm_words_refuse(used, argv[optind + is_mbi]);
    fputs("hybridmem profile: a command is missing. Try 'hybridmem profile --help'.\n", stderr);
    return HM_MBI_BAD;
}
