/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a helper program when the program that asks it has ended. */
#ifndef HM_METER_PAPI_INPUT_H
#define HM_METER_PAPI_INPUT_H

/*
 * From now on the process ends at once when the other end of its standard input is closed, whatever it is doing. This
 * is needed as the asking process may have no right to kill it, and as the kernel sends the signal of PR_SET_PDEATHSIG
 * with the rights of the process that died. Only a socket is watched, such as the one from hm_papi_process_start. A
 * pipe is not, as the process that closed it may have written questions into it before.
 */
void hm_papi_input_watch(void);

#endif
