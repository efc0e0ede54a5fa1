/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-spool: the epilog of slurmctld (EpilogSlurmctld). It writes one small file for each job that had a node and
 * ended, where hybridmem.conf wants summaries. It has to be quick, as the job stays COMPLETING while it runs. So it
 * does not wait for the job's records: the nodes may not even have begun their epilogs. Errors are one line in the
 * system's log and never fail Slurm.
 */
#include <config.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "base/words.h"
#include "spoolfile.h"

static void print_help(void)
{
    printf("Usage: hybridmem-spool [--config FILE]\n"
           "\n"
           "Started by slurmctld (EpilogSlurmctld in slurm.conf), as SlurmUser. Leaves a\n"
           "file in spool_dir for each job that ended, from slurmctld's environment, for\n"
           "hybridmem-collect. With summary_field = none it does nothing.\n"
           "\n"
           "  --config FILE    instead of %s\n"
           "  -h, --help       this text\n"
           "  -V, --version    the version\n"
           "\n"
           "Exit status: 0, also after an error, which is in the system's log; 2 for wrong\n"
           "arguments.\n",
           hm_config_path());
}

static const char *look_up(const char *name, void *data)
{
    (void)data;
    return getenv(name);
}

/* Write the file of the job that ended. Returns 0, also where the job gets no file, or -1 with a text. */
static int leave_entry(const char *path, struct hm_config *config, struct hm_error *error)
{
    struct hm_spool_entry entry;
    if (hm_config_read(path ? path : hm_config_path(), path != NULL, config, error) != 0)
        return -1;
    if (!config->enabled || config->summary_field == HM_SUMMARY_NONE)
        return 0;
    int result = hm_spool_entry_read(&entry, config, look_up, NULL, (uint64_t)time(NULL), error);
    if (result == 0)
        return hm_spool_file_write(config->spool_dir, &entry, error);
    return result < 0 ? -1 : 0; /* above 0: the job had no node */
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    const struct hm_word table[] = {{"config", .path = &path}};
    const struct hm_words words = {"spool", print_help, table, 1, NULL};
    static struct hm_config config;
    struct hm_error error = {""};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    openlog("hybridmem-spool", LOG_PID | LOG_PERROR, LOG_DAEMON);
    if (leave_entry(path, &config, &error) != 0) {
        const char *job = getenv("SLURM_JOB_ID");
        bool is_number = job && job[0] && job[strspn(job, "0123456789")] == '\0';
        syslog(LOG_ERR, "no summary of job %.10s: %s", is_number ? job : "?", error.text);
    }
    closelog();
    return EXIT_SUCCESS;
}
