/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a program that counts, by that of who asks it. */
#ifndef HM_METER_PAPI_INPUT_H
#define HM_METER_PAPI_INPUT_H

/*
 * From now on the process ends at once when the other end of its standard input is closed, whatever it is at: who asks
 * may have no right to kill it, and the kernel sends PR_SET_PDEATHSIG's signal with the rights of who died. Only a
 * socket is watched, as hm_papi_process_start makes it: what closes a pipe may have written all its questions before.
 */
void hm_papi_input_watch(void);

#endif
