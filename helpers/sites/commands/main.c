/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-sites: profiles of programs by allocation site, and what they say about the placement of memory. */
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
    {"run", hm_sites_run},     {"show", hm_sites_show}, {"plan", hm_sites_plan},
    {"guide", hm_sites_guide}, {"diff", hm_sites_diff}, {"merge", hm_sites_merge},
    {"check", hm_sites_check}, {"list", hm_sites_list}, {"record", hm_sites_record},
};

static void print_help(void)
{
    puts("Usage: hybridmem sites COMMAND [ARGUMENT]...\n"
         "\n"
         "Which places in a program allocate its memory, and how much each is used.\n"
         "\n"
         "Commands:\n"
         "  run    a program, and make its profile\n"
         "  show   the sites of a profile, the most used first\n"
         "  plan   which sites should have the fast memory\n"
         "  guide  a program: run it with these sites in the fast memory\n"
         "  diff   what differs between two profiles\n"
         "  merge  profiles of several runs into one\n"
         "  check  is this file a profile?\n"
         "  list   the profiles that are kept\n"
         "  record a task of a job that is profiled\n"
         "\n"
         "Options:\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "'hybridmem sites COMMAND --help' tells more.");
}

int main(int argc, char **argv)
{
    const struct hm_words words = {"sites", print_help, NULL, 0, NULL};
    for (size_t i = 0; argc > 1 && i < N_ROWS(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    int status = hm_words_parse_before(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    fputs("hybridmem sites: a command is missing. Try 'hybridmem sites --help'.\n", stderr);
    return HM_SITES_BAD;
}
