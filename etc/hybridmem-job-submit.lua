-- SPDX-License-Identifier: Apache-2.0
-- Refuses --hybrid-mem modes by account and partition when a job is submitted or changed. For Slurm's job_submit/lua. In
-- job_submit.lua, with the folder that this file was installed in:
--
--     local hybridmem = dofile("/usr/share/hybridmem/hybridmem-job-submit.lua")
--     hybridmem.allowed.account.physics = { "fast", "spill" }
--     hybridmem.allowed.partition.debug = {}
--     function slurm_job_submit(job_desc, part_list, submit_uid)
--         return hybridmem.submit(job_desc, part_list)
--     end
--     function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
--         return hybridmem.modify(job_desc, job_rec)
--     end
--
-- This tells users early. What binds are the account and partition sections of hybridmem.conf, which every node checks:
-- keep both the same.
local M = {}

-- The modes that each may use; what is not named may use all. "off" is always allowed.
M.allowed = { account = {}, partition = {} }

local OPTION = "_SLURM_SPANK_OPTION_hybridmem_hybrid_mem="

-- The option's text among "NAME=VALUE" strings (Slurm numbers them from 0), or nil.
local function option_of(spank_job_env)
    local text
    for _, setting in pairs(spank_job_env or {}) do
        if setting:sub(1, #OPTION) == OPTION then
            text = setting:sub(#OPTION + 1)
        end
    end
    return text
end

-- Is `mode` allowed by this rule? Tells the user where not.
local function check(kind, name, mode)
    local modes = name and M.allowed[kind][name]
    if not modes or mode == "off" then
        return true
    end
    for _, one in ipairs(modes) do
        if one == mode then
            return true
        end
    end
    local use = table.concat(modes, ", ")
    slurm.log_user("hybridmem: --hybrid-mem=%s is not allowed in %s %s: use %s", mode, kind, name,
        use == "" and "off" or "off, " .. use)
    return false
end

-- `partitions` is a comma separated list: the job may start in any of them.
local function check_all(spank_job_env, account, partitions)
    local text = option_of(spank_job_env)
    if not text then
        return slurm.SUCCESS
    end
    local mode = text:match("^[^,]*")
    local fine = check("account", account, mode)
    for partition in (partitions or ""):gmatch("[^,]+") do
        fine = check("partition", partition, mode) and fine
    end
    return fine and slurm.SUCCESS or slurm.ESLURM_ACCESS_DENIED or slurm.ERROR
end

local function default_partition(part_list)
    for name, partition in pairs(part_list) do
        if partition.flag_default == 1 then
            return name
        end
    end
end

function M.submit(job_desc, part_list)
    return check_all(job_desc.spank_job_env, job_desc.account or job_desc.default_account,
        job_desc.partition or default_partition(part_list))
end

-- A pending job that is moved to another account or partition keeps its option.
function M.modify(job_desc, job_rec)
    return check_all(job_rec.spank_job_env, job_desc.account or job_rec.account, job_desc.partition or job_rec.partition)
end

return M
