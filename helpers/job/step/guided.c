/* SPDX-License-Identifier: Apache-2.0 */
#include "guided.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/installed.h"
#include "base/size.h"
#include "sitesprogram.h"
#include "slurm/stepname.h"

#define NODES 1024

/* ---------------------------------------------------------- what the program prints */

int hm_guided_take_number(const char *value, uint64_t *number)
{
    uint64_t found;
    if (hm_size_parse_number(value, 0, UINT64_MAX, &found, NULL) != 0)
        return -1;
    *number = found;
    return 0;
}

int hm_guided_take_share(const char *value, double *share)
{
    char *end;
    double found = strtod(value, &end);
    if (end == value || *end || !(found >= 0 && found <= 1))
        return -1;
    *share = found;
    return 0;
}

/* It is cut where it is longer than the record's. */
static int take_path(const char *value, char path[HM_CONFIG_PATH_MAX])
{
    if (value[0] != '/')
        return -1;
    hm_text_copy(path, value, HM_CONFIG_PATH_MAX);
    return 0;
}

/* Notes the first sites of the text's list; how many there are is a line of its own. */
static void note_sites(struct hm_guided *guided, const char *text)
{
    const char *at = strstr(text, "sites=");
    guided->n_sites = 0;
    for (at = at ? at + strlen("sites=") : ""; *at; guided->n_sites++) {
        char *end;
        uint64_t id = strtoull(at, &end, 16);
        if (guided->n_sites < HM_GUIDED_SITES)
            guided->site[guided->n_sites] = id;
        at = *end == ',' ? end + 1 : "";
    }
}

struct parsed {
    struct hm_guided *guided;
    char *text; /* HM_GUIDED_TEXT bytes */
};

static int take_line(void *data, const char *key, const char *value)
{
    const struct parsed *parsed = data;
    struct hm_guided *guided = parsed->guided;
    if (strcmp(key, "fast_bytes") == 0)
        return hm_guided_take_number(value, &guided->fast_bytes);
    if (strcmp(key, "stale_sites") == 0)
        return hm_guided_take_number(value, &guided->stale_sites);
    if (strcmp(key, "stale_found") == 0)
        return hm_guided_take_number(value, &guided->stale_found);
    if (strcmp(key, "expected_share") == 0)
        return hm_guided_take_share(value, &guided->expected_share);
    if (strcmp(key, "profile") == 0)
        return take_path(value, guided->profile);
    if (strcmp(key, "input") == 0) {
        hm_text_copy(guided->input, value, sizeof(guided->input));
        return 0;
    }
    if (strcmp(key, "packer") != 0 && strcmp(key, HM_ISOLATE_GUIDE) != 0)
        return 0; /* of a later version */
    bool is_packer = key[0] == 'p';
    size_t size = is_packer ? sizeof(guided->packer) : HM_GUIDED_TEXT, length = strlen(value);
    if (length == 0 || length >= size)
        return -1;
    memcpy(is_packer ? guided->packer : parsed->text, value, length + 1);
    return 0;
}

int hm_guided_parse(char *printed, struct hm_guided *guided, char text[HM_GUIDED_TEXT])
{
    text[0] = '\0';
    if (hm_sitesprogram_parse(printed, take_line, &(struct parsed){guided, text}) < 0)
        return -1;
    note_sites(guided, text);
    guided->is_known = true;
    return 0;
}

/* ---------------------------------------------------------- choose */

static int choose(const struct hm_environment *environment, const struct hm_plan *plan, const struct hm_step *step,
                  struct hm_guided *guided, char text[HM_GUIDED_TEXT], struct hm_error *error)
{
    static char printed[HM_GUIDED_TEXT + PATH_MAX + 1024];
    char nodes[NODES], bytes[24], profile[PATH_MAX], program[PATH_MAX], said[HM_ERROR_TEXT];
    const struct hm_guide_keys *keys = &plan->request.guide;
    const char *words[20] = {"hybridmem-sites", "guide", "--print", "--fast", bytes, "--nodes", nodes};
    int n = 7;
    if (hm_isolate_nodes(plan, &step->tiers.topology, nodes, sizeof(nodes)) != 0)
        return hm_fail(error, ENAMETOOLONG, "the tiers have more nodes than can be named");
    if (hm_sitesprogram_name(environment, program, error) < 0 ||
        (keys->profile[0] && hm_sitesprogram_absolute(keys->profile, profile, error) < 0))
        return -1;
    guided->limit_bytes = plan->guide.fast_bytes / (step->n_tasks > 0 ? step->n_tasks : 1);
    snprintf(bytes, sizeof(bytes), "%" PRIu64, guided->limit_bytes);
    if (keys->packer[0]) {
        words[n++] = "--packer";
        words[n++] = keys->packer;
    }
    if (keys->stale == HM_STALE_OK)
        words[n++] = "--stale";
    if (plan->request.input[0]) {
        words[n++] = "--input-class";
        words[n++] = plan->request.input;
    }
    words[n++] = "--shared";
    words[n++] = step->config.profile_dir;
    if (keys->profile[0]) {
        hm_text_copy(guided->profile, profile, sizeof(guided->profile));
        words[n++] = profile;
    }
    words[n++] = "--";
    words[n++] = program;
    if (hm_sitesprogram_run(environment, words, -1, printed, sizeof(printed), said, error) < 0)
        return -1;
    if (hm_guided_parse(printed, guided, text) < 0)
        return hm_fail(error, EBADMSG, "%s has printed what this version does not know", HM_SITES_PROGRAM);
    if (!text[0])
        hm_text_copy(guided->why, said[0] ? said : "its program cannot be guided", sizeof(guided->why));
    return 0;
}

int hm_guided_choose(const struct hm_environment *environment, const struct hm_plan *plan, const struct hm_step *step,
                     struct hm_guided *guided, char text[HM_GUIDED_TEXT], struct hm_error *error)
{
    struct hm_error why = {""};
    bool has_fallback = plan->request.guide.fallback == HM_FALLBACK_MIGRATE;
    *guided = (struct hm_guided){.step_id = step->step_id, .is_migrated = has_fallback};
    text[0] = '\0';
    bool is_shell = step->step_id == HM_STEP_INTERACTIVE;
    if (is_shell)
        hm_fail(&why, ENOTSUP, "the shell of an interactive job is not guided: what it starts by srun is");
    else if (access(hm_guide_library(), R_OK) != 0)
        hm_fail_errno(&why, "%s", hm_guide_library());
    else if (choose(environment, plan, step, guided, text, &why) == 0) {
        guided->is_migrated = has_fallback && !text[0];
        return 0;
    }
    if (is_shell || (has_fallback && errno != EINVAL)) {
        guided->is_known = true;
        text[0] = '\0'; /* it may have been printed before a line that was wrong */
        hm_text_copy(guided->why, why.text, sizeof(guided->why));
        return 0;
    }
    return hm_fail(error, errno, "--hybrid-mem=%.60s: %s", plan->request.text, why.text);
}
