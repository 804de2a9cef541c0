# Completion of blob for fish. The command itself tells what a word can become: it knows its options, and members of archives.
function __blob_complete
    set -l words (commandline -opc)
    command $words[1] complete -- $words[2..-1] (commandline -ct | string unescape) 2>/dev/null
end
complete -c blob -f -a '(__blob_complete)'
