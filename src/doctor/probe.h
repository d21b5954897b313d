/* SPDX-License-Identifier: MIT */
/*
 * What `cordon doctor` runs inside a sandbox, and once without one: it tries what
 * each guarantee forbids and says what came of it. It is this program itself,
 * started again under another name (inner_main.c), in a directory that the doctor
 * has made. SECURITY: never by way of that directory, which a command that may write
 * to /tmp could change, and so be run without a sandbox itself.
 *
 *	DIR/work/		where it starts; may be written
 *	DIR/work/carved		a file in there that may only be read
 *	DIR/work/missing	is missing, and has to stay so
 *	DIR/outside		a file that may only be read
 *	DIR/denied/file		may not be read
 *	DIR/denied/open/file	may be read again
 *
 * It is called with its own name as the first word, then the members of struct probe_facts, in their order, and then
 * with the names of the guarantees to try. It prints a line "NAME NUMBER" for each: 0
 * when the attempt succeeded, else its errno.
 */
#pragma once

#include <sys/types.h>

#define PROBE_NAME "cordon-doctor-probe"
/* The first line, and the name of the line that tells whether DIR/work can be written. */
#define PROBE_GREETING PROBE_NAME " 1"
#define PROBE_WORK     "work"
/* What a rule allows, in a managed network. */
#define PROBE_OPEN "open"

/* What the doctor has ready for it to be found or not. */
struct probe_facts {
	const char *directory; /* DIR */
	long port, open_port;  /* TCP, on 127.0.0.1; a managed network allows the second */
	const char *socket;    /* an abstract one, without the NUL in front */
	long memory;	       /* of System V, its number */
	long pid;	       /* of the doctor */
	const char *born;      /* the time at which that one started, as /proc has it */
};

enum { PROBE_FACT_COUNT = 7 };

/* How long what it leaves behind lives, when nothing ends it; it goes when "alive" does. */
enum { PROBE_LEFT_MS = 3000 };
#define PROBE_LEFT_FILE "alive" /* in DIR/work; locked as long as the left process lives */

int doctor_probe_main(int argc, char **argv);

/* For attempts: opens a file of the room, or connects; -1 with errno, and 0 or errno. */
int probe_open(const struct probe_facts *f, const char *name, int flags);
int probe_connect(int family, const void *address, unsigned bytes);

/* When a process began, in a unit of the system; "" when there is no such process. */
void probe_born(long pid, char *out, size_t room);
