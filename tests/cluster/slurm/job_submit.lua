-- SPDX-License-Identifier: Apache-2.0
-- The cluster's job_submit.lua: as in the administrator guide, jobs come to nodes in the mode that they need.
local hybridmem = dofile("/usr/share/hybridmem/hybridmem-job-submit.lua")
hybridmem.memmode.flat = "memmode=flat"
function slurm_job_submit(job_desc, part_list, submit_uid)
    return hybridmem.submit(job_desc, part_list)
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return hybridmem.modify(job_desc, job_rec)
end
