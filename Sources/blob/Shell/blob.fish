# Completion of blob for fish. The command itself completes words: it knows its options, and the members of archives.
function __blob_complete
    set -l words (commandline -opc)
    command $words[1] complete -- $words[2..-1] (commandline -ct | string unescape) 2>/dev/null
end
complete -c blob -f -a '(__blob_complete)'
