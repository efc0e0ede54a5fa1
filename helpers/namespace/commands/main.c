/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-namespace: makes and removes the fsdax namespaces of jobs on this node, and turns devdax namespaces into
 * memory and back. hybridmem-job starts it before and after a job; administrators start it, too. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/flock.h"
#include "base/output.h"
#include "namespace/pmem/lock.h"
#include "namespace/pmem/wipe.h"
#include "namespace/pmem/wiped.h"
#include "parts.h"

static const struct {
    int (*run)(const struct hm_config *, const struct hm_namespace_request *, struct hm_error *);
    bool changes; /* changes something, so it needs the lock */
    bool removes; /* removes something: this also runs if hybridmem.conf is wrong, with the built-in values */
} commands[] = {
    [HM_NAMESPACE_CREATE] = {hm_namespace_create, true, false},
    [HM_NAMESPACE_DESTROY] = {hm_namespace_destroy, true, true},
    [HM_NAMESPACE_LIST] = {hm_namespace_list, false, false},
    [HM_NAMESPACE_REAP] = {hm_namespace_reap, true, true},
    [HM_NAMESPACE_CHECK] = {hm_namespace_check, false, false},
    [HM_NAMESPACE_PROVISION] = {hm_namespace_provision, true, false},
    [HM_NAMESPACE_RAM_ONLINE] = {hm_namespace_ram_online, true, false},
    [HM_NAMESPACE_RAM_OFFLINE] = {hm_namespace_ram_offline, true, true},
    [HM_NAMESPACE_RAM_LIST] = {hm_namespace_ram_list, false, false},
};

/* What could not be removed for want of memory or descriptors is for a later try. So it has the status of a wipe whose
 * time is over. */
static int status_without_lock(int number, bool removes)
{
    if (number == EBUSY)
        return HM_NAMESPACE_BUSY;
    return removes && hm_is_shortage(number) ? HM_NAMESPACE_LATE : HM_NAMESPACE_REFUSED;
}

static int run(struct hm_namespace_request *request, struct hm_error *error)
{
    static struct hm_config config;
    if (hm_config_read(request->config, false, &config, error) != 0) {
        if (!commands[request->command].removes)
            return HM_NAMESPACE_REFUSED;
        fprintf(stderr, "hybridmem namespace: %s: the built-in values are used\n", error->text);
        hm_config_defaults(&config);
        error->text[0] = '\0';
    }
    if (!commands[request->command].changes)
        return commands[request->command].run(&config, request, error);
    /* Ignore SIGPIPE: a reader that has gone makes printing fail, and then what was made is undone. */
    signal(SIGPIPE, SIG_IGN);
    /* The prolog of each job that asks for the slow tier runs `ram online`. Where all is online already, it must not
     * wait behind the wipe of another job's memory. */
    if (request->command == HM_NAMESPACE_RAM_ONLINE && hm_namespace_ram_is_online(&config, request))
        return HM_NAMESPACE_DONE;
    hm_wipe_limit(request->limit_s);
    hm_wiped_begin(&config);
    request->lock = hm_lock_take(&config, &request->since_ns, request->patience_s, error);
    if (request->lock < 0)
        return status_without_lock(errno, commands[request->command].removes);
    int status = commands[request->command].run(&config, request, error);
    hm_flock_close(request->lock);
    return status;
}

int main(int argc, char **argv)
{
    struct hm_namespace_request request;
    struct hm_error error = {{0}};
    int status = hm_namespace_request_parse(argc, argv, &request);
    if (status >= 0)
        return status;
    if (geteuid() != 0) {
        fputs("hybridmem namespace: only root may run this\n", stderr);
        return HM_NAMESPACE_USAGE;
    }
    status = run(&request, &error);
    if (status == HM_NAMESPACE_DONE || !error.text[0]) /* the command `check` prints its errors as its output */
        return hm_output_end("hybridmem namespace", 0, status);
    fprintf(stderr, "hybridmem namespace: %s\n", error.text);
    return status;
}
