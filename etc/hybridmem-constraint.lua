-- SPDX-License-Identifier: Apache-2.0
-- The feature that a node needs for a mode of --hybrid-mem=, and how it is joined to the --constraint and --prefer of a
-- job. hybridmem-job-submit.lua and hybridmem-cli-filter.lua load this file from their own folder. It calls nothing of
-- Slurm's.
local M = {}

-- The features of nodes, by the use of their fast memory. false: the site has no such feature, and none is asked for.
-- cache: the constraint of jobs with --hybrid-mem=memory. flat: that of all other modes but off. mixed: takes the place
-- of either for jobs with memory or fsdax that name it in a constraint of their own.
-- refused: characters that this Slurm does not take in a constraint with a feature that it changes itself: "[]*", and
-- "[]()|*" before 23.02. For features that no reboot changes: "*".
M.memmode = { cache = "memmode=cache", flat = false, mixed = "memmode=mixed", refused = "[]*" }

-- `settings`, a table that a site may have put in the place of `defaults`: what it does not have is as there. Where a
-- site has put something else there (nil, say), the defaults hold: an error here would refuse every job.
function M.settle(settings, defaults)
    if type(settings) ~= "table" then
        return defaults
    end
    if settings ~= defaults and not getmetatable(settings) then
        setmetatable(settings, { __index = defaults })
    end
    return settings
end

local memmode = M.memmode

-- Use these features from now on: M.memmode, or a table of the site's in its place.
function M.use(features)
    M.memmode = M.settle(features, memmode)
end

-- The feature for the text of the option, or nil.
local function feature_of(text)
    local mode = text and text:match("^[^,]*")
    if not mode or mode == "off" then
        return nil
    end
    return (mode == "memory" and M.memmode.cache or mode ~= "memory" and M.memmode.flat) or nil
end

-- The modes that a node with both finds what they need on: memory behind a cache, or persistent memory.
local FIT_MIXED = { memory = true, fsdax = true }

-- Split at a character of `marks` that is in no parentheses or brackets.
local function split(text, marks)
    local parts, depth, start = {}, 0, 1
    for at = 1, #text do
        local one = text:sub(at, at)
        if one == "(" or one == "[" then
            depth = depth + 1
        elseif one == ")" or one == "]" then
            depth = depth - 1
        elseif depth == 0 and marks:find(one, 1, true) then
            parts[#parts + 1] = text:sub(start, at - 1)
            start = at + 1
        end
    end
    parts[#parts + 1] = text:sub(start)
    return parts
end

local function has_part(text, feature)
    for _, part in ipairs(split(text, "&,")) do
        if part == feature then
            return true
        end
    end
    return false
end

-- What stands before the "=" of a feature, with it: "memmode=". nil: there is none.
local function family(feature)
    return feature:match("^[^=]+=")
end

local function is_mode(feature)
    for _, known in pairs({ M.memmode.cache, M.memmode.flat, M.memmode.mixed }) do
        if known and (feature == known or (family(known) and family(feature) == family(known))) then
            return true
        end
    end
    return false
end

-- The features that a constraint names, without their counts.
local function features_of(constraint)
    local found = {}
    for word in (constraint or ""):gmatch("[^&|,()%[%]]+") do
        local feature = word:gsub("%*.*$", "")
        found[#found + 1] = feature
    end
    return found
end

-- Does a constraint name this feature?
function M.names(constraint, feature)
    for _, one in ipairs(features_of(constraint)) do
        if one == feature then
            return true
        end
    end
    return false
end

-- The first feature in a constraint that is a mode of the memory: one of M.memmode, or of their family, as
-- "memmode=other" would be. `but`: another one than this.
function M.mode_in(constraint, but)
    for _, feature in ipairs(features_of(constraint)) do
        if feature ~= but and is_mode(feature) then
            return feature
        end
    end
end

-- Join the feature to a constraint. Returns the text, or nil and what is wrong. Slurm reads "a|b&c" strictly from left
-- to right, but as a|(b&c) where it changes one of the features itself. So the feature is joined to each part of a "|",
-- which means the same in both, and a constraint in which "|" and "&" stand beside each other is refused.
local function join(constraint, feature)
    local other = M.mode_in(constraint, feature)
    if other then
        return nil, "it names " .. other .. ": leave that out"
    end
    local marks = constraint:gsub("[^%[%]()|*&,]", "")
    for mark in marks:gmatch(".") do
        if M.memmode.refused:find(mark, 1, true) then
            return nil, "Slurm takes none of " .. M.memmode.refused:gsub("(.)", "%1 ") .. "beside it"
        end
    end
    local parts, count, mixed = split(constraint, "|"), 0, false
    for i, part in ipairs(parts) do
        mixed = mixed or #split(part, "&,") > 1
        if has_part(part, feature) then
            count = count + 1
        else
            parts[i] = part .. "&" .. feature
        end
    end
    if count == #parts then
        return constraint
    end
    if #parts > 1 and mixed then
        return nil, "| and & are beside each other: write parentheses around what belongs together"
    end
    return table.concat(parts, "|")
end

-- The feature that is joined to `own`, of a job with this text of the option.
local function feature_beside(text, own, feature)
    local mixed = M.memmode.mixed
    return FIT_MIXED[text:match("^[^,]*")] and mixed and M.names(own, mixed) and mixed or feature
end

local MOST_SHOWN = 60 -- characters of a user's text in a line for them

local function none_if_empty(text)
    return text ~= "" and text or nil
end

-- The constraint and the preferred features of a job with this text of the option, from its own (nil or "": none).
-- Slurm tries what is preferred first, in place of the constraint. Returns true and both, nil for none; or false and a
-- line for the user.
function M.apply(text, constraint, prefer)
    local feature = feature_of(text)
    local own = { constraint = none_if_empty(constraint), prefer = none_if_empty(prefer) }
    if not feature then
        return true, own.constraint, own.prefer
    end
    for _, name in ipairs({ "constraint", "prefer" }) do
        local joined, wrong, needed = own[name], nil, feature
        if joined then
            needed = feature_beside(text, joined, feature)
            joined, wrong = join(joined, needed)
        end
        if wrong then
            return false, string.format("hybridmem: --hybrid-mem=%s needs %s, which cannot be joined to --%s=%s: %s",
                text:match("^[^,]*"):sub(1, MOST_SHOWN), needed, name, own[name]:sub(1, MOST_SHOWN), wrong)
        end
        own[name] = joined
    end
    return true, own.constraint or feature, own.prefer
end

return M
