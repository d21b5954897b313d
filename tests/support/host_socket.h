/* SPDX-License-Identifier: MIT */
/* Sockets of the host, beside a cage whose connects are judged. */
#pragma once

#include "judged.h"

static char host_path[256];   /* a socket of the host */
static char inside_path[256]; /* where the cage binds one */
static int host_listener = -1;

static inline void make_path(char out[256], const char *name)
{
	(void)snprintf(out, 256, "%s/%s", scratch_top, name);
}

/* An abstract name that no test elsewhere has. */
static inline const char *abstract(const char *name)
{
	static char text[100];

	(void)snprintf(text, sizeof(text), "@%s-%s", scratch_top, name);
	return text;
}

static inline bool open_host(const char *name)
{
	(void)mkdir("w", 0755);
	make_path(host_path, name);
	make_path(inside_path, "w/inside.sock");
	(void)unlink(inside_path);
	host_listener = listen_at(host_path);
	/* The control: whoever is not in the cage gets through. */
	return host_listener >= 0 && connect_to(host_path) == 0 &&
	       count_waiting(host_listener) == 1;
}

static inline void close_host(void)
{
	close(host_listener);
	(void)unlink(host_path);
}
