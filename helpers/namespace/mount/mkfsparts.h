/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the table of file systems, for mkfstable.c, which has the table, and mkfs.c, which runs mkfs by a row. */
#ifndef HM_NAMESPACE_MOUNT_MKFSPARTS_H
#define HM_NAMESPACE_MOUNT_MKFSPARTS_H

#include "mkfs.h"

/* How mkfs makes one kind of file system. */
struct hm_filesystem {
    const char *name, *package;
    const char *paths[2];     /* where the mkfs program may be */
    const char *words[12];    /* arguments before the device */
    const char *briefly[2];   /* more arguments, for a file system that is removed with its job */
    const char *block_prefix; /* in the word after -b, before the size of a block */
    const char *size_option;  /* before the size; NULL: the size is the word after the device */
    const char *size_prefix;  /* in the size's word, before its digits */
};

#endif
