# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Adds up the results of each stage's runner: pytest, automake's test driver, or a line "N passed, N failed".
# shellcheck disable=SC2154  # logs is tests/check's

passed_all=0
failed_all=0
failed_stages=
stage_seconds=() # "STAGE SECONDS CPU-SECONDS"
cpu_before=0

# cpu_seconds: sets cpu to the seconds of CPU time that all ended children have used. `times` tells a shell's own
# children only, so it may not run in a subshell.
cpu_seconds() {
    times > "$logs/times"
    cpu=$(awk 'END { split($0, part, /[ms ]+/); printf "%d", 60 * (part[1] + part[3]) + part[2] + part[4] }' "$logs/times")
}

# tally STAGE STATUS LOG SECONDS: count a stage's results. A stage that failed without a counted failure, or ran
# nothing, counts as one failure. The log of a failed stage is printed.
tally() {
    local counts passed failed
    counts=$(awk '
        { gsub(/\033\[[0-9;]*m/, "") }
        /^=+ .*(passed|failed|error).* in [0-9.]+s/ {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) ~ /^passed/) passed += $i
                if ($(i + 1) ~ /^(failed|error|errors|skipped)/) failed += $i
            }
        }
        /^# PASS: / { passed += $3 }
        /^# (FAIL|ERROR|SKIP|XPASS): / { failed += $3 }
        /^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 }
        END { print passed + 0, failed + 0 }' "$3")
    read -r passed failed <<< "$counts"
    if [ "$2" -ne 0 ] || [ "$passed" -eq 0 ]; then
        [ "$failed" -gt 0 ] || failed=1
    fi
    if [ "$failed" -gt 0 ]; then
        failed_stages+=" $1"
        cat "$3"
    fi
    passed_all=$((passed_all + passed))
    failed_all=$((failed_all + failed))
    local cpu
    cpu_seconds
    stage_seconds+=("$1 $4 $((cpu - cpu_before))")
    cpu_before=$cpu
    echo "-- $1: $passed passed, $failed failed ($4 s)"
}

# tally_promises STAGE...: check the rows of tests/PROMISES.md that these stages should have shown; the results count
# like a stage's.
tally_promises() {
    local log=$logs/promises.log started=$SECONDS status=0
    tests/lib/promises ran "$logs" "$@" > "$log" 2>&1 || status=$?
    ! grep -qx '0 passed, 0 failed' "$log" || return 0 # no row is of these stages
    tally promises "$status" "$log" $((SECONDS - started))
}

print_durations() {
    echo "== seconds, and seconds of CPU time, by stage"
    printf '%s\n' "${stage_seconds[@]}" | awk -v all="$SECONDS" '
        { printf "%8d %8d  %s\n", $2, $3, $1; sum += $2; cpu += $3 }
        END { printf "%8d %8d  in all, in %d s\n", sum, cpu, all }'
    echo "== the longest tests, in seconds"
    tests/lib/dearest 20 "$logs" "${stage_seconds[@]%% *}"
}

# Print the failed tests once more, with the reason as pytest has it in one line, as the logs printed above are long. A
# stage that names no test ended by an error of its own, which is in the last lines of its log.
print_failed() {
    local stage lines
    for stage in $failed_stages; do
        echo "== failed: $stage (build/check/$stage.log)"
        lines=$(grep -aE '^((FAILED|ERROR) [^ ]*::|FAIL:? |[A-Za-z.]*(Error|Failure): )' "$logs/$stage.log" |
            sort -u | head -n 20 | cut -c -300)
        echo "${lines:-$(tail -n 3 "$logs/$stage.log")}"
    done
}

tally_close() {
    print_failed
    echo "$passed_all passed, $failed_all failed"
    [ "$failed_all" -eq 0 ]
}
