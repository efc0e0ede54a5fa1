# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs several stages at a time. Each is a process group of its own and writes to a log of its own, $logs/STAGE.log;
# tally.sh reads what it came to.
# shellcheck disable=SC2154  # logs is tests/check's

PROGRESS_SECONDS=60
declare -A lane_stage=() lane_start=() # by process
lanes_used=0
ticker= # the process that says when to print the progress

# An emulated guest has up to 3 GiB of memory, and the host's page cache has its disk.
default_lanes() {
    local memory
    memory=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo)
    if [ "$(nproc)" -ge 2 ] && [ "$memory" -ge 12 ]; then echo 2; else echo 1; fi
}

# Job control gives each stage its process group, so that all that it started can be ended.
start_stage() {
    local stage=$1
    echo "== $stage"
    set -m
    (set -eu -o pipefail && "stage_$stage") > "$logs/$stage.log" 2>&1 < /dev/null &
    set +m
    lane_stage[$!]=$stage
    lane_start[$!]=$SECONDS
    lanes_used=$((lanes_used + $(lanes_of "$stage")))
}

end_stages() {
    local pid
    for pid in "${!lane_stage[@]}"; do kill -TERM -- "-$pid" 2> /dev/null; done
    end_ticker
    exit "$1"
}
trap 'end_stages 130' INT
trap 'end_stages 143' TERM HUP

end_ticker() {
    [ -z "$ticker" ] || kill "$ticker" 2> /dev/null
    ticker=
}

# How far each running stage has come, as its runner says.
print_progress() {
    local pid stage text=
    for pid in "${!lane_stage[@]}"; do
        stage=${lane_stage[$pid]}
        text+="  $stage $(grep -ao '\[ *[0-9]*%\]' "$logs/$stage.log" | tail -n 1 | tr -d ' []')"
    done
    echo "   $((SECONDS / 60)) min:$text"
}

# Wait for the end of one stage, and count it.
reap_stage() {
    local pid='' status=0 stage
    while :; do
        [ -n "$ticker" ] || {
            sleep "$PROGRESS_SECONDS" &
            ticker=$!
        }
        wait -n -p pid "$ticker" "${!lane_stage[@]}"
        status=$?
        [ "$pid" = "$ticker" ] || break
        ticker=
        print_progress
    done
    stage=${lane_stage[$pid]}
    lanes_used=$((lanes_used - $(lanes_of "$stage")))
    tally "$stage" "$status" "$logs/$stage.log" $((SECONDS - lane_start[$pid]))
    unset "lane_stage[$pid]" "lane_start[$pid]"
}

# run_lanes LANES STAGE...: in this order, as many at a time as there are lanes. A stage that takes more lanes than there
# are runs alone.
run_lanes() {
    local lanes=$1 stage
    shift
    for stage; do
        while [ "$lanes_used" -gt 0 ] && [ $((lanes_used + $(lanes_of "$stage"))) -gt "$lanes" ]; do reap_stage; done
        start_stage "$stage"
    done
    while [ ${#lane_stage[@]} -gt 0 ]; do reap_stage; done
    end_ticker
}
