# Runs a server for as long as the console lives. Arguments: the server's folder, then its command line.
# The console holds the other end of standard input. However the console ends, that end closes with it, and then the
# server is killed: SIGKILL leaves no other way to clean up.
folder=$1
shift
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{
    while read -r _ <&3; do :; done
    trap '' TERM # from here on it is seen through
    kill -9 "$server"
    rmdir "$folder"
    rmdir "${folder%/*}" # the last one finds it empty
} 2>/dev/null &
watcher=$!
wait "$server"
status=$?
kill "$watcher"
wait "$watcher"
exit "$status"
