/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a plan is given to the kernel, and what this kernel can do. Plans that the kernel is to accept use node 0,
 * which every machine has. */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/apply/policy.h"
#include "unit/lib/rows.h"

#define BIND_BALANCING_STATIC (2 | 1 << 13 | 1 << 15) /* MPOL_BIND | MPOL_F_NUMA_BALANCING | MPOL_F_STATIC_NODES */
#define FIELD_POLICY 2                                /* field of a line of numa_maps */

/* Read the policy of the first mapping, in the kernel's words: "bind=static:0". */
static void read_policy(char *policy, size_t size)
{
    char line[512], *rest = line, *field = NULL;
    FILE *file = fopen("/proc/self/numa_maps", "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    for (int i = 0; i < FIELD_POLICY; i++)
        field = strsep(&rest, " \n");
    snprintf(policy, size, "%s", field);
}

static struct hm_plan plan_of(enum hm_policy policy, const char *nodes)
{
    struct hm_plan plan = {.policy = policy};
    assert_int_equal(hm_set_parse(&plan.nodes, nodes, NULL), 0);
    return plan;
}

/* Run in a child, as the policy stays with the process. Returns the child's exit status. */
static int in_child(int (*run)(const struct hm_plan *), const struct hm_plan *plan)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(run(plan));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Returns 0 if the kernel has the plan's policy afterwards, 77 if it refuses the policy, or another number. */
static int apply_and_look(const struct hm_plan *plan)
{
    static const char *const wanted[] = {"default",
                                         "bind=static:0",
                                         "interleave=static:0",
                                         "weighted interleave=static:0",
                                         "prefer (many)=static:0",
                                         "bind=static|balancing:0"};
    char policy[64];
    bool is_default;
    int mode;
    if (hm_policy_apply(plan, NULL) < 0)
        return errno == EINVAL ? 77 : 1;
    if (get_mempolicy(&mode, NULL, 0, NULL, 0) < 0)
        return 2;
    is_default = mode == MPOL_DEFAULT;
    /* Older kernels do not show this policy in numa_maps. */
    if (plan->policy == HM_POLICY_BIND_BALANCING)
        return mode == BIND_BALANCING_STATIC ? 0 : 3;
    if (is_default != (plan->policy == HM_POLICY_DEFAULT))
        return 2;
    read_policy(policy, sizeof(policy));
    /* numa_maps separates its fields by blanks. Two of the names have a blank: only their first word is compared. */
    return strncmp(wanted[plan->policy], policy, strlen(policy)) == 0 ? 0 : 3;
}

static void test_apply(void **state)
{
    static const enum hm_policy policies[] = {HM_POLICY_DEFAULT,        HM_POLICY_BIND,
                                              HM_POLICY_INTERLEAVE,     HM_POLICY_WEIGHTED_INTERLEAVE,
                                              HM_POLICY_PREFERRED_MANY, HM_POLICY_BIND_BALANCING};
    static struct hm_tiers tiers;
    struct hm_abilities abilities;
    (void)state;
    assert_int_equal(hm_abilities_read(&tiers, &abilities, NULL), 0);
    for (size_t i = 0; i < N_ROWS(policies); i++) {
        struct hm_plan plan = plan_of(policies[i], "0");
        bool is_known = (policies[i] != HM_POLICY_WEIGHTED_INTERLEAVE || abilities.weighted_interleave) &&
                        (policies[i] != HM_POLICY_PREFERRED_MANY || abilities.preferred_many) &&
                        (policies[i] != HM_POLICY_BIND_BALANCING || abilities.bind_balancing);
        /* The kernel accepts the policies that hm_abilities_read found, and refuses the others. */
        assert_int_equal(in_child(apply_and_look, &plan), is_known ? 0 : 77);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *nodes, *said;
    } rows[] = {
        {"", "the memory policy bind of nodes  cannot be set: Invalid argument"},
        {"1023", "the memory policy bind of nodes 1023 cannot be set: Invalid argument"},
        {"1024", "node 1024 cannot be in a memory policy: the kernel has nodes 0 to 1023"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_plan plan = plan_of(HM_POLICY_BIND, rows[i].nodes);
        struct hm_error error = {""};
        int mode;
        assert_int_equal(hm_policy_apply(&plan, &error), -1);
        assert_int_equal(errno, EINVAL);
        assert_string_equal(error.text, rows[i].said);
        assert_int_equal(get_mempolicy(&mode, NULL, 0, NULL, 0), 0);
        assert_int_equal(mode, MPOL_DEFAULT);
    }
}

/* Returns whether a page of this process has its soft-dirty mark after a write, and loses it when marks are cleared. */
static bool marks_are_cleared(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    int clear = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    uint64_t before = 0, after = 0;
    assert_true(page != MAP_FAILED && pagemap >= 0 && clear >= 0);
    off_t at = (off_t)((uintptr_t)page / 4096 * sizeof(before));
    page[0] = 1;
    assert_int_equal(pread(pagemap, &before, sizeof(before), at), sizeof(before));
    ssize_t cleared = write(clear, "4", 1);
    assert_int_equal(pread(pagemap, &after, sizeof(after), at), sizeof(after));
    close(clear);
    close(pagemap);
    munmap(page, 4096);
    return cleared == 1 && (before >> 55 & 1) == 1 && (after >> 55 & 1) == 0;
}

/* Finding out what the kernel can do does not change this process's own policy. */
static int ask_under_bind(const struct hm_plan *plan)
{
    static struct hm_tiers tiers;
    struct hm_abilities abilities;
    char before[64], after[64];
    if (hm_policy_apply(plan, NULL) < 0)
        return 1;
    read_policy(before, sizeof(before));
    if (hm_abilities_read(&tiers, &abilities, NULL) < 0)
        return 2;
    read_policy(after, sizeof(after));
    return strcmp(before, after) == 0 && strcmp(after, "bind=static:0") == 0 ? 0 : 3;
}

static void test_abilities_change_nothing(void **state)
{
    struct hm_plan plan = plan_of(HM_POLICY_BIND, "0");
    (void)state;
    assert_int_equal(in_child(ask_under_bind, &plan), 0);
}

/* hm_abilities_read looks for a soft-dirty mark on a page that it has written, and clears none. This test also clears
 * the marks: if the bit in pagemap stays set, it means something else. */
static void test_marks(void **state)
{
    static struct hm_tiers tiers;
    struct hm_abilities abilities;
    (void)state;
    assert_int_equal(hm_abilities_read(&tiers, &abilities, NULL), 0);
    assert_int_equal(abilities.lacks_marks, !marks_are_cleared());
}

static void test_weights(void **state)
{
    static struct hm_tiers tiers;
    struct hm_abilities abilities;
    char path[96];
    (void)state;
    assert_string_equal(hm_policy_weight_path(12, path, sizeof(path)),
                        "/sys/kernel/mm/mempolicy/weighted_interleave/node12");
    tiers.topology.n_nodes = 1;
    tiers.topology.node[0] = (struct hm_node){.id = 0, .capacity_bytes = 1, .allowed = true};
    assert_int_equal(hm_abilities_read(&tiers, &abilities, NULL), 0);
    assert_int_equal(abilities.has_weights, access(hm_policy_weight_path(0, path, sizeof(path)), R_OK) == 0);
    assert_int_equal(abilities.weights[0] > 0, abilities.has_weights);
    /* One node without a weight makes all weights unusable. */
    tiers.topology.node[0].id = 1022;
    assert_int_equal(hm_abilities_read(&tiers, &abilities, NULL), 0);
    assert_false(abilities.has_weights);
    assert_false(abilities.alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply), cmocka_unit_test(test_refused), cmocka_unit_test(test_abilities_change_nothing),
        cmocka_unit_test(test_marks), cmocka_unit_test(test_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
