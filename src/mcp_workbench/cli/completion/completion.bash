# Completion of mcp-workbench for bash 4 and later.
# Nothing that the command prints is evaluated: it is read line by line into an array.

_mcp_workbench() {
    local line
    COMPREPLY=()
    # The program under the name that was typed, which may be a path; an alias or a function is not used.
    local -a answer
    mapfile -t answer < <(command "${COMP_WORDS[0]}" _complete bash \
        "$COMP_POINT" "$COMP_LINE" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    for line in "${answer[@]:1}"; do
        COMPREPLY+=("$line")
    done
    case ${answer[0]-} in
    nospace) compopt -o nospace 2>/dev/null ;;
    files) compopt -o default -o filenames 2>/dev/null ;;
    esac
}

complete -F _mcp_workbench mcp-workbench workbench-mcp
