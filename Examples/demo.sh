#!/bin/sh
# The whole task in miniature: uploads a photo of a library, a member of an archive and the contents of a gzip file as
# one form, without a temporary file, and compares them with the received bytes. BLOB is the command; the receiver is
# beside it.
set -eu

programs=$(cd "$(dirname "$BLOB")" && pwd)
PATH="$programs:$PATH"
folder=$(mktemp -d)
receiver=
trap '[ -z "$receiver" ] || kill "$receiver"; rm -rf "$folder"' EXIT
cd "$folder"

say() { echo; echo "# $*"; }
show() { echo "\$ $*"; "$@"; }

say "Sources: files, a member of an archive, what is in a gzip, an asset of a library"
printf 'Hello, ' >first.txt
printf 'world!\n' >second.txt
seq 1 200000 | gzip >numbers.txt.gz
mkdir papers && seq 1 50000 >papers/report.txt && tar -czf papers.tgz papers
# A photo of 640 x 480 pixels, written as a PNG.
python3 - photo.png <<'END'
import struct, sys, zlib
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\0' + bytes((x * y) >> s & 255 for x in range(640) for s in (0, 4, 8)) for y in range(480))
open(sys.argv[1], 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 640, 480, 8, 2, 0, 0, 0))
    + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
END
show blob cat first.txt second.txt
show blob ls papers.tgz
echo '$ blob cat papers.tgz#papers/report.txt | tail -1'; blob cat papers.tgz#papers/report.txt | tail -1
show blob cat --offset 100002 --length 18 gzip+numbers.txt.gz
export BLOB_LIBRARY="$folder/library"
show blob library create
echo '$ blob library import photo.png'
asset=$(blob library import photo.png)
show blob library ls -l

say "One form of all three, received and checked"
mkdir received
blob receive --directory received >arrived.txt &
receiver=$!
while [ ! -s arrived.txt ]; do kill -0 "$receiver"; sleep 0.05; done
url=$(head -1 arrived.txt)
echo "\$ blob upload -F photo=@ASSET -F report=@papers.tgz#papers/report.txt -F numbers=@gzip+numbers.txt.gz $url"
blob upload -F "photo=@$asset" -F report=@papers.tgz#papers/report.txt -F numbers=@gzip+numbers.txt.gz "$url" >/dev/null
echo "What arrived:"
tail -n +2 arrived.txt | sed -E 's/.*"byte_count":([0-9]+).*"name":"([^"]*)","sha256":"([^"]*)".*/\3  \2, \1 bytes/'
echo "What was sent:"
blob sum "$asset" papers.tgz#papers/report.txt gzip+numbers.txt.gz
for digest in $(blob sum "$asset" papers.tgz#papers/report.txt gzip+numbers.txt.gz | cut -d ' ' -f 1); do
  grep -q "$digest" arrived.txt || { echo "$digest did not arrive"; exit 1; }
done
echo "The digests are the same on both sides."

say "A broken source is an error, never a short end"
head -c 50000 numbers.txt.gz >broken.gz
echo '$ blob cat gzip+broken.gz >partial.txt'
status=0; blob cat gzip+broken.gz >partial.txt 2>error.txt || status=$?
sed "s|$folder/||" error.txt; echo "exit status $status"
echo "\$ blob upload gzip+broken.gz $url"
status=0; blob upload gzip+broken.gz "$url" 2>error.txt || status=$?
sed "s|$folder/||" error.txt; echo "exit status $status, and nothing arrived: $(tail -n +2 arrived.txt | wc -l) parts as before"
