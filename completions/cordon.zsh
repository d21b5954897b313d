#compdef cordon
# SPDX-License-Identifier: MIT
# zsh completion for cordon

_cordon_profiles() {
	local -a names
	names=(${(f)"$(cordon profiles --quiet 2>/dev/null)"})
	# A name may begin with a colon, which _describe would take for a separator.
	compadd -a names
}

_cordon() {
	local curcontext=$curcontext state line
	local -a commands policy entries platform run output always
	commands=(
		'run:run a command that can touch only what is allowed'
		'sandbox:the same as run'
		'init:write a commented starter configuration'
		'check:say what is wrong with a configuration'
		'profiles:list the profiles, or show one'
		'why:say what is allowed for a path or host, and why'
		'explain:show what the policy means here'
		'doctor:show what this host can enforce'
		'audit:show what was asked of the network, and what was refused'
		'proxy:serve programs that are not run by cordon'
		'help:show help, also for one command'
		'version:show the version'
	)
	policy=(
		'(-P --profile --mode)'{-P,--profile}'[use this profile]:profile:_cordon_profiles'
		'(-P --profile)--mode[use the profile of a mode]:mode:(read-only workspace-write danger-full-access)'
		'(-C --cd)'{-C,--cd}'[take a directory as the working directory]:directory:_directories'
		'--workspace[the workspace, wherever the command is run]:directory:_directories'
		'--config-file[read a file in place of your configuration]:file:_files'
		'*'{-c,--config}'[set a key for this call]:key=value:'
		'*--enable[turn a feature on]:feature:'
		'*--disable[turn a feature off]:feature:'
	)
	entries=(
		'(-P --profile --mode)--full-auto[write here and in /tmp, no network]'
		'--network[instead of what the profile says]:network:(off managed full)'
		'*--allow-host[let hosts be reached]:pattern:_hosts'
		'*--allow-socket[let a unix socket be used]:socket:_files'
		'*--deny-host[let hosts not be reached]:pattern:_hosts'
		'*--add-read[let a path be read]:path:_files'
		'*--add-write[let a path be written]:path:_files'
		'*--deny[let a path not even be read]:path:_files'
		'*--unprotect[let a protected name be changed]:name:'
	)
	platform=(
		'--platform[for another system]:platform:(linux landlock macos seatbelt windows)'
	)
	run=(
		'--timeout[end it after this time]:time:'
		'*--env[set or pass on a variable]:variable:_parameters -g "*export*" -q -S ""'
		'--backend[enforce with this]:backend:(native bwrap landlock none)'
		'--sandbox[whether there has to be one]:when:(auto require forbid)'
		'*--accept-missing[do without a guarantee]:guarantee:(fs_write fs_read fs_carve fs_reopen protect_missing deny_future net_off net_managed ipc proc kernel limits tree_death)'
		'*--publish[a port of it as one of this host]:[address\:]host port\:port:'
		'*--host-port[a local port of this host as its own]:port:'
		'--audit[log decisions on the network]:file:_files'
		'--dry-run[say what would be done]'
		'--report[write what happened, as JSON]:file, or - for the standard output:_files'
		'--trace[tell of paths and decisions]'
	)
	output=(
		'--json[print JSON]'
		'(-q --quiet)'{-q,--quiet}'[print the bare answer]'
	)
	always=('-h[a short help]' '--help[the full help]')

	_arguments -C $always '(-V --version)'{-V,--version}'[the version]' \
		'1:command:->command' '*::argument:->argument'
	case $state in
	command)
		_describe command commands
		;;
	argument)
		case $line[1] in
		run | sandbox)
			_arguments -S $always $policy $entries $platform $run $output \
				'(-)1:command: _command_names -e' '*::argument: _normal'
			;;
		init)
			_arguments $always $output '--force[replace an existing file]' '1:file:_files'
			;;
		check)
			_arguments $always $policy $output \
				'--syntax-only[judge only whether the file is TOML]' \
				'1:file, or - for the standard input:_files'
			;;
		profiles)
			_arguments $always $policy $output '1:profile:_cordon_profiles'
			;;
		why)
			_arguments $always $policy $entries $output \
				'(--write)--read[may it be read?]' '(--read)--write[may it be written?]' \
				'(--host)--path[it is a path]' '(--path)--host[it is a host]' \
				'1:path or host:_files'
			;;
		explain)
			_arguments $always $policy $entries $platform $output
			;;
		doctor)
			_arguments $always $policy $output '--clean[remove what dead runs have left behind]'
			;;
		proxy)
			_arguments $always $policy $output \
				'--network[instead of what the profile says]:network:(off managed full)' \
				'*--allow-host[let hosts be reached]:pattern:_hosts' \
				'*--deny-host[let hosts not be reached]:pattern:_hosts' \
				'--listen[where it listens]:address\:port:' \
				'--audit[log decisions on the network]:file:_files' \
				'(--token-env)--token-file[what its clients have to show]:file:_files' \
				'(--token-file)--token-env[the same from a variable]:variable:_parameters -g "*export*"'
			;;
		audit)
			_arguments $always $output '(--summary)--follow[go on with what is written later]' \
				'(--follow)--summary[add up for each host]' '--run[only of this run]:run:(last)' \
				'--denied[only what was refused]' '--since[from then on]:time:' '1:file:_files'
			;;
		help)
			_describe command commands
			;;
		esac
		;;
	esac
}

_cordon "$@"
