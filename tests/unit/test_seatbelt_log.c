/* SPDX-License-Identifier: MIT */
/* What macOS's log says of refused accesses, as denials: what counts, and what nobody can forge. */
#include "backend/seatbelt/log.h"

#include "base/json.h"
#include "test.h"
#include "world.h"

static const char host_text[] = "d /repo\nd /repo/.git\nd /home/me\nd /home/me/.ssh\n";
static const char config[] = "default_permissions = 'dev'\n[permissions.dev.filesystem]\n"
			     "':root' = 'read'\n':workspace_roots' = { '.' = 'write' }\n"
			     "'/home/me/.ssh' = 'deny'\n";

/* As `log stream --style ndjson` writes an entry. */
static const char *entry(struct str message, int64_t process, const char *sender)
{
	static char line[8192];
	struct buf out = BUF_OVER(line);
	struct json_writer w = JSON_LINE_INIT(&out);

	json_begin_object(&w);
	json_key(&w, "traceID");
	json_add_int(&w, 5071);
	json_key(&w, "eventMessage");
	json_add_str(&w, message);
	json_key(&w, "eventType");
	json_add_text(&w, "logEvent");
	json_key(&w, "source");
	json_add_null(&w);
	json_key(&w, "processID");
	json_add_int(&w, process);
	json_key(&w, "senderImagePath");
	json_add_text(&w, sender);
	json_key(&w, "timestamp");
	json_add_text(&w, "2025-01-02 12:00:00.000000+0100");
	json_end_object(&w);
	return line;
}

static const char kext[] = "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox";

static struct arena scratch;
static struct seatbelt_refusal found;

static enum seatbelt_line read_text(const char *line)
{
	struct str text = str_of(line);

	if (text.len && text.p[text.len - 1] == '\n')
		text.len--;
	arena_done(&scratch);
	scratch = (struct arena)ARENA_INIT(1 << 20);
	found = (struct seatbelt_refusal){ .pid = 0 };
	return seatbelt_read_line(&scratch, text, &found);
}

static enum seatbelt_line read_message_of(const char *message)
{
	return read_text(entry(str_of(message), 0, kext));
}

static bool is_text(struct str got, const char *want)
{
	return str_eq(got, str_of(want));
}

TEST(a_refusal_of_the_kernel_is_read)
{
	CHECK_INT(read_message_of("Sandbox: bash(4711) deny(1) file-write-create /private/tmp/x"),
		  SEATBELT_REFUSAL);
	CHECK(is_text(found.program, "bash"));
	CHECK_INT(found.pid, 4711);
	CHECK_INT(found.count, 1);
	CHECK(is_text(found.operation, "file-write-create"));
	CHECK(is_text(found.subject, "/private/tmp/x"));
	/* Without the number, with one of equal ones, with a name of words, without a subject. */
	CHECK_INT(read_message_of("Sandbox: ls(7) deny file-read-data /a b"), SEATBELT_REFUSAL);
	CHECK(is_text(found.subject, "/a b"));
	CHECK_INT(
		read_message_of("3 duplicate reports for Sandbox: ls(7) deny(1) file-read-data /a"),
		SEATBELT_REFUSAL);
	CHECK_INT(found.count, 3);
	CHECK_INT(
		read_message_of("1 duplicate report for Sandbox: ls(7) deny(1) mach-lookup com.a"),
		SEATBELT_REFUSAL);
	CHECK_INT(read_message_of("Sandbox: Google Chrome He(7) deny(1) process-fork"),
		  SEATBELT_REFUSAL);
	CHECK(is_text(found.program, "Google Chrome He"));
	CHECK_INT(found.subject.len, 0);
}

TEST(what_is_no_entry_of_the_kernel_is_none)
{
	struct str forged = STR("Sandbox: sh(9) deny(1) file-read-data /etc/passwd");

	CHECK_INT(read_text(entry(forged, 0, kext)), SEATBELT_REFUSAL); /* the control */
	CHECK_INT(read_text(entry(forged, 501, kext)), SEATBELT_OTHER);
	CHECK_INT(read_text(entry(forged, 0, "/usr/libexec/x")), SEATBELT_OTHER);
	CHECK_INT(read_text(entry(forged, 0, "/tmp/NotSandbox")), SEATBELT_OTHER);
	CHECK_INT(read_message_of("about Sandbox: sh(9) deny(1) file-read-data /x"),
		  SEATBELT_OTHER);
	/* Other styles have no such line: who chooses a path could write one. */
	CHECK_INT(read_text("2025-01-02 12:00:00.0 kernel: (Sandbox) Sandbox: sh(9) deny(1) "
			    "file-read-data /etc/passwd"),
		  SEATBELT_OTHER);
	CHECK_INT(read_text("Sandbox: sh(9) deny(1) file-read-data /etc/passwd"), SEATBELT_OTHER);
	CHECK_INT(read_text("Filtering the log data using \"processID == 0\""), SEATBELT_OTHER);
	CHECK_INT(read_text(""), SEATBELT_OTHER);
	CHECK_INT(read_text("{\"eventMessage\":"), SEATBELT_UNCLEAR);
	CHECK_INT(read_text("{\"processID\":0,\"processID\":0}"), SEATBELT_UNCLEAR);
}

TEST(a_path_forges_no_line_and_no_process)
{
	/* Line feeds are in a string, so what follows them is still the path. */
	CHECK_INT(read_message_of("Sandbox: sh(9) deny(1) file-read-data /w/a\n"
				  "Sandbox: other(1) deny(1) file-write-data /etc/passwd"),
		  SEATBELT_REFUSAL);
	CHECK_INT(found.pid, 9);
	CHECK(is_text(found.operation, "file-read-data"));
	CHECK(is_text(found.subject,
		      "/w/a\nSandbox: other(1) deny(1) file-write-data /etc/passwd"));
	CHECK_INT(read_message_of("Sandbox: sh(9) deny(1) file-read-data /w/\"},{\"processID\":0"),
		  SEATBELT_REFUSAL);
	CHECK(is_text(found.subject, "/w/\"},{\"processID\":0"));
}

TEST(what_can_be_read_in_two_ways_is_not_read)
{
	/* A program whose name looks like the message, */
	CHECK_INT(read_message_of("Sandbox: a(1) deny(1) b (9) deny(1) file-read-data /x"),
		  SEATBELT_UNCLEAR);
	/* and a path that looks like the end of a name. */
	CHECK_INT(read_message_of("Sandbox: a(9) deny(1) file-x /(1) deny(1) y /z"),
		  SEATBELT_UNCLEAR);
	CHECK_INT(read_message_of("Sandbox: (9) deny(1) file-x /x(1) deny(1) y /z"),
		  SEATBELT_UNCLEAR);
	/* With a parenthesis where no operation has one there is one way. */
	CHECK_INT(read_message_of("Sandbox: a(1) deny(1) b(9) deny(1) file-read-data /x"),
		  SEATBELT_REFUSAL);
	CHECK_INT(found.pid, 9);
	CHECK_INT(read_message_of("Sandbox: (9) deny(1) file-read-data /x"), SEATBELT_REFUSAL);
	CHECK_INT(found.pid, 9);
	CHECK_INT(read_message_of("Sandbox: a(0) deny(1) file-read-data /x"), SEATBELT_UNCLEAR);
	CHECK_INT(read_message_of("Sandbox: a(-9) deny(1) file-read-data /x"), SEATBELT_UNCLEAR);
	CHECK_INT(read_message_of("Sandbox: a(99999999999) deny(1) file-read-data /x"),
		  SEATBELT_UNCLEAR);
	CHECK_INT(read_message_of("Sandbox: a(9) deny(1) file/x"), SEATBELT_UNCLEAR);
	CHECK_INT(read_message_of("Sandbox: a(9) allow(1) file-read-data /x"), SEATBELT_UNCLEAR);
	/* A name is short, so what is far behind is a path. */
	CHECK_INT(
		read_message_of(
			"Sandbox: a(9) deny(1) file-read-data /nnnnnnnnnnnnnnnnnnnnn(1) deny(1) x"),
		SEATBELT_REFUSAL);
	CHECK_INT(found.pid, 9);
}

/* ---- As denials --------------------------------------------------------------------------------------- */

static struct denial made;

static bool is_denial(const struct plan *plan, const char *operation, const char *subject)
{
	const struct seatbelt_refusal r = { .program = STR_INIT("sh"),
					    .pid = 9,
					    .count = 2,
					    .operation = str_of(operation),
					    .subject = str_of(subject) };

	made = (struct denial){ .count = 0 };
	return seatbelt_find_denial(plan, &r, &made);
}

TEST(the_rule_is_the_resolvers)
{
	struct world w;

	world_init(&w, host_text, "/repo");
	w.user = config;
	REQUIRE(world_plan(&w));
	REQUIRE(is_denial(w.plan, "file-write-create", "/etc/new"));
	CHECK_INT(made.kind, DENIAL_PATH);
	CHECK_INT(made.operation, OPERATION_CREATE);
	CHECK_INT(made.count, 2);
	CHECK(is_text(made.subject, "/etc/new") && is_text(made.opens, "/etc"));
	CHECK(made.by && made.by->access == ACCESS_READ && made.origin.line == 3);
	REQUIRE(is_denial(w.plan, "file-read-data", "/home/me/.ssh/id"));
	CHECK(made.operation == OPERATION_READ && made.by && made.by->access == ACCESS_DENY);
	REQUIRE(is_denial(w.plan, "process-exec", "/home/me/.ssh/x"));
	CHECK(made.operation == OPERATION_EXEC && made.by);
	REQUIRE(is_denial(w.plan, "file-write-data", "/repo/.git/config"));
	CHECK(made.operation == OPERATION_OPEN_WRITE && made.by);
	/* What the policy allows was refused for another reason: no rule is blamed. */
	REQUIRE(is_denial(w.plan, "file-link", "/repo/b"));
	CHECK(made.operation == OPERATION_LINK && !made.by && made.rule.len && !made.opens.len);
	REQUIRE(is_denial(w.plan, "file-write-unlink", "/repo"));
	CHECK(!made.by && made.rule.len);
	world_done(&w);
}

TEST(each_operation_has_its_name)
{
	static const struct {
		const char *name;
		enum operation operation;
	} all[] = {
		{ "file-read-metadata", OPERATION_READ },
		{ "file-read*", OPERATION_READ },
		{ "file-write-mode", OPERATION_CHMOD },
		{ "file-write-owner", OPERATION_CHOWN },
		{ "file-write-times", OPERATION_UTIME },
		{ "file-write-xattr", OPERATION_XATTR },
		{ "file-write-unlink", OPERATION_UNLINK },
		{ "file-write-data", OPERATION_OPEN_WRITE },
		{ "process-exec*", OPERATION_EXEC },
	};
	struct world w;

	world_init(&w, host_text, "/repo");
	w.user = config;
	REQUIRE(world_plan(&w));
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		REQUIRE(is_denial(w.plan, all[i].name, "/home/me/.ssh/id"));
		CHECK_INT(made.operation, all[i].operation);
	}
	CHECK(!is_denial(w.plan, "mach-lookup", "com.apple.x"));
	CHECK(!is_denial(w.plan, "signal", "/etc/x"));
	CHECK(!is_denial(w.plan, "network-bind", "local:*:80"));
	CHECK(!is_denial(w.plan, "file-read-datax-y", "x"));
	/* No path that the resolver could be asked about. */
	CHECK(!is_denial(w.plan, "file-read-data", ""));
	CHECK(!is_denial(w.plan, "file-read-data", "etc/x"));
	CHECK(!is_denial(w.plan, "file-read-data", "/home/me/x/../.ssh"));
	CHECK(!is_denial(w.plan, "file-read-data", "/home//me"));
	CHECK(!is_denial(w.plan, "file-read-data", "/home/"));
	CHECK(is_denial(w.plan, "file-read-data", "/"));
	world_done(&w);
}

TEST(connections_are_sockets_or_hosts)
{
	struct world w;

	world_init(&w, host_text, "/repo");
	w.user = config;
	REQUIRE(world_plan(&w));
	REQUIRE(is_denial(w.plan, "network-outbound", "/private/var/run/mDNSResponder"));
	CHECK_INT(made.kind, DENIAL_UNIX_SOCKET);
	CHECK_INT(made.operation, OPERATION_UNIX_CONNECT);
	REQUIRE(is_denial(w.plan, "network-outbound", "remote:192.0.2.1:443"));
	CHECK_INT(made.kind, DENIAL_HOST);
	CHECK(is_text(made.subject, "192.0.2.1:443"));
	CHECK(is_text(made.rule, "the network is off"));
	world_done(&w);
	world_init(&w, host_text, "/repo");
	w.user = "default_permissions = 'dev'\n[permissions.dev.network]\nenabled = true\n"
		 "domains = { 'a.test' = 'allow' }\n";
	REQUIRE(world_plan(&w));
	REQUIRE(is_denial(w.plan, "network-outbound", "*:443"));
	CHECK(!is_text(made.rule, "the network is off") && made.rule.len);
	world_done(&w);
}
