-- SPDX-License-Identifier: Apache-2.0
-- Calls etc/hybridmem-cli-filter.lua as sbatch, salloc and srun do. Arguments: the file, and a case as the text of a
-- Lua table:
--   memmode    what a site sets in the file's table `memmode`
--   whole      true: this is put in the place of the file's table
--   options    the client's options; each that is set is printed, as Slurm is told of it by an assignment
slurm = { SUCCESS = 0, ERROR = -1 }
function slurm.log_error(...)
    io.write("error: ", string.format(...), "\n")
end

local hybridmem = dofile(arg[1])
local case = assert((loadstring or load)("return " .. arg[2]))()
if case.whole then
    hybridmem.memmode = case.memmode
end
for name, value in pairs(case.memmode or {}) do
    hybridmem.memmode[name] = value
end
local options = setmetatable({}, {
    __index = case.options,
    __newindex = function(_, name, value)
        io.write(name, ": ", value, "\n")
    end,
})
io.write("returns ", string.format("%d", hybridmem.pre_submit(options)), "\n")
