/* SPDX-License-Identifier: Apache-2.0 */
#include "create.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/files.h"
#include "base/moment.h"
#include "job/ledger/log.h"
#include "run.h"
#include "words.h"

#define NAME HM_NAMESPACERUN_NAME

/*
 * How long create may take, in seconds. It may have to wait until other jobs' memory is wiped; Slurm's
 * PrologEpilogTimeout, if it is set, may end it earlier. Once fsdax_wipe_limit is used up, create may still wait 10 s
 * for another process to finish. If it fails then, it may take 30 s to wipe what it made. So sites set fsdax_wipe_limit
 * shorter than Slurm's limit, by hm_hooklimit_margin_s.
 */
static const struct hm_namespacetimes times = {.patience = 3600, .waits_beyond = 10, .wipes_beyond = 30};

/* Reads one namespace of the answer. Returns 0 or -1. */
static int take_namespace(json_t *object, struct hm_job_namespace *one)
{
    const char *name, *device, *fs;
    int socket;
    json_int_t bytes;
    if (json_unpack(object, "{s:s, s:s, s:s, s:i, s:I}", "name", &name, "device", &device, "fs", &fs, "socket", &socket,
                    "bytes", &bytes) != 0 ||
        strlen(name) >= sizeof(one->name) || strlen(device) >= sizeof(one->device) || strlen(fs) >= sizeof(one->fs) ||
        socket < 0 || bytes <= 0)
        return -1;
    hm_text_copy(one->name, name, sizeof(one->name));
    hm_text_copy(one->device, device, sizeof(one->device));
    hm_text_copy(one->fs, fs, sizeof(one->fs));
    one->socket = (uint32_t)socket;
    one->bytes = (uint64_t)bytes;
    return 0;
}

/* Reads which namespaces create made, or found. Returns 0 or -1. */
static int take_answer(const char *output, struct hm_job_namespaces *namespaces)
{
    json_t *answer = json_loads(output, 0, NULL), *list = json_object_get(answer, "namespaces"), *object;
    size_t i, n = json_array_size(list);
    int result = n > 0 && n <= HM_JOB_NAMESPACES ? 0 : -1;
    json_array_foreach(list, i, object) if (result == 0) result = take_namespace(object, &namespaces->each[i]);
    if (result == 0 && namespaces->is_kept) {
        const char *until = json_string_value(json_object_get(json_array_get(list, 0), "kept_until"));
        result = until ? hm_moment_parse(until, &namespaces->kept_until_s) : -1;
    }
    json_decref(answer);
    namespaces->n = result == 0 ? (uint32_t)n : 0;
    return result == 0 && hm_fields_check(hm_dax_table, namespaces, NULL) == 0 ? 0 : -1;
}

/*
 * Is it certain that create left nothing behind? Yes after a refusal, after wrong arguments, and where create did not
 * get the lock; after any other failure, no.
 */
static bool has_left_nothing(const struct hm_answer *answer)
{
    return hm_answer_is(answer, HM_ANSWER_REFUSED) || hm_answer_is(answer, HM_ANSWER_USAGE) ||
           hm_answer_is(answer, HM_ANSWER_BUSY);
}

int hm_namespacecreate(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    struct hm_job_namespaces *namespaces = &job->namespaces;
    const char *fs = hm_dax_fs_name(config->fsdax_fs);
    char id[HM_NUMBER], restart[HM_NUMBER], uid[HM_NUMBER], size[HM_NUMBER], sockets[128];
    struct hm_answer answer;
    struct hm_namespacewords words;
    hm_namespacewords_begin(&words, config, HM_NAMESPACERUN_CREATE);
    hm_namespacewords_add(&words, "--job", hm_namespacewords_number(id, job->job_id));
    hm_namespacewords_add(&words, "--restart", hm_namespacewords_number(restart, namespaces->restart));
    hm_namespacewords_add(&words, "--cluster", job->cluster);
    hm_namespacewords_add(&words, "--uid", hm_namespacewords_number(uid, job->uid));
    hm_namespacewords_add(&words, "--size", hm_namespacewords_number(size, job->plan.fsdax.size_bytes));
    hm_namespacewords_add(&words, "--sockets", hm_set_format(&job->plan.fsdax.sockets, sockets, sizeof(sockets)));
    hm_namespacewords_add(&words, "--fs", fs);
    hm_namespacewords_add(&words, "--map", hm_dax_map_name(config->fsdax_map));
    hm_namespacewords_add_times(&words, config, &times);
    if (namespaces->is_kept)
        words.word[words.n++] = "--keep";
    namespaces->is_begun = false;
    if (hm_namespacerun(words.word, -1, &answer, error) != 0)
        return errno == ENOENT ? hm_fail(error, ENOENT, "this node has no %s: hybridmem was built without ndctl", NAME)
                               : -1;
    namespaces->is_begun = !has_left_nothing(&answer);
    namespaces->create_s = answer.seconds;
    if (!hm_answer_is(&answer, 0))
        return hm_answer_fail(&answer, error);
    if (answer.errors[0])
        hm_log(HM_LOG_WARNING, "job %u: %s", job->job_id, answer.errors);
    if (take_answer(answer.output, namespaces) != 0)
        return hm_fail(error, EPROTO, "%s does not say what it made", NAME);
    return 0;
}
