/* SPDX-License-Identifier: MIT */
/*
 * The configuration that `cordon init` writes. It must pass `cordon check`, and
 * it must be safe as it stands: what it shows but does not do is commented out.
 */
#include "lib/lib.h"

const char starter_config[] =
	"# Cordon: what commands may touch. 'cordon check' says whether this file is valid,\n"
	"# 'cordon explain' what it means here, 'cordon why PATH' or 'cordon why HOST' why.\n"
	"# All keys are in cordon-policy(5).\n"
	"\n"
	"# The profile in force unless -P, --mode, CORDON_PROFILE or CORDON_MODE names another.\n"
	"# Built in: :read-only, :workspace, :danger-full-access; 'cordon profiles' lists all.\n"
	"default_permissions = \"dev\"\n"
	"\n"
	"[permissions.dev]\n"
	"description = \"work in this directory, no network, no secrets\"\n"
	"# Reads everything; writes the working directory, /tmp and $TMPDIR. Directly below\n"
	"# what it may write, .git, .claude, .vscode and the like stay read-only.\n"
	"extends = \":workspace\"\n"
	"\n"
	"# What git may do: \"read\" (the default): look; \"commit\": add, commit, branch, "
	"checkout,\n"
	"# stash, rebase and fetch work, while hooks and config stay read-only, so worktree add,\n"
	"# submodule add, remote add, config and recording an upstream don't; \"write\": all.\n"
	"# git = \"commit\"\n"
	"\n"
	"# \"cwd\" (the default), or \"repo\": the git repository around the working directory.\n"
	"# workspace = \"repo\"\n"
	"\n"
	"# Directories besides that which count as workspace.\n"
	"# workspace_roots = { \"~/src/library\" = true }\n"
	"\n"
	"# \"read\", \"write\" or \"deny\"; the entry with the most components wins.\n"
	"[permissions.dev.filesystem]\n"
	"\":secrets\" = \"deny\" # ~/.ssh, ~/.aws, .env files, ...: 'cordon profiles dev' lists "
	"them\n"
	"# \"~/.npmrc\" = \"read\" # opens this one secret\n"
	"# \"~/.cache\" = \"write\"\n"
	"# \"~/private\" = \"deny\"\n"
	"# \"~/private/shared\" = \"read\"\n"
	"# \":workspace_roots\" = { \"**/*.tfstate\" = \"deny\" } # at any depth\n"
	"\n"
	"# No network. 'cordon run --allow-host PATTERN' allows some hosts for one run.\n"
	"[permissions.dev.network]\n"
	"# Careful: 'true' alone, without 'domains' or another key, opens every host. With them\n"
	"# every connection passes the proxy, and only what is allowed is reachable.\n"
	"enabled = false\n"
	"# domains = { \"example.org\" = \"allow\", \"**.example.com\" = \"allow\", "
	"\"ads.example.com\" = "
	"\"deny\" }\n"
	"\n"
	"# Variables whose names look like secrets (*TOKEN*, *SECRET*, ...) are withheld.\n"
	"# [permissions.dev.environment]\n"
	"# include = [\"GITHUB_TOKEN\"]\n"
	"\n"
	"# Memory takes a control group (man cordon-policy), else 'cordon run' refuses it.\n"
	"# [permissions.dev.limits]\n"
	"# timeout = \"10m\"\n"
	"# file_size = \"2G\"\n";

const char *cordon_starter_config(void)
{
	return starter_config;
}
