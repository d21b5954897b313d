/* SPDX-License-Identifier: MIT */
/*
 * What libcordon does not have on Windows in this version: the doctor, the tools of an agent, the server for
 * agents, and patches. Each call says so; there is never a session, so nothing else has anything to do.
 */
#include "lib/lib.h"
#include "lib/run.h"

static int refuse(const char *what, cordon_error **error)
{
	struct err e = ERR_INIT;

	(void)FAIL_CAUSE(&e, CAUSE_OTHER_PLATFORM, "%s not built for Windows in this version",
			 what);
	return error_give(&e, error);
}

int cordon_doctor(const struct cordon_doctor_options *options, cordon_report **report,
		  cordon_error **error)
{
	(void)options;
	(void)report;
	return refuse("the doctor is", error);
}

int cordon_apply_patch(const struct cordon_load_options *load, const char *patch, size_t length,
		       uint32_t flags, cordon_report **report, cordon_error **error)
{
	(void)load;
	(void)patch;
	(void)length;
	(void)flags;
	(void)report;
	return refuse("patches are", error);
}

/* ---- Tools -------------------------------------------------------------------------------------- */

static const char tools[] = "the tools of an agent are";

int cordon_session_new(const struct cordon_session_options *options, cordon_session **session,
		       cordon_error **error)
{
	(void)options;
	(void)session;
	return refuse(tools, error);
}

void cordon_session_free(cordon_session *session)
{
	(void)session;
}

int cordon_scope_add(cordon_session *session, const char *path, cordon_error **error)
{
	(void)session;
	(void)path;
	return refuse(tools, error);
}

const cordon_policy *cordon_session_policy(const cordon_session *session, const char *path)
{
	(void)session;
	(void)path;
	return NULL;
}

int cordon_open(cordon_session *session, const char *path, uint32_t how, intptr_t *fd,
		cordon_error **error)
{
	(void)session;
	(void)path;
	(void)how;
	(void)fd;
	return refuse(tools, error);
}

int cordon_scope_check(cordon_session *session, const char *path, cordon_tool_result **result,
		       cordon_error **error)
{
	(void)session;
	(void)path;
	(void)result;
	return refuse(tools, error);
}

const char *cordon_tools_json(cordon_session *session)
{
	(void)session;
	return "[]";
}

int cordon_tool_call(cordon_session *session, const char *tool, const char *arguments,
		     cordon_tool_result **result, cordon_error **error)
{
	(void)tool;
	(void)arguments;
	return cordon_scope_check(session, NULL, result, error);
}

void cordon_tool_result_free(cordon_tool_result *result)
{
	(void)result;
}

const char *cordon_tool_result_text(const cordon_tool_result *result, size_t *length)
{
	(void)result;
	if (length)
		*length = 0;
	return "";
}

const char *cordon_tool_result_json(const cordon_tool_result *result)
{
	(void)result;
	return "{}";
}

int cordon_tool_result_is_error(const cordon_tool_result *result)
{
	(void)result;
	return 1;
}

/* ---- The server ---------------------------------------------------------------------------------- */

int cordon_mcp_start(const struct cordon_mcp_options *options, cordon_mcp **server,
		     cordon_error **error)
{
	(void)options;
	(void)server;
	return refuse("the server for agents is", error);
}

int cordon_mcp_descriptor(const cordon_mcp *server)
{
	(void)server;
	return -1;
}

int cordon_mcp_poll(cordon_mcp *server, int timeout_ms, cordon_error **error)
{
	(void)timeout_ms;
	(void)server;
	return refuse("the server for agents is", error);
}

void cordon_mcp_stop(cordon_mcp *server)
{
	(void)server;
}

/* ---- cordon-sh ------------------------------------------------------------------------------------ */

int asked_shell(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		struct session_request *in, struct err *e)
{
	(void)a;
	(void)policy;
	(void)in;
	return asked->run.flags & CORDON_RUN_SHELL
		       ? FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
				    "cordon-sh is not built for Windows in this version")
		       : 0;
}
