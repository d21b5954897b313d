/* SPDX-License-Identifier: MIT */
/* Pipes for large streams, made on first use; see server.h. */
#include "os/fd.h"
#include "proxy/server.h"

enum { MAX_PIPES = 48 }; /* Linux allows a user 64 MiB of pipe buffers; streams beyond are copied */

struct pipes {
	struct pipe idle[MAX_PIPES];
	uint32_t idle_count;
	uint32_t count;
};

int pipes_make(struct pipes **out, struct err *e)
{
	*out = pool_map(sizeof(**out), e);
	return *out ? 0 : err_result(e);
}

bool pipe_take(struct pipes *all, struct pipe *out)
{
	if (all->idle_count > 0) {
		*out = all->idle[--all->idle_count];
		return true;
	}
	if (all->count == MAX_PIPES || !pipe_open(out, PIPE_BYTES))
		return false;
	all->count++;
	return true;
}

void pipe_give(struct pipes *all, struct pipe *p, bool is_empty)
{
	if (p->in < 0)
		return;
	if (is_empty) {
		all->idle[all->idle_count++] = *p;
	} else {
		fd_done(&p->in);
		fd_done(&p->out);
		all->count--;
	}
	p->in = p->out = -1;
}
