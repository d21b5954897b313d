/* SPDX-License-Identifier: MIT */
/*
 * Runs a command as one of the accounts (win_elevated/lower.c). Before it starts, all that 'cordon windows setup' has made is
 * looked at, the entries are in the access lists, and the runner has tried the token.
 *
 * In this version only for policies by which everything may be read (win_elevated_lower_here()).
 */
#include "os/windows/api.h"

#include <errno.h>

#include "backend/win_elevated/win32/runner.h"
#include "backend/win_elevated/win32/win32.h"
#include "backend/windows/acl_apply.h"
#include "backend/windows/sid.h"
#include "backend/windows_run/windows_run.h"
#include "base/path.h"
#include "base/windows_path.h"
#include "os/os.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "plan/net.h"

/* What a run has, until nothing of it runs any more. */
struct held {
	struct arena *a;
	struct machine machine;
	struct windows_lowering lowered;
	struct acl_system system;
	struct windows_acl_run *run;
	struct windows_acl_request request;
	char group[MACHINE_SID_BYTES], user[MACHINE_SID_BYTES];
	void (*warn)(void *user, const char *text);
	void *warned;
};

static guarantee_set gives(const struct plan *plan)
{
	guarantee_set set = 0;

	(void)plan;
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (win_elevated_guarantees[g].is_held && !win_elevated_unbuilt((enum guarantee)g))
			set |= GUARANTEE_BIT(g);
	return set;
}

static const char *why_not(enum guarantee g)
{
	if (win_elevated_unbuilt(g))
		return win_elevated_unbuilt(g);
	return g < GUARANTEE_COUNT ? win_elevated_guarantees[g].why : "?";
}

/* ---- What has to be as it should ------------------------------------------------------------------ */

static int check_preview(const struct plan *plan, struct err *e)
{
	if (settings_have_feature(&plan->policy->settings, "windows_preview"))
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_PREVIEW,
			 "the win_elevated backend is a preview: nobody has run its tests on a "
			 "Windows yet");
	err_add_line(e, "to try it all the same, set features.windows_preview = true in "
			"%%APPDATA%%\\cordon\\config.toml");
	return err_result(e);
}

static int lower(struct arena *a, const struct plan *plan, struct windows_lowering *out,
		 struct err *e)
{
	if (win_elevated_lower_here(a, plan, out, e) < 0)
		return err_result(e);
	if (out->is_refused)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				  "the win_elevated backend can't express this policy (%s): %.*s",
				  guarantee_name(out->refused), STR_ARG(out->reason));
	return 0;
}

/* SECURITY: read back, all of it, under the lock: nothing of it changes before the run ends. */
static int check_machine(struct held *h, struct err *e)
{
	const bool is_offline = strcmp(h->lowered.identity, "offline") == 0;
	struct win32_machine *m = h->machine.state;
	struct machine_look look;

	/* Before the lock, which is not there if nothing is. */
	if (machine_look(h->a, &h->machine, NULL, &look, e) < 0 || machine_refuse(&look, e) < 0)
		return err_result(e);
	m->lock = win32_lock(m->directory, true, e);
	if (!m->lock || machine_look(h->a, &h->machine, NULL, &look, e) < 0 ||
	    machine_refuse(&look, e) < 0 || h->machine.find_user(m, h->user, e) < 0)
		return err_result(e);
	memcpy(h->group, look.group.sid, sizeof(h->group));
	if (!is_offline || !look.open_port)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_NOT_SET_UP,
			 "port %u of the loopback is open to commands without a network",
			 look.open_port);
	err_add_line(e, "'cordon windows setup' without --proxy-port closes it");
	return err_result(e);
}

/* ---- Making it --------------------------------------------------------------------------------------- */

/* What another policy has opened to the group goes first; no other run needs it, as there is none. */
static int put_entries(struct held *h, const struct plan *plan, struct err *e)
{
	struct windows_acl_names known = { .group = STR_EMPTY };
	struct windows_acl_cleanup cleaned;
	struct str state;

	if (sid_parse(h->a, str_of(h->group), &known.group, e) < 0 ||
	    acl_state_find(h->a, &state, e) < 0 ||
	    acl_system_open(h->a, state, &h->system, e) < 0 ||
	    windows_acl_cleanup(h->a, &h->system, &cleaned, e) < 0 ||
	    windows_acl_bind(h->a, &h->lowered, plan, &known, &h->request, e) < 0)
		return err_result(e);
	return windows_acl_apply(h->a, &h->system, &h->request, &h->run, e);
}

static void take_back(struct held *h)
{
	struct err e = ERR_INIT;

	if (h->run && windows_acl_end(h->run, &e) < 0 && h->warn)
		h->warn(h->warned, e.text);
	h->run = NULL;
	if (h->system.user)
		acl_system_close(&h->system);
	h->system.user = NULL;
	if (h->machine.state)
		machine_close(&h->machine);
	h->machine.state = NULL;
}

static void done(void *user)
{
	take_back(user);
}

/* ---- The command ----------------------------------------------------------------------------------------- */

/* As the runner finds them: from the directory of the command. */
static int find_programs(struct arena *a, const struct launch *in, const char ***out, struct err *e)
{
	size_t count = 0;

	while (in->programs[count])
		count++;
	*out = arena_array(a, count + 1, sizeof(**out), e);
	if (!*out)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		struct str path;

		if (windows_path(a, str_of(in->directory), str_of(in->programs[i]), WINDOWS_EXACT,
				 &path, e) < 0 ||
		    path_plain(a, str_of(in->directory), path, &path, e) < 0)
			return err_result(e);
		(*out)[i] = path.p;
	}
	return 0;
}

static int watch(struct sandbox *s, struct err *e)
{
	HANDLE copy = NULL;

	if (DuplicateHandle(GetCurrentProcess(), s->process.handle, GetCurrentProcess(), &copy, 0,
			    FALSE, DUPLICATE_SAME_ACCESS))
		s->ended = handle_add(HANDLE_PROCESS, copy);
	return s->ended < 0 ? FAIL_SYS(e, EMFILE, "can't watch the command") : 0;
}

static int run_in_job(struct held *h, const struct launch *in,
		      struct machine_secret secrets[ACCOUNT_COUNT], struct sandbox *s,
		      struct err *e)
{
	const bool is_offline = strcmp(h->lowered.identity, "offline") == 0;
	const enum machine_account which = is_offline ? ACCOUNT_OFFLINE : ACCOUNT_ONLINE;
	const size_t count = h->lowered.capabilities.count;
	struct str *sids = arena_array(h->a, count + 1, sizeof(*sids), e);
	struct runner_failure failure;
	struct runner_request request = { .account = which,
					  .secret = &secrets[which],
					  .user = h->user,
					  .job = &s->job,
					  .argv = in->argv,
					  .environment = in->environment,
					  .directory = in->directory,
					  .is_offline = is_offline };
	const char **programs;
	struct str own;

	if (!sids || find_programs(h->a, in, &programs, e) < 0 ||
	    os_program_path(h->a, &own, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		sids[i] = h->lowered.capabilities.items[i].sid;
	request.programs = programs;
	request.program = own.p;
	request.sids = sids;
	request.sid_count = count;
	request.capability = sids[0].p;
	memcpy(request.stdio, in->stdio, sizeof(request.stdio));
	if (runner_start_command(h->a, &request, &s->process, &failure, e) < 0)
		return err_result(e);
	if (failure.is_command) {
		s->failure = (struct command_failure){ .os_error = failure.os_error,
						       .index = failure.index };
		return 0;
	}
	return watch(s, e) < 0 ? err_result(e) : windows_acl_check(h->run, &h->request, e);
}

static int start(struct held *h, const struct launch *in, struct sandbox *out, struct err *e)
{
	const uint64_t processes = h->lowered.processes;
	const struct job_limits limits = {
		.ends_with_us = true,
		.memory_bytes = h->lowered.memory,
		.processes = (uint32_t)MIN_OF(processes, (uint64_t)UINT32_MAX),
		.restricts_ui = true,
	};
	struct machine_secret secrets[ACCOUNT_COUNT];
	struct sandbox s = SANDBOX_NONE;
	int r;

	if (machine_read_secrets(&h->machine, secrets, e) < 0 || job_new(&limits, &s.job, e) < 0) {
		machine_wipe(secrets, sizeof(secrets));
		return err_result(e);
	}
	r = run_in_job(h, in, secrets, &s, e);
	machine_wipe(secrets, sizeof(secrets));
	if (r == 0) {
		*out = s;
		return 0;
	}
	job_kill(&s.job, 1);
	if (s.ended >= 0)
		handle_close(s.ended);
	process_done(&s.process);
	job_done(&s.job);
	return r;
}

static int refuse_unbuilt(const struct launch *in, struct err *e)
{
	return in->owns_terminal || in->escalated_in
		       ? FAIL_CAUSE(
				 e, CAUSE_OTHER_PLATFORM,
				 "questions at the terminal, and commands outside of the sandbox, "
				 "are not built for Windows in this version")
		       : 0;
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct held *h = ARENA_NEW(a, struct held, e);

	if (!h || check_preview(in->plan, e) < 0 || refuse_unbuilt(in, e) < 0 ||
	    lower(a, in->plan, &h->lowered, e) < 0 || machine_open(a, &h->machine, e) < 0)
		return err_result(e);
	h->a = a;
	h->warn = in->warn;
	h->warned = in->user;
	if (check_machine(h, e) < 0 || put_entries(h, in->plan, e) < 0 ||
	    start(h, in, out, e) < 0) {
		take_back(h);
		return err_result(e);
	}
	out->done = done;
	out->user = h;
	return 0;
}

/* ---- In words ---------------------------------------------------------------------------------------------- */

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct windows_lowering lowered;

	if (lower(a, in->plan, &lowered, e) < 0)
		return err_result(e);
	buf_printf(out, "put %zu entries into access lists\n", lowered.acl.count);
	buf_printf(out, "look whether the accounts, %zu firewall rules and %zu filters are there\n",
		   lowered.firewall.count, lowered.wfp.count);
	buf_printf(out, "start the runner as the account %s; it restricts its token and tries it\n",
		   lowered.identity);
	buf_add_text(out, "run the command with that token, in a job that ends with cordon\n");
	return buf_check(out, e);
}

const struct backend backend_win_elevated = { .name = "win_elevated",
					      .gives = gives,
					      .why_not = why_not,
					      .describe = describe,
					      .launch = launch };
