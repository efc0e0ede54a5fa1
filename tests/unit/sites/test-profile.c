/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the reader and the writer of profiles by allocation site. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sites/profile/profile.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define FIXTURE FIXTURES "/sites/stencil.json"

static struct hm_profile *read_fixture(void)
{
    struct hm_error error = {""};
    struct hm_profile *profile = hm_profile_read(FIXTURE, &error);
    assert_string_equal(error.text, "");
    assert_non_null(profile);
    return profile;
}

/* The fixture's text; the caller frees it. */
static char *fixture_text(void)
{
    struct stat status;
    FILE *in = fopen(FIXTURE, "r");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &status), 0);
    char *text = calloc(1, (size_t)status.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)status.st_size, in), status.st_size);
    fclose(in);
    return text;
}

static void test_a_profile_is_read(void **state)
{
    struct hm_profile *profile = read_fixture();
    (void)state;
    assert_string_equal(profile->command, "./stencil -n 4");
    assert_int_equal(profile->n_sites, 5);
    assert_int_equal(profile->n_objects, 2);
    const struct hm_profile_site *site = &profile->site[2];
    assert_int_equal(site->id, 0xc3);
    assert_int_equal(site->n_frames, 2);
    assert_int_equal(site->frame[0].object, 1);
    assert_int_equal(site->frame[0].offset, 8212);
    assert_int_equal(site->allocations, 128);
    assert_float_equal(hm_profile_accesses(site), 150, 0);
    assert_true(profile->site[3].is_given && !site->is_given);
    assert_int_equal(profile->site[4].class_bytes, 64);
    assert_true(isnan(hm_profile_accesses(&profile->site[4])));
    hm_profile_free(profile);
}

/* A return address belongs to the function whose call it is behind. */
static void test_functions_of_return_addresses(void **state)
{
    static const struct {
        uint64_t offset;
        const char *name;
    } rows[] = {{4560, NULL},     {4561, "main"},   {4585, "main"}, {4720, "main"}, {4721, NULL},
                {4737, "_start"}, {4770, "_start"}, {4771, NULL},   {0, NULL},      {UINT64_MAX, NULL}};
    struct hm_profile *profile = read_fixture();
    (void)state;
    assert_int_equal(hm_profile_add_function(&profile->object[0], "again", 4560, 8), 0);
    assert_int_equal(profile->object[0].n_functions, 2);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_profile_function *found = hm_profile_function_at(&profile->object[0], rows[i].offset);
        assert_int_equal(found != NULL, rows[i].name != NULL);
        if (found)
            assert_string_equal(found->name, rows[i].name);
    }
    assert_null(hm_profile_function_at(&profile->object[1], 4585));
    hm_profile_free(profile);
}

/* What is written is what was read, bit by bit. */
static void test_a_profile_is_written_as_it_was_read(void **state)
{
    struct hm_profile *profile = read_fixture();
    json_t *written = hm_profile_json(profile), *read = json_load_file(FIXTURE, 0, NULL);
    (void)state;
    assert_non_null(written);
    char *text[] = {json_dumps(written, JSON_SORT_KEYS | JSON_REAL_PRECISION(12)),
                    json_dumps(read, JSON_SORT_KEYS | JSON_REAL_PRECISION(12))};
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
    json_decref(written);
    json_decref(read);
    hm_profile_free(profile);
}

#define NULLS ",0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0" /* 31 parts */

/* Slices of a profile are those that are written. In older ones, as in the second row, no samples are said of them:
 * they are those of the site. */
static void test_slices(void **state)
{
    static const char *const rows[] = {
        "{\"step_bytes\": 65536, \"extent_bytes\": 131073, \"accesses\": [1.0, 0.5, 0.0], \"samples\": 2.0}",
        "{\"step_bytes\": null, \"extent_bytes\": null, \"accesses\": [1.0" NULLS "]}",
    };
    static const char *const keys[] = {"step_bytes", "extent_bytes", NULL};
    static const double samples[N_ROWS(rows)] = {2, 400};
    (void)state;
    char *text = fixture_text(), *at = strstr(text, "\"slices\": null");
    assert_non_null(at);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        char *changed = NULL;
        int length = asprintf(&changed, "%.*s\"slices\": %s%s", (int)(at - text), text, rows[i], at + 14);
        struct hm_profile *profile = hm_profile_parse("it", changed, (size_t)length, &error);
        assert_string_equal(error.text, "");
        json_t *written = hm_profile_json(profile), *wanted = json_loads(rows[i], 0, NULL);
        json_t *got = json_object_get(json_array_get(json_object_get(written, "sites"), 0), "slices");
        assert_int_equal(json_array_size(json_object_get(got, "accesses")), hm_slices_count(&profile->site[0].slices));
        assert_float_equal(profile->site[0].slices.accesses[0], 1, 0);
        assert_int_equal(json_object_size(got), 4);
        assert_float_equal(json_number_value(json_object_get(got, "samples")), samples[i], 0);
        for (const char *const *key = keys; *key; key++)
            assert_true(json_equal(json_object_get(got, *key), json_object_get(wanted, *key)));
        json_decref(written);
        json_decref(wanted);
        hm_profile_free(profile);
        free(changed);
    }
    free(text);
}

/* So is what is resident: the rows of the schema, the second without slices. */
static void test_resident(void **state)
{
    static const char *const rows[] = {
        "{\"peak_bytes\": 7, \"mean_bytes\": 1.5, \"series\": [7" NULLS "], \"slices\": [0, 3, 31]}",
        "{\"peak_bytes\": 10485760, \"mean_bytes\": 0.0, \"series\": [0" NULLS "], \"slices\": null}",
    };
    (void)state;
    char *text = fixture_text(), *at = strstr(text, "\"resident\": null");
    assert_non_null(at);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        char *changed = NULL;
        int length = asprintf(&changed, "%.*s\"resident\": %s%s", (int)(at - text), text, rows[i], at + 16);
        struct hm_profile *profile = hm_profile_parse("it", changed, (size_t)length, &error);
        assert_string_equal(error.text, "");
        json_t *written = hm_profile_json(profile), *wanted = json_loads(rows[i], 0, NULL);
        json_t *got = json_object_get(json_array_get(json_object_get(written, "sites"), 0), "resident");
        assert_true(json_equal(got, wanted));
        assert_int_equal(hm_profile_room(&profile->site[0], 65), i == 0 ? 7 : 65);
        json_decref(written);
        json_decref(wanted);
        hm_profile_free(profile);
        free(changed);
    }
    free(text);
}

/* When a site has memory is written as it was read, but for what it says without a series. */
static void test_alive(void **state)
{
    static const char *const series[] = {"[7" NULLS "]", "null"};
    (void)state;
    char *text = fixture_text(), *at = strstr(text, "\"series\": null");
    assert_non_null(at);
    const char *after = strstr(at, "\"resident\"");
    for (size_t i = 0; i < N_ROWS(series); i++) {
        struct hm_error error = {""};
        char *changed = NULL;
        int length = asprintf(&changed, "%.*s\"series\": %s, \"alive\": {\"from\": 0.125, \"to\": 0.1875}, %s",
                              (int)(at - text), text, series[i], after);
        struct hm_profile *profile = hm_profile_parse("it", changed, (size_t)length, &error);
        assert_string_equal(error.text, "");
        json_t *written = hm_profile_json(profile);
        json_t *got = json_object_get(json_array_get(json_object_get(written, "sites"), 0), "alive");
        assert_float_equal(json_number_value(json_object_get(got, "from")), i == 0 ? 0.125 : 0, 0);
        assert_float_equal(json_number_value(json_object_get(got, "to")), i == 0 ? 0.1875 : 0, 0);
        assert_int_equal(json_is_null(got), i == 1);
        json_decref(written);
        hm_profile_free(profile);
        free(changed);
    }
    free(text);
}

#define ALIVE "it: sites[0].alive has to be from and to, shares of the run of which to is the larger one, or null"
#define RESIDENT                                                                                                       \
    "it: sites[0].resident has to be peak_bytes, mean_bytes and series of at most the site's, and slices, or null"
#define PARTS "\"series\": [0" NULLS "]"
#define SLICES                                                                                                         \
    "it: sites[0].slices has to be accesses of at most 32 slices, of step_bytes each up to extent_bytes, or null"

/* A change of the fixture, and what is said of it. */
static const struct {
    const char *from, *to, *error;
} refused[] = {
    {"\"schema\": 1", "\"schema\": 2", "it: schema has to be a whole number from 1 to 1"},
    {"\"schema\": 1,", "", "it: schema has to be a whole number from 1 to 1"},
    {"\"elapsed_s\": 12.5", "\"elapsed_s\": -1", "it: elapsed_s has to be a number that is not negative"},
    {"\"elapsed_s\": 12.5", "\"elapsed_s\": 1e300", "it: elapsed_s has to be a number that is not negative"},
    {"\"exit_code\": 0", "\"exit_code\": 256", "it: exit_code has to be a whole number from 0 to 255"},
    {"\"program\": {", "\"program\": 1, \"x\": {", "it: program has to be an object"},
    {"\"path\": \"/home/alice/stencil\",\n    \"build_id\"", "\"path\": null, \"build_id\"",
     "it: program.path has to be a text of less than 4096 bytes"},
    {"2f0d9b6c", "2F0D9B6C", "it: program.build_id has to be lower-case hexadecimal digits, or null"},
    {"\"samples\": 1000.0", "\"samples\": \"many\"", "it: sampling.samples has to be a number that is not negative"},
    {"\"source\": \"clock\"", "\"source\": \"\\u001b[2J\"",
     "it: sampling.source has to be one line without control characters"},
    {"\"why\": null", "\"why\": \"a\\u009bm\"", "it: sampling.why has to be one line without control characters"},
    {"\"unit\": 400000", "\"unit\": 0", "it: sampling.unit has to be a whole number from 1 to 1152921504606846976"},
    {"\"objects\": [", "\"objects\": {}, \"x\": [", "it: objects has to be an array of at most 4096 objects"},
    {"\"functions\": []", "\"functions\": {}", "it: objects[1].functions has to be an array of at most 65536 objects"},
    {"\"bytes\": 34", "\"bytes\": 0", "it: objects[0].bytes has to be a whole number from 1 to 9223372036854775807"},
    {"\"offset\": 4736", "\"offset\": 4560",
     "it: objects[0].offset has to be a whole number from 4561 to 9223372036854775806"},
    {"\"main\"", "4", "it: objects[0].name has to be a text of less than 4096 bytes"},
    {"\"sites\": [", "\"sites\": null, \"x\": [", "it: sites has to be an array of at most 65536 objects"},
    {"00000000000000a1", "a1", "it: sites[0].id has to be 16 lower-case hexadecimal digits"},
    {"\"given\": true", "\"given\": 1", "it: sites[3].given has to be true or false"},
    {"00000000000000b2", "00000000000000a1", "it: sites has to be without an id that stands twice"},
    {"\"object\": 1", "\"object\": 2", "it: sites[2].object has to be a whole number from 0 to 1"},
    {"\"offset\": 4585", "\"offset\": -1",
     "it: sites[0].offset has to be a whole number from 0 to 9223372036854775807"},
    {"\"allocations\": 128", "\"allocations\": 1.5",
     "it: sites[2].allocations has to be a whole number from 0 to 1152921504606846976"},
    {"\"mean_bytes\": 12582912.0", "\"mean_bytes\": null",
     "it: sites[2].mean_bytes has to be a number that is not negative"},
    {"\"series\": null", "\"series\": [1]",
     "it: sites[0].series has to be an array of 32 whole numbers from 0 to peak_bytes, or null"},
    {"\"series\": null", "\"series\": 0",
     "it: sites[0].series has to be an array of 32 whole numbers from 0 to peak_bytes, or null"},
    {"\"series\": null", "\"series\": [10485761" NULLS "]",
     "it: sites[0].series has to be an array of 32 whole numbers from 0 to peak_bytes, or null"},
    {"\"series\": null", "\"series\": [-1" NULLS "]",
     "it: sites[0].series has to be an array of 32 whole numbers from 0 to peak_bytes, or null"},
    {"\"alive\": null", "\"alive\": 1", ALIVE},
    {"\"alive\": null", "\"alive\": {\"from\": 0.5}", ALIVE},
    {"\"alive\": null", "\"alive\": {\"from\": 0.5, \"to\": 0.5}", ALIVE},
    {"\"alive\": null", "\"alive\": {\"from\": -0.1, \"to\": 0.5}", ALIVE},
    {"\"alive\": null", "\"alive\": {\"from\": 0, \"to\": 1.1}", ALIVE},
    {"\"resident\": null", "\"resident\": 1", RESIDENT},
    {"\"resident\": null", "\"resident\": {\"peak_bytes\": 10485761, \"mean_bytes\": 0, \"slices\": null, " PARTS "}",
     RESIDENT},
    {"\"resident\": null", "\"resident\": {\"peak_bytes\": 1, \"mean_bytes\": 2, \"slices\": null, " PARTS "}",
     RESIDENT},
    {"\"resident\": null", "\"resident\": {\"peak_bytes\": 1, \"mean_bytes\": -1, \"slices\": null, " PARTS "}",
     RESIDENT},
    {"\"resident\": null", "\"resident\": {\"peak_bytes\": 1, \"mean_bytes\": 0, \"slices\": [], " PARTS "}", RESIDENT},
    {"\"resident\": null", "\"resident\": {\"peak_bytes\": 1, \"mean_bytes\": 0, \"slices\": [1, 1], " PARTS "}",
     RESIDENT},
    {"\"resident\": null", "\"resident\": {\"peak_bytes\": 1, \"mean_bytes\": 0, \"slices\": [32], " PARTS "}",
     RESIDENT},
    {"\"resident\": null",
     "\"resident\": {\"peak_bytes\": 1, \"mean_bytes\": 0, \"slices\": null, \"series\": [2" NULLS "]}", RESIDENT},
    {"\"resident_peak_bytes\": null", "\"resident_peak_bytes\": 104857601",
     "it: resident_peak_bytes has to be a whole number from 0 to 104857600"},
    {"\"slices\": null", "\"slices\": 1", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": 1, \"extent_bytes\": 2, \"accesses\": [1]}", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": 1, \"extent_bytes\": 33, \"accesses\": [1" NULLS ",0]}", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": 1, \"extent_bytes\": null, \"accesses\": [1]}", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": null, \"extent_bytes\": null, \"accesses\": [1]}", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": 1, \"extent_bytes\": 1, \"accesses\": [-1]}", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": 1, \"extent_bytes\": 1, \"accesses\": [null]}", SLICES},
    {"\"slices\": null", "\"slices\": {\"step_bytes\": -1, \"extent_bytes\": 1, \"accesses\": [1]}",
     "it: sites[0].step_bytes has to be a whole number from 1 to 1152921504606846976"},
    {"\"lifetime_s\": 0.5", "\"lifetime_s\": -0.5", "it: sites[2].lifetime_s has to be a number that is not negative"},
    {"\"schema\": 1", "\"schema\": 1, \"schema\": 1",
     "it: no profile, as it is not JSON: line 2: duplicate object key"},
    {"\"schema\": 1", "\"schema\": 01", "it: no profile, as it is not JSON: line 2: invalid token near '0'"},
};

static void test_refusals(void **state)
{
    (void)state;
    char *text = fixture_text();
    for (size_t i = 0; i < N_ROWS(refused); i++) {
        struct hm_error error = {""};
        const char *at = strstr(text, refused[i].from);
        assert_non_null(at);
        char *changed = NULL;
        int length =
            asprintf(&changed, "%.*s%s%s", (int)(at - text), text, refused[i].to, at + strlen(refused[i].from));
        assert_true(length > 0);
        assert_null(hm_profile_parse("it", changed, (size_t)length, &error));
        assert_int_equal(errno, EBADMSG);
        error.text[strlen(refused[i].error)] = '\0'; /* jansson's own texts go on */
        assert_string_equal(error.text, refused[i].error);
        free(changed);
    }
    free(text);
}

/* A file that ends anywhere is refused. */
static void test_a_torn_profile(void **state)
{
    (void)state;
    char *text = fixture_text();
    for (size_t length = 0; length < strlen(text) - 2; length++)
        assert_null(hm_profile_parse("it", text, length, NULL));
    free(text);
}

static void test_what_is_no_file(void **state)
{
    struct hm_error error = {""};
    (void)state;
    assert_null(hm_profile_read("/dev/null", &error));
    assert_string_equal(error.text, "/dev/null: no profile, as it is not a file");
    assert_null(hm_profile_read(scratch_path("none"), &error));
    assert_int_equal(errno, ENOENT);
    int fd = open(scratch_path("huge"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)HM_PROFILE_FILE + 1), 0);
    close(fd);
    assert_null(hm_profile_read(scratch_path("huge"), &error));
    assert_int_equal(errno, E2BIG);
}

/* Wilson's interval: the values are of Newcombe, Statistics in Medicine 17 (1998), table I, method 3. */
static void test_confidence(void **state)
{
    static const struct {
        double hits, samples, low, high;
    } rows[] = {{81, 263, 0.2553, 0.3662},
                {15, 148, 0.0624, 0.1605},
                {0, 20, 0, 0.1611},
                {1, 29, 0.0061, 0.1718},
                {0, 253, 0, 0.015}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_profile profile = {.samples = rows[i].samples};
        const struct hm_profile_site site = {.samples = rows[i].hits};
        struct hm_profile_bounds bounds = hm_profile_confidence(&profile, hm_profile_all_accesses(&profile), &site);
        assert_float_equal(bounds.low, rows[i].low, 5e-5);
        assert_float_equal(bounds.high, rows[i].high, 5e-5);
        assert_true(bounds.low <= rows[i].hits / rows[i].samples && bounds.high >= rows[i].hits / rows[i].samples);
    }
    /* Its samples count as twice as many accesses as others do: 308 of 1000, and 616. */
    struct hm_profile_site heavy[] = {{.reads = 616, .samples = 308}};
    const struct hm_profile profile = {.samples = 1000, .elsewhere = 384, .n_sites = 1, .site = heavy};
    struct hm_profile_bounds twice = hm_profile_confidence(&profile, hm_profile_all_accesses(&profile), heavy);
    assert_float_equal(twice.low, 2 * 0.2801, 5e-4);
    assert_float_equal(twice.high, 2 * 0.3373, 5e-4);
    const struct hm_profile none = {.samples = NAN};
    const struct hm_profile_site site = {.samples = NAN};
    assert_true(isnan(hm_profile_confidence(&none, hm_profile_all_accesses(&none), &site).low));
}

/* The probability that the bounds of a share have it between them, over all numbers of hits that samples may have. */
static double coverage(double share, unsigned samples)
{
    const struct hm_profile profile = {.samples = samples};
    double sum = 0;
    for (unsigned hits = 0; hits <= samples; hits++) {
        const struct hm_profile_site site = {.samples = hits};
        struct hm_profile_bounds bounds = hm_profile_confidence(&profile, hm_profile_all_accesses(&profile), &site);
        double ways = lgamma(samples + 1.0) - lgamma(hits + 1.0) - lgamma(samples - hits + 1.0);
        if (bounds.low <= share && share <= bounds.high)
            sum += exp(ways + hits * log(share) + (samples - hits) * log(1 - share));
    }
    return sum;
}

/* It is 95 % on average: of a single share and number, whole hits make it a little more or less. */
static void test_a_share_is_within_its_bounds(void **state)
{
    static const double shares[] = {0.02, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9};
    static const unsigned samples[] = {50, 200, 1000};
    double sum = 0;
    (void)state;
    for (size_t i = 0; i < N_ROWS(shares); i++) {
        for (size_t j = 0; j < N_ROWS(samples); j++) {
            double found = coverage(shares[i], samples[j]);
            assert_true(found >= 0.92 && found <= 0.99);
            sum += found;
        }
    }
    assert_float_equal(sum / (N_ROWS(shares) * N_ROWS(samples)), 0.95, 0.01);
}

static void test_the_kind_of_input(void **state)
{
    static const struct {
        const char *text, *input;
        bool has;
    } rows[] = {
        {NULL, "large", false},           {"", "large", false},
        {"large", "large", true},         {"larger", "large", false},
        {"small", "large", false},        {"small + large", "large", true},
        {"small + large", "small", true}, {"small + larger", "large", false},
        {"small+large", "large", false},  {"a + b + c", "b", true},
        {"a + b + c", "a + b", false},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[32] = "";
        struct hm_profile profile = {.class_text = rows[i].text ? text : NULL};
        snprintf(text, sizeof(text), "%s", rows[i].text ? rows[i].text : "");
        assert_int_equal(hm_profile_has_input(&profile, rows[i].input), rows[i].has);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_profile_is_read),
        cmocka_unit_test(test_functions_of_return_addresses),
        cmocka_unit_test(test_a_profile_is_written_as_it_was_read),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_alive),
        cmocka_unit_test(test_resident),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_torn_profile),
        cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_confidence),
        cmocka_unit_test(test_a_share_is_within_its_bounds),
        cmocka_unit_test(test_the_kind_of_input),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
