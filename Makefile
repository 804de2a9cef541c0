# make demo   builds everything and runs the demonstration
# make test   builds everything and runs the tests
# Both first install missing packages (make setup). Other targets: install, dist, deb, docs, sanitize, fuzz, faults,
# asset-changes, soak, spark-test, nio, nio-moto, benchmark, benchmark-check.

BLOB := .build/release/blob

# The packages that the build needs. git fetches the dependencies, one of which contains C++, and Python creates the
# photo for the demonstration. The libraries in the second line are loaded at run time if present. A Debian release may
# append t64 to a name.
DEBIAN_PACKAGES := git g++ libc6-dev zlib1g-dev libsqlite3-dev python3 \
  libarchive13 libbz2-1.0 libcurl4 libgexiv2-2 libisal2 liblzma5 libturbojpeg0 libvips42 libzstd1
# The tests compare our declarations of these libraries with the original headers, read what these tools write, and read
# through nghttpx. .ci/run, which installs only the packages of the tests, also creates the site of the documentation.
# Tests with nginx, which Debian starts on port 80 when it is installed, run only where it is present.
TEST_PACKAGES := libarchive-dev libbz2-dev libcurl4-openssl-dev libisal-dev liblzma-dev libzstd-dev \
  bzip2 curl imagemagick libarchive-tools libimage-exiftool-perl lz4 lzip ncompress nghttp2-proxy p7zip-full pigz \
  python3-markdown strace xz-utils zip zstd
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: all demo demo-picture test sanitize thread-streams thread-transfers fuzz faults asset-changes soak nio nio-moto draft-check fetch-kills fetch-power-cuts s3-check s3-kills form-check test-check picker-check serve-check zip-check spark-check spark-test link-check api-check setup archives \
  release install dist deb deb-check reproduce-check darwin-check docs benchmark benchmark-check clean

all: release

setup:
	@command -v swift >/dev/null || { echo "Swift 6.2 or later must be on the PATH: see https://www.swift.org/install"; exit 1; }
	@if command -v apt-get >/dev/null; then \
	  missing=; \
	  for package in $(DEBIAN_PACKAGES); do \
	    dpkg-query -W -f '$${Status}\n' $$package $${package}t64 2>/dev/null | grep -q 'ok installed' \
	      || missing="$$missing $$package"; \
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

# Linked statically as far as possible, so that the programs start in milliseconds and run without Swift installed.
# Most of ICU's data and all unused sections are dropped, no symbols are exported, and relocations are packed if the C
# library supports this (glibc 2.36), which saves megabytes of memory. No path of this folder is in the programs.
ifeq ($(shell uname),Linux)
GLIBC := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.*2\.//')
ARCHIVES := .build/static
# Each function has its own section, so that unused functions are dropped.
COMPILED := --static-swift-stdlib -Xcc -ffile-prefix-map=$(CURDIR)=. -Xswiftc -use-ld=lld -Xswiftc -Xfrontend -Xswiftc -function-sections
STATIC := $(COMPILED) -Xlinker --gc-sections -Xlinker --icf=safe -Xlinker --no-export-dynamic -Xlinker -L$(ARCHIVES) \
  -Xlinker $(ARCHIVES)/icu.o -Xlinker --wrap=$$(cat $(ARCHIVES)/icu) $(if $(shell [ "$(GLIBC)" -ge 36 ] 2>/dev/null && echo yes),-Xlinker -z -Xlinker pack-relative-relocs)
endif

archives:
	@# The linker searches this folder first, which contains only archives, so that it finds no shared libraries.
	@if [ -n "$(ARCHIVES)" ]; then \
	  mkdir -p $(ARCHIVES); \
	  for name in libstdc++.a libz.a libsqlite3.a; do \
	    path=$$(g++ -print-file-name=$$name); \
	    case $$path in /*) ln -sf $$path $(ARCHIVES)/;; esac; \
	  done; \
	  symbol=$$(.ci/icu $(RESOURCES)_static/linux/lib_FoundationICU.a $(ARCHIVES)/icu.o) || exit 1; \
	  echo $$symbol > $(ARCHIVES)/icu; \
	fi

release: setup archives
	swift build -c release --product blob $(STATIC)
	swift build -c release --product blob-receive $(STATIC)
	swift build -c release --product blob-serve $(STATIC)
	swift build -c release --product blob-archive-helper $(STATIC)
	swift build -c release --product blob-media-helper $(STATIC)

# A debug build, which the tests need anyway, takes a third of the time of a release.
demo: setup
	for product in blob blob-receive; do swift build --product $$product || exit 1; done
	@BLOB=.build/debug/blob Examples/demo.sh

# The pictures of the README, drawn from a run of the demonstration.
demo-picture: release
	Examples/demo_picture.py $(BLOB)

# Builds the programs that the tests use. BUILD=: skips the build, if the programs are up to date.
BUILD := swift build

# Tests that take minutes run in a second pass, so that they do not delay tests that wait for a task. At most two tests
# per core run at once, because more of them would lengthen each wait.
LONG_TESTS := ^(ArchiveSource|AssetLibrarySource|BlobCommand|BlobTestSupport|Examples|GzipSource|HTTPSource|S3Source)Tests\.

# Threads left behind by a test slow down later tests, so at most a hundred threads may remain at the end.
test: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 4
test: export BLOBSTREAMS_THREAD_LIMIT = 100
test: DEBIAN_PACKAGES += $(TEST_PACKAGES)
test: setup
	$(BUILD) --build-tests
	swift test --skip-build --skip '$(LONG_TESTS)'
	swift test --skip-build --filter '$(LONG_TESTS)'

# The thread sanitizer checks the modules with threads, one test at a time on each core, because it would make concurrent
# tests time out. The address sanitizer and the leak checker check everything but the parsing of arguments, and undefined
# behaviour in C ends the process. All increase memory use, so tests that measure memory are skipped, as are tests of a
# helper process's restrictions, which a sanitizer weakens.
UNDEFINED := -Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined
THREAD_TESTS := .build-thread/debug/BlobStreamsPackageTests.xctest --testing-library swift-testing --no-parallel

sanitize: setup
	swift build --build-tests --sanitize=thread --scratch-path .build-thread
	$(MAKE) -j 2 thread-streams thread-transfers
	swift build --build-tests --sanitize=address $(UNDEFINED) --scratch-path .build-address
	ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp:print_suppressions=0 \
	  SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4 \
	  .build-address/debug/BlobStreamsPackageTests.xctest --testing-library swift-testing \
	  --skip 'HelpTests|UsageTests|CompletionTests|OpenReadersTests|tenThousandIdleStreams|ThreadShortageTests|TaskSignalTests|RandomCancellationTests|aHelperWithoutMemoryIsALimit|aHelperHasNeitherFiles|SystemDoesNotConfineItsHelper|aHelperThatIsNotConfined|aHelperThatCrashesIsNamed|aHelperHasItsOwnDescriptors|everyOutcomeOfACatalogueIsTyped|aThumbnailIsAJPEGOrItsLibraryIsMissing|aMappedFileIsUploadedInLessMemory|aSmallReadTakesLittleMemory'

thread-streams:
	$(THREAD_TESTS) --filter '^(BlobStreamsTests|BlobStreamsTestingTests|BlobURLSessionTests|FileSourceTests)\.' \
	  --skip 'Hammer|Reentry|OpenReadersTests|tenThousandIdleStreams|ThreadShortageTests'
	$(THREAD_TESTS) --filter '^ConformanceTests\.' --skip 'Reentry|OpenReadersTests|RandomCancellationTests'
	$(THREAD_TESTS) --filter Reentry
	$(THREAD_TESTS) --filter Hammer

thread-transfers:
	$(THREAD_TESTS) --filter '^(GzipSourceTests|HTTPSourceTests|BlobTransferTests|S3SourceTests|BlobReceivingTests)\.' \
	  --skip 'TaskSignalTests|aRecordThatIsCutAnywhereIsReadAsFarAsItGoes'

# Feeds mutated inputs to the parsers in FUZZ_TARGETS (all by default) for FUZZ_SECONDS in total, on Linux. A FUZZ_SEED
# other than 0 produces the same inputs in each run. Compiled like the release, so that dependencies are not rebuilt.
FUZZ_SECONDS := 120
FUZZ_SEED := 0
FUZZ_TARGETS :=
FUZZ_SCRATCH := .build-fuzz
RESOURCES = $(shell swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
fuzz: setup
	BLOBSTREAMS_FUZZER=$(RESOURCES)/clang/lib/linux/libclang_rt.fuzzer_no_main-$(shell uname -m).a \
	  swift build -c release --product fuzz --scratch-path $(FUZZ_SCRATCH) $(COMPILED)
	Tests/Fuzzing/run.sh $(FUZZ_SCRATCH)/release/fuzz $(FUZZ_SCRATCH)/inputs $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ_TARGETS)

# Extracts hostile archives. Then makes the system calls of the command fail one by one, on Linux, and the memory
# allocations of its libraries: all of them, or FAULT_RUNS at random. Finally uploads to a server that fails at each
# stage of a request.
FAULT_RUNS := 0
FAULT_SEED :=
faults: setup
	for product in blob blob-archive-helper blob-receive blob-serve; do $(BUILD) --product $$product || exit 1; done
	Tests/hostile_archives.py .build/debug/blob --every $(if $(filter 0,$(FAULT_RUNS)),1,5)
	Tests/SystemCallFaults/run.py .build/debug/blob --runs $(FAULT_RUNS) $(if $(FAULT_SEED),--seed $(FAULT_SEED))
	Tests/UploadFaults/run.py .build/debug/blob --every $(if $(filter 0,$(FAULT_RUNS)),1,4)

# Moves, rewrites, edits and deletes an asset, and replaces the catalogue, while the command reads it, ASSET_RUNS times
# for each change and offset.
ASSET_RUNS := 100
ASSET_BYTES := 200000000
ASSET_SEED :=
asset-changes: setup
	$(BUILD) --product blob
	Tests/asset_changes.py .build/debug/blob --runs $(ASSET_RUNS) --bytes $(ASSET_BYTES) $(if $(ASSET_SEED),--seed $(ASSET_SEED))

# Reads from and writes to OpenStack Swift, which verifies the signatures of S3 requests, and is installed from PyPI in
# its own folder.
STORE := .build/store
$(STORE)/bin/swift-proxy-server:
	python3 -m venv $(STORE) && $(STORE)/bin/pip install -q swift==2.38.3 botocore

s3-check: setup $(STORE)/bin/swift-proxy-server
	$(BUILD) --build-tests
	$(STORE)/bin/python Tests/openstack.py $(STORE)/data swift test --skip-build --filter 'OpenStack.*Tests'

# Parses forms made by `blob form` with the parsers of servers: from PyPI in a separate folder, and from PHP (php-cli),
# Go (golang-go) and Node.js (node-busboy) if installed.
PARSERS := .build/parsers
form-check: setup
	test -x $(PARSERS)/bin/python || { python3 -m venv $(PARSERS) && $(PARSERS)/bin/pip install -q werkzeug django aiohttp \
	  starlette python-multipart multipart falcon tornado; }
	$(BUILD) --product blob
	$(PARSERS)/bin/python Tests/FormParsers/run.py .build/debug/blob

# Compares `blob test` with `gzip -t`, `unzip -t` and similar commands, on the archives in CORPUS.
test-check: setup
	$(if $(CORPUS),,$(error CORPUS names a folder of archives))
	$(BUILD) --product blob --product blob-archive-helper
	Tests/TestCheck/run.py .build/debug/blob $(CORPUS) --known Tests/TestCheck/differences.tsv

# Reads text split in 200 ways, and counts the lines of a large gzip, with Spark (PyPI; Java from Debian) and the module
# in Examples/Spark.
SPARK := .build/spark
$(SPARK)/bin/spark-submit:
	command -v java >/dev/null || $(SUDO) apt-get install -q -y --no-install-recommends openjdk-17-jre-headless
	python3 -m venv $(SPARK) && $(SPARK)/bin/pip install -q pyspark pyarrow numpy botocore

spark-check: release $(SPARK)/bin/spark-submit
	$(SPARK)/bin/python Tests/SparkCheck/run.py .build/release/blob

# Stores 10,000 blobs with a Spark cluster of two workers on the loopback interface, whose processes are killed and
# stopped at random moments, and compares the stored objects: first in a test store, and then in OpenStack Swift, where
# large objects are stored in parts.
SPARK_SEED :=
CLUSTER = $(SPARK)/bin/python Tests/SparkCheck/cluster.py .build/debug/blob $(if $(SPARK_SEED),--seed $(SPARK_SEED))
spark-test: setup $(SPARK)/bin/spark-submit $(STORE)/bin/swift-proxy-server
	$(BUILD) --product blob
	$(CLUSTER)
	$(STORE)/bin/python Tests/openstack.py $(STORE)/data $(CLUSTER) --store s3://bucket/job/ --bytes 600000000

# Selects assets on the page of the AssetPicker example in Chromium (chromium) and uploads them, while its servers are
# killed. The pictures of the page must be inspected manually.
PICKER := .build/picker
picker-check: setup
	test -x $(PICKER)/bin/python || { python3 -m venv $(PICKER) && $(PICKER)/bin/pip install -q websockets pillow; }
	for product in blob blob-receive blob-media-helper AssetPicker; do $(BUILD) --product $$product || exit 1; done
	$(PICKER)/bin/python Tests/PickerCheck/run.py .build/debug --pictures $(PICKER)/pictures

# Compares the answers of `blob serve` to ranges and conditions with nginx, attacks it, opens its pages in Chromium
# (chromium), and reads through it with DuckDB, pandas and ffmpeg. The pictures of the pages must be inspected manually.
SERVE := .build/serve
serve-check: setup
	test -x $(SERVE)/bin/python || { python3 -m venv $(SERVE) && $(SERVE)/bin/pip install -q websockets pillow \
	  duckdb==1.5.5 duckdb-extension-httpfs==1.5.5 pandas pyarrow boto3 'moto[s3,server]'; }
	for product in blob blob-archive-helper blob-serve; do $(BUILD) --product $$product || exit 1; done
	Tests/ServeCheck/conditions.py .build/debug/blob
	Tests/ServeCheck/hostile.py .build/debug/blob
	$(SERVE)/bin/python Tests/ServeCheck/browser.py .build/debug/blob --pictures $(SERVE)/pictures
	$(SERVE)/bin/python Tests/ServeCheck/adopters.py .build/debug/blob

ZIPS := .build/zips
# Has other programs read zips that are composed, some with 10 GiB, and continues them in a browser and in a store.
zip-check: setup
	test -x $(ZIPS)/bin/python || { python3 -m venv $(ZIPS) && $(ZIPS)/bin/pip install -q websockets boto3 'moto[s3,server]'; }
	for product in blob blob-archive-helper blob-serve; do $(BUILD) --product $$product || exit 1; done
	Tests/ZipCheck/readers.py .build/debug/blob --large
	$(ZIPS)/bin/python Tests/ZipCheck/adopters.py .build/debug/blob

# Kills uploads of a file to OpenStack Swift, S3_KILLS times at random offsets, and compares the stored object.
S3_KILLS := 50
s3-kills: setup $(STORE)/bin/swift-proxy-server
	$(BUILD) --product blob
	$(STORE)/bin/python Tests/openstack.py $(STORE)/data $(STORE)/bin/python Tests/s3_kills.py .build/debug/blob --kills $(S3_KILLS)

# Kills downloads FETCH_KILLS times at random moments, and changes the content in the meantime for half of them.
FETCH_KILLS := 1000
fetch-kills: setup
	$(BUILD) --product blob
	Tests/fetch_kills.py .build/debug/blob --kills $(FETCH_KILLS)

# Simulates power cuts during downloads, by replaying only synchronised writes, and resumes the downloads.
FETCH_POWER_CUTS := 200
fetch-power-cuts: setup
	$(BUILD) --product blob
	Tests/fetch_power_cuts.py .build/debug/blob --cuts $(FETCH_POWER_CUTS)

# Interrupts uploads by the IETF draft to a NIOResumableUpload server, DRAFT_KILLS times each.
DRAFT_KILLS := 50
DRAFT_PEER := -c release --package-path Tests/DraftPeer --scratch-path .build-draft
draft-check: setup
	$(BUILD) --product blob
	swift build $(DRAFT_PEER)
	Tests/draft_kills.py .build/debug/blob .build-draft/release/DraftPeer --kills $(DRAFT_KILLS)

# Reads various sources from files and servers, with faults, and uploads, for SOAK_SECONDS. Every byte is checked, and
# growing use of resources is a failure.
SOAK_SECONDS := 60
SOAK_FILES := .build/soak-files
soak: setup
	for product in blob blob-archive-helper blob-receive soak; do $(BUILD) --product $$product || exit 1; done
	rm -rf $(SOAK_FILES) && Tests/SystemCallFaults/fixtures.py $(SOAK_FILES)
	SOAK_SECONDS=$(SOAK_SECONDS) .build/debug/soak $(SOAK_FILES)

# Builds the package of the examples for servers, which fetches async-http-client and Hummingbird, and runs its tests.
# Then sends a form with a file of FORM_GIB through FormToS3 to a store that keeps nothing: `make nio FORM_GIB=10`.
FORM_GIB := 0.1
NIO := --package-path Examples/ServerSide --scratch-path .build-nio
FORM_TO_S3 := Examples/ServerSide/form_to_s3_check.py .build-nio/debug/FormToS3 --gib $(FORM_GIB)
nio: setup
	swift build $(NIO) --build-tests
	swift test $(NIO) --skip-build
	$(FORM_TO_S3)

# Sends the same form to the server of moto, from PyPI in a separate folder, and reads the objects back.
MOTO := .build/moto
nio-moto: setup
	test -x $(MOTO)/bin/moto_server || { python3 -m venv $(MOTO) && $(MOTO)/bin/pip install -q 'moto[s3,server]'; }
	swift build $(NIO) --product FormToS3
	$(MOTO)/bin/python $(FORM_TO_S3) --moto

# Checks that a static executable with the core, file, gzip, archive and digest modules contains no ICU, and has at most
# 20 MB when stripped.
link-check: release
	swift build -c release --product SmallChecksum $(STATIC)
	Tests/check-link.sh .build/release/SmallChecksum
	strip -o .build/static/blob $(BLOB)
	test $$(stat -c %s .build/static/blob) -le 40000000  # The bytes of the command in the packages.

# Compares the public API with the last release; skipped if no tag exists.
API_TARGETS := BlobCore BlobReceiving BlobStreams BlobStreamsTesting BlobURLSession FileSource GzipSource ArchiveSource CryptoDigest
api-check: RELEASE := $(shell git describe --tags --abbrev=0 2>/dev/null)
api-check:
	$(if $(RELEASE),swift package diagnose-api-breaking-changes $(RELEASE) --targets $(API_TARGETS),@echo "There is no release to compare the API with.")

# Installs the programs without debugging symbols, which are two thirds of their size. Manual pages and completions are
# generated by the command itself.
INSTALLED := $(DESTDIR)$(or $(PREFIX),/usr/local)
install: release
	install -d $(INSTALLED)/bin $(INSTALLED)/share/bash-completion/completions $(INSTALLED)/share/zsh/site-functions \
	  $(INSTALLED)/share/fish/vendor_completions.d
	install -s $(BLOB) $(BLOB)-receive $(BLOB)-serve $(BLOB)-archive-helper $(BLOB)-media-helper $(INSTALLED)/bin
	install -m 644 Sources/blob/Shell/blob.bash $(INSTALLED)/share/bash-completion/completions/blob
	install -m 644 Sources/blob/Shell/_blob $(INSTALLED)/share/zsh/site-functions
	install -m 644 Sources/blob/Shell/blob.fish $(INSTALLED)/share/fish/vendor_completions.d
	Sources/blob/Shell/manual_pages.py $(BLOB) $(INSTALLED)/share/man/man1
	@# The manual pages of 'blob receive' and 'blob serve' list the options of these programs.
	for name in receive serve; do Sources/blob/Shell/manual_pages.py $(BLOB)-$$name $(INSTALLED)/share/man/man1 || exit 1; done

# Packages the installed files in .build/packages: as a tarball, to be unpacked in a folder such as /usr/local, and as a
# Debian package for the Debian release on which it is built.
PACKAGES := .build/packages
# The time of all files in the packages, so that two builds of a commit are equal, byte for byte.
COMMIT_TIME = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
VERSION = $(shell sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -1)

dist: NAME = blobstreams-$(VERSION)-$(shell uname -s | tr A-Z a-z)-$(shell uname -m)
dist: release
	rm -rf $(PACKAGES)/$(NAME)
	$(MAKE) -o release install DESTDIR=$(PACKAGES)/$(NAME) PREFIX=/
	strip $(PACKAGES)/$(NAME)/bin/*
	install -m 644 README.md CHANGELOG.md $(PACKAGES)/$(NAME)
	.ci/notices .build/checkouts > $(PACKAGES)/$(NAME)/LICENSES
	tar -C $(PACKAGES) --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@$(COMMIT_TIME) --sort=name \
	  -cf $(PACKAGES)/$(NAME).tar $(NAME)
	gzip -9nf $(PACKAGES)/$(NAME).tar
	@echo $(PACKAGES)/$(NAME).tar.gz

deb deb-check: DEBIAN_PACKAGES += dpkg-dev
deb: release
	rm -rf $(PACKAGES)/deb
	$(MAKE) -o release install DESTDIR=$(PACKAGES)/deb PREFIX=/usr
	SOURCE_DATE_EPOCH=$(COMMIT_TIME) .ci/deb $(PACKAGES)/deb $(VERSION) $(PACKAGES)

# Type-checks the code for Darwin on Linux against a stub of Darwin's C library. Covers the modules that use neither
# Objective-C nor other packages.
DARWIN_STUB := $(CURDIR)/Tests/DarwinStub/CDarwinStub
darwin-check: setup
	mkdir -p .build-darwin/stub
	swiftc -emit-module -module-name Darwin -swift-version 6 -I $(DARWIN_STUB) Tests/DarwinStub/Darwin.swift \
	  -emit-module-path .build-darwin/stub/Darwin.swiftmodule
	for target in ArchiveSource BlobExtraction BlobReceiving BlobStreamsTesting S3Source; do \
	  swift build --disable-default-traits --scratch-path .build-darwin --target $$target \
	    -Xswiftc -I$(CURDIR)/.build-darwin/stub -Xswiftc -I$(DARWIN_STUB) -Xcc -I$(DARWIN_STUB) || exit 1; \
	done

# Builds the packages of the last commit twice, in different folders, and compares them.
reproduce-check: setup
	rm -rf .build-twice
	for folder in one another; do \
	  git clone -q . .build-twice/$$folder && $(MAKE) -C .build-twice/$$folder dist deb || exit 1; \
	done
	for file in .build-twice/one/$(PACKAGES)/*.gz .build-twice/one/$(PACKAGES)/*.deb; do \
	  cmp $$file .build-twice/another/$(PACKAGES)/$${file##*/} || exit 1; \
	done

# Installs the package and its dependencies in an empty root, runs the programs there, and removes the package.
deb-check: deb
	Tests/check_deb.py $(PACKAGES)/blobstreams_$(VERSION)_$(shell dpkg --print-architecture).deb

# Builds the documentation of all libraries, one archive for each, without network access; a warning is a failure. Then
# creates a static site, .build/docs/site, for SITE_PATH on its host, such as /blobstreams.
SITE_PATH :=
docs: DEBIAN_PACKAGES += python3-markdown
docs: setup
	swift build
	.ci/docs .build/debug .build/docs $(SITE_PATH)

# Measures together with the installed peers in one run, prints tables, and writes them to Benchmarks/README.md, some as
# pictures. The build folder is outside Benchmarks, so that the style check finds only sources there.
benchmark: export BENCHMARK_PICTURES = .build/pictures
benchmark: release
	rm -rf $(BENCHMARK_PICTURES) && mkdir -p $(BENCHMARK_PICTURES)
	Benchmarks/files.py $(BLOB)
	Benchmarks/gzip_files.py $(BLOB)
	Benchmarks/layers.py $(BLOB)
	Benchmarks/archives.py $(BLOB)
	Benchmarks/members.py $(BLOB)
	Benchmarks/extract.py $(BLOB)
	Benchmarks/blocks.py $(BLOB)
	Benchmarks/adjust.py $(BLOB)
	Benchmarks/http.py $(BLOB)
	Benchmarks/upload.py $(BLOB)
	Benchmarks/bodies.py $(BLOB)
	Benchmarks/early_answers.py $(BLOB)
	Benchmarks/receiver.py $(BLOB)
	Benchmarks/serve.py $(BLOB)
	Benchmarks/verification.py $(BLOB)
	Benchmarks/stated_digests.py $(BLOB)
	Benchmarks/pictures.py $(BENCHMARK_PICTURES) Benchmarks/README.md
	swift build -c release --package-path Benchmarks --scratch-path .build-benchmarks
	.build-benchmarks/release/stream-benchmarks

# Fails if a task is slower than in the commit BASE, which is built next to this checkout, in .build-base.
BASE := 0b63777
benchmark-check:
	Benchmarks/regressions.py $(BASE)

clean:
	rm -rf .build .build-*
