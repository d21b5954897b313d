/* SPDX-License-Identifier: MIT */
/*
 * A made-up host for tests of plan/: a tree of files written as text, a line
 * for each, and the functions of plan/host.h on it.
 *
 *	d /repo				a directory
 *	f /repo/a			an empty file
 *	f /repo/b = one\ntwo\n		a file and its content (\n, \t, \\, \0)
 *	l /repo/x -> ../a		a link
 *	o /run/sock			a socket, device or fifo
 *	h /secret			a directory that can be seen but not looked into
 *	c /own				the same, but the user's own: a chmod opens it
 *	x /own				the user's own, can be searched but not listed
 *	u /own				a file of the user's own that can't be read
 *	w /own				the user's own, in which nothing can be created
 *	s /tmp				a directory that everybody may write
 *	a /theirs			another user's directory
 *	p /repo/.git			another run's placeholder: listed, but not seen
 *	# a comment
 *
 * Directories on the way need no line of their own; "/" is always there. A path
 * ends at " = " or " -> ". A text that is not like this ends the test program.
 */
#pragma once

#include <stdbool.h>

#include "plan/host.h"

struct fake_file;

struct fake_host {
	struct host host; /* hand out &h.host */
	struct fake_file *files;
	size_t count, room;
	uint64_t last_inode;
	size_t calls;	/* of any function of `host`, so far */
	size_t fail_at; /* the call with this number, from 1, fails with ERR_SYS; 0: none does */
};

/* `h` must stay where it is while &h->host is in use. */
void fake_host_init(struct fake_host *h, const char *text) NONNULL;
void fake_host_done(struct fake_host *h) NONNULL;

#define scoped_fake_host SCOPED(fake_host_done) struct fake_host

/* More of the same text; a path that is there already becomes what the line says. */
void fake_host_add(struct fake_host *h, const char *text) NONNULL;

/* Takes `path` and all below it away. */
void fake_host_remove(struct fake_host *h, const char *path) NONNULL;
