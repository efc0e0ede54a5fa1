/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-describing state: a structure written as text, one line for each field, "path value". A table of rows names the
 * fields; it serves to write, to read and to check the structure.
 *
 *     hybridmem job 1
 *     user alice
 *     plan.request.mode spill
 *     change.0.path /proc/sys/vm/min_free_kbytes
 *     end
 *
 * Versions of hybridmem read each other's files. A field that is missing in the file keeps its default. A line that a
 * version does not know is kept when that version writes the file again. So neither the name of a field nor a word
 * among its values may ever get another meaning. The number in the first line changes only where this rule has to be
 * broken.
 *
 * The format is not JSON for two reasons. The plugin reads these files inside slurmstepd. There, a call of jansson's
 * json_object_get may reach the function of that name in json-c (the two libraries shared such names before their
 * symbols were versioned, as in RHEL 8). And root should parse as little as it can: lines without nesting.
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
    HM_FIELD_TEXT,     /* any bytes; backslashes and all but printable ASCII are escaped: "\\", "\n", "\x1b" */
    HM_FIELD_SET,      /* "0-3,8" */
    HM_FIELD_WORD,     /* an enum of 4 bytes that counts from 0, as one of `words` */
    HM_FIELD_GROUP     /* a structure with a table of its own */
};

/* A row of a table: one field. In a list of texts, sets or groups each place in use has lines of its own, as
 * "warning.0 ...". A list of anything else has one line for all places ("step 0 1 2"). */
struct hm_field {
    const char *name; /* NULL ends the table */
    enum hm_field_type type;
    size_t offset, size; /* of one value, in bytes */
    uint32_t places;     /* length of the list; 0: not a list */
    /* A list with a count: the uint32_t or int at `count_at` says how many places are used. In a list without a count,
     * the places that are not zero are used. */
    bool is_counted;
    bool may_exceed; /* the count may be larger than `places` */
    size_t count_at;
    uint64_t most;                       /* largest HM_FIELD_UNSIGNED; 0: as much as its type holds */
    const char *const *words;            /* of HM_FIELD_WORD; NULL ends them */
    bool (*is_right)(const void *value); /* a further check of the value; NULL: none */
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

/* A kind of file. */
struct hm_fields {
    const char *title; /* stands in the first line: "job" */
    const struct hm_field *table;
    size_t most; /* longest text, in bytes with the NUL at its end */
};

/* Check `value`: is each field in its range, each text terminated, and no count larger than its list (unless its row
 * has may_exceed)? The structure may hold any bytes. Returns 0, or -1 (EBADMSG) with a text that names the field:
 * "plan.policy is out of range". */
int hm_fields_check(const struct hm_field *table, const void *value, struct hm_error *error);

/*
 * Write `value`, which hm_fields_check has accepted, as text into `out` (`fields->most` bytes). `before` is the text
 * that it replaces, or NULL: its lines that the table does not know are kept as far as there is room, except lines of
 * list places that are not used any more. Returns the length of `out`, which is terminated, or -1 (EFBIG).
 */
ssize_t hm_fields_format(const struct hm_fields *fields, const void *value, const char *before, char *out,
                         struct hm_error *error);

/*
 * Read a text into `value`, which the caller has filled with the defaults. Lines that the table does not know are
 * skipped. Any text may be given; its newlines are replaced by NULs. At the end hm_fields_check checks the value.
 * Returns 0, or -1 (EBADMSG) with a text that names what is wrong; `value` is then partly filled.
 */
int hm_fields_parse(const struct hm_fields *fields, char *text, void *value, struct hm_error *error);

/* Find the value of a path in the text. Returns a pointer to it (the end of the line ends it), or NULL. */
const char *hm_fields_find(const char *text, const char *path);

#endif
