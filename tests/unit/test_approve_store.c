/* SPDX-License-Identifier: MIT */
/* Tests of src/approve/store.c, store_text.c and lasting.c on real files, real writers and real kills. */
#include "approve/lasting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "scratch.h"
#include "test.h"

enum { NOBODY = 65534 };

static struct arena arena = ARENA_INIT(64 << 20);
static struct err last;

static struct str here(const char *below)
{
	struct str path;

	if (arena_printf(&arena, &path, &last, "%s/%s", scratch_top, below) < 0)
		exit(1);
	return path;
}

static struct store always_in(const char *dir)
{
	struct store store = { .session = STR_EMPTY };
	struct str user;

	if (path_join(&arena, here(dir), STR("config.toml"), &user, &last) < 0 ||
	    store_locate_always(&arena, user, &store, &last) < 0)
		exit(1);
	return store;
}

static struct store session_in(const char *dir, const char *name)
{
	struct store store = { .session = STR_EMPTY };

	if (store_locate_session(&arena, here(dir), str_of(name), &store, &last) < 0)
		exit(1);
	return store;
}

static struct stored_grant a_write(const char *path)
{
	return (struct stored_grant){
		.grant = { .kind = ASK_WRITE, .subject = str_of(path), .is_dir = true },
		.profile = STR("dev"),
		.by = STR("tty"),
	};
}

static struct stored_grant of_session(struct stored_grant grant)
{
	grant.workspace = STR("/repo");
	grant.policy = STR("sha256:0");
	return grant;
}

static bool added(const struct store *store, struct stored_grant grant, struct str *id)
{
	struct str unused;

	err_clear(&last);
	return store_add(&arena, store, &grant, id ? id : &unused, &last) == 0;
}

/* How many grants there are; -1: it can't be read, and `last` says why. */
static int count(const struct store *store)
{
	scoped_arena scratch = ARENA_INIT(16 << 20);
	struct store read = *store;

	err_clear(&last);
	return store_read(&scratch, &read, &last) < 0 ? -1 : (int)read.grants.count;
}

static enum cause cause_of(const struct store *store)
{
	return count(store) < 0 ? last.cause : CAUSE_OK;
}

static const char *text_of(struct str path)
{
	static char text[65536];
	FILE *f = fopen(path.p, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		(void)fclose(f);
	return text;
}

/* ---- What is kept ------------------------------------------------------------------------ */

TEST(what_was_added_is_read_again)
{
	struct stored_grant host = { .grant = { .kind = ASK_CONNECT,
						.subject = STR("example.com:443") },
				     .profile = STR(":workspace"),
				     .by = STR("cmd") };
	struct stored_grant socket = { .grant = { .kind = ASK_UNIX_SOCKET,
						  .subject = STR("/run/x.sock") },
				       .profile = STR("dev"),
				       .by = STR("socket") };
	struct store store = always_in("read");
	struct stat st;

	CHECK_INT(count(&store), 0);
	CHECK(access(here("read").p, F_OK) < 0); /* reading makes nothing */
	REQUIRE(added(&store, a_write("/opt/x"), NULL) && added(&store, host, NULL) &&
		added(&store, socket, NULL));
	REQUIRE(store_read(&arena, &store, &last) == 0 && store.grants.count == 3);
	CHECK_STR(store.grants.items[0].grant.subject.p, "/opt/x");
	CHECK(store.grants.items[0].grant.is_dir);
	CHECK_STR(store.grants.items[0].profile.p, "dev");
	CHECK_STR(store.grants.items[0].by.p, "tty");
	CHECK_INT(store.grants.items[0].date.len, 20);
	CHECK_INT(store.grants.items[0].id.len, STORE_ID_BYTES);
	CHECK_INT(store.grants.items[0].origin.line, 4);
	CHECK_INT(store.grants.items[1].grant.kind, ASK_CONNECT);
	CHECK_STR(store.grants.items[1].grant.subject.p, "example.com:443");
	CHECK_STR(store.grants.items[1].profile.p, ":workspace");
	CHECK_INT(store.grants.items[2].grant.kind, ASK_UNIX_SOCKET);
	CHECK(stat(store.file.path.p, &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(stat(here("read").p, &st) == 0 && (st.st_mode & 0777) == 0700);
}

TEST(a_name_that_is_no_text_is_kept_as_it_is)
{
	struct store store = always_in("bytes");

	REQUIRE(added(&store, a_write("/opt/\xff\x01"), NULL));
	REQUIRE(added(&store, a_write("/opt/\x1b]0;x\a\"\n"), NULL));
	REQUIRE(store_read(&arena, &store, &last) == 0 && store.grants.count == 2);
	CHECK_STR(store.grants.items[0].grant.subject.p, "/opt/\xff\x01");
	CHECK_STR(store.grants.items[1].grant.subject.p, "/opt/\x1b]0;x\a\"\n");
	CHECK(strchr(text_of(store.file.path), '\x1b') == NULL);
	CHECK(strchr(text_of(store.file.path), '\xff') == NULL);
}

TEST(the_same_is_added_once)
{
	struct store store = always_in("same");
	struct stored_grant other = a_write("/opt/x");
	struct str first, second;

	other.profile = STR("other");
	REQUIRE(added(&store, a_write("/opt/x"), &first) &&
		added(&store, a_write("/opt/x"), &second));
	CHECK(str_eq(first, second));
	CHECK_INT(count(&store), 1);
	REQUIRE(added(&store, other, &second));
	CHECK(!str_eq(first, second));
	CHECK_INT(count(&store), 2);
}

TEST(what_is_revoked_is_gone_and_the_rest_stays)
{
	struct store store = session_in("revoke", "work");
	struct str id, other, unknown = STR("0123456789ab");
	size_t n = 9;

	REQUIRE(store_revoke(&store, &unknown, 1, &n, &last) == 0 && n == 0);
	CHECK(access(here("revoke").p, F_OK) < 0);
	REQUIRE(added(&store, of_session(a_write("/opt/x")), &id) &&
		added(&store, of_session(a_write("/opt/y")), &other));
	REQUIRE(store_read(&arena, &store, &last) == 0);
	CHECK(!store_changed(&store));
	REQUIRE(store_revoke(&store, &unknown, 1, &n, &last) == 0 && n == 0);
	CHECK(!store_changed(&store));
	REQUIRE(store_revoke(&store, &id, 1, &n, &last) == 0 && n == 1);
	CHECK(store_changed(&store));
	REQUIRE(store_read(&arena, &store, &last) == 0 && store.grants.count == 1);
	CHECK(str_eq(store.grants.items[0].id, other));
	REQUIRE(store_clear(&store, &n, &last) == 0 && n == 1);
	CHECK_INT(count(&store), 0);
}

TEST(an_escalation_is_not_kept)
{
	struct store store = always_in("escalation");
	struct stored_grant grant = { .grant = { .kind = ASK_ESCALATE },
				      .profile = STR("dev"),
				      .by = STR("tty") };

	CHECK(!added(&store, grant, NULL));
	CHECK_INT(last.code, ERR_ARGUMENT);
	CHECK(access(store.file.path.p, F_OK) < 0);
	CHECK(added(&store, a_write("/opt/x"), NULL));
}

TEST(only_plain_names_are_names_of_sessions)
{
	static const char *const bad[] = { "",	   ".",	  "..",	 ".x",	     "a/b",
					   "../x", "a b", "a\n", "\xc3\xa4", "*" };
	char name[STORE_MAX_SESSION + 2];
	struct store store;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		CHECK(!store_is_session_name(str_of(bad[i])));
		err_clear(&last);
		CHECK(store_locate_session(&arena, here("s"), str_of(bad[i]), &store, &last) < 0);
		CHECK_INT(last.cause, CAUSE_SESSION_NAME);
	}
	memset(name, 'x', sizeof(name));
	CHECK(!store_is_session_name((struct str){ name, STORE_MAX_SESSION + 1 }));
	CHECK(store_is_session_name((struct str){ name, STORE_MAX_SESSION }));
	CHECK(store_is_session_name(STR("A-z_0.9")));
}

/* ---- Files that are not used -------------------------------------------------------------- */

static const char whole[] = "version = 1\n\n[[grant]]\nid = \"0123456789ab\"\nkind = \"write\"\n"
			    "subject = \"/opt/x\"\nprofile = \"dev\"\n"
			    "date = 2026-11-18T19:42:06Z\nby = \"tty\"\n\n# end\n";

/* Nothing is read, nothing is written, and the file stays as it is. */
static void check_refused(struct store *store, enum cause want)
{
	char *before = strdup(text_of(store->file.path));
	size_t n = 7;

	CHECK_INT(cause_of(store), want);
	CHECK(!added(store, store->session.len ? of_session(a_write("/opt/y")) : a_write("/opt/y"),
		     NULL));
	CHECK_INT(last.cause, want);
	err_clear(&last);
	CHECK(store_clear(store, &n, &last) < 0 && n == 7);
	CHECK_STR(text_of(store->file.path), before);
	free(before);
}

static struct store put_always(const char *dir, const char *text)
{
	struct store store = always_in(dir);

	if (mkdir(here(dir).p, 0700) < 0)
		perror(dir);
	scratch_put(store.file.path.p, text);
	if (chmod(store.file.path.p, 0600) < 0)
		perror(dir);
	return store;
}

TEST(a_torn_file_is_refused_wherever_it_was_torn)
{
	struct store store = put_always("torn", whole);
	char part[sizeof(whole)];

	CHECK_INT(count(&store), 1);
	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)len, whole);
		scratch_put(store.file.path.p, part);
		CHECK_INT(cause_of(&store), CAUSE_APPROVALS_DAMAGED);
	}
	check_refused(&store, CAUSE_APPROVALS_DAMAGED);
}

TEST(a_file_from_the_future_is_refused)
{
	struct store store = put_always("future", "version = 2\nnew = [1]\n# end\n");

	check_refused(&store, CAUSE_APPROVALS_NEWER);
}

TEST(what_does_not_belong_in_an_entry_is_refused)
{
	static const struct {
		const char *from, *to;
		enum cause cause;
	} edits[] = {
		{ "\"write\"", "\"escalate\"", CAUSE_APPROVALS_DAMAGED },
		{ "\"write\"", "\"read\"", CAUSE_APPROVALS_DAMAGED },
		{ "\"/opt/x\"", "\"/opt/../x\"", CAUSE_APPROVALS_DAMAGED },
		{ "\"/opt/x\"", "\"opt/x\"", CAUSE_APPROVALS_DAMAGED },
		{ "\"/opt/x\"", "\"/\"", CAUSE_APPROVAL_TOO_WIDE },
		{ "\"/opt/x\"", "\"/opt/\\u0000\"", CAUSE_APPROVALS_DAMAGED },
		{ "\"/opt/x\"", "7", CAUSE_APPROVALS_DAMAGED },
		{ "by = \"tty\"", "bye = \"tty\"", CAUSE_APPROVALS_DAMAGED },
		{ "by = \"tty\"", "by = \"\"", CAUSE_APPROVALS_DAMAGED },
		{ "profile = \"dev\"", "profile = \"dev\"\nworkspace = \"/x\"",
		  CAUSE_APPROVALS_DAMAGED },
		{ "06Z", "06+01:00", CAUSE_APPROVALS_DAMAGED },
		{ "version = 1", "version = 0", CAUSE_APPROVALS_DAMAGED },
		{ "version = 1", "", CAUSE_APPROVALS_DAMAGED },
		{ "version = 1", "version = 1\nextra = 1", CAUSE_APPROVALS_DAMAGED },
		{ "\"write\"\nsubject = \"/opt/x\"", "\"connect\"\nsubject = \"*.x.com\"",
		  CAUSE_APPROVAL_TOO_WIDE },
		{ "\"write\"\nsubject = \"/opt/x\"", "\"connect\"\nsubject = \"10.0.0.0/8\"",
		  CAUSE_APPROVAL_TOO_WIDE },
	};
	struct store store = put_always("edits", whole);

	for (size_t i = 0; i < COUNT_OF(edits); i++) {
		const char *at = strstr(whole, edits[i].from);
		char text[2 * sizeof(whole)];

		REQUIRE(at);
		(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole,
			       edits[i].to, at + strlen(edits[i].from));
		scratch_put(store.file.path.p, text);
		CHECK_INT(cause_of(&store), edits[i].cause);
		CHECK(last.place.line > 0);
	}
	scratch_put(store.file.path.p, whole);
	CHECK_INT(count(&store), 1);
}

TEST(a_link_is_not_followed)
{
	struct store store = put_always("link", whole);
	struct str target = here("link/target");

	CHECK_INT(count(&store), 1);
	REQUIRE(rename(store.file.path.p, target.p) == 0 &&
		symlink(target.p, store.file.path.p) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
	REQUIRE(unlink(target.p) == 0); /* a dangling one is no missing file */
	CHECK_INT(cause_of(&store), CAUSE_FILE_UNTRUSTED);
}

TEST(a_file_with_two_names_or_for_other_writers_is_refused)
{
	struct store store = put_always("names", whole);

	REQUIRE(link(store.file.path.p, here("names/second").p) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
	REQUIRE(unlink(here("names/second").p) == 0);
	CHECK_INT(count(&store), 1);
	REQUIRE(chmod(store.file.path.p, 0620) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
	REQUIRE(chmod(store.file.path.p, 0602) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
	REQUIRE(chmod(store.file.path.p, 0644) == 0);
	CHECK_INT(count(&store), 1);
}

TEST(what_is_no_file_is_refused_without_waiting)
{
	struct store store = put_always("fifo", whole);

	REQUIRE(unlink(store.file.path.p) == 0 && mkfifo(store.file.path.p, 0600) == 0);
	CHECK_INT(cause_of(&store), CAUSE_FILE_UNTRUSTED);
	REQUIRE(unlink(store.file.path.p) == 0 && mkdir(store.file.path.p, 0700) == 0);
	CHECK_INT(cause_of(&store), CAUSE_FILE_UNTRUSTED);
}

TEST(another_users_file_is_refused)
{
	struct store store = put_always("foreign", whole);
	struct store session = session_in("foreign-state", "work");

	if (geteuid() != 0)
		SKIP("only root can give a file away");
	REQUIRE(chown(store.file.path.p, NOBODY, NOBODY) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
	REQUIRE(added(&session, of_session(a_write("/opt/x")), NULL));
	CHECK_INT(count(&session), 1);
	REQUIRE(chown(here("foreign-state/sessions").p, NOBODY, NOBODY) == 0);
	check_refused(&session, CAUSE_FILE_UNTRUSTED);
}

TEST(a_directory_of_sessions_that_others_may_write_or_that_is_a_link_is_refused)
{
	struct store store = session_in("dir", "work");

	REQUIRE(added(&store, of_session(a_write("/opt/x")), NULL));
	REQUIRE(chmod(here("dir/sessions").p, 0770) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
	REQUIRE(chmod(here("dir/sessions").p, 0700) == 0);
	CHECK_INT(count(&store), 1);
	REQUIRE(rename(here("dir/sessions").p, here("dir/real").p) == 0 &&
		symlink("real", here("dir/sessions").p) == 0);
	check_refused(&store, CAUSE_FILE_UNTRUSTED);
}

TEST(the_file_of_one_session_is_not_another_ones)
{
	struct store store = session_in("renamed", "one");
	struct store other = session_in("renamed", "two");

	REQUIRE(added(&store, of_session(a_write("/opt/x")), NULL));
	REQUIRE(rename(store.file.path.p, other.file.path.p) == 0);
	check_refused(&other, CAUSE_APPROVALS_DAMAGED);
	CHECK_INT(count(&store), 0);
}

/* ---- For a run ---------------------------------------------------------------------------- */

TEST(a_grant_counts_for_its_own_workspace_policy_and_profile_alone)
{
	struct lasting run = { .always = always_in("lasting"),
			       .session = session_in("lasting", "work"),
			       .profile = STR("dev"),
			       .workspace = STR("/repo"),
			       .policy = STR("sha256:0"),
			       .allows_always = true };
	struct grant grant = a_write("/opt/x").grant;
	struct grant other = a_write("/opt").grant;
	struct lasting same = run, moved = run, changed = run, renamed = run, forbidden = run;
	struct str id;

	CHECK_INT(lasting_scopes(&run), SCOPE_BIT(SCOPE_SESSION) | SCOPE_BIT(SCOPE_ALWAYS));
	REQUIRE(lasting_add(&arena, &run, SCOPE_SESSION, &grant, "tty", &id, &last) == 0);
	REQUIRE(lasting_add(&arena, &run, SCOPE_ALWAYS, &grant, "tty", &id, &last) == 0);
	CHECK(lasting_add(&arena, &run, SCOPE_RUN, &grant, "tty", &id, &last) < 0);
	CHECK(lasting_changed(&run));
	moved.workspace = STR("/other");
	changed.policy = STR("sha256:1");
	renamed.profile = STR("other");
	forbidden.allows_always = false;
	REQUIRE(lasting_read(&arena, &same, &same, &last) == 0 &&
		lasting_read(&arena, &moved, &moved, &last) == 0 &&
		lasting_read(&arena, &changed, &changed, &last) == 0 &&
		lasting_read(&arena, &renamed, &renamed, &last) == 0 &&
		lasting_read(&arena, &forbidden, &forbidden, &last) == 0);
	CHECK(!lasting_changed(&same));
	CHECK(lasting_has(&same, SCOPE_SESSION, &grant) &&
	      lasting_has(&same, SCOPE_ALWAYS, &grant));
	CHECK(!lasting_has(&same, SCOPE_SESSION, &other) && !lasting_has(&same, SCOPE_RUN, &grant));
	CHECK(!lasting_has(&moved, SCOPE_SESSION, &grant));
	CHECK(lasting_has(&moved, SCOPE_ALWAYS, &grant));
	CHECK(!lasting_has(&changed, SCOPE_SESSION, &grant));
	CHECK(!lasting_has(&renamed, SCOPE_SESSION, &grant));
	CHECK(!lasting_has(&renamed, SCOPE_ALWAYS, &grant));
	CHECK(!lasting_has(&forbidden, SCOPE_ALWAYS, &grant));
	CHECK(lasting_has(&forbidden, SCOPE_SESSION, &grant));
	CHECK(lasting_add(&arena, &forbidden, SCOPE_ALWAYS, &other, "tty", &id, &last) < 0);
}

/* ---- Many writers, and killed ones ---------------------------------------------------------- */

TEST(twenty_writers_at_once_lose_nothing)
{
	enum { WRITERS = 20, EACH = 5 };
	struct store store = session_in("many", "work");
	pid_t pids[WRITERS];
	int failed = 0;

	(void)fflush(stdout);
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		for (int k = 0; pids[i] == 0 && k < EACH; k++) {
			char path[64];

			(void)snprintf(path, sizeof(path), "/opt/%d/%d", i, k);
			if (!added(&store, of_session(a_write(path)), NULL))
				_exit(1);
			if (k == EACH - 1)
				_exit(0);
		}
	}
	for (int i = 0; i < WRITERS; i++) {
		int status = 1;

		if (waitpid(pids[i], &status, 0) < 0 || status)
			failed++;
	}
	CHECK_INT(failed, 0);
	CHECK_INT(count(&store), WRITERS * EACH);
}

/* Kills a writer when it is about to make its n-th system call. False: it ended before that. */
static bool kill_writer(const struct store *store, const char *path, int n)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
			_exit(3);
		_exit(added(store, of_session(a_write(path)), NULL) ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return false;
	for (int i = 0; i < 2 * n && WIFSTOPPED(status); i++)
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) < 0)
			return false;
	if (!WIFSTOPPED(status)) {
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		return false;
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) == pid && !WIFSIGNALED(status))
		;
	return true;
}

TEST(a_writer_that_is_killed_at_any_step_leaves_a_whole_file)
{
	struct store store = session_in("killed", "work");
	int steps = 0;
	int n = 0;

	(void)fflush(stdout);
	REQUIRE(added(&store, of_session(a_write("/opt/first")), NULL));
	do {
		char path[64];
		int before = count(&store);
		int after;

		(void)snprintf(path, sizeof(path), "/opt/%d", ++n);
		steps += kill_writer(&store, path, n);
		after = count(&store);
		CHECK(after == before || after == before + 1);
	} while (steps == n && n < 400);
	CHECK(steps > 10 && n < 400);
	/* And the next one writes on. */
	CHECK(added(&store, of_session(a_write("/opt/last")), NULL));
	printf("# killed at %d system calls\n", steps);
}

TEST(who_reads_while_others_write_sees_whole_files)
{
	struct store store = always_in("readers");
	int status = 1;
	pid_t pid;

	REQUIRE(added(&store, a_write("/opt/first"), NULL));
	(void)fflush(stdout);
	pid = fork();
	for (int i = 0; pid == 0 && i < 60; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/opt/%d", i);
		if (!added(&store, a_write(path), NULL))
			_exit(1);
		if (i == 59)
			_exit(0);
	}
	for (int seen = 1; waitpid(pid, &status, WNOHANG) == 0;) {
		int now = count(&store);

		if (now < seen)
			CHECK_INT(now, seen);
		seen = MAX_OF(now, seen);
	}
	CHECK_INT(status, 0);
	CHECK_INT(count(&store), 61);
}
