/* SPDX-License-Identifier: MIT */
/* The parent's side. */
#include "proxy/proxy.h"

#include <errno.h>
#include <string.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/loop.h"
#include "os/socket.h"
#include "proxy/spawn.h"

enum { REST_MS = 10000 }; /* for all the last records together */

int proxy_start(struct proxy *p, const struct proxy_options *options, struct err *e)
{
	struct rule_place place;

	if (rule_place_find(&place, options->plan->policy, e) < 0)
		return err_result(e);
	return proxy_spawn(p, options, &place, e);
}

int proxy_send(const struct proxy *p, const struct proxy_order *order, const int *fds, size_t count)
{
	struct proxy_order copy = *order;

	if (count > 0)
		return fd_pass_send(p->channel, &copy, sizeof(copy), fds, count, FD_PASS_NO_WAIT);
	if (fd_pass_tell(p->channel, &copy, sizeof(copy), FD_PASS_NO_WAIT) < 0)
		return -errno;
	return 0;
}

/* Makes a bool of one that may hold any byte. */
static bool is_set(const bool *b)
{
	unsigned char byte;

	memcpy(&byte, b, sizeof(byte));
	return byte != 0;
}

/*
 * SECURITY: make the message safe to read: bools are 0 or 1, texts end in a NUL. The proxy reads
 * untrusted bytes and may have been taken over; it could make this process read past a text.
 */
static void make_sound(struct proxy_message *m)
{
	struct proxy_record *r = &m->record;

	m->is_allow = is_set(&m->is_allow);
	if (m->kind != PROXY_RECORD && m->kind != PROXY_ASKS) {
		m->text[sizeof(m->text) - 1] = '\0';
		return;
	}
	r->has_address = is_set(&r->has_address);
	r->is_open = is_set(&r->is_open);
	r->program[sizeof(r->program) - 1] = '\0';
	r->host[sizeof(r->host) - 1] = '\0';
	r->method[sizeof(r->method) - 1] = '\0';
	r->rule[sizeof(r->rule) - 1] = '\0';
	r->rule_file[sizeof(r->rule_file) - 1] = '\0';
}

int proxy_receive(const struct proxy *p, struct proxy_message *out)
{
	ssize_t n;

	/*
	 * ECONNRESET comes first and once, if the proxy ended with orders unread. Then come its
	 * messages.
	 */
	do
		n = fd_pass_hear(p->channel, out, sizeof(*out));
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	if (n != (ssize_t)sizeof(*out))
		return -EBADMSG;
	make_sound(out);
	return 1;
}

int proxy_failure(const struct proxy_message *m, struct err *e)
{
	bool is_known = m->id > ERR_OK && m->id <= ERR_CANCELLED;

	(void)FAIL(e, is_known ? (enum err_code)m->id : ERR_INTERNAL, "the proxy: %s", m->text);
	e->os_error = m->os_error;
	return err_result(e);
}

/*
 * Passes on records until the proxy closes the channel: true. The proxy may be silent for
 * `silence_ms` and take ten seconds in all, because writing many records takes time.
 */
static bool read_rest(const struct proxy *p, uint32_t silence_ms,
		      void (*record)(void *user, const struct proxy_record *record), void *user)
{
	uint64_t now = loop_now(), end_ms = now + REST_MS, until_ms = now + silence_ms;
	struct proxy_message m;
	int r;

	while ((r = proxy_receive(p, &m)) >= 0 && (now = loop_now()) < MIN_OF(until_ms, end_ms)) {
		if (r == 0) {
			int wait_ms = (int)MIN_OF(until_ms - now, (uint64_t)1000);

			/* Not every system says for ever that a channel is closed. */
			if (!os_await_child(p->channel, p->pidfd, wait_ms))
				return true;
			continue;
		}
		until_ms = now + silence_ms;
		if (m.kind == PROXY_RECORD && record)
			record(user, &m.record);
	}
	return r == -ECONNRESET;
}

bool proxy_stop(struct proxy *p, uint32_t silence_ms,
		void (*record)(void *user, const struct proxy_record *record), void *user)
{
	const struct proxy_order stop = { .kind = PROXY_STOP };
	struct proxy none = PROXY_NONE;
	bool is_whole;

	if (p->pid <= 0)
		return true;
	/*
	 * It can still send its last records. The order is for systems where it does not see that this
	 * side is shut down; the other for a channel that has no room.
	 */
	(void)!proxy_send(p, &stop, NULL, 0);
	(void)socket_shut_down(p->channel);
	is_whole = read_rest(p, silence_ms, record, user);
	/*
	 * SECURITY: kill the proxy. One that was taken over could close the channel and not exit,
	 * and the caller would wait for ever.
	 */
	os_end(p->pidfd);
	/*
	 * A closed channel does not mean that every record came: a proxy that was killed has not
	 * sent all.
	 */
	is_whole = os_reap(p->pidfd) <= 0 && is_whole;
	fd_done(&p->channel);
	fd_done(&p->pidfd);
	*p = none;
	return is_whole;
}
