-- SPDX-License-Identifier: Apache-2.0
-- For Slurm's job_submit/lua: refuses modes of --hybrid-mem by account and partition when a job is submitted or
-- changed, has Slurm count the persistent memory of fsdax jobs, and asks for nodes whose memory is in the mode that the
-- job needs. Use it in job_submit.lua like this, with the folder that this file is installed in:
--
--     local hybridmem = dofile("/usr/share/hybridmem/hybridmem-job-submit.lua")
--     hybridmem.allowed.account.physics = { "fast", "spill" }
--     hybridmem.allowed.partition.debug = {}
--     hybridmem.pmem.types = { "socket0", "socket1" }
--     hybridmem.memmode.flat = "memmode=flat"
--     function slurm_job_submit(job_desc, part_list, submit_uid)
--         return hybridmem.submit(job_desc, part_list)
--     end
--     function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
--         return hybridmem.modify(job_desc, job_rec)
--     end
--
-- These rules only refuse jobs earlier. Every node checks the account and partition sections of hybridmem.conf, so keep
-- both the same. But jobs whose SPANK variables are too large for a node's prolog are refused only here.
local M = {}

local constraint = dofile((debug.getinfo(1, "S").source:match("^@(.*/)") or "") .. "hybridmem-constraint.lua")

-- The features of nodes by the use of their fast memory: cache, flat, mixed and refused, as hybridmem-constraint.lua has them.
M.memmode = constraint.memmode

-- who: which jobs may have the feature M.memmode.cache, by --hybrid-mem=memory or by a constraint of their own, or
-- M.memmode.mixed: those with one of these accounts, QOS or users, as in M.reboot.who = { qos = { "memmode" } }. nil: all.
-- delay: for how many seconds each job with one of the features waits at least for nodes that have it already, before
-- Slurm may reboot others for it (a least --delay-boot). Slurm tells this script nothing of nodes: whether a job will
-- cause a reboot, and when a node has had its last one, is not known here.
M.reboot = { who = nil, delay = 0 }

-- The modes that each account or partition may use. One that is not named here may use all. "off" is always allowed.
M.allowed = { account = {}, partition = {} }

-- The GRES that counts a node's persistent memory in bytes, and its types: one for each socket, in order. Without types
-- no GRES is requested, and jobs that find no room on their node fail there. Slurm before 23.11 needs "gres:" as the
-- prefix. Requests are rounded up to `granule` bytes, the alignment that regions of persistent memory usually have.
M.pmem = { prefix = "gres/", gres = "pmem", types = {}, granule = 2 ^ 24 }

-- A site may put tables of its own in the place of those above: hybridmem.reboot = { delay = 3600 }.
local defaults = { reboot = M.reboot, allowed = M.allowed, pmem = M.pmem }

local function settle()
    constraint.use(M.memmode)
    M.memmode = constraint.memmode
    for name, own in pairs(defaults) do
        M[name] = constraint.settle(M[name], own)
    end
end

local DENIED = slurm.ESLURM_ACCESS_DENIED or slurm.ERROR

-- The names that the option can have among a job's variables. Slurm's clients send the first one, and slurmd puts
-- SPANK_ before it for the prolog. Other clients can send the second one, which then reaches the prolog as well.
local OPTIONS = { "_SLURM_SPANK_OPTION_hybridmem_hybrid_mem=", "SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem=" }

-- Find the option among strings "NAME=VALUE" (Slurm numbers them from 0). Returns its text, or nil, and how often the
-- option is there.
local function options_of(spank_job_env)
    local text, count = nil, 0
    for _, setting in pairs(spank_job_env or {}) do
        for _, name in ipairs(OPTIONS) do
            if setting:sub(1, #name) == name then
                text, count = setting:sub(#name + 1), count + 1
            end
        end
    end
    return text, count
end

-- The most bytes of one of a job's SPANK variables, and of all. slurmd gives them to the node's SPANK prolog and
-- epilog. The kernel starts no program with a variable of 128 KiB; the prolog then fails, and Slurm drains the node.
local MOST_OF_ONE, MOST_OF_ALL = 4096, 65536

local function is_small(spank_job_env)
    local all = 0
    for _, setting in pairs(spank_job_env or {}) do
        all = all + #setting
        if #setting > MOST_OF_ONE or all > MOST_OF_ALL then
            slurm.log_user("hybridmem: the job's SPANK environment is too large: at most %d bytes are allowed for one "
                .. "variable, and %d for all", MOST_OF_ONE, MOST_OF_ALL)
            return false
        end
    end
    return true
end

-- Has each setting a name, and is no name there twice? Slurm's own clients send only such settings. slurmctld copies the
-- settings by name, but then reads as many copies as the job has settings: with fewer names it reads past the last one.
local function is_sound(spank_job_env)
    local seen = {}
    for _, setting in pairs(spank_job_env or {}) do
        local name = setting:match("^([^=]+)=")
        if not name or seen[name] then
            slurm.log_user("hybridmem: the job's SPANK environment has a setting without a name, or one name twice")
            return false
        end
        seen[name] = true
    end
    return true
end

-- Are the settings small and sound, and is the option there at most once? If not, tell the user. Slurm's own clients
-- send it once. Of several, the node might use another one than the one that is checked here.
local function is_clear(spank_job_env)
    if not is_small(spank_job_env) then
        return false
    end
    local _, count = options_of(spank_job_env)
    if count <= 1 then
        return is_sound(spank_job_env)
    end
    slurm.log_user("hybridmem: --hybrid-mem is in the job's environment %d times: give it once", count)
    return false
end

local function option_of(spank_job_env)
    return (options_of(spank_job_env))
end

-- The modes of the rule for a name, or nil. As in hybridmem.conf, capital and small letters are the same in an
-- account's name, as slurmctld stores it in small letters.
local function modes_of(kind, name)
    for title, modes in pairs(M.allowed[kind]) do
        if title == name or (kind == "account" and title:lower() == name:lower()) then
            return modes
        end
    end
end

-- Is `mode` allowed by this rule? If not, tell the user.
local function check(kind, name, mode)
    local modes = name and modes_of(kind, name)
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

-- Check the account and the partitions. `partitions` is a list with commas; the job may start in any of them.
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
    return fine and slurm.SUCCESS or DENIED
end

local UNITS = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }

-- The bytes of size=, or nil where it is missing or has a wrong form. Slurm's commands have refused such a request
-- before this is called, and the node refuses it in any case.
local function size_of(text)
    local digits, unit = (text .. ","):match(",size=(%d+)([KMGT]?),")
    return digits and tonumber(digits) * UNITS[unit]
end

local function request(gres, bytes)
    return string.format("%s%s:%.0f", M.pmem.prefix, gres, math.ceil(bytes / M.pmem.granule) * M.pmem.granule)
end

-- The GRES for the file systems of the option's text, or nil. With socket=local or socket=remote it has no type, as the
-- socket is not known yet. Memory that users keep is in a share that the GRES does not count.
local function gres_of(text)
    local bytes = text:match("^fsdax,") and size_of(text)
    local types = M.pmem.types
    if not bytes or #types == 0 or (text .. ","):match(",keep,") then
        return nil
    end
    if text:match(",socket=[lr]") then
        return request(M.pmem.gres, bytes)
    end
    local parts = {}
    for i, type in ipairs(types) do
        parts[i] = request(M.pmem.gres .. ":" .. type, bytes / #types)
    end
    return table.concat(parts, ",")
end

-- Does a list like "gres/gpu:1,gres/pmem:socket0:1G" contain our GRES? Slurm also finds the word "gres" behind other
-- letters.
local function asks_for_memory(tres)
    for item in tres:gmatch("[^,]+") do
        if item:gsub("^.*gres[/:]", ""):match("^[^:=]+") == M.pmem.gres then
            return true
        end
    end
    return false
end

-- Add our GRES to those that the job asks for: before them, as Slurm ignores what comes after an item like "gres/0".
-- For an empty gres=, scontrol update sends "gres/".
local function beside(asked, gres)
    local items = { gres }
    for item in asked:gmatch("[^,]+") do
        if not item:match("^gres[/:]$") then
            items[#items + 1] = item
        end
    end
    return table.concat(items, ",")
end

-- Add the GRES for size= to the job, so that Slurm schedules the capacity. Users may not ask for this GRES themselves,
-- and are told so: they could ask for less than size=.
local function count_memory(text, job_desc)
    local gres, asked = gres_of(text or ""), job_desc.tres_per_node or ""
    if gres and asks_for_memory(asked) then
        slurm.log_user("hybridmem: --gres=%s is asked for by size= of --hybrid-mem=fsdax: leave it out", M.pmem.gres)
        return slurm.ESLURM_INVALID_GRES or slurm.ERROR
    end
    if gres then
        job_desc.tres_per_node = beside(asked, gres)
    end
    return slurm.SUCCESS
end

-- Is this one of the names? As in modes_of, capital and small letters are the same, but not in a user's name.
local function is_named(kind, names, own)
    for _, name in ipairs(names) do
        if own and (name == own or (kind ~= "user" and name:lower() == own:lower())) then
            return true
        end
    end
    return false
end

-- Is the job one of those that M.reboot.who names? `owner` has its account, QOS and user. If not, tell the user, who
-- asks for this feature.
local function may_reboot(owner, feature)
    local rules = {}
    for _, kind in ipairs({ "account", "qos", "user" }) do
        local names = M.reboot.who[kind] or {}
        if is_named(kind, names, owner[kind]) then
            return true
        end
        rules[#rules + 1] = #names > 0 and kind .. " " .. table.concat(names, ", ") or nil
    end
    slurm.log_user("hybridmem: nodes with %s are for %s", feature,
        #rules > 0 and "jobs with " .. table.concat(rules, " or ") or "no job here")
    return false
end

-- Make the job wait before nodes are rebooted for it, where it waits for less. A new job that has not said how long
-- waits for less, too. job_rec: as below; how long that job waits counts where its nodes are chosen anew.
local function delay_boot(job_desc, job_rec)
    local delay = job_desc.delay_boot or slurm.NO_VAL
    if delay == slurm.NO_VAL and not job_rec then
        delay = 0
    elseif delay == slurm.NO_VAL and (job_desc.features or job_desc.prefer) then
        delay = job_rec.delay_boot or 0
    end
    if delay < M.reboot.delay then
        job_desc.delay_boot = M.reboot.delay
    end
end

-- Join the feature that the option needs to the job's constraint and to what it prefers. job_rec: the job that is
-- changed, which keeps what is not changed; nil for a new one.
local function choose_nodes(text, job_desc, job_rec, owner)
    local fine, features, prefer = constraint.apply(text, job_desc.features, job_desc.prefer)
    if not fine then
        slurm.log_user("%s", features)
        return slurm.ESLURM_INVALID_FEATURE or slurm.ERROR
    end
    if job_rec and not job_desc.features then
        features = job_rec.features
    elseif features then
        job_desc.features = features
    end
    if prefer then
        job_desc.prefer = prefer
    end
    local all = (features or "") .. "&" .. (prefer or "")
    if constraint.mode_in(all) then
        delay_boot(job_desc, job_rec)
    end
    for _, feature in ipairs({ M.memmode.cache, M.memmode.mixed }) do
        if M.reboot.who and feature and constraint.names(all, feature) and not may_reboot(owner, feature) then
            return DENIED
        end
    end
    return slurm.SUCCESS
end

local function default_partition(part_list)
    for name, partition in pairs(part_list) do
        if partition.flag_default == 1 then
            return name
        end
    end
end

function M.submit(job_desc, part_list)
    settle()
    if not is_clear(job_desc.spank_job_env) then
        return DENIED
    end
    local text, account = option_of(job_desc.spank_job_env), job_desc.account or job_desc.default_account
    local counted = count_memory(text, job_desc)
    if counted ~= slurm.SUCCESS then
        return counted
    end
    local allowed = check_all(job_desc.spank_job_env, account, job_desc.partition or default_partition(part_list))
    if allowed ~= slurm.SUCCESS then
        return allowed
    end
    local owner = { account = account, qos = job_desc.qos or job_desc.default_qos, user = job_desc.user_name }
    return choose_nodes(text, job_desc, nil, owner)
end

-- A pending job keeps its option when it is moved to another account or partition. When its GRES or its constraint are
-- changed, even to none, those for its option are added again.
function M.modify(job_desc, job_rec)
    settle()
    if not is_clear(job_rec.spank_job_env) then
        return DENIED
    end
    local text, account = option_of(job_rec.spank_job_env), job_desc.account or job_rec.account
    if job_desc.tres_per_node then
        local counted = count_memory(text, job_desc)
        if counted ~= slurm.SUCCESS then
            return counted
        end
    end
    local allowed = check_all(job_rec.spank_job_env, account, job_desc.partition or job_rec.partition)
    if allowed ~= slurm.SUCCESS then
        return allowed
    end
    local owner = { account = account, qos = job_desc.qos or job_rec.qos, user = job_rec.user_name }
    return choose_nodes(text, job_desc, job_rec, owner)
end

return M
