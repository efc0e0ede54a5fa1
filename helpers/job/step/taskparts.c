/* SPDX-License-Identifier: Apache-2.0 */
#include "taskparts.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

void hm_task_say(const char *text)
{
    char line[HM_ERROR_TEXT + 32];
    int length = snprintf(line, sizeof(line), "hybridmem: %s\n", text);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* the user has closed it */
}

int hm_task_resolve(const struct hm_step *step, const struct hm_request *request, struct hm_plan *plan,
                    struct hm_error *error)
{
    struct hm_where where = {0};
    if (syscall(SYS_sched_getaffinity, 0, sizeof(where.cpus.word), where.cpus.word) < 0)
        return hm_fail_errno(error, "cannot read the task's CPUs");
    return hm_plan_resolve(request, &step->tiers, &step->config, &step->abilities, &where, plan, error);
}
