/* SPDX-License-Identifier: MIT */
/* See outer.h. */
#include "session/outer.h"

#include <errno.h>

#include "backend/inside.h"
#include "base/json.h"
#include "base/utf8.h"
#include "os/local_socket.h"
#include "session/run.h"

enum { ANSWER_MAX_BYTES = 64 << 10 };

static struct str find_text(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_STRING ? value->string : STR_EMPTY;
}

static bool find_truth(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_BOOL && value->boolean;
}

int outer_fail_talk(int r, struct err *e)
{
	if (r == -EAGAIN || r == -ETIMEDOUT)
		return FAIL(e, ERR_LIMIT, "too many processes ask at the same time");
	if (r == -EPIPE || r == -ECONNRESET || r == -EPROTO)
		return FAIL(e, ERR_INTERNAL, "the supervisor of the sandbox broke off");
	return FAIL_SYS(e, -r, "can't ask the supervisor of the sandbox");
}

int outer_find(struct arena *a, struct outer *out, struct err *e)
{
	scoped_buf answer = BUF_INIT(ANSWER_MAX_BYTES);
	const struct json *hello;
	struct str text;
	int r = local_socket_talk(INSIDE_SOCKET, STR("{\"type\": \"hello\"}"), &answer);

	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ECONNREFUSED) {
		*out = (struct outer){ .is_there = false };
		return 0;
	}
	if (r < 0)
		return outer_fail_talk(r, e);
	if (arena_copy(a, buf_str(&answer), &text, e) < 0)
		return err_result(e);
	hello = json_parse(a, text, e);
	if (!hello)
		return err_wrap(e, "the answer of the supervisor");
	if (!str_is(find_text(hello, "type"), "hello"))
		return FAIL(e, ERR_INTERNAL, "the supervisor of the sandbox did not say who it is");
	*out = (struct outer){ .is_there = true,
			       .is_shell = find_truth(hello, "shell"),
			       .run = find_text(hello, "run"),
			       .backend = find_text(hello, "backend"),
			       .profile = find_text(hello, "profile"),
			       .policy = find_text(hello, "policy") };
	return 0;
}

int outer_enter(struct arena *a, const struct session_request *in, struct str *backend,
		struct err *e)
{
	const struct policy *policy = in->plan->policy;
	struct outer outer;
	struct str own;
	char around[128], here[128];

	if (outer_find(a, &outer, e) < 0 || plan_digest(a, in->plan, &own, e) < 0)
		return err_result(e);
	if (!outer.is_there)
		return FAIL_CAUSE(e, CAUSE_NOBODY_ASKED,
				  "--backend outer: this process is in no sandbox of Cordon");
	if (!in->judges_itself && !str_eq(own, outer.policy)) {
		(void)FAIL_CAUSE(
			e, CAUSE_OUTER_POLICY,
			"the sandbox around this process has another policy (profile '%s'), "
			"workspace, home or $TMPDIR than this command would have (profile '%s')",
			utf8_show(outer.profile, around, sizeof(around)),
			utf8_show(policy->profile->name, here, sizeof(here)));
		err_add_line(e, "give both the same profile, options, workspace, $HOME and "
				"$TMPDIR, or run it outside");
		return err_result(e);
	}
	*backend = outer.backend;
	return 0;
}
