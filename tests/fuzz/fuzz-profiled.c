/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a task, and slurmstepd at its end, read of the recorder, or of a run of a plan: what is accepted can be
 * in the ledger. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "job/ledger/table.h"
#include "job/step/mbitask.h"
#include "job/step/profiled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a task of a run is told: the library's text and the nodes are there together, or none of them. */
static void check_run(const uint8_t *data, size_t size)
{
    static struct hm_mbitask_start start;
    char *text = input_text(data, size); /* a copy, as the parser changes it */
    if (text && hm_mbitask_parse(text, &start) == 0 && (!start.text[0] != hm_set_is_empty(&start.nodes)))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_profiled_start start;
    static struct hm_profiled profiled;
    static struct hm_guided guided;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    profiled = (struct hm_profiled){.is_known = true};
    hm_profiled_judge(text, 4, &profiled);
    if (hm_fields_check(hm_profiled_table, &profiled, NULL) != 0 || (profiled.file[0] && profiled.file[0] != '/'))
        abort();
    guided = (struct hm_guided){.is_known = true};
    (void)hm_profiled_read_guided(text, &guided);
    if (hm_fields_check(hm_guided_table, &guided, NULL) != 0)
        abort();
    if (hm_profiled_parse(text, &start) == 0 && (start.file[0] != '/' || start.folder[0] != '/' || start.pid == 0))
        abort();
    free(text);
    check_run(data, size);
    return 0;
}
