-- SPDX-License-Identifier: Apache-2.0
-- Calls etc/hybridmem-job-submit.lua as slurmctld does. Arguments: the file, and a case as the text of a Lua table:
--   rules, pmem    what a site sets in the file's tables `allowed` and `pmem`
--   submit         the description of a job that is submitted
--   modify, job    the changes of a job that is modified, and the job
slurm = { SUCCESS = 0, ERROR = -1, ESLURM_ACCESS_DENIED = 2002 }
function slurm.log_user(...)
    io.write("user: ", string.format(...), "\n")
end

local hybridmem = dofile(arg[1])
local case = assert((loadstring or load)("return " .. arg[2]))()
for kind, rules in pairs(case.rules or {}) do
    hybridmem.allowed[kind] = rules
end
for name, value in pairs(case.pmem or {}) do
    hybridmem.pmem[name] = value
end
local partitions = { main = { flag_default = 1 }, debug = { flag_default = 0 }, long = { flag_default = 0 } }
local desc = case.modify or case.submit
local returned = case.modify and hybridmem.modify(desc, case.job) or hybridmem.submit(desc, partitions)
if desc.tres_per_node then
    io.write("gres: ", desc.tres_per_node, "\n")
end
io.write("returns ", string.format("%d", returned), "\n")
