/* SPDX-License-Identifier: MIT */
/* Tests of audit/: lines, rotation, several writers, and reading it all back. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "scratch.h"
#include "test.h"

static struct proxy_record record(void)
{
	struct proxy_record r = {
		.started_ms = 1767323045678, /* 2026-01-02T03:04:05.678Z */
		.duration_ms = 12,
		.count = 1,
		.bytes_up = 100,
		.bytes_down = 5000,
		.protocol = PROXY_BY_CONNECT,
		.reason = PROXY_DENIED_RULE,
		.has_address = true,
		.port = 443,
		.pid = 7,
		.rule_line = 5,
		.program = "curl",
		.host = "example.com",
		.method = "GET",
		.rule = "*.com",
		.rule_file = "/c.toml",
	};

	(void)ip_parse(STR("192.0.2.1"), &r.address);
	return r;
}

static char line_text[AUDIT_LINE_BYTES];

static struct str print(const struct proxy_record *r)
{
	struct buf b = BUF_OVER(line_text);

	audit_print(&b, STR("run-1"), r);
	CHECK_INT(b.failed, ERR_OK);
	return buf_str(&b);
}

TEST(a_line_has_every_field)
{
	struct proxy_record r = record(), nothing = { .started_ms = 0, .reason = PROXY_ALLOWED };

	(void)print(&r);
	CHECK_STR(line_text,
		  "{\"time\":\"2026-01-02T03:04:05.678Z\",\"run\":\"run-1\",\"pid\":7,"
		  "\"program\":\"curl\",\"protocol\":\"connect\",\"host\":\"example.com\","
		  "\"port\":443,\"address\":\"192.0.2.1\",\"method\":\"GET\","
		  "\"decision\":\"deny\",\"reason\":\"denied\",\"code\":\"blocked-by-denylist\","
		  "\"rule\":\"*.com\",\"file\":\"/c.toml\",\"line\":5,\"bytes_up\":100,"
		  "\"bytes_down\":5000,\"duration_ms\":12,\"count\":1,\"connection\":null,"
		  "\"open\":false}\n");
	(void)print(&nothing);
	CHECK_STR(line_text,
		  "{\"time\":\"1970-01-01T00:00:00.000Z\",\"run\":\"run-1\",\"pid\":null,"
		  "\"program\":null,\"protocol\":\"http\",\"host\":null,\"port\":null,"
		  "\"address\":null,\"method\":null,\"decision\":\"allow\",\"reason\":\"allowed\","
		  "\"code\":null,\"rule\":null,\"file\":null,\"line\":null,\"bytes_up\":0,"
		  "\"bytes_down\":0,\"duration_ms\":0,\"count\":1,\"connection\":null,"
		  "\"open\":false}\n");
}

TEST(what_is_open_counts_nothing)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct proxy_record r = record();
	struct audit_entry x;
	struct err e = ERR_INIT;

	r.count = r.bytes_up = r.bytes_down = 0;
	r.connection = 3;
	r.is_open = true;
	REQUIRE(audit_parse(&a, print(&r), &x, &e) == 0);
	CHECK(x.is_open);
	CHECK_INT(x.connection, 3);
	CHECK_INT(x.count, 0);
	r.is_open = false;
	REQUIRE(audit_parse(&a, print(&r), &x, &e) == 0);
	CHECK(!x.is_open);
	CHECK_INT(x.connection, 3);
	CHECK_INT(x.count, 1);
}

/* Fields without an end, full of what would end a line or speak to a terminal. */
TEST(nothing_can_be_forged)
{
	static const char *const fills[] = { "\n{}",	     "\x1b[2J", "\"},{",
					     "\\",	     "\x7f",	"\xc2\x9b",
					     "\xe2\x80\xae", "\xff",	"\xe2\x80\xa8" };
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	for (size_t f = 0; f < COUNT_OF(fills); f++) {
		struct proxy_record r = record();
		struct audit_entry entry;
		struct str line;
		char *const fields[] = { r.program, r.host, r.method, r.rule, r.rule_file };
		const size_t sizes[] = { sizeof(r.program), sizeof(r.host), sizeof(r.method),
					 sizeof(r.rule), sizeof(r.rule_file) };

		for (size_t i = 0; i < COUNT_OF(fields); i++)
			for (size_t j = 0; j < sizes[i]; j++)
				fields[i][j] = fills[f][j % strlen(fills[f])];
		r.protocol = r.reason = 255;
		line = print(&r);
		CHECK_INT(str_find(line, '\n'), line.len - 1);
		for (size_t i = 0; i + 1 < line.len; i++)
			REQUIRE((unsigned char)line.p[i] >= 0x20 && line.p[i] != 0x7f);
		/* C1, and the controls of writing direction and lines. */
		CHECK(!strstr(line_text, "\xc2\x9b") && !strstr(line_text, "\xe2\x80"));
		REQUIRE(audit_parse(&a, str_first(line, line.len - 1), &entry, &e) == 0);
		CHECK(str_is(entry.run, "run-1"));
		CHECK(str_is(entry.reason, "?"));
	}
}

TEST(what_is_written_is_read_back)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct proxy_record r = record();
	struct audit_entry x;
	struct err e = ERR_INIT;

	REQUIRE(audit_parse(&a, print(&r), &x, &e) == 0);
	CHECK_INT(x.time_ms, r.started_ms);
	CHECK(str_is(x.run, "run-1") && str_is(x.program, "curl") && str_is(x.host, "example.com"));
	CHECK(str_is(x.protocol, "connect") && str_is(x.address, "192.0.2.1"));
	CHECK(str_is(x.method, "GET") && str_is(x.rule, "*.com") && str_is(x.file, "/c.toml"));
	CHECK(str_is(x.reason, "denied") && str_is(x.code, "blocked-by-denylist"));
	CHECK_INT(x.decision, AUDIT_DENY);
	CHECK_INT(x.pid, 7);
	CHECK_INT(x.port, 443);
	CHECK_INT(x.line, 5);
	CHECK_INT(x.bytes_up, 100);
	CHECK_INT(x.bytes_down, 5000);
	CHECK_INT(x.duration_ms, 12);
	CHECK_INT(x.count, 1);
	CHECK(x.connection == 0 && !x.is_open);
}

/* Those that were written before anything had two lines. */
TEST(lines_without_a_connection_are_read)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct proxy_record r = record();
	struct str line = print(&r);
	char *end = strstr(line_text, ",\"connection\"");
	struct audit_entry x;
	struct err e = ERR_INIT;

	REQUIRE(end);
	memcpy(end, "}", sizeof("}"));
	REQUIRE(audit_parse(&a, str_of(line_text), &x, &e) == 0);
	CHECK(x.connection == 0 && !x.is_open);
	CHECK_INT(x.count, 1);
	memcpy(end, ",\"open\":1}", sizeof(",\"open\":1}"));
	CHECK_INT(audit_parse(&a, str_of(line_text), &x, &e), -ERR_SYNTAX);
	(void)line;
}

TEST(broken_lines_are_refused)
{
	static const char *const bad[] = {
		"",
		"x",
		"{}",
		"[]",
		"null",
		"{\"time\":1}",
		"{\"time\":\"2026-01-02T03:04:05.678Z\"}",
	};
	scoped_arena a = ARENA_INIT(1 << 16);
	struct proxy_record r = record();
	struct str line = print(&r);
	struct audit_entry x;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		CHECK_INT(audit_parse(&a, str_of(bad[i]), &x, &e), -ERR_SYNTAX);
	}
	for (size_t i = 0; i + 2 < line.len; i += 7) {
		scoped_arena part = ARENA_INIT(1 << 16);
		struct err e = ERR_INIT;

		CHECK_INT(audit_parse(&part, str_first(line, i), &x, &e), -ERR_SYNTAX);
	}
}

TEST(times_are_read)
{
	uint64_t ms;

	CHECK(audit_parse_time(STR("1970-01-01"), &ms) && ms == 0);
	CHECK(audit_parse_time(STR("2026-01-02T03:04:05Z"), &ms) && ms == 1767323045000);
	CHECK(audit_parse_time(STR("2026-01-02T03:04:05.678Z"), &ms) && ms == 1767323045678);
	CHECK(audit_parse_time(STR("2024-02-29"), &ms) && ms == 1709164800000);
	CHECK(audit_parse_time(STR("2024-03-01"), &ms) && ms == 1709251200000);
	CHECK(audit_parse_time(STR("2000-12-31T23:59:59Z"), &ms) && ms == 978307199000);
	CHECK(!audit_parse_time(STR("2026-1-2"), &ms));
	CHECK(!audit_parse_time(STR("2026-01-02T03:04"), &ms));
	CHECK(!audit_parse_time(STR("2026-01-02T03:04:05"), &ms));
	CHECK(!audit_parse_time(STR("2026-13-02"), &ms));
	CHECK(!audit_parse_time(STR("2026-01-02Z"), &ms));
	CHECK(!audit_parse_time(STR("1969-12-31"), &ms));
	CHECK(!audit_parse_time(STR(""), &ms));
}

/* ---- Files ---------------------------------------------------------------------------- */

static unsigned mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? (unsigned)(st.st_mode & 07777) : 0;
}

TEST(it_is_made_for_its_owner_alone)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct proxy_record r = record();
	struct err e = ERR_INIT;
	struct audit *audit;
	mode_t before = umask(0);
	char state[256];

	(void)snprintf(state, sizeof(state), "%s/state/cordon", scratch_top);
	REQUIRE(audit_open(&a, STR(""), str_of(state), STR(""), &audit, &e) == 0);
	(void)umask(before);
	CHECK(audit_run(audit).len == 16);
	CHECK_INT(audit_add(audit, &r, &e), 0);
	CHECK_INT(mode_of("state"), 0700);
	CHECK_INT(mode_of("state/cordon/audit"), 0700);
	CHECK_INT(mode_of("state/cordon/audit/network.jsonl"), 0600);
	CHECK_INT(mode_of("state/cordon/audit/network.jsonl.lock"), 0200);
	audit_close(audit);
	CHECK_INT(audit_open(&a, STR(""), STR(""), STR(""), &audit, &e), -ERR_ARGUMENT);
}

TEST(what_is_no_file_of_ours_is_refused)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	static const struct str paths[] = { STR_INIT("link"), STR_INIT("open"), STR_INIT("two"),
					    STR_INIT("dangling") };
	struct audit *audit;

	scratch_put("target", "");
	CHECK_INT(symlink("target", "link"), 0);
	CHECK_INT(symlink("nowhere", "dangling"), 0);
	scratch_put("open", "");
	CHECK_INT(chmod("open", 0666), 0);
	scratch_put("two", "");
	CHECK_INT(link("two", "other_name"), 0);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct err e = ERR_INIT;

		CHECK_INT(audit_open(&a, paths[i], STR(""), STR(""), &audit, &e), -ERR_POLICY);
		CHECK_INT(e.cause, CAUSE_FILE_UNTRUSTED);
	}
	struct err e = ERR_INIT;
	CHECK(access("nowhere", F_OK) < 0);
	CHECK(access("link.lock", F_OK) < 0 && access("open.lock", F_OK) < 0);
	CHECK_INT(mkdir("directory", 0700), 0);
	CHECK(audit_open(&a, STR("directory"), STR(""), STR(""), &audit, &e) < 0);
	err_clear(&e);
	CHECK(audit_open(&a, STR("target/below"), STR(""), STR(""), &audit, &e) < 0);
	err_clear(&e);
	CHECK_INT(audit_open(&a, STR("directory/"), STR(""), STR(""), &audit, &e), -ERR_SYNTAX);
	/* The control: the same without any of that. */
	err_clear(&e);
	REQUIRE(audit_open(&a, STR("plain"), STR(""), STR(""), &audit, &e) == 0);
	audit_close(audit);
}

TEST(half_a_line_does_not_take_the_next_with_it)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct proxy_record r = record();
	struct err e = ERR_INIT;
	struct audit_reader *reader;
	struct audit_entry x;
	struct audit *audit;
	struct str line;
	FILE *f;

	REQUIRE(audit_open(&a, STR("half"), STR(""), STR("r"), &audit, &e) == 0);
	CHECK_INT(audit_add(audit, &r, &e), 0);
	f = fopen("half", "a");
	REQUIRE(f);
	(void)fputs("{\"time\":\"20", f);
	(void)fclose(f);
	CHECK_INT(audit_add(audit, &r, &e), 0);
	audit_close(audit);
	REQUIRE(audit_reader_open(&a, STR("half"), &reader, &e) == 0);
	REQUIRE(audit_reader_next(reader, &line, &e) == 1);
	CHECK_INT(audit_parse(&a, line, &x, &e), 0);
	REQUIRE(audit_reader_next(reader, &line, &e) == 1);
	CHECK(str_is(line, "{\"time\":\"20"));
	CHECK_INT(audit_reader_line(reader), 2);
	REQUIRE(audit_reader_next(reader, &line, &e) == 1);
	CHECK_INT(audit_parse(&a, line, &x, &e), 0);
	CHECK_INT(audit_reader_next(reader, &line, &e), 0);
	audit_reader_close(reader);
}

TEST(a_lock_that_stays_is_a_failure)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct proxy_record r = record();
	struct err e = ERR_INIT;
	struct audit *audit;
	int lock;

	REQUIRE(audit_open(&a, STR("locked"), STR(""), STR("r"), &audit, &e) == 0);
	lock = open("locked.lock", O_WRONLY);
	REQUIRE(lock >= 0 && flock(lock, LOCK_EX) == 0);
	CHECK_INT(audit_add(audit, &r, &e), -ERR_SYS);
	CHECK_INT(e.os_error, ETIMEDOUT);
	close(lock);
	err_clear(&e);
	CHECK_INT(audit_add(audit, &r, &e), 0);
	audit_close(audit);
}

/* ---- Several at once -------------------------------------------------------------------- */

enum { WRITERS = 4, LINES = 6000 };

static int write_lines(unsigned writer)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct proxy_record r = record();
	struct err e = ERR_INIT;
	struct audit *audit;
	char run[16];

	(void)snprintf(run, sizeof(run), "%u", writer);
	if (audit_open(&a, STR("many/log"), STR(""), str_of(run), &audit, &e) < 0)
		return 1;
	memset(r.rule_file, 'x', sizeof(r.rule_file) - 1);
	memset(r.rule, 'y', sizeof(r.rule) - 1);
	for (int i = 0; i < LINES; i++) {
		r.pid = i + 1;
		if (audit_add(audit, &r, &e) < 0)
			return 1;
	}
	audit_close(audit);
	return 0;
}

struct seen {
	bool lines[WRITERS][LINES + 1];
	size_t count, twice, broken, out_of_order;
	int64_t last[WRITERS];
};

static void see(struct seen *s, struct str line)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct err e = ERR_INIT;
	struct audit_entry x;

	if (audit_parse(&a, line, &x, &e) < 0 || x.run.len != 1 || x.pid > LINES) {
		s->broken++;
		return;
	}
	unsigned writer = (unsigned)(x.run.p[0] - '0') % WRITERS;
	s->twice += s->lines[writer][x.pid];
	s->lines[writer][x.pid] = true;
	s->out_of_order += x.pid != s->last[writer] + 1;
	s->last[writer] = x.pid;
	s->count++;
}

static void read_all(struct audit_reader *reader, struct seen *s)
{
	struct err e = ERR_INIT;
	struct str line;
	int r;

	while ((r = audit_reader_next(reader, &line, &e)) == 1)
		see(s, line);
	CHECK_INT(r, 0);
}

/* One reads along while they write and rotate; another one comes afterwards. */
TEST(many_writers_lose_and_mix_no_line)
{
	static struct seen along, after;
	scoped_arena a = ARENA_INIT(1 << 20);
	struct audit_reader *reader;
	struct err e = ERR_INIT;
	pid_t writers[WRITERS];
	struct audit *audit;
	struct stat st;
	int running = WRITERS, status;

	REQUIRE(audit_open(&a, STR("many/log"), STR(""), STR("r"), &audit, &e) == 0);
	audit_close(audit);
	REQUIRE(audit_reader_open(&a, STR("many/log"), &reader, &e) == 0);
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = fork();
		REQUIRE(writers[i] >= 0);
		if (writers[i] == 0)
			_exit(write_lines(i));
	}
	while (running > 0) {
		read_all(reader, &along);
		while (running > 0 && waitpid(-1, &status, WNOHANG) > 0) {
			CHECK_INT(status, 0);
			running--;
		}
	}
	read_all(reader, &along);
	audit_reader_close(reader);
	CHECK_INT(along.count, WRITERS * LINES);
	CHECK_INT(along.broken + along.twice + along.out_of_order, 0);

	REQUIRE(audit_reader_open(&a, STR("many/log"), &reader, &e) == 0);
	read_all(reader, &after);
	audit_reader_close(reader);
	CHECK_INT(after.count, WRITERS * LINES);
	CHECK_INT(after.broken + after.twice + after.out_of_order, 0);
	/* It was rotated, and none is larger than it may be. */
	CHECK(stat("many/log.3", &st) == 0 && st.st_size <= AUDIT_FILE_BYTES);
	CHECK(stat("many/log", &st) == 0 && st.st_size <= AUDIT_FILE_BYTES);
}

static size_t count_files(void)
{
	char name[64];
	size_t count = access("kept", F_OK) == 0;

	for (int i = 1; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "kept.%d", i);
		count += access(name, F_OK) == 0;
	}
	return count;
}

TEST(only_so_many_files_are_kept)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct proxy_record r = record();
	struct err e = ERR_INIT;
	struct audit *audit;

	REQUIRE(audit_open(&a, STR("kept"), STR(""), STR("r"), &audit, &e) == 0);
	for (int i = 0; i < AUDIT_FILES_KEPT + 4; i++) {
		CHECK_INT(audit_add(audit, &r, &e), 0);
		CHECK_INT(truncate("kept", AUDIT_FILE_BYTES - 10), 0);
	}
	CHECK_INT(count_files(), AUDIT_FILES_KEPT + 1);
	audit_close(audit);
}

TEST(lines_of_any_length_are_passed_over)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct audit_reader *reader;
	struct err e = ERR_INIT;
	struct str line;
	FILE *f = fopen("long", "w");

	REQUIRE(f);
	for (int i = 0; i < 100000; i++)
		(void)fputc('x', f);
	(void)fputs("\nshort\n", f);
	for (int i = 0; i < 4 * AUDIT_LINE_BYTES - 7; i++)
		(void)fputc('y', f);
	(void)fputs("\nlast", f);
	(void)fclose(f);
	REQUIRE(audit_reader_open(&a, STR("long"), &reader, &e) == 0);
	CHECK_INT(audit_reader_next(reader, &line, &e), 1);
	CHECK_INT(line.len, AUDIT_LINE_BYTES);
	CHECK_INT(audit_reader_next(reader, &line, &e), 1);
	CHECK(str_is(line, "short"));
	CHECK_INT(audit_reader_line(reader), 2);
	CHECK_INT(audit_reader_next(reader, &line, &e), 1);
	CHECK_INT(line.len, AUDIT_LINE_BYTES);
	/* Not whole yet. */
	CHECK_INT(audit_reader_next(reader, &line, &e), 0);
	f = fopen("long", "a");
	REQUIRE(f);
	(void)fputs(" one\n", f);
	(void)fclose(f);
	CHECK_INT(audit_reader_next(reader, &line, &e), 1);
	CHECK(str_is(line, "last one"));
	/* Emptied by hand: read from its start. */
	scratch_put("long", "new\n");
	CHECK_INT(audit_reader_next(reader, &line, &e), 1);
	CHECK(str_is(line, "new"));
	CHECK_INT(audit_reader_line(reader), 1);
	audit_reader_close(reader);
	CHECK_INT(audit_reader_open(&a, STR("absent"), &reader, &e), -ERR_NOTFOUND);
	CHECK_INT(e.cause, CAUSE_LOG_NOT_FOUND);
}
