/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int hm_output_end(const char *name, int result, int status)
{
    int number = result < 0 ? errno : 0; /* 0: unknown, as later writes may have changed errno */
    if (fflush(stdout) != 0)
        number = errno;
    else if (!ferror(stdout) && result < 0)
        number = ENOMEM;
    else if (!ferror(stdout))
        return status;
    if (number == EPIPE) { /* SIGPIPE was ignored: end by this signal, as other programs do */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    fprintf(stderr, "%s: standard output: %s\n", name, number ? strerror(number) : "a part of it was not written");
    return HM_OUTPUT_LOST;
}
