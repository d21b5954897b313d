/* SPDX-License-Identifier: MIT */
/*
 * Runs a command with a restricted token of the user's own (windows/windows.h): the entries in the access lists first,
 * then the token, then a trial of both, then the command in its job, which waits until all was looked at once more.
 */
#include "os/windows/api.h"

#include <errno.h>

#include "backend/win_elevated/machine.h"
#include "backend/windows/acl_apply.h"
#include "backend/windows/sid.h"
#include "backend/windows/token.h"
#include "backend/windows_run/windows_run.h"
#include "base/path.h"
#include "os/windows/error.h"

/* What a run has, until nothing of it runs any more. */
struct held {
	struct acl_system system;
	struct windows_acl_run *run;
	struct windows_acl_request request;
	struct str state;
	HANDLE token;
	const struct launch *launch; /* while it starts */
	void (*warn)(void *user, const char *text);
	void *user;
};

static guarantee_set gives(const struct plan *plan)
{
	guarantee_set set = 0;

	(void)plan;
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		set |= win_token_guarantees[g].is_held ? GUARANTEE_BIT(g) : 0;
	return set;
}

static const char *why_not(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? win_token_guarantees[g].why : "?";
}

/* ---- What has to be as it should ----------------------------------------------------------------------- */

static int check_preview(const struct plan *plan, struct err *e)
{
	if (settings_have_feature(&plan->policy->settings, "windows_preview"))
		return 0;
	(void)FAIL_CAUSE(
		e, CAUSE_PREVIEW,
		"the win_token backend is a preview: nobody has run its tests on a Windows "
		"yet");
	err_add_line(e, "to try it all the same, set features.windows_preview = true in "
			"%%APPDATA%%\\cordon\\config.toml");
	return err_result(e);
}

/* SECURITY: a token does not keep the command from reading what the user may. */
static int check_passwords(struct arena *a, struct err *e)
{
	struct machine machine;
	int r;

	if (machine_open(a, &machine, e) < 0)
		return err_result(e);
	r = machine_check_hidden(&machine, e);
	machine_close(&machine);
	return r < 0 ? err_wrap(e, "the win_token backend can't run") : 0;
}

/* A restricted token can't make another that restricts more in the same way. */
static int check_outside(struct err *e)
{
	HANDLE token;
	BOOL is_restricted;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
		return FAIL_WINDOWS(e, GetLastError(), "can't open the token of this process");
	is_restricted = IsTokenRestricted(token);
	CloseHandle(token);
	if (!is_restricted)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_INSIDE_SANDBOX,
			 "the win_token backend can't run: this process has a restricted token "
			 "already");
	err_add_line(e, "run cordon outside of that sandbox");
	return err_result(e);
}

static int lower(struct arena *a, const struct plan *plan, struct windows_lowering *out,
		 struct err *e)
{
	if (win_token_lower_here(a, plan, out, e) < 0)
		return err_result(e);
	if (out->is_refused)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				  "the win_token backend can't express this policy (%s): %.*s",
				  guarantee_name(out->refused), STR_ARG(out->reason));
	return 0;
}

/* ---- Making it ------------------------------------------------------------------------------------------ */

/* The restricting SIDs but for the logon SID, which the token gets from its base. */
static int list_restricting(struct arena *a, const struct windows_lowering *in,
			    struct token_request *out, struct err *e)
{
	struct str *sids = arena_array(a, in->capabilities.count + 1, sizeof(*sids), e);

	if (!sids)
		return err_result(e);
	for (size_t i = 0; i < in->capabilities.count; i++)
		if (sid_parse(a, in->capabilities.items[i].sid, &sids[i], e) < 0)
			return err_result(e);
	*out = (struct token_request){ .restricting = sids, .count = in->capabilities.count };
	return 0;
}

static int confine(struct arena *a, const struct plan *plan, const struct windows_lowering *in,
		   struct held *h, struct err *e)
{
	const struct windows_acl_names nobody = { .group = STR_EMPTY };
	struct token_request request;
	struct token_trial trial;

	if (list_restricting(a, in, &request, e) < 0 || acl_state_find(a, &h->state, e) < 0 ||
	    acl_system_open(a, h->state, &h->system, e) < 0 ||
	    windows_acl_bind(a, in, plan, &nobody, &h->request, e) < 0)
		return err_result(e);
	/* SECURITY: the token first: where it would not restrict, nothing is changed in vain. */
	if (token_new(a, &request, &h->token, e) < 0 ||
	    windows_acl_apply(a, &h->system, &h->request, &h->run, e) < 0)
		return err_result(e);
	trial = (struct token_trial){ .token = h->token,
				      .directory = h->state,
				      .capability = request.restricting[0],
				      .request = &h->request };
	return token_try(&trial, e);
}

/* SECURITY: what waits is what was asked for: restricted, and in the job. */
static int check_process(const struct sandbox *s, struct err *e)
{
	BOOL is_in_job = FALSE, is_restricted;
	HANDLE token;

	if (!OpenProcessToken(s->process.handle, TOKEN_QUERY, &token))
		return FAIL_WINDOWS(e, GetLastError(), "can't open the token of the command");
	is_restricted = IsTokenRestricted(token);
	CloseHandle(token);
	if (!is_restricted)
		return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
				  "the command did not get the restricted token (fs_write)");
	if (!IsProcessInJob(s->process.handle, s->job.handle, &is_in_job) || !is_in_job)
		return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
				  "the command is not in its job (tree_death)");
	return 0;
}

/* ---- Taking it back --------------------------------------------------------------------------------------- */

static void take_back(struct held *h)
{
	struct err e = ERR_INIT;

	if (h->run && windows_acl_end(h->run, &e) < 0 && h->warn)
		h->warn(h->user, e.text);
	h->run = NULL;
	if (h->token)
		CloseHandle(h->token);
	h->token = NULL;
	if (h->system.user)
		acl_system_close(&h->system);
	h->system.user = NULL;
}

static void done(void *user)
{
	take_back(user);
}

/* ---- The command ------------------------------------------------------------------------------------------- */

static int start(const struct launch *in, const struct windows_lowering *lowered, struct held *h,
		 struct sandbox *out, struct err *e)
{
	const struct start how = {
		.launch = in,
		.programs = in->programs,
		.argv = in->argv,
		.os_error = ENOENT,
		.token = h->token,
		.limits = { .ends_with_us = true,
			    .memory_bytes = lowered->memory,
			    .processes = (uint32_t)MIN_OF(lowered->processes, (uint64_t)UINT32_MAX),
			    .restricts_ui = true },
	};
	int r = windows_start(&how, out, e);

	if (r < 0 || !out->process.handle)
		return r;
	if (check_process(out, e) == 0 && windows_acl_check(h->run, &h->request, e) == 0)
		return 0;
	windows_discard(out);
	return err_result(e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	struct held *h = ARENA_NEW(a, struct held, e);
	struct windows_lowering lowered;

	if (!h || check_preview(in->plan, e) < 0 || check_outside(e) < 0 ||
	    check_passwords(a, e) < 0 || lower(a, in->plan, &lowered, e) < 0)
		return err_result(e);
	h->warn = in->warn;
	h->user = in->user;
	if (confine(a, in->plan, &lowered, h, e) < 0 || start(in, &lowered, h, out, e) < 0) {
		take_back(h);
		return err_result(e);
	}
	out->done = done;
	out->user = h;
	return 0;
}

/* ---- In words ------------------------------------------------------------------------------------------------ */

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	struct windows_lowering lowered;

	if (lower(a, in->plan, &lowered, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < lowered.acl.count; i++) {
		const struct windows_ace *ace = &lowered.acl.items[i];
		static const char *const accesses[] = { [WINDOWS_READ] = "reading",
							[WINDOWS_WRITE] = "writing",
							[WINDOWS_DELETE] = "deleting" };

		buf_printf(out, "%s %s ", ace->is_deny ? "deny" : "allow", accesses[ace->access]);
		buf_add(out, ace->path);
		buf_add_text(out, ace->inherits ? " and all below to " : " to ");
		buf_add(out, ace->sid);
		buf_add_char(out, '\n');
	}
	buf_printf(out, "make a restricted token with %zu restricting SIDs, and try it\n",
		   lowered.restricting.count);
	buf_add_text(out, "run the command with it, in a job that ends with cordon\n");
	return buf_check(out, e);
}

const struct backend backend_win_token = { .name = "win_token",
					   .gives = gives,
					   .why_not = why_not,
					   .describe = describe,
					   .launch = launch };
