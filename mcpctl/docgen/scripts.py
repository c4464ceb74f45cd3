"""The scripts that shells run on Tab. They ask the program, which knows the tree: `mcpctl.cli.tab_completion`."""

BASH = r"""# bash completion for mcpctl

_mcpctl() {
    local program=${1/#\~\//$HOME/} kind candidate
    COMPREPLY=()
    {
        IFS= read -r kind
        while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done
    } < <(_MCPCTL_COMPLETE=bash "$program" "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null </dev/null)
    case $kind in
        files) compopt -o default 2>/dev/null ;;
        dirs) compopt -o dirnames 2>/dev/null ;;
    esac
    # a value follows without a space
    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace 2>/dev/null
}

# bash before 4.4 has no nosort
complete -o nosort -F _mcpctl mcpctl 2>/dev/null || complete -F _mcpctl mcpctl
"""

ZSH = r"""#compdef mcpctl

_mcpctl() {
    local program=${${(Q)words[1]}/#\~\//$HOME/} kind
    local line="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX"
    local -a found ending
    found=("${(@f)$(_MCPCTL_COMPLETE=zsh "$program" "$line" 2>/dev/null </dev/null)}")
    kind=$found[1]
    shift found
    [[ $kind != words && $PREFIX == --*=* ]] && compset -P '*='
    case $kind in
        words)
            [[ -z ${found:#*=(|:*)} ]] && ending=(-S '')  # a value follows without a space
            (( $#found )) && _describe -V mcpctl found "${ending[@]}" ;;
        files) _files ;;
        dirs) _files -/ ;;
        *) return 1 ;;
    esac
}

if [[ $funcstack[1] == _mcpctl ]]; then
    _mcpctl "$@"
else
    compdef _mcpctl mcpctl
fi
"""

FISH = r"""# fish completion for mcpctl

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
"""
