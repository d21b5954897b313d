/* SPDX-License-Identifier: MIT */
/*
 * The operating system, as much of it as Cordon needs: files, the environment,
 * who and where this process is. One header; each system has a directory that
 * implements it (linux/). Nothing here knows what a policy is.
 *
 * Paths are bytes without a NUL (ERR_SYNTAX) of less than PATH_MAX_BYTES
 * (ERR_LIMIT). No function changes anything of the process: neither its working
 * directory nor its environment nor its umask, because in libcordon the process
 * is someone else's. Descriptors are close-on-exec from birth.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "os/times.h"

/* ---- Looking at files ---------------------------------------------------- */

enum os_type {
	OS_MISSING,
	OS_HIDDEN, /* a directory on the way may not be searched */
	OS_FILE,
	OS_DIR,
	OS_LINK,
	OS_OTHER, /* socket, device, fifo */
};

struct os_file {
	enum os_type type;
	uint64_t device, inode; /* 0 unless it exists */
	bool is_locked;		/* this user's, who may not read (or search) it until a chmod */
	bool is_sealed; /* a directory of this user's, who may not create in it until a chmod */
	bool is_others; /* another user's */
	bool is_open;	/* everybody may write it */
	bool is_socket;
	bool has_two_links;  /* a directory: see os_links_count_dirs() */
	bool is_placeholder; /* bears Cordon's mark and holds nothing: no one's, and soon gone */
};

/*
 * Whether a directory on the file system of `path` has two links and one more for each directory in
 * it, so that one with two has none.
 */
bool os_links_count_dirs(struct str path);

/* What lies at `path`, a link at its end not followed. ERR_SYS when the host fails. */
int os_look(struct str path, struct os_file *out, struct err *e) MUST_CHECK NONNULL;

/* The text of a link, added to `out`. ERR_SYS, ERR_LIMIT. */
int os_read_link(struct str path, struct buf *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Calls `each` for every name but "." and ".."; stops when it returns non-zero,
 * and returns that. ERR_SYS.
 */
int os_list(struct str path,
	    int (*each)(void *arg, struct str name, enum os_type type, struct err *e), void *arg,
	    struct err *e) MUST_CHECK NONNULL;

/*
 * The same; `stamp`, if not NULL, is what the directory was before its names were read
 * (os_take_stamp()).
 */
int os_list_stamped(struct str path,
		    int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		    void *arg, struct os_stamp_kind *kind, struct stamp *stamp, struct err *e)
	MUST_CHECK __attribute__((nonnull(2, 6)));

/*
 * Whether names that differ in case alone, or in how Unicode composes them, are one on the volume that `path` is
 * on. Always false on Linux.
 */
bool os_names_fold(const char *path) NONNULL;

/*
 * Only where names may fold: the name that the file has in its directory, a link not followed; "" if it can't be
 * told.
 */
struct str os_true_name(struct str path, char *room, size_t size) NONNULL;

/* ---- Reading files whole ------------------------------------------------- */

/*
 * The whole of a regular file, in the arena, a NUL behind it. Nothing that
 * blocks is ever read: a fifo, a device other than /dev/null or a directory is
 * ERR_POLICY by name.
 * ERR_LIMIT over `max_bytes`; ERR_SYS for the rest, a file that changes while it
 * is read included. When nothing is there, `seen->is_there` is false and that is 0;
 * a dangling link on the way, or what is no directory, is ERR_POLICY instead.
 */
struct os_seen {
	bool is_there;
	bool has_other_names; /* hard links to it */
};
int os_read_file(struct arena *a, struct str path, size_t max_bytes, struct str *out,
		 struct os_seen *seen, struct err *e) MUST_CHECK NONNULL;

/*
 * The same for `below` (relative) inside the directory `dir`. Symbolic links on
 * the way are followed only as long as they stay inside `dir`; one that leaves
 * is ERR_POLICY. Where the kernel can't tell (Linux before 5.6) every link is.
 */
int os_read_file_beneath(struct arena *a, struct str dir, struct str below, size_t max_bytes,
			 struct str *out, struct os_seen *seen, struct err *e) MUST_CHECK NONNULL;

/*
 * All that the standard input gives until it ends, whatever it is; this may wait.
 * ERR_LIMIT over `max_bytes`, ERR_SYS.
 */
int os_read_input(struct arena *a, size_t max_bytes, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- Making files -------------------------------------------------------- */

/* The directories above `path` that are missing, for their owner alone. ERR_SYS, ERR_LIMIT. */
int os_make_parents(struct str path, struct err *e) MUST_CHECK NONNULL;

/*
 * Creates `path` with `text`, all or nothing: whoever looks sees no file or the
 * whole one. Missing directories are made, open to their owner only. An
 * existing file (or link) is ERR_SYS with EEXIST unless `replaces`.
 */
int os_create_file(struct str path, struct str text, bool replaces, struct err *e)
	MUST_CHECK NONNULL;

/* "linux", "macos": this one, as --platform names it. */
extern const char os_system_name[];

/* ---- This process -------------------------------------------------------- */

/* The number of the user who started this process; 0 where users have none. */
uint64_t os_user(void);
/* Whether this process has, or can get, the rights of the superuser. */
bool os_is_root(void);

/*
 * How the name of a command becomes a file: what separates the directories of PATH, and what may be behind the name,
 * NULL behind the last.
 */
extern const char os_path_separator;
extern const char *const os_program_suffixes[];

/* Whether variables whose names differ in case alone are one. */
extern const bool os_variables_fold;

/* The environment of the process, as execve() would take it. */
const char *const *os_environment(void);

/* The value of `name` in such a list, or NULL. */
const char *os_environment_find(const char *const *environment, const char *name);

/* The canonical working directory. ERR_SYS, also when it was removed. */
int os_working_directory(struct arena *a, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* The canonical path of an existing directory. ERR_SYS. */
int os_canonical_directory(struct arena *a, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* The canonical path of the running program; "" when its file was removed. ERR_SYS. */
int os_program_path(struct arena *a, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* A small file of the kernel's, cut at the room there is, NUL behind it; its length or -errno. */
ssize_t os_read_small(const char *path, char *out, size_t room) NONNULL;

/* Whether a filter refuses some system calls of this process. */
bool os_is_filtered(void);

/* The release of the kernel ("6.1.0-44-amd64"), in `room`; "" when it is not known. */
struct str os_kernel_release(char *room, size_t size) NONNULL;

/* The path without links of what exists. False: it does not, or can't be reached. */
bool os_real_path(const char *path, char out[PATH_MAX_BYTES]) NONNULL;

/* Whether it is a regular file that this process may execute. */
bool os_is_executable(const char *path) NONNULL;
/* Whether this user may read (or write) what is there, by the rights that the system has written down. */
bool os_is_allowed(const char *path, bool writes) NONNULL;

/* The parent of a process as /proc has it; 0 when it can't be told. */
pid_t os_parent_of(pid_t pid);

/*
 * Who started this process, shells and Cordon left out, such as a coding agent: its number and when it began,
 * which no other process has until the next boot. False: not known.
 */
enum { OS_STARTER_BYTES = 48 };
bool os_find_starter(char out[OS_STARTER_BYTES]) NONNULL;
/* Whether that process still is there. */
bool os_starter_is_there(struct str starter);

/*
 * Whether neither the process nor a descendant, down to `depth`, runs, wants to, or is
 * in the middle of what the kernel does for it.
 */
bool os_all_sleep(pid_t pid, int depth);

/*
 * Calls `each` for every user in the system's list of them (`users_file`, normally
 * /etc/passwd), `home` as it is written there and gone after the call; stops when it
 * returns non-zero, and returns that. A list that is not there has no users; ERR_LIMIT
 * for a huge one. Read by hand: a static program has no name service to ask.
 */
int os_list_users(struct str users_file,
		  int (*each)(void *arg, uint64_t uid, struct str home, struct err *e), void *arg,
		  struct err *e) MUST_CHECK;
