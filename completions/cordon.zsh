#compdef cordon
# SPDX-License-Identifier: MIT
# zsh completion for cordon

_cordon_profiles() {
	local -a names
	names=(${(f)"$(cordon profiles --quiet 2>/dev/null)"})
	# A name may begin with a colon, which _describe would take for a separator.
	compadd -a names
}

# BEGIN made by scripts/options from src/lib/command_line.h; do not edit
_cordon_commands=(
	'run:run a command that can touch only what is allowed'
	'sandbox:same as run'
	'init:write a commented starter configuration'
	'check:list the errors in a configuration'
	'profiles:list the profiles, or show one'
	'why:say what is allowed for a path or host, and why'
	'explain:show what the policy means here'
	'doctor:show what this host can enforce'
	'audit:show the log of network decisions'
	'approvals:show and end what was approved for later runs'
	'request:ask for more, from inside a sandbox'
	'apply-patch:change files as a patch says'
	'escalate:have a command run outside, from inside a sandbox'
	'setup:put Cordon beneath a coding agent'
	'hook:answer a hook of a coding agent'
	'import:make a policy of another tool'\''s permissions'
	'agent:run a coding agent inside as a whole'
	'windows:make or remove what commands need on Windows'
	'mcp:serve files and commands to an agent, over MCP'
	'proxy:run the filtering proxy for programs outside a sandbox'
	'help:show help for cordon, or for one command'
	'version:show the version'
)

# The options of the command $1, into the caller's `options`.
_cordon_options() {
	case $1 in
	run)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'*--publish[expose sandbox PORT as host port OUT]:[addr\:]out\:port:'
			'*--host-port[make the host'\''s PORT reachable inside]:port:'
			'--audit[log network decisions to FILE]:file:_files'
			'--backend[native, bwrap or landlock; outer; none means no sandbox]:name:(native bwrap landlock outer none)'
			'--sandbox[auto, require (accept no loss) or forbid (no sandbox)]:when:(auto require forbid)'
			'*--accept-missing[run even without the guarantee NAME]:name:(fs_write fs_read fs_carve fs_reopen protect_missing deny_future net_off net_managed ipc proc kernel limits tree_death)'
			'--platform[linux, macos or windows instead of this system]:name:(linux landlock macos seatbelt windows)'
			'--ask[ask about what is refused: tty, cmd:PROG, fd:N, socket:PATH]:how:(tty cmd: fd: socket: off)'
			'--ask-timeout[deny what is not answered within TIME (default 2m)]:time:'
			'--retry[run once more with what was granted, where it can'\''t go on]'
			'--timeout[kill the command after TIME: 90, 250ms, 5m, 1h]:time:'
			'*--env[set NAME, or pass on a withheld one]:name[=value]:_parameters -g "*export*" -q -S ""'
			'--dry-run[show what would be done, and do nothing]'
			'--report[write a JSON report to FILE; '\''-'\'' is stdout]:file:_files'
			'--log-denials[list all that was refused, reads too]'
			'--tell-denials[tell what is refused at once, for a model to read]'
			'--events[write a JSON line for each event to FD or FILE]:fd|file:_files'
			'--trace[print every path and decision to stderr]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	sandbox)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'*--publish[expose sandbox PORT as host port OUT]:[addr\:]out\:port:'
			'*--host-port[make the host'\''s PORT reachable inside]:port:'
			'--audit[log network decisions to FILE]:file:_files'
			'--backend[native, bwrap or landlock; outer; none means no sandbox]:name:(native bwrap landlock outer none)'
			'--sandbox[auto, require (accept no loss) or forbid (no sandbox)]:when:(auto require forbid)'
			'*--accept-missing[run even without the guarantee NAME]:name:(fs_write fs_read fs_carve fs_reopen protect_missing deny_future net_off net_managed ipc proc kernel limits tree_death)'
			'--platform[linux, macos or windows instead of this system]:name:(linux landlock macos seatbelt windows)'
			'--ask[ask about what is refused: tty, cmd:PROG, fd:N, socket:PATH]:how:(tty cmd: fd: socket: off)'
			'--ask-timeout[deny what is not answered within TIME (default 2m)]:time:'
			'--retry[run once more with what was granted, where it can'\''t go on]'
			'--timeout[kill the command after TIME: 90, 250ms, 5m, 1h]:time:'
			'*--env[set NAME, or pass on a withheld one]:name[=value]:_parameters -g "*export*" -q -S ""'
			'--dry-run[show what would be done, and do nothing]'
			'--report[write a JSON report to FILE; '\''-'\'' is stdout]:file:_files'
			'--log-denials[list all that was refused, reads too]'
			'--tell-denials[tell what is refused at once, for a model to read]'
			'--events[write a JSON line for each event to FD or FILE]:fd|file:_files'
			'--trace[print every path and decision to stderr]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	init)
		options=(
			'--force[replace an existing file]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	check)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'--syntax-only[check only that FILE is valid TOML 1.0]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	profiles)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	why)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'--platform[linux, macos or windows instead of this system]:name:(linux landlock macos seatbelt windows)'
			'--host-view[answer for the host that FILE describes]:file:_files'
			'(--write)--read[answer yes or no: may it be read?]'
			'(--read)--write[ask about writing; why answers yes or no]'
			'(--host)--path[treat the operand as a path]'
			'(--path)--host[treat the operand as a host]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	explain)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'--backend[native, bwrap or landlock; outer; none means no sandbox]:name:(native bwrap landlock outer none)'
			'--platform[linux, macos or windows instead of this system]:name:(linux landlock macos seatbelt windows)'
			'--host-view[answer for the host that FILE describes]:file:_files'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	doctor)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'--clean[remove what killed runs left behind]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	audit)
		options=(
			'(--summary --metrics)--follow[keep printing entries as they are written]'
			'(--follow --metrics)--summary[print totals for each host]'
			'(--follow --summary)--metrics[print sums for Prometheus]'
			'--run[show only the run ID; '\''last'\'' is the last one]:id:(last)'
			'--denied[show only what the policy denied]'
			'--since[start at TIME: 90s, 10m or 2h ago, or a date]:time:'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	approvals)
		options=(
			'--session[use and keep the grants of the session NAME]:name:'
			'--yes[do it without being asked]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	request)
		options=(
			'(--read)--write[ask about writing; why answers yes or no]'
			'(--path)--host[treat the operand as a host]'
			'--socket[treat the operand as a unix socket]'
			'--reason[say why, for the person who decides]:text:'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	apply-patch)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'--dry-run[show what would be done, and do nothing]'
			'--atomic[change all files or none]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	escalate)
		options=(
			'--reason[say why, for the person who decides]:text:'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	setup)
		options=(
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--dry-run[show what would be done, and do nothing]'
			'--system[for all users of this system]'
			'--user[for this user (the default)]'
			'--project[for the project in the working directory]'
			'--partial[be content with what does not cover every command]'
			'--check[answer yes or no: do the agent'\''s commands run in Cordon?]'
			'--undo[put back every file as it was]'
			'--inside[answer yes or no: is this process in a sandbox of Cordon?]'
			'--yes[do it without being asked]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	hook)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	import)
		options=(
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'(-o --output)'{-o,--output}'[write to FILE instead of stdout]:file:_files'
			'--force[replace an existing file]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	agent)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'*--publish[expose sandbox PORT as host port OUT]:[addr\:]out\:port:'
			'*--host-port[make the host'\''s PORT reachable inside]:port:'
			'--audit[log network decisions to FILE]:file:_files'
			'--backend[native, bwrap or landlock; outer; none means no sandbox]:name:(native bwrap landlock outer none)'
			'--sandbox[auto, require (accept no loss) or forbid (no sandbox)]:when:(auto require forbid)'
			'*--accept-missing[run even without the guarantee NAME]:name:(fs_write fs_read fs_carve fs_reopen protect_missing deny_future net_off net_managed ipc proc kernel limits tree_death)'
			'--platform[linux, macos or windows instead of this system]:name:(linux landlock macos seatbelt windows)'
			'--ask[ask about what is refused: tty, cmd:PROG, fd:N, socket:PATH]:how:(tty cmd: fd: socket: off)'
			'--ask-timeout[deny what is not answered within TIME (default 2m)]:time:'
			'--retry[run once more with what was granted, where it can'\''t go on]'
			'--timeout[kill the command after TIME: 90, 250ms, 5m, 1h]:time:'
			'*--env[set NAME, or pass on a withheld one]:name[=value]:_parameters -g "*export*" -q -S ""'
			'--dry-run[show what would be done, and do nothing]'
			'--report[write a JSON report to FILE; '\''-'\'' is stdout]:file:_files'
			'--log-denials[list all that was refused, reads too]'
			'--tell-denials[tell what is refused at once, for a model to read]'
			'--events[write a JSON line for each event to FD or FILE]:fd|file:_files'
			'--trace[print every path and decision to stderr]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	windows)
		options=(
			'--dry-run[show what would be done, and do nothing]'
			'--proxy-port[leave PORT of the loopback open for a proxy]:port:'
			'--yes[do it without being asked]'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	mcp)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(--profile --mode)--full-auto[same as --mode workspace-write --network off]'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'*--add-read[allow reading PATH]:path:_files'
			'*--add-write[allow reading and writing PATH]:path:_files'
			'*--unprotect[allow changes to the protected NAME]:name:'
			'--session[use and keep the grants of the session NAME]:name:'
			'*--deny[deny all access to PATH]:path:_files'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'*--allow-socket[allow connections to the unix socket PATH]:path:_files'
			'--backend[native, bwrap or landlock; outer; none means no sandbox]:name:(native bwrap landlock outer none)'
			'*--root[open the project DIR as well]:dir:_directories'
			'--approve-tool[list the tool '\''approve'\'', which answers for Claude]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	proxy)
		options=(
			'(-P --profile --mode --full-auto)'{-P,--profile}'[use the profile NAME]:name:_cordon_profiles'
			'(--profile --full-auto)--mode[read-only, workspace-write or danger-full-access]:mode:(read-only workspace-write danger-full-access)'
			'(-C --cd)'{-C,--cd}'[use DIR as the working directory]:dir:_directories'
			'--workspace[use DIR as the workspace]:dir:_directories'
			'--config-file[read FILE instead of your configuration]:file:_files'
			'*'{-c,--config}'[override a key of the configuration]:key=value:'
			'*--enable[set features.FEATURE to true]:feature:'
			'*--disable[set features.FEATURE to false]:feature:'
			'--network[override the profile'\''s network: off, managed or full]:which:(off managed full)'
			'*--allow-host[allow connections to matching hosts]:pattern:_hosts'
			'*--deny-host[deny connections to matching hosts]:pattern:_hosts'
			'--audit[log network decisions to FILE]:file:_files'
			'--listen[listen on ADDR:PORT (default 127.0.0.1:0)]:addr\:port:'
			'(--token-env)--token-file[require the token in FILE from every client]:file:_files'
			'(--token-file)--token-env[require the token in the variable NAME]:name:_parameters -g "*export*" -q -S ""'
			'--json[print JSON, also for errors]'
			'(-q --quiet)'{-q,--quiet}'[print only the answer, no warnings or advice]'
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	help)
		options=(
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	version)
		options=(
			'-h[print a short help]'
			'--help[print the full help]'
		)
		;;
	*)
		options=(
			'-h[print a short help]'
			'--help[print the full help]'
			'(-V --version)'{-V,--version}'[print the version]'
		)
		;;
	esac
}
# END made by scripts/options

_cordon() {
	local curcontext=$curcontext state line
	local -a options

	_cordon_options
	_arguments -C $options '1:command:->command' '*::argument:->argument'
	case $state in
	command)
		_describe command _cordon_commands
		;;
	argument)
		_cordon_options $line[1]
		case $line[1] in
		run | sandbox)
			_arguments -S $options '(-)1:command: _command_names -e' '*::argument: _normal'
			;;
		profiles)
			_arguments $options '1:profile:_cordon_profiles'
			;;
		init | check | why | audit)
			_arguments $options '1:file:_files'
			;;
		approvals)
			_arguments $options '1:action:(list show revoke clear)' '*:id:'
			;;
		help)
			_describe command _cordon_commands
			;;
		*)
			_arguments $options
			;;
		esac
		;;
	esac
}

_cordon "$@"
