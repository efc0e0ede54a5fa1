# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Finds the stages that a change needs, by the files that it touches.

# Lines PATTERN STAGES: for each file the first pattern (of bash) that matches its path counts. A file that matches none
# needs all stages.
stages_by_file() {
    cat << 'EOF'
*.am|*.ac|m4/*|bootstrap            lint unit cli history dist compile arm64
LICENSE|*.md                        lint cli
site-docs/*                         lint cli
helpers/report/*|helpers/collect/*  lint unit cli history accounting cost
helpers/cli/*                       lint unit cli
helpers/papi/*                      lint unit cli
helpers/alloc/*                     lint unit cli fuzz system meter
helpers/meter/*                     lint unit cli fuzz modes system cost
helpers/migrator/*                  lint unit cli fuzz modes migrator meter cost arm64
helpers/memmode/*                   lint unit cli fuzz cluster
helpers/namespace/*                 lint unit cli fuzz modes namespaces kmem
helpers/sites/compile/*             lint unit cli fuzz system meter cost compile
helpers/sites/record/*              lint unit cli fuzz system migrator meter cost arm64
helpers/sites/*                     lint unit cli fuzz system meter cost
helpers/base/*|helpers/core/*       lint unit cli fuzz modes system namespaces migrator slurm26 accounting reset kmem meter cost arm64
etc/*memmode*|etc/*constraint*|etc/*submit*|etc/*reap*|etc/*wipe*|etc/*export*|etc/*collect* lint cli modes system namespaces accounting cluster
helpers/*|spank/*|etc/*             lint unit cli fuzz modes system namespaces migrator slurm26 accounting reset kmem
modulefiles/*                       lint cli system
tests/unit/*                        lint unit
tests/fuzz/*                        lint fuzz
tests/cli/test_sites_compile.py     lint cli compile
tests/cli/sites-*.[ch]|tests/cli/tell.h lint cli compile system
tests/cli/walk-*                    lint cli arm64
tests/cli/*                         lint cli history
tests/contributing/*                lint cli
tests/bench/*                       lint cost
tests/fixtures/*                    lint unit cli
tests/meter/*                       lint meter
tests/testbed/*arm64                lint arm64
tests/testbed/*compilers            lint compile
tests/testbed/*/cluster.py|tests/testbed/*/switch.py|tests/testbed/*/testbed-machine|tests/testbed/*/testbed-on|tests/testbed/*/testbed-share|tests/testbed/*/testbed-node.service lint guest cluster
tests/testbed/*                     lint guest modes
tests/cluster/*                     lint cluster
tests/arm64/*                       lint arm64
tests/system/test_fsdax*|tests/system/test_namespace*|tests/system/test_ram* lint namespaces slurm26
tests/system/test_bench*|tests/system/test_damon*|tests/system/test_migrat*|tests/system/test_isolate* lint migrator slurm26
tests/system/test_kmem*             lint kmem
tests/system/test_reset*            lint reset
tests/system/accounting.py           lint accounting cluster
tests/system/test_accounting*|tests/system/test_collect* lint accounting
tests/system/test_meter*            lint meter
tests/system/test_mbi*|tests/system/mbicounters.py|tests/system/knownsites.py|tests/system/programs/sites/* lint system migrator meter
tests/system/test_modes*            lint modes
tests/system/modes.py               lint modes system slurm26
tests/system/test_*                 lint system slurm26
tests/system/slurm.py|tests/system/failures.py|tests/system/programs/occupy.c|tests/system/programs/slurm/slurmstates.c lint system namespaces migrator slurm26 accounting cluster
tests/system/*                      lint system namespaces migrator slurm26
EOF
}

# The commit with which a change is compared: where this branch forked from the remote's, or, without a remote,
# the last commit.
change_base() {
    git merge-base HEAD '@{upstream}' 2> /dev/null || git merge-base HEAD origin/HEAD 2> /dev/null || git rev-parse HEAD
}

changed_files() {
    git diff --name-only "$1" -- && git ls-files --others --exclude-standard
}

stages_of_file() {
    local pattern stages
    while read -r pattern stages; do
        # shellcheck disable=SC2053  # a pattern is meant
        [[ $1 != @($pattern) ]] || { echo "$stages" && return; }
    done < <(stages_by_file)
    stage_names
}

# stages_of_changes [=REV]: print the stages, one a line; nothing where no file differs.
stages_of_changes() {
    local base files file
    base=${1#=}
    [ -n "$base" ] || base=$(change_base)
    files=$(changed_files "$base") || return
    while IFS= read -r file; do
        [ -z "$file" ] || stages_of_file "$file"
    done <<< "$files" | tr ' ' '\n' | sort -u
}
