-- SPDX-License-Identifier: Apache-2.0
-- Calls etc/hybridmem-job-submit.lua as slurmctld does. Arguments: the file, and a case as the text of a Lua table:
--   rules, pmem, memmode, reboot    what a site sets in the file's tables `allowed`, `pmem`, `memmode` and `reboot`
--   whole          true: these are put in the place of the file's tables
--   bare           what is put in the place of all of them; false: nil
--   submit         the description of a job that is submitted
--   modify, job    the changes of a job that is modified, and the job
--   old            true: Slurm's Lua knows no error for features
slurm = { SUCCESS = 0, ERROR = -1, ESLURM_ACCESS_DENIED = 2002, ESLURM_INVALID_FEATURE = 2029, NO_VAL = 0xfffffffe }
function slurm.log_user(...)
    io.write("user: ", string.format(...), "\n")
end

local hybridmem = dofile(arg[1])
local case = assert((loadstring or load)("return " .. arg[2]))()
case.allowed = case.rules
if case.old then
    slurm.ESLURM_INVALID_FEATURE = nil
end
for _, part in ipairs({ "allowed", "pmem", "memmode", "reboot" }) do
    if case.bare ~= nil then
        hybridmem[part] = case.bare or nil
    end
    if case.whole and case[part] then
        hybridmem[part] = case[part]
    end
    for name, value in pairs(case[part] or {}) do
        hybridmem[part][name] = value
    end
end
local partitions = { main = { flag_default = 1 }, debug = { flag_default = 0 }, long = { flag_default = 0 } }
local desc = case.modify or case.submit
local returned = case.modify and hybridmem.modify(desc, case.job) or hybridmem.submit(desc, partitions)
for _, field in ipairs({ "tres_per_node", "features", "prefer", "delay_boot" }) do
    if desc[field] then
        io.write(field == "tres_per_node" and "gres" or field, ": ", desc[field], "\n")
    end
end
io.write("returns ", string.format("%d", returned), "\n")
