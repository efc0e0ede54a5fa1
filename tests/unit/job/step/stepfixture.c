/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of stepfixture.h, and those that stand for core/config/lookup.c. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/lookup.h"
#include "stepfixture.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

struct hm_error error;
struct hm_config config;
struct hm_job job;
unsigned n_lookups;
bool inherited;

static char config_path[64];

/* Stands for the directory service, which knows every uid here. The ledger's lock must be free meanwhile. */
int hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *why)
{
    static char *no_groups[] = {NULL};
    (void)why;
    int lock = open(scratch_path("run/jobs/lock"), O_RDWR | O_CLOEXEC);
    if (lock >= 0) { /* the lock exists only after it was first taken */
        assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
        close(lock);
    }
    n_lookups++;
    *identity = (struct hm_identity){.uid = uid, .gid = getgid(), .name = "someone", .groups = no_groups};
    return 0;
}

/* There is no user for the monitor here. */
int hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *why)
{
    (void)uid, (void)gid;
    return hm_fail(why, ENOENT, "no user %s", name);
}

/* The directory service knows every group, and nobody is in one. */
int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *why)
{
    (void)name, (void)why;
    *gid = getgid();
    return 0;
}

void hm_identity_free(struct hm_identity *identity)
{
    identity->groups = NULL;
}

/* Where the configuration is wrong, the built-in folders are used. No test may use the machine's own. */
void __real_hm_config_defaults(struct hm_config *own);
void __wrap_hm_config_defaults(struct hm_config *own);

void __wrap_hm_config_defaults(struct hm_config *own)
{
    __real_hm_config_defaults(own);
    snprintf(own->run_dir, sizeof(own->run_dir), "%s", scratch_path("run"));
}

void step_configure(const char *text)
{
    char lines[256];
    snprintf(lines, sizeof(lines), "run_dir = \"%s/run\"\n%s\n", scratch, text);
    scratch_write(config_path, lines);
}

void step_begin(const char *request, bool is_default)
{
    ledger_with_job(&config, &job);
    snprintf(job.request, sizeof(job.request), "%s", request);
    snprintf(job.node, sizeof(job.node), "n1");
    job.request_is_default = is_default;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

struct hm_step_facts step_facts_of(const char *option)
{
    struct hm_step_facts facts = {.config_path = config_path,
                                  .job_id = 7,
                                  .step_id = 0,
                                  .uid = getuid(),
                                  .gid = getgid(),
                                  .array_job_id = HM_NO_ID,
                                  .array_task_id = HM_NO_ID,
                                  .option = option,
                                  .option_is_inherited = inherited};
    return facts;
}

struct hm_step *step_prepare_facts(const struct hm_step_facts *facts, int result)
{
    struct hm_step *step = calloc(1, sizeof(*step));
    assert_non_null(step);
    error.text[0] = '\0';
    assert_int_equal(hm_step_prepare(facts, step, &error), result);
    return step;
}

struct hm_step *step_prepare(const char *option)
{
    struct hm_step_facts facts = step_facts_of(option);
    struct hm_step *step = step_prepare_facts(&facts, 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, NULL), 0);
    return step;
}

bool step_has_warning(const char *part)
{
    for (uint32_t i = 0; i < job.n_warnings; i++)
        if (strstr(job.warning[i], part))
            return true;
    return false;
}

int step_set_up(void **state)
{
    int result = scratch_make(state);
    snprintf(config_path, sizeof(config_path), "%s/step.conf", scratch);
    return result;
}
