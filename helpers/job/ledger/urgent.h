/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a thread that holds a lock of the node's run before the processes of users. slurmstepd runs on the CPUs of its
 * job, and the kernel may share their time between sessions (setsid(2)). A user with thousands of busy sessions would
 * decide how long slurmstepd holds the lock.
 */
#ifndef HM_JOB_LEDGER_URGENT_H
#define HM_JOB_LEDGER_URGENT_H

/*
 * Gives the calling thread, and no other, the real-time policy SCHED_RR with the lowest priority, until hm_urgent_end.
 * Its children do not inherit it. Does nothing where the kernel refuses, or where the thread has a real-time policy.
 */
void hm_urgent_begin(void);

/* Gives the calling thread the policy that it had before. Its nice value was never changed. Where the kernel does not
 * let it clear the flag SCHED_RESET_ON_FORK, the flag stays: it changes nothing for a thread without real-time policy.
 */
void hm_urgent_end(void);

#endif
