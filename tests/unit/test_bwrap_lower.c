/* SPDX-License-Identifier: MIT */
/* Mount operations as the arguments of bwrap (backend/bwrap/lower.c): golden texts. */
#include "test.h"

#include "backend/bwrap/lower.h"
#include "plan_lists.h"

static const struct bwrap_facts plain = { .features = 1U << BWRAP_HAS_BIND_FD,
					  .has_own_network = true,
					  .has_own_ipc = true,
					  .has_own_proc = true,
					  .info_fd = 4,
					  .block_fd = 5,
					  .first_data_fd = 12 };

/* What comes before the mounts. */
#define BEGINNING                                                                          \
	"--as-pid-1\n--unshare-user\n--unshare-pid\n--unshare-uts\n--unshare-cgroup\n"     \
	"--info-fd 4\n--userns-block-fd 5\n--unshare-net\n--unshare-ipc\n--cap-drop ALL\n" \
	"--cap-add CAP_DAC_READ_SEARCH\n--cap-add CAP_SYS_ADMIN\n--cap-add CAP_SETPCAP\n"
#define DEV "--dev /dev\n--perms 1777\n--tmpfs /dev/shm\n"

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

/* The arguments, an option and what belongs to it on a line; or why not. */
static const char *lowered(struct world *w, const struct bwrap_facts *facts,
			   struct bwrap_words *words, struct buf *out)
{
	struct placeholders held = { .items = NULL };
	const kernel_mounts kernel = { .items = NULL };
	struct launch in = { .plan = w->plan, .host = &w->host.host, .held = &held };
	struct mounts mounts;

	buf_clear(out);
	if (lower_mounts(&w->a, &in, &kernel, &mounts, &w->e) < 0 ||
	    lower_bwrap(&w->a, &in, &mounts, facts, words, &w->e) < 0)
		return w->e.text;
	for (size_t i = 0; i < words->list.count; i++) {
		if (i > 0)
			buf_add_char(out, strncmp(words->list.items[i], "--", 2) == 0 ? '\n' : ' ');
		buf_add_text(out, words->list.items[i]);
	}
	buf_add_char(out, '\n');
	return out->p;
}

#define FILES "[permissions.dev.filesystem]\n"

TEST(a_workspace_is_bound_by_descriptor_and_its_metadata_closed)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_words words;

	world_init(&w, "d /repo/.git\nd /etc\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_STR(lowered(&w, &plain, &words, &out),
		  BEGINNING "--ro-bind / /\n--proc /proc\n" DEV "--bind-fd 12 /repo\n"
			    "--ro-bind /repo/.git /repo/.git\n--remount-ro /dev\n");
	REQUIRE(words.data.count == 1);
	CHECK_INT(words.data.items[0].kind, BWRAP_DATA_PLACE);
	CHECK_STR(words.data.items[0].op->path, "/repo");
	CHECK_INT(words.late.count, 0);
}

TEST(an_older_bwrap_gets_paths)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_facts facts = plain;
	struct bwrap_words words;

	facts.features = 0;
	world_init(&w, "d /repo/.git\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(strstr(lowered(&w, &facts, &words, &out), "\n--bind /repo /repo\n"));
	CHECK(!strstr(out.p, "--argv0"));
	facts.features = BWRAP_FEATURE_BIT(BWRAP_HAS_ARGV0);
	CHECK(strstr(lowered(&w, &facts, &words, &out), "\n--argv0 cordon-linux-sandbox\n"));
}

TEST(what_is_open_below_what_is_hidden_has_a_way_made_to_it)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_words words;

	world_init(&w, "d /repo/a/b/c\nf /repo/a/f\n", "/repo");
	REQUIRE(plan(&w, FILES "'/' = 'read'\n'/repo/a' = 'deny'\n'/repo/a/b/c' = 'write'\n"
			       "'/repo/a/f' = 'read'\n"));
	CHECK_STR(lowered(&w, &plain, &words, &out),
		  BEGINNING "--ro-bind / /\n--proc /proc\n" DEV
			    "--perms 0111\n--tmpfs /repo/a\n--perms 0111\n--dir /repo/a/b\n"
			    "--perms 0111\n--dir /repo/a/b/c\n--bind-fd 12 /repo/a/b/c\n"
			    "--ro-bind /repo/a/f /repo/a/f\n--remount-ro /repo/a\n"
			    "--remount-ro /dev\n");
}

TEST(a_hidden_root_has_its_links_and_is_closed_last)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_words words;
	const char *text;

	world_init(&w, "d /usr/bin\nl /bin -> usr/bin\nd /secret\nd /proc\nd /dev\n", "/usr");
	REQUIRE(plan(&w, FILES "'/usr' = 'read'\n"));
	text = lowered(&w, &plain, &words, &out);
	CHECK(strstr(text, "--perms 0111\n--tmpfs /\n"));
	CHECK(strstr(text, "\n--symlink usr/bin /bin\n"));
	CHECK(!strstr(text, "secret"));
	CHECK(str_has_suffix(buf_str(&out), STR("--remount-ro /dev\n--remount-ro /\n")));
}

TEST(denied_files_and_directories_are_masked)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_words words;

	world_init(&w, "f /repo/key\nd /repo/keys\n", "/repo");
	REQUIRE(plan(&w, FILES "'/' = 'read'\n'/repo/key' = 'deny'\n'/repo/keys' = 'deny'\n"));
	CHECK_STR(lowered(&w, &plain, &words, &out), BEGINNING
		  "--ro-bind / /\n--proc /proc\n" DEV "--perms 0000\n--ro-bind-data 12 /repo/key\n"
		  "--perms 0000\n--tmpfs /repo/keys\n--remount-ro /repo/keys\n"
		  "--remount-ro /dev\n");
	CHECK_INT(words.data.items[0].kind, BWRAP_DATA_NOTHING);
}

static bool is_a_mount(const char *path)
{
	return strcmp(path, "/repo/k3") == 0;
}

TEST(many_masks_and_masks_of_links_come_from_outside_but_not_those_of_mounts)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_buf host = BUF_INIT(1 << 12);
	scoped_world w;
	struct bwrap_facts facts = plain;
	struct bwrap_words words;

	for (int i = 0; i < BWRAP_MAX_MASKS + 1; i++)
		buf_printf(&host, "f /repo/k%d\n", i);
	world_init(&w, host.p, "/repo");
	REQUIRE(plan(&w, FILES "'/' = 'read'\n'/repo/k*' = 'deny'\n"));
	facts.is_mount = is_a_mount;
	CHECK(strstr(lowered(&w, &facts, &words, &out), "--ro-bind-data 12 /repo/k3\n"));
	CHECK(!strstr(out.p, "/repo/k0"));
	REQUIRE(words.late.count == BWRAP_MAX_MASKS);
	CHECK_STR(words.late.items[0], "/repo/k0");
}

TEST(a_link_is_left_to_the_inner_stage)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_words words;

	world_init(&w, "d /repo/.git\nl /repo/.codex -> /repo/b\nd /repo/b\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	/* bwrap would bind what it leads to, onto that. */
	CHECK(!strstr(lowered(&w, &plain, &words, &out), ".codex"));
	CHECK(strstr(out.p, "--ro-bind /repo/b /repo/b\n"));
}

TEST(root_finds_the_files_of_the_kernel_closed)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_facts facts = plain;
	struct bwrap_words words;

	facts.is_root = true;
	facts.has_mqueue = true;
	facts.terminal_path = "/dev/pts/3";
	world_init(&w,
		   "d /repo\nd /proc/sys\nd /proc/fs\nf /proc/kcore\nd /proc/pressure\nd /sys\n",
		   "/repo");
	REQUIRE(plan(&w, FILES "'/' = 'write'\n"));
	CHECK_STR(lowered(&w, &facts, &words, &out),
		  BEGINNING "--bind-fd 12 /\n--proc /proc\n--ro-bind /proc/sys /proc/sys\n"
			    "--ro-bind /proc/pressure /proc/pressure\n--ro-bind /proc/fs /proc/fs\n"
			    "--perms 0000\n--ro-bind-data 13 /proc/kcore\n" DEV
			    "--mqueue /dev/mqueue\n--dev-bind /dev/pts/3 /dev/console\n"
			    "--ro-bind /sys /sys\n--bind-fd 14 /repo\n--remount-ro /dev\n");
}

TEST(without_a_proc_of_its_own_the_hosts_is_read_only)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_world w;
	struct bwrap_facts facts = plain;
	struct bwrap_words words;

	facts.has_own_proc = false;
	world_init(&w, "d /repo\nd /proc/sys\n", "/repo");
	REQUIRE(plan(&w, FILES "'/' = 'write'\n"));
	CHECK(strstr(lowered(&w, &facts, &words, &out), "\n--ro-bind /proc /proc\n"));
	CHECK(!strstr(out.p, "--proc"));
}

TEST(what_can_not_be_expressed_is_refused_by_name)
{
	scoped_buf out = BUF_INIT(1 << 16);
	scoped_buf host = BUF_INIT(1 << 20);
	scoped_buf user = BUF_INIT(1 << 20);
	scoped_world w;
	struct bwrap_words words;

	world_init(&w, "d /repo\nd /proc/1\n", "/repo");
	REQUIRE(plan(&w, FILES "'/' = 'read'\n'/proc' = 'deny'\n"));
	CHECK(strstr(lowered(&w, &plain, &words, &out), "can't hide '/proc'"));
	CHECK_INT(w.e.code, ERR_WEAKER);

	buf_add_text(&user, FILES "'/' = 'read'\n");
	for (int i = 0; i <= BWRAP_MAX_PLACES; i++) {
		buf_printf(&host, "d /repo/d%d\n", i);
		buf_printf(&user, "'/repo/d%d' = 'write'\n", i);
	}
	{
		scoped_world many;

		world_init(&many, host.p, "/repo");
		REQUIRE(plan(&many, user.p));
		CHECK(strstr(lowered(&many, &plain, &words, &out), "more than 256 places"));
		CHECK_INT(many.e.code, ERR_WEAKER);
	}
}
