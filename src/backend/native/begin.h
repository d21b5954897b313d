/* SPDX-License-Identifier: MIT */
/* What of a native sandbox can be begun before there is a plan; see begin.c. */
#pragma once

#include "backend/native/native.h"

/* NULL: no memory. What else fails is told by native_await(). */
struct beginning *native_begin(bool has_network) MUST_CHECK;

/* `b`, or one that has what is needed; NULL: no memory. */
struct beginning *native_choose(struct beginning *b, bool has_network) MUST_CHECK;

/* A process in the new user namespace, until native_abandon(); -1: there is none. */
pid_t native_forerunner(const struct beginning *b) NONNULL;

/* Has PID 1, which runs native_child(job), cloned into `namespaces` and those of `b`. */
void native_order(struct beginning *b, unsigned long namespaces, struct native_job *job) NONNULL;

/* Waits for it; an errno when it could not be, ESRCH when the forerunner was killed. */
int native_await(struct beginning *b, pid_t *pid, int *pidfd) NONNULL;

/* PID 1, when there is one, goes on. */
void native_abandon(struct beginning *b);
