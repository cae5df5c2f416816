# Completion of the starter's command line in fish.
function __starter_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete $words[2..] (commandline -ct) 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c starter -f -a '(__starter_complete)'
