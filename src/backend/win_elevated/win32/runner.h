/* SPDX-License-Identifier: MIT */
/*
 * A command as one of the accounts. An ordinary user may start a process as another account if he has its password
 * (CreateProcessWithLogonW()), and can't restrict that process' token. So he starts the *runner*, this program again, as the
 * account: it restricts its own token, tries that the token is closed, starts the command with it, waiting,
 * in the job that the runner was put into before it ran, and ends.
 *
 * They talk over two pipes whose names are random, whose access lists have the user and the account alone, and which
 * have one instance. The user's side believes the process that it has started, and nobody else.
 */
#pragma once

#include "backend/win_elevated/machine.h"
#include "backend/win_elevated/runner_message.h"
#include "os/windows/job.h"
#include "os/windows/process.h"

struct runner_request {
	enum machine_account account;
	const struct machine_secret *secret; /* of it */
	const char *user;		     /* the SID of who runs this */
	const char *program;		     /* the file of this program */
	const struct job *job;
	const char *const *programs, *const *argv, *const *environment;
	const char *directory;
	int stdio[3]; /* descriptors */
	const struct str *sids;
	size_t sid_count;
	const char *capability; /* one of them, which the canaries are for */
	bool is_offline;	/* the loopback has to be closed */
	/*
	 * Starts the runner, suspended: a Windows error, 0 for none. NULL: as the account. The tests have another one, because
	 * Wine has no accounts.
	 */
	uint32_t (*start)(wchar_t *program, wchar_t *line, struct process *out);
};

struct runner_failure {
	bool is_command; /* the command could not be executed; else all went well */
	int os_error;	 /* errno */
	uint32_t index;
};

/*
 * The command exists and waits, or `failure` says why it could not be executed. CAUSE_WITHOUT_EFFECT: something is open that
 * should be closed; ERR_SYS, ERR_POLICY.
 */
int runner_start_command(struct arena *a, const struct runner_request *in, struct process *out,
			 struct runner_failure *failure, struct err *e) MUST_CHECK NONNULL;

/* ---- trial.c ------------------------------------------------------------------------------------- */

/* What the user's side makes for the runner to try. */
struct trial {
	struct runner_list canaries;
	wchar_t directory[512]; /* L"": there is none */
	uintptr_t sockets[2];
	uint32_t ports[2]; /* of 127.0.0.1 and ::1; 0: this system has no such address */
};

/*
 * Files of this user that `account` may read and write: one that no capability may write, one that the account may not read, one that
 * `capability` may; and somebody who listens. ERR_SYS.
 */
int trial_begin(struct arena *a, const char *user, const char *account, const char *capability,
		bool has_network, struct trial *out, struct err *e) MUST_CHECK NONNULL;
void trial_end(struct trial *trial) NONNULL;

/* In the runner: whether `token` is closed as it should be. CAUSE_WITHOUT_EFFECT says what is open. */
int trial_try(void *token, const struct runner_start *start, struct err *e) MUST_CHECK NONNULL;
