# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Adding up what each stage's runner said: pytest, automake's test driver, or a line "N passed, N failed".

passed_all=0
failed_all=0
failed_stages=

# tally STAGE STATUS LOG SECONDS: a stage that failed without a counted failure, or that ran nothing, counts as one failure.
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
    read -r passed failed <<<"$counts"
    if [ "$2" -ne 0 ] || [ "$passed" -eq 0 ]; then
        [ "$failed" -gt 0 ] || failed=1
    fi
    [ "$failed" -eq 0 ] || failed_stages+=" $1"
    passed_all=$((passed_all + passed))
    failed_all=$((failed_all + failed))
    echo "-- $1: $passed passed, $failed failed ($4 s)"
}

tally_close() {
    [ -z "$failed_stages" ] || echo "failed stages:$failed_stages (build/check/STAGE.log)"
    echo "$passed_all passed, $failed_all failed"
    [ "$failed_all" -eq 0 ]
}
