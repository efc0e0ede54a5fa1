/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what bench prints: each reason once, and all figures or none when memory is short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/bench/bench.h"
#include "unit/lib/shortmemory.h"

#define N_RESULTS 4

/* The functions of run.c and options.c that printing calls. The test is linked without those files. */
const char *hm_bench_kernel_name(enum hm_bench_kernel kernel)
{
    return kernel == HM_BENCH_ACCUMULATE ? "accumulate" : kernel == HM_BENCH_COPY ? "copy" : "nt-write";
}

const char *hm_bench_policy_name(enum hm_alloc_policy policy)
{
    (void)policy;
    return "spill";
}

bool hm_bench_has_array(enum hm_bench_kernel kernel, enum hm_bench_role role)
{
    return role == HM_BENCH_READ ? kernel != HM_BENCH_NT_WRITE : kernel != HM_BENCH_ACCUMULATE;
}

static int make_bench(void **state)
{
    struct hm_bench *bench = calloc(1, sizeof(*bench));
    *state = bench;
    if (!bench)
        return -1;
    bench->threads = bench->words.repetitions = 2;
    bench->n_results = N_RESULTS;
    for (int i = 0; i < N_RESULTS; i++)
        bench->result[i] = (struct hm_bench_result){
            .kernel = HM_BENCH_COPY, .bytes = 1 << 20, .n_seconds = 2, .seconds = {1, 2}, .predicted_mbs = -1};
    return 0;
}

static int free_bench(void **state)
{
    free(*state);
    return 0;
}

/* Returns what hm_benchprint_text prints. The caller frees it. */
static char *print(const struct hm_bench *bench)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    hm_benchprint_text(out, bench);
    fclose(out);
    return text;
}

static void test_each_reason_is_printed_once(void **state)
{
    static const char *const reasons[N_RESULTS][HM_BENCH_ROLES] = {
        {"full", ""}, {"", "limit"}, {"full", "limit"}, {""}};
    struct hm_bench *bench = *state;
    for (int i = 0; i < N_RESULTS; i++)
        for (int role = 0; role < HM_BENCH_ROLES; role++)
            snprintf(bench->result[i].reason[role], HM_ALLOC_REASON, "%s", reasons[i][role] ? reasons[i][role] : "");
    char *out = print(bench);
    const char *first = strstr(out, "best and mean of 2 repetitions\n");
    assert_non_null(first);
    assert_string_equal(first, "best and mean of 2 repetitions\nread of copy: full\nwritten of copy: limit\n");
    free(out);
}

static json_t *make(const void *bench)
{
    return hm_benchprint_json(bench);
}

static void test_short_memory_leaves_no_figures(void **state)
{
    check_short_memory(make, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_reason_is_printed_once, make_bench, free_bench),
        cmocka_unit_test_setup_teardown(test_short_memory_leaves_no_figures, make_bench, free_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
