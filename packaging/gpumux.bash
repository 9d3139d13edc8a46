# Completion of gpumux for bash. Options are those that `gpumux COMMAND --help` lists, names those of `gpumux list`.
_gpumux() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
  local commands="run list inspect profile convert import-config capture record-cpu sweep export reproduce report cache bench validate"
  local command=${COMP_WORDS[1]}
  _gpumux_names() { "$program" list "$1" 2>/dev/null | awk '/^[a-zA-Z0-9]/ {print $1}'; }
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$cur"))
    return
  fi
  case $prev in
    --machine) COMPREPLY=($(compgen -W "$(_gpumux_names machines)" -- "$cur") $(compgen -f -X '!*.toml' -- "$cur")); return ;;
    --policy) COMPREPLY=($(compgen -W "$(_gpumux_names policies)" -- "$cur")); return ;;
    --baseline) COMPREPLY=($(compgen -W "auto off" -- "$cur")); return ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$("$program" "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,')" -- "$cur"))
    return
  fi
  case $command in
    list) COMPREPLY=($(compgen -W "machines policies apps experiments" -- "$cur")) ;;
    run | inspect | profile) COMPREPLY=($(compgen -W "$(_gpumux_names apps)" -- "$cur") $(compgen -f -- "$cur")) ;;
    reproduce) COMPREPLY=($(compgen -W "$(_gpumux_names experiments)" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _gpumux gpumux
