/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

const struct hm_papi_program_row hm_papi_programs[HM_N_PROGRAMS] = {
    [HM_PROGRAM_PAPI] = {"hybridmem-papi", HM_PAPI_LINE_PAPI,
                         "hybridmem was built without PAPI (configure --with-papi)", "PAPI has no event here",
                         ", as PAPI does where it cannot read a register", NULL, false},
    [HM_PROGRAM_SLURMENERGY] = {"hybridmem-slurmenergy", HM_PAPI_LINE_SLURM,
                                "hybridmem was built without Slurm's library (libslurm)",
                                "Slurm has no energy of this node",
                                ", which may mean that libslurm is not the one that it was built with", "SLURM_CONF",
                                true},
};
