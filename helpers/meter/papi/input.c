/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Handler of SIGIO: ends the program if standard input was closed. */
static void look(int number)
{
    int saved = errno;
    struct pollfd input = {.fd = STDIN_FILENO};
    (void)number;
    if (poll(&input, 1, 0) > 0 && input.revents & POLLHUP)
        _exit(EXIT_SUCCESS);
    errno = saved;
}

void hm_papi_input_watch(void)
{
    const struct sigaction action = {.sa_handler = look, .sa_flags = SA_RESTART};
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISSOCK(status.st_mode))
        return;
    sigaction(SIGIO, &action, NULL);
    fcntl(STDIN_FILENO, F_SETOWN, getpid());
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_ASYNC);
    look(SIGIO); /* it may have been closed before */
}
