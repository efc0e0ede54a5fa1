/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how ipmctl's answers are read: recorded ones, and such as have not the form that they should. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ipmctlanswer.h"
#include "memmode/ipmctl/answers.h"
#include "unit/lib/rows.h"

#define ALL UINT64_C(270582939648)
#define XML "<?xml version=\"1.0\"?>\n"

static struct hm_nvmxml answer;

static void reads_resources(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct hm_memmode_resources resources;
        enum hm_memmode mode;
    } rows[] = {
        {"flat-resources", {.app_direct = ALL, .physical = ALL}, HM_MEMMODE_FLAT},
        {"cache-resources", {.dram_cache = UINT64_C(32) << 30, .memory = ALL, .physical = ALL}, HM_MEMMODE_CACHE},
        {"mixed-resources",
         {.dram_cache = UINT64_C(32) << 30, .memory = ALL / 2, .app_direct = ALL / 2, .physical = ALL},
         HM_MEMMODE_MIXED},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_memmode_state found = {0};
        struct hm_error error = {{0}};
        assert_int_equal(answer_read(rows[i].name, &answer, &error), 0);
        if (hm_answers_resources(&answer, &found.resources, &error) != 0)
            fail_msg("%s: %s", rows[i].name, error.text);
        assert_memory_equal(&found.resources, &rows[i].resources, sizeof(found.resources));
        assert_int_equal(hm_memmode_now(&found), rows[i].mode);
    }
}

static void reads_goals(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum hm_memmode pending;
    } rows[] = {
        {"goal-none", HM_MEMMODE_NONE},
        {"goal-flat", HM_MEMMODE_FLAT},
        {"goal-cache", HM_MEMMODE_CACHE},
        {"goal-half", HM_MEMMODE_HALF},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_memmode_state found = {.modules.n = 2};
        struct hm_error error = {{0}};
        assert_int_equal(answer_read(rows[i].name, &answer, &error), 0);
        if (hm_answers_goal(&answer, &found.goal, &error) != 0 || hm_memmode_pending(&found) != rows[i].pending)
            fail_msg("%s: %s", rows[i].name, error.text);
    }
}

static void reads_abilities_and_modules(void **state)
{
    (void)state;
    struct hm_memmode_abilities abilities;
    struct hm_memmode_modules modules;
    struct hm_error error = {{0}};
    assert_int_equal(answer_read("abilities", &answer, &error), 0);
    assert_int_equal(hm_answers_abilities(&answer, &abilities, &error), 0);
    assert_true(abilities.configures && abilities.cache && abilities.app_direct);
    assert_int_equal(answer_read("abilities-locked", &answer, &error), 0);
    assert_int_equal(hm_answers_abilities(&answer, &abilities, &error), 0);
    assert_true(abilities.configures && !abilities.cache && abilities.app_direct);
    assert_int_equal(answer_read("modules", &answer, &error), 0);
    assert_int_equal(hm_answers_modules(&answer, &modules, &error), 0);
    assert_int_equal(modules.n, 2);
    assert_string_equal(modules.ill, "");
}

static void believes_only_changes_without_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name, *said;
    } rows[] = {
        {"goal-cache", NULL}, /* a creation */
        {"delete", NULL},
        {"create-half", "Create region configuration goal on PMem module 0x0001: Error 188 - Unable to initialize"},
        {"create-pending", "Create region configuration goal failed: Error 115 - PMem modules on one or more sockets"},
        {"delete-none", "Delete memory allocation goal from PMem module 0x0001: Error 122 - There is no goal"},
        {"goal-none", "There are no goal configs defined in the system."},
        {"modules", "it answered with a DimmList, not with a list of results"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        assert_int_equal(answer_read(rows[i].name, &answer, &error), 0);
        int result = hm_answers_change(&answer, &error);
        if (result != (rows[i].said ? -1 : 0) ||
            (rows[i].said && strncmp(error.text, rows[i].said, strlen(rows[i].said)) != 0))
            fail_msg("%s: \"%s\"", rows[i].name, error.text);
    }
}

enum reader { NO_READER, RESOURCES, GOAL, ABILITIES, MODULES };

static int read_as(enum reader reader, struct hm_error *error)
{
    struct hm_memmode_state found;
    switch (reader) {
    case RESOURCES:
        return hm_answers_resources(&answer, &found.resources, error);
    case GOAL:
        return hm_answers_goal(&answer, &found.goal, error);
    case ABILITIES:
        return hm_answers_abilities(&answer, &found.abilities, error);
    case MODULES:
        if (hm_answers_modules(&answer, &found.modules, error) != 0)
            return -1;
        return found.modules.ill[0] ? hm_fail(error, EIO, "%s", found.modules.ill) : 0;
    default:
        return 0;
    }
}

static void refuses_other_answers(void **state)
{
    (void)state;
    static const struct {
        enum reader reader;
        const char *text, *said;
    } rows[] = {
        {NO_READER, "", "it answered nothing"},
        {NO_READER, "\n \n", "it answered nothing"},
        {NO_READER, "\nInitialization failed. No PMem modules in the system.\n",
         "Initialization failed. No PMem modules in the system."},
        {NO_READER, "note: " XML "<a/>", "note: <?xml version"}, /* not at the beginning of a line */
        {NO_READER, XML, "no element found"},
        {NO_READER, XML "<a><b></a></b>", "mismatched tag"},
        {NO_READER, XML "<a/><b/>", "junk after document element"},
        {NO_READER, XML "<a><b><c><d/></c></b></a>", "nested too deep"},
        {NO_READER, XML "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "it has a document type"},
        {NO_READER, XML "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "it has a document type"},
        {RESOURCES, XML "<MemoryResources/>", "it answered without the memory type Cache"},
        {RESOURCES, XML "<MemoryResources><data><MemoryType>Cache</MemoryType></data></MemoryResources>",
         "it answered without DDR"},
        {RESOURCES,
         XML "<MemoryResources><data><MemoryType>Cache</MemoryType><DDR>32 GiB</DDR></data></MemoryResources>",
         "DDR is \"32 GiB\", not a number of bytes"},
        {RESOURCES, XML "<DimmList/>", "it answered with a DimmList, not with a MemoryResources"},
        {RESOURCES, XML "<Error Type=\"1\">\nno\nmore\n</Error>", "no"},
        {GOAL, XML "<ConfigGoalList><ConfigGoal><MemorySize>1 B</MemorySize></ConfigGoal></ConfigGoalList>",
         "it answered without AppDirect1Size"},
        {GOAL,
         XML "<ConfigGoalList><ConfigGoal><MemorySize>18446744073709551616 B</MemorySize></ConfigGoal>"
             "</ConfigGoalList>",
         "MemorySize is \"18446744073709551616 B\""},
        {GOAL, XML "<Results><Result>\nSomething else.\n</Result></Results>", "Something else."},
        {ABILITIES, XML "<SystemCapabilities><AllowedVolatileMode>2LM</AllowedVolatileMode></SystemCapabilities>",
         "it answered without PlatformConfigSupported"},
        {MODULES, XML "<DimmList><Dimm><DimmID>0x0001</DimmID></Dimm></DimmList>", "it answered without HealthState"},
        {MODULES,
         XML "<DimmList><Dimm><DimmID>1</DimmID><HealthState>Healthy</HealthState></Dimm>"
             "<Dimm><DimmID>2</DimmID><HealthState>Fatal failure</HealthState></Dimm></DimmList>",
         "PMem module 2 has the health state \"Fatal failure\""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        bool has_failed = hm_nvmxml_parse(rows[i].text, strlen(rows[i].text), &answer, &error) != 0 ||
                          read_as(rows[i].reader, &error) != 0;
        if (!has_failed || !strstr(error.text, rows[i].said))
            fail_msg("\"%s\": \"%s\"", rows[i].text, error.text);
    }
}

/* Nothing is cut without a word: an answer beyond the limits is refused. */
static void refuses_too_much(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    size_t size = HM_NVMXML_MOST_BYTES + 1;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    assert_int_equal(hm_nvmxml_parse(text, size, &answer, &error), -1);
    assert_int_equal(errno, E2BIG);
    char *end = stpcpy(text, XML "<a>");
    for (int i = 0; i <= HM_NVMXML_MOST_FIELDS; i++)
        end = stpcpy(end, "<b/>");
    end = stpcpy(end, "</a>");
    assert_int_equal(hm_nvmxml_parse(text, (size_t)(end - text), &answer, &error), -1);
    assert_non_null(strstr(error.text, "it has too many fields"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_resources),
        cmocka_unit_test(reads_goals),
        cmocka_unit_test(reads_abilities_and_modules),
        cmocka_unit_test(believes_only_changes_without_errors),
        cmocka_unit_test(refuses_other_answers),
        cmocka_unit_test(refuses_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
