/* SPDX-License-Identifier: Apache-2.0 */
#include "freshledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/lib/scratch.h"

void ledger_empty(struct hm_config *config)
{
    hm_config_defaults(config);
    snprintf(config->run_dir, sizeof(config->run_dir), "%s/run", scratch);
    assert_int_equal(scratch_remove(config->run_dir), 0);
    snprintf(config->resctrl_dir, sizeof(config->resctrl_dir), "%s/resctrl", scratch); /* never the machine's own */
}

void ledger_with_job(struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {""};
    ledger_empty(config);
    hm_job_init(job, 7);
    job->is_entered = true;
    if (hm_ledger_write(config, job, &error) != 0)
        fail_msg("%s", error.text);
}
