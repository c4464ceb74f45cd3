# bash completion for mcpctl

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
    # a value, or a name in a folder, follows without a space
    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *[=/] ]] && compopt -o nospace 2>/dev/null
}

# bash before 4.4 has no nosort
complete -o nosort -F _mcpctl mcpctl 2>/dev/null || complete -F _mcpctl mcpctl
