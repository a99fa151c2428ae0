# Ends what a workbench leaves behind when it is killed: `sh guard.sh RUN`, see guard.py.
#
# Its input holds a line for each group of processes, "+GROUP" when it begins and "-GROUP" when it is over.
# The workbench alone holds the other end, so the end of the input is the end of the workbench, whatever
# ended it. RUN stands in the environment of all that was started. POSIX only: this may be run by dash,
# bash, busybox or whatever else a system has for sh.

# Braces, so that all of it has been read before any of it is run: the file may be replaced meanwhile.
{
    trap '' HUP INT TERM
    run=$1
    groups=' '

    while read -r line; do
        group=${line#?}
        case $line in
            +*) groups="$groups$group " ;;
            -*) case $groups in *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;; esac ;;
        esac
    done

    # Sets `alive` to the groups that still have a process, as `kill` wants them.
    look_for_groups() {
        alive=
        for group in $groups; do
            kill -0 "-$group" && alive="$alive -$group"
        done
    }

    # Adds the processes that left their group, but kept their environment, to `alive`.
    look_for_marked() {
        # In the /proc of another system the numbers would be those of others.
        read -r self _ </proc/self/stat && [ "$self" = $$ ] || return 0
        for file in $(grep -lsF "$run." /proc/[0-9]*/environ); do
            process=${file#/proc/}
            alive="$alive ${process%/environ}"
        done
    }

    look_for_all() {
        look_for_groups
        look_for_marked
    }

    # until_gone LOOK TENTHS: waits while LOOK finds something alive. Fails when it still does.
    until_gone() {
        left=$2
        while "$1"; [ -n "$alive" ]; do
            [ "$left" -gt 0 ] || return 1
            if sleep 0.1; then
                left=$((left - 1))
            else # only whole seconds are understood
                sleep 1
                left=$((left - 10))
            fi
        done
    }

    # Their input has ended: some have work to finish.
    until_gone look_for_groups 20
    look_for_all
    [ -n "$alive" ] && kill -TERM $alive
    until_gone look_for_all 5
    # Again, because there may be new ones by now.
    for _ in 1 2 3 4 5; do
        [ -n "$alive" ] || break
        kill -KILL $alive
        until_gone look_for_all 1
    done
    exit 0
}
