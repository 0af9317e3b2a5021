// The scripts of `reeve completion`: they pass the typed words to `reeve completion --`, and offer the words of its answer. The scripts
// contain no verbs or flags, so that they never go out of date. Only data. Test: test/e2e/cli/completion.test.ts, in the real shells.

/** Returns the text of a template without escapes. A `${` of the shell is written as `\${`. */
function shellScript({ raw }: TemplateStringsArray): string {
  return raw.join('').replaceAll('\\${', '${')
}

const BASH = shellScript`# reeve's completion for bash: source <(reeve completion bash)
_reeve() {
  local program line value lead= current i at=0
  local -a words=('') found=()
  program=$(type -P -- "$1") || program=reeve
  # bash splits words at = and : as well; join them again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    value=\${COMP_WORDS[i]}
    if ((i > 1)) && [[ $value =~ ^[:=]+$ || \${COMP_WORDS[i-1]} =~ ^[:=]+$ ]]; then
      words[at]+=$value
    else
      ((i > 1)) && at=$((at + 1))
      words[at]=$value
    fi
  done
  current=\${words[at]}
  # bash replaces only the part of a split word after the last = or :.
  [[ $current == "\${COMP_WORDS[COMP_CWORD]}" ]] || lead=\${current%"\${current##*[:=]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :dirs)
        compopt -o filenames 2> /dev/null
        while IFS= read -r value; do found+=("$value"); done < <(compgen -d -- "\${current#"$lead"}")
        ;;
      ':command '*)
        _reeve_command
        return
        ;;
      *)
        value=\${line%%$'\t'*}
        printf -v value %q "\${value#"$lead"}"
        found+=("$value")
        ;;
    esac
  done < <("$program" completion -- "\${words[@]}" 2> /dev/null)
  COMPREPLY=("\${found[@]}")
  if [[ \${#found[@]} -eq 1 && \${found[0]} == *[/:=] ]]; then compopt -o nospace 2> /dev/null; fi
}

# After -- follows the command line of a program.
_reeve_command() {
  local i value
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == -- ]] && break
  done
  if declare -F _command_offset > /dev/null; then
    _command_offset $((i + 1))
    return
  fi
  compopt -o filenames 2> /dev/null
  local kind=-f
  ((COMP_CWORD == i + 1)) && kind=-c
  while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen $kind -- "\${COMP_WORDS[COMP_CWORD]}" | sort -u)
}

complete -F _reeve reeve
`

const ZSH = shellScript`#compdef reeve
# reeve's completion for zsh: source <(reeve completion zsh), or this as _reeve in a directory of $fpath
_reeve() {
  local line value about shell
  local -a whole open
  while IFS= read -r line; do
    if [[ $line == :* ]]; then
      shell=$line
      continue
    fi
    value=\${line%%$'\t'*}
    about=\${line#*$'\t'}
    line=\${value//:/\\:}\${about:+:$about}
    if [[ $value == *[/:=] ]]; then open+=("$line"); else whole+=("$line"); fi
  done < <("\${(Q)words[1]}" completion -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2> /dev/null)
  (( $#whole )) && _describe -t words 'reeve' whole
  (( $#open )) && _describe -t words 'reeve' open -S ''
  case $shell in
    :dirs)
      [[ $PREFIX == --*=* ]] && compset -P '*='
      _files -/
      ;;
    ':command '*)
      local -i first=$(( \${shell#:command } + 1 ))
      shift $first words
      (( CURRENT -= first ))
      _normal
      ;;
  esac
}

if [[ \${funcstack[1]} == _reeve ]]; then
  _reeve "$@"
else
  compdef _reeve reeve
fi
`

const FISH = shellScript`# reeve's completion for fish: reeve completion fish > ~/.config/fish/completions/reeve.fish
function __reeve_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    for line in (command $program completion -- $words "$current" 2> /dev/null)
        switch $line
            case ':dirs'
                __fish_complete_directories $current
            case ':command *'
                set -l first (string replace ':command ' '' -- $line)
                set -l rest (string escape -- $words[(math $first + 1)..])
                complete -C (string join ' ' -- $rest (string escape -- $current | string replace -r "^''\$" ''))
            case '*'
                echo $line
        end
    end
end

complete -c reeve -f -a '(__reeve_complete)'
`

export const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
