/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "spawn.h"

struct call {
    int (*look)(const void *question, void *found);
    const void *question;
    void *found; /* shared with the child */
};

static int look_in_child(void *data)
{
    const struct call *call = data;
    return call->look(call->question, call->found);
}

/* Wait for the child. Returns 0 or an errno. */
static int result_of(pid_t child, int patience_ms)
{
    if (child < 0)
        return errno;
    int status = hm_spawn_wait_for(child, patience_ms);
    if (status < 0)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -1;
    memcpy(shared, found, size);
    struct call call = {look, question, shared};
    const struct hm_spawn_call spawn = {.run = look_in_child, .data = &call, .kept = -1};
    int number = result_of(hm_spawn_call(&spawn, NULL), patience_ms);
    memcpy(found, shared, size);
    munmap(shared, size);
    errno = number;
    return number == 0 ? 0 : -1;
}
