# make demo   builds everything and shows it at work
# make test   builds everything and runs the tests
# Both install what is missing first (make setup). There is also: sanitize, benchmark, install.

BLOB := .build/release/blob

# What building this package needs: git fetches its dependencies, one of which is partly C++; Python makes the photo of
# the demonstration.
DEBIAN_PACKAGES := git g++ libc6-dev zlib1g-dev libisal-dev libarchive-dev libsqlite3-dev libcurl4-openssl-dev python3
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: all demo test sanitize setup release install benchmark clean

all: release

setup:
	@command -v swift >/dev/null || { echo "Swift 6.2 or later must be on the PATH: see https://www.swift.org/install"; exit 1; }
	@if command -v apt-get >/dev/null; then \
	  missing=; \
	  for package in $(DEBIAN_PACKAGES); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; \
	  done; \
	  if [ -n "$$missing" ]; then \
	    echo "Installing:$$missing"; \
	    $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
	  fi; \
	elif [ "$$(uname)" = Darwin ]; then \
	  xcode-select -p >/dev/null || { echo "Install the command line tools: xcode-select --install"; exit 1; }; \
	else \
	  echo "On this system, make sure of: $(DEBIAN_PACKAGES) (names of Debian)"; \
	fi

# Linked statically, as far as that goes, so that it starts in milliseconds and runs where there is no Swift. What nothing
# uses is left out, and relocations are packed where the C library knows them (glibc 2.36): megabytes less in memory.
ifeq ($(shell uname),Linux)
GLIBC := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.*2\.//')
ARCHIVES := .build/static
STATIC := --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker --gc-sections -Xlinker --icf=safe -Xlinker -L$(ARCHIVES) \
  $(if $(shell [ "$(GLIBC)" -ge 36 ] 2>/dev/null && echo yes),-Xlinker -z -Xlinker pack-relative-relocs)
endif

release: setup
	@# A folder with nothing but archives: where the linker looks first, it cannot prefer shared ones.
	@if [ -n "$(ARCHIVES)" ]; then \
	  mkdir -p $(ARCHIVES); \
	  for name in libstdc++.a libz.a libsqlite3.a; do \
	    path=$$(g++ -print-file-name=$$name); \
	    case $$path in /*) ln -sf $$path $(ARCHIVES)/;; esac; \
	  done; \
	fi
	swift build -c release --product blob $(STATIC)
	swift build -c release --product blob-receive $(STATIC)

demo: release
	@BLOB=$(BLOB) Examples/demo.sh

# The tests that compute for minutes run apart: those that wait for a task would wait for them.
COMPUTING_TESTS := ^(ArchiveSourceTests|AssetLibrarySourceTests|GzipSourceTests)\.

test: setup
	swift build --build-tests
	swift test --skip-build --skip '$(COMPUTING_TESTS)'
	swift test --skip-build --filter '$(COMPUTING_TESTS)'

# The thread sanitizer over what threads share, one test after the other: it makes each so slow that others would wait in
# vain. The address sanitizer with the leak checker over everything. Neither measures memory, which they make larger.
THREAD_TESTS := .build-thread/debug/BlobStreamsPackageTests.xctest --testing-library swift-testing --no-parallel

sanitize: setup
	swift build --build-tests --sanitize=thread --scratch-path .build-thread
	$(THREAD_TESTS) --filter '^(BlobStreamsTests|BlobStreamsTestingTests|BlobURLSessionTests|FileSourceTests)\.' \
	  --skip 'Hammer|Reentry|OpenReadersTests|tenThousandIdleStreams'
	$(THREAD_TESTS) --filter '^ConformanceTests\.' --skip Reentry
	$(THREAD_TESTS) --filter Reentry
	$(THREAD_TESTS) --filter Hammer
	swift build --build-tests --sanitize=address --scratch-path .build-address
	ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp:print_suppressions=0 \
	  .build-address/debug/BlobStreamsPackageTests.xctest --testing-library swift-testing --skip 'OpenReadersTests|tenThousandIdleStreams'

install: release
	install -d $(DESTDIR)$(or $(PREFIX),/usr/local)/bin
	install $(BLOB) $(BLOB)-receive $(DESTDIR)$(or $(PREFIX),/usr/local)/bin

# The folder of the build is outside of Benchmarks, so that the style is checked of nothing but sources.
benchmark: release
	Benchmarks/files.py $(BLOB)
	Benchmarks/gzip_files.py $(BLOB)
	Benchmarks/archives.py $(BLOB)
	swift build -c release --package-path Benchmarks --scratch-path .build-benchmarks
	.build-benchmarks/release/stream-benchmarks

clean:
	rm -rf .build .build-*
