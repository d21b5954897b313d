/* SPDX-License-Identifier: MIT */
/* The bare answers, without reasons. */
#include "base/hostname.h"
#include "base/path.h"
#include "lib/lib.h"
#include "plan/net.h"

_Static_assert((int)CORDON_ACCESS_DENY == (int)ACCESS_DENY &&
		       (int)CORDON_ACCESS_READ == (int)ACCESS_READ &&
		       (int)CORDON_ACCESS_WRITE == (int)ACCESS_WRITE,
	       "accesses are handed on as they are");
_Static_assert((int)CORDON_DECISION_DENY == (int)DECISION_DENY &&
		       (int)CORDON_DECISION_ASK == (int)DECISION_ASK &&
		       (int)CORDON_DECISION_ALLOW == (int)DECISION_ALLOW,
	       "decisions are handed on as they are");

/* Whether `path` really is what CORDON_PATH_CANONICAL says, as far as text can tell. */
static bool is_plain(struct str path)
{
	size_t at = 0;
	struct str name;

	if (!path_is_absolute(path) || str_has_nul(path))
		return false;
	if (path.len > 1 && path.p[path.len - 1] == '/')
		return false;
	for (size_t i = 1; i < path.len; i++)
		if (path.p[i] == '/' && path.p[i - 1] == '/')
			return false;
	while (path_next(path, &at, &name))
		if (str_is(name, ".") || str_is(name, ".."))
			return false;
	return true;
}

int cordon_policy_access(const cordon_policy *policy, const char *path, size_t length,
			 uint32_t flags, uint32_t *access, cordon_error **error)
{
	scoped_arena a = ARENA_INIT(ANSWER_MAX_BYTES);
	struct err e = ERR_INIT;
	struct located located;
	struct str subject = { path, length };

	if (!policy || !path || !access || (flags & ~(uint32_t)CORDON_PATH_CANONICAL)) {
		(void)FAIL(&e, ERR_ARGUMENT,
			   "cordon_policy_access was called with a NULL or an "
			   "unknown flag");
		return error_give(&e, error);
	}
	if (flags & CORDON_PATH_CANONICAL) {
		if (!is_plain(subject)) {
			(void)FAIL(&e, ERR_ARGUMENT, "the path is not canonical");
			return error_give(&e, error);
		}
		*access = (uint32_t)plan_resolve(policy->plan, subject).access;
		return 0;
	}
	if (load_reach(&a, policy, subject, &located, &e) < 0)
		return error_give(&e, error);
	*access = (uint32_t)plan_resolve(policy->plan, located.path).access;
	return 0;
}

int cordon_policy_host(const cordon_policy *policy, const char *host, size_t length, uint32_t port,
		       uint32_t *decision, cordon_error **error)
{
	scoped_arena a = ARENA_INIT(ANSWER_MAX_BYTES);
	struct err e = ERR_INIT;
	struct hostname name;

	if (!policy || !host || !decision || port > UINT16_MAX) {
		(void)FAIL(&e, ERR_ARGUMENT,
			   "cordon_policy_host was called with a NULL or a port "
			   "over 65535");
		return error_give(&e, error);
	}
	if (hostname_parse(&a, (struct str){ host, length }, &name, &e) < 0)
		return error_give(&e, error);
	*decision = (uint32_t)net_resolve(policy->plan->net, &name, (uint16_t)port).decision;
	return 0;
}
