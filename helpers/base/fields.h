/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-describing state: a structure of ours as text, one line for each field, "path value". One table of rows says
 * what the fields are; it writes them, reads them and checks them.
 *
 *     hybridmem job 1
 *     user alice
 *     plan.request.mode spill
 *     change.0.path /proc/sys/vm/min_free_kbytes
 *     end
 *
 * Versions of hybridmem read each other's files: a field that is not in the file keeps its default, and lines that a
 * version does not know are kept when it writes the file anew. So a field's name in the file and the words of its
 * values are never given another meaning; the number in the first line changes only where that cannot be held.
 *
 * Text of our own and not JSON: the plugin reads it, too, and is loaded by srun and slurmstepd, where json_object_get
 * may be json-c's (before their symbols had versions, as in RHEL 8); and root parses lines, without nesting.
 */
#ifndef HM_BASE_FIELDS_H
#define HM_BASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "set.h"

enum hm_field_type {
    HM_FIELD_BOOL,     /* "yes", "no" */
    HM_FIELD_UNSIGNED, /* 1, 4 or 8 bytes */
    HM_FIELD_SIGNED,   /* 4 or 8 bytes */
    HM_FIELD_REAL,     /* finite */
    HM_FIELD_TEXT,     /* any bytes; "\n", "\\" and "\x1b" stand for what would not be a line of ASCII */
    HM_FIELD_SET,      /* "0-3,8" */
    HM_FIELD_WORD,     /* an enum of 4 bytes that counts from 0, one of `words` */
    HM_FIELD_GROUP     /* a structure, by a table of its own */
};

/* A row. A list of texts, sets or groups has a line for each place ("warning.0 ..."), any other list one line in all
 * ("step 0 1 2"). */
struct hm_field {
    const char *name; /* NULL ends the table */
    enum hm_field_type type;
    size_t offset, size; /* of one value, bytes */
    uint32_t places;     /* 0: no list */
    bool is_counted;     /* a uint32_t or int at `count_at` says how many places are used; else those that are not 0 */
    bool may_exceed;     /* and it may be larger than `places` */
    size_t count_at;
    uint64_t most;                       /* of HM_FIELD_UNSIGNED; 0: what it holds */
    const char *const *words;            /* NULL ends them */
    bool (*is_right)(const void *value); /* what else must be true of the value; NULL: nothing */
    const struct hm_field *fields;       /* of a group */
};

/* clang-format off */
#define HM_FIELD_TYPE_OF(value) _Generic((value), bool: HM_FIELD_BOOL, \
    uint8_t: HM_FIELD_UNSIGNED, uint32_t: HM_FIELD_UNSIGNED, uint64_t: HM_FIELD_UNSIGNED, \
    int32_t: HM_FIELD_SIGNED, int64_t: HM_FIELD_SIGNED, double: HM_FIELD_REAL, char *: HM_FIELD_TEXT, \
    struct hm_set: HM_FIELD_SET)
/* clang-format on */

#define HM_MEMBER(of, member) (((struct of *)0)->member)
#define HM_ROW(of, member, row_type, ...)                                                                              \
    {                                                                                                                  \
        .name = #member, .type = (row_type), .offset = offsetof(struct of, member),                                    \
        .size = sizeof(HM_MEMBER(of, member)), __VA_ARGS__                                                             \
    }
#define HM_LIST_ROW(of, member, row_type, ...)                                                                         \
    {                                                                                                                  \
        .name = #member, .type = (row_type), .offset = offsetof(struct of, member),                                    \
        .size = sizeof(HM_MEMBER(of, member)[0]),                                                                      \
        .places = sizeof(HM_MEMBER(of, member)) / sizeof(HM_MEMBER(of, member)[0]), __VA_ARGS__                        \
    }
#define HM_COUNTED_BY(of, count) .is_counted = true, .count_at = offsetof(struct of, count)

/* The rows of a table: `of` is the structure's name without "struct". */
#define HM_FIELD(of, member, ...) HM_ROW(of, member, HM_FIELD_TYPE_OF(HM_MEMBER(of, member)), __VA_ARGS__)
#define HM_FIELD_WORDS(of, member, list) HM_ROW(of, member, HM_FIELD_WORD, .words = (list))
#define HM_FIELD_GROUP_OF(of, member, table) HM_ROW(of, member, HM_FIELD_GROUP, .fields = (table))
#define HM_FIELD_LIST(of, member, ...) HM_LIST_ROW(of, member, HM_FIELD_TYPE_OF(HM_MEMBER(of, member)[0]), __VA_ARGS__)
#define HM_FIELD_GROUPS(of, member, table, ...) HM_LIST_ROW(of, member, HM_FIELD_GROUP, .fields = (table), __VA_ARGS__)

/* What a file is. */
struct hm_fields {
    const char *title; /* of the first line: "job" */
    const struct hm_field *table;
    size_t most; /* longest text, with the end mark */
};

/*
 * Is each field of `value` in its range, each text terminated, each count no larger than its list? Any bytes may be
 * given. Returns 0, or -1 (EBADMSG) with a text that names the field: "plan.policy is out of range".
 */
int hm_fields_check(const struct hm_field *table, const void *value, struct hm_error *error);

/*
 * Write the text of `value`, which hm_fields_check has accepted. `before`, NULL for none, is the text that it replaces:
 * lines of that which the table does not know are kept, as far as there is room; one of a list's place goes with the
 * place. Returns the length, `out` (size `fields->most`) is terminated; or -1 (EFBIG).
 */
ssize_t hm_fields_format(const struct hm_fields *fields, const void *value, const char *before, char *out,
                         struct hm_error *error);

/*
 * Read a text into `value`, which has the defaults; lines that the table does not know are passed over. Any text may be
 * given; the lines are cut apart in it. The last thing done is hm_fields_check. Returns 0, or -1 (EBADMSG) with a text
 * that names what is wrong; `value` is then partly filled.
 */
int hm_fields_parse(const struct hm_fields *fields, char *text, void *value, struct hm_error *error);

/* The value of a line of the text, ended by the line's end, or NULL. */
const char *hm_fields_find(const char *text, const char *path);

#endif
