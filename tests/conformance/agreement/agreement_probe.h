/* SPDX-License-Identifier: MIT */
/*
 * What the probe is told on its stdin and answers on its stdout.
 *
 * A record is a kind, a set of tries, each one byte, and a path with a NUL behind
 * it. The answer to a record is one byte: the tries that worked.
 */
#pragma once

enum {
	KIND_FILE = 'f',  /* holds its own path */
	KIND_OTHER = 'o', /* a file that holds something else */
	KIND_DIR = 'd',
	KIND_LINK = 'l', /* followed by READ and WRITE, to what is a file or a directory */
	KIND_MISSING = 'm',
};

enum {
	TRY_ALWAYS = 0x40, /* so that no record holds a NUL before its path */
	TRY_READ = 1,	   /* the content, or the names of a directory */
	TRY_WRITE = 2,	   /* opening for writing; making a file in a directory */
	TRY_MOVE = 4,	   /* to PROBE_MOVED beside it, and back */
	TRY_CREATE = 8,	   /* a file, or a directory, at the path */
	TRY_TEXT = 16,	   /* of a link */
};

#define PROBE_MADE  "zz.made"
#define PROBE_MOVED "zz.moved"
