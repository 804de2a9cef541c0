#!/usr/bin/env bash
# Checks an executable that is linked statically: at most 20 MB stripped, nothing of ICU, no library of Swift, and works.
# check-link.sh PROGRAM, which prints the SHA-256 digest of each file on its command line
set -euo pipefail
program=$1
limit=20000000

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

strip -o "$folder/stripped" "$program"
size=$(stat -c %s "$folder/stripped")
echo "$(basename "$program"): $size bytes stripped, at most $limit"
[ "$size" -le "$limit" ]

# By the names that the library defines, so that the check does not depend on how they are spelt.
icu=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/swift_static/linux/lib_FoundationICU.a
nm "$icu" 2>/dev/null | awk '$2 == "T" { print $3 }' | sort -u > "$folder/icu"
nm "$program" | awk '$2 ~ /[Tt]/ { print $3 }' | sort -u > "$folder/linked"
[ "$(wc -l < "$folder/icu")" -gt 1000 ]
[ "$(wc -l < "$folder/linked")" -gt 1000 ]
shared=$(comm -12 "$folder/icu" "$folder/linked" | wc -l)
echo "$(basename "$program"): $shared functions of ICU"
[ "$shared" -eq 0 ]
if ldd "$program" | grep -E 'libswift|libFoundation|lib_Foundation|libicu'; then exit 1; fi

head -c 100000 "$program" > "$folder/part"
[ "$("$folder/stripped" "$folder/part" | cut -d ' ' -f 1)" = "$(sha256sum < "$folder/part" | cut -d ' ' -f 1)" ]
gzip -k "$folder/part"
[ "$("$folder/stripped" "gzip+$folder/part.gz" | cut -d ' ' -f 1)" = "$(sha256sum < "$folder/part" | cut -d ' ' -f 1)" ]
