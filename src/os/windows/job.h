/* SPDX-License-Identifier: MIT */
/*
 * Job objects: processes that live and die together. What is started in a job stays in it: no job of
 * Cordon's lets a process break away.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct job_limits {
	bool ends_with_us; /* all in it is killed when its last handle is closed, also if we are killed */
	uint64_t memory_bytes; /* of all processes together; 0: no limit */
	uint32_t processes;    /* at the same time; 0: no limit */
	bool restricts_ui; /* no clipboard, no desktops, no handles of windows outside of the job, no exit of Windows */
};

/* What job_wait() tells. */
enum job_event {
	JOB_NOTHING,
	JOB_EMPTY,     /* nothing runs in it any more */
	JOB_MEMORY,    /* the memory limit was hit */
	JOB_PROCESSES, /* the limit of processes was hit */
};

struct job {
	void *handle;
	void *port; /* its completion port */
};
#define JOB_NONE                             \
	{                                    \
		.handle = NULL, .port = NULL \
	}

/*
 * SECURITY: the limits are read back, and what is not in force as asked for is ERR_WEAKER: Wine takes them and does
 * nothing. ERR_SYS.
 */
int job_new(const struct job_limits *limits, struct job *out, struct err *e) MUST_CHECK NONNULL;
void job_done(struct job *job) NONNULL; /* kills what is in it, if it ends with us */

/* Puts a process into it, below those that it is in already. ERR_SYS. */
int job_add(const struct job *job, void *process, struct err *e) MUST_CHECK NONNULL;

/* Kills all that is in it; each exits with `status`. */
void job_kill(const struct job *job, uint32_t status) NONNULL;

/* The next event, waiting at most `timeout_ms`; events that are of no use are left out. */
enum job_event job_wait(const struct job *job, uint32_t timeout_ms) NONNULL;

/* How many processes are in it; UINT32_MAX: that can't be told. */
uint32_t job_count(const struct job *job) NONNULL;

struct job_usage {
	uint64_t cpu_ms;
	uint64_t peak_kib; /* memory that its processes had committed */
	uint32_t started;  /* processes, in all */
};
bool job_get_usage(const struct job *job, struct job_usage *out) NONNULL;
