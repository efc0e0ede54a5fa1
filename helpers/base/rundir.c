/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir.h"

#include <fcntl.h>

#include "files.h"

int hm_rundir_open(const char *run_dir, struct hm_error *error)
{
    return hm_folder_open_own(AT_FDCWD, run_dir, HM_FOLDER_PASS, error);
}

int hm_rundir_open_root(int run, struct hm_error *error)
{
    return hm_folder_open_own(run, HM_RUNDIR_ROOT, 0700, error);
}
