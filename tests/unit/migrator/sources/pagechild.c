/* SPDX-License-Identifier: Apache-2.0 */
#include "pagechild.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"

static struct order current;
static unsigned char *area;

static void *touch(void *unused)
{
    (void)unused;
    for (int i = current.first; i < PAGES; i += current.step)
        *(volatile unsigned char *)(area + (size_t)i * hm_page_size()) = 1;
    return NULL;
}

/* Pipes to and from the second thread, which waits for orders. */
static int thread_in[2], thread_out[2];

static void *serve(void *unused)
{
    char byte;
    (void)unused;
    while (read(thread_in[0], &byte, 1) == 1) {
        touch(NULL);
        if (write(thread_out[1], &byte, 1) != 1)
            break;
    }
    return NULL;
}

static void run_child(int in, int out)
{
    pthread_t thread;
    bool has_thread = false;
    char byte = 1;
    while (read(in, &current, sizeof(current)) == sizeof(current)) {
        if (current.in_thread && !has_thread) { /* the thread is started only now, so that the watcher has to find it */
            has_thread =
                pipe(thread_in) == 0 && pipe(thread_out) == 0 && pthread_create(&thread, NULL, serve, NULL) == 0;
        } else if (current.in_thread) {
            if (write(thread_in[1], &byte, 1) != 1 || read(thread_out[0], &byte, 1) != 1)
                _exit(2);
        } else {
            touch(NULL);
        }
        if (write(out, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

void start(struct child *child)
{
    int to[2], from[2];
    assert_int_equal(pipe(to) | pipe(from), 0);
    child->area = area =
        mmap(NULL, (size_t)PAGES * hm_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    (void)madvise(area, (size_t)PAGES * hm_page_size(), MADV_NOHUGEPAGE);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        close(to[1]);
        close(from[0]);
        run_child(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    child->to = to[1];
    child->from = from[0];
}

void give(const struct child *child, struct order order)
{
    char byte;
    assert_int_equal(write(child->to, &order, sizeof(order)), sizeof(order));
    assert_int_equal(read(child->from, &byte, 1), 1);
}

void finish(struct child *child)
{
    int status;
    close(child->to);
    close(child->from);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    munmap(child->area, (size_t)PAGES * hm_page_size());
}
