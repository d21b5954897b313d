/* SPDX-License-Identifier: MIT */
/* See store.h. store_text.c has the form of the files. */
#include "approve/store.h"

#include <time.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/random.h"

bool store_is_session_name(struct str name)
{
	if (!name.len || name.len > STORE_MAX_SESSION || name.p[0] == '.')
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!ascii_is_alpha(c) && !ascii_is_digit(c) && c != '.' && c != '_' && c != '-')
			return false;
	}
	return true;
}

int store_locate_always(struct arena *a, struct str user_file, struct store *out, struct err *e)
{
	*out = (struct store){ .session = STR_EMPTY };
	return path_join(a, path_parent(user_file), STR("approvals.toml"), &out->file.path, e);
}

int store_sessions_directory(struct arena *a, struct str state_directory, struct str *out,
			     struct err *e)
{
	return path_join(a, state_directory, STR("sessions"), out, e);
}

int store_locate_session(struct arena *a, struct str state_directory, struct str name,
			 struct store *out, struct err *e)
{
	struct store store = { .file.is_dir_owned = true, .session = name };
	struct str directory;
	char shown[128];

	if (!store_is_session_name(name))
		return FAIL_CAUSE(e, CAUSE_SESSION_NAME,
				  "'%s' can't be the name of a session: it has 1 to %d of A-Z a-z "
				  "0-9 . _ -, and does not begin with a dot",
				  utf8_show(name, shown, sizeof(shown)), STORE_MAX_SESSION);
	if (arena_copy(a, name, &store.session, e) < 0 ||
	    store_sessions_directory(a, state_directory, &directory, e) < 0 ||
	    path_join(a, directory, store.session, &store.file.path, e) < 0)
		return err_result(e);
	*out = store;
	return 0;
}

/* What can be done about a file that can't be used; it is never replaced. */
static int explain_way_out(const struct store *store, struct err *e)
{
	char shown[512];

	if (e->cause == CAUSE_APPROVALS_NEWER)
		err_add_line(e, "use the newer version of Cordon, or move %s away",
			     utf8_show(store->file.path, shown, sizeof(shown)));
	else if (e->cause == CAUSE_APPROVALS_DAMAGED)
		err_add_line(e, "nothing of it is in force; repair %s, or move it away",
			     utf8_show(store->file.path, shown, sizeof(shown)));
	return err_result(e);
}

int store_read(struct arena *a, struct store *store, struct err *e)
{
	struct store read = { .file = store->file, .session = store->session };
	struct str text;

	if (os_kept_read(&store->file, a, STORE_MAX_BYTES, &text, &read.stamp, e) < 0)
		return err_result(e);
	if (read.stamp.inode && store_parse(a, &read, text, e) < 0)
		return explain_way_out(store, e);
	*store = read;
	return 0;
}

bool store_changed(const struct store *store)
{
	return os_kept_is_changed(&store->file, &store->stamp);
}

/* ---- Writing -------------------------------------------------------------------------- */

static int write_store(const struct store *store, const struct os_kept_lock *lock, struct err *e)
{
	scoped_buf text = BUF_INIT(STORE_MAX_BYTES);

	store_print(&text, store);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	return os_kept_write(&store->file, lock, buf_str(&text), e);
}

static bool is_same(const struct stored_grant *a, const struct stored_grant *b)
{
	return a->grant.kind == b->grant.kind && a->grant.is_dir == b->grant.is_dir &&
	       str_eq(a->grant.subject, b->grant.subject) && str_eq(a->profile, b->profile) &&
	       str_eq(a->workspace, b->workspace) && str_eq(a->policy, b->policy);
}

static const struct stored_grant *find_id(const struct store *store, struct str id)
{
	for (size_t i = 0; i < store->grants.count; i++)
		if (str_eq(store->grants.items[i].id, id))
			return &store->grants.items[i];
	return NULL;
}

static int make_id(struct arena *a, const struct store *store, struct str *out, struct err *e)
{
	unsigned char random[STORE_ID_BYTES / 2];
	char text[STORE_ID_BYTES + 1];

	do {
		int r = os_random(random, sizeof(random));

		if (r < 0)
			return FAIL_SYS(e, -r, "can't make an id");
		for (size_t i = 0; i < sizeof(random); i++) {
			text[2 * i] = "0123456789abcdef"[random[i] >> 4];
			text[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
		}
	} while (find_id(store, (struct str){ text, STORE_ID_BYTES }));
	return arena_copy(a, (struct str){ text, STORE_ID_BYTES }, out, e);
}

/* Days since 1970 as a date (Howard Hinnant's "civil_from_days"). */
static int print_date(struct arena *a, int64_t seconds, struct str *out, struct err *e)
{
	int64_t days = seconds / 86400 + 719468;
	int64_t of_day = seconds % 86400;
	int64_t era = days / 146097;
	int64_t day_of_era = days % 146097;
	int64_t year =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day = day_of_era - (365 * year + year / 4 - year / 100);
	int64_t m = (5 * day + 2) / 153;
	int64_t month = m < 10 ? m + 3 : m - 9;

	return arena_printf(a, out, e, "%04d-%02d-%02dT%02d:%02d:%02dZ",
			    (int)(era * 400 + year + (month <= 2)), (int)month,
			    (int)(day - (153 * m + 2) / 5 + 1), (int)(of_day / 3600),
			    (int)(of_day / 60 % 60), (int)(of_day % 60));
}

/* In the lock: reads, adds, writes. */
static int add_locked(struct arena *a, struct store *now, const struct os_kept_lock *lock,
		      const struct stored_grant *grant, struct str *id, struct err *e)
{
	struct stored_grant *added;

	if (store_read(a, now, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < now->grants.count; i++)
		if (is_same(&now->grants.items[i], grant)) {
			*id = now->grants.items[i].id;
			return 0;
		}
	if (now->grants.count >= STORE_MAX_GRANTS)
		return FAIL(e, ERR_LIMIT, "there are %d approvals already; revoke some",
			    STORE_MAX_GRANTS);
	added = VEC_PUSH(a, &now->grants, e);
	if (!added)
		return err_result(e);
	*added = *grant;
	now->grants.count--; /* the new one has no id to be compared with */
	if (make_id(a, now, &added->id, e) < 0 ||
	    print_date(a, (int64_t)time(NULL), &added->date, e) < 0)
		return err_result(e);
	now->grants.count++;
	*id = added->id;
	return write_store(now, lock, e);
}

static int check_new(const struct store *store, const struct stored_grant *grant, struct err *e)
{
	if (grant->grant.kind == ASK_ESCALATE)
		return FAIL(e, ERR_ARGUMENT, "an escalation can't be approved for later");
	if (!grant->profile.len || !grant->by.len ||
	    (store->session.len != 0) != (grant->workspace.len != 0) ||
	    (store->session.len != 0) != (grant->policy.len != 0))
		return FAIL(e, ERR_INTERNAL, "an approval without all that it belongs to");
	return 0;
}

int store_add(struct arena *a, const struct store *store, const struct stored_grant *grant,
	      struct str *id, struct err *e)
{
	scoped_arena scratch = ARENA_INIT((size_t)4 * STORE_MAX_BYTES);
	struct os_kept_lock lock = OS_KEPT_LOCK_INIT;
	struct store now = { .file = store->file, .session = store->session };
	struct str made = STR_EMPTY;
	int r = check_new(store, grant, e);

	if (r == 0)
		r = os_kept_lock(&store->file, &lock, e);
	if (r == 0)
		r = add_locked(&scratch, &now, &lock, grant, &made, e);
	os_kept_unlock(&lock);
	return r < 0 ? r : arena_copy(a, made, id, e);
}

static bool is_among(struct str id, const struct str *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(ids[i], id))
			return true;
	return false;
}

/* `ids` NULL: all. */
static int remove_grants(const struct store *store, const struct str *ids, size_t id_count,
			 size_t *count, struct err *e)
{
	scoped_arena scratch = ARENA_INIT((size_t)4 * STORE_MAX_BYTES);
	struct os_kept_lock lock = OS_KEPT_LOCK_INIT;
	struct store now = { .file = store->file, .session = store->session };
	size_t kept = 0;
	size_t removed = 0;
	int r;

	/* A file that is not there is not made for this, nor its directory. */
	r = store_read(&scratch, &now, e);
	if (r == 0 && !now.grants.count)
		*count = 0;
	if (r < 0 || !now.grants.count)
		return r;
	r = os_kept_lock(&store->file, &lock, e);
	if (r == 0)
		r = store_read(&scratch, &now, e);
	for (size_t i = 0; r == 0 && i < now.grants.count; i++)
		if (ids && !is_among(now.grants.items[i].id, ids, id_count))
			now.grants.items[kept++] = now.grants.items[i];
	if (r == 0) {
		removed = now.grants.count - kept;
		now.grants.count = kept;
		if (removed)
			r = write_store(&now, &lock, e);
	}
	os_kept_unlock(&lock);
	if (r == 0)
		*count = removed;
	return r;
}

int store_revoke(const struct store *store, const struct str *ids, size_t id_count, size_t *count,
		 struct err *e)
{
	return remove_grants(store, ids, id_count, count, e);
}

int store_clear(const struct store *store, size_t *count, struct err *e)
{
	return remove_grants(store, NULL, 0, count, e);
}
