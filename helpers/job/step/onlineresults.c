/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what recorders have left of guidance online (sites/commands/online.c). Users can write it: all is checked. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/left.h"
#include "guided.h"
#include "profiled.h"

#define GUIDED "guided "

static void take_sites(char *value, struct hm_guided *guided)
{
    char *rest = NULL;
    unsigned n = 0;
    for (char *id = strtok_r(value, ",", &rest); id && n < HM_GUIDED_SITES; id = strtok_r(NULL, ",", &rest))
        guided->site[n++] = strtoull(id, NULL, 16);
}

/* Takes one word KEY=VALUE of the first line. */
static void take(char *word, struct hm_guided *guided)
{
    uint64_t count = HM_GUIDED_MOST + 1;
    char *value = strchr(word, '=');
    const struct {
        const char *key;
        uint64_t *number;
        double *share;
    } rows[] = {
        {"fast_bytes", &guided->fast_bytes, NULL},
        {"limit_bytes", &guided->limit_bytes, NULL},
        {"samples", &guided->samples, NULL},
        {"phases", &guided->decisions, NULL},
        {"site_count", &count, NULL},
        {"expected_share", NULL, &guided->expected_share},
        {"seen_share", NULL, &guided->seen_share},
    };
    if (!value)
        return;
    *value++ = '\0';
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(word, rows[i].key) == 0 && rows[i].number)
            (void)hm_guided_take_number(value, rows[i].number);
        else if (strcmp(word, rows[i].key) == 0)
            (void)hm_guided_take_share(value, rows[i].share);
    if (strcmp(word, "site_count") == 0 && count <= HM_GUIDED_MOST)
        guided->n_sites = (uint32_t)count;
    else if (strcmp(word, "packer") == 0)
        hm_text_copy(guided->packer, value, sizeof(guided->packer));
    else if (strcmp(word, "source") == 0)
        hm_text_copy(guided->source, value, sizeof(guided->source));
    else if (strcmp(word, "sites") == 0)
        take_sites(value, guided);
}

/* Adds a number of a whole line. It looks no further than the line, as users can leave very many. */
static void add_number(const char *line, const char *key, uint64_t *sum)
{
    size_t length = strcspn(line, "\n");
    const char *at = memmem(line, length, key, strlen(key));
    if (at && line[length])
        *sum += strtoull(at + strlen(key), NULL, 10);
}

static void take_line(const char *from, struct hm_guided *guided)
{
    char line[HM_PROFILED_GUIDED], *why, *rest = NULL;
    size_t length = strcspn(from, "\n");
    length = length < sizeof(line) ? length : sizeof(line) - 1;
    memcpy(line, from, length);
    line[length] = '\0';
    if ((why = strstr(line, " why=")) != NULL) {
        hm_text_copy(guided->why, why + strlen(" why="), sizeof(guided->why));
        *why = '\0';
    }
    for (char *word = strtok_r(line + strlen(GUIDED), " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        take(word, guided);
}

bool hm_profiled_read_guided(const char *results, struct hm_guided *guided)
{
    bool is_first = true;
    for (const char *line = results; *line; line = hm_left_next(line)) {
        if (strncmp(line, GUIDED, strlen(GUIDED)) != 0)
            continue;
        if (is_first)
            take_line(line, guided);
        is_first = false;
        add_number(line, " promoted_bytes=", &guided->promoted_bytes);
        add_number(line, " demoted_bytes=", &guided->demoted_bytes);
    }
    return !is_first;
}
