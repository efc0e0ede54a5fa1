/* SPDX-License-Identifier: Apache-2.0 */
#include "namespaces.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/flock.h"
#include "core/topology/regions.h"
#include "create.h"
#include "daxfolders.h"
#include "hooklimit.h"
#include "job/ledger/log.h"
#include "jobs.h"
#include "lock.h"
#include "namespace/ram/autoonline.h"
#include "run.h"
#include "wipelater.h"
#include "words.h"

#define STILL_WIPED "the memory of earlier jobs is still being wiped"
#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE_TO_REMOVE 600 /* seconds */
/* A process that escaped from its job may still have mounts. They are detached after so many seconds. */
#define DETACH 10

/* `to_remove` waits until processes with mounts have ended; `at_once` leaves what is still in use to the next reap. */
static const struct hm_namespacetimes to_remove = {.patience = PATIENCE_TO_REMOVE, .detach = DETACH};
static const struct hm_namespacetimes at_once = {.patience = 0};

static int fail_late(struct hm_error *error)
{
    return hm_fail(error, ETIME, STILL_WIPED);
}

int hm_namespaces_remove(const struct hm_config *config, struct hm_job *job, bool waits, struct hm_error *error)
{
    char id[HM_NUMBER], restart[HM_NUMBER];
    struct hm_answer answer;
    struct hm_namespacewords words;
    if (!job->namespaces.is_begun)
        return 0;
    if (job->namespaces.is_kept) {
        job->namespaces.is_begun = false;
        hm_daxfolders_remove(config, job);
        return 0;
    }
    if (hm_wipe_left(config) == 0)
        return fail_late(error);
    unsigned left_s = hm_hooklimit_pause(config);
    hm_namespacewords_begin(&words, config, "destroy");
    hm_namespacewords_add(&words, "--job", hm_namespacewords_number(id, job->job_id));
    hm_namespacewords_add(&words, "--restart", hm_namespacewords_number(restart, job->namespaces.restart));
    hm_namespacewords_add(&words, "--cluster", job->cluster);
    hm_namespacewords_add_times(&words, config, waits ? &to_remove : &at_once);
    int result = hm_namespacerun(words.word, -1, &answer, error);
    if (result == 0 && !hm_answer_is(&answer, 0))
        result = hm_answer_fail(&answer, error);
    if (result == 0) {
        job->namespaces.destroy_s = answer.seconds;
        job->namespaces.is_begun = false;
        hm_daxfolders_remove(config, job);
    }
    hm_hooklimit_resume(left_s);
    return result;
}

/*
 * Runs hybridmem-namespace reap. The caller holds the lock (lock.h), so that nothing is made after the list of
 * living jobs was written. The program holds it, too, as it goes on with that list if the caller is killed.
 */
static int reap(const struct hm_config *config, const char *cluster, int held, struct hm_error *error)
{
    struct hm_answer answer;
    struct hm_namespacewords words;
    if (hm_wipe_left(config) == 0)
        return fail_late(error);
    uint32_t unlisted;
    char *list = hm_namespacejobs_list(config, &unlisted, error);
    hm_namespacewords_begin(&words, config, "reap");
    hm_namespacewords_add(&words, "--cluster", cluster ? cluster : "");
    hm_namespacewords_add_times(&words, config, &at_once);
    /* --living is given even if no job lives: its list is then empty. */
    words.word[words.n++] = "--living";
    words.word[words.n] = list;
    int result = list ? hm_namespacerun(words.word, held, &answer, error) : -1;
    if (result == 0 && !hm_answer_is(&answer, 0))
        result = hm_answer_fail(&answer, error);
    else if (result == 0 && answer.errors[0])
        hm_log(HM_LOG_WARNING, "%s", answer.errors);
    if (result == 0 && unlisted != 0)
        result = hm_fail(error, EBUSY, "job %u has file systems, and may have processes, but no entry in %s/jobs",
                         unlisted, config->run_dir);
    int number = errno;
    free(list);
    errno = number;
    return result;
}

/* `locked_ns` gets the moment at which the lock was taken or, if it could not be, at which the wait for it ended. */
static int reap_locked(const struct hm_config *config, const struct hm_namespaces_reap *how, uint64_t *locked_ns,
                       struct hm_error *error)
{
    int held = hm_namespacelock_take(config, how->waits, error);
    int number = errno;
    *locked_ns = hm_clock_ns(CLOCK_MONOTONIC);
    errno = number;
    if (held < 0)
        return -1;
    int result = reap(config, how->cluster, held, error);
    hm_flock_close(held);
    /*
     * Folders of jobs without an entry are removed only if the reap succeeded: a folder with a mount on it must stay,
     * as removing it would take the mount away from the task that uses it.
     */
    hm_daxfolders_tidy(config, result == 0);
    return result;
}

/*
 * Does this node have namespaces of hybridmem, or a kernel policy that a killed `ram online` has set aside? Cheap, as
 * each prolog and epilog on each node asks.
 */
static bool is_reap_wanted(const struct hm_config *config)
{
    return hm_regions_have_label(HM_REGIONS_FOLDER, HM_NAMESPACE_LABELS) || hm_autoonline_is_aside(config);
}

/*
 * Should a unit of systemd go on with what is left? Yes, if fsdax_wipe_limit has cut the work short, or the node was
 * short of memory (ETIME). If something is in use or locked, or hybridmem-namespace was killed (EAGAIN, the same number
 * as EWOULDBLOCK), only if there is such a limit and the job that has just ended left something: otherwise each prolog
 * and epilog would hand over the same work.
 */
static bool is_for_systemd(const struct hm_config *config, const struct hm_namespaces_reap *how, int number)
{
    bool is_others = number == EWOULDBLOCK || number == EBUSY;
    return number == ETIME || (is_others && how->has_left && hm_wipe_left(config) != HM_WIPE_NO_LIMIT);
}

/*
 * Pauses before the next try, so that others can get the lock: as long as the last try had it (since `locked_ns`), and
 * at least a second. *since_ns is when the first try ended; if it is 0, it is set to now. Ten minutes after that,
 * returns false without a pause.
 */
static bool pause_before_next(uint64_t *since_ns, uint64_t locked_ns)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC), pause = now - locked_ns;
    if (*since_ns == 0)
        *since_ns = now;
    if (now - *since_ns >= PATIENCE_TO_REMOVE * SECOND_NS)
        return false;
    pause = pause > SECOND_NS ? pause : SECOND_NS;
    nanosleep(&(struct timespec){.tv_sec = (time_t)(pause / SECOND_NS), .tv_nsec = (long)(pause % SECOND_NS)}, NULL);
    return true;
}

int hm_namespaces_reap(const struct hm_config *config, const struct hm_namespaces_reap *how, struct hm_error *error)
{
    int result, number;
    if (!is_reap_wanted(config))
        return 0;
    unsigned left_s = hm_hooklimit_pause(config);
    uint64_t since_ns = 0, locked_ns;
    /* The lock is not held between the tries: a job that finds room elsewhere must not wait for what is in use. */
    do {
        result = reap_locked(config, how, &locked_ns, error);
        number = errno;
    } while (result != 0 && number == EBUSY && how->waits && pause_before_next(&since_ns, locked_ns));
    hm_hooklimit_resume(left_s);
    if (result == 0)
        return 0;
    if (is_for_systemd(config, how, number))
        return 1;
    errno = number;
    return how->waits || (number != EWOULDBLOCK && number != EBUSY) ? -1 : 0;
}

/*
 * Removes what nobody owns, as this job may need that memory. Does not wait for what is in use. Returns 0, or the errno
 * that says why something is left.
 */
static int reap_before(const struct hm_config *config, const struct hm_job *job, int held)
{
    struct hm_error why = {0};
    if (!hm_regions_have_label(HM_REGIONS_FOLDER, HM_NAMESPACE_LABELS) || reap(config, job->cluster, held, &why) == 0)
        return 0;
    int number = errno;
    if (number != EBUSY)
        hm_log(HM_LOG_WARNING, "namespaces that belong to no job could not be removed: %s", why.text);
    return number;
}

/*
 * Makes the namespaces. There may be room for them although old memory is not wiped yet (`left_by` says why, as an
 * errno). If making them fails once fsdax_wipe_limit is used up, the error names the wait for that wipe, too.
 */
static int create_beside(const struct hm_config *config, struct hm_job *job, int left_by, struct hm_error *error)
{
    if (hm_namespacecreate(config, job, error) == 0)
        return 0;
    struct hm_error why = *error;
    bool is_for_later = left_by == ETIME || left_by == EBUSY;
    return is_for_later && hm_wipe_left(config) == 0 ? hm_fail(error, ETIME, "%s; " STILL_WIPED, why.text) : -1;
}

int hm_namespaces_make(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    int result = -1;
    unsigned left_s = hm_hooklimit_pause(config);
    int held = hm_namespacelock_take(config, true, error);
    if (held < 0) {
        job->namespaces.is_begun = false;
        if (errno == EWOULDBLOCK)
            fail_late(error);
    }
    if (held >= 0) {
        int left_by = reap_before(config, job, held);
        if (!job->plan.fsdax.is_kept || hm_namespacejobs_claim(config, job, error) == 0)
            result = create_beside(config, job, left_by, error);
        else
            job->namespaces.is_begun = false;
        hm_flock_close(held);
        if (result == 0)
            result = hm_daxfolders_make(config, job, error);
    }
    if (result != 0)
        job->namespaces.n = 0;
    if (!job->namespaces.is_begun)
        job->namespaces.is_kept = false;
    hm_hooklimit_resume(left_s);
    return result;
}
