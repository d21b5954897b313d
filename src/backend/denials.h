/* SPDX-License-Identifier: MIT */
/*
 * What was refused during a run, by name. Equal refusals are counted, not
 * repeated, and there is a bound on how many different ones are kept: a command
 * that floods it loses detail, never the count.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/origin.h"
#include "base/str.h"

enum denial_kind { DENIAL_UNIX_SOCKET, DENIAL_HOST, DENIAL_PATH };

/*
 * X(identifier, name, what follows "was not allowed to ...", what it changes). What was tried; the
 * names are part of the interface.
 */
#define OPERATIONS(X)                                                  \
	X(CONNECT, "connect", "connect to", NONE)                      \
	X(UNIX_CONNECT, "unix-connect", "connect to the socket", NONE) \
	X(LOOKUP, "lookup", "look up the name", NONE)                  \
	X(OPEN_WRITE, "open-write", "open for writing", CONTENT)       \
	X(CREATE, "create", "create", ADD)                             \
	X(MKDIR, "mkdir", "create the directory", ADD)                 \
	X(MKNOD, "mknod", "create the special file", ADD)              \
	X(SYMLINK, "symlink", "create the link", ADD)                  \
	X(LINK, "link", "create the hard link", ADD)                   \
	X(UNLINK, "unlink", "remove", REMOVE)                          \
	X(RMDIR, "rmdir", "remove the directory", REMOVE)              \
	X(RENAME, "rename", "rename", REMOVE)                          \
	X(TRUNCATE, "truncate", "truncate", CONTENT)                   \
	X(CHMOD, "chmod", "change the mode of", METADATA)              \
	X(CHOWN, "chown", "change the owner of", METADATA)             \
	X(UTIME, "utime", "change the times of", METADATA)             \
	X(XATTR, "xattr", "change the attributes of", METADATA)        \
	X(READ, "read", "read", NONE)                                  \
	X(EXEC, "exec", "execute", NONE)

enum operation {
#define OPERATION_ID(id, name, meaning, change) OPERATION_##id,
	OPERATIONS(OPERATION_ID)
#undef OPERATION_ID
};

/* What of a file, or of the directory that holds it, an operation changes. */
enum operation_change {
	CHANGE_NONE,
	CHANGE_CONTENT,
	CHANGE_METADATA,
	CHANGE_ADD, /* the last two are of its directory: a name in it */
	CHANGE_REMOVE,
};
enum operation_change operation_change(enum operation operation);

const char *operation_name(enum operation operation);
const char *operation_meaning(enum operation operation);

struct rule;

struct denial {
	enum denial_kind kind;
	enum operation operation;
	struct str subject; /* "/run/docker.sock", "inherited socket 0", "example.com:443" */
	struct str named;   /* the path as the program wrote it; "": not known */
	/* The smallest path that would have to be opened: of a lock file its directory. "": no path */
	struct str opens;
	const struct rule *by; /* the deciding rule of the plan; NULL: `rule` says it in words */
	int os_error;	       /* what the program got; 0: not known */
	bool is_guess;	       /* concluded from what the command wrote, not seen */
	struct str executable; /* path of the program that tried, as it is inside; "": not known */
	struct str rule;       /* why, in words: "the network is off" */
	struct origin origin;  /* where that is written; without a file: not known */
	bool is_guarded; /* its name is allowed; P13's private guard has refused its address */
	const char *denied_by; /* who said no when it was asked about, as answers name it; or NULL */
	const char *denied_how; /* the same in words */
	bool is_decided;    /* by a person, a rule or a program, and not for lack of an answer */
	bool is_told;	    /* at once, so the end of the run need not repeat it */
	struct str way_out; /* what would allow it, pasteable; "" when nothing can */
	const char *option; /* of `run`, that would allow it with `value`; NULL: none alone */
	struct str value;
	struct str program; /* comm of the first that tried; "" when it was gone */
	int32_t pid;	    /* of the first that tried, inside */
	uint64_t count;
	uint64_t first_ms, last_ms; /* since the start of the run */
};

enum { DENIALS_MAX = 1000, DENIALS_MAX_BYTES = 1 << 20 };

struct denials {
	struct arena arena;
	VEC(struct denial) items;
	uint64_t total;
	uint64_t unlisted; /* of those, not in `items` */
	uint64_t started_ms;
	/* Told at once of each new one, as it is kept; may be NULL. */
	void (*on_denial)(void *user, struct denial *denial);
	void *user;
};

void denials_init(struct denials *d) NONNULL;
void denials_done(struct denials *d) NONNULL;
/* Counts it, `count` times (0 is once); strings are copied. Memory that runs out only loses detail. */
void denials_add(struct denials *d, const struct denial *denial) NONNULL;
