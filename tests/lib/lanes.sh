# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs several stages at a time. Each is a session of its own and writes its own log, $logs/STAGE.log, from which
# tally.sh counts its results.
# shellcheck disable=SC2154  # logs is tests/check's

PROGRESS_SECONDS=60
declare -A lane_stage=() lane_start=() # by process id
ticker= # a sleep; when it ends, the progress is printed

# An emulated guest has up to 3 GiB of memory and 2.5 GiB of NVDIMMs, and its disk is in the host's page cache: on a
# host with less than 12 GiB, or with one CPU, stages run one at a time.
default_lanes() {
    local memory
    memory=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo)
    if [ "$(nproc)" -ge 2 ] && [ "$memory" -ge 12 ]; then echo 2; else echo 1; fi
}

# running KIND...: how many stages of these kinds run now.
running() {
    local stage n=0
    for stage in "${lane_stage[@]}"; do
        [[ " $* " != *" $(kind_of "$stage") "* ]] || n=$((n + 1))
    done
    echo $n
}

# waits KIND STAGE...: is one of these waiting stages of this kind?
waits() {
    local kind=$1 stage
    shift
    for stage in "$@"; do [ "$(kind_of "$stage")" != "$kind" ] || return 0; done
    return 1
}

# may_start STAGE LANES WAITING...: may the stage run beside those that run now? stage_table says what each kind allows.
may_start() {
    local guests kind
    [ ${#lane_stage[@]} -gt 0 ] || return 0
    [ "$2" -gt 1 ] || return 1
    kind=$(kind_of "$1")
    if [ "$(running alone)" -gt 0 ]; then
        [ "$kind" = fill ] && [ "$(running fill)" -eq 0 ]
        return
    fi
    case $kind in
    alone) [ "$(running guest host)" -eq 0 ] && [ "$(running fill)" -le 1 ] ;;
    guest)
        guests=$2
        [ "$(running host fill)" -gt 0 ] || waits fill "${@:3}" || guests=$(($2 + 1))
        [ "$(running guest)" -lt "$guests" ]
        ;;
    host) [ "$(running host)" -eq 0 ] ;;
    fill) [ "$(running guest fill)" -le "$2" ] ;;
    esac
}

# Each stage leads a session and a process group of its own, so that everything it has started can be ended. A shell
# starts background processes with SIGINT and SIGQUIT ignored; tests of ^C need them.
start_stage() {
    local stage=$1
    echo "== $stage"
    env --default-signal=INT,QUIT setsid tests/lib/stage "$stage" > "$logs/$stage.log" 2>&1 < /dev/null &
    lane_stage[$!]=$stage
    lane_start[$!]=$SECONDS
}

end_stages() {
    local pid
    # A stage that has just been started may not lead its group yet.
    for pid in "${!lane_stage[@]}"; do kill -TERM -- "-$pid" "$pid" 2> /dev/null; done
    end_ticker
    exit "$1"
}
trap 'end_stages 130' INT
trap 'end_stages 143' TERM HUP

end_ticker() {
    [ -z "$ticker" ] || kill "$ticker" 2> /dev/null
    ticker=
}

# Print how far each running stage has come, as its runner says in the log.
print_progress() {
    local pid stage text=
    for pid in "${!lane_stage[@]}"; do
        stage=${lane_stage[$pid]}
        text+="  $stage $(grep -ao '\[ *[0-9]*%\]' "$logs/$stage.log" | tail -n 1 | tr -d ' []')"
    done
    echo "   $((SECONDS / 60)) min:$text"
}

# Wait until one stage ends, and count its results.
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
    tally "$stage" "$status" "$logs/$stage.log" $((SECONDS - lane_start[$pid]))
    unset "lane_stage[$pid]" "lane_start[$pid]"
}

# run_lanes LANES STAGE...: run the stages, each as soon as may_start allows it: at most LANES guests at a time, or one
# more where only guests are left.
run_lanes() {
    local lanes=$1 i
    shift
    local waiting=("$@")
    while [ ${#waiting[@]} -gt 0 ]; do
        for i in "${!waiting[@]}"; do
            may_start "${waiting[$i]}" "$lanes" "${waiting[@]}" || continue
            start_stage "${waiting[$i]}"
            unset "waiting[$i]"
        done
        reap_stage
    done
    while [ ${#lane_stage[@]} -gt 0 ]; do reap_stage; done
    end_ticker
}
