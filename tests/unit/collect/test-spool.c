/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the entries that slurmctld's epilog reads from its environment, and the files that it writes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/spoolfile.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define NOW 1800000000
#define LONG_64 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"

/* a variable of the environment */
struct variable {
    const char *name, *value;
};

static const struct variable plain[] = {
    {"SLURM_JOB_ID", "42"},
    {"SLURM_JOB_UID", "1001"},
    {"SLURM_JOB_PARTITION", "main"},
    {"SLURM_CLUSTER_NAME", "test"},
    {"SLURM_JOB_RESTART_COUNT", "0"},
    {"SLURM_JOB_START_TIME", "1799990000"},
    {"SLURM_JOB_END_TIME", "1799999999"},
    {"SLURM_JOB_NODELIST", "n[1-3,7]"},
};

/* Changes to the plain environment: variables are replaced, removed (NULL) or added. */
struct environment {
    struct variable other[4];
};

static const char *look_up(const char *name, void *data)
{
    const struct environment *environment = data;
    for (size_t i = 0; i < N_ROWS(environment->other) && environment->other[i].name; i++)
        if (strcmp(environment->other[i].name, name) == 0)
            return environment->other[i].value;
    for (size_t i = 0; i < N_ROWS(plain); i++)
        if (strcmp(plain[i].name, name) == 0)
            return plain[i].value;
    return NULL;
}

static int read_entry(struct hm_spool_entry *entry, const struct environment *environment, struct hm_error *error)
{
    struct hm_config *config = malloc(sizeof(*config));
    struct environment copy = *environment;
    assert_non_null(config);
    hm_config_defaults(config);
    int result = hm_spool_entry_read(entry, config, look_up, &copy, NOW, error);
    free(config);
    return result;
}

#define NUMBER_SAID(variable, value, range) variable ": \"" value "\" is not a number of " range
#define NAME_SAID(variable, value)                                                                                     \
    variable ": \"" value "\" is not a name of at most 63 letters, digits and any of ._-@+"
#define LIST_SAID(value)                                                                                               \
    "SLURM_JOB_NODELIST: \"" value "\" is not a list of nodes like n[1-3,7], of at most 65535 bytes"

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct environment environment;
        const char *said;
    } rows[] = {
        {{{{"SLURM_JOB_ID", NULL}}}, "SLURM_JOB_ID is not set: this is run by slurmctld, as EpilogSlurmctld"},
        {{{{"SLURM_JOB_UID", NULL}}}, "SLURM_JOB_UID is not set: this is run by slurmctld, as EpilogSlurmctld"},
        {{{{"SLURM_JOB_ID", ""}}}, NUMBER_SAID("SLURM_JOB_ID", "", "1 to 4294967295")},
        {{{{"SLURM_JOB_ID", "0"}}}, NUMBER_SAID("SLURM_JOB_ID", "0", "1 to 4294967295")},
        {{{{"SLURM_JOB_ID", "42 "}}}, NUMBER_SAID("SLURM_JOB_ID", "42 ", "1 to 4294967295")},
        {{{{"SLURM_JOB_ID", "-1"}}}, NUMBER_SAID("SLURM_JOB_ID", "-1", "1 to 4294967295")},
        {{{{"SLURM_JOB_ID", "../x"}}}, NUMBER_SAID("SLURM_JOB_ID", "../x", "1 to 4294967295")},
        {{{{"SLURM_JOB_ID", "4294967296"}}}, NUMBER_SAID("SLURM_JOB_ID", "4294967296", "1 to 4294967295")},
        {{{{"SLURM_ARRAY_TASK_ID", "1-3"}}}, NUMBER_SAID("SLURM_ARRAY_TASK_ID", "1-3", "0 to 4294967295")},
        {{{{"SLURM_JOB_END_TIME", "Unknown"}}}, NUMBER_SAID("SLURM_JOB_END_TIME", "Unknown", "1 to 253402300799")},
        {{{{"SLURM_CLUSTER_NAME", "a\nb"}}}, NAME_SAID("SLURM_CLUSTER_NAME", "a\\nb")},
        {{{{"SLURM_CLUSTER_NAME", "a\"b"}}}, NAME_SAID("SLURM_CLUSTER_NAME", "a\"b")},
        {{{{"SLURM_CLUSTER_NAME", LONG_64}}}, NAME_SAID("SLURM_CLUSTER_NAME", LONG_64)},
        {{{{"SLURM_CLUSTER_NAME", "../x"}}}, NAME_SAID("SLURM_CLUSTER_NAME", "../x")},
        {{{{"SLURM_JOB_NODELIST", "n1;reboot"}}}, LIST_SAID("n1;reboot")},
        {{{{"SLURM_JOB_NODELIST", "n1 n2"}}}, LIST_SAID("n1 n2")},
        {{{{"SLURM_JOB_NODELIST", "../../etc/passwd"}}}, LIST_SAID("../../etc/passwd")},
        {{{{"SLURM_JOB_NODELIST", "caf\xc3\xa9"}}}, LIST_SAID("caf\\xc3\\xa9")},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_spool_entry entry;
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(read_entry(&entry, &rows[i].environment, &error), -1);
        assert_string_equal(error.text, rows[i].said);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(read_entry(&entry, &rows[i].environment, NULL), -1);
    }
}

static void test_a_list_of_nodes_that_is_too_long(void **state)
{
    (void)state;
    struct hm_spool_entry entry;
    struct hm_error error = {""};
    char *list = malloc(HM_SPOOL_NODES + 1);
    assert_non_null(list);
    memset(list, 'n', HM_SPOOL_NODES);
    list[HM_SPOOL_NODES] = '\0';
    const struct environment environment = {{{"SLURM_JOB_NODELIST", list}}};
    assert_int_equal(read_entry(&entry, &environment, &error), -1);
    list[HM_SPOOL_NODES - 1] = '\0';
    assert_int_equal(read_entry(&entry, &environment, &error), 0);
    assert_ptr_equal(entry.nodes, list);
    free(list);
}

static void test_a_job_without_nodes_has_no_entry(void **state)
{
    (void)state;
    static const char *const lists[] = {NULL, "", "(null)"};
    for (size_t i = 0; i < N_ROWS(lists); i++) {
        struct hm_spool_entry entry;
        struct hm_error error = {""};
        const struct environment environment = {{{"SLURM_JOB_NODELIST", lists[i]}}};
        assert_int_equal(read_entry(&entry, &environment, &error), 1);
        assert_string_equal(error.text, "");
    }
}

static void test_what_is_written(void **state)
{
    (void)state;
    static const struct {
        struct environment environment;
        const char *line;
    } rows[] = {
        {{{{NULL, NULL}}},
         "{\"spool\":1,\"job_id\":42,\"array_job_id\":null,\"array_task_id\":null,\"het_job_id\":null,"
         "\"het_job_offset\":null,\"restart_count\":0,\"uid\":1001,\"cluster\":\"test\",\"start_s\":1799990000,\"end_"
         "s\":1799999999,\"nodes\":\"n[1-3,7]\",\"asked\":false}"},
        {{{{"SLURM_ARRAY_JOB_ID", "40"},
           {"SLURM_ARRAY_TASK_ID", "0"},
           {"SLURM_JOB_RESTART_COUNT", "3"},
           {"SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem", "spill"}}},
         "{\"spool\":1,\"job_id\":42,\"array_job_id\":40,\"array_task_id\":0,\"het_job_id\":null,"
         "\"het_job_offset\":null,\"restart_count\":3,\"uid\":1001,\"cluster\":\"test\",\"start_s\":1799990000,\"end_"
         "s\":1799999999,\"nodes\":\"n[1-3,7]\",\"asked\":true}"},
        /* A component of a heterogeneous job. An array's task id without the array's job id is ignored. */
        {{{{"SLURM_HET_JOB_ID", "41"}, {"SLURM_HET_JOB_OFFSET", "1"}, {"SLURM_ARRAY_TASK_ID", "5"}}},
         "{\"spool\":1,\"job_id\":42,\"array_job_id\":null,\"array_task_id\":null,\"het_job_id\":41,"
         "\"het_job_offset\":1,\"restart_count\":0,\"uid\":1001,\"cluster\":\"test\",\"start_s\":1799990000,\"end_s\":"
         "1799999999,\"nodes\":\"n[1-3,7]\",\"asked\":false}"},
        /* Slurm 22.05 sets no times: the end is now. */
        {{{{"SLURM_JOB_START_TIME", NULL}, {"SLURM_JOB_END_TIME", NULL}, {"SLURM_JOB_NODELIST", "n1"}}},
         "{\"spool\":1,\"job_id\":42,\"array_job_id\":null,\"array_task_id\":null,\"het_job_id\":null,"
         "\"het_job_offset\":null,\"restart_count\":0,\"uid\":1001,\"cluster\":\"test\",\"start_s\":null,\"end_s\":"
         "1800000000,\"nodes\":\"n1\",\"asked\":false}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_spool_entry entry;
        struct hm_error error = {""};
        assert_int_equal(read_entry(&entry, &rows[i].environment, &error), 0);
        char *line = hm_spool_entry_format(&entry);
        assert_string_equal(line, rows[i].line);
        free(line);
    }
}

static void test_whose_records_are_expected(void **state)
{
    static const struct {
        const char *option;
        bool is_asked;
    } rows[] = {{"spill", true}, {"fsdax,size=1G", true}, {"off", false}, {"spil", false}, {"", false}};
    (void)state;
    struct hm_config *config = malloc(sizeof(*config));
    struct environment environment = {{{NULL, NULL}}};
    struct hm_spool_entry entry;
    assert_non_null(config);
    hm_config_defaults(config);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct environment asks = {{{"SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem", rows[i].option}}};
        assert_int_equal(hm_spool_entry_read(&entry, config, look_up, &asks, NOW, NULL), 0);
        assert_int_equal(entry.is_asked, rows[i].is_asked);
    }
    config->record = HM_RECORD_ALL;
    assert_int_equal(hm_spool_entry_read(&entry, config, look_up, &environment, NOW, NULL), 0);
    assert_true(entry.is_asked);
    config->record = HM_RECORD_REQUESTED;
    config->n_rules = 1;
    config->rule[0] = (struct hm_config_rule){.kind = HM_RULE_PARTITION, .name = "main", .default_mode = "spill"};
    assert_int_equal(hm_spool_entry_read(&entry, config, look_up, &environment, NOW, NULL), 0);
    assert_true(entry.is_asked);
    memcpy(config->rule[0].name, "other", sizeof("other"));
    assert_int_equal(hm_spool_entry_read(&entry, config, look_up, &environment, NOW, NULL), 0);
    assert_false(entry.is_asked);
    free(config);
}

/* Records which files were flushed to the disk, and whether the file `path` was there by then. */
static struct flushed {
    const char *path;
    int fails_at, count; /* fails_at: number of the flush that fails, from 1; count: flushes so far */
    mode_t mode[4];
    bool is_named[4];
} flushed;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    struct stat status;
    int at = flushed.count++;
    assert_true(at < (int)N_ROWS(flushed.mode));
    assert_int_equal(fstat(fd, &status), 0);
    flushed.mode[at] = status.st_mode;
    flushed.is_named[at] = flushed.path && access(flushed.path, F_OK) == 0;
    if (flushed.count != flushed.fails_at)
        return __real_fsync(fd);
    errno = EIO;
    return -1;
}

static struct hm_spool_entry some_entry(void)
{
    struct hm_spool_entry entry;
    const struct environment environment = {{{NULL, NULL}}};
    assert_int_equal(read_entry(&entry, &environment, NULL), 0);
    return entry;
}

static void test_files(void **state)
{
    (void)state;
    struct hm_spool_entry entry = some_entry();
    struct hm_error error = {""};
    struct stat status;
    char text[1024] = "";
    const char *folder = scratch_path("spool"), *path = scratch_path("spool/42.1799999999.json");
    assert_int_equal(mkdir(folder, 0700), 0);
    /* A draft that a killed process with the same id left does no harm. Nor does a second call for the same job. */
    scratch_write(scratch_path("spool/.%d.draft", (int)getpid()), "torn");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hm_spool_file_write(folder, &entry, &error), 0);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        assert_int_equal(access(scratch_path("spool/.%d.draft", (int)getpid()), F_OK), -1);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    char *line = hm_spool_entry_format(&entry);
    assert_string_equal(text, line);
    free(line);
}

static void test_what_is_written_is_on_the_disk(void **state)
{
    (void)state;
    struct hm_spool_entry entry = some_entry();
    struct hm_error error = {""};
    const char *folder = scratch_path("disk"), *path = scratch_path("disk/42.1799999999.json");
    assert_int_equal(mkdir(folder, 0700), 0);
    flushed = (struct flushed){.fails_at = 1};
    assert_int_equal(hm_spool_file_write(folder, &entry, &error), -1);
    assert_string_equal(error.text, "42.1799999999.json cannot be written to spool_dir: Input/output error");
    assert_int_equal(errno, EIO);
    assert_int_equal(access(path, F_OK), -1);
    flushed = (struct flushed){.fails_at = 2};
    assert_int_equal(hm_spool_file_write(folder, &entry, &error), -1);
    assert_int_equal(unlink(path), 0);
    flushed = (struct flushed){.path = path};
    assert_int_equal(hm_spool_file_write(folder, &entry, &error), 0);
    /* The file is flushed first, before it has its name, then the folder. */
    assert_int_equal(flushed.count, 2);
    assert_true(S_ISREG(flushed.mode[0]) && !flushed.is_named[0]);
    assert_true(S_ISDIR(flushed.mode[1]) && flushed.is_named[1]);
    assert_int_equal(access(scratch_path("disk/.%d.draft", (int)getpid()), F_OK), -1);
}

/* What fstatvfs tells, as a test sets it. If f_blocks is 0, fstatvfs tells the real file system's room. */
static struct statvfs room;

int __real_fstatvfs(int fd, struct statvfs *status);
int __wrap_fstatvfs(int fd, struct statvfs *status);

int __wrap_fstatvfs(int fd, struct statvfs *status)
{
    if (room.f_blocks == 0)
        return __real_fstatvfs(fd, status);
    *status = room;
    return 0;
}

static void test_a_twentieth_of_the_file_system_stays_free(void **state)
{
    (void)state;
    static const struct {
        fsblkcnt_t blocks, files;
        int result;
    } rows[] = {{50, 100, 0}, {49, 100, -1}, {50, 99, -1}};
    const struct hm_spool_entry entry = {.job_id = 8, .end_s = 9, .nodes = "n1"};
    struct hm_error error = {""};
    const char *folder = scratch_path("room");
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        room =
            (struct statvfs){.f_blocks = 1000, .f_bavail = rows[i].blocks, .f_files = 2000, .f_favail = rows[i].files};
        assert_int_equal(hm_spool_file_write(folder, &entry, &error), rows[i].result);
        assert_true(rows[i].result == 0 || errno == ENOSPC);
    }
    assert_non_null(strstr(error.text, "has less than a 20th of its space or of its files free"));
    room = (struct statvfs){.f_blocks = 0};
}

static void test_folders_that_are_not_trusted(void **state)
{
    (void)state;
    struct hm_spool_entry entry = some_entry();
    struct hm_error error = {""};
    char wanted[HM_ERROR_TEXT];
    const char *folder = scratch_path("open"), *link = scratch_path("link");
    assert_int_equal(hm_spool_file_write(scratch_path("none"), &entry, &error), -1);
    snprintf(wanted, sizeof(wanted), "spool_dir %s: No such file or directory", scratch_path("none"));
    assert_string_equal(error.text, wanted);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(hm_spool_file_write(link, &entry, &error), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(chmod(folder, 0722), 0);
    assert_int_equal(hm_spool_file_write(folder, &entry, &error), -1);
    snprintf(wanted, sizeof(wanted),
             "spool_dir %s must belong to user %u and be writable by nobody else (it has user %u, mode 0722)", folder,
             geteuid(), geteuid());
    assert_string_equal(error.text, wanted);
    assert_int_equal(errno, EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_list_of_nodes_that_is_too_long),
        cmocka_unit_test(test_a_job_without_nodes_has_no_entry),
        cmocka_unit_test(test_what_is_written),
        cmocka_unit_test(test_whose_records_are_expected),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_what_is_written_is_on_the_disk),
        cmocka_unit_test(test_a_twentieth_of_the_file_system_stays_free),
        cmocka_unit_test(test_folders_that_are_not_trusted),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
