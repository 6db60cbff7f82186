# The commands of a developer. Every target does all the set-up it needs, on a fresh Debian 12 or newer with Swift on PATH.

SWIFT ?= swift
# The explicit import check keeps ARCHITECTURE.md's arrows: a module imports only what it declares.
CHECKS = --explicit-target-dependency-import-check error
# Each part of a module that is compiled separately expands the macros of the whole module: PlaybackTests take 68 s of processor time in two
# parts, 34 s as one. Elsewhere a change is to compile only what it concerns.
# Where tests are run, the modules that compute are optimized, as in the product: without that, a card's first 10 to 20 ms were lost beside
# other work (5 of 6 starts; none of 9 with it). None of our code depends on the configuration (`assert`, `#if DEBUG`).
OPTIMIZED = export TALKIE_OPTIMIZED='MediaCore SyncRendering MediaCodecs MediaFiles Text CardPlayout ScreenOutput CardOutput AirPlayWire PTP \
	AirPlayTransport AirPlay ClassicAirPlay Calibration VirtualSpeaker TalkieTestKit SpeakerKit RouteTestSupport';
# Under CI nobody debugs.
ifeq ($(CI),true)
WHOLE = -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2 -Xswiftc -index-ignore-system-modules -debug-info-format none \
	-Xswiftc -no-emit-module-separately-wmo
JOBS = 4
endif
FLAGS = $(CHECKS) $(WHOLE)
TESTS = $(OPTIMIZED) $(call within,3000) Tools/build --build-tests $(FLAGS)
# The static runtime makes the program one file, which can be copied without the toolchain. It is given no capabilities
# (docs/decisions/0015-privileges.md): those of `setcap` are talkie-ports' alone.
RELEASE = -c release --static-swift-stdlib $(CHECKS) $(RELEASE_FLAGS)
SOURCES = $(wildcard Sources Tests Benchmarks Examples) Package.swift

# The backtracer of a crashed Swift program can wait for ever.
export SWIFT_BACKTRACE ?= enable=no
# Films that ffmpeg makes for the tests, kept for later runs (TestClips).
export TALKIE_TEST_CLIPS ?= $(CURDIR)/.build/test-clips
# Tools/build asks for it; it fails on a warning of our own where TALKIE_WARNINGS=error is set.
export SWIFT
# Outside packages, which find most of the library built already: those of Examples, and every sample of the guides.
EXAMPLE = $(OPTIMIZED) Tools/samples && for package in Examples/* .build/samples; do \
	$(call within,600) Tools/build --package-path $$package --scratch-path .build $(FLAGS) \
	$$(test -d $$package/Tests && echo --build-tests) || exit 1; done
# A hard limit around everything that could hang: $(call within,SECONDS).
within = timeout -k 10 $(1)
# A pipe fails with its first part.
SHELL = /bin/bash
.SHELLFLAGS = -o pipefail -c
# Kept for the list of skipped tests at the end: $(call kept,NAME).
kept = 2>&1 | tee .build/$(1).tests
empty =
space = $(empty) $(empty)

.PHONY: help setup build deb test test-all test-devices test-units built units-built test-speakers test-tools demo format lint bench fuzz lab lab-root bad-days build-threads build-fuzz test-threads reference

help:
	@echo 'make demo     play the talking clip of media/'
	@echo 'make test     the tests that need no devices, and a film for each promise of README.md: a quarter of an hour'
	@echo 'make test-all all tests, the speaker lab included: the better part of an hour'
	@echo 'make test-speakers   only those in the speaker lab, to the millisecond'
	@echo 'make test-threads    the parts with threads, under the thread sanitizer'
	@echo 'make build    the program, as .build/release/talkie, and beside it talkie-ports'
	@echo 'make deb      a Debian package of the program for this system, as .build/talkie_VERSION+SYSTEM_ARCHITECTURE.deb'
	@echo 'make release  what a maintainer publishes, as .build/release-VERSION: source archive, packages for Debian 12 and 13, folder for apt (KEY=, REHEARSAL=yes)'
	@echo 'make bench    compare with other players (Benchmarks/compare)'
	@echo 'make bad-days network cuts and worse, measured in the speaker lab'
	@echo 'make lab      build the root filesystem of the speaker lab (Tools/lab), once'
	@echo 'make fuzz     each parser under the fuzzer (SECONDS=60, NAMES=all, SEED=its own)'
	@echo 'make reference  the library’s reference (DocC), as .build/reference'
	@echo 'make format   rewrite the sources in the house style;  make lint  only check it, the numbers that parsers read, ignored errors, idioms in messages, comments and documents, their width, unlabelled parameters, and that each feature has a test'
	@echo 'make setup    install the packages of Tools/packages.txt'

setup:
	@$(call within,900) Tools/setup

build: setup
	$(call within,1500) Tools/build $(RELEASE) --product talkie
	@$(call within,60) Tools/ports .build/release/talkie-ports

# Tools/package/try installs it into a clean Debian and uses it there.
deb:
	@$(call within,900) Tools/setup build run test package
	$(MAKE) build
	@$(call within,900) Tools/package/deb

.PHONY: release
# Each suite's package is built in that suite's root (Tools/roots), and tried in a clean one.
release:
	@$(call within,900) Tools/setup run test
	@$(call within,7200) Tools/release $(if $(KEY),--key '$(KEY)') $(if $(SUITES),--suites '$(SUITES)') $(if $(REHEARSAL),--rehearsal)

# Virtual time: all at once. A process runs its tests on one thread per processor, and a test that waits blocks its thread: two processes with
# half of the tests each use the processors better. A test's time limit counts the time for which it waits for a thread, too, minutes on a busy
# machine. What needs real time, the speaker lab included: Tools/lanes.
#
# PARTS=system: only the tests of what uses the system's libraries of media, screen, sound and control, for another system than this one
# (Tools/roots). Most of the others have the same result on each, and they are half of the build and of the tests' time.
UNITS = $(notdir $(if $(filter system,$(PARTS)),$(call tests-of,AirPlayPairing AirPlayWire CardOutput ClassicAirPlay MediaCodecs MediaFiles \
	Playback Remote ScreenOutput TalkieApp TalkieCLI Text),$(wildcard Tests/Unit/*)))
tests-of = $(foreach name,$(1),$(or $(wildcard Tests/Unit/$(name)Tests),$(error there is no Tests/Unit/$(name)Tests)))
HALF = $(filter PlaybackTests MediaFilesTests CalibrationTests KioskTests,$(UNITS))
only = '^($(subst $(space),|,$(strip $(1))))\.'

RUN_UNITS = NO_COLOR=1 Tools/lanes --units $(call only,$(HALF)) $(call only,$(filter-out $(HALF),$(UNITS))) $(call kept,unit)

# Without examples, fuzz targets and the other tests with devices, whose builds take as long again. Every part runs, and the list of
# skipped tests is printed, also when one has failed.
test: export TALKIE_TARGETS = $(UNITS) FilmTests ScreenTests TalkieCLI
test: setup
	$(TESTS)
	failed=0; \
	$(RUN_UNITS) || failed=1; \
	$(call within,900) Tools/lanes --short $(call kept,short) || failed=1; \
	Tools/left-out .build/unit.tests .build/short.tests && echo 'skipped: nothing, every test ran' || \
		test "$$CI" != true || failed=1; \
	$(MAKE) test-tools || failed=1; \
	exit $$failed

# What another system than this one is checked with (Tools/roots): the unit tests, then the demo with the program of the same build.
units-built test-units: export TALKIE_TARGETS = $(UNITS) TalkieCLI
units-built: setup
	$(TESTS)

test-units: units-built
	failed=0; \
	$(RUN_UNITS) || failed=1; \
	Tools/left-out .build/unit.tests || failed=1; \
	TALKIE=.build/debug/talkie $(call within,120) Tools/demo || failed=1; \
	exit $$failed

test-all:
	failed=0; $(MAKE) test || failed=1; $(MAKE) test-devices || failed=1; exit $$failed

# All tests that need devices or real time. BESIDE is a command for Tools/lanes.
test-devices: setup
	$(MAKE) -j 2 built lab-root
	failed=0; \
	$(call within,3300) Tools/lanes $(if $(JOBS),--jobs $(JOBS)) $(if $(BESIDE),--beside '$(BESIDE)') $(call kept,devices) || failed=1; \
	Tools/left-out .build/devices.tests && echo 'skipped: nothing, every test ran' || \
		test "$$CI" != true || failed=1; \
	exit $$failed

# What the tests run, while the lab's root is fetched.
built: setup
	$(TESTS)
	$(EXAMPLE)

# Where the lab's root cannot be built, the tests say why; under CI that is a failure.
lab-root: setup
	-@$(call within,900) Tools/lab/lab setup

# Only the tests in the speaker lab (Tools/lab/README.md), to the millisecond: on a quiet machine.
test-speakers: lab built
	TALKIE_TIGHT_BOUNDS=1 $(call within,1800) Tools/lanes --only lab

# Data races in the parts that have threads of their own.
THREADED = $(call tests-of,MediaCore SyncRendering CardPlayout PTP AirPlay VirtualSpeaker)
# Only the targets that these need are built; that they do not use each package is a warning.
build-threads test-threads: export TALKIE_TARGETS = $(notdir $(THREADED))
build-threads: setup
	TALKIE_WARNINGS= $(call within,3000) Tools/build --build-tests $(FLAGS) --sanitize=thread --scratch-path .build-tsan

# Tests that drive a renderer without a thread end without closing its output, whose opening thread is then not joined.
test-threads: build-threads
	TSAN_OPTIONS=report_thread_leaks=0 NO_COLOR=1 $(call within,1500) Tools/lanes \
		--tests .build-tsan/debug/talkiePackageTests.xctest --units '^($(subst $(space),|,$(notdir $(THREADED))))\.'

# The Python and shell parts test themselves; none of it needs a screen.
test-tools:
	@$(call within,120) Tools/test-tools

# Cut networks, restarted and stolen speakers, and worse: a table for docs/performance.md, in about forty minutes.
bad-days: build lab
	Tools/experiments/bad-days --markdown .build/bad-days/table.md

demo: build
	Tools/demo

format:
	$(SWIFT) format -i -r $(SOURCES)

reference: setup
	$(TESTS)
	$(call within,300) Tools/reference

lint:
	@$(call within,300) $(SWIFT) format lint -r --strict $(SOURCES)
	@$(call within,60) Tools/unbounded
	@$(call within,60) Tools/features --check
	@$(call within,60) Tools/sentences --check
	@$(call within,60) Tools/wording

bench: build
	@Tools/setup compare
	Benchmarks/compare

build-fuzz: setup
	Tools/fuzz --build $(NAMES)

fuzz: setup
	Tools/fuzz --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) $(NAMES)

lab: setup
	@$(call within,900) Tools/lab/lab setup
