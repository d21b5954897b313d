/* SPDX-License-Identifier: MIT */
/* See doctor/native.h. Of what a sandbox of Seatbelt holds, files and the network are all that can be tried. */
#include "doctor/native.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os/os.h"
#include "os/posix/native.h"

/* The doctor tries what the backend gives, whether or not the user has agreed to a preview. */
const char native_probe_config[] = "[features]\nmacos_preview = true\n";

int native_find_probe(struct arena *a, const char **out, struct err *e)
{
	struct str program;

	if (os_program_path(a, &program, e) < 0)
		return err_result(e);
	if (!program.len)
		return FAIL(e, ERR_SYS, "this program was removed or replaced while it ran");
	*out = program.p;
	return 0;
}

bool native_needs_policy(const struct backend *backend)
{
	(void)backend;
	return false;
}

int native_open_below(int top, const char *name, int flags)
{
	return openat(top, name, flags | O_NOFOLLOW_ANY, 0600);
}

int native_open_directory_below(int top, const char *name)
{
	return openat(top, name, native_open_directory | O_NOFOLLOW_ANY);
}

attempt_fn *native_attempt(enum guarantee g)
{
	(void)g;
	return NULL;
}

int native_listen_local(const struct doctor_room *room, char *name, size_t room_bytes)
{
	(void)room;
	(void)snprintf(name, room_bytes, "-");
	return -1;
}

int native_make_memory(void)
{
	return -1;
}

void native_free_memory(int memory)
{
	(void)memory;
}

/* The probe is told it like every other fact. */
void probe_born(long pid, char *out, size_t room)
{
	char name[NATIVE_NAME_BYTES];
	unsigned long long start = 0;
	pid_t parent;

	out[0] = '\0';
	if (native_read_start((pid_t)pid, name, &parent, &start))
		(void)snprintf(out, room, "%llu", start);
}

/* No program but Cordon's own is asked what it can do. */
int native_clean_cache(struct arena *a, struct diagnosis *d, struct err *e)
{
	(void)a;
	(void)d;
	(void)e;
	return 0;
}
