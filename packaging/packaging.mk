# SPDX-License-Identifier: Apache-2.0
#
# What people install: the static build of netflags with manual pages, completions and units, a Debian package, and
# release archives. docs/installing.md describes the variables.

PREFIX ?= /usr/local
DESTDIR ?=
# What an installation consists of, before it has a place.
PARTS := .build-static/parts

# Pages, packages and archives have the date of the commit, or of the release in an unpacked source archive.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat --format=%Y CHANGELOG.md)

.PHONY: parts man install uninstall deb dist packaging-check
parts: static
	$(SWIFT) build $(STATIC) --product generate-manual
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/parts .build-static/release $(PARTS)

man: parts ## Build the manual pages: .build-static/parts/man
	@ls $(PARTS)/man/*

install: parts ## Install netflags, its pages, completions and units: PREFIX=/usr/local DESTDIR= UNITDIR=
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install $(PARTS)

uninstall: ## Remove what make install with the same PREFIX and DESTDIR installed
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/uninstall

deb: parts ## Build the Debian package: .build-static/netflags_VERSION_ARCH.deb
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/debian/build $(PARTS) .build-static

dist: parts ## Build the archives of the sources and of the program, with checksums: .build-static/dist
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/dist $(PARTS) .build-static/dist

packaging-check: parts ## Check installation, pages, completions, units, archives and the Debian package
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/check $(PARTS)
