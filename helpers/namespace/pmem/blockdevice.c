/* SPDX-License-Identifier: Apache-2.0 */
#include "blockdevice.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

uint64_t hm_device_bytes(const char *device)
{
    uint64_t bytes = 0;
    int fd = open(device, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    if (ioctl(fd, BLKGETSIZE64, &bytes) != 0)
        bytes = 0;
    close(fd);
    return bytes;
}
