/* SPDX-License-Identifier: MIT */
/*
 * Tests of linux/notify/unix_connect.c and of what it judges by (unix_lookup.c,
 * unix_bound.c, unix_sockets.c): who can be reached from a cage.
 */
#include "linux/notify/unix_connect.h"

#include "host_socket.h"

/* ---- The host's ------------------------------------------------------------------ */

static int host_is_refused(void)
{
	int listener = listen_at(inside_path);

	INSIDE(listener >= 0);
	INSIDE(connect_to(inside_path) == 0);
	INSIDE(count_waiting(listener) == 1);
	INSIDE(connect_to(host_path) == -EACCES);
	INSIDE(connect_to(host_path) == -EACCES);
	INSIDE(connect_type(host_path, SOCK_SEQPACKET) == -EACCES);
	return 0;
}

TEST(a_socket_of_the_host_is_refused_by_name)
{
	char way_out[512];
	struct judged j;

	REQUIRE(open_host("host.sock"));
	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = host_is_refused }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK_INT(j.denials.total, 3);
	REQUIRE(j.denials.items.count == 1);
	CHECK_INT(j.denials.items.items[0].kind, DENIAL_UNIX_SOCKET);
	CHECK_STR(j.denials.items.items[0].subject.p, host_path);
	CHECK_STR(j.denials.items.items[0].rule.p, "the network is off");
	(void)snprintf(way_out, sizeof(way_out), "--allow-socket %s", host_path);
	CHECK_STR(j.denials.items.items[0].way_out.p, way_out);
	CHECK_STR(j.denials.items.items[0].program.p, "test_notify_uni");
	CHECK_INT(j.denials.items.items[0].pid, 1);
	CHECK_INT(j.denials.items.items[0].count, 3);
	judged_done(&j);
	CHECK_INT(connect_to(host_path), 0);
	close_host();
}

TEST(so_is_one_in_a_directory_that_the_command_may_write_to)
{
	struct judged j;

	REQUIRE(open_host("w/host.sock"));
	REQUIRE(judged_start(&j, NETWORK_MANAGED,
			     &(struct cage_options){ .inside = host_is_refused }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	REQUIRE(j.denials.items.count == 1);
	CHECK_STR(j.denials.items.items[0].rule.p, "the policy does not name this socket");
	judged_done(&j);
	close_host();
}

static int disguises_are_refused(void)
{
	char path[300];
	int dir;

	INSIDE(symlink(host_path, "w/link") == 0);
	INSIDE(symlink(scratch_top, "w/top") == 0);
	INSIDE(symlink("..", "w/up") == 0);
	INSIDE(link(host_path, "w/hard") == 0);
	INSIDE(connect_to("w/link") == -EACCES);
	INSIDE(connect_to("w/hard") == -EACCES);
	INSIDE(connect_to("w/top/host.sock") == -EACCES);
	INSIDE(connect_to("w/up/host.sock") == -EACCES);
	INSIDE(connect_to("host.sock") == -EACCES);
	INSIDE(connect_to("./w/../host.sock") == -EACCES);
	INSIDE(chdir("w") == 0);
	INSIDE(connect_to("../host.sock") == -EACCES);
	INSIDE(connect_to("top/host.sock") == -EACCES);
	INSIDE(connect_to("/proc/self/cwd/../host.sock") == -EACCES);
	(void)snprintf(path, sizeof(path), "/proc/self/root%s", host_path);
	INSIDE(connect_to(path) == -EACCES);
	dir = open(host_path, O_PATH | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	INSIDE(dir >= 0 && connect_to(path) == -EACCES);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", dir);
	INSIDE(connect_to(path) == -EACCES);
	INSIDE(rename("hard", "moved") == 0);
	INSIDE(connect_to("moved") == -EACCES);
	return 0;
}

TEST(links_and_other_names_do_not_hide_it)
{
	struct judged j;

	REQUIRE(open_host("host.sock"));
	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = disguises_are_refused }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	/* As the inode lies: "host.sock", "w/hard" and "w/moved". */
	CHECK_INT(j.denials.items.count, 3);
	judged_done(&j);
	CHECK_INT(connect_to("w/link"), 0);
	CHECK_INT(connect_to("w/moved"), 0);
	close_host();
	(void)(unlink("w/link") | unlink("w/top") | unlink("w/up") | unlink("w/moved"));
}

/* ---- The cage's own --------------------------------------------------------------- */

static int own_sockets_work(void)
{
	int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	char path[300], text[8] = "";
	struct sockaddr_un name;
	socklen_t size = sizeof(name);

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		int listener = listen_at_type("own.sock", types[i], 64), dir, fd, accepted;

		INSIDE(listener >= 0);
		fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);
		INSIDE(connect_fd(fd, "own.sock") == 0);
		INSIDE(connect_fd(fd, "own.sock") == -EISCONN);
		accepted = accept(listener, NULL, NULL);
		INSIDE(accepted >= 0 && write(fd, "hello", 5) == 5);
		INSIDE(read(accepted, text, sizeof(text)) == 5 && memcmp(text, "hello", 5) == 0);
		INSIDE(getpeername(fd, (struct sockaddr *)&name, &size) == 0);
		INSIDE(strcmp(name.sun_path, "own.sock") == 0);
		INSIDE((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
		INSIDE(connect_type("./own.sock", types[i]) == 0);
		INSIDE(symlink("own.sock", "own.link") == 0);
		INSIDE(connect_type("own.link", types[i]) == 0);
		INSIDE(mkdir("sub", 0755) == 0 && symlink("../own.sock", "sub/l") == 0);
		INSIDE(connect_type("sub/../own.sock", types[i]) == 0);
		INSIDE(connect_type("sub/l", types[i]) == 0);
		INSIDE(chdir("sub") == 0);
		INSIDE(connect_type("../own.sock", types[i]) == 0);
		INSIDE(connect_type("l", types[i]) == 0);
		INSIDE(connect_type("/proc/self/cwd/l", types[i]) == 0);
		INSIDE(chdir("..") == 0);
		dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/own.sock", dir);
		INSIDE(connect_type(path, types[i]) == 0);
		(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d/sub/l", dir);
		INSIDE(connect_type(path, types[i]) == 0);
		INSIDE(rename("own.sock", "renamed.sock") == 0);
		INSIDE(connect_type("renamed.sock", types[i]) == 0);
		INSIDE(connect_type("own.sock", types[i]) == -ENOENT);
		INSIDE(count_waiting(listener) == 10);
		close(listener);
		INSIDE(connect_type("renamed.sock", types[i]) == -ECONNREFUSED);
		INSIDE(unlink("renamed.sock") == 0 && unlink("own.link") == 0);
		INSIDE(unlink("sub/l") == 0 && rmdir("sub") == 0);
		close(fd);
		close(accepted);
		close(dir);
	}
	return 0;
}

static int go_to_w(void)
{
	INSIDE(chdir("w") == 0);
	return own_sockets_work();
}

TEST(sockets_bound_inside_work_by_every_name)
{
	struct judged j;

	(void)mkdir("w", 0755);
	CHECK_INT(run_free(&(struct cage_options){ .inside = go_to_w }), 0);
	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = go_to_w }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(j.denials.total, 0);
	judged_done(&j);
}

static int mount_tmpfs(void)
{
	INSIDE(mkdir("fs", 0755) == 0 || errno == EEXIST);
	INSIDE(mount("none", "fs", "tmpfs", 0, NULL) == 0);
	return 0;
}

static int go_to_fs(void)
{
	INSIDE(chdir("fs") == 0);
	return own_sockets_work();
}

TEST(also_on_a_tmpfs)
{
	struct cage_options o = { .inside = go_to_fs, .before_network = mount_tmpfs };
	struct judged j;

	CHECK_INT(run_free(&o), 0);
	REQUIRE(judged_start(&j, NETWORK_OFF, &o));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(j.denials.total, 0);
	judged_done(&j);
}

/* Here the kernel's answer is not enough to tell inodes apart: unix_holder.c has to. */
static int mount_overlay(void)
{
	if (mount_tmpfs())
		return 1;
	INSIDE(mkdir("fs/lower", 0755) == 0 && mkdir("fs/upper", 0755) == 0);
	INSIDE(mkdir("fs/work", 0755) == 0 && mkdir("fs/all", 0755) == 0);
	INSIDE(mount("none", "fs/all", "overlay", 0,
		     "lowerdir=fs/lower,upperdir=fs/upper,workdir=fs/work,userxattr") == 0);
	INSIDE(chdir("fs/all") == 0);
	/* A listener of the host's, for it is made in its network namespace. */
	INSIDE(listen_at("host.sock") >= 0);
	return 0;
}

static int overlay_works(void)
{
	if (own_sockets_work())
		return 1;
	INSIDE(connect_to("host.sock") == -EACCES);
	return 0;
}

TEST(also_on_an_overlay)
{
	struct cage_options o = { .inside = own_sockets_work, .before_network = mount_overlay };
	struct judged j;

	CHECK_INT(run_free(&o), 0);
	o.inside = overlay_works;
	REQUIRE(judged_start(&j, NETWORK_OFF, &o));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(j.denials.total, 1);
	judged_done(&j);
}

static int bind_twins(void)
{
	INSIDE(mkdir("fs", 0755) == 0 || errno == EEXIST);
	INSIDE(mkdir("fs2", 0755) == 0 || errno == EEXIST);
	INSIDE(mount("none", "fs", "tmpfs", 0, NULL) == 0);
	INSIDE(mount("none", "fs2", "tmpfs", 0, NULL) == 0);
	INSIDE(listen_at("fs/a.sock") >= 0);
	return 0;
}

static int twins_are_told_apart(void)
{
	struct stat host, own;

	INSIDE(listen_at("fs2/a.sock") >= 0);
	INSIDE(stat("fs/a.sock", &host) == 0 && stat("fs2/a.sock", &own) == 0);
	INSIDE(host.st_ino == own.st_ino && host.st_dev != own.st_dev);
	INSIDE(connect_to("fs2/a.sock") == 0);
	INSIDE(connect_to("fs/a.sock") == -EACCES);
	return 0;
}

static int twins_are_both_reached(void)
{
	INSIDE(listen_at("fs2/a.sock") >= 0);
	INSIDE(connect_to("fs2/a.sock") == 0);
	INSIDE(connect_to("fs/a.sock") == 0);
	return 0;
}

TEST(an_inode_of_the_same_number_on_another_device_is_another)
{
	struct cage_options o = { .inside = twins_are_both_reached, .before_network = bind_twins };
	struct judged j;

	CHECK_INT(run_free(&o), 0);
	o.inside = twins_are_told_apart;
	REQUIRE(judged_start(&j, NETWORK_OFF, &o));
	CHECK_INT(judged_run(&j), 0);
	judged_done(&j);
}

static int hide_host_socket(void)
{
	INSIDE(mount("none", "w", "tmpfs", 0, NULL) == 0);
	return 0;
}

static int sees_its_own_view(void)
{
	INSIDE(connect_to(host_path) == -ENOENT);
	INSIDE(listen_at(host_path) >= 0);
	INSIDE(connect_to(host_path) == 0);
	return 0;
}

TEST(paths_are_looked_up_as_the_caller_sees_them)
{
	struct judged j;

	REQUIRE(open_host("w/host.sock"));
	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = sees_its_own_view,
						     .before_network = hide_host_socket }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK_INT(j.denials.total, 0);
	judged_done(&j);
	close_host();
}

static int accepted_sockets_vouch_for_nothing(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* What the host accepts belongs to the cage's network, and bears the host's name. */
	INSIDE(connect_fd(fd, "w/allowed.sock") == 0);
	INSIDE(rename("w/allowed.sock", "w/other.sock") == 0);
	INSIDE(link("w/host.sock", "w/allowed.sock") == 0);
	INSIDE(connect_to("w/allowed.sock") == -EACCES);
	INSIDE(connect_to("w/host.sock") == -EACCES);
	return 0;
}

TEST(a_connection_to_the_host_vouches_for_nothing)
{
	char network[512];
	struct judged j;
	int allowed;

	REQUIRE(open_host("w/host.sock"));
	allowed = listen_at("w/allowed.sock");
	(void)snprintf(network, sizeof(network),
		       "enabled = true\nunix_sockets = { '%s/w/allowed.sock' = 'allow' }\n",
		       scratch_top);
	REQUIRE(judged_start(
		&j, network,
		&(struct cage_options){ .inside = accepted_sockets_vouch_for_nothing }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK_INT(count_waiting(allowed), 1);
	judged_done(&j);
	close(allowed);
	close_host();
}

static int abstract_is_its_own(void)
{
	int listener = listen_at(abstract("inside"));

	INSIDE(listener >= 0);
	INSIDE(connect_to(abstract("inside")) == 0);
	INSIDE(count_waiting(listener) == 1);
	INSIDE(connect_to(abstract("host")) == -ECONNREFUSED);
	return 0;
}

TEST(abstract_names_are_those_of_the_cage)
{
	int listener = listen_at(abstract("host"));
	struct judged j;

	REQUIRE(listener >= 0 && connect_to(abstract("host")) == 0);
	CHECK_INT(count_waiting(listener), 1);
	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = abstract_is_its_own }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(listener), 0);
	judged_done(&j);
	close(listener);
}

/* ---- P15 -------------------------------------------------------------------------- */

static int only_named_is_reached(void)
{
	INSIDE(connect_to("ro/named.sock") == 0);
	INSIDE(connect_to("ro/named.link") == 0);
	INSIDE(connect_to("w/named.sock") == 0);
	INSIDE(connect_to("ro/linked.sock") == 0);
	INSIDE(connect_to("ro/other.sock") == -EACCES);
	INSIDE(connect_to("ro/denied.sock") == -EACCES);
	INSIDE(connect_to("w/planted.sock") == -EACCES);
	shared->step = 1;
	while (shared->step == 1) /* the host starts its servers again */
		(void)usleep(1000);
	INSIDE(connect_to("ro/named.sock") == 0);
	INSIDE(connect_to("w/named.sock") == -EACCES);
	INSIDE(rename("w/other.sock", "w/named.sock") == 0);
	INSIDE(connect_to("w/named.sock") == -EACCES);
	return 0;
}

struct restart {
	struct timer timer;
	struct loop *loop;
	int named, writable;
};

static int restart_servers(void *user, struct err *e)
{
	struct restart *r = user;

	(void)e;
	if (shared->step == 1) {
		close(r->named);
		close(r->writable);
		r->named = listen_at("ro/named.sock");
		r->writable = listen_at("w/named.sock");
		shared->step = 2;
	} else {
		loop_set_timer(r->loop, &r->timer, loop_now() + 5);
	}
	return 0;
}

TEST(only_sockets_that_the_policy_names_are_reached)
{
	struct restart r;
	int others[5];
	char network[4096];
	struct judged j;

	(void)(mkdir("w", 0755) | mkdir("ro", 0755));
	r.named = listen_at("ro/named.sock");
	r.writable = listen_at("w/named.sock");
	others[0] = listen_at("ro/other.sock");
	others[1] = listen_at("ro/denied.sock");
	others[2] = listen_at("w/other.sock");
	others[3] = listen_at("ro/target.sock");
	others[4] = listen_at("ro/precious.sock");
	REQUIRE(symlink("named.sock", "ro/named.link") == 0);
	/* A link of the host's means its target; one where the command may write means nothing. */
	REQUIRE(symlink("target.sock", "ro/linked.sock") == 0);
	REQUIRE(symlink("../ro/precious.sock", "w/planted.sock") == 0);
	(void)snprintf(network, sizeof(network),
		       "enabled = true\n[permissions.dev.network.unix_sockets]\n"
		       "'%s/ro/named.sock' = 'allow'\n'%s/w/named.sock' = 'allow'\n"
		       "'%s/ro/linked.sock' = 'allow'\n'%s/w/planted.sock' = 'allow'\n"
		       "'%s/ro/missing.sock' = 'allow'\n'%s/ro/denied.sock' = 'deny'\n",
		       scratch_top, scratch_top, scratch_top, scratch_top, scratch_top,
		       scratch_top);
	REQUIRE(judged_start(&j, network,
			     &(struct cage_options){ .inside = only_named_is_reached }));
	r.loop = &j.loop;
	r.timer = (struct timer){ .due = restart_servers, .user = &r };
	loop_set_timer(&j.loop, &r.timer, loop_now() + 5);
	CHECK_INT(judged_run(&j), 0);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		CHECK_INT(count_waiting(others[i]), i == 3);
	CHECK_INT(count_waiting(r.writable), 0);
	CHECK_INT(count_waiting(r.named), 1);
	/* other, denied, planted, w/named replaced by the host and by the command */
	CHECK_INT(j.denials.total, 5);
	judged_done(&j);
	close(r.named);
	close(r.writable);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		close(others[i]);
}

static int named_off(void)
{
	INSIDE(connect_to("ro/named.sock") == -EACCES);
	return 0;
}

TEST(a_name_opens_nothing_where_the_network_is_off)
{
	int listener = listen_at("ro/named.sock");
	char network[1024];
	struct judged j;

	(void)snprintf(network, sizeof(network),
		       "enabled = false\nunix_sockets = { '%s/ro/named.sock' = 'allow' }\n",
		       scratch_top);
	REQUIRE(judged_start(&j, network, &(struct cage_options){ .inside = named_off }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(listener), 0);
	judged_done(&j);
	close(listener);
}

/* ---- Sockets from outside ----------------------------------------------------------- */

static int inherited[4]; /* TCP, unix stream, unix datagram, UDP: all of the host's */
static uint16_t host_port;

static int inherited_can_not_be_aimed(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	INSIDE(connect(inherited[0], &none, sizeof(none)) == -1 && errno == EACCES);
	INSIDE(connect_port(inherited[0], host_port) == -EACCES);
	INSIDE(connect_fd(inherited[1], abstract("outside")) == -EACCES);
	INSIDE(connect_fd(inherited[2], host_path) == -EACCES);
	INSIDE(connect_port(inherited[3], host_port) == -EACCES);
	INSIDE(write(inherited[0], "x", 1) == 1); /* as it is, it may be used */
	return 0;
}

static int inherited_could_be_aimed(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	INSIDE(write(inherited[0], "x", 1) == 1);
	INSIDE(connect(inherited[0], &none, sizeof(none)) == 0);
	INSIDE(connect_port(inherited[0], host_port) == 0);
	INSIDE(connect_fd(inherited[1], abstract("outside")) == 0);
	INSIDE(connect_fd(inherited[2], host_path) == -EPROTOTYPE);
	INSIDE(connect_port(inherited[3], host_port) == 0);
	return 0;
}

static void make_inherited(void)
{
	inherited[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inherited[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inherited[2] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	inherited[3] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_INT(connect_port(inherited[0], host_port), 0);
}

static void close_inherited(void)
{
	for (size_t i = 0; i < COUNT_OF(inherited); i++)
		close(inherited[i]);
}

TEST(a_socket_from_outside_can_not_be_connected_anew)
{
	int tcp = listen_tcp(&host_port, 16);
	int listener = listen_at(abstract("outside"));
	struct judged j;

	REQUIRE(tcp >= 0 && listener >= 0 && open_host("host.sock"));
	make_inherited();
	CHECK_INT(run_free(&(struct cage_options){ .inside = inherited_could_be_aimed }), 0);
	close_inherited();
	make_inherited();
	(void)(count_waiting(tcp) + count_waiting(listener));
	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = inherited_can_not_be_aimed }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(tcp), 0);
	CHECK_INT(count_waiting(listener), 0);
	CHECK_INT(j.denials.total, 5);
	judged_done(&j);
	close_inherited();
	close(tcp);
	close(listener);
	close_host();
}

/* ---- Errors are the kernel's -------------------------------------------------------- */

static size_t parity_count;

static int parity(long result)
{
	shared->numbers[parity_count++] = result < 0 ? errno : (int)result;
	return 0;
}

static int raw(int fd, const void *address, int size)
{
	return parity(syscall(SYS_connect, fd, address, size));
}

static void raw_path(const char *path)
{
	(void)parity((errno = -connect_to(path)) ? -1 : 0);
}

static int errors(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int listener = listen_at("w/inside.sock");
	int path_fd = open("w", O_PATH | O_CLOEXEC);
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct sockaddr_un address;
	socklen_t size = fill_unix(&address, "w/inside.sock");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[200];

	parity_count = 0;
	INSIDE(listener >= 0 && path_fd >= 0 && two != MAP_FAILED);
	INSIDE(munmap(two + page, page) == 0);
	/*  0 */ raw(-1, &address, (int)size);
	/*  1 */ raw(999, &address, (int)size);
	/*  2 */ raw(path_fd, &address, (int)size);
	/*  3 */ raw(open("/dev/null", O_RDONLY), &address, (int)size);
	/*  4 */ raw(fd, NULL, (int)size);
	/*  5 */ raw(fd, NULL, 0);
	/*  6 */ raw(fd, &address, -1);
	/*  7 */ raw(fd, &address, 129);
	/*  8 */ raw(fd, &address, 111);
	/*  9 */ raw(fd, &address, 2);
	/* 10 */ raw(fd, &address, 1);
	memcpy(two + page - size, &address, size);
	/* 11 */ raw(fd, two + page - size, (int)size + 1);
	/* 12 */ raw(-1, NULL, -1);
	/* 13 */ raw(open("/dev/null", O_RDONLY), NULL, 8);
	address.sun_family = AF_INET;
	/* 14 */ raw(fd, &address, (int)size);
	address.sun_family = AF_UNSPEC;
	/* 15 */ raw(fd, &address, (int)size);
	/* 16 */ raw(tcp, &address, 2);
	address.sun_family = AF_UNIX;
	/* 17 */ raw(tcp, &address, (int)size);
	/* 18 */ raw(tcp, &address, 1);
	/* A path that fills the address to its last byte. */
	memset(name, 'n', sizeof(name));
	memcpy(name, "w/", 2);
	memcpy(address.sun_path, name, sizeof(address.sun_path));
	/* 19 */ raw(fd, &address, sizeof(address));
	/* 20 */ raw_path("w/missing.sock");
	/* 21 */ raw_path("w/inside.sock/");
	/* 22 */ raw_path("w/inside.sock/x");
	/* 23 */ raw_path("w");
	/* 24 */ raw_path("/");
	/* 25 */ raw_path("/dev/null");
	INSIDE(symlink("loop", "w/loop") == 0);
	/* 26 */ raw_path("w/loop");
	INSIDE(symlink("nowhere", "w/dangling") == 0);
	/* 27 */ raw_path("w/dangling");
	INSIDE(chmod("w/inside.sock", 0) == 0);
	/* 28 */ raw_path("w/inside.sock");
	INSIDE(chmod("w/inside.sock", 0200) == 0);
	/* 29 */ raw_path("w/inside.sock");
	INSIDE(mkdir("w/closed", 0700) == 0);
	INSIDE(rename("w/inside.sock", "w/closed/s") == 0 && chmod("w/closed", 0) == 0);
	/* 30 */ raw_path("w/closed/s");
	/* 31 */ raw_path("w/closed/missing");
	INSIDE(chmod("w/closed", 0700) == 0);
	/* 32 */ raw_path("w/closed/s");
	/* 33 */ (void)parity((errno = -connect_type("w/closed/s", SOCK_SEQPACKET)) ? -1 : 0);
	close(listener);
	/* 34 */ raw_path("w/closed/s");
	/* 35 */ raw_path("/proc/self/fd/999");
	/* 36 */ raw_path("/proc/self/fd/x/y");
	/* 37 */ raw(netlink, &group, sizeof(group));
	/* 38 */ raw(netlink, &kernel, sizeof(kernel));
	INSIDE(unlink("w/closed/s") == 0 && rmdir("w/closed") == 0);
	INSIDE(unlink("w/loop") == 0 && unlink("w/dangling") == 0);
	shared->step = (int)parity_count;
	return 0;
}

TEST(errors_are_those_that_the_kernel_gives)
{
	struct cage_options o = { .inside = errors };
	int expected[COUNT_OF(shared->numbers)];
	struct judged j;
	int count;

	(void)mkdir("w", 0755);
	REQUIRE(run_free(&o) == 0);
	count = shared->step;
	CHECK_INT(count, 39);
	for (int i = 0; i < count; i++)
		expected[i] = shared->numbers[i];
	REQUIRE(judged_start(&j, NETWORK_OFF, &o));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(shared->step, count);
	for (int i = 0; i < count; i++) {
		if (shared->numbers[i] != expected[i])
			printf("# call %d: %s, want %s\n", i, strerror(shared->numbers[i]),
			       strerror(expected[i]));
		CHECK_INT(shared->numbers[i], expected[i]);
	}
	CHECK_INT(j.denials.total, 0);
	judged_done(&j);
}

/* ---- What the server sees ----------------------------------------------------------- */

static int server_sees_the_user(void)
{
	int listener = listen_at("w/inside.sock"), fd, accepted;
	struct ucred peer = { .pid = -1 };
	socklen_t size = sizeof(peer);

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	INSIDE(connect_fd(fd, "w/inside.sock") == 0);
	accepted = accept(listener, NULL, NULL);
	INSIDE(getsockopt(accepted, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
	INSIDE(peer.uid == getuid() && peer.gid == getgid());
	INSIDE(peer.pid == 0);
	INSIDE(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
	INSIDE(peer.pid == getpid() && peer.uid == getuid());
	return 0;
}

TEST(a_server_inside_sees_the_right_user)
{
	struct judged j;

	REQUIRE(judged_start(&j, NETWORK_OFF,
			     &(struct cage_options){ .inside = server_sees_the_user }));
	CHECK_INT(judged_run(&j), 0);
	judged_done(&j);
}
