# Completion of mcp-workbench for fish.
# Nothing that the command prints is evaluated: fish quotes it as needed.

function __mcp_workbench_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct | string unescape)
    set -l answer (command $program _complete words $words "$current" 2>/dev/null </dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path "$current"
        case '*'
            set -e answer[1]
            for line in $answer
                printf '%s\n' $line
            end
    end
end

complete -c mcp-workbench -f -a '(__mcp_workbench_complete)'
complete -c workbench-mcp -f -a '(__mcp_workbench_complete)'
