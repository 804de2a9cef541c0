#!/bin/sh
# The main job, in small: any bytes, read at any place, checked, without a temporary file.
# BLOB is the command; the programs of the examples are beside it.
set -eu

blob=$(cd "$(dirname "$BLOB")" && pwd)/$(basename "$BLOB")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

show() { echo; echo "\$ $*" | sed "s|$blob|blob|"; "$@"; }

# 5 GB of which only the end is there: offsets beyond 4 GiB cost nothing.
printf 'the end' | dd of=large.bin bs=1 seek=5000000000 conv=notrunc status=none
printf 'Hello, ' >first.txt
printf 'world!\n' >second.txt

show "$blob" cat first.txt second.txt
show "$blob" cat --offset 3 --length 8 first.txt second.txt; echo
show "$blob" cat --offset 5000000000 --length 7 large.bin; echo
show "$blob" info large.bin
show "$blob" sum first.txt file://"$folder"/second.txt
echo; echo '$ cat second.txt | blob sum -'; "$blob" sum - <second.txt
show "$blob" cat --output copy.txt first.txt second.txt; cat copy.txt
show "$blob" check first.txt

echo; echo "A file that shrinks while it is read is an error, never a short end:"
mkfifo sink
"$blob" cat large.bin >sink 2>error.txt &
reader=$!
{ dd bs=65536 count=1 of=/dev/null status=none; dd if=/dev/null of=large.bin bs=1000 seek=1 status=none; cat >/dev/null; } <sink
status=0; wait $reader || status=$?
cat error.txt | sed "s|$folder/||"; echo "exit status $status"

echo; echo "The same from Swift (Examples/Checksum), and a source of one's own (Examples/CustomSource):"
show "$(dirname "$blob")/Checksum" "file://$folder/second.txt" | sed "s|$(dirname "$blob")/||; s|$folder||"
show "$(dirname "$blob")/CustomSource" | sed "s|$(dirname "$blob")/||"
