/* SPDX-License-Identifier: MIT */
/*
 * cordon_approvals() and cordon_approvals_end(): the grants that outlive a run. Neither loads a policy, so
 * both work where an entry, or the configuration, is wrong.
 */
#include <errno.h>
#include <stdlib.h>

#include "approve/store.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/os.h"
#include "report/report.h"

/* A file that can't be used. */
struct unusable {
	struct str file, session;
	enum cause cause;
	struct str message;
};

struct shown_grant {
	const struct store *store;
	const struct stored_grant *grant;
};

struct approvals {
	VEC(struct store) stores;
	VEC(struct unusable) unusable;
	VEC(struct shown_grant) shown;
	bool is_ended;
};

struct approvals_question {
	const char *const *ids;
	uint64_t id_count;
	bool ends;
};

/* ---- Which there are ------------------------------------------------------------------------ */

static int add_store(struct arena *a, struct approvals *all, struct store *store, struct err *e)
{
	struct store *added;

	if (store_read(a, store, e) < 0) {
		struct unusable *u = e->code == ERR_NOMEM ? NULL : VEC_PUSH(a, &all->unusable, e);
		char text[sizeof(e->text)];

		if (!u)
			return err_result(e);
		(void)err_print(e, text, sizeof(text));
		*u = (struct unusable){ .file = store->file.path,
					.session = store->session,
					.cause = e->cause };
		err_clear(e);
		return arena_copy(a, str_of(text), &u->message, e);
	}
	added = VEC_PUSH(a, &all->stores, e);
	if (!added)
		return err_result(e);
	*added = *store;
	return 0;
}

typedef VEC(struct str) name_list;

struct session_search {
	struct arena *a;
	name_list names;
};

static int add_name(void *arg, struct str name, enum os_type type, struct err *e)
{
	struct session_search *search = arg;
	struct str *added;

	(void)type;
	if (!store_is_session_name(name))
		return 0;
	added = VEC_PUSH(search->a, &search->names, e);
	return added ? arena_copy(search->a, name, added, e) : err_result(e);
}

static int compare_names(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static int add_sessions(struct arena *a, struct str state_dir, struct approvals *all, struct err *e)
{
	struct session_search search = { .a = a };
	struct str directory;

	if (store_sessions_directory(a, state_dir, &directory, e) < 0)
		return err_result(e);
	if (os_list(directory, add_name, &search, e) < 0) {
		if (e->code != ERR_SYS || e->os_error != ENOENT)
			return err_result(e);
		err_clear(e);
	}
	if (search.names.count)
		qsort(search.names.items, search.names.count, sizeof(struct str), compare_names);
	for (size_t i = 0; i < search.names.count; i++) {
		struct store store;

		if (store_locate_session(a, state_dir, search.names.items[i], &store, e) < 0 ||
		    add_store(a, all, &store, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* The session that was named, and nothing else. What can't be used is an error then. */
static int add_named(struct arena *a, const struct inputs *in, const char *session,
		     struct approvals *all, struct err *e)
{
	struct store store;
	struct store *added;

	if (!in->state_dir.len)
		return FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN,
				  "can't find the session: $HOME is not set");
	if (store_locate_session(a, in->state_dir, str_of(session), &store, e) < 0 ||
	    store_read(a, &store, e) < 0)
		return err_result(e);
	if (!store.stamp.inode)
		return FAIL_CAUSE(e, CAUSE_UNKNOWN_APPROVAL,
				  "nothing was approved for a session '%s'", session);
	added = VEC_PUSH(a, &all->stores, e);
	if (!added)
		return err_result(e);
	*added = store;
	return 0;
}

static int find_stores(cordon_report *report, const struct cordon_load_options *options,
		       bool ends_all, struct approvals *all, struct err *e)
{
	/* Ending all of them ends no session's, unless that is named. */
	bool has_sessions = !ends_all && !(options && options->flags & CORDON_LOAD_ALWAYS_ONLY);
	struct arena *a = &report->arena;
	scoped_arena texts = ARENA_INIT(TEXTS_MAX_BYTES);
	struct inputs in = { .a = a, .texts = &texts, .options = options };
	struct store store;

	if (inputs_find(&in, e) < 0)
		return err_result(e);
	report->home = in.places.home;
	/* What is shown is shown of all; what is ended, of the session that runs are in. */
	if (options->session || (ends_all && in.session.len))
		return add_named(a, &in, in.session.p, all, e);
	if (in.default_user_file.len &&
	    (store_locate_always(a, in.default_user_file, &store, e) < 0 ||
	     add_store(a, all, &store, e) < 0))
		return err_result(e);
	return has_sessions && in.state_dir.len ? add_sessions(a, in.state_dir, all, e) : 0;
}

/* ---- Which of them are meant ---------------------------------------------------------------- */

enum {
	PREFIX_MIN = 4
}; /* of an id that is to be ended, as git has it: a slip of one key ends nothing */

/* The whole id, or the begin of one. */
static bool is_named(struct str id, const char *given)
{
	return given[0] && str_has_prefix(id, str_of(given));
}

static bool is_meant(struct str id, const char *const *ids, uint64_t id_count)
{
	for (uint64_t i = 0; i < id_count; i++)
		if (is_named(id, ids[i]))
			return true;
	return id_count == 0;
}

/* SECURITY: the begin of several ids names none of them. */
static int check_known(const struct approvals *all, const char *id, bool ends, struct err *e)
{
	char shown[64];
	size_t found = 0;

	(void)utf8_show(str_of(id), shown, sizeof(shown));
	for (size_t i = 0; i < all->shown.count; i++) {
		if (str_is(all->shown.items[i].grant->id, id))
			return 0;
		found += is_named(all->shown.items[i].grant->id, id);
	}
	if (found > 1)
		return FAIL_CAUSE(e, CAUSE_UNKNOWN_APPROVAL,
				  "the ids of %zu approvals begin with '%s'", found, shown);
	if (found == 1 && (!ends || strlen(id) >= PREFIX_MIN))
		return 0;
	if (found == 1)
		return FAIL_CAUSE(e, CAUSE_UNKNOWN_APPROVAL,
				  "'%s' is too short to end an approval: give at least %d "
				  "characters of its id",
				  shown, (int)PREFIX_MIN);
	(void)FAIL_CAUSE(e, CAUSE_UNKNOWN_APPROVAL, "there is no approval '%s'", shown);
	if (all->unusable.count)
		err_add_line(e, "some files can't be used; 'cordon approvals list' names them");
	return err_result(e);
}

static int choose(struct arena *a, struct approvals *all, const struct approvals_question *q,
		  struct err *e)
{
	for (size_t i = 0; i < all->stores.count; i++) {
		const struct store *store = &all->stores.items[i];

		for (size_t k = 0; k < store->grants.count; k++) {
			struct shown_grant *added;

			if (!is_meant(store->grants.items[k].id, q->ids, q->id_count))
				continue;
			added = VEC_PUSH(a, &all->shown, e);
			if (!added)
				return err_result(e);
			*added = (struct shown_grant){ store, &store->grants.items[k] };
		}
	}
	for (uint64_t i = 0; i < q->id_count; i++)
		if (check_known(all, q->ids[i], q->ends, e) < 0)
			return err_result(e);
	return 0;
}

/* SECURITY: ends exactly what is shown: what was approved since then was not looked at. */
static int end_shown(struct arena *a, const struct approvals *all, struct err *e)
{
	struct str *ids = arena_array(a, all->shown.count + 1, sizeof(*ids), e);

	if (!ids)
		return err_result(e);
	for (size_t i = 0; i < all->stores.count; i++) {
		const struct store *store = &all->stores.items[i];
		size_t count = 0;
		size_t ended;

		for (size_t k = 0; k < all->shown.count; k++)
			if (all->shown.items[k].store == store)
				ids[count++] = all->shown.items[k].grant->id;
		if (count && store_revoke(store, ids, count, &ended, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- For programs --------------------------------------------------------------------------- */

/* Beside a path that is not UTF-8, its bytes. */
static void json_path(struct json_writer *w, const char *key, const char *bytes_key,
		      struct str path)
{
	scoped_buf bytes = BUF_INIT(64 << 10);

	json_str_or_null(w, key, path);
	if (utf8_check(path) == path.len)
		return;
	base64_add(&bytes, path);
	if (bytes.failed != ERR_OK)
		json_fail(w, bytes.failed);
	json_str(w, bytes_key, buf_str(&bytes));
}

static void json_grant(struct json_writer *w, const struct shown_grant *shown)
{
	const struct stored_grant *g = shown->grant;

	json_begin_object(w);
	json_str(w, "id", g->id);
	json_text(w, "scope", shown->store->session.len ? "session" : "always");
	json_str_or_null(w, "session", shown->store->session);
	json_text(w, "kind", ask_kind_name(g->grant.kind));
	json_path(w, "subject", "subject_base64", g->grant.subject);
	json_bool(w, "directory", g->grant.is_dir);
	json_str(w, "profile", g->profile);
	json_path(w, "workspace", "workspace_base64", g->workspace);
	json_str_or_null(w, "policy", g->policy);
	json_str(w, "date", g->date);
	json_str(w, "by", g->by);
	json_origin(w, &g->origin);
	json_end_object(w);
}

static void describe(struct json_writer *w, const void *data)
{
	const struct approvals *all = data;

	json_begin_object(w);
	json_bool(w, "ended", all->is_ended);
	json_key(w, "approvals");
	json_begin_array(w);
	for (size_t i = 0; i < all->shown.count; i++)
		json_grant(w, &all->shown.items[i]);
	json_end_array(w);
	json_key(w, "unusable");
	json_begin_array(w);
	for (size_t i = 0; i < all->unusable.count; i++) {
		const struct unusable *u = &all->unusable.items[i];

		json_begin_object(w);
		json_str(w, "file", u->file);
		json_str_or_null(w, "session", u->session);
		json_text(w, "cause", cause_name(u->cause));
		json_str(w, "message", u->message);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

/* ---- For people ----------------------------------------------------------------------------- */

static const char *words_of_kind(struct str kind)
{
	enum ask_kind found;

	return ask_kind_parse(kind, &found) ? ask_kind_words(found) : "";
}

static void print_subject(struct page *p, const struct json *g)
{
	page_printf(p, "%s ", words_of_kind(value_str(g, "kind")));
	page_str(p, value_str(g, "subject"));
	if (value_bool(g, "directory"))
		page_text(p, "/**");
}

static void print_owner(struct page *p, const struct json *g)
{
	struct str session = value_str(g, "session");

	if (session.len) {
		page_text(p, "session ");
		page_str(p, session);
		page_text(p, ", ");
	} else {
		page_text(p, "always, ");
	}
	page_text(p, "profile ");
	page_str(p, value_str(g, "profile"));
	if (session.len) {
		page_text(p, ", workspace ");
		page_str(p, value_str(g, "workspace"));
	}
}

static void print_line(struct page *p, const struct json *g)
{
	page_style(p, STYLE_GOOD, "%.*s", (int)STORE_ID_BYTES, value_str(g, "id").p);
	page_text(p, "  ");
	print_subject(p, g);
	page_text(p, "\n              ");
	print_owner(p, g);
	page_text(p, ", since ");
	page_str(p, str_first(value_str(g, "date"), 10));
	page_line(p);
}

static void print_unusable(struct page *p, const struct json *root)
{
	for (size_t i = 0; i < value_count(root, "unusable"); i++) {
		page_style(p, STYLE_BAD, "not used");
		page_text(p, "      ");
		/* The library has escaped it, and its lines are lines. */
		page_printf(p, "%s\n", value_str(value_item(root, "unusable", i), "message").p);
	}
}

static void render_list(struct page *p, const struct json *root)
{
	size_t count = value_count(root, "approvals");

	for (size_t i = 0; i < count; i++) {
		const struct json *g = value_item(root, "approvals", i);

		if (p->is_brief) {
			page_str(p, value_str(g, "id"));
			page_line(p);
		} else {
			print_line(p, g);
		}
	}
	if (p->is_brief)
		return;
	if (!count && value_bool(root, "ended"))
		page_text(p, "There was nothing to end. Of a session: add --session NAME.\n");
	else if (!count)
		page_text(p, "Nothing is approved for later runs.\n");
	print_unusable(p, root);
	if (value_bool(root, "ended") && count)
		page_printf(p, "\n%zu %s ended.\n", count, count == 1 ? "approval" : "approvals");
	else if (count)
		page_text(p, "\n'cordon approvals revoke ID' ends one.\n");
}

static void print_field(struct page *p, const char *name, struct str value)
{
	if (!value.len)
		return;
	page_style(p, STYLE_FAINT, "%-11s", name);
	page_str(p, value);
	page_line(p);
}

static void render_details(struct page *p, const struct json *root)
{
	for (size_t i = 0; i < value_count(root, "approvals"); i++) {
		const struct json *g = value_item(root, "approvals", i);

		if (i)
			page_line(p);
		page_style(p, STYLE_GOOD, "%.*s", (int)STORE_ID_BYTES, value_str(g, "id").p);
		page_text(p, "  ");
		print_subject(p, g);
		page_line(p);
		print_field(p, "lasts",
			    value_str(g, "session").len
				    ? STR("every run of the session in this workspace, until "
					  "revoked")
				    : STR("always"));
		print_field(p, "session", value_str(g, "session"));
		print_field(p, "profile", value_str(g, "profile"));
		print_field(p, "workspace", value_str(g, "workspace"));
		print_field(p, "policy", value_str(g, "policy"));
		print_field(p, "since", value_str(g, "date"));
		print_field(p, "decided by", value_str(g, "by"));
		page_style(p, STYLE_FAINT, "%-11s", "kept in");
		page_place(p, value_str(g, "file"), value_int(g, "line"));
		page_line(p);
	}
}

/* ---- The calls -------------------------------------------------------------------------------- */

static int answer(cordon_report *report, const struct cordon_load_options *options,
		  const struct approvals_question *q, struct err *e)
{
	struct approvals *all = ARENA_NEW(&report->arena, struct approvals, e);
	bool ends_all = q->ends && q->id_count == 0;

	if (!all || find_stores(report, options, ends_all, all, e) < 0 ||
	    choose(&report->arena, all, q, e) < 0)
		return err_result(e);
	if (q->ends && end_shown(&report->arena, all, e) < 0)
		return err_result(e);
	all->is_ended = q->ends;
	report->data = all;
	report->error_count = q->id_count ? 0 : all->unusable.count;
	report->schema = "approvals/1";
	report->describe = describe;
	report->render = q->id_count && !q->ends ? render_details : render_list;
	return 0;
}

static int check_ids(const struct approvals_question *q, struct err *e)
{
	if (q->id_count && !q->ids)
		return FAIL(e, ERR_ARGUMENT, "the count of ids is set, but the list is NULL");
	for (uint64_t i = 0; i < q->id_count; i++)
		if (!q->ids[i])
			return FAIL(e, ERR_ARGUMENT, "an id is NULL");
	return 0;
}

static int ask_approvals(const struct cordon_load_options *options,
			 const struct approvals_question *q, cordon_report **report,
			 cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_load_options own;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_approvals needs a place for the report");
	else if (options_read(options, &own, &e) == 0 && check_ids(q, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (answer(r, &own, q, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}

int cordon_approvals(const struct cordon_load_options *options, const char *const *ids,
		     uint64_t id_count, cordon_report **report, cordon_error **error)
{
	const struct approvals_question q = { .ids = ids, .id_count = id_count };

	return ask_approvals(options, &q, report, error);
}

int cordon_approvals_end(const struct cordon_load_options *options, const char *const *ids,
			 uint64_t id_count, cordon_report **report, cordon_error **error)
{
	const struct approvals_question q = { .ids = ids, .id_count = id_count, .ends = true };

	return ask_approvals(options, &q, report, error);
}
