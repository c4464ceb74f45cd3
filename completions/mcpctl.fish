# fish completion for mcpctl

function __mcpctl_complete
    set -l program (commandline -opc)[1]
    command -q -- $program; or set program mcpctl
    command -q -- $program; or return
    set -l found (_MCPCTL_COMPLETE=fish $program (commandline -cp | string collect) 2>/dev/null </dev/null)
    switch "$found[1]"
        case words
            set -q found[2]; and printf '%s\n' $found[2..]
        case files
            __fish_complete_path (commandline -ct)
        case dirs
            __fish_complete_directories (commandline -ct) ''
    end
end

complete -c mcpctl -k -f -a '(__mcpctl_complete)'
