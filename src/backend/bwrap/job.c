/* SPDX-License-Identifier: MIT */
/*
 * Packs the job of the inner stage: numbers as eight bytes in this machine's byte order, texts as
 * length, bytes and NUL. The program sends it to another process of itself through a sealed memfd.
 * The reader refuses another version, and anything that it does not understand to the last byte.
 */
#include "backend/bwrap/bwrap.h"

#include "base/path.h"

/* "cordon" and the version. Raise it if this format, or the messages of the channel, change. */
#define JOB_MAGIC 0x636f72646f6e0004ULL

enum { JOB_MAX_ITEMS = 1 << 20 };

const char *const bwrap_namespaces[BWRAP_NAMESPACE_COUNT] = { "user",	"mnt", "pid", "uts",
							      "cgroup", "net", "ipc" };

/* ---- Packing ----------------------------------------------------------------------- */

static void put(struct buf *out, uint64_t value)
{
	buf_add(out, (struct str){ (const char *)&value, sizeof(value) });
}

/* NULL and "" are told apart by the length. */
static void put_text(struct buf *out, const char *text)
{
	if (!text) {
		put(out, 0);
		return;
	}
	put(out, strlen(text) + 1);
	buf_add(out, (struct str){ text, strlen(text) + 1 });
}

static void put_list(struct buf *out, char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	put(out, count);
	for (size_t i = 0; i < count; i++)
		put_text(out, list[i]);
}

static void put_landlock(struct buf *out, const struct landlock_rules *landlock)
{
	put(out, landlock->abi);
	put(out, landlock->scopes_only);
	put(out, landlock->shows_root);
	put(out, landlock->refuses_network);
	put(out, landlock->rules.count);
	for (size_t i = 0; i < landlock->rules.count; i++) {
		put_text(out, landlock->rules.items[i].path);
		put(out, landlock->rules.items[i].kind);
		put(out, landlock->rules.items[i].is_made);
		put(out, landlock->rules.items[i].is_checked);
		put(out, landlock->rules.items[i].device);
		put(out, landlock->rules.items[i].inode);
	}
}

static void put_limits(struct buf *out, const struct command_limits *limits)
{
	put(out, limits->count);
	for (size_t i = 0; i < limits->count; i++) {
		put(out, (uint64_t)limits->items[i].resource);
		put(out, limits->items[i].limit.rlim_cur);
		put(out, limits->items[i].limit.rlim_max);
	}
}

static void put_network(struct buf *out, const struct inner_network *network)
{
	put(out, network->is_managed);
	put(out, network->host_port_count);
	for (size_t i = 0; i < network->host_port_count; i++)
		put(out, network->host_ports[i]);
	put(out, network->name_server_count);
	for (size_t i = 0; i < network->name_server_count; i++)
		put(out, network->name_servers[i]);
}

static void put_inner(struct buf *out, const struct inner_job *inner)
{
	put_list(out, inner->words.argv);
	put_list(out, inner->words.programs);
	put_list(out, inner->words.environment);
	put_text(out, inner->directory);
	for (size_t i = 0; i < COUNT_OF(inner->reopened); i++)
		put_text(out, inner->reopened[i]);
	put_text(out, inner->own_terminal);
	put(out, inner->starts_behind);
	put(out, inner->leaves_session);
	put(out, inner->filter.count);
	for (size_t i = 0; i < inner->filter.count; i++) {
		uint64_t insn;

		memcpy(&insn, &inner->filter.insns[i], sizeof(insn));
		put(out, insn);
	}
	put(out, inner->asks_connect);
	put(out, inner->has_listener);
	put(out, inner->needs_listener);
	for (size_t i = 0; i < COUNT_OF(inner->streams.items); i++)
		put(out, inner->streams.items[i].kind);
	put(out, inner->has_own_network);
	put_network(out, &inner->network);
	put(out, inner->waits);
	put_landlock(out, &inner->landlock);
	put_limits(out, &inner->limits);
	put(out, inner->limits_processes);
	put(out, inner->open_files.rlim_cur);
	put(out, inner->open_files.rlim_max);
}

int bwrap_job_pack(const struct bwrap_job *job, struct buf *out, struct err *e)
{
	put(out, JOB_MAGIC);
	put_inner(out, &job->inner);
	put(out, job->places.count);
	for (size_t i = 0; i < job->places.count; i++) {
		const struct bwrap_place *place = &job->places.items[i];

		put_text(out, place->path);
		put(out, place->kind);
		put(out, place->is_checked);
		put(out, place->is_read_only);
		put(out, place->may_be_missing);
		put(out, place->device);
		put(out, place->inode);
	}
	for (size_t i = 0; i < BWRAP_NAMESPACE_COUNT; i++)
		put(out, job->namespaces[i]);
	put(out, job->ignores_children);
	put(out, job->has_own_proc);
	put(out, job->is_masked_later);
	return buf_check(out, e);
}

/* ---- Unpacking ----------------------------------------------------------------------- */

/* After a failure every value is 0 or NULL; the caller checks once at the end. */
struct reader {
	struct arena *a;
	char *at;
	size_t left;
	bool failed;
};

static uint64_t get(struct reader *r)
{
	uint64_t value = 0;

	if (r->failed || r->left < sizeof(value)) {
		r->failed = true;
		return 0;
	}
	memcpy(&value, r->at, sizeof(value));
	r->at += sizeof(value);
	r->left -= sizeof(value);
	return value;
}

static uint64_t get_below(struct reader *r, uint64_t limit)
{
	uint64_t value = get(r);

	if (value < limit)
		return value;
	r->failed = true;
	return 0;
}

static bool get_bool(struct reader *r)
{
	return get_below(r, 2) == 1;
}

static char *get_text(struct reader *r)
{
	uint64_t bytes = get(r);
	char *text = r->at;

	if (bytes == 0 || r->failed)
		return NULL;
	if (bytes > r->left || text[bytes - 1] != '\0' || strlen(text) + 1 != bytes) {
		r->failed = true;
		return NULL;
	}
	r->at += bytes;
	r->left -= (size_t)bytes;
	return text;
}

static void *get_array(struct reader *r, size_t count, size_t size)
{
	struct err e = ERR_INIT;
	/* One more: an array may be empty, and lists end with NULL. */
	void *array = arena_array(r->a, count + 1, size, &e);

	r->failed |= !array;
	return array;
}

static const char *get_path(struct reader *r)
{
	const char *path = get_text(r);

	r->failed |= !path || path[0] != '/';
	return path;
}

/* Leaves the first `before` items free. */
static char **get_list(struct reader *r, size_t before)
{
	size_t count = (size_t)get_below(r, JOB_MAX_ITEMS);
	char **list = get_array(r, before + count, sizeof(*list));

	for (size_t i = 0; list && i < count && !r->failed; i++) {
		list[before + i] = get_text(r);
		r->failed |= !list[before + i];
	}
	return list;
}

static void get_words(struct reader *r, struct command_words *out)
{
	static char shell[] = "sh";
	size_t count = 0;

	out->argv = get_list(r, 0);
	while (out->argv && out->argv[count])
		count++;
	r->failed |= count == 0;
	out->shell_argv = get_array(r, count + 1, sizeof(*out->shell_argv));
	for (size_t i = 0; !r->failed && i < count; i++)
		out->shell_argv[i + 1] = out->argv[i];
	if (out->shell_argv)
		out->shell_argv[0] = shell;
	out->programs = get_list(r, 0);
	out->environment = get_list(r, 0);
}

static void get_landlock(struct reader *r, struct landlock_rules *out)
{
	size_t count;

	out->abi = (uint32_t)get_below(r, UINT32_MAX);
	out->scopes_only = get_bool(r);
	out->shows_root = get_bool(r);
	out->refuses_network = get_bool(r);
	count = (size_t)get_below(r, JOB_MAX_ITEMS);
	out->rules.items = get_array(r, count, sizeof(*out->rules.items));
	for (size_t i = 0; i < count && !r->failed; i++) {
		out->rules.items[i].path = get_path(r);
		out->rules.items[i].kind =
			(enum landlock_access)get_below(r, LANDLOCK_MAY_WRITE + 1);
		out->rules.items[i].is_made = get_bool(r);
		out->rules.items[i].is_checked = get_bool(r);
		out->rules.items[i].device = get(r);
		out->rules.items[i].inode = get(r);
	}
	out->rules.count = count;
}

static void get_limits(struct reader *r, struct command_limits *out)
{
	out->count = (size_t)get_below(r, COMMAND_MAX_LIMITS + 1);
	for (size_t i = 0; i < out->count; i++) {
		out->items[i].resource = (int)get_below(r, 64);
		out->items[i].limit.rlim_cur = (rlim_t)get(r);
		out->items[i].limit.rlim_max = (rlim_t)get(r);
	}
}

static void get_network(struct reader *r, struct inner_network *out)
{
	out->is_managed = get_bool(r);
	out->host_port_count = (size_t)get_below(r, LAUNCH_MAX_HOST_PORTS + 1);
	for (size_t i = 0; i < out->host_port_count; i++)
		out->host_ports[i] = (uint16_t)get_below(r, UINT16_MAX + 1);
	out->name_server_count = (size_t)get_below(r, LAUNCH_MAX_NAME_SERVERS + 1);
	for (size_t i = 0; i < out->name_server_count; i++)
		out->name_servers[i] = (uint32_t)get_below(r, (uint64_t)UINT32_MAX + 1);
}

_Static_assert(sizeof(struct bpf_insn) == sizeof(uint64_t), "an instruction is a number");

static void get_inner(struct reader *r, struct inner_job *out)
{
	get_words(r, &out->words);
	out->directory = get_path(r);
	for (size_t i = 0; i < COUNT_OF(out->reopened); i++)
		out->reopened[i] = get_text(r);
	out->own_terminal = get_text(r);
	out->starts_behind = get_bool(r);
	out->leaves_session = get_bool(r);
	out->filter.count = (size_t)get_below(r, FILTER_MAX_INSNS + 1);
	r->failed |= out->filter.count == 0;
	out->filter.insns = get_array(r, out->filter.count, sizeof(*out->filter.insns));
	for (size_t i = 0; i < out->filter.count && !r->failed; i++) {
		uint64_t insn = get(r);

		memcpy(&out->filter.insns[i], &insn, sizeof(insn));
	}
	out->asks_connect = get_bool(r);
	out->has_listener = get_bool(r);
	out->needs_listener = get_bool(r);
	for (size_t i = 0; i < COUNT_OF(out->streams.items); i++)
		out->streams.items[i].kind = (enum stream_kind)get_below(r, STREAM_APPENDED + 1);
	out->has_own_network = get_bool(r);
	get_network(r, &out->network);
	out->waits = get_bool(r);
	get_landlock(r, &out->landlock);
	get_limits(r, &out->limits);
	out->limits_processes = get_bool(r);
	out->open_files.rlim_cur = (rlim_t)get(r);
	out->open_files.rlim_max = (rlim_t)get(r);
}

static void get_places(struct reader *r, struct bwrap_job *out)
{
	size_t count = (size_t)get_below(r, JOB_MAX_ITEMS);

	out->places.items = get_array(r, count, sizeof(*out->places.items));
	for (size_t i = 0; i < count && !r->failed; i++) {
		struct bwrap_place *place = &out->places.items[i];

		place->path = get_path(r);
		place->kind = (uint32_t)get_below(r, PLACE_MASK + 1);
		place->is_checked = get_bool(r);
		place->is_read_only = get_bool(r);
		place->may_be_missing = get_bool(r);
		place->device = get(r);
		place->inode = get(r);
	}
	out->places.count = count;
	r->failed |= count == 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the job's strings point into it. */
int bwrap_job_unpack(struct arena *a, char *bytes, size_t count, struct bwrap_job *out,
		     struct err *e)
{
	struct reader r = { .a = a, .at = bytes, .left = count };
	struct bwrap_job job = { .ignores_children = false };

	if (get(&r) != JOB_MAGIC)
		return FAIL(e, ERR_SYNTAX, "this is not a job of this version");
	get_inner(&r, &job.inner);
	get_places(&r, &job);
	for (size_t i = 0; i < BWRAP_NAMESPACE_COUNT; i++)
		job.namespaces[i] = get(&r);
	job.ignores_children = get_bool(&r);
	job.has_own_proc = get_bool(&r);
	job.is_masked_later = get_bool(&r);
	if (r.failed || r.left)
		return FAIL(e, ERR_SYNTAX, "the job is damaged");
	*out = job;
	return 0;
}
