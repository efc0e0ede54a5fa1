/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-slurmenergy: reads this node's energy for the meter from slurmd (Slurm's acct_gather_energy). Its output is
 * described in helpers/meter/papi/line.h. Slurm's library ends the process when it finds no configuration, so the
 * library has a process of its own. The library reads from slurm.conf which plugin is in use. slurmctld is asked for
 * nothing but that file, and only where the node has no copy of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/privilege.h"
#include "base/words.h"
#include "energyplugin.h"
#include "meter/papi/input.h"
#include "meter/papi/line.h"

#define PATIENCE_NS UINT64_C(1500000000) /* time that slurmd may take for a reading; the meter waits for 3 s */
#define AGAIN_NS 100000000
/* The library's last message where it finds no slurm.conf; messages about DNS come before it. */
#define NO_SOURCE "Could not establish a configuration source"
#define FIRST_PLUGIN 0 /* index in AcctGatherEnergyType */

/*
 * Symbols of the library that slurm.h does not declare: its copy of slurm.conf, and the function that frees an answer.
 */
extern slurm_conf_t slurm_conf;
extern void slurm_xfree(void **item);

struct options {
    bool read, ask;
};

static void print_help(void)
{
    fputs("Usage: hybridmem slurmenergy --read --ask\n"
          "\n"
          "Reads the energy of this node as slurmd has it, for hybridmem meter, which\n"
          "starts it.\n"
          "\n"
          "  --read         describe the counter, then write its raw values\n"
          "  --ask          write one value for each line of standard input, until it ends\n"
          "  -h, --help     this text\n"
          "  -V, --version  the version\n"
          "\n"
          "Exit status: 0 its input has ended, 1 Slurm has no energy of this node, or the\n"
          "output cannot be written, 2 wrong usage.\n",
          stdout);
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv)
{
    struct options options = {false, false};
    const struct hm_word table[] = {{"read", .flag = &options.read}, {"ask", .flag = &options.ask}};
    const struct hm_words words = {"slurmenergy", print_help, table, sizeof(table) / sizeof(table[0]), &options};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    if (options.read && options.ask)
        return -1;
    fputs("hybridmem slurmenergy: give both --read and --ask. Try 'hybridmem slurmenergy --help'.\n", stderr);
    return HM_WORDS_BAD;
}

/* Say why there are no figures, on standard error and as a line of the protocol. */
static int refuse(const char *reason)
{
    fprintf(stderr, "hybridmem slurmenergy: %s\n", reason);
    if (printf("error %s\n", reason) > 0)
        (void)fflush(stdout);
    return EXIT_FAILURE;
}

/* While the library starts, its messages go into a pipe instead of standard error. `said` is the pipe's reading end,
 * and `saved_error` a copy of standard error. */
static int saved_error = -1, said = -1;

/* Join the library's messages, lines "NAME: error: TEXT" or "NAME: fatal: TEXT", into one line. */
static void join_words(char *said_text, struct hm_error *reason)
{
    char *rest = said_text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *text = strstr(line, "error: "), *fatal = strstr(line, "fatal: ");
        size_t used = strlen(reason->text), size = sizeof(reason->text);
        text = text ? text + strlen("error: ") : fatal ? fatal + strlen("fatal: ") : line;
        for (char *byte = text; *byte; byte++)
            if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
                *byte = ' ';
        snprintf(reason->text + used, size - used, "%s%s", used && *text ? "; " : "", text);
    }
}

/* Called at exit: if the library has ended the process, give its messages as the reason. */
static void tell_end(void)
{
    char text[2 * HM_ERROR_TEXT];
    struct hm_error reason = {""};
    if (saved_error < 0)
        return;
    ssize_t length = read(said, text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    dup2(saved_error, STDERR_FILENO);
    if (strstr(text, NO_SOURCE))
        hm_fail(&reason, ENOENT, "no slurm.conf was found: where it is in no usual place, set SLURM_CONF to its path");
    else
        join_words(text, &reason);
    refuse(reason.text[0] ? reason.text : "Slurm's library ended the program as it started, and printed no reason");
}

/* Start Slurm's library. If the library ends the process, tell_end gives its messages as the reason. Returns 0, or -1
 * with a text. */
static int start_library(struct hm_error *error)
{
    const char *config = getenv("SLURM_CONF");
    int ends[2];
    /* Check the file first: the library would look for it again and again for a minute. */
    if (config && access(config, R_OK) != 0)
        return hm_fail_errno(error, "SLURM_CONF, %.128s", config);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0 || (saved_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) < 0)
        return hm_fail_errno(error, "a pipe for the words of Slurm's library");
    said = ends[0];
    dup2(ends[1], STDERR_FILENO);
    atexit(tell_end);
    slurm_init(NULL);
    dup2(saved_error, STDERR_FILENO);
    close(saved_error);
    close(ends[0]);
    close(ends[1]);
    saved_error = -1;
    return 0;
}

/*
 * Become SlurmUser: slurmd answers only root and SlurmUser, and fewer rights are better. Returns 0, or -1 with a text.
 */
static int become_slurm_user(struct hm_error *error)
{
    uid_t slurm_user = slurm_conf.slurm_user_id;
    if (geteuid() != 0 && geteuid() != slurm_user)
        return hm_fail(error, EPERM, "slurmd tells its energy to root and SlurmUser alone");
    if (geteuid() != 0 || slurm_user == 0)
        return 0;
    errno = 0;
    const struct passwd *entry = getpwuid(slurm_user);
    if (!entry)
        return hm_fail(error, errno ? errno : ENOENT, "SlurmUser, %u, is not known on this node", (unsigned)slurm_user);
    if (hm_privilege_drop(slurm_user, entry->pw_gid) != 0)
        return hm_fail_errno(error, "cannot become SlurmUser, %u", (unsigned)slurm_user);
    return 0;
}

/*
 * Ask slurmd once. slurmd reads the sensor anew if its last reading is more than `delta_s` seconds old
 * (_rpc_acct_gather_energy in Slurm's src/slurmd/slurmd/req.c). AcctGatherNodeFreq does not matter here: it says how
 * often slurmctld asks for its own `scontrol show node`. Returns 0, or -1 with a text.
 */
static int ask(uint16_t delta_s, struct hm_energy_answer *answer, struct hm_error *error)
{
    acct_gather_energy_t *energy = NULL;
    uint16_t n = 0;
    *answer = (struct hm_energy_answer){0};
    errno = 0;
    if (slurm_get_node_energy(NULL, FIRST_PLUGIN, delta_s, &n, &energy) != SLURM_SUCCESS)
        return hm_fail(error, EIO, "slurmd on this node does not answer: %s", slurm_strerror(errno));
    if (n > 0 && energy)
        *answer = (struct hm_energy_answer){.n_sensors = n,
                                            .consumed_j = energy->consumed_energy,
                                            .previous_j = energy->previous_consumed_energy,
                                            .current_w = energy->current_watts,
                                            .read_s = energy->poll_time};
    slurm_xfree((void **)&energy);
    return 0;
}

/* Read the counter now. A thread of slurmd reads IPMI's sensors, and slurmd may answer before the thread has finished:
 * then ask again for the new reading. Returns 0, or -1 with a text. */
static int read_counter(const struct hm_energy_plugin *plugin, uint64_t *joules, struct hm_error *error)
{
    static const struct timespec pause = {.tv_nsec = AGAIN_NS};
    const uint64_t until_ns = hm_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    const int64_t asked_s = time(NULL);
    for (uint16_t delta_s = 0;; delta_s = 1) {
        struct hm_energy_answer answer;
        if (ask(delta_s, &answer, error) != 0)
            return -1;
        if (hm_energy_plugin_value(plugin, &answer, asked_s, time(NULL), joules, error) == 0)
            return 0;
        if (errno != EAGAIN || hm_clock_ns(CLOCK_MONOTONIC) >= until_ns)
            return -1;
        nanosleep(&pause, NULL);
    }
}

static void write_reading(const struct hm_energy_plugin *plugin)
{
    char line[128];
    struct hm_error unread;
    uint64_t at_ns = hm_clock_ns(CLOCK_MONOTONIC), joules = 0;
    alarm(HM_PAPI_ALARM_S);
    bool is_known = read_counter(plugin, &joules, &unread) == 0;
    alarm(0);
    hm_papi_line_read(at_ns, &joules, &is_known, 1, line, sizeof(line));
    fputs(line, stdout);
}

static void describe(const struct hm_energy_plugin *plugin)
{
    char line[2 * HM_PAPI_NAME];
    struct hm_papi_event event = {.measure = HM_PAPI_PLATFORM_ENERGY, .socket = -1, .unit = HM_PAPI_JOULE};
    snprintf(event.name, sizeof(event.name), "acct_gather_energy/%s", plugin->name);
    hm_papi_line_event(0, &event, line, sizeof(line));
    printf("slurm " HM_PAPI_LINES " " HM_SLURM_VERSION "\n%sready 1\n", line);
}

int main(int argc, char **argv)
{
    struct hm_error error = {""};
    const struct hm_energy_plugin *plugin;
    uint64_t joules;
    int status = parse_options(argc, argv);
    if (status >= 0)
        return status;
    hm_papi_input_watch();
    alarm(HM_PAPI_ALARM_S);
    if (start_library(&error) != 0 || !(plugin = hm_energy_plugin_find(slurm_conf.acct_gather_energy_type, &error)) ||
        become_slurm_user(&error) != 0 || read_counter(plugin, &joules, &error) != 0)
        return refuse(error.text);
    alarm(0);
    describe(plugin);
    for (int byte; (status = fflush(stdout)) == 0 && (byte = getchar()) != EOF;)
        if (byte == '\n')
            write_reading(plugin);
    return hm_output_end("hybridmem slurmenergy", status, EXIT_SUCCESS);
}
