# Completion of blob for bash. The command itself completes words: it knows its options, and the members of archives.
_blob() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word index
    # Bash also splits words at characters of locators, such as the colon; blob gets whole words.
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ $index -eq 0 || $line == [[:space:]]* ]]; then words+=("$word"); else words[-1]+=$word; fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
    local typed=${COMP_WORDS[COMP_CWORD]} quote="" candidate
    [[ $typed == [\'\"]* ]] && quote=${typed:0:1}
    words=("${words[@]//\\/}")
    words=("${words[@]#[\'\"]}")
    typed=${typed//\\/}
    typed=${typed#[\'\"]}
    [[ $typed == *[![:punct:]]* || $typed == *[/.]* ]] || typed=${typed//[:=@<>]/}
    # Bash replaces only the part after its last split.
    local before=${words[-1]%"$typed"}
    # If Bash completes host names, that part includes the at sign before them.
    if shopt -q hostcomplete; then before=${before%@}; fi
    COMPREPLY=()
    while IFS= read -r candidate; do
        [[ $candidate == *[/+:=] ]] && compopt -o nospace
        candidate=${candidate#"$before"}
        [[ $quote ]] || printf -v candidate %q "$candidate"
        COMPREPLY+=("$candidate")
    done < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _blob blob
