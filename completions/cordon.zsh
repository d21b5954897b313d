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
	local -a commands policy output always
	commands=(
		'init:write a commented starter configuration'
		'check:say what is wrong with a configuration'
		'profiles:list the profiles, or show one'
		'why:say what is allowed for a path or host, and why'
		'explain:show what the policy means here'
		'help:show help, also for one command'
		'version:show the version'
	)
	policy=(
		'(-P --profile --mode)'{-P,--profile}'[use this profile]:profile:_cordon_profiles'
		'(-P --profile)--mode[use the profile of a mode]:mode:(read-only workspace-write danger-full-access)'
		'-C[take a directory as the working directory]:directory:_directories'
		'--config-file[read a file in place of your configuration]:file:_files'
		'*--config[set a key for this call]:key=value:'
		'*--enable[turn a feature on]:feature:'
		'*--disable[turn a feature off]:feature:'
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
			_arguments $always $policy $output \
				'(--write)--read[may it be read?]' '(--read)--write[may it be written?]' \
				'(--host)--path[it is a path]' '(--path)--host[it is a host]' \
				'1:path or host:_files'
			;;
		explain)
			_arguments $always $policy $output \
				'--platform[for another system]:platform:(linux landlock macos seatbelt windows)'
			;;
		help)
			_describe command commands
			;;
		esac
		;;
	esac
}

_cordon "$@"
