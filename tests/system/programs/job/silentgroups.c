/* SPDX-License-Identifier: Apache-2.0 */
/* A directory service for nsswitch.conf, "silent": it never answers a question about the group SILENT, and knows no
 * other group. */
#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <string.h>
#include <unistd.h>

enum nss_status _nss_silent_getgrnam_r(const char *name, struct group *group, char *buffer, size_t size, int *number);

enum nss_status _nss_silent_getgrnam_r(const char *name, struct group *group, char *buffer, size_t size, int *number)
{
    (void)group, (void)buffer, (void)size;
    while (strcmp(name, SILENT) == 0)
        pause();
    *number = ENOENT;
    return NSS_STATUS_NOTFOUND;
}
