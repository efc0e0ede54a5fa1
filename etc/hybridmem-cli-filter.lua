-- SPDX-License-Identifier: Apache-2.0
-- For Slurm's cli_filter/lua: asks in sbatch, salloc and srun for nodes whose memory is in the mode that --hybrid-mem=
-- needs, and says at once where that cannot be joined to the user's --constraint. Use it in cli_filter.lua like this,
-- with the folder that this file is installed in, and with the settings of job_submit.lua:
--
--     local hybridmem = dofile("/usr/share/hybridmem/hybridmem-cli-filter.lua")
--     hybridmem.memmode.flat = "memmode=flat"
--     function slurm_cli_setup_defaults(options, early_pass)
--         return slurm.SUCCESS
--     end
--     function slurm_cli_pre_submit(options, pack_offset)
--         return hybridmem.pre_submit(options)
--     end
--     function slurm_cli_post_submit(offset, job_id, step_id)
--         return slurm.SUCCESS
--     end
--
-- Users can do without it: it only speaks earlier. hybridmem-job-submit.lua, in slurmctld, is what holds.
local M = {}

local constraint = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "hybridmem-constraint.lua")

-- The features of nodes by the use of their fast memory: cache, flat, mixed and refused, as hybridmem-constraint.lua has them.
M.memmode = constraint.memmode

-- The option's text, or nil.
local function option_of(options)
    local spank = options.spank
    return spank and spank.hybridmem and spank.hybridmem["hybrid-mem"]
end

-- An srun in a job, or with --jobid, starts a step there, which has the job's nodes.
local function is_step(options)
    local is_told = options.jobid ~= nil and options.jobid ~= "unset"
    return options.type == "srun" and (is_told or os.getenv("SLURM_JOB_ID") ~= nil)
end

function M.pre_submit(options)
    constraint.use(M.memmode)
    local text = option_of(options)
    if not text or is_step(options) then
        return slurm.SUCCESS
    end
    local own = { constraint = options.constraint, prefer = options.prefer }
    local fine, features, prefer = constraint.apply(text, own.constraint, own.prefer)
    if not fine then
        slurm.log_error("%s", features)
        return slurm.ERROR
    end
    if features ~= own.constraint then
        options.constraint = features
    end
    if prefer ~= own.prefer then
        options.prefer = prefer
    end
    return slurm.SUCCESS
end

return M
