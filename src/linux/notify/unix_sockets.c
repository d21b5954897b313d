/* SPDX-License-Identifier: MIT */
/* Finds the policy's sockets on the host, and decides about an inode by them. */
#include "linux/notify/unix_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "os/fd.h"

enum { MAX_LINKS = 40 }; /* as in the kernel */

/* A path that is being resolved: `done` is canonical, "" for "/"; `rest` still has to be walked. */
struct walk {
	const struct plan *plan;
	char done[PATH_MAX_BYTES];
	char rest[PATH_MAX_BYTES];
	unsigned links;
	bool is_missing; /* `done` does not exist, so `rest` can't be looked up */
};

static bool may_write(const struct plan *plan, const char *path)
{
	return plan_resolve(plan, str_of(*path ? path : "/")).access == ACCESS_WRITE;
}

/* Cuts the first component off `rest`. */
static bool next_name(struct walk *w, char name[PATH_MAX_COMPONENT + 1])
{
	struct str rest = str_of(w->rest), found = STR_EMPTY;
	size_t at = 0;

	if (!path_next(rest, &at, &found) || found.len > PATH_MAX_COMPONENT)
		return false;
	memcpy(name, found.p, found.len);
	name[found.len] = '\0';
	memmove(w->rest, w->rest + at, rest.len - at + 1);
	return true;
}

/* Puts the link's target in front of `rest`. False: the link must not be followed. */
static bool follow(struct walk *w, const char *link)
{
	char target[PATH_MAX_BYTES];
	char whole[2 * PATH_MAX_BYTES + 1];
	ssize_t n;

	/* SECURITY: this or an earlier command may have made the link (unix_sockets.h). */
	if (may_write(w->plan, w->done) || ++w->links > MAX_LINKS)
		return false;
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	(void)snprintf(whole, sizeof(whole), "%s/%s", target, w->rest);
	if (strlen(whole) >= sizeof(w->rest))
		return false;
	memcpy(w->rest, whole, strlen(whole) + 1);
	if (target[0] == '/')
		w->done[0] = '\0';
	return true;
}

static void step_up(struct walk *w)
{
	char *slash = strrchr(w->done, '/');

	if (slash)
		*slash = '\0';
}

static bool step(struct walk *w, const char *name)
{
	char path[PATH_MAX_BYTES + PATH_MAX_COMPONENT + 2];
	struct stat st;

	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		step_up(w);
		return true;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", w->done, name);
	if (strlen(path) >= sizeof(w->done))
		return false;
	if (!w->is_missing && lstat(path, &st) < 0)
		w->is_missing = true;
	if (!w->is_missing && S_ISLNK(st.st_mode))
		return follow(w, path);
	memcpy(w->done, path, strlen(path) + 1);
	return true;
}

/* Stores the canonical form of `path` in w->done. False: there is none, or it can't be trusted. */
static bool resolve(struct walk *w, const struct plan *plan, struct str path)
{
	char name[PATH_MAX_COMPONENT + 1];

	*w = (struct walk){ .plan = plan };
	if (path.len >= sizeof(w->rest))
		return false;
	memcpy(w->rest, path.p, path.len);
	while (next_name(w, name))
		if (!step(w, name))
			return false;
	return w->done[0] != '\0';
}

static int add_known(struct arena *a, struct unix_sockets *s, const struct walk *at,
		     const struct net_verdict *verdict, struct err *e)
{
	struct str path;
	struct known_socket *added;

	if (arena_copy(a, str_of(at->done), &path, e) < 0)
		return err_result(e);
	added = VEC_PUSH(a, &s->items, e);
	if (!added)
		return err_result(e);
	*added = (struct known_socket){
		.path = path.p,
		.origin = verdict->origin,
		.is_allow = verdict->decision == DECISION_ALLOW,
		.inode_fd = open(path.p, O_PATH | O_NOFOLLOW | O_CLOEXEC),
	};
	if (added->inode_fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return FAIL_SYS(e, errno, "can't open the socket '%s'", path.p);
	return 0;
}

static int find_one(struct arena *a, struct unix_sockets *s, const struct net_socket *said,
		    struct err *e)
{
	struct str home = s->plan->places.home;
	UNINITIALIZED struct walk walk;
	struct str path = said->path;
	struct net_verdict verdict;

	if (said->below_home && home.len == 0)
		return 0;
	if (said->below_home && path_join(a, home, said->path, &path, e) < 0)
		return err_result(e);
	verdict = net_resolve_socket(s->plan->net, path, home);
	if (verdict.reason != NET_REASON_RULE || !resolve(&walk, s->plan, path))
		return 0;
	return add_known(a, s, &walk, &verdict, e);
}

/* What was granted before the run opens like what is granted while it goes on, and can be closed. */
static int find_granted(struct arena *a, struct unix_sockets *s, struct str path, struct err *e)
{
	struct net_verdict verdict = net_resolve_socket(s->plan->net, path, s->plan->places.home);

	if (verdict.decision != DECISION_ALLOW || unix_sockets_open(a, s, path, e) == 0)
		return 0;
	if (e->code != ERR_POLICY)
		return err_result(e);
	err_clear(e); /* there is no such socket, or not by this name */
	return 0;
}

int unix_sockets_find(struct arena *a, const struct plan *plan, struct unix_sockets *out,
		      struct err *e)
{
	const struct policy *policy = plan->policy;
	struct unix_sockets found = { .plan = plan };
	int r = 0;

	for (size_t i = 0; i < policy->layers.count && r == 0; i++) {
		const struct net_rules *said = &policy->layers.items[i].net;

		for (size_t j = 0; j < said->sockets.count && r == 0; j++)
			r = find_one(a, &found, &said->sockets.items[j], e);
	}
	for (size_t i = 0; i < policy->socket_grants.count && r == 0; i++)
		r = find_granted(a, &found, policy->socket_grants.items[i].path, e);
	if (r < 0) {
		unix_sockets_done(&found);
		return err_result(e);
	}
	*out = found;
	return 0;
}

void unix_sockets_done(struct unix_sockets *s)
{
	for (size_t i = 0; i < s->items.count; i++) {
		fd_done(&s->items.items[i].inode_fd);
		s->items.items[i].inode_fd = -1;
	}
	s->items.count = 0;
}

/* ---- While the command runs ------------------------------------------------------------ */

static struct known_socket *find_live(const struct unix_sockets *s, struct str path)
{
	for (size_t i = 0; i < s->items.count; i++)
		if (s->items.items[i].is_live && str_eq(str_of(s->items.items[i].path), path))
			return &s->items.items[i];
	return NULL;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int unix_sockets_open(struct arena *a, struct unix_sockets *s, struct str path, struct err *e)
{
	UNINITIALIZED struct walk walk;
	struct known_socket *known;
	struct str copy;
	int fd;

	if (net_mode(s->plan->net) == NET_OFF)
		return FAIL(e, ERR_POLICY, "the network is off");
	/* SECURITY: what is granted is this name, not what the command makes it lead to. */
	if (!resolve(&walk, s->plan, path) || !str_eq(str_of(walk.done), path))
		return FAIL(e, ERR_POLICY, "the path is not canonical");
	fd = open(walk.done, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (!is_socket(fd)) {
		fd_done(&fd);
		return FAIL(e, ERR_POLICY, "there is no socket at this path");
	}
	known = find_live(s, path);
	if (!known) {
		known = arena_copy(a, path, &copy, e) < 0 ? NULL : VEC_PUSH(a, &s->items, e);
		if (!known) {
			fd_done(&fd);
			return err_result(e);
		}
		*known = (struct known_socket){ .path = copy.p, .inode_fd = -1, .is_live = true };
	}
	fd_done(&known->inode_fd);
	known->inode_fd = fd;
	known->is_allow = true;
	return 0;
}

/* The rule stays, for the next time, and allows nothing. */
void unix_sockets_close(struct unix_sockets *s, struct str path)
{
	struct known_socket *known = find_live(s, path);

	if (!known)
		return;
	fd_close(&known->inode_fd);
	known->is_allow = false;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

static bool is_over(const struct known_socket *known)
{
	return known->is_live && !known->is_allow;
}

/* By the command. */
static bool is_replaceable(const struct unix_sockets *s, const struct known_socket *known)
{
	struct str path = str_of(known->path);

	return plan_resolve(s->plan, path).access == ACCESS_WRITE ||
	       plan_resolve(s->plan, path_parent(path)).access == ACCESS_WRITE;
}

static bool is_inode(int fd, const struct stat *inode)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == inode->st_dev &&
	       st.st_ino == inode->st_ino;
}

static bool stands_at(const char *path, const struct stat *inode)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	scoped_fd fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return is_inode(fd, inode);
}

struct socket_verdict unix_sockets_decide(const struct unix_sockets *s, const struct stat *inode,
					  struct str path)
{
	struct net_verdict general = net_resolve_socket(s->plan->net, path, s->plan->places.home);
	struct socket_verdict verdict = { .reason = SOCKET_UNNAMED };

	if (general.reason == NET_REASON_FULL || general.reason == NET_REASON_UNSANDBOXED)
		return (struct socket_verdict){ .reason = SOCKET_ALLOWED };
	if (general.reason == NET_REASON_OFF)
		return (struct socket_verdict){ .reason = SOCKET_NETWORK_OFF,
						.origin = general.origin,
						.is_final = general.layer > 0 };
	for (size_t i = 0; i < s->items.count; i++) {
		const struct known_socket *known = &s->items.items[i];
		bool was_it = is_inode(known->inode_fd, inode);
		bool is_it = !is_over(known) && (was_it || stands_at(known->path, inode));

		/* A deny applies to the socket whatever path was used. */
		if (is_it && !known->is_allow)
			return (struct socket_verdict){ .reason = SOCKET_DENIED,
							.origin = known->origin,
							.is_final = true };
		if (is_it && (was_it || !is_replaceable(s, known)))
			verdict.reason = SOCKET_ALLOWED;
		else if (is_it && verdict.reason == SOCKET_UNNAMED)
			verdict.reason = SOCKET_REPLACED;
	}
	return verdict;
}
