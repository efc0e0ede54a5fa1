/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the figures of a running migrator as JSON, from the file in the ledger's folder: progress-json FILE */
#include <inttypes.h>
#include <stdio.h>

#include "migrator/figures/progress.h"

#define COUNT(field) printf("\"" #field "\": %" PRIu64 ", ", (uint64_t)progress.field)
#define NUMBER(field) printf("\"" #field "\": %.9g, ", progress.field)
#define TEXT(field) printf("\"" #field "\": \"%.*s\", ", (int)sizeof(progress.field), progress.field)

int main(int argc, char **argv)
{
    struct hm_progress progress;
    FILE *file = argc == 2 ? fopen(argv[1], "re") : NULL;

    if (!file || fread(&progress, sizeof(progress), 1, file) != 1 || progress.magic != HM_PROGRESS_MAGIC ||
        progress.version != HM_PROGRESS_VERSION || progress.bytes != sizeof(progress)) {
        fprintf(stderr, "progress-json: %s has no figures of a migrator\n", argc == 2 ? argv[1] : "(no argument)");
        return 1;
    }
    fclose(file);
    putchar('{');
    TEXT(algorithm);
    TEXT(source);
    COUNT(state);
    COUNT(period);
    COUNT(period_is_time);
    COUNT(knows_writes);
    COUNT(interval_ms);
    COUNT(phases);
    COUNT(samples);
    COUNT(lost);
    COUNT(promoted_bytes);
    COUNT(demoted_bytes);
    COUNT(capacity_bytes);
    COUNT(first_above_cap_bytes);
    COUNT(above_cap_bytes);
    COUNT(share_bytes);
    NUMBER(cpu_s);
    NUMBER(kernel_cpu_s);
    NUMBER(fast_share);
    NUMBER(last_fast_share);
    NUMBER(best_share);
    COUNT(n_ranks);
    printf("\"unmoved_bytes\": [");
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        printf("%s%" PRIu64, i ? ", " : "", progress.unmoved_bytes[i]);
    printf("], \"warnings\": [");
    for (uint32_t i = 0; i < progress.n_warnings && i < HM_PROGRESS_WARNINGS; i++) {
        printf("%s\"", i ? ", " : "");
        for (const char *c = progress.warning[i]; *c && c < progress.warning[i] + HM_WARNING; c++)
            putchar(*c == '"' || *c == '\\' || *c < ' ' ? '\'' : *c);
        putchar('"');
    }
    printf("]}\n");
    return 0;
}
