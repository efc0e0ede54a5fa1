/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-top: shows what a running migrator does, on a screen that is refreshed. */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/size.h"
#include "base/words.h"
#include "cli/draw/screen.h"
#include "core/config/config.h"
#include "job/ledger/ledger.h"
#include "job/step/step.h"
#include "migrator/figures/viewclient.h"
#include "print.h"
#include "slurm/stepname.h"

#define NAME "hybridmem top"
/* The command that runs `hybridmem top` on the job's node. Takes the job's number, and the job or step to show. */
#define ELSEWHERE "srun --jobid=%s --overlap --pty -N1 -n1 --hybrid-mem=off hybridmem top %s"

enum { EXIT_NONE = 1, EXIT_BAD = HM_WORDS_BAD };

struct options {
    bool json, once;
    uint64_t interval_ms;
    const char *which; /* "JOB", "JOB.STEP", NULL */
};

static void print_help(void)
{
    printf("Usage: hybridmem top [--once] [--json] [--interval TIME] [JOBID[.STEP]]\n"
           "\n"
           "Shows what the migrator of a running step does on this node: memory by tier,\n"
           "what share of the sampled accesses the fast tier serves, how much is moved, and\n"
           "for each process a map of its addresses: how hot they are, and in which tier.\n"
           "To see it from elsewhere, with -w NODE if the job has several nodes, run\n"
           "  " ELSEWHERE "\n"
           "\n"
           "  JOBID[.STEP]      default: $SLURM_JOB_ID, else the only migrator of yours on\n"
           "                    this node\n"
           "  --once            one screen, and end\n"
           "  --json            one JSON object, and end\n"
           "  --interval TIME   time between two screens (2s): digits and ms, s, min or h\n"
           "  -h, --help        this text\n"
           "  -V, --version     the version\n"
           "\n"
           "Exit status: 0 shown (also when the step ends meanwhile), 1 there is no such\n"
           "migrator on this node, or the output cannot be written, 2 wrong usage, or\n"
           "several migrators and none named.\n",
           "JOBID", "JOBID.STEP");
}

static int fail(int status, const char *text)
{
    fprintf(stderr, NAME ": %s\n", text);
    return status;
}

static int take_interval(void *data, const char *argument, struct hm_error *error)
{
    struct options *options = data;
    if (hm_size_parse_duration(argument, &options->interval_ms, error) != 0)
        return -1;
    if (options->interval_ms >= 100 && options->interval_ms <= 3600000)
        return 0;
    return hm_fail(error, ERANGE, "\"%.40s\" is not a time of 100ms to 1h", argument);
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {
        {"json", .flag = &options->json}, {"once", .flag = &options->once}, {"interval", .take = take_interval}};
    const struct hm_words words = {"top", print_help, table, 3, options};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    options->which = optind < argc ? argv[optind] : getenv("SLURM_JOB_ID");
    return optind + 1 < argc ? hm_words_refuse(&words, argv[optind + 1]) : -1;
}

/* Parses "JOB" or "JOB.STEP". Returns 0, or -1. */
static int parse_which(const char *text, struct hm_view_name *name, bool *has_step)
{
    char job[16];
    uint64_t job_id;
    size_t length = strcspn(text, ".");
    *has_step = text[length] == '.';
    if (length >= sizeof(job))
        return -1;
    memcpy(job, text, length);
    job[length] = '\0';
    if (hm_size_parse_number(job, 1, UINT32_MAX, &job_id, NULL) != 0)
        return -1;
    name->job_id = (uint32_t)job_id;
    return *has_step ? hm_step_parse(text + length + 1, &name->step_id) : 0;
}

/*
 * Finds the user that a migrator of this job must run as; anybody can open a socket with a migrator's name. A user may
 * only ask their own migrators. Root asks those of the job's user, who is in the ledger. Returns false if root asks and
 * the ledger has no readable entry of the job, else true.
 */
static bool find_user(const struct hm_config *config, uint32_t job_id, uid_t *uid)
{
    static struct hm_job job;
    *uid = geteuid();
    if (*uid != 0)
        return true;
    if (hm_ledger_read(config, job_id, &job, NULL) != 0) /* without the lock: an entry is replaced as a whole */
        return false;
    *uid = job.uid;
    return true;
}

/*
 * Connects to the migrator that the options name, among those that this user may ask; there must be just one. Returns a
 * descriptor, or -1.
 */
static int connect_to_one(const struct options *options, struct hm_error *error)
{
    static struct hm_config config;
    struct hm_view_name *names, wanted = {0};
    char list[256] = "", step[16], job[16];
    bool has_step = false;
    int found = -1, count = 0;
    uid_t uid;
    if (options->which && parse_which(options->which, &wanted, &has_step) != 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is no job: write JOBID or JOBID.STEP", options->which);
    ssize_t n = hm_view_list(&names, error);
    if (n < 0)
        return -1;
    if (hm_config_read(hm_config_path(), false, &config, NULL) != 0)
        hm_config_defaults(&config);
    for (ssize_t i = 0; i < n; i++) {
        if ((options->which && names[i].job_id != wanted.job_id) || (has_step && names[i].step_id != wanted.step_id))
            continue;
        int fd = find_user(&config, names[i].job_id, &uid) ? hm_view_connect(&names[i], uid, NULL) : -1;
        if (fd < 0)
            continue;
        size_t length = strlen(list);
        snprintf(list + length, sizeof(list) - length, " %u.%s", names[i].job_id,
                 hm_step_name(names[i].step_id, step, sizeof(step)));
        if (count++ == 0)
            found = fd;
        else
            close(fd);
    }
    free(names);
    if (count == 1)
        return found;
    if (count > 1) {
        close(found);
        return hm_fail(error, EINVAL, "there are several migrators: name one of%s", list);
    }
    snprintf(job, sizeof(job), "%u", wanted.job_id);
    if (options->which)
        return hm_fail(error, ESRCH,
                       "no migrator of job %.40s runs on this node; to see one from here, with -w NODE if the job has "
                       "several nodes, run: " ELSEWHERE,
                       options->which, job, options->which);
    return hm_fail(error, ESRCH, "no migrator of yours runs on this node");
}

static int show(const struct options *options, int fd, struct hm_view *view)
{
    struct hm_error error = {""};
    char host[256] = "";
    bool is_first = true;
    gethostname(host, sizeof(host) - 1);
    for (;; is_first = false) {
        if (hm_view_ask(fd, view, &error) != 0) {
            bool has_ended = errno == EPIPE && !is_first;
            return fail(has_ended ? EXIT_SUCCESS : EXIT_NONE, error.text);
        }
        if (options->json)
            return hm_output_end(NAME, hm_topprint_json(stdout, view, host), EXIT_SUCCESS);
        struct hm_screen screen = hm_screen_measure();
        if (!options->once && isatty(STDOUT_FILENO))
            hm_screen_clear(stdout);
        hm_topprint_screen(stdout, view, host, &screen);
        int status = hm_output_end(NAME, 0, EXIT_SUCCESS);
        if (status != EXIT_SUCCESS || options->once)
            return status;
        poll(NULL, 0, (int)options->interval_ms);
    }
}

int main(int argc, char **argv)
{
    struct options options = {.interval_ms = 2000};
    struct hm_error error = {""};
    setlocale(LC_CTYPE, "");
    int status = parse_options(argc, argv, &options);
    if (status >= 0)
        return status;
    int fd = connect_to_one(&options, &error);
    if (fd < 0)
        return fail(errno == EINVAL ? EXIT_BAD : EXIT_NONE, error.text);
    struct hm_view *view = malloc(sizeof(*view));
    status = view ? show(&options, fd, view) : fail(EXIT_BAD, "no memory");
    free(view);
    close(fd);
    return status;
}
