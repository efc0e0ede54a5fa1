/* SPDX-License-Identifier: Apache-2.0 */
#include "blockdevice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

int hm_device_size(const char *device, uint64_t *bytes, struct hm_error *error)
{
    int result = 0;
    int fd = open(device, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hm_fail_errno(error, "cannot open %s to tell its size", device);
    if (ioctl(fd, BLKGETSIZE64, bytes) != 0)
        result = hm_fail_errno(error, "cannot tell the size of %s", device);
    int number = errno;
    close(fd);
    errno = number;
    return result;
}

uint64_t hm_device_bytes(const char *device)
{
    uint64_t bytes;
    return hm_device_size(device, &bytes, NULL) == 0 ? bytes : 0;
}
