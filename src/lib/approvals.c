/* SPDX-License-Identifier: MIT */
/*
 * The grants that outlive a run (P18) become grants of the policy, with the place in the file where
 * they are written, so every answer can name it.
 *
 * SECURITY: a grant only raises, and never over a deny, P9 or P25: plan/ sees to that. What is seen to
 * here is that a file that somebody edited opens no home, no metadata, and nothing of Cordon's.
 */
#include "base/path.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "plan/homes.h"
#include "plan/obeyed.h"

/* "2 approvals of this file are not in force: WHY" */
static int add_note(const struct inputs *in, note_list *notes, struct note start, struct err *e,
		    const char *of, const char *why, size_t count)
{
	struct note *note = VEC_PUSH(in->a, notes, e);
	scoped_buf text = BUF_INIT(4096);

	if (!note)
		return err_result(e);
	*note = start;
	buf_printf(&text, "%zu %s of %s %s not in force: %s", count,
		   count == 1 ? "approval" : "approvals", of, count == 1 ? "is" : "are", why);
	return buf_check(&text, e) < 0 ? err_result(e)
				       : arena_copy(in->a, buf_str(&text), &note->text, e);
}

/* ---- Into the policy -------------------------------------------------------------------- */

static int grant_path(struct arena *a, struct policy *policy, const struct stored_grant *stored,
		      struct err *e)
{
	struct permission path = { .path = stored->grant.subject, .access = ACCESS_WRITE };
	struct permissions granted = { .paths = { .items = &path, .count = 1, .room = 1 } };

	if (policy_grant(a, policy, &granted, stored->origin, e) < 0)
		return err_result(e);
	policy->grants.items[policy->grants.count - 1].only = stored->grant.is_dir ? FS_ONLY_DIR
										   : FS_ONLY_NO_DIR;
	return 0;
}

static int grant_host(struct arena *a, struct policy *policy, const struct stored_grant *stored,
		      struct err *e)
{
	struct domain host;
	struct permissions granted = { .hosts = { .items = &host, .count = 1, .room = 1 } };

	if (domain_parse(a, stored->grant.subject, &host, e) < 0)
		return err_wrap_place(e, stored->origin);
	return policy_grant(a, policy, &granted, stored->origin, e);
}

static int grant_socket(struct arena *a, struct policy *policy, const struct stored_grant *stored,
			struct err *e)
{
	struct str path = stored->grant.subject;
	struct permissions granted = { .sockets = { .items = &path, .count = 1, .room = 1 } };

	return policy_grant(a, policy, &granted, stored->origin, e);
}

int approvals_grant(struct arena *a, struct policy *policy, const struct stored_grant *stored,
		    struct err *e)
{
	switch (stored->grant.kind) {
	case ASK_WRITE:
		return grant_path(a, policy, stored, e);
	case ASK_CONNECT:
		return grant_host(a, policy, stored, e);
	case ASK_UNIX_SOCKET:
		return grant_socket(a, policy, stored, e);
	case ASK_ESCALATE:
		break;
	}
	return FAIL_AT(e, ERR_INTERNAL, stored->origin, "an approval of a kind that can't be kept");
}

/* A network that somebody turned off stays off; one that is off because nobody turned it on does not. */
static bool is_off(const struct policy *policy)
{
	const struct net_rules *net = &policy->layers.items[0].net;

	return net->access == NET_OFF && net->access_is_set && net->access_origin.file &&
	       strcmp(net->access_origin.file, "built-in") != 0;
}

/* What of a file has no effect, and where the first of each is. */
struct passed_over {
	size_t others, offline;
	struct origin other, off;
	unsigned differs; /* in which of enum difference */
};

enum difference { OTHER_WORKSPACE = 1, OTHER_PROFILE = 2, OTHER_POLICY = 4 };

static unsigned find_difference(const struct lasting *l, const struct stored_grant *stored)
{
	return (str_eq(stored->workspace, l->workspace) ? 0 : OTHER_WORKSPACE) |
	       (str_eq(stored->profile, l->profile) ? 0 : OTHER_PROFILE) |
	       (str_eq(stored->policy, l->policy) ? 0 : OTHER_POLICY);
}

/* The policy of another workspace or profile differs anyway. */
static const char *word_difference(unsigned differs)
{
	switch (differs & (OTHER_WORKSPACE | OTHER_PROFILE)) {
	case OTHER_WORKSPACE:
		return "given for another workspace";
	case OTHER_PROFILE:
		return "given for another profile";
	case OTHER_WORKSPACE | OTHER_PROFILE:
		return "given for another workspace and profile";
	default:
		return "given for another policy: other options, or a changed configuration";
	}
}

static int grant_all(struct arena *a, const struct lasting *l, const struct store *store,
		     struct policy *policy, struct passed_over *passed, struct err *e)
{
	bool has_net = !is_off(policy);

	for (size_t i = 0; i < store->grants.count; i++) {
		const struct stored_grant *stored = &store->grants.items[i];

		if (!lasting_counts(l, store, stored)) {
			if (!passed->others++)
				passed->other = stored->origin;
			passed->differs |= find_difference(l, stored);
		} else if (stored->grant.kind != ASK_WRITE && !has_net) {
			if (!passed->offline++)
				passed->off = stored->origin;
		} else if (approvals_grant(a, policy, stored, e) < 0) {
			return err_result(e);
		}
	}
	return 0;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/*
 * approvals.toml is part of the user layer, so another user layer (--config-file) has none. Losing an
 * allow is a warning (P3), also if a newer version of Cordon has written it; but a file that is
 * damaged, or may be somebody else's, is an error, like every other file of the policy.
 */
static int read_always(const struct inputs *in, struct lasting *l, note_list *notes, struct err *e)
{
	struct note *note;

	if (!in->default_user_file.len ||
	    !str_eq(path_parent(in->user_file), path_parent(in->default_user_file)))
		return 0;
	if (store_locate_always(in->a, in->default_user_file, &l->always, e) < 0)
		return err_result(e);
	if (store_read(in->a, &l->always, e) == 0)
		return 0;
	if (e->cause != CAUSE_APPROVALS_NEWER)
		return err_result(e);
	note = VEC_PUSH(in->a, notes, e);
	if (!note || arena_printf(in->a, &note->text, e,
				  "a newer version of Cordon wrote '%.*s', so none of its "
				  "approvals is in force",
				  STR_ARG(l->always.file.path)) < 0)
		return err_result(e);
	note->is_warning = true;
	l->always.file.path = STR_EMPTY;
	err_clear(e);
	return 0;
}

static int read_session(const struct inputs *in, struct lasting *l, struct err *e)
{
	if (!in->session.len)
		return 0;
	if (!in->state_dir.len)
		return FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN,
				  "there is no home directory to keep the session in");
	if (store_locate_session(in->a, in->state_dir, in->session, &l->session, e) < 0)
		return err_result(e);
	return store_read(in->a, &l->session, e);
}

static int note_passed_over(const struct inputs *in, const struct lasting *l,
			    const struct passed_over *always, const struct passed_over *session,
			    note_list *notes, struct err *e)
{
	/* Those for other profiles are as they should be. */
	if (always->others && !l->allows_always &&
	    add_note(in, notes, (struct note){ .is_warning = true, .origin = always->other }, e,
		     "this file", "the requirements of this host do not allow \"always\"",
		     always->others) < 0)
		return err_result(e);
	if (session->others &&
	    add_note(in, notes, (struct note){ .is_warning = true, .origin = session->other }, e,
		     "the session", word_difference(session->differs), session->others) < 0)
		return err_result(e);
	if (always->offline + session->offline == 0)
		return 0;
	/* The user wanted it so. */
	return add_note(in, notes,
			(struct note){ .origin = always->offline ? always->off : session->off }, e,
			"hosts or sockets", "the network is turned off",
			always->offline + session->offline);
}

int approvals_load(const struct inputs *in, struct str workspace, struct policy *policy,
		   struct lasting *out, note_list *notes, struct err *e)
{
	struct lasting l = { .profile = policy->profile->name,
			     .workspace = workspace,
			     .allows_always = (policy->settings.allow & ALLOW_ALWAYS) != 0 };
	struct passed_over always = { .others = 0 };
	struct passed_over session = { .others = 0 };

	/* Nothing is refused there, so nothing can be granted. */
	if (policy->profile->is_unsandboxed) {
		*out = l;
		return 0;
	}
	if (read_always(in, &l, notes, e) < 0 || read_session(in, &l, e) < 0)
		return err_result(e);
	/* It takes as long as the rest, and only a session needs it. */
	if (in->session.len && policy_digest(in->a, policy, &l.policy, e) < 0)
		return err_result(e);
	if (grant_all(in->a, &l, &l.always, policy, &always, e) < 0 ||
	    grant_all(in->a, &l, &l.session, policy, &session, e) < 0 ||
	    note_passed_over(in, &l, &always, &session, notes, e) < 0)
		return err_result(e);
	*out = l;
	return 0;
}

/* ---- What no approval may open -------------------------------------------------------------- */

static int refuse(struct str opens, struct origin origin, const char *what, struct str path,
		  struct err *e)
{
	char opened[256], shown[256];

	(void)FAIL_CAUSE_AT(e, CAUSE_APPROVAL_TOO_WIDE, origin,
			    "the approval of '%s' %s '%s', which no approval can open",
			    utf8_show(opens, opened, sizeof(opened)), what,
			    utf8_show(path, shown, sizeof(shown)));
	err_add_line(e, "end it with 'cordon approvals revoke ID'; 'cordon approvals list' has the "
			"ids");
	return err_result(e);
}

static int check_own(const struct plan_inputs *in, struct str path, struct origin origin,
		     struct err *e)
{
	for (size_t i = 0; i < in->own_count; i++)
		if (path_is_under(in->own[i].path, path) || path_is_under(path, in->own[i].path))
			return refuse(path, origin, "opens", in->own[i].path, e);
	return 0;
}

/*
 * A granted directory that has become a git directory is protected like every such root; one that a
 * git directory was made around is not, so it is refused.
 */
static int check_obeyed(struct arena *a, const struct plan_inputs *in, const struct fs_entry *grant,
			struct err *e)
{
	const struct profile *profile = in->policy->profile;
	struct obeyed obeyed;

	obeyed_name(profile, grant->path, grant->only != FS_ONLY_NO_DIR, &obeyed);
	if (!obeyed.path.len &&
	    obeyed_git_dir(a, host_now(), profile, path_parent(grant->path), &obeyed, e) < 0)
		return err_result(e);
	return obeyed.path.len ? refuse(grant->path, grant->origin, "opens what P9 protects in",
					obeyed.path, e)
			       : 0;
}

static int check_one(struct arena *a, const struct plan_inputs *in, const struct fs_entry *grant,
		     struct err *e)
{
	struct home_match home;

	if (homes_match(a, host_now(), &in->places, grant->path, &home, e) < 0)
		return err_result(e);
	if (home.home.len)
		return refuse(grant->path, grant->origin,
			      home.is_above ? "contains the home" : "opens the home", home.home, e);
	if (check_own(in, grant->path, grant->origin, e) < 0)
		return err_result(e);
	return check_obeyed(a, in, grant, e);
}

int approvals_check(struct arena *a, const struct plan_inputs *in, struct err *e)
{
	const fs_entries *grants = &in->policy->grants;

	for (size_t i = 0; i < grants->count; i++)
		if (check_one(a, in, &grants->items[i], e) < 0)
			return err_result(e);
	for (size_t i = 0; i < in->policy->socket_grants.count; i++) {
		const struct net_socket *socket = &in->policy->socket_grants.items[i];

		if (check_own(in, socket->path, socket->origin, e) < 0)
			return err_result(e);
	}
	return 0;
}
