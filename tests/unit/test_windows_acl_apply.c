/* SPDX-License-Identifier: MIT */
/*
 * Entries in access lists, and out of them again, on a machine in memory (acl_memory.h): whatever is killed when, cleanup
 * takes out exactly ours, and never what a run that goes on needs.
 */
#include "acl_memory.h"
#include "backend/windows/acl_journal.h"
#include "backend/windows/sid.h"
#include "base/buf.h"
#include "test.h"

static const char system_sid[] = "S-1-5-18", users[] = "S-1-5-32-545", me[] = "S-1-5-21-1-2-3-1001";
enum { FULL = 0x1f01ff, WRITE_DATA = 2, READ_DATA = 1, DELETE = 0x10000, MAX_STEPS = 2000 };

static struct memory_machine machine;

/* ---- A machine, and what a policy wants of it ---------------------------------------------------- */

static void build(void)
{
	int home, locked;

	memory_init(&machine);
	(void)memory_make(&machine, "/C:/o", true);
	home = memory_make(&machine, "/C:/Users/me", true);
	machine.objects[home].acl.is_protected = true;
	memory_add_ace(&machine.objects[home].acl, 0, 3, FULL, system_sid);
	memory_add_ace(&machine.objects[home].acl, 0, 3, FULL, me);
	memory_add_ace(&machine.objects[memory_find(&machine, "/C:/o")].acl, 0, 3, FULL, users);
	(void)memory_make(&machine, "/C:/o/file", false);
	(void)memory_make(&machine, "/C:/Users/me/repo/src/a.c", false);
	(void)memory_make(&machine, "/C:/Users/me/repo/.git/config", false);
	(void)memory_make(&machine, "/C:/Users/me/repo/.git/hooks/pre", false);
	(void)memory_make(&machine, "/C:/Users/me/other", false);
	locked = memory_make(&machine, "/C:/Users/me/repo/locked", true);
	machine.objects[locked].acl = (struct memory_acl){ .is_protected = true };
	memory_add_ace(&machine.objects[locked].acl, 0, 3, FULL, me);
	(void)memory_make(&machine, "/C:/Users/me/repo/locked/x", false);
	machine.objects[memory_make(&machine, "/C:/Users/me/repo/junction", true)].is_link = true;
	(void)memory_make(&machine, "/C:/Users/me/repo/junction/target", false);
	/* entries of its own, in order, with a deny of somebody else's */
	locked = memory_make(&machine, "/C:/Users/me/repo/src/own", false);
	machine.objects[locked].acl = (struct memory_acl){ .count = 0 };
	memory_add_ace(&machine.objects[locked].acl, 1, 0, WRITE_DATA, users);
	memory_add_ace(&machine.objects[locked].acl, 0, 0, READ_DATA, users);
	memory_add_ace(&machine.objects[locked].acl, 0, 0x10, FULL, me);
}

static const char *capability(unsigned policy)
{
	static char texts[4][SID_TEXT];
	unsigned char digest[SHA256_BYTES] = { (unsigned char)policy };
	scoped_arena a = ARENA_INIT(4096);
	struct err e = ERR_INIT;
	struct str text = STR_EMPTY;

	CHECK(sid_of_capability(&a, digest, &text, &e) == 0);
	(void)snprintf(texts[policy], SID_TEXT, "%s", text.p);
	return texts[policy];
}

struct wanted {
	struct windows_acl_ace aces[5];
	struct windows_acl_place places[5];
	struct windows_acl_request request;
	char sid[SID_MAX_BYTES];
};

/* The workspace writable, but .git/hooks, a missing directory and a missing file in a missing directory. */
static void want(struct wanted *w, unsigned policy)
{
	static const char *const paths[] = { "/C:/Users/me/repo", "/C:/Users/me/repo/.claude",
					     "/C:/Users/me/repo/.git/hooks",
					     "/C:/Users/me/repo/sub/file" };
	scoped_arena a = ARENA_INIT(4096);
	struct err e = ERR_INIT;
	struct str sid = STR_EMPTY;

	CHECK(sid_parse(&a, str_of(capability(policy)), &sid, &e) == 0);
	memcpy(w->sid, sid.p, sid.len);
	sid.p = w->sid;
	w->aces[0] = (struct windows_acl_ace){ sid, true, false, WINDOWS_DELETE };
	w->aces[1] = (struct windows_acl_ace){ sid, false, true, WINDOWS_WRITE };
	for (size_t i = 0; i < 4; i++) {
		w->aces[1 + i] = i ? (struct windows_acl_ace){ sid, true, true, WINDOWS_WRITE }
				   : w->aces[1];
		w->places[i] = (struct windows_acl_place){ .path = str_of(paths[i]),
							   .aces = &w->aces[i ? 1 + i : 0],
							   .count = i ? 1 : 2,
							   .is_made_as_file = i == 3 };
	}
	w->request = (struct windows_acl_request){ w->places, 4 };
}

/* ---- Processes -------------------------------------------------------------------------------------- */

struct process {
	struct memory_process p;
	struct arena a;
	struct err e;
	struct windows_acl_run *run;
};

static void start(struct process *p, long dies_at)
{
	*p = (struct process){ .a = ARENA_INIT(16 << 20), .e = ERR_INIT };
	memory_start(&p->p, &machine, dies_at);
}

static int apply(struct process *p, struct wanted *w)
{
	return windows_acl_apply(&p->a, &p->p.system, &w->request, &p->run, &p->e);
}

static int end(struct process *p)
{
	return windows_acl_end(p->run, &p->e);
}

static void done(struct process *p)
{
	memory_kill(&p->p);
	arena_done(&p->a);
}

static struct windows_acl_cleanup clean(long dies_at)
{
	struct windows_acl_cleanup found = { .changed = 0 };
	struct process p;

	start(&p, dies_at);
	if (windows_acl_cleanup(&p.a, &p.p.system, &found, &p.e) < 0 && !p.p.is_dead)
		printf("# cleanup: %s\n", p.e.text);
	done(&p);
	return found;
}

/* ---- What there is ------------------------------------------------------------------------------------ */

static char snapshots[2][1 << 18];

/* All objects with their lists, and the journals. */
static const char *snapshot(int which)
{
	struct buf out = { .p = snapshots[which],
			   .room = sizeof(*snapshots),
			   .max = sizeof(*snapshots) - 1 };
	char room[1024];

	out.p[0] = '\0';
	for (int i = 0; i < machine.count; i++) {
		const struct memory_object *o = &machine.objects[i];
		bool is_gone = false;

		for (int at = i; at > 0 && !is_gone; at = machine.objects[at].parent)
			is_gone = machine.objects[at].parent < 0;
		if (is_gone)
			continue;
		buf_printf(&out, "%s", memory_path(&machine, i, room));
		for (size_t j = 0; j < o->acl.count; j++)
			buf_printf(&out, " %u/%x/%x/%s", o->acl.aces[j].type, o->acl.aces[j].flags,
				   o->acl.aces[j].mask, o->acl.aces[j].sid);
		buf_add_char(&out, '\n');
	}
	for (int i = 0; i < MEMORY_JOURNALS; i++)
		if (machine.journals[i].exists)
			buf_printf(&out, "%s\n", machine.journals[i].name);
	return snapshots[which];
}

static bool has_entry(const char *path, const char *sid)
{
	const struct memory_acl *acl = &machine.objects[memory_find(&machine, path)].acl;

	for (size_t i = 0; i < acl->count; i++)
		if (strcmp(acl->aces[i].sid, sid) == 0)
			return true;
	return false;
}

/* By the two checks of a WRITE_RESTRICTED token. */
static bool writes(const char *path, unsigned policy)
{
	const struct memory_acl *acl = &machine.objects[memory_find(&machine, path)].acl;
	const char *const account[] = { me, users }, *const restricting[] = { capability(policy) };

	return memory_allows(acl, account, 2, WRITE_DATA) &&
	       memory_allows(acl, restricting, 1, WRITE_DATA);
}

/* ---- A run -------------------------------------------------------------------------------------------- */

TEST(a_run_may_write_what_its_policy_opens_and_nothing_else)
{
	struct wanted w, other;
	struct process p;

	build();
	want(&w, 1);
	want(&other, 2);
	start(&p, 0);
	CHECK(!writes("/C:/Users/me/repo/src/a.c", 1));
	REQUIRE(apply(&p, &w) == 0);
	CHECK(writes("/C:/Users/me/repo/src/a.c", 1) && writes("/C:/Users/me/repo", 1));
	CHECK(writes("/C:/Users/me/repo/.git/config", 1));
	CHECK(!writes("/C:/Users/me/repo/.git/hooks/pre", 1));
	CHECK(!writes("/C:/Users/me/repo/.claude", 1) && !writes("/C:/Users/me/repo/sub/file", 1));
	CHECK(!writes("/C:/Users/me/repo/src/a.c", 2)); /* another policy */
	CHECK(!writes("/C:/Users/me/other", 1) && !writes("/C:/o/file", 1));
	CHECK(!writes("/C:/Users/me/repo/locked/x", 1)); /* which inherits nothing */
	CHECK(!has_entry("/C:/Users/me/repo/junction/target", capability(1)));
	CHECK(has_entry("/C:/Users/me/repo/junction", capability(1)));
	(void)memory_make(&machine, "/C:/Users/me/repo/src/new", false);
	(void)memory_make(&machine, "/C:/Users/me/repo/.git/hooks/new", false);
	CHECK(writes("/C:/Users/me/repo/src/new", 1));
	CHECK(!writes("/C:/Users/me/repo/.git/hooks/new", 1));
	CHECK(machine.objects[memory_find(&machine, "/C:/Users/me/repo/.claude")].is_dir);
	CHECK(!machine.objects[memory_find(&machine, "/C:/Users/me/repo/sub/file")].is_dir);
	CHECK(end(&p) == 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude") < 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/sub") < 0);
	CHECK(has_entry("/C:/Users/me/repo/src/a.c", capability(1))); /* until cleanup */
	done(&p);
}

TEST(what_was_put_into_a_placeholder_stays)
{
	struct wanted w;
	struct process p;

	build();
	want(&w, 1);
	start(&p, 0);
	REQUIRE(apply(&p, &w) == 0);
	(void)memory_make(&machine, "/C:/Users/me/repo/.claude/settings", false);
	machine.objects[memory_find(&machine, "/C:/Users/me/repo/sub/file")].has_content = true;
	CHECK(end(&p) == 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude/settings") >= 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/sub/file") >= 0);
	(void)clean(0);
	CHECK(!has_entry("/C:/Users/me/repo/.claude/settings", capability(1)));
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude/settings") >= 0);
	done(&p);
}

TEST(what_the_user_makes_where_a_placeholder_was_is_the_users)
{
	struct wanted w;
	struct process p;

	build();
	want(&w, 1);
	start(&p, 0);
	REQUIRE(apply(&p, &w) == 0 && end(&p) == 0);
	done(&p);
	(void)memory_make(&machine, "/C:/Users/me/repo/.claude", true);
	start(&p, 0);
	REQUIRE(apply(&p, &w) == 0 && end(&p) == 0);
	done(&p);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude") >= 0);
	(void)clean(0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude") >= 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/sub") < 0);
}

TEST(what_is_not_kept_as_it_was_written_is_refused)
{
	struct wanted w;
	struct process p;
	const char *before;

	for (int which = 0; which < 2; which++) {
		build();
		want(&w, 1);
		machine.forgets = which == 0;
		machine.reorders = which == 1;
		before = snapshot(0);
		start(&p, 0);
		CHECK(apply(&p, &w) < 0);
		CHECK_INT(p.e.cause, CAUSE_WITHOUT_EFFECT);
		CHECK(!has_entry("/C:/Users/me/repo", capability(1)));
		CHECK(!has_entry("/C:/Users/me/repo/src/a.c", capability(1)));
		done(&p);
		machine.reorders = machine.forgets = false;
		(void)clean(0);
		if (which == 0)
			CHECK_STR(snapshot(1), before);
	}
}

TEST(a_list_that_can_not_be_extended_costs_an_allow_but_never_a_deny)
{
	struct wanted w;
	struct process p;
	struct memory_object *a, *pre;

	build();
	a = &machine.objects[memory_find(&machine, "/C:/Users/me/repo/src/a.c")];
	pre = &machine.objects[memory_find(&machine, "/C:/Users/me/repo/.git/hooks/pre")];
	want(&w, 1);
	memory_add_ace(&a->acl, 1, 0, WRITE_DATA, users); /* out of order */
	start(&p, 0);
	CHECK(apply(&p, &w) == 0 && !writes("/C:/Users/me/repo/src/a.c", 1));
	done(&p);
	a->is_closed = true;
	start(&p, 0);
	CHECK(apply(&p, &w) == 0);
	done(&p);
	pre->is_closed = true;
	start(&p, 0);
	CHECK(apply(&p, &w) < 0);
	CHECK_INT(p.e.cause, CAUSE_ACL_CLOSED);
	/* What was made before it was refused is gone. */
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude") < 0);
	done(&p);
	pre->is_closed = false;
	memory_add_ace(&pre->acl, 1, 0, WRITE_DATA, users);
	start(&p, 0);
	CHECK(apply(&p, &w) < 0);
	CHECK_INT(p.e.cause, CAUSE_ACL_UNUSUAL);
	done(&p);
}

TEST(a_link_where_a_directory_was_is_refused)
{
	struct wanted w;
	struct process p;

	build();
	want(&w, 1);
	machine.objects[memory_find(&machine, "/C:/Users/me/repo/.git")].is_link = true;
	start(&p, 0);
	CHECK(apply(&p, &w) < 0);
	CHECK_INT(p.e.cause, CAUSE_FILE_CHANGED);
	done(&p);
}

/* ---- Cleanup ------------------------------------------------------------------------------------------- */

TEST(cleanup_finds_what_was_moved_and_what_was_made_since)
{
	struct windows_acl_cleanup found;
	struct wanted w;
	struct process p;
	int hooks, made;

	build();
	want(&w, 1);
	start(&p, 0);
	REQUIRE(apply(&p, &w) == 0);
	made = memory_make(&machine, "/C:/Users/me/repo/src/d/new", false);
	hooks = memory_find(&machine, "/C:/Users/me/repo/.git/hooks");
	memory_move(&machine, hooks, memory_find(&machine, "/C:/o"), "hooks");
	(void)memory_make(&machine, "/C:/Users/me/repo/.git/hooks", true); /* in its place */
	CHECK(end(&p) == 0);
	done(&p);
	found = clean(0);
	CHECK(found.changed > 5 && found.held == 0);
	CHECK(!has_entry("/C:/o/hooks/pre", capability(1)) &&
	      !has_entry("/C:/o/hooks", capability(1)));
	CHECK_INT(machine.objects[made].acl.count, 2); /* what it has from the profile */
	CHECK(clean(0).changed == 0);
}

TEST(a_cleanup_that_failed_somewhere_is_done_again)
{
	static char before[sizeof(*snapshots)];
	struct windows_acl_cleanup found;
	struct wanted w;
	struct process p, q;
	struct memory_object *pre;

	build();
	want(&w, 1);
	(void)snprintf(before, sizeof(before), "%s", snapshot(0));
	start(&p, 0);
	REQUIRE(apply(&p, &w) == 0 && end(&p) == 0);
	done(&p);
	pre = &machine.objects[memory_find(&machine, "/C:/Users/me/repo/.git/hooks/pre")];
	pre->is_closed = true;
	start(&q, 0);
	CHECK(windows_acl_cleanup(&q.a, &q.p.system, &found, &q.e) < 0);
	CHECK_INT(q.e.cause, CAUSE_ACL_CLOSED);
	done(&q);
	CHECK(!has_entry("/C:/Users/me/repo/src/a.c", capability(1))); /* the rest is clean */
	pre->is_closed = false;
	(void)clean(0);
	CHECK_STR(snapshot(1), before);
}

TEST(a_placeholder_stays_while_any_run_needs_it)
{
	struct process first, second;
	struct wanted w, other;

	build();
	want(&w, 1);
	want(&other, 2);
	start(&first, 0);
	start(&second, 0);
	REQUIRE(apply(&first, &w) == 0 && apply(&second, &other) == 0);
	CHECK(end(&first) == 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude") >= 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/sub/file") >= 0);
	done(&first);
	(void)clean(0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/sub/file") >= 0);
	CHECK(!writes("/C:/Users/me/repo/.claude", 2));
	CHECK(end(&second) == 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/.claude") < 0);
	CHECK(memory_find(&machine, "/C:/Users/me/repo/sub") < 0);
	done(&second);
}

TEST(a_torn_record_is_none_and_spoils_none)
{
	struct acl_record made = { .kind = ACL_MADE, .path = STR("/C:/a b/\xc3\xa9%") };
	acl_records found = { .items = NULL };
	scoped_arena a = ARENA_INIT(1 << 16);
	scoped_buf one = BUF_INIT(4096), all = BUF_INIT(1 << 16);
	struct err e = ERR_INIT;

	CHECK(acl_record_print(&made, &one, &e) == 0);
	for (size_t cut = 0; cut < one.len; cut++) {
		found.count = 0;
		buf_clear(&all);
		buf_add(&all, str_first(buf_str(&one), cut));
		CHECK(acl_journal_parse(&a, buf_str(&all), &found, &e) == 0);
		CHECK_INT(found.count,
			  cut + 1 == one.len); /* but for the end of the line it is there */
		found.count = 0;
		buf_add(&all, buf_str(&one));
		CHECK(acl_journal_parse(&a, buf_str(&all), &found, &e) == 0);
		CHECK_INT(found.count, cut + 1 == one.len ? 2 : 1);
		CHECK(str_eq(found.items[0].path, made.path));
	}
}

struct seen {
	size_t held, count;
	bool has_sid;
};

static int see(void *arg, const struct windows_acl_record *record, struct err *e)
{
	struct seen *seen = arg;

	(void)e;
	seen->count++;
	seen->held += record->is_held;
	seen->has_sid = seen->has_sid || str_is(record->sid, capability(1));
	return 0;
}

TEST(a_list_shows_what_a_run_holds_and_what_is_left)
{
	struct seen during = { 0 }, after = { 0 }, cleaned = { 0 };
	struct process p, q;
	struct wanted w;

	build();
	want(&w, 1);
	start(&p, 0);
	start(&q, 0);
	REQUIRE(apply(&p, &w) == 0);
	CHECK(windows_acl_list(&q.a, &q.p.system, see, &during, &q.e) == 0);
	CHECK(during.count == 4 && during.held == 4 && during.has_sid);
	CHECK(end(&p) == 0);
	CHECK(windows_acl_list(&q.a, &q.p.system, see, &after, &q.e) == 0);
	CHECK(after.count == 4 && after.held == 0);
	(void)clean(0);
	CHECK(windows_acl_list(&q.a, &q.p.system, see, &cleaned, &q.e) == 0 && !cleaned.count);
	done(&p);
	done(&q);
}

TEST(runs_one_after_another_share_a_journal)
{
	struct wanted w, other;
	struct process p;
	int journals = 0;

	build();
	want(&w, 1);
	want(&other, 2);
	for (int i = 0; i < 4; i++) {
		start(&p, 0);
		REQUIRE(apply(&p, i == 2 ? &other : &w) == 0 && end(&p) == 0);
		done(&p);
	}
	for (int i = 0; i < MEMORY_JOURNALS; i++)
		journals += machine.journals[i].exists;
	CHECK_INT(journals, 2);
}

/* ---- Killed at every step -------------------------------------------------------------------------------- */

TEST(a_run_killed_at_any_step_leaves_nothing_behind_a_cleanup)
{
	static char before[sizeof(*snapshots)];
	struct wanted w;
	struct process p;
	long at = 0;
	bool was_killed = true;

	want(&w, 1);
	build();
	(void)snprintf(before, sizeof(before), "%s", snapshot(0));
	while (was_killed && at < MAX_STEPS) {
		build();
		start(&p, ++at);
		if (apply(&p, &w) == 0)
			(void)end(&p);
		was_killed = p.p.is_dead;
		done(&p);
		(void)clean(0);
		if (strcmp(snapshot(1), before) != 0) {
			CHECK_STR(snapshot(1), before);
			printf("# killed at step %ld\n", at);
			return;
		}
	}
	printf("# %ld steps\n", at - 1);
	CHECK(at > 60 && at < MAX_STEPS);
}

TEST(a_cleanup_killed_at_any_step_is_finished_by_the_next)
{
	static char before[sizeof(*snapshots)];
	struct wanted w;
	long at = 0, steps = 0;

	want(&w, 1);
	build();
	(void)snprintf(before, sizeof(before), "%s", snapshot(0));
	do {
		struct windows_acl_cleanup found;
		struct process p, q;
		int r;

		build();
		start(&p, 0);
		REQUIRE(apply(&p, &w) == 0);
		done(&p); /* killed while it ran */
		start(&q, ++at);
		r = windows_acl_cleanup(&q.a, &q.p.system, &found, &q.e);
		CHECK(r == 0 || q.p.is_dead);
		steps = q.p.is_dead ? at : 0;
		done(&q);
		(void)clean(0);
		if (strcmp(snapshot(1), before) != 0) {
			CHECK_STR(snapshot(1), before);
			printf("# killed at step %ld\n", at);
			return;
		}
	} while (steps && at < MAX_STEPS);
	printf("# %ld steps\n", at - 1);
	CHECK(at > 60 && at < MAX_STEPS);
}

/* `policy`: of the run that is killed; the one that goes on has policy 1. */
static bool two_runs(long at, unsigned policy, const char *before, bool *was_killed)
{
	struct wanted first, second;
	struct process p, q, r;
	struct windows_acl_cleanup found;
	bool ok;

	build();
	want(&first, 1);
	want(&second, policy);
	start(&p, 0);
	start(&q, at);
	ok = apply(&p, &first) == 0;
	if (apply(&q, &second) == 0)
		(void)end(&q);
	/* and the cleanup dies too, somewhere */
	start(&r, 1 + at % 97);
	ok = ok && (windows_acl_cleanup(&r.a, &r.p.system, &found, &r.e) == 0 || r.p.is_dead);
	*was_killed = q.p.is_dead;
	done(&q);
	done(&r);
	(void)clean(0);
	/* The run that goes on has lost nothing. */
	ok = ok && windows_acl_check(p.run, &first.request, &p.e) == 0 &&
	     writes("/C:/Users/me/repo/src/a.c", 1) &&
	     !writes("/C:/Users/me/repo/.git/hooks/pre", 1) &&
	     memory_find(&machine, "/C:/Users/me/repo/.claude") >= 0 &&
	     !writes("/C:/Users/me/repo/.claude", 1);
	if (policy != 1)
		ok = ok && !has_entry("/C:/Users/me/repo/src/a.c", capability(policy));
	ok = ok && end(&p) == 0;
	done(&p);
	(void)clean(0);
	return ok && strcmp(snapshot(1), before) == 0;
}

TEST(a_run_that_goes_on_keeps_its_entries_whatever_becomes_of_another)
{
	static char before[sizeof(*snapshots)];

	build();
	(void)snprintf(before, sizeof(before), "%s", snapshot(0));
	for (unsigned policy = 1; policy <= 2; policy++) {
		bool was_killed = true;
		long at = 0;

		while (was_killed && at < MAX_STEPS) {
			if (!two_runs(++at, policy, before, &was_killed)) {
				CHECK_STR(snapshot(1), before);
				CHECK(false);
				printf("# policy %u, killed at step %ld\n", policy, at);
				return;
			}
		}
		printf("# policy %u: %ld steps\n", policy, at - 1);
		CHECK(at > 60 && at < MAX_STEPS);
	}
}
