/* SPDX-License-Identifier: Apache-2.0 */
#include "namespaces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "../core/moment.h"
#include "../core/regions.h"
#include "../core/size.h"
#include "files.h"
#include "log.h"
#include "namespacejobs.h"
#include "namespacerun.h"
#include "namespacewords.h"
#include "wipelater.h"

#define NAME HM_NAMESPACERUN_NAME
#define LABELS "hybridmem:"
/* Seconds, for the wipe of another's memory, and for mounts of processes that still end. Slurm's PrologEpilogTimeout
 * cuts a prolog shorter; an epilog leaves what is still in use to the next reap. */
#define PATIENCE_TO_MAKE 3600
#define PATIENCE_TO_REMOVE 600
#define PAUSE_NS 100000000L

/* flock, for as long as memory may be wiped, or without waiting. */
static int take_lock(int fd, const struct hm_config *config, bool waits)
{
    if (waits && hm_wipe_left(config) == HM_WIPE_NO_LIMIT)
        return flock(fd, LOCK_EX);
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (!waits || errno != EWOULDBLOCK || hm_wipe_left(config) == 0)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}

/* Held while namespaces are made, and while those of nobody are looked for. Returns a descriptor, or -1. */
static int lock(const struct hm_config *config, bool waits, struct hm_error *error)
{
    char path[HM_DAX_PATH];
    int folder = hm_folder_open_own(AT_FDCWD, config->run_dir, 0755, error);
    int own = folder < 0 ? -1 : hm_folder_open_own(folder, "fsdax", 0755, error);
    int number = 0, fd = own < 0 ? -1 : openat(own, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (own >= 0 && (fd < 0 || take_lock(fd, config, waits) != 0)) {
        hm_fail_errno(error, "cannot lock %s/lock", hm_dax_folder(config, path));
        number = errno;
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    if (own >= 0)
        close(own);
    if (folder >= 0)
        close(folder);
    errno = number;
    return fd;
}

/* One of the answer's namespaces. Returns 0 or -1. */
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

/* What create says that it made, or found. Returns 0 or -1. */
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
    return result == 0 && !hm_dax_bad(namespaces) ? 0 : -1;
}

static int fail_late(struct hm_error *error)
{
    return hm_fail(error, ETIME, "the memory of earlier jobs is still being wiped");
}

static int create(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    struct hm_job_namespaces *namespaces = &job->namespaces;
    const char *fs = hm_dax_fs_name(config->fsdax_fs);
    char id[HM_NUMBER], restart[HM_NUMBER], uid[HM_NUMBER], size[HM_NUMBER], sockets[128], patience[HM_NUMBER],
        limit[HM_NUMBER];
    struct hm_answer answer;
    struct hm_namespacewords words;
    hm_namespacewords_begin(&words, config, "create");
    hm_namespacewords_add(&words, "--job", hm_namespacewords_number(id, job->job_id));
    hm_namespacewords_add(&words, "--restart", hm_namespacewords_number(restart, namespaces->restart));
    hm_namespacewords_add(&words, "--cluster", job->cluster);
    hm_namespacewords_add(&words, "--uid", hm_namespacewords_number(uid, job->uid));
    hm_namespacewords_add(&words, "--size", hm_namespacewords_number(size, job->plan.fsdax.size_bytes));
    hm_namespacewords_add(&words, "--sockets", hm_set_format(&job->plan.fsdax.sockets, sockets, sizeof(sockets)));
    hm_namespacewords_add(&words, "--fs", fs);
    hm_namespacewords_add(&words, "--map", hm_dax_map_name(config->fsdax_map));
    hm_namespacewords_add_times(&words, config, PATIENCE_TO_MAKE, patience, limit);
    if (namespaces->is_kept)
        words.word[words.n++] = "--keep";
    namespaces->is_begun = false;
    if (hm_namespacerun(words.word, &answer, error) != 0)
        return errno == ENOENT ? hm_fail(error, ENOENT, "this node has no %s: hybridmem was built without ndctl", NAME)
                               : -1;
    /* A refusal leaves nothing; what ended in another way may have. */
    namespaces->is_begun = !hm_answer_is(&answer, 1) && !hm_answer_is(&answer, 2);
    namespaces->create_s = answer.seconds;
    if (!hm_answer_is(&answer, 0))
        return hm_answer_fail(&answer, error);
    if (answer.errors[0])
        hm_log(HM_LOG_WARNING, "job %u: %s", job->job_id, answer.errors);
    if (take_answer(answer.output, namespaces) != 0)
        return hm_fail(error, EPROTO, "%s does not say what it made", NAME);
    return hm_dax_make_folders(config, job->job_id, namespaces, error);
}

/* Empty folders are no harm: the memory is given back, or kept. */
static void remove_folders(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error why = {0};
    job->namespaces.is_begun = false;
    if (hm_dax_remove_folders(config, job->job_id, &why) != 0)
        hm_log(HM_LOG_WARNING, "%s", why.text);
}

int hm_namespaces_remove(const struct hm_config *config, struct hm_job *job, bool waits, struct hm_error *error)
{
    char id[HM_NUMBER], restart[HM_NUMBER], patience[HM_NUMBER], limit[HM_NUMBER];
    struct hm_answer answer;
    struct hm_namespacewords words;
    if (!job->namespaces.is_begun)
        return 0;
    if (job->namespaces.is_kept) {
        remove_folders(config, job);
        return 0;
    }
    if (hm_wipe_left(config) == 0)
        return fail_late(error);
    unsigned pending = alarm(0);
    hm_namespacewords_begin(&words, config, "destroy");
    hm_namespacewords_add(&words, "--job", hm_namespacewords_number(id, job->job_id));
    hm_namespacewords_add(&words, "--restart", hm_namespacewords_number(restart, job->namespaces.restart));
    hm_namespacewords_add(&words, "--cluster", job->cluster);
    hm_namespacewords_add_times(&words, config, waits ? PATIENCE_TO_REMOVE : 0, patience, limit);
    int result = hm_namespacerun(words.word, &answer, error);
    if (result == 0 && !hm_answer_is(&answer, 0))
        result = hm_answer_fail(&answer, error);
    if (result == 0) {
        job->namespaces.destroy_s = answer.seconds;
        remove_folders(config, job);
    }
    int number = errno;
    alarm(pending);
    errno = number;
    return result;
}

/* Folders of jobs that the ledger does not have. */
static void remove_orphaned_folders(const struct hm_config *config, struct hm_job *job)
{
    char path[HM_DAX_PATH];
    struct dirent *item;
    uint64_t id;
    int held = hm_ledger_lock(config, NULL);
    DIR *names = held < 0 ? NULL : opendir(hm_dax_folder(config, path));
    while (names && (item = readdir(names)))
        if (hm_size_parse_number(item->d_name, 0, UINT32_MAX, &id, NULL) == 0 &&
            hm_ledger_read(config, (uint32_t)id, job, NULL) != 0 && errno == ENOENT)
            hm_dax_remove_folders(config, (uint32_t)id, NULL);
    if (names)
        closedir(names);
    hm_ledger_unlock(held);
}

/* Wants our lock: what is made after the list was is not there yet. */
static int reap(const struct hm_config *config, const char *cluster, struct hm_error *error)
{
    char patience[HM_NUMBER], limit[HM_NUMBER];
    struct hm_answer answer;
    struct hm_namespacewords words;
    if (hm_wipe_left(config) == 0)
        return fail_late(error);
    char *list = hm_namespacejobs_list(config, error);
    struct hm_job *job = malloc(sizeof(*job));
    hm_namespacewords_begin(&words, config, "reap");
    hm_namespacewords_add(&words, "--cluster", cluster ? cluster : "");
    hm_namespacewords_add_times(&words, config, 0, patience, limit);
    /* Also where nobody lives: an empty list. */
    words.word[words.n++] = "--living";
    words.word[words.n] = list;
    int result = list ? hm_namespacerun(words.word, &answer, error) : -1;
    if (result == 0 && !hm_answer_is(&answer, 0))
        result = hm_answer_fail(&answer, error);
    int number = errno;
    /* What is still mounted somewhere keeps its folder: removing that would take the mount out of there. */
    if (job && result == 0)
        remove_orphaned_folders(config, job);
    free(job);
    free(list);
    errno = number;
    return result;
}

/* The unit reads the installed configuration: with another one the ledger may be another, too. */
static int hand_over(const struct hm_config *config, struct hm_error *error)
{
    struct hm_error why = *error;
    struct hm_error how = {0};
    if (config->path[0] && strcmp(config->path, hm_config_path()) != 0)
        hm_fail(&how, ENOTSUP, "%s is not the installed configuration", config->path);
    else
        (void)hm_wipe_hand_over(&how);
    if (how.text[0])
        return hm_fail(error, ETIME, "%s; the next reap goes on, as systemd does not: %s", why.text, how.text);
    hm_log(HM_LOG_INFO, "%s; " HM_WIPE_UNIT " goes on", why.text);
    return 0;
}

int hm_namespaces_reap(const struct hm_config *config, const char *cluster, struct hm_error *error)
{
    /* Cheap, for every prolog and epilog on every node. */
    if (!hm_regions_have_label(HM_REGIONS_FOLDER, LABELS))
        return 0;
    unsigned pending = alarm(0);
    int held = lock(config, false, error);
    int result = held < 0 ? -1 : reap(config, cluster, error);
    int number = errno;
    if (held >= 0)
        close(held);
    /* The jobs' own ends may have left it nothing of the limit, too. */
    if (result != 0 && number == ETIME)
        result = hand_over(config, error);
    alarm(pending);
    return result != 0 && number != EWOULDBLOCK && number != EBUSY ? -1 : 0;
}

int hm_namespaces_make(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    struct hm_error why = {0};
    int result = -1;
    unsigned pending = alarm(0);
    int held = lock(config, true, error);
    if (held < 0 && errno == EWOULDBLOCK)
        fail_late(error);
    if (held >= 0) {
        /* What nobody owns may be what this job needs; what is in use is not waited for, there may be room beside it.
         */
        if (hm_regions_have_label(HM_REGIONS_FOLDER, LABELS) && reap(config, job->cluster, &why) != 0 && errno != EBUSY)
            hm_log(HM_LOG_WARNING, "namespaces of no job were not removed: %s", why.text);
        if (hm_wipe_left(config) == 0)
            fail_late(error);
        else if (!job->plan.fsdax.is_kept || hm_namespacejobs_claim(config, job, error) == 0)
            result = create(config, job, error);
        else
            job->namespaces.is_begun = false;
        close(held);
    }
    if (result != 0)
        job->namespaces.n = 0;
    if (!job->namespaces.is_begun)
        job->namespaces.is_kept = false;
    alarm(pending);
    return result;
}
