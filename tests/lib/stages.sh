# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The stages of tests/check, one function each. They run in the project's top folder with $build, $venv and $slurm set,
# and fail by exit status; their output holds the counts that tally.sh reads.
# shellcheck disable=SC2154  # build, venv and slurm are tests/check's

# configure_in FOLDER ARG...: an out-of-tree build, configured again only when configure changed.
configure_in() {
    local folder=$1
    shift
    [ configure -nt configure.ac ] || ./bootstrap
    mkdir -p "$folder"
    if [ ! -e "$folder/config.status" ] || [ configure -nt "$folder/config.status" ]; then
        (cd "$folder" && ../../configure --quiet --enable-werror "$@")
    fi
}

# counted NAME COMMAND...: run one thing that has no runner of its own and count it.
counted() {
    local name=$1
    shift
    if "$@"; then
        echo "ok $name" && echo "1 passed, 0 failed"
    else
        echo "FAIL $name" && echo "0 passed, 1 failed"
        return 1
    fi
}

stage_lint() {
    tests/lint
}

native() {
    configure_in "$build/native" --enable-sanitizers --prefix="$build/root" --sysconfdir="$build/root/etc" \
        --with-slurm-plugindir="$build/root/lib/slurm"
    make -s -C "$build/native" -j2
}

stage_unit() {
    native
    make -s -C "$build/native" -j2 check VERBOSE=1
}

stage_cli() {
    native
    make -s -C "$build/native" install
    HYBRIDMEM_PREFIX=$build/root python3 -m pytest -p no:cacheprovider tests/cli
}

stage_fuzz() {
    configure_in "$build/fuzz" CC=clang --enable-fuzzers --enable-sanitizers
    make -s -C "$build/fuzz/helpers/core" -j2
    make -s -C "$build/fuzz/helpers/alloc" -j2 libpreload.la
    make -s -C "$build/fuzz/helpers/meter" -j2
    make -s -C "$build/fuzz/helpers/migrator" -j2 libsource.la libranks.la libreplay.la
    make -s -C "$build/fuzz/helpers/job" -j2 libjob.la
    make -s -C "$build/fuzz/helpers/collect" -j2 libspool.la
    make -s -C "$build/fuzz/helpers/namespace" -j2 libowner.la
    make -s -C "$build/fuzz/tests/fuzz" -j2
    local target corpus failed=0
    for target in "$build"/fuzz/tests/fuzz/fuzz-*; do
        case $target in *.*) continue ;; esac # objects
        corpus=$build/fuzz/corpus/${target##*/} # a copy: what is found is added to it
        mkdir -p "$corpus"
        [ ! -d "tests/fuzz/seeds/${target##*/}" ] || cp "tests/fuzz/seeds/${target##*/}"/* "$corpus"
        counted "${target##*/}" "$target" "$corpus" -runs=200000 -max_len=512 -seed=1 -verbosity=0 || failed=1
    done
    return $failed
}

stage_dist() {
    configure_in "$build/dist"
    counted distcheck make -s -C "$build/dist" distcheck
}

stage_compile() {
    local release failed=0
    for release in bookworm trixie forky; do
        counted "compile on $release" tests/testbed/compile "$release" || failed=1
    done
    return $failed
}

stage_guest() {
    python3 -m pytest -p no:cacheprovider tests/testbed
}

# in_guest TIMEOUT GUEST-ARGS... -- PYTEST-ARGS...: the tests of tests/system, by pytest inside the guest; without
# $slurm on the guest's default. The time-out only ends what hangs: it is far above what a stage takes on a busy
# machine.
in_guest() {
    local timeout=$1 options=() status=0 run
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    run=(tests/testbed/guest run ${slurm:+--slurm "$slurm"} --timeout "$timeout" "${options[@]}"
        --put tests:/opt/hybridmem/tests --put site-docs:/opt/hybridmem/site-docs
        tests/system/run-in-guest "$@")
    "${run[@]}" || status=$?
    [ "$status" -eq 125 ] || return "$status"
    # No test's result. Seen once in some thirty runs: the guest dies, as its kernel patches its own code (static keys),
    # and QEMU without KVM meets that half-way.
    echo "the testbed failed: once more"
    "${run[@]}"
}

stage_system() {
    in_guest 4500 -- -m "not meter and not migration and not kmem and not reset and not accounting and not bench"
}

stage_kmem() {
    in_guest 1800 --shape kmem -- -m kmem
}

stage_reset() {
    in_guest 1800 --qemu-arg=-action --qemu-arg=reboot=reset -- -m reset
}

stage_accounting() {
    in_guest 1800 --accounting -- -m accounting
}

stage_meter() {
    in_guest 1800 --meter "$build/check/meter.json" \
        --get /tmp/meter-expected.json:"$build/check/meter-expected.json" -- -m meter
    METER=$build/check/meter.json EXPECTED=$build/check/meter-expected.json \
        python3 -m pytest -p no:cacheprovider tests/meter/test_truth.py
}

stage_migration() {
    local failed=0
    in_guest 2400 --meter "$build/check/migration.json" --put helpers:/opt/hybridmem/helpers \
        --get /tmp/migration-expected.json:"$build/check/migration-expected.json" -- -s -m migration || failed=1
    METER=$build/check/migration.json EXPECTED=$build/check/migration-expected.json \
        python3 -m pytest -p no:cacheprovider -rP tests/meter/test_migration.py || failed=1
    return $failed
}

stage_slurm26() {
    slurm=26.05 in_guest 2400 -- -m main
}

stage_bench() {
    tests/bench/decide
    tests/bench/day
    tests/bench/history
    tests/bench/monitor
    tests/bench/in-guest
}
