#compdef starter
# Completion of the starter's command line in zsh.
_starter() {
	local line
	local -a found
	for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	if (( ${#found} )); then
		_describe starter found
	else
		_files
	fi
}
if [[ ${funcstack[1]} == _starter ]]; then
	_starter "$@"
else
	compdef _starter starter
fi
