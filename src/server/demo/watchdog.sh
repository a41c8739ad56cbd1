# Runs a server while the console lives. Arguments: the server's folder, then its command line. The
# console holds the write end of standard input, which closes however the console ends. The server
# is then killed; SIGKILL of the console leaves no other way to clean up.
folder=$1
shift
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{
    while read -r _ <&3; do :; done
    trap '' TERM # the cleanup must not be interrupted
    kill -9 "$server"
    rm -rf "$folder"
    rmdir "${folder%/*}" # succeeds for the last server
} 2>/dev/null &
watcher=$!
wait "$server"
status=$?
kill "$watcher"
wait "$watcher"
exit "$status"
