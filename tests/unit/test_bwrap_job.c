/* SPDX-License-Identifier: MIT */
/* The job of the inner stage as bytes (backend/bwrap/job.c). */
#include "test.h"

#include "backend/bwrap/bwrap.h"

static struct bwrap_job example(struct bpf_insn *insns, struct landlock_rule *rule,
				struct bwrap_place *place)
{
	static char echo[] = "echo", empty[] = "", program[] = "/bin/echo", variable[] = "A=b\nc";
	static char *argv[] = { echo, empty, NULL }, *programs[] = { program, NULL };
	static char *environment[] = { variable, NULL };
	struct bwrap_job job = { .ignores_children = true, .has_own_proc = true };
	struct inner_job *inner = &job.inner;

	inner->words = (struct command_words){ .argv = argv,
					       .programs = programs,
					       .environment = environment };
	inner->directory = "/work";
	inner->reopened[1] = "/ws/in";
	insns[0] = (struct bpf_insn){ .code = 6, .k = 0x7fff0000 };
	inner->filter = (struct filter){ .insns = insns, .count = 1 };
	inner->asks_connect = inner->has_listener = inner->needs_listener = true;
	inner->streams.items[2].kind = STREAM_APPENDED;
	inner->network = (struct inner_network){ .is_managed = true,
						 .host_ports = { 5432, 65535 },
						 .host_port_count = 2,
						 .name_servers = { 7, UINT32_MAX },
						 .name_server_count = 2 };
	inner->landlock.abi = 7;
	*rule = (struct landlock_rule){ .path = "/work", .kind = LANDLOCK_MAY_WRITE, .inode = 9 };
	inner->landlock.rules.items = rule;
	inner->landlock.rules.count = 1;
	inner->limits.count = 1;
	inner->limits.items[0].resource = RLIMIT_CPU;
	inner->limits.items[0].limit = (struct rlimit){ 10, 11 };
	inner->open_files = (struct rlimit){ 1024, 4096 };
	*place = (struct bwrap_place){
		.path = "/work", .kind = PLACE_SELF, .is_checked = true, .device = 3, .inode = 4
	};
	job.places.items = place;
	job.places.count = 1;
	for (size_t i = 0; i < BWRAP_NAMESPACE_COUNT; i++)
		job.namespaces[i] = 100 + i;
	return job;
}

static bool pack(struct buf *out)
{
	struct bpf_insn insns[1];
	struct landlock_rule rule;
	struct bwrap_place place;
	struct bwrap_job job = example(insns, &rule, &place);
	struct err e = ERR_INIT;

	return bwrap_job_pack(&job, out, &e) == 0;
}

static int unpack(struct arena *a, struct str bytes, struct bwrap_job *job)
{
	struct err e = ERR_INIT;
	char *copy = arena_alloc(a, bytes.len + 1, &e);

	if (!copy)
		return -ERR_NOMEM;
	memcpy(copy, bytes.p, bytes.len);
	return bwrap_job_unpack(a, copy, bytes.len, job, &e);
}

TEST(a_job_comes_back_as_it_went)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf bytes = BUF_INIT(1 << 16);
	struct bwrap_job job;

	REQUIRE(pack(&bytes));
	REQUIRE(unpack(&a, buf_str(&bytes), &job) == 0);
	CHECK_STR(job.inner.words.argv[0], "echo");
	CHECK_STR(job.inner.words.argv[1], "");
	CHECK(!job.inner.words.argv[2]);
	CHECK_STR(job.inner.words.shell_argv[0], "sh");
	CHECK_STR(job.inner.words.shell_argv[1], "echo");
	CHECK_STR(job.inner.words.programs[0], "/bin/echo");
	CHECK_STR(job.inner.words.environment[0], "A=b\nc");
	CHECK_STR(job.inner.directory, "/work");
	CHECK(!job.inner.reopened[0] && !job.inner.reopened[2]);
	CHECK_STR(job.inner.reopened[1], "/ws/in");
	CHECK_INT(job.inner.filter.insns[0].k, 0x7fff0000);
	CHECK(job.inner.asks_connect && job.inner.has_listener && !job.inner.waits);
	CHECK(job.inner.needs_listener);
	CHECK_INT(job.inner.streams.items[1].kind, STREAM_FREE);
	CHECK_INT(job.inner.streams.items[2].kind, STREAM_APPENDED);
	CHECK(job.inner.network.is_managed && job.inner.network.host_port_count == 2);
	CHECK_INT(job.inner.network.host_ports[1], 65535);
	CHECK_INT(job.inner.network.name_server_count, 2);
	CHECK_INT(job.inner.network.name_servers[1], UINT32_MAX);
	CHECK_INT(job.inner.landlock.abi, 7);
	CHECK_INT(job.inner.landlock.rules.items[0].kind, LANDLOCK_MAY_WRITE);
	CHECK_INT(job.inner.landlock.rules.items[0].inode, 9);
	CHECK_INT(job.inner.limits.items[0].limit.rlim_max, 11);
	CHECK_INT(job.inner.open_files.rlim_cur, 1024);
	CHECK_STR(job.places.items[0].path, "/work");
	CHECK_INT(job.places.items[0].inode, 4);
	CHECK_INT(job.namespaces[6], 106);
	CHECK(job.ignores_children && job.has_own_proc && !job.is_masked_later);
}

TEST(less_or_more_is_refused)
{
	scoped_buf bytes = BUF_INIT(1 << 16);
	struct bwrap_job job;

	REQUIRE(pack(&bytes));
	for (size_t n = 0; n < bytes.len; n++) {
		scoped_arena a = ARENA_INIT(64 << 20);

		CHECK(unpack(&a, str_first(buf_str(&bytes), n), &job) < 0);
	}
	buf_add_char(&bytes, '\0');
	{
		scoped_arena a = ARENA_INIT(1 << 20);

		CHECK(unpack(&a, buf_str(&bytes), &job) < 0);
	}
}

/* Whatever it is taken for, nothing outside of it is read: the sanitizers watch. */
TEST(changed_bytes_are_refused_or_harmless)
{
	scoped_buf bytes = BUF_INIT(1 << 16);
	struct bwrap_job job;
	size_t refused = 0;

	REQUIRE(pack(&bytes));
	for (size_t i = 0; i < bytes.len; i++) {
		scoped_arena a = ARENA_INIT(64 << 20);
		char before = bytes.p[i];

		bytes.p[i] = (char)0xff;
		refused += unpack(&a, buf_str(&bytes), &job) < 0;
		bytes.p[i] = before;
	}
	CHECK(refused > bytes.len / 2);
}
