# Bash reads this file before it runs a Verify command (see stages.py). It records what the exit
# status of a command line does not tell, and changes nothing else.
unset BASH_ENV
export -n RALPH_STAGES

# How each stage of the last pipeline ended. A command with an EXIT trap of its own has no record.
# The file is gone if nobody waited for the end.
trap 'RALPH_ENDED=${PIPESTATUS[*]}
    [ ! -e "$RALPH_STAGES" ] || printf "ended %s\n" "$RALPH_ENDED" 2>/dev/null >>"$RALPH_STAGES"' EXIT

# Which programs were not found, in a substitution too. The message is that of bash.
command_not_found_handle() {
    [ ! -e "$RALPH_STAGES" ] || printf 'missing %s\n' "$1" 2>/dev/null >>"$RALPH_STAGES"
    printf '%s: line %s: %s: command not found\n' "$0" "${BASH_LINENO[0]}" "$1" >&2
    return 127
}
