/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the XML that ipmctl prints (-o nvmxml): a list of rows with named fields, a list of fields, each of which
 * counts as a row, or a text (of an error). It is parsed by expat, which Debian and Red Hat keep up to date, and which
 * never loads anything. An answer with a document type, so with entities of its own, is refused. Pure.
 */
#ifndef HM_MEMMODE_IPMCTL_NVMXML_H
#define HM_MEMMODE_IPMCTL_NVMXML_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HM_NVMXML_MOST_BYTES (256 * 1024) /* of an answer. A node has at most 96 modules, each a row of 300 bytes */
#define HM_NVMXML_MOST_FIELDS 4096
#define HM_NVMXML_ANY_ROW (~0U)

struct hm_nvmxml_field {
    const char *name, *value; /* in the answer's `texts` */
    unsigned row;             /* from 0 on */
};

struct hm_nvmxml {
    const char *list; /* name of the outermost element: "ConfigGoalList" */
    struct hm_nvmxml_field field[HM_NVMXML_MOST_FIELDS];
    size_t n_fields;
    char texts[HM_NVMXML_MOST_BYTES + 1];
};

/*
 * Parse an answer of `length` bytes. Text before the XML is passed over: ipmctl prints warnings there. Returns 0, or
 * -1 with a text: ENOMSG where there is no XML (the text is the first line of the answer, as ipmctl says there what is
 * wrong), ENODEV where that line says that there are no modules, E2BIG where it is too long, EBADMSG where it is no XML
 * of this form.
 */
int hm_nvmxml_parse(const char *text, size_t length, struct hm_nvmxml *answer, struct hm_error *error);

/* The value of the first field of this name in a row, or in any; NULL: there is none. */
const char *hm_nvmxml_get(const struct hm_nvmxml *answer, unsigned row, const char *name);

/* How many rows the answer has. */
unsigned hm_nvmxml_rows(const struct hm_nvmxml *answer);

/* Read a number of bytes as ipmctl prints it with -u B: "34359738368 B". Returns 0, or -1 (EBADMSG). */
int hm_nvmxml_bytes(const char *value, uint64_t *bytes);

#endif
