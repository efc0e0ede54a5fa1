-- SPDX-License-Identifier: Apache-2.0
-- Joins what --hybrid-mem=memory needs to each constraint on a line of its input, and prints the result, or "-" where it
-- is refused. Arguments: hybridmem-constraint.lua, and what a site sets as `refused`.
local constraint = dofile(arg[1])
constraint.memmode.refused = arg[2]
for line in io.lines() do
    local fine, joined = constraint.apply("memory", line)
    io.write(fine and joined or "-", "\n")
end
