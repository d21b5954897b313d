/* SPDX-License-Identifier: MIT */
/*
 * The probe: one attempt at something that a sandbox may refuse, and its exact
 * outcome. It runs inside and outside alike, needs nothing but the kernel, and
 * is linked statically, so that it also runs in a bare initramfs.
 *
 *	probe ATTEMPT ARG... [";" ATTEMPT ARG...]...
 *
 * prints one line an attempt: "OK text", or the name of the error, or "signal N".
 * Each attempt has a process of its own, so that none disturbs the next.
 */
#pragma once

#include <stddef.h>

struct attempt {
	const char *name;
	int count; /* of arguments */
	int (*run)(char **args);
};

extern const struct attempt file_attempts[];
extern const struct attempt data_attempts[];
extern const struct attempt system_attempts[];
extern const struct attempt process_attempts[];
extern const struct attempt ipc_attempts[];
extern const struct attempt socket_attempts[];
extern const struct attempt network_attempts[];
extern const struct attempt stream_attempts[];

/* 0 for a call that went well, else -errno: what an attempt returns. */
int outcome(long result);
/* Adds to the text behind "OK". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Of a decimal argument; ends the attempt when it is none. */
long number(const char *text);
/* Runs the attempt named by args[0] in this process. */
int run_attempt(char **args);
/* The same in a process of its own; one that a signal ended is -EINTR. */
int run_attempt_apart(char **args);
/* Descriptors that were open when the probe was started, without 0, 1 and 2. */
const char *open_at_start(void);
/* Opens a file below which the rest of the attempt works; ends the attempt when it can't. */
int must_open(const char *path, int flags);
