/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of whole files (flock(2)). Such a lock belongs to the open file, which a child that was started under the lock
 * shares until it calls exec. A close alone leaves the file locked for as long as that child is stuck. So a lock is
 * given back with hm_flock_unlock or hm_flock_close.
 */
#ifndef HM_BASE_FLOCK_H
#define HM_BASE_FLOCK_H

/* Opens the file of a lock in the folder `at`, and makes it (mode 0600) where it is missing: only then is the folder's
 * own lock in the kernel taken, which may last (rundir.h). Returns a descriptor or -1. */
int hm_flock_open(int at, const char *name);
/* Takes the lock if it is free. Returns 0, or -1 (EWOULDBLOCK: another process has it; EINTR). */
int hm_flock_try(int fd);
/* Takes the lock, and waits for it by trying. The wait has an end, as whoever has the lock may be stopped or starved.
 * Returns 0, or -1 (ETIMEDOUT: others had it for all of `patience_ms`). */
int hm_flock_wait(int fd, unsigned patience_ms);
/* Gives the lock back; the file stays open. Keeps errno. */
void hm_flock_unlock(int fd);
/* Gives the lock back and closes the file. Does nothing for -1. Keeps errno. */
void hm_flock_close(int fd);

#endif
