/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/size.h"

static int use(const char *why)
{
    fprintf(stderr,
            "hybridmem-monitor: %s\n"
            "usage: hybridmem-monitor --samples-fd N --cgroup DIR --guard FILE [--sysfs DIR] [--resctrl DIR]\n"
            "                         [--papi PROGRAM] [--slurm PROGRAM] [--shares FILE --job ID]\n"
            "                         [--uid N --gid N]\n",
            why);
    return 2;
}

int hm_monitor_arguments_take(int argc, char **argv, struct hm_monitor_arguments *given)
{
    static const struct option options[] = {
        {"samples-fd", required_argument, NULL, 's'}, {"cgroup", required_argument, NULL, 'c'},
        {"guard", required_argument, NULL, 'g'},      {"sysfs", required_argument, NULL, 'y'},
        {"resctrl", required_argument, NULL, 'r'},    {"papi", required_argument, NULL, 'p'},
        {"slurm", required_argument, NULL, 'm'},      {"shares", required_argument, NULL, 'h'},
        {"job", required_argument, NULL, 'j'},        {"uid", required_argument, NULL, 'U'},
        {"gid", required_argument, NULL, 'G'},        {0}};
    *given =
        (struct hm_monitor_arguments){.sysfs = "/sys", .samples_fd = UINT64_MAX, .uid = UINT64_MAX, .gid = UINT64_MAX};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 's' && hm_size_parse_number(optarg, 0, 65535, &given->samples_fd, NULL) != 0)
            return use("--samples-fd wants the number of an open descriptor");
        if ((option == 'U' && hm_size_parse_number(optarg, 1, UINT32_MAX - 1, &given->uid, NULL) != 0) ||
            (option == 'G' && hm_size_parse_number(optarg, 1, UINT32_MAX - 1, &given->gid, NULL) != 0))
            return use("--uid and --gid want the numbers of a user and a group that are not root");
        if (option == 'j' && hm_size_parse_number(optarg, 1, UINT32_MAX, &given->job_id, NULL) != 0)
            return use("--job wants the number of a job");
        if (option == 'h')
            given->shares = optarg;
        if (option == 'c')
            given->cgroup = optarg;
        if (option == 'g')
            given->guard = optarg;
        if (option == 'y')
            given->sysfs = optarg;
        if (option == 'r')
            given->resctrl = optarg;
        if (option == 'p')
            given->programs.papi = optarg;
        if (option == 'm')
            given->programs.slurm = optarg;
        if (option == '?')
            return 2;
    }
    if (given->samples_fd == UINT64_MAX || !given->cgroup || !given->guard || optind != argc)
        return use("--samples-fd, --cgroup and --guard are needed, and no other words");
    if (!given->shares != (given->job_id == 0))
        return use("--shares and --job go together");
    bool is_root = geteuid() == 0 || getuid() == 0;
    if (is_root && (given->uid == UINT64_MAX || given->gid == UINT64_MAX))
        return use("it must not stay root: --uid and --gid say whom to become");
    if (!is_root && (given->uid != UINT64_MAX || given->gid != UINT64_MAX))
        return use("--uid and --gid are for root");
    return 0;
}
