/* SPDX-License-Identifier: MIT */
/* Between handle.c and pipe.c: what is under way on our end of a pipe. Nobody else includes this. */
#pragma once

#include "os/windows/handle.h"

struct pipe_state;

int handle_add_pipe(enum handle_kind kind, void *handle, struct pipe_state *pipe) MUST_CHECK;
struct pipe_state *handle_pipe(int fd);

/* Begins what has to be begun; the event that is set when it is done. */
void *pipe_state_wait(struct pipe_state *p, void *handle) NONNULL;
void pipe_state_free(struct pipe_state *p, void *handle) NONNULL;
