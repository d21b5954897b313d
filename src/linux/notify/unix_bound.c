/* SPDX-License-Identifier: MIT */
/* Asks the kernel which socket is bound to a socket file. */
#include "linux/notify/unix_bound.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/str.h"
#include "linux/notify/unix_holder.h"
#include "os/fd.h"

enum {
	ANSWER_BYTES = 32 << 10, /* the most that the kernel sends at once */
	MAX_CANDIDATES = 16,
	MINOR_BITS = 20, /* of the kernel's internal device numbers */
};

struct candidate {
	uint64_t cookie;
	dev_t device; /* of the file system */
	uint32_t socket_inode;
};

struct search {
	const struct stat *file;
	bool is_exact; /* device and inode number identify the file */
	bool is_found;
	bool is_full;  /* there may be more candidates */
	bool is_whole; /* the kernel has listed all sockets */
	struct unix_effort effort;
	struct candidate candidates[MAX_CANDIDATES];
	size_t count;
};

/*
 * File systems whose inode numbers have 32 bits, as in the kernel's answer. Not tmpfs: it never reuses
 * a number, so a command could create 2^32 files until the low 32 bits repeat.
 */
static bool has_exact_numbers(int file)
{
	struct statfs fs;

	return fstatfs(file, &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC;
}

/* Copies the next attribute out of the answer, because it may be misaligned there. */
static bool next_attribute(struct str *rest, struct nlattr *head, struct str *body)
{
	if (rest->len < sizeof(*head))
		return false;
	memcpy(head, rest->p, sizeof(*head));
	if (head->nla_len < sizeof(*head) || head->nla_len > rest->len)
		return false;
	*body = str_from(str_first(*rest, head->nla_len), sizeof(*head));
	*rest = str_from(*rest, (size_t)NLA_ALIGN((int)head->nla_len));
	return true;
}

static bool next_message(struct str *rest, struct nlmsghdr *head, struct str *body)
{
	if (rest->len < sizeof(*head))
		return false;
	memcpy(head, rest->p, sizeof(*head));
	if (head->nlmsg_len < sizeof(*head) || head->nlmsg_len > rest->len)
		return false;
	*body = str_from(str_first(*rest, head->nlmsg_len), sizeof(*head));
	*rest = str_from(*rest, NLMSG_ALIGN((size_t)head->nlmsg_len));
	return true;
}

static dev_t device_of(uint32_t kernel_number)
{
	return makedev(kernel_number >> MINOR_BITS, kernel_number & ((1u << MINOR_BITS) - 1));
}

static void look_at(struct search *s, struct str message)
{
	struct unix_diag_msg socket;
	struct unix_diag_vfs vfs = { .udiag_vfs_ino = 0 };
	struct nlattr head;
	struct str body;

	if (message.len < sizeof(socket))
		return;
	memcpy(&socket, message.p, sizeof(socket));
	message = str_from(message, sizeof(socket));
	while (next_attribute(&message, &head, &body))
		if (head.nla_type == UNIX_DIAG_VFS && body.len >= sizeof(vfs))
			memcpy(&vfs, body.p, sizeof(vfs));
	if (!vfs.udiag_vfs_ino || vfs.udiag_vfs_ino != (uint32_t)s->file->st_ino)
		return;
	if (s->is_exact) {
		if (device_of(vfs.udiag_vfs_dev) == s->file->st_dev)
			s->is_found = true;
	} else if (s->count < MAX_CANDIDATES) {
		s->candidates[s->count++] = (struct candidate){
			.cookie = (uint64_t)socket.udiag_cookie[1] << 32 | socket.udiag_cookie[0],
			.device = device_of(vfs.udiag_vfs_dev),
			.socket_inode = socket.udiag_ino,
		};
	} else {
		s->is_full = true;
	}
}

static bool ask(struct unix_bound *b)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req what;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			    .nlmsg_seq = ++b->sequence },
		/* SECURITY: not TCP_ESTABLISHED; see unix_bound.h. */
		.what = { .sdiag_family = AF_UNIX,
			  .udiag_states = 1u << TCP_LISTEN | 1u << TCP_CLOSE,
			  .udiag_show = UDIAG_SHOW_VFS },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return sendto(b->diag, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&kernel, sizeof(kernel)) == (ssize_t)sizeof(request);
}

/* Reads one part of the answer. True: it was the last. */
static bool read_part(const struct unix_bound *b, struct search *s, struct str part)
{
	struct nlmsghdr head;
	struct str body;

	while (next_message(&part, &head, &body)) {
		if (head.nlmsg_seq != b->sequence)
			continue;
		if (head.nlmsg_type == NLMSG_DONE)
			s->is_whole = true;
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR)
			return true;
		if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY && unix_effort_take(&s->effort))
			look_at(s, body);
	}
	return false;
}

/* Discards the rest of an earlier answer, which the kernel sends before the next one. */
static void read_away(struct unix_bound *b, struct unix_effort *effort)
{
	UNINITIALIZED char part[ANSWER_BYTES];

	while (b->is_behind && unix_effort_take(effort))
		if (recv(b->diag, part, sizeof(part), MSG_DONTWAIT) < 0 && errno == EAGAIN)
			b->is_behind = false;
}

/* The kernel answers within the call, so this never waits. */
static void search(struct unix_bound *b, struct search *s)
{
	UNINITIALIZED char part[ANSWER_BYTES];

	read_away(b, &s->effort);
	if (b->is_behind || !ask(b))
		return;
	b->is_behind = true;
	while (unix_effort_take(&s->effort)) {
		struct sockaddr_nl from = { .nl_pid = 0 };
		socklen_t from_size = sizeof(from);
		ssize_t n = recvfrom(b->diag, part, sizeof(part), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		/* SECURITY: accept answers of the kernel only (port 0); others could be forged. */
		if (from.nl_pid == 0 && read_part(b, s, (struct str){ part, (size_t)n })) {
			b->is_behind = false;
			return;
		}
	}
}

static const struct bound_file *recall(const struct unix_bound *b, uint64_t cookie)
{
	for (size_t i = 0; i < UNIX_BOUND_REMEMBERED; i++)
		if (b->remembered[i].cookie == cookie)
			return &b->remembered[i];
	return NULL;
}

/* The file of that socket; NULL: no process of the sandbox was found to hold it. */
static const struct bound_file *find_file(struct unix_bound *b, const struct candidate *socket,
					  struct unix_effort *effort)
{
	const struct bound_file *known = recall(b, socket->cookie);
	struct bound_file *added = &b->remembered[b->next];
	struct stat st;

	if (known)
		return known;
	if (unix_holder_find(b->inside, socket->socket_inode, socket->cookie, effort, &st) !=
	    HOLDER_TOLD)
		return NULL;
	*added = (struct bound_file){ socket->cookie, st.st_dev, st.st_ino };
	b->next = (b->next + 1) % UNIX_BOUND_REMEMBERED;
	return added;
}

static bool find_in_namespace(struct unix_bound *b, struct search *s)
{
	for (size_t i = 0; i < s->count && !s->is_found; i++) {
		const struct bound_file *bound = find_file(b, &s->candidates[i], &s->effort);

		s->is_found = bound && bound->device == s->file->st_dev &&
			      bound->inode == s->file->st_ino;
	}
	return s->is_found;
}

/* SECURITY: a candidate that no process inside holds may be the host's, so fail then. */
static bool find_in_tree(const struct unix_bound *b, struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct candidate *c = &s->candidates[i];
		struct stat st;

		switch (unix_holder_find(b->inside, c->socket_inode, c->cookie, &s->effort, &st)) {
		case HOLDER_NONE:
		case HOLDER_UNTOLD:
			return false;
		case HOLDER_FOUND:
			s->is_found |= c->device == s->file->st_dev;
			break;
		case HOLDER_TOLD:
			s->is_found |= st.st_dev == s->file->st_dev && st.st_ino == s->file->st_ino;
			break;
		}
	}
	return s->is_found && !s->is_full && s->is_whole;
}

enum unix_bound_where unix_bound_find(struct unix_bound *b, int file, const struct stat *st)
{
	bool is_tree = b->inside.is_tree;
	struct search s = { .file = st, .is_exact = !is_tree && has_exact_numbers(file) };

	unix_effort_start(&s.effort);
	search(b, &s);
	if (is_tree ? find_in_tree(b, &s) : find_in_namespace(b, &s))
		return BOUND_INSIDE;
	return s.effort.is_spent ? BOUND_UNTOLD : BOUND_ELSEWHERE;
}

int unix_bound_anywhere(int file)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	scoped_fd probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (probe < 0)
		return -errno;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/thread-self/fd/%d", file);
	if (connect(probe, (struct sockaddr *)&address, sizeof(address)) == 0 ||
	    errno == EPROTOTYPE)
		return 1;
	return errno == ECONNREFUSED ? 0 : -errno;
}
