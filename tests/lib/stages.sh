# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The stages of tests/check, one function each. They run in the project's top folder, with $build and $slurm set, and
# with the tests' Python environment in PATH. Their exit status tells whether they failed; their output has the counts
# that tally.sh reads.
# shellcheck disable=SC2154  # build and slurm are tests/check's

# The stages in the order in which they start: NAME KIND ABOUT. The kind says what may run beside the stage:
#   guest  a guest: beside it run other guests, a stage of kind host, and one of kind fill. One guest more runs once no
#          stage of kind host or fill runs, and none of kind fill waits
#   host   needs no guest and waits more than it works: beside it run guests and a stage of kind fill
#   fill   needs no guest, measures no time of a clock, and runs at low priority: beside it runs any stage. Where fewer
#          guests run, more stages of kind fill run
#   alone  guests that have the host's clock, and so take longer on a busy host: beside it runs one stage of kind fill
# First come those of kind alone: no guest has to end before they start, and a stage of kind fill has the CPU time that
# they leave. Of the others the longest come first, so that all lanes end at about the same time; they measure times in
# guests whose clock counts instructions, so that no stage suffers from those beside it.
stage_table() {
    cat << 'EOF'
cluster    alone jobs on two machines: one dies, one comes back with another memory
clusterlong alone a server of records that stands still, a unit of systemd by its own trigger: a minute each
system     guest real Slurm, kernel and memory tiers in the guest
namespaces guest persistent memory: file systems and memory of jobs, in the guest
meter      guest placement, and the migrator, against the count from outside the guest
cli        host  install, then the commands by pytest
history    host  records brought into a history, and reports over it
migrator   guest ratios of times, with limits, by the guest's clock; the migrator and its sources, in the guest
accounting guest records against sacct, with slurmdbd and MariaDB
slurm26    guest one job of each mode, and what depends on Slurm's version, on Slurm 26.05
modes      guest one job of each mode, in one guest
kmem       guest the slow tier as movable system-ram, in the guest
reset      guest a guest that is reset with a job running
guest      guest the testbed itself
arm64      guest built for Arm with warnings as errors; stacks, and the migrator, on kernels with pages of 16 and 64 KiB
unit       fill  build with sanitizers, cmocka unit tests
lint       fill  formatters and linters over all sources
cost       fill  CPU time and memory within limits, and a migrator that does not grow
fuzz       fill  a bounded number of inputs for each parser
dist       fill  make distcheck
compile    fill  against Slurm 22.05, 24.11 and 26.05, warnings as errors; hybridmem-cc, -c++ and -fc on Debian 13
EOF
}

stage_names() { stage_table | awk '{ print $1 }'; }
# Others run only where they are named: what modes tests others test, too, and clusterlong waits for most of its time.
default_stages() { stage_names | grep -vxE 'modes|clusterlong'; }
is_stage() { stage_names | grep -qFx -- "$1"; }
kind_of() { stage_table | awk -v name="$1" '$1 == name { print $2 }'; }

# ccache, with paths relative to the clone: another clone compiles only what differs. dash runs libtool and configure in
# two thirds of bash's time.
export CCACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/hybridmem/ccache-host CCACHE_MAXSIZE=2G
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=yes
export PATH=/usr/lib/ccache:$PATH CONFIG_SHELL=/bin/dash

# configure_in FOLDER ARG...: configure a build outside of the source tree, again only when configure has changed. -g1
# gives the line numbers that sanitizers report; all other debug information would take a fifth of the compiler's time.
# Builds with sanitizers have -O1, which takes three quarters of the time of -O2. What a buffer needs at most is known
# with -O2 only: other builds have that warning.
configure_in() {
    local folder=$1
    shift
    mkdir -p "$folder"
    flock "$build/bootstrap.lock" sh -c '[ configure -nt configure.ac ] || ./bootstrap'
    if [ ! -e "$folder/config.status" ] || [ configure -nt "$folder/config.status" ]; then
        (cd "$folder" && ../../configure --quiet --enable-werror CFLAGS="-O2 -g1" "$@")
    fi
}

# counted NAME COMMAND...: run a test that has no runner of its own. Print its result, and its time in pytest's form.
counted() {
    local name=$1 started=$SECONDS status=0
    shift
    if "$@"; then
        echo "ok $name" && echo "1 passed, 0 failed"
    else
        echo "FAIL $name" && echo "0 passed, 1 failed"
        status=1
    fi
    echo "$((SECONDS - started)).0s call $name"
    return $status
}

stage_lint() {
    tests/lint
}

# The build that several stages share. When they run side by side, one makes it and the others wait.
native() {
    local lock
    exec {lock}> "$build/native.lock"
    flock "$lock"
    configure_in "$build/native" --enable-sanitizers CFLAGS="-O1 -g1 -Wno-format-truncation" --prefix="$build/root" \
        --sysconfdir="$build/root/etc" --with-slurm-plugindir="$build/root/lib/slurm"
    make -s -C "$build/native" -j2
    exec {lock}>&-
}

# The programs write their seconds into their own logs (tests/unit/timed).
stage_unit() {
    local failed=0
    native
    make -s -C "$build/native" -j2 check VERBOSE=1 || failed=1
    grep -rhE '^[0-9.]+s call tests/unit/' --include='test-*.log' --exclude=test-suite.log \
        "$build/native/tests/unit" || failed=1
    return $failed
}

# commands FILE...: tests of tests/cli against the installed commands. Several files at a time, as a test waits for its
# programs more than it works.
commands() {
    native
    make -s -C "$build/native" install
    HYBRIDMEM_PREFIX=$build/root python3 -m pytest -p no:cacheprovider -n 3 --dist loadfile -v -rfEp --durations=0 "$@"
}

# Tests of histories take half of the time of tests/cli, so they have a stage of their own.
history_files='test_(history|ingest)'

cli_tests() { find tests/cli -maxdepth 1 -name 'test_*.py' | sort; }

stage_cli() {
    # shellcheck disable=SC2046  # names without blanks
    commands $(cli_tests | grep -vE "$history_files")
}

stage_history() {
    # shellcheck disable=SC2046
    commands $(cli_tests | grep -E "$history_files")
}

stage_fuzz() {
    configure_in "$build/fuzz" CC=clang --enable-fuzzers --enable-sanitizers CFLAGS="-O1 -g1"
    make -s -C "$build/fuzz/helpers/base" -j2
    make -s -C "$build/fuzz/helpers/core" -j2
    make -s -C "$build/fuzz/helpers/slurm" -j2
    make -s -C "$build/fuzz/helpers/alloc" -j2 libpreload.la
    make -s -C "$build/fuzz/helpers/meter" -j2
    make -s -C "$build/fuzz/helpers/migrator" -j2 libprogress.la libranks.la librecording.la libreplay.la libsource.la \
        libdecode.la libbroker.la libmigrator.la libview.la
    make -s -C "$build/fuzz/helpers/job" -j2 libjob.la librecord.la
    make -s -C "$build/fuzz/helpers/cli" -j2 libdraw.la libtop.la
    make -s -C "$build/fuzz/helpers/sites" -j2 libguide.la libmbi.la libpack.la libprofile.la libsites.la libwatch.la
    make -s -C "$build/fuzz/helpers/collect" -j2 libspool.la
    make -s -C "$build/fuzz/helpers/namespace" -j2 libowner.la
    make -s -C "$build/fuzz/helpers/memmode" -j2 libmemmode.la
    make -s -C "$build/fuzz/tests/fuzz" -j2
    local target corpus failed=0
    for target in "$build"/fuzz/tests/fuzz/fuzz-*; do
        case $target in *.*) continue ;; esac # objects
        corpus=$build/fuzz/corpus/${target##*/} # a copy, as new inputs are added to it
        mkdir -p "$corpus"
        [ ! -d "tests/fuzz/seeds/${target##*/}" ] || cp "tests/fuzz/seeds/${target##*/}"/* "$corpus"
        counted "${target##*/}" "$target" "$corpus" -runs=20000 -max_len=512 -seed=1 -verbosity=0 || failed=1
    done
    return $failed
}

# archive_is_whole: has the archive all sources of the product, of its unit tests and of its fuzz targets? The other
# tests need a checkout.
archive_is_whole() {
    local lacking
    lacking=$(git ls-files | grep -vE '^(\.|tests/)' && git ls-files tests/unit tests/fuzz tests/fixtures)
    lacking=$(comm -23 <(sort <<< "$lacking") <(tar -tf "$build"/dist/hybridmem-*.tar.xz | sed 's,^[^/]*/,,' | sort))
    [ -z "$lacking" ] || { echo "the archive lacks ${lacking//$'\n'/ }" && return 1; }
}

# What the archive holds does not depend on the compiler's options; other stages compile with -O2, and unit tests have a
# stage of their own.
stage_dist() {
    configure_in "$build/dist"
    rm -f "$build"/dist/hybridmem-*.tar.xz
    counted distcheck make -s -C "$build/dist" distcheck DISTCHECK_CONFIGURE_FLAGS="CFLAGS='-O0 -g0'" \
        TESTS= check_PROGRAMS=
    counted archive archive_is_whole
}

compilers_files='test_sites_compile'

# The tests of hybridmem-cc, -c++ and -fc with the LLVM of Debian 13, whose flang takes a pass; the stage cli has them with
# this machine's. pytest counts them itself.
compilers() {
    local run=(env -C /opt/hybridmem HYBRIDMEM_PREFIX=/usr HYBRIDMEM_FLANG=yes
        python3 -m pytest -p no:cacheprovider -v -rfEp --durations=0)
    tests/testbed/root --compilers --output "$build/compilers" trixie "${run[@]}" "tests/cli/$compilers_files.py"
}

# For the release that this machine runs, the build of the other stages is enough: it is against that release's Slurm.
stage_compile() {
    local release own failed=0
    # shellcheck source=/dev/null
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    for release in bookworm trixie forky; do
        if [ "$release" = "$own" ]; then
            counted "compile on $release" native || failed=1
        else
            counted "compile on $release" tests/testbed/compile "$release" || failed=1
        fi
    done
    compilers || failed=1
    return $failed
}

# A build for arm64 by a cross compiler, with a link to the tree of libraries: the tree's own name changes with what is in
# it.
arm64_build() (
    local tree folder=$build/arm64
    tree=$(tests/testbed/arm64 tree) || return
    mkdir -p "$folder"
    ln -sfn "$tree/root" "$folder/tree"
    export PKG_CONFIG_SYSROOT_DIR=$folder/tree PKG_CONFIG_PATH=
    export PKG_CONFIG_LIBDIR=$folder/tree/usr/lib/aarch64-linux-gnu/pkgconfig:$folder/tree/usr/share/pkgconfig
    configure_in "$folder" --host=aarch64-linux-gnu CC="aarch64-linux-gnu-gcc --sysroot=$folder/tree" \
        --prefix=/usr --libexecdir=/usr/libexec --with-slurm="$folder/tree/usr"
    make -s -C "$folder" -j2 && make -s -C "$folder/tests/unit" -j2 check TESTS=
)

stage_arm64() {
    local folder=$build/arm64
    counted arm64_compiles arm64_build || return
    tests/arm64/make-initrd "$folder" "$folder/tree" "$folder/initrd" || return
    tests/testbed/arm64 run "$folder/initrd" || return
    if tests/testbed/arm64 kernel --pages 64; then
        tests/testbed/arm64 run --pages 64 "$folder/initrd"
    else
        echo "not run with pages of 64 KiB: the kernel, from Ubuntu's archive, cannot be had (the reason is above)"
    fi
}

stage_guest() {
    python3 -m pytest -p no:cacheprovider -v -rfEp --durations=0 tests/testbed
}

# in_guest TIMEOUT GUEST-ARGS... -- PYTEST-ARGS...: run tests of tests/$folder (default: system) with pytest in the guest,
# on Slurm $slurm. The guest has $needs of the tree (default: all tests).
# TIMEOUT (seconds) only ends what hangs: it is far more than a stage takes on a busy machine.
in_guest() {
    local timeout=$1 options=() status=0 run path
    shift
    # shellcheck disable=SC2086  # names without blanks
    for path in ${needs:-tests site-docs}; do options+=(--put "$path:/opt/hybridmem/$path"); done
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    run=(tests/testbed/guest run --slurm "$slurm" --timeout "$timeout" "${options[@]}"
        "tests/${folder:-system}/run-in-guest" "$@")
    "${run[@]}" || status=$?
    [ "$status" -eq 125 ] || return "$status"
    # The guest died, which is not the result of a test, so try once more. Seen once in some thirty runs: the guest's
    # kernel patches its own code (static keys), and QEMU without KVM runs it half patched.
    echo "the testbed failed: once more"
    "${run[@]}"
}

# All tests of the usual guest would take too long for one stage, so two subjects have stages of their own.
usual='not slurm26 and not meter and not kmem and not reset and not accounting'
namespaces_tests='test_(fsdax|namespace|ram)'
migrator_tests='test_(bench|damon|fair|migrat|isolate)'

system_tests() { find tests/system -maxdepth 1 -name 'test_*.py' -printf '%f\n' | sort; }

stage_system() {
    # shellcheck disable=SC2046  # names without blanks
    in_guest 4500 -- -m "$usual" $(system_tests | grep -vE "$namespaces_tests|$migrator_tests")
}

stage_namespaces() {
    # shellcheck disable=SC2046
    in_guest 4500 -- -m "$usual" $(system_tests | grep -E "$namespaces_tests")
}

# The ratios of test_bench*.py come first, in a fresh guest. They want the clock that counts instructions.
stage_migrator() {
    # shellcheck disable=SC2046
    in_guest 4500 --accel counted -- -m "$usual" $(system_tests | grep -E "$migrator_tests")
}

stage_modes() {
    in_guest 900 -- test_modes.py
}

stage_kmem() {
    in_guest 1800 --shape kmem -- -m kmem
}

# This guest has memory-side caches, too, which its other tests do not look at.
stage_reset() {
    local node caches=()
    for node in 2 3; do
        caches+=(--qemu-arg=-numa "--qemu-arg=hmat-cache,node-id=$node,size=64M,level=1,associativity=direct,policy=write-back,line=64")
    done
    in_guest 1800 --qemu-arg=-action --qemu-arg=reboot=reset "${caches[@]}" -- -m reset
}

on_cluster() {
    # Each boot of a machine unpacks what it is given: so that is little.
    local file files=() folder=cluster needs="tests/cluster site-docs/record.schema.json"
    for file in slurm accounting failures; do needs+=" tests/system/$file.py"; done
    for file in site.conf helpers.conf job_submit.lua; do files+=(--put "tests/cluster/slurm/$file:/etc/slurm/$file"); done
    in_guest 2400 --nodes 2 --put tests/cluster/hybridmem.conf:/etc/hybridmem/hybridmem.conf "${files[@]}" -- "$@"
}

stage_cluster() {
    on_cluster -m 'not clusterlong'
}

stage_clusterlong() {
    on_cluster -m clusterlong
}

stage_accounting() {
    in_guest 1800 --accounting -- -m accounting
}

# The tests of placement and those of the migrator run in one guest. Then tests/meter/test_truth.py and
# tests/meter/test_migration.py compare what the meter counted there with what those tests claimed.
stage_meter() {
    local failed=0
    in_guest 3000 --meter "$build/check/meter.json" --put helpers:/opt/hybridmem/helpers \
        --get /tmp/claims.json:"$build/check/meter-expected.json" -- -s -m meter || failed=1
    METER=$build/check/meter.json EXPECTED=$build/check/meter-expected.json \
        python3 -m pytest -p no:cacheprovider -rfEpP --durations=0 tests/meter || failed=1
    return $failed
}

stage_slurm26() {
    slurm=26.05 in_guest 2400 -- -m slurm26
}

stage_cost() {
    local name started failed=0
    for name in compile decide day history monitor sites; do
        started=$SECONDS
        if "tests/bench/$name"; then
            echo "$((SECONDS - started)).0s call tests/bench/$name"
        else
            failed=1
        fi
    done
    return $failed
}
