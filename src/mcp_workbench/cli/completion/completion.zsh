#compdef mcp-workbench workbench-mcp
# Completion of mcp-workbench for zsh.
# Nothing that the command prints is evaluated: compadd quotes it as needed.

_mcp_workbench() {
    local -a answer values descriptions
    local line value description
    # ${(Q)…} removes one level of quotes, without any expansion.
    answer=("${(@f)$(command "${(Q)words[1]}" _complete words \
        "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    for line in "${answer[@]:1}"; do
        value=${line%%$'\t'*}
        description=${line#*$'\t'}
        [[ -n $value ]] || continue
        values+=("$value")
        if [[ $description != "$line" && -n $description ]]; then
            descriptions+=("$value  -- $description")
        else
            descriptions+=("$value")
        fi
    done
    case ${answer[1]-} in
    files) _files ;;
    nospace) compadd -S '' -l -d descriptions -a values ;;
    *) compadd -l -d descriptions -a values ;;
    esac
}

if [[ $funcstack[1] == _mcp_workbench || $funcstack[1] == _mcp-workbench ]]; then
    _mcp_workbench "$@"
else
    compdef _mcp_workbench mcp-workbench workbench-mcp
fi
