/* SPDX-License-Identifier: MIT */
/* Tests of session/guess.c: which lines of output name what the plan refuses. */
#include "session/guess.h"

#include <errno.h>

#include "test.h"
#include "world.h"

static const char host_text[] =
	"d /repo\nf /repo/.env\nf /repo/readable\nd /home/me/.ssh\nf /home/me/.ssh/id\n"
	"f /opt/app/conf\nf /opt/my conf\nf /opt/shut\nl /repo/link -> /home/me/.ssh/id\n";

struct guessed {
	struct world w;
	struct denials denials;
	struct guess_request in;
};

/* What the host's own modes refuse. */
static bool host_allows(const char *path, bool writes)
{
	(void)writes;
	return strcmp(path, "/opt/shut") != 0;
}

static bool start(struct guessed *g, enum naming naming)
{
	world_init(&g->w, host_text, "/repo");
	g->w.user = "default_permissions = 'dev'\n[permissions.dev.filesystem]\n"
		    "'/' = 'read'\n':workspace_roots' = 'write'\n"
		    "'/home/me/.ssh' = 'deny'\n'/repo/.env' = 'deny'\n";
	denials_init(&g->denials);
	if (!world_plan(&g->w))
		return false;
	g->in = (struct guess_request){ .plan = g->w.plan,
					.inputs = &g->w.in,
					.directory = STR("/repo"),
					.naming = naming,
					.has_mounts = true,
					.host_allows = host_allows };
	return true;
}

static void stop(struct guessed *g)
{
	denials_done(&g->denials);
	world_done(&g->w);
}

/* "OPERATION SUBJECT" of each denial that the output leads to, joined by ", ". */
static const char *guess(struct guessed *g, const char *output)
{
	static char text[4096];
	struct buf b = BUF_OVER(text);

	denials_done(&g->denials);
	denials_init(&g->denials);
	g->in.outputs[0] = str_of(output);
	guess_denials(&g->in, &g->denials);
	memset(text, 0, sizeof(text));
	for (size_t i = 0; i < g->denials.items.count; i++) {
		const struct denial *d = &g->denials.items.items[i];

		CHECK(d->is_guess && d->by && d->kind == DENIAL_PATH && !d->program.len);
		buf_printf(&b, "%s%s %.*s", i ? ", " : "", operation_name(d->operation),
			   STR_ARG(d->subject));
	}
	return text;
}

TEST(a_line_that_names_a_denied_path_is_a_refused_read)
{
	static const char *const lines[] = {
		"cat: /home/me/.ssh/id: Permission denied\n",
		"cat: ../home/me/.ssh/id: Permission denied",
		"CAT: /repo/../home/me/.ssh/id: PERMISSION DENIED\n",
		"cp: cannot open '/home/me/.ssh/id' for reading: Permission denied\n",
		"cp: cannot open \xe2\x80\x98/home/me/.ssh/id\xe2\x80\x99 for reading: Operation "
		"not permitted\n",
		"PermissionError: [Errno 13] Permission denied: '/home/me/.ssh/id'\n",
		"Error: EACCES: permission denied, open '/home/me/.ssh/id'\n",
		"sh: 1: cannot open /home/me/.ssh/id: Permission denied\n",
		"x: open /home/me/.ssh/id: permission denied\n",
		"cat: /repo/link: Permission denied\n",
	};
	struct guessed g;

	REQUIRE(start(&g, NAMING_WRITES));
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		CHECK_STR(guess(&g, lines[i]), "read /home/me/.ssh/id");
	CHECK_STR(guess(&g, "cat: .env: Permission denied\n"), "read /repo/.env");
	CHECK_INT(g.denials.items.items[0].os_error, EACCES);
	CHECK_STR(g.denials.items.items[0].named.p, ".env");
	CHECK_STR(guess(&g, "one\ncat: .env: Permission denied\ntwo\nls: cannot open directory "
			    "'/home/me/.ssh': Permission denied\ncat: .env: Permission denied\n"),
		  "read /repo/.env, read /home/me/.ssh");
	stop(&g);
}

TEST(what_the_plan_allows_or_the_host_refuses_is_no_guess)
{
	static const char *const lines[] = {
		"",
		"Permission denied\n",
		"cat: /repo/readable: Permission denied\n",
		"cat: /nowhere: Permission denied\n",
		"cat: /home/me/.ssh/id: No such file or directory\n",
		"cat: /home/me/.ssh/id: Read-only file system\n",
		/* Writes are named, so this is not ours, or is there already. */
		"sh: cannot create /opt/app/conf: Read-only file system\n",
		"me@example: Permission denied (publickey).\n",
		": : : permission denied: : \n",
		"'''\"\"``: permission denied '\n",
		"cat: /home/me/.ssh/missing: Permission denied\n",
	};
	struct guessed g;

	REQUIRE(start(&g, NAMING_WRITES));
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		CHECK_STR(guess(&g, lines[i]), "");
	CHECK_STR(guess(&g, "cat: .env: Permission denied\n"), "read /repo/.env");
	g.in.naming = NAMING_ALL;
	CHECK_STR(guess(&g, "cat: .env: Permission denied\n"), "");
	stop(&g);
}

TEST(writes_are_guessed_where_they_are_not_named)
{
	struct guessed g;

	REQUIRE(start(&g, NAMING_OFF));
	CHECK_STR(guess(&g, "sh: 1: cannot create /opt/app/new: Read-only file system\n"),
		  "create /opt/app/new");
	CHECK_STR(g.denials.items.items[0].opens.p, "/opt/app");
	CHECK_STR(guess(&g, "touch: cannot touch '/opt/my conf': Read-only file system\n"),
		  "open-write /opt/my conf");
	CHECK_STR(guess(&g, "x: /opt/app/conf: Permission denied\n"), "");
	CHECK_STR(guess(&g, "x: /repo/new: Read-only file system\n"), "");
	CHECK_STR(guess(&g, "x: /opt/shut: Read-only file system\n"), "");
	/* A word is no file because it could be one. */
	g.in.directory = STR("/opt");
	CHECK_STR(guess(&g, "x: new: Read-only file system\n"), "");
	CHECK_STR(guess(&g, "x: ./new: Read-only file system\n"), "create /opt/new");
	g.in.has_mounts = false;
	CHECK_STR(guess(&g, "x: /opt/app/conf: Permission denied\n"), "open-write /opt/app/conf");
	CHECK_STR(guess(&g, "x: /opt/app/conf: Operation not permitted\n"),
		  "open-write /opt/app/conf");
	CHECK_STR(guess(&g, "x: /opt/app/conf: Read-only file system\n"), "");
	stop(&g);
}

TEST(what_was_seen_is_not_guessed_again)
{
	struct guessed g;

	REQUIRE(start(&g, NAMING_WRITES));
	denials_add(&g.denials,
		    &(struct denial){ .kind = DENIAL_PATH,
				      .operation = OPERATION_OPEN_WRITE,
				      .subject = STR("/repo/.env"),
				      .by = plan_resolve(g.w.plan, STR("/repo/.env")).rule });
	g.in.outputs[1] =
		STR("cat: .env: Permission denied\ncat: /home/me/.ssh/id: Permission denied\n");
	guess_denials(&g.in, &g.denials);
	CHECK_INT(g.denials.items.count, 2);
	CHECK(!g.denials.items.items[0].is_guess && g.denials.items.items[1].is_guess);
	CHECK_STR(g.denials.items.items[1].subject.p, "/home/me/.ssh/id");
	stop(&g);
}

TEST(a_flood_leads_to_a_bounded_number_of_guesses)
{
	scoped_buf text = BUF_INIT(8 << 20);
	struct guessed g;

	REQUIRE(start(&g, NAMING_OFF));
	for (int i = 0; i < 3000; i++)
		buf_printf(&text, "x: /opt/%d: Read-only file system\n", i);
	for (int i = 0; i < 30000; i++)
		buf_add_text(&text, "nothing is refused here\n");
	for (int i = 0; i < 3000; i++)
		buf_printf(&text, "x: /opt/%d: Read-only file system\n", i);
	buf_add_char(&text, '\0');
	REQUIRE(text.failed == ERR_OK);
	(void)guess(&g, text.p);
	CHECK_INT(g.denials.items.count, 20);
	stop(&g);
}
